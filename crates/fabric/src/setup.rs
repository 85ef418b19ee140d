//! What comes of reading files: a fabric with its file and catalogue, a scenario on its fabric.

use crate::catalogue::{Catalogue, Fact};
use crate::document::{Document, Node};
use crate::file::FabricFile;
use crate::goals::Goals;
use crate::model::Fabric;
use crate::scenario::{Miscabling, Scenario};

/// A fabric file and what was built from it.
#[derive(Debug, Clone)]
pub struct FabricSetup {
    /// The file, with profile and overrides merged in.
    pub file: FabricFile,
    /// What can be named in it.
    pub catalogue: Catalogue,
    /// How the cluster's NIC behaves by itself, and what the file has changed of that.
    pub nic_defaults: Vec<NicDefault>,
    /// What the fabric is meant to achieve, with defaults where the file says nothing.
    pub goals: Goals,
    /// The fabric it describes.
    pub fabric: Fabric,
    pub(crate) written: Written,
}

/// A transport default of the NIC, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicDefault {
    /// The default.
    pub fact: Fact,
    /// What is in force instead, if the file says so.
    pub instead: Option<String>,
}

/// A scenario on its fabric.
#[derive(Debug, Clone)]
pub struct ScenarioSetup {
    /// The scenario file.
    pub scenario: Scenario,
    /// The fabric it runs on.
    pub setup: FabricSetup,
}

/// What a fabric was built from, as written.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) file: Document,
    pub(crate) overrides: Option<Node>,
    /// Cables that a scenario swaps.
    pub(crate) miscabled: Vec<Miscabling>,
}
