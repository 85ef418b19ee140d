//! [`Base`]: the scenario and the fabric that points change.
//!
//! A key of the scenario is set in the scenario. A key of the fabric is laid over it as the scenario's
//! `[override]`, as `xoff compare` does; an entry of a list that has no name cannot be overridden and is
//! changed in the fabric file itself. Either way a point is two texts that `xoff run` takes.

use crate::axis::Setting;
use crate::key::File;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use xoff_fabric::diagnostic::code;
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{FabricSetup, load_scenario};
use xoff_units::Bytes;
use xoff_workload::{Flow, Job, WorkloadError};

/// What points change.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    scenario: Table,
    /// Fabric files by the path that scenarios name them by, with their tables and texts.
    fabrics: Vec<(String, Table, String)>,
    folder: PathBuf,
}

/// The two files of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// The scenario.
    pub scenario: String,
    /// The fabric.
    pub fabric: String,
    /// What the scenario calls it.
    pub fabric_path: String,
}

/// A point that can be run.
#[derive(Debug)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Its fabric.
    pub setup: FabricSetup,
    /// Its traffic.
    pub flows: Vec<Flow>,
    /// Its collectives, training steps and services.
    pub jobs: Vec<Job>,
}

/// Why files cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// Whether a key is not known, so that no value of it would do.
    pub unknown_key: bool,
}

/// The longest flow a queue pair takes: 2^16 messages of 2^30 bytes.
const LONGEST_FLOW: Bytes = Bytes::new(1 << 46);

impl Base {
    /// Of the text of a scenario and of every fabric file that it names at any point, by path. Files
    /// that workloads name are in `folder`.
    pub fn new(
        scenario: &str,
        fabrics: impl IntoIterator<Item = (String, String)>,
        folder: &Path,
    ) -> Result<Self, String> {
        let parse = |text: &str| text.parse::<Table>().map_err(|error| error.message().to_owned());
        let fabric = |(path, text): (String, String)| Ok((path, parse(&text)?, text));
        let fabrics = fabrics.into_iter().map(fabric).collect::<Result<_, String>>()?;
        Ok(Self { scenario: parse(scenario)?, fabrics, folder: folder.to_owned() })
    }

    /// The scenario's own seed.
    pub fn seed(&self) -> u64 {
        let seed = self.scenario.get("seed").and_then(Value::as_integer);
        seed.and_then(|seed| u64::try_from(seed).ok()).unwrap_or(1)
    }

    /// Where files are that workloads name.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files with these settings; why there are none otherwise.
    pub fn change(&self, settings: &[Setting<'_>], seed: u64) -> Result<Texts, String> {
        let mut scenario = self.scenario.clone();
        if let Ok(seed) = i64::try_from(seed) {
            scenario.insert("seed".to_owned(), Value::Integer(seed));
        }
        let of = |file| settings.iter().filter(move |setting| setting.key.file() == file);
        for Setting { key, value } in of(File::Scenario) {
            key.put(&mut scenario, value)?;
        }
        let path = scenario.get("fabric").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = self.fabrics.iter().find(|(name, ..)| *name == path);
        let (_, base, text) = known.ok_or_else(|| format!("no fabric file `{path}` was read"))?;
        let mut edited = None;
        for Setting { key, value } in of(File::Fabric) {
            let over = scenario.entry("override").or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(over) = over else {
                return Err("`override` of the scenario is no table".to_owned());
            };
            if !key.has_entries() {
                key.put(over, value)?;
            } else if over.contains_key(key.top()) {
                return Err(format!(
                    "the scenario overrides `{}` as a whole, above what `{key}` would change",
                    key.top()
                ));
            } else {
                key.put(edited.get_or_insert_with(|| base.clone()), value)?;
            }
        }
        let written = |table: &Table| toml::to_string(table).map_err(|error| error.to_string());
        let fabric = edited.as_ref().map_or_else(|| Ok(text.clone()), written)?;
        Ok(Texts { scenario: written(&scenario)?, fabric, fabric_path: path })
    }

    /// Reads files of a point.
    pub fn load(&self, texts: &Texts, seed: u64) -> Result<Loaded, Refused> {
        let loaded =
            load_scenario(&texts.scenario, &texts.fabric).into_result().map_err(|found| {
                let errors = found.into_iter().filter(|found| found.is_error());
                let errors: Vec<_> = errors.collect();
                let messages: Vec<&str> =
                    errors.iter().map(|error| error.message.as_str()).collect();
                let help = errors.first().and_then(|error| error.help.clone());
                let unknown_key = errors.iter().any(|error| error.code == code::UNKNOWN_KEY);
                Refused { message: messages.join("; "), help, unknown_key }
            })?;
        let (workloads, fabric) = (&loaded.scenario.workloads, &loaded.setup.fabric);
        let refused = |errors: Vec<WorkloadError>| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Refused { message: errors.join("; "), help: None, unknown_key: false }
        };
        let mut open = xoff_workload::folder(&self.folder);
        let flows = xoff_workload::expand(workloads, fabric, seed, &mut open).map_err(refused)?;
        if flows.iter().any(|flow| flow.bytes > LONGEST_FLOW) {
            let message = format!("a flow is at most {LONGEST_FLOW} long");
            return Err(Refused { message, help: None, unknown_key: false });
        }
        let jobs = xoff_workload::programs_in(workloads, fabric, seed, Some(&self.folder));
        let jobs = jobs.map_err(refused)?;
        Ok(Loaded { flows, jobs, scenario: loaded.scenario, setup: loaded.setup })
    }

    /// Whether the scenario names files, which are read for every point.
    pub fn names_files(&self) -> bool {
        !self.input_files().is_empty()
    }

    /// The files that workloads name, from the folder of the scenario.
    pub fn input_files(&self) -> Vec<String> {
        let mut scenario = self.scenario.clone();
        scenario.remove("override");
        let scenario: Result<Scenario, _> = scenario.try_into();
        scenario.map_or(Vec::new(), |scenario| xoff_workload::input_files(&scenario.workloads))
    }
}
