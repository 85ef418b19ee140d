//! What the tests of the simulator share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::scenario::Operation;
use xoff_sim::{Report, Settings, Silent};
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::Flow;

/// Reads a fabric file that must be right.
pub(crate) fn fabric(text: &str) -> Fabric {
    match Fabric::from_toml(text) {
        Ok(fabric) => fabric,
        Err(diagnostics) => panic!("{diagnostics:#?}"),
    }
}

/// A write of `bytes` that starts at once, in the fabric's data class.
pub(crate) fn flow(fabric: &Fabric, source: u32, destination: u32, bytes: u64) -> Flow {
    Flow {
        start: Instant::ZERO,
        source: NicId(source),
        destination: NicId(destination),
        bytes: Bytes::new(bytes),
        class: fabric.data_class,
        operation: Operation::Write,
        source_port: 0xc000 | (source * 131 + destination) as u16 & 0x3fff,
        path: None,
        workload: 0,
        vxlan: false,
    }
}

/// Runs without anybody watching.
pub(crate) fn run(fabric: &Fabric, flows: &[Flow]) -> Report {
    let settings = Settings { check_wire: true, ..Settings::default() };
    match xoff_sim::run(fabric, flows, &[], &settings, &mut Silent) {
        Ok(report) => report,
        Err(error) => panic!("{error}"),
    }
}

/// The last completion.
pub(crate) fn last_completion(report: &Report) -> Span {
    let completion = |flow: &xoff_sim::FlowResult| flow.completion().expect("a flow is unfinished");
    report.flows.iter().map(completion).max().unwrap_or(Span::ZERO)
}

/// Mean completion time in nanoseconds.
pub(crate) fn mean_ns(report: &Report) -> f64 {
    let sum: f64 = report.flows.iter().map(|f| f.completion().unwrap().as_ps() as f64).sum();
    sum / report.flows.len() as f64 / 1000.0
}
