//! Alerts for a fabric: what Prometheus is to watch for, with thresholds from the fabric file and a page of what to do for each.
//!
//! An [`Alert`] is about a [`Cause`], the same that [`fabric::diagnose`](crate::fabric::diagnose) gives: an alert says that something
//! is wrong, the diagnosis what and where. [`rules`] is a rule file of Prometheus, [`runbook`] the page of one alert.

use crate::fabric::Cause;
use std::fmt::Write;
use xoff_fabric::model::{Fabric, PortId, Tier};

/// How urgent an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// A job stands still or dies of it: somebody gets up.
    Critical,
    /// Training is slower, or the next fault is not survived: this working day.
    Warning,
}

impl Severity {
    /// The value of the label.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
        }
    }
}

/// One alert.
#[derive(Debug, Clone)]
pub struct Alert {
    /// Its name in Prometheus.
    pub name: &'static str,
    /// What it is about.
    pub cause: Cause,
    /// How urgent it is.
    pub severity: Severity,
    /// How long it must hold, in seconds.
    pub hold: u32,
    /// When it fires, in PromQL.
    pub expression: String,
    /// One line about one place, with labels as `{{ $labels.port }}`.
    pub summary: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to look at.
    pub look: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// Who mends it.
    pub owner: &'static str,
}

/// The alerts of a fabric whose series call it `name`.
pub fn alerts(fabric: &Fabric, name: &str) -> Vec<Alert> {
    let select = Select { fabric: escaped(name), class: fabric.data_class.0 };
    let mut all = links(&select);
    all.extend(slow_links(fabric, &select));
    all.extend(pauses(&select));
    all.extend(congestion(fabric, &select));
    all.extend(hosts(&select));
    all.extend(jobs(&select));
    all
}

/// Selects series of the fabric.
struct Select {
    fabric: String,
    class: u8,
}

impl Select {
    /// A metric, with more labels like `tier="nic"`.
    fn all(&self, metric: &str, more: &str) -> String {
        let comma = if more.is_empty() { "" } else { "," };
        format!("{metric}{{fabric=\"{}\"{comma}{more}}}", self.fabric)
    }

    /// The same in the class of the data.
    fn data(&self, metric: &str) -> String {
        self.all(metric, &format!("priority=\"{}\"", self.class))
    }
}

/// By port.
const PORT: &str = "sum by (fabric, device, port, peer)";
/// The team of the network, and that of the hosts.
const NETWORK: &str = "network";
const HOSTS: &str = "hosts";

fn links(select: &Select) -> Vec<Alert> {
    let up = select.all("xoff_port_up", "");
    let downs = select.all("xoff_link_down_events_total", "");
    let crc = select.all("xoff_crc_errors_total", "");
    let received = select.all("xoff_receive_packets_total", "");
    vec![
        Alert {
            name: "XoffSwitchDown",
            cause: Cause::SwitchDown,
            severity: Severity::Critical,
            hold: 30,
            expression: format!(
                "sum by (fabric, peer) ({up}) == 0 and count by (fabric, peer) ({up}) > 1"
            ),
            summary: "all links to {{ $labels.peer }} are down",
            meaning: "Every link to this device is down, as its neighbours see it. Jobs of single-homed servers below it die.",
            look: "Whether it answers on its management port, its power supplies, its console.",
            cure: "Bring it back, or move what hangs on it. Jobs that died restart from their checkpoint.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffLinkDown",
            cause: Cause::LinkDown,
            severity: Severity::Warning,
            hold: 30,
            expression: format!("{up} == 0"),
            summary: "{{ $labels.port }} of {{ $labels.device }} is down",
            meaning: "A link is down. Between switches others carry its traffic; of a server, its job has lost a NIC.",
            look: "The optic at both ends (light received, temperature), the cable, and whether the other end is down, too.",
            cure: "Reseat or replace the optic or cable.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffLinkFlaps",
            cause: Cause::LinkFlaps,
            severity: Severity::Warning,
            hold: 0,
            expression: format!("increase({downs}[15m]) > 1.5"),
            summary: "{{ $labels.port }} of {{ $labels.device }} goes down again and again",
            meaning: "A link goes down and comes up. Each time routes change and packets are lost; that hurts more than a link that stays down.",
            look: "Code words that FEC corrects, the optic's temperature, how the cable lies.",
            cure: "Take the link out of service first, then replace optic or cable.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffDamagedPackets",
            cause: Cause::BadOptic,
            severity: Severity::Warning,
            hold: 60,
            expression: format!("{PORT} (rate({crc}[5m])) > 1e-7 * {PORT} (rate({received}[5m]))"),
            summary: "{{ $labels.device }} receives damaged packets at {{ $labels.port }}",
            meaning: "A cable or optic damages packets. RoCE sends a window again for each; 1 in 10,000 already costs much of the bandwidth.",
            look: "FEC counters before and after correction, light received, dirt on the connectors.",
            cure: "Take the link out of service; clean, then replace optic or cable.",
            owner: NETWORK,
        },
    ]
}

/// Links below the slowest that was planned for their tier.
fn slow_links(fabric: &Fabric, select: &Select) -> Vec<Alert> {
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
        Some(format!("0 < {speed} < {}", slowest(tier)?))
    });
    let parts: Vec<String> = parts.collect();
    vec![Alert {
        name: "XoffSlowLink",
        cause: Cause::SlowLink,
        severity: Severity::Warning,
        hold: 60,
        expression: parts.join(" or "),
        summary: "{{ $labels.port }} of {{ $labels.device }} runs below its planned rate",
        meaning: "A link runs at less than any link of its tier was planned for. Collectives run at the speed of their slowest link.",
        look: "Lanes that are down, what the two ends negotiated, the breakout's configuration.",
        cure: "Mend the lane or the configuration; until then take the link out of service.",
        owner: NETWORK,
    }]
}

fn pauses(select: &Select) -> Vec<Alert> {
    let paused = select.all("xoff_paused_seconds_total", "");
    let pausing = select.all("xoff_pausing_seconds_total", "tier=\"nic\"");
    let watchdog = select.all("xoff_pfc_watchdog_events_total", "");
    vec![
        Alert {
            name: "XoffPauseStorm",
            cause: Cause::PauseStorm,
            severity: Severity::Critical,
            hold: 30,
            expression: format!("{PORT} (rate({paused}[1m])) > 0.8"),
            summary: "{{ $labels.port }} of {{ $labels.device }} is paused nearly all the time",
            meaning: "A port may hardly send. Where it leads to a NIC, that NIC holds the fabric up; between switches it is a victim, and the root is further on.",
            look: "`xoff diagnose` follows the pauses to their root: usually one NIC whose host hangs.",
            cure: "Take the NIC at the root out of service (shut its switch port), then reset its host.",
            owner: HOSTS,
        },
        Alert {
            name: "XoffNicPauses",
            cause: Cause::SlowReceiver,
            severity: Severity::Warning,
            hold: 60,
            expression: format!("{PORT} (rate({pausing}[5m])) > 0.02"),
            summary: "{{ $labels.device }} pauses its switch",
            meaning: "A NIC takes less than its link brings: its PCIe slot, its memory or its host is slow. Its pauses spread to others.",
            look: "PCIe width and speed, relaxed ordering, IOMMU, `xoff_pcie_stalled_ratio`, the NUMA node of its buffers.",
            cure: "Mend the host's settings; drain it from jobs until then.",
            owner: HOSTS,
        },
        Alert {
            name: "XoffWatchdog",
            cause: Cause::PauseStorm,
            severity: Severity::Critical,
            hold: 0,
            expression: format!("increase({watchdog}[5m]) > 0"),
            summary: "the PFC watchdog of {{ $labels.device }} acted at {{ $labels.port }}",
            meaning: "A queue was stuck for so long that the switch dropped what it held. Queue pairs send again, or fail.",
            look: "Which NIC the port leads to; whether pauses come from further on (`xoff diagnose`).",
            cure: "As for a pause storm.",
            owner: HOSTS,
        },
    ]
}

fn congestion(fabric: &Fabric, select: &Select) -> Vec<Alert> {
    let drops = select.data("xoff_buffer_dropped_packets_total");
    let queue = select.data("xoff_queue_watermark_bytes");
    let marked = select.data("xoff_ecn_marked_packets_total");
    let up = select.all("xoff_transmit_bytes_total", "tier=\"leaf\",peer_tier=\"spine\"");
    let mut all = Vec::new();
    if fabric.classes[fabric.data_class.index()].lossless {
        all.push(Alert {
            name: "XoffLosslessDrops",
            cause: Cause::HeadroomTooSmall,
            severity: Severity::Critical,
            hold: 0,
            expression: format!("{PORT} (increase({drops}[5m])) > 0"),
            summary: "{{ $labels.device }} dropped lossless packets at {{ $labels.port }}",
            meaning: "A class that must not lose packets did: PFC is off somewhere, or the headroom does not hold what is on the cable.",
            look: "PFC on both ends of the link, the headroom against the cable's length (`xoff check`), `xoff audit`.",
            cure: "Configure the port as the fabric file says (`xoff config --diff`).",
            owner: NETWORK,
        });
    }
    let kmax = fabric.ports.iter().filter_map(|port| port.classes[fabric.data_class.index()].ecn);
    if let Some(kmax) = kmax.map(|ecn| ecn.kmax.get()).max() {
        all.push(Alert {
            name: "XoffMarksMissing",
            cause: Cause::EcnOff,
            severity: Severity::Warning,
            hold: 60,
            expression: format!(
                "max by (fabric, device, port, peer) (max_over_time({queue}[5m])) > {} unless {PORT} \
                 (rate({marked}[5m])) > 0",
                kmax + kmax / 2
            ),
            summary: "{{ $labels.device }} does not mark at {{ $labels.port }}",
            meaning: "A queue grew far beyond Kmax and nothing was marked: senders are stopped by pauses instead of slowing down.",
            look: "ECN on that queue: enabled, thresholds, the queue that RDMA really uses.",
            cure: "Configure the port as the fabric file says (`xoff config --diff`).",
            owner: NETWORK,
        });
    }
    all.push(Alert {
        name: "XoffUnevenLinks",
        cause: Cause::UnevenLinks,
        severity: Severity::Warning,
        hold: 300,
        expression: format!(
            "max by (fabric, device) ({PORT} (rate({up}[5m]))) > 2 * avg by (fabric, device) ({PORT} \
             (rate({up}[5m])))"
        ),
        summary: "{{ $labels.device }} uses one of its links up twice as much as the others",
        meaning: "Flows collide on a link while others are idle: the hash sees too little, or routes are missing.",
        look: "Hash fields, queue pairs per connection, routes of that switch.",
        cure: "More entropy (queue pairs, hash on the queue pair) or adaptive balancing.",
        owner: NETWORK,
    });
    all
}

fn hosts(select: &Select) -> Vec<Alert> {
    let of = |metric: &str| select.all(metric, "");
    let (ignored, handled) =
        (of("xoff_cnp_ignored_packets_total"), of("xoff_cnp_handled_packets_total"));
    let (marks, cnps) = (of("xoff_ecn_received_packets_total"), of("xoff_cnp_sent_packets_total"));
    let (errors, timeouts) = (of("xoff_queue_pair_errors_total"), of("xoff_ack_timeouts_total"));
    let alert = |name, cause, severity, hold, expression, summary| Alert {
        name,
        cause,
        severity,
        hold,
        expression,
        summary,
        meaning: "",
        look: "",
        cure: "",
        owner: HOSTS,
    };
    vec![
        Alert {
            meaning: "A sender does not slow down when it is told to: others do in its place.",
            look: "DCQCN's reaction point on that NIC and priority (`mlnx_qos`, `cma_roce_tos`, firmware settings).",
            cure: "Enable it as on the other hosts (`xoff config` writes the host's script).",
            ..alert(
                "XoffNotificationsIgnored",
                Cause::CongestionControlOff,
                Severity::Warning,
                60,
                format!("rate({ignored}[5m]) > rate({handled}[5m])"),
                "{{ $labels.device }} ignores congestion notifications",
            )
        },
        Alert {
            meaning: "A receiver sees marked packets and notifies nobody: senders are not slowed down.",
            look: "DCQCN's notification point on that NIC and priority.",
            cure: "Enable it as on the other hosts.",
            ..alert(
                "XoffNotificationsMissing",
                Cause::NotificationOff,
                Severity::Warning,
                60,
                format!("rate({marks}[5m]) > 0 unless rate({cnps}[5m]) > 0"),
                "{{ $labels.device }} does not notify senders of congestion",
            )
        },
        Alert {
            meaning: "A queue pair gave up after its retries: its job is about to die, or has.",
            look: "`xoff diagnose`: a link or switch that is down, a link that swallows packets, a storm.",
            cure: "Mend the cause; the job restarts from its checkpoint.",
            ..alert(
                "XoffQueuePairErrors",
                Cause::Timeouts,
                Severity::Critical,
                0,
                format!("increase({errors}[5m]) > 0"),
                "queue pairs of {{ $labels.device }} gave up",
            )
        },
        Alert {
            meaning: "Packets or their acknowledgements get lost, and nothing repaired it before the timeout.",
            look: "`xoff diagnose`: damaged packets, a link that swallows packets, drops.",
            cure: "Mend the cause.",
            ..alert(
                "XoffTimeouts",
                Cause::Timeouts,
                Severity::Warning,
                60,
                format!("rate({timeouts}[5m]) > 0"),
                "queue pairs of {{ $labels.device }} time out",
            )
        },
    ]
}

fn jobs(select: &Select) -> Vec<Alert> {
    let up = select.all("xoff_port_up", "");
    let step = select.all("xoff_step_seconds", "");
    vec![
        Alert {
            name: "XoffSeriesMissing",
            cause: Cause::SwitchDown,
            severity: Severity::Warning,
            hold: 120,
            expression: format!(
                "count by (fabric, device) ({up} offset 10m unless on (fabric, device, port) {up}) > 0"
            ),
            summary: "{{ $labels.device }} no longer has counters that it had ten minutes ago",
            meaning: "A device or its exporter is gone, or PFC was switched off on a priority: what is not counted is not watched.",
            look: "Whether the device answers, then its exporter.",
            cure: "Bring it back; until then no alert of that device means anything.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffTrainingDegraded",
            cause: Cause::Straggler,
            severity: Severity::Warning,
            hold: 300,
            expression: format!(
                "avg by (fabric, job_name) (avg_over_time({step}[10m])) > 1.2 * avg by (fabric, job_name) \
                 (avg_over_time({step}[1h] offset 10m))"
            ),
            summary: "steps of {{ $labels.job_name }} take a fifth longer than in the hour before",
            meaning: "Training is degraded. Whether the network is the reason is another question.",
            look: "`xoff diagnose` with the hour before as usual: it says `straggler` if the network shows nothing.",
            cure: "By what the diagnosis says.",
            owner: HOSTS,
        },
    ]
}

/// A rule file of Prometheus. `runbooks` is the address under which the pages of the alerts are.
pub fn rules(alerts: &[Alert], runbooks: &str) -> String {
    let mut text = String::from("groups:\n- name: xoff\n  rules:\n");
    for alert in alerts {
        let hold =
            if alert.hold > 0 { format!("  for: {}s\n  ", alert.hold) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "  - alert: {}\n    expr: {}\n  {hold}  labels:\n      severity: {}\n      owner: {}\n    \
             annotations:\n      summary: {}\n      description: {}\n      runbook_url: {}\n",
            alert.name,
            quoted(&alert.expression),
            alert.severity.word(),
            alert.owner,
            quoted(alert.summary),
            quoted(alert.meaning),
            quoted(&format!("{}/{}.md", runbooks.trim_end_matches('/'), alert.name)),
        );
    }
    text
}

/// The page of an alert.
pub fn runbook(alert: &Alert) -> String {
    let urgent = match alert.severity {
        Severity::Critical => "Critical: a job stands still or dies of it.",
        Severity::Warning => {
            "Warning: training is slower, or the next fault is not survived; this working day."
        }
    };
    format!(
        "# {}\n\n{urgent} Owner: {}.\n\n## What it means\n\n{}\n\n## What to look at\n\n{}\n\n## What to do\n\n{}\n\n\
         ## When it fires\n\nAfter {} s of\n\n```\n{}\n```\n",
        alert.name,
        alert.owner,
        alert.meaning,
        alert.look,
        alert.cure,
        alert.hold,
        alert.expression
    )
}

/// A value of a label within quotes of PromQL.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A text in double quotes, as YAML reads it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn fabric() -> Fabric {
        let text = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
        xoff_fabric::load_fabric(text).into_result().expect("a fabric").fabric
    }

    #[test]
    fn every_alert_has_a_name_of_its_own_and_a_whole_page() {
        let all = alerts(&fabric(), "pod");
        let names: BTreeSet<&str> = all.iter().map(|alert| alert.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() >= 15, "{}", all.len());
        for alert in &all {
            for part in [alert.summary, alert.meaning, alert.look, alert.cure, alert.owner] {
                assert!(!part.is_empty(), "{}", alert.name);
            }
            assert!(alert.expression.contains("fabric=\"pod\""), "{}", alert.expression);
            let page = runbook(alert);
            assert!(page.contains(&alert.expression) && page.contains(alert.cure));
        }
    }

    /// Thresholds are those of the file.
    #[test]
    fn thresholds_come_from_the_fabric() {
        let slow = |fabric: &Fabric| {
            let all = alerts(fabric, "pod");
            let alert = all.into_iter().find(|alert| alert.name == "XoffSlowLink");
            alert.expect("an alert").expression
        };
        assert!(slow(&fabric()).contains("tier=\"nic\"} < 400000000000"), "{}", slow(&fabric()));
        let slower = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
        let slower = xoff_fabric::load_fabric(slower).into_result().expect("a fabric").fabric;
        assert!(slow(&slower).contains("tier=\"nic\"} < 100000000000"), "{}", slow(&slower));
        assert!(!slow(&slower).contains("spine"), "a tier that is not there");
    }

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        let all = alerts(&fabric(), "a\"} or up{x=\"");
        assert!(
            all.iter().all(|alert| alert.expression.contains("fabric=\"a\\\"} or up{x=\\\"\""))
        );
        let text = rules(&all, "https://example.org/");
        assert!(text.contains("runbook_url: \"https://example.org/XoffLinkDown.md\""), "{text}");
    }
}
