//! What a view says.

use super::made::{Made, STEPS, header, leaf_spine, look, rails, three_leaves};
use std::time::Duration;
use xoff_diagnose::fabric::{Cause, Confidence};
use xoff_telemetry::Metric;
use xoff_telemetry::recording::Timestamp;
use xoff_watch::header::{Feed, SourceState, Trouble};
use xoff_watch::model::{LinkOrder, NicOrder, Since, State, Subject, View, Watcher};

/// The cells of a row, as they are drawn.
fn cells(view: &View, label: &str) -> String {
    let row = view.map.iter().find(|row| row.label == label).expect("a row");
    row.cells.iter().map(|cell| cell.state.symbol()).collect()
}

#[test]
fn a_sound_fabric_has_nothing_wrong_and_is_used_by_a_third() {
    let fabric = three_leaves();
    let view = Made::sound(&fabric).view();
    assert!(view.findings.is_empty() && view.pauses.is_empty(), "{:?}", view.findings);
    assert!(view.offenders.is_empty() && view.pauses_known);
    assert_eq!((cells(&view, "spine"), cells(&view, "leaf")), ("▃".into(), "▃▃▃".into()));
    assert_eq!(cells(&view, "nic"), "▃".repeat(12));
    assert_eq!(view.links_watched, (30, 30));
    let hottest = LinkOrder::Heat.sort(&view.links)[0];
    assert!((hottest.peak.unwrap() - 1.0 / 3.0).abs() < 1e-3, "{hottest:?}");
    assert_eq!(hottest.drops, Some(0.0));
    // A series that nobody sends is not zero.
    assert!(view.links.iter().all(|link| link.marks == Some(0.0)));
    assert_eq!(view.window.newest, Some(STEPS.begin(STEPS.count)));
}

#[test]
fn a_storm_is_shown_from_its_root_to_its_victims() {
    let fabric = three_leaves();
    let view = Made::storm(&fabric).view();
    let first = &view.findings[0];
    assert_eq!((first.cause, first.place.as_str()), (Cause::PauseStorm, "b0"));
    assert_eq!(first.confidence, Confidence::Certain);
    assert_eq!(first.since, Since::At(STEPS.begin(4)));
    let tree = &view.pauses[0];
    assert_eq!(tree.root, "b0 pauses its switch");
    let told: Vec<(&str, usize)> =
        tree.branches.iter().map(|branch| (branch.port.as_str(), branch.hops)).collect();
    assert_eq!(
        told,
        [
            ("leaf-b→b0", 0),
            ("spine→leaf-b", 1),
            ("leaf-a→spine", 2),
            ("a0→leaf-a", 3),
            ("leaf-c→spine", 2),
            ("c0→leaf-c", 3)
        ]
    );
    assert_eq!(cells(&view, "nic"), "P▃▃▃S▃▃▃P▃▃▃");
    let nics = NicOrder::Worst.sort(&view.offenders);
    assert_eq!((nics[0].name.as_str(), nics[0].pausing), ("b0", Some(1.0)));
    let timeouts = NicOrder::Timeouts.sort(&view.offenders);
    assert_eq!((timeouts[0].name.as_str(), timeouts[0].timeouts), ("a0", Some(15.0)));
}

#[test]
fn what_is_down_is_down_on_the_map() {
    let fabric = leaf_spine();
    let view = Made::dead_spine(&fabric).view();
    assert_eq!(view.findings[0].cause, Cause::SwitchDown);
    assert_eq!(view.findings[0].since, Since::At(STEPS.begin(2)));
    assert!(cells(&view, "spine").starts_with("D▃"), "{}", cells(&view, "spine"));
    assert!(cells(&view, "leaf").chars().all(|c| c == 'd'));
    assert_eq!(LinkOrder::Heat.sort(&view.links)[0].up, Some(false));
    let spine = view.map.iter().find(|row| row.label == "spine").unwrap();
    assert!(spine.cells[0].accused && !spine.cells[1].accused);
    assert_eq!(spine.tally()[0], ("down", 1));
}

#[test]
fn what_is_missing_is_not_zero() {
    let fabric = three_leaves();
    let view = Made::nothing(&fabric).view();
    assert_eq!((view.series, view.links_watched, view.nics_watched), (0, (0, 30), (0, 12)));
    assert!(view.links.is_empty() && !view.pauses_known);
    assert_eq!(cells(&view, "nic"), "?".repeat(12));
    assert_eq!(view.window.newest, None);
    // One port that says how much it sent, and nothing else.
    let mut made = Made::nothing(&fabric);
    made.named("a0→leaf-a", Metric::TxBytes, Some(3), 0, 0.0);
    let view = made.view();
    let link = &view.links[0];
    assert_eq!((link.peak, link.drops, link.paused, link.up), (Some(0.0), None, None, None));
    assert_eq!(cells(&view, "nic"), "·???????????");
}

#[test]
fn a_cell_of_several_devices_is_the_worst_of_them() {
    let fabric = three_leaves();
    let view = Made::storm(&fabric).view();
    let row = view.map.iter().find(|row| row.label == "nic").unwrap();
    let (group, cells) = row.cells_in(3);
    let states: Vec<State> = cells.iter().map(|cell| cell.state).collect();
    assert_eq!((group, states), (4, vec![State::Stopped, State::Pausing, State::Stopped]));
    assert_eq!(row.cells_in(0).1.len(), 1);
    assert_eq!(row.cells_in(1_000), (1, row.cells.clone()));
}

#[test]
fn rails_have_rows() {
    let fabric = rails(64);
    let view = Made::sound(&fabric).view();
    let labels: Vec<&str> = view.map.iter().map(|row| row.label.as_str()).collect();
    assert!(labels.ends_with(&["rail 6", "rail 7"]), "{labels:?}");
    assert_eq!(view.map.last().unwrap().cells.len(), 8);
}

#[test]
fn beginnings_are_kept_when_the_window_moves_past_them() {
    let fabric = three_leaves();
    let recording = Made::storm(&fabric).finish();
    let subject = Subject { fabric: &fabric, recording: &recording, usual: None };
    let mut watcher = Watcher::default();
    assert!(watcher.look(&subject, 0..4, &[]).findings.is_empty());
    let onset = |view: View| view.findings[0].since;
    assert_eq!(onset(watcher.look(&subject, 2..6, &[])), Since::At(STEPS.begin(4)));
    assert_eq!(onset(watcher.look(&subject, 6..10, &[])), Since::At(STEPS.begin(4)));
    // Back in time it is looked for again; and it was there when this window began.
    assert_eq!(onset(watcher.look(&subject, 5..9, &[])), Since::Before(STEPS.begin(5)));
}

#[test]
fn windows_beyond_the_recording_are_empty_and_nothing_breaks() {
    let fabric = three_leaves();
    let recording = Made::storm(&fabric).finish();
    let subject = Subject { fabric: &fabric, recording: &recording, usual: None };
    let view = Watcher::default().look(&subject, 50..90, &["half of it".into()]);
    assert_eq!((view.window.steps, view.findings.len()), (0, 0));
    assert!(view.missing.iter().any(|what| what == "half of it"));
}

#[test]
fn names_cannot_control_the_terminal() {
    let fabric = three_leaves();
    let recording = Made::sound(&fabric).finish();
    let subject = Subject { fabric: &fabric, recording: &recording, usual: None };
    let view = Watcher::default().look(&subject, 0..4, &["\u{1b}[2Jgone".into()]);
    assert!(view.missing.iter().any(|what| what == "\u{fffd}[2Jgone"), "{:?}", view.missing);
}

#[test]
fn a_source_is_fresh_stale_or_gone() {
    let fabric = three_leaves();
    let view = look(&fabric, &Made::sound(&fabric).finish());
    let mut header = header();
    assert_eq!(header.state(None), SourceState::Waiting);
    assert_eq!(header.state(Some(&view)), SourceState::Fresh);
    assert_eq!(header.words(Some(&view)), "newest data 12:05:00 UTC, 10 s old");
    let Feed::Store(store) = &mut header.feed else { panic!() };
    // The store repeats values whose last sample is older.
    store.newest = Some(Timestamp(store.now.0 - 90_000_000_000));
    assert_eq!(header.state(Some(&view)), SourceState::Stale);
    assert_eq!(header.words(Some(&view)), "STALE: newest data 12:03:40 UTC, 90 s old");
    let Feed::Store(store) = &mut header.feed else { panic!() };
    let wait = Duration::from_secs(20).as_nanos() as i64;
    store.trouble = Some(Trouble {
        since: store.now,
        reason: "refused".into(),
        next: Timestamp(store.now.0 + wait),
        tries: 3,
    });
    assert_eq!(header.state(Some(&view)), SourceState::Gone);
    let words = header.words(Some(&view));
    assert!(words.starts_with("UNREACHABLE since 12:05:10 UTC (3 tries, next in 20 s): refused;"));
}
