//! Recording rules: what alerts and dashboards both need, computed once. Names are `level:metric:operations`.

use super::select::{Select, WHOLE, uplinks};
use xoff_fabric::model::Fabric;

/// A series that Prometheus computes.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its name.
    pub name: &'static str,
    /// What it is, in PromQL.
    pub expression: String,
    /// What it is, in words.
    pub meaning: &'static str,
}

/// Bytes that a port sends in a second.
pub(super) const SENT: &str = "port:xoff_transmit_bytes:rate5m";
/// Share of a link's rate that a port sends.
pub(super) const USED: &str = "port:xoff_transmit_utilisation:ratio_rate5m";
/// Share of time for which a priority of a port may not send: the worst priority.
pub(super) const PAUSED: &str = "port:xoff_paused:ratio_rate1m";
/// Share of the packets of a port that it marks.
pub(super) const MARKED: &str = "port:xoff_ecn_marked:ratio_rate5m";
/// Share of a NIC's bytes in classes that are not lossless.
pub(super) const STRAY: &str = "port:xoff_stray_bytes:ratio_rate5m";
/// Use of the NICs of a rail.
pub(super) const RAIL: &str = "rail:xoff_transmit_utilisation:avg_rate5m";
/// Use of the links between two tiers.
pub(super) const TIER: &str = "tier:xoff_transmit_utilisation:avg_rate5m";
/// Pauses of a tier.
pub(super) const TIER_PAUSED: &str = "tier:xoff_paused:max_rate1m";
/// The busiest link up of a switch over their mean.
pub(super) const SPREAD: &str = "device:xoff_uplink_spread:ratio_rate5m";
/// The time of a job's steps over its median of the last hour.
pub(super) const STEP: &str = "job:xoff_step_seconds:ratio_median1h";

/// The recording rules of a fabric whose series call it `name`, in the order in which they use each other.
pub fn recorded(fabric: &Fabric, name: &str) -> Vec<Record> {
    let select = Select::new(fabric, name);
    let mut all = ports(&select);
    all.extend(aggregates(&select));
    let pairs = uplinks(fabric);
    if !pairs.is_empty() {
        let part = |(from, to, _): &(_, _, _)| {
            let used = select.all(USED, &links_between(*from, *to));
            format!("max by (fabric, device) ({used}) / avg by (fabric, device) ({used})")
        };
        all.push(Record {
            name: SPREAD,
            expression: pairs.iter().map(part).collect::<Vec<_>>().join(" or "),
            meaning: "Use of a switch's busiest link up, over the mean of its links up: 1 is even.",
        });
    }
    let step = select.all("xoff_step_seconds", "");
    all.push(Record {
        name: STEP,
        expression: format!(
            "avg by (fabric, job_name) (avg_over_time({step}[5m])) / avg by (fabric, job_name) \
             (quantile_over_time(0.5, {step}[1h]))"
        ),
        meaning: "Mean time of a job's steps in five minutes, over its median of the last hour.",
    });
    all
}

/// The labels of links from one tier to another.
pub(super) fn links_between(
    from: xoff_fabric::model::Tier,
    to: xoff_fabric::model::Tier,
) -> String {
    format!("tier=\"{}\",peer_tier=\"{}\"", from.name(), to.name())
}

fn ports(select: &Select) -> Vec<Record> {
    let of = |metric: &str| select.all(metric, "");
    let (sent, packets) = (of("xoff_transmit_bytes_total"), of("xoff_transmit_packets_total"));
    let (speed, paused) = (of("xoff_port_speed_bits_per_second"), of("xoff_paused_seconds_total"));
    let marked = of("xoff_ecn_marked_packets_total");
    let stray = select.stray("xoff_transmit_bytes_total");
    let nics = select.all("xoff_transmit_bytes_total", "tier=\"nic\"");
    vec![
        Record {
            name: SENT,
            expression: format!("sum {WHOLE} (rate({sent}[5m]))"),
            meaning: "Bytes that a port sends in a second.",
        },
        Record {
            name: USED,
            expression: format!("8 * {} / max {WHOLE} ({speed})", of(SENT)),
            meaning: "Share of its link's rate that a port sends.",
        },
        Record {
            name: PAUSED,
            expression: format!("max {WHOLE} (rate({paused}[1m]))"),
            meaning: "Share of time for which a port may not send in its most paused priority.",
        },
        Record {
            name: MARKED,
            expression: format!(
                "sum {WHOLE} (rate({marked}[5m])) / sum {WHOLE} (rate({packets}[5m]))"
            ),
            meaning: "Share of the packets of a switch's port that it marks.",
        },
        Record {
            name: STRAY,
            expression: format!("sum {WHOLE} (rate({stray}[5m])) / sum {WHOLE} (rate({nics}[5m]))"),
            meaning: "Share of a NIC's bytes in classes that are not lossless.",
        },
    ]
}

fn aggregates(select: &Select) -> Vec<Record> {
    let used = select.all(USED, "");
    vec![
        Record {
            name: RAIL,
            expression: format!("avg by (fabric, rail) ({})", select.all(USED, "rail!=\"\"")),
            meaning: "Mean use of the NICs of a rail.",
        },
        Record {
            name: TIER,
            expression: format!("avg by (fabric, tier, peer_tier) ({used})"),
            meaning: "Mean use of the links from one tier to another.",
        },
        Record {
            name: TIER_PAUSED,
            expression: format!("max by (fabric, tier, peer_tier) ({})", select.all(PAUSED, "")),
            meaning: "The most paused port from one tier to another.",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::tests::fabric;

    #[test]
    fn names_are_levels_metrics_and_operations() {
        let all = recorded(&fabric(), "pod");
        for (at, record) in all.iter().enumerate() {
            let parts: Vec<&str> = record.name.split(':').collect();
            assert!(parts.len() == 3 && parts[1].starts_with("xoff_"), "{}", record.name);
            // What a rule uses was computed before it.
            let later = &all[at..];
            assert!(!later.iter().any(|other| record.expression.contains(other.name)));
        }
    }
}
