//! The networks that xoff compares: RoCEv2 and its rivals, as settings of the same mechanisms.
//!
//! A [`Network`] is nothing the simulator knows: it is a piece of a fabric file ([`Network::text`]) that is
//! laid directly below the file that names it, or below a scenario's overrides if those do. So a file can
//! change any of it, and a scenario that asks for another network gets it whatever the file says of this
//! one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// RoCEv2: lossless Ethernet by pauses.
    #[default]
    Roce,
    /// RoCEv1: the same without IP, so within one broadcast domain.
    RoceV1,
    /// InfiniBand: credits instead of pauses, adaptive routing.
    Infiniband,
    /// Ultra Ethernet: sprayed packets, trimmed instead of paused.
    Uet,
    /// TCP in the kernel.
    Tcp,
    /// RDMA over TCP in the NIC.
    Iwarp,
}

impl Network {
    /// All of them.
    pub const ALL: [Network; 6] = [
        Network::Roce,
        Network::RoceV1,
        Network::Infiniband,
        Network::Uet,
        Network::Tcp,
        Network::Iwarp,
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Network::Roce => "roce",
            Network::RoceV1 => "roce-v1",
            Network::Infiniband => "infiniband",
            Network::Uet => "uet",
            Network::Tcp => "tcp",
            Network::Iwarp => "iwarp",
        }
    }

    /// Its settings, as a fabric file that others are laid over.
    pub const fn text(self) -> &'static str {
        match self {
            Network::Roce => include_str!("networks/roce.toml"),
            Network::RoceV1 => include_str!("networks/roce-v1.toml"),
            Network::Infiniband => include_str!("networks/infiniband.toml"),
            Network::Uet => include_str!("networks/uet.toml"),
            Network::Tcp => include_str!("networks/tcp.toml"),
            Network::Iwarp => include_str!("networks/iwarp.toml"),
        }
    }

    /// The network of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.name() == name)
    }

    /// Whether what `[transport]` says in a lower layer counts in an upper one, given the kinds that both
    /// name: settings of one network mean nothing in another. A layer below that names none means RoCEv2.
    pub fn same_kind(below: Option<&str>, above: Option<&str>) -> bool {
        above.is_none_or(|above| below.unwrap_or(Network::Roce.name()) == above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{load_fabric, load_scenario};
    use crate::model::{Fabric, Threshold};
    use xoff_transport::config::Congestion;

    const SINGLE: &str = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n";

    fn fabric(text: &str) -> Fabric {
        let loaded = load_fabric(text);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        loaded.value.unwrap().fabric
    }

    #[test]
    fn every_network_is_built_without_complaint() {
        for network in Network::ALL {
            let name = network.name();
            assert_eq!(Network::named(name), Some(network));
            let silicon = if name == "infiniband" { "leaf = 'quantum-2'\n" } else { "" };
            let text = format!("{SINGLE}{silicon}[transport]\nkind = '{name}'");
            let setup = load_fabric(&text);
            assert!(setup.diagnostics.is_empty(), "{name}: {:?}", setup.diagnostics);
            assert_eq!(setup.value.unwrap().file.transport.kind, network);
        }
    }

    #[test]
    fn roce_is_what_a_file_without_a_kind_describes() {
        let [named, plain] =
            ["[transport]\nkind = 'roce'", ""].map(|end| fabric(&format!("{SINGLE}{end}")));
        assert_eq!(named.nics[0].qp, plain.nics[0].qp);
        assert_eq!(named.ports[9].classes, plain.ports[9].classes);
        assert!(named.pause.enabled && !named.credits);
    }

    #[test]
    fn a_file_changes_what_its_network_brings() {
        let own = "[transport]\nkind = 'tcp'\ntimeout = '10ms'\n[nic]\nlatency = '3us'";
        let fabric = fabric(&format!("{SINGLE}{own}"));
        let nic = &fabric.nics[0];
        assert_eq!(nic.qp.timeout, xoff_units::Span::from_ms(10));
        assert_eq!(nic.latency, xoff_units::Span::from_us(3));
        assert!(matches!(nic.qp.congestion, Congestion::Cubic(_)));
        assert!(nic.cpu.is_some() && !fabric.pause.enabled);
    }

    #[test]
    fn dctcp_starts_slowly_where_it_is_tcp() {
        let window = |kind: &str| {
            let own =
                format!("[transport]\nkind = '{kind}'\n[transport.congestion]\nkind = 'dctcp'");
            let fabric = fabric(&format!("{SINGLE}{own}"));
            match &fabric.nics[0].qp.congestion {
                Congestion::Dctcp(dctcp) => dctcp.initial_window.get(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((window("roce"), window("tcp"), window("iwarp")), (0, 40_960, 40_960));
    }

    #[test]
    fn overrides_that_name_a_network_get_it_whatever_the_file_says() {
        let file = format!(
            "{SINGLE}[pfc]\nenabled = true\n[transport]\nack-every = 7\n\
             [transport.congestion]\nkind = 'hpcc'\neta = 0.9"
        );
        let with = |overrides: &str| {
            let scenario = format!("fabric = 'f.toml'\n{overrides}");
            let loaded = load_scenario(&scenario, &file);
            assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            loaded.value.unwrap().setup.fabric
        };
        let tcp = with("[override.transport]\nkind = 'tcp'");
        assert!(!tcp.pause.enabled && matches!(tcp.nics[0].qp.congestion, Congestion::Cubic(_)));
        assert_ne!(tcp.nics[0].qp.ack_every, 7);
        let roce = with("[override.transport]\nkind = 'roce'");
        assert_eq!(roce.nics[0].qp.ack_every, 7);
        assert!(matches!(roce.nics[0].qp.congestion, Congestion::Hpcc(_)));
    }

    #[test]
    fn credits_divide_the_buffer_and_leave_nothing_to_pause() {
        let fabric =
            fabric(&format!("{SINGLE}leaf = 'quantum-2'\n[transport]\nkind = 'infiniband'"));
        let switch = &fabric.switches[0];
        let ports = &fabric.ports[switch.ports.start as usize..switch.ports.end as usize];
        let held: u64 =
            ports.iter().flat_map(|port| &port.classes).map(|class| class.reserved.get()).sum();
        assert!(held <= switch.buffer.get() && held > switch.buffer.get() * 9 / 10);
        assert!(fabric.credits && !fabric.pause.enabled);
        assert!(fabric.classes.iter().all(|class| class.lossless));
        let data = &ports[0].classes[usize::from(fabric.data_class.0)];
        assert_eq!(data.threshold, Threshold::Static(xoff_units::Bytes::ZERO));
    }

    fn mistake(text: &str) -> (String, String) {
        let loaded = load_fabric(text);
        assert!(loaded.value.is_none());
        let error = loaded.diagnostics.iter().find(|found| found.is_error()).unwrap();
        (error.to_string(), text[error.span.clone()].to_owned())
    }

    #[test]
    fn roce_v1_is_refused_where_switches_route() {
        let text = "[cluster]\nhosts = 8\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\n\
                    spines = 2\n[transport]\nkind = 'roce-v1'\n";
        let (message, place) = mistake(text);
        assert!(message.contains("broadcast domain"), "{message}");
        assert_eq!(place, "'roce-v1'");
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        let both = format!("{SINGLE}[transport]\nkind = 'infiniband'\n[pfc]\nenabled = true\n");
        assert!(mistake(&both).0.contains("pauses"));
        let small = format!("{SINGLE}[transport]\nkind = 'infiniband'\n[credits]\nshare = '9KB'");
        assert_eq!(mistake(&small).1, "'9KB'");
        let size = format!("{SINGLE}[switch.trimming]\nclass = 5\nsize = '8B'\n");
        assert!(mistake(&size).0.contains("trimmed packet"));
        let cores = format!("{SINGLE}[nic]\nflow-cores = 2\n");
        assert!(mistake(&cores).0.contains("core-rate"));
    }
}
