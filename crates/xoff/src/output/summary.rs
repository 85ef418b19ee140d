//! The tables that `xoff run` shows.

mod workloads;

use super::number::{bytes, count, large, microseconds, percent, plain, rate, time};
use super::style::Style;
use super::table::{Align, Table};
use std::path::Path;
use xoff_fabric::scenario::Fidelity;
use xoff_telemetry::{Distribution, LinkUse, Outcome, ShortcutsSummary, Summary};
use xoff_units::{Bytes, Rate, Span};

/// Queues named on the screen; the summary in the run folder names more.
const QUEUES: usize = 5;

/// Links named on the screen, at each end of the ranking.
const LINKS: usize = 3;

/// A run for people: a heading and its tables, at most `width` columns wide.
pub(crate) fn render(
    summary: &Summary,
    title: &str,
    folder: &Path,
    width: usize,
    style: Style,
) -> String {
    let mut page = Page { text: String::new(), width, style };
    page.text += &format!(
        "{}  {}  seed {}  fidelity {}\n",
        style.bold(&super::printable(title)),
        outcome(&summary.outcome, style),
        summary.seed,
        summary.fidelity
    );
    page.collectives(summary);
    page.steps(summary);
    workloads::tables(&mut page, summary);
    page.transfers(summary);
    page.flows(summary);
    if summary.fidelity == Fidelity::Flow.name() {
        page.text += "\nNot simulated: queues, pauses, marks, drops (`--fidelity packet`)\n";
    } else {
        page.tiers(summary);
        page.drops(summary);
        page.queues(summary);
    }
    page.spread(summary);
    page.links("Busiest links", &summary.busiest_links);
    page.links("Idlest links", &summary.idlest_links);
    page.run(summary, folder);
    page.text
}

fn outcome(outcome: &Outcome, style: Style) -> String {
    match outcome {
        Outcome::Completed => style.green("completed"),
        Outcome::DurationReached => style.green("duration reached"),
        Outcome::Interrupted => style.yellow("interrupted"),
        Outcome::Deadlock { .. } => style.red("deadlock"),
        Outcome::Failed { .. } => style.red("failed"),
        _ => style.yellow("not finished"),
    }
}

struct Page {
    text: String,
    width: usize,
    style: Style,
}

impl Page {
    fn section(&mut self, heading: &str, table: &Table) {
        if !table.is_empty() {
            self.text += &format!("\n{}\n", self.style.bold(heading));
            self.text += &table.render(self.width, self.style);
        }
    }

    fn collectives(&mut self, summary: &Summary) {
        let right = |name| (name, Align::Right);
        let rows: Vec<_> = summary.collectives.iter().filter(|row| row.finished > 0).collect();
        let Some(first) = rows.first() else { return };
        // A column that says the same in every row is a line, so that eighty columns are enough.
        let differs = rows.iter().any(|row| row.cost != first.cost);
        let mut columns = vec![
            ("collective", Align::Left),
            ("algorithm", Align::Left),
            right("ranks"),
            right("size"),
            right("time"),
            right("algbw"),
            right("busbw"),
        ];
        columns.extend(differs.then_some(("cost", Align::Left)));
        let mut table = Table::new(&columns);
        for row in &rows {
            let cells = [
                row.name.clone(),
                row.algorithm.clone(),
                count(row.ranks.into()),
                bytes(Bytes::new(row.size_bytes)),
                microseconds(row.mean_us),
                format!("{} GB/s", plain(row.algbw_gbps)),
                format!("{} GB/s", plain(row.busbw_gbps)),
            ];
            table.row(cells.into_iter().chain(differs.then(|| row.cost.clone())));
        }
        self.section("Collectives", &table);
        if !differs {
            self.text += &format!("  cost beside the network: {}\n", first.cost);
        }
        workloads::apart(self, &rows);
    }

    fn steps(&mut self, summary: &Summary) {
        let right = |name| (name, Align::Right);
        let columns = [
            ("training step", Align::Left),
            right("GPUs"),
            right("time"),
            right("exposed"),
            right("idle"),
            right("tokens/s"),
            right("MFU"),
        ];
        let mut table = Table::new(&columns);
        for row in summary.steps.iter().filter(|row| row.finished > 0) {
            table.row([
                row.name.clone(),
                count(row.ranks.into()),
                microseconds(row.mean_us),
                microseconds(row.exposed_us),
                percent(row.idle),
                match row.samples {
                    true => format!("{} samples", large(row.tokens_per_second)),
                    false => large(row.tokens_per_second),
                },
                percent(row.mfu),
            ]);
        }
        self.section("Training steps", &table);
        workloads::critical(self, summary);
    }

    /// What queue pairs of collectives and steps had to recover from.
    fn transfers(&mut self, summary: &Summary) {
        let transfers = &summary.transfers;
        self.recovered([
            transfers.retransmitted_packets,
            transfers.timeouts,
            transfers.out_of_sequence,
        ]);
    }

    /// Packets sent again, timeouts and packets out of sequence, where there were any.
    fn recovered(&mut self, numbers: [u64; 3]) {
        let mut facts = facts();
        let names = ["retransmitted", "timeouts", "out of sequence"];
        for (name, number) in names.into_iter().zip(numbers).filter(|(_, number)| *number > 0) {
            facts.row([name.to_owned(), count(number)]);
        }
        if !facts.is_empty() {
            self.text += &facts.render(self.width, self.style);
        }
    }

    /// How evenly the links between tiers were used.
    fn spread(&mut self, summary: &Summary) {
        let right = |name| (name, Align::Right);
        let columns = [
            ("links", Align::Left),
            right("used"),
            right("mean"),
            right("max"),
            right("max/mean"),
            right("Gini"),
            right("at worst"),
        ];
        let mut table = Table::new(&columns);
        for row in summary.links.iter().filter(|row| row.used > 0) {
            table.row([
                row.between.clone(),
                format!("{} of {}", count(row.used), count(row.links)),
                percent(row.mean),
                percent(row.max),
                format!("{:.2}", row.max_over_mean),
                format!("{:.2}", row.gini),
                format!("{:.2}", row.at_worst),
            ]);
        }
        self.section("Spread over links", &table);
    }

    fn flows(&mut self, summary: &Summary) {
        let flows = &summary.flows;
        if flows.count == 0 && summary.workloads.iter().any(|row| row.unit != "flows") {
            return;
        }
        let right = |name| (name, Align::Right);
        let columns = [("", Align::Left), right("mean"), right("p50"), right("p99"), right("max")];
        let mut times = Table::new(&columns);
        let mut row = |name: &str, d: &Option<Distribution>, show: fn(f64) -> String| {
            let Some(d) = d else { return };
            times.row([name.to_owned(), show(d.mean), show(d.p50), show(d.p99), show(d.max)]);
        };
        row("completion", &flows.fct_us, microseconds);
        row("slowdown", &flows.slowdown, plain);
        self.section("Flows", &times);
        let mut facts = facts();
        facts.row([
            "finished".to_owned(),
            format!("{} of {}", count(flows.finished), count(flows.count)),
        ]);
        facts.row(["goodput".to_owned(), rate(Rate::from_bps(flows.goodput_bps))]);
        self.text += &facts.render(self.width, self.style);
        self.recovered([flows.retransmitted_packets, flows.timeouts, flows.out_of_sequence]);
    }

    fn tiers(&mut self, summary: &Summary) {
        let right = |name| (name, Align::Right);
        let columns = [("tier", Align::Left), right("pauses"), right("paused"), right("ECN marks")];
        let mut table = Table::new(&columns);
        for tier in &summary.tiers {
            let paused = time(Span::from_ps(tier.paused_ps));
            table.row([
                tier.tier.clone(),
                count(tier.pause_frames_sent),
                paused,
                count(tier.ecn_marked),
            ]);
        }
        self.section("Pauses and marks", &table);
        let mut facts = facts();
        facts.row(["CNPs".to_owned(), count(summary.cnps_sent)]);
        if let Some(own) = &summary.adaptation {
            let [low, high] = [own.lowest_kmin_bytes, own.highest_kmin_bytes].map(Bytes::new);
            let text = match own.changes {
                0 => "no change".to_owned(),
                changes => {
                    format!("{} changes, Kmin {} to {}", count(changes), bytes(low), bytes(high))
                }
            };
            facts.row(["thresholds".to_owned(), text]);
        }
        if summary.drops.is_empty() {
            facts.row(["drops", "none"]);
        }
        self.text += &facts.render(self.width, self.style);
    }

    fn drops(&mut self, summary: &Summary) {
        let columns = [
            ("class", Align::Left),
            ("reason", Align::Left),
            ("packets", Align::Right),
            ("bytes", Align::Right),
        ];
        let mut table = Table::new(&columns);
        for drop in &summary.drops {
            let kind = if drop.lossless { "lossless" } else { "lossy" };
            table.row([
                format!("{} {kind}", drop.class),
                drop.reason.clone(),
                count(drop.packets),
                bytes(Bytes::new(drop.bytes)),
            ]);
        }
        self.section("Drops", &table);
    }

    fn queues(&mut self, summary: &Summary) {
        let columns = [("queue", Align::Left), ("class", Align::Right), ("deepest", Align::Right)];
        let mut table = Table::new(&columns);
        for queue in summary.deepest_queues.iter().take(QUEUES) {
            let deepest = bytes(Bytes::new(queue.max_bytes));
            table.row([queue.port.clone(), queue.class.to_string(), deepest]);
        }
        self.section("Deepest queues", &table);
    }

    fn links(&mut self, heading: &str, links: &[LinkUse]) {
        let columns = [("link", Align::Left), ("used", Align::Right), ("sent", Align::Right)];
        let mut table = Table::new(&columns);
        for link in links.iter().take(LINKS) {
            let sent = bytes(Bytes::new(link.tx_bytes));
            table.row([link.port.clone(), percent(link.utilisation), sent]);
        }
        self.section(heading, &table);
    }

    fn run(&mut self, summary: &Summary, folder: &Path) {
        let mut facts = facts();
        let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
        fact("simulated", time(Span::from_ps(summary.simulated_ps)));
        fact("wall time", microseconds(summary.wall_seconds * 1e6));
        if summary.fidelity != Fidelity::Flow.name() {
            fact("packet-hops", large(summary.packet_hops as f64));
            fact("packet-hops/s", large(summary.packet_hops_per_second));
        }
        match &summary.shortcuts {
            None => {}
            Some(ShortcutsSummary { instead: Some(reason), .. }) => {
                fact("fidelity `fast`", format!("not with {reason}: packets throughout"));
            }
            Some(own) => {
                // More than there are where an episode grew and was simulated anew.
                fact("packet-hops simulated", large(own.hops_simulated as f64));
                fact("uncontended collectives", count(own.plain));
                fact("episodes simulated", count(own.simulated));
                fact("episodes reused", count(own.remembered));
            }
        }
        if let Some(own) = &summary.verification {
            let errors = [own.mean_error, own.p99_error, own.largest_error].map(percent);
            let [mean, p99, most] = errors;
            let of = format!("mean {mean}, p99 {p99}, largest {most} of {}", count(own.times));
            fact("times against packets", of);
            fact("bytes of links", format!("at most {} off", percent(own.link_error)));
            let both = |[packets, own]: [u64; 2]| {
                format!("{} ({} by packets)", count(own), count(packets))
            };
            fact("ECN marks", both(own.marks));
            fact("pauses", both(own.pauses));
        }
        if summary.peak_memory_bytes > 0 {
            fact("peak memory", bytes(Bytes::new(summary.peak_memory_bytes)));
        }
        if summary.events_left_out > 0 {
            fact("events left out", count(summary.events_left_out));
        }
        fact("result", summary.result_hash.clone());
        fact("run folder", folder.display().to_string());
        self.section("Run", &facts);
    }
}

/// A table without headings: a name and a value.
fn facts() -> Table {
    Table::new(&[("", Align::Left), ("", Align::Left)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_telemetry::{DropSummary, QueueDepth, TierSummary};

    fn full() -> Summary {
        let mut summary = Summary::new(7);
        let distribution = Distribution { mean: 478.0, p50: 461.2, p99: 816.0, max: 1204.5 };
        summary.outcome = Outcome::Completed;
        summary.flows.count = 1024;
        summary.flows.finished = 1024;
        summary.flows.fct_us = Some(distribution);
        summary.flows.slowdown = Some(distribution);
        summary.tiers.push(TierSummary {
            tier: "leaf".into(),
            pause_frames_sent: 1_234_567,
            paused_ps: 12_345_678_901_234,
            ecn_marked: 9_876_543,
            dropped_packets: 1,
        });
        summary.drops.push(DropSummary {
            class: 3,
            lossless: true,
            reason: "headroom".into(),
            packets: 12,
            bytes: 50_000,
        });
        summary.deepest_queues.push(QueueDepth {
            port: "a-very-long-switch-name-in-a-custom-fabric→another-one-that-is-long".into(),
            class: 3,
            max_bytes: 1_500_000,
        });
        summary.links.push(xoff_telemetry::LinkSpread {
            between: "leaf→spine".into(),
            links: 16,
            used: 12,
            tx_bytes: 1,
            mean: 0.5,
            max: 0.75,
            max_over_mean: 1.5,
            gini: 0.25,
            at_worst: 2.25,
            busiest: "leaf0→spine1".into(),
        });
        summary.transfers.out_of_sequence = 4_321;
        let port = "leaf0→spine1".to_owned();
        summary.busiest_links.push(LinkUse { port, tx_bytes: 1, utilisation: 0.987 });
        summary
    }

    #[test]
    fn narrow_terminals_are_respected() {
        for width in [40, 60, 80, 100] {
            let text = render(&full(), "x.toml", Path::new("runs/x"), width, Style::PLAIN);
            for line in text.lines() {
                assert!(console::measure_text_width(line) <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn says_everything_that_happened() {
        let text = render(&full(), "x.toml", Path::new("runs/x"), 100, Style::PLAIN);
        let expected = [
            "x.toml  completed  seed 7",
            "478 us",
            "1.20 ms",
            "1,024 of 1,024",
            "1,234,567",
            "12.3 s",
            "9,876,543",
            "3 lossless  headroom",
            "50 KB",
            "98.7 %",
            "12 of 16",
            "2.25",
            "4,321",
            "runs/x",
        ];
        for part in expected {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
    }

    /// A collective of 1,024 ranks whose last rank is done so much later than its first.
    fn collective(algorithm: &str, apart: f64) -> Summary {
        let mut summary = Summary::new(7);
        summary.collectives.push(xoff_telemetry::CollectiveSummary {
            name: "all-to-all-collective".into(),
            ranks: 1024,
            algorithm: algorithm.into(),
            size_bytes: 16_777_216,
            finished: 1,
            asked: 1,
            mean_us: 1234.0,
            algbw_gbps: 10.87,
            busbw_gbps: 10.86,
            cost: "measured".into(),
            connections: "fresh".into(),
            ends_us: Some(xoff_telemetry::EndsSummary {
                first: 1234.0 - apart,
                median: 1234.0 - apart / 2.0,
                last: 1234.0,
            }),
            apart_us: None,
            most_apart_us: None,
        });
        summary
    }

    #[test]
    fn collectives_are_columns_on_eighty_columns() {
        for algorithm in ["ring", "in-network", "in-network, then ring"] {
            let summary = collective(algorithm, 200.0);
            let text = render(&summary, "x.toml", Path::new("r"), 80, Style::PLAIN);
            // Row by row there would be no line with several headings.
            for [one, other] in [["algorithm", "busbw"], ["first end", "last end"]] {
                let heading = |line: &str| line.contains(one) && line.contains(other);
                assert!(text.lines().any(heading), "{text}");
            }
            assert!(text.contains("Rank skew"), "{text}");
        }
    }

    #[test]
    fn ends_are_shown_where_they_differ() {
        let text = render(&collective("ring", 0.0), "x", Path::new("r"), 80, Style::PLAIN);
        assert!(text.contains("Collectives") && !text.contains("Rank skew"), "{text}");
    }

    #[test]
    fn an_empty_run_has_a_page_too() {
        let text = render(&Summary::new(1), "x.toml", Path::new("r"), 60, Style::PLAIN);
        assert!(text.contains("not finished") && text.contains("0 of 0"), "{text}");
    }
}
