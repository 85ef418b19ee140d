//! What is wrong with a fabric, from its counters.
//!
//! A [`Scene`] holds what counters did in a window of time, and what they usually do, on the ports of a fabric as it was
//! meant to be built. [`diagnose`] gives what may be the cause, the likeliest first: each [`Finding`] has a [`Cause`], the place, the chain
//! of evidence and a confidence. What the counters rule out and what is not known is said beside it.
//!
//! Detectors are pure functions of the scene, a module for each concern: `outage` (what is down), `cabling` (what is
//! plugged in elsewhere), `wire` (what gets
//! lost on the way), `pause` (which port holds others up, followed hop by hop), `congestion` (which port is
//! full and why), `setting` (what is configured differently), `host` (what hosts do), `route`, `tenant` (whose traffic fills what is shared), and `job` (what got slower though nothing else shows why; `gpu` is
//! what GPUs add to that).
//!
//! Configurations, where there are any, are held against what was found by [`configured`].
//!
//! What it is not: it knows no simulator and no experiment, and draws no conclusion from names.

mod cabling;
mod cause;
pub mod configured;
mod congestion;
mod finding;
mod gpu;
mod group;
mod host;
mod job;
mod outage;
mod pause;
mod route;
mod scene;
mod setting;
mod tenant;
mod wire;

use std::fmt;

pub use cause::Cause;
pub use finding::{Confidence, Diagnosis, Finding, Missing};
pub use pause::{Root, Spread, Victim, spreads};
pub use scene::{Gpu, Scene, Unknown};

/// What is usual, where that is known.
fn usually(scene: &Scene<'_>, value: fmt::Arguments<'_>) -> String {
    if scene.has_usual() { format!(", usually {value}") } else { String::new() }
}

/// What may be the cause of what the counters show, the likeliest first.
pub fn diagnose(scene: &Scene<'_>) -> Diagnosis {
    let mut found = outage::findings(scene);
    found.extend(cabling::findings(scene));
    found.extend(wire::findings(scene));
    found.extend(pause::findings(scene));
    found.extend(setting::findings(scene));
    found.extend(congestion::findings(scene));
    found.extend(host::findings(scene));
    found.extend(route::findings(scene));
    found.extend(tenant::findings(scene));
    found.extend(job::findings(scene, &found));
    finding::rank(scene, found)
}
