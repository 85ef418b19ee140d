//! What is on screens of several sizes.

use super::made::{Made, drawn, header, leaf_spine, plain, rails, three_leaves};
use xoff_telemetry::recording::Timestamp;
use xoff_watch::answer::Answer;
use xoff_watch::header::{Feed, Trouble};
use xoff_watch::model::View;
use xoff_watch::page;
use xoff_watch::screen::{Key, Screen};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 60);

fn storm() -> View {
    Made::storm(&three_leaves()).view()
}

#[test]
fn a_storm_on_small_and_large_screens() {
    let view = storm();
    insta::assert_snapshot!("storm_80x24", plain(SMALL, &view));
    insta::assert_snapshot!("storm_200x60", plain(LARGE, &view));
    insta::assert_snapshot!("storm_40x10", plain((40, 10), &view));
    let tall = plain((80, 60), &view);
    for part in ["Findings (2)", "Fabric", "Links by heat", "Pauses (1 root)", "NICs in trouble"] {
        assert!(tall.contains(part), "no {part} in\n{tall}");
    }
}

#[test]
fn other_fabrics_on_a_small_screen() {
    insta::assert_snapshot!("sound_80x24", plain(SMALL, &Made::sound(&three_leaves()).view()));
    insta::assert_snapshot!(
        "dead_spine_80x24",
        plain(SMALL, &Made::dead_spine(&leaf_spine()).view())
    );
    insta::assert_snapshot!("no_data_80x24", plain(SMALL, &Made::nothing(&three_leaves()).view()));
    insta::assert_snapshot!("rails_80x24", plain(SMALL, &Made::sound(&rails(256)).view()));
}

#[test]
fn too_small_says_so() {
    let view = storm();
    let text = plain((20, 5), &view);
    assert_eq!(text.trim_end(), "too small: 20x5,\nxoff watch needs\n40x10");
    for size in [(1, 1), (0, 0), (3, 2), (39, 50), (200, 9)] {
        plain(size, &view);
    }
}

#[test]
fn before_the_first_answer_and_after_the_last() {
    let mut screen = Screen::new(false);
    let text = drawn(SMALL, &header(), None, &mut screen);
    assert!(text.contains("no data yet") && text.contains("waiting for the first counters"));
    let mut gone = header();
    let Feed::Store(store) = &mut gone.feed else { panic!() };
    store.trouble = Some(Trouble {
        since: Timestamp(store.now.0 - 5_000_000_000),
        reason: "cannot reach `http://prometheus:9090`: connection refused".into(),
        next: Timestamp(store.now.0 + 5_000_000_000),
        tries: 1,
    });
    let view = storm();
    let text = drawn(SMALL, &gone, Some(&view), &mut screen);
    assert!(text.contains("UNREACHABLE since 12:05:05 UTC (1 try, next in 5 s)"), "{text}");
    assert!(text.contains("connection refused"), "{text}");
    assert!(text.contains("b0: a pause storm from this NIC"), "the last picture stays\n{text}");
    let text = drawn(SMALL, &gone, None, &mut screen);
    assert!(text.contains("nothing has been received yet"), "{text}");
}

#[test]
fn the_diagnosis_and_the_help_cover_the_screen() {
    let view = storm();
    let mut screen = Screen::new(false);
    screen.key(Key::Char('d'));
    let text = drawn(SMALL, &header(), Some(&view), &mut screen);
    for part in [
        "1. b0: a pause storm from this NIC (certain)",
        "   since 12:02:00 UTC",
        "leaf-b→b0 was paused for 100 % of its worst step",
        "Ruled out: ",
        "Not known: ",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    screen.key(Key::Char('?'));
    let text = drawn((80, 40), &header(), Some(&view), &mut screen);
    insta::assert_snapshot!("help_80x40", text);
}

#[test]
fn keys_change_order_and_panel() {
    let view = storm();
    let mut screen = Screen::new(false);
    screen.key(Key::Char('s'));
    assert!(drawn(SMALL, &header(), Some(&view), &mut screen).contains("» Links by peak"));
    screen.key(Key::Tab);
    let text = drawn(SMALL, &header(), Some(&view), &mut screen);
    assert!(text.contains("» Pauses (1 root)"), "{text}");
    assert!(text.contains("b0 pauses its switch\n└ leaf-b→b0 100 %\n  └ spine→leaf-b 100 %"));
    screen.key(Key::Tab);
    let text = drawn(SMALL, &header(), Some(&view), &mut screen);
    assert!(text.contains("» NICs in trouble by pauses"), "{text}");
}

#[test]
fn pages_have_no_escape_codes_without_colour() {
    let view = storm();
    let text = page::render(&header(), &view, 100, false);
    assert!(!text.contains('\u{1b}'));
    insta::assert_snapshot!("storm_page", text);
    let coloured = page::render(&header(), &view, 100, true);
    assert!(coloured.contains("\u{1b}[1;31m"), "{coloured}");
    let stripped = without_codes(&coloured);
    let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n").trim_end(), text.trim_end());
}

/// Text without escape codes.
fn without_codes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    out + rest
}

#[test]
fn json_has_what_is_missing_as_null() {
    let fabric = three_leaves();
    let view = storm();
    let header = header();
    let answer = serde_json::to_value(Answer::new(&header, &view)).expect("JSON");
    assert_eq!(answer["state"], "fresh");
    assert_eq!(answer["window"]["newest"], "2023-11-15T12:05:00Z");
    assert_eq!(answer["findings"][0]["cause"], "pause-storm");
    assert_eq!(answer["findings"][0]["since"], "2023-11-15T12:02:00Z");
    assert_eq!(answer["findings"][0]["or_earlier"], false);
    assert_eq!(answer["pauses"][0]["victims"][1]["port"], "spine→leaf-b");
    assert_eq!(answer["map"][2]["states"]["pausing"], 1);
    let mut made = Made::nothing(&fabric);
    made.named("a0→leaf-a", xoff_telemetry::Metric::Up, None, 0, 1.0);
    let view = made.view();
    let answer = serde_json::to_value(Answer::new(&header, &view)).expect("JSON");
    assert_eq!(answer["links"][0]["up"], true);
    assert!(answer["links"][0]["peak"].is_null() && answer["links"][0]["drops"].is_null());
}
