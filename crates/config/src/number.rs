//! The small numbers of QoS, each of its own type so that a queue is never taken for a priority.

use std::fmt;

macro_rules! small {
    ($(#[$doc:meta])* $name:ident, $count:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u8);

        impl $name {
            /// How many there are.
            pub const COUNT: usize = $count;

            /// The one of this number, if there is one.
            pub const fn new(number: u8) -> Option<Self> {
                if (number as usize) < Self::COUNT { Some(Self(number)) } else { None }
            }

            /// Reads a decimal number.
            pub fn read(text: &str) -> Option<Self> {
                Self::new(text.trim().parse().ok()?)
            }

            /// Its number.
            pub const fn get(self) -> u8 {
                self.0
            }

            /// Its number as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// All of them, in order.
            pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
                (0..$count).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

small!(
    /** Six bits of the IP header. */
    Dscp,
    64
);
small!(
    /** What a device sorts packets into on arrival: traffic class, switch priority, qos-group. */
    Class,
    8
);
small!(
    /** An egress queue of a port. */
    Queue,
    8
);
small!(
    /** A priority group: ingress buffer of a port that is paused as one. */
    Group,
    8
);
small!(
    /** A priority as PFC frames name it. */
    Priority,
    8
);

impl Class {
    /// The class of the fabric model.
    pub const fn of(id: xoff_fabric::model::ClassId) -> Option<Self> {
        Self::new(id.0)
    }
}

impl Dscp {
    /// A DSCP by number or by name (`cs6`, `af31`, `ef`, `default`).
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(number) = Self::read(text) {
            return Some(number);
        }
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "default" | "be" => return Self::new(0),
            "ef" => return Self::new(46),
            _ => {}
        }
        if let Some(selector) = lower.strip_prefix("cs") {
            let selector: u8 = selector.parse().ok().filter(|n| *n < 8)?;
            return Self::new(selector * 8);
        }
        let [class @ b'1'..=b'4', drop @ b'1'..=b'3'] = lower.strip_prefix("af")?.as_bytes() else {
            return None;
        };
        Self::new((class - b'0') * 8 + (drop - b'0') * 2)
    }

    /// The DSCP in a ToS or traffic class byte.
    pub const fn of_tos(tos: u8) -> Self {
        Self(tos >> 2)
    }

    /// The ToS byte of an ECN-capable packet with this DSCP, as NIC settings want it.
    pub const fn tos_with_ecn(self) -> u8 {
        self.0 << 2 | 2
    }
}

/// A set of PFC priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priorities(u8);

impl Priorities {
    /// None.
    pub const NONE: Self = Self(0);
    /// All eight.
    pub const ALL: Self = Self(u8::MAX);

    /// Just this one.
    pub const fn only(priority: Priority) -> Self {
        Self(1 << priority.0)
    }

    /// With this one too.
    #[must_use]
    pub const fn with(self, priority: Priority) -> Self {
        Self(self.0 | 1 << priority.0)
    }

    /// Without this one.
    #[must_use]
    pub const fn without(self, priority: Priority) -> Self {
        Self(self.0 & !(1 << priority.0))
    }

    /// Whether it is in the set.
    pub const fn has(self, priority: Priority) -> bool {
        self.0 & 1 << priority.0 != 0
    }

    /// How many.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in this set and not in `other`.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The members, in order.
    pub fn iter(self) -> impl Iterator<Item = Priority> {
        Priority::all().filter(move |priority| self.has(*priority))
    }

    /// Reads a list like `3,4`; empty text is the empty set.
    pub fn read(list: &str) -> Option<Self> {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(Priority::read).try_fold(Self::NONE, |set, next| Some(set.with(next?)))
    }
}

impl FromIterator<Priority> for Priorities {
    fn from_iter<I: IntoIterator<Item = Priority>>(iter: I) -> Self {
        iter.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.pad("none");
        }
        let words: Vec<String> = self.iter().map(|priority| priority.to_string()).collect();
        f.pad(&words.join(","))
    }
}

/// Reads lists of numbers and ranges like `3,5-7` below `count`; `None` if anything is wrong.
pub(crate) fn ranges(text: &str, count: usize) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u8, u8) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        if from > to || usize::from(to) >= count {
            return None;
        }
        found.extend(from..=to);
        // A list cannot name more numbers than there are, unless it repeats itself.
        if found.len() > 4 * count {
            return None;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dscps_have_names() {
        let named = |text| Dscp::named(text).map(Dscp::get);
        assert_eq!(named("26"), Some(26));
        assert_eq!(named("AF31"), Some(26));
        assert_eq!(named("cs6"), Some(48));
        assert_eq!(named("ef"), Some(46));
        assert_eq!(named("64"), None);
        assert_eq!(named("cs8"), None);
        assert_eq!(named("af51"), None);
        assert_eq!(named("af3\u{e9}"), None);
        assert_eq!(Dscp::of_tos(106).get(), 26);
        assert_eq!(Dscp::of_tos(106).tos_with_ecn(), 106);
    }

    #[test]
    fn sets_and_lists() {
        assert_eq!(Priorities::read("3,4").map(|set| set.to_string()).as_deref(), Some("3,4"));
        assert_eq!(Priorities::read(""), Some(Priorities::NONE));
        assert_eq!(Priorities::read("8"), None);
        assert_eq!(ranges("0-2,5", 8), Some(vec![0, 1, 2, 5]));
        assert_eq!(ranges("5-2", 8), None);
        assert_eq!(ranges("0-63", 64).map(|list| list.len()), Some(64));
        assert_eq!(ranges("0-64", 64), None);
    }
}
