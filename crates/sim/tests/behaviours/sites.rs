//! Sites that are 40 km apart: headroom and throughput over a distance.

use crate::scene::{Run, Scene, near};
use xoff_sim::Drop;
use xoff_units::{Bytes, Span};

/// Bytes that a 400G link has in flight there and back: 40 km at 5 ns/m and 4 us of FEC, both twice.
const IN_FLIGHT: f64 = 2.0 * (200e-6 + 4e-6) * 50e9;

fn no_drops(run: &Run<'_>) {
    assert_eq!(run.report.dropped, [[0; Drop::COUNT]; 8]);
}

/// The ports of the far switch towards the near one, by number.
fn long_ports(scene: &Scene) -> Vec<usize> {
    let name = |port: &usize| {
        let name = scene.fabric.port_name(xoff_fabric::model::PortId(*port as u32));
        name.starts_with("border-b→border-a")
    };
    (0..scene.fabric.ports.len()).filter(name).collect()
}

/// Time of 400 MB in packets of 4 KB on a 400G link, in us.
fn wire() -> f64 {
    400e6 * 4178.0 / 4096.0 * 20e-6
}

#[test]
fn headroom_is_what_the_distance_holds() {
    let scene = Scene::load("two-sites-incast.toml");
    let given: Vec<f64> = long_ports(&scene)
        .into_iter()
        .map(|port| scene.fabric.ports[port].classes[3].headroom.get() as f64)
        .collect();
    assert_eq!(given.len(), 4);
    given.iter().for_each(|&bytes| near("headroom", bytes, IN_FLIGHT, 0.02));
}

/// A pause takes a round trip, and so does the first byte after it: what was in flight fills the
/// headroom, and a port that resumes with 1 MB left runs dry.
#[test]
fn a_pause_over_40_km_loses_nothing_and_costs_throughput() {
    let scene = Scene::load("two-sites-incast.toml");
    let run = scene.run();
    no_drops(&run);
    let ports = long_ports(&scene);
    let used: Vec<Bytes> =
        ports.iter().map(|&port| run.report.ports[port][3].deepest_headroom).collect();
    println!("headroom used: {used:?}");
    let most = used.iter().map(|used| used.get() as f64).fold(0.0, f64::max);
    assert!((0.5 * IN_FLIGHT..1.02 * IN_FLIGHT).contains(&most), "{most} bytes of headroom used");
    let deep = Scene::load("two-sites-deep.toml");
    let deep = deep.run();
    no_drops(&deep);
    let [slow, fast] = [&run, &deep].map(|run| run.last_end().as_ps() as f64 / 1e6);
    println!("{slow} us with 1 MB, {fast} us with the deep buffer, {} us on the wire", wire());
    // The last link is never idle: the wire, and the distance there and back.
    near("with the deep buffer", fast, wire() + 204.0 * 2.0, 0.01);
    assert!(slow > 1.05 * fast, "{slow} us, and {fast} us with the deep buffer");
    let paused: Span = ports
        .iter()
        .map(|&port| {
            let peer = deep.scene.fabric.ports[port].peer;
            deep.report.ports[peer.index()][3].paused
        })
        .fold(Span::ZERO, |sum, time| sum + time);
    assert_eq!(paused, Span::ZERO, "the near switch is never paused");
}

#[test]
fn an_all_reduce_over_40_km_loses_nothing() {
    let scene = Scene::load("two-sites-all-reduce.toml");
    let run = scene.run();
    no_drops(&run);
    let time = run.report.jobs[0].runs[0].time().expect("it ended").as_us_f64();
    // At the links' rate: 2 x 7/8 of 256 MiB through every NIC.
    let least = 2.0 * 7.0 / 8.0 * f64::from(256 << 20) * 4178.0 / 4096.0 * 20e-6;
    println!("{time} us, {least} us at the links' rate");
    // The buffers of the channels let 8.4 MB be in flight in a round trip, where the link could have 20.
    assert!((2.0 * least..4.0 * least).contains(&time), "{time} us");
    assert_eq!(run.report.jobs[0].counters.retransmitted, 0);
}
