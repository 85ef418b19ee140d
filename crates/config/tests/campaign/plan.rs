//! The fabric of a seed: who is cabled to whom, and the values and habits its operators have. Templates
//! write configurations from it; nothing here knows the auditor's model.

use crate::draw::Draw;
use xoff_config::SystemId;

/// How descriptions tell what a port leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cabling {
    /// In descriptions: `to gpu01 mlx5_0`, `gpu01:ens1np0`, and so on.
    Described(usize),
    /// Not in the configurations, but in LLDP tables collected beside them.
    Lldp,
    /// Nowhere.
    Untold,
}

/// What servers have, and how their state was collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostForm {
    /// NVIDIA NICs: one file per command, in a folder per host.
    Folder,
    /// NVIDIA NICs: everything in one file per host, as a terminal shows it.
    Session,
    /// Broadcom NICs.
    Broadcom,
    /// Intel NICs.
    Intel,
}

/// Marking thresholds in bytes, and the probability in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ecn {
    pub(crate) kmin: u64,
    pub(crate) kmax: u64,
    pub(crate) pmax: u64,
}

/// A fabric and the habits of its operators.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) system: SystemId,
    /// Which of the styles of its system.
    pub(crate) style: usize,
    /// Name of policies and profiles.
    pub(crate) policy: &'static str,
    pub(crate) data_dscp: u8,
    pub(crate) cnp_dscp: u8,
    pub(crate) data: u8,
    pub(crate) cnp: u8,
    /// A second lossless class, as SONiC ships it.
    pub(crate) second: Option<u8>,
    /// Class of every DSCP on the switches.
    pub(crate) classes: [u8; 64],
    /// Whether classes that carry neither RDMA nor best effort are strict by default.
    pub(crate) strict_rest: bool,
    /// A fixed pause threshold in bytes, in the fabric file only.
    pub(crate) xoff: Option<u64>,
    /// Share of RDMA in percent; best effort has the rest.
    pub(crate) share: u64,
    pub(crate) host_rate: u64,
    pub(crate) up_rate: u64,
    pub(crate) host_length: u64,
    pub(crate) up_length: u64,
    /// Thresholds at host ports and at uplinks.
    pub(crate) ecn: [Ecn; 2],
    pub(crate) mtu: u64,
    pub(crate) host_mtu: u64,
    /// Dynamic load balancing.
    pub(crate) dynamic: bool,
    /// EVPN beside the underlay.
    pub(crate) evpn: bool,
    /// Detection and restoration of the watchdog in milliseconds.
    pub(crate) watchdog: (u64, u64),
    pub(crate) cabling: Cabling,
    pub(crate) form: HostForm,
    pub(crate) switches: Vec<Switch>,
    pub(crate) servers: Vec<Server>,
}

/// A leaf or a spine.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    pub(crate) name: String,
    pub(crate) spine: bool,
    /// Counted over all switches.
    pub(crate) number: usize,
    /// Ports that carry RoCE, hosts first.
    pub(crate) ports: Vec<Port>,
}

/// A port that carries RoCE.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) peer: String,
    pub(crate) peer_port: String,
    /// Towards another switch.
    pub(crate) up: bool,
    pub(crate) rate: u64,
    pub(crate) length: u64,
    /// Position among the RoCE ports of its switch.
    pub(crate) number: usize,
}

/// A server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) nics: Vec<Nic>,
}

/// A NIC of a server.
#[derive(Debug, Clone)]
pub(crate) struct Nic {
    /// The RDMA device.
    pub(crate) device: String,
    /// The network interface.
    pub(crate) net: String,
    pub(crate) leaf: String,
    pub(crate) leaf_port: String,
}

impl Plan {
    /// The plan of a seed for one system.
    pub(crate) fn new(system: SystemId, seed: u64, form: Option<HostForm>) -> Self {
        let mut draw = Draw::new(seed, system.name());
        let style = (seed as usize / 2 + seed as usize % 2) % 3;
        let system_wide = matches!(system.family(), SystemId::NxOs | SystemId::Cumulus);
        let (data_dscp, cnp_dscp) = draw.pick(&[(26, 48), (26, 48), (24, 48)]);
        let cnp = if system == SystemId::NxOs { 7 } else { 6 };
        let second = (system == SystemId::Sonic && style == 0).then_some(4);
        let (host_rate, up_rate) = draw.pick(&[(400, 800), (200, 400), (400, 800)]);
        let ecn = thresholds(&mut draw, host_rate, up_rate, system_wide);
        let cabling = match seed % 4 {
            0 => Cabling::Described(draw.below(4)),
            1 => Cabling::Described(draw.below(4)),
            2 => Cabling::Lldp,
            _ => Cabling::Untold,
        };
        let drawn = match (seed + system as u64) % 4 {
            0 | 2 => draw.pick(&[HostForm::Folder, HostForm::Session]),
            1 => HostForm::Broadcom,
            _ => HostForm::Intel,
        };
        let form = form.unwrap_or(drawn);
        let mut plan = Self {
            seed,
            system,
            style,
            policy: draw.pick(&["ROCE", "RoCEv2", "ai-fabric", "GPU_LOSSLESS", "rdma"]),
            data_dscp,
            cnp_dscp,
            data: 3,
            cnp,
            second,
            classes: [0; 64],
            strict_rest: false,
            xoff: None,
            share: draw.pick(&[50, 60, 70, 80]),
            host_rate,
            up_rate,
            host_length: draw.pick(&[2, 3, 5]),
            up_length: draw.pick(&[30, 50, 100]),
            ecn,
            mtu: 9216,
            host_mtu: draw.pick(&[9000, 4200, 9000]),
            dynamic: system != SystemId::Sonic && draw.chance(60),
            evpn: draw.chance(40),
            watchdog: draw.pick(&[(200, 400), (200, 200), (100, 500)]),
            cabling,
            form,
            switches: Vec::new(),
            servers: Vec::new(),
        };
        plan.classes[usize::from(data_dscp)] = plan.data;
        plan.classes[usize::from(cnp_dscp)] = plan.cnp;
        plan.wire(&mut draw);
        plan
    }

    /// Rails: NIC i of a server on leaf i of its group, every leaf on every spine.
    fn wire(&mut self, draw: &mut Draw) {
        let six = draw.chance(35);
        let nics = if six { 3 } else { draw.pick(&[2, 4]) };
        let leaves = if six { 6 } else { 4 };
        let servers = draw.pick(&[4, 6]);
        let names = draw.below(4);
        let name = |index: usize, spine: bool| switch_name(names, index, spine);
        for index in 0..leaves + 2 {
            let spine = index >= leaves;
            let name = name(if spine { index - leaves } else { index }, spine);
            self.switches.push(Switch { name, spine, number: index, ports: Vec::new() });
        }
        let groups = leaves / nics;
        for server in 0..servers {
            let base = server % groups * nics;
            let name = host_name(names, server);
            let mut all = Vec::new();
            for nic in 0..nics {
                let (device, net) = nic_names(self.form, names, nic);
                let leaf = self.switches[base + nic].name.clone();
                let port = Port {
                    name: String::new(),
                    peer: name.clone(),
                    peer_port: if names.is_multiple_of(2) { device.clone() } else { net.clone() },
                    up: false,
                    rate: self.host_rate,
                    length: self.host_length,
                    number: 0,
                };
                self.switches[base + nic].ports.push(port);
                all.push(Nic { device, net, leaf, leaf_port: String::new() });
            }
            self.servers.push(Server { name, nics: all });
        }
        for leaf in 0..leaves {
            for spine in leaves..leaves + 2 {
                for (from, to) in [(leaf, spine), (spine, leaf)] {
                    let port = Port {
                        name: String::new(),
                        peer: self.switches[to].name.clone(),
                        peer_port: String::new(),
                        up: true,
                        rate: self.up_rate,
                        length: self.up_length,
                        number: 0,
                    };
                    self.switches[from].ports.push(port);
                }
            }
        }
        // Where descriptions tell the cables, some operators begin at another port.
        let first = match self.cabling {
            Cabling::Described(_) if draw.chance(50) => 4,
            _ => 0,
        };
        self.name_ports(first);
    }

    fn name_ports(&mut self, first: usize) {
        let system = self.system;
        for switch in &mut self.switches {
            let mut cage = first;
            let mut open: Option<(u64, usize)> = None;
            for (number, port) in switch.ports.iter_mut().enumerate() {
                let links = 800 / port.rate as usize;
                let link = match open {
                    Some((rate, link)) if rate == port.rate && link + 1 < links => link + 1,
                    Some(_) => {
                        cage += 1;
                        0
                    }
                    None => 0,
                };
                open = Some((port.rate, link));
                port.name = port_name(system, cage, link, links);
                port.number = number;
            }
        }
        let found: Vec<(String, String, String)> = self
            .switches
            .iter()
            .flat_map(|s| s.ports.iter().map(|p| (s.name.clone(), p.peer.clone(), p.name.clone())))
            .collect();
        let of = |at: &str, peer: &str| {
            let mut all = found.iter().filter(|(own, to, _)| own == at && to == peer);
            all.next().map(|(_, _, port)| port.clone()).expect("a port for every cable")
        };
        for switch in &mut self.switches {
            for port in switch.ports.iter_mut().filter(|port| port.up) {
                port.peer_port = of(&port.peer, &switch.name);
            }
        }
        for server in &mut self.servers {
            for nic in &mut server.nics {
                nic.leaf_port = of(&nic.leaf, &server.name);
            }
        }
    }

    /// Thresholds of a port.
    pub(crate) fn ecn(&self, port: &Port) -> Ecn {
        self.ecn[usize::from(port.up)]
    }

    /// The leaves.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &Switch> {
        self.switches.iter().filter(|switch| !switch.spine)
    }

    /// What is written beside a port, if anything.
    pub(crate) fn description(&self, port: &Port) -> Option<String> {
        let (peer, far) = (&port.peer, &port.peer_port);
        match self.cabling {
            Cabling::Described(0) => Some(format!("{peer} {far}")),
            Cabling::Described(1) => Some(format!("to {peer}:{far}")),
            Cabling::Described(2) => {
                Some(format!("{}_{peer}_{far}", if port.up { "P2P" } else { "HOST" }))
            }
            Cabling::Described(_) => {
                // Where templates have paths, these have bars between their words.
                let paths = matches!(self.system.family(), SystemId::Cumulus | SystemId::Junos);
                let bar = if paths { '/' } else { '|' };
                Some(format!("## {peer} {bar} {far} {bar} cbl-{:04} ##", 1200 + port.number))
            }
            Cabling::Lldp => Some(if port.up { "fabric link".into() } else { "gpu rail".into() }),
            Cabling::Untold => None,
        }
    }

    /// Bytes of headroom that suffice for a port, with room to spare.
    pub(crate) fn headroom(&self, port: &Port) -> u64 {
        // Twice the cable, the longest pause response, and packets at both ends, five times: cells of small packets are badly filled.
        let flight = 2 * port.length * 5 * port.rate / 8 + 905 * 64 + 4 * 9216;
        (5 * flight).div_ceil(1024) * 1024
    }
}

/// Thresholds that people run: in proportion to the speed, or one pair for all ports.
fn thresholds(draw: &mut Draw, host: u64, up: u64, system_wide: bool) -> [Ecn; 2] {
    let (kmin, kmax, pmax) = draw.pick(&[
        (150_000, 1_500_000, 100),
        (950_000, 3_000_000, 7),
        (500_000, 1_500_000, 20),
        (1_000_000, 2_000_000, 5),
    ]);
    let base = Ecn { kmin, kmax, pmax };
    if system_wide {
        return [base, base];
    }
    let scaled = |n: u64| n * up / host;
    [base, Ecn { kmin: scaled(kmin), kmax: scaled(kmax), pmax }]
}

fn switch_name(names: usize, index: usize, spine: bool) -> String {
    match (names, spine) {
        (0, false) => format!("leaf{index}"),
        (0, true) => format!("spine{index}"),
        (1, false) => format!("dc1-r{}-leaf{:02}", 3 + index / 2, index + 1),
        (1, true) => format!("dc1-r1-spine{:02}", index + 1),
        (2, false) => format!("gpu-lf-{}", 101 + index),
        (2, true) => format!("gpu-sp-{}", 201 + index),
        (_, false) => format!("LEAF{}A", index + 1),
        (_, true) => format!("SPINE{}A", index + 1),
    }
}

fn host_name(names: usize, index: usize) -> String {
    match names {
        0 => format!("server{index}"),
        1 => format!("dgx-a{:03}", index + 1),
        2 => format!("h100-node-{:02}", index + 11),
        _ => format!("gpu{:02}", index + 1),
    }
}

fn nic_names(form: HostForm, names: usize, nic: usize) -> (String, String) {
    match form {
        HostForm::Folder | HostForm::Session => {
            let net = match names {
                0 => format!("eth{}", nic + 2),
                1 => format!("ens{}np0", nic + 1),
                2 => format!("enp{}s0f0np0", 27 + 16 * nic),
                _ => format!("rdma{nic}"),
            };
            (format!("mlx5_{nic}"), net)
        }
        HostForm::Broadcom => (format!("bnxt_re{nic}"), format!("ens{}f0np0", nic + 1)),
        HostForm::Intel => (format!("rocep{}s0f0", 24 + 32 * nic), format!("ens{}f0", nic + 1)),
    }
}

/// Ports as boxes call them.
fn port_name(system: SystemId, cage: usize, link: usize, links: usize) -> String {
    let one = links == 1;
    match system {
        SystemId::Eos => format!("Ethernet{}/{}", cage + 1, 1 + link * (8 / links)),
        SystemId::Sonic => format!("Ethernet{}", cage * 8 + link * (8 / links)),
        SystemId::NxOs if one => format!("Ethernet1/{}", cage + 1),
        SystemId::NxOs => format!("Ethernet1/{}/{}", cage + 1, link + 1),
        SystemId::Os10 if one => format!("ethernet1/1/{}", cage + 1),
        SystemId::Os10 => format!("ethernet1/1/{}:{}", cage + 1, link + 1),
        SystemId::PicOs if one => format!("xe-1/1/{}", cage + 1),
        SystemId::PicOs => format!("xe-1/1/{}.{}", cage + 1, link + 1),
        SystemId::Junos | SystemId::JunosSet if one => format!("et-0/0/{cage}"),
        SystemId::Junos | SystemId::JunosSet => format!("et-0/0/{cage}:{link}"),
        _ if one => format!("swp{}", cage + 1),
        _ => format!("swp{}s{link}", cage + 1),
    }
}
