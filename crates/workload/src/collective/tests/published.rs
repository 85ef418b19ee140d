//! Published bus bandwidths beside the model's, with one set of parameters.

use super::*;
use xoff_units::Ratio;

/// GPUs, and GB/s of 8 GB AllReduce, 2 GB AllGather, 2 GB AllToAll on servers of 8 H100 with
/// 3.2 Tb/s of network.
const PUBLISHED: [(u32, [f64; 3]); 4] = [
    (32, [356.99, 330.92, 54.07]),
    (64, [355.36, 293.71, 49.63]),
    (128, [356.27, 265.15, 44.23]),
    (256, [321.10, 262.77, 40.78]),
];

#[test]
fn beside_published_figures() {
    let network = Network {
        latency: Span::from_us(10),
        nvlink_latency: Span::from_us(1),
        nic_share: Ratio::new(47, 50),
        nvlink_share: Ratio::new(9, 10),
    };
    let settings = Settings {
        launch: Span::from_ns(8_400),
        overhead: Span::from_ns(3_400),
        work: Some(Rate::from_bps(23_500_000_000 * 8)),
        ..Settings::default()
    };
    let kinds = [
        (Collective::AllReduce, Algorithm::Ring, 8u64 << 30),
        (Collective::AllGather, Algorithm::Ring, 2 << 30),
        (Collective::AllToAll, Algorithm::Pxn, 2 << 30),
    ];
    println!(
        "{:>5} {:<12} {:>10} {:>10} {:>7}",
        "GPUs", "collective", "published", "model", "error"
    );
    for (gpus, published) in PUBLISHED {
        let fabric = cluster(gpus / 8, 8);
        let layout = packed(&fabric);
        for ((collective, algorithm, size), published) in kinds.into_iter().zip(published) {
            let outcome = run((collective, algorithm), size, &fabric, &layout, &settings, &network);
            let time = outcome.end.since(xoff_units::Instant::ZERO);
            let figures = Figures::new(collective, Bytes::new(size), gpus, time);
            let model = figures.bus_bandwidth / 1e9;
            println!("{} actions", outcome.actions);
            let error = (model / published - 1.0) * 100.0;
            let name = collective.name();
            println!("{gpus:>5} {name:<12} {published:>10.1} {model:>10.1} {error:>6.1}%");
        }
    }
}
