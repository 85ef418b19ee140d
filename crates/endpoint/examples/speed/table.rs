//! What was measured, side by side with what is wanted.

use std::fmt;

/// What one round measured: Gbit/s and microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) udp: f64,
    pub(crate) write: f64,
    pub(crate) tcp: Option<f64>,
    pub(crate) udp_asleep: f64,
    pub(crate) write_asleep: f64,
    pub(crate) write_default: f64,
    pub(crate) udp_awake: f64,
    pub(crate) write_awake: f64,
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
        let tcp = row.tcp.map_or("-".into(), |tcp| format!("{tcp:.1}"));
        let Row { udp, write, udp_awake, write_awake, .. } = row;
        format!(
            "UDP {udp:.1}, write-bw {write:.1}, TCP {tcp} Gbit/s; \
             UDP {udp_awake:.1}, write-lat {write_awake:.1} us spinning"
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
            (Some(best), Some(median)) => writeln!(f, "{name:52} {median:8.2} {best:8.2}"),
            _ => writeln!(f, "{name:52} SKIPPED: iperf3 is not installed or did not work"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:52} {:>8} {:>8}", "", "median", "best")?;
        writeln!(f, "Gbit/s of payload")?;
        self.line(f, "  bare UDP, runs of 4124 bytes", true, |row| Some(row.udp))?;
        self.line(f, "  write-bw, 64 KiB, MTU 4096, 1 queue pair", true, |row| Some(row.write))?;
        self.line(f, "  iperf3, 1 TCP connection", true, |row| row.tcp)?;
        writeln!(f, "ratio in the same round")?;
        self.line(f, "  write-bw / bare UDP            wanted: >= 0.5", true, |row| {
            Some(row.write / row.udp)
        })?;
        self.line(f, "  write-bw / TCP                 wanted: >= 1", true, |row| {
            row.tcp.map(|tcp| row.write / tcp)
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
