//! The fast search for deadlocks finds what the plain one finds, when it finds it.
//!
//! Rings of switches whose routes go round, with two lossless classes, bursts that fill and empty the
//! ring's queues, watchdogs that empty them, and links that fail while queues are paused.

use crate::{cases, until};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Write;
use xoff_fabric::model::{ClassId, Fabric, NicId};
use xoff_fabric::scenario::{Fault, LinkChoice, LinkDown, Operation, Reaction};
use xoff_sim::{QueueKind, Report, Settings, Silent};
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::Flow;

#[derive(Debug, Clone)]
struct Ring {
    switches: u32,
    hosts: u32,
    /// Whether packets for a host go round the one way or the other, host by host.
    clockwise: Vec<bool>,
    buffer_kb: u64,
    quanta: &'static str,
    watchdog: Option<&'static str>,
}

impl Ring {
    fn fabric(&self) -> Fabric {
        let mut text = format!(
            "[cluster]\nnic = 'generic-100g'\n[fabric]\nkind = 'custom'\n[links.leaf-spine]\n\
             rate = '100Gbps'\n[switch]\nbuffer = '{}KB'\n[ecn]\nenabled = false\n[pfc]\nquanta = {}\n\
             [transport]\ntimeout = '2ms'\ncongestion = {{ kind = 'none' }}\n\
             [[class]]\nid = 4\nlossless = true\n",
            self.buffer_kb, self.quanta
        );
        if let Some(action) = self.watchdog {
            write!(
                text,
                "[switch.watchdog]\ndetect = '100us'\nrestore = '100us'\naction = '{action}'\n"
            )
            .unwrap();
        }
        let switches = self.switches;
        for switch in 0..switches {
            let next = (switch + 1) % switches;
            write!(text, "[[node]]\nname = 's{switch}'\nkind = 'switch'\n[[link]]\nends = 's{switch} s{next}'\nlength = '30m'\n")
                .unwrap();
        }
        for (host, &clockwise) in (0..switches * self.hosts).zip(self.clockwise.iter().cycle()) {
            let home = host % switches;
            write!(
                text,
                "[[node]]\nname = 'h{host}'\nkind = 'nic'\n[[link]]\nends = 'h{host} s{home}'\n"
            )
            .unwrap();
            for at in (0..switches).filter(|&at| at != home) {
                let step = if clockwise { 1 } else { switches - 1 };
                let via = (at + step) % switches;
                write!(text, "[[route]]\nat = 's{at}'\nto = 'h{host}'\nvia = 's{via}'\n").unwrap();
            }
        }
        match Fabric::from_toml(&text) {
            Ok(fabric) => fabric,
            Err(found) => panic!("{text}\n{found:#?}"),
        }
    }
}

fn ring() -> impl Strategy<Value = Ring> {
    let shape = (3u32..6, 1u32..4, proptest::collection::vec(any::<bool>(), 1..6));
    let rules = (
        select(vec![2_000, 4_000, 9_000]),
        select(vec!["65535", "2000", "'until-resume'"]),
        select(vec![None, Some("drop"), Some("forward")]),
    );
    (shape, rules).prop_map(|((switches, hosts, clockwise), (buffer_kb, quanta, watchdog))| Ring {
        switches,
        hosts,
        clockwise,
        buffer_kb,
        quanta,
        watchdog,
    })
}

/// Starts in microseconds, ends, sizes in kilobytes and classes.
type Load = Vec<(u64, u32, u32, u64, u8)>;

fn flows(load: &Load, fabric: &Fabric) -> Vec<Flow> {
    let nics = fabric.nics.len() as u32;
    let flow = |(index, &(start, source, step, kb, class)): (usize, &(u64, u32, u32, u64, u8))| {
        let source = source % nics;
        let destination = (source + 1 + step % (nics - 1)) % nics;
        Flow {
            start: Instant::ZERO + Span::from_us(start),
            source: NicId(source),
            destination: NicId(destination),
            bytes: Bytes::new(kb * 1000),
            class: ClassId(class),
            operation: Operation::Write,
            source_port: 0xc000 + index as u16,
            path: None,
            workload: 0,
            vxlan: false,
        }
    };
    load.iter().enumerate().map(flow).collect()
}

fn run(fabric: &Fabric, flows: &[Flow], faults: &[Fault], queue: QueueKind) -> Report {
    let settings = Settings { queue, ..until(Span::from_ms(3)) };
    xoff_sim::run(fabric, flows, faults, &settings, &mut Silent).expect("the fabric is right")
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_fast_search_finds_what_the_plain_one_finds(
        ring in ring(),
        load in proptest::collection::vec(
            (0u64..400, any::<u32>(), any::<u32>(), 50u64..4000, select(vec![3u8, 4])), 3..16),
        breaks in proptest::option::of((0u32..6, 100u64..900, proptest::option::of(50u64..500))),
    ) {
        let fabric = ring.fabric();
        let flows = flows(&load, &fabric);
        let faults: Vec<Fault> = breaks.into_iter().map(|(link, at, back)| {
            let (from, to) = (link % ring.switches, (link + 1) % ring.switches);
            let links = LinkChoice { link: Some(format!("s{from} s{to}")), ..LinkChoice::default() };
            Fault::LinkDown(LinkDown {
                links,
                at: Span::from_us(at),
                restore_after: back.map(Span::from_us),
                silent: false,
                reaction: Reaction::after(Span::from_us(50), Span::from_ms(10)),
            })
        }).collect();
        let fast = run(&fabric, &flows, &faults, QueueKind::Wheel);
        let plain = run(&fabric, &flows, &faults, QueueKind::Heap);
        prop_assert_eq!(&fast.deadlocks, &plain.deadlocks);
        prop_assert_eq!((fast.outcome, fast.end, fast.hash), (plain.outcome, plain.end, plain.hash));
    }
}
