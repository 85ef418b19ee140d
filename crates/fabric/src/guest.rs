//! Traffic with a transport of its own: a workload that says `transport = "tcp"` runs as TCP beside the traffic of the
//! fabric's own network, on the same NICs, links and switches.
//!
//! A guest brings what belongs to the hosts: queue pairs, framing, congestion control, latency and cores. What
//! belongs to the fabric (pauses, marking, balancing, buffers) stays as the file says.

use crate::build::{cores, queue_pairs};
use crate::diagnostic::code;
use crate::document::{Document, Report, Step};
use crate::file::FabricFile;
use crate::model::{Class, ClassId, Guest};
use crate::network::Network;
use crate::rules::packet;
use crate::scenario::{Scenario, Workload};
use crate::setup::FabricSetup;

/// Finds the guests of a scenario, and reports what cannot be.
pub(crate) fn settle(
    scenario: &Scenario,
    setup: &FabricSetup,
    report: &mut Report<'_>,
) -> Vec<Guest> {
    let mut guests: Vec<Guest> = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let Some(network) = workload.common().transport else { continue };
        let home = setup.file.transport.kind;
        if network == home {
            continue;
        }
        let at = |key: &'static str| [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        if let Some((message, help)) = refusal(workload, network, home) {
            report.error(code::IMPOSSIBLE, &at("transport"), message, help);
            continue;
        }
        let classes = &setup.fabric.classes;
        let lossy = classes.iter().position(|class| !class.lossless).map(|id| ClassId(id as u8));
        let own = workload.common().class.filter(|&class| usize::from(class) < classes.len());
        let Some(class) = own.map(ClassId).or(lossy) else {
            let message = format!("{} has no lossy class to travel in", network.name());
            report.error(code::IMPOSSIBLE, &at("transport"), message, "give a `class`");
            continue;
        };
        let tcp = matches!(network, Network::Tcp | Network::Iwarp);
        if tcp && setup.fabric.pause.enabled && classes[usize::from(class.0)].lossless {
            report.warn(
                code::UNUSUAL,
                &at("class"),
                shares_lossless(network, &classes[usize::from(class.0)]),
                "leave `class` out, or name a lossy class",
            );
        }
        let known = guests.iter().position(|guest| guest.network == network);
        let place = known.unwrap_or(guests.len());
        if known.is_none() {
            let Some(guest) = guest(network, lossy.unwrap_or(class), setup) else { continue };
            check_size(&guest, setup, &at("transport"), report);
            guests.push(guest);
        }
        guests[place].workloads.push(index as u32);
    }
    guests
}

/// Why a workload cannot have this transport, and what would do.
fn refusal(workload: &Workload, network: Network, home: Network) -> Option<(String, &'static str)> {
    let shares = |network| matches!(network, Network::Roce | Network::Tcp | Network::Iwarp);
    let name = network.name();
    if network == Network::Infiniband {
        let message = "InfiniBand needs links with credits and silicon of its own".to_owned();
        return Some((message, "give it a fabric: `kind = \"infiniband\"` under [transport]"));
    }
    if !shares(network) {
        let message = format!("`{name}` needs switches that are set up for it");
        return Some((message, "roce, tcp and iwarp can share a fabric"));
    }
    if !shares(home) {
        let message = format!("the fabric runs `{}`, which shares it with no other", home.name());
        return Some((
            message,
            "traffic of several transports needs a fabric of roce, tcp or iwarp",
        ));
    }
    if !workload.is_flows() {
        let message = format!("`{}` runs on the fabric's own transport", workload.kind());
        let help = "permutation, incast, all-to-all, flows, poisson, background and checkpoint can \
                    have another";
        return Some((message, help));
    }
    None
}

fn shares_lossless(network: Network, class: &Class) -> String {
    format!(
        "{} in the lossless class `{}` fills its buffers until RDMA is paused, and never sees the losses that it \
         finds its rate by",
        network.name(),
        class.name
    )
}

/// A network as a guest, with the NIC's own transport defaults below its settings.
fn guest(network: Network, class: ClassId, setup: &FabricSetup) -> Option<Guest> {
    let model = setup.fabric.nics.first().and_then(|nic| setup.catalogue.nics.get(&nic.model));
    let (mut document, _) = Document::parse(&model.map_or(String::new(), |m| m.text()), None);
    let (settings, _) = Document::parse(network.text(), None);
    document.overlay(settings.root);
    let file: FabricFile = document.root.plain().try_into().ok()?;
    Some(Guest {
        network,
        workloads: Vec::new(),
        qp: queue_pairs(&file.transport),
        latency: file.nic.latency,
        cpu: cores(&file.nic),
        class,
    })
}

fn check_size(guest: &Guest, setup: &FabricSetup, at: &[Step<'_>], report: &mut Report<'_>) {
    let largest = packet::largest(&guest.qp);
    if let Some(switch) = setup.fabric.switches.iter().find(|switch| switch.mtu < largest) {
        let (name, mtu) = (&switch.name, switch.mtu);
        let message = format!("packets of {largest} do not pass `{name}` with an MTU of {mtu}");
        report.error(code::MTU, at, message, "raise `switch.mtu` in the fabric");
    }
}

#[cfg(test)]
mod tests {
    use crate::load::load_scenario;
    use crate::network::Network;

    const FABRIC: &str = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n";

    /// What is found of a workload with these keys, and at which text.
    fn found(fabric: &str, workload: &str) -> (Option<Vec<Network>>, Vec<(String, String)>) {
        let text = format!("fabric = 'f.toml'\n[[workload]]\n{workload}\n");
        let loaded = load_scenario(&text, fabric);
        let place = |span: std::ops::Range<usize>| text.get(span).unwrap_or("").to_owned();
        let told = loaded.diagnostics.iter().map(|d| (d.message.clone(), place(d.span.clone())));
        let told = told.collect();
        let guests = loaded
            .value
            .map(|value| value.setup.fabric.guests.iter().map(|guest| guest.network).collect());
        (guests, told)
    }

    #[test]
    fn a_workload_can_have_a_transport_of_its_own() {
        let flows = "kind = 'permutation'\nsize = '1MB'\n";
        let (guests, told) = found(FABRIC, &format!("{flows}transport = 'tcp'"));
        assert_eq!((guests, told), (Some(vec![Network::Tcp]), vec![]));
        let (guests, _) = found(FABRIC, &format!("{flows}transport = 'roce'"));
        assert_eq!(guests, Some(vec![]), "the fabric's own");
        for network in ["infiniband", "uet", "roce-v1"] {
            let (guests, told) = found(FABRIC, &format!("{flows}transport = '{network}'"));
            assert!(guests.is_none(), "{network}");
            assert_eq!(told[0].1, format!("'{network}'"));
        }
    }

    #[test]
    fn what_cannot_share_is_refused_with_the_reason() {
        let job = "kind = 'all-reduce'\nsize = '1MB'\ntransport = 'tcp'";
        let (guests, told) = found("[cluster]\ngpus = 16\n[fabric]\nkind = 'single'\n", job);
        assert!(guests.is_none() && told[0].0.contains("own transport"), "{told:?}");
        let uet = format!("{FABRIC}[transport]\nkind = 'uet'\n");
        let flows = "kind = 'permutation'\nsize = '1MB'\ntransport = 'tcp'\n";
        let (guests, told) = found(&uet, flows);
        assert!(guests.is_none() && told[0].0.contains("`uet`"), "{told:?}");
    }

    #[test]
    fn tcp_in_the_lossless_class_is_a_warning_on_its_line() {
        let flows = "kind = 'permutation'\nsize = '1MB'\ntransport = 'tcp'\nclass = 3\n";
        let (guests, told) = found(FABRIC, flows);
        assert_eq!(guests, Some(vec![Network::Tcp]));
        assert!(told.len() == 1 && told[0].0.contains("lossless"), "{told:?}");
        assert_eq!(told[0].1, "3");
    }
}
