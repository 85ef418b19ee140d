//! Where traffic waited: queues, pauses, links over time.

use super::Material;
use crate::watch::{Queue, QueueSeries};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::rules::buffer;
use xoff_fabric::scenario::{Fault, Fidelity};
use xoff_report::{
    Axis, Block, Cell, Chart, Column, Figure, Heat, Lane, Mark, Number, Plot, Section, Series,
    Shade, Stretch, Table, Timeline, Unit,
};
use xoff_units::Span;

/// Queues in a figure.
const QUEUES: usize = 5;

/// Links in the heat map, and columns of it.
const LINKS: usize = 24;
const COLUMNS: usize = 96;

/// Lanes of the timeline.
const LANES: usize = 40;

pub(super) fn section(material: &Material<'_>) -> Option<Section> {
    let mut section = Section::new("congestion", "Where traffic waited");
    if material.summary.fidelity == Fidelity::Flow.name() {
        let text = "At fidelity `flow` there are no queues: pauses, marks and drops are not simulated. `--fidelity packet` shows them.";
        section.blocks.push(Block::Text(text.to_owned()));
        return Some(section);
    }
    section.blocks.push(tiers(material).into());
    if material.summary.fidelity == Fidelity::Fast.name() {
        let text = "At fidelity `fast` queues over time are not recorded: what crowds links is simulated apart, and once. `--fidelity packet` shows them.";
        section.blocks.push(Block::Text(text.to_owned()));
        return Some(section);
    }
    if material.series.step().is_zero() {
        let text = "The scenario records no queues over time (`record.period` is zero).";
        section.blocks.push(Block::Text(text.to_owned()));
    }
    section.blocks.extend(queues(material, Side::Egress).map(Into::into));
    section.blocks.extend(queues(material, Side::Ingress).map(Into::into));
    section.blocks.extend(pauses(material).map(Into::into));
    section.blocks.extend(links(material).map(Into::into));
    Some(section)
}

fn tiers(material: &Material<'_>) -> Table {
    let columns = [
        Column::text("tier"),
        Column::number("XOFF frames sent", Unit::Count),
        Column::number("time paused, summed", Unit::Seconds),
        Column::number("ECN marks", Unit::Count),
        Column::number("dropped packets", Unit::Count),
    ];
    let mut table = Table::new("tiers", "Pauses, marks and drops by tier", columns);
    for tier in &material.summary.tiers {
        table.push([
            Cell::from(tier.tier.as_str()),
            Number::count(tier.pause_frames_sent).into(),
            Number::from(Span::from_ps(tier.paused_ps)).into(),
            Number::count(tier.ecn_marked).into(),
            Number::count(tier.dropped_packets).into(),
        ]);
    }
    table
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Egress,
    Ingress,
}

impl Side {
    fn of(self, queue: &QueueSeries) -> &[u32] {
        match self {
            Side::Egress => &queue.egress,
            Side::Ingress => &queue.ingress,
        }
    }
}

/// The deepest queues with the thresholds that act on them: ECN acts on egress queues, PFC on
/// ingress buffers.
fn queues(material: &Material<'_>, side: Side) -> Option<Figure> {
    let (series, fabric) = (material.series, material.results.case.fabric);
    let deepest = |queue: &&QueueSeries| side.of(queue).iter().copied().max().unwrap_or(0);
    let of_switch =
        |queue: &&QueueSeries| fabric.node_switch(node(fabric, queue.queue.port)).is_some();
    let mut queues: Vec<&QueueSeries> =
        series.queues().iter().filter(of_switch).filter(|queue| deepest(queue) > 0).collect();
    queues.sort_by_key(|queue| (std::cmp::Reverse(deepest(queue)), queue.queue));
    queues.truncate(QUEUES);
    let first = queues.first()?.queue;
    let time = Axis::new("time", Unit::Seconds).from_to(0.0, material.elapsed().as_s_f64());
    let mut chart = Chart::new(time, Axis::new("bytes", Unit::Bytes));
    for queue in &queues {
        let Queue { port, class } = queue.queue;
        let name = format!("{} class {class}", fabric.port_name(port));
        chart.series.push(Series::new(name, steps(material, side.of(queue))));
    }
    chart.shades = shades(material.results.case.faults);
    let class = &fabric.ports[first.port.index()].classes[usize::from(first.class) % 8];
    let (id, title, caption) = match side {
        Side::Egress => {
            if let Some(ecn) = class.ecn {
                chart.marks.push(Mark::new("ECN Kmin", ecn.kmin));
                chart.marks.push(Mark::new("ECN Kmax", ecn.kmax));
            }
            (
                "queues",
                "The deepest queues",
                "What waits to leave by a port. ECN marks begin at Kmin.",
            )
        }
        Side::Ingress => {
            chart.marks = pause_marks(fabric, first);
            let caption = "What arrived at a port and is still in its switch: what PFC acts on. \
                           XOFF moves with the free part of the shared buffer.";
            ("buffers", "The fullest ingress buffers", caption)
        }
    };
    let mut caption = caption.to_owned();
    let period = Number::from(series.step());
    caption += &format!(" The greatest value of each {period}, as far as it was sampled.");
    if series.left_out() > 0 {
        caption += " Of very many queues, those that filled first were followed.";
    }
    Some(Figure::new(id, title, Plot::Steps(chart)).caption(caption))
}

/// The XOFF thresholds of a switch port: when no other port is congested, and when all are.
fn pause_marks(fabric: &Fabric, queue: Queue) -> Vec<Mark> {
    let lossless = fabric.pause.enabled && fabric.classes[usize::from(queue.class) % 8].lossless;
    let Some(switch) = fabric.node_switch(node(fabric, queue.port)).filter(|_| lossless) else {
        return Vec::new();
    };
    let switch = &fabric.switches[switch.index()];
    let shared = fabric.packet_memory(switch).shared;
    let class = &fabric.ports[queue.port.index()].classes[usize::from(queue.class) % 8];
    let at = |queues| class.reserved + buffer::xoff(class.threshold, shared, queues);
    let (alone, crowded) = (at(1), at(switch.ports.len() as u64));
    if alone == crowded {
        return vec![Mark::new("XOFF", alone)];
    }
    vec![Mark::new("XOFF", alone), Mark::new("XOFF, all ports full", crowded)]
}

fn node(fabric: &Fabric, port: PortId) -> xoff_fabric::model::NodeId {
    fabric.ports[port.index()].node
}

fn steps(material: &Material<'_>, values: &[u32]) -> Vec<(f64, f64)> {
    let (step, end) = (material.series.step().as_s_f64(), material.elapsed().as_s_f64());
    let place = |at: usize| (at as f64 * step).min(end);
    let points = values.iter().enumerate().map(|(at, v)| (place(at), f64::from(*v)));
    // After its last sample the queue was empty, unless the run ended there.
    let rest = values.len() as f64 * step;
    let last = if rest < end { 0.0 } else { values.last().copied().map_or(0.0, f64::from) };
    points.chain([(rest.min(end), last)]).collect()
}

/// The scenario's faults as stretches of time.
fn shades(faults: &[Fault]) -> Vec<Shade> {
    let shade = |fault: &Fault| {
        let (from, to) = fault.window();
        let label = fault.name().replace('-', " ");
        Shade { label, from: from.as_s_f64(), to: to.map(|to| to.as_s_f64()) }
    };
    faults.iter().map(shade).collect()
}

/// Which ports were paused from when to when, in the order in which the pauses reached them.
fn pauses(material: &Material<'_>) -> Option<Figure> {
    let (pauses, fabric) = (material.pauses, material.results.case.fabric);
    let end = material.results.report.end;
    let mut lanes: BTreeMap<Queue, Vec<Stretch>> = BTreeMap::new();
    for pause in pauses.kept() {
        let stretch = Stretch::new(pause.from, Some(pause.to.unwrap_or(end)));
        lanes.entry(pause.queue).or_default().push(stretch);
    }
    let all = lanes.len();
    let mut lanes: Vec<_> = lanes.into_iter().collect();
    let total = |stretches: &[Stretch]| -> f64 {
        stretches.iter().map(|s| s.to.unwrap_or(s.from) - s.from).sum()
    };
    // The longest paused are shown, in the order in which they were paused first.
    lanes.sort_by(|a, b| total(&b.1).total_cmp(&total(&a.1)).then(a.0.cmp(&b.0)));
    lanes.truncate(LANES);
    lanes.sort_by(|a, b| a.1[0].from.total_cmp(&b.1[0].from).then(a.0.cmp(&b.0)));
    if lanes.is_empty() {
        return None;
    }
    let lane = |(Queue { port, class }, stretches): (Queue, Vec<Stretch>)| Lane {
        name: format!("{} class {class}", fabric.port_name(port)),
        group: fabric.tier_name(node(fabric, port)).to_owned(),
        stretches,
    };
    let x = Axis::new("time", Unit::Seconds).from_to(0.0, material.elapsed().as_s_f64());
    let lanes = lanes.into_iter().map(lane).collect();
    let timeline = Timeline { x, lanes, shades: shades(material.results.case.faults) };
    let mut caption =
        "Ports that could not send because their peer had paused them, in the order in \
                       which the pauses reached them: from the cause to its victims."
            .to_owned();
    if all > LANES {
        caption += &format!(" The {LANES} of {all} that were paused longest.");
    }
    if pauses.left_out() > 0 {
        let left_out = Number::count(pauses.left_out());
        caption += &format!(" {left_out} later pauses are not drawn.");
    }
    Some(Figure::new("pauses", "How pauses spread", Plot::Timeline(timeline)).caption(caption))
}

/// The busiest links over time.
fn links(material: &Material<'_>) -> Option<Figure> {
    let (series, fabric) = (material.series, material.results.case.fabric);
    let mut ports: BTreeMap<PortId, Vec<u64>> = BTreeMap::new();
    for queue in series.queues() {
        let sent = ports.entry(queue.queue.port).or_default();
        sent.resize(sent.len().max(queue.sent.len()), 0);
        for (all, own) in sent.iter_mut().zip(&queue.sent) {
            *all += own;
        }
    }
    let share = |port: PortId, bytes: u64, span: Span| {
        bytes as f64 / fabric.cable(port).rate.bytes_in(span).get().max(1) as f64
    };
    let elapsed = material.elapsed();
    let mut ports: Vec<(PortId, Vec<u64>)> = ports.into_iter().collect();
    let busy = |(port, sent): &(PortId, Vec<u64>)| share(*port, sent.iter().sum(), elapsed);
    ports.sort_by(|a, b| busy(b).total_cmp(&busy(a)).then(a.0.cmp(&b.0)));
    let all = ports.len();
    ports.truncate(LINKS);
    let steps = ports.iter().map(|(_, sent)| sent.len()).max().filter(|steps| *steps > 1)?;
    let each = steps.div_ceil(COLUMNS).max(1);
    let columns = steps.div_ceil(each);
    let span = Span::from_ps(series.step().as_ps() * each as u64);
    let row = |(port, sent): &(PortId, Vec<u64>)| {
        let bytes = |column: usize| sent.iter().skip(column * each).take(each).sum::<u64>();
        (0..columns).map(|column| Some(share(*port, bytes(column), span))).collect()
    };
    let begin = |column: usize| Number::from(Span::from_ps(span.as_ps() * column as u64));
    let heat = Heat {
        row_label: "port".to_owned(),
        column_label: "time".to_owned(),
        rows: ports.iter().map(|(port, _)| fabric.port_name(*port)).collect(),
        columns: (0..columns).map(|column| begin(column).to_string()).collect(),
        values: ports.iter().map(row).collect(),
        value_label: "utilisation".to_owned(),
        unit: Unit::Share,
        range: Some((0.0, 1.0)),
    };
    let mut caption = format!(
        "What a port sent in each {}, of what its cable carries. Only ports at which something waited \
         are sampled; between two samples the load is spread evenly.",
        Number::from(span)
    );
    if all > LINKS {
        caption += &format!(" The {LINKS} busiest of {all} ports that sent.");
    }
    Some(Figure::new("links", "Links over time", Plot::Heat(heat)).caption(caption))
}
