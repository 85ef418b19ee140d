//! Requests that are served to their last token: percentiles, and whether enough of them kept to their objective.

use xoff_sim::JobResult;
use xoff_telemetry::{Percentiles, ServingSummary};
use xoff_units::Span;
use xoff_workload::service::Served;
use xoff_workload::{Job, TokenObjective};

/// What the requests of a job took, if it serves any.
pub(crate) fn summarise(job: &Job, result: &JobResult) -> Option<ServingSummary> {
    let objective = job.service.as_ref()?.tokens;
    let served = &result.served;
    if served.is_empty() {
        return None;
    }
    let percentiles = |of: fn(&Served) -> Option<Span>| {
        let mut values: Vec<u64> = served.iter().filter_map(of).map(Span::as_ps).collect();
        Percentiles::of(&mut values, Span::from_us(1).as_ps())
    };
    let us = |span: Option<Span>| span.map(Span::as_us_f64);
    Some(ServingSummary {
        ttft_us: percentiles(|one| one.first),
        tpot_us: percentiles(|one| one.each),
        ttft_objective_us: us(objective.and_then(|objective| objective.first)),
        tpot_objective_us: us(objective.and_then(|objective| objective.each)),
        within: objective.map(|objective| share(served, &objective)),
        wanted: objective.map(|objective| objective.share.as_f64()),
    })
}

/// The share of all requests that came that kept to an objective. What is not through has not.
fn share(served: &[Served], objective: &TokenObjective) -> f64 {
    kept(served, objective) as f64 / served.len().max(1) as f64
}

fn kept(served: &[Served], objective: &TokenObjective) -> usize {
    let within = |took: Option<Span>, most: Option<Span>| match (took, most) {
        (Some(took), Some(most)) => took <= most,
        _ => true,
    };
    let good = |one: &&Served| {
        one.done && within(one.first, objective.first) && within(one.each, objective.each)
    };
    served.iter().filter(good).count()
}

/// Says that too few requests of a job kept to their objective, if that is so.
pub(crate) fn missed(name: &str, job: &Job, result: &JobResult) -> Option<String> {
    let objective = job.service.as_ref()?.tokens?;
    let served = &result.served;
    let (kept, all) = (kept(served, &objective) as u128, served.len() as u128);
    let (over, under) = (objective.share.numerator(), objective.share.denominator());
    // Whole numbers, so that 99 of 100 is 99 %.
    if kept * u128::from(under) >= all * u128::from(over) {
        return None;
    }
    let limits = [("TTFT", objective.first), ("TPOT", objective.each)];
    let limits = limits.iter().filter_map(|(name, most)| Some(format!("{name} {}", (*most)?)));
    let limits: Vec<String> = limits.collect();
    let wanted = objective.share.as_f64() * 100.0;
    Some(format!(
        "objective missed: {kept} of {all} requests of {name} within {}; {wanted} % must be",
        limits.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Ratio;

    fn one(first: u64, each: Option<u64>, done: bool) -> Served {
        let first = Some(Span::from_ms(first));
        Served { first, each: each.map(Span::from_ms), done }
    }

    #[test]
    fn requests_keep_to_both_or_to_neither() {
        let objective = |first: Option<u64>, each: Option<u64>| TokenObjective {
            first: first.map(Span::from_ms),
            each: each.map(Span::from_ms),
            share: Ratio::new(1, 2),
        };
        let served = [
            one(10, Some(5), true),
            one(11, Some(5), true),
            one(10, Some(6), true),
            one(10, None, true),
            one(10, Some(5), false),
            Served::default(),
        ];
        assert_eq!(kept(&served, &objective(Some(10), Some(5))), 2);
        assert_eq!(kept(&served, &objective(Some(11), None)), 4);
        assert_eq!(kept(&served, &objective(None, Some(5))), 3);
        assert!((share(&served, &objective(Some(10), Some(5))) - 1.0 / 3.0).abs() < 1e-12);
    }
}
