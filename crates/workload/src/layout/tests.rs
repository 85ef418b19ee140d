use super::*;

fn cluster(text: &str) -> Fabric {
    Fabric::from_toml(&format!("[cluster]\n{text}\n[fabric]\nkind = 'leaf-spine'\n")).unwrap()
}

fn gpus(layout: &Layout) -> Vec<u32> {
    (0..layout.ranks()).map(|rank| layout.seat(RankId(rank)).gpu.0).collect()
}

#[test]
fn packed_fills_server_by_server() {
    let fabric = cluster("gpus = 32");
    let layout = Layout::new(&fabric, Some(20), &Placement::Packed).unwrap();
    assert_eq!(gpus(&layout), (0..20).collect::<Vec<_>>());
    let sizes: Vec<_> = layout.domains().iter().map(Vec::len).collect();
    assert_eq!(sizes, [8, 8, 4]);
    assert_eq!((layout.ranks_per_domain(), layout.rails()), (None, 8));
    let seat = layout.seat(RankId(13));
    assert_eq!((seat.nic, seat.rail, seat.domain), (NicId(13), 5, 1));
    assert_eq!(layout.nic_rate(), Rate::from_gbps(400));
    assert_eq!(layout.nvlink(), Some(Rate::from_gbps(3_600)));
    let all = Layout::new(&fabric, None, &Placement::Packed).unwrap();
    assert_eq!((all.ranks(), all.ranks_per_domain()), (32, Some(8)));
}

#[test]
fn fragmented_takes_whole_servers_by_seed() {
    let fabric = cluster("gpus = 128");
    let of = |seed| gpus(&Layout::new(&fabric, Some(64), &Placement::Fragmented { seed }).unwrap());
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let one = of(1);
    for server in one.chunks(8) {
        assert!(server[0].is_multiple_of(8));
        assert!(server.is_sorted() && server[7] == server[0] + 7);
    }
    let mut sorted = one.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 64);
    assert!(!one.is_sorted());
}

#[test]
fn lists_are_taken_as_they_are_if_they_can_be() {
    let fabric = cluster("gpus = 16");
    let place = |list: &[u32], ranks| {
        let list = list.iter().map(|&gpu| GpuId(gpu)).collect();
        Layout::new(&fabric, ranks, &Placement::Listed(list))
    };
    let layout = place(&[9, 0, 8, 1], None).unwrap();
    assert_eq!(gpus(&layout), [9, 0, 8, 1]);
    assert_eq!(layout.domains(), [[RankId(0), RankId(2)], [RankId(1), RankId(3)]]);
    assert_eq!(gpus(&place(&[9, 0, 8, 1], Some(2)).unwrap()), [9, 0]);
    assert_eq!(place(&[1, 1], None).unwrap_err(), LayoutError::Twice(1));
    assert_eq!(place(&[1, 16], None).unwrap_err(), LayoutError::NoGpu(16));
    assert_eq!(place(&[u32::MAX], None).unwrap_err(), LayoutError::NoGpu(u32::MAX));
    assert_eq!(place(&[], None).unwrap_err(), LayoutError::Empty);
    assert_eq!(place(&[1], Some(2)).unwrap_err(), LayoutError::TooMany { wanted: 2, there: 1 });
    assert_eq!(place(&[1], Some(0)).unwrap_err(), LayoutError::Empty);
}

#[test]
fn too_many_ranks_are_refused() {
    let fabric = cluster("gpus = 16");
    let error = Layout::new(&fabric, Some(17), &Placement::Packed).unwrap_err();
    assert!(error.to_string().contains("17 ranks") && error.to_string().contains("16 GPUs"));
}

#[test]
fn gpus_share_nics_and_nics_share_gpus() {
    let shared = cluster("gpus = 16\nnics-per-server = 4");
    let layout = Layout::new(&shared, None, &Placement::Packed).unwrap();
    let nics: Vec<u32> = (0..16).map(|rank| layout.seat(RankId(rank)).nic.0).collect();
    assert_eq!(nics, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    let many = cluster("gpus = 4\ngpus-per-server = 2\nnics-per-server = 4");
    let layout = Layout::new(&many, None, &Placement::Packed).unwrap();
    let nics: Vec<u32> = (0..4).map(|rank| layout.seat(RankId(rank)).nic.0).collect();
    assert_eq!(nics, [0, 2, 4, 6]);
}

#[test]
fn without_nvlink_every_gpu_is_on_its_own() {
    let fabric = cluster("gpus = 16\nnvlink = '0bps'");
    let layout = Layout::new(&fabric, None, &Placement::Packed).unwrap();
    assert_eq!((layout.domains().len(), layout.nvlink()), (16, None));
    let fabric = cluster("gpus = 16\nnvlink = '0bps'\nnics-per-server = 4");
    let error = Layout::new(&fabric, None, &Placement::Packed).unwrap_err();
    assert_eq!(error, LayoutError::NoWay(1));
}
