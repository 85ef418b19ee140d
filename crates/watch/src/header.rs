//! How a source does: which one it is, how old its newest data are, and what keeps it from answering.

use crate::model::View;
use crate::player::Player;
use crate::time::{Clock, age, between};
use xoff_telemetry::recording::Timestamp;

/// What is watched, and how its source does.
#[derive(Debug, Clone)]
pub struct Header {
    /// The fabric's name.
    pub fabric: String,
    /// The folder or address, as the user wrote it.
    pub source: String,
    /// What it gives.
    pub feed: Feed,
}

/// What a source gives.
#[derive(Debug, Clone)]
pub enum Feed {
    /// A recording that can be played.
    Recording(Player),
    /// The newest that a store has.
    Store(StoreState),
}

/// How a metric store does.
#[derive(Debug, Clone)]
pub struct StoreState {
    /// The time now.
    pub now: Timestamp,
    /// When its newest sample was taken, where it says so.
    pub newest: Option<Timestamp>,
    /// What keeps it from answering.
    pub trouble: Option<Trouble>,
    /// Data older than this are stale.
    pub stale_after: std::time::Duration,
}

/// What keeps a source from answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Since when.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
    /// When it is asked again.
    pub next: Timestamp,
    /// How often it has been asked in vain.
    pub tries: u32,
}

/// How a source does, in a word that JSON has, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceState {
    /// Nothing has arrived yet.
    Waiting,
    /// It answers, and its data are new.
    Fresh,
    /// It answers, and its data are old.
    Stale,
    /// It does not answer.
    Gone,
    /// A recording.
    Recorded,
}

impl SourceState {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            SourceState::Waiting => "waiting",
            SourceState::Fresh => "fresh",
            SourceState::Stale => "stale",
            SourceState::Gone => "unreachable",
            SourceState::Recorded => "recorded",
        }
    }
}

impl Header {
    /// What moments are counted from.
    pub fn clock(&self) -> Clock {
        match &self.feed {
            Feed::Recording(player) => Clock::Run(player.steps().start),
            Feed::Store(_) => Clock::Wall,
        }
    }

    /// When the newest data were taken.
    pub fn newest(&self, view: Option<&View>) -> Option<Timestamp> {
        let shown = view.and_then(|view| view.window.newest);
        match &self.feed {
            Feed::Recording(_) => shown,
            // A store repeats the last sample of a series for minutes; when it was taken is what counts.
            Feed::Store(store) => shown.and(store.newest).or(shown),
        }
    }

    /// How the source does.
    pub fn state(&self, view: Option<&View>) -> SourceState {
        let Feed::Store(store) = &self.feed else { return SourceState::Recorded };
        match (&store.trouble, self.newest(view)) {
            (Some(_), _) => SourceState::Gone,
            (None, None) => SourceState::Waiting,
            (None, Some(newest)) if between(newest, store.now) > store.stale_after => {
                SourceState::Stale
            }
            (None, Some(_)) => SourceState::Fresh,
        }
    }

    /// The state in words: how old the data are, or where a recording stands.
    pub fn words(&self, view: Option<&View>) -> String {
        let clock = self.clock();
        let newest = self.newest(view);
        match &self.feed {
            Feed::Recording(player) => player.words(),
            Feed::Store(store) => {
                let data = match newest {
                    Some(at) => {
                        let old = age(between(at, store.now));
                        format!("newest data {}, {old} old", clock.show(at))
                    }
                    None => "no data yet".to_owned(),
                };
                match (&store.trouble, self.state(view)) {
                    (Some(trouble), _) => {
                        let next = age(between(store.now, trouble.next));
                        format!(
                            "UNREACHABLE since {} ({}, next in {next}): {}; {data}",
                            clock.show(trouble.since),
                            xoff_report::counted(u64::from(trouble.tries), "try", "tries"),
                            trouble.reason
                        )
                    }
                    (None, SourceState::Stale) => format!("STALE: {data}"),
                    (None, _) => data,
                }
            }
        }
    }
}
