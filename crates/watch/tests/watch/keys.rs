//! Whatever keys are pressed on a screen of whatever size, nothing panics.

use super::made::{Made, STEPS, drawn, header, leaf_spine, three_leaves};
use proptest::prelude::*;
use std::sync::LazyLock;
use xoff_watch::header::{Feed, Header};
use xoff_watch::model::View;
use xoff_watch::player::Player;
use xoff_watch::screen::{Key, Screen};

static VIEWS: LazyLock<[View; 3]> = LazyLock::new(|| {
    let fabric = three_leaves();
    [
        Made::storm(&fabric).view(),
        Made::dead_spine(&leaf_spine()).view(),
        Made::nothing(&fabric).view(),
    ]
});

fn key() -> impl Strategy<Value = Key> {
    let named = prop::sample::select(vec![
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Tab,
        Key::BackTab,
        Key::Esc,
        Key::Interrupt,
    ]);
    let known = prop::sample::select("qdsjkr?hgG+- =".chars().map(Key::Char).collect::<Vec<_>>());
    prop_oneof![named, known, any::<char>().prop_map(Key::Char)]
}

fn headers() -> [Header; 2] {
    let store = header();
    let recorded = Header { feed: Feed::Recording(Player::new(STEPS, 5.0)), ..store.clone() };
    [store, recorded]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_keys_on_any_size(
        keys in prop::collection::vec((key(), 0u16..130, 0u16..50), 0..25),
        which in 0usize..4,
        recorded in 0usize..2,
        colour in any::<bool>(),
    ) {
        let header = &headers()[recorded];
        let mut screen = Screen::new(colour);
        for (key, width, height) in keys {
            screen.key(key);
            drawn((width, height), header, VIEWS.get(which), &mut screen);
        }
    }
}
