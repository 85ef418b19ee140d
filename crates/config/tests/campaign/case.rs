//! A clean fabric as files, and what the audit says of it or of a mistake in it.

use crate::edit::{Edit, Mistake};
use crate::plan::{Cabling, HostForm, Plan, Switch};
use crate::{fabric_file, host_mistakes, hosts, lldp, systems};
use std::collections::BTreeMap;
use xoff_config::audit::{self, Report};
use xoff_config::device::Balancing;
use xoff_config::intent::Intent;
use xoff_config::{Files, SystemId};
use xoff_fabric::load_fabric;

/// Files by name.
pub(crate) type Texts = BTreeMap<String, String>;

/// How the switches of a system are written.
pub(crate) struct Template {
    /// Changes what the system does by itself: default maps, largest MTU.
    pub(crate) adjust: fn(&mut Plan),
    /// The configuration in the form that mistakes edit.
    pub(crate) source: fn(&Plan, &Switch) -> String,
    /// The configuration as people collect it.
    pub(crate) finish: fn(&Plan, &Switch, &str) -> String,
    /// Mistakes of the seed.
    pub(crate) mistakes: fn(&Plan) -> Vec<Mistake>,
    /// How file names end.
    pub(crate) ending: &'static str,
}

/// What is audited: a switch system, or servers below switches of some system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Switches(SystemId),
    Hosts,
}

impl Subject {
    /// Everything that is audited.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let known = |id: &SystemId| systems::template(*id).is_some();
        let switches = SystemId::ALL.into_iter().filter(known);
        switches.map(Self::Switches).chain([Self::Hosts])
    }

    /// Its name in tables and in `XOFF_SYSTEM`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Switches(system) => system.name(),
            Self::Hosts => "hosts",
        }
    }
}

/// A clean fabric.
pub(crate) struct Case {
    pub(crate) plan: Plan,
    pub(crate) mistakes: Vec<Mistake>,
    template: Template,
    sources: BTreeMap<String, String>,
    files: Texts,
}

impl Case {
    /// The fabric of a seed.
    pub(crate) fn new(subject: Subject, seed: u64) -> Self {
        let (system, form) = match subject {
            Subject::Switches(system) => (system, None),
            Subject::Hosts => {
                let forms =
                    [HostForm::Folder, HostForm::Session, HostForm::Broadcom, HostForm::Intel];
                let systems = [SystemId::Eos, SystemId::Sonic, SystemId::NxOs, SystemId::Cumulus];
                (systems[seed as usize / 4 % systems.len()], Some(forms[seed as usize % 4]))
            }
        };
        let mut plan = Plan::new(system, seed, form);
        let template = systems::template(system).expect("a template");
        (template.adjust)(&mut plan);
        let source = |switch: &Switch| (switch.name.clone(), (template.source)(&plan, switch));
        let sources: BTreeMap<String, String> = plan.switches.iter().map(source).collect();
        let mut files: Texts =
            plan.servers.iter().flat_map(|server| hosts::files(&plan, server)).collect();
        if plan.cabling == Cabling::Lldp {
            files.extend(plan.switches.iter().map(|switch| lldp::file(&plan, switch)));
        }
        let mistakes = match subject {
            Subject::Switches(_) => {
                let cable = lldp::wrong_cable(&plan);
                (template.mistakes)(&plan).into_iter().chain(cable).collect()
            }
            Subject::Hosts => host_mistakes::mistakes(&plan),
        };
        Self { plan, mistakes, template, sources, files }
    }

    /// The file name of a switch.
    pub(crate) fn file_of(&self, switch: &str) -> String {
        format!("{switch}{}", self.template.ending)
    }

    /// All files, clean or with a mistake.
    pub(crate) fn texts(&self, mistake: Option<&Mistake>) -> Texts {
        self.patched(mistake, |_, source| source)
    }

    /// All files, with a change of the sources of switches on top of a mistake.
    pub(crate) fn patched(
        &self,
        mistake: Option<&Mistake>,
        patch: impl Fn(&str, String) -> String,
    ) -> Texts {
        let mut texts = self.files.clone();
        for switch in &self.plan.switches {
            let name = &switch.name;
            let mut source = self.sources[name].clone();
            let own = mistake.filter(|mistake| mistake.device == *name);
            if let Some(Edit::Switch(edit)) = own.map(|mistake| &mistake.edit) {
                source = changed(&source, edit);
            }
            source = patch(name, source);
            let mut text = (self.template.finish)(&self.plan, switch, &source);
            if let Some(Edit::Collected(edit)) = own.map(|mistake| &mistake.edit) {
                text = changed(&text, edit);
            }
            texts.insert(self.file_of(name), text);
        }
        if let Some(Edit::File(names, edit)) = mistake.map(|mistake| &mistake.edit) {
            let name = names.iter().find(|name| texts.contains_key(*name));
            let name = name.unwrap_or_else(|| panic!("none of {names:?} is there"));
            let text = texts.get_mut(name).expect("it was found");
            *text = changed(text, edit);
        }
        texts
    }

    /// The findings on these files.
    pub(crate) fn audit(&self, texts: &Texts, with_fabric: bool) -> Report {
        self.audited(texts, with_fabric, false)
    }

    /// The same, with fixes.
    pub(crate) fn audit_with_fixes(&self, texts: &Texts, with_fabric: bool) -> Report {
        self.audited(texts, with_fabric, true)
    }

    fn audited(&self, texts: &Texts, with_fabric: bool, with_fixes: bool) -> Report {
        let mut files = Files::default();
        for (name, text) in texts {
            files.add(name.clone(), text.clone());
        }
        let audit::Collection { devices, cables, .. } = audit::read(&files);
        let report = |intent: Option<&Intent>| match with_fixes {
            true => audit::with_fixes(&devices, &cables, &files, intent),
            false => audit::audit_with(&devices, &cables, intent),
        };
        if !with_fabric {
            return report(None);
        }
        let file = fabric_file::text(&self.plan);
        let setup = match load_fabric(&file).into_result() {
            Ok(setup) => setup,
            Err(found) => panic!("{file}\n{found:#?}"),
        };
        let balancing = if self.plan.dynamic { Balancing::Flowlet } else { Balancing::Hash };
        let intent = Intent::running(&setup, balancing, &devices, |_| self.plan.system);
        report(Some(&intent))
    }
}

fn changed(text: &str, edit: &dyn Fn(&str) -> String) -> String {
    let new = edit(text);
    assert!(new != text, "the edit changes nothing in\n{text}");
    new
}
