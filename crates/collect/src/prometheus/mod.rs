//! Prometheus, and whatever speaks its two interfaces: [`query`] reads (`/api/v1/query_range`), [`write`] writes (remote write, version 1).

pub mod query;
pub mod write;

use std::time::Duration;

/// What a store may cost: it is not believed to be well.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest that one request takes.
    pub patience: Duration,
    /// The largest answer that is read, in bytes.
    pub answer: u64,
    /// The most series that are kept, of all answers together.
    pub series: usize,
}

impl Default for Limits {
    /// Enough for ten thousand NICs and the ports of their switches.
    fn default() -> Self {
        Self { patience: Duration::from_secs(30), answer: 512 << 20, series: 2_000_000 }
    }
}

/// Why a store could not be asked or written to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be reached, or what it says is not HTTP.
    #[error("cannot reach `{url}`: {reason}; is it running, and is that its address?")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why not.
        reason: String,
    },
    /// It refused.
    #[error("`{url}` refused with status {status}: {text}")]
    Refused {
        /// What was asked.
        url: String,
        /// The status.
        status: u16,
        /// What it said.
        text: String,
    },
    /// There are more series than can be looked at.
    #[error(
        "`{url}` has more than {most} series; choose one fabric with --fabric-name, or fewer with `select` in a names file"
    )]
    TooMany {
        /// What was asked.
        url: String,
        /// How many are too many.
        most: usize,
    },
    /// Its answer is not what Prometheus answers.
    #[error("`{url}` does not answer as Prometheus does: {reason}")]
    Odd {
        /// What was asked.
        url: String,
        /// What is odd.
        reason: String,
    },
}

fn agent(limits: &Limits) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(limits.patience))
        .http_status_as_error(false)
        .build();
    ureq::Agent::new_with_config(config)
}

/// What a store said, as far as it is worth repeating.
fn short(text: &str) -> String {
    const MOST: usize = 300;
    text.trim().chars().filter(|c| !c.is_control()).take(MOST).collect()
}
