//! Values of facts, as words and as numbers.

use crate::device::Balancing;
use crate::number::{Class, Dscp, Group, Priorities, Queue};
use crate::qos::{Levels, Reaction, Trust, Wred};
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::{Bytes, Length, Ratio, Span};

/// A value that a fact may have.
pub(super) trait Value {
    /// The value in words.
    fn show(&self) -> String;

    /// The value as numbers: other ones for every other value, of which none begins with all those of another.
    fn print(&self, to: &mut Vec<u64>);
}

macro_rules! numbers {
    ($($type:ty => $number:expr),* $(,)?) => {$(
        impl Value for $type {
            fn show(&self) -> String {
                self.to_string()
            }

            fn print(&self, to: &mut Vec<u64>) {
                let number: fn(&$type) -> u64 = $number;
                to.push(number(self));
            }
        }
    )*};
}

numbers! {
    bool => |on| (*on).into(),
    u8 => |number| (*number).into(),
    Bytes => |size| size.get(),
    Length => |length| length.as_mm(),
    Span => |time| time.as_ps(),
    Dscp => |dscp| dscp.get().into(),
    Class => |class| class.get().into(),
    Queue => |queue| queue.get().into(),
    Group => |group| group.get().into(),
    Priorities => |set| set.iter().fold(0, |bits, priority| bits | 1 << priority.index()),
}

macro_rules! words {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn show(&self) -> String {
                self.name().to_owned()
            }

            fn print(&self, to: &mut Vec<u64>) {
                let name = self.name().as_bytes();
                to.push(name.len() as u64);
                to.extend(name.iter().copied().map(u64::from));
            }
        }
    )*};
}

words!(Balancing, Trust, Reaction);

impl Value for Scheduling {
    fn show(&self) -> String {
        match self {
            Scheduling::Strict => "strict".to_owned(),
            Scheduling::Weighted(weight) => format!("{weight}%"),
        }
    }

    fn print(&self, to: &mut Vec<u64>) {
        match self {
            Scheduling::Strict => to.push(u64::MAX),
            Scheduling::Weighted(weight) => to.push((*weight).into()),
        }
    }
}

impl Value for Threshold {
    fn show(&self) -> String {
        match self {
            Threshold::Dynamic(alpha) => format!("alpha {alpha}"),
            Threshold::Static(size) => size.to_string(),
        }
    }

    fn print(&self, to: &mut Vec<u64>) {
        match self {
            Threshold::Dynamic(alpha) => to.extend([0, alpha.numerator(), alpha.denominator()]),
            Threshold::Static(size) => to.extend([1, size.get()]),
        }
    }
}

impl Value for Wred {
    fn show(&self) -> String {
        let verb = if self.marks { "marks" } else { "drops" };
        match self.levels {
            Levels::Sizes(ecn) => format!("{verb} {} to {}, {}", ecn.kmin, ecn.kmax, ecn.pmax),
            Levels::Fill { min, max, pmax } => format!("{verb} fill {min} to {max}, {pmax}"),
            Levels::Counts { min, max, pmax } => format!("acts from {min} to {max}, {pmax}"),
        }
    }

    fn print(&self, to: &mut Vec<u64>) {
        let ratio = |to: &mut Vec<u64>, value: Ratio| {
            to.extend([value.numerator(), value.denominator()]);
        };
        to.push(self.marks.into());
        let pmax = match self.levels {
            Levels::Sizes(ecn) => {
                to.extend([0, ecn.kmin.get(), ecn.kmax.get()]);
                ecn.pmax
            }
            Levels::Fill { min, max, pmax } => {
                to.push(1);
                ratio(to, min);
                ratio(to, max);
                pmax
            }
            Levels::Counts { min, max, pmax } => {
                to.extend([2, min, max]);
                pmax
            }
        };
        ratio(to, pmax);
    }
}
