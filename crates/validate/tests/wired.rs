//! Cables and classes as they are got wrong in the field, by the file alone: what is named, and what is advised.

use std::collections::BTreeMap;
use xoff_fabric::load_fabric;
use xoff_report::Verdict;
use xoff_validate::{Check, Choice, Evidence, Phase, judge};

/// Eight servers with two NICs each, four leaves, four spines; `change` sees every cable and may leave it out or change
/// it.
fn wired(change: impl Fn(&str, &str) -> Option<String>) -> String {
    let mut text = String::from("node = [\n");
    let nics: Vec<String> = (0..16).map(|n| format!("s{}-n{}", n / 2, n % 2)).collect();
    for nic in &nics {
        text += &format!("  {{ name = \"{nic}\", kind = \"nic\" }},\n");
    }
    for number in 0..4 {
        text += &format!("  {{ name = \"leaf{number}\", kind = \"switch\" }},\n");
        text +=
            &format!("  {{ name = \"spine{number}\", kind = \"switch\", tier = \"spine\" }},\n");
    }
    text += "]\nlink = [\n";
    for (number, nic) in nics.iter().enumerate() {
        let leaf = format!("leaf{}", number / 8 * 2 + number % 2);
        if let Some(keys) = change(nic, &leaf) {
            text += &format!("  {{ ends = \"{nic} {leaf}\", {keys} }},\n");
        }
    }
    for (leaf, spine) in (0..4).flat_map(|leaf| (0..4).map(move |spine| (leaf, spine))) {
        let (leaf, spine) = (format!("leaf{leaf}"), format!("spine{spine}"));
        if let Some(keys) = change(&leaf, &spine) {
            text += &format!("  {{ ends = \"{leaf} {spine}\", {keys} }},\n");
        }
    }
    text + "]\n[cluster]\nnic = \"connectx-7\"\n[fabric]\nkind = \"custom\"\n[switch.watchdog]\nenabled = true\n"
}

/// A cable of 400G.
fn plain(_: &str, _: &str) -> Option<String> {
    Some("rate = \"400Gbps\"".to_owned())
}

fn laboratory(text: &str) -> Vec<Check> {
    let setup = load_fabric(text).into_result().unwrap_or_else(|found| panic!("{found:#?}"));
    let (measured, refused) = (BTreeMap::new(), BTreeMap::new());
    let evidence = Evidence { setup: &setup, text, measured: &measured, refused: &refused };
    judge(&evidence, &Choice { phases: vec![Phase::Laboratory], quick: true })
}

fn one(text: &str, id: &str) -> Check {
    let id = format!("laboratory.{id}");
    laboratory(text).into_iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no {id}"))
}

fn seen(check: &Check) -> &str {
    check.measured.as_str()
}

#[test]
fn a_fabric_that_is_wired_right_passes() {
    let text = wired(plain);
    for check in laboratory(&text) {
        assert_eq!(check.verdict, Verdict::Pass, "{}: {}", check.id, check.measured);
    }
}

#[test]
fn a_slow_cable_is_brought_to_the_rate_of_the_others_alone() {
    let text = wired(|a, b| match (a, b) {
        ("leaf3", "spine2") => Some("rate = \"200Gbps\"".to_owned()),
        _ => plain(a, b),
    });
    let check = one(&text, "cables");
    assert_eq!(check.verdict, Verdict::Fail);
    assert!(seen(&check).contains("leaf3→spine2 (200Gbps where others have 400Gbps)"), "{check:?}");
    let advice = check.candidates.first().expect("advice");
    assert_eq!(advice.entries.len(), 1, "{advice:?}");
    let with = advice.apply(&text).expect("a file");
    assert_eq!(with, text.replace("200Gbps", "400Gbps"));
}

#[test]
fn a_cable_that_is_not_there_is_named_and_fails() {
    let missing = |a: &str, b: &str| if (a, b) == ("leaf3", "spine2") { None } else { plain(a, b) };
    let check = one(&wired(missing), "symmetric-rails");
    assert_eq!(check.verdict, Verdict::Fail);
    assert!(seen(&check).contains("nothing between leaf3 and spine2"), "{check:?}");
    let words = &check.advice.as_ref().expect("advice").text;
    assert!(words.contains("leaf3 and spine2"), "{words}");
}

#[test]
fn a_cable_in_another_spine_is_named() {
    let text = wired(|a, b| if (a, b) == ("leaf3", "spine3") { None } else { plain(a, b) });
    let text = text.replace(
        "{ ends = \"leaf3 spine2\", rate = \"400Gbps\" }",
        "{ ends = \"leaf3 spine2\", rate = \"400Gbps\", parallel = 2 }",
    );
    let check = one(&text, "symmetric-rails");
    assert_eq!(check.verdict, Verdict::Warn, "{check:?}");
    assert!(seen(&check).contains("nothing between leaf3 and spine3"), "{check:?}");
    assert!(seen(&check).contains("800Gbps between leaf3 and spine2"), "{check:?}");
}

#[test]
fn a_cable_between_leaves_is_named() {
    let text = wired(plain)
        .replace("link = [\n", "link = [\n  { ends = \"leaf0 leaf1\", rate = \"400Gbps\" },\n");
    let check = one(&text, "symmetric-rails");
    assert_ne!(check.verdict, Verdict::Pass);
    assert!(seen(&check).contains("leaf0→leaf1 joins switches of one tier"), "{check:?}");
}

#[test]
fn a_nic_of_an_older_model_is_no_slow_cable() {
    let older = |a: &str, b: &str| match a.starts_with("s7") {
        true => Some("rate = \"200Gbps\"".to_owned()),
        false => plain(a, b),
    };
    let text = wired(older);
    // A 400G NIC at 200G is slow, a 200G NIC is not.
    assert_eq!(one(&text, "cables").verdict, Verdict::Fail);
    let text = text.replace(
        "{ name = \"s7-n0\", kind = \"nic\" }",
        "{ name = \"s7-n0\", kind = \"nic\", nic = \"connectx-6\" }",
    );
    let text = text.replace(
        "{ name = \"s7-n1\", kind = \"nic\" }",
        "{ name = \"s7-n1\", kind = \"nic\", nic = \"connectx-6\" }",
    );
    let check = one(&text, "cables");
    assert_eq!(check.verdict, Verdict::Pass, "{check:?}");
}

const RAIL: &str = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n\
    [switch.watchdog]\nenabled = true\n";

#[test]
fn data_in_best_effort_is_advised_back_into_the_lossless_class() {
    let text = format!("{RAIL}[traffic]\ndata = 0\n");
    let check = one(&text, "pfc");
    assert_eq!(check.verdict, Verdict::Fail);
    let advice = check.candidates.first().expect("advice");
    assert_eq!(advice.lines(), "[traffic]\ndata = 3\n");
}

#[test]
fn a_tenant_with_rdma_has_a_lossless_class_of_its_own() {
    let with = |lossless: bool| {
        format!(
            "{RAIL}[[class]]\nid = 4\nname = 'storage'\nlossless = {lossless}\ndscp = [34]\nscheduling = 30\n\
             [[tenant]]\nname = 'nvme'\nclass = 4\n"
        )
    };
    let lossy = one(&with(false), "pfc");
    assert_eq!(lossy.verdict, Verdict::Fail);
    assert!(seen(&lossy).contains("class 4 of tenant nvme is lossy"), "{lossy:?}");
    let lossless = with(true);
    for id in ["pfc", "one-lossless-class"] {
        assert_eq!(one(&lossless, id).verdict, Verdict::Pass, "{id}");
    }
    // Without a tenant the second is one too many.
    let idle = lossless.split("[[tenant]]").next().unwrap_or_default();
    assert_eq!(one(idle, "one-lossless-class").verdict, Verdict::Warn);
}

#[test]
fn the_class_of_data_has_a_share_of_every_port() {
    let text = format!(
        "{RAIL}[traffic]\ndata = 4\n[[class]]\nid = 4\nlossless = true\ndscp = [34]\n\
         [[class]]\nid = 3\nlossless = false\ndscp = [24]\n"
    );
    for check in laboratory(&text) {
        assert_eq!(check.verdict, Verdict::Pass, "{}: {}", check.id, check.measured);
    }
}

#[test]
fn the_switch_with_settings_of_its_own_is_the_odd_one() {
    let device = |name: &str, keys: &str| format!("{RAIL}[[device]]\nname = '{name}'\n{keys}");
    let check = one(&device("spine1", "[device.pfc]\nenabled = false\n"), "same-settings");
    assert!(seen(&check).contains("PFC at spine1"), "{check:?}");
    assert!(!seen(&check).contains("spine0"), "{check:?}");
    let check = one(&device("leaf4", "[device.pfc]\nheadroom = '50KB'\n"), "same-settings");
    assert!(seen(&check).contains("headroom at leaf4"), "{check:?}");
}
