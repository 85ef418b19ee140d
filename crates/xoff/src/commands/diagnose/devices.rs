//! The configurations of devices, as the audit reads them, for a diagnosis.

use crate::commands::audit::{intent_of, read_folder};
use crate::exit::Failure;
use std::path::Path;
use xoff_config::Files;
use xoff_config::audit::Finding;
use xoff_config::device::Balancing;
use xoff_diagnose::fabric::Cause;
use xoff_diagnose::fabric::configured::{Configured, Mistake};
use xoff_fabric::{FabricSetup, Severity};

/// What is wrong with the configurations in a folder.
pub(super) fn configured(folder: &Path, setup: &FabricSetup) -> Result<Configured, Failure> {
    let (files, devices) = read_folder(folder)?;
    let intent = intent_of(setup, Balancing::Hash, &devices);
    let report = xoff_config::audit(&devices, Some(&intent));
    let mistake = |finding: &Finding| Mistake {
        device: finding.device.clone(),
        causes: causes(finding.rule.id).to_vec(),
        harmful: finding.severity == Severity::Error,
        words: format!("{}{} [{}]", finding.message, line(finding, &files), finding.rule.id),
    };
    Ok(Configured {
        devices: devices.iter().map(|device| device.name.clone()).collect(),
        mistakes: report
            .findings
            .iter()
            .map(mistake)
            .filter(|one| !one.causes.is_empty())
            .collect(),
    })
}

/// The first line that says it.
fn line(finding: &Finding, files: &Files) -> String {
    let first =
        finding.places.first().and_then(|place| Some((files.get(place.file)?, place.first)));
    first.map_or_else(String::new, |(file, line)| format!(" ({}:{line})", file.name))
}

/// What a mistake can bring about, the likeliest first.
fn causes(rule: &str) -> &'static [Cause] {
    match rule {
        "qos-not-applied" => &[Cause::PfcOff, Cause::EcnOff, Cause::WrongClass, Cause::Discards],
        "trust" | "data-class" => &[Cause::WrongClass, Cause::PfcOff, Cause::Discards],
        "nic-data-dscp" | "nccl-traffic-class" | "nccl-unset" => {
            &[Cause::WrongClass, Cause::Discards]
        }
        "mixed-queue" | "strict-starves" | "weights-sum" | "weights-drift" => {
            &[Cause::NoisyTenant, Cause::StorageBurst]
        }
        "tenants-shared" => &[Cause::NoisyTenant],
        "pfc-missing" | "pfc-priority" | "pause-group" | "pause-queue" | "pause-link" => {
            &[Cause::PfcOff, Cause::Discards]
        }
        "pfc-all-priorities" => &[Cause::Deadlock, Cause::PauseStorm],
        "watchdog-missing" | "watchdog-alert-only" | "watchdog-slow" => {
            &[Cause::PauseStorm, Cause::Deadlock]
        }
        "ecn-missing" | "ecn-off" | "ecn-above-xoff" | "ecn-range" | "pmax-zero" => {
            &[Cause::EcnOff]
        }
        "ecn-speed" | "ecn-drift" => &[Cause::EcnOff, Cause::EcnTooEarly],
        "cnp-class" | "cnp-not-strict" | "nic-cnp-dscp" => &[Cause::NotificationOff],
        "nic-congestion-control" => &[Cause::CongestionControlOff, Cause::NotificationOff],
        "headroom-missing" | "headroom-small" => &[Cause::HeadroomTooSmall, Cause::Discards],
        "mtu-small" | "mtu-mismatch" | "mtu-drift" => &[Cause::MtuTooSmall],
        "balancing-missing" => &[Cause::UnevenLinks],
        "nic-congestion-range" => &[Cause::CongestionControlOff],
        "alpha-range" => &[Cause::Discards],
        "cable-mismatch" => &[Cause::Miscabled],
        "tunnel-class" => &[Cause::WrongClass, Cause::Discards],
        "tunnel-marks" => &[Cause::EcnOff],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_config::audit::RULES;

    /// Rules about what no counter shows.
    const WITHOUT: [&str; 14] = [
        "pfc-extra",
        "versions-differ",
        "roce-unguarded",
        "not-seen",
        "nccl-gid-index",
        "cable-missing",
        "description-stale",
        "intent-drift",
        "fleet-drift",
        "value-unreadable",
        "undefined-name",
        "truncated",
        "nothing-checked",
        "not-in-fabric",
    ];

    #[test]
    fn every_rule_has_its_causes_or_none_on_purpose() {
        for rule in RULES {
            assert_eq!(causes(rule.id).is_empty(), WITHOUT.contains(&rule.id), "{}", rule.id);
        }
    }
}
