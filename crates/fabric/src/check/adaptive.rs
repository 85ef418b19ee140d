//! Whether the controller of `[ecn.adaptive]` can do what it is told.

use super::quantities::impossible;
use crate::document::{Report, Step, keys};
use crate::file::{AdaptiveSettings, FabricFile};
use crate::model::{Model, Switch};
use xoff_units::{Ratio, Span};

/// Half octaves from the lowest bound to the highest that can be.
const MOST_STEPS: u8 = 32;

/// What of it cannot be, whatever the fabric.
pub(super) fn check(file: &FabricFile, report: &mut Report<'_>) {
    let Some(own) = &file.ecn.adaptive else { return };
    numbers(own, report);
    if own.enabled == Some(false) {
        return;
    }
    if file.ecn.enabled == Some(false) {
        let message = "nothing marks, and so there are no thresholds to move";
        impossible(report, keys!["ecn", "adaptive"], message, "turn ECN on, or leave it out");
    }
    if file.credits.enabled {
        let message = "links have credits, and nothing marks";
        impossible(report, keys!["ecn", "adaptive"], message, "leave it out");
    }
}

fn numbers(own: &AdaptiveSettings, report: &mut Report<'_>) {
    let mut wrong = |key: &str, is: bool, message: &str, help: &str| {
        if is {
            let path = [Step::Key("ecn"), Step::Key("adaptive"), Step::Key(key)];
            impossible(report, &path, message, help);
        }
    };
    let outside = |share: Option<Ratio>, low: Ratio, high: Ratio| {
        share.is_some_and(|share| share < low || share > high)
    };
    let help = "give the time between two readings, like \"500us\"";
    wrong("interval", own.interval.is_some_and(Span::is_zero), "it would always read", help);
    let low = outside(own.lowest, Ratio::new(1, 256), Ratio::ONE);
    wrong("lowest", low, "no share of the static thresholds", "give one from 1/256 to 1");
    let high = outside(own.highest, Ratio::ONE, Ratio::new(256, 1));
    wrong("highest", high, "no multiple of the static thresholds", "give one from 1 to 256");
    let help = "give a share of the port's rate, like 0.95";
    let aim = outside(own.utilisation, Ratio::new(1, 100), Ratio::ONE);
    wrong("utilisation", aim, "no share of a rate", help);
    let help = "give a share of the packets, like 0.05";
    wrong(
        "marks",
        outside(own.marks, Ratio::new(1, 1000), Ratio::ONE),
        "no share of packets",
        help,
    );
    for (key, steps) in [("up", own.up), ("down", own.down), ("overload", own.overload)] {
        let message = "more steps than there are between the bounds";
        wrong(key, steps.is_some_and(|own| own > MOST_STEPS), message, "give at most 32");
    }
    let help = "give 1 or more: new traffic meets the static thresholds";
    wrong("quiet", own.quiet == Some(0), "it would return at every reading", help);
}

/// Whether the agent of the largest switch is done before its next reading.
pub(crate) fn pace(file: &FabricFile, fabric: &Model, report: &mut Report<'_>) {
    let Some(own) = &file.ecn.adaptive else { return };
    let marking = |switch: &Switch| {
        let ports = &fabric.ports[switch.ports.start as usize..switch.ports.end as usize];
        let classes = ports.iter().flat_map(|port| &port.classes);
        classes.filter(|class| class.ecn.is_some()).count() as u64
    };
    let most = fabric.switches.iter().map(marking).max().unwrap_or(0);
    let (needs, interval) = (own.reaction(most), own.interval());
    if needs > interval {
        let message = format!(
            "a switch with {most} queues that mark has new thresholds after {needs}, and reads every {interval}"
        );
        let help = format!("give an `interval` of {needs} or more, or a lower `cost` or `delay`");
        impossible(report, keys!["ecn", "adaptive", "interval"], message, &help);
    }
}
