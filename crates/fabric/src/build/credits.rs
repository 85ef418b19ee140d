//! Credits: the buffer of a switch, divided among its ports and classes for good.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::Credits;
use crate::model::{CLASSES, Model, PortClass, Switch, Threshold};
use crate::rules::packet;
use xoff_units::Bytes;

/// Gives every port and class of every switch its part of the buffer, and nothing to share: half of a
/// port's to the data class, the rest to the others in equal parts.
pub(super) fn settle(fabric: &mut Model, credits: &Credits, report: &mut Report<'_>) {
    let largest = fabric.nics.iter().map(|nic| packet::largest(&nic.qp)).max();
    let largest = largest.unwrap_or(Bytes::ZERO);
    let mut told = false;
    for index in 0..fabric.switches.len() {
        let switch = &fabric.switches[index];
        let whole = Bytes::new(switch.buffer.get() / switch.ports.len().max(1) as u64);
        let share = credits.share.unwrap_or(whole);
        let least = least(switch, largest);
        if (share > whole || share.get() / 14 < least.get()) && !told {
            told = true;
            complain(switch, share, whole, Bytes::new(least.get() * 14), report);
        }
        for port in switch.ports.clone() {
            let data = usize::from(fabric.data_class.0);
            let classes = &mut fabric.ports[port as usize].classes;
            for (class, rules) in classes.iter_mut().enumerate() {
                let parts = if class == data { 2 } else { 2 * (CLASSES as u64 - 1) };
                *rules = PortClass {
                    reserved: Bytes::new(share.get() / parts),
                    threshold: Threshold::Static(Bytes::ZERO),
                    xon_offset: Bytes::ZERO,
                    headroom: Bytes::ZERO,
                    egress_limit: None,
                    ..*rules
                };
            }
            let promised: Bytes = classes.iter().map(|rules| rules.reserved).sum();
            assert!(promised <= share, "credits promise {promised} of the {share} behind a port");
        }
    }
}

/// Two of the largest packets, as the switch counts them: with less a class could never send two in a row.
fn least(switch: &Switch, largest: Bytes) -> Bytes {
    let cell = switch.cell.get().max(1);
    Bytes::new(largest.get().div_ceil(cell) * cell * 2)
}

fn complain(switch: &Switch, share: Bytes, whole: Bytes, least: Bytes, report: &mut Report<'_>) {
    let name = &switch.name;
    let message = if share > whole {
        format!("`{name}` has {whole} for each of its ports, and credits promise {share}")
    } else {
        format!("{share} behind a port of `{name}` do not hold two packets of every class")
    };
    report.error(
        code::HEADROOM,
        keys!["credits", "share"],
        message,
        format!("between {least} and {whole} would do"),
    );
}
