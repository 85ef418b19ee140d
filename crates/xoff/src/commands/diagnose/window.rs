//! A part of a recording, as options name it.

use std::ops::Range;
use std::str::FromStr;
use xoff_telemetry::recording::Steps;
use xoff_units::Span;

/// From here to there, since the recording began; without an end, to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    from: Span,
    to: Option<Span>,
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no part of a recording: write it like 1ms..2ms, ..1ms or 1ms..")
        };
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let time = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse::<Span>().map(Some).map_err(|error| format!("`{text}`: {error}")),
        };
        let (from, to) = (time(from)?.unwrap_or(Span::ZERO), time(to)?);
        if to.is_some_and(|to| to <= from) {
            return Err(format!("`{text}` ends before it begins"));
        }
        Ok(Self { from, to })
    }
}

impl Window {
    /// The steps that lie in it as a whole.
    pub(super) fn steps(self, steps: Steps) -> Result<Range<usize>, String> {
        let step = steps.step.as_ps().max(1);
        let first = self.from.as_ps().div_ceil(step) as usize;
        let end = self.to.map_or(steps.count, |to| ((to.as_ps() / step) as usize).min(steps.count));
        if first >= end {
            let all = Span::from_ps(step * steps.count as u64);
            return Err(format!(
                "no reading of the counters lies in that part: there is one every {}, and {all} of them in all",
                steps.step
            ));
        }
        Ok(first..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_telemetry::recording::Timestamp;

    #[test]
    fn parts_are_read_as_written() {
        let steps = Steps { start: Timestamp(0), step: Span::from_us(100), count: 20 };
        let of = |text: &str| text.parse::<Window>()?.steps(steps);
        assert_eq!(of("1ms..2ms"), Ok(10..20));
        assert_eq!(of("..1ms"), Ok(0..10));
        assert_eq!(of("150us.."), Ok(2..20));
        assert_eq!(of("1ms..1s"), Ok(10..20));
        for wrong in ["1ms", "2ms..1ms", "a..b", "3ms..", "10us..90us"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
