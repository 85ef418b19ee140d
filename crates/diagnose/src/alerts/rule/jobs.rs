//! Jobs that are slower, and series that are missing.

use super::{HOSTS, NETWORK};
use crate::alerts::record::STEP;
use crate::alerts::select::Select;
use crate::alerts::{Alert, Scope, Severity};
use crate::fabric::Cause;

/// How long Prometheus takes the last sample of a series for its value, in seconds.
const LOOKBACK: u32 = 300;

pub(in crate::alerts) fn alerts(select: &Select) -> Vec<Alert> {
    let up = select.all("xoff_port_up", "");
    vec![
        Alert {
            name: "XoffNoData",
            cause: Cause::Timeouts,
            scope: Scope::Fabric,
            severity: Severity::Critical,
            window: LOOKBACK,
            hold: 120,
            expression: format!("absent({up})"),
            threshold: "No port of the fabric reports, for two minutes beyond the five that Prometheus keeps a value.".to_owned(),
            summary: "no counters of {{ $labels.fabric }} arrive",
            meaning: "Prometheus has no series of this fabric: no other alert of it can fire.",
            look: "The exporters, Prometheus' targets, remote write, the management network.",
            cure: "Bring the counters back.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffSeriesMissing",
            cause: Cause::SwitchDown,
            scope: Scope::Device,
            severity: Severity::Warning,
            window: LOOKBACK,
            hold: 120,
            expression: format!(
                "count by (fabric, device) ({up} offset 10m unless on (fabric, device, port) {up}) > 0"
            ),
            threshold: "Any port that reported ten minutes ago and does not now.".to_owned(),
            summary: "{{ $labels.device }} no longer has counters that it had ten minutes ago",
            meaning: "A device or its exporter is gone: what is not counted is not watched.",
            look: "Whether the device answers, then its exporter.",
            cure: "Bring it back; until then no alert of that device means anything.",
            owner: NETWORK,
        },
        Alert {
            name: "XoffTrainingDegraded",
            cause: Cause::Straggler,
            scope: Scope::Job,
            severity: Severity::Warning,
            window: 300,
            hold: 120,
            expression: format!("{} > 1.2", select.all(STEP, "")),
            threshold: "A fifth above the median of the last hour. After half an hour the longer time is the median, and the alert \
                        ends."
                .to_owned(),
            summary: "steps of {{ $labels.job_name }} take a fifth longer than in the last hour",
            meaning: "Training is degraded. Whether the network is the reason is another question.",
            look: "`xoff diagnose` with the hour before as usual: it says `straggler` if the network shows nothing.",
            cure: "By what the diagnosis says.",
            owner: HOSTS,
        },
    ]
}
