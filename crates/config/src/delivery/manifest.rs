//! What a folder of configurations holds, so that the next time files that are not made any more are
//! taken away, and files that somebody edited are not.

use super::NOT_READ;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The name of the manifest in its folder.
pub const NAME: &str = "xoff-config.json";

/// The files of a folder that xoff wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What this is, with the words that keep the audit from reading it as a device.
    pub about: String,
    /// The version that wrote it.
    pub version: String,
    /// The hash of the intent: see [`intent_hash`](crate::approval::intent_hash).
    pub intent: String,
    /// Every file.
    pub files: Vec<Entry>,
}

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name below the folder, with `/` between the parts.
    pub name: String,
    /// The device it belongs to, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The system of that device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The hash of what was written.
    pub sha256: String,
}

impl Entry {
    /// A file as it is written now.
    pub fn new(name: &str, text: &str, owner: Option<(&str, &str)>) -> Self {
        Self {
            name: name.to_owned(),
            device: owner.map(|(device, _)| device.to_owned()),
            system: owner.map(|(_, system)| system.to_owned()),
            sha256: hash(text.as_bytes()),
        }
    }
}

impl Manifest {
    /// The manifest of these files.
    pub fn new(version: &str, intent: String, files: Vec<Entry>) -> Self {
        let about = format!("{NOT_READ}: what `xoff config` wrote into this folder");
        Self { about, version: version.to_owned(), intent, files }
    }

    /// The first name that no manifest of xoff has: one that leads out of the folder.
    pub fn stray(&self) -> Option<&str> {
        self.files.iter().map(|entry| entry.name.as_str()).find(|name| !is_inside(name))
    }
}

/// Whether a name stays in its folder.
pub fn is_inside(name: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    name.split('/').all(plain)
}

/// SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What has to happen in a folder for it to hold new files and no old ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Files that are not there yet.
    pub new: Vec<String>,
    /// Files that are there and change.
    pub replaced: Vec<String>,
    /// Files that are not made any more.
    pub removed: Vec<String>,
    /// Files that would be lost and are not as xoff wrote them.
    pub refused: Vec<Refusal>,
}

/// A file that must stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: Why,
}

/// Why a file must stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It was edited since xoff wrote it.
    Edited,
    /// It was edited, and xoff would not write it any more.
    EditedAndGone,
    /// It is there, differs, and no manifest says that xoff wrote it.
    Foreign,
}

impl Why {
    /// What to say of the file.
    pub const fn sentence(self) -> &'static str {
        match self {
            Why::Edited => "was edited since xoff wrote it",
            Why::EditedAndGone => "was edited since xoff wrote it, and is not made any more",
            Why::Foreign => "is already there and differs",
        }
    }
}

/// Plans it. `there` says the hash of a file that is there. With `force` nothing is refused; a file
/// that no manifest knows is still never removed.
pub fn plan(
    old: Option<&Manifest>,
    new: &[Entry],
    there: impl Fn(&str) -> Option<String>,
    force: bool,
) -> Plan {
    let mut plan = Plan::default();
    let known: BTreeMap<&str, &str> = old
        .into_iter()
        .flat_map(|old| &old.files)
        .map(|entry| (entry.name.as_str(), entry.sha256.as_str()))
        .collect();
    let mut refuse = |name: &str, why| plan.refused.push(Refusal { name: name.to_owned(), why });
    for entry in new {
        let Some(now) = there(&entry.name) else {
            plan.new.push(entry.name.clone());
            continue;
        };
        if now == entry.sha256 {
            continue;
        }
        match known.get(entry.name.as_str()) {
            _ if force => plan.replaced.push(entry.name.clone()),
            Some(written) if *written == now => plan.replaced.push(entry.name.clone()),
            Some(_) => refuse(&entry.name, Why::Edited),
            None => refuse(&entry.name, Why::Foreign),
        }
    }
    let made: BTreeSet<&str> = new.iter().map(|entry| entry.name.as_str()).collect();
    for (name, written) in known.iter().filter(|(name, _)| !made.contains(*name)) {
        match there(name) {
            None => {}
            Some(now) if force || now == *written => plan.removed.push((*name).to_owned()),
            Some(_) => refuse(name, Why::EditedAndGone),
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(files: &[(&str, &str)]) -> Vec<Entry> {
        files.iter().map(|(name, text)| Entry::new(name, text, None)).collect()
    }

    fn folder<'a>(files: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        let find = |name: &str| files.iter().find(|(own, _)| *own == name);
        move |name| find(name).map(|(_, text)| hash(text.as_bytes()))
    }

    #[test]
    fn what_is_not_made_any_more_goes_and_what_was_edited_stays() {
        let old = Manifest::new("1", String::new(), entries(&[("a", "1"), ("b", "1"), ("c", "1")]));
        let new = entries(&[("a", "2"), ("d", "2")]);
        let there = [("a", "1"), ("b", "1"), ("c", "edited"), ("mine", "x")];
        let planned = plan(Some(&old), &new, folder(&there), false);
        assert_eq!((planned.new, planned.replaced), (vec!["d".into()], vec!["a".into()]));
        assert_eq!(planned.removed, ["b"]);
        assert_eq!(planned.refused, [Refusal { name: "c".into(), why: Why::EditedAndGone }]);
        let forced = plan(Some(&old), &new, folder(&there), true);
        assert_eq!(forced.removed, ["b", "c"]);
        assert!(forced.refused.is_empty());
    }

    #[test]
    fn a_file_of_another_origin_is_refused_and_the_same_bytes_are_not() {
        let new = entries(&[("a", "2"), ("b", "2")]);
        let planned = plan(None, &new, folder(&[("a", "mine"), ("b", "2")]), false);
        assert_eq!(planned.refused, [Refusal { name: "a".into(), why: Why::Foreign }]);
        assert!(planned.new.is_empty() && planned.replaced.is_empty());
        let old = Manifest::new("1", String::new(), entries(&[("a", "1")]));
        let planned = plan(Some(&old), &new, folder(&[("a", "edited")]), false);
        assert_eq!(planned.refused, [Refusal { name: "a".into(), why: Why::Edited }]);
    }

    #[test]
    fn a_manifest_names_nothing_outside_its_folder() {
        for name in ["../x", "/etc/passwd", "a/../../b", "", "a//b", "a\\..\\b", "."] {
            let files = vec![Entry::new(name, "", None)];
            assert_eq!(Manifest::new("1", String::new(), files).stray(), Some(name));
        }
        let files = entries(&[("leaf0.cfg", ""), ("ansible/tasks/eos.yml", "")]);
        assert_eq!(Manifest::new("1", String::new(), files).stray(), None);
    }
}
