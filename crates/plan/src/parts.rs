//! Parts that are not in the catalogue, and which transceivers go together.

use super::shape::Level;
use serde::Serialize;
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{Catalogue, Family, Media, Silicon};
use xoff_units::{Length, Rate};

/// Silicon of one kind of network, by name.
pub(super) fn silicon(catalogue: &Catalogue, infiniband: bool) -> BTreeMap<String, Silicon> {
    let mut all = catalogue.silicon.clone();
    all.retain(|_, silicon| silicon.infiniband == infiniband);
    all
}

/// The smallest InfiniBand switch with ports of this rate.
pub(super) fn infiniband_for(catalogue: &Catalogue, rate: Rate) -> Option<&str> {
    let fits = |silicon: &&Silicon| silicon.infiniband && silicon.port_rate >= rate;
    let all = catalogue.silicon.values().filter(fits);
    all.min_by_key(|silicon| silicon.capacity).map(|silicon| silicon.name.as_str())
}

/// What is plugged in at both ends of the cables of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Medium {
    /// The catalogue's name for what carries a link.
    pub name: String,
    /// Whether the ends are part of the cable.
    pub attached: bool,
    /// The transceiver of the lower end.
    pub lower: String,
    /// Links that share a transceiver at the lower end.
    pub lower_split: u64,
    /// The transceiver of the upper end.
    pub upper: String,
    /// Links that share a transceiver at the upper end.
    pub upper_split: u64,
}

/// The medium with the least reach, rate and power that carries `rate` over `length` between ports
/// that are split like this. `None`: nothing in the catalogue does.
pub(super) fn medium(
    catalogue: &Catalogue,
    rate: Rate,
    length: Length,
    (lower, upper): (u32, u32),
) -> Option<Medium> {
    let carries = |media: &&Media| media.rate >= rate && media.reach >= length && !media.ideal;
    let mut candidates: Vec<&Media> = catalogue.media.values().filter(carries).collect();
    candidates.sort_by_key(|media| (media.reach, media.rate, media.power));
    let both = |media: &&Media| {
        let end = |split| end_of(catalogue, media, rate, split, length);
        let (whole, lower_end, upper_end) = (end(1)?, end(lower)?, end(upper)?);
        // A cable that fans out does so at one end only.
        let attached = media.family == Family::Cable;
        if attached && lower > 1 && upper > 1 {
            return None;
        }
        Some(Medium {
            name: whole.name.clone(),
            attached,
            lower: lower_end.name.clone(),
            lower_split: u64::from(lower.max(1)),
            upper: upper_end.name.clone(),
            upper_split: u64::from(upper.max(1)),
        })
    };
    candidates.iter().find_map(both)
}

/// What sits in a cage whose rate is split between `split` links on `media`.
fn end_of<'a>(
    catalogue: &'a Catalogue,
    media: &'a Media,
    rate: Rate,
    split: u32,
    length: Length,
) -> Option<&'a Media> {
    let cage = Rate::from_bps(rate.bps().saturating_mul(u64::from(split.max(1))));
    if media.family == Family::Cable {
        return (media.rate >= cage).then_some(media);
    }
    let fits = |other: &&Media| {
        other.family == media.family && other.rate >= cage && other.reach >= length && !other.ideal
    };
    catalogue.media.values().filter(fits).min_by_key(|other| (other.rate, other.power))
}

/// The two ends of a level as silicon splits its ports; a NIC has one port.
pub(super) fn splits(level: Level, rate: Rate, silicon: [&Silicon; 3]) -> (u32, u32) {
    let [leaf, spine, core] = silicon.map(|silicon| silicon.split(rate));
    match level {
        Level::Host => (1, leaf),
        Level::LeafSpine => (leaf, spine),
        Level::SpineCore => (spine, core),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(gbps: u64, metres: u64, splits: (u32, u32)) -> Option<(String, String, String)> {
        let catalogue = Catalogue::built_in();
        let medium = medium(&catalogue, Rate::from_gbps(gbps), Length::from_m(metres), splits)?;
        Some((medium.name, medium.lower, medium.upper))
    }

    fn names(name: &str, lower: &str, upper: &str) -> Option<(String, String, String)> {
        Some((name.to_owned(), lower.to_owned(), upper.to_owned()))
    }

    #[test]
    fn ends_understand_each_other() {
        assert_eq!(chosen(400, 2, (1, 2)), names("dac", "dac", "dac"));
        assert_eq!(chosen(400, 10, (1, 2)), names("aoc", "aoc", "aoc"));
        // No 800G transceiver for multimode fibre reaches 75 m, so single-mode it is.
        assert_eq!(chosen(400, 75, (1, 2)), names("400g-dr4", "400g-dr4", "800g-dr8"));
        assert_eq!(chosen(400, 75, (1, 1)), names("400g-sr8", "400g-sr8", "400g-sr8"));
        // No cable fans out at both ends.
        assert_eq!(chosen(400, 10, (2, 2)), names("400g-sr8", "800g-sr8", "800g-sr8"));
        // A NIC takes no transceiver that is faster than it.
        assert_eq!(chosen(400, 40, (1, 2)), names("400g-sr8", "400g-sr8", "800g-sr8"));
        // Between sites optics are coherent; what none of them reaches has no answer.
        assert_eq!(chosen(800, 20_000, (1, 1)), names("800g-zr", "800g-zr", "800g-zr"));
        assert_eq!(chosen(800, 200_000, (1, 1)), None);
        assert_eq!(chosen(1600, 20_000, (1, 1)), None);
    }
}
