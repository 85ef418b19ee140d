//! The tables of workloads and tenants.

use super::super::number::{bytes, count, large, microseconds, percent, plain};
use super::super::table::{Align, Table};
use super::Page;
use xoff_telemetry::{CollectiveSummary, Summary, WorkloadSummary};
use xoff_units::Bytes;

/// Workloads that other tables say little of, and tenants.
pub(super) fn tables(page: &mut Page, summary: &Summary) {
    let rows = summary.workloads.iter().filter(|row| row.has_own_figures());
    let rows: Vec<&WorkloadSummary> = rows.collect();
    throughput(page, &rows);
    serving(page, &rows);
    ends(page, &rows);
    times(page, &rows);
    tenants(page, summary);
}

/// Collectives whose ranks come to them, or are done with them, at different times.
pub(super) fn apart(page: &mut Page, rows: &[&CollectiveSummary]) {
    let right = |name| (name, Align::Right);
    let columns = [("collective", Align::Left), right("size")];
    let (come, ends) = ("arrival skew", ["first end", "median end", "last end"].map(right));
    let comes = rows.iter().any(|row| comes_apart(row));
    let leaves = rows.iter().any(|row| ends_apart(row));
    let columns = columns.into_iter().chain(comes.then(|| right(come)));
    let columns: Vec<_> = columns.chain(ends.into_iter().filter(|_| leaves)).collect();
    let mut table = Table::new(&columns);
    for row in rows.iter().filter(|row| comes_apart(row) || ends_apart(row)) {
        let time = |us: Option<f64>| us.map_or(String::new(), microseconds);
        let mut cells = vec![row.name.clone(), bytes(Bytes::new(row.size_bytes))];
        cells.extend(comes.then(|| time(row.apart_us)));
        let all = row.ends_us.map(|ends| [ends.first, ends.median, ends.last]);
        let all = all.map_or([None; 3], |all| all.map(Some));
        cells.extend(all.map(time).into_iter().filter(|_| leaves));
        table.row(cells);
    }
    page.section("Rank skew", &table);
}

/// Whether it shows: in the digits of a table.
fn comes_apart(row: &CollectiveSummary) -> bool {
    row.apart_us.is_some_and(|apart| apart > 0.0)
}

fn ends_apart(row: &CollectiveSummary) -> bool {
    row.ends_us.is_some_and(|ends| microseconds(ends.first) != microseconds(ends.last))
}

/// What requests take to their tokens.
fn serving(page: &mut Page, rows: &[&WorkloadSummary]) {
    let right = |name| (name, Align::Right);
    let columns = [
        ("workload", Align::Left),
        ("", Align::Left),
        right("p50"),
        right("p90"),
        right("p99"),
        right("objective"),
        right("within both"),
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        let Some(serving) = &row.serving else { continue };
        let lines = [
            ("time to first token (TTFT)", serving.ttft_us, serving.ttft_objective_us),
            ("time per output token (TPOT)", serving.tpot_us, serving.tpot_objective_us),
        ];
        for (what, times, objective) in lines {
            let Some(times) = times else { continue };
            table.row([
                name(row),
                what.to_owned(),
                microseconds(times.p50),
                microseconds(times.p90),
                microseconds(times.p99),
                objective.map_or(String::new(), microseconds),
                serving.within.map_or(String::new(), percent),
            ]);
        }
    }
    page.section("Serving", &table);
}

/// How far apart the ranks of traces end.
fn ends(page: &mut Page, rows: &[&WorkloadSummary]) {
    let right = |name| (name, Align::Right);
    let columns = [
        ("workload", Align::Left),
        right("first end"),
        right("of rank"),
        right("median"),
        right("last end"),
        right("of rank"),
        right("apart"),
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        let Some(ends) = &row.rank_ends else { continue };
        table.row([
            name(row),
            microseconds(ends.first_us),
            count(ends.first_rank.into()),
            microseconds(ends.median_us),
            microseconds(ends.last_us),
            count(ends.last_rank.into()),
            microseconds(ends.last_us - ends.first_us),
        ]);
    }
    page.section("Ends of ranks", &table);
}

fn throughput(page: &mut Page, rows: &[&WorkloadSummary]) {
    let right = |name| (name, Align::Right);
    let columns = [
        ("workload", Align::Left),
        right("time"),
        right("finished"),
        ("", Align::Left),
        right("per second"),
        right("moved"),
        right("rate"),
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        table.row([
            name(row),
            microseconds(row.time_us),
            format!("{} of {}", count(row.finished), count(row.begun)),
            row.unit.clone(),
            large(row.per_second),
            bytes(Bytes::new(row.bytes)),
            format!("{} GB/s", plain(row.gbytes_per_second)),
        ]);
    }
    page.section("Workloads", &table);
}

fn times(page: &mut Page, rows: &[&WorkloadSummary]) {
    let right = |name| (name, Align::Right);
    let objective = rows.iter().any(|row| row.objective_us.is_some());
    let alone = rows.iter().any(|row| row.slowdown.is_some());
    let mut columns =
        vec![("workload", Align::Left), right("mean"), right("p50"), right("p99"), right("max")];
    if objective {
        columns.extend([right("objective"), right("within")]);
    }
    if alone {
        columns.extend([right("alone"), right("slowdown")]);
    }
    let mut table = Table::new(&columns);
    for row in rows {
        let Some(times) = row.latency_us else { continue };
        let mut cells = vec![name(row)];
        cells.extend([times.mean, times.p50, times.p99, times.max].map(microseconds));
        let shown = |value: Option<f64>, show: fn(f64) -> String| value.map_or("".into(), show);
        if objective {
            cells.push(shown(row.objective_us, microseconds));
            cells.push(shown(row.within_objective, percent));
        }
        if alone {
            cells.push(shown(row.alone_us, microseconds));
            cells.push(shown(row.slowdown, plain));
        }
        table.row(cells);
    }
    page.section("What one takes", &table);
}

fn tenants(page: &mut Page, summary: &Summary) {
    let right = |name| (name, Align::Right);
    let alone = summary.tenants.iter().any(|tenant| tenant.slowdown.is_some());
    let mut columns =
        vec![("tenant", Align::Left), right("workloads"), right("time"), right("moved")];
    if alone {
        columns.push(right("slowdown"));
    }
    let mut table = Table::new(&columns);
    for tenant in &summary.tenants {
        let mut cells = vec![
            tenant.name.clone(),
            count(tenant.workloads.into()),
            microseconds(tenant.time_us),
            bytes(Bytes::new(tenant.bytes)),
        ];
        if alone {
            cells.push(tenant.slowdown.map_or(String::new(), plain));
        }
        table.row(cells);
    }
    page.section("Tenants", &table);
}

/// What held training steps back.
pub(super) fn critical(page: &mut Page, summary: &Summary) {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Right)]);
    for step in summary.steps.iter().filter(|step| step.finished > 0) {
        let Some(path) = &step.critical else { continue };
        let mut row = |what: String, how_long: f64| {
            table.row([step.name.clone(), what, microseconds(how_long)]);
        };
        row(format!("computing, to rank {}", path.last_rank), path.compute_us);
        for wait in &path.waits {
            row(format!("waiting, {}", wait.dimension), wait.wait_us);
        }
        let Some(longest) = &path.longest else { continue };
        let (dimension, by) = (&longest.dimension, longest.held_by);
        row(format!("longest wait: {dimension}, for rank {by}"), longest.wait_us);
        if let Some(link) = &longest.link {
            let used = percent(longest.link_utilisation);
            row(format!("its busiest link {link} ({used}), paused"), longest.link_paused_us);
        }
    }
    page.section("Critical path", &table);
}

fn name(row: &WorkloadSummary) -> String {
    let name = match &row.tenant {
        Some(tenant) => format!("{tenant}: {}", row.name),
        None => row.name.clone(),
    };
    match &row.transport {
        Some(transport) => format!("{name} ({transport})"),
        None => name,
    }
}
