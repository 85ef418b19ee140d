use super::*;
use proptest::prelude::*;

fn spectrum4(gbps: u64, metres: u64) -> Situation {
    let rate = Rate::from_gbps(gbps);
    Situation {
        rate,
        length: Length::from_m(metres),
        delay: Length::from_m(metres).propagation(),
        port_mtu: Bytes::new(9216),
        largest: Bytes::new(1024),
        smallest: Bytes::new(64),
        gap: Bytes::new(20),
        pause_frame: Bytes::new(84),
        response: pause::response_time(rate),
        peer_latency: Span::ZERO,
        cell: Bytes::new(192),
        silicon: SiliconPart { pipeline: Span::from_ns(120), ..SiliconPart::default() },
    }
}

#[test]
fn the_shipped_spectrum_4_figure() {
    assert_eq!(shipped(&spectrum4(400, 40)), Bytes::new(283_648));
    assert_eq!(headroom(&spectrum4(400, 40)), Bytes::new(283_648));
}

/// The formula with a tile of 120 ns, for every rate and length that the facts of the SN5600 name.
/// One of the nine (400G, 40 m) is a figure that was read as such; the others follow from the
/// formula and are kept so that nobody changes them unawares.
#[test]
fn the_table_of_the_sn5600() {
    let table = [
        (100, [113_664, 126_976, 225_280]),
        (400, [231_424, 283_648, 677_888]),
        (800, [257_024, 362_496, 1_150_976]),
    ];
    for (gbps, expected) in table {
        for (metres, bytes) in [5, 40, 300].into_iter().zip(expected) {
            assert_eq!(shipped(&spectrum4(gbps, metres)), Bytes::new(bytes), "{gbps}G {metres} m");
        }
    }
}

#[test]
fn a_tomahawk_5_figure() {
    let silicon = SiliconPart {
        pipeline: Span::from_ns(461),
        step: Bytes::new(254),
        ..SiliconPart::default()
    };
    let port = Situation { cell: Bytes::new(254), silicon, ..spectrum4(400, 40) };
    assert_eq!(shipped(&port), Bytes::new(446_024));
}

#[test]
fn longer_faster_and_slower_to_answer_all_need_more() {
    let base = spectrum4(400, 40);
    let needs = |change: fn(&mut Situation)| {
        let mut other = base;
        change(&mut other);
        assert!(headroom(&other) > headroom(&base));
    };
    needs(|s| s.length = Length::from_m(300));
    needs(|s| s.rate = Rate::from_gbps(800));
    needs(|s| s.response = Span::from_us(5));
    needs(|s| s.peer_latency = Span::from_us(5));
    needs(|s| s.delay = Span::from_us(5));
    needs(|s| s.cell = Bytes::new(400));
}

/// The same worst case played through packet by packet: how much buffer do packets of one size
/// take until the wire falls silent?
fn played_through(s: &Situation, size: Bytes) -> u128 {
    let wire_time = |bytes: Bytes| s.rate.time_for(bytes);
    let pause_takes_effect = wire_time(s.largest + s.gap)
        + wire_time(s.pause_frame)
        + s.delay
        + s.response.max(s.peer_latency);
    // Packets that the peer began before it stopped; they arrive one delay later, and those that
    // were in flight when the threshold was crossed are the ones begun in the delay before it.
    let sending = s.delay + pause_takes_effect;
    let each = wire_time(size + s.gap);
    let packets = u128::from(sending.as_ps()) / u128::from(each.as_ps().max(1)) + 1;
    let crossing = 1;
    (packets + crossing) * u128::from(size.round_up_to(s.cell).get())
}

fn rates() -> impl Strategy<Value = Rate> {
    prop_oneof![
        Just(10u64),
        Just(25),
        Just(40),
        Just(50),
        Just(56),
        Just(100),
        Just(200),
        Just(400),
        Just(800),
        Just(1600)
    ]
    .prop_map(Rate::from_gbps)
}

prop_compose! {
    fn situations()(
        rate in rates(),
        length in 0u64..100_000_000,
        given_delay in prop::option::of(0u64..20_000_000),
        fec in 0u64..500_000,
        mtu in 64u64..9_000,
        header in 1u64..100,
        gap in 0u64..40,
        smallest in 1u64..200,
        pause_frame in 1u64..100,
        response in prop::option::of(0u64..10_000_000),
        peer_latency in 0u64..5_000_000,
        cell in prop_oneof![Just(0u64), Just(80), Just(96), Just(144), Just(192), Just(254), 1u64..512],
        port_mtu in 64u64..10_000,
        step in prop_oneof![Just(0u64), Just(1024), Just(254)],
    ) -> Situation {
        let length = Length::from_mm(length);
        Situation {
            rate,
            length: if given_delay.is_some() { Length::default() } else { length },
            delay: given_delay.map_or(length.propagation() + Span::from_ps(fec), Span::from_ps),
            port_mtu: Bytes::new(port_mtu),
            largest: Bytes::new(mtu + header),
            smallest: Bytes::new(smallest.min(mtu + header)),
            gap: Bytes::new(gap),
            pause_frame: Bytes::new(pause_frame),
            response: response.map_or(pause::response_time(rate), Span::from_ps),
            peer_latency: Span::from_ps(peer_latency),
            cell: Bytes::new(cell),
            silicon: SiliconPart { step: Bytes::new(step), ..SiliconPart::default() },
        }
    }
}

proptest! {
    #[test]
    fn computed_headroom_holds_the_worst_case(s in situations(), share in 0u64..=100) {
        let (small, large) = (s.smallest.get(), s.largest.get());
        let sizes = [
            small,
            large,
            small + (large - small) * share / 100,
            (s.cell.get() + 1).clamp(small, large),
            (2 * s.cell.get() + 1).clamp(small, large),
        ];
        for size in sizes {
            let worst = played_through(&s, Bytes::new(size));
            prop_assert!(
                u128::from(headroom(&s).get()) >= worst,
                "{} B packets take {worst}, headroom {}", size, headroom(&s).get()
            );
        }
    }

    #[test]
    fn extreme_numbers_do_not_panic(
        rate: u64, length: u64, delay: u64, mtu: u64, gap: u64, cell: u64, step: u64
    ) {
        let s = Situation {
            rate: Rate::from_bps(rate),
            length: Length::from_mm(length),
            delay: Span::from_ps(delay),
            port_mtu: Bytes::new(mtu),
            largest: Bytes::new(mtu),
            smallest: Bytes::new(gap),
            gap: Bytes::new(gap),
            cell: Bytes::new(cell),
            silicon: SiliconPart { step: Bytes::new(step), ..SiliconPart::default() },
            ..spectrum4(400, 40)
        };
        let _ = headroom(&s);
    }
}
