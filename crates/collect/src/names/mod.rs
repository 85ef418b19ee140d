//! [`Names`]: what series are called at a site, and which place of a fabric their labels mean.
//!
//! Series that xoff's own exporter or a simulated run wrote have the names and labels of the schema. Others have the names of their
//! exporter ([`Source`]) or of the site; a [names file](Names::read) says which, and what devices and ports are called.

mod file;
mod pattern;

use crate::labels::{Labels, place};
pub use file::NamesError;
use pattern::{Pattern, Template};
use std::collections::BTreeMap;
use xoff_telemetry::Metric;
use xoff_telemetry::metric::{METRICS, Scope, Source};
use xoff_telemetry::recording::Place;

/// What series are called.
#[derive(Debug)]
pub struct Names {
    entries: Vec<Entry>,
    /// More label matchers for every query, in PromQL.
    select: String,
    devices: Vec<(Pattern, Template)>,
    ports: Vec<(Pattern, Template)>,
    /// Where the ports of devices lead, by device and port.
    cabling: BTreeMap<(String, String), String>,
}

/// One name of a metric.
#[derive(Debug)]
pub struct Entry {
    /// The metric.
    pub metric: Metric,
    /// What one of it is in the unit of the metric.
    pub scale: f64,
    /// Its name; `{p}` is a priority.
    name: String,
    labels: Meaning,
}

/// What the labels of a series mean.
#[derive(Debug, Clone)]
enum Meaning {
    /// The labels of the schema.
    Own,
    /// These templates of labels.
    Port { device: Template, port: Template, priority: Option<Template> },
    /// A job, and a rank of it.
    Job { job: Template, rank: Option<Template> },
    /// A GPU of a host.
    Gpu { host: Template, gpu: Template },
}

/// Exporters whose names are known, as a names file calls them, and what their labels mean.
const EXPORTERS: [(&str, Source); 5] = [
    ("node-exporter", Source::NodeExporter),
    ("sonic-exporter", Source::SonicExporter),
    ("dcgm", Source::Dcgm),
    ("nccl-inspector", Source::NcclInspector),
    ("amd", Source::Amd),
];

impl Names {
    /// The names of the schema.
    pub fn own() -> Self {
        let entry = |metric: Metric| Entry {
            metric,
            scale: 1.0,
            name: metric.name().to_owned(),
            labels: Meaning::Own,
        };
        Self {
            entries: Metric::all().map(entry).collect(),
            select: String::new(),
            devices: Vec::new(),
            ports: Vec::new(),
            cabling: BTreeMap::new(),
        }
    }

    /// All names, those of one metric in the order of preference.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds the names of an exporter.
    fn add_source(&mut self, source: Source) {
        for facts in METRICS {
            for alias in facts.aliases.iter().filter(|alias| alias.source == source) {
                let labels = meaning(source, facts.scope, alias.name);
                let (metric, scale, name) = (facts.metric, alias.scale, alias.name.to_owned());
                self.entries.push(Entry { metric, scale, name, labels });
            }
        }
    }

    /// What an entry is asked for as, of one fabric or of all.
    pub fn query(&self, entry: &Entry, fabric: Option<&str>) -> String {
        let mut matchers = Vec::new();
        let name = match entry.name.split_once("{p}") {
            Some((before, after)) => {
                matchers.push(format!("__name__=~\"{before}[0-7]{after}\""));
                ""
            }
            None => &entry.name,
        };
        if let (Some(fabric), Meaning::Own) = (fabric, &entry.labels) {
            matchers.push(format!("fabric=\"{}\"", escaped(fabric)));
        }
        if !self.select.is_empty() {
            matchers.push(self.select.clone());
        }
        match matchers.is_empty() {
            true => name.to_owned(),
            false => format!("{name}{{{}}}", matchers.join(",")),
        }
    }

    /// The place that a series of an entry belongs to, as the fabric file calls it, and its priority.
    pub fn place(&self, entry: &Entry, labels: &Labels) -> Option<(Place, Option<u8>)> {
        let (place, priority) = match &entry.labels {
            Meaning::Own => place(labels)?,
            Meaning::Port { device, port, priority } => {
                let of_label = match priority {
                    Some(template) => Some(read_priority(&template.of_labels(labels)?)?),
                    None => None,
                };
                let priority = of_label.or_else(|| entry.priority_in_name(labels));
                let place = Place::Port {
                    device: device.of_labels(labels)?,
                    port: port.of_labels(labels)?,
                };
                (place, priority)
            }
            Meaning::Job { job, rank } => {
                let job = job.of_labels(labels)?;
                let place = match rank {
                    Some(rank) => Place::Rank { job, rank: rank.of_labels(labels)?.parse().ok()? },
                    None => Place::Job { job },
                };
                (place, None)
            }
            Meaning::Gpu { host, gpu } => {
                let gpu = gpu.of_labels(labels)?.parse().ok()?;
                (Place::Gpu { host: host.of_labels(labels)?, gpu }, None)
            }
        };
        Some((self.translated(place), priority))
    }

    /// A place as the fabric file calls it.
    fn translated(&self, place: Place) -> Place {
        let renamed = |patterns: &[(Pattern, Template)], name: &str| {
            patterns.iter().find_map(|(pattern, to)| Some(to.of_parts(&pattern.parts(name)?)))
        };
        let (device, port) = match place {
            Place::Port { device, port } => (device, port),
            Place::Gpu { host, gpu } => {
                return Place::Gpu { host: renamed(&self.devices, &host).unwrap_or(host), gpu };
            }
            Place::Rank { .. } | Place::Job { .. } => return place,
        };
        let device = renamed(&self.devices, &device).unwrap_or(device);
        let port = renamed(&self.ports, &format!("{device}/{port}")).unwrap_or(port);
        let key = (device, port);
        let port = self.cabling.get(&key).cloned();
        let (device, own) = key;
        Place::Port { device, port: port.unwrap_or(own) }
    }
}

/// What DCGM gives where it has no value: this, or one to three more, which no double tells apart; as a double, another.
const BLANK: f64 = 0x7fff_ffff_ffff_fff0_u64 as f64;
const BLANK_DOUBLE: f64 = (1u64 << 47) as f64;

impl Entry {
    /// Whether a value of a series says that there is none.
    pub(crate) fn is_blank(&self, value: f64) -> bool {
        let of_gpu = matches!(self.labels, Meaning::Gpu { .. });
        of_gpu
            && value.is_finite()
            && (value >= BLANK || (BLANK_DOUBLE..BLANK_DOUBLE + 4.0).contains(&value))
    }

    /// The priority that is part of a series' name.
    fn priority_in_name(&self, labels: &Labels) -> Option<u8> {
        let (before, after) = self.name.split_once("{p}")?;
        let name = labels.get("__name__")?;
        read_priority(name.strip_prefix(before)?.strip_suffix(after)?)
    }
}

fn read_priority(text: &str) -> Option<u8> {
    text.parse().ok().filter(|priority| *priority < 8)
}

/// What the labels of an exporter mean. A host is its `instance` without the port of the exporter.
fn meaning(source: Source, scope: Scope, name: &str) -> Meaning {
    let of = Template::new;
    let port = |device: &str, port: &str, priority: Option<&str>| Meaning::Port {
        device: of(device),
        port: of(port),
        priority: priority.map(of),
    };
    match (source, scope) {
        (Source::NcclInspector, _) => {
            Meaning::Job { job: of("{slurm_job_id}"), rank: Some(of("{rank}")) }
        }
        (_, Scope::Gpu) => {
            // The label has a small letter from 4.8.3 on.
            Meaning::Gpu { host: of("{Hostname|hostname|instance}"), gpu: of("{gpu}") }
        }
        (_, Scope::Rank | Scope::Job) => Meaning::Job { job: of("{job_name}"), rank: None },
        (Source::SonicExporter, _) => {
            let queue = name.starts_with("sonic_queue").then_some("{queue}");
            port("{instance}", "{device}", queue)
        }
        (Source::Amd, _) => port("{hostname}/{port_name}", "", None),
        _ => port("{instance}/{device}", "", None),
    }
}

/// A value of a label within quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
