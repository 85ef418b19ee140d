//! What switches have for adding up data, from `[switch] aggregation`.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::SwitchSettings;
use crate::model::{Aggregation, Tier};
use xoff_units::{Bytes, Span};

/// What a switch has where a file gives no number. Vendors publish none of the four: a group of 64 pieces of 32 KiB
/// keeps 1 MiB under way, twice what a 400G NIC sends in a round trip over three switches, and 16 groups take 32 MiB.
const USUAL: Aggregation =
    Aggregation { groups: 16, slots: 64, piece: Bytes::new(32 << 10), fallback: Span::from_ms(10) };

/// What the switches of a tier have, and what is wrong with it.
pub(super) fn settle(
    tier: Tier,
    own: &SwitchSettings,
    all: &SwitchSettings,
    report: &mut Report<'_>,
) -> Option<Aggregation> {
    let given = own.aggregation.or(all.aggregation)?;
    let found = Aggregation {
        groups: given.groups.unwrap_or(USUAL.groups),
        slots: given.slots.unwrap_or(USUAL.slots),
        piece: given.piece.unwrap_or(USUAL.piece),
        fallback: given.fallback.unwrap_or(USUAL.fallback),
    };
    let mut wrong = |key: &'static str, message: String, help: String| {
        let path: &[_] = match own.aggregation {
            Some(_) => keys!["switch", tier.name(), "aggregation", key],
            None => keys!["switch", "aggregation", key],
        };
        report.error(code::IMPOSSIBLE, path, message, help);
    };
    if found.groups == 0 {
        let message = "a switch that serves no group adds nothing up".to_owned();
        wrong("groups", message, "leave `aggregation` out, or give 1 or more".to_owned());
    }
    if !(2..=Aggregation::MOST_SLOTS).contains(&found.slots) {
        let message = format!("`slots` is {}", found.slots);
        wrong("slots", message, format!("give 2 to {}", Aggregation::MOST_SLOTS));
    }
    if found.piece.is_zero() || found.piece > Aggregation::LARGEST_PIECE {
        let message = format!("`piece` is {}", found.piece);
        wrong("piece", message, format!("give 1B to {}", Aggregation::LARGEST_PIECE));
    }
    Some(found)
}
