//! `flow` beside `packet`.

use crate::rows::{NO_CONTROL, collective, leaf_spine, rail, row};
use crate::{errors, run, times};
use xoff_fabric::model::PortId;
use xoff_fabric::scenario::Fidelity;
use xoff_sim::{Refusal, Report, Settings, Silent, SimError};

/// Both ways, and the error of the times.
fn compared(name: &str) -> (Report, Report, f64) {
    let row = row(name);
    let (packet, ..) = run(&row, Fidelity::Packet, 1);
    let (flow, ..) = run(&row, Fidelity::Flow, 1);
    let (mean, _) = errors(&packet, &flow);
    (packet, flow, mean)
}

/// Sums inside NVSwitches, in trees of servers, and in the switches of the network.
#[test]
fn sums_that_switches_make_take_the_same_time() {
    let rows = [
        ("NVLS AllReduce, 8 GPUs, 64 MiB", 0.005),
        ("NVLS tree, 64 GPUs, 64 MiB", 0.03),
        ("in-network, 32 hosts, 16 MiB", 0.01),
    ];
    for (name, most) in rows {
        let (packet, flow, error) = compared(name);
        assert!(error < most, "{name}: {:?} {:?}", times(&packet), times(&flow));
    }
}

#[test]
fn collectives_that_nothing_is_in_the_way_of_take_the_same_time() {
    let rows = [
        ("AllReduce, 64 GPUs, 64 KiB", 0.005),
        ("AllReduce, 64 GPUs, 1 MiB", 0.005),
        ("PAT AllGather, 8 GPUs, 4 MiB", 0.025),
    ];
    for (name, most) in rows {
        let (packet, flow, error) = compared(name);
        assert!(error < most, "{name}: {:?} {:?}", times(&packet), times(&flow));
    }
}

/// Source ports are given out in the same order, so every link carries the same bytes.
#[test]
fn every_link_carries_what_it_carries_as_packets() {
    let row = (
        "",
        rail(128, 4),
        collective("all-reduce", "64MiB", "algorithm = 'ring'\nplacement = 'fragmented'"),
    );
    let (packet, fabric, _) = run(&row, Fidelity::Packet, 3);
    let (flow, ..) = run(&row, Fidelity::Flow, 3);
    let bytes = |report: &Report, port: usize| -> f64 {
        report.ports[port].iter().map(|class| class.wire_bytes as f64).sum()
    };
    let mut used = 0;
    for port in 0..fabric.ports.len() {
        let (meant, found) = (bytes(&packet, port), bytes(&flow, port));
        // Acknowledgements and clear-to-sends are no flows. A queue pair on another link would be half of all.
        let peer = fabric.ports[port].peer;
        let slack = 0.08 * (meant + bytes(&packet, peer.index()));
        assert!(
            (meant - found).abs() <= slack + 4096.0,
            "port {}: {meant} {found}",
            PortId(port as u32)
        );
        used += u32::from(found > 0.0);
    }
    assert!(used > 128, "{used}");
    assert!(errors(&packet, &flow).0 < 0.05, "{:?} {:?}", times(&packet), times(&flow));
}

#[test]
fn flows_without_congestion_control_take_the_time_of_fair_shares() {
    for name in ["permutation, no control", "all to all, no control"] {
        let (packet, flow, error) = compared(name);
        assert!(error < 0.05, "{name}: {error}");
        let last = |report: &Report| times(report).into_iter().fold(0.0, f64::max);
        assert!((last(&flow) / last(&packet) - 1.0).abs() < 0.01, "{name}");
    }
}

/// Two senders over a cable of 40G, with NICs of 100G: what follows the last byte is no more than the latency of the way.
#[test]
fn links_slower_than_the_nics_cost_their_time_once() {
    let fabric = "[[node]]\nname = 'a'\nkind = 'nic'\n[[node]]\nname = 'b'\nkind = 'nic'\n\
        [[node]]\nname = 'c'\nkind = 'nic'\n[[node]]\nname = 'near'\nkind = 'switch'\n\
        [[node]]\nname = 'far'\nkind = 'switch'\n\
        [[link]]\nends = 'a near'\n[[link]]\nends = 'b near'\n[[link]]\nends = 'c far'\n\
        [[link]]\nends = 'near far'\nrate = '40Gbps'\n\
        [cluster]\nnic = 'generic-100g'\n[fabric]\nkind = 'custom'\n[ecn]\nenabled = false\n";
    let fabric = format!("{fabric}{NO_CONTROL}");
    for (from, about) in [("a", 8e6 / 40e3), ("a b", 16e6 / 40e3)] {
        let flow = |from| format!("{{ source = '{from}', destination = 'c', size = '1MB' }}");
        let flows = from.split(' ').map(flow).collect::<Vec<_>>().join(", ");
        let flows = format!("[[workload]]\nkind = 'flows'\nlist = [{flows}]\n");
        let row = ("", fabric.clone(), flows);
        let (packet, flow) = (run(&row, Fidelity::Packet, 1).0, run(&row, Fidelity::Flow, 1).0);
        let (packet, flow) = (times(&packet), times(&flow));
        for (packet, flow) in packet.iter().zip(&flow) {
            assert!((flow / packet - 1.0).abs() < 0.01, "{packet} {flow}");
            assert!((about..about * 1.2).contains(flow), "{flow} for {about}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_one_another() {
    let row = row("two fragmented rings, 16 MiB");
    let hash = |seed| run(&row, Fidelity::Flow, seed).0.hash;
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

/// A larger message never takes less time, and more that competes never makes anything faster.
#[test]
fn more_is_never_faster() {
    let time = |size: u32, others: u32| {
        let mut text = collective(
            "all-reduce",
            &format!("{size}MiB"),
            "algorithm = 'ring'\nranks = 64\nplacement = 'fragmented'",
        );
        for _ in 0..others {
            text += &collective(
                "all-reduce",
                "64MiB",
                "algorithm = 'ring'\nranks = 128\nplacement = 'fragmented'",
            );
        }
        times(&run(&("", rail(256, 8), text), Fidelity::Flow, 1).0)[0]
    };
    let sizes: Vec<f64> = [1, 4, 16, 64].map(|size| time(size, 0)).to_vec();
    assert!(sizes.is_sorted(), "{sizes:?}");
    let others: Vec<f64> = [0, 1, 2].map(|others| time(16, others)).to_vec();
    assert!(others.is_sorted_by(|one, more| *more >= one * 0.999), "{others:?}");
}

#[test]
fn what_flows_cannot_show_is_refused_by_name() {
    let refused = |fabric: String, workloads: &str, settings: Settings| {
        let text = format!("fabric = 'f.toml'\n{workloads}");
        let setup = xoff_fabric::load_scenario(&text, &fabric).into_result().expect("sound files");
        let (fabric, scenario) = (setup.setup.fabric, setup.scenario);
        let mut none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        let flows =
            xoff_workload::expand(&scenario.workloads, &fabric, 1, &mut none).expect("flows");
        let settings = Settings { fidelity: Fidelity::Flow, ..settings };
        match xoff_sim::run(&fabric, &flows, &scenario.faults, &settings, &mut Silent) {
            Err(SimError::Flow(refusal)) => Some(refusal),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    };
    let pairs = "[[workload]]\nkind = 'permutation'\nsize = '1MB'\n";
    let fault =
        format!("{pairs}[[fault]]\nkind = 'link-down'\nat = '1us'\nlink = 'leaf0 spine0'\n");
    let scraped = Settings { scrape_period: xoff_units::Span::from_us(10), ..Settings::default() };
    let lossy = leaf_spine(8) + "[pfc]\nenabled = false\n";
    let none = Settings::default;
    assert_eq!(refused(leaf_spine(8), pairs, none()), None);
    assert_eq!(refused(leaf_spine(8), &fault, none()), Some(Refusal::Faults));
    assert_eq!(refused(leaf_spine(8), pairs, scraped), Some(Refusal::Counters));
    assert_eq!(refused(lossy, pairs, none()), Some(Refusal::Lossy));
}
