//! Hosts that are slower than their NICs: PCIe slots, strict ordering, an IOMMU.

use crate::scene::{Run, Scene, near};
use xoff_units::Span;

/// Goodput of a flow of 40 MB, in Gb/s.
fn goodput(run: &Run<'_>, source: &str, destination: &str) -> f64 {
    let [source, destination] = [source, destination].map(|name| format!("{name}-nic0"));
    40e6 * 8.0 / run.completion(&source, &destination).as_us_f64() / 1e3
}

/// The share of a flow's time for which a port was paused.
fn paused(run: &Run<'_>, port: &str, by: (&str, &str)) -> f64 {
    let [source, destination] = [by.0, by.1].map(|name| format!("{name}-nic0"));
    let whole = run.completion(&source, &destination);
    run.data(port).paused.as_us_f64() / whole.as_us_f64()
}

/// A packet of 4096 bytes is 4158 bytes in the NIC's buffer. The flow is done when its last bytes are
/// there, so up to a buffer of them (XOFF at 1 MiB, 2.6 % of 40 MB) need not be in memory by then.
#[track_caller]
fn drains_at(run: &Run<'_>, source: &str, destination: &str, gbps: f64) {
    let reached = goodput(run, source, destination);
    let least = gbps * 4096.0 / 4158.0;
    assert!((least..least * 1.03).contains(&reached), "{destination} takes {reached} Gb/s");
}

#[test]
fn a_slow_host_takes_what_its_slot_carries_and_pauses_the_rest() {
    let scene = Scene::load("pcie-hosts.toml");
    let run = scene.run();
    // 16 GT/s x 16 x 128/130 x 256/280.
    drains_at(&run, "server0", "server1", 230.46);
    drains_at(&run, "server2", "server3", 148.95);
    drains_at(&run, "server6", "server7", 159.84);
    let port = |server: u32| format!("leaf0→server{server}-nic0");
    // It could send 400 and takes 230: paused for the rest of the time.
    near("pauses", paused(&run, &port(1), ("server0", "server1")), 1.0 - 230.46 / 400.0, 0.05);
    near("pauses", paused(&run, &port(3), ("server2", "server3")), 1.0 - 148.95 / 400.0, 0.05);
    assert!(run.data("server0-nic0→leaf0").pauses_received > 0, "the pause goes on to the sender");
    assert_eq!(run.report.dropped, [[0; xoff_sim::Drop::COUNT]; 8]);
}

#[test]
fn a_slow_sender_causes_no_pause() {
    let scene = Scene::load("pcie-hosts.toml");
    let run = scene.run();
    // 16 GT/s x 16 x 128/130 x 256/276, of which packet headers are no part.
    near("out of gen4 x16", goodput(&run, "server4", "server5"), 233.79, 0.005);
    for port in ["leaf0→server5-nic0", "server4-nic0→leaf0"] {
        assert_eq!(run.data(port).paused, Span::ZERO, "{port}");
    }
}

/// The ring passes everything through every server, so one slow slot sets the pace of all.
#[test]
fn one_server_in_a_gen4_slot_slows_the_ring_of_all() {
    let scenes = ["pcie-gen4.toml", "pcie-gen5.toml"].map(Scene::load);
    let [slow, fast] = [0, 1].map(|at: usize| scenes[at].run());
    let time = |run: &Run<'_>| run.report.jobs[0].runs[0].time().expect("it ended").as_us_f64();
    let times = time(&slow) / time(&fast);
    // Packets of 4096 bytes are 4178 on a wire of 400 Gb/s and 4158 into a memory that takes 230.46.
    let expected = (400.0 / 4178.0) / (230.46 / 4158.0);
    near("times as long", times, expected, 0.03);
    let pauses = |run: &Run<'_>, server: u32| -> u64 {
        let ports = (0..8).map(|nic| format!("leaf{nic}→server{server}-nic{nic}"));
        ports.map(|port| run.data(&port).pauses_received).sum()
    };
    assert!(pauses(&slow, 3) > 0, "the slow server pauses its leaves");
    let others: u64 =
        (0..8).filter(|&server| server != 3).map(|server| pauses(&slow, server)).sum();
    assert_eq!(others, 0, "no other server does");
    assert_eq!((0..8).map(|server| pauses(&fast, server)).sum::<u64>(), 0);
}
