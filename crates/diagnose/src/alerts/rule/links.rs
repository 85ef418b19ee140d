//! Links and switches that are down, slow, or lose packets.

use super::NETWORK;
use crate::alerts::select::{PORT, Select};
use crate::alerts::{Alert, Scope, Severity};
use crate::fabric::Cause;
use xoff_fabric::model::{Fabric, PortId, Tier};

pub(in crate::alerts) fn alerts(fabric: &Fabric, select: &Select) -> Vec<Alert> {
    let mut all = down(select);
    all.push(damaged(select));
    all.push(black_hole(select));
    all.push(slow(fabric, select));
    all
}

fn down(select: &Select) -> Vec<Alert> {
    let up = select.all("xoff_port_up", "");
    let downs = select.all("xoff_link_down_events_total", "");
    vec![
        Alert {
            name: "XoffSwitchDown",
            cause: Cause::SwitchDown,
            scope: Scope::Neighbour,
            severity: Severity::Critical,
            window: 0,
            hold: 30,
            // With the name as `device`, too, alerts of its own ports are inhibited by it.
            expression: format!(
                "label_replace(sum by (fabric, peer) ({up}) == 0 and count by (fabric, peer) ({up}) > 1, \
                 \"device\", \"$1\", \"peer\", \"(.*)\")"
            ),
            threshold: "All of two or more links are down.".to_owned(),
            summary: "all links to {{ $labels.peer }} are down",
            meaning: "Every link to this device is down, as its neighbours see it. Jobs of single-homed servers below it fail.",
            look: "Whether it answers on its management port, its power supplies, its console.",
            cure: "Bring it back, or move what depends on it. Jobs that failed restart from their checkpoint.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffLinkDown",
            cause: Cause::LinkDown,
            scope: Scope::Port,
            severity: Severity::Warning,
            window: 0,
            hold: 30,
            expression: format!("max {PORT} ({up}) == 0"),
            threshold: "The link is down.".to_owned(),
            summary: "{{ $labels.port }} of {{ $labels.device }} is down",
            meaning: "A link is down. Between switches others carry its traffic; of a server, its job has lost a NIC.",
            look: "The optic at both ends (light received, temperature), the cable, and whether the other end is down, too.",
            cure: "Reseat or replace the optic or cable.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffLinkFlaps",
            cause: Cause::LinkFlaps,
            scope: Scope::Port,
            severity: Severity::Warning,
            window: 120,
            hold: 0,
            expression: format!("max {PORT} (increase({downs}[15m])) > 1.5"),
            threshold: "Twice in a quarter of an hour.".to_owned(),
            summary: "{{ $labels.port }} of {{ $labels.device }} goes down again and again",
            meaning: "A link goes down and comes up. Each time routes change and packets are lost; that hurts more than a link that stays down.",
            look: "Code words that FEC corrects, the optic's temperature, how the cable lies.",
            cure: "Take the link out of service first, then replace optic or cable.",
            owner: NETWORK,
        },
    ]
}

fn damaged(select: &Select) -> Alert {
    let crc = select.all("xoff_crc_errors_total", "");
    let received = select.all("xoff_receive_packets_total", "");
    Alert {
        name: "XoffDamagedPackets",
        cause: Cause::BadOptic,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!(
            "sum {PORT} (rate({crc}[5m])) > 1e-7 * sum {PORT} (rate({received}[5m]))"
        ),
        threshold: "1 packet in 10 million, as `xoff diagnose` takes it: links after FEC are better by orders of magnitude.".to_owned(),
        summary: "{{ $labels.device }} receives damaged packets at {{ $labels.port }}",
        meaning: "A cable or optic damages packets. RoCE sends a window again for each; 1 in 10,000 already costs much of the bandwidth.",
        look: "FEC counters before and after correction, light received, dirt on the connectors.",
        cure: "Take the link out of service; clean, then replace optic or cable.",
        owner: NETWORK,
    }
}

/// What leaves one end and does not arrive at the other. Cables side by side are taken together: no label of one end names the
/// port of the other.
fn black_hole(select: &Select) -> Alert {
    let by = "by (fabric, device, peer)";
    let sent = format!("sum {by} (rate({}[5m]))", select.all("xoff_transmit_packets_total", ""));
    let received = select.all("xoff_receive_packets_total", "");
    // The receiver's series under the labels of the sender.
    let arrived = format!(
        "sum {by} (label_replace(label_replace(label_replace(rate({received}[5m]), \"far\", \"$1\", \"device\", \"(.*)\"), \
         \"device\", \"$1\", \"peer\", \"(.*)\"), \"peer\", \"$1\", \"far\", \"(.*)\"))"
    );
    let up = select.all("xoff_port_up", "");
    Alert {
        name: "XoffBlackHole",
        cause: Cause::BlackHole,
        scope: Scope::Link,
        severity: Severity::Critical,
        window: 300,
        hold: 60,
        expression: format!(
            "{sent} - {arrived} > 0.1 * {sent} unless min {by} (min_over_time({up}[5m])) == 0"
        ),
        threshold: "A tenth of what is sent: scrapes of the two ends may lie one interval (of twenty) apart, and one of eight \
                    cables side by side is seen."
            .to_owned(),
        summary: "packets from {{ $labels.device }} to {{ $labels.peer }} do not arrive",
        meaning: "A link takes packets and does not deliver them, though its carrier is up. Routes keep using it; queue pairs over it time out and fail.",
        look: "Both ends' packet counters, the last change of optics or firmware, BFD where it runs.",
        cure: "Shut the link down at both ends, so that routes avoid it; then replace optic, cable or port.",
        owner: NETWORK,
    }
}

/// Links below the slowest that was planned for their tier.
fn slow(fabric: &Fabric, select: &Select) -> Alert {
    let slowest = |tier: Option<Tier>| {
        let ports = (0..fabric.ports.len() as u32).map(PortId);
        let own = ports.filter(|port| {
            let switch = fabric.node_switch(fabric.ports[port.index()].node);
            switch.map(|switch| fabric.switches[switch.index()].tier) == tier
        });
        own.map(|port| fabric.cable(port).rate.bps()).min()
    };
    let tiers = [None, Some(Tier::Leaf), Some(Tier::Spine), Some(Tier::Core)];
    let parts = tiers.into_iter().filter_map(|tier| {
        let word = tier.map_or("nic", Tier::name);
        let speed = select.all("xoff_port_speed_bits_per_second", &format!("tier=\"{word}\""));
        let rate = slowest(tier)?;
        let words = format!("{word} {} Gbit/s", rate as f64 / 1e9);
        Some((format!("0 < {speed} < {rate}"), words))
    });
    let (parts, rates): (Vec<String>, Vec<String>) = parts.unzip();
    Alert {
        name: "XoffSlowLink",
        cause: Cause::SlowLink,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 0,
        hold: 60,
        expression: format!("max {PORT} ({})", parts.join(" or ")),
        threshold: format!(
            "The slowest link that the fabric file plans for the tier: {}.",
            rates.join(", ")
        ),
        summary: "{{ $labels.port }} of {{ $labels.device }} runs below its planned rate",
        meaning: "A link runs at less than any link of its tier was planned for. Collectives run at the speed of their slowest link.",
        look: "Lanes that are down, what the two ends negotiated, the breakout's configuration.",
        cure: "Mend the lane or the configuration; until then take the link out of service.",
        owner: NETWORK,
    }
}
