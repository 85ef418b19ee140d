//! Reading from disk: a fabric file, or a scenario file and the fabric file it names.

use super::{FabricSetup, Loaded, OwnPart, ScenarioSetup, load_fabric, load_scenario};
use crate::diagnostic::{Diagnostic, Origin, code};
use crate::document::{Document, Report, keys};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file's name and text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The path as it was given.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// What a file on disk turned out to be.
#[derive(Debug, Clone)]
pub enum Setup {
    /// A fabric file.
    Fabric(FabricSetup),
    /// A scenario file with its fabric.
    Scenario(ScenarioSetup),
}

/// The files that were read, and what came of them.
#[derive(Debug, Clone)]
pub struct Files {
    /// The fabric file; empty if the scenario names none that can be read.
    pub fabric: Source,
    /// The scenario file, if there is one.
    pub scenario: Option<Source>,
    /// What is in them.
    pub loaded: Loaded<Setup>,
}

impl Files {
    /// The file that a diagnostic points into.
    pub fn source(&self, diagnostic: &Diagnostic) -> &Source {
        match (&self.scenario, diagnostic.origin) {
            (Some(scenario), Origin::Scenario) => scenario,
            _ => &self.fabric,
        }
    }
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not UTF-8.
    #[error("{path} is not text")]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// Too large to be a fabric or scenario file.
    #[error("{path} is larger than 64 MiB")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

const LARGEST: u64 = 64 << 20;

/// Reads a fabric file, or a scenario file (one whose `fabric` is a path) and its fabric file.
pub fn load(path: &Path) -> Result<Files, ReadError> {
    let source = read(path)?;
    let (document, _) = Document::parse(&source.text, None);
    if !is_scenario(&document) {
        let loaded = load_fabric(&source.text).map(Setup::Fabric);
        return Ok(Files { fabric: source, scenario: None, loaded });
    }
    let named = document.get(keys!["fabric"]).and_then(|node| node.value.as_text());
    let fabric = named.map(|name| read(&path.with_file_name("").join(name)));
    let (fabric, loaded) = match fabric {
        Some(Ok(fabric)) => {
            let loaded = load_scenario(&source.text, &fabric.text).map(Setup::Scenario);
            (fabric, loaded)
        }
        Some(Err(error)) => (Source::default(), alone(&source.text, Some(error))),
        None => (Source::default(), alone(&source.text, None)),
    };
    Ok(Files { fabric, scenario: Some(source), loaded })
}

/// In a fabric file `fabric` is a table; what has traffic or faults is a scenario without it.
fn is_scenario(document: &Document) -> bool {
    let has = |key: &str| document.get(keys![key]);
    has("fabric").is_some_and(|node| node.value.as_text().is_some())
        || (has("fabric").is_none() && (has("workload").is_some() || has("fault").is_some()))
}

/// A scenario whose fabric file is not there: its own mistakes, and that one.
fn alone(text: &str, error: Option<ReadError>) -> Loaded<Setup> {
    let (own, mut diagnostics) = OwnPart::read(text);
    if let Some(error) = error {
        let mut report = Report::new(&own.document, Origin::Scenario);
        let help = "`fabric` is a path relative to the scenario file";
        report.error(code::UNREADABLE, keys!["fabric"], error.to_string(), help);
        diagnostics.extend(report.diagnostics);
    }
    Loaded::new(None, diagnostics)
}

fn read(path: &Path) -> Result<Source, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ReadError::TooLarge { path: path.to_owned() });
    }
    let text =
        String::from_utf8(bytes).map_err(|_| ReadError::NotText { path: path.to_owned() })?;
    Ok(Source { name: path.display().to_string(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xoff-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_scenario_finds_its_fabric() {
        let folder = folder("files");
        let scenario = folder.join("run.toml");
        std::fs::write(&scenario, "fabric = 'pod.toml'\n[override.cluster]\nhosts = 3\n").unwrap();
        let missing = load(&scenario).unwrap();
        assert!(missing.loaded.value.is_none());
        assert_eq!(missing.loaded.diagnostics[0].code, code::UNREADABLE);
        assert_eq!(
            missing.source(&missing.loaded.diagnostics[0]).name,
            scenario.display().to_string()
        );
        std::fs::write(folder.join("pod.toml"), "[fabric]\nkind = 'single'\n").unwrap();
        let files = load(&scenario).unwrap();
        let Some(Setup::Scenario(setup)) = files.loaded.value else { panic!("a scenario") };
        assert_eq!(setup.setup.fabric.nics.len(), 3);
        let fabric = load(&folder.join("pod.toml")).unwrap();
        assert!(matches!(fabric.loaded.value, Some(Setup::Fabric(_))));
        std::fs::write(&scenario, [0xff, 0xfe]).unwrap();
        assert!(matches!(load(&scenario), Err(ReadError::NotText { .. })));
        assert!(matches!(load(&folder), Err(ReadError::Io { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
