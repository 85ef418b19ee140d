use crate::derived::Derived;
use crate::load::{load_fabric, load_scenario};
use crate::model::{ClassId, Fabric, PortClass, Scheduling, Switch, Threshold, Tier};
use xoff_units::{Bytes, Ratio, Span};

const BASE: &str = "[cluster]\nhosts = 16\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-4'\n\
                    leaves = 4\nspines = 4\n[links.leaf-spine]\nrate = '400Gbps'\n";

fn fabric(text: &str) -> Fabric {
    let loaded = load_fabric(&format!("{BASE}{text}"));
    assert!(loaded.diagnostics.is_empty(), "{text}: {:#?}", loaded.diagnostics);
    loaded.value.unwrap().fabric
}

fn switch<'a>(fabric: &'a Fabric, name: &str) -> &'a Switch {
    fabric.switches.iter().find(|switch| switch.name == name).unwrap()
}

/// A class at the first port of a switch.
fn class(fabric: &Fabric, name: &str, id: usize) -> PortClass {
    fabric.ports[switch(fabric, name).ports.start as usize].classes[id]
}

fn rdma(fabric: &Fabric, name: &str) -> PortClass {
    class(fabric, name, 3)
}

#[test]
fn marking_is_turned_off_on_spines_only() {
    let fabric = fabric("[switch.spine.ecn]\nenabled = false\n");
    for switch in &fabric.switches {
        let marks =
            switch.ports.clone().any(|port| fabric.ports[port as usize].classes[3].ecn.is_some());
        assert_eq!(marks, switch.tier == Tier::Leaf, "{}", switch.name);
    }
}

#[test]
fn thresholds_differ_by_tier_and_by_device() {
    let fabric = fabric(
        "[ecn]\nkmin = '300KB'\n[switch.spine.ecn]\nkmin = '200KB'\nscale = false\n\
         [[device]]\nnames = ['spine1', 'leaf*']\necn = { kmax = '1MB' }\n\
         [[device]]\nname = 'spine1'\necn = { kmin = '100KB', pmax = '5%' }\n",
    );
    let of = |name| rdma(&fabric, name).ecn.map(|ecn| (ecn.kmin.get(), ecn.kmax.get(), ecn.pmax));
    let fifth = Ratio::new(1, 5);
    assert_eq!(of("leaf0"), Some((300_000, 1_000_000, fifth)));
    assert_eq!(of("spine0"), Some((200_000, 1_600_000, fifth)));
    assert_eq!(of("spine1"), Some((100_000, 1_000_000, Ratio::new(1, 20))));
}

#[test]
fn pauses_differ_by_tier_and_by_device() {
    let fabric = fabric(
        "[pfc]\nalpha = '1/4'\n[switch.spine.pfc]\nxoff = '200KB'\nxon-offset = '50KB'\n\
         headroom = '400KB'\n[switch.spine.ecn]\nkmin = '50KB'\nkmax = '150KB'\n\
         [[device]]\nname = 'spine2'\npfc = { alpha = '1/2' }\n\
         [[device]]\nname = 'leaf3'\npfc = { enabled = false }\n\
         [[device]]\nname = 'leaf2'\n[[device.class]]\nid = 3\nalpha = '1/16'\n",
    );
    let of = |name| rdma(&fabric, name);
    assert_eq!(of("leaf0").threshold, Threshold::Dynamic(Ratio::new(1, 4)));
    assert_eq!(of("leaf2").threshold, Threshold::Dynamic(Ratio::new(1, 16)));
    assert_eq!(of("spine0").threshold, Threshold::Static(Bytes::new(200_000)));
    assert_eq!(of("spine2").threshold, Threshold::Dynamic(Ratio::new(1, 2)));
    assert_eq!(
        (of("spine2").xon_offset, of("spine2").headroom.get()),
        (Bytes::new(50_000), 400_000)
    );
    assert_ne!(of("leaf0").headroom, of("spine0").headroom);
    let off = of("leaf3");
    assert!(!off.lossless && off.headroom.is_zero() && off.egress_limit.is_some());
    assert!(of("leaf0").lossless && of("leaf0").egress_limit.is_none());
    assert!(fabric.classes[3].lossless, "the class is meant to be lossless");
}

#[test]
fn classes_watchdog_and_hash_differ_by_device() {
    let fabric = fabric(
        "[switch.watchdog]\ndetect = '100ms'\n\
         [[switch.spine.class]]\nid = 3\nscheduling = 9\n\
         [[device]]\nname = 'spine3'\nwatchdog = { enabled = false }\nhash = { seed = 7 }\n\
         [[device.class]]\nid = 4\ndscp = [26, 30]\nscheduling = 'strict'\n\
         [[device]]\nname = 'leaf1'\nhash = { fields = ['addresses'] }\n\
         watchdog = { detect = '50ms' }\n",
    );
    let weights = ["leaf0", "spine0", "spine3"].map(|name| rdma(&fabric, name).scheduling);
    assert_eq!(weights, [50, 9, 9].map(Scheduling::Weighted));
    assert_eq!(class(&fabric, "spine3", 4).scheduling, Scheduling::Strict);
    let map = |name: &str, dscp: usize| switch(&fabric, name).dscp_to_class[dscp];
    assert_eq!((map("spine3", 26), map("spine3", 30)), (ClassId(4), ClassId(4)));
    assert_eq!(map("spine3", 32), ClassId(0), "what class 4 has elsewhere");
    assert_eq!((map("spine2", 26), map("spine2", 32)), (ClassId(3), ClassId(4)));
    let detect = |name: &str| switch(&fabric, name).watchdog.map(|watchdog| watchdog.detect);
    assert_eq!(detect("spine3"), None);
    assert_eq!(detect("leaf1"), Some(Span::from_ms(50)));
    assert_eq!(detect("leaf0"), Some(Span::from_ms(100)));
    assert_eq!(switch(&fabric, "spine3").hash.seed, 7);
    assert_ne!(switch(&fabric, "spine2").hash.seed, 7);
    assert!(!switch(&fabric, "leaf1").hash.fields.source_port);
    assert!(switch(&fabric, "leaf2").hash.fields.source_port);
}

#[test]
fn a_file_that_says_the_same_twice_says_nothing_new() {
    let plain = fabric("");
    let again = fabric(
        "[switch.leaf.ecn]\nenabled = true\nkmin = '400KB'\n[switch.spine.pfc]\nalpha = '1/8'\n\
         [[device]]\nnames = ['*']\n[[device.class]]\nid = 3\ndscp = [26]\nlossless = true\n",
    );
    for (plain, again) in plain.ports.iter().zip(&again.ports) {
        assert_eq!(plain.classes, again.classes);
    }
    for (plain, again) in plain.switches.iter().zip(&again.switches) {
        assert_eq!(plain.dscp_to_class, again.dscp_to_class);
        assert_eq!((plain.hash, plain.watchdog), (again.hash, again.watchdog));
    }
}

/// Asserts that a mistake is found once, where `shown` is, with a cure.
fn refused(text: &str, shown: &str, cure: &str) {
    let text = format!("{BASE}{text}");
    let loaded = load_fabric(&text);
    assert!(loaded.value.is_none(), "{text}");
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|found| found.is_error()).collect();
    let [found] = errors[..] else { panic!("{text}: {errors:#?}") };
    assert_eq!(&text[found.span.clone()], shown, "{found}");
    assert!(found.to_string().contains(cure), "{found}");
}

#[test]
fn mistakes_are_shown_where_they_are() {
    refused(
        "[[device]]\nname = 'spin3'\nhash = { seed = 1 }\n",
        "'spin3'",
        "did you mean `spine3`",
    );
    refused("[[device]]\nname = 'spine4'\nhash = { seed = 1 }\n", "'spine4'", "spine");
    refused("[[device]]\nnames = ['leaf0', 'core*']\nhash = { seed = 1 }\n", "'core*'", "leaf0");
    refused("[[device]]\nname = 'server0'\nhash = { seed = 1 }\n", "'server0'", "[[host]]");
    refused("[[device]]\nhash = { seed = 1 }\n", "[[device]]", "name = \"spine3\"");
    refused("[[device]]\nname = 'leaf0'\n", "[[device]]", "give `ecn`");
    refused("[[device]]\nname = 'leaf0'\nhsah = { seed = 1 }\n", "hsah", "`hash`");
    refused("[[device]]\nnmae = 'leaf0'\nhash = { seed = 1 }\n", "nmae", "`name`");
    refused("[[device]]\nname = 'leaf0'\nwatchdog = { detect = '0s' }\n", "watchdog", "200ms");
    refused("[switch.spine.ecn]\nkmin = '2MB'\n", "'2MB'", "give both here");
    refused("[[device]]\nname = 'leaf0'\necn = { kmax = '1KB' }\n", "'1KB'", "give both here");
    refused("[switch.spine.ecn]\nmark = 'enqueue'\n", "'enqueue'", "write it in `[ecn]`");
    refused("[switch.spine.ecn]\npmax = 2\n", "2", "between 0 and 1");
    refused("[switch.spine.pfc]\nalpha = 0\n", "0", "1/8");
    refused("[switch.spine.pfc]\nxoff = '10KB'\n", "'10KB'", "give both here");
    refused("[switch.spine.pfc]\nquanta = 3\n", "quanta", "there is no key");
    refused("[[switch.spine.class]]\nid = 8\n", "8", "0 and 7");
    refused("[[switch.leaf.class]]\nid = 3\ndscp = [64]\n", "64", "0 to 63");
    refused("[[switch.leaf.class]]\nid = 3\ndscp = [24, 24]\n", "24", "already mapped");
    refused("[[switch.leaf.class]]\nid = 3\n[[switch.leaf.class]]\nid = 3\n", "3", "merge");
    refused("[[switch.leaf.class]]\nid = 3\nscheduling = 0\n", "0", "1 or more");
    refused(
        "[pfc]\nenabled = false\n[credits]\nenabled = true\n[switch.spine.pfc]\nalpha = 1\n",
        "pfc",
        "leave `pfc` out",
    );
    refused("[switch.ecn]\nenabled = false\n", "ecn", "there is no key");
}

#[test]
fn a_scenario_may_change_single_devices() {
    let scenario =
        "fabric = 'f.toml'\n[[override.device]]\nname = 'spine1'\necn = { enabled = false }\n";
    let file = format!("{BASE}[[device]]\nname = 'spine1'\npfc = {{ alpha = 1 }}\n");
    let loaded = load_scenario(scenario, &file);
    let fabric = loaded.into_result().unwrap().setup.fabric;
    let spine = rdma(&fabric, "spine1");
    assert_eq!((spine.ecn, spine.threshold), (None, Threshold::Dynamic(Ratio::ONE)));
    assert!(rdma(&fabric, "spine0").ecn.is_some());
}

#[test]
fn what_is_derived_says_which_switches_differ() {
    let text = format!("{BASE}[[device]]\nname = 'spine1'\npfc = {{ enabled = false }}\n");
    let setup = load_fabric(&text).value.unwrap();
    let rows = Derived::of(&setup).thresholds;
    let spines: Vec<_> = rows.iter().filter(|row| row.at == "spine from leaf").collect();
    let shown: Vec<_> = spines.iter().map(|row| (row.switches.as_str(), row.lossless)).collect();
    assert_eq!(shown, [("spine0 … spine3 (3)", true), ("spine1", false)]);
    let local: Vec<String> = Derived::of(&setup)
        .local
        .iter()
        .map(|row| format!("{} {} {}", row.at, row.key, row.value))
        .collect();
    assert_eq!(local, ["spine1 pfc.enabled false"]);
    assert!(rows.iter().filter(|row| row.at != "spine from leaf").all(|r| r.switches.is_empty()));
}
