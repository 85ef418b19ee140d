//! Traffic that meets: incast, bursts, classes, bystanders; and that nothing lossless is lost.

use super::words::{count, percent, some, time};
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::{Aspect, Check};
use crate::measure::{Depth, Measurement};
use crate::phase::Phase;
use crate::suite::{ALL_SPINES, CLASS_SHARES, CROWD, DEAD_SPINE, INCASTS, VICTIMS};
use xoff_fabric::derived::Derived;
use xoff_fabric::model::Scheduling;
use xoff_report::Verdict;

/// Bystanders get this share of a port, or more. Max-min would leave them 7/8. Pauses alone stop both flows of a sender
/// alike: 1/8, and 15 to 28 % with what buffers take in the first of the 6 ms (rails of 64 and 24 GPUs, one switch;
/// congestion control off, ECN off, a notification every 500 us). Congestion control that slows senders down for the
/// crowded NIC leaves 49 % (800 Gb/s, where a port sends no more notifications than at 400) to 88 %; what is missing is
/// the time in which pauses still hold the senders' ports, by the draw of marks. The limit is between.
const ASIDE: (f64, f64) = (0.40, 0.30);
/// What max-min leaves them.
const FAIR: f64 = 1.0 - 1.0 / CROWD as f64;
/// RDMA gets this share of a port that another class wants as well.
const CLASS_SHARE: (f64, f64) = (0.3, 0.12);
/// A queue that stands under an incast delays packets by so many microseconds at most. Some of it is what senders sent
/// before the first notification came.
const STANDING: (f64, f64) = (400.0, 2_000.0);

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let found = [
        incasts(evidence),
        standing(evidence),
        evidence.get(VICTIMS).and_then(|measured| victims(evidence, measured)),
        evidence.get(CLASS_SHARES).and_then(|measured| classes(evidence, measured)),
        evidence
            .get("flood")
            .filter(|_| held(evidence))
            .map(|measured| flood(evidence, derived, measured)),
        evidence.get("microbursts").map(|measured| microbursts(evidence, derived, measured)),
        lossless(evidence, derived),
    ];
    found.into_iter().flatten().collect()
}

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Synthetic, name, title)
}

/// The incasts that were made, with their senders.
fn made<'a>(evidence: &Evidence<'a>) -> Vec<(u32, &'a Measurement)> {
    let find = |senders: u32| Some((senders, evidence.measured.get(&format!("incast-{senders}"))?));
    INCASTS.into_iter().filter_map(find).collect()
}

/// The receiver's link is used, whoever sends.
fn incasts(evidence: &Evidence<'_>) -> Option<Check> {
    let made = made(evidence);
    let share =
        |measured: &Measurement| measured.group("incast").map_or(0.0, |g| g.received.of.mean);
    let (senders, worst) = made.iter().min_by(|a, b| share(a.1).total_cmp(&share(b.1)))?;
    let rows =
        made.iter().map(|(senders, measured)| format!("{senders}:1 {}", percent(share(measured))));
    let goal = &evidence.setup.goals.incast;
    let check = check("incast", "Incast uses the receiver's link")
        .from(made.iter().map(|(_, measured)| measured.experiment.clone()))
        .done("sent from many NICs to one, each without end")
        .seen(
            format!(
                "of the receiver's line rate: {}; least at {senders}:1",
                rows.collect::<Vec<_>>().join(", ")
            ),
            format!("{} of the receiver's line rate or more", percent(1.0 / goal.pass)),
        )
        // As a time over the line rate's, as the goal has it.
        .held_against(1.0 / share(worst).max(f64::MIN_POSITIVE), goal);
    let candidates = [
        advice::usual_congestion_control(evidence),
        advice::thresholds(evidence),
        advice::usual_recovery(evidence),
        advice::faster_recovery(evidence.setup),
        advice::limits(evidence),
    ];
    Some(check.consider(candidates.into_iter().flatten()))
}

/// What congestion control leaves standing in a queue once it has settled.
fn standing(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let rate = fabric.nic_rate(fabric.nics.first()?).bps() as f64;
    // With more senders the first round trips decide, in which all send at line rate, and not the thresholds.
    let few = made(evidence).into_iter().filter(|(senders, _)| *senders <= 4);
    let delays: Vec<(u32, f64, &Measurement)> = few
        .filter_map(|(senders, measured)| {
            let points = &measured.series.first()?.points;
            Some((senders, remaining(points) * 8.0 / rate * 1e6, measured))
        })
        .collect();
    let &(senders, worst, measured) = delays.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let pauses: u64 = delays.iter().map(|(_, _, measured)| measured.totals.xoff).sum();
    let rows = delays.iter().map(|(senders, delay, _)| format!("{senders}:1 {}", time(*delay)));
    let check = check("queueing", "Congestion control keeps queues short")
        .from(delays.iter().map(|(_, _, measured)| measured.experiment.clone()))
        .done("averaged the deepest queue over the second half of each incast, or followed it on where it falls")
        .seen(
            format!(
                "packets wait {}; longest at {senders}:1; {}",
                rows.collect::<Vec<_>>().join(", "),
                count(pauses, "pause", "pauses"),
            ),
            format!("{} or less", time(STANDING.0)),
        )
        .places(measured.series.first().map(|series| series.port.clone()))
        .graded(1.0 / worst.max(1.0), 1.0 / STANDING.0, 1.0 / STANDING.1);
    let candidates = [
        no_marks(measured).then(advice::ecn_on),
        advice::thresholds(evidence),
        advice::usual_congestion_control(evidence),
        advice::usual_pause(evidence),
    ];
    Some(check.consider(candidates.into_iter().flatten()))
}

/// The mean depth of a queue over the second half of its run. Where it falls all that time, what it falls to if it goes on
/// for as long again: slow congestion control is not a queue that stands.
fn remaining(points: &[Depth]) -> f64 {
    let mean = |part: &[Depth]| {
        part.iter().map(|point| point.1 as f64).sum::<f64>() / part.len().max(1) as f64
    };
    let settled = &points[points.len() / 2..];
    let quarters: Vec<f64> = settled.chunks(settled.len().div_ceil(4).max(1)).map(mean).collect();
    let falls = quarters.len() == 4 && quarters.windows(2).all(|pair| pair[1] < pair[0]);
    if !falls {
        return mean(settled);
    }
    // Two quarters of the half are a quarter of the run.
    let (earlier, later) =
        (mean(&settled[..settled.len() / 2]), mean(&settled[settled.len() / 2..]));
    (later - 4.0 * (earlier - later)).max(0.0)
}

fn no_marks(measured: &Measurement) -> bool {
    measured.totals.marks == 0
}

/// What flows get that share their sender with an incast, and nothing else.
fn victims(evidence: &Evidence<'_>, measured: &Measurement) -> Option<Check> {
    let group = measured.group(VICTIMS)?;
    // Each flow is one queue pair, which uses one port of its NIC.
    let fabric = &evidence.setup.fabric;
    let ports = fabric.nics.iter().map(|nic| nic.ports.len()).max().unwrap_or(1).max(1) as f64;
    let (share, low) = (group.received.of.mean * ports, group.received.points.first()? * ports);
    let totals = measured.totals;
    let check = check("bystanders", "An incast does not stop its senders' other flows")
        .from([VICTIMS])
        .done(format!("{CROWD} NICs sent to one, and each to another NIC that nobody else sent to"))
        .seen(
            format!(
                "the other flows get {} of a port, the slowest {} (max-min leaves {}); {}, {}, {}",
                percent(share),
                percent(low),
                percent(FAIR),
                count(totals.marks, "mark", "marks"),
                count(totals.cnps, "notification", "notifications"),
                count(totals.xoff, "pause", "pauses"),
            ),
            format!(
                "{} or more: senders slow down for the crowded NIC only, where pauses alone would stop all they send",
                percent(ASIDE.0)
            ),
        )
        .graded(share, ASIDE.0, ASIDE.1)
        .headline();
    // Credits without congestion control spread a jam by design: that is said, and no setting of RoCE cures it.
    if !evidence.pauses() {
        let verdict = check.verdict.min(Verdict::Warn);
        return Some(check.verdict(verdict));
    }
    let candidates = [
        no_marks(measured).then(advice::ecn_on),
        advice::thresholds(evidence),
        advice::usual_congestion_control(evidence),
        advice::usual_pause(evidence),
        Some(Advice::words(
            "let ECN act before PFC: these flows stand behind pauses that an incast spreads. Compare Kmax with XOFF, and how \
             often a NIC notifies each of many senders (cnp-interval, cnp-scope)",
        )),
    ];
    Some(check.consider(candidates.into_iter().flatten()))
}

/// What the scheduler gives RDMA beside another class that wants as much.
fn classes(evidence: &Evidence<'_>, measured: &Measurement) -> Option<Check> {
    let share = |name: &str| Some(measured.group(name)?.received.of.mean);
    let (rdma, bulk) = (share("rdma")?, share("bulk")?);
    let fabric = &evidence.setup.fabric;
    let weight = |class: u8| {
        let port =
            fabric.switches.first().and_then(|s| fabric.ports.get(s.ports.start as usize))?;
        Some(match port.classes[usize::from(class)].scheduling {
            Scheduling::Strict => "strict".to_owned(),
            Scheduling::Weighted(weight) => format!("weight {weight}"),
        })
    };
    let words = weight(fabric.data_class.0).unwrap_or_default();
    let check = check("classes", "Other classes leave RDMA its share of a port")
        .from([CLASS_SHARES])
        .done("sent RDMA and another class to one NIC, each at line rate")
        .seen(
            format!(
                "RDMA ({words}) gets {} of the port, the other class {}",
                percent(rdma),
                percent(bulk)
            ),
            format!("{} or more", percent(CLASS_SHARE.0)),
        )
        .places((rdma < CLASS_SHARE.0).then_some("class.scheduling"))
        .graded(rdma, CLASS_SHARE.0, CLASS_SHARE.1);
    let candidates = [advice::usual_schedule(evidence)];
    Some(check.consider(candidates.into_iter().flatten()))
}

fn short_headroom(derived: &Derived) -> bool {
    derived.thresholds.iter().any(|row| row.headroom < row.headroom_needed)
}

/// What keeps a lossless class from losing packets, by what is missing.
fn keep_lossless(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Advice> {
    let candidates = [
        (!evidence.setup.fabric.pause.enabled).then(advice::pfc_on),
        short_headroom(derived).then(advice::headroom),
        advice::usual_pause(evidence),
    ];
    candidates.into_iter().flatten().collect()
}

/// Whether the network means to lose nothing.
fn held(evidence: &Evidence<'_>) -> bool {
    evidence.pauses() || evidence.setup.fabric.credits
}

/// Without congestion control, PFC must act and must suffice.
fn flood(evidence: &Evidence<'_>, derived: &Derived, measured: &Measurement) -> Check {
    let totals = measured.totals;
    let fabric = &evidence.setup.fabric;
    let dropped = totals.lossless_drops
        + if fabric.pause.enabled || fabric.credits { 0 } else { totals.lossy_drops };
    let verdict = match () {
        () if dropped > 0 || !measured.is_complete() => Verdict::Fail,
        () => Verdict::Pass,
    };
    let first = measured.first_lossless_drop.as_ref();
    let place = first.map(|(at, port)| format!(", first at {port} after {}", time(*at)));
    let mut candidates = keep_lossless(evidence, derived);
    candidates.push(Advice::words(
        "look at the class that lost packets: its buffer or headroom is too small",
    ));
    check("pfc-holds", "PFC alone keeps the RDMA class lossless")
        .from(["flood"])
        .about(Aspect::Lossless)
        .headline()
        .done("turned congestion control off and let many NICs send to one")
        .seen(
            format!(
                "{}, {}{}{}",
                count(totals.xoff, "pause", "pauses"),
                count(dropped, "packet lost", "packets lost"),
                place.unwrap_or_default(),
                if measured.is_complete() { "" } else { "; not all traffic was delivered" },
            ),
            "no packet lost, whatever senders do",
        )
        .verdict(verdict)
        .places(first.map(|(_, port)| port.clone()))
        .consider(candidates)
}

fn microbursts(evidence: &Evidence<'_>, derived: &Derived, measured: &Measurement) -> Check {
    let totals = measured.totals;
    let deepest = measured.ports.iter().map(|port| port.deepest_bytes).max().unwrap_or(0);
    let good = totals.lossless_drops == 0 && measured.is_complete();
    let tail = measured.group("burst").map_or(0.0, |group| group.completion.of.p99);
    check("microbursts", "Short bursts fit the buffers")
        .from(["microbursts"])
        .about(Aspect::Lossless)
        .done("sent ten bursts that are over before congestion control can act")
        .seen(
            format!(
                "p99 {}, deepest queue {:.0} KB, {}, {}",
                time(tail),
                deepest as f64 / 1e3,
                count(totals.xoff, "pause", "pauses"),
                count(totals.lossless_drops, "loss", "losses"),
            ),
            "no loss; pauses only if the burst is larger than the buffer",
        )
        .verdict(if good { Verdict::Pass } else { Verdict::Fail })
        .consider(keep_lossless(evidence, derived))
}

/// Over all experiments without a failure: no lossless drop, no deadlock, nothing that gave up.
fn lossless(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let broken =
        |name: &str| name.starts_with("failure") || [DEAD_SPINE, ALL_SPINES].contains(&name);
    let shows = |measured: &&Measurement| !broken(&measured.experiment) && measured.has_queues();
    let all: Vec<&Measurement> = evidence.measured.values().filter(shows).collect();
    if all.is_empty() {
        return None;
    }
    let drops: u64 = all.iter().map(|measured| measured.totals.lossless_drops).sum();
    let rings: Vec<String> = all.iter().flat_map(|measured| measured.deadlock.clone()).collect();
    let failed: u64 = all.iter().flat_map(|m| &m.groups).map(|group| group.failed).sum();
    let first = all.iter().find_map(|measured| measured.first_lossless_drop.clone());
    let good = drops == 0 && rings.is_empty() && failed == 0;
    let mut seen = count(drops, "lossless packet dropped", "lossless packets dropped");
    seen += &format!(" in {}", count(all.len() as u64, "experiment", "experiments"));
    if !rings.is_empty() {
        seen.push_str(&format!("; a deadlock of {}", some(&rings)));
    }
    if failed > 0 {
        seen.push_str(&format!("; {} gave up", count(failed, "queue pair", "queue pairs")));
    }
    let check = check("lossless", "No lossless class drops a packet, and nothing deadlocks")
        .about(Aspect::Lossless)
        .headline()
        .from(all.iter().map(|measured| measured.experiment.clone()))
        .done("summed over all experiments with packets in which nothing was broken on purpose")
        .seen(seen, "no loss, no deadlock, no queue pair that gives up")
        .verdict(if good { Verdict::Pass } else { Verdict::Fail })
        .places(first.map(|(_, port)| port).into_iter().chain(rings));
    Some(check.consider(keep_lossless(evidence, derived)))
}

#[cfg(test)]
mod tests {
    use super::remaining;

    #[test]
    fn a_queue_that_falls_is_followed_and_one_that_stands_is_not() {
        let run =
            |depth: fn(u64) -> u64| (0..400).map(|at| (at as f64, depth(at))).collect::<Vec<_>>();
        let stands = remaining(&run(|_| 1_000));
        assert!((stands - 1_000.0).abs() < 1e-9, "{stands}");
        // 5 a point: a mean of 750 in the last quarter, and 2,000 less a whole run later.
        assert_eq!(remaining(&run(|at| 2_500 - 5 * at)), 0.0);
        let slowly = remaining(&run(|at| 2_400 - at));
        assert!((1_600.0..1_700.0).contains(&slowly), "{slowly}");
        // What rises and falls is averaged.
        let swings = remaining(&run(|at| if at / 20 % 2 == 0 { 0 } else { 1_000 }));
        assert!((swings - 500.0).abs() < 60.0, "{swings}");
    }
}
