//! Fifty fabrics: sound ones pass, ones with a single mistake warn or fail for their reason, score below the sound one
//! that they come from, and what is advised helps.

use super::{two_at_a_time, unhappy, validate_with};
use std::fmt::Write;
use xoff_fabric::catalogue::Catalogue;
use xoff_fabric::load_fabric;
use xoff_plan::{Floor, Prices, Wish, plan};
use xoff_report::Verdict;
use xoff_validate::{Choice, Phase};

/// What makes the fabrics below sound: switches that balance by packets, receivers that reorder, a watchdog.
pub(super) const TUNED: &str = "[switch.watchdog]\nenabled = true\n\
    [switch.balancing]\nkind = 'dlb'\nper = 'packet'\n\
    [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n";

pub(super) fn rail(gpus: u32, nic: &str, leaf: &str, more: &str) -> String {
    format!(
        "[cluster]\ngpus = {gpus}\nnic = '{nic}'\n[fabric]\nkind = 'rail'\nleaf = '{leaf}'\n{more}"
    )
}

pub(super) fn racks(gpus: u32, nic: &str, leaf: &str) -> String {
    rail(gpus, nic, leaf, "").replace("'rail'", "'leaf-spine'")
}

/// What a plan writes.
pub(super) fn planned(wish: &Wish) -> String {
    let catalogue = Catalogue::built_in();
    let prices = Prices::estimates(&catalogue);
    plan(wish, Floor::default(), &catalogue, &prices).expect("a plan").fabric_toml()
}

/// Fabrics that an expert would sign.
fn sound() -> Vec<(&'static str, String)> {
    let (cx7, th5) = ("connectx-7", "tomahawk-5");
    let tuned = |text: String| text + TUNED;
    let hosts = |text: &str| text.to_owned();
    vec![
        ("rail, 64 GPUs", tuned(rail(64, cx7, th5, ""))),
        ("rail, 16 GPUs", tuned(rail(16, cx7, th5, ""))),
        ("rail, 128 GPUs", tuned(rail(128, cx7, th5, ""))),
        ("racks, 64 GPUs", tuned(racks(64, cx7, th5))),
        ("racks, 128 GPUs", tuned(racks(128, cx7, "spectrum-4"))),
        ("rail of 100G", tuned(rail(64, "generic-100g", "tomahawk-4", ""))),
        ("racks of 100G", tuned(racks(64, "generic-100g", "tomahawk-4"))),
        ("rail of 200G", tuned(rail(64, "connectx-6", "tomahawk-4", ""))),
        ("rail of 800G", tuned(rail(64, "connectx-8", "tomahawk-6", ""))),
        (
            "one switch",
            hosts(
                "[cluster]\nhosts = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\n\
                   [switch.watchdog]\nenabled = true\n",
            ),
        ),
        ("500 m to the spines", tuned(rail(64, cx7, th5, "[links.leaf-spine]\nlength = '500m'\n"))),
        ("two leaves for every NIC", tuned(rail(64, "bluefield-3", th5, "homing = 'dual'\n"))),
        ("Swift", rail(64, cx7, th5, "") + TUNED + "congestion = { kind = 'swift' }\n"),
        (
            "three tiers",
            tuned(hosts(
                "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'three-tier'\n\
                 leaf = 'tomahawk-5'\nrails = true\nleaves-per-pod = 8\nhosts-per-leaf = 4\n\
                 spines = 4\ncores = 4\n",
            )),
        ),
        (
            "a fat tree of radix 4",
            tuned(hosts(
                "[cluster]\nnic = 'connectx-7'\n[fabric]\nkind = 'fat-tree'\nk = 4\nleaf = 'tomahawk-5'\n",
            )),
        ),
        ("ECMP with 16 queue pairs", ecmp(&tuned(rail(64, cx7, th5, ""))) + SIXTEEN),
        ("ECMP on NICs that keep order", ecmp(&tuned(racks(64, "thor-2", th5))) + SIXTEEN),
        (
            "one switch for 24 e810",
            hosts(
                "[cluster]\nhosts = 24\nnic = 'e810'\n[fabric]\nkind = 'single'\nleaf = 'trident-3'\n\
                   [switch.watchdog]\nenabled = true\n",
            ),
        ),
        (
            "HPCC on ECMP",
            ecmp(&tuned(rail(64, cx7, th5, ""))) + SIXTEEN + "congestion = { kind = 'hpcc' }\n",
        ),
        (
            "DCTCP",
            rail(64, cx7, th5, "")
                + TUNED
                + "congestion = { kind = 'dctcp' }\nnotification = 'echo-in-ack'\n",
        ),
        (
            "3:1 that is meant",
            tuned(rail(
                64,
                cx7,
                th5,
                "oversubscription = '3:1'\n[goals]\noversubscription = '3:1'\n",
            )),
        ),
        ("24 as planned in two tiers", planned(&Wish { tiers: Some(2), ..Wish::gpus(24) })),
        (
            "one switch of 800G as planned",
            planned(&Wish {
                nic: Some("connectx-8".to_owned()),
                leaf: Some("tomahawk-6".to_owned()),
                ..Wish::gpus(64)
            }),
        ),
        (
            "NICs that keep order as planned",
            planned(&Wish { nic: Some("thor-2".to_owned()), tiers: Some(2), ..Wish::gpus(64) }),
        ),
        ("2 km to the spines", tuned(rail(64, cx7, th5, "[links.leaf-spine]\nlength = '2km'\n"))),
    ]
}

/// Queue pairs that make up for a hash.
const SIXTEEN: &str = "[transport]\nqueue-pairs = 16\n";

/// A mistake: its name, what the file has more or otherwise, and a check that must name it.
type Mistake = (&'static str, fn(&str) -> String, &'static str);

/// Appends to the `[transport]` table, which is the last.
fn more(text: &str, keys: &str) -> String {
    format!("{text}{keys}\n")
}

const MISTAKES: [Mistake; 32] = [
    (
        "congestion control off",
        |t| more(t, "congestion = { kind = 'none' }"),
        "synthetic.bystanders",
    ),
    (
        "thresholds 16 times too high",
        |t| more(t, "[ecn]\nkmin = '6.4MB'\nkmax = '25.6MB'"),
        "laboratory.ecn-thresholds",
    ),
    (
        "thresholds far too low",
        |t| more(t, "[ecn]\nkmin = '5KB'\nkmax = '20KB'"),
        "synthetic.permutation",
    ),
    ("Pmax of 0.1 %", |t| more(t, "[ecn]\npmax = 0.001"), "laboratory.ecn-thresholds"),
    ("ECN off", |t| more(t, "[ecn]\nenabled = false"), "laboratory.ecn-before-pfc"),
    (
        "weights 1 to 99",
        |t| more(t, "[[class]]\nid = 3\nscheduling = 1\n[[class]]\nid = 0\nscheduling = 99"),
        "synthetic.classes",
    ),
    (
        "weights 1 to 4",
        |t| more(t, "[[class]]\nid = 3\nscheduling = 10\n[[class]]\nid = 0\nscheduling = 40"),
        "laboratory.weights",
    ),
    (
        "addresses alone are hashed",
        |t| ecmp(t) + "[switch.hash]\nfields = ['addresses']\n",
        "laboratory.hash-fields",
    ),
    ("XOFF below Kmin", |t| more(t, "[pfc]\nxoff = '200KB'"), "laboratory.ecn-before-pfc"),
    ("alpha of 1/128", |t| more(t, "[pfc]\nalpha = '1/128'"), "laboratory.ecn-before-pfc"),
    ("PFC off", |t| more(t, "[pfc]\nenabled = false"), "laboratory.pfc"),
    ("headroom of 50 KB", |t| more(t, "[pfc]\nheadroom = '50KB'"), "synthetic.pfc-holds"),
    (
        "no watchdog",
        |t| t.replace("[switch.watchdog]\nenabled = true\n", ""),
        "laboratory.watchdog",
    ),
    (
        "a watchdog of 5 s",
        |t| t.replace("enabled = true\n", "enabled = true\ndetect = '5s'\nrestore = '5s'\n"),
        "laboratory.watchdog-times",
    ),
    (
        "spraying to NICs that cannot reorder",
        |t| ecmp(t) + "[switch.balancing]\nkind = 'spray'\n",
        "laboratory.reordering",
    ),
    (
        "a timeout of 16 us",
        |t| more(t, "timeout = '16us'\nadaptive-retransmission = false"),
        "laboratory.timeouts",
    ),
    ("one retry", |t| more(t, "timeout = '1ms'\nretry-limit = 1"), "laboratory.timeouts"),
    ("a notification every 500 us", |t| more(t, "cnp-interval = '500us'"), "synthetic.bystanders"),
    ("notifications in the data class", |t| more(t, "[traffic]\ncnp = 3"), "laboratory.cnp-class"),
    (
        "four lossless classes",
        |t| {
            more(
                t,
                "[[class]]\nid = 1\nlossless = true\n[[class]]\nid = 2\nlossless = true\n[[class]]\nid = 4\nlossless = true",
            )
        },
        "laboratory.one-lossless-class",
    ),
    (
        "4:1 without saying so",
        |t| t.replace("kind = 'rail'\n", "kind = 'rail'\noversubscription = '4:1'\n"),
        "synthetic.permutation",
    ),
    (
        "2:1 without saying so",
        |t| t.replace("kind = 'rail'\n", "kind = 'rail'\noversubscription = '2:1'\n"),
        "laboratory.oversubscription",
    ),
    (
        "optics that lose one packet in 10,000",
        |t| more(t, "[links.leaf-spine]\nloss = 1e-4"),
        "laboratory.cables",
    ),
    (
        "an MTU of 1500",
        |t| t.replace("[switch.watchdog]", "[switch]\nmtu = '1500B'\n[switch.watchdog]"),
        "laboratory.mtu",
    ),
    ("ECMP with one queue pair", ecmp, "synthetic.permutation"),
    (
        "DCQCN that hardly recovers",
        |t| {
            more(
                t,
                "congestion = { kind = 'dcqcn', increase-timer = '50ms', additive-increase = '1Mbps' }",
            )
        },
        "laboratory.notifications",
    ),
    (
        "ECN off on the spines",
        |t| more(t, "[switch.spine.ecn]\nenabled = false"),
        "laboratory.ecn-before-pfc",
    ),
    ("PFC off on the spines", |t| more(t, "[switch.spine.pfc]\nenabled = false"), "laboratory.pfc"),
    ("NICs that write DSCP 0", |t| more(t, "[nic.dscp]\ndata = 0"), "laboratory.class-map"),
    (
        "a window of eight packets for reordering",
        |t| t.replace("reorder-window = 256", "reorder-window = 8"),
        "laboratory.reordering",
    ),
    (
        "best effort before RDMA",
        |t| more(t, "[[class]]\nid = 0\nscheduling = 'strict'"),
        "synthetic.classes",
    ),
    ("slots of half the rate", |t| more(t, "[nic.pcie]\nslot = 'gen4 x8'"), "laboratory.hosts"),
];

/// The same fabric without what switches and receivers do by packets.
fn ecmp(text: &str) -> String {
    text.replace(TUNED, "[switch.watchdog]\nenabled = true\n")
}

fn choice() -> Choice {
    let phases = vec![Phase::Laboratory, Phase::Baseline, Phase::Synthetic, Phase::Workload];
    Choice { phases, quick: true }
}

/// Every third fabric of each list; all of them take ten minutes.
#[test]
fn sound_fabrics_pass_and_mistakes_are_named() {
    sound_pass_and_mistakes_are_named(3);
}

#[test]
#[ignore = "ten minutes: asked for by name"]
fn all_sound_fabrics_pass_and_all_mistakes_are_named() {
    sound_pass_and_mistakes_are_named(1);
}

/// Tries one fabric of every `stride`.
fn sound_pass_and_mistakes_are_named(stride: usize) {
    let mut table = String::new();
    let mut wrong = Vec::new();
    let mut reference = 0;
    let sound: Vec<_> = sound().into_iter().step_by(stride).collect();
    let validated = two_at_a_time(&sound, |(_, text)| validate_with(text, &choice(), false));
    for ((name, _), (validation, advised)) in sound.iter().zip(validated) {
        let unhappy = unhappy(&validation);
        writeln!(
            table,
            "{name:36} {:5} {:3}  {}",
            validation.verdict.name(),
            validation.score,
            unhappy.join(" ")
        )
        .unwrap();
        if validation.verdict != Verdict::Pass || advised.is_some() {
            wrong.push(format!("{name} is sound: {unhappy:?} {:#?}", validation.changes));
        }
        if *name == "rail, 64 GPUs" {
            reference = validation.score;
        }
    }
    let base = rail(64, "connectx-7", "tomahawk-5", "") + TUNED;
    let mistakes: Vec<_> = MISTAKES.into_iter().step_by(stride).collect();
    let validated = two_at_a_time(&mistakes, |(_, mistake, _)| {
        let text = mistake(&base);
        let (validation, advised) = validate_with(&text, &choice(), false);
        (text, validation, advised)
    });
    for ((name, _, reason), (text, validation, advised)) in mistakes.into_iter().zip(validated) {
        assert_ne!(text, base, "{name} changes nothing");
        let unhappy = unhappy(&validation);
        let after = advised
            .as_ref()
            .map_or("nothing helps".to_owned(), |advised| advised.score.to_string());
        writeln!(
            table,
            "{name:36} {:5} {:3}  {} -> {after}",
            validation.verdict.name(),
            validation.score,
            unhappy.join(" ")
        )
        .unwrap();
        if !unhappy.iter().any(|id| id == reason) {
            wrong.push(format!("{name} is not named by {reason}: {unhappy:?}"));
        }
        if validation.score >= reference {
            wrong.push(format!("{name} scores {}, the sound fabric {reference}", validation.score));
        }
        for change in validation.changes.iter().filter(|change| !change.advice.is_words()) {
            // Of a file without a fabric nothing can be measured: with the advice it describes one.
            let cured =
                advised.as_ref().is_some_and(|advised| load_fabric(&advised.text).value.is_some());
            let gained = change.effect.as_ref().map_or(cured, |effect| !effect.better.is_empty());
            if !gained || !change.advice.changes(&text) {
                wrong
                    .push(format!("{name}: `{}` gains nothing or is in force", change.advice.text));
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{table}\n{}", wrong.join("\n"));
}
