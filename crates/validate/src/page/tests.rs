//! What the page of a validation says, and in which order.

use super::*;
use crate::validation::Subject;
use std::collections::BTreeMap;

const KEYS: &str = "[switch.balancing]\nkind = \"dlb\"\nper = \"packet\"\n\n[transport]\n\
                    recovery = \"selective-repeat\"\nreorder-window = 256\n";

fn validation(checks: Vec<Check>) -> Validation {
    let subject = Subject {
        fabric: "pod.toml".into(),
        fabric_sha256: "00".into(),
        version: "0".into(),
        seed: 1,
        quick: false,
    };
    Validation::new(subject, checks, &BTreeMap::new())
}

fn every_verdict() -> Validation {
    let check = |name: &str, verdict| Check::new(Phase::Synthetic, name, name).verdict(verdict);
    validation(vec![
        check("calm", Verdict::Pass),
        check("ecmp", Verdict::Warn),
        check("incast", Verdict::Fail)
            .seen("5 % <of> line rate", "80 %")
            .advise(Some(Advice::change("balance by packet", KEYS))),
        check("quiet", Verdict::Pass),
    ])
}

fn html(validation: &Validation) -> String {
    let measured = BTreeMap::new();
    let material =
        Material { validation, setup: None, measured: &measured, command: "xoff validate" };
    page(&material).html()
}

fn place(page: &str, part: &str) -> usize {
    page.find(part).unwrap_or_else(|| panic!("no {part}"))
}

#[test]
fn failures_come_first_then_warnings_and_passes_are_folded() {
    let page = html(&every_verdict());
    let id = |name: &str| place(&page, &format!("id=\"synthetic.{name}\""));
    assert!(id("incast") < id("ecmp"));
    for pass in ["calm", "quiet"] {
        assert!(id("ecmp") < id(pass));
        let before = &page[..id(pass)];
        let fold = before.rfind("<details class=\"fold\">").expect("a fold that is closed");
        assert!(!before[fold..].contains("</details>"), "{pass} is outside of the fold");
    }
    assert!(page.contains("<summary>2 checks pass</summary>"));
}

#[test]
fn every_check_has_an_address() {
    let page = html(&every_verdict());
    for name in ["calm", "ecmp", "incast", "quiet"] {
        assert_eq!(page.matches(&format!("id=\"synthetic.{name}\"")).count(), 1, "{name}");
        // The symbol at the check itself, and its row in the table of all checks.
        assert!(page.matches(&format!("href=\"#synthetic.{name}\"")).count() >= 2, "{name}");
    }
}

/// The lines to be copied are TOML, line by line, with the keys that are advised.
#[test]
fn advice_can_be_pasted() {
    let validation = every_verdict();
    let page = html(&validation);
    let blocks = page.split("<pre tabindex=\"0\"><code>").skip(1);
    let blocks = blocks.map(|rest| rest.split("</code>").next().unwrap_or_default());
    let blocks: Vec<String> = blocks
        .map(|text| text.replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&"))
        .filter(|text| text.contains('='))
        .collect();
    // At the check and among the changes.
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    for block in blocks {
        let read: toml::Table = block.parse().unwrap_or_else(|error| panic!("{error}: {block}"));
        assert_eq!(read, KEYS.parse().unwrap());
        assert!(block.lines().count() >= 6, "flattened: {block}");
    }
}

/// Badge, border and sentence say the same.
#[test]
fn the_words_at_the_top_agree() {
    let check = |verdict| Check::new(Phase::Synthetic, "c", "c").verdict(verdict);
    for (verdict, forbidden) in [
        (Verdict::Pass, ["badge warn", "badge fail", "fails"]),
        (Verdict::Warn, ["badge pass", "badge fail", "passes"]),
        (Verdict::Fail, ["badge pass", "badge warn", "passes"]),
    ] {
        let page = html(&validation(vec![check(verdict)]));
        let (top, _) = page.split_once("</header>").unwrap();
        assert!(top.contains(&format!("badge {}", verdict.name())), "{top}");
        let (_, body) = top.split_once("<body").unwrap();
        for words in forbidden {
            assert!(!body.contains(words), "{words} beside {verdict:?}: {body}");
        }
    }
}

/// GPUs that are idle for reasons of the model beside a check that passes: the page says how much of
/// it is the fabric's.
#[test]
fn idle_time_says_whose_it_is() {
    let step = crate::measure::TrainingFigures {
        ranks: 64,
        finished: true,
        time_us: 6_450.0,
        ideal_us: 6_300.0,
        idle: 0.445,
        ideal_idle: 0.432,
        ..Default::default()
    };
    let own = Measurement { steps: vec![step], ..Measurement::default() };
    let measured = BTreeMap::from([("training-step".to_owned(), own)]);
    let passed = Check::new(Phase::Workload, "training-step", "t").from(["training-step"]);
    let validation = validation(vec![passed]);
    let material =
        Material { validation: &validation, setup: None, measured: &measured, command: "" };
    let page = page(&material).html();
    let words = "They are idle 44.5 % of the step; 43.2 % would be left on the ideal network, and this \
                 fabric makes the step 2.38 % longer.";
    assert!(page.contains(words));
    // 24 hours of 64 GPUs, of which the ideal network would save 150 of 6,450.
    let (top, _) = page.split_once("</header>").unwrap();
    assert!(top.contains("35.7 GPU-h") && top.contains("of 1,536 on 64 GPUs"), "{top}");
}
