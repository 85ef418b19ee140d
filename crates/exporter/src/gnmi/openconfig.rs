//! OpenConfig's models of interfaces and of QoS. Names of leaves are those of the schema's table of metrics.
//!
//! A queue has any name there. One that is a number below eight, or such a number behind `UC`, `TC`, `queue` or the port's name, stands for
//! the priority of that number; others have to be told, or are exported by their own name.

use super::paths::Queues;
use super::store::{Scalar, Store};
use crate::exposition::{Exposition, Kind, Target, Value};
use crate::names::{Meaning, meaning};
use crate::naming::Naming;
use std::collections::{BTreeMap, BTreeSet};
use xoff_telemetry::metric::{self, Metric, Source};

/// What is subscribed to, and whether every switch has it.
pub(super) const PATHS: &[(&str, bool)] = &[
    ("interfaces/interface[name=*]/state/counters", true),
    ("interfaces/interface[name=*]/state/oper-status", true),
    ("interfaces/interface[name=*]/state/type", false),
    ("interfaces/interface[name=*]/ethernet/state", false),
    ("qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state", false),
];

const STATUS: &str = "/interfaces/interface/state/oper-status";
const TYPE: &str = "/interfaces/interface/state/type";
const NEGOTIATED: &str = "/interfaces/interface/ethernet/state/negotiated-port-speed";
const SPEED: &str = "/interfaces/interface/ethernet/state/port-speed";

/// Where a leaf belongs to.
struct Place<'a> {
    port: &'a str,
    queue: Option<&'a str>,
    /// Its path in the model, without keys.
    name: String,
}

fn place<'a>(steps: &[&'a str]) -> Option<Place<'a>> {
    match steps {
        ["interfaces", "interface", port, rest @ ..] => {
            let name = format!("/interfaces/interface/{}", rest.join("/"));
            Some(Place { port, queue: None, name })
        }
        ["qos", "interfaces", "interface", port, "output", "queues", "queue", queue, rest @ ..] => {
            let rest = rest.join("/");
            let name = format!("/qos/interfaces/interface/output/queues/queue/{rest}");
            Some(Place { port, queue: Some(queue), name })
        }
        _ => None,
    }
}

pub(super) fn wants(steps: &[&str]) -> bool {
    place(steps).is_some_and(|Place { name, .. }| {
        let words = [STATUS, TYPE, NEGOTIATED, SPEED];
        words.contains(&name.as_str()) || meaning(Source::OpenConfig, &name).is_some()
    })
}

/// A number that the schema has a name for.
struct Found<'a> {
    port: &'a str,
    queue: Option<&'a str>,
    name: String,
    meaning: Meaning,
    value: &'a Scalar,
}

pub(super) fn export(store: &Store, naming: &Naming, queues: &Queues, out: &mut Exposition) {
    let all = store.leaves().filter_map(|(steps, value)| Some((place(&steps)?, value)));
    let all: Vec<(Place<'_>, &Scalar)> = all.collect();
    let kinds = all.iter().filter(|(place, _)| place.name == TYPE);
    let other =
        |value: &&Scalar| !matches!(value, Scalar::Word(word) if plain(word) == "ethernetCsmacd");
    let other = kinds.filter(|(_, value)| other(value)).map(|(place, _)| place.port);
    // Loopbacks, VLANs and bundles are no ports of a fabric.
    let other: BTreeSet<&str> = other.collect();
    let mut targets: BTreeMap<&str, Target> = BTreeMap::new();
    let mut found = Vec::new();
    let mut speeds = Vec::new();
    for (Place { port, queue, name }, value) in all {
        if other.contains(port) {
            continue;
        }
        let target = targets.entry(port).or_insert_with(|| naming.port(&[port]));
        match (name.as_str(), value) {
            (STATUS, Scalar::Word(word)) => {
                out.metric(target, Metric::Up, None, Value::Whole((&**word == "UP").into()));
            }
            // What was negotiated comes before what was configured.
            (NEGOTIATED | SPEED, Scalar::Word(word)) => speeds.push((name, port, word)),
            (STATUS | NEGOTIATED | SPEED, _) => out.error(),
            _ => {
                if let Some(meaning) = meaning(Source::OpenConfig, &name) {
                    found.push(Found { port, queue, name, meaning, value });
                }
            }
        }
    }
    speeds.sort();
    for (_, port, word) in speeds {
        match speed(plain(word)) {
            Some(bits) => {
                out.metric(&targets[port], Metric::Speed, None, Value::Whole(bits));
            }
            None if word.ends_with("SPEED_UNKNOWN") => {}
            None => out.error(),
        }
    }
    // Queues before ports, as in the table: where a metric is there by priority, its sum is not exported.
    found.sort_by_key(|one| one.meaning.rank);
    for one in found {
        one.export(&targets[one.port], queues, out);
    }
}

impl Found<'_> {
    fn export(&self, target: &Target, queues: &Queues, out: &mut Exposition) {
        let Self { meaning, .. } = self;
        let value = match self.value {
            Scalar::Whole(value) => Value::scaled(*value, meaning.scale),
            Scalar::Real(value) if *value >= 0.0 => Value::Real(value * meaning.scale),
            Scalar::Real(_) | Scalar::Word(_) => return out.error(),
        };
        let priority = self.queue.map(|queue| priority(self.port, queue, queues));
        match (priority, self.queue) {
            (Some(None), Some(queue)) => self.raw(&target.with("queue", queue), value, out),
            (priority, _) => {
                out.metric(target, meaning.metric, priority.flatten(), value);
            }
        }
    }

    /// A queue that stands for no priority, by the name that OpenConfig has for its leaf.
    fn raw(&self, target: &Target, value: Value, out: &mut Exposition) {
        let leaf = self.name.rsplit('/').next().unwrap_or_default();
        let kind = match self.meaning.metric.facts().kind {
            metric::Kind::Counter | metric::Kind::Events => Kind::Counter,
            metric::Kind::Gauge | metric::Kind::Watermark => Kind::Gauge,
        };
        let help = format!("`{leaf}` of OpenConfig's queue, which is not known to be a priority.");
        out.raw(target, &format!("xoff_openconfig_queue_{leaf}"), kind, &help, value);
    }
}

/// The priority that a queue stands for.
fn priority(port: &str, queue: &str, queues: &Queues) -> Option<u8> {
    if let Some(priority) = queues.get(queue) {
        return Some(*priority);
    }
    let own = queue.strip_prefix(port).and_then(|rest| rest.strip_prefix([':', '-', '_']));
    let name = own.unwrap_or(queue).to_ascii_lowercase();
    let known = ["uc", "tc", "queue", "q"];
    let number = known.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(&name);
    match number.trim_start_matches(['-', '_']).as_bytes() {
        [digit @ b'0'..=b'7'] => Some(digit - b'0'),
        _ => None,
    }
}

/// A name without the module that it is from.
fn plain(word: &str) -> &str {
    word.split_once(':').map_or(word, |(_, plain)| plain)
}

/// Bits per second of `SPEED_400GB`, which is in bits whatever it says.
fn speed(word: &str) -> Option<u128> {
    let text = word.strip_prefix("SPEED_")?;
    let (number, unit) = match text.strip_suffix("GB") {
        Some(number) => (number, 1_000_000_000),
        None => (text.strip_suffix("MB")?, 1_000_000),
    };
    Some(u128::from(number.parse::<u32>().ok()?) * unit)
}
