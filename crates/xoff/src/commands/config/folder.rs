//! The folder of `xoff config`: what an earlier run left in it and is not made any more goes, what
//! somebody edited or put there stays.

use super::super::audit::collect;
use crate::exit::{Failure, Level, say};
use crate::output::files::{failed, make_executable};
use crate::output::number::counted;
use crate::output::{self, printable};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use xoff_config::delivery::NOT_READ;
use xoff_config::delivery::manifest::{self, Entry, Manifest, Plan, is_inside};
use xoff_config::system::Rendered;
use xoff_config::{Files, SystemId};
use xoff_telemetry::file;

/// Names that a message spells out.
const MOST_NAMES: usize = 8;

/// A file, and the device it belongs to.
pub(super) struct Made {
    pub(super) file: Rendered,
    pub(super) owner: Option<(String, SystemId)>,
}

impl Made {
    /// A file of a device.
    pub(super) fn of(device: &str, system: SystemId, file: Rendered) -> Self {
        Self { file, owner: Some((device.to_owned(), system)) }
    }

    /// A file of no device.
    pub(super) fn common(file: Rendered) -> Self {
        Self { file, owner: None }
    }

    fn entry(&self) -> Entry {
        let owner = self.owner.as_ref().map(|(device, system)| (device.as_str(), system.name()));
        Entry::new(&self.file.name, &self.file.text, owner)
    }
}

/// Makes a folder hold these files and none of an earlier run. `intent` is the hash of what they are
/// made of.
pub(super) fn fill(
    folder: &Path,
    made: &[Made],
    intent: String,
    force: bool,
) -> Result<Plan, Failure> {
    if folder.is_file() {
        return Err(Failure::write(format!(
            "`{}` is a file, and --out names a folder; choose another --out",
            folder.display()
        )));
    }
    check_names(made)?;
    let old = earlier(folder)?;
    let entries: Vec<Entry> = made.iter().map(Made::entry).collect();
    let there = |name: &str| fs::read(folder.join(name)).ok().map(|bytes| manifest::hash(&bytes));
    let plan = manifest::plan(old.as_ref(), &entries, there, force);
    if let Some(first) = plan.refused.first() {
        let others = match plan.refused.len() - 1 {
            0 => String::new(),
            _ => format!(" (as are {})", names(plan.refused.iter().skip(1).map(|r| &r.name))),
        };
        return Err(Failure::write(format!(
            "`{}` {}{others}; use --force to replace it, or choose another --out",
            folder.join(&first.name).display(),
            first.why.sentence()
        )));
    }
    for made in made {
        put(&folder.join(&made.file.name), &made.file.text)?;
    }
    for name in &plan.removed {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
        // Folders that are empty now were for these files; one that is not stays, with those above.
        let above = path.ancestors().skip(1).take_while(|above| *above != folder);
        let _ = above.map(fs::remove_dir).take_while(Result::is_ok).count();
    }
    let manifest = Manifest::new(env!("CARGO_PKG_VERSION"), intent, entries);
    put(&folder.join(manifest::NAME), &output::json(&manifest)?)?;
    name_strangers(folder, &manifest);
    Ok(plan)
}

/// Files below a folder that its manifest lists for no device: they carry what other files say.
pub(in super::super) fn carriers(folder: &Path) -> BTreeSet<PathBuf> {
    let text = fs::read_to_string(folder.join(manifest::NAME)).unwrap_or_default();
    // What is no manifest lists nothing.
    let manifest: Option<Manifest> = serde_json::from_str(&text).ok();
    let entries = manifest.into_iter().flat_map(|manifest| manifest.files);
    entries
        .filter(|entry| entry.device.is_none() && is_inside(&entry.name))
        .map(|entry| folder.join(entry.name))
        .collect()
}

/// Refuses names that lead out of the folder, and two files of one name.
fn check_names(made: &[Made]) -> Result<(), Failure> {
    let mut seen = BTreeSet::from([manifest::NAME]);
    for made in made {
        let name = made.file.name.as_str();
        if !is_inside(name) {
            return Err(Failure::input(format!(
                "`{name}` is no name for a file in the folder; give the device another name"
            )));
        }
        if !seen.insert(name) {
            return Err(Failure::input(format!(
                "two files would be called `{name}`; give the devices different names"
            )));
        }
    }
    Ok(())
}

/// The manifest of an earlier run.
fn earlier(folder: &Path) -> Result<Option<Manifest>, Failure> {
    let path = folder.join(manifest::NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::write(format!("cannot read `{}`: {error}", path.display())));
        }
    };
    let wrong = |why: String| {
        Failure::write(format!(
            "`{}` does not say what xoff wrote into the folder: {why}; move it away, or choose another --out",
            path.display()
        ))
    };
    let manifest: Manifest =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match manifest.stray() {
        Some(name) => Err(wrong(format!("`{}` is outside of it", printable(name)))),
        None => Ok(Some(manifest)),
    }
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).map_err(|error| failed(above, &error))?;
    }
    file::put(path, text.as_bytes()).map_err(|error| failed(path, &error))?;
    if text.starts_with("#!") {
        make_executable(path).map_err(|error| failed(path, &error))?;
    }
    Ok(())
}

/// Names the files of others that an audit of the folder would take for devices.
fn name_strangers(folder: &Path, manifest: &Manifest) {
    let mut files = Files::default();
    // What cannot be read now cannot be named; the audit will say so.
    if collect(folder, &mut files).is_err() {
        return;
    }
    let own: BTreeSet<String> =
        manifest.files.iter().map(|entry| folder.join(&entry.name).display().to_string()).collect();
    for (_, file) in files.iter().filter(|(_, file)| !own.contains(&file.name)) {
        if file.text.lines().take(5).any(|line| line.contains(NOT_READ)) {
            continue;
        }
        if let Some(system) = SystemId::recognise(&file.text) {
            say(
                Level::Warning,
                &format!(
                    "`{}` is not of this run and stays; `xoff audit` will read it as a device ({system})",
                    file.name
                ),
            );
        }
    }
}

/// What a plan did to files of an earlier run, as lines; nothing where it did nothing.
pub(super) fn told(plan: &Plan) -> String {
    let mut text = String::new();
    for (word, list) in [("replaced", &plan.replaced), ("removed", &plan.removed)] {
        if !list.is_empty() {
            let count = counted(list.len() as u64, "file", "files");
            text += &format!("{word:<12} {count:>14}  {}\n", printable(&names(list.iter())));
        }
    }
    text
}

/// A few names of many.
fn names<'a>(all: impl ExactSizeIterator<Item = &'a String>) -> String {
    let count = all.len();
    let shown: Vec<&str> = all.take(MOST_NAMES).map(String::as_str).collect();
    match count - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
