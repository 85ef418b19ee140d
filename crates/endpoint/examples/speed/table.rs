//! What was measured, side by side with what is wanted.

use crate::passes::Passes;
use crate::stream::Stream;
use std::fmt;

/// What one round measured: streams, and microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) udp: Stream,
    pub(crate) write: Stream,
    pub(crate) send: Stream,
    pub(crate) read: Stream,
    pub(crate) tcp: Option<Stream>,
    /// Writes of 64 bytes.
    pub(crate) short: Stream,
    pub(crate) passes: Passes,
    pub(crate) udp_asleep: f64,
    pub(crate) write_asleep: f64,
    pub(crate) write_default: f64,
    pub(crate) udp_awake: f64,
    pub(crate) write_awake: f64,
}

impl Row {
    /// Short messages in a second, in millions.
    fn messages(&self) -> f64 {
        self.short.rate * 1e3 / 512.0
    }

    /// CPU seconds for a Gbit that no RoCE on these sockets is below.
    fn floor(&self) -> f64 {
        self.udp.cost + self.passes.icrc + self.passes.copy
    }
}

/// All rounds.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The last round, for those who wait.
    pub(crate) fn last_line(&self) -> String {
        let Some(row) = self.rows.last() else { return String::new() };
        let of = |stream: &Stream| format!("{:.1} ({:.4})", stream.rate, stream.cost);
        let tcp = row.tcp.as_ref().map_or("-".into(), of);
        let Row { udp, write, send, read, udp_awake, write_awake, .. } = row;
        format!(
            "UDP {}, write-bw {}, send-bw {}, read-bw {}, TCP {tcp} Gbit/s (CPU seconds per Gbit); \
             64 bytes {:.2} M/s; UDP {udp_awake:.1}, write-lat {write_awake:.1} us spinning",
            of(udp),
            of(write),
            of(send),
            of(read),
            row.messages(),
        )
    }

    fn line(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        more_is_better: bool,
        value: impl Fn(&Row) -> Option<f64>,
    ) -> fmt::Result {
        let mut values: Vec<f64> = self.rows.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        let best = if more_is_better { values.last() } else { values.first() };
        match (best, values.get(values.len() / 2)) {
            (Some(best), Some(median)) => writeln!(f, "{name:52} {median:8.4} {best:8.4}"),
            _ => writeln!(f, "{name:52} SKIPPED: iperf3 is not installed or did not work"),
        }
    }

    fn costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "CPU seconds of both sides per Gbit")?;
        self.line(f, "  bare UDP", false, |row| Some(row.udp.cost))?;
        self.line(f, "  an ICRC at either end", false, |row| Some(row.passes.icrc))?;
        self.line(f, "  a copy to where the bytes belong", false, |row| Some(row.passes.copy))?;
        self.line(f, "  these three: the floor", false, |row| Some(row.floor()))?;
        self.line(f, "  write-bw", false, |row| Some(row.write.cost))?;
        self.line(f, "  send-bw", false, |row| Some(row.send.cost))?;
        self.line(f, "  read-bw", false, |row| Some(row.read.cost))?;
        self.line(f, "  iperf3, 1 TCP connection", false, |row| row.tcp.map(|tcp| tcp.cost))?;
        writeln!(f, "ratio in the same round")?;
        self.line(f, "  write-bw / floor", false, |row| Some(row.write.cost / row.floor()))?;
        self.line(f, "  write-bw / TCP", false, |row| {
            row.tcp.map(|tcp| row.write.cost / tcp.cost)
        })?;
        self.line(f, "  send-bw / write-bw", false, |row| Some(row.send.cost / row.write.cost))?;
        self.line(f, "  read-bw / write-bw", false, |row| Some(row.read.cost / row.write.cost))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:52} {:>8} {:>8}", "", "median", "best")?;
        writeln!(f, "Gbit/s of payload")?;
        self.line(f, "  bare UDP, runs of 4124 bytes", true, |row| Some(row.udp.rate))?;
        self.line(f, "  write-bw, 64 KiB, MTU 4096, 1 queue pair", true, |row| {
            Some(row.write.rate)
        })?;
        self.line(f, "  send-bw", true, |row| Some(row.send.rate))?;
        self.line(f, "  read-bw", true, |row| Some(row.read.rate))?;
        self.line(f, "  iperf3, 1 TCP connection", true, |row| row.tcp.map(|tcp| tcp.rate))?;
        writeln!(f, "ratio in the same round")?;
        self.line(f, "  write-bw / bare UDP            wanted: >= 0.5", true, |row| {
            Some(row.write.rate / row.udp.rate)
        })?;
        self.line(f, "  write-bw / TCP                 wanted: >= 1", true, |row| {
            row.tcp.map(|tcp| row.write.rate / tcp.rate)
        })?;
        self.costs(f)?;
        writeln!(f, "write-bw of 64 bytes")?;
        self.line(f, "  millions in a second           wanted: >= 4", true, |row| {
            Some(row.messages())
        })?;
        self.line(f, "  CPU microseconds of the sender for each", false, |row| {
            Some(row.short.each)
        })?;
        writeln!(f, "half a round trip, microseconds")?;
        self.line(f, "  UDP, sleeping", false, |row| Some(row.udp_asleep))?;
        self.line(f, "  write-lat, sleeping", false, |row| Some(row.write_asleep))?;
        self.line(f, "  write-lat, by default", false, |row| Some(row.write_default))?;
        self.line(f, "  UDP, spinning", false, |row| Some(row.udp_awake))?;
        self.line(f, "  write-lat, spinning (--spin)", false, |row| Some(row.write_awake))?;
        writeln!(f, "ratio in the same round")?;
        self.line(f, "  write-lat / UDP, sleeping      wanted: <= 2", false, |row| {
            Some(row.write_asleep / row.udp_asleep)
        })?;
        self.line(f, "  write-lat / UDP, spinning      wanted: <= 2", false, |row| {
            Some(row.write_awake / row.udp_awake)
        })
    }
}
