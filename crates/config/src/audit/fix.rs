//! Fixes that were tried: what is printed was entered into the device's own text, read again and audited again.
//!
//! The smallest change comes first: the statement of a port that is right, at the place where the wrong one
//! stands; then what a device like it, or the device as it would be written, says otherwise. The shortest of these is taken. Where none
//! cures it, the part of the port is rendered anew. A fix that does not cure its finding, or brings another, is not printed, and
//! the finding says so.

use super::cure::{self, Aspect};
use super::finding::{Fix, Key};
use super::inactive::activated;
use super::rule;
use super::scene::{Scene, Site};
use super::sibling::{Spoken, siblings};
use super::statement::{Statement, entered, statements_of, written};
use crate::cabling::scan;
use crate::change::Change;
use crate::device::{Device, PortName, RemarkKind};
use crate::facts::{self, Facts};
use crate::host::INTERFACE;
use crate::place::{Files, Place};
use crate::system::Input;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Ports that are looked at for a statement that is right.
const MOST_MODELS: usize = 256;
/// Fixes that are tried for one finding.
const MOST_TRIES: usize = 12;
/// A fix with more lines is no longer one that somebody reads before it is entered.
const MOST_LINES: usize = 100;
/// A fix of so many statements is short enough: no other one is looked for.
const SHORT: usize = 2;
/// Fixes that cure of which the shortest is taken.
const MOST_COMPARISONS: usize = 3;
/// Ports of a finding that are compared with others, statement by statement.
const MOST_COMPARED: usize = 32;
/// Tries to make the fix of one finding shorter, and those of all.
const MOST_CUTS: usize = 48;
const MOST_CUTS_OF_ALL: usize = 4000;

/// Makes and tries fixes.
pub(super) struct Fixer<'a> {
    scene: &'a Scene<'a>,
    files: &'a Files,
    /// What is found at a device and at its cables as they are.
    before: BTreeMap<usize, Rc<BTreeSet<Key>>>,
    facts: BTreeMap<(usize, PortName), Rc<Facts>>,
    spoken: BTreeMap<usize, Option<Rc<Spoken>>>,
    cuts: usize,
}

impl<'a> Fixer<'a> {
    pub(super) fn new(scene: &'a Scene<'a>, files: &'a Files) -> Self {
        let (before, facts, spoken) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { scene, files, before, facts, spoken, cuts: MOST_CUTS_OF_ALL }
    }

    /// The fix of a finding: `message` of `rule` at some ports of a device.
    pub(super) fn fix(
        &mut self,
        index: usize,
        rule: &'static str,
        message: &str,
        ports: &[PortName],
        aspect: Aspect,
    ) -> Fix {
        let Some(device) = self.scene.devices.get(index).copied() else {
            return Fix::none("the configuration of the device was not collected");
        };
        let target = Target { index, rule, message, ports };
        let mut tries = self.edits(index, ports, aspect);
        tries.extend(self.compared(index, ports));
        let mut rendered =
            [aspect, Aspect::All].map(|part| cure::fix(self.scene, index, ports, part));
        if let Some(file) = device.files.first().and_then(|&file| self.files.get(file)) {
            for text in tries.iter_mut().chain(&mut rendered) {
                *text = activated(device.system, &file.text, text);
            }
        }
        let some = |text: &String| !text.trim().is_empty();
        if !tries.iter().chain(&rendered).any(some) {
            return Fix::none("no device or fabric file says how it should be");
        }
        let best = self.shortest(&target, device, tries);
        let best = best.or_else(|| self.first(&target, device, rendered.into_iter().collect()));
        let Some(text) = best.map(|text| runnable(device, text)) else {
            return Fix::none("what xoff can write was tried and does not cure it alone");
        };
        let Some((after, text_after)) = self.applied(device, &text) else {
            return Fix::none("what xoff can write was tried and does not cure it alone");
        };
        if text.lines().count() > MOST_LINES {
            return Fix::none(
                "what cures it is long: `xoff config --diff` writes what the device should have",
            );
        }
        let undo = self.undo(device, &after, text_after.as_deref());
        Fix { apply: text.trim_end().to_owned(), undo, reason: String::new() }
    }

    /// The first of some fixes that cures, as short as it can be.
    fn first(
        &mut self,
        target: &Target<'_>,
        device: &Device,
        tries: Vec<String>,
    ) -> Option<String> {
        let mut seen = BTreeSet::new();
        let tries = tries.into_iter().filter(|t| !t.trim().is_empty() && seen.insert(t.clone()));
        for text in tries.take(MOST_TRIES) {
            if self.tried(target, device, &text).is_some() {
                return Some(self.shortened(target, device, text));
            }
        }
        None
    }

    /// The shortest of some fixes.
    fn shortest(
        &mut self,
        target: &Target<'_>,
        device: &Device,
        tries: Vec<String>,
    ) -> Option<String> {
        let mut best: Option<(usize, String)> = None;
        let size = |text: &String| statements_of(device.system, text).len();
        let mut tries = tries;
        tries.sort_by_cached_key(size);
        let mut left = MOST_COMPARISONS;
        for text in tries.into_iter().take(MOST_TRIES) {
            let Some(text) = self.first(target, device, vec![text]) else { continue };
            left -= 1;
            let size = size(&text);
            if best.as_ref().is_none_or(|(least, _)| size < *least) {
                best = Some((size, text));
            }
            if size <= SHORT || left == 0 {
                break;
            }
        }
        best.map(|(_, text)| text)
    }

    /// What other ports of the device, devices like it, and the device as it would be written say otherwise.
    fn compared(&mut self, index: usize, ports: &[PortName]) -> Vec<String> {
        let device = self.scene.devices[index];
        let Some(own) = self.spoken_of(index).filter(|_| !device.is_host()) else {
            return Vec::new();
        };
        let ports = &ports[..ports.len().min(MOST_COMPARED)];
        let mut found = Vec::new();
        for other in [index].into_iter().chain(siblings(&self.scene.devices, index)) {
            let Some(theirs) = self.spoken_of(other) else { continue };
            let models = self.models(index, other, ports);
            found.extend(own.towards(&theirs, &models, device.system));
        }
        if let Some(meant) = self.scene.fitted(index) {
            let rendered = meant.system.system().render(meant).into_iter().next();
            let text = rendered.map(|file| file.text).unwrap_or_default();
            let theirs = Spoken::read(meant, &text, &BTreeSet::new());
            let same: Vec<_> = ports.iter().map(|name| (name.clone(), name.clone())).collect();
            found.extend(own.towards(&theirs, &same, device.system));
        }
        found.iter().flatten().map(|all| written(device.system, all)).collect()
    }

    /// The port of another device that each port is meant to be like: of its name, or else the nearest one.
    fn models(
        &mut self,
        index: usize,
        other: usize,
        ports: &[PortName],
    ) -> Vec<(PortName, PortName)> {
        let scene = self.scene;
        let mut found = Vec::new();
        for name in ports {
            let named = other != index && scene.devices[other].ports.contains_key(name);
            let model = match scene.site(index, name).and_then(|site| site.meant) {
                _ if named => Some(name.clone()),
                Some(meant) => {
                    let meant = scene.facts.of_port(meant);
                    let names = scene.devices[other].ports.keys().take(MOST_MODELS);
                    let others = names.filter(|one| other != index || !ports.contains(one));
                    others
                        .min_by_key(|one| self.facts_of(other, one).differences(&meant).len())
                        .cloned()
                }
                None => None,
            };
            found.extend(model.map(|model| (name.clone(), model)));
        }
        found
    }

    fn spoken_of(&mut self, index: usize) -> Option<Rc<Spoken>> {
        let device = *self.scene.devices.get(index)?;
        let files = self.files;
        let entry = self.spoken.entry(index);
        entry.or_insert_with(|| Spoken::of(device, files).map(Rc::new)).clone()
    }

    /// Something, if these statements cure the finding.
    fn tried(&mut self, target: &Target<'_>, device: &Device, text: &str) -> Option<()> {
        let (after, _) = self.applied(device, text)?;
        self.cures(target, &after).then_some(())
    }

    /// The same fix without the statements that it does not need: halves, quarters and at last single ones are
    /// left out as long as it still cures.
    fn shortened(&mut self, target: &Target<'_>, device: &Device, text: String) -> String {
        let mut kept = statements_of(device.system, &text);
        let mut left = MOST_CUTS.min(self.cuts);
        let allowed = left;
        let mut best = text;
        let mut size = kept.len().div_ceil(2);
        while size > 0 && kept.len() > 1 {
            let mut at = 0;
            while at < kept.len() && left > 0 {
                left -= 1;
                let mut fewer = kept.clone();
                fewer.drain(at..(at + size).min(kept.len()));
                let shorter = written(device.system, &fewer);
                let some = !fewer.is_empty() && !shorter.trim().is_empty();
                if some && self.tried(target, device, &shorter).is_some() {
                    (kept, best) = (fewer, shorter);
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        self.cuts -= allowed - left;
        best
    }

    /// The device, and its text, after statements were entered.
    fn applied(&self, device: &Device, statements: &str) -> Option<(Device, Option<String>)> {
        let system = device.system.system();
        if device.is_host() {
            let file = device.files.first().copied()?;
            let input = Input { name: &device.name, file, text: statements };
            return Some((laid_over(device, &system.parse(&input)), None));
        }
        let file = *device.files.first()?;
        let text = entered(device.system, &self.files.get(file)?.text, statements)?;
        // Tables of cables may stand in the same file.
        let text = scan(file, &text).rest.unwrap_or(text);
        let input = Input { name: &device.name, file, text: &text };
        let mut after = system.parse(&input);
        after.files = device.files.clone();
        let kinds = [RemarkKind::Unknown, RemarkKind::Malformed, RemarkKind::Undefined];
        let strange = |device: &Device| kinds.map(|kind| device.count(kind)).iter().sum::<usize>();
        (strange(&after) <= strange(device) && after.name == device.name)
            .then_some((after, Some(text)))
    }

    /// Whether the finding is gone with this device, and no other is there instead.
    fn cures(&mut self, target: &Target<'_>, after: &Device) -> bool {
        let index = target.index;
        let scene = self.scene;
        let before = self.before.entry(index);
        let before = Rc::clone(
            before.or_insert_with(|| Rc::new(super::check(scene, Some(index)).into_keys())),
        );
        let changed = scene.with(index, after);
        let found = super::check(&changed, Some(index)).into_keys();
        let target_port = |key: &Key| match &key.port {
            Some(port) => target.ports.contains(port),
            None => true,
        };
        // The same rule with other words is the same mistake in another form, unless it was there before.
        let again = |key: &Key| {
            let same = key.index == index && key.rule == target.rule && target_port(key);
            same && (key.message == target.message || !before.contains(key))
        };
        let place = |key: &Key| (key.index, key.rule, key.port.clone());
        // A list of differences is shorter when some of them are gone.
        let lists = [rule::DRIFT.id, rule::FLEET_DRIFT.id];
        let shorter: BTreeSet<_> =
            before.iter().filter(|key| lists.contains(&key.rule)).map(place).collect();
        let known = |key: &Key| before.contains(key) || shorter.contains(&place(key));
        found.iter().all(|key| known(key) && !again(key))
    }

    /// Statements that differ from those of ports that are right, in their own context.
    fn edits(&mut self, index: usize, ports: &[PortName], aspect: Aspect) -> Vec<String> {
        let mut sets: [Vec<Statement>; 2] = [Vec::new(), Vec::new()];
        for name in ports {
            let Some(site) = self.scene.site(index, name) else { continue };
            let Some(meant) = site.meant else { return Vec::new() };
            let own = self.facts_of(index, name);
            for difference in own.differences(&self.scene.facts.of_port(meant)) {
                let about = difference.about.as_str();
                if aspect != Aspect::All && Aspect::of(about) != aspect {
                    continue;
                }
                let edit = match difference.right.as_deref() {
                    Some(wanted) => self.edit(&site, about, wanted).map(|one| [one.clone(), one]),
                    None => self.removal(&site, about),
                };
                // What one statement says may follow from another that is entered: trying tells.
                for (set, one) in sets.iter_mut().zip(edit.into_iter().flatten()) {
                    set.push(one);
                }
            }
        }
        let system = self.scene.devices[index].system;
        let text = |mut set: Vec<Statement>| {
            let mut seen = BTreeSet::new();
            set.retain(|one| seen.insert(one.clone()));
            written(system, &set)
        };
        sets.map(text).into_iter().collect()
    }

    /// The statement of a port that is right, at the place of the wrong one; at its own place where nothing is said.
    fn edit(&mut self, site: &Site<'_>, about: &str, wanted: &str) -> Option<Statement> {
        let (model, name) = self.model(site, about, wanted)?;
        let theirs = self.statement(model, &name, about)?;
        let own = facts::place(about, site.port).and_then(|place| self.line(site.index, place));
        let moved = theirs.for_port(name.as_str(), site.name.as_str());
        Some(match own {
            Some(own) => own.saying(&moved),
            None => moved,
        })
    }

    /// What takes a statement away, with its value and without.
    fn removal(&self, site: &Site<'_>, about: &str) -> Option<[Statement; 2]> {
        let own = self.line(site.index, facts::place(about, site.port)?)?;
        let mut all = own.removed(site.device.system).into_iter();
        let first = all.next()?;
        Some([first.clone(), all.next().unwrap_or(first)])
    }

    /// Another port of the same system that has the value, and says so.
    fn model(&mut self, site: &Site<'_>, about: &str, wanted: &str) -> Option<(usize, PortName)> {
        let scene = self.scene;
        let own = [(site.index, site.device)].into_iter();
        let others = scene.devices.iter().enumerate().map(|(index, device)| (index, *device));
        let alike =
            others.filter(|(index, d)| *index != site.index && d.system == site.device.system);
        let ports = own.chain(alike).flat_map(|(index, device)| {
            device.ports.iter().map(move |(name, port)| (index, name, port))
        });
        let said = ports.filter(|(_, _, port)| facts::place(about, port).is_some());
        let near: Vec<_> = said.take(MOST_MODELS).collect();
        let mut found = near
            .into_iter()
            .filter(|(index, name, _)| self.facts_of(*index, name).get(about) == Some(wanted));
        found.next().map(|(index, name, _)| (index, name.clone()))
    }

    fn statement(&self, index: usize, name: &PortName, about: &str) -> Option<Statement> {
        let place = facts::place(about, self.scene.devices.get(index)?.ports.get(name)?)?;
        self.line(index, place)
    }

    /// The statement of a device at a place that is one line.
    fn line(&self, index: usize, place: Place) -> Option<Statement> {
        let file = self.files.get(place.file).filter(|_| place.first == place.last)?;
        Statement::at(self.scene.devices[index].system, &file.text, place.first)
    }

    fn facts_of(&mut self, index: usize, name: &PortName) -> Rc<Facts> {
        let scene = self.scene;
        let entry = self.facts.entry((index, name.clone()));
        Rc::clone(entry.or_insert_with(|| {
            let port = scene.devices[index].ports.get(name);
            port.map(|port| scene.facts.of_port(port)).unwrap_or_default()
        }))
    }

    /// What brings a device back to what it was, if that was seen to do so: what the text said otherwise, or else what is rendered anew.
    fn undo(&self, device: &Device, after: &Device, text: Option<&str>) -> String {
        let short = text.map(|text| self.taken_back(device, after, text)).unwrap_or_default();
        let change =
            Change::back(after, device).and_then(|change| change.render().into_iter().next());
        let rendered = change.map(|file| cure::without_title(&file.text));
        let undoes = |statements: &String| {
            let entered = text.and_then(|text| entered(device.system, text, statements))?;
            let file = device.files.first().copied()?;
            let input = Input { name: &device.name, file, text: &entered };
            let again = device.system.system().parse(&input);
            Facts::same(&again, device).then(|| statements.trim_end().to_owned())
        };
        let some = |text: &String| !text.trim().is_empty();
        short.iter().chain(&rendered).filter(|text| some(text)).find_map(undoes).unwrap_or_default()
    }

    /// The statements that a device's text had before a fix, and without those that the fix brought; shortest first.
    fn taken_back(&self, device: &Device, after: &Device, text: &str) -> Vec<String> {
        let file = device.files.first().and_then(|&file| self.files.get(file));
        let Some(file) = file.filter(|_| !device.is_host()) else { return Vec::new() };
        let none = BTreeSet::new();
        let was = Spoken::read(device, &file.text, &none);
        let is = Spoken::read(after, text, &none);
        let ports: Vec<_> = was.ports().map(|name| (name.clone(), name.clone())).collect();
        let tries = is.towards(&was, &ports, device.system).into_iter().flatten();
        let mut texts: Vec<String> = tries.map(|all| written(device.system, &all)).collect();
        texts.sort_by_key(String::len);
        texts
    }
}

/// The finding that a fix is for.
struct Target<'t> {
    index: usize,
    rule: &'static str,
    message: &'t str,
    ports: &'t [PortName],
}

/// Commands of a host as a shell takes them: what sets no setting, and is left out of a short fix, sets a variable.
fn runnable(device: &Device, text: String) -> String {
    if !device.is_host() || !text.contains("$NET") || text.contains("NET=") {
        return text;
    }
    let nic = |line: &str| match line.starts_with("DEV=") {
        true => format!("{line}\n{INTERFACE}"),
        false => format!("{line}\n"),
    };
    text.lines().map(nic).collect()
}

/// A host with what commands set laid over what it had.
fn laid_over(device: &Device, commands: &Device) -> Device {
    let mut after = device.clone();
    for (name, set) in &commands.ports {
        let mut bare = crate::device::Port::default();
        std::mem::swap(&mut bare, after.ports.entry(name.clone()).or_default());
        for about in Facts::of_port(set).subjects() {
            if facts::place(about, set).is_some() {
                facts::copy(about, set, &mut bare);
            }
        }
        after.ports.insert(name.clone(), bare);
    }
    if commands.nccl.traffic_class.is_said() {
        after.nccl.traffic_class = commands.nccl.traffic_class;
    }
    if commands.nccl.gid_index.is_said() {
        after.nccl.gid_index = commands.nccl.gid_index;
    }
    after
}
