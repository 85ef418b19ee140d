//! What parsers of text have in common: places, remarks, amounts with units.

use crate::device::{Device, Guard, Remark, RemarkKind};
use crate::place::{FileId, Place, Said};
use crate::text::outline::Statement;
use std::sync::Arc;
use xoff_units::{Bytes, Rate, Span};

/// Remarks on one file.
#[derive(Debug)]
pub(crate) struct Notes {
    pub(crate) file: FileId,
    pub(crate) remarks: Vec<Remark>,
}

impl Notes {
    pub(crate) fn new(file: FileId) -> Self {
        Self { file, remarks: Vec::new() }
    }

    /// The place of one line.
    pub(crate) const fn line(&self, line: u32) -> Place {
        Place::line(self.file, line)
    }

    /// The place of a statement with all that belongs to it.
    pub(crate) fn whole(&self, statement: &Statement<'_>) -> Place {
        Place { file: self.file, first: statement.line, last: statement.last_line() }
    }

    pub(crate) fn foreign(&mut self, statement: &Statement<'_>) {
        let place = self.whole(statement);
        self.remarks.push(Remark { place, kind: RemarkKind::Foreign });
    }

    pub(crate) fn unknown(&mut self, statement: &Statement<'_>) {
        let place = self.whole(statement);
        self.remarks.push(Remark { place, kind: RemarkKind::Unknown });
    }

    pub(crate) fn mark(&mut self, line: u32, kind: RemarkKind) {
        self.remarks.push(Remark { place: self.line(line), kind });
    }

    /// A value said on a line; what could not be read is remarked.
    pub(crate) fn said<T>(&mut self, line: u32, value: Option<T>) -> Said<T> {
        match value {
            Some(value) => Said::At(value, self.line(line)),
            None => {
                self.mark(line, RemarkKind::Malformed);
                Said::Absent
            }
        }
    }
}

/// The UDP port of RoCEv2, as access lists name it.
const ROCE_PORT: &str = "4791";

/// Remarks an access list as foreign; one that names RoCE's port guards the device.
pub(crate) fn access_list(
    name: &str,
    statement: &Statement<'_>,
    device: &mut Device,
    notes: &mut Notes,
) {
    if statement.children.iter().any(|child| child.words().contains(&ROCE_PORT)) {
        device.guards.push(Guard { name: name.to_owned(), place: notes.whole(statement) });
    }
    notes.foreign(statement);
}

/// A size like `500 kbytes`; command lines count decimally.
pub(crate) fn size(number: &str, unit: &str) -> Option<Bytes> {
    let number: u64 = number.parse().ok()?;
    let factor = match unit {
        "bytes" | "byte" | "B" => 1,
        "kbytes" | "kbyte" | "KB" => 1_000,
        "mbytes" | "mbyte" | "MB" => 1_000_000,
        "gbytes" | "gbyte" | "GB" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor).map(Bytes::new)
}

/// A size in the unit that needs fewest digits.
pub(crate) fn sized(bytes: Bytes) -> String {
    match bytes.get() {
        count if count > 0 && count.is_multiple_of(1_000) => format!("{} kbytes", count / 1_000),
        count => format!("{count} bytes"),
    }
}

/// A number of bytes.
pub(crate) fn bytes(text: &str) -> Option<Bytes> {
    text.parse().ok().map(Bytes::new)
}

/// Seconds with decimals.
pub(crate) fn seconds(text: &str) -> Option<Span> {
    format!("{text}s").parse().ok()
}

/// Milliseconds as seconds with decimals.
pub(crate) fn as_seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether a text is an address, not a name.
pub(crate) fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// A link speed as switches write it: `400g`, `100gfull`, `400gauto`, `400g-4`, `400000`, `100G`.
pub(crate) fn speed(text: &str) -> Option<Rate> {
    let lower = text.to_ascii_lowercase();
    let lower = lower.strip_prefix("forced").unwrap_or(&lower);
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower.get(..digits)?.parse().ok()?;
    match lower.get(digits..)?.chars().next() {
        Some('g') => number.checked_mul(1_000_000_000).map(Rate::from_bps),
        None => number.checked_mul(1_000_000).map(Rate::from_bps),
        Some(_) => None,
    }
}

/// One value for all that are equal.
pub(crate) fn share<T: PartialEq>(known: &mut Vec<Arc<T>>, value: T) -> Arc<T> {
    if let Some(same) = known.iter().find(|old| ***old == value) {
        return Arc::clone(same);
    }
    let new = Arc::new(value);
    known.push(Arc::clone(&new));
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        assert_eq!(size("500", "kbytes"), Some(Bytes::new(500_000)));
        assert_eq!(size("500", "segments"), None);
        assert_eq!(size("99999999999999999999", "bytes"), None);
        assert_eq!(sized(Bytes::new(1_500_000)), "1500 kbytes");
        assert_eq!(as_seconds(100), "0.1");
        assert_eq!(as_seconds(2000), "2");
        assert_eq!(seconds("0.1"), Some(Span::from_ms(100)));
        assert_eq!(seconds("x"), None);
        for text in ["400g", "400gfull", "400g-4", "forced400gfull", "400000", "400G"] {
            assert_eq!(speed(text), Some(Rate::from_gbps(400)), "{text}");
        }
        assert_eq!(speed("auto"), None);
        assert_eq!(speed(""), None);
    }
}
