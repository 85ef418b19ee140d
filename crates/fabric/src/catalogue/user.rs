//! `[catalogue]`: a user's own silicon, NICs, media and costs of collectives.

use super::collectives::CollectiveEntry;
use super::{Catalogue, Make, Media, Milliwatts, NicModel, Silicon, Source};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::model::{SiliconPart, Voq};
use crate::suggest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

/// A user's own silicon, NICs, media and costs of collectives, by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct UserCatalogue {
    /// Switch silicon.
    pub silicon: BTreeMap<String, SiliconEntry>,
    /// NICs.
    pub nic: BTreeMap<String, NicEntry>,
    /// Optics and copper.
    pub media: BTreeMap<String, MediaEntry>,
    /// Costs of collectives.
    pub collectives: BTreeMap<String, CollectiveEntry>,
}

/// A switch ASIC. What is not given is as in `like`, or as in `generic`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct SiliconEntry {
    /// A built-in entry to start from.
    pub like: Option<String>,
    /// Who makes it.
    pub vendor: Option<String>,
    /// Ports at full rate.
    pub ports: Option<u32>,
    /// The full rate of a port.
    pub port_rate: Option<Rate>,
    /// Most ports when full-rate ports are split.
    pub max_ports: Option<u32>,
    /// Packet memory.
    pub buffer: Option<Bytes>,
    /// Unit of packet memory; 0 counts bytes.
    pub cell: Option<Bytes>,
    /// Forwarding latency.
    pub latency: Option<Span>,
    /// With virtual output queues, as `jericho-3-ai` has: from a request to its credit.
    pub credit_latency: Option<Span>,
    /// With virtual output queues: latency of the cell fabric.
    pub fabric_latency: Option<Span>,
    /// With virtual output queues: what the fabric carries of a port, over the port's rate.
    pub speed_up: Option<Ratio>,
    /// Delay inside MAC and PHY, as headroom counts it.
    pub mac_phy: Option<Bytes>,
    /// Time between port and buffer accounting, as headroom counts it.
    pub pipeline: Option<Span>,
    /// Step in which headroom is handed out.
    pub headroom_step: Option<Bytes>,
    /// What a switch draws without optics, in mW.
    pub power: Option<Milliwatts>,
}

/// A NIC. What is not given is as in `like`, or as in `generic-400g`; so is how its queue pairs behave.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct NicEntry {
    /// A built-in entry to start from.
    pub like: Option<String>,
    /// Who makes it.
    pub vendor: Option<String>,
    /// Rate of its port.
    pub rate: Option<Rate>,
    /// Time between a doorbell or an arriving packet and what follows from it.
    pub latency: Option<Span>,
    /// What it draws without optics, in mW.
    pub power: Option<Milliwatts>,
}

/// A cable or optics. What is not given is as in `like`, or as in `aoc`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct MediaEntry {
    /// A built-in entry to start from.
    pub like: Option<String>,
    /// Fastest rate it carries.
    pub rate: Option<Rate>,
    /// Longest cable.
    pub reach: Option<Length>,
    /// Latency of forward error correction, both ends together.
    pub fec: Option<Span>,
    /// Power at each end, in mW.
    pub power: Option<Milliwatts>,
}

impl Catalogue {
    /// The built-in catalogue with a user's entries.
    pub(crate) fn extended(user: &UserCatalogue, report: &mut Report<'_>) -> Catalogue {
        let built_in = Catalogue::built_in();
        let mut all = built_in.clone();
        for (name, entry) in &user.silicon {
            let like = entry.like.as_deref();
            if let Some(base) = base(&built_in.silicon, "silicon", name, like, "generic", report) {
                all.silicon.insert(name.clone(), entry.over(base, name, report));
            }
        }
        for (name, entry) in &user.nic {
            let like = entry.like.as_deref();
            if let Some(base) = base(&built_in.nics, "nic", name, like, "generic-400g", report) {
                all.nics.insert(name.clone(), entry.over(base, name));
            }
        }
        for (name, entry) in &user.media {
            let like = entry.like.as_deref();
            if let Some(base) = base(&built_in.media, "media", name, like, "aoc", report) {
                all.media.insert(name.clone(), entry.over(base, name));
            }
        }
        let own = user.collectives.iter();
        all.collectives.extend(own.map(|(name, entry)| (name.clone(), entry.named(name))));
        all
    }
}

fn base<'a, T>(
    known: &'a BTreeMap<String, T>,
    section: &str,
    name: &str,
    like: Option<&str>,
    default: &str,
    report: &mut Report<'_>,
) -> Option<&'a T> {
    let wanted = like.unwrap_or(default);
    let found = known.get(wanted);
    if found.is_none() {
        report.error(
            code::UNKNOWN_NAME,
            keys!["catalogue", section, name, "like"],
            format!("`{wanted}` is not in the built-in catalogue"),
            suggest::help(wanted, known.keys().map(String::as_str)),
        );
    }
    found
}

impl SiliconEntry {
    fn over(&self, base: &Silicon, name: &str, report: &mut Report<'_>) -> Silicon {
        let ports = self.ports.unwrap_or(base.ports);
        let port_rate = self.port_rate.unwrap_or(base.port_rate);
        let given = self.max_ports.or(self.ports.map(|ports| ports.saturating_mul(8)));
        if ports == 0 || given == Some(0) {
            report.error(
                code::IMPOSSIBLE,
                keys!["catalogue", "silicon", name, "ports"],
                "a switch without ports forwards nothing",
                "give at least 1",
            );
        }
        let part = base.headroom;
        Silicon {
            name: name.to_owned(),
            vendor: self.vendor.clone().unwrap_or_else(|| base.vendor.clone()),
            capacity: Rate::from_bps(port_rate.bps().saturating_mul(u64::from(ports))),
            ports,
            port_rate,
            max_ports: given.unwrap_or(base.max_ports),
            buffer: self.buffer.unwrap_or(base.buffer),
            cell: self.cell.unwrap_or(base.cell),
            latency: self.latency.unwrap_or(base.latency),
            voq: self.voq(base, name, report),
            headroom: SiliconPart {
                mac_phy: self.mac_phy.unwrap_or(part.mac_phy),
                pipeline: self.pipeline.unwrap_or(part.pipeline),
                step: self.headroom_step.unwrap_or(part.step),
            },
            power: self.power.unwrap_or(base.power),
            infiniband: base.infiniband,
            source: Source::User,
        }
    }
}

impl SiliconEntry {
    /// Its virtual output queues, where the silicon it is like has them.
    fn voq(&self, base: &Silicon, name: &str, report: &mut Report<'_>) -> Option<Voq> {
        let keys = [
            ("credit-latency", self.credit_latency.is_some()),
            ("fabric-latency", self.fabric_latency.is_some()),
            ("speed-up", self.speed_up.is_some()),
        ];
        let Some(voq) = base.voq else {
            if let Some((key, _)) = keys.into_iter().find(|(_, given)| *given) {
                report.error(
                    code::IMPOSSIBLE,
                    keys!["catalogue", "silicon", name, key],
                    format!("`{}` has one shared buffer and no virtual output queues", base.name),
                    "start from silicon that has them, with `like = \"jericho-3-ai\"`",
                );
            }
            return None;
        };
        let speed_up = self.speed_up.unwrap_or(voq.speed_up);
        if speed_up < Ratio::ONE {
            report.error(
                code::IMPOSSIBLE,
                keys!["catalogue", "silicon", name, "speed-up"],
                "a fabric slower than its ports drops or blocks",
                "give 1 or more; 1.1 to 1.3 are usual",
            );
        }
        Some(Voq {
            credit_latency: self.credit_latency.unwrap_or(voq.credit_latency),
            fabric_latency: self.fabric_latency.unwrap_or(voq.fabric_latency),
            speed_up: speed_up.max(Ratio::ONE),
        })
    }
}

impl NicEntry {
    fn over(&self, base: &NicModel, name: &str) -> NicModel {
        NicModel {
            name: name.to_owned(),
            vendor: self.vendor.clone().unwrap_or_else(|| base.vendor.clone()),
            rate: self.rate.unwrap_or(base.rate),
            ports: base.ports,
            lanes: base.lanes,
            latency: self.latency.unwrap_or(base.latency),
            power: self.power.unwrap_or(base.power),
            source: Source::User,
            placement: base.placement,
            transport: base.transport.clone(),
        }
    }
}

impl MediaEntry {
    fn over(&self, base: &Media, name: &str) -> Media {
        Media {
            name: name.to_owned(),
            rate: self.rate.unwrap_or(base.rate),
            reach: self.reach.unwrap_or(base.reach),
            fec: self.fec.unwrap_or(base.fec),
            power: self.power.unwrap_or(base.power),
            family: base.family,
            // Another rate or reach is another part, whose lanes nobody has told.
            make: match self.rate.is_some() || self.reach.is_some() {
                true => Make::Unknown,
                false => base.make,
            },
            automatic: !base.ideal,
            ideal: base.ideal,
            source: Source::User,
        }
    }
}
