//! Findings, gathered so that one mistake is one finding, however many ports it is on.

use super::cure::Aspect;
use super::fix::Fixer;
use super::rule::{self, Rule};
use super::scene::{Scene, Site};
use crate::device::PortName;
use crate::place::{Files, Place};
use crate::system::{SystemId, Topic};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::Severity;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule it breaks.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// The device.
    pub device: String,
    /// Its ports, as far as it is about ports.
    pub ports: Vec<PortName>,
    /// The lines that say it; none where something is missing altogether.
    pub places: Vec<Place>,
    /// What is wrong here.
    pub message: String,
    /// What cures it.
    pub fix: Fix,
}

impl Finding {
    /// Whether it says that something was not checked.
    pub fn is_silence(&self) -> bool {
        [&rule::NOTHING_CHECKED, &rule::NOT_IN_FABRIC].iter().any(|silent| *self.rule == **silent)
    }
}

/// What cures a finding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fix {
    /// The fix as configuration for the device's system; empty where there is none. It was entered into the
    /// device's text and audited again.
    pub apply: String,
    /// What takes the fix back; empty where that was not seen to work.
    pub undo: String,
    /// Why there is no fix; empty where there is one, or where configuration is not what cures it.
    pub reason: String,
}

impl Fix {
    pub(super) fn none(reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..Self::default() }
    }
}

/// A finding without what it says: what it is about, for comparing two audits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) index: usize,
    pub(super) rule: &'static str,
    pub(super) port: Option<PortName>,
    pub(super) message: String,
}

/// What an audit found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Findings, errors first, then by device.
    pub findings: Vec<Finding>,
    /// Devices that were audited.
    pub devices: usize,
    /// Cables whose two ends were compared.
    pub links: usize,
    /// Statements about RoCE that were not understood.
    pub unknown: usize,
    /// Statements whose values could not be read.
    pub malformed: usize,
    /// Statements about something else.
    pub foreign: usize,
    /// What holds for many devices alike, and is no mistake of one.
    pub notes: Vec<String>,
    /// What was not checked, because no verified statement of that system is known for it.
    pub unchecked: Vec<(SystemId, Topic)>,
}

impl Report {
    /// Adds what was found in another fabric.
    pub(super) fn add(&mut self, other: Self) {
        self.findings.extend(other.findings);
        sort(&mut self.findings);
        self.devices += other.devices;
        self.links += other.links;
        let new = other.notes.into_iter().filter(|note| !self.notes.contains(note));
        let new: Vec<String> = new.collect();
        self.notes.extend(new);
    }

    /// Whether anything is an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// What one call of a rule found.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) rule: &'static Rule,
    pub(super) severity: Severity,
    pub(super) places: Vec<Place>,
    pub(super) message: String,
    pub(super) aspect: Option<Aspect>,
}

impl Fault {
    pub(super) fn new(rule: &'static Rule, message: impl Into<String>) -> Self {
        let severity = rule.severity;
        Self { rule, severity, places: Vec::new(), message: message.into(), aspect: None }
    }

    /// As a warning, whatever the rule usually is.
    pub(super) fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// With the lines that say it.
    pub(super) fn at(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        self.places.extend(places.into_iter().filter(|place| *place != Place::INTENT));
        self.places.sort();
        self.places.dedup();
        self
    }

    /// Cured by configuring this.
    pub(super) fn cured_by(mut self, aspect: Aspect) -> Self {
        self.aspect = Some(aspect);
        self
    }
}

/// Device, rule and message: what makes two faults the same mistake.
type Mistake = (usize, &'static str, String);

/// Gathers faults.
pub(super) struct Collector<'a> {
    scene: &'a Scene<'a>,
    found: BTreeMap<Mistake, (Fault, Vec<PortName>)>,
    /// Devices and ports with an error about classes, queues or pauses.
    broken: BTreeMap<(usize, PortName), ()>,
    /// The parts of ports, and of devices as a whole, about which something was reported.
    reported: BTreeMap<(usize, Option<PortName>), Vec<Aspect>>,
    notes: BTreeSet<String>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(scene: &'a Scene<'a>) -> Self {
        Self {
            scene,
            found: BTreeMap::new(),
            broken: BTreeMap::new(),
            reported: BTreeMap::new(),
            notes: BTreeSet::new(),
        }
    }

    /// A fault of a port.
    pub(super) fn port(&mut self, site: &Site<'_>, fault: Fault) {
        if fault.severity == Severity::Error {
            self.broken.insert((site.index, site.name.clone()), ());
        }
        self.add(site.index, Some(site.name), fault);
    }

    /// A fault of a cable at a port: what the port is configured to do may be right.
    pub(super) fn port_named(&mut self, index: usize, port: &PortName, fault: Fault) {
        self.add(index, Some(port), fault);
    }

    /// Something that holds for many devices.
    pub(super) fn note(&mut self, sentence: String) {
        self.notes.insert(sentence);
    }

    /// What was noted.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes).into_iter().collect()
    }

    /// A fault of a device.
    pub(super) fn device(&mut self, index: usize, fault: Fault) {
        self.add(index, None, fault);
    }

    fn add(&mut self, index: usize, port: Option<&PortName>, fault: Fault) {
        let reported = self.reported.entry((index, port.cloned())).or_default();
        reported.extend(fault.aspect);
        let key = (index, fault.rule.id, fault.message.clone());
        let (known, ports) = self.found.entry(key).or_insert_with(|| (fault.clone(), Vec::new()));
        known.places.extend(fault.places);
        known.places.sort();
        known.places.dedup();
        ports.extend(port.cloned());
    }

    /// Whether something was reported that explains a difference of a port.
    pub(super) fn covers(&self, site: &Site<'_>, about: &str) -> bool {
        let own = self.reported.get(&(site.index, Some(site.name.clone())));
        let device = self.reported.get(&(site.index, None));
        let all = own.into_iter().chain(device).flatten();
        all.into_iter().any(|aspect| aspect.explains(about, site.device.system))
    }

    /// Whether something was reported that explains a difference of a device.
    pub(super) fn covers_device(&self, index: usize, about: &str) -> bool {
        let part = match about {
            "balancing" => Aspect::Balancing,
            _ => Aspect::Buffers,
        };
        let all = self.reported.iter().filter(|((device, _), _)| *device == index);
        all.flat_map(|(_, aspects)| aspects).any(|aspect| *aspect == part)
    }

    /// Whether something was found at a device.
    pub(super) fn has(&self, index: usize) -> bool {
        self.found.range((index, "", String::new())..).next().is_some_and(|(key, _)| key.0 == index)
    }

    /// Whether a port has an error already.
    pub(super) fn is_broken(&self, index: usize, port: &PortName) -> bool {
        self.broken.contains_key(&(index, port.clone()))
    }

    /// What all findings are about.
    pub(super) fn into_keys(self) -> BTreeSet<Key> {
        let mut keys = BTreeSet::new();
        for ((index, rule, message), (_, ports)) in self.found {
            let key = |port| Key { index, rule, port, message: message.clone() };
            match ports.is_empty() {
                true => keys.extend([key(None)]),
                false => keys.extend(ports.into_iter().map(|port| key(Some(port)))),
            }
        }
        keys
    }

    /// The findings, with fixes where the texts of devices are at hand.
    pub(super) fn into_findings(self, files: Option<&Files>) -> Vec<Finding> {
        let scene = self.scene;
        let mut fixer = files.map(|files| Fixer::new(scene, files));
        let mut findings: Vec<Finding> = Vec::new();
        for ((index, rule, message), (fault, ports)) in self.found {
            let fix = match (&mut fixer, fault.aspect) {
                (Some(fixer), Some(aspect)) => fixer.fix(index, rule, &message, &ports, aspect),
                _ => Fix::default(),
            };
            findings.push(Finding {
                rule: fault.rule,
                severity: fault.severity,
                device: scene.name(index).to_owned(),
                fix,
                ports,
                places: fault.places,
                message,
            });
        }
        sort(&mut findings);
        findings
    }
}

/// Errors first, then by device.
fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        (Reverse(a.severity), &a.device, a.rule.id, &a.message).cmp(&(
            Reverse(b.severity),
            &b.device,
            b.rule.id,
            &b.message,
        ))
    });
}
