//! Whether an operator finds the place: [`blind`](crate::blind) rules are given the counters of each
//! failure, and their answer is held against what was broken.

use super::Evidence;
use super::failures::FAILURES;
use super::words::some;
use crate::advice::Advice;
use crate::blind::{Finding, Inventory, PortCounters, diagnose};
use crate::check::Check;
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::suite::UNDISTURBED;
use xoff_report::Verdict;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(base) = evidence.get(UNDISTURBED) else { return Vec::new() };
    let plan = Inventory::of(&evidence.setup.fabric);
    let found = FAILURES.iter().filter_map(|(id, what)| Some((*id, *what, evidence.get(id)?)));
    let mut checks = vec![quiet(base, &plan)];
    checks.extend(found.map(|(id, what, measured)| located(&plan, id, what, base, measured)));
    checks
}

/// Nothing is found where nothing is wrong.
fn quiet(base: &Measurement, plan: &Inventory) -> Check {
    let found = diagnose(&base.counters, &[], base.end_us, plan);
    let check = Check::new(Phase::Operations, "quiet", "No alarm without a fault")
        .from([UNDISTURBED])
        .done("gave the counters of the undisturbed run to the same rules");
    match found.first() {
        None => check.seen("nothing found", "nothing"),
        Some(first) => check
            .seen(told(first), "nothing")
            .verdict(Verdict::Warn)
            .places([first.place.clone()])
            .advise(Some(Advice::words(
                "repair this before alerts are set: it is no fault of an experiment",
            ))),
    }
}

/// How near an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// The place itself.
    Place,
    /// A neighbour of it.
    Near,
    /// Another place, or none.
    Missed,
}

/// How near the first finding is to what was broken.
pub fn hit(
    found: &[Finding],
    broken: &[String],
    counters: &[PortCounters],
    plan: &Inventory,
) -> Hit {
    let Some(first) = found.first() else { return Hit::Missed };
    let same = |place: &str| {
        let reverse =
            counters.iter().find(|port| port.port == first.place).map(PortCounters::reverse);
        // A server with one link is its link.
        let only = plan.server_cables(place) == 1
            && ends(&first.place).iter().any(|end| plan.server(end) == Some(place));
        first.place == place || reverse.as_deref() == Some(place) || only
    };
    if broken.iter().any(|place| same(place)) {
        return Hit::Place;
    }
    let near =
        broken.iter().any(|place| ends(place).iter().any(|end| ends(&first.place).contains(end)));
    if near { Hit::Near } else { Hit::Missed }
}

/// The devices in a place: both ends of a link, or the device itself.
fn ends(place: &str) -> Vec<&str> {
    let link = place.split_once('#').map_or(place, |(link, _)| link);
    link.split('→').collect()
}

fn told(finding: &Finding) -> String {
    format!("{}: {} ({})", finding.place, finding.cause.words(), finding.evidence)
}

fn located(
    plan: &Inventory,
    id: &str,
    what: &str,
    base: &Measurement,
    measured: &Measurement,
) -> Check {
    let found = diagnose(&measured.counters, &base.counters, measured.end_us, plan);
    let broken = measured.fault.as_ref().map_or(&[][..], |fault| &fault.places);
    let totals = &measured.totals;
    // A link that the job did not use, or that lost nothing of it, can be seen by nobody, and held no job up.
    let traceless = found.is_empty() && totals.wire_drops + totals.fault_drops == 0;
    let verdict = match hit(&found, broken, &measured.counters, plan) {
        Hit::Place => Verdict::Pass,
        Hit::Near => Verdict::Warn,
        Hit::Missed if traceless => Verdict::Pass,
        Hit::Missed => Verdict::Fail,
    };
    let silent = match traceless {
        true => {
            "no counter points anywhere, and nothing of the job was lost to it: this run cannot tell"
        }
        false => "no counter points anywhere",
    };
    let seen = found.first().map_or(silent.to_owned(), told);
    let more: Vec<String> = found.iter().skip(1).map(|other| other.place.clone()).collect();
    let seen = if more.is_empty() { seen } else { format!("{seen}; then {}", some(&more)) };
    let alert = found.first().map_or("none", |finding| finding.cause.alert());
    Check::new(
        Phase::Operations,
        id.trim_start_matches("failure-"),
        format!("Counters lead to {}", what.trim_end_matches(" beside it")),
    )
    .from([id, UNDISTURBED])
    .done(format!("gave all counters to rules that do not know what is broken; alert on {alert}"))
    .seen(seen, format!("the place: {}", broken.join(", ")))
    .verdict(verdict)
    .places(found.first().map(|finding| finding.place.clone()))
    .advise(Some(Advice::words(
        "alert on the times of collectives, too: they show what counters do not",
    )))
}
