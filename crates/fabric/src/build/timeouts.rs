//! Timeouts against what the fabric can delay.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::model::Fabric;
use crate::rules::delay;

/// A timeout that full buffers alone can exceed makes a lossless fabric send everything again.
pub(super) fn check(fabric: &Fabric, report: &mut Report<'_>) {
    let Some(nic) = fabric.nics.first() else { return };
    let Some(first) = nic.qp.first_timeout().filter(|_| fabric.pause.enabled) else { return };
    let Some(longest) = delay::longest(fabric) else { return };
    let total = longest.total();
    if first >= total {
        return;
    }
    let drains = longest.buffers.iter().map(|(name, buffer, rate)| {
        format!("{name} {buffer} at {rate} takes {}", rate.time_for(*buffer))
    });
    let parts: Vec<String> =
        drains.chain([format!("the cables there and back {}", longest.propagation)]).collect();
    let adaptive = if nic.qp.adaptive_retransmission {
        " (a sixteenth of `timeout`: adaptive retransmission)"
    } else {
        ""
    };
    report.warn(
        code::TIMEOUT,
        keys!["transport", "timeout"],
        format!(
            "queue pairs send again after {first}{adaptive}, and without any loss an answer can take \
             {total} when buffers are full: {}",
            parts.join(", ")
        ),
        "use a longer timeout: \"67.1ms\" is ACK timeout 14 (perftest), \"4.29s\" is 20 (NCCL)",
    );
}
