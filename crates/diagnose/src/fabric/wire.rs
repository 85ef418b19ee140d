//! What gets lost or is held up between the two ends of a cable that is up.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene, usually};
use std::collections::BTreeMap;
use xoff_fabric::model::PortId;
use xoff_telemetry::Metric;

/// Damaged packets in all packets from which on a link hurts: RoCE sends a window again for each.
const DAMAGED: f64 = 1e-7;
/// Of a step of which less than this share arrives, most is missing.
const MOST: f32 = 0.5;
pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<PortId, Finding> = BTreeMap::new();
    for port in scene.ports() {
        let finding = damaged(scene, port).or_else(|| swallowed(scene, port));
        let Some(finding) = finding.or_else(|| slow(scene, port)) else { continue };
        let cable = scene.cable(port);
        let more = found
            .get(&cable)
            .is_none_or(|before| (finding.cause, -finding.weight) < (before.cause, -before.weight));
        if more {
            found.insert(cable, finding);
        }
    }
    found.into_values().collect()
}

/// Packets arrive damaged at this port.
fn damaged(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let errors = scene.sum(port, Metric::CrcErrors)?;
    let packets = scene.received(port)?;
    if errors < 0.5 || errors < DAMAGED * packets {
        return None;
    }
    let usual = scene.usual_sum(port, Metric::CrcErrors).unwrap_or(0.0);
    let share = errors / packets.max(errors);
    let name = scene.fabric.port_name(port);
    let finding = Finding::on(Cause::BadOptic, scene, port)
        .because(format!(
            "{name} received {errors:.0} damaged packets of {packets:.0} ({share:.1e}){}",
            usually(scene, format_args!("{usual:.0} in as long a time"))
        ))
        .sure(Confidence::Certain);
    Some(finding.weighing(errors))
}

/// Packets leave this port and do not arrive.
fn swallowed(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let peer = scene.peer(port);
    let sent = scene.series(port, Metric::TxPackets)?;
    let taken = scene.series(peer, Metric::RxPackets)?;
    if scene.sum(port, Metric::LinkDowns).unwrap_or(0.0) > 0.5 {
        return None;
    }
    let missing = |(sent, taken): (&f32, &f32)| f64::from(*sent) - f64::from(*taken);
    let known =
        || sent.iter().zip(&taken).filter(|(sent, taken)| !(sent.is_nan() || taken.is_nan()));
    let all: f64 = known().map(missing).sum();
    let lost = if scene.is_read_at_once() { all } else { lost_for_good(known()) };
    (lost > 0.5 && all > 0.5 * lost).then(|| {
        Finding::on(Cause::BlackHole, scene, port)
            .because(format!(
                "{lost:.0} packets left {} and did not arrive at {}, whose carrier is up",
                scene.fabric.port_name(port),
                scene.device(peer)
            ))
            .weighing(lost)
    })
}

/// Packets missing where the two ends were not read at one instant: in steps of which most is missing, if there are several.
/// Where traffic begins or ends, one step of one end may show what a neighbouring step of the other does.
fn lost_for_good<'a>(steps: impl Iterator<Item = (&'a f32, &'a f32)> + Clone) -> f64 {
    let peak = steps.clone().map(|(sent, _)| *sent).fold(0.0, f32::max);
    let empty = steps.filter(|(sent, taken)| **sent > 0.05 * peak && **taken < MOST * **sent);
    let missing: Vec<f64> = empty.map(|(sent, taken)| f64::from(sent - taken)).collect();
    if missing.len() > 1 { missing.iter().sum() } else { 0.0 }
}

/// The link has a lower rate than its cable was planned for.
fn slow(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let planned = scene.fabric.cable(port).rate.bps() as f64;
    let rate = scene.last(port, Metric::Speed).filter(|rate| *rate > 0.0)?;
    (rate < 0.99 * planned).then(|| {
        Finding::on(Cause::SlowLink, scene, port)
            .because(format!(
                "{} runs at {:.0} Gb/s, planned are {:.0}",
                scene.fabric.port_name(port),
                rate / 1e9,
                planned / 1e9
            ))
            .sure(Confidence::Certain)
            .weighing(planned / rate)
    })
}
