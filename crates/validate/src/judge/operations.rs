//! Whether an operator would notice: the counters that move under each failure, and the alert to
//! set.

use super::Evidence;
use super::failures::FAILURES;
use super::words::some;
use crate::advice::Advice;
use crate::check::Check;
use crate::measure::{Counters, Measurement, PortFigures};
use crate::phase::Phase;
use crate::suite::UNDISTURBED;
use std::collections::BTreeSet;
use xoff_report::Verdict;

/// A counter that operators have, and when to alert on it.
struct Signal {
    /// Its names: on SONiC, and at the NIC where that has it.
    names: &'static str,
    /// The alert.
    alert: &'static str,
    /// Over all ports.
    total: fn(&Counters) -> u64,
    /// At one port, if ports have it.
    port: Option<fn(&PortFigures) -> u64>,
}

const SIGNALS: [Signal; 6] = [
    Signal {
        names: "IF_OUT_DISCARDS, link_down_events_phy",
        alert: "any discard on a fabric port within a minute, or a link that went down",
        total: |counters| counters.fault_drops + counters.lossless_drops,
        port: Some(|port| port.dropped),
    },
    Signal {
        names: "rx_crc_errors_phy, packet_seq_err",
        alert: "sequence errors on many NICs at once: look for CRC errors on a common link",
        total: |counters| counters.wire_drops,
        port: Some(|port| port.dropped),
    },
    Signal {
        names: "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
        alert: "any queue that the watchdog declared stuck",
        total: |counters| counters.watchdog,
        port: None,
    },
    Signal {
        names: "PFC_3_TX_PKTS, rx_prio3_pause",
        alert: "pause frames above the usual rate of that port for a minute",
        total: |counters| counters.xoff,
        port: Some(|port| port.xoff_sent + port.pauses_received),
    },
    Signal {
        names: "WRED_ECN_MARKED_PACKETS, np_ecn_marked_roce_packets",
        alert: "marks at a port above three times its usual share",
        total: |counters| counters.marks,
        port: Some(|port| port.marked),
    },
    Signal {
        names: "local_ack_timeout_err, out_of_sequence",
        alert: "timeouts or sequence errors on any NIC",
        total: |counters| counters.timeouts + counters.out_of_sequence,
        port: None,
    },
];

/// A counter has moved when it has grown by half, and not by chance.
fn moved(before: u64, after: u64) -> bool {
    after > before + before / 2 + 2
}

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(base) = evidence.get(UNDISTURBED) else { return Vec::new() };
    let found = FAILURES.iter().filter_map(|(id, what)| Some((id, what, evidence.get(id)?)));
    found.map(|(id, what, measured)| visible(id, what, base, measured)).collect()
}

fn visible(id: &str, what: &str, base: &Measurement, measured: &Measurement) -> Check {
    let mut seen = Vec::new();
    let mut alerts = Vec::new();
    let mut near = BTreeSet::new();
    for signal in &SIGNALS {
        let (before, after) = ((signal.total)(&base.totals), (signal.total)(&measured.totals));
        let places = signal.port.map_or(Vec::new(), |of| pointing(of, base, measured));
        if after == 0 || (!moved(before, after) && places.is_empty()) {
            continue;
        }
        let place =
            if places.is_empty() { String::new() } else { format!(" at {}", some(&places)) };
        match seen.is_empty() {
            true => seen.push(format!("{} ({before} to {after}){place}", signal.names)),
            false => seen.push(format!("also {} ({before} to {after})", signal.names)),
        }
        alerts.push(signal.alert);
        near.extend(places);
    }
    let verdict = if seen.is_empty() { Verdict::Warn } else { Verdict::Pass };
    let measured_words = match seen.is_empty() {
        true => "no counter moved".to_owned(),
        false => seen.join("; "),
    };
    let alert = alerts.first().map_or("none".to_owned(), |alert| (*alert).to_owned());
    Check::new(
        Phase::Operations,
        id.trim_start_matches("failure-"),
        format!("Counters show {what}"),
    )
    .from([id, UNDISTURBED])
    .done(format!("compared all counters with the undisturbed run; alert on {alert}"))
    .seen(measured_words, "a counter moves that an alert can watch, best at the port itself")
    .verdict(verdict)
    .places(near)
    .advise(Some(Advice::words(
        "alert on the times of collectives, too: they show what counters do not",
    )))
}

/// Ports at or next to what broke whose counter moved.
fn pointing(
    of: fn(&PortFigures) -> u64,
    base: &Measurement,
    measured: &Measurement,
) -> Vec<String> {
    let usual = |name: &str| base.ports.iter().find(|port| port.name == name).map_or(0, of);
    let near = measured.ports.iter().filter(|port| port.near);
    let hit = near.filter(|port| moved(usual(&port.name), of(port)));
    // Parallel cables have one name.
    let names: BTreeSet<&String> = hit.map(|port| &port.name).collect();
    names.into_iter().cloned().collect()
}
