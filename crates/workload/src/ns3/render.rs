//! The imported files as text.

use super::flows::Flow;
use super::topology::Topology;
use super::{Congestion, FABRIC, FLOWS};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The class whose rules the profile has.
const PROFILE_CLASS: u8 = 3;

/// The fabric file.
pub(super) fn fabric(topology: &Topology, flows: &[Flow], congestion: Congestion) -> String {
    let mut file = String::from(
        "# Imported from an ns-3 topology. Hosts and switches keep their numbers.\n\n\
         profile = \"ns3-hpcc\"\n\n",
    );
    // Thresholds of that model are relative to the rate of a NIC.
    let is_host = |node: u32| !topology.switches.contains(&node);
    let host_link = topology.links.iter().find(|link| is_host(link.ends.0) || is_host(link.ends.1));
    if let Some(link) = host_link {
        put(&mut file, format_args!("[cluster]\nnic-rate = \"{}\"\n\n", link.rate));
    }
    file += "[fabric]\nkind = \"custom\"\n";
    file += settings(congestion);
    let classes: BTreeSet<u8> = flows.iter().map(|flow| flow.class).collect();
    for class in classes.into_iter().filter(|&class| class != PROFILE_CLASS) {
        put(
            &mut file,
            format_args!(
                "\n[[class]]\nid = {class}\nlossless = true\nscheduling = 1\nreserved = \"4096B\"\n"
            ),
        );
    }
    add_nodes(&mut file, topology);
    add_links(&mut file, topology);
    file
}

fn add_nodes(file: &mut String, topology: &Topology) {
    let heights = topology.heights();
    for node in 0..topology.nodes {
        let name = topology.name(node);
        let kind = match (topology.switches.contains(&node), heights.get(&node)) {
            (false, _) => "kind = \"nic\"",
            (true, None | Some(0 | 1)) => "kind = \"switch\"\ntier = \"leaf\"",
            (true, Some(2)) => "kind = \"switch\"\ntier = \"spine\"",
            (true, Some(_)) => "kind = \"switch\"\ntier = \"core\"",
        };
        put(file, format_args!("\n[[node]]\nname = \"{name}\"\n{kind}\n"));
    }
}

fn add_links(file: &mut String, topology: &Topology) {
    for link in &topology.links {
        let (a, b) = (topology.name(link.ends.0), topology.name(link.ends.1));
        let (rate, delay) = (link.rate, link.delay);
        put(file, format_args!("\n[[link]]\nends = \"{a} {b}\"\n"));
        put(file, format_args!("rate = \"{rate}\"\ndelay = \"{delay}\"\n"));
        if !link.loss.is_zero() {
            put(file, format_args!("loss = \"{}\"\n", link.loss));
        }
    }
}

/// What differs from the profile, whose senders follow DCQCN.
const fn settings(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::Dcqcn => "",
        Congestion::None => "\n[transport.congestion]\nkind = \"none\"\n",
        Congestion::DcqcnStep => "\n[ecn]\nkmin = \"400KB\"\nkmax = \"400KB\"\n",
        // In-band telemetry makes headers and ACKs longer.
        Congestion::Hpcc => {
            "\n[transport.framing]\nheader = \"90B\"\nack = \"88B\"\n\
             \n[transport.congestion]\nkind = \"hpcc\"\n"
        }
    }
}

/// The scenario file.
pub(super) fn scenario() -> String {
    format!("fabric = \"{FABRIC}\"\n\n[[workload]]\nkind = \"flows\"\nfile = \"{FLOWS}\"\n")
}

/// The flow list.
pub(super) fn flows(topology: &Topology, flows: &[Flow]) -> String {
    let mut file = String::from("start,source,destination,bytes,class,path,ack_path\n");
    for flow in flows {
        let name = |node: &u32| topology.name(*node);
        let through = |stops: &[u32]| stops.iter().map(name).collect::<Vec<_>>().join(">");
        let (data, ack) = match &flow.path {
            Some((data, ack)) => (through(data), through(ack)),
            None => (String::new(), String::new()),
        };
        let (source, destination) = (name(&flow.source), name(&flow.destination));
        let (start, bytes, class) = (flow.start, flow.bytes, flow.class);
        put(
            &mut file,
            format_args!("{start},{source},{destination},{bytes},{class},{data},{ack}\n"),
        );
    }
    file
}

fn put(file: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = file.write_fmt(text);
}
