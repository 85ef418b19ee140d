//! Deep buffers with virtual output queues beside a shared buffer: an incast and a victim.

use crate::scene::{Run, Scene, near};
use xoff_fabric::model::Fabric;
use xoff_sim::{Drop, QueueKind, Settings, Silent};
use xoff_units::{Bytes, Span};

/// The victim's completion time over the time that it takes on an idle fabric.
fn slowdown(run: &Run<'_>) -> f64 {
    let victim = run.flow("server0-nic0", "server75-nic0");
    victim.completion().expect("it ended").as_us_f64() / victim.ideal.as_us_f64()
}

/// Time for which the spine paused the leaves.
fn paused_leaves(run: &Run<'_>) -> Span {
    let leaves = (0..10).filter(|&leaf| leaf != 8).map(|leaf| format!("leaf{leaf}→spine0"));
    leaves.map(|port| run.data(&port).paused).fold(Span::ZERO, |sum, time| sum + time)
}

#[test]
fn an_incast_through_virtual_output_queues_hurts_no_other_flow() {
    let scene = Scene::load("deep-victim.toml");
    let run = scene.run();
    let victim = slowdown(&run);
    println!("{victim} times its time alone");
    assert!((1.0..1.1).contains(&victim), "{victim} times its time alone");
    assert_eq!(paused_leaves(&run), Span::ZERO);
    // ECN marks by the length of the queue that a packet waits in.
    assert!(run.data("spine0→leaf8").marked > 0, "the incast is marked in the spine");
    assert_eq!(run.flow("server0-nic0", "server75-nic0").counters.marked, 0);
    assert!(run.data("spine0→leaf8").pauses_received > 0, "the incast's leaf does pause the spine");
    // What the leaf holds back waits in the spine: most of 57 x 4 MB.
    let held = run.data("spine0→leaf8").deepest_queue;
    assert!(held > Bytes::new(150_000_000), "{held} waited in the spine");
    // The last link is never idle: 64 x 977 packets with 82 bytes around 4 MB each, at 80 ps a byte.
    let wire = 64.0 * (4e6 + 977.0 * 82.0) * 80e-6;
    let last = run.report.flows[..64].iter().filter_map(|flow| flow.end).max().expect("an end");
    near("the incast in us", last.as_ps() as f64 / 1e6, wire, 0.005);
    assert_eq!(run.report.dropped, [[0; Drop::COUNT]; 8]);
}

#[test]
fn the_same_incast_through_a_shared_buffer_hurts_the_victim() {
    let scene = Scene::load("shallow-victim.toml");
    let run = scene.run();
    let victim = slowdown(&run);
    println!("{victim} times its time alone, leaves paused for {}", paused_leaves(&run));
    assert!(victim > 3.0, "{victim} times its time alone");
    assert!(paused_leaves(&run) > Span::from_ms(1));
    assert_eq!(run.report.dropped, [[0; Drop::COUNT]; 8]);
}

/// Credits go round the ingresses, not the flows.
#[test]
fn ingresses_share_a_port_evenly() {
    let text = "[cluster]\nhosts = 5\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n\
                leaf = 'jericho-3-ai'\n[transport]\ntimeout = '500ms'\ncongestion = { kind = 'none' }\n";
    let list = "{ source = 1, destination = 0, size = '10MB' }, \
                { source = 2, destination = 0, size = '10MB' }, \
                { source = 2, destination = 0, size = '10MB' }, \
                { source = 3, destination = 0, size = '10MB' }, \
                { source = 4, destination = 3, size = '10MB' }";
    let scenario = format!("fabric = 'f'\n[[workload]]\nkind = 'flows'\nlist = [{list}]\n");
    let setup = xoff_fabric::load_scenario(&scenario, text).into_result().expect("a scenario");
    let fabric = setup.setup.fabric;
    let mut open = |_: &str| -> std::io::Result<Box<dyn std::io::BufRead>> { panic!("no files") };
    let flows = xoff_workload::expand(&setup.scenario.workloads, &fabric, 1, &mut open);
    let flows = flows.expect("flows");
    let run = |queue| {
        let settings = Settings { queue, check_wire: true, ..Settings::default() };
        xoff_sim::run(&fabric, &flows, &[], &settings, &mut Silent).expect("a run")
    };
    let report = run(QueueKind::Wheel);
    assert_eq!(run(QueueKind::Heap).hash, report.hash, "both event queues agree");
    let ends: Vec<f64> =
        report.flows.iter().map(|flow| flow.completion().expect("an end").as_us_f64()).collect();
    // A third of 100 Gb/s for each ingress; then all of it for the second flow of one.
    let alone = 10e6 * 4178.0 / 4096.0 * 80e-6;
    near("first ingress", ends[0], 3.0 * alone, 0.02);
    near("third ingress", ends[3], 3.0 * alone, 0.02);
    near("two flows of one ingress", ends[1].max(ends[2]), 4.0 * alone, 0.02);
    near("a flow that shares nothing", ends[4], alone, 0.02);
}

/// Data sheets give such systems 3 to 4 us, where a shared-buffer ASIC takes less than one.
#[test]
fn an_idle_switch_takes_credits_and_fabric() {
    let time = |silicon: &str| {
        let text = format!(
            "[cluster]\nhosts = 2\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\nleaf = '{silicon}'\n"
        );
        let fabric = Fabric::from_toml(&text).expect("a fabric");
        let scenario = "fabric = 'f'\n[[workload]]\nkind = 'flows'\n\
                        list = [{ source = 0, destination = 1, size = '1KB' }]\n";
        let setup = xoff_fabric::load_scenario(scenario, &text).into_result().expect("a scenario");
        let mut open =
            |_: &str| -> std::io::Result<Box<dyn std::io::BufRead>> { panic!("no files") };
        let flows = xoff_workload::expand(&setup.scenario.workloads, &fabric, 1, &mut open);
        let flows = flows.expect("flows");
        let report = xoff_sim::run(&fabric, &flows, &[], &Settings::default(), &mut Silent);
        let flow = report.expect("a run").flows[0];
        let time = flow.completion().expect("it ended").as_us_f64();
        // The bound leaves out the extended header of the only packet.
        near("time over its bound", time, flow.ideal.as_us_f64(), 0.001);
        time
    };
    // There and back: the data and its acknowledgement.
    let more = (time("jericho-3-ai") - time("tomahawk-5")) / 2.0;
    near("more than a shared buffer in us", more, 3.5 - 0.75, 0.02);
}
