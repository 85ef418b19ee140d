//! Whether an operator finds the place: the rules of `xoff diagnose` ([`blind`](crate::blind)) are given the counters of each
//! failure, and their answer is held against what was broken.

use super::Evidence;
use super::failures::FAILURES;
use super::words::some;
use crate::advice::Advice;
use crate::blind::{Interval, alert, diagnose};
use crate::check::Check;
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::suite::UNDISTURBED;
use xoff_diagnose::fabric::Finding;
use xoff_fabric::model::Fabric;
use xoff_report::Verdict;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(base) = evidence.get(UNDISTURBED) else { return Vec::new() };
    let fabric = &evidence.setup.fabric;
    let found = FAILURES.iter().filter_map(|(id, what)| Some((*id, *what, evidence.get(id)?)));
    let mut checks = vec![quiet(base, fabric)];
    checks.extend(found.map(|(id, what, measured)| located(fabric, id, what, base, measured)));
    checks
}

/// Nothing is found where nothing is wrong.
fn quiet(base: &Measurement, fabric: &Fabric) -> Check {
    let found = diagnose(fabric, interval(base), None);
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

/// The counters of a measurement.
pub fn interval(measured: &Measurement) -> Interval<'_> {
    Interval { counters: &measured.counters, us: measured.end_us }
}

/// How near the first finding is to what was broken.
pub fn hit(found: &[Finding], broken: &[String], fabric: &Fabric) -> Hit {
    let Some(first) = found.first() else { return Hit::Missed };
    let reverse = reverse(&first.place);
    let same = |place: &str| {
        first.place == place || reverse == place || is_only_link(fabric, place, first)
    };
    if broken.iter().any(|place| same(place)) {
        return Hit::Place;
    }
    let near =
        broken.iter().any(|place| ends(place).iter().any(|end| ends(&first.place).contains(end)));
    if near { Hit::Near } else { Hit::Missed }
}

/// The port at the other end of a cable; a device as it is.
pub(super) fn reverse(place: &str) -> String {
    let (link, number) = place.split_once('#').map_or((place, None), |(l, n)| (l, Some(n)));
    let Some((from, to)) = link.split_once('→') else { return place.to_owned() };
    number.map_or_else(|| format!("{to}→{from}"), |number| format!("{to}→{from}#{number}"))
}

/// A server with one link is its link.
fn is_only_link(fabric: &Fabric, server: &str, found: &Finding) -> bool {
    let Some(at) = fabric.servers.iter().position(|one| one.name == server) else { return false };
    let mut nics = fabric.nics.iter().filter(|nic| nic.server.index() == at);
    let (Some(only), None) = (nics.next(), nics.next()) else { return false };
    only.ports.len() == 1 && ends(&found.place).contains(&only.name.as_str())
}

/// The devices in a place: both ends of a link, or the device itself.
fn ends(place: &str) -> Vec<&str> {
    let link = place.split_once('#').map_or(place, |(link, _)| link);
    link.split('→').collect()
}

fn told(finding: &Finding) -> String {
    format!("{}: {} ({})", finding.place, finding.cause.words(), finding.evidence.join("; "))
}

fn located(
    fabric: &Fabric,
    id: &str,
    what: &str,
    base: &Measurement,
    measured: &Measurement,
) -> Check {
    let found = diagnose(fabric, interval(measured), Some(interval(base)));
    let broken = measured.fault.as_ref().map_or(&[][..], |fault| &fault.places);
    let totals = &measured.totals;
    // A link that the job did not use, or that lost nothing of it, can be seen by nobody, and held no job up.
    let traceless = found.is_empty() && totals.wire_drops + totals.fault_drops == 0;
    let verdict = match hit(&found, broken, fabric) {
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
    let alert = found.first().map_or("none", |finding| alert(finding.cause));
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
