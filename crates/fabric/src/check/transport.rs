//! `[transport]`: settings a queue pair cannot run with.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::network::Network;
use xoff_transport::config::{Congestion, Dcqcn, Framing, Notification, QpConfig, Recovery};
use xoff_units::{Bytes, Ratio, Span};

/// The MTUs that InfiniBand transport knows.
const STANDARD_MTUS: [u64; 5] = [256, 512, 1024, 2048, 4096];

pub(super) fn check(qp: &QpConfig, report: &mut Report<'_>) {
    mtu(qp, report);
    recovery(qp, report);
    framing(&qp.framing, report);
    congestion(&qp.congestion, report);
}

fn mtu(qp: &QpConfig, report: &mut Report<'_>) {
    let mtu = qp.mtu.get();
    if !(64..=9000).contains(&mtu) {
        report.error(
            code::IMPOSSIBLE,
            keys!["transport", "mtu"],
            format!("packets cannot carry {}", qp.mtu),
            "use 256, 512, 1024, 2048 or 4096 bytes, like \"4096B\"",
        );
    } else if !STANDARD_MTUS.contains(&mtu) && written(report, "mtu") {
        report.warn(
            code::UNUSUAL,
            keys!["transport", "mtu"],
            format!("{mtu} bytes is no MTU that RDMA NICs have"),
            "they have 256, 512, 1024, 2048 and 4096",
        );
    }
}

/// Acknowledgements, timeouts and what congestion control needs to know of them.
fn recovery(qp: &QpConfig, report: &mut Report<'_>) {
    if qp.ack_every == 0 {
        report.error(
            code::IMPOSSIBLE,
            keys!["transport", "ack-every"],
            "without acknowledgements nothing ever completes",
            "give 1 or more",
        );
    }
    if qp.timeout.is_zero() {
        report.error(
            code::IMPOSSIBLE,
            keys!["transport", "timeout"],
            "without a timeout a lost last packet is never sent again",
            "use several round trips and more than full buffers take to drain, like \"67ms\"",
        );
    }
    if qp.congestion.counts_flight() && qp.recovery == Recovery::GoBackN {
        report.error(
            code::IMPOSSIBLE,
            keys!["transport", "recovery"],
            "this congestion control counts what is in flight, and go-back-n does not know it",
            "use \"selective-repeat\"",
        );
    }
    if qp.congestion.needs_echo()
        && qp.notification == Notification::Cnp
        && written(report, "notification")
    {
        report.error(
            code::IMPOSSIBLE,
            keys!["transport", "notification"],
            "this congestion control counts the share of marked packets, which CNPs do not report",
            "use \"echo-in-ack\", or leave the key out",
        );
    }
    if qp.retry_limit > 7 && written(report, "retry-limit") && is_roce(report) {
        report.warn(
            code::UNUSUAL,
            keys!["transport", "retry-limit"],
            format!("{} retries: queue pairs of real NICs count to 7", qp.retry_limit),
            "the field has three bits; a longer `timeout` waits longer",
        );
    }
}

fn framing(framing: &Framing, report: &mut Report<'_>) {
    for (key, size) in [
        ("header", framing.header),
        ("ack", framing.ack),
        ("cnp", framing.cnp),
        ("gap", framing.gap),
    ] {
        if size > Bytes::new(1024) {
            report.error(
                code::IMPOSSIBLE,
                keys!["transport", "framing", key],
                format!("{size} is too much for `{key}`"),
                "headers, acknowledgements and gaps take less than 1KiB",
            );
        }
    }
}

/// Whether the transport has InfiniBand's headers.
fn is_roce(report: &Report<'_>) -> bool {
    let kind = report.document().get(keys!["transport", "kind"]);
    let named = kind.and_then(|node| Network::named(node.value.as_text()?));
    matches!(named.unwrap_or_default(), Network::Roce | Network::RoceV1 | Network::Infiniband)
}

/// Whether the user wrote this key, not a profile.
fn written(report: &Report<'_>, key: &str) -> bool {
    let node = report.document().get(keys!["transport", key]);
    node.is_some_and(|node| node.place.origin.is_some())
}

fn congestion(congestion: &Congestion, report: &mut Report<'_>) {
    match congestion {
        Congestion::None => {}
        Congestion::Dcqcn(dcqcn) => self::dcqcn(dcqcn, report),
        Congestion::Hpcc(hpcc) => {
            share("eta", hpcc.eta, report);
            if hpcc.eta.is_zero() {
                zero("eta", "a target utilisation of zero allows no traffic", report);
            }
        }
        Congestion::Timely(timely) => {
            share("ewma", timely.ewma, report);
            share("beta", timely.beta, report);
            if timely.t_low > timely.t_high {
                report.error(
                    code::IMPOSSIBLE,
                    keys!["transport", "congestion", "t-low"],
                    format!("t-low ({}) is above t-high ({})", timely.t_low, timely.t_high),
                    "the rate grows below t-low and falls above t-high",
                );
            }
        }
        Congestion::Swift(swift) => {
            share("beta", swift.beta, report);
            share("largest-cut", swift.largest_cut, report);
        }
        Congestion::Dctcp(dctcp) => share("g", dctcp.g, report),
        Congestion::Cubic(cubic) => {
            share("beta", cubic.beta, report);
            if cubic.c.is_zero() {
                zero("c", "a cubic that does not grow", report);
            }
        }
        Congestion::Nscc(nscc) => {
            share("gamma", nscc.gamma, report);
            share("largest-cut", nscc.largest_cut, report);
            share("proportional-increase", nscc.proportional_increase, report);
            if nscc.largest_window.is_zero() {
                zero("largest-window", "a window of nothing allows no traffic", report);
            }
        }
    }
}

fn dcqcn(dcqcn: &Dcqcn, report: &mut Report<'_>) {
    share("g", dcqcn.g, report);
    share("initial-alpha", dcqcn.initial_alpha, report);
    share("largest-cut", dcqcn.largest_cut, report);
    let timers: [(&str, Span); 3] = [
        ("alpha-interval", dcqcn.alpha_interval),
        ("decrease-interval", dcqcn.decrease_interval),
        ("increase-timer", dcqcn.increase_timer),
    ];
    for (key, time) in timers {
        // A timer of a nanosecond would fire more often than packets are sent.
        if time < Span::from_ns(1) {
            zero(key, "a timer needs some time", report);
        }
    }
    if dcqcn.min_rate.bps() == 0 {
        zero("min-rate", "a sender cut to zero never sends again", report);
    }
}

fn zero(key: &str, message: &str, report: &mut Report<'_>) {
    report.error(
        code::IMPOSSIBLE,
        keys!["transport", "congestion", key],
        format!("{message}: `{key}` is too small"),
        "remove the key to get the default",
    );
}

fn share(key: &str, value: Ratio, report: &mut Report<'_>) {
    if value > Ratio::ONE {
        report.error(
            code::IMPOSSIBLE,
            keys!["transport", "congestion", key],
            format!("`{key}` is {value}, and it is a share"),
            "it lies between 0 and 1",
        );
    }
}
