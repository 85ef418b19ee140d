//! Random fabrics and loads for the properties.
//!
//! A fabric is drawn as the text of a fabric file, so that a failure prints something that can be
//! kept as a test; a load is drawn in terms of any number of NICs and fitted to the fabric after.

use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Write;
use xoff_fabric::model::{ClassId, Fabric, NicId, PortId, SwitchId};
use xoff_fabric::scenario::Operation;
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::Flow;

/// What varies in the transport.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) mtu: u64,
    pub(crate) ack_every: u32,
    pub(crate) recovery: &'static str,
    pub(crate) congestion: &'static str,
    pub(crate) notification: &'static str,
    pub(crate) cnp_delay_ns: u64,
    pub(crate) cnp_scope: &'static str,
    pub(crate) ack: &'static str,
}

/// What varies in the switches.
#[derive(Debug, Clone)]
pub(crate) struct Switches {
    pub(crate) cell: u64,
    pub(crate) forwarding: &'static str,
    pub(crate) latency_ns: u64,
    pub(crate) nic_latency_ns: u64,
    pub(crate) discipline: &'static str,
    /// How equal ports are chosen among, and whether by packet.
    pub(crate) balancing: (&'static str, &'static str),
    pub(crate) alpha: &'static str,
    pub(crate) reserved: u64,
    pub(crate) xon_offset: u64,
    pub(crate) quanta: &'static str,
    pub(crate) response: &'static str,
    pub(crate) two_lossless: bool,
    /// Shared buffer beyond what headroom and reservations need.
    pub(crate) slack: u64,
}

/// What varies in a cable: rate in Gb/s and length in metres.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link(pub(crate) u64, pub(crate) u64);

/// How nodes are wired.
#[derive(Debug, Clone)]
pub(crate) enum Wiring {
    Single(u32),
    LeafSpine {
        leaves: u32,
        hosts: u32,
        spines: u32,
    },
    Rail {
        servers: u32,
        nics: u32,
        spines: u32,
    },
    FatTree,
    ThreeTier {
        leaves: u32,
        hosts: u32,
    },
    /// A line of switches with hosts on each, joined by so many cables.
    Line {
        switches: u32,
        hosts: u32,
        parallel: u32,
    },
    /// NICs with a port on each of so many switches, which spines join.
    Dual {
        hosts: u32,
        leaves: u32,
        spines: u32,
    },
}

/// A random fabric.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) wiring: Wiring,
    pub(crate) links: [Link; 3],
    pub(crate) switches: Switches,
    pub(crate) transport: Transport,
    pub(crate) ecn: bool,
    pub(crate) loss: &'static str,
}

impl Plan {
    /// The fabric file.
    pub(crate) fn text(&self) -> String {
        let (t, s) = (&self.transport, &self.switches);
        let mut text = self.wiring_text();
        let name = ["host", "leaf-spine", "spine-core"];
        for (name, Link(rate, length)) in name.iter().zip(&self.links) {
            if !matches!(self.wiring, Wiring::Line { .. } | Wiring::Dual { .. }) {
                let loss = self.loss;
                write!(
                    text,
                    "[links.{name}]\nrate = \"{rate}Gbps\"\nlength = \"{length}m\"\nloss = {loss}\n"
                )
                .unwrap();
            }
        }
        write!(
            text,
            "[nic]\nlatency = \"{}ns\"\n[switch]\ncell = \"{}B\"\nforwarding = \"{}\"\nlatency = \"{}ns\"\n\
             discipline = \"{}\"\nbuffer = \"16GB\"\n[pfc]\nalpha = \"{}\"\nxon-offset = \"{}B\"\n\
             quanta = {}\nresponse = \"{}\"\n[ecn]\nenabled = {}\nkmin = \"8KB\"\nkmax = \"120KB\"\nscale = false\n[traffic]\nack = {}\n\
             [transport]\nmtu = \"{}B\"\nack-every = {}\nrecovery = \"{}\"\nnotification = \"{}\"\n\
             timeout = \"1ms\"\nretry-limit = 255\nadaptive-retransmission = false\n\
             cnp-delay = \"{}ns\"\ncnp-scope = \"{}\"\n[transport.congestion]\nkind = \"{}\"\n\
             [[class]]\nid = 3\nreserved = \"{}B\"\n",
            s.nic_latency_ns, s.cell, s.forwarding, s.latency_ns, s.discipline, s.alpha,
            s.xon_offset, s.quanta, s.response, self.ecn, t.ack, t.mtu, t.ack_every, t.recovery,
            t.notification, t.cnp_delay_ns, t.cnp_scope, t.congestion, s.reserved,
        )
        .unwrap();
        // Where every packet can overtake, go-back-N repeats most of them, and cases take minutes.
        let (kind, per) = match (t.recovery, s.balancing) {
            ("go-back-n", ("spray", _)) => ("flowlet", "flowlet"),
            ("go-back-n", (kind, _)) => (kind, "flowlet"),
            (_, balancing) => balancing,
        };
        write!(text, "[switch.balancing]\nkind = \"{kind}\"\nper = \"{per}\"\ngap = \"1us\"\n")
            .unwrap();
        if s.two_lossless {
            text += "[[class]]\nid = 4\nlossless = true\n";
        }
        text
    }

    /// The same wiring with another network on it. What its switches are like stays, but for their buffers.
    pub(crate) fn rival_text(&self, kind: &str, more: &str) -> String {
        let (t, s) = (&self.transport, &self.switches);
        let mut text = self.wiring_text();
        for (name, Link(rate, length)) in
            ["host", "leaf-spine", "spine-core"].iter().zip(&self.links)
        {
            if !matches!(self.wiring, Wiring::Line { .. } | Wiring::Dual { .. }) {
                write!(text, "[links.{name}]\nrate = \"{rate}Gbps\"\nlength = \"{length}m\"\n")
                    .unwrap();
            }
        }
        write!(
            text,
            "[switch]\ncell = \"{}B\"\nforwarding = \"{}\"\nlatency = \"{}ns\"\ndiscipline = \"{}\"\n\
             [transport]\nkind = \"{kind}\"\nmtu = \"{}B\"\nack-every = {}\n{more}",
            s.cell, s.forwarding, s.latency_ns, s.discipline, t.mtu, t.ack_every,
        )
        .unwrap();
        text
    }

    fn wiring_text(&self) -> String {
        match self.wiring {
            Wiring::Single(hosts) => {
                format!(
                    "[cluster]\nhosts = {hosts}\n[fabric]\nkind = \"single\"\nleaf = \"ideal\"\n"
                )
            }
            Wiring::LeafSpine { leaves, hosts, spines } => format!(
                "[cluster]\nhosts = {}\n[fabric]\nkind = \"leaf-spine\"\nleaf = \"ideal\"\nleaves = {leaves}\n\
                 hosts-per-leaf = {hosts}\nspines = {spines}\n",
                leaves * hosts
            ),
            Wiring::Rail { servers, nics, spines } => format!(
                "[cluster]\ngpus = {}\ngpus-per-server = {nics}\n[fabric]\nkind = \"rail\"\nleaf = \"ideal\"\nspines = {spines}\n",
                servers * nics
            ),
            Wiring::FatTree => {
                "[fabric]\nkind = \"fat-tree\"\nleaf = \"ideal\"\nk = 4\n".to_string()
            }
            Wiring::ThreeTier { leaves, hosts } => format!(
                "[cluster]\nhosts = {}\n[fabric]\nkind = \"three-tier\"\nleaf = \"ideal\"\nhosts-per-leaf = {hosts}\n\
                 leaves-per-pod = {leaves}\nspines = 1\ncores = 1\n",
                2 * leaves * hosts
            ),
            Wiring::Line { switches, hosts, parallel } => self.line_text(switches, hosts, parallel),
            Wiring::Dual { hosts, leaves, spines } => self.dual_text(hosts, leaves, spines),
        }
    }

    fn line_text(&self, switches: u32, hosts: u32, parallel: u32) -> String {
        let mut text = "[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n".to_string();
        let [host, near, far] = self.links;
        let loss = self.loss;
        for switch in 0..switches {
            write!(text, "[[node]]\nname = \"s{switch}\"\nkind = \"switch\"\n").unwrap();
            if switch > 0 {
                let Link(rate, length) = if switch % 2 == 0 { near } else { far };
                write!(
                    text,
                    "[[link]]\nends = \"s{} s{switch}\"\nrate = \"{rate}Gbps\"\nlength = \"{length}m\"\n\
                     parallel = {parallel}\nloss = {loss}\n",
                    switch - 1
                )
                .unwrap();
            }
            for host_of in 0..hosts {
                // Every other host has the rate of another tier: mixed rates on one switch.
                let Link(rate, length) = if host_of % 2 == 0 { host } else { near };
                write!(
                    text,
                    "[[node]]\nname = \"h{switch}-{host_of}\"\nkind = \"nic\"\n[[link]]\n\
                     ends = \"h{switch}-{host_of} s{switch}\"\nrate = \"{rate}Gbps\"\n\
                     length = \"{length}m\"\nloss = {loss}\n"
                )
                .unwrap();
            }
        }
        text
    }

    fn dual_text(&self, hosts: u32, leaves: u32, spines: u32) -> String {
        let mut text = "[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n".to_string();
        let loss = self.loss;
        let [host, near, _] = self.links;
        let link = |ends: String, Link(rate, length): Link| {
            format!(
                "[[link]]\nends = \"{ends}\"\nrate = \"{rate}Gbps\"\nlength = \"{length}m\"\nloss = {loss}\n"
            )
        };
        for leaf in 0..leaves {
            write!(text, "[[node]]\nname = \"l{leaf}\"\nkind = \"switch\"\n").unwrap();
        }
        for spine in 0..spines {
            write!(text, "[[node]]\nname = \"s{spine}\"\nkind = \"switch\"\ntier = \"spine\"\n")
                .unwrap();
            for leaf in 0..leaves {
                text += &link(format!("l{leaf} s{spine}"), near);
            }
        }
        for nic in 0..hosts {
            write!(text, "[[node]]\nname = \"h{nic}\"\nkind = \"nic\"\n").unwrap();
            for port in 0..1 + (nic + 1) % 2 {
                text += &link(format!("h{nic} l{}", (nic + port) % leaves), host);
            }
        }
        text
    }

    /// The fabric, its buffers cut down to what headroom and reservations need, and `slack`.
    pub(crate) fn fabric(&self) -> Fabric {
        self.fabric_of(&self.text())
    }

    /// The same of its text after a change.
    pub(crate) fn fabric_of(&self, text: &str) -> Fabric {
        let mut overlay = crate::common::fabric(text).into_overlay();
        for id in (0..overlay.switches.len() as u32).map(SwitchId) {
            let ports = overlay.switches[id.index()].ports.clone();
            let classes = ports.flat_map(|p| overlay.ports[PortId(p).index()].classes);
            let claim: u64 = classes.map(|class| class.headroom.get() + class.reserved.get()).sum();
            let buffer = Bytes::new(claim + self.switches.slack);
            overlay.switch(id, |switch| switch.buffer = buffer).unwrap();
        }
        overlay.finish()
    }
}

fn rate() -> impl Strategy<Value = u64> {
    select(vec![100u64, 200, 400, 100, 200, 400, 25, 800])
}

fn link() -> impl Strategy<Value = Link> {
    (rate(), prop_oneof![3 => 1u64..100, 1 => 100u64..2000]).prop_map(|(rate, m)| Link(rate, m))
}

fn wiring() -> impl Strategy<Value = Wiring> {
    prop_oneof![
        (2u32..10).prop_map(Wiring::Single),
        (2u32..4, 1u32..5, 1u32..4).prop_map(|(leaves, hosts, spines)| Wiring::LeafSpine {
            leaves,
            hosts,
            spines
        }),
        (1u32..4, 2u32..5, 1u32..3).prop_map(|(servers, nics, spines)| Wiring::Rail {
            servers,
            nics,
            spines
        }),
        Just(Wiring::FatTree),
        (1u32..3, 1u32..3).prop_map(|(leaves, hosts)| Wiring::ThreeTier { leaves, hosts }),
        (1u32..5, 2u32..4, 1u32..4).prop_map(|(switches, hosts, parallel)| Wiring::Line {
            switches,
            hosts,
            parallel
        }),
        (2u32..6, 2u32..4, 1u32..3).prop_map(|(hosts, leaves, spines)| Wiring::Dual {
            hosts,
            leaves,
            spines
        }),
    ]
}

fn switches() -> impl Strategy<Value = Switches> {
    let first = (
        select(vec![0u64, 64, 80, 144, 192, 254, 256, 1000]),
        select(vec!["cut-through", "store-and-forward"]),
        select(vec![0u64, 1, 450, 800, 3000]),
        select(vec![0u64, 300, 2000]),
        select(vec!["wrr", "dwrr", "wfq"]),
        select(vec!["1/128", "1/8", "1", "8"]),
    );
    let second = (
        select(vec![0u64, 1, 4096, 10240]),
        select(vec![0u64, 3072, 18432]),
        select(vec!["65535", "\"until-resume\"", "3000"]),
        select(vec!["standard", "0s", "1us", "5us"]),
        any::<bool>(),
        prop_oneof![1u64..3000, 3000u64..300_000, Just(32_000_000)],
        (
            select(vec!["ecmp", "ecmp", "ecmp", "ecmp", "flowlet", "dlb", "glb", "spray"]),
            select(vec!["flowlet", "packet"]),
        ),
    );
    (first, second).prop_map(|(a, b)| Switches {
        cell: a.0,
        forwarding: a.1,
        latency_ns: a.2,
        nic_latency_ns: a.3,
        discipline: a.4,
        alpha: a.5,
        reserved: b.0,
        xon_offset: b.1,
        quanta: b.2,
        response: b.3,
        two_lossless: b.4,
        slack: b.5,
        balancing: b.6,
    })
}

fn transport() -> impl Strategy<Value = Transport> {
    (
        select(vec![256u64, 1024, 4096, 4096]),
        prop_oneof![Just(1u32), 1u32..64],
        select(vec!["go-back-n", "selective-repeat"]),
        select(vec!["none", "none", "dcqcn", "hpcc", "timely", "swift", "dctcp"]),
        select(vec!["cnp", "echo-in-ack"]),
        (select(vec![0u64, 0, 1000]), select(vec!["queue-pair", "destination", "port"])),
        select(vec!["\"data\"", "7", "6", "0"]),
    )
        .prop_map(|(mtu, ack_every, recovery, congestion, notification, cnps, ack)| {
            let (cnp_delay_ns, cnp_scope) = cnps;
            // DCTCP is refused without the echo.
            let notification = if congestion == "dctcp" { "echo-in-ack" } else { notification };
            Transport {
                mtu,
                ack_every,
                recovery,
                congestion,
                notification,
                cnp_delay_ns,
                cnp_scope,
                ack,
            }
        })
}

/// Any fabric, lossless cables.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    (wiring(), [link(), link(), link()], switches(), transport(), any::<bool>()).prop_map(
        |(wiring, links, switches, mut transport, ecn)| {
            // Lossy classes have no buffer of their own: without any to share, no ACK would pass.
            if switches.slack < 300_000 {
                transport.ack = "\"data\"";
            }
            Plan { wiring, links, switches, transport, ecn, loss: "0" }
        },
    )
}

/// One message, in terms of any number of NICs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) start_ns: u64,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    /// Full packets, and bytes in the last one.
    pub(crate) size: (u64, u64),
    pub(crate) class: u8,
    pub(crate) operation: Operation,
}

/// Traffic.
#[derive(Debug, Clone)]
pub(crate) enum Load {
    /// All others send to one at once.
    Incast { target: u32, packets: u64, class: u8 },
    /// Everybody sends to somebody.
    Permutation { shift: u32, packets: u64, class: u8, operation: Operation },
    /// Anything.
    Mixed(Vec<Message>),
}

fn operation() -> impl Strategy<Value = Operation> {
    select(vec![Operation::Write, Operation::Send, Operation::Read])
}

fn message(classes: &'static [u8]) -> impl Strategy<Value = Message> {
    let size = prop_oneof![Just((0, 0)), (0u64..3, 0u64..5000), (0u64..400, 0u64..256)];
    (0u64..40_000, any::<u32>(), any::<u32>(), size, select(classes), operation()).prop_map(
        |(start_ns, source, destination, size, class, operation)| Message {
            start_ns,
            source,
            destination,
            size,
            class,
            operation,
        },
    )
}

/// Any traffic in the given classes.
pub(crate) fn load(classes: &'static [u8]) -> impl Strategy<Value = Load> {
    prop_oneof![
        (any::<u32>(), 1u64..600, select(classes))
            .prop_map(|(target, packets, class)| Load::Incast { target, packets, class }),
        (1u32..7, 1u64..400, select(classes), operation()).prop_map(
            |(shift, packets, class, operation)| Load::Permutation {
                shift,
                packets,
                class,
                operation
            }
        ),
        prop::collection::vec(message(classes), 1..24).prop_map(Load::Mixed),
    ]
}

/// The hardest traffic for headroom: everybody at once, as long as it takes to fill the buffers.
pub(crate) fn burst(classes: &'static [u8]) -> impl Strategy<Value = Load> {
    (any::<u32>(), 200u64..2000, select(classes))
        .prop_map(|(target, packets, class)| Load::Incast { target, packets, class })
}

fn flow(fabric: &Fabric, message: Message, index: usize) -> Option<Flow> {
    let nics = fabric.nics.len() as u32;
    let (source, destination) = (message.source % nics, message.destination % nics);
    let mtu = fabric.nics[0].qp.mtu.get();
    (source != destination).then(|| Flow {
        start: Instant::ZERO + Span::from_ns(message.start_ns),
        source: NicId(source),
        destination: NicId(destination),
        bytes: Bytes::new(message.size.0 * mtu + message.size.1),
        class: ClassId(message.class),
        operation: message.operation,
        source_port: 0xc000 | (index as u16).wrapping_mul(977) & 0x3fff,
        path: None,
        workload: 0,
        vxlan: false,
    })
}

impl Load {
    /// The flows on a fabric, in the order of their starts.
    pub(crate) fn flows(&self, fabric: &Fabric) -> Vec<Flow> {
        let nics = fabric.nics.len() as u32;
        let at_once = |source, destination, packets, class, operation| Message {
            start_ns: 0,
            source,
            destination,
            size: (packets, 0),
            class,
            operation,
        };
        let messages: Vec<Message> = match self {
            &Load::Incast { target, packets, class } => (0..nics)
                .map(|source| at_once(source, target, packets, class, Operation::Write))
                .collect(),
            &Load::Permutation { shift, packets, class, operation } => (0..nics)
                .map(|source| at_once(source, source + shift, packets, class, operation))
                .collect(),
            Load::Mixed(messages) => messages.clone(),
        };
        let mut flows: Vec<Flow> = messages
            .into_iter()
            .enumerate()
            .filter_map(|(index, message)| flow(fabric, message, index))
            .collect();
        flows.sort_by_key(|flow| flow.start);
        flows
    }
}
