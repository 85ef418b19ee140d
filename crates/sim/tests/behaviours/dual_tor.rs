//! NICs on one leaf and on two, when a cable or a leaf dies under an AllReduce.

use crate::scene::{Run, Scene, near};
use xoff_sim::Drop;
use xoff_units::Span;

/// The bus bandwidths of a scenario's AllReduces in GB/s, and their times.
fn figures(run: &Run<'_>) -> (Vec<f64>, Vec<Span>) {
    let times: Vec<Span> =
        run.report.jobs.iter().map(|job| job.runs[0].time().expect("it ended")).collect();
    let (bytes, ranks) = (f64::from(32 << 20), 64.0);
    let bus = |time: &Span| bytes * 2.0 * (ranks - 1.0) / ranks / time.as_us_f64() / 1e3;
    let found = (times.iter().map(bus).collect(), times);
    println!("{found:?}");
    found
}

fn link_drops(run: &Run<'_>) -> u64 {
    run.report.dropped.iter().map(|reasons| reasons[Drop::LinkDown as usize]).sum()
}

/// Once traffic has moved, one dead cable costs little where NVLink asks of a NIC no more than one port
/// can carry. The published figure for dual ToR is 6.25 %, and a halt for one ToR.
#[test]
fn two_tors_go_on_where_one_stops() {
    let (dual, single) = (Scene::load("dual-tor.toml"), Scene::load("single-tor.toml"));
    let (dual, single) = (dual.run(), single.run());
    let (bus, times) = figures(&dual);
    near("bus bandwidth before, which NVLink limits", bus[0], 200.0, 0.02);
    let cost = 1.0 - bus[2] / bus[0];
    assert!((0.03..0.07).contains(&cost), "a dead cable costs {cost}");
    assert!(times[1] < Span::from_us(4000), "moving takes {}", times[1]);
    assert!(link_drops(&dual) > 0 && link_drops(&single) > 0);

    let (bus, times) = figures(&single);
    near("one ToR before", bus[0], 200.0, 0.02);
    near("one ToR after the cable is back", bus[2], bus[0], 0.001);
    assert!(times[1] > Span::from_us(10_150), "the cable is dead for 10 ms, not {}", times[1]);
}

/// The same with a whole leaf: all servers lose a port of one rail.
#[test]
fn two_tors_survive_a_leaf() {
    let scene = Scene::edited("dual-tor.toml", |text| {
        let text = text.replace("kind = \"link-down\"", "kind = \"switch-down\"");
        text.replace("link = \"server0-nic0 leaf0\"", "switch = \"leaf0\"")
    });
    let run = scene.run();
    let (bus, times) = figures(&run);
    let cost = 1.0 - bus[2] / bus[0];
    assert!((0.03..0.07).contains(&cost), "a dead leaf costs {cost}");
    assert!(times[1] < Span::from_us(4000), "moving takes {}", times[1]);
}

/// Where the network and not NVLink is the limit, a ring is as slow as its slowest link.
#[test]
fn a_ring_that_needs_both_ports_loses_half() {
    let fast = "[override.cluster]\nnvlink = \"3.6Tbps\"\n";
    let scene = Scene::edited("dual-tor.toml", |text| text + fast);
    let run = scene.run();
    let (bus, _) = figures(&run);
    near("bus bandwidth before, which the NICs limit", bus[0], 385.0, 0.04);
    let left = bus[2] / bus[0];
    assert!((0.3..0.52).contains(&left), "{left} of it is left");
}
