//! What NICs do unless a file says otherwise: timers, notifications, DCQCN.

use crate::scene::{Run, Scene, near};
use xoff_sim::TraceKind;
use xoff_transport::Status;
use xoff_units::{Instant, Span};

/// 121 hosts of 100G on one switch.
const STAR: &str = "[cluster]\nhosts = 121\nnic = 'generic-100g'\n\
                    [fabric]\nkind = 'single'\nleaf = 'tomahawk-4'\n";

fn resent(run: &Run<'_>) -> u64 {
    run.report.flows.iter().map(|flow| flow.counters.retransmitted).sum()
}

/// With a timeout of 1 ms this sent 56,880 of 58,680 packets again and took 29.1 ms.
#[test]
fn a_lossless_incast_resends_nothing() {
    let scene = Scene::of(
        "incast",
        "fabric = ''\n[[workload]]\nkind = 'incast'\nsenders = 120\nsize = '2MB'\n",
        STAR,
    );
    let run = scene.run();
    assert_eq!(resent(&run), 0);
    // 120 x 488 full packets of 4178 bytes on the wire at 100G, and what DCQCN leaves unused.
    let bound = 120.0 * 488.0 * 4178.0 * 8.0 / 100e9 * 1e3;
    let last = run.last_end().since(Instant::ZERO).as_us_f64() / 1e3;
    assert!(last >= bound && last < 1.25 * bound, "{last} ms, at least {bound} ms are needed");
}

/// A flow over 10 ms of cable was 7.6 times slower than ideal: its answers take 20 ms.
#[test]
fn a_long_cable_is_no_loss() {
    let scene = Scene::of(
        "long",
        "fabric = ''\n[[workload]]\nkind = 'incast'\nsenders = 1\nsize = '200MB'\n",
        "[cluster]\nhosts = 2\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n\
         [links.host]\ndelay = '5ms'\n[pfc]\nenabled = false\n\
         [[class]]\nid = 3\nlossless = false\n",
    );
    let run = scene.run();
    let flow = &run.report.flows[0];
    assert_eq!(flow.counters.retransmitted, 0);
    let slowdown = flow.completion().expect("done").as_us_f64() / flow.ideal.as_us_f64();
    assert!(slowdown < 1.05, "{slowdown} times slower than ideal");
}

/// A limiter that all queue pairs of a port share fell into step with four senders that take turns: one of them got
/// most notifications, and the incast took 4.6 times its bound, where 3:1 and 5:1 took 1.1.
#[test]
fn no_number_of_senders_is_in_step_with_notifications() {
    let fabric = "[cluster]\nhosts = 17\nnic = 'connectx-7'\n\
                  [fabric]\nkind = 'single'\nleaf = 'tomahawk-5'\n";
    for senders in 2..=16u32 {
        let mut slowdowns: Vec<f64> = (1..=5)
            .map(|seed| {
                let scenario = format!(
                    "fabric = ''\nseed = {seed}\n[[workload]]\nkind = 'incast'\n\
                     senders = {senders}\nsize = '1MB'\n"
                );
                let scene = Scene::of("incast", &scenario, fabric);
                let bound = f64::from(senders) * 1e6 * 8.0 / 400e9 * 1e6;
                scene.run().last_end().since(Instant::ZERO).as_us_f64() / bound
            })
            .collect();
        slowdowns.sort_by(f64::total_cmp);
        assert!(slowdowns[2] < 1.3, "{senders}:1 takes {slowdowns:?} times its bound");
    }
}

/// At 64:1 the scope of the notification interval decides how much is left to PFC.
#[test]
fn notifications_per_port_leave_more_to_pauses() {
    let run = |scope: &str| {
        let scenario = format!(
            "fabric = ''\n[override.transport]\ncnp-scope = '{scope}'\n\
             [[workload]]\nkind = 'incast'\nsenders = 64\nsize = '4MB'\n"
        );
        let fabric = "[cluster]\nhosts = 65\nnic = 'connectx-7'\n\
                      [fabric]\nkind = 'single'\nleaf = 'tomahawk-5'\n";
        let scene = Scene::of("incast", &scenario, fabric);
        let run = scene.run();
        let deepest = run.data("leaf0→server0-nic0").deepest_queue.get();
        (run.report.cnps, run.report.xoff_frames(), deepest)
    };
    let [pair, destination, port] = ["queue-pair", "destination", "port"].map(run);
    println!("queue pair {pair:?}, destination {destination:?}, port {port:?}");
    // Each sender is one destination with one queue pair.
    assert_eq!(pair, destination);
    assert!(port.0 * 4 < pair.0, "{port:?} CNPs against {pair:?}");
    assert!(port.2 > pair.2 && port.1 >= pair.1, "{port:?} against {pair:?}");
}

/// DCTCP cuts by the share of marked packets, which CNPs do not tell: there must be none.
#[test]
fn dctcp_brings_the_echo_that_it_needs() {
    let scenario = "fabric = ''\n[override.transport.congestion]\nkind = 'dctcp'\n\
                    [override.ecn]\nkmin = '100KB'\nkmax = '100KB'\npmax = 1\n\
                    [[workload]]\nkind = 'incast'\nsenders = 4\nsize = '20MB'\n";
    let fabric = "[cluster]\nhosts = 5\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
    let scene = Scene::of("dctcp", scenario, fabric);
    let run = scene.run_until(1, Some(Span::from_ms(4)));
    assert_eq!(run.report.cnps, 0);
    let deepest = run.data("leaf0→server0-nic0").deepest_queue.get() / 1000;
    assert!(deepest < 300, "{deepest} KB");
    let later = scene.gbps(1, ["leaf0→server0-nic0"], (Span::from_ms(1), Span::from_ms(4)));
    near("the bottleneck", later[0], 100.0, 0.02);
}

/// An AllReduce over a link that is dead for 60 s, with what NCCL sets.
const OUTAGE: &str = "fabric = ''\n[allow]\nunfinished = true\n\
    [[workload]]\nkind = 'all-reduce'\nsize = '64MiB'\nrepeat = 20\n\
    [[fault]]\nat = '2ms'\nkind = 'link-down'\nlink = 'server0-nic0 leaf0'\n\
    restore-after = '60s'\n";

#[test]
fn a_minute_without_a_link_ends_in_retry_exceeded() {
    let fabric = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n\
                  leaf = 'tomahawk-5'\n";
    let scene = Scene::of("outage", OUTAGE, fabric);
    let run = scene.run_until(1, None);
    let job = &run.report.jobs[0];
    let failure = job.failure.expect("a queue pair gave up");
    assert_eq!(failure.status, Status::RetryExceeded);
    assert!(failure.from.0 == 0 || failure.to.0 == 0, "{failure:?}");
    // ACK timeout 20, eight times.
    let silence = Span::from_ps(8 * (4_096_000 << 20));
    assert_eq!(failure.after, silence);
    let at = failure.at.since(Instant::ZERO);
    // Counted from the last answer before the link died, or from what was sent into it.
    let (early, late) = (Span::from_us(1_900), Span::from_ms(5));
    assert!(at >= silence + early && at < silence + late, "{at}");
    assert!(job.runs.iter().any(|run| run.end.is_some()), "some were done before");
    assert!(job.runs.last().expect("one began").end.is_none());
    let errors = run.traces(|kind| kind == TraceKind::QueuePairError);
    assert_eq!(errors[0].at, failure.at);
}

#[test]
fn with_two_leaves_the_job_goes_on() {
    let fabric = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n\
                  leaf = 'tomahawk-5'\nhoming = 'dual'\n";
    let scene = Scene::of("outage", OUTAGE, fabric);
    let run = scene.run_until(1, None);
    let job = &run.report.jobs[0];
    assert_eq!(job.failure, None);
    assert!(job.runs.len() == 20 && job.runs.iter().all(|run| run.end.is_some()));
}

/// A server that dies: its peers gave up after 10 simulated seconds and 38.5 million packets.
#[test]
fn peers_of_a_dead_server_give_up() {
    let scenario = "fabric = ''\n[allow]\nunfinished = true\n\
        [[workload]]\nkind = 'permutation'\nsize = '4MB'\n\
        [[fault]]\nat = '20us'\nkind = 'server-down'\nserver = 'server0'\n";
    let fabric = "[cluster]\nhosts = 8\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\n";
    let scene = Scene::of("dead server", scenario, fabric);
    let run = scene.run_until(1, None);
    let failed: Vec<_> = run.report.flows.iter().filter_map(|flow| flow.failure).collect();
    assert_eq!(failed.len(), 2, "one flow from it and one to it");
    assert!(failed.iter().all(|failure| failure.status == Status::RetryExceeded));
    assert!(run.report.packets.0 < 100_000, "{} packets", run.report.packets.0);
}
