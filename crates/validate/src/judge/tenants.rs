//! Owners of traffic side by side: what they cost each other beyond what they must share.

use super::Evidence;
use super::load::candidates;
use super::words::{percent, time};
use crate::check::Check;
use crate::measure::{Measurement, OwnerFigures};
use crate::phase::Phase;
use crate::suite::{
    CACHES, CHECKPOINT, DECODING, SERVING, STORAGE, TENANTS, TRAINING, time_of_a_cache,
    time_to_write,
};
use xoff_fabric::derived::Derived;
use xoff_report::Verdict;

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let judges = [(STORAGE, training as Judge), (STORAGE, checkpoint), (SERVING, caches)];
    let judges = judges.into_iter().chain([(TENANTS, tenants as Judge)]);
    let check = |(id, judge): (&str, Judge)| {
        let measured = evidence.get(id)?;
        let check = judge(evidence, measured)?;
        let done = format!("{}; each also alone, with the same paths", measured.title);
        Some(check.done(done).from([id]).consider(candidates(evidence, derived, measured)))
    };
    judges.filter_map(check).collect()
}

type Judge = fn(&Evidence<'_>, &Measurement) -> Option<Check>;

/// At best a failure, unless all traffic came to its end.
fn complete(owners: &[&OwnerFigures]) -> Verdict {
    let all = owners.iter().all(|own| own.together.is_complete() && own.alone.is_complete());
    if all { Verdict::Pass } else { Verdict::Fail }
}

/// A collective beside a checkpoint loses the time that its NICs write, and not much more.
fn training(evidence: &Evidence<'_>, measured: &Measurement) -> Option<Check> {
    let own = measured.owner(TRAINING)?;
    let goals = &evidence.setup.goals;
    let (together, alone) = (own.together.each_us.mean, own.alone.each_us.mean);
    // A design that means to be oversubscribed has so much less for both.
    let needed = alone + time_to_write(&evidence.setup.fabric).as_us_f64() / goals.intended_share();
    let share = needed / together.max(f64::MIN_POSITIVE);
    let title = "A checkpoint costs a collective no more than its bytes";
    let check = Check::new(Phase::Workload, "storage", title)
        .seen(
            format!(
                "AllReduce takes {} beside the checkpoint, {} alone; with the checkpoint's bytes that \
                 makes {}, {} of what it took",
                time(together),
                time(alone),
                time(needed),
                percent(share)
            ),
            format!("{} or more", percent(goals.collective.pass)),
        )
        .held_against(share, &goals.collective)
        .at_best(complete(&[own]));
    Some(check)
}

/// A checkpoint is held against this many times the goal of an incast: it is over while senders still settle.
const SETTLING: f64 = 1.5;
/// The same of NICs with several ports, where each share has one queue pair and that keeps to one port by a hash.
const SETTLING_BY_PORTS: f64 = 2.25;

/// A checkpoint fills the NICs of its storage servers, collective or not.
fn checkpoint(evidence: &Evidence<'_>, measured: &Measurement) -> Option<Check> {
    let own = measured.owner(CHECKPOINT)?;
    let goals = &evidence.setup.goals;
    // What arrived over the whole run, in the time that the checkpoint took.
    let received = measured.group(CHECKPOINT)?.received.of.mean * measured.end_us;
    let share = received / own.together.whole_us.max(f64::MIN_POSITIVE);
    let alone = received / own.alone.whole_us.max(f64::MIN_POSITIVE);
    let several = evidence.setup.fabric.nics.iter().any(|nic| nic.ports.len() > 1);
    let settling = if several { SETTLING_BY_PORTS } else { SETTLING };
    let times = goals.intended_share() / (share * settling).max(f64::MIN_POSITIVE);
    let title = "Storage takes a checkpoint beside a collective";
    let check = Check::new(Phase::Workload, "checkpoint", title)
        .seen(
            format!(
                "{} for the whole checkpoint, {} alone: {} of the storage NICs' line rate, {} alone",
                time(own.together.whole_us),
                time(own.alone.whole_us),
                percent(share),
                percent(alone)
            ),
            format!("{} or more", percent(goals.intended_share() / goals.incast.pass / settling)),
        )
        .held_against(times.max(1.0), &goals.incast)
        .at_best(complete(&[own]));
    Some(check)
}

/// All but one in twenty of caches that come at random may take at most this many times what a port with nothing else to
/// do takes: they meet at servers by chance, with 20 % load, and congestion control recovers from that slower than they
/// are sent. Fabrics that do not block have 2 to 12 times by their seed, those with a quarter of the uplinks 20 to 35.
const CACHE_PASSES: f64 = 15.0;
const CACHE_FAILS: f64 = 40.0;

/// Caches are there in time although decode servers exchange tokens.
fn caches(evidence: &Evidence<'_>, measured: &Measurement) -> Option<Check> {
    let (own, decoding) = (measured.owner(CACHES)?, measured.owner(DECODING)?);
    let left = evidence.setup.goals.intended_share();
    let ideal = time_of_a_cache(&evidence.setup.fabric).as_us_f64() / left;
    let slow = own.together.p95_us;
    let title = "Key-value caches arrive in time beside decoding";
    let check = Check::new(Phase::Workload, "kv-cache", title)
        .seen(
            format!(
                "p95 of {} caches {}, {} without decoding, {:.1} times what a port takes for its part, the \
                 slowest {}; a step of decoding {}, {} without caches",
                own.together.begun,
                time(slow),
                time(own.alone.p95_us),
                slow / ideal.max(f64::MIN_POSITIVE),
                time(own.together.each_us.max),
                time(decoding.together.each_us.mean),
                time(decoding.alone.each_us.mean),
            ),
            format!("p95 at most {CACHE_PASSES} times what a port takes for its part"),
        )
        .graded((ideal / slow.max(f64::MIN_POSITIVE)).min(1.0), 1.0 / CACHE_PASSES, 1.0 / CACHE_FAILS)
        .at_best(complete(&[own, decoding]));
    Some(check)
}

/// Tenants on servers of their own take as long as alone.
fn tenants(evidence: &Evidence<'_>, measured: &Measurement) -> Option<Check> {
    let goals = &evidence.setup.goals;
    let kept = |own: &OwnerFigures| {
        own.alone.each_us.mean / own.together.each_us.mean.max(f64::MIN_POSITIVE)
    };
    let worst = measured.owners.iter().min_by(|a, b| kept(a).total_cmp(&kept(b)))?;
    let words = measured.owners.iter().map(|own| {
        let (together, alone) = (own.together.each_us.mean, own.alone.each_us.mean);
        format!("{} takes {}, {} alone", own.name, time(together), time(alone))
    });
    let share = kept(worst) / goals.intended_share();
    let owners: Vec<&OwnerFigures> = measured.owners.iter().collect();
    let pass = goals.collective.pass * goals.intended_share();
    let check = Check::new(Phase::Workload, "tenants", "Two tenants do not slow each other down")
        .seen(
            format!(
                "{}: {} of its speed alone is left",
                words.collect::<Vec<_>>().join("; "),
                percent(kept(worst))
            ),
            format!("{} or more", percent(pass)),
        )
        .held_against(share, &goals.collective)
        .at_best(complete(&owners));
    Some(check)
}
