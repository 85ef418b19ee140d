//! What `xoff perf` prints: perftest's table, so that scripts which read the one can read the
//! other.

use crate::output::number::counted;
use serde_json::{Value, json};
use std::time::Duration;
use xoff_endpoint::perftest::{
    Agreed, Contents, Delivery, End, Extent, Figures, Ignored, Latency, Measure, Outcome, Overflow,
    Rendezvous, Role, Row, Settings, Verb, Verified,
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
        if let Some(size) = agreed.clamped {
            text.push_str(&format!(
                " Message size    : {size}[B], the MTU: a datagram cannot be longer\n"
            ));
        }
        for Ignored { from, why } in &agreed.ignored {
            text.push_str(&format!(" Not served      : {from}: {why}\n"));
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
        let mut line = match row.figures {
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
        };
        if !row.complete {
            line.push_str(" the test broke off: this is what was measured until then\n");
        }
        line
    }

    /// What follows the results.
    pub(crate) fn footer(&self, outcome: &Outcome) -> String {
        let mut text = String::from(LINE);
        if let Some(verified) = &outcome.verified {
            text.push_str(&verdict(verified));
        }
        if let Some(delivery) = &outcome.delivery {
            text.push_str(&arrived(delivery));
        }
        text.push_str(&lost_at("here", &outcome.overflow));
        text.push_str(&lost_at("at the peer", &outcome.peer_overflow.unwrap_or_default()));
        if let (Some((fewest, most)), Extent::For(_)) = (outcome.shares, self.settings.extent) {
            text.push_str(&format!("messages of each queue pair: {fewest} to {most}\n"));
        }
        if outcome.retransmitted > 0 {
            text.push_str(&format!("packets sent again: {}\n", outcome.retransmitted));
        }
        text
    }

    fn unit(&self) -> f64 {
        if self.settings.gigabits { 1e9 / 8.0 } else { MIB }
    }

    /// What there is of a test that broke off, for machines.
    pub(crate) fn broken(&self, agreed: Option<&Agreed>, rows: &[Row], error: &str) -> Value {
        let mut value = self.facts(agreed, rows);
        value["error"] = json!(error);
        value
    }

    /// Everything for machines: bytes, seconds and counts without units to choose.
    pub(crate) fn json(&self, agreed: Option<&Agreed>, outcome: &Outcome) -> Value {
        let mut value = self.facts(agreed, &outcome.rows);
        let more = json!({
            "retransmitted_packets": outcome.retransmitted,
            "verified": outcome.verified.map(|verified| json!({
                "messages": verified.messages,
                "lost": verified.lost,
                "bytes_compared": verified.compared,
                "wrong": verified.wrong,
                "bytes_never_written": verified.untouched,
                "how": how(&verified),
            })),
            "arrived_at_peer": outcome.delivery.map(|delivery| json!({
                "sent": delivery.sent,
                "arrived": delivery.arrived,
            })),
            "overflow": json_overflow(&outcome.overflow),
            "peer_overflow": outcome.peer_overflow.as_ref().map(json_overflow),
            "messages_per_queue_pair": outcome.shares.map(|(fewest, most)| json!({
                "fewest": fewest,
                "most": most,
            })),
        });
        if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
            value.extend(more);
        }
        value
    }

    /// What is known of a test, whether it ended well or not.
    fn facts(&self, agreed: Option<&Agreed>, rows: &[Row]) -> Value {
        let settings = &self.settings;
        let rows: Vec<Value> = rows.iter().map(json_row).collect();
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
            "connections_not_served": agreed.map_or(0, |agreed| agreed.ignored.len()),
            "results": rows,
        })
    }
}

fn json_overflow(overflow: &Overflow) -> Value {
    json!({
        "packets_dropped_by_full_receive_buffer": overflow.packets,
        "messages_without_receive": overflow.unready,
    })
}

fn json_row(row: &Row) -> Value {
    let mut value =
        json!({ "bytes": row.size, "iterations": row.iterations, "complete": row.complete });
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

pub(super) fn values(latency: &Latency) -> [(&'static str, Duration); 7] {
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

pub(super) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub(super) fn service(service: Service) -> &'static str {
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
    match verified.lost {
        Some(0) => {}
        Some(lost) => text.push_str(&format!(" ({lost} lost)")),
        None => text.push_str(" (lost: not known, the peer does not say how many it sent)"),
    }
    if verified.compared > 0 {
        text.push_str(&format!(
            ", {} bytes compared ({}), {} wrong",
            verified.compared,
            how(verified),
            verified.wrong
        ));
    } else if verified.untouched == 0 {
        text.push_str(" counted, contents not compared");
    }
    if verified.untouched > 0 {
        text.push_str(&format!(", {} bytes were never written", verified.untouched));
    }
    text.push('\n');
    text
}

/// What became of messages that may be lost.
fn arrived(delivery: &Delivery) -> String {
    let Delivery { sent, arrived } = *delivery;
    let lost = sent.saturating_sub(arrived);
    let share = lost as f64 / sent.max(1) as f64 * 100.0;
    format!("arrived at the peer: {arrived} of {sent} messages ({lost} lost, {share:.1} %)\n")
}

/// What a receiver could not take.
fn lost_at(place: &str, overflow: &Overflow) -> String {
    let mut text = String::new();
    if overflow.packets > 0 {
        text.push_str(&format!(
            "receiver overflow {place}: {} dropped because the socket's receive buffer was full \
             (see net.core.rmem_max), each of one packet or of several that came together\n",
            counted(overflow.packets, "datagram", "datagrams"),
        ));
    }
    if overflow.unready > 0 {
        text.push_str(&format!(
            "receiver not ready {place}: {} dropped because no receive was posted\n",
            counted(overflow.unready, "message was", "messages were"),
        ));
    }
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
        let row = table.row(&Row { size: 65536, iterations: 40, figures, complete: true });
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["65536", "40", "18.56", "17.62", "0.000282"]);
        let latency = Latency { average: Duration::from_micros(7), ..Latency::default() };
        let figures = Figures::Latency(latency);
        let row = table.row(&Row { size: 2, iterations: 100, figures, complete: true });
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
        let unwritten = Verified { messages: 1, untouched: 4096, ..Verified::default() };
        assert_eq!(verdict(&unwritten), "data WRONG: 1 message, 4096 bytes were never written\n");
        let unknown = Verified { messages: 3, lost: None, ..Verified::default() };
        assert!(verdict(&unknown).contains("lost: not known"), "{}", verdict(&unknown));
    }

    #[test]
    fn what_was_lost_and_where_is_said() {
        let text = arrived(&Delivery { sent: 100, arrived: 60 });
        assert_eq!(text, "arrived at the peer: 60 of 100 messages (40 lost, 40.0 %)\n");
        assert_eq!(lost_at("here", &Overflow::default()), "");
        let text = lost_at("here", &Overflow { packets: 7, unready: 1 });
        assert!(text.starts_with("receiver overflow here: 7 datagrams dropped"), "{text}");
        assert!(text.contains("here: 1 message was dropped because no receive"), "{text}");
    }

    #[test]
    fn a_row_of_a_test_that_broke_off_says_so() {
        let table = Table::new(&Settings::new(Verb::Write, Measure::Bandwidth));
        let figures = Figures::Bandwidth { peak: 0.0, average: MIB, messages: 1.0 };
        let row = Row { size: 8, iterations: 5, figures, complete: false };
        assert!(table.row(&row).contains("broke off"));
        let value = table.broken(None, &[row], "the peer has gone");
        assert_eq!(value["error"], "the peer has gone");
        assert_eq!(value["results"][0]["complete"], false);
    }
}
