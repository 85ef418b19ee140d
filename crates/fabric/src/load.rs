//! Reading files: text in, a fabric (and a scenario) and everything that is wrong with it out.

mod files;
mod layers;
mod shape;

pub use files::{Files, ReadError, Setup, Source, load};

use crate::catalogue::Catalogue;
use crate::diagnostic::{Code, Diagnostic, Origin, Severity, code};
use crate::document::{Document, Node, Report, keys};
use crate::file::FabricFile;
use crate::model::Fabric;
use crate::scenario::{Miscabling, Scenario};
use crate::setup::{FabricSetup, ScenarioSetup, Written};
use crate::{aggregation, build, check, guest, miscabling, schema};
use layers::Layers;
use serde::de::DeserializeOwned;
use shape::Shape;

/// What came of reading a file: the value if it can be used, and what was found on the way.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// Present unless an error was found.
    pub value: Option<T>,
    /// What could be built in spite of errors: not to be used, but to work out what would be right.
    pub draft: Option<T>,
    /// Errors and warnings, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Loaded<T> {
    fn new(value: Option<T>, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by_key(|d| (d.origin, d.span.start));
        diagnostics.dedup();
        shorten(&mut diagnostics);
        let broken = diagnostics.iter().any(Diagnostic::is_error);
        let (value, draft) = if broken { (None, value) } else { (value, None) };
        Self { value, draft, diagnostics }
    }

    /// The same of something made from it.
    fn map<U>(self, make: impl Fn(T) -> U) -> Loaded<U> {
        let Self { value, draft, diagnostics } = self;
        Loaded { value: value.map(&make), draft: draft.map(&make), diagnostics }
    }

    /// The value, or the diagnostics if there is none.
    pub fn into_result(self) -> Result<T, Vec<Diagnostic>> {
        self.value.ok_or(self.diagnostics)
    }
}

/// A file with thousands of mistakes has one that matters: the list is cut, errors first.
fn shorten(diagnostics: &mut Vec<Diagnostic>) {
    const SHOWN: usize = 500;
    if diagnostics.len() <= SHOWN {
        return;
    }
    let hidden = diagnostics.len() - SHOWN;
    diagnostics.sort_by_key(|d| std::cmp::Reverse(d.severity));
    diagnostics.truncate(SHOWN);
    diagnostics.sort_by_key(|d| (d.origin, d.span.start));
    let Some(last) = diagnostics.last_mut() else { return };
    last.help = Some(format!("and {hidden} more like these"));
}

impl FabricSetup {
    /// The same fabric with other settings laid over its file, as a scenario's `[override]` would.
    pub fn overridden(&self, keys: &toml::Table) -> Result<FabricSetup, Vec<Diagnostic>> {
        let Written { file, overrides, miscabled } = self.written.clone();
        let (mut change, mut diagnostics) =
            Document::parse(&keys.to_string(), Some(Origin::Scenario));
        if let Some(overrides) = overrides {
            let above = std::mem::replace(&mut change.root, overrides);
            change.overlay(above);
        }
        let mut setup = finish_fabric(file, Some(change.root), &mut diagnostics);
        if let Some(setup) = &mut setup {
            let aggregates = self.fabric.nics.len() > self.fabric.hosts() as usize;
            if let (true, Ok(with)) = (aggregates, setup.fabric.with_aggregators()) {
                setup.fabric = with;
            }
            setup.miscable(miscabled);
        }
        Loaded::new(setup, diagnostics).into_result()
    }

    fn miscable(&mut self, swaps: Vec<Miscabling>) {
        if swaps.is_empty() {
            return;
        }
        let mut overlay = self.fabric.overlay();
        miscabling::apply(&mut overlay, &swaps);
        self.fabric = overlay.finish();
        self.written.miscabled = swaps;
    }
}

/// Reads a fabric file.
pub fn load_fabric(text: &str) -> Loaded<FabricSetup> {
    let (document, mut diagnostics) = Document::parse(text, Some(Origin::Fabric));
    let setup = finish_fabric(document, None, &mut diagnostics);
    Loaded::new(setup, diagnostics)
}

/// Reads a scenario file and the fabric file it names; the scenario's overrides are laid over the
/// fabric file first.
pub fn load_scenario(scenario: &str, fabric: &str) -> Loaded<ScenarioSetup> {
    load_cabled(scenario, fabric, miscabling::of)
}

/// The same with all cables where they belong, whatever the scenario's faults do to them: what was planned.
pub fn load_planned(scenario: &str, fabric: &str) -> Loaded<ScenarioSetup> {
    load_cabled(scenario, fabric, |_| Vec::new())
}

/// Reads both, with the cables in the wrong ports that `swaps` says.
fn load_cabled(
    scenario: &str,
    fabric: &str,
    swaps: impl FnOnce(&Scenario) -> Vec<Miscabling>,
) -> Loaded<ScenarioSetup> {
    let (own, mut diagnostics) = OwnPart::read(scenario);
    let (base, found) = Document::parse(fabric, Some(Origin::Fabric));
    diagnostics.extend(found);
    let OwnPart { document, shape, overrides, scenario } = own;
    let setup = finish_fabric(base, overrides.clone(), &mut diagnostics);
    let value = scenario.zip(setup).map(|(mut scenario, mut setup)| {
        let mut report = Report::new(&document, Origin::Scenario);
        check::scenario(&scenario, &setup.fabric, &mut report);
        let guests = guest::settle(&scenario, &setup, &mut report);
        let mut overlay = setup.fabric.into_overlay();
        overlay.set_guests(guests);
        setup.fabric = overlay.finish();
        aggregation::attach(&scenario, &mut setup.fabric, &mut report);
        setup.miscable(swaps(&scenario));
        // Names and numbers of a scenario may be right in the fabric that was meant.
        let other_fabric =
            diagnostics.iter().any(|d| d.origin == Origin::Fabric && shape::loses(d));
        let found = report.diagnostics.into_iter().filter(|_| !other_fabric);
        diagnostics.extend(found.filter(|found| !shape.explains(found)));
        if let Some(toml::Value::Table(table)) = overrides.map(|node| node.plain()) {
            scenario.overrides = table;
        }
        ScenarioSetup { scenario, setup }
    });
    Loaded::new(value, diagnostics)
}

/// What a scenario file says by itself.
struct OwnPart {
    document: Document,
    shape: Shape,
    overrides: Option<Node>,
    scenario: Option<Scenario>,
}

impl OwnPart {
    fn read(text: &str) -> (Self, Vec<Diagnostic>) {
        let (mut document, mut diagnostics) = Document::parse(text, Some(Origin::Scenario));
        let overrides = document.take("override");
        let schema = schema::bare_scenario();
        let shape = Shape::take(&mut document.root, &schema, Origin::Scenario);
        diagnostics.extend(shape.found.iter().cloned());
        let scenario = read(&document, Origin::Scenario, &mut diagnostics);
        (Self { document, shape, overrides, scenario }, diagnostics)
    }
}

/// Lays the layers over each other, reads the result, checks and builds it.
fn finish_fabric(
    file: Document,
    overrides: Option<Node>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FabricSetup> {
    let written =
        Written { file: file.clone(), overrides: overrides.clone(), miscabled: Vec::new() };
    let layers = Layers::of(file, overrides);
    let mut document = layers.over_nic();
    let shape = Shape::take(&mut document.root, &schema::merged_fabric(), Origin::Fabric);
    diagnostics.extend(shape.found.iter().cloned());
    let file: FabricFile = read(&document, Origin::Fabric, diagnostics)?;
    let mut report = Report::new(&document, Origin::Fabric);
    let empty = describes_nothing(&document);
    // A misspelt table is one mistake and not two.
    if empty && !diagnostics.iter().any(Diagnostic::is_error) {
        report.error(code::EMPTY, keys![], NOTHING, SMALLEST);
    }
    check::fabric(&file, &mut report);
    let goals = check::goals(&file.goals, &mut report);
    let catalogue = Catalogue::extended(&file.catalogue, &mut report);
    let fabric = build::build(&file, &catalogue, &layers.transports(), &mut report);
    if let (Some(fabric), false) = (&fabric, report.diagnostics.iter().any(Diagnostic::is_error)) {
        let flaw = fabric.flaw();
        assert_eq!(flaw, Ok(()), "no check has reported a setting that no fabric can have");
    }
    let found = report.diagnostics.into_iter().filter(|found| !shape.explains(found));
    // Warnings about a fabric that the file does not describe would mislead.
    diagnostics.extend(found.filter(|found| !empty || found.is_error()));
    let nic_defaults = layers.nic_defaults();
    Some(FabricSetup { file, catalogue, nic_defaults, goals, fabric: fabric?, written })
}

const NOTHING: &str = "nothing under `[cluster]` or `[fabric]`: the file describes no fabric";
const SMALLEST: &str = "the smallest useful file has the size of the cluster and the kind of fabric: \
                        `[cluster]` with `gpus = 256`, `[fabric]` with `kind = \"rail\"` and \
                        `leaf = \"tomahawk-5\"`; everything else has defaults";

/// Whether neither the file nor what is laid over it says anything of hosts or switches. A profile
/// or a network describes how a fabric behaves and not which one it is.
fn describes_nothing(document: &Document) -> bool {
    let written = |key: &str| {
        document.get(keys![key]).is_some_and(|node| {
            node.key.origin.is_some() && node.table().is_none_or(|table| !table.is_empty())
        })
    };
    !["cluster", "fabric", "node", "link"].into_iter().any(written)
}

fn read<T: DeserializeOwned>(
    document: &Document,
    origin: Origin,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<T> {
    match document.root.plain().try_into() {
        Ok(value) => Some(value),
        Err(error) => {
            // The walk has removed what it found wrong; what it cannot know ends here.
            if !diagnostics.iter().any(Diagnostic::is_error) {
                let error: toml::de::Error = error;
                diagnostics.push(plain_error(code::WRONG_VALUE, origin, error.message()));
            }
            None
        }
    }
}

fn plain_error(code: Code, origin: Origin, message: &str) -> Diagnostic {
    let message = message.to_owned();
    Diagnostic { severity: Severity::Error, code, message, help: None, origin, span: 0..0 }
}

impl Fabric {
    /// The fabric that the text of a fabric file describes.
    pub fn from_toml(text: &str) -> Result<Fabric, Vec<Diagnostic>> {
        load_fabric(text).into_result().map(|setup| setup.fabric)
    }
}

#[cfg(test)]
mod tests;
