//! The long table: sound fabrics of every topology from 16 to 8,192 GPUs, what a plan writes, and broken ones beside
//! them. It takes hours above 1,024 GPUs, so it is asked for by name:
//!
//! ```sh
//! cargo test --release -p xoff-validate --test clusters -- --ignored --nocapture long
//! ```
//!
//! `XOFF_TABLE_GPUS=1024` leaves out what is larger, and `XOFF_TABLE_ROWS='dual,rail 1024:'` takes the rows whose names
//! contain one of these.

use super::table::{TUNED, planned, racks, rail};
use super::{unhappy, validate_with};
use xoff_plan::Wish;
use xoff_report::Verdict;
use xoff_validate::Choice;

/// Three tiers: pods of so many servers with eight GPUs.
fn three_tiers(gpus: u32, rails: bool) -> String {
    let text = rail(gpus, "connectx-7", "tomahawk-5", "");
    // A core switch has 64 ports.
    let cores = (gpus / 64).max(8);
    let shape = format!(
        "kind = 'three-tier'\nrails = {rails}\nleaves-per-pod = 8\nhosts-per-leaf = 8\nspines = 8\ncores = {cores}"
    );
    text.replace("kind = 'rail'", &shape) + TUNED
}

fn fat_tree(k: u32) -> String {
    let head = "[cluster]\nnic = 'connectx-7'\n[fabric]\nkind = 'fat-tree'\nleaf = 'tomahawk-5'\n";
    format!("{head}k = {k}\n{TUNED}")
}

/// Name, GPUs and file of the sound ones.
fn sound() -> Vec<(String, u32, String)> {
    let mut all = Vec::new();
    for gpus in [64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192] {
        all.push((format!("plan {gpus}"), gpus, planned(&Wish::gpus(gpus.into()))));
    }
    for gpus in [16, 64, 256, 512, 1_024, 2_048, 4_096] {
        let text = rail(gpus, "connectx-7", "tomahawk-5", "") + TUNED;
        all.push((format!("rail {gpus}"), gpus, text));
    }
    for gpus in [32, 128, 512, 1_024] {
        let text = racks(gpus, "connectx-7", "spectrum-4") + TUNED;
        all.push((format!("racks {gpus}"), gpus, text));
    }
    for k in [4, 6, 8, 12] {
        all.push((format!("fat tree {k}"), k * k * k / 4, fat_tree(k)));
    }
    for (gpus, rails) in [(128, false), (128, true), (512, true), (1_024, false)] {
        let rows = if rails { "with rails" } else { "without rails" };
        all.push((format!("three tiers {gpus} {rows}"), gpus, three_tiers(gpus, rails)));
    }
    for (nic, leaf) in
        [("connectx-5", "trident-4"), ("connectx-6", "tomahawk-4"), ("connectx-8", "tomahawk-6")]
    {
        all.push((format!("rail 256 of {nic}"), 256, rail(256, nic, leaf, "") + TUNED));
    }
    let dual = rail(256, "bluefield-3", "tomahawk-5", "homing = 'dual'\n") + TUNED;
    all.push(("dual-homed 256".to_owned(), 256, dual));
    all.sort_by_key(|(_, gpus, _)| *gpus);
    all
}

/// Mistakes that show in another way, or not at all, in small fabrics.
const MISTAKES: [(&str, &str, &str); 6] = [
    ("ECN off on the spines", "[switch.spine.ecn]\nenabled = false", "laboratory.ecn-before-pfc"),
    (
        "PFC off on one leaf",
        "[[device]]\nname = 'leaf3'\npfc = { enabled = false }",
        "laboratory.pfc",
    ),
    ("congestion control off", "congestion = { kind = 'none' }", "laboratory.congestion-control"),
    (
        "thresholds 16 times as high",
        "[ecn]\nkmin = '6.4MB'\nkmax = '25.6MB'",
        "laboratory.ecn-thresholds",
    ),
    (
        "weights 1 to 99",
        "[[class]]\nid = 3\nscheduling = 1\n[[class]]\nid = 0\nscheduling = 99",
        "synthetic.classes",
    ),
    (
        "a NIC that writes DSCP 0",
        "[[host]]\nservers = [1]\ndscp = { data = 0 }",
        "laboratory.class-map",
    ),
];

#[test]
#[ignore = "hours: asked for by name"]
fn long_table() {
    let most = std::env::var("XOFF_TABLE_GPUS").ok().and_then(|most| most.parse().ok());
    let most: u32 = most.unwrap_or(u32::MAX);
    let rows = std::env::var("XOFF_TABLE_ROWS").unwrap_or_default();
    let asked = |name: &str| rows.split(',').any(|part| name.contains(part));
    let choice = Choice { quick: true, ..Choice::default() };
    let mut wrong = Vec::new();
    let row = |name: &str, text: &str| {
        let (found, _) = validate_with(text, &choice, false);
        let (verdict, score) = (found.verdict.name(), found.score);
        println!("{name:48} {verdict:4} {score:3}  {}", unhappy(&found).join(" "));
        found
    };
    let sound = sound().into_iter().filter(|(name, gpus, _)| *gpus <= most && asked(name));
    for (name, _, text) in sound {
        let found = row(&name, &text);
        if found.verdict != Verdict::Pass {
            wrong.push(format!("{name} is sound: {:?}", unhappy(&found)));
        }
    }
    for gpus in [256, 1_024, 4_096].into_iter().filter(|gpus| *gpus <= most) {
        let of_rail = |name: &str| format!("rail {gpus}: {name}");
        let base = rail(gpus, "connectx-7", "tomahawk-5", "") + TUNED;
        let mistakes = MISTAKES.into_iter().filter(|(name, ..)| asked(&of_rail(name)));
        let mistakes: Vec<_> = mistakes.collect();
        if mistakes.is_empty() {
            continue;
        }
        let reference = row(&of_rail("nothing wrong"), &base).score;
        for (name, change, reason) in mistakes {
            let found = row(&of_rail(name), &format!("{base}{change}\n"));
            if found.score >= reference || !unhappy(&found).iter().any(|id| id == reason) {
                wrong.push(format!(
                    "{gpus}: {name} is not named by {reason}: {:?}",
                    unhappy(&found)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
