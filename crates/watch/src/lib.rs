//! A fabric on a terminal: what its counters show, and how that is drawn.
//!
//! [`model`] makes a [`View`](model::View) of a recording, a fabric and its diagnosis, for a window of time: the map of
//! devices, the hottest links, how pauses spread, the NICs that trouble others, what is wrong and since when. [`draw`] puts
//! a view on a screen of any size, [`page`] on plain lines, [`answer`] into JSON. [`screen`] is what the user has
//! chosen, [`player`] where a recording stands, [`header`] how its source does.
//!
//! What it is not: it reads no clock, no terminal and no file, and opens no connection; the binary does, and gives times and
//! keys in. It draws no conclusions of its own: what is wrong is what [`xoff_diagnose`] says. Read
//! [`model::Watcher`] first.

pub mod answer;
pub mod draw;
pub mod header;
pub mod model;
pub mod page;
pub mod player;
pub mod screen;
pub mod time;

/// Text in which nothing controls the terminal: names come from files and stores.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
