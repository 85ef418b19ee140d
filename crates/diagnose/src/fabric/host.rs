//! What hosts do: congestion control and notification that are off, timeouts that nothing else explains.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene, usually};
use xoff_fabric::model::PortId;
use xoff_telemetry::Metric;

/// So large a share of marked packets without a notification is no accident.
const MARKED: f64 = 0.01;

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let nics: Vec<PortId> = scene.ports().filter(|port| scene.is_nic(*port)).collect();
    let mut found: Vec<Finding> = nics.iter().filter_map(|port| ignores(scene, *port)).collect();
    found.extend(nics.iter().filter_map(|port| is_mute(scene, *port)));
    found.extend(timeouts(scene, &nics));
    found
}

/// A sender that ignores notifications.
fn ignores(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let ignored = scene.sum(port, Metric::CnpIgnored)?;
    if !scene.fabric.nics[scene.node(port).index()].qp.congestion.obeys_marks() {
        return None;
    }
    let handled = scene.sum(port, Metric::CnpHandled).unwrap_or(0.0);
    (ignored > 0.5 && ignored > handled).then(|| {
        let nic = scene.device(port);
        Finding::new(Cause::CongestionControlOff, nic, vec![scene.node(port)])
            .because(format!(
                "{nic} ignored {ignored:.0} congestion notifications, obeyed {handled:.0}"
            ))
            .sure(Confidence::Certain)
            .weighing(ignored)
    })
}

/// A receiver that does not tell senders of marks.
fn is_mute(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let marked = scene.sum(port, Metric::EcnReceived)?;
    let sent = scene.sum(port, Metric::CnpSent)?;
    let received = scene.received(port)?;
    (marked > MARKED * received.max(1.0) && sent < 0.5).then(|| {
        let nic = scene.device(port);
        Finding::new(Cause::NotificationOff, nic, vec![scene.node(port)])
            .because(format!("{nic} received {marked:.0} marked packets and sent no notification"))
            .sure(Confidence::Certain)
            .weighing(marked)
    })
}

/// The NIC with most timeouts, which are more than usual.
fn timeouts(scene: &Scene<'_>, nics: &[PortId]) -> Option<Finding> {
    let count = |port: &PortId| scene.sum(*port, Metric::Timeouts).unwrap_or(0.0);
    let most = nics.iter().copied().max_by(|a, b| count(a).total_cmp(&count(b)))?;
    let usual = scene.usual_sum(most, Metric::Timeouts).unwrap_or(0.0);
    let timeouts = count(&most);
    (timeouts > 0.5 && timeouts > 3.0 * usual).then(|| {
        Finding::new(Cause::Timeouts, scene.device(most), vec![scene.node(most)])
            .because(format!(
                "{timeouts:.0} timeouts{}",
                usually(scene, format_args!("{usual:.0}"))
            ))
            .sure(Confidence::Possible)
            .weighing(timeouts)
    })
}
