//! The tables of `docs/fidelity.md`.

use crate::rows::rows;
use crate::{errors, run, times};
use xoff_fabric::scenario::Fidelity;
use xoff_sim::Report;

#[test]
#[ignore = "minutes: the table of docs/fidelity.md"]
fn table() {
    let only = std::env::var("XOFF_ROW").unwrap_or_default();
    let (mut sum, mut count) = (0.0, 0);
    println!(
        "| scenario | packet | flow | mean error | | wall | | |\n|---|---|---|---|---|---|---|---|"
    );
    for row in rows().iter().filter(|row| row.0.contains(&only)) {
        let (packet, _, packet_wall) = run(row, Fidelity::Packet, 1);
        let (flow, _, flow_wall) = run(row, Fidelity::Flow, 1);
        let last = |report: &Report| times(report).into_iter().fold(0.0, f64::max);
        let (mean, signed) = errors(&packet, &flow);
        if !packet.jobs.is_empty() {
            (sum, count) = (sum + mean, count + 1);
        }
        println!(
            "| {} | {:.1} us | {:.1} us | {:.1} % | {:+.1} % | {:.2} s | {:.3} s | {:.0}x |",
            row.0,
            last(&packet),
            last(&flow),
            100.0 * mean,
            100.0 * signed,
            packet_wall,
            flow_wall,
            packet_wall / flow_wall
        );
    }
    println!(
        "mean error of {count} collectives and steps: {:.2} %",
        100.0 * sum / f64::from(count)
    );
}

/// What all ports did together: bytes, marks, pauses.
fn counted(report: &Report) -> [u64; 3] {
    let bytes = report.ports.iter().flatten().map(|class| class.wire_bytes).sum();
    [bytes, report.marks(), report.xoff_frames()]
}

#[test]
#[ignore = "minutes: the table of `fast` in docs/fidelity.md"]
fn table_of_fast() {
    let only = std::env::var("XOFF_ROW").unwrap_or_default();
    let mut all = Vec::new();
    println!(
        "| scenario | packet | fast | mean error | wall | | | simulated | remembered | plain | bytes, marks, pauses |"
    );
    for row in rows().iter().filter(|row| row.0.contains(&only)) {
        let (packet, _, packet_wall) = run(row, Fidelity::Packet, 1);
        let (fast, _, fast_wall) = run(row, Fidelity::Fast, 1);
        let last = |report: &Report| times(report).into_iter().fold(0.0, f64::max);
        let (mean, _) = errors(&packet, &fast);
        all.push(mean);
        println!(
            "| {} | {:.1} us | {:.1} us | {:.2} % | {:.2} s | {:.3} s | {:.0}x | {:?} | {:?} | {:?} |",
            row.0,
            last(&packet),
            last(&fast),
            100.0 * mean,
            packet_wall,
            fast_wall,
            packet_wall / fast_wall,
            fast.shortcuts
                .map(|s| (s.plain, s.simulated, s.remembered))
                .ok_or(fast.instead_of_fast),
            counted(&packet),
            counted(&fast),
        );
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    println!("mean error of {} scenarios: {:.2} %", all.len(), 100.0 * mean);
}
