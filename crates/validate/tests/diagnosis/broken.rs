//! What breaks, as a scenario says it, and the names of its place.

use super::case::Draw;
use super::fault::Fault;
use xoff_fabric::model::{Fabric, NicId, NodeId, PortId, SwitchId};
use xoff_transport::config::Congestion;
use xoff_units::{Bytes, Span};

/// What breaks.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    /// As a scenario says it.
    pub(crate) text: String,
    /// Every name of its place that is right.
    pub(crate) places: Vec<String>,
    /// Or any of these devices, where it is about several.
    pub(crate) nodes: Vec<NodeId>,
    /// What is wrong all the time, and no scenario can say.
    pub(crate) edit: Option<Edit>,
}

/// A setting of one device.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edit {
    NoCongestionControl(NicId),
    NoNotifications(NicId),
    WrongDscp(NicId),
    ShortHeadroom(PortId),
}

impl Edit {
    pub(crate) fn apply(self, fabric: Fabric) -> Fabric {
        let data = fabric.data_class;
        let mut overlay = fabric.into_overlay();
        match self {
            Edit::NoCongestionControl(nic) => {
                overlay.nic(nic, |nic| nic.qp.congestion = Congestion::None);
            }
            // Notifications that come after the end of all runs.
            Edit::NoNotifications(nic) => {
                overlay.nic(nic, |nic| nic.qp.cnp_delay = Span::from_ms(100));
            }
            Edit::WrongDscp(nic) => overlay.nic(nic, |nic| nic.dscp[data.index()] = 0),
            Edit::ShortHeadroom(port) => overlay
                .class(port, data, |class| class.headroom = Bytes::ZERO)
                .expect("less headroom fits"),
        }
        overlay.finish()
    }
}

impl From<(String, Vec<String>)> for Broken {
    fn from((text, places): (String, Vec<String>)) -> Self {
        Self { text, places, ..Self::default() }
    }
}

/// Draws what breaks.
pub(crate) fn broken(draw: &mut Draw, fault: Fault, fabric: &Fabric) -> Broken {
    let nic = |draw: &mut Draw| NicId(draw.below(fabric.nics.len()) as u32);
    let named = |nic: NicId| vec![fabric.nics[nic.index()].name.clone()];
    match fault {
        Fault::NoCongestionControl => {
            let nic = nic(draw);
            let edit = Some(Edit::NoCongestionControl(nic));
            Broken { places: named(nic), edit, ..Broken::default() }
        }
        // The target of the incast gets marked packets.
        Fault::NoNotifications => {
            let nic = NicId(3);
            let edit = Some(Edit::NoNotifications(nic));
            Broken { places: named(nic), edit, ..Broken::default() }
        }
        Fault::WrongClass => {
            let nic = nic(draw);
            Broken { places: named(nic), edit: Some(Edit::WrongDscp(nic)), ..Broken::default() }
        }
        Fault::ShortHeadroom => {
            let port = crowded(draw, fabric);
            let edit = Some(Edit::ShortHeadroom(port));
            Broken { places: vec![fabric.port_name(port)], edit, ..Broken::default() }
        }
        Fault::Miscabled => {
            let host = draw.below(2) == 0;
            let (first, mut second) = (cable(draw, fabric, host), cable(draw, fabric, host));
            let ends = |port: PortId| {
                let here = &fabric.ports[port.index()];
                (here.node, fabric.ports[here.peer.index()].node)
            };
            // Two that end at different devices, or nothing is swapped.
            while ends(second).0 == ends(first).0 || ends(second).1 == ends(first).1 {
                second = cable(draw, fabric, host);
            }
            let text = format!(
                "[[fault]]\nkind = 'miscabling'\nlinks = ['{}', '{}']\n",
                self::ends(fabric, first).0,
                self::ends(fabric, second).0
            );
            let nodes = [first, second].map(ends);
            let nodes = nodes.into_iter().flat_map(|(here, there)| [here, there]).collect();
            Broken { text, nodes, ..Broken::default() }
        }
        Fault::NoisyTenant => {
            let (load, size) = (draw.one(&["70%", "90%"]), draw.one(&["256KB", "1MB"]));
            let text = format!(
                "[[workload]]\nkind = 'background'\nload = '{load}'\nsizes = '{size}'\nfor = '1ms'\n\
                 servers = [1, 3, 5, 7]\nclass = 3\nstart = '1ms'\n"
            );
            let nics = (0..32).filter(|nic| nic / 4 % 2 == 1).map(NodeId);
            Broken { text, nodes: nics.collect(), ..Broken::default() }
        }
        Fault::StorageBurst => {
            let server = draw.below(fabric.servers.len());
            let (size, own) = (draw.one(&["8MB", "24MB"]), &fabric.servers[server]);
            let text = format!(
                "[[workload]]\nkind = 'checkpoint'\nsize = '{size}'\nstorage = [{server}]\neach = 'server'\n\
                 class = 4\nstart = '1ms'\n"
            );
            let nodes = own.nics.clone().map(NodeId).collect();
            Broken { text, places: vec![own.name.clone()], nodes, ..Broken::default() }
        }
        _ => plain(draw, fault, fabric).into(),
    }
}

/// A port of the leaf where the incast's target is, other than the target's: it has to pause.
fn crowded(draw: &mut Draw, fabric: &Fabric) -> PortId {
    let target = fabric.ports[fabric.nics[3].ports.start as usize].peer;
    let leaf = fabric.ports[target.index()].node;
    let ports: Vec<PortId> = fabric.node_ports(leaf).filter(|port| *port != target).collect();
    draw.one(&ports)
}

/// What a scenario can say: its words, and the names of its place.
fn plain(draw: &mut Draw, fault: Fault, fabric: &Fabric) -> (String, Vec<String>) {
    let at = "at = '1ms'\n";
    let nic = |draw: &mut Draw| fabric.nics[draw.below(fabric.nics.len())].name.clone();
    let (uplink, host) =
        (|draw: &mut Draw| cable(draw, fabric, false), |draw: &mut Draw| cable(draw, fabric, true));
    let link = |port: PortId, kind: &str, more: &str| {
        let (ends, places) = ends(fabric, port);
        (format!("[[fault]]\nkind = '{kind}'\nlink = '{ends}'\n{at}{more}"), places)
    };
    match fault {
        Fault::LateRanks => (String::new(), vec!["train".to_owned()]),
        Fault::PauseStorm => {
            let nic = nic(draw);
            (format!("[[fault]]\nkind = 'pause-storm'\nnic = '{nic}'\n{at}"), vec![nic])
        }
        Fault::SlowReceiver => {
            let (nic, rate) = (nic(draw), draw.one(&[10, 25, 40]));
            let text = format!(
                "[[fault]]\nkind = 'slow-receiver'\nnic = '{nic}'\nrate = '{rate}Gbps'\n{at}"
            );
            (text, vec![nic])
        }
        Fault::LinkDown => link(uplink(draw), "link-down", ""),
        Fault::HostLinkDown => link(host(draw), "link-down", ""),
        Fault::Flap => {
            let more = "period = '200us'\ntimes = 4\n";
            link(uplink(draw), "link-flap", more)
        }
        Fault::SlowLink => {
            let rate = draw.one(&["25Gbps", "50Gbps"]);
            link(uplink(draw), "link-degraded", &format!("rate = '{rate}'\n"))
        }
        Fault::BitErrors => {
            let loss = draw.one(&["0.01", "0.001"]);
            link(uplink(draw), "link-degraded", &format!("loss = {loss}\n"))
        }
        Fault::BlackHole => link(uplink(draw), "link-down", "silent = true\n"),
        Fault::SpineDown => switch_down(draw, fabric, "spine"),
        Fault::LeafDown => switch_down(draw, fabric, "leaf"),
        Fault::ServerDown => {
            let server = draw.below(fabric.servers.len());
            let name = fabric.servers[server].name.clone();
            let text = format!("[[fault]]\nkind = 'server-down'\nserver = '{name}'\n{at}");
            let nics = fabric.nics.iter().filter(|nic| nic.server.index() == server);
            let mut places = vec![name];
            places.extend(nics.flat_map(|nic| ends(fabric, PortId(nic.ports.start)).1));
            (text, places)
        }
        Fault::RouteChange => {
            let port = uplink(draw);
            let here = &fabric.ports[port.index()];
            let leaf = fabric.node_name(here.node).to_owned();
            let via = fabric.node_name(fabric.ports[here.peer.index()].node);
            let text =
                format!("[[fault]]\nkind = 'route-change'\nswitch = '{leaf}'\nvia = '{via}'\n{at}");
            (text, vec![leaf])
        }
        Fault::PfcOff => {
            let port = crowded(draw, fabric);
            let (ends, _) = ends(fabric, port);
            let text = format!("[[fault]]\nkind = 'setting'\nport = '{ends}'\npfc = false\n{at}");
            (text, vec![fabric.port_name(port)])
        }
        Fault::EcnOff | Fault::EcnEarly => {
            let target = fabric.ports[fabric.nics[3].ports.start as usize].peer;
            let leaf = fabric.node_name(fabric.ports[target.index()].node).to_owned();
            let values = match fault {
                Fault::EcnOff => "kmin = '1GB'\nkmax = '2GB'\n",
                _ => "kmin = '1KB'\nkmax = '2KB'\n",
            };
            let text = format!("[[fault]]\nkind = 'setting'\nswitch = '{leaf}'\n{values}{at}");
            (text, vec![leaf, fabric.port_name(target)])
        }
        Fault::Incast => {
            let (nic, senders) = (draw.below(fabric.nics.len()), draw.one(&[6, 10, 14]));
            let text = format!(
                "[[workload]]\nkind = 'incast'\nsize = '4MB'\nsenders = {senders}\ntarget = {nic}\nstart = '1ms'\n"
            );
            (text, vec![fabric.nics[nic].name.clone()])
        }
        _ => (String::new(), Vec::new()),
    }
}

fn switch_down(draw: &mut Draw, fabric: &Fabric, tier: &str) -> (String, Vec<String>) {
    let all: Vec<&str> = fabric
        .switches
        .iter()
        .filter(|switch| switch.tier.name() == tier && switch.ports.len() > 1)
        .map(|switch| switch.name.as_str())
        .collect();
    let name = draw.one(&all);
    let text = format!("[[fault]]\nkind = 'switch-down'\nswitch = '{name}'\nat = '1ms'\n");
    (text, vec![name.to_owned()])
}

/// A port up to the tier above, or of a NIC.
fn cable(draw: &mut Draw, fabric: &Fabric, host: bool) -> PortId {
    let tier =
        |node: NodeId| fabric.node_switch(node).map(|s: SwitchId| fabric.switches[s.index()].tier);
    let ports = (0..fabric.ports.len() as u32).map(PortId).filter(|port| {
        let here = &fabric.ports[port.index()];
        let there = fabric.ports[here.peer.index()].node;
        match tier(here.node) {
            None => host,
            Some(tier_here) => !host && tier(there) > Some(tier_here),
        }
    });
    let ports: Vec<PortId> = ports.collect();
    draw.one(&ports)
}

/// A cable as scenarios name it, and as findings do.
fn ends(fabric: &Fabric, port: PortId) -> (String, Vec<String>) {
    let name = fabric.port_name(port);
    let reverse = fabric.port_name(fabric.ports[port.index()].peer);
    (name.replacen('→', " ", 1), vec![name, reverse])
}
