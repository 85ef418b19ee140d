//! Switch silicon, NICs and cables that exist, with the figures the rules need.
//!
//! Figures marked `published` come from product briefs and shipped configuration; `estimated` ones
//! fill what vendors do not publish (latency and power nearly always, cells often) and can be replaced in a
//! file's `[catalogue]`. A user's entry may start from a known one with `like`.

mod collectives;
mod dcqcn;
pub(crate) mod fact;
mod lanes;
mod media;
mod nic;
mod silicon;
mod user;

pub use collectives::CollectiveProfile;
pub use dcqcn::{DCQCN_SETS, DcqcnSet};
pub use fact::{Confidence, Fact};
pub use lanes::{
    Connector, Fibre, Form, Lane, Lanes, Make, Mismatch, Optics, Plugged, Port, Scheme, link,
};
pub use media::{Family, Media, Milliwatts};
pub use nic::{NicModel, OutOfOrder};
pub use silicon::Silicon;
pub(crate) use user::UserCatalogue;

use std::collections::BTreeMap;
use xoff_units::{Length, Rate};

/// How sure a catalogue figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From a vendor's document or shipped configuration, except latency.
    Published,
    /// At least the buffer or the cell is our estimate.
    Estimated,
    /// Made up for experiments.
    Invented,
    /// From the user's file.
    User,
}

/// Everything that can be named in a file.
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// Switch silicon by name.
    pub silicon: BTreeMap<String, Silicon>,
    /// NICs by name.
    pub nics: BTreeMap<String, NicModel>,
    /// Optics and copper by name.
    pub media: BTreeMap<String, Media>,
    /// Costs of collectives by name.
    pub collectives: BTreeMap<String, CollectiveProfile>,
}

impl Catalogue {
    /// What xoff knows by itself.
    pub fn built_in() -> Self {
        Self {
            silicon: silicon::built_in().map(|s| (s.name.clone(), s)).collect(),
            nics: nic::built_in().map(|n| (n.name.clone(), n)).collect(),
            media: media::built_in().map(|m| (m.name.clone(), m)).collect(),
            collectives: collectives::built_in().map(|c| (c.name.clone(), c)).collect(),
        }
    }

    /// The media with the least rate, reach and power that carry `rate` over `length`; media that
    /// belong to no rate come last.
    pub fn media_for(&self, rate: Rate, length: Length) -> Option<&Media> {
        let reaches = |media: &Media| media.reach.min(media.reach_at(rate)) >= length;
        let fits = |media: &&Media| media.automatic && media.rate >= rate && reaches(media);
        self.media.values().filter(fits).min_by_key(|m| (m.reach, m.rate, m.power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_never_exceed_the_capacity() {
        for silicon in Catalogue::built_in().silicon.values().filter(|s| !s.unlimited()) {
            let all = silicon.port_rate.bps() * u64::from(silicon.ports);
            assert!(all <= silicon.capacity.bps(), "{}", silicon.name);
            assert!(silicon.max_ports >= silicon.ports, "{}", silicon.name);
            assert!(silicon.buffer.get() >= 1_000_000, "{}", silicon.name);
        }
    }

    #[test]
    fn cables_are_chosen_by_rate_and_length() {
        let catalogue = Catalogue::built_in();
        let chosen = |gbps, metres| {
            let media = catalogue.media_for(Rate::from_gbps(gbps), Length::from_m(metres));
            media.map(|m| m.name.as_str())
        };
        assert_eq!(chosen(400, 1), Some("dac"));
        assert_eq!(chosen(400, 30), Some("aoc"));
        assert_eq!(chosen(400, 300), Some("400g-dr4"));
        assert_eq!(chosen(800, 1500), Some("800g-2xfr4"));
        assert_eq!(chosen(800, 200_000), None);
    }
}
