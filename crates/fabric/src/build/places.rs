//! Rules by place: what holds for the classes at the switches of one tier, and at single ones.
//!
//! From the bottom: `[ecn]`, `[pfc]` and `[[class]]`, the tier's table, the entries of `[[device]]` in their order.
//! Each layer decides what it says, key by key; within a layer a class comes before the whole.

use super::classes::{self, ClassPlan, Classes, PauseAt};
use super::wiring::Wiring;
use crate::diagnostic::code;
use crate::document::{Report, Step};
use crate::file::{FabricFile, HeadroomSetting, LocalClass, LocalRules};
use crate::model::{CLASSES, ClassId, Tier};
use std::collections::BTreeMap;
use xoff_units::Bytes;

/// What a table or an entry says of some switches.
#[derive(Debug, Clone)]
pub(super) struct Layer<'a> {
    pub(super) path: Vec<Step<'static>>,
    pub(super) rules: &'a LocalRules,
}

impl Layer<'_> {
    /// What it says of a class.
    pub(super) fn class(&self, id: usize) -> Option<&LocalClass> {
        self.rules.classes.iter().find(|class| usize::from(class.id) == id)
    }

    fn says_nothing(&self) -> bool {
        let LocalRules { ecn, pfc, classes } = self.rules;
        ecn.is_none() && pfc.is_none() && classes.is_empty()
    }
}

/// What holds at switches that are alike in this.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) plans: [ClassPlan; CLASSES],
    pub(super) by_dscp: [ClassId; 64],
    pub(super) xon_offset: Bytes,
    pub(super) headroom: HeadroomSetting,
    /// Where something differs from the rest of the fabric, the most specific last.
    pub(super) layers: Vec<Vec<Step<'static>>>,
}

/// The places of a fabric.
#[derive(Debug)]
pub(super) struct Places {
    places: Vec<Place>,
    of_kind: Vec<usize>,
}

impl Places {
    /// The places of all kinds of switches.
    pub(super) fn settle(
        file: &FabricFile,
        classes: &Classes,
        wiring: &Wiring,
        report: &mut Report<'_>,
    ) -> Self {
        let mut known: BTreeMap<(Tier, &[usize]), usize> = BTreeMap::new();
        let mut places = Vec::new();
        let of_kind = wiring.switch_kinds.iter().map(|kind| {
            *known.entry((kind.tier, &kind.devices)).or_insert_with(|| {
                let layers = layers(file, kind.tier, &kind.devices);
                places.push(Place::of(file, classes, &layers, report));
                places.len() - 1
            })
        });
        let of_kind = of_kind.collect();
        Self { places, of_kind }
    }

    /// The place of a kind of switch.
    pub(super) fn of(&self, kind: usize) -> &Place {
        &self.places[self.of_kind[kind]]
    }
}

/// What the file says of switches of a tier that these entries are about.
fn layers<'a>(file: &'a FabricFile, tier: Tier, devices: &[usize]) -> Vec<Layer<'a>> {
    let path = vec![Step::Key("switch"), Step::Key(tier.name())];
    let own = Layer { path, rules: &file.switch.tier(tier).rules };
    let devices = devices.iter().map(|&index| Layer {
        path: vec![Step::Key("device"), Step::Index(index)],
        rules: &file.devices[index].rules,
    });
    std::iter::once(own).chain(devices).filter(|layer| !layer.says_nothing()).collect()
}

impl Place {
    fn of(
        file: &FabricFile,
        classes: &Classes,
        layers: &[Layer<'_>],
        report: &mut Report<'_>,
    ) -> Self {
        let plans = std::array::from_fn(|id| {
            classes::plan(id, classes.entry(file, id), classes.plans[id].dscp, file, layers)
        });
        let pauses = || layers.iter().rev().filter_map(|layer| layer.rules.pfc.as_ref());
        let place = Self {
            plans,
            by_dscp: by_dscp(classes.by_dscp, layers),
            xon_offset: pauses().find_map(|pfc| pfc.xon_offset).unwrap_or(file.pfc.xon_offset),
            headroom: pauses().find_map(|pfc| pfc.headroom).unwrap_or(file.pfc.headroom),
            layers: layers.iter().map(|layer| layer.path.clone()).collect(),
        };
        place.check_marking(layers, report);
        place.check_pause(layers, report);
        place
    }

    /// What tells it from other places: nothing, where the rules of the whole fabric hold.
    pub(super) fn key(&self) -> &[Step<'static>] {
        self.layers.last().map_or(&[], Vec::as_slice)
    }

    /// Where a key is written: in the most specific layer that has it, or else where `otherwise` says.
    pub(super) fn written<'k>(
        &self,
        keys: &[&'k str],
        otherwise: &[Step<'k>],
        report: &Report<'_>,
    ) -> Vec<Step<'k>> {
        let own = self.layers.iter().rev().map(|layer| {
            let keys = keys.iter().map(|key| Step::Key(key));
            layer.iter().copied().chain(keys).collect::<Vec<Step<'k>>>()
        });
        let mut written = own.filter(|path| report.document().get(path).is_some());
        written.next().unwrap_or_else(|| otherwise.to_vec())
    }

    /// Thresholds of several layers can contradict each other.
    fn check_marking(&self, layers: &[Layer<'_>], report: &mut Report<'_>) {
        for (id, plan) in self.plans.iter().enumerate() {
            let Some(ecn) = plan.ecn.map(|plan| plan.ecn).filter(|ecn| ecn.kmin > ecn.kmax) else {
                continue;
            };
            let said = layers.iter().rev().find_map(|layer| {
                let class = layer.rules.classes.iter().position(|c| usize::from(c.id) == id);
                let own = class.and_then(|at| Some((at, layer.rules.classes[at].ecn.as_ref()?)));
                let key = |ecn: &crate::file::EcnSettings| match (ecn.kmin, ecn.kmax) {
                    (Some(_), _) => Some("kmin"),
                    (None, Some(_)) => Some("kmax"),
                    (None, None) => None,
                };
                let mut path = layer.path.clone();
                if let Some((at, key)) = own.and_then(|(at, ecn)| Some((at, key(ecn)?))) {
                    path.extend([Step::Key("class"), Step::Index(at)]);
                    path.extend([Step::Key("ecn"), Step::Key(key)]);
                    return Some(path);
                }
                path.extend([Step::Key("ecn"), Step::Key(key(layer.rules.ecn.as_ref()?)?)]);
                Some(path)
            });
            // Without a layer that says so it is the fabric's own mistake, which is reported there.
            let Some(path) = said else { continue };
            report.error(
                code::IMPOSSIBLE,
                &path,
                format!(
                    "marking of class {id} starts at {} (kmin) and is certain at {} (kmax) here",
                    ecn.kmin, ecn.kmax
                ),
                "give both here: kmin must not be above kmax",
            );
            return;
        }
    }

    /// So can the sizes at which a queue pauses and resumes.
    fn check_pause(&self, layers: &[Layer<'_>], report: &mut Report<'_>) {
        let below = |plan: &&ClassPlan| match plan.pause {
            PauseAt::Size(xoff) => plan.lossless && self.xon_offset >= xoff && !xoff.is_zero(),
            PauseAt::Share(_) => false,
        };
        let Some(plan) = self.plans.iter().find(below) else { return };
        let PauseAt::Size(xoff) = plan.pause else { return };
        let said = layers.iter().rev().find_map(|layer| {
            let pfc = layer.rules.pfc.as_ref()?;
            let key = match (pfc.xon_offset, pfc.xoff) {
                (Some(_), _) => "xon-offset",
                (None, Some(_)) => "xoff",
                (None, None) => return None,
            };
            let mut path = layer.path.clone();
            path.extend([Step::Key("pfc"), Step::Key(key)]);
            Some(path)
        });
        let Some(path) = said else { return };
        report.error(
            code::IMPOSSIBLE,
            &path,
            format!("resuming {} below an XOFF of {xoff} is below empty here", self.xon_offset),
            "xon-offset has to be smaller than xoff: give both here",
        );
    }
}

/// The class of each DSCP, where layers change some.
fn by_dscp(mut map: [ClassId; 64], layers: &[Layer<'_>]) -> [ClassId; 64] {
    for layer in layers {
        let classes = || layer.rules.classes.iter().filter_map(|c| Some((c.id, c.dscp.as_ref()?)));
        let listed = |id: ClassId| classes().any(|(class, _)| class == id.0);
        for class in map.iter_mut().filter(|class| listed(**class)) {
            *class = ClassId(0);
        }
        for (id, dscps) in classes() {
            for &dscp in dscps {
                if let Some(class) = map.get_mut(usize::from(dscp)) {
                    *class = ClassId(id);
                }
            }
        }
    }
    map
}

#[cfg(test)]
mod tests;
