//! The labels of series: where in a fabric they belong.

use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, PortId};
use xoff_telemetry::recording::Place;

/// A name and a value, sorted by name.
pub type Labels = BTreeMap<String, String>;

/// Labels of the places of a fabric.
#[derive(Debug)]
pub struct Labeller<'a> {
    fabric: &'a Fabric,
    name: &'a str,
    ports: BTreeMap<(String, String), PortId>,
}

impl<'a> Labeller<'a> {
    /// For a fabric that its series call `name`.
    pub fn new(fabric: &'a Fabric, name: &'a str) -> Self {
        let ports = (0..fabric.ports.len() as u32).map(PortId).map(|port| {
            let device = fabric.node_name(fabric.ports[port.index()].node).to_owned();
            ((device, fabric.port_name(port)), port)
        });
        Self { fabric, name, ports: ports.collect() }
    }

    /// The labels of a place.
    pub fn of(&self, place: &Place, priority: Option<u8>) -> Labels {
        let mut labels = Labels::new();
        let mut put = |name: &str, value: &str| labels.insert(name.to_owned(), value.to_owned());
        put("fabric", self.name);
        if let Some(priority) = priority {
            put("priority", &priority.to_string());
        }
        match place {
            Place::Port { device, port } => {
                put("device", device);
                put("port", port);
                let known = self.ports.get(&(device.clone(), port.clone()));
                known.iter().for_each(|port| self.port(**port, &mut put));
            }
            Place::Rank { job, rank } => {
                put("job_name", job);
                put("rank", &rank.to_string());
            }
            Place::Job { job } => {
                put("job_name", job);
            }
            Place::Gpu { host, gpu } => {
                put("host", host);
                put("gpu", &gpu.to_string());
            }
        }
        labels
    }

    /// What the fabric knows of a port.
    fn port(&self, port: PortId, put: &mut impl FnMut(&str, &str) -> Option<String>) {
        let fabric = self.fabric;
        let here = &fabric.ports[port.index()];
        let peer = fabric.ports[here.peer.index()].node;
        put("peer", fabric.node_name(peer));
        put("tier", fabric.tier_name(here.node));
        put("peer_tier", fabric.tier_name(peer));
        // Nodes of NICs come first, and have their numbers.
        if let Some(nic) = fabric.nics.get(here.node.index()) {
            put("host", &fabric.servers[nic.server.index()].name);
            nic.rail.iter().for_each(|rail| {
                put("rail", &rail.to_string());
            });
        }
    }
}

/// The place that labels name, and the priority. `job` is a label that Prometheus gives to what it scrapes, so that a training
/// job's is `job_name`.
pub fn place(labels: &Labels) -> Option<(Place, Option<u8>)> {
    let get = |name: &str| labels.get(name).cloned();
    let priority = match labels.get("priority") {
        Some(text) => Some(text.parse().ok().filter(|priority| *priority < 8)?),
        None => None,
    };
    let place = match (get("device"), get("job_name")) {
        (Some(device), _) => Place::Port { device, port: get("port").unwrap_or_default() },
        (None, Some(job)) => match get("rank") {
            Some(rank) => Place::Rank { job, rank: rank.parse().ok()? },
            None => Place::Job { job },
        },
        (None, None) => Place::Gpu { host: get("host")?, gpu: get("gpu")?.parse().ok()? },
    };
    Some((place, priority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lead_back_to_the_place() {
        let text = "[cluster]\ngpus = 32\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
        let setup = xoff_fabric::load_fabric(text).into_result().expect("a fabric");
        let labeller = Labeller::new(&setup.fabric, "pod");
        for port in (0..setup.fabric.ports.len() as u32).map(PortId) {
            let node = setup.fabric.ports[port.index()].node;
            let there = Place::Port {
                device: setup.fabric.node_name(node).to_owned(),
                port: setup.fabric.port_name(port),
            };
            let labels = labeller.of(&there, Some(3));
            assert_eq!(place(&labels), Some((there, Some(3))));
            let names = ["fabric", "device", "port", "peer", "tier", "peer_tier", "priority"];
            assert!(names.iter().all(|name| labels.contains_key(*name)), "{labels:?}");
        }
        let job = Place::Job { job: "train".into() };
        assert_eq!(place(&labeller.of(&job, None)), Some((job, None)));
        let gpu = Place::Gpu { host: "server3".into(), gpu: 5 };
        assert_eq!(place(&labeller.of(&gpu, None)), Some((gpu, None)));
    }

    #[test]
    fn labels_of_nothing_are_no_place() {
        let of = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Labels>()
        };
        assert_eq!(place(&of(&[("instance", "a:9100")])), None);
        assert_eq!(place(&of(&[("device", "leaf0"), ("priority", "9")])), None);
        assert_eq!(place(&of(&[("device", "leaf0"), ("priority", "x")])), None);
        assert_eq!(place(&of(&[("host", "server3")])), None);
    }
}
