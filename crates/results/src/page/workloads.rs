//! Training steps, workloads with figures of their own, and tenants, as tables.

use super::Material;
use xoff_report::{Block, Cell, Column, Number, Table, Unit};
use xoff_telemetry::{Summary, WorkloadSummary};

/// The tables that have rows.
pub(super) fn tables(material: &Material<'_>) -> Vec<Block> {
    let summary = material.summary;
    let tables = [
        steps(summary),
        critical(summary),
        workloads(summary),
        serving(summary),
        ends(summary),
        times(summary),
        tenants(summary),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).map(Into::into).collect()
}

fn seconds(us: f64) -> Number {
    Number::new(us * 1e-6, Unit::Seconds)
}

fn share(of: f64) -> Number {
    Number::new(of, Unit::Share)
}

fn time(name: &str) -> Column {
    Column::number(name, Unit::Seconds)
}

fn steps(summary: &Summary) -> Table {
    let samples = summary.steps.iter().any(|row| row.samples);
    let worked = if samples { "tokens or samples per second" } else { "tokens per second" };
    let columns = [
        Column::text("training step"),
        Column::number("GPUs", Unit::Count),
        time("time"),
        time("computing"),
        time("pipeline's bubble"),
        time("waiting for transfers"),
        Column::number("GPUs idle", Unit::Share),
        Column::number(worked, Unit::Count),
        Column::number("MFU", Unit::Share),
    ];
    let mut table = Table::new("training-steps", "Training steps", columns);
    for row in summary.steps.iter().filter(|row| row.finished > 0) {
        table.push([
            Cell::from(row.name.as_str()),
            Number::count(row.ranks.into()).into(),
            seconds(row.mean_us).into(),
            seconds(row.compute_us).into(),
            seconds(row.bubble_us).into(),
            seconds(row.exposed_us).into(),
            share(row.idle).into(),
            Number::count(row.tokens_per_second as u64).into(),
            share(row.mfu).into(),
        ]);
    }
    table
}

/// What held the longest training steps back.
fn critical(summary: &Summary) -> Table {
    let columns =
        [Column::text("training step"), Column::text("on its critical path"), time("time")];
    let mut table = Table::new("critical-path", "What held training steps back", columns);
    for step in summary.steps.iter().filter(|step| step.finished > 0) {
        let Some(path) = &step.critical else { continue };
        let mut row = |what: String, us: f64| {
            table.push([Cell::from(step.name.as_str()), what.into(), seconds(us).into()]);
        };
        row(format!("computing, to rank {}", path.last_rank), path.compute_us);
        for wait in &path.waits {
            row(format!("waiting, {}", wait.dimension), wait.wait_us);
        }
        if let Some(longest) = &path.longest {
            let (dimension, by) = (&longest.dimension, longest.held_by);
            row(format!("of it the longest wait: {dimension}, for rank {by}"), longest.wait_us);
        }
    }
    table
}

/// Workloads whose flows or collectives do not say all.
fn with_figures(summary: &Summary) -> impl Iterator<Item = &WorkloadSummary> {
    summary.workloads.iter().filter(|row| row.has_own_figures())
}

fn workloads(summary: &Summary) -> Table {
    let columns = [
        Column::text("workload"),
        Column::text("tenant"),
        time("time"),
        Column::number("begun", Unit::Count),
        Column::number("finished", Unit::Count),
        Column::text("of"),
        Column::number("per second", Unit::Plain),
        Column::number("moved", Unit::Bytes),
        Column::number("rate", Unit::BytesPerSecond),
    ];
    let mut table = Table::new("own-workloads", "Workloads", columns);
    for row in with_figures(summary) {
        table.push([
            Cell::from(row.name.as_str()),
            row.tenant.clone().into(),
            seconds(row.time_us).into(),
            Number::count(row.begun).into(),
            Number::count(row.finished).into(),
            row.unit.as_str().into(),
            Number::plain(row.per_second).into(),
            Number::new(row.bytes as f64, Unit::Bytes).into(),
            Number::new(row.gbytes_per_second * 1e9, Unit::BytesPerSecond).into(),
        ]);
    }
    table
}

/// What a request, round or run takes; objectives and what it takes alone where there are any.
fn times(summary: &Summary) -> Table {
    let objective = with_figures(summary).any(|row| row.objective_us.is_some());
    let alone = with_figures(summary).any(|row| row.alone_us.is_some());
    let mut columns =
        vec![Column::text("workload"), time("mean"), time("median"), time("p99"), time("slowest")];
    if objective {
        columns.extend([time("objective"), Column::number("within it", Unit::Share)]);
    }
    if alone {
        columns.extend([time("mean alone"), Column::number("slowdown", Unit::Plain)]);
    }
    let mut table = Table::new("own-times", "What one of them takes", columns);
    for row in with_figures(summary) {
        let Some(times) = row.latency_us else { continue };
        let mut cells = vec![Cell::from(row.name.as_str())];
        let shown = [times.mean, times.p50, times.p99, times.max];
        cells.extend(shown.map(|us| seconds(us).into()));
        if objective {
            let within = row.within_objective.map(share);
            cells.extend([row.objective_us.map(seconds), within].map(Into::into));
        }
        if alone {
            let slowdown = row.slowdown.map(Number::plain);
            cells.extend([row.alone_us.map(seconds), slowdown].map(Into::into));
        }
        table.push(cells);
    }
    table
}

/// What requests take to their tokens.
fn serving(summary: &Summary) -> Table {
    let columns = [
        Column::text("workload"),
        Column::text("time to"),
        time("median"),
        time("p90"),
        time("p99"),
        time("objective"),
        Column::number("requests within both", Unit::Share),
    ];
    let mut table = Table::new("serving", "Serving", columns);
    for row in with_figures(summary) {
        let Some(serving) = &row.serving else { continue };
        let lines = [
            ("first token (TTFT)", serving.ttft_us, serving.ttft_objective_us),
            ("each other token (TPOT)", serving.tpot_us, serving.tpot_objective_us),
        ];
        for (what, times, objective) in lines {
            let Some(times) = times else { continue };
            table.push([
                Cell::from(row.name.as_str()),
                what.into(),
                seconds(times.p50).into(),
                seconds(times.p90).into(),
                seconds(times.p99).into(),
                objective.map(seconds).into(),
                serving.within.map(share).into(),
            ]);
        }
    }
    table
}

/// How far apart the ranks of traces end.
fn ends(summary: &Summary) -> Table {
    let columns = [
        Column::text("workload"),
        time("first rank done"),
        Column::text("which"),
        time("half done"),
        time("last rank done"),
        Column::text("which"),
        time("apart"),
    ];
    let mut table = Table::new("rank-ends", "When the ranks of traces are done", columns);
    for row in with_figures(summary) {
        let Some(ends) = row.rank_ends else { continue };
        table.push([
            Cell::from(row.name.as_str()),
            seconds(ends.first_us).into(),
            format!("rank {}", ends.first_rank).into(),
            seconds(ends.median_us).into(),
            seconds(ends.last_us).into(),
            format!("rank {}", ends.last_rank).into(),
            seconds(ends.last_us - ends.first_us).into(),
        ]);
    }
    table
}

fn tenants(summary: &Summary) -> Table {
    let columns = [
        Column::text("tenant"),
        Column::number("workloads", Unit::Count),
        time("time"),
        Column::number("moved", Unit::Bytes),
        Column::number("greatest slowdown", Unit::Plain),
    ];
    let mut table = Table::new("tenants", "Tenants", columns);
    for tenant in &summary.tenants {
        table.push([
            Cell::from(tenant.name.as_str()),
            Number::count(tenant.workloads.into()).into(),
            seconds(tenant.time_us).into(),
            Number::new(tenant.bytes as f64, Unit::Bytes).into(),
            tenant.slowdown.map(Number::plain).into(),
        ]);
    }
    table
}
