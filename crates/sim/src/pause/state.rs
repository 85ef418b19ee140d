//! Pauses at the ports that obey them.

use xoff_units::{Instant, Span};

/// A class's pause at the port that obeys it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PauseState {
    /// It runs out then.
    pub(crate) until: Instant,
    /// It began then.
    pub(crate) began: Instant,
    /// The last pause frame for the class came then.
    pub(crate) last_heard: Instant,
    /// Paused so far, without the present pause.
    pub(crate) total: Span,
    /// A watchdog event is pending.
    pub(crate) watched: bool,
    /// Where it stands among the paused ones, if it is.
    pub(super) place: u32,
}

impl PauseState {
    pub(crate) const NONE: Self = Self {
        until: Instant::ZERO,
        began: Instant::ZERO,
        last_heard: Instant::ZERO,
        total: Span::ZERO,
        watched: false,
        place: 0,
    };
}

/// The classes in a mask.
pub(crate) fn classes(mask: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |class| mask & 1 << class != 0)
}
