use super::*;

#[test]
#[ignore]
fn explore2() {
    use crate::stream::Stream;
    let mut st = Stream::new(7, 1, "explore");
    for case in 0..600 {
        let gpus = [1, 1, 2, 4, 8][st.below(5) as usize];
        let servers = 2 + st.below(if case % 3 == 0 { 40 } else { 12 }) as u32;
        let fabric = cluster(servers, gpus);
        let layout = packed(&fabric);
        let collective = COLLECTIVES[st.below(6) as usize];
        let algs = Algorithm::of(collective);
        let algorithm = algs[st.below(algs.len() as u64) as usize];
        let size = 1u64 << (12 + st.below(17));
        let size = size + st.below(size);
        let channels = if st.below(2) == 0 { None } else { Some(1 + st.below(10) as u32) };
        let network = Network {
            latency: Span::from_ns(100 + st.below(9_000)),
            nvlink_latency: Span::from_ns(st.below(2_000)),
            ..Network::default()
        };
        let settings = Settings { channels, ..Settings::default() };
        let out = run((collective, algorithm), size, &fabric, &layout, &settings, &network);
        let b =
            bound(collective, algorithm, Bytes::new(size), &layout, &settings, &network).unwrap();
        let mut terms = [b.wire, b.path, b.credit];
        terms.sort();
        eprintln!(
            "R {servers}x{gpus} {} {} {size} ch {channels:?} lat {} nv {}: {} bound {} wire {} path {} credit {} second {:.2} ratio {:.3}",
            collective.name(),
            algorithm.name(),
            network.latency,
            network.nvlink_latency,
            out.end,
            b.time,
            b.wire,
            b.path,
            b.credit,
            terms[1].as_ps() as f64 / terms[2].as_ps() as f64,
            out.end.as_ps() as f64 / b.time.as_ps() as f64
        );
    }
}

#[test]
#[ignore]
#[expect(clippy::disallowed_methods, reason = "measures")]
fn speed() {
    let network = Network {
        latency: Span::from_us(2),
        nvlink_latency: Span::from_us(1),
        ..Network::default()
    };
    for (servers, gpus, collective, size) in [
        (512, 1, Collective::AllReduce, 1u64 << 26),
        (32, 8, Collective::AllReduce, 1 << 28),
        (32, 8, Collective::AllToAll, 1 << 28),
        (512, 1, Collective::AllToAll, 1 << 24),
    ] {
        let fabric = cluster(servers, gpus);
        let layout = packed(&fabric);
        let t = std::time::Instant::now();
        let out = run(
            (collective, Algorithm::of(collective)[0]),
            size,
            &fabric,
            &layout,
            &Settings::default(),
            &network,
        );
        let s = t.elapsed().as_secs_f64();
        eprintln!(
            "{servers}x{gpus} {} actions {} s {s:.2} {:.2} M/s under way {}",
            collective.name(),
            out.actions,
            out.actions as f64 / s / 1e6,
            out.most_under_way
        );
    }
}
