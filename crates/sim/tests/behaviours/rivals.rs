//! RoCEv2 and its rivals on the same traffic: the order that the literature says they finish in.

use crate::scene::{Run, Scene};
use xoff_sim::Report;

/// A scenario on another network.
fn on(name: &str, network: &str) -> Scene {
    // InfiniBand has silicon of its own, with ports as fast as the fabric's links.
    let silicon = match (network, name) {
        ("infiniband", "rivals-all-reduce.toml") => {
            "[override.switch]\nsilicon = \"quantum-x800\"\n"
        }
        ("infiniband", _) => "[override.switch]\nsilicon = \"quantum-2\"\n",
        _ => "",
    };
    let transport = format!("[override.transport]\nkind = \"{network}\"\n");
    Scene::edited(name, |text| format!("{text}\n{transport}{silicon}"))
}

/// The last completion, of a flow or of a collective, in microseconds.
fn last(run: &Run<'_>) -> f64 {
    let flows = run.report.flows.iter().filter_map(|flow| flow.completion());
    let jobs = run.report.jobs.iter().flat_map(|job| &job.runs).filter_map(|run| run.time());
    flows.chain(jobs).map(|span| span.as_us_f64()).fold(0.0, f64::max)
}

fn drops(report: &Report) -> u64 {
    report.dropped.iter().flatten().sum()
}

fn again(report: &Report) -> u64 {
    let flows = report.flows.iter().map(|flow| &flow.counters);
    let all = flows.chain(report.jobs.iter().map(|job| &job.counters));
    all.map(|counters| counters.retransmitted).sum()
}

fn pauses(report: &Report) -> u64 {
    report.ports.iter().flatten().map(|class| class.pauses_received).sum()
}

/// What holds of every network on every scenario.
fn keeps_its_word(network: &str, run: &Run<'_>) {
    let report = &run.report;
    if network != "roce" {
        assert_eq!(pauses(report), 0, "{network} pauses nobody");
        assert_eq!(report.xoff_frames(), 0, "{network} asks for no pause");
    }
    if network == "infiniband" {
        assert_eq!((drops(report), again(report)), (0, 0), "credits lose nothing");
    }
    if network != "uet" {
        assert_eq!(report.trimmed, 0, "{network} trims nothing");
    }
    let cores = run.scene.fabric.nics[0].cpu.is_some();
    assert_eq!(cores, network == "tcp", "only TCP takes cores");
}

/// The last completions of RoCE, InfiniBand, Ultra Ethernet, TCP and iWARP.
fn compare(name: &str) -> [f64; 5] {
    ["roce", "infiniband", "uet", "tcp", "iwarp"].map(|network| {
        let scene = on(name, network);
        let run = scene.run();
        keeps_its_word(network, &run);
        println!(
            "{name} {network}: {:.1} us, {} dropped, {} trimmed, {} sent again",
            last(&run),
            drops(&run.report),
            run.report.trimmed,
            again(&run.report)
        );
        last(&run)
    })
}

#[test]
fn spread_packets_win_the_permutation() {
    let [roce, infiniband, uet, tcp, iwarp] = compare("rivals-permutation.toml");
    // 4 MB at 400 Gb/s take 80 us.
    assert!(uet < 1.35 * 80.0, "Ultra Ethernet is near the best: {uet} us");
    assert!(infiniband < 1.35 * 80.0, "so is adaptive routing: {infiniband} us");
    // Three flows on one link take 240 us whoever sends them, and DCQCN is slow to find its way back.
    for (network, time) in ["roce", "tcp", "iwarp"].iter().zip([roce, tcp, iwarp]) {
        assert!(time > 2.0 * uet, "hashed flows collide: {network} {time} us");
    }
    assert!(tcp > 1.1 * iwarp, "the kernel's stack costs: {tcp} and {iwarp} us");
}

#[test]
fn an_incast_takes_as_long_as_its_last_link_unless_it_collapses() {
    let times = compare("rivals-incast.toml");
    // 112 MB at 400 Gb/s take 2240 us. TCP loses thousands of packets in a shallow buffer, and
    // repairs them by RACK and probes within round trips.
    let [.., tcp, iwarp] = times;
    for (network, time) in ["roce", "infiniband", "uet"].iter().zip(times) {
        assert!((2240.0..1.2 * 2240.0).contains(&time), "{network}: {time} us");
    }
    assert!((2240.0..1.2 * 2240.0).contains(&iwarp), "iwarp: {iwarp} us");
    // The kernel's timer makes the probe of a tail wait 2 ms more.
    assert!((2240.0..2.5 * 2240.0).contains(&tcp), "tcp: {tcp} us");
    // Where losses are only told by later packets, a lost tail waits for a timeout of 200 ms: the incast
    // collapse of TCP without RACK.
    let old = "recovery = \"selective-repeat\"\nreorder-window = 2\n";
    let scene = Scene::edited("rivals-incast.toml", |text| {
        format!("{text}\n[override.transport]\nkind = \"tcp\"\n{old}")
    });
    let collapsed = last(&scene.run());
    assert!(collapsed > 200_000.0, "{collapsed} us");
}

#[test]
fn an_all_reduce_ends_on_every_network_and_last_on_tcp() {
    let [roce, infiniband, uet, tcp, iwarp] = compare("rivals-all-reduce.toml");
    assert!(tcp > 1.5 * roce, "{tcp} and {roce} us");
    assert!(tcp > iwarp, "{tcp} and {iwarp} us");
    assert!(infiniband < 1.1 * roce, "{infiniband} and {roce} us");
    assert!(uet < 1.25 * roce, "{uet} and {roce} us");
}
