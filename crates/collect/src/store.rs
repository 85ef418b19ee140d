//! What readers and writers of metric stores share: what a store may cost, how it is asked, and why it could not be.

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
    /// It took a part of what was written, and said so.
    #[error("`{url}` rejected {points} of {of} samples of a request: {text}")]
    Rejected {
        /// What was written to.
        url: String,
        /// Samples that it did not take.
        points: i64,
        /// Samples of the request.
        of: usize,
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
    /// Its answer is not what such a store answers.
    #[error("`{url}` does not answer as {kind} does: {reason}")]
    Odd {
        /// What was asked.
        url: String,
        /// What it was taken for.
        kind: &'static str,
        /// What is odd.
        reason: String,
    },
}

pub(crate) fn agent(limits: &Limits) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(limits.patience))
        .http_status_as_error(false)
        .build();
    ureq::Agent::new_with_config(config)
}

/// The longest answer to something written that is read.
const ANSWER: u64 = 1 << 16;

/// Posts a body of protobuf. Gives what the store answers if it took it; `None` where that cannot be read.
pub(crate) fn post(
    agent: &ureq::Agent,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut request = agent.post(url).header("Content-Type", "application/x-protobuf");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = request.send(body).map_err(|error| StoreError::Unreachable {
        url: url.to_owned(),
        reason: error.to_string(),
    })?;
    let status = response.status().as_u16();
    let answer = response.body_mut().with_config().limit(ANSWER).read_to_vec().ok();
    if !(200..300).contains(&status) {
        let text = short(&String::from_utf8_lossy(&answer.unwrap_or_default()));
        return Err(StoreError::Refused { url: url.to_owned(), status, text });
    }
    Ok(answer)
}

/// What a store said, as far as it is worth repeating.
pub(crate) fn short(text: &str) -> String {
    const MOST: usize = 300;
    text.trim().chars().filter(|c| !c.is_control()).take(MOST).collect()
}
