//! What each failure costs the job that is under way: nothing, an interruption, speed, or the job.

use super::operations::reverse;
use super::redundancy::{apart, left_of, single_point};
use super::words::{percent, time};
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::Check;
use crate::measure::{JobFigures, Measurement};
use crate::phase::Phase;
use crate::suite::{ACROSS, ALL_SPINES, DEAD_SPINE, UNDISTURBED, Victims};
use xoff_fabric::goals::{Failure, Goal, Goals};
use xoff_report::{Number, Unit, Verdict};

/// Experiments and what they show.
pub(super) const FAILURES: [(&str, &str); 15] = [
    ("failure-link", "a link that is lost"),
    ("failure-silent", "a link that swallows packets"),
    ("failure-flap", "a flapping link"),
    ("failure-optic", "a dirty optic"),
    ("failure-optic-worse", "an optic that gets worse"),
    ("failure-spine", "a dead spine"),
    ("failure-step", "a dead spine under training steps"),
    ("failure-reset", "a spine that resets"),
    ("failure-upgrade", "a rolling upgrade"),
    ("failure-route", "a route change"),
    ("failure-leaf", "a dead leaf"),
    ("failure-nic", "a dead NIC port"),
    ("failure-server", "a dead server"),
    ("failure-receiver", "a slow receiver beside it"),
    ("failure-storm", "a pause storm beside it"),
];

/// Whether a job must survive a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// The file says so.
    Stated,
    /// Goals say so by default: what the design has once is then a warning.
    Usual,
    /// No. A validation says what it costs, and fails if the job ends although there is a second way, or hardly
    /// moves again.
    None,
}

impl Demand {
    fn of(goals: &Goals, id: &str) -> Self {
        let failure = match id {
            "link" | "silent" => Failure::Link,
            "flap" => Failure::Flap,
            "optic" | "optic-worse" => Failure::Optic,
            "spine" | "step" => Failure::Spine,
            "reset" => Failure::Reset,
            "upgrade" => Failure::Upgrade,
            "leaf" => Failure::Leaf,
            "nic" => Failure::Nic,
            "server" => Failure::Server,
            "receiver" => Failure::Receiver,
            "storm" => Failure::Storm,
            _ => return Demand::None,
        };
        let usual = goals.survive == Failure::BY_DEFAULT;
        match goals.survives(failure) {
            // How soon such a link is found out is a matter of its protocols, not of a second one.
            true if id == "silent" => Demand::None,
            true if usual => Demand::Usual,
            true => Demand::Stated,
            false => Demand::None,
        }
    }
}

/// What stays after a failure may take this many times as long as what is left of the links allows: a hash draws
/// anew when a link goes or comes, and a ring is as fast as its slowest connection.
const SLOWER: f64 = 1.5;
/// The mean over many flows may be this much less than what was worked out.
const CLOSE: f64 = 1.2;
/// A collective that takes this many times as long was slowed down, and one that stood still did so for more
/// seconds than this.
const NOTICED: f64 = 1.02;
const STANDSTILL: f64 = 1e-3;

/// What a failure costs.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureCost {
    /// Its name, like `link`.
    pub id: String,
    /// In words.
    pub what: String,
    /// The verdict of its check.
    pub verdict: Verdict,
    /// How long the job stood still at most, in seconds; none if it did not.
    pub interruption: Option<f64>,
    /// How many times as long its collectives or steps take until the failure is repaired; none if no longer.
    pub slowdown: Option<f64>,
    /// How long after the failure the job ended, in seconds, and why.
    pub died: Option<(f64, String)>,
}

/// What each failure costs, in the order of the checks.
pub fn failure_costs(evidence: &Evidence<'_>) -> Vec<FailureCost> {
    judged(evidence).into_iter().map(|judged| judged.cost).collect()
}

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let mut checks: Vec<Check> = judged(evidence).into_iter().map(Judged::check).collect();
    checks.extend(dead_spine(evidence));
    checks
}

/// A failure with what its check says.
struct Judged {
    cost: FailureCost,
    experiment: &'static str,
    seen: String,
    expected: String,
    places: Vec<String>,
    advice: Option<Advice>,
}

impl Judged {
    fn check(self) -> Check {
        let title = format!("What {} does to a job", self.cost.what);
        Check::new(Phase::Failures, &self.cost.id, title)
            .from([self.experiment, UNDISTURBED])
            .done(format!("broke {} while a job was under way", self.places.join(", ")))
            .seen(self.seen, self.expected)
            .verdict(self.cost.verdict)
            .places(self.places)
            .advise(self.advice)
    }
}

fn judged(evidence: &Evidence<'_>) -> Vec<Judged> {
    let Some(victims) = Victims::of(&evidence.setup.fabric) else { return Vec::new() };
    let Some(base) = evidence.get(UNDISTURBED) else { return Vec::new() };
    let one = |&(id, what): &(&'static str, &'static str)| {
        Some(failure(evidence, &victims, (id, what), base, evidence.get(id)?))
    };
    FAILURES.iter().filter_map(one).collect()
}

/// What became of the jobs of an experiment.
#[derive(Debug, Clone, Default, PartialEq)]
struct Course {
    /// Longest interruption, in seconds.
    interruption: f64,
    /// Time of a repetition while the failure lasts, over that without it.
    slowdown: f64,
    /// When and why the first job ended before its end.
    died: Option<(f64, String)>,
    /// Whether a job neither ended nor went on.
    stuck: bool,
    /// Whether a job that began after the repair was as fast as without the failure.
    healed: Option<bool>,
}

impl Course {
    /// From the times of the jobs; `usual` is how long a repetition takes without a failure, in microseconds.
    fn of(measured: &Measurement, usual: f64) -> Self {
        let fault = measured.fault.clone().unwrap_or_default();
        let mut course = Self { slowdown: 1.0, ..Self::default() };
        for (at, job) in measured.jobs.iter().enumerate() {
            let others = measured.jobs.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<&JobFigures> = others.map(|(_, other)| other).collect();
            course.add(job, &alone(job, &others), usual, (fault.begin_us, fault.end_us));
        }
        course
    }

    /// Whether a job did not come to its end.
    fn ended(&self) -> bool {
        self.died.is_some() || self.stuck
    }

    /// Adds a job, of which the repetitions in `alone` shared the network with no other.
    fn add(
        &mut self,
        job: &JobFigures,
        alone: &[f64],
        usual: f64,
        (begin, end): (f64, Option<f64>),
    ) {
        let times: Vec<f64> =
            job.runs.iter().filter_map(|(start, end)| Some((*end)? - start)).collect();
        let longest = times.iter().copied().fold(0.0, f64::max);
        let lasting = median(&alone[alone.len().saturating_sub(2)..]).unwrap_or(usual);
        let began = job.runs.first().map_or(0.0, |run| run.0);
        let after = end.is_some_and(|end| began > end);
        self.interruption = self.interruption.max((longest - lasting.max(usual)) * 1e-6);
        if let Some(failure) = &job.failure {
            let waited = Unit::Seconds.show(failure.after_us * 1e-6);
            let why = format!(
                "{} after {waited}: queue pair {} of {} to {}",
                failure.reason, failure.queue_pair, failure.from, failure.to
            );
            self.died.get_or_insert(((failure.at_us - begin) * 1e-6, why));
        } else if times.len() < job.asked as usize {
            self.stuck = true;
        }
        if after {
            self.healed = Some(lasting <= usual * SLOWER);
        } else if end.is_none_or(|end| began < end) && !times.is_empty() {
            // A job that is under way when the repair comes shows neither.
            let whole =
                end.is_none_or(|end| job.runs.iter().all(|run| run.1.is_none_or(|t| t < end)));
            if whole {
                self.slowdown = self.slowdown.max(lasting / usual.max(1e-9));
            }
        }
    }
}

/// The times of a job's repetitions that shared the network with no other job: jobs that a failure has held up
/// go on together, and slow each other down.
fn alone(job: &JobFigures, others: &[&JobFigures]) -> Vec<f64> {
    let shares = |start: f64, end: f64| {
        let over = |other: &JobFigures| other.failure.as_ref().map_or(f64::INFINITY, |f| f.at_us);
        let meets = |other: &&JobFigures| {
            let mut runs = other.runs.iter();
            runs.any(|run| run.0 < end && start < run.1.unwrap_or(over(other)))
        };
        others.iter().any(meets)
    };
    let runs = job.runs.iter().filter_map(|(start, end)| Some((*start, (*end)?)));
    runs.filter(|&(start, end)| !shares(start, end)).map(|(start, end)| end - start).collect()
}

/// The middle one; of two the smaller.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// How long a repetition takes without a failure, in microseconds. Training steps are their own reference: the
/// first is over before anything breaks, or nearly so.
fn usual(id: &str, base: &Measurement, measured: &Measurement) -> Option<f64> {
    let own = id == "failure-step";
    let job = if own { measured } else { base }.jobs.first()?;
    let times = job.runs.iter().filter_map(|(start, end)| Some((*end)? - start));
    let times: Vec<f64> = times.collect();
    if own { times.iter().copied().reduce(f64::min) } else { median(&times) }
}

fn failure(
    evidence: &Evidence<'_>,
    victims: &Victims,
    (experiment, what): (&'static str, &'static str),
    base: &Measurement,
    measured: &Measurement,
) -> Judged {
    let fabric = &evidence.setup.fabric;
    let id = experiment.trim_start_matches("failure-");
    let course = Course::of(measured, usual(experiment, base, measured).unwrap_or(1.0));
    let single = single_point(fabric, victims, id);
    let allowed = match id {
        "link" | "silent" | "flap" | "spine" | "step" | "reset" | "upgrade" | "route" => {
            left_of(fabric, victims).filter(|left| *left > 0.0).map_or(1.0, |left| 1.0 / left)
        }
        "leaf" | "nic" => other_ports(fabric),
        // How much go-back-N repeats is no matter of the fabric.
        "optic" | "optic-worse" => f64::INFINITY,
        _ => 1.0,
    };
    let goals = &evidence.setup.goals;
    let (demand, patience) = (Demand::of(goals, id), goals.failure);
    let drops = measured.totals.lossless_drops.saturating_sub(watchdog_drops(measured));
    let broken = drops > 0 || !measured.deadlock.is_empty();
    let isolated = ["leaf", "nic"].contains(&id) && apart(fabric, victims).is_some();
    let verdict = match (course.ended(), &single) {
        _ if broken => Verdict::Fail,
        (true, Some(_)) => match demand {
            Demand::Stated => Verdict::Fail,
            Demand::Usual => Verdict::Warn,
            // Who builds two planes means to lose one.
            Demand::None if isolated => Verdict::Warn,
            Demand::None => Verdict::Pass,
        },
        (true, None) => Verdict::Fail,
        (false, _) if course.interruption > patience.fail => Verdict::Fail,
        (false, _) if demand == Demand::None => Verdict::Pass,
        // Each lost last packet of a message costs a timeout, which is the NIC's.
        (false, _) if course.interruption > patience.pass && allowed.is_finite() => Verdict::Warn,
        (false, _) if course.healed == Some(false) => Verdict::Warn,
        (false, _) if course.slowdown > allowed * SLOWER => Verdict::Warn,
        (false, _) => Verdict::Pass,
    };
    let unused = unused(victims, evidence, id, base);
    let mut seen = told(&course, measured, drops);
    if let Some(why) = single.as_ref().filter(|_| course.ended()) {
        seen += &format!(". By design: {why}");
    }
    if unused {
        seen += ". None of the job's traffic took this link: the run says nothing about it";
    }
    Judged {
        experiment,
        seen,
        expected: expected((id, demand), allowed, patience, single.is_some()),
        places: measured.fault.as_ref().map_or(Vec::new(), |fault| fault.places.clone()),
        advice: cure(evidence, id, &course, single.as_deref()),
        cost: FailureCost {
            id: id.to_owned(),
            what: what.to_owned(),
            verdict,
            interruption: (course.interruption > STANDSTILL).then_some(course.interruption),
            slowdown: (course.slowdown > NOTICED).then_some(course.slowdown),
            died: course.died,
        },
    }
}

/// How much longer a NIC takes with one of its ports gone, where it has several; the job waits for it.
fn other_ports(fabric: &xoff_fabric::model::Fabric) -> f64 {
    let ports = fabric.nics.iter().map(|nic| nic.ports.len()).min().unwrap_or(1);
    if ports > 1 { ports as f64 / (ports as f64 - 1.0) } else { 1.0 }
}

/// What the watchdog dropped on purpose is no failure of flow control.
fn watchdog_drops(measured: &Measurement) -> u64 {
    measured.counters.iter().map(|port| port.watchdog_drops).sum()
}

/// Whether a link that breaks carried nothing of the undisturbed job.
fn unused(victims: &Victims, evidence: &Evidence<'_>, id: &str, base: &Measurement) -> bool {
    let on_link = ["link", "silent", "flap", "optic", "optic-worse"].contains(&id);
    let Some(name) = victims.uplink_name(&evidence.setup.fabric).filter(|_| on_link) else {
        return false;
    };
    let used = |port: &crate::blind::PortCounters| {
        (port.port == name || reverse(&port.port) == name) && port.tx_packets > 0
    };
    !base.counters.iter().any(used)
}

/// Beyond this many times as long a job hardly moves.
pub(super) const CRAWLS: f64 = 10.0;

/// What a failure did, in words.
fn told(course: &Course, measured: &Measurement, drops: u64) -> String {
    let mut seen = match &course.died {
        Some((after, why)) => {
            format!("the job dies {} after the failure: {why}", Unit::Seconds.show(*after))
        }
        None if course.stuck => {
            let end = Unit::Seconds.show(measured.end_us * 1e-6);
            format!("the job stands still to the end of the run, {end} after its start")
        }
        None => match (course.interruption > STANDSTILL, course.slowdown > NOTICED) {
            (false, false) => "the job goes on".to_owned(),
            (true, false) => {
                format!("the job stands still for {}, then goes on", standstill(course))
            }
            (false, true) => {
                format!("the job goes on, {}", slower(course.slowdown))
            }
            (true, true) => format!(
                "the job stands still for {}, then goes on, {} until it is repaired",
                standstill(course),
                slower(course.slowdown)
            ),
        },
    };
    match course.healed {
        Some(true) if course.died.is_some() => {
            seen += "; a job after the repair is as fast as before"
        }
        Some(true) => seen += "; after the repair it is as fast as before",
        Some(false) => seen += "; after the repair it is still slower",
        None => {}
    }
    let totals = measured.totals;
    if totals.fault_drops + totals.wire_drops > 0 {
        let lost =
            xoff_report::counted(totals.fault_drops + totals.wire_drops, "packet", "packets");
        seen += &format!("; {lost} lost to it");
    }
    if totals.watchdog > 0 {
        let acted = xoff_report::counted(totals.watchdog, "queue", "queues");
        seen += &format!("; the watchdog took {acted} out");
    }
    if drops > 0 {
        let lost = xoff_report::counted(drops, "lossless packet", "lossless packets");
        seen += &format!("; {lost} dropped for want of buffer");
    }
    if !measured.deadlock.is_empty() {
        seen += "; queues wait for each other in a ring";
    }
    seen
}

/// How much slower, in words: a share as long as it is one.
fn slower(times: f64) -> String {
    match times < 3.0 {
        true => format!("slowed by {}", percent(times - 1.0)),
        false => format!("taking {} times as long", Number::plain(times)),
    }
}

fn standstill(course: &Course) -> String {
    time(course.interruption * 1e6)
}

fn expected((id, demand): (&str, Demand), allowed: f64, patience: Goal, single: bool) -> String {
    if single {
        return "nothing else in this design: what is there once stops with its failure".to_owned();
    }
    let [pass, fail] = [patience.pass, patience.fail].map(|seconds| Unit::Seconds.show(seconds));
    if demand == Demand::None {
        return format!(
            "the job goes on within {fail}, however slow; no lossless drop, no deadlock"
        );
    }
    let pass = if allowed.is_infinite() { &fail } else { &pass };
    let slower = match id {
        "receiver" | "storm" => ", at full speed: it has nothing to do with that NIC".to_owned(),
        _ if allowed.is_infinite() => ", however slow".to_owned(),
        _ if allowed > 1.0 => format!(", {} at most", slower(allowed * SLOWER)),
        _ => String::new(),
    };
    format!("the job goes on within {pass}{slower}; no lossless drop, no deadlock")
}

fn cure(
    evidence: &Evidence<'_>,
    id: &str,
    course: &Course,
    single: Option<&str>,
) -> Option<Advice> {
    let fabric = &evidence.setup.fabric;
    let dog = fabric.switches.iter().any(|switch| switch.watchdog.is_none());
    Some(match (id, single) {
        ("storm", _) if fabric.credits => Advice::words(
            "limit how long packets may wait at the head of a queue: without that a NIC that takes nothing holds up all",
        ),
        ("storm", _) if dog && course.ended() => advice::watchdog(),
        ("storm", _) if course.ended() => Advice::words(
            "let the watchdog act sooner than queue pairs give up: shorten its detection time, or raise the \
             NICs' timeout or retry limit",
        ),
        ("silent", _)
            if course.died.is_some() || course.interruption > evidence.setup.goals.failure.pass =>
        {
            Advice::change(
                "find links that swallow packets by BFD, not by the hold time of BGP",
                "[convergence]\nprofile = \"bgp-bfd\"",
            )
        }
        ("spine" | "reset" | "upgrade" | "step", Some(_)) => {
            Advice::words("build two switches or more above the leaves")
        }
        ("leaf" | "nic", Some(_)) if fabric.nics.iter().all(|nic| nic.ports.len() > 1) => {
            Advice::words(
                "join the planes (two leaves of a NIC under the same spines: homing = \"dual\"), or use NICs or a \
                 communication library that change the plane when the other end does not answer: xoff has no model \
                 of those",
            )
        }
        ("leaf" | "nic", Some(_)) => Advice::words("give servers a second way: dual-homed NICs"),
        ("storm", _) => Advice::words(
            "let the watchdog act sooner, and keep the storm's senders off the links that others need",
        ),
        ("receiver", _) => Advice::words(
            "see where its pauses spread to: ECN must slow its senders before its leaf pauses others",
        ),
        ("optic" | "optic-worse", _) => Advice::words(
            "take links with damaged packets out of service: go-back-N repeats all that follows each of them",
        ),
        (_, Some(_)) => Advice::words("give it a second one"),
        _ => {
            Advice::words("shorten convergence, or raise the NICs' timeout or retry limit above it")
        }
    })
}

/// A dead spine leaves what the others carry, judged on the mean rate of flows that all cross them.
fn dead_spine(evidence: &Evidence<'_>) -> Option<Check> {
    let share = |id: &str| {
        let measured = evidence.get(id)?;
        Some((measured, measured.group(ACROSS)?.share_of_ideal))
    };
    let (_, whole) = share(ALL_SPINES).filter(|(_, share)| *share > 0.0)?;
    let (measured, without) = share(DEAD_SPINE)?;
    let victims = Victims::of(&evidence.setup.fabric)?;
    let predicted = left_of(&evidence.setup.fabric, &victims)?;
    let check = Check::new(
        Phase::Failures,
        "bandwidth",
        "A dead spine costs its share of the bandwidth, and no more",
    )
    .from([DEAD_SPINE, ALL_SPINES])
    .done("sent across the links of one leaf up, with all spines and without one");
    if predicted <= 0.0 {
        let why = single_point(&evidence.setup.fabric, &victims, "spine").unwrap_or_default();
        let verdict = match Demand::of(&evidence.setup.goals, "spine") {
            Demand::None => Verdict::Pass,
            Demand::Stated | Demand::Usual => Verdict::Warn,
        };
        return Some(
            check
                .seen(why, "nothing else with one spine")
                .verdict(verdict)
                .advise(Some(Advice::words("build two switches or more above the leaves"))),
        );
    }
    let left = without / whole;
    let verdict = match () {
        () if !measured.is_complete() => Verdict::Fail,
        () if left * CLOSE >= predicted => Verdict::Pass,
        () => Verdict::Warn,
    };
    let seen = format!("{} of the bandwidth remains", percent(left.min(1.0)));
    let expected = format!("{}: what the leaf's other links up carry", percent(predicted));
    let advice = Advice::words("check how the remaining links share the load");
    Some(check.seen(seen, expected).verdict(verdict).advise(Some(advice)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{FaultFigures, QueuePairFailure};
    use crate::suite::JOB;

    fn job(runs: &[(f64, f64)]) -> JobFigures {
        JobFigures {
            name: JOB.to_owned(),
            runs: runs.iter().map(|&(start, end)| (start, Some(end))).collect(),
            asked: runs.len() as u32,
            failure: None,
        }
    }

    fn course(jobs: Vec<JobFigures>, end_us: Option<f64>) -> Course {
        let fault = Some(FaultFigures { places: Vec::new(), begin_us: 150.0, end_us });
        Course::of(&Measurement { jobs, fault, ..Measurement::default() }, 100.0)
    }

    #[test]
    fn standing_still_and_being_slower_are_told_apart() {
        let hit = [
            (0.0, 100.0),
            (100.0, 1_000_220.0),
            (1_000_220.0, 1_000_340.0),
            (1_000_340.0, 1_000_460.0),
        ];
        let course = course(vec![job(&hit)], None);
        assert!((course.interruption - 1.0).abs() < 1e-3, "{course:?}");
        assert!((course.slowdown - 1.2).abs() < 1e-9, "{course:?}");
        assert!(course.died.is_none() && !course.stuck);
    }

    #[test]
    fn a_job_after_the_repair_shows_whether_it_healed() {
        let before = job(&[(0.0, 100.0), (100.0, 300.0), (300.0, 500.0), (500.0, 700.0)]);
        let well = job(&[(2_000.0, 2_100.0), (2_100.0, 2_200.0)]);
        let slow = job(&[(2_000.0, 2_200.0), (2_200.0, 2_400.0)]);
        assert_eq!(course(vec![before.clone(), well], Some(1_000.0)).healed, Some(true));
        let still = course(vec![before, slow], Some(1_000.0));
        assert_eq!((still.healed, still.slowdown), (Some(false), 2.0));
    }

    #[test]
    fn slowness_is_a_share_as_long_as_it_is_one() {
        assert_eq!(slower(1.12), "slowed by 12 %");
        assert_eq!(slower(945.3), "taking 945 times as long");
    }

    /// Two jobs that were held up together slow each other down afterwards, not the failure.
    #[test]
    fn jobs_that_share_the_network_say_nothing_of_speed() {
        let one = job(&[(0.0, 100.0), (100.0, 5_000.0), (5_000.0, 5_200.0), (5_200.0, 5_400.0)]);
        let two = job(&[(300.0, 5_000.0), (5_000.0, 5_200.0), (5_200.0, 5_400.0)]);
        let together = course(vec![one.clone(), two], None);
        assert!(together.slowdown <= 1.0 && together.interruption > 0.0, "{together:?}");
        let by_itself = course(vec![one], None);
        assert_eq!(by_itself.slowdown, 2.0, "{by_itself:?}");
    }

    #[test]
    fn a_dead_job_has_its_time_and_reason() {
        let failure = QueuePairFailure {
            at_us: 34_000_150.0,
            after_us: 34_000_000.0,
            reason: "retry exceeded".into(),
            from: "a".into(),
            to: "b".into(),
            queue_pair: 7,
        };
        let dead = JobFigures { asked: 4, failure: Some(failure), ..job(&[(0.0, 100.0)]) };
        let (after, why) = course(vec![dead], None).died.unwrap();
        assert!((after - 34.0).abs() < 1e-9, "{after}");
        assert_eq!(why, "retry exceeded after 34 s: queue pair 7 of a to b");
        // One that neither ends nor goes on stands still.
        let stuck = JobFigures { asked: 4, ..job(&[(0.0, 100.0)]) };
        assert!(course(vec![stuck], None).stuck);
    }
}
