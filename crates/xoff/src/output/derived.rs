//! The tables that `xoff check` shows.

use super::number::{bytes, count, counted, plain, rate, time};
use super::style::Style;
use super::table::{Align, Table};
use xoff_fabric::derived::{
    Derived, HostRow, LinkRow, LocalRow, NicRow, PathRow, SwitchRow, ThresholdRow, TierRow,
    TransportRow,
};
use xoff_fabric::goals::{Better, Goal, Goals};
use xoff_units::{Bytes, Length};

/// What follows from a fabric file, at most `width` columns wide.
pub(crate) fn render(derived: &Derived, width: usize, style: Style) -> String {
    let sections = [
        ("Switches", switches(&derived.switches)),
        ("Bandwidth per tier", tiers(&derived.tiers)),
        ("Links", links(&derived.links)),
        ("Hosts: how NICs reach memory", hosts(&derived.hosts)),
        ("NICs: limits and DSCPs", nics(&derived.nic_limits)),
        ("PFC: when ports pause", pauses(&derived.thresholds)),
        ("ECN: when queues mark", marks(&derived.thresholds)),
        ("Switches with rules of their own", local(&derived.local)),
        ("Queue pairs: by the NIC and by the file", transport(&derived.transport)),
        ("Paths", paths(&derived.paths)),
        ("Goals: when a verdict passes or fails", goals(derived.goals.as_ref())),
    ];
    let mut text = format!(
        "{}, {}, {}",
        counted(derived.servers, "server", "servers"),
        counted(derived.gpus, "GPU", "GPUs"),
        counted(derived.nics, "NIC", "NICs")
    );
    if derived.ports_per_nic > 1 {
        text += &format!(" with {} ports each", count(derived.ports_per_nic));
    }
    text += "\n";
    for (heading, table) in sections.iter().filter(|(_, table)| !table.is_empty()) {
        text += &format!("\n{}\n{}", style.bold(heading), table.render(width, style));
    }
    text
}

const fn left(name: &str) -> (&str, Align) {
    (name, Align::Left)
}

const fn right(name: &str) -> (&str, Align) {
    (name, Align::Right)
}

fn switches(rows: &[SwitchRow]) -> Table {
    let mut table = Table::new(&[
        left("switch"),
        right("number"),
        left("silicon"),
        left("links"),
        right("ports used"),
        right("buffer"),
        right("shared"),
    ]);
    for row in rows {
        let links = row.ports.iter().map(|p| format!("{} x {}", count(p.count), rate(p.rate)));
        let used = match (row.ports_used, row.ports_available) {
            (Some(used), Some(all)) => format!("{} of {}", count(used), count(all)),
            _ => "any".to_owned(),
        };
        table.row([
            row.names.clone(),
            count(row.count),
            if row.voq { format!("{}, VOQ", row.silicon) } else { row.silicon.clone() },
            links.collect::<Vec<_>>().join(", "),
            used,
            bytes(row.buffer),
            bytes(row.shared),
        ]);
    }
    table
}

fn tiers(rows: &[TierRow]) -> Table {
    let mut table = Table::new(&[
        left("tier"),
        right("switches"),
        right("down"),
        right("up"),
        right("oversubscription"),
    ]);
    for row in rows {
        let (up, over) = match row.oversubscription {
            Some(ratio) => (rate(row.up), format!("{}:1", plain(ratio.as_f64()))),
            None => ("top".to_owned(), String::new()),
        };
        table.row([row.tier.to_owned(), count(row.switches), rate(row.down), up, over]);
    }
    table
}

fn links(rows: &[LinkRow]) -> Table {
    let mut table = Table::new(&[
        left("between"),
        right("number"),
        right("rate"),
        right("length"),
        right("delay"),
        left("media"),
        right("in flight"),
    ]);
    for row in rows {
        let known = row.length != Length::default();
        table.row([
            row.between.clone(),
            count(row.count),
            rate(row.rate),
            if known { row.length.to_string() } else { "-".to_owned() },
            time(row.delay),
            row.media.clone(),
            bytes(row.in_flight),
        ]);
    }
    table
}

fn hosts(rows: &[HostRow]) -> Table {
    let mut table = Table::new(&[
        left("NIC"),
        right("number"),
        left("slot"),
        right("ports"),
        right("sends"),
        left("limited by"),
        right("receives"),
        left("limited by"),
    ]);
    for row in rows {
        table.row([
            row.names.clone(),
            count(row.count),
            row.slot.clone().unwrap_or_else(|| "enough".to_owned()),
            rate(row.rate),
            rate(row.send),
            row.send_limit.to_owned(),
            rate(row.receive),
            row.receive_limit.to_owned(),
        ]);
    }
    table
}

fn nics(rows: &[NicRow]) -> Table {
    let mut table = Table::new(&[
        left("NIC"),
        right("number"),
        right("takes in"),
        right("packets"),
        right("DSCP of data"),
        right("of CNPs"),
    ]);
    let unlimited = || "any".to_owned();
    for row in rows {
        table.row([
            row.names.clone(),
            count(row.count),
            row.receive.map_or_else(unlimited, rate),
            row.packet_rate.map_or_else(unlimited, |rate| rate.to_string()),
            row.data_dscp.to_string(),
            row.cnp_dscp.to_string(),
        ]);
    }
    table
}

fn pauses(rows: &[ThresholdRow]) -> Table {
    let mut table = Table::new(&[
        left("ports"),
        right("number"),
        left("class"),
        right("XOFF"),
        right("XOFF loaded"),
        right("XON"),
        right("headroom"),
        right("needed"),
    ]);
    for row in rows {
        let size = |size: Bytes| if row.lossless { bytes(size) } else { "-".to_owned() };
        table.row([
            ports(row, &row.at),
            count(row.ports),
            format!("{} {}", row.class, row.class_name),
            if row.lossless { bytes(row.xoff) } else { "off".to_owned() },
            size(row.xoff_loaded),
            size(row.xon),
            size(row.headroom),
            size(row.headroom_needed),
        ]);
    }
    table
}

/// Ports that are alike, and whose they are where others of the tier differ.
fn ports(row: &ThresholdRow, at: &str) -> String {
    match row.switches.as_str() {
        "" => format!("{at}, {}", rate(row.rate)),
        switches => format!("{at}, {}: {switches}", rate(row.rate)),
    }
}

fn marks(rows: &[ThresholdRow]) -> Table {
    let mut table =
        Table::new(&[left("ports"), left("class"), right("Kmin"), right("Kmax"), right("Pmax")]);
    let size = |size: Option<Bytes>| size.map_or("-".to_owned(), bytes);
    // Where nothing marks anywhere there is nothing to show.
    let marks = |class: u8| rows.iter().any(|row| row.class == class && row.kmin.is_some());
    for row in rows.iter().filter(|row| marks(row.class)) {
        let likely = row.pmax.map(|pmax| format!("{} %", plain(pmax.as_f64() * 100.0)));
        table.row([
            ports(row, &row.at.replace(" from ", " to ")),
            format!("{} {}", row.class, row.class_name),
            row.kmin.map_or("off".to_owned(), bytes),
            size(row.kmax),
            likely.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}

fn local(rows: &[LocalRow]) -> Table {
    let mut table = Table::new(&[left("switches"), left("setting"), left("value")]);
    for row in rows {
        table.row([row.at.clone(), row.key.clone(), row.value.clone()]);
    }
    table
}

fn transport(rows: &[TransportRow]) -> Table {
    let mut table = Table::new(&[left("setting"), left("value"), left("from")]);
    for row in rows {
        table.row([row.key.to_owned(), row.value.clone(), row.from.to_owned()]);
    }
    table
}

fn paths(rows: &[PathRow]) -> Table {
    let mut table = Table::new(&[
        left("pair"),
        left("from"),
        left("to"),
        right("links"),
        right("paths"),
        right("base RTT"),
        right("BDP"),
    ]);
    for row in rows {
        table.row([
            row.pair.to_owned(),
            row.from.clone(),
            row.to.clone(),
            count(row.links),
            count(row.choices),
            time(row.base_rtt),
            bytes(row.bdp),
        ]);
    }
    table
}

fn goals(goals: Option<&Goals>) -> Table {
    let mut table = Table::new(&[left("goal"), left("passes"), left("fails")]);
    let Some(goals) = goals else { return table };
    let share = |share: f64| format!("{} %", plain(share * 100.0));
    let times = |times: f64| format!("{} times", plain(times));
    let seconds = |seconds: f64| format!("{} s", plain(seconds));
    let mut row = |name: &str, goal: &Goal, show: &dyn Fn(f64) -> String| {
        let (passes, fails) = match goal.better {
            Better::Higher => ("from", "below"),
            Better::Lower => ("up to", "above"),
        };
        let bounds = [(passes, goal.pass), (fails, goal.fail)];
        let [passes, fails] = bounds.map(|(word, bound)| format!("{word} {}", show(bound)));
        table.row([name.to_owned(), passes, fails]);
    };
    row("collective, of ideal bus bandwidth", &goals.collective, &share);
    row("training step, of ideal time", &goals.step, &times);
    row("all-to-all, of line rate", &goals.all_to_all, &share);
    row("permutation, of line rate", &goals.permutation, &share);
    row("incast, of ideal time", &goals.incast, &times);
    row("interruption by a failure that heals", &goals.failure, &seconds);
    let meant = format!("{}:1 meant", plain(goals.oversubscription.as_f64()));
    table.row(["oversubscription".to_owned(), meant, String::new()]);
    let survived: Vec<&str> = goals.survive.iter().map(|failure| failure.name()).collect();
    if survived.is_empty() {
        table.row(["failures to survive", "none", ""].map(str::to_owned));
    }
    // Few to a row: a long list would be cut where the terminal is narrow.
    for (index, some) in survived.chunks(4).enumerate() {
        let name = if index == 0 { "failures to survive" } else { "" };
        table.row([name.to_owned(), some.join(", "), String::new()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_shown_where_a_file_has_some() {
        let base = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n";
        let shown = |goals: &str| {
            let setup = xoff_fabric::load_fabric(&format!("{base}{goals}")).into_result().unwrap();
            render(&Derived::of(&setup), 100, Style::PLAIN)
        };
        assert!(!shown("").contains("Goals"));
        let text = shown("[goals]\nstep = 1.2\noversubscription = 3\nsurvive = ['leaf', 'nic']\n");
        for part in ["up to 1.20 times", "from 80 %", "below 60 %", "3:1 meant", "leaf, nic"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
    }

    #[test]
    fn the_smallest_file_fills_every_table() {
        let text = include_str!("../../../../examples/pod-256.toml");
        let setup = xoff_fabric::load_fabric(text).into_result().unwrap();
        let derived = Derived::of(&setup);
        let wide = render(&derived, 120, Style::PLAIN);
        for part in
            ["32 servers, 256 GPUs", "tomahawk-5", "oversubscription", "1:1", "XOFF", "Kmin", "BDP"]
        {
            assert!(wide.contains(part), "no `{part}` in\n{wide}");
        }
        let narrow = render(&derived, 60, Style::PLAIN);
        assert!(narrow.lines().all(|line| console::measure_text_width(line) <= 60), "{narrow}");
    }
}
