//! What `xoff perf` prints: perftest's table, so that scripts which read the one can read the
//! other.

use crate::output::number::counted;
use serde_json::{Value, json};
use std::time::Duration;
use xoff_endpoint::perftest::{
    Agreed, Contents, End, Extent, Figures, Latency, Measure, Outcome, Rendezvous, Role, Row,
    Settings, Verb, Verified,
};
use xoff_wire::Service;

const LINE: &str =
    "---------------------------------------------------------------------------------------\n";
const MIB: f64 = 1_048_576.0;

/// The table of one test.
#[derive(Debug)]
pub(crate) struct Table {
    settings: Settings,
}

impl Table {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone() }
    }

    /// What a server prints before a client connects.
    pub(crate) fn waiting(&self) -> String {
        if self.settings.role() == Role::Client {
            return String::new();
        }
        let stars = "************************************\n";
        format!("\n{stars}* Waiting for client to connect... *\n{stars}")
    }

    /// What was agreed on, and the heads of the columns.
    pub(crate) fn header(&self, agreed: &Agreed) -> String {
        let settings = &self.settings;
        let mut text = String::from(LINE);
        text.push_str(&format!("                    {}\n", self.title()));
        let device = if agreed.ours { "xoff" } else { "stock" };
        let cm = settings.rendezvous == Rendezvous::Cm;
        let facts = [
            ("Number of qps", settings.pairs.to_string()),
            ("Connection type", service(settings.service).into()),
            ("TX depth", settings.depth.to_string()),
            ("Mtu", format!("{}[B]", agreed.mtu)),
            ("Link type", "Ethernet".into()),
            ("Peer", format!("{device}, protocol {}", crate::output::printable(&agreed.version))),
            ("Data ex. method", if cm { "rdma_cm" } else { "Ethernet" }.into()),
        ];
        for (name, value) in facts {
            text.push_str(&format!(" {name:<16}: {value}\n"));
        }
        text.push_str(LINE);
        for (side, ends) in [
            ("local", agreed.ends.iter().map(|(local, _)| local).collect::<Vec<_>>()),
            ("remote", agreed.ends.iter().map(|(_, remote)| remote).collect()),
        ] {
            ends.iter().for_each(|end| text.push_str(&self.end(side, end)));
        }
        text.push_str(LINE);
        text.push_str(match (settings.measure, settings.gigabits) {
            (Measure::Latency, _) => {
                " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    \
                 t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
            }
            (Measure::Bandwidth, false) => {
                " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
            }
            (Measure::Bandwidth, true) => {
                " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
            }
        });
        text
    }

    fn title(&self) -> String {
        let verb = match self.settings.verb {
            Verb::Write => "RDMA_Write",
            Verb::Read => "RDMA_Read",
            Verb::Send => "Send",
            Verb::Atomic(_) => "Atomic",
        };
        let ways = if self.settings.duplex { " Bidirectional" } else { "" };
        match self.settings.measure {
            Measure::Bandwidth => format!("{verb}{ways} BW Test"),
            Measure::Latency => format!("{verb} Latency Test"),
        }
    }

    fn end(&self, side: &str, end: &End) -> String {
        let mut text =
            format!(" {side} address: LID 0000 QPN 0x{:04x} PSN 0x{:06x}", end.qpn, end.psn);
        if self.settings.verb != Verb::Send {
            text.push_str(&format!(" RKey 0x{:06x} VAddr 0x{:014x}", end.rkey, end.address));
        }
        let gid: Vec<String> = end.gid.octets().iter().map(|byte| format!("{byte:02}")).collect();
        text.push_str(&format!("\n GID: {}\n", gid.join(":")));
        text
    }

    /// One line of results.
    pub(crate) fn row(&self, row: &Row) -> String {
        let Row { size, iterations, .. } = row;
        match row.figures {
            Figures::Bandwidth { peak, average, messages } => {
                let unit = self.unit();
                let (peak, average) = (peak / unit, average / unit);
                let rate = messages / 1e6;
                format!(
                    " {size:<7}    {iterations:<10}       {peak:<7.2}            {average:<7.2}\
                     \t\t   {rate:<7.6}\n"
                )
            }
            Figures::Latency(latency) => {
                let [min, max, typical, mean, deviation, p99, p999] =
                    values(&latency).map(|(_, time)| us(time));
                format!(
                    " {size:<7} {iterations:<7}          {min:<7.2}        {max:<7.2}      \
                     {typical:<7.2}  \t       {mean:<7.2}     \t{deviation:<7.2}\t\t{p99:<7.2} \
                     \t\t{p999:<7.2}\n"
                )
            }
            Figures::Passive => String::new(),
        }
    }

    /// What follows the results.
    pub(crate) fn footer(&self, outcome: &Outcome) -> String {
        let mut text = String::from(LINE);
        if let Some(verified) = &outcome.verified {
            text.push_str(&verdict(verified));
        }
        if outcome.retransmitted > 0 {
            text.push_str(&format!("packets sent again: {}\n", outcome.retransmitted));
        }
        text
    }

    fn unit(&self) -> f64 {
        if self.settings.gigabits { 1e9 / 8.0 } else { MIB }
    }

    /// Everything for machines: bytes, seconds and counts without units to choose.
    pub(crate) fn json(&self, agreed: Option<&Agreed>, outcome: &Outcome) -> Value {
        let settings = &self.settings;
        let rows: Vec<Value> = outcome.rows.iter().map(json_row).collect();
        let seconds = match settings.extent {
            Extent::For(time) => Some(time.as_secs()),
            Extent::Iterations(_) => None,
        };
        json!({
            "test": self.title(),
            "role": if settings.role() == Role::Server { "server" } else { "client" },
            "service": service(settings.service),
            "queue_pairs": settings.pairs,
            "bidirectional": settings.duplex,
            "rdma_cm": settings.rendezvous == Rendezvous::Cm,
            "duration_s": seconds,
            "mtu": agreed.map(|agreed| agreed.mtu),
            "peer": agreed.map(|agreed| json!({
                "version": agreed.version,
                "xoff": agreed.ours,
            })),
            "results": rows,
            "retransmitted_packets": outcome.retransmitted,
            "verified": outcome.verified.map(|verified| json!({
                "messages": verified.messages,
                "lost": verified.lost,
                "bytes_compared": verified.compared,
                "wrong": verified.wrong,
                "how": how(&verified),
            })),
        })
    }
}

fn json_row(row: &Row) -> Value {
    let mut value = json!({ "bytes": row.size, "iterations": row.iterations });
    match row.figures {
        Figures::Bandwidth { peak, average, messages } => {
            value["peak_bytes_per_s"] = json!(peak);
            value["average_bytes_per_s"] = json!(average);
            value["messages_per_s"] = json!(messages);
        }
        Figures::Latency(latency) => {
            for (name, time) in values(&latency) {
                value[name] = json!(us(time));
            }
        }
        Figures::Passive => {}
    }
    value
}

fn values(latency: &Latency) -> [(&'static str, Duration); 7] {
    [
        ("t_min_us", latency.shortest),
        ("t_max_us", latency.longest),
        ("t_typical_us", latency.typical),
        ("t_avg_us", latency.average),
        ("t_stdev_us", latency.deviation),
        ("p99_us", latency.percentile_99),
        ("p99_9_us", latency.percentile_999),
    ]
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn service(service: Service) -> &'static str {
    match service {
        Service::Reliable => "RC",
        Service::Unreliable => "UC",
        Service::Datagram => "UD",
    }
}

fn how(verified: &Verified) -> &'static str {
    match verified.how {
        Contents::Counted => "counted only",
        Contents::Stamped => "every message has its own contents",
        Contents::Sequence => "the sequence that the stock tool fills its memory with",
        Contents::Values => "values before and after atomics",
    }
}

fn verdict(verified: &Verified) -> String {
    let word = if verified.is_ok() { "data verified" } else { "data WRONG" };
    let mut text = format!("{word}: {}", counted(verified.messages, "message", "messages"));
    if verified.lost > 0 {
        text.push_str(&format!(" ({} lost)", verified.lost));
    }
    if verified.compared > 0 {
        text.push_str(&format!(", {} bytes compared ({})", verified.compared, how(verified)));
    } else {
        text.push_str(" counted, contents not compared");
    }
    if verified.compared > 0 || verified.wrong > 0 {
        text.push_str(&format!(", {} wrong", verified.wrong));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_look_like_those_of_the_stock_tool() {
        let table = Table::new(&Settings::new(Verb::Write, Measure::Bandwidth));
        let figures =
            Figures::Bandwidth { peak: 18.56 * MIB, average: 17.62 * MIB, messages: 282.0 };
        let row = table.row(&Row { size: 65536, iterations: 40, figures });
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["65536", "40", "18.56", "17.62", "0.000282"]);
        let latency = Latency { average: Duration::from_micros(7), ..Latency::default() };
        let row = table.row(&Row { size: 2, iterations: 100, figures: Figures::Latency(latency) });
        assert_eq!(row.split_whitespace().nth(5), Some("7.00"));
        assert_eq!(row.split_whitespace().count(), 9);
    }

    #[test]
    fn the_verdict_says_what_was_looked_at() {
        let mut verified = Verified { messages: 40, ..Verified::default() };
        assert_eq!(
            verdict(&verified),
            "data verified: 40 messages counted, contents not compared\n"
        );
        (verified.how, verified.compared, verified.wrong) = (Contents::Stamped, 65536, 1);
        assert!(verdict(&verified).starts_with("data WRONG: 40 messages, 65536 bytes compared"));
    }
}
