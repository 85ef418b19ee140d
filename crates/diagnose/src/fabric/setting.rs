//! What is configured differently from the plan, by its effect: PFC, headroom, marking, MTU, classes.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene};
use xoff_fabric::model::{ClassId, PortId};
use xoff_telemetry::Metric;

/// A queue this many times as long as where all packets are to be marked, and none was.
const LONG: f64 = 1.5;
/// Fewer marks than this share of those that the queue must have brought are none.
const UNMARKED: f64 = 0.1;
/// A packet of RDMA where lengths are not known.
const LONG_PACKET: f64 = 4_200.0;
/// Marks above this share of a queue that stayed below Kmin are too many.
const EARLY: f64 = 0.01;
/// A NIC sends this share of its bytes in a class that is not to carry RDMA.
const STRAY: f64 = 0.2;
/// And this share of its rate: acknowledgements and notifications take less.
const MUCH: f64 = 0.02;
/// A port that was paused for so much of a step has a long queue for that.
const HELD: f64 = 0.1;

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for class in lossless(scene) {
        let lost: Vec<Finding> =
            scene.ports().filter_map(|port| dropped(scene, port, class)).collect();
        if lost.is_empty() {
            found.extend(scene.ports().filter_map(|port| deaf(scene, port, class)));
        }
        found.extend(lost);
        found.extend(marking(scene, class));
    }
    found.extend(scene.ports().filter_map(|port| discarded(scene, port)));
    found.extend(scene.ports().filter_map(|port| too_long(scene, port)));
    let strays: Vec<(PortId, Stray)> =
        scene.ports().filter_map(|port| Some((port, Stray::of(scene, port)?))).collect();
    if !strays.is_empty() {
        let medians: Vec<f64> = (0..8).map(|class| median_share(scene, class)).collect();
        found.extend(
            strays.iter().filter_map(|(port, stray)| stray.finding(scene, *port, &medians)),
        );
    }
    found
}

/// The classes that the plan protects.
fn lossless(scene: &Scene<'_>) -> Vec<ClassId> {
    let classes = scene.fabric.classes.iter().zip(0..);
    classes.filter(|(class, _)| class.lossless).map(|(_, number)| ClassId(number)).collect()
}

fn of(scene: &Scene<'_>, port: PortId, metric: Metric, class: ClassId) -> Option<f64> {
    let series = scene.series_of(port, metric, class)?;
    Some(series.iter().filter(|value| !value.is_nan()).map(|value| f64::from(*value)).sum())
}

/// A switch's port lost packets of a lossless class.
fn dropped(scene: &Scene<'_>, port: PortId, class: ClassId) -> Option<Finding> {
    if scene.is_nic(port) {
        return None;
    }
    let drops = of(scene, port, Metric::BufferDrops, class)?;
    if drops < 0.5 {
        return None;
    }
    let peer = scene.peer(port);
    let (name, other) = (scene.fabric.port_name(port), scene.fabric.port_name(peer));
    let sent = of(scene, port, Metric::PfcSent, class);
    let heard = of(scene, peer, Metric::PfcReceived, class);
    let lost = format!("{name} lost {drops:.0} packets of lossless class {}", class.0);
    let finding = match (sent, heard) {
        (None, _) | (Some(0.0), _) => Finding::at(Cause::PfcOff, scene, port)
            .because(format!("{name} sent no PFC frame for it"))
            .sure(Confidence::Certain),
        (Some(sent), Some(heard)) if heard < 0.01 * sent => Finding::at(Cause::PfcOff, scene, peer)
            .because(format!("{name} sent {sent:.0} PFC frames, {other} obeyed {heard:.0}"))
            .sure(Confidence::Certain),
        (Some(sent), None) => Finding::at(Cause::HeadroomTooSmall, scene, port)
            .because(format!(
                "{name} sent {sent:.0} PFC frames; whether {other} obeys is not known"
            ))
            .sure(Confidence::Possible),
        (Some(sent), Some(_)) => Finding::at(Cause::HeadroomTooSmall, scene, port)
            .because(format!("{name} sent {sent:.0} PFC frames, which {other} obeyed too late")),
    };
    Some(finding.because(lost).weighing(drops))
}

/// A port does not obey the pauses that its peer sends.
fn deaf(scene: &Scene<'_>, port: PortId, class: ClassId) -> Option<Finding> {
    let peer = scene.peer(port);
    // What was sent just before the last scrape may be counted there and not yet here.
    let (_, earlier) = scene.series_of(peer, Metric::PfcSent, class)?.split_last()?;
    let sent: f64 = earlier.iter().filter(|count| !count.is_nan()).map(|n| f64::from(*n)).sum();
    let heard = of(scene, port, Metric::PfcReceived, class)?;
    if sent < 0.5 || heard > 0.01 * sent || scene.sum(port, Metric::LinkDowns)? > 0.5 {
        return None;
    }
    let (name, other) = (scene.fabric.port_name(port), scene.fabric.port_name(peer));
    let finding = Finding::at(Cause::PfcOff, scene, port)
        .because(format!(
            "{other} sent {sent:.0} PFC frames for class {}, {name} obeyed none",
            class.0
        ))
        .weighing(sent);
    Some(finding)
}

/// Ports where marking is not as planned.
fn marking(scene: &Scene<'_>, class: ClassId) -> Vec<Finding> {
    let ports = scene.ports().filter(|port| !scene.is_nic(*port));
    let found = ports.filter_map(|port| {
        let ecn = scene.fabric.ports[port.index()].classes[class.index()].ecn?;
        let queue = scene.series_of(port, Metric::QueueWatermark, class)?;
        let queue = queue.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).fold(0.0, f64::max);
        let marked = of(scene, port, Metric::EcnMarked, class)?;
        let sent = of(scene, port, Metric::TxPackets, class).filter(|sent| *sent > 0.0)?;
        let (kmin, kmax) = (ecn.kmin.get() as f64, ecn.kmax.get() as f64);
        let name = scene.fabric.port_name(port);
        let lengths = format!(
            "the queue of {name} grew to {:.0} KB; planned are Kmin {:.0} KB and Kmax {:.0} KB",
            queue / 1e3,
            kmin / 1e3,
            kmax / 1e3
        );
        let share = marked / sent;
        // Every packet that waits behind Kmax is marked when it leaves; some may not have left yet.
        let bytes = of(scene, port, Metric::TxBytes, class).filter(|bytes| *bytes > 0.0);
        let length = bytes.map_or(LONG_PACKET, |bytes| bytes / sent);
        let expected = ((queue - kmax) / length).min(sent / 2.0);
        // What a paused port holds does not leave it, marked or not.
        let held = scene.paused(port).is_some_and(|share| share > HELD);
        let cause = if queue > LONG * kmax && marked < UNMARKED * expected && !held {
            Cause::EcnOff
        } else if queue < kmin && share > EARLY {
            Cause::EcnTooEarly
        } else {
            return None;
        };
        let finding = Finding::at(cause, scene, port)
            .because(lengths)
            .because(format!("{marked:.0} of {sent:.0} packets were marked"))
            .weighing(queue);
        Some(finding)
    });
    found.collect()
}

/// A full queue of a class that nothing protects, or a NIC that had no room.
fn discarded(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let protected = lossless(scene);
    let lossy = (0..8).map(ClassId).filter(|class| !protected.contains(class));
    let drops = |class: ClassId| of(scene, port, Metric::BufferDrops, class).unwrap_or(0.0);
    let drops: f64 = if scene.is_nic(port) {
        scene.sum(port, Metric::OutOfBuffer).unwrap_or(0.0)
    } else {
        lossy.map(drops).sum()
    };
    if drops < 0.5 {
        return None;
    }
    let finding = match scene.is_nic(port) {
        true => Finding::new(Cause::SlowReceiver, scene.device(port), vec![scene.node(port)]),
        false => Finding::at(Cause::Discards, scene, port),
    };
    Some(finding.because(format!("{drops:.0} packets dropped for want of buffer")).weighing(drops))
}

/// A port threw away frames for their length.
fn too_long(scene: &Scene<'_>, port: PortId) -> Option<Finding> {
    let drops = scene.sum(port, Metric::MtuDrops).filter(|drops| *drops >= 0.5)?;
    let name = scene.fabric.port_name(port);
    let finding = Finding::at(Cause::MtuTooSmall, scene, port)
        .because(format!("{name} dropped {drops:.0} packets that are longer than its MTU"))
        .sure(Confidence::Certain)
        .weighing(drops);
    Some(finding)
}

/// What a NIC sends in a class that the plan does not protect.
struct Stray {
    class: u8,
    bytes: f64,
    share: f64,
}

impl Stray {
    /// Of a NIC that sends much so.
    fn of(scene: &Scene<'_>, port: PortId) -> Option<Self> {
        if !scene.is_nic(port) {
            return None;
        }
        let sent = |class: u8| of(scene, port, Metric::TxBytes, ClassId(class)).unwrap_or(0.0);
        let all: f64 = (0..8).map(sent).sum();
        let lossy = scene.fabric.classes.iter().zip(0..8).filter(|(class, _)| !class.lossless);
        let lossy = lossy.map(|(_, class)| (class, sent(class)));
        let (class, bytes) = lossy.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let rate = scene.fabric.cable(port).rate.bps() as f64 / 8.0;
        let known = |class: &ClassId| scene.series_of(port, Metric::TxBytes, *class).is_some();
        let protected = lossless(scene);
        let is_known = !protected.is_empty() && protected.iter().all(known);
        let much = bytes > STRAY * all && bytes > MUCH * rate * scene.seconds();
        (is_known && much).then(|| Self { class, bytes, share: bytes / all })
    }

    /// It is a finding if other NICs do not: a tenant may use a lossy class, and others with it.
    fn finding(&self, scene: &Scene<'_>, port: PortId, medians: &[f64]) -> Option<Finding> {
        let median = medians[usize::from(self.class)];
        (self.share > 3.0 * median.max(0.05)).then(|| {
            let nic = scene.device(port);
            Finding::new(Cause::WrongClass, nic, vec![scene.node(port)])
                .because(format!(
                    "{nic} sends {:.0} % of its bytes in class {}, which is not lossless; the median \
                     NIC {:.0} %",
                    self.share * 100.0,
                    self.class,
                    median * 100.0
                ))
                .weighing(self.bytes)
        })
    }
}

/// What share of its bytes the median NIC sends in a class.
fn median_share(scene: &Scene<'_>, class: u8) -> f64 {
    let share = |port: PortId| {
        let all: f64 =
            (0..8).map(|c| of(scene, port, Metric::TxBytes, ClassId(c)).unwrap_or(0.0)).sum();
        let own = of(scene, port, Metric::TxBytes, ClassId(class)).unwrap_or(0.0);
        (all > 0.0).then(|| own / all)
    };
    let mut shares: Vec<f64> =
        scene.ports().filter(|p| scene.is_nic(*p)).filter_map(share).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or(0.0)
}
