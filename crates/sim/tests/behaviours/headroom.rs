//! Headroom that suits the cable, and headroom that does not.

use crate::scene::{Run, Scene, near};
use xoff_sim::{Drop, TraceKind};
use xoff_units::Bytes;

const PACKET: u64 = 4096 + 62;

/// The switch's ports to the eight senders.
fn ports() -> [String; 8] {
    std::array::from_fn(|sender| format!("leaf0→server{}-nic0", sender + 1))
}

#[test]
fn headroom_for_the_cable_drops_nothing() {
    let scene = Scene::load("headroom-auto.toml");
    let run = scene.run();
    for port in ports() {
        let given = scene.fabric.ports[scene.port(&port).index()].classes[3].headroom;
        let used = run.data(&port).deepest_headroom;
        assert!(used <= given);
        // Nor is it wasteful: all but two packets of it are needed at some time.
        assert!(used + Bytes::new(3 * PACKET) > given, "{used} of {given} at {port}");
    }
    // The last link is never idle: 8 flows of 977 packets with 82 B around 4 MB in all, and a round
    // trip.
    let wire = 8.0 * (4e6 + 977.0 * 82.0) * 20e-6;
    near("completion in us", run.last_end().as_ps() as f64 / 1e6, wire + 8.2, 0.003);
}

/// Packets dropped at a port before it first lets its peer go on.
fn first_wave(run: &Run<'_>, port: &str) -> usize {
    let port = run.scene.port(port);
    let here = run.watch.traces.iter().filter(|trace| trace.port == port);
    here.take_while(|trace| trace.kind != TraceKind::Xon)
        .filter(|trace| trace.kind == TraceKind::Drop(Drop::Headroom))
        .count()
}

/// From the pause frame to its last effect pass 3.2 us of cable and 1.158 us (905 quanta) until the
/// NIC obeys: 52 packets arrive. 20 of them fit into 84 KiB, and one in eight finds the place of a
/// packet that left: 26 have no place, one more or less where the first falls between two packets.
#[test]
fn headroom_for_10_m_drops_on_300_m() {
    let scene = Scene::load("headroom-short.toml");
    let run = scene.run();
    for port in ports() {
        let lost = first_wave(&run, &port);
        assert!((25..=27).contains(&lost), "{lost} packets lost at {port}");
        let used = run.data(&port).deepest_headroom;
        assert!(used + Bytes::new(PACKET) > Bytes::new(84 * 1024), "{used} used at {port}");
    }
    let dropped: u64 = run.report.dropped.iter().flatten().sum();
    let at_senders: u64 = ports().iter().map(|port| run.data(port).dropped_packets).sum();
    assert_eq!(run.report.dropped[3][Drop::Headroom as usize], dropped);
    assert_eq!(at_senders, dropped);
    // Every wave is followed by another: go-back-N needs three to five times as long.
    let whole = Scene::load("headroom-auto.toml");
    let times = run.last_end().as_ps() as f64 / whole.run().last_end().as_ps() as f64;
    assert!((3.0..5.0).contains(&times), "{times} times as long");
}

/// The headroom that headroom-short.toml sets is what the rules give a 10 m cable, and there it
/// does.
#[test]
fn the_same_headroom_does_for_10_m() {
    let short = |text: String| text + "[override.links]\nlength = \"10m\"\n";
    let fixed = Scene::edited("headroom-short.toml", short);
    let auto = Scene::edited("headroom-auto.toml", short);
    assert_eq!(fixed.fabric.ports[9].classes[3].headroom, auto.fabric.ports[9].classes[3].headroom);
    assert_eq!(fixed.run().report.dropped, [[0; Drop::COUNT]; 8]);
}
