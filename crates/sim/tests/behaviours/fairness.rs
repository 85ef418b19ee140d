//! PFC alone divides a port among the ports that feed it; DCQCN divides it among flows.

use crate::scene::{Run, Scene, near};
use xoff_units::Span;

const SENDERS: [&str; 4] = ["local", "remote1", "remote2", "remote3"];

/// Rates of the four senders between two times.
fn rates(run: &Run<'_>, from: Span, to: Span) -> [f64; 4] {
    SENDERS.map(|name| {
        let leaf = if name == "local" { "near" } else { "far" };
        run.gbps(&format!("{leaf}→{name}"), from, to)
    })
}
