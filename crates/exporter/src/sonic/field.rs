//! One field of SONiC's databases: what it is about, and under which name it is exported. Redis and gNMI give the same fields.

use super::Detail;
use crate::exposition::{Exposition, Kind, Target, Value};
use crate::names::meaning;
use xoff_telemetry::metric::{Metric, Source};

/// A table of COUNTERS_DB. Periodic watermarks come first, because the first of a name counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    Periodic,
    Counters,
    User,
}

impl Table {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Table::Periodic => "PERIODIC_WATERMARKS",
            Table::Counters => "COUNTERS",
            Table::User => "USER_WATERMARKS",
        }
    }
}

/// What a hash of counters is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Port,
    /// A queue that stands for a priority, or an ingress priority group.
    Priority(u8),
    /// A queue that stands for none: of multicast, or beyond seven.
    Queue(String),
    Pool(String),
}

impl Subject {
    /// A queue or priority group by its number.
    pub(crate) fn queue(index: &str) -> Self {
        match index.parse::<u8>() {
            Ok(priority @ 0..8) => Subject::Priority(priority),
            _ => Subject::Queue(index.to_owned()),
        }
    }

    fn labelled(&self, target: &Target) -> Target {
        match self {
            Subject::Port => target.clone(),
            Subject::Priority(priority) => target.with("priority", &priority.to_string()),
            Subject::Queue(queue) => target.with("queue", queue),
            Subject::Pool(pool) => target.with("pool", pool),
        }
    }
}

/// A field of COUNTERS_DB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    /// The port, or the switch for its pools.
    pub(crate) target: &'a Target,
    pub(crate) subject: &'a Subject,
    pub(crate) table: Table,
    pub(crate) name: &'a str,
}

/// Whether a field is exported at all.
pub(crate) fn wanted(subject: &Subject, table: Table, name: &str, detail: Detail) -> bool {
    let watermark = name.contains("WATERMARK");
    // The two other tables have watermarks only.
    if table != Table::Counters && !watermark {
        return false;
    }
    let watchdog = name == "PFC_WD_STATUS" || name.starts_with("PFC_WD_QUEUE_STATS_");
    let placed = matches!(subject, Subject::Port | Subject::Priority(_));
    watermark
        || watchdog
        || detail == Detail::All
        || (placed && meaning(Source::Sonic, name).is_some())
}

impl Field<'_> {
    /// Exports its value.
    pub(crate) fn export(&self, value: &str, detail: Detail, out: &mut Exposition) {
        let Self { target, subject, table, name } = *self;
        // One that is not there says `N/A`.
        if !wanted(subject, table, name, detail) || value == "N/A" {
            return;
        }
        if name == "PFC_WD_STATUS" {
            return self.storm(value, out);
        }
        let schema = meaning(Source::Sonic, name).filter(|_| table != Table::User);
        let Some(number) = number(value) else {
            // Words, like PFC_WD_ACTION's `drop`, are no counters that failed.
            if schema.is_some() {
                out.error();
            }
            return;
        };
        let (placed, priority) = match subject {
            Subject::Port => (true, None),
            Subject::Priority(priority) => (true, Some(*priority)),
            Subject::Queue(_) | Subject::Pool(_) => (false, None),
        };
        let Some(schema) = schema.filter(|_| placed) else {
            return self.raw(number, out);
        };
        let value = Value::scaled(number, schema.scale);
        let priority = schema.priority.or(priority);
        match schema.metric {
            // A queue and a priority group drop different packets.
            Metric::BufferDrops => out.add(target, schema.metric, priority, value),
            _ => {
                out.metric(target, schema.metric, priority, value);
            }
        }
    }

    /// Whether the watchdog has stopped a queue.
    fn storm(&self, value: &str, out: &mut Exposition) {
        let help = "Whether the PFC watchdog has stopped the queue: 1 or 0.";
        let stormed = Value::Whole((value == "stormed").into());
        let target = self.subject.labelled(self.target);
        out.raw(&target, "xoff_sonic_pfc_wd_stormed", Kind::Gauge, help, stormed);
    }

    /// What the schema has no name for. It is there from a better table, if it is there already.
    fn raw(&self, value: u64, out: &mut Exposition) {
        let Self { table, name, .. } = self;
        let plain = name.strip_prefix("SAI_").unwrap_or(name).to_ascii_lowercase();
        let plain = plain.replacen("_stat_", "_", 1);
        let user = if *table == Table::User { "user_" } else { "" };
        let of_the_moment = ["WATERMARK", "CURR_OCCUPANCY", "DETECTION_TIME", "RESTORATION_TIME"];
        let gauge = of_the_moment.iter().any(|word| name.contains(word));
        let kind = if gauge { Kind::Gauge } else { Kind::Counter };
        let help = format!("`{name}` of SONiC's {}.", table.name());
        let exported = format!("xoff_sonic_{user}{plain}");
        let target = self.subject.labelled(self.target);
        out.raw(&target, &exported, kind, &help, Value::Whole(value.into()));
    }
}

/// A field of APPL_DB's PORT_TABLE: rates and whether ports are up.
pub(crate) fn state(target: &Target, name: &str, value: &str, out: &mut Exposition) {
    match name {
        "oper_status" => {
            let up = Value::Whole((value == "up").into());
            out.metric(target, Metric::Up, None, up);
        }
        // In Mbit/s.
        "speed" => match value.parse::<u64>() {
            Ok(speed) => {
                let bits = Value::Whole(u128::from(speed) * 1_000_000);
                out.metric(target, Metric::Speed, None, bits);
            }
            Err(_) => out.error(),
        },
        _ => {}
    }
}

/// A whole number of digits only.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}
