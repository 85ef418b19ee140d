//! Spares: how many more of each part are ordered than are installed.
//!
//! Unless a share is given, 3 % of transceivers, cables and fibres and at least 2 of each kind,
//! 2 % of NICs and at least 1, 2 % of switches and at least 1. A given share replaces all of
//! these, the least numbers stay; a share of 0 orders no spares at all. Shares are rounded up.
//! They are our rule of thumb for parts that arrive within weeks.

use super::bill::{Line, Role};
use std::collections::BTreeMap;
use xoff_units::Ratio;

/// The rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spares {
    share: Option<Ratio>,
}

impl Spares {
    /// The usual rule, or a share of everything.
    pub(super) const fn of(share: Option<Ratio>) -> Self {
        Self { share }
    }

    /// Share and least number of a kind.
    fn rule(self, role: Role) -> (Ratio, u64) {
        let (share, least) = match role {
            Role::Leaf | Role::Spine | Role::Core | Role::Nic => (Ratio::new(2, 100), 1),
            Role::Transceiver | Role::Cable | Role::Fibre => (Ratio::new(3, 100), 2),
        };
        match self.share {
            Some(Ratio::ZERO) => (Ratio::ZERO, 0),
            Some(share) => (share, least),
            None => (share, least),
        }
    }

    /// Adds spares to lines. What is the same item in several lines has its spares in the first.
    pub(super) fn add(self, lines: &mut [Line]) {
        let mut totals = BTreeMap::new();
        for line in lines.iter() {
            *totals.entry(line.item.clone()).or_insert(0u64) += line.quantity;
        }
        for line in lines {
            let Some(total) = totals.remove(&line.item) else { continue };
            let (share, least) = self.rule(line.role);
            let (part, whole) = (share.numerator(), share.denominator().max(1));
            line.spares = total.saturating_mul(part).div_ceil(whole).max(least);
        }
    }
}
