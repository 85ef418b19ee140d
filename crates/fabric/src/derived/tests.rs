use super::*;
use crate::load::load_fabric;

fn derived(text: &str) -> Derived {
    let loaded = load_fabric(text);
    Derived::of(&loaded.value.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics)))
}

#[test]
fn a_rail_pod_in_a_few_rows() {
    let derived = derived(
        "[cluster]\ngpus = 256\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'",
    );
    assert_eq!((derived.gpus, derived.nics, derived.servers), (256, 256, 32));
    let [leaves, spines] = &derived.switches[..] else { panic!("{:#?}", derived.switches) };
    assert_eq!((leaves.names.as_str(), leaves.count), ("leaf0 … leaf7", 8));
    assert_eq!((leaves.ports_used, leaves.ports_available), (Some(32), Some(64)));
    assert_eq!((spines.names.as_str(), spines.ports_used), ("spine0, spine1", Some(64)));
    assert_eq!(derived.tiers[0].oversubscription, Some(Ratio::ONE));
    assert_eq!(derived.tiers[1].oversubscription, None);
    let between: Vec<&str> = derived.links.iter().map(|l| l.between.as_str()).collect();
    assert_eq!(between, ["nic-leaf", "leaf-spine"]);
    assert_eq!(derived.links[0].count, 256);
    assert_eq!(derived.thresholds.len(), 3, "{:#?}", derived.thresholds);
    for row in &derived.thresholds {
        assert!(row.headroom >= row.headroom_needed, "{row:#?}");
        assert!(row.kmax.unwrap() <= row.xoff && row.xoff_loaded < row.xoff, "{row:#?}");
    }
    let text = serde_json::to_string(&derived).unwrap();
    assert!(text.contains("\"rate\":\"400Gbps\""));
}

#[test]
fn base_round_trips_by_hand() {
    // 4160 B at 100G take 332.8 ns, 64 B take 5.12 ns; six links of 1 us each way, stored five times.
    let derived = derived("profile = 'htsim'\n[fabric]\nkind = 'fat-tree'\nk = 8");
    let far = derived.paths.iter().find(|p| p.pair == "farthest").unwrap();
    assert_eq!((far.links, far.choices), (6, 16));
    let data = 6 * 332_800 + 6_000_000;
    let ack = 6 * 5_120 + 6_000_000;
    assert_eq!(far.base_rtt, Span::from_ps(data + ack));
    assert_eq!(far.bdp, Bytes::new((data + ack) / 80));
}

#[test]
fn oversubscription_is_that_of_the_worst_switch() {
    let derived = derived(
        "[cluster]\nhosts = 20\n[fabric]\nleaves = 2\nspines = 2\nhosts-per-leaf = 12\n\
         [links.leaf-spine]\nrate = '400Gbps'",
    );
    assert_eq!(derived.tiers[0].oversubscription, Some(Ratio::new(6, 1)));
    assert_eq!(derived.switches.len(), 3, "a leaf with 12 and one with 8 hosts differ");
}
