//! What the dashboards show.

use super::Dashboard;
use super::panel::{Panel, Query, Variable};
use crate::alerts::record::{MARKED, PAUSED, RAIL, SENT, SPREAD, STEP, TIER, TIER_PAUSED, USED};

const FABRIC: Variable =
    Variable { name: "fabric", title: "Fabric", series: "xoff_port_up", several: false };
const DEVICE: Variable = Variable {
    name: "device",
    title: "Device",
    series: "xoff_port_up{fabric=\"$fabric\"}",
    several: true,
};
const PORT: Variable = Variable {
    name: "port",
    title: "Port",
    series: "xoff_port_up{fabric=\"$fabric\",device=~\"$device\"}",
    several: true,
};
const RAILS: Variable = Variable {
    name: "rail",
    title: "Rail",
    series: "xoff_port_up{fabric=\"$fabric\",rail!=\"\"}",
    several: true,
};
const HOST: Variable = Variable {
    name: "host",
    title: "Host",
    series: "xoff_port_up{fabric=\"$fabric\",host!=\"\"}",
    several: true,
};
const JOB: Variable = Variable {
    name: "job_name",
    title: "Job",
    series: "xoff_step_seconds{fabric=\"$fabric\"}",
    several: true,
};

pub(super) fn all() -> Vec<Dashboard> {
    vec![fleet(), fabric(), rail(), port(), host(), job()]
}

fn query(expression: impl Into<String>, legend: &'static str) -> Query {
    Query { expression: expression.into(), legend }
}

fn panel(
    title: &'static str,
    description: &'static str,
    unit: &'static str,
    queries: Vec<Query>,
) -> Panel {
    Panel { title, description, unit, queries }
}

/// The places of a dashboard's ports, with `more`.
fn of(series: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!("{series}{{fabric=\"$fabric\"{comma}{more}}}")
}

fn rate(metric: &str, more: &str) -> String {
    format!("rate({}[$__rate_interval])", of(metric, more))
}

/// The greatest twenty of what may be many.
fn most(expression: &str) -> String {
    format!("topk(20, {expression})")
}

fn fleet() -> Dashboard {
    let each = |metric: &str| format!("sum by (fabric) (rate({metric}[$__rate_interval]))");
    Dashboard {
        name: "fleet",
        title: "Fleet",
        description: "All fabrics: what fires, and how much each is used, paused and marked.",
        variables: Vec::new(),
        panels: vec![
            panel(
                "Alerts that fire",
                "Alerts of xoff that fire, by fabric and severity; 0 where none does.",
                "short",
                vec![query(
                    "count by (fabric, severity) (ALERTS{alertname=~\"Xoff.*\",alertstate=\"firing\"}) or sum by (fabric) \
                     (0 * xoff_port_up)",
                    "{{fabric}} {{severity}}",
                )],
            ),
            panel(
                "Ports that are down",
                "Ports whose link is down.",
                "short",
                vec![query(
                    "count by (fabric) (xoff_port_up) - sum by (fabric) (xoff_port_up)",
                    "{{fabric}}",
                )],
            ),
            panel(
                "Use of NICs",
                "Mean share of their rate that NICs send.",
                "percentunit",
                vec![query(format!("avg by (fabric) ({USED}{{tier=\"nic\"}})"), "{{fabric}}")],
            ),
            panel(
                "Most paused port",
                "Share of time for which the most paused port may not send.",
                "percentunit",
                vec![query(format!("max by (fabric) ({PAUSED})"), "{{fabric}}")],
            ),
            panel(
                "Lossless packets dropped",
                "Packets dropped for want of buffer; of lossless classes none should be.",
                "pps",
                vec![query(each("xoff_buffer_dropped_packets_total"), "{{fabric}}")],
            ),
            panel(
                "Packets sent again",
                "Packets that NICs sent a second time: what losses cost.",
                "pps",
                vec![query(each("xoff_retransmitted_packets_total"), "{{fabric}}")],
            ),
        ],
    }
}

fn fabric() -> Dashboard {
    let sum = |metric: &str| format!("sum by (tier) ({})", rate(metric, ""));
    Dashboard {
        name: "fabric",
        title: "Fabric",
        description: "One fabric, tier by tier: use, pauses, marks, drops and how evenly links are used.",
        variables: vec![FABRIC],
        panels: vec![
            panel(
                "Use of links",
                "Mean share of their rate that links from one tier to another carry.",
                "percentunit",
                vec![query(of(TIER, ""), "{{tier}} to {{peer_tier}}")],
            ),
            panel(
                "Most paused port",
                "Share of time for which the most paused port from one tier to another may not send.",
                "percentunit",
                vec![query(of(TIER_PAUSED, ""), "{{tier}} to {{peer_tier}}")],
            ),
            panel(
                "Marked packets",
                "Share of packets marked with congestion experienced: the ports with most.",
                "percentunit",
                vec![query(most(&of(MARKED, "")), "{{port}}")],
            ),
            panel(
                "Spread over links up",
                "Use of a switch's busiest link up over the mean of its links up: 1 is even.",
                "none",
                vec![query(most(&of(SPREAD, "")), "{{device}}")],
            ),
            panel(
                "Drops",
                "Packets dropped for want of buffer or of a route.",
                "pps",
                vec![
                    query(sum("xoff_buffer_dropped_packets_total"), "{{tier}}, buffer"),
                    query(sum("xoff_no_route_dropped_packets_total"), "{{tier}}, no route"),
                ],
            ),
            panel(
                "Longest queue",
                "Greatest length of an egress queue since the last scrape.",
                "bytes",
                vec![query(
                    most(&of("xoff_queue_watermark_bytes", "")),
                    "{{port}} class {{priority}}",
                )],
            ),
            panel(
                "Links that are down",
                "Ports whose link is down, by tier.",
                "short",
                vec![query(format!("sum by (tier) (1 - {})", of("xoff_port_up", "")), "{{tier}}")],
            ),
            panel(
                "Damaged packets",
                "Packets received damaged: the ports with most.",
                "pps",
                vec![query(most(&rate("xoff_crc_errors_total", "")), "{{port}}")],
            ),
        ],
    }
}

fn rail() -> Dashboard {
    let own = "rail=~\"$rail\"";
    let by = |metric: &str| format!("sum by (rail) ({})", rate(metric, own));
    Dashboard {
        name: "rail",
        title: "Rail",
        description: "The NICs of each rail side by side: a rail that differs has a fault of its own.",
        variables: vec![FABRIC, RAILS],
        panels: vec![
            panel(
                "Use of NICs",
                "Mean share of their rate that the NICs of a rail send.",
                "percentunit",
                vec![query(of(RAIL, own), "rail {{rail}}")],
            ),
            panel(
                "Bytes sent",
                "Bytes that the NICs of a rail send in a second.",
                "Bps",
                vec![query(format!("sum by (rail) ({})", of(SENT, own)), "rail {{rail}}")],
            ),
            panel(
                "Paused NICs",
                "Share of time for which the most paused NIC of a rail may not send.",
                "percentunit",
                vec![query(format!("max by (rail) ({})", of(PAUSED, own)), "rail {{rail}}")],
            ),
            panel(
                "Congestion notifications",
                "Notifications that the NICs of a rail sent and obeyed.",
                "pps",
                vec![
                    query(by("xoff_cnp_sent_packets_total"), "rail {{rail}} sent"),
                    query(by("xoff_cnp_handled_packets_total"), "rail {{rail}} obeyed"),
                ],
            ),
            panel(
                "Packets sent again",
                "Packets that the NICs of a rail sent a second time.",
                "pps",
                vec![query(by("xoff_retransmitted_packets_total"), "rail {{rail}}")],
            ),
            panel(
                "Timeouts",
                "Times a queue pair of a rail waited for an acknowledgement in vain.",
                "ops",
                vec![query(by("xoff_ack_timeouts_total"), "rail {{rail}}")],
            ),
        ],
    }
}

fn port() -> Dashboard {
    let own = "device=~\"$device\",port=~\"$port\"";
    let each = |metric: &str| most(&rate(metric, own));
    Dashboard {
        name: "port",
        title: "Port",
        description: "Ports of one device, class by class: what an alert about a port leads to.",
        variables: vec![FABRIC, DEVICE, PORT],
        panels: vec![
            panel(
                "Use",
                "Share of its link's rate that a port sends.",
                "percentunit",
                vec![query(most(&of(USED, own)), "{{port}}")],
            ),
            panel(
                "Paused",
                "Share of time for which received pauses kept a class from sending.",
                "percentunit",
                vec![query(each("xoff_paused_seconds_total"), "{{port}} class {{priority}}")],
            ),
            panel(
                "PFC frames",
                "Frames that pause a class, received and sent.",
                "pps",
                vec![
                    query(
                        each("xoff_pfc_received_frames_total"),
                        "{{port}} class {{priority}} received",
                    ),
                    query(each("xoff_pfc_sent_frames_total"), "{{port}} class {{priority}} sent"),
                ],
            ),
            panel(
                "Packets",
                "Packets sent and received: what leaves one end is to arrive at the other.",
                "pps",
                vec![
                    query(each("xoff_transmit_packets_total"), "{{port}} sent"),
                    query(each("xoff_receive_packets_total"), "{{port}} received"),
                ],
            ),
            panel(
                "Queue",
                "Greatest length of the egress queue since the last scrape.",
                "bytes",
                vec![query(
                    most(&of("xoff_queue_watermark_bytes", own)),
                    "{{port}} class {{priority}}",
                )],
            ),
            panel(
                "Marked packets",
                "Packets marked with congestion experienced on their way out.",
                "pps",
                vec![query(each("xoff_ecn_marked_packets_total"), "{{port}} class {{priority}}")],
            ),
            panel(
                "Drops",
                "Packets dropped for want of buffer.",
                "pps",
                vec![query(
                    each("xoff_buffer_dropped_packets_total"),
                    "{{port}} class {{priority}}",
                )],
            ),
            panel(
                "Link",
                "Damaged packets, and times the link went down.",
                "short",
                vec![
                    query(each("xoff_crc_errors_total"), "{{port}} damaged"),
                    query(
                        most(&format!(
                            "increase({}[$__rate_interval])",
                            of("xoff_link_down_events_total", own)
                        )),
                        "{{port}} down",
                    ),
                ],
            ),
        ],
    }
}

fn host() -> Dashboard {
    let own = "host=~\"$host\"";
    let by = |metric: &str| format!("sum by (host, device) ({})", rate(metric, own));
    Dashboard {
        name: "host",
        title: "Host",
        description: "The NICs of hosts: what they send, pause, are notified of and send again.",
        variables: vec![FABRIC, HOST],
        panels: vec![
            panel(
                "Bytes sent",
                "Bytes that a NIC sends in a second.",
                "Bps",
                vec![query(most(&of(SENT, own)), "{{device}}")],
            ),
            panel(
                "Pauses sent",
                "Share of time for which a NIC keeps its switch from sending: a host that is too slow.",
                "percentunit",
                vec![query(most(&by("xoff_pausing_seconds_total")), "{{device}}")],
            ),
            panel(
                "Congestion",
                "Marked packets received, and notifications sent for them.",
                "pps",
                vec![
                    query(most(&by("xoff_ecn_received_packets_total")), "{{device}} marked"),
                    query(most(&by("xoff_cnp_sent_packets_total")), "{{device}} notifications"),
                ],
            ),
            panel(
                "Reaction",
                "Notifications that a NIC obeyed, and those that it ignored.",
                "pps",
                vec![
                    query(most(&by("xoff_cnp_handled_packets_total")), "{{device}} obeyed"),
                    query(most(&by("xoff_cnp_ignored_packets_total")), "{{device}} ignored"),
                ],
            ),
            panel(
                "Packets sent again",
                "Packets that a NIC sent a second time, and packets that arrived with others missing.",
                "pps",
                vec![
                    query(most(&by("xoff_retransmitted_packets_total")), "{{device}} sent again"),
                    query(
                        most(&by("xoff_out_of_sequence_packets_total")),
                        "{{device}} out of sequence",
                    ),
                ],
            ),
            panel(
                "Timeouts and failures",
                "Acknowledgements waited for in vain, and queue pairs that gave up.",
                "ops",
                vec![
                    query(most(&by("xoff_ack_timeouts_total")), "{{device}} timeouts"),
                    query(most(&by("xoff_queue_pair_errors_total")), "{{device}} failures"),
                ],
            ),
        ],
    }
}

fn job() -> Dashboard {
    let own = "job_name=~\"$job_name\"";
    Dashboard {
        name: "job",
        title: "Job",
        description: "Jobs: how long steps take, and whether they are degraded.",
        variables: vec![FABRIC, JOB],
        panels: vec![
            panel(
                "Step time",
                "Time of the last training step.",
                "s",
                vec![query(of("xoff_step_seconds", own), "{{job_name}}")],
            ),
            panel(
                "Step time against the last hour",
                "Mean step time of five minutes over the median of the last hour; above 1.2 training is degraded.",
                "none",
                vec![query(of(STEP, own), "{{job_name}}")],
            ),
            panel(
                "Use of the fabric",
                "Mean share of their rate that links from one tier to another carry meanwhile.",
                "percentunit",
                vec![query(of(TIER, ""), "{{tier}} to {{peer_tier}}")],
            ),
            panel(
                "Most paused port",
                "Share of time for which the most paused port may not send meanwhile.",
                "percentunit",
                vec![query(of(TIER_PAUSED, ""), "{{tier}} to {{peer_tier}}")],
            ),
        ],
    }
}
