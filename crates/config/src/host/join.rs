//! One port for each NIC, whatever names it goes by, and defaults where something was shown.

use super::nicctl;
use super::parse::Parser;
use crate::device::{Device, Gid, Maker, Port, PortName};
use crate::facts::Facts;
use crate::number::Priorities;
use crate::place::Said;
use crate::qos::{Maps, Trust};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a name of a NIC is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An RDMA device: the name that ports have.
    Rdma,
    /// A network interface.
    Net,
    /// A slot of the bus, a number or an id of a tool.
    Other,
}

/// The device, with one port for each NIC.
pub(super) fn finish(mut parser: Parser) -> Device {
    // A name that was used as interface and as RDMA device is what its driver calls devices.
    let names: Vec<String> = parser.device.ports.keys().map(ToString::to_string).collect();
    let devices = names.iter().filter(|name| Maker::of_device(name).is_some());
    parser.rdma.extend(devices.cloned().collect::<Vec<_>>());
    let mut groups = Groups::of(&parser);
    pair(&parser, &mut groups);
    let excluded: BTreeSet<String> =
        parser.excluded.iter().map(|name| groups.first(name)).collect();
    let mut ports: BTreeMap<PortName, Port> = BTreeMap::new();
    let mut whole = BTreeSet::new();
    let mut mapped = BTreeSet::new();
    let old = std::mem::take(&mut parser.device.ports);
    for (name, port) in old {
        let first = groups.first(name.as_str());
        if excluded.contains(&first) {
            continue;
        }
        merge(ports.entry(PortName::new(&first)).or_default(), port);
    }
    whole.extend(parser.whole.iter().map(|name| groups.first(name)));
    mapped.extend(parser.mapped.iter().map(|name| groups.first(name)));
    // RDMA devices that were only named carry RoCE; of other interfaces nobody said so.
    for name in &parser.rdma {
        let first = groups.first(name);
        if !excluded.contains(&first) {
            ports.entry(PortName::new(first)).or_default();
        }
    }
    for (name, port) in std::mem::take(&mut parser.plain) {
        if let Some(known) = ports.get_mut(&PortName::new(groups.first(&name))) {
            merge(known, port);
        }
    }
    for (name, index) in &parser.gids_of_link {
        let port = ports.get_mut(&PortName::new(groups.first(name)));
        if let Some(gid @ Gid::V2) = port.and_then(|port| port.gids.get_mut(index)) {
            *gid = Gid::V2Link;
        }
    }
    everywhere(&mut parser, &mut ports, &mut whole);
    for (name, port) in &mut ports {
        let maker = port.nic.maker.or(Maker::of_device(name.as_str()));
        defaults(port, maker, whole.contains(name.as_str()), mapped.contains(name.as_str()));
    }
    version(&mut parser, &mut groups, &ports);
    parser.device.ports = ports;
    parser.device.remarks = parser.notes.remarks;
    parser.device
}

/// Defaults of what was shown: of what nobody showed, nothing is known.
fn defaults(port: &mut Port, maker: Option<Maker>, whole: bool, mapped: bool) {
    if whole {
        port.trust = port.trust.or_default(Trust::Pcp);
        port.pfc = port.pfc.or_default(Priorities::NONE);
    }
    if mapped {
        port.trust = port.trust.or_default(Trust::Pcp);
    }
    if whole || mapped {
        super::fit::own_numbers(Arc::make_mut(&mut port.maps), maker);
    }
}

/// Names of one NIC: each name leads to another one of its group, the first to itself.
struct Groups {
    leads: BTreeMap<String, String>,
}

impl Groups {
    fn of(parser: &Parser) -> Self {
        let mut groups = Self { leads: BTreeMap::new() };
        for (a, b) in &parser.same {
            groups.join(parser, a, b);
        }
        groups
    }

    fn join(&mut self, parser: &Parser, a: &str, b: &str) {
        let (a, b) = (self.first(a), self.first(b));
        if a == b {
            return;
        }
        let (ka, kb) = (kind(parser, &a), kind(parser, &b));
        // Two RDMA devices are two NICs, and so are two interfaces, whatever shares a name or a slot with them.
        if ka == kb && ka != Kind::Other {
            return;
        }
        let b_leads = kb == Kind::Rdma || (kb == Kind::Net && ka == Kind::Other);
        let (from, to) = if b_leads { (a, b) } else { (b, a) };
        self.leads.insert(from, to);
    }

    /// The name that stands for all of a group.
    fn first(&mut self, name: &str) -> String {
        let mut at = name;
        while let Some(next) = self.leads.get(at) {
            at = next;
        }
        let found = at.to_owned();
        if found != name {
            self.leads.insert(name.to_owned(), found.clone());
        }
        found
    }
}

fn kind(parser: &Parser, name: &str) -> Kind {
    if parser.rdma.contains(name) {
        return Kind::Rdma;
    }
    let other = name.contains([':', '/', ' ']) || name.matches('-').count() == 4;
    if parser.nets.contains(name) || !other { Kind::Net } else { Kind::Other }
}

/// Joins what no file joined, where names leave no doubt: as many of the one kind as of the other, in their order.
fn pair(parser: &Parser, groups: &mut Groups) {
    let mut joined = BTreeSet::new();
    for name in parser.nets.iter() {
        let first = groups.first(name);
        if kind(parser, &first) == Kind::Rdma {
            joined.insert(first);
        }
    }
    let mut alone = |wanted: Kind| -> Vec<PortName> {
        let mut names: BTreeSet<PortName> = BTreeSet::new();
        let used = parser.device.ports.keys().map(ToString::to_string);
        for name in used.chain(parser.rdma.iter().cloned()) {
            let first = groups.first(&name);
            if kind(parser, &first) == wanted
                && !joined.contains(&first)
                && !parser.excluded.contains(&first)
            {
                names.insert(PortName::new(first));
            }
        }
        names.into_iter().collect()
    };
    let (devices, nets, others) = (alone(Kind::Rdma), alone(Kind::Net), alone(Kind::Other));
    if devices.len() == nets.len() {
        for (device, net) in devices.iter().zip(&nets) {
            groups.join(parser, device.as_str(), net.as_str());
        }
    }
    let mut firsts: BTreeSet<PortName> = BTreeSet::new();
    for name in parser.rdma.iter().chain(&parser.nets) {
        let first = groups.first(name);
        if parser.rdma.contains(&first) || nets.contains(&PortName::new(&first)) {
            firsts.insert(PortName::new(first));
        }
    }
    if firsts.len() == others.len() {
        for (port, other) in firsts.iter().zip(&others) {
            groups.join(parser, port.as_str(), other.as_str());
        }
    }
}

/// Settings of `nicctl` for all NICs, and ports that it knows by an id where all of them are alike.
fn everywhere(
    parser: &mut Parser,
    ports: &mut BTreeMap<PortName, Port>,
    whole: &mut BTreeSet<String>,
) {
    let is_id = |name: &PortName| name.as_str().matches('-').count() == 4;
    let is_amd = |name: &PortName, port: &Port| {
        let maker = port.nic.maker.or(Maker::of_device(name.as_str()));
        maker == Some(Maker::Amd) && !is_id(name)
    };
    let ids: Vec<PortName> = ports.keys().filter(|name| is_id(name)).cloned().collect();
    let facts = |port: &Port| {
        let mut device = Device::new("", crate::SystemId::Host);
        device.ports.insert(PortName::new(""), port.clone());
        Facts::of(&device)
    };
    let alike = ids.windows(2).all(|pair| facts(&ports[&pair[0]]) == facts(&ports[&pair[1]]));
    let devices: Vec<PortName> = ports
        .iter()
        .filter(|(name, port)| is_amd(name, port))
        .map(|(name, _)| name.clone())
        .collect();
    if let Some(shown) = ids.first().filter(|_| alike && !devices.is_empty()).cloned() {
        let port = ports[&shown].clone();
        for name in &devices {
            merge(ports.entry(name.clone()).or_default(), port.clone());
            whole.insert(name.to_string());
        }
        ports.retain(|name, _| !is_id(name));
    }
    let Some(all) = parser.everywhere.take() else { return };
    let mut targets = devices;
    if targets.is_empty() {
        targets.push(PortName::new(nicctl::ALL));
    }
    for name in targets {
        merge(ports.entry(name.clone()).or_default(), all.clone());
        if all.trust.is_said() || all.pfc.is_said() {
            whole.insert(name.to_string());
        }
    }
}

/// The firmware of the NICs that carry RoCE.
fn version(parser: &mut Parser, groups: &mut Groups, ports: &BTreeMap<PortName, Port>) {
    let mut versions = BTreeMap::new();
    for (name, said) in &parser.firmware {
        if let (true, Said::At(version, place)) =
            (ports.contains_key(&PortName::new(groups.first(name))), said)
        {
            versions.entry(version.clone()).or_insert(*place);
        }
    }
    if let Some(place) = versions.values().next() {
        let all: Vec<&str> = versions.keys().map(String::as_str).collect();
        parser.device.version = Said::At(all.join(", "), *place);
    }
}

/// Adds what another file says of the same NIC; what was said first stays.
fn merge(port: &mut Port, more: Port) {
    fn add<T>(said: &mut Said<T>, more: Said<T>) {
        if !said.is_said() && (more.is_said() || said.value().is_none()) {
            *said = more;
        }
    }
    port.place = port.place.or(more.place);
    add(&mut port.enabled, more.enabled);
    add(&mut port.rate, more.rate);
    add(&mut port.mtu, more.mtu);
    add(&mut port.neighbour, more.neighbour);
    add(&mut port.cable, more.cable);
    add(&mut port.trust, more.trust);
    add(&mut port.pfc, more.pfc);
    if *more.maps != Maps::default() {
        let maps = Arc::make_mut(&mut port.maps);
        for (own, other) in maps.dscp_to_class.iter_mut().zip(more.maps.dscp_to_class) {
            add(own, other);
        }
        for (own, other) in maps.class_to_queue.iter_mut().zip(more.maps.class_to_queue) {
            add(own, other);
        }
    }
    if more.queues.iter().any(|queue| queue.scheduling.is_said()) {
        let queues = Arc::make_mut(&mut port.queues);
        for (own, other) in queues.iter_mut().zip(more.queues.iter()) {
            add(&mut own.scheduling, other.scheduling);
        }
    }
    let (nic, other) = (&mut port.nic, more.nic);
    add(&mut nic.data_dscp, other.data_dscp);
    add(&mut nic.cm_dscp, other.cm_dscp);
    add(&mut nic.cnp_dscp, other.cnp_dscp);
    add(&mut nic.notifies, other.notifies);
    add(&mut nic.reacts, other.reacts);
    nic.maker = nic.maker.or(other.maker);
    nic.shown |= other.shown;
    for (index, gid) in more.gids {
        port.gids.entry(index).or_insert(gid);
    }
    for (name, said) in more.congestion {
        port.congestion.entry(name).or_insert(said);
    }
}

#[cfg(test)]
mod tests {
    use crate::device::PortName;
    use crate::host::tests::read;

    const QOS: &str = "PFC configuration:\n\tpriority 0 1 2 3 4 5 6 7\n\tenabled 0 0 0 1 0 0 0 0\n";

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        read(files).ports.keys().map(PortName::to_string).collect()
    }

    #[test]
    fn without_a_map_names_join_where_they_leave_no_doubt() {
        let sys = |device: &str| format!("/sys/class/infiniband/{device}/tc/1/traffic_class:106\n");
        let (two, three) = (sys("mlx5_2"), sys("mlx5_2") + &sys("mlx5_3"));
        assert_eq!(names(&[("hgx1.mlnx_qos.eth2", QOS), ("hgx1.sysfs", &two)]), ["mlx5_2"]);
        let many =
            [("hgx1.mlnx_qos.eth2", QOS), ("hgx1.mlnx_qos.eth4", QOS), ("hgx1.sysfs", &three)];
        assert_eq!(names(&many), ["mlx5_2", "mlx5_3"]);
        let apart = [("hgx1.mlnx_qos.eth2", QOS), ("hgx1.sysfs", &three)];
        assert_eq!(names(&apart), ["eth2", "mlx5_2", "mlx5_3"]);
    }

    #[test]
    fn the_order_of_files_does_not_matter() {
        let sys =
            "/sys/class/infiniband/mlx5_2/tc/1/traffic_class:106\n/sys/class/net/eth2/mtu:9000\n";
        let map = "mlx5_2 port 1 ==> eth2 (Up)\n";
        let files = [("h.sysfs", sys), ("h.ibdev2netdev", map), ("h.mlnx_qos.eth2", QOS)];
        let turned = [files[2], files[1], files[0]];
        let facts = |files: &[(&str, &str)]| crate::Facts::of(&read(files));
        assert_eq!(facts(&files), facts(&turned));
        assert_eq!(names(&files), ["mlx5_2"]);
    }

    #[test]
    fn circles_of_names_end() {
        let text = "mlx5_0 port 1 ==> eth2 (Up)\nmlx5_1 port 1 ==> eth2 (Up)\nmlx5_0 port 1 ==> mlx5_1 (Up)\n";
        assert_eq!(names(&[("h.ibdev2netdev", text)]), ["mlx5_0", "mlx5_1"]);
    }
}
