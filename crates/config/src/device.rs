//! One device as it is configured, of the same shape whatever its vendor.

use crate::number::{Dscp, Group, Priorities, Queue};
use crate::place::{FileId, Place, Said};
use crate::qos::{GroupSettings, Maps, QueueSettings, Trust, WatchdogSettings};
use crate::system_id::SystemId;
use crate::tunnel::Tunnels;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use xoff_units::{Bytes, Length, Rate};

/// A switch or a host.
#[derive(Debug, Clone)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its operating system.
    pub system: SystemId,
    /// Version of its software.
    pub version: Said<String>,
    /// Its hardware.
    pub hardware: Said<String>,
    /// Its ports by name.
    pub ports: BTreeMap<PortName, Port>,
    /// How it spreads flows over equal paths.
    pub balancing: Said<Balancing>,
    /// Buffer that all ports share, beside headroom and reservations.
    pub shared_buffer: Said<Bytes>,
    /// Headroom that all ports share.
    pub headroom_pool: Said<Bytes>,
    /// Settings of the whole box that a fabric file does not speak of, by what the system calls them.
    pub own: BTreeMap<String, Said<String>>,
    /// What becomes of packets in tunnels.
    pub tunnels: Tunnels,
    /// Access lists that name RoCE's UDP port.
    pub guards: Vec<Guard>,
    /// The environment of the collective library on a host.
    pub nccl: Nccl,
    /// Statements that are not in the model.
    pub remarks: Vec<Remark>,
    /// Whether this is a whole device or a part of one.
    pub part: Part,
    /// The files that describe it; none for a device of the intent.
    pub files: Vec<FileId>,
}

impl Device {
    /// A device of which nothing is known but its name.
    pub fn new(name: impl Into<String>, system: SystemId) -> Self {
        Self {
            name: name.into(),
            system,
            version: Said::Absent,
            hardware: Said::Absent,
            ports: BTreeMap::new(),
            balancing: Said::Absent,
            shared_buffer: Said::Absent,
            headroom_pool: Said::Absent,
            own: BTreeMap::new(),
            tunnels: Tunnels::default(),
            guards: Vec::new(),
            nccl: Nccl::default(),
            remarks: Vec::new(),
            part: Part::Whole,
            files: Vec::new(),
        }
    }

    /// Whether it is a host, whose ports are NICs.
    pub fn is_host(&self) -> bool {
        self.system == SystemId::Host
    }

    /// How many statements there are of a kind.
    pub fn count(&self, kind: RemarkKind) -> usize {
        self.remarks.iter().filter(|remark| remark.kind == kind).count()
    }

    /// The port of that name, made if it is new.
    pub fn port(&mut self, name: &str) -> &mut Port {
        let name = PortName::new(name);
        self.ports.entry(name).or_default()
    }
}

/// How much of a device there is. A part is to be merged into the rest: its profiles get names that
/// the rest does not use, and nothing is applied to ports that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// A part that changes something.
    Change,
    /// A part that takes a change back. Its names are those of no change: a profile that is entered
    /// twice keeps what the second time does not say.
    Back,
}

impl Part {
    /// Whether it is not all of a device.
    pub const fn is_partial(self) -> bool {
        !matches!(self, Part::Whole)
    }

    /// The name of profiles: `ROCE`, or with the suffix of a part.
    pub(crate) fn stem(self, separator: &str) -> String {
        match self {
            Part::Whole => "ROCE".to_owned(),
            Part::Change => format!("ROCE{separator}FIX"),
            Part::Back => format!("ROCE{separator}BACK"),
        }
    }
}

/// The name of an interface. Numbers in it count as numbers: `Ethernet2` comes before `Ethernet10`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PortName(String);

impl PortName {
    /// The name as it is written.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for PortName {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        // Maps of ports compare names all the time, and most begin alike.
        let alike = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (Some(left), Some(right)) = (a.get(alike), b.get(alike)) else {
            return a.len().cmp(&b.len());
        };
        let numbers = a[..alike].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        if alike > 0 && numbers == 0 {
            match (left.is_ascii_digit(), right.is_ascii_digit()) {
                (false, false) => return left.cmp(right),
                (true, false) => return Ordering::Less,
                (false, true) => return Ordering::Greater,
                (true, true) => {}
            }
        }
        let from = alike - numbers;
        let pieces = || by_pieces(self.0.get(from..)?, other.0.get(from..)?);
        pieces().unwrap_or_else(|| self.0.cmp(&other.0))
    }
}

/// The order of two texts by their pieces, if these tell.
fn by_pieces(mut a: &str, mut b: &str) -> Option<Ordering> {
    loop {
        match (next_piece(&mut a), next_piece(&mut b)) {
            (None, None) => return None,
            (None, Some(_)) => return Some(Ordering::Less),
            (Some(_), None) => return Some(Ordering::Greater),
            (Some(left), Some(right)) => match compare_pieces(left, right) {
                Ordering::Equal => {}
                unequal => return Some(unequal),
            },
        }
    }
}

impl PartialOrd for PortName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The longest run of digits, or of anything else, at the start of `text`.
fn next_piece<'a>(text: &mut &'a str) -> Option<&'a str> {
    let digits = text.chars().next()?.is_ascii_digit();
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    let (piece, rest) = text.split_at(end);
    *text = rest;
    Some(piece)
}

fn compare_pieces(a: &str, b: &str) -> Ordering {
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if !(number(a) && number(b)) {
        return a.cmp(b);
    }
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A port of a switch, or a NIC of a host.
#[derive(Debug, Clone, Default)]
pub struct Port {
    /// Where the port itself is described.
    pub place: Option<Place>,
    /// Whether it is up, as far as the configuration says.
    pub enabled: Said<bool>,
    /// Its speed.
    pub rate: Said<Rate>,
    /// Largest packet.
    pub mtu: Said<Bytes>,
    /// What is at the other end, as the configuration says.
    pub neighbour: Said<Neighbour>,
    /// Length of the cable, as the configuration says.
    pub cable: Said<Length>,
    /// What it believes of an arriving packet.
    pub trust: Said<Trust>,
    /// From DSCP to queue, group and pause.
    pub maps: Arc<Maps>,
    /// Priorities that PFC is on for.
    pub pfc: Said<Priorities>,
    /// Egress queues.
    pub queues: Arc<[QueueSettings; Queue::COUNT]>,
    /// Ingress priority groups.
    pub groups: Arc<[GroupSettings; Group::COUNT]>,
    /// PFC watchdog.
    pub watchdog: WatchdogSettings,
    /// Whether it takes part in dynamic load balancing, on systems that say so per port.
    pub balancing: Said<bool>,
    /// Whether what it carries goes through tunnels of this switch, where that can be seen.
    pub tunnelled: Said<bool>,
    /// What a NIC writes into packets and answers to.
    pub nic: Nic,
    /// The address table of a NIC: what each index that was shown stands for.
    pub gids: BTreeMap<u8, Gid>,
    /// Parameters of a NIC's congestion control by the name that the driver gives them, like `rpg_ai_rate`.
    pub congestion: BTreeMap<&'static str, Said<u32>>,
}

/// What an entry of a NIC's address table stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gid {
    /// RoCEv1: Ethernet frames that no router forwards.
    V1,
    /// RoCEv2: UDP.
    V2,
    /// RoCEv2 with an address of the link, which no router forwards.
    V2Link,
}

/// Who made a NIC: its settings are written with the maker's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Maker {
    /// NVIDIA: `mlnx_qos`, `cma_roce_tos`, sysfs.
    Nvidia,
    /// Broadcom: `dcb`, configfs of `bnxt_re`.
    Broadcom,
    /// AMD: `nicctl`.
    Amd,
    /// Intel: `dcb`, configfs of `irdma`.
    Intel,
}

impl Maker {
    /// The maker that a catalogue names, if its tools are known.
    pub fn named(vendor: &str) -> Option<Self> {
        match vendor {
            "NVIDIA" => Some(Self::Nvidia),
            "Broadcom" => Some(Self::Broadcom),
            "AMD" => Some(Self::Amd),
            "Intel" => Some(Self::Intel),
            _ => None,
        }
    }

    /// The maker whose driver gives RDMA devices such names.
    pub fn of_device(name: &str) -> Option<Self> {
        let drivers = [
            ("mlx", Self::Nvidia),
            ("bnxt_re", Self::Broadcom),
            ("ionic_", Self::Amd),
            ("irdma", Self::Intel),
        ];
        drivers.iter().find(|(start, _)| name.starts_with(start)).map(|(_, maker)| *maker)
    }
}

/// What a NIC writes into packets and answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nic {
    /// DSCP of RDMA data, for all queue pairs.
    pub data_dscp: Said<Dscp>,
    /// DSCP of connections made by rdma_cm.
    pub cm_dscp: Said<Dscp>,
    /// DSCP of congestion notification packets.
    pub cnp_dscp: Said<Dscp>,
    /// Priorities on which marked packets are answered with a CNP.
    pub notifies: Said<Priorities>,
    /// Priorities on which CNPs slow the sender.
    pub reacts: Said<Priorities>,
    /// Who made it, where that was said or shown.
    pub maker: Option<Maker>,
    /// Whether all of it was shown, so that what is absent is off. Otherwise it is unknown.
    pub shown: bool,
}

/// What is at the other end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The device, or a description that may name it.
    pub device: String,
    /// Its port, if said.
    pub port: Option<String>,
}

/// How flows are spread over equal paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balancing {
    /// By a hash of the headers alone.
    Hash,
    /// Flowlets move to the less loaded path.
    Flowlet,
    /// Every packet takes the less loaded path.
    Packet,
}

impl Balancing {
    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Balancing::Hash => "hash",
            Balancing::Flowlet => "flowlet",
            Balancing::Packet => "per-packet",
        }
    }
}

/// An access list that names RoCE's UDP port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

/// The environment of the collective library.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nccl {
    /// `NCCL_IB_TC`: ToS byte of its packets.
    pub traffic_class: Said<u8>,
    /// `NCCL_IB_GID_INDEX`.
    pub gid_index: Said<u8>,
    /// `NCCL_IB_HCA`: the NICs that it may use.
    pub ib_hca: Said<String>,
    /// Where an environment was shown, if it was: what is absent is then not set. Otherwise it is unknown.
    pub shown: Option<Place>,
}

impl Nccl {
    /// Whether it may use a NIC, as far as `NCCL_IB_HCA` says: a list of names or their beginnings, after `=` of
    /// whole names, after `^` of those it must not use.
    pub fn may_use(&self, nic: &str) -> bool {
        let Some(list) = self.ib_hca.value() else { return true };
        let (not, list) =
            list.strip_prefix('^').map_or((false, list.as_str()), |rest| (true, rest));
        let (whole, list) = list.strip_prefix('=').map_or((false, list), |rest| (true, rest));
        let named = list.split(',').any(|entry| {
            let name = entry.split(':').next().unwrap_or(entry).trim();
            !name.is_empty() && if whole { nic == name } else { nic.starts_with(name) }
        });
        named != not
    }
}

/// A statement that is not in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remark {
    /// Where it is.
    pub place: Place,
    /// Why it is not in the model.
    pub kind: RemarkKind,
}

/// Why a statement is not in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemarkKind {
    /// It is about something else than RoCE.
    Foreign,
    /// It stands where RoCE is configured, and is not known.
    Unknown,
    /// It is known, but its value cannot be read.
    Malformed,
    /// It names something that is defined nowhere.
    Undefined,
    /// The text ends in the middle of it: what would follow is not there.
    Truncated,
    /// The line that the system writes last is not there.
    Unended,
    /// It writes another DSCP into packets, which is not followed.
    Rewrite,
    /// It puts packets into tunnels, which are not looked at on this system.
    Tunnel,
}

impl RemarkKind {
    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            RemarkKind::Foreign => "foreign",
            RemarkKind::Unknown => "unknown",
            RemarkKind::Malformed => "malformed",
            RemarkKind::Undefined => "undefined",
            RemarkKind::Truncated => "truncated",
            RemarkKind::Unended => "without its end",
            RemarkKind::Rewrite => "rewrites DSCPs",
            RemarkKind::Tunnel => "tunnel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that begin alike are compared from where they differ, which is the order of all their pieces.
    #[test]
    fn names_are_ordered_by_their_pieces() {
        let parts = ["", "0", "1", "09", "10", "9", "/", ":", "e", "é", "Eth"];
        let two = parts.iter().flat_map(|a| parts.iter().map(move |b| format!("{a}{b}")));
        let all: Vec<String> =
            two.flat_map(|start| parts.iter().map(move |end| format!("{start}{end}"))).collect();
        for a in &all {
            for b in &all {
                let order = by_pieces(a, b).unwrap_or_else(|| a.cmp(b));
                assert_eq!(PortName::new(a).cmp(&PortName::new(b)), order, "{a} {b}");
            }
        }
    }

    #[test]
    fn nccl_uses_what_its_list_names() {
        let of = |list: &str| Nccl { ib_hca: Said::meant(list.to_owned()), ..Nccl::default() };
        assert!(Nccl::default().may_use("mlx5_0"));
        assert!(of("mlx5").may_use("mlx5_3"));
        assert!(of("mlx5_1").may_use("mlx5_10"));
        assert!(!of("=mlx5_1:1,mlx5_2").may_use("mlx5_10"));
        assert!(of("=mlx5_1:1,mlx5_2").may_use("mlx5_2"));
        assert!(!of("^mlx5_0").may_use("mlx5_0"));
        assert!(of("^=mlx5_0").may_use("mlx5_01"));
    }

    #[test]
    fn ports_sort_as_people_count() {
        let mut names = ["Ethernet1/10", "Ethernet1/2", "Ethernet10/1", "Ethernet2", "swp1s10"];
        names.sort_by_key(|name| PortName::new(*name));
        assert_eq!(names, ["Ethernet1/2", "Ethernet1/10", "Ethernet2", "Ethernet10/1", "swp1s10"]);
        assert_ne!(PortName::new("eth01").cmp(&PortName::new("eth1")), Ordering::Equal);
        let long = "9".repeat(100);
        assert!(PortName::new(format!("e{long}")) > PortName::new("e1"));
    }
}
