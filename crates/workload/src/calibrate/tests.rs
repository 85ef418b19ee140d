use super::*;
use xoff_fabric::load_fabric;

fn cluster(gpus: u32, nic: &str) -> Fabric {
    let leaf = "[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
    let text = format!("[cluster]\ngpus = {gpus}\nnic = '{nic}'\n{leaf}");
    load_fabric(&text).value.expect("a fabric").fabric
}

fn always(_: f64) -> bool {
    true
}

/// Sizes from 8 bytes to 16 MiB.
fn sizes() -> impl Iterator<Item = Bytes> {
    (3..25).step_by(3).map(|power| Bytes::new(1 << power))
}

#[test]
fn costs_that_made_the_times_are_found() {
    let fabric = cluster(16, "connectx-7");
    let task = Task {
        fabric: &fabric,
        collective: Collective::AllReduce,
        ranks: 16,
        hosts: None,
        times: &[],
    };
    let slower = Cost {
        launch: Span::from_us(25),
        nvls_launch: Cost::MEASURED.nvls_launch,
        slice: Span::from_us(6),
        copy_rate: Some(Rate::from_gbps(100)),
        pair_rate: None,
        proxy: Span::from_us(20),
        flags: Cost::MEASURED.flags,
        lines: Cost::MEASURED.lines,
    };
    let times: Vec<(Bytes, f64)> =
        sizes().map(|size| (size, time(&task, size, slower, None).unwrap().0)).collect();
    let found = fit(&Task { times: &times, ..task }, &mut always).unwrap();
    let (before, after) = found.error();
    assert!(before > 0.2, "{before}");
    assert!(after < 0.03, "{after}: {found:#?}");
    // Sizes in between, which it has not seen.
    for size in (4..24).step_by(5).map(|power| Bytes::new(3 << (power - 1))) {
        let (made, _) = time(&task, size, slower, None).unwrap();
        let (predicted, _) = time(&task, size, found.cost, found.channels).unwrap();
        assert!((predicted / made - 1.0).abs() < 0.06, "{size}: {predicted} for {made}");
    }
    // The same again, whatever ran before.
    assert_eq!(fit(&Task { times: &times, ..task }, &mut always).unwrap(), found);
}

/// What a GPU takes in from pairs is found where pairs exchange something, and is no question elsewhere.
#[test]
fn the_rate_of_pairs_is_found() {
    let fabric = cluster(16, "connectx-7");
    let all_to_all = Collective::AllToAll;
    let task = Task { fabric: &fabric, collective: all_to_all, ranks: 16, hosts: None, times: &[] };
    let slower = Cost { pair_rate: Some(Rate::from_gbps(250)), ..Cost::MEASURED };
    let sizes = [10, 16, 20, 24, 26].map(|power| Bytes::new(1 << power));
    let times = sizes.map(|size| (size, time(&task, size, slower, None).unwrap().0));
    let found = fit(&Task { times: &times, ..task }, &mut always).unwrap();
    let (before, after) = found.error();
    assert!(before > 0.05 && after < 0.02, "{before} to {after}: {found:#?}");
    let rate = found.cost.pair_rate.expect("a rate").bps() as f64 / 1e9;
    assert!((237.0..263.0).contains(&rate), "{rate}");
    // At rest with the costs of a file, as `xoff diagnose` holds measurements against it.
    let text = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n\
                [collectives]\ncost = { pair-rate = '250Gbps' }\n";
    let own = load_fabric(text).value.expect("a fabric").fabric;
    let at_rest = at_rest(&Task { fabric: &own, ..task }, sizes[4]).unwrap();
    assert_eq!(at_rest, times[4].1);
}

#[test]
fn usual_costs_stay_where_they_explain_everything() {
    let fabric = cluster(16, "connectx-7");
    let task = Task {
        fabric: &fabric,
        collective: Collective::AllGather,
        ranks: 16,
        hosts: None,
        times: &[],
    };
    let times: Vec<(Bytes, f64)> =
        sizes().map(|size| (size, time(&task, size, Cost::MEASURED, None).unwrap().0)).collect();
    let found = fit(&Task { times: &times, ..task }, &mut always).unwrap();
    assert_eq!((found.cost, found.channels), (Cost::MEASURED, None));
    assert_eq!(found.error(), (0.0, 0.0));
}

/// Medians of AllReduce out of place, in microseconds: 8 H100 in a server, and 16 A100 in two with RoCE.
const H100: [f64; 8] = [13.7, 16.9, 17.9, 19.5, 20.4, 27.4, 54.0, 124.0];
const A100: [f64; 8] = [36.5, 42.0, 49.4, 51.7, 68.0, 85.6, 127.0, 283.0];
const SIZES: [u64; 8] = [8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

#[test]
fn measured_times_are_explained_better_than_by_the_usual_costs() {
    for (gpus, nic, measured) in [(16, "connectx-6", A100), (8, "connectx-7", H100)] {
        let fabric = cluster(16, nic);
        let times: Vec<(Bytes, f64)> = SIZES.map(Bytes::new).into_iter().zip(measured).collect();
        let task = Task {
            fabric: &fabric,
            collective: Collective::AllReduce,
            ranks: gpus,
            hosts: Some(gpus / 8),
            times: &times,
        };
        let found = fit(&task, &mut always).unwrap();
        let (before, after) = found.error();
        assert!(after < 0.08 && after < before / 2.0, "{gpus}: {before:.3} to {after:.3}");
    }
}

#[test]
fn it_can_be_stopped_and_says_what_it_cannot() {
    let fabric = cluster(16, "connectx-7");
    let times = [(Bytes::new(1 << 20), 100.0)];
    let task = Task {
        fabric: &fabric,
        collective: Collective::AllReduce,
        ranks: 16,
        hosts: Some(2),
        times: &times,
    };
    assert_eq!(fit(&task, &mut |_| false), Err(FitError::Stopped));
    assert_eq!(fit(&Task { times: &[], ..task }, &mut always), Err(FitError::NoTimes));
    let many = fit(&Task { ranks: 17, hosts: None, ..task }, &mut always).unwrap_err();
    assert!(matches!(many, FitError::Layout(_)), "{many}");
    let wide = fit(&Task { ranks: 16, hosts: Some(4), ..task }, &mut always).unwrap_err();
    assert!(wide.to_string().contains("16 GPUs on 4 servers"), "{wide}");
    // The same ranks on more servers have more to send over the network.
    let time =
        |hosts| time(&Task { ranks: 4, hosts, ..task }, Bytes::new(1 << 24), Cost::MEASURED, None);
    assert!(time(Some(2)).unwrap().0 > time(Some(1)).unwrap().0);
    // What has been done never falls.
    let mut last = 0.0;
    fit(&task, &mut |share| {
        assert!((last..=1.0).contains(&share), "{share} after {last}");
        last = share;
        true
    })
    .unwrap();
}

#[test]
fn half_of_a_series_has_both_ends() {
    let half = |count| (0..count).filter(|&at| is_of_the_half(at, count)).collect::<Vec<usize>>();
    assert!(half(0).is_empty());
    assert_eq!(half(1), [0]);
    assert_eq!(half(2), [1]);
    assert_eq!(half(3), [0, 2]);
    assert_eq!(half(4), [0, 3]);
    assert_eq!(half(8), [0, 3, 5, 7]);
    assert_eq!(half(9), [0, 2, 4, 6, 8]);
}
