//! Rules of a tier (`[switch.spine]`) or of single switches (`[[device]]`): numbers that cannot be, or that two keys
//! give. What several layers say together is checked where they are laid over each other.

use super::quantities::{impossible, share_of_marks};
use crate::diagnostic::code;
use crate::document::{Path, Report, Step, keys};
use crate::file::{EcnSettings, FabricFile, LocalClass, LocalRules, SchedulingEntry};
use crate::model::CLASSES;
use xoff_units::{Bytes, Ratio};

pub(super) fn check(file: &FabricFile, report: &mut Report<'_>) {
    let tiers =
        [("leaf", &file.switch.leaf), ("spine", &file.switch.spine), ("core", &file.switch.core)];
    for (tier, settings) in tiers {
        rules(&settings.rules, keys!["switch", tier], report);
        credits(file, &settings.rules, keys!["switch", tier], report);
    }
    for (index, device) in file.devices.iter().enumerate() {
        rules(&device.rules, keys!["device", index], report);
        credits(file, &device.rules, keys!["device", index], report);
    }
}

/// A link is held back in one way.
fn credits(file: &FabricFile, rules: &LocalRules, at: &Path<'_>, report: &mut Report<'_>) {
    if file.credits.enabled && rules.pfc.is_some() {
        let message = "links of this fabric have credits, and no pauses";
        let help = "leave `pfc` out, or turn `credits.enabled` off";
        impossible(report, &[at, keys!["pfc"]].concat(), message, help);
    }
}

fn rules(rules: &LocalRules, at: &Path<'_>, report: &mut Report<'_>) {
    if let Some(ecn) = &rules.ecn {
        marking(ecn, &[at, keys!["ecn"]].concat(), report);
    }
    pfc(rules, at, report);
    let mut known = [false; CLASSES];
    let mut owner = [None; 64];
    for (index, class) in rules.classes.iter().enumerate() {
        let at = [at, keys!["class", index]].concat();
        let twice =
            known.get_mut(usize::from(class.id)).map(|known| std::mem::replace(known, true));
        match twice {
            None => {
                let message = format!("there is no class {}", class.id);
                let path = [&at[..], keys!["id"]].concat();
                impossible(report, &path, message, "classes go from 0 to 7");
            }
            Some(true) => report.error(
                code::DUPLICATE,
                &[&at[..], keys!["id"]].concat(),
                format!("class {} is described twice here", class.id),
                "merge the two tables",
            ),
            Some(false) => {}
        }
        self::class(class, &at, report);
        dscps(class, &at, &mut owner, report);
    }
}

fn pfc(rules: &LocalRules, at: &Path<'_>, report: &mut Report<'_>) {
    let Some(pfc) = &rules.pfc else { return };
    let path = |key: &'static str| [at, keys!["pfc", key]].concat();
    if pfc.alpha.is_some_and(Ratio::is_zero) {
        let message = "with alpha 0 every packet pauses the sender";
        impossible(report, &path("alpha"), message, "1/8 is usual");
    }
    if pfc.xoff.is_some_and(Bytes::is_zero) {
        let message = "with xoff 0 every packet pauses the sender";
        impossible(report, &path("xoff"), message, "give a size of several packets");
    }
    if pfc.alpha.is_some() && pfc.xoff.is_some() {
        let message = "`alpha` and `xoff` both say when to pause";
        impossible(report, &path("xoff"), message, "keep one of them");
    }
}

/// When packets are marked and who notifies is the same everywhere.
fn marking(ecn: &EcnSettings, at: &Path<'_>, report: &mut Report<'_>) {
    let general = [
        ("mark", ecn.mark.is_some()),
        ("notify", ecn.notify.is_some()),
        ("notify-interval", ecn.notify_interval.is_some()),
        ("adaptive", ecn.adaptive.is_some()),
    ];
    for (key, _) in general.into_iter().filter(|(_, said)| *said) {
        let message = format!("`{key}` holds for all switches");
        impossible(report, &[at, &[Step::Key(key)]].concat(), message, "write it in `[ecn]`");
    }
    share_of_marks(ecn, at, report);
}

fn class(class: &LocalClass, at: &Path<'_>, report: &mut Report<'_>) {
    if let Some(ecn) = &class.ecn {
        marking(ecn, &[at, keys!["ecn"]].concat(), report);
    }
    if class.scheduling == Some(SchedulingEntry::Weight(0)) {
        let path = [at, keys!["scheduling"]].concat();
        impossible(report, &path, "a class of weight 0 never has its turn", "give 1 or more");
    }
    for (key, alpha) in [("alpha", class.alpha), ("egress-alpha", class.egress_alpha)] {
        if alpha.is_some_and(Ratio::is_zero) {
            let message = format!("with {key} 0 the class has no buffer");
            let path = [at, &[Step::Key(key)]].concat();
            impossible(report, &path, message, "1/8 or more is usual");
        }
    }
}

/// A DSCP is in one class.
fn dscps(class: &LocalClass, at: &Path<'_>, owner: &mut [Option<u8>; 64], report: &mut Report<'_>) {
    for (position, &dscp) in class.dscp.iter().flatten().enumerate() {
        let path = [at, keys!["dscp", position]].concat();
        match owner.get_mut(usize::from(dscp)) {
            None => {
                let message = format!("there is no DSCP {dscp}");
                impossible(report, &path, message, "a DSCP has six bits: 0 to 63");
            }
            Some(Some(other)) => report.error(
                code::DUPLICATE,
                &path,
                format!("DSCP {dscp} is already mapped to class {other} here"),
                "a packet can only be in one class",
            ),
            Some(free) => *free = Some(class.id),
        }
    }
}
