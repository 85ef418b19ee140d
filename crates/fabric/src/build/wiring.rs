//! What is plugged into what, before ports have numbers.

use super::switches::SwitchKind;
use super::terms::{NicKind, Terms};
use crate::model::{Cable, Tier};
use std::ops::Range;

pub(super) const MAX_NICS: usize = crate::limit::NICS as usize;
const MAX_SWITCHES: usize = crate::limit::SWITCHES as usize;
const MAX_LINKS: usize = crate::limit::LINKS as usize;

/// Why a builder gave up.
pub(super) enum Stop {
    /// The reason is in the report.
    Reported,
    /// More of something than fits.
    TooLarge(&'static str),
}

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Nic(u32),
    Switch(u32),
}

pub(super) struct Link {
    pub(super) ends: [End; 2],
    /// Index into [`Wiring::cables`].
    pub(super) cable: usize,
    /// What the devices at its ends call their ports, where the file says so.
    pub(super) labels: [Option<Box<str>>; 2],
}

pub(super) struct ServerPlan {
    pub(super) name: String,
    pub(super) gpus: u32,
    pub(super) nics: Range<u32>,
}

pub(super) struct NicPlan {
    pub(super) name: String,
    pub(super) server: u32,
    pub(super) kind: usize,
    pub(super) rail: Option<u32>,
}

pub(super) struct SwitchPlan {
    pub(super) name: String,
    pub(super) kind: usize,
}

#[derive(Default)]
pub(super) struct Wiring {
    pub(super) servers: Vec<ServerPlan>,
    pub(super) nics: Vec<NicPlan>,
    pub(super) nic_kinds: Vec<NicKind>,
    pub(super) switches: Vec<SwitchPlan>,
    pub(super) switch_kinds: Vec<SwitchKind>,
    pub(super) cables: Vec<Cable>,
    pub(super) links: Vec<Link>,
}

impl Wiring {
    /// A wiring with the cluster's servers and NICs and nothing plugged in yet.
    pub(super) fn with_servers(terms: &Terms<'_>) -> Result<Self, Stop> {
        let mut wiring = Wiring { nic_kinds: vec![terms.nic.clone()], ..Wiring::default() };
        let cluster = terms.cluster;
        if u64::from(cluster.servers) * u64::from(cluster.nics) > MAX_NICS as u64 {
            return Err(Stop::TooLarge("200,000 NICs"));
        }
        for server in 0..cluster.servers {
            let first = wiring.nics.len() as u32;
            for nic in 0..cluster.nics {
                let name = format!("server{server}-nic{nic}");
                wiring.add_nic(name, server, 0)?;
            }
            let nics = first..wiring.nics.len() as u32;
            wiring.servers.push(ServerPlan {
                name: format!("server{server}"),
                gpus: cluster.gpus,
                nics,
            });
        }
        Ok(wiring)
    }

    pub(super) fn add_nic(&mut self, name: String, server: u32, kind: usize) -> Result<(), Stop> {
        if self.nics.len() >= MAX_NICS {
            return Err(Stop::TooLarge("200,000 NICs"));
        }
        self.nics.push(NicPlan { name, server, kind, rail: None });
        Ok(())
    }

    /// Adds `count` switches of one kind, named after their tier, and returns their numbers.
    pub(super) fn add_tier(&mut self, kind: &SwitchKind, count: u64) -> Result<Range<u32>, Stop> {
        let first = self.switches.len();
        if (first as u64).saturating_add(count) > MAX_SWITCHES as u64 {
            return Err(Stop::TooLarge("50,000 switches"));
        }
        self.switch_kinds.push(kind.clone());
        let index = self.switch_kinds.len() - 1;
        for number in 0..count {
            let name = format!("{}{number}", kind.tier.name());
            self.switches.push(SwitchPlan { name, kind: index });
        }
        Ok(first as u32..self.switches.len() as u32)
    }

    pub(super) fn add_switch(&mut self, name: String, kind: SwitchKind) -> Result<(), Stop> {
        if self.switches.len() >= MAX_SWITCHES {
            return Err(Stop::TooLarge("50,000 switches"));
        }
        self.switch_kinds.push(kind);
        self.switches.push(SwitchPlan { name, kind: self.switch_kinds.len() - 1 });
        Ok(())
    }

    pub(super) fn add_cable(&mut self, cable: &Cable) -> usize {
        self.cables.push(cable.clone());
        self.cables.len() - 1
    }

    /// Plugs `count` cables of kind `cable` between `a` and `b`.
    pub(super) fn connect(&mut self, a: End, b: End, cable: usize, count: u64) -> Result<(), Stop> {
        if (self.links.len() as u64).saturating_add(count) > MAX_LINKS as u64 {
            return Err(Stop::TooLarge("300,000 links"));
        }
        for _ in 0..count {
            self.links.push(Link { ends: [a, b], cable, labels: [None, None] });
        }
        Ok(())
    }

    /// Plugs a NIC into each of these switches.
    pub(super) fn connect_to_set(
        &mut self,
        nic: u32,
        mut switches: Range<u32>,
        cable: usize,
    ) -> Result<(), Stop> {
        switches.try_for_each(|switch| self.connect(End::Nic(nic), End::Switch(switch), cable, 1))
    }

    pub(super) fn tier(&self, switch: u32) -> Tier {
        self.kind(switch).tier
    }

    pub(super) fn kind(&self, switch: u32) -> &SwitchKind {
        &self.switch_kinds[self.switches[switch as usize].kind]
    }
}
