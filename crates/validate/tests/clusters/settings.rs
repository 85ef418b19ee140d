//! Single settings that no expert would sign: the laboratory names each without an experiment, on more than one
//! design, and a worse setting never scores better.

use super::table::{TUNED, rail};
use super::{subject, unhappy};
use std::collections::BTreeMap;
use std::fmt::Write;
use xoff_fabric::load_fabric;
use xoff_report::Verdict;
use xoff_validate::judge::judge_broken;
use xoff_validate::{Choice, Evidence, Phase, Validation, judge};

/// What the laboratory alone says. Nothing is run, and nothing is tried.
fn laboratory(text: &str) -> Validation {
    let loaded = load_fabric(text);
    let Some(setup) = &loaded.value else {
        let checks = judge_broken(&loaded.diagnostics, loaded.draft.as_ref());
        return Validation::new(subject(), checks, &BTreeMap::new());
    };
    let (measured, refused) = (&BTreeMap::new(), &BTreeMap::new());
    let choice = Choice { phases: vec![Phase::Laboratory], quick: true };
    let checks = judge(&Evidence { setup, text, measured, refused }, &choice);
    Validation::new(subject(), checks, &BTreeMap::new())
}

/// Designs that each mistake is made in.
fn designs() -> Vec<(&'static str, String)> {
    let ecmp = "[switch.watchdog]\nenabled = true\n[transport]\nqueue-pairs = 16\n";
    let racks =
        |more: &str| rail(64, "connectx-7", "tomahawk-5", more).replace("'rail'", "'leaf-spine'");
    let three =
        "kind = 'three-tier'\nleaves-per-pod = 4\nhosts-per-leaf = 8\nspines = 4\ncores = 4";
    vec![
        ("rail", rail(64, "connectx-7", "tomahawk-5", "") + TUNED),
        ("racks, ECMP", racks("hosts-per-leaf = 16\n") + ecmp),
        (
            "racks of 100G",
            rail(64, "connectx-5", "spectrum-2", "").replace("'rail'", "'leaf-spine'") + TUNED,
        ),
        (
            "three tiers",
            rail(64, "connectx-7", "tomahawk-5", "").replace("kind = 'rail'", three) + TUNED,
        ),
        ("800G", rail(64, "connectx-8", "tomahawk-6", "") + TUNED),
    ]
}

/// A mistake as tables that end the file, and the check that must name it. `TRANSPORT` before keys puts them into
/// `[transport]`, which is the last table of every design.
type Row = (&'static str, &'static str, &'static str);

const ROWS: [Row; 45] = [
    ("ECN off on the spines", "[switch.spine.ecn]\nenabled = false", "ecn-before-pfc"),
    ("ECN off on the leaves", "[switch.leaf.ecn]\nenabled = false", "ecn-before-pfc"),
    (
        "ECN off on one leaf",
        "[[device]]\nname = 'leaf1'\necn = { enabled = false }",
        "ecn-before-pfc",
    ),
    (
        "other thresholds on one leaf",
        "[[device]]\nname = 'leaf1'\necn = { kmin = '300KB' }",
        "same-settings",
    ),
    ("thresholds 16 times as high", "[ecn]\nkmin = '6.4MB'\nkmax = '25.6MB'", "ecn-thresholds"),
    ("Kmin of 5 KB", "[ecn]\nkmin = '5KB'", "ecn-thresholds"),
    ("Pmax of 0.5 %", "[ecn]\npmax = 0.005", "ecn-thresholds"),
    ("PFC off on the spines", "[switch.spine.pfc]\nenabled = false", "pfc"),
    ("PFC off on one leaf", "[[device]]\nname = 'leaf1'\npfc = { enabled = false }", "pfc"),
    ("RDMA lossy on the spines", "[[switch.spine.class]]\nid = 3\nlossless = false", "pfc"),
    (
        "another lossless class on one leaf",
        "[[device]]\nname = 'leaf1'\n[[device.class]]\nid = 4\nlossless = true",
        "same-settings",
    ),
    ("alpha of 4", "[pfc]\nalpha = 4", "pause-thresholds"),
    ("alpha of 1/1024", "[pfc]\nalpha = '1/1024'", "ecn-before-pfc"),
    ("XOFF below Kmin", "[pfc]\nxoff = '20KB'", "ecn-before-pfc"),
    ("XOFF at Kmin", "[pfc]\nxoff = '100KB'", "ecn-before-pfc"),
    ("XOFF of half the buffer", "[pfc]\nxoff = '20MB'", "pause-thresholds"),
    ("XON at XOFF", "[pfc]\nxon-offset = 0", "pause-thresholds"),
    ("pauses of one quantum", "[pfc]\nquanta = 1", "pause-thresholds"),
    ("a pool for one port's headroom", "[switch]\nheadroom-pool = '100KB'", "pause-thresholds"),
    ("headroom of 20 KB", "[pfc]\nheadroom = '20KB'", "headroom"),
    (
        "no watchdog on one leaf",
        "[[device]]\nname = 'leaf1'\nwatchdog = { enabled = false }",
        "watchdog",
    ),
    (
        "a watchdog of 5 ms on one leaf",
        "[[device]]\nname = 'leaf1'\nwatchdog = { detect = '5ms' }",
        "watchdog-times",
    ),
    (
        "stuck queues are left for 30 s",
        "[[device]]\nnames = ['*']\nwatchdog = { restore = '30s' }",
        "watchdog-times",
    ),
    ("NICs write DSCP 0 into data", "[nic.dscp]\ndata = 0", "class-map"),
    ("one server writes DSCP 24", "[[host]]\nservers = [3]\ndscp = { data = 24 }", "class-map"),
    ("NICs write DSCP 0 into notifications", "[nic.dscp]\ncnp = 0", "class-map"),
    ("spines map another DSCP", "[[switch.spine.class]]\nid = 3\ndscp = [24]", "class-map"),
    ("notifications as best effort", "[traffic]\ncnp = 0", "cnp-class"),
    ("acknowledgements as best effort", "[traffic]\nack = 0", "ack-class"),
    ("best effort is strict", "[[class]]\nid = 0\nscheduling = 'strict'", "weights"),
    ("storage is strict", "[[class]]\nid = 5\nscheduling = 'strict'", "weights"),
    ("RDMA is strict", "[[class]]\nid = 3\nscheduling = 'strict'", "weights"),
    ("a packet rate of 1 M/s", "[nic]\npacket-rate = '1Mpps'", "hosts"),
    ("packets of 512 bytes", "TRANSPORT mtu = '512B'", "packets"),
    ("a window of 16 KB", "TRANSPORT window = '16KB'", "window"),
    ("a timeout of 17 s", "TRANSPORT timeout = '17s'", "timeouts"),
    ("one retry of 10 ms", "TRANSPORT timeout = '10ms'\nretry-limit = 1", "timeouts"),
    (
        "notifications once in 50 us and port",
        "TRANSPORT cnp-interval = '50us'\ncnp-scope = 'port'",
        "constants",
    ),
    ("a reaction after 1 ms", "TRANSPORT reaction-delay = '1ms'", "constants"),
    ("cuts of 2 %", "TRANSPORT congestion = { kind = 'dcqcn', largest-cut = 0.02 }", "constants"),
    (
        "no sender below an eighth",
        "TRANSPORT congestion = { kind = 'dcqcn', min-rate = '100Gbps' }",
        "constants",
    ),
    (
        "increases of 100 kb/s",
        "TRANSPORT congestion = { kind = 'dcqcn', additive-increase = '100Kbps', hyper-increase = '100Kbps' }",
        "constants",
    ),
    (
        "alpha that never forgets",
        "TRANSPORT congestion = { kind = 'dcqcn', g = 0.00001 }",
        "constants",
    ),
    (
        "Swift with a target of 2 ms",
        "TRANSPORT congestion = { kind = 'swift', target = '2ms' }",
        "constants",
    ),
    (
        "HPCC that uses half of a link",
        "TRANSPORT congestion = { kind = 'hpcc', eta = 0.5 }",
        "constants",
    ),
];

fn broken(text: &str, change: &str) -> String {
    match change.strip_prefix("TRANSPORT ") {
        Some(keys) => format!("{text}{keys}\n"),
        None => format!("{text}{change}\n"),
    }
}

#[test]
fn settings_are_named_without_an_experiment() {
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for (design, text) in designs() {
        let sound = laboratory(&text);
        if sound.verdict != Verdict::Pass {
            wrong.push(format!("{design} is sound: {:?}", unhappy(&sound)));
        }
        for (name, change, reason) in ROWS {
            let found = laboratory(&broken(&text, change));
            let named = unhappy(&found);
            let (verdict, score) = (found.verdict.name(), found.score);
            writeln!(table, "{design:14} {name:38} {verdict:4} {score:3}  {}", named.join(" "))
                .unwrap();
            if !named.contains(&format!("laboratory.{reason}")) || found.score >= sound.score {
                wrong.push(format!("{design}: {name} is not named by {reason}: {named:?}"));
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{table}\n{}", wrong.join("\n"));
}

/// One switch without marking is named, and its own entry is what goes.
#[test]
fn a_single_switch_without_marking_is_named() {
    for (design, text) in designs() {
        let entry = "[[device]]\nname = 'leaf1'\necn = { enabled = false }\n";
        let found = laboratory(&format!("{text}{entry}"));
        let check = found.checks.iter().find(|check| check.id == "laboratory.ecn-before-pfc");
        let check = check.expect("it is judged");
        assert!(check.measured.starts_with("no marking at 1 of "), "{design}: {check:#?}");
        assert!(check.measured.ends_with("switches: leaf1"), "{design}: {check:#?}");
        assert_eq!(check.places, ["leaf1"], "{design}");
        let advice = check.advice.as_ref().expect("it is cured");
        assert_eq!(advice.remove, ["device[0]"], "{design}: {advice:?}");
    }
}

/// The same mistake, further and further from what is right.
#[test]
fn a_worse_setting_never_scores_better() {
    let kilo = |keys: fn(u64) -> String| [1, 2, 4, 8, 16, 32].map(keys).to_vec();
    let ladders: [(&str, Vec<String>); 6] = [
        (
            "higher thresholds",
            kilo(|x| format!("[ecn]\nkmin = '{}KB'\nkmax = '{}KB'", 400 * x, 1_600 * x)),
        ),
        (
            "lower thresholds",
            kilo(|x| format!("[ecn]\nkmin = '{}KB'\nkmax = '{}KB'", 400 / x, 1_600 / x)),
        ),
        ("a higher alpha", kilo(|x| format!("[pfc]\nalpha = '{x}/8'"))),
        ("a lower alpha", kilo(|x| format!("[pfc]\nalpha = '1/{}'", 32 * x))),
        ("a lower XOFF", kilo(|x| format!("[pfc]\nxoff = '{}KB'", 3_200 / x))),
        (
            "a lighter weight",
            kilo(|x| {
                format!(
                    "[[class]]\nid = 3\nscheduling = {}\n[[class]]\nid = 0\nscheduling = 64",
                    64 / x
                )
            }),
        ),
    ];
    for (design, text) in designs() {
        for (name, steps) in &ladders {
            let scores: Vec<u32> =
                steps.iter().map(|keys| laboratory(&format!("{text}{keys}\n")).score).collect();
            println!("{design:14} {name:20} {scores:?}");
            // Down from the best on both sides of it.
            let best = scores.iter().copied().max().unwrap_or(0);
            let from = scores.iter().position(|score| *score == best).unwrap_or(0);
            let fine = scores[..=from].is_sorted() && scores[from..].is_sorted_by(|a, b| a >= b);
            assert!(fine, "{design}, {name}: {scores:?}");
        }
    }
}

/// Other networks are not held against the rules of pauses.
#[test]
fn rules_of_pauses_are_rules_of_roce() {
    for (kind, leaf) in [("infiniband", "quantum-2"), ("uet", "tomahawk-5")] {
        let text = format!(
            "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaf = '{leaf}'\n\
             [transport]\nkind = '{kind}'\n"
        );
        let found = laboratory(&text);
        assert_eq!(found.verdict, Verdict::Pass, "{kind}: {:?}", unhappy(&found));
    }
}
