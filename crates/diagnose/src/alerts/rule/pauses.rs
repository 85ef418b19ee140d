//! Pauses: storms, slow receivers, watchdogs.

use super::HOSTS;
use crate::alerts::record::PAUSED;
use crate::alerts::select::{PORT, Select};
use crate::alerts::{Alert, Scope, Severity};
use crate::fabric::Cause;

pub(in crate::alerts) fn alerts(select: &Select) -> Vec<Alert> {
    let paused = select.all(PAUSED, "");
    let pausing = select.all("xoff_pausing_seconds_total", "tier=\"nic\"");
    let watchdog = select.all("xoff_pfc_watchdog_events_total", "");
    vec![
        Alert {
            name: "XoffPauseStorm",
            cause: Cause::PauseStorm,
            scope: Scope::Port,
            severity: Severity::Critical,
            window: 60,
            hold: 30,
            expression: format!("max {PORT} ({paused}) > 0.8"),
            threshold:
                "Four fifths of a minute: no congestion that senders react to pauses so long."
                    .to_owned(),
            summary: "{{ $labels.port }} of {{ $labels.device }} is paused nearly all the time",
            meaning: "A port may hardly send. Where it leads to a NIC, that NIC blocks the fabric; between switches it is a victim, and the root is further on.",
            look: "`xoff diagnose` follows the pauses to their root: usually one NIC whose host hangs.",
            cure: "Take the NIC at the root out of service (shut its switch port), then reset its host.",
            owner: HOSTS,
        },
        Alert {
            name: "XoffNicPauses",
            cause: Cause::SlowReceiver,
            scope: Scope::Port,
            severity: Severity::Warning,
            window: 300,
            hold: 60,
            expression: format!("sum {PORT} (rate({pausing}[5m])) > 0.02"),
            threshold:
                "A fiftieth of five minutes: a NIC that keeps up with its link does not pause it."
                    .to_owned(),
            summary: "{{ $labels.device }} pauses its switch",
            meaning: "A NIC takes less than its link brings: its PCIe slot, its memory or its host is slow. Its pauses spread to others.",
            look: "PCIe width and speed, relaxed ordering, IOMMU, `xoff_pcie_stalled_ratio`, the NUMA node of its buffers.",
            cure: "Mend the host's settings; drain it from jobs until then.",
            owner: HOSTS,
        },
        Alert {
            name: "XoffWatchdog",
            cause: Cause::PauseStorm,
            scope: Scope::Port,
            severity: Severity::Critical,
            window: 60,
            hold: 0,
            expression: format!("sum {PORT} (increase({watchdog}[5m])) > 0"),
            threshold: "Any.".to_owned(),
            summary: "the PFC watchdog of {{ $labels.device }} acted at {{ $labels.port }}",
            meaning: "A queue was stuck for so long that the switch dropped what it held. Queue pairs send again, or fail.",
            look: "Which NIC the port leads to; whether pauses come from further on (`xoff diagnose`).",
            cure: "As for a pause storm.",
            owner: HOSTS,
        },
    ]
}
