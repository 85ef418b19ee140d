//! Links and switches that die, flap, are reset or get dirty, and what that costs.

use crate::scene::{Run, Scene, near};
use xoff_fabric::model::NicId;
use xoff_sim::{Drop, TraceKind};
use xoff_units::{Instant, Span};

fn dropped(run: &Run<'_>, reason: Drop) -> u64 {
    run.report.dropped.iter().map(|reasons| reasons[reason as usize]).sum()
}

fn mean_us<'a>(flows: impl Iterator<Item = &'a xoff_sim::FlowResult> + Clone) -> f64 {
    let sum: f64 = flows.clone().map(|f| f.completion().expect("done").as_us_f64()).sum();
    sum / flows.count() as f64
}

#[test]
fn a_dead_spine_costs_less_than_its_share() {
    let scene = Scene::load("dead-spine.toml");
    let (run, whole) = (scene.run(), Scene::load("permutation.toml"));
    let whole = whole.run();
    assert!(dropped(&run, Drop::LinkDown) > 0);
    // What is sent to the spine is sent within 250 us, at 12,500 bytes per us at most by each leaf.
    let most = Span::from_us(250).as_us_f64() * 12_500.0;
    for leaf in 0..8 {
        let sent = run.data(&format!("leaf{leaf}→spine0")).tx_bytes as f64;
        assert!(sent <= most, "{sent} bytes to the dead spine");
    }
    let (with, without) = (mean_us(run.report.flows.iter()), mean_us(whole.report.flows.iter()));
    let (last, before) = (run.last_end(), whole.last_end());
    println!("mean {with} us, {without} without the fault; last {last}, {before} without");
    // A quarter of the spines is gone; the links to the hosts, which all flows share, are not.
    assert!((1.05..1.33).contains(&(with / without)), "{}", with / without);
    assert!((1.05..1.33).contains(&(last.as_ps() as f64 / before.as_ps() as f64)));
}

#[test]
fn a_flapping_link_costs_more_than_its_share() {
    let scene = Scene::load("flapping-link.toml");
    let run = scene.run();
    let begins = run.traces(|kind| kind == TraceKind::Fault(0));
    let ends = run.traces(|kind| kind == TraceKind::FaultEnd(0));
    let at = |us| Instant::ZERO + Span::from_us(us);
    let moments = |traces: &[xoff_sim::Trace]| traces.iter().map(|t| t.at).collect::<Vec<_>>();
    assert_eq!(moments(&begins), [at(500), at(1500), at(2500), at(3500)]);
    assert_eq!(moments(&ends), [at(600), at(1600), at(2600), at(3600)]);
    let calm = Scene::edited("flapping-link.toml", |text| {
        text[..text.find("[[fault]]").expect("a fault")].to_owned()
    });
    let calm = calm.run();
    let late = |flow: usize| {
        let completion = |run: &Run<'_>| run.report.flows[flow].completion().expect("done");
        completion(&run).as_us_f64() - completion(&calm).as_us_f64()
    };
    let worst = (0..64).map(late).fold(0.0, f64::max);
    let hurt = run.report.flows.iter().filter(|f| f.counters.timeouts > 0).count();
    assert_eq!(hurt, 0, "packets behind the gap tell of it in time");
    assert!((500.0..1000.0).contains(&worst), "down for 400 us in all, a flow {worst} us late");
}

#[test]
fn a_dirty_optic_costs_a_round_trip_per_packet() {
    let scene = Scene::load("dirty-optic.toml");
    let run = scene.run();
    assert_eq!(run.report.dropped[3][Drop::LinkDown as usize], 0);
    assert!(run.traces(|kind| kind == TraceKind::Loss)[0].at > Instant::ZERO + Span::from_ms(1));
    // Bytes that arrive in the clean millisecond, and in the dirty time after it.
    let packet_us = (4096.0 + 62.0 + 20.0) * 20e-6;
    let total = run.completion("sender", "receiver").as_us_f64();
    let clean = 1000.0 / packet_us;
    let p = 3e-8 * 8.0 * 4178.0;
    let share = (97_657.0 - clean) * packet_us / (total - 1000.0);
    let expected = 1.0 / (1.0 + p * 10.0 / packet_us);
    let losses = run.flow("sender", "receiver").counters.naks as f64;
    near(
        "goodput on the dirty link",
        share,
        expected,
        3.0 * (1.0 - expected) / losses.sqrt() + 2.0 * p,
    );
}

#[test]
fn a_reset_leaf_stops_its_hosts_and_no_others() {
    let scene = Scene::load("leaf-reset.toml");
    let run = scene.run();
    let mine = |nic: NicId| nic.0 < 8;
    let flows = || scene.flows.iter().zip(&run.report.flows);
    let behind = flows().filter(|(f, _)| mine(f.source) || mine(f.destination)).map(|(_, r)| r);
    let others = flows().filter(|(f, _)| !mine(f.source) && !mine(f.destination)).map(|(_, r)| r);
    near("behind the leaf, in us", mean_us(behind.clone()), 1680.0, 0.1);
    near("others, in us", mean_us(others.clone()), 1140.0, 0.1);
    assert!(dropped(&run, Drop::NodeDown) > 0);
    for flow in others.clone() {
        assert_eq!(flow.counters.timeouts, 0);
        assert_eq!(flow.counters.retransmitted, 0);
    }
    let back = Instant::ZERO + Span::from_us(550);
    assert!(behind.clone().all(|flow| flow.end.expect("done") > back));
    assert!(behind.clone().all(|flow| flow.counters.retransmitted > 0));
}
