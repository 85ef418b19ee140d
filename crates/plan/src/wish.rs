//! What to plan for, and what follows from it and the catalogue.

use super::existing::Owned;
use super::parts::{self, Mode, Switch};
use super::recommend::Skills;
use super::refusal::Refusal;
use super::shape::Level;
use super::size;
use serde::Serialize;
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{Catalogue, NicModel, Port, Silicon};
use xoff_fabric::{limit, suggest};
use xoff_units::{Rate, Ratio};

/// What to plan for: everything but the number of GPUs may be left open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Wish {
    /// GPUs in the cluster.
    pub gpus: u64,
    /// GPUs in one server (8, or all of a smaller cluster).
    pub gpus_per_server: Option<u64>,
    /// NICs in one server (one per GPU).
    pub nics_per_server: Option<u64>,
    /// NIC from the catalogue (`connectx-7`).
    pub nic: Option<String>,
    /// Silicon of the leaves (`tomahawk-5`).
    pub leaf: Option<String>,
    /// Silicon of the spines (as the leaves).
    pub spine: Option<String>,
    /// Silicon of the cores (as the spines).
    pub core: Option<String>,
    /// 1 for all NICs of a server on one leaf, or the number of NICs for a leaf each (the latter,
    /// unless one switch holds everything).
    pub rails: Option<u64>,
    /// Leaves that each NIC is plugged into: 1, or 2 with a half of its rate each (1).
    pub homing: Option<u64>,
    /// Planes of spines, 1 or 2: with 2, each NIC has a port in each, with half of its rate (1).
    pub planes: Option<u64>,
    /// Tiers of switches, 1 to 3 (as few as will do).
    pub tiers: Option<u64>,
    /// Host bandwidth of a leaf over its uplink bandwidth (1:1).
    pub oversubscription: Option<Ratio>,
    /// Downlink bandwidth of a spine over its uplink bandwidth, in three tiers (1:1).
    pub spine_oversubscription: Option<Ratio>,
    /// What the switches speak.
    pub network: Network,
    /// A storage network, with so many storage servers (one for every eight servers).
    pub storage: Option<Option<u64>>,
    /// A front-end network.
    pub frontend: bool,
    /// A management network.
    pub management: bool,
    /// What the people who will run it know.
    pub skills: Option<Skills>,
    /// What is there already.
    pub existing: Option<Vec<Owned>>,
    /// Spares as a share of what is installed (a rule for each kind of part).
    pub spares: Option<Ratio>,
}

/// More GPUs or NICs than any server has.
const MOST_PER_SERVER: u64 = 1_024;

/// What the switches speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// RoCEv2 on lossless Ethernet.
    #[default]
    Roce,
    /// InfiniBand, for comparison: parts and cables only, fabric files do not describe it.
    Infiniband,
}

impl Network {
    /// The word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Network::Roce => "RoCE",
            Network::Infiniband => "InfiniBand",
        }
    }
}

/// A wish with everything named and looked up.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) servers: u64,
    pub(super) gpus_per_server: u64,
    pub(super) nics: u64,
    pub(super) rails: Option<u64>,
    pub(super) tiers: Option<u64>,
    pub(super) leaf_ratio: Ratio,
    pub(super) spine_ratio: Ratio,
    pub(super) network: Network,
    pub(super) spares: Option<Ratio>,
    pub(super) nic: NicModel,
    pub(super) nic_port: Port,
    pub(super) homing: u64,
    pub(super) planes: u64,
    pub(super) leaf: Switch,
    pub(super) spine: Switch,
    pub(super) core: Switch,
    modes: Vec<(Level, Rate, Mode)>,
}

impl Ask {
    /// GPUs of the cluster.
    pub(super) fn gpus(&self) -> u64 {
        self.servers * self.gpus_per_server
    }

    /// Rate of one cable of a NIC.
    pub(super) fn host_rate(&self) -> Rate {
        Rate::from_bps(self.nic.rate.bps() / self.homing)
    }

    /// The lanes of a level's links at a rate; `None` if nothing links its ports so.
    pub(super) fn mode(&self, level: Level, rate: Rate) -> Option<Mode> {
        let same = |(at, known, _): &&(Level, Rate, Mode)| *at == level && *known == rate;
        self.modes.iter().find(same).map(|(_, _, mode)| *mode)
    }

    /// The switches of each tier from the hosts up.
    pub(super) fn switches(&self) -> [&Switch; 3] {
        [&self.leaf, &self.spine, &self.core]
    }

    /// Finds the lanes of every level at every rate that may be tried.
    fn with_modes(mut self, catalogue: &Catalogue) -> Self {
        for level in Level::ALL {
            let ends = parts::ends(level, self.nic_port, self.switches());
            for rate in size::rates(&self, level) {
                if let Some(mode) = ends.mode(catalogue, rate) {
                    self.modes.push((level, rate, mode));
                }
            }
        }
        self
    }

    /// GPUs that this many NICs serve.
    pub(super) fn gpus_of(&self, nics: u64) -> u64 {
        (nics / self.nics).saturating_mul(self.gpus_per_server)
    }
}

impl Wish {
    /// This many GPUs, and defaults for the rest.
    pub fn gpus(gpus: u64) -> Self {
        Self { gpus, ..Self::default() }
    }

    pub(super) fn settle(&self, catalogue: &Catalogue) -> Result<Ask, Refusal> {
        let gpus_per_server = self.gpus_per_server.unwrap_or(self.gpus.min(8));
        let nics = self.nics_per_server.unwrap_or(gpus_per_server);
        self.check_counts(gpus_per_server, nics)?;
        let servers = self.gpus / gpus_per_server;
        if servers.saturating_mul(nics) > limit::NICS {
            let most = limit::NICS / nics * gpus_per_server;
            return Err(Refusal::new(
                format!("{} GPUs need more than {} NICs", self.gpus, limit::NICS),
                [format!("xoff describes fabrics of up to {most} such GPUs: plan them in parts")],
            ));
        }
        let (switches, nic) = match self.network {
            Network::Roce => {
                (parts::silicon(catalogue, false), self.nic.as_deref().unwrap_or("connectx-7"))
            }
            Network::Infiniband => {
                (parts::silicon(catalogue, true), self.nic.as_deref().unwrap_or("connectx-7"))
            }
        };
        let nic = find(&catalogue.nics, nic, "NICs", "--nic")?.clone();
        let leaf_name = self.leaf.as_deref().unwrap_or("tomahawk-5");
        let leaf = silicon(catalogue, &switches, leaf_name, "--leaf")?;
        let spine = match self.spine.as_deref() {
            Some(name) => silicon(catalogue, &switches, name, "--spine")?,
            None => leaf.clone(),
        };
        let core = match self.core.as_deref() {
            Some(name) => silicon(catalogue, &switches, name, "--core")?,
            None => spine.clone(),
        };
        let ratio = |given: Option<Ratio>| given.unwrap_or(Ratio::ONE);
        let planes = self.planes.unwrap_or(1);
        let homing = self.homing.unwrap_or(planes);
        let nic_port = Port::of_nic(&nic, homing as u8).ok_or_else(|| {
            let rate = Rate::from_bps(nic.rate.bps() / homing);
            Refusal::new(
                format!("--nic: no form factor of `{}` with ports of {rate} is known", nic.name),
                ["another --nic", "--homing single"],
            )
        })?;
        let ask = Ask {
            servers,
            gpus_per_server,
            nics,
            rails: self.rails,
            tiers: self.tiers,
            leaf_ratio: ratio(self.oversubscription),
            spine_ratio: ratio(self.spine_oversubscription),
            network: self.network,
            spares: self.spares,
            nic,
            nic_port,
            homing,
            planes,
            leaf,
            spine,
            core,
            modes: Vec::new(),
        };
        Ok(ask.with_modes(catalogue))
    }

    fn check_counts(&self, gpus_per_server: u64, nics: u64) -> Result<(), Refusal> {
        let none = [
            ("GPUs", Some(self.gpus)),
            ("--gpus-per-server", Some(gpus_per_server)),
            ("--nics-per-server", Some(nics)),
            ("--rails", self.rails),
            ("--homing", self.homing),
            ("--planes", self.planes),
            ("--tiers", self.tiers),
        ];
        if let Some((what, _)) = none.iter().find(|(_, value)| *value == Some(0)) {
            return Err(Refusal::new(
                format!("{what}: there is nothing to build with 0"),
                ["give at least 1"],
            ));
        }
        for (option, count) in [("--gpus-per-server", gpus_per_server), ("--nics-per-server", nics)]
        {
            if count > MOST_PER_SERVER {
                return Err(Refusal::new(
                    format!("{option}: no server has {count}"),
                    [format!("1 to {MOST_PER_SERVER}")],
                ));
            }
        }
        if !self.gpus.is_multiple_of(gpus_per_server) {
            let less = self.gpus / gpus_per_server * gpus_per_server;
            let near = [less, less.saturating_add(gpus_per_server)];
            let near = near.iter().filter(|gpus| **gpus > 0);
            return Err(Refusal::new(
                format!("{} GPUs do not fill servers of {gpus_per_server}", self.gpus),
                near.map(|gpus| format!("{gpus} GPUs"))
                    .chain(["another --gpus-per-server".to_owned()]),
            ));
        }
        if self.planes == Some(2) && nics != gpus_per_server {
            return Err(Refusal::new(
                "two planes are planned with a NIC for each GPU, which is what their file can say",
                [format!("--nics-per-server {gpus_per_server}"), "--homing dual".to_owned()],
            ));
        }
        self.check_form(nics)
    }

    /// Only two tiers have pairs of leaves: a fabric file describes no others.
    fn check_homing(&self) -> Result<(), Refusal> {
        if self.planes.is_some_and(|planes| planes > 2) {
            return Err(Refusal::new("--planes: a NIC has two ports at most", ["--planes 1 or 2"]));
        }
        if self.planes == Some(2) && self.homing == Some(1) {
            let cures = ["--planes 2 without --homing single"];
            return Err(Refusal::new("two planes need a port of each NIC in each", cures));
        }
        match (self.homing.or(self.planes), self.tiers) {
            (None | Some(1), _) | (Some(2), None | Some(2)) => Ok(()),
            (Some(2), Some(tiers)) => Err(Refusal::new(
                format!("NICs on two leaves are planned in two tiers, not in {tiers}"),
                ["--tiers 2", "--homing single"],
            )),
            (Some(homing), _) => Err(Refusal::new(
                format!("--homing: no NIC is on {homing} leaves"),
                ["--homing single", "--homing dual"],
            )),
        }
    }

    /// Rails, tiers and oversubscription.
    fn check_form(&self, nics: u64) -> Result<(), Refusal> {
        if let Some(rails) = self.rails.filter(|rails| *rails != 1 && *rails != nics) {
            return Err(Refusal::new(
                format!("servers with {nics} NICs cannot have {rails} rails"),
                [
                    "--rails 1 (all NICs of a server on one leaf)".to_owned(),
                    format!("--rails {nics} (a leaf for each)"),
                    format!("--nics-per-server {rails} --rails {rails}"),
                ],
            ));
        }
        self.check_homing()?;
        if let Some(tiers) = self.tiers.filter(|tiers| *tiers > 3) {
            return Err(Refusal::new(
                format!("{tiers} tiers are not supported"),
                ["--tiers 1, 2 or 3"],
            ));
        }
        if self.spares.is_some_and(|share| share > Ratio::ONE) {
            return Err(Refusal::new(
                "--spares: more spares than parts",
                ["a share from 0% to 100%, like 5%"],
            ));
        }
        for (option, ratio) in [
            ("--oversubscription", self.oversubscription),
            ("--spine-oversubscription", self.spine_oversubscription),
        ] {
            if ratio.is_some_and(|ratio| ratio < Ratio::ONE || ratio > Ratio::new(64, 1)) {
                return Err(Refusal::new(
                    format!("{option}: the ratio is out of range"),
                    ["1:1 to 64:1, as bandwidth below over bandwidth above"],
                ));
            }
        }
        Ok(())
    }
}

fn find<'a, T>(
    known: &'a BTreeMap<String, T>,
    name: &str,
    what: &str,
    option: &str,
) -> Result<&'a T, Refusal> {
    known.get(name).ok_or_else(|| {
        Refusal::new(
            format!("{option}: there is no `{name}` in the catalogue of {what}"),
            [suggest::help(name, known.keys().map(String::as_str))],
        )
    })
}

fn silicon(
    catalogue: &Catalogue,
    known: &BTreeMap<String, Silicon>,
    name: &str,
    option: &str,
) -> Result<Switch, Refusal> {
    if let Some(other) = catalogue.silicon.get(name).filter(|_| !known.contains_key(name)) {
        let (own, wanted) = match other.infiniband {
            true => ("InfiniBand", "Ethernet"),
            false => ("Ethernet", "InfiniBand"),
        };
        return Err(Refusal::new(
            format!(
                "{option}: `{name}` is an {own} switch, and this network is of {wanted} switches"
            ),
            [
                format!("{wanted} silicon: see `xoff catalogue silicon`"),
                "without the option: every plan has InfiniBand of the same rate beside it"
                    .to_owned(),
            ],
        ));
    }
    let found = find(known, name, "silicon", option)?;
    let sold = ["silicon that is sold: see `xoff catalogue silicon`"];
    if found.unlimited() {
        return Err(Refusal::new(
            format!("{option}: `{name}` is for experiments, and no switch has it"),
            sold,
        ));
    }
    Switch::new(found.clone()).ok_or_else(|| {
        let rate = found.port_rate;
        Refusal::new(format!("{option}: no form factor of ports of {rate} is known"), sold)
    })
}
