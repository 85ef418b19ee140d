//! A run at another fidelity beside the same run packet by packet.

use crate::{Case, StartError, Watcher};
use xoff_fabric::scenario::Fidelity;
use xoff_sim::{Progress, Report, Settings};
use xoff_telemetry::VerificationSummary;
use xoff_units::Span;

/// Links that carried less than this share of what the busiest did say little by their ratios.
const LEAST_LINK: f64 = 0.01;

/// Simulates a case packet by packet and says how far a report of it is from that. Nothing if `go_on` stopped it.
pub fn compare(
    case: &Case<'_>,
    settings: &Settings,
    report: &Report,
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
) -> Result<Option<VerificationSummary>, StartError> {
    let settings = Settings { fidelity: Fidelity::Packet, ..settings.clone() };
    let packets = case.run(&settings, &mut Watcher::new(case.fabric, go_on))?;
    let interrupted = packets.outcome == xoff_sim::Outcome::Interrupted;
    Ok((!interrupted).then(|| differences(&packets, report)))
}

fn differences(packets: &Report, other: &Report) -> VerificationSummary {
    let pairs = times(packets).into_iter().zip(times(other));
    let mut errors: Vec<f64> = pairs.map(|(meant, found)| error(meant, found)).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (errors.len() as f64 * share).ceil() as usize;
        errors.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    let both = |count: fn(&Report) -> u64| [count(packets), count(other)];
    VerificationSummary {
        times: errors.len() as u64,
        mean_error: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        p99_error: at(0.99),
        largest_error: at(1.0),
        link_error: link_error(packets, other),
        marks: both(Report::marks),
        pauses: both(Report::xoff_frames),
    }
}

/// When flows and runs of jobs were done, and requests within them.
fn times(report: &Report) -> Vec<Option<Span>> {
    let of_jobs = report.jobs.iter().flat_map(|job| job.runs.iter().chain(&job.requests));
    let flows = report.flows.iter().map(|flow| flow.completion());
    flows.chain(of_jobs.map(|run| run.time())).collect()
}

/// How far a time is from what it should be. What ends in one of them only is wrong by all of it.
fn error(meant: Option<Span>, found: Option<Span>) -> f64 {
    match (meant, found) {
        (Some(meant), Some(found)) if meant == found => 0.0,
        (Some(meant), Some(found)) => (found.as_us_f64() / meant.as_us_f64() - 1.0).abs(),
        (None, None) => 0.0,
        (None, Some(_)) | (Some(_), None) => 1.0,
    }
}

/// The largest difference in the bytes of a link.
fn link_error(packets: &Report, other: &Report) -> f64 {
    let bytes = |report: &Report| -> Vec<f64> {
        let of_port = |port: &[xoff_sim::ClassResult; 8]| {
            port.iter().map(|class| class.wire_bytes as f64).sum()
        };
        report.ports.iter().map(of_port).collect()
    };
    let (meant, found) = (bytes(packets), bytes(other));
    let least = LEAST_LINK * meant.iter().copied().fold(0.0, f64::max);
    let busy = meant.iter().zip(&found).filter(|(meant, _)| **meant > least);
    busy.map(|(meant, found)| (found / meant - 1.0).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_what_was_meant() {
        let us = |us| Some(Span::from_us(us));
        assert_eq!(error(us(100), us(100)), 0.0);
        assert!((error(us(100), us(97)) - 0.03).abs() < 1e-9);
        assert!((error(us(100), us(103)) - 0.03).abs() < 1e-9);
        assert_eq!(error(None, None), 0.0);
        assert_eq!((error(us(1), None), error(None, us(1))), (1.0, 1.0));
    }
}
