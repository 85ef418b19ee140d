//! A scenario against its fabric: names that are not there, numbers that cannot be.

use super::{collective, trace, traffic, training};
use crate::diagnostic::code;
use crate::document::{Path, Report, Step, keys};
use crate::model::{CLASSES, Fabric};
use crate::names::{NameError, Names};
use crate::scenario::{Flows, NodeRef, Permutation, RailPattern, Scenario, Workload};
use xoff_units::{Bytes, Ratio, Span};

pub(crate) fn scenario(scenario: &Scenario, fabric: &Fabric, report: &mut Report<'_>) {
    let mut check = Check { names: Names::of(fabric), fabric, report };
    for (index, workload) in scenario.workloads.iter().enumerate() {
        check.workload(index, workload);
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        check.fault(index, fault);
    }
    if scenario.duration.is_some_and(Span::is_zero) {
        check.impossible(keys!["duration"], "a run of no time", "leave it out to run to the end");
    }
}

pub(super) struct Check<'a, 'r, 'd> {
    pub(super) names: Names<'a>,
    pub(super) fabric: &'a Fabric,
    report: &'r mut Report<'d>,
}

impl Check<'_, '_, '_> {
    pub(super) fn impossible(&mut self, path: &Path<'_>, message: impl Into<String>, help: &str) {
        self.report.error(code::IMPOSSIBLE, path, message, help);
    }

    pub(super) fn name(&mut self, path: &Path<'_>, error: Option<NameError>) {
        if let Some(error) = error {
            self.report.error(code::UNKNOWN_NAME, path, error.message, error.help);
        }
    }

    pub(super) fn nic(&mut self, path: &Path<'_>, reference: &NodeRef) {
        let error = self.names.nic_ref(reference).err();
        self.name(path, error);
    }

    pub(super) fn class(&mut self, path: &Path<'_>, class: Option<u8>) {
        if let Some(class) = class.filter(|&class| usize::from(class) >= CLASSES) {
            self.impossible(path, format!("there is no class {class}"), "classes go from 0 to 7");
        }
    }

    fn size(&mut self, path: &Path<'_>, size: Bytes) {
        if size.is_zero() {
            self.impossible(path, "nothing is sent", "give a size like \"1MB\"");
        }
    }

    fn workload(&mut self, index: usize, workload: &Workload) {
        let at = |key: &'static str| [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        match workload {
            Workload::Permutation(w) => self.permutation(index, w),
            Workload::Incast(w) => {
                self.size(&at("size"), w.size);
                if let Some(target) = &w.target {
                    self.nic(&at("target"), target);
                }
                let others = self.fabric.nics.len().saturating_sub(1);
                if w.senders.is_some_and(|n| n == 0 || n as usize > others) {
                    let message = format!("there are {others} NICs to send to another one");
                    self.impossible(&at("senders"), message, "give 1 or more, at most that many");
                }
            }
            Workload::AllToAll(w) => self.size(&at("size"), w.size),
            Workload::Flows(w) => self.flows(index, w),
            Workload::Poisson(w) => {
                if w.load.is_zero() || w.load > Ratio::new(2, 1) {
                    let help = "a load of 1 is the NICs' full rate";
                    self.impossible(&at("load"), format!("a load of {}", w.load), help);
                }
            }
            Workload::TrainingStep(w) => training::check(index, w, self.fabric, self.report),
            Workload::Trace(w) => trace::check(index, w, self.report),
            other => match other.collective() {
                Some(entry) => collective::check(index, other, entry, self.fabric, self.report),
                None => traffic::check(index, other, self.fabric, &self.names, self.report),
            },
        }
        self.class(&at("class"), workload.common().class);
        traffic::tenant(index, workload.common(), self.fabric, self.report);
    }

    fn permutation(&mut self, index: usize, permutation: &Permutation) {
        let at = |key: &'static str| [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        self.size(&at("size"), permutation.size);
        let pairs =
            [("destinations", permutation.destinations), ("queue-pairs", permutation.queue_pairs)];
        for (key, _) in pairs.iter().filter(|(_, number)| *number == 0) {
            self.impossible(&at(key), "nothing is sent", "give 1 or more");
        }
        if permutation.rails == RailPattern::Other && permutation.destinations > 1 {
            let message = "NICs of other rails are paired one to one";
            let help = "give one destination, or several `[[workload]]` entries";
            self.impossible(&at("destinations"), message, help);
        }
    }

    fn flows(&mut self, index: usize, flows: &Flows) {
        for (position, flow) in flows.list.iter().enumerate() {
            let at = |key: &'static str| {
                let list = [Step::Key("list"), Step::Index(position), Step::Key(key)];
                [&[Step::Key("workload"), Step::Index(index)], &list[..]].concat()
            };
            self.nic(&at("source"), &flow.source);
            self.nic(&at("destination"), &flow.destination);
            self.size(&at("size"), flow.size);
            self.class(&at("class"), flow.class);
            for (key, path) in [("path", &flow.path), ("ack-path", &flow.ack_path)] {
                for (hop, name) in path.iter().enumerate() {
                    let error = self.names.switch(name).err();
                    let path = [at(key), vec![Step::Index(hop)]].concat();
                    self.name(&path, error);
                }
            }
            let same =
                self.names.nic_ref(&flow.source).ok() == self.names.nic_ref(&flow.destination).ok();
            if same && self.names.nic_ref(&flow.source).is_ok() {
                let help = "source and destination have to differ";
                self.impossible(&at("destination"), "a NIC does not send to itself", help);
            }
        }
    }
}
