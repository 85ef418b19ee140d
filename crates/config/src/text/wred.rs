//! Thresholds of random early detection as command lines write them: in bytes, in buffer segments, as
//! times, as shares of a queue, in packets.

use crate::qos::{Levels, Wred};
use crate::text::notes::size;
use xoff_fabric::model::Ecn;
use xoff_units::{Bytes, Rate, Ratio, Span};

/// A threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    /// A queue length.
    Size(Bytes),
    /// What a port sends in this time.
    Time(Span),
    /// A share of what the queue may hold.
    Share(Ratio),
    /// What the box has by itself.
    Own,
    /// In a unit that means nothing here.
    Unknown,
}

/// Random early detection as it is written: some of it depends on the port it is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    low: Amount,
    high: Amount,
    pmax: Ratio,
    marks: bool,
}

/// Thresholds that only the box knows: somewhere between an empty queue and a full one.
const SOMEWHERE: Levels = Levels::Fill { min: Ratio::new(0, 1), max: Ratio::ONE, pmax: Ratio::ONE };

impl Written {
    /// `minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 100 …`.
    /// `segment` is the size of a segment, where thresholds are counted in them.
    pub(crate) fn read(words: &[&str], marks: bool, segment: Option<Bytes>) -> Option<Self> {
        let after = |word: &str| words.iter().position(|w| *w == word).map(|at| &words[at + 1..]);
        let probability = after("max-mark-probability").or_else(|| after("drop-probability"));
        let percent = match probability {
            Some(rest) => rest.first()?.parse::<u64>().ok().filter(|percent| *percent <= 100)?,
            None => 100,
        };
        Some(Self {
            low: amount(after("minimum-threshold")?, segment)?,
            high: amount(after("maximum-threshold")?, segment)?,
            pmax: Ratio::new(percent, 100),
            marks,
        })
    }

    /// With the thresholds that the box has by itself.
    pub(crate) fn of_the_box(marks: bool) -> Self {
        Self { low: Amount::Own, high: Amount::Own, pmax: Ratio::ONE, marks }
    }

    /// What it means at a port of that rate; false if its thresholds are not known there.
    pub(crate) fn at(self, rate: Option<Rate>) -> (Wred, bool) {
        let size = |amount: Amount| match amount {
            Amount::Size(size) => Some(size),
            Amount::Time(time) => rate.map(|rate| rate.bytes_in(time)),
            Amount::Share(_) | Amount::Own | Amount::Unknown => None,
        };
        let levels = match (self.low, self.high) {
            (Amount::Share(min), Amount::Share(max)) => {
                Some(Levels::Fill { min, max, pmax: self.pmax })
            }
            (Amount::Own, Amount::Own) => Some(SOMEWHERE),
            (low, high) => size(low)
                .zip(size(high))
                .map(|(kmin, kmax)| Levels::Sizes(Ecn { kmin, kmax, pmax: self.pmax })),
        };
        let wred = Wred { levels: levels.unwrap_or(SOMEWHERE), marks: self.marks };
        (wred, levels.is_some())
    }
}

/// `500 kbytes`, `3 milliseconds`, `percent 30`, or a number without a unit.
fn amount(words: &[&str], segment: Option<Bytes>) -> Option<Amount> {
    let first = words.first()?;
    if *first == "percent" {
        let percent = words.get(1)?.parse::<u64>().ok().filter(|percent| *percent <= 100)?;
        return Some(Amount::Share(Ratio::new(percent, 100)));
    }
    let number: u64 = first.parse().ok()?;
    let time = |ps: u64| number.checked_mul(ps).map(|ps| Amount::Time(Span::from_ps(ps)));
    match words.get(1).copied() {
        Some("segments" | "segment") => {
            let bytes = segment?.get().checked_mul(number)?;
            Some(Amount::Size(Bytes::new(bytes)))
        }
        Some("milliseconds" | "millisecond" | "ms") => time(1_000_000_000),
        Some("microseconds" | "microsecond" | "us" | "usec") => time(1_000_000),
        Some("nanoseconds" | "nanosecond" | "ns") => time(1_000),
        // Packets are of any size, and a number without a unit counts something that the box knows.
        Some(
            "packets" | "packet" | "maximum-threshold" | "drop-probability" | "weight" | "ecn",
        )
        | Some("max-mark-probability")
        | None => Some(Amount::Unknown),
        Some(unit) => size(first, unit).map(Amount::Size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(text: &str, rate: Option<Rate>) -> Option<(Levels, bool)> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let segment = Some(Bytes::new(208));
        let (wred, known) = Written::read(&words, true, segment)?.at(rate);
        Some((wred.levels, known))
    }

    fn sizes(kmin: u64, kmax: u64, percent: u64) -> Option<(Levels, bool)> {
        let (kmin, kmax) = (Bytes::new(kmin), Bytes::new(kmax));
        Some((Levels::Sizes(Ecn { kmin, kmax, pmax: Ratio::new(percent, 100) }), true))
    }

    #[test]
    fn units() {
        let text = |unit: &str| {
            format!(
                "minimum-threshold 2 {unit} maximum-threshold 4 {unit} drop-probability 20 weight 0"
            )
        };
        assert_eq!(levels(&text("bytes"), None), sizes(2, 4, 20));
        assert_eq!(levels(&text("kbytes"), None), sizes(2_000, 4_000, 20));
        assert_eq!(levels(&text("mbytes"), None), sizes(2_000_000, 4_000_000, 20));
        assert_eq!(levels(&text("segments"), None), sizes(416, 832, 20));
        let rate = Some(Rate::from_gbps(400));
        assert_eq!(levels(&text("microseconds"), rate), sizes(100_000, 200_000, 20));
        assert_eq!(levels(&text("milliseconds"), rate), sizes(100_000_000, 200_000_000, 20));
        assert_eq!(levels(&text("us"), None), Some((SOMEWHERE, false)));
        assert_eq!(levels(&text("packets"), rate), Some((SOMEWHERE, false)));
        assert_eq!(levels(&text(""), rate), Some((SOMEWHERE, false)));
        assert_eq!(levels(&text("parsecs"), rate), None);
        let shares = "minimum-threshold percent 30 maximum-threshold percent 60";
        let fill = Levels::Fill { min: Ratio::new(3, 10), max: Ratio::new(3, 5), pmax: Ratio::ONE };
        assert_eq!(levels(shares, None), Some((fill, true)));
        assert_eq!(levels("minimum-threshold 99999999999999999999 bytes", None), None);
        assert_eq!(
            levels("minimum-threshold 18446744073709551615 ms maximum-threshold 1 ms", rate),
            None
        );
    }
}
