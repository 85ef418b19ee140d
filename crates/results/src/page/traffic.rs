//! What the traffic got: completion times, goodput, collectives; and what [`super::workloads`] has.

use super::{Material, workloads as own};
use std::collections::BTreeMap;
use xoff_report::{
    Axis, BarSeries, Bars, Cdf, Cell, Chart, Column, Figure, Mark, Number, Plot, Reference,
    Samples, Section, Series, Table, Unit,
};
use xoff_telemetry::nearest_rank;
use xoff_units::{Bytes, Rate, Span};

/// The section, unless there was no traffic.
pub(super) fn section(material: &Material<'_>) -> Option<Section> {
    let mut section = Section::new("traffic", "What the traffic got");
    section.blocks.extend(collectives(material).map(Into::into));
    section.blocks.extend(own::tables(material));
    let groups = groups(material);
    if !groups.is_empty() {
        section.blocks.push(workloads(&groups).into());
        // Of flows that never finished there is no curve.
        if groups.values().any(|group| !group.times.is_empty()) {
            section.blocks.push(completion(&groups).into());
        }
    }
    (!section.blocks.is_empty()).then_some(section)
}

/// The flows of a workload.
#[derive(Default)]
struct Group {
    offered: u64,
    times: Vec<f64>,
    slowdowns: Vec<f64>,
    bytes: Bytes,
    ideals: Vec<f64>,
}

/// Flows by the name of their workload.
fn groups(material: &Material<'_>) -> BTreeMap<String, Group> {
    let results = material.results;
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (flow, result) in results.case.flows.iter().zip(&results.report.flows) {
        let name = results.case.workload_name(flow.workload);
        let name = format!("{name} of {}", flow.bytes);
        let group = match groups.len() {
            // Sizes may be as many as flows: then they are one group.
            0..8 => groups.entry(name).or_default(),
            _ if groups.contains_key(&name) => groups.entry(name).or_default(),
            _ => groups.entry("all others".to_owned()).or_default(),
        };
        group.offered += 1;
        let Some(end) = result.end else { continue };
        let took = end.since(result.start);
        group.bytes += flow.bytes;
        group.times.push(took.as_s_f64());
        group.ideals.push(result.ideal.as_s_f64());
        if !result.ideal.is_zero() {
            group.slowdowns.push(took.as_s_f64() / result.ideal.as_s_f64());
        }
    }
    for group in groups.values_mut() {
        group.times.sort_by(f64::total_cmp);
        group.slowdowns.sort_by(f64::total_cmp);
    }
    groups
}

fn workloads(groups: &BTreeMap<String, Group>) -> Table {
    let time = |name| Column::number(name, Unit::Seconds);
    let columns = [
        Column::text("workload"),
        Column::number("flows", Unit::Count),
        Column::number("finished", Unit::Count),
        time("median"),
        time("p99"),
        time("slowest"),
        Column::number("median slowdown", Unit::Plain),
        Column::number("p99 slowdown", Unit::Plain),
        Column::number("median goodput", Unit::BitsPerSecond),
    ];
    let mut table = Table::new("workloads", "Flows by workload", columns);
    for (name, group) in groups {
        let time =
            |percent| nearest_rank(&group.times, percent).map(|t| Number::new(t, Unit::Seconds));
        let slow = |percent| nearest_rank(&group.slowdowns, percent).map(Number::plain);
        let each = Bytes::new(group.bytes.get() / group.times.len().max(1) as u64);
        let goodput = nearest_rank(&group.times, 50)
            .map(|t| Number::from(Rate::of(each, Span::from_ps((t * 1e12) as u64))));
        table.push([
            Cell::from(name.as_str()),
            Number::count(group.offered).into(),
            Number::count(group.times.len() as u64).into(),
            time(50).into(),
            time(99).into(),
            time(100).into(),
            slow(50).into(),
            slow(99).into(),
            goodput.into(),
        ]);
    }
    table
}

fn completion(groups: &BTreeMap<String, Group>) -> Figure {
    let mut marks = Vec::new();
    if let [group] = groups.values().collect::<Vec<_>>()[..] {
        let ideal = group.ideals.iter().copied().fold(f64::INFINITY, f64::min);
        if ideal.is_finite() {
            marks.push(Mark { label: "least ideal".to_owned(), value: ideal });
        }
    }
    let series = groups
        .iter()
        .map(|(name, group)| Samples { name: name.clone(), values: group.times.clone() });
    let (least, most) = groups
        .values()
        .flat_map(|group| &group.times)
        .fold((f64::INFINITY, 0f64), |(least, most), time| (least.min(*time), most.max(*time)));
    let mut x = Axis::new("completion time", Unit::Seconds);
    // Times that differ by much are only seen together on a logarithmic axis.
    if most > least * 8.0 {
        x = x.log();
    }
    let curves = Cdf { x, series: series.collect(), marks };
    let caption = "How many flows were complete after how long; a steep curve means that all were \
                   treated alike.";
    Figure::new("completion-times", "Completion times", Plot::Cdf(curves)).caption(caption)
}

/// Bus bandwidth over size, or as a bar where there is only one size.
fn collectives(material: &Material<'_>) -> Option<Figure> {
    let rows = || material.summary.collectives.iter().filter(|row| row.finished > 0);
    let mut names: Vec<String> = Vec::new();
    let label = |row: &xoff_telemetry::CollectiveSummary| {
        format!("{} ({}, {} ranks)", row.name, row.algorithm, row.ranks)
    };
    for row in rows() {
        if !names.contains(&label(row)) {
            names.push(label(row));
        }
    }
    let fabric = material.results.case.fabric;
    let rates = fabric.nics.iter().filter(|nic| !nic.ports.is_empty());
    let rate = rates.map(|nic| fabric.cable(xoff_fabric::model::PortId(nic.ports.start)).rate);
    let line = rate.max().map(|rate| rate.bps() as f64 / 8.0);
    let busbw = Axis::new("bus bandwidth", Unit::BytesPerSecond);
    let several = names.iter().any(|name| rows().filter(|row| label(row) == *name).count() > 1);
    let free = rows().all(|row| row.cost == "none");
    let caption = match free {
        true => {
            "As nccl-tests counts it: the load on the slowest link. GPUs and hosts take no time."
        }
        false => {
            "As nccl-tests counts it: the load on the slowest link. At small sizes the time of GPUs \
                  and hosts prevails."
        }
    };
    let plot = match names.len() {
        0 => return None,
        _ if several => {
            let mut chart = Chart::new(Axis::new("size", Unit::Bytes).log(), busbw);
            for name in &names {
                let own = rows().filter(|row| label(row) == *name);
                let points = own.map(|row| (row.size_bytes as f64, row.busbw_gbps * 1e9)).collect();
                chart.series.push(Series::new(name, points));
            }
            let mark = |value| Mark { label: "one NIC".to_owned(), value };
            chart.marks.extend(line.map(mark));
            Plot::Lines(chart)
        }
        _ => Plot::Bars(Bars {
            y: busbw,
            groups: rows()
                .map(|row| format!("{}, {}", row.name, Bytes::new(row.size_bytes)))
                .collect(),
            series: vec![BarSeries {
                name: "bus bandwidth".to_owned(),
                values: rows().map(|row| Some(row.busbw_gbps * 1e9)).collect(),
            }],
            reference: line.map(|line| Reference {
                name: "line rate of one NIC".to_owned(),
                values: rows().map(|_| Some(line)).collect(),
            }),
        }),
    };
    Some(Figure::new("bus-bandwidth", "Bus bandwidth of collectives", plot).caption(caption))
}
