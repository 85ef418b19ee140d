//! A names file.

use super::pattern::{Pattern, Template};
use super::{EXPORTERS, Entry, Meaning, Names};
use serde::Deserialize;
use std::collections::BTreeMap;
use xoff_telemetry::Metric;
use xoff_telemetry::metric::Scope;

/// Why a names file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// It is not written as it should be.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// It names a metric or an exporter that there is not.
    #[error("there is no {what} `{name}`; {help}")]
    Unknown {
        /// A metric or an exporter.
        what: &'static str,
        /// As written.
        name: String,
        /// What is known.
        help: String,
    },
    /// A name wants more parts than its pattern has.
    #[error("`{to}` wants part {part}, but `{from}` has {stars} `*`")]
    Parts {
        /// The pattern.
        from: String,
        /// The name made of it.
        to: String,
        /// The part.
        part: usize,
        /// How many there are.
        stars: usize,
    },
    /// A value that cannot be.
    #[error("`{key}` of `{name}` is {reason}")]
    Value {
        /// The key.
        key: &'static str,
        /// The series.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A cabling file that cannot be read or lacks a column.
    #[error("cabling file `{path}`: {reason}")]
    Cabling {
        /// Which.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Exporters whose names are known.
    #[serde(default)]
    sources: Vec<String>,
    /// More matchers for every query.
    #[serde(default)]
    select: String,
    /// A file of `xoff plan` that says where ports lead.
    cabling: Option<String>,
    #[serde(default)]
    devices: BTreeMap<String, String>,
    #[serde(default)]
    ports: BTreeMap<String, String>,
    #[serde(default)]
    series: Vec<Series>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    metric: String,
    name: String,
    scale: Option<f64>,
    device: Option<String>,
    port: Option<String>,
    priority: Option<String>,
    job: Option<String>,
    rank: Option<String>,
    host: Option<String>,
    gpu: Option<String>,
}

impl Names {
    /// What a names file says, beside the names of the schema. `open` reads the files that it names.
    pub fn read(
        text: &str,
        open: &mut dyn FnMut(&str) -> std::io::Result<String>,
    ) -> Result<Self, NamesError> {
        let file: File = toml::from_str(text)?;
        let mut names = Self::own();
        for series in &file.series {
            names.entries.push(series.entry()?);
        }
        for name in &file.sources {
            let known = EXPORTERS.iter().find(|(known, _)| known == name);
            let (_, source) = known.ok_or_else(|| NamesError::Unknown {
                what: "exporter",
                name: name.clone(),
                help: xoff_fabric::suggest::help(name, EXPORTERS.iter().map(|(name, _)| *name)),
            })?;
            names.add_source(*source);
        }
        names.select = file.select.trim().trim_matches(',').to_owned();
        names.devices = patterns(&file.devices)?;
        names.ports = patterns(&file.ports)?;
        if let Some(path) = file.cabling {
            let wrong = |reason: String| NamesError::Cabling { path: path.clone(), reason };
            let text = open(&path).map_err(|error| wrong(error.to_string()))?;
            names.cabling = cabling(&text).map_err(wrong)?;
        }
        Ok(names)
    }
}

fn patterns(map: &BTreeMap<String, String>) -> Result<Vec<(Pattern, Template)>, NamesError> {
    let mut all = Vec::with_capacity(map.len());
    for (from, to) in map {
        let (pattern, template) = (Pattern::new(from), Template::new(to));
        let (stars, part) = (pattern.stars(), template.greatest());
        if part > stars {
            let (from, to) = (from.clone(), to.clone());
            return Err(NamesError::Parts { from, to, part, stars });
        }
        all.push((pattern, template));
    }
    // A name that is written out comes before one that only fits.
    all.sort_by_key(|(pattern, _)| pattern.stars());
    Ok(all)
}

impl Series {
    fn entry(&self) -> Result<Entry, NamesError> {
        let metric = Metric::named(&self.metric).ok_or_else(|| NamesError::Unknown {
            what: "metric",
            name: self.metric.clone(),
            help: xoff_fabric::suggest::help(&self.metric, Metric::all().map(Metric::name)),
        })?;
        let value = |key, reason| NamesError::Value { key, name: self.name.clone(), reason };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        if self.name.is_empty() || !self.name.replacen("{p}", "", 1).chars().all(plain) {
            return Err(value("name", "no name of a series: letters, digits, `_`, and `{p}` once"));
        }
        let scale = self.scale.unwrap_or(1.0);
        if !scale.is_finite() || scale <= 0.0 {
            return Err(value("scale", "not a number above zero"));
        }
        let of = |text: &Option<String>| text.as_deref().map(Template::new);
        let labels = match (&self.job, &self.device) {
            (job, device) if metric.facts().scope == Scope::Gpu => {
                if job.is_some() || device.is_some() || self.port.is_some() {
                    return Err(value("metric", "of GPUs, which `host` and `gpu` name"));
                }
                let or = |own: &Option<String>, usual| of(own).unwrap_or(Template::new(usual));
                Meaning::Gpu { host: or(&self.host, "{host}"), gpu: or(&self.gpu, "{gpu}") }
            }
            _ if self.host.is_some() || self.gpu.is_some() => {
                return Err(value("metric", "not of GPUs, which alone have `host` and `gpu`"));
            }
            (Some(_), Some(_)) => {
                return Err(value("job", "given beside `device`; a series has one"));
            }
            (Some(job), None) => Meaning::Job { job: Template::new(job), rank: of(&self.rank) },
            // Without a template only the name differs.
            (None, device) => Meaning::Port {
                device: Template::new(device.as_deref().unwrap_or("{device}")),
                port: of(&self.port).unwrap_or(Template::new("")),
                priority: of(&self.priority),
            },
        };
        Ok(Entry { metric, scale, name: self.name.clone(), labels })
    }
}

/// Where ports lead, of a file that `xoff plan` wrote. Of several cables between two devices the second is called `#2`.
fn cabling(text: &str) -> Result<BTreeMap<(String, String), String>, String> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        head.iter().position(|column| *column == name).ok_or(format!("no column `{name}`"))
    };
    let columns =
        [column("from_device")?, column("from_port")?, column("to_device")?, column("to_port")?];
    let mut all = BTreeMap::new();
    let mut parallel: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |column: usize| {
            let cell = cells.get(columns[column]).map(|cell| cell.trim_matches('"').to_owned());
            cell.ok_or(format!("line {} is too short", number + 2))
        };
        let (from, from_port, to, to_port) = (cell(0)?, cell(1)?, cell(2)?, cell(3)?);
        let count = parallel.entry((from.clone(), to.clone())).or_default();
        *count += 1;
        let suffix = if *count > 1 { format!("#{count}") } else { String::new() };
        all.insert((from.clone(), from_port), format!("{from}→{to}{suffix}"));
        all.insert((to.clone(), to_port), format!("{to}→{from}{suffix}"));
    }
    Ok(all)
}
