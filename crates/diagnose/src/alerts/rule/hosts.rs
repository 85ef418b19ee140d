//! What the counters of NICs show of their settings and of what failed.

use super::HOSTS;
use crate::alerts::record::STRAY;
use crate::alerts::select::{PORT, Select};
use crate::alerts::{Alert, Scope, Severity};
use crate::fabric::Cause;
use xoff_fabric::model::Fabric;
use xoff_transport::config::{Congestion, Notification};

pub(in crate::alerts) fn alerts(fabric: &Fabric, select: &Select) -> Vec<Alert> {
    let mut all = Vec::new();
    let every = |is: fn(&xoff_fabric::model::Nic) -> bool| fabric.nics.iter().all(is);
    // What the plan does without is not missed.
    if every(|nic| matches!(nic.qp.congestion, Congestion::Dcqcn(_))) {
        all.push(ignored(select));
    }
    if every(|nic| nic.qp.notification == Notification::Cnp) && fabric.marking.notify.is_none() {
        all.push(unsent(select));
    }
    if fabric.classes[fabric.data_class.index()].lossless {
        all.push(stray(select));
    }
    all.extend(failures(select));
    all
}

fn ignored(select: &Select) -> Alert {
    let of = |metric: &str| select.all(metric, "");
    let (ignored, handled) =
        (of("xoff_cnp_ignored_packets_total"), of("xoff_cnp_handled_packets_total"));
    Alert {
        name: "XoffNotificationsIgnored",
        cause: Cause::CongestionControlOff,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!("sum {PORT} (rate({ignored}[5m])) > sum {PORT} (rate({handled}[5m]))"),
        threshold: "More are ignored than obeyed.".to_owned(),
        summary: "{{ $labels.device }} ignores congestion notifications",
        meaning: "A sender does not slow down when it is notified: others do in its place.",
        look: "DCQCN's reaction point on that NIC and priority (`mlnx_qos`, `cma_roce_tos`, firmware settings).",
        cure: "Enable it as on the other hosts (`xoff config` writes the host's script).",
        owner: HOSTS,
    }
}

fn unsent(select: &Select) -> Alert {
    let of = |metric: &str| select.all(metric, "");
    let (marks, cnps) = (of("xoff_ecn_received_packets_total"), of("xoff_cnp_sent_packets_total"));
    Alert {
        name: "XoffNotificationsMissing",
        cause: Cause::NotificationOff,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!(
            "sum {PORT} (rate({marks}[5m])) > 0 unless sum {PORT} (rate({cnps}[5m])) > 0"
        ),
        threshold: "Marked packets in five minutes, and no notification.".to_owned(),
        summary: "{{ $labels.device }} does not notify senders of congestion",
        meaning: "A receiver gets marked packets and sends no notification: senders are not slowed down.",
        look: "DCQCN's notification point on that NIC and priority.",
        cure: "Enable it as on the other hosts.",
        owner: HOSTS,
    }
}

fn stray(select: &Select) -> Alert {
    let share = select.all(STRAY, "");
    let bytes = select.stray("xoff_transmit_bytes_total");
    let speed = select.all("xoff_port_speed_bits_per_second", "tier=\"nic\"");
    Alert {
        name: "XoffWrongClass",
        cause: Cause::WrongClass,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!(
            "max {PORT} ({share}) > 0.2 and max {PORT} ({share}) > on (fabric) group_left () (3 * quantile by (fabric) (0.5, \
             {share})) and 8 * sum {PORT} (rate({bytes}[5m])) > 0.02 * max {PORT} ({speed})"
        ),
        threshold: "A fifth of its bytes and 2 % of its rate in classes that the fabric file does not make lossless, three times \
                    what the median NIC has."
            .to_owned(),
        summary: "{{ $labels.device }} sends much outside of the lossless classes",
        meaning: "RDMA leaves a host in a class that PFC does not protect: it loses packets under load, and slows down what belongs there.",
        look: "DSCP and traffic class on that host (`cma_roce_tos`, `NCCL_IB_TC`), and whether its switch port trusts DSCP.",
        cure: "Set the host as the fabric file says (`xoff config` writes the host's script).",
        owner: HOSTS,
    }
}

fn failures(select: &Select) -> Vec<Alert> {
    let of = |metric: &str| select.all(metric, "");
    let (errors, timeouts) = (of("xoff_queue_pair_errors_total"), of("xoff_ack_timeouts_total"));
    vec![
        Alert {
            name: "XoffQueuePairErrors",
            cause: Cause::Timeouts,
            scope: Scope::Port,
            severity: Severity::Critical,
            window: 60,
            hold: 0,
            expression: format!("sum {PORT} (increase({errors}[5m])) > 0"),
            threshold: "Any.".to_owned(),
            summary: "queue pairs of {{ $labels.device }} gave up",
            meaning: "A queue pair gave up after its retries: its job is about to fail, or has.",
            look: "`xoff diagnose`: a link or switch that is down, a link that swallows packets, a storm.",
            cure: "Mend the cause; the job restarts from its checkpoint.",
            owner: HOSTS,
        },
        Alert {
            name: "XoffTimeouts",
            cause: Cause::Timeouts,
            scope: Scope::Port,
            severity: Severity::Warning,
            window: 300,
            hold: 60,
            expression: format!("sum {PORT} (rate({timeouts}[5m])) > 0"),
            threshold: "Any for a minute.".to_owned(),
            summary: "queue pairs of {{ $labels.device }} time out",
            meaning: "Packets or their acknowledgements get lost, and nothing repaired it before the timeout.",
            look: "`xoff diagnose`: damaged packets, a link that swallows packets, drops.",
            cure: "Mend the cause.",
            owner: HOSTS,
        },
    ]
}
