//! What is wrong with a file, where, and what would be right.

use std::fmt;
use std::ops::Range;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Works, but probably not as meant.
    Warning,
    /// Cannot be used.
    Error,
}

/// Which file a finding points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The scenario file.
    Scenario,
    /// The fabric file.
    Fabric,
}

/// The rule a finding belongs to: stable, so that it can be looked up and silenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The rules: every [`Diagnostic`] breaks one of them.
///
/// ```
/// use xoff_fabric::diagnostic::code;
///
/// let text = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n[ecn]\nkmin = '2MB'\nkmax = '1MB'\n";
/// let found = xoff_fabric::load_fabric(text).into_result().unwrap_err();
/// assert_eq!(found[0].code, code::IMPOSSIBLE);
/// ```
pub mod code {
    use super::Code;

    /// Not TOML.
    pub const SYNTAX: Code = Code("xoff::syntax");
    /// A key that is not known.
    pub const UNKNOWN_KEY: Code = Code("xoff::unknown-key");
    /// A key that must be there.
    pub const MISSING_KEY: Code = Code("xoff::missing-key");
    /// A value of the wrong type, without unit or with the wrong one.
    pub const WRONG_VALUE: Code = Code("xoff::wrong-value");
    /// A number that cannot be.
    pub const IMPOSSIBLE: Code = Code("xoff::impossible-value");
    /// A name that stands for nothing.
    pub const UNKNOWN_NAME: Code = Code("xoff::unknown-name");
    /// A name or number used twice.
    pub const DUPLICATE: Code = Code("xoff::duplicate");
    /// Not enough ports.
    pub const PORTS: Code = Code("xoff::ports");
    /// A topology that does not come out even.
    pub const TOPOLOGY: Code = Code("xoff::topology");
    /// Uplinks that carry less than the file asks for.
    pub const OVERSUBSCRIBED: Code = Code("xoff::oversubscribed");
    /// A file that describes nothing.
    pub const EMPTY: Code = Code("xoff::empty");
    /// A server that takes or gives data slower than its NIC.
    pub const HOST: Code = Code("xoff::host");
    /// ECN that marks later than PFC pauses.
    pub const ECN_ABOVE_XOFF: Code = Code("xoff::ecn-above-xoff");
    /// Headroom and reservations that do not fit the buffer.
    pub const HEADROOM: Code = Code("xoff::headroom");
    /// A cable longer than its optics reach, or too fast for them.
    pub const REACH: Code = Code("xoff::reach");
    /// Packets larger than a port passes.
    pub const MTU: Code = Code("xoff::mtu");
    /// Packets that overtake each other, and receivers that take that for loss.
    pub const REORDERING: Code = Code("xoff::reordering");
    /// A NIC that cannot reach the others.
    pub const DISCONNECTED: Code = Code("xoff::disconnected");
    /// A file that a scenario names and that cannot be read.
    pub const UNREADABLE: Code = Code("xoff::unreadable");
    /// Larger than xoff can hold.
    pub const LIMIT: Code = Code("xoff::limit");
    /// A timeout that full buffers alone exceed.
    pub const TIMEOUT: Code = Code("xoff::timeout-below-delay");
    /// Unusual on real devices.
    pub const UNUSUAL: Code = Code("xoff::unusual");
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The rule.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// The file it is in.
    pub origin: Origin,
    /// Bytes of that file's text.
    pub span: Range<usize>,
}

impl Diagnostic {
    /// Whether it keeps the file from being used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The line in `text`, counted from 1.
    pub fn line(&self, text: &str) -> usize {
        let end = self.span.start.min(text.len());
        text.as_bytes()[..end].iter().filter(|&&b| b == b'\n').count() + 1
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error() { "error" } else { "warning" };
        write!(f, "{severity}[{}]: {}", self.code, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}
