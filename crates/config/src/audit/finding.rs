//! Findings, gathered so that one mistake is one finding, however many ports it is on.

use super::cure::{self, Aspect};
use super::rule::Rule;
use super::scene::{Scene, Site};
use crate::device::PortName;
use crate::place::Place;
use crate::system::{SystemId, Topic};
use std::collections::BTreeMap;
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
    /// The fix as configuration for the device's system; empty where there is none.
    pub fix: String,
}

/// What an audit found.
#[derive(Debug, Clone)]
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
    /// What was not checked, because no verified statement of that system is known for it.
    pub unchecked: Vec<(SystemId, Topic)>,
}

impl Report {
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
type Key = (usize, &'static str, String);

/// Gathers faults.
pub(super) struct Collector<'a> {
    scene: &'a Scene<'a>,
    found: BTreeMap<Key, (Fault, Vec<PortName>)>,
    /// Devices and ports with an error about classes, queues or pauses.
    broken: BTreeMap<(usize, PortName), ()>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(scene: &'a Scene<'a>) -> Self {
        Self { scene, found: BTreeMap::new(), broken: BTreeMap::new() }
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

    /// A fault of a device.
    pub(super) fn device(&mut self, index: usize, fault: Fault) {
        self.add(index, None, fault);
    }

    fn add(&mut self, index: usize, port: Option<&PortName>, fault: Fault) {
        let key = (index, fault.rule.id, fault.message.clone());
        let (known, ports) = self.found.entry(key).or_insert_with(|| (fault.clone(), Vec::new()));
        known.places.extend(fault.places);
        known.places.sort();
        known.places.dedup();
        ports.extend(port.cloned());
    }

    /// Whether a port has an error already.
    pub(super) fn is_broken(&self, index: usize, port: &PortName) -> bool {
        self.broken.contains_key(&(index, port.clone()))
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        let scene = self.scene;
        let mut findings: Vec<Finding> = self
            .found
            .into_iter()
            .map(|((index, _, message), (fault, ports))| Finding {
                rule: fault.rule,
                severity: fault.severity,
                device: scene.name(index).to_owned(),
                fix: fault
                    .aspect
                    .map(|aspect| cure::fix(scene, index, &ports, aspect))
                    .unwrap_or_default(),
                ports,
                places: fault.places,
                message,
            })
            .collect();
        findings.sort_by(|a, b| {
            (std::cmp::Reverse(a.severity), &a.device, a.rule.id, &a.message).cmp(&(
                std::cmp::Reverse(b.severity),
                &b.device,
                b.rule.id,
                &b.message,
            ))
        });
        findings
    }
}
