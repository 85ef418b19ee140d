//! Switches that add up data: the queue pairs of such a switch end in it.
//!
//! An aggregation node is an endpoint on a port inside the switch, as Quantum switches show theirs beside their 40
//! or 64 cages. So it is a NIC here: one on every switch that aggregates, behind a port as fast as all
//! other ports of the switch together, over a wire of no length. What it is sent are messages on reliable queue pairs like
//! any others, routed, queued, paused, lost and sent again like any others.
//!
//! A fabric has these nodes only while a scenario uses them, after all NICs of servers: everything that counts, draws or
//! renders NICs of a fabric file sees the file.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::model::{
    Cable, CableId, Cpu, Fabric, Flaw, Model, Nic, NodeId, Port, PortId, Server, ServerId, SwitchId,
};
use crate::scenario::{AlgorithmSetting, Scenario};
use xoff_units::{Length, Rate, Ratio, Span};

/// Gives a fabric its aggregation nodes if a workload of the scenario uses them.
pub(crate) fn attach(scenario: &Scenario, fabric: &mut Fabric, report: &mut Report<'_>) {
    let uses = scenario.workloads.iter().position(|workload| {
        let entry = workload.collective();
        entry.is_some_and(|entry| entry.algorithm == AlgorithmSetting::InNetwork)
    });
    let Some(index) = uses else { return };
    match fabric.with_aggregators() {
        Ok(with) => *fabric = with,
        Err(flaw) => {
            let at = keys!["workload", index, "algorithm"];
            let help = "lower headroom or reserved buffer: the port of the aggregation node needs some, too";
            report.error(code::IMPOSSIBLE, at, flaw.to_string(), help);
        }
    }
}

impl Fabric {
    /// The same fabric with an aggregation node on every switch that adds up data, in the order of the
    /// switches.
    pub fn with_aggregators(&self) -> Result<Fabric, Flaw> {
        let switches = (0..).zip(&self.switches);
        let able = switches.filter(|(_, switch)| switch.aggregation.is_some());
        let able: Vec<SwitchId> = able.map(|(id, _)| SwitchId(id)).collect();
        if able.is_empty() || self.nics.is_empty() || self.nics.len() > self.hosts() as usize {
            return Ok(self.clone());
        }
        let with = Numbers::new(self, &able).model(self, &able);
        able.iter().try_for_each(|&id| with.claims_fit(&with.switches[id.index()]))?;
        Ok(Fabric::new(with))
    }
}

impl Model {
    /// How many NICs belong to servers. They are numbered before the aggregation nodes of switches.
    pub fn hosts(&self) -> u32 {
        self.nics.partition_point(|nic| nic.aggregates.is_none()) as u32
    }

    /// How many servers there are without the place of the aggregation nodes, which comes last.
    pub fn host_servers(&self) -> u32 {
        let aggregates = |server: &Server| server.nics.start >= self.hosts();
        let last =
            self.servers.last().is_some_and(|last| !last.nics.is_empty() && aggregates(last));
        self.servers.len() as u32 - u32::from(last)
    }
}

/// The numbers of ports and nodes once every aggregating switch has a port more.
struct Numbers {
    /// Nodes and ports before the first switch, and aggregation nodes.
    nics: u32,
    ports: u32,
    nodes: u32,
    /// By switch: how many of the switches before it aggregate.
    before: Vec<u32>,
}

impl Numbers {
    fn new(model: &Model, able: &[SwitchId]) -> Self {
        let before = |id: u32| able.partition_point(|other| other.0 < id) as u32;
        Self {
            nics: model.nics.len() as u32,
            ports: model.nics.last().map_or(0, |nic| nic.ports.end),
            nodes: able.len() as u32,
            before: (0..model.switches.len() as u32).map(before).collect(),
        }
    }

    fn node(&self, node: NodeId) -> NodeId {
        if node.0 < self.nics { node } else { NodeId(node.0 + self.nodes) }
    }

    /// The new number of a port of a node (both by their old numbers).
    fn port(&self, model: &Model, port: PortId) -> PortId {
        match model.node_switch(model.ports[port.index()].node) {
            None => port,
            Some(switch) => PortId(port.0 + self.nodes + self.before[switch.index()]),
        }
    }

    fn model(&self, model: &Model, able: &[SwitchId]) -> Model {
        let mut with = model.clone();
        let own: Vec<Range> = able.iter().map(|&id| self.inner(model, id)).collect();
        let moved = |port: &Port| Port {
            node: self.node(port.node),
            peer: self.port(model, port.peer),
            ..port.clone()
        };
        with.ports = model.ports[..self.ports as usize].iter().map(moved).collect();
        let like = model.ports[0].classes;
        for (range, number) in own.iter().zip(0..) {
            let (node, peer) = (NodeId(self.nics + number), range.inner);
            let cable = CableId(model.cables.len() as u32 + number);
            with.ports.push(Port {
                node,
                peer,
                cable,
                pause_response: Span::ZERO,
                label: None,
                classes: like,
            });
        }
        for (switch, id) in with.switches.iter_mut().zip(0..) {
            let (start, end) = (switch.ports.start, switch.ports.end);
            with.ports.extend(model.ports[start as usize..end as usize].iter().map(moved));
            let shift = self.nodes + self.before[id as usize];
            switch.ports = start + shift..end + shift;
            let Ok(number) = able.binary_search(&SwitchId(id)) else { continue };
            switch.ports.end += 1;
            let first = &model.ports[start as usize];
            with.ports.push(Port {
                node: NodeId(self.nics + self.nodes + id),
                peer: PortId(self.ports + number as u32),
                cable: CableId(model.cables.len() as u32 + number as u32),
                pause_response: Span::ZERO,
                label: None,
                classes: first.classes,
            });
        }
        with.cables.extend(own.iter().map(|range| inner_cable(range.rate)));
        let server = ServerId(model.servers.len() as u32);
        with.servers.push(Server {
            name: "aggregation".to_owned(),
            gpus: 0,
            nics: self.nics..self.nics + self.nodes,
            nvlink: Rate::ZERO,
            nvlink_latency: Span::ZERO,
            nvls: false,
        });
        for (&id, number) in able.iter().zip(0..) {
            with.nics.push(endpoint(model, id, server, self.ports + number));
        }
        for route in &mut with.static_routes {
            route.via = self.port(model, route.via);
        }
        with
    }

    /// The port of a switch to its aggregation node: the last one, as fast as all others together.
    fn inner(&self, model: &Model, id: SwitchId) -> Range {
        let ports = &model.switches[id.index()].ports;
        let rates = ports.clone().map(|port| model.cable(PortId(port)).rate.bps());
        let inner = PortId(ports.end + self.nodes + self.before[id.index()]);
        Range { inner, rate: Rate::from_bps(rates.fold(0, u64::saturating_add)) }
    }
}

/// The port of a switch to its aggregation node.
struct Range {
    inner: PortId,
    rate: Rate,
}

fn inner_cable(rate: Rate) -> Cable {
    Cable {
        rate,
        length: Length::from_m(0),
        delay: Span::ZERO,
        media: "inside the switch".to_owned(),
        bit_error_rate: Ratio::ZERO,
        loss: Ratio::ZERO,
    }
}

/// The aggregation node of a switch. Its queue pairs are those of the hosts, and none is faster than the fastest
/// host: it serves many of them at once, and each at the rate of the one at its other end.
fn endpoint(model: &Model, id: SwitchId, server: ServerId, port: u32) -> Nic {
    let rates = model.nics.iter().flat_map(|nic| nic.ports.clone());
    let fastest = rates.map(|port| model.cable(PortId(port)).rate).max().unwrap_or(Rate::ZERO);
    Nic {
        name: format!("{}-aggregation", model.switches[id.index()].name),
        model: "aggregation".to_owned(),
        server,
        ports: port..port + 1,
        latency: Span::ZERO,
        receive: None,
        packet_rate: None,
        rail: None,
        cpu: Some(Cpu { core_rate: fastest, flow_cores: 1 }),
        host: None,
        aggregates: Some(id),
        ..model.nics[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load_scenario;

    const FABRIC: &str = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n\
        [fabric]\nkind = 'leaf-spine'\nhosts-per-leaf = 4\nspines = 2\n[switch]\naggregation = {}\n";

    #[test]
    fn every_aggregating_switch_has_a_node_and_nothing_else_changes() {
        let plain = Fabric::from_toml(FABRIC).unwrap();
        let with = plain.with_aggregators().unwrap();
        assert_eq!((plain.hosts(), with.hosts()), (8, 8));
        assert_eq!((with.nics.len(), with.host_servers()), (12, plain.servers.len() as u32));
        for (number, nic) in with.nics.iter().enumerate().skip(8) {
            let peer = with.ports[with.ports[nic.ports.start as usize].peer.index()].node;
            assert_eq!(with.node_switch(peer), nic.aggregates, "{number}");
        }
        // Every cable of before joins the same two nodes.
        let ends = |fabric: &Fabric, cable: u32| -> Vec<String> {
            let ports = fabric.ports.iter().filter(|port| port.cable.0 == cable);
            ports.map(|port| fabric.node_name(port.node).to_owned()).collect()
        };
        for cable in 0..plain.cables.len() as u32 {
            assert_eq!(ends(&plain, cable), ends(&with, cable));
        }
        let again = with.with_aggregators().unwrap();
        assert_eq!(again.nics.len(), with.nics.len());
    }

    #[test]
    fn only_a_scenario_that_uses_them_has_them() {
        let nics = |algorithm: &str| {
            let text = format!(
                "fabric = 'f.toml'\n[[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\nalgorithm = '{algorithm}'\n"
            );
            load_scenario(&text, FABRIC).into_result().map(|setup| setup.setup.fabric.nics.len())
        };
        assert_eq!(nics("ring").unwrap(), 8);
        assert_eq!(nics("in-network").unwrap(), 12);
        let none = FABRIC.replace("aggregation = {}\n", "");
        let text = "fabric = 'f.toml'\n[[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\nalgorithm = 'in-network'\n";
        let wrong = load_scenario(text, &none).into_result().unwrap_err();
        assert!(wrong[0].message.contains("no switch of the fabric adds up data"), "{wrong:?}");
    }
}
