//! [`Approvers`]: the file that says who may approve what, and the form of it that `ssh-keygen` reads.

use super::NAMESPACE;
use super::date::Date;
use super::key::PublicKey;
use super::part::{Part, Rights};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use toml::{Spanned, Value};
use xoff_fabric::suggest;

/// Who may approve what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvers {
    /// Roles by their names.
    pub roles: BTreeMap<String, Role>,
    /// People, in the order of the file.
    pub principals: Vec<Principal>,
}

/// What those of a role may approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The parts of a fabric file.
    pub rights: Rights,
    /// How many of them must approve the same change.
    pub needed: usize,
}

/// Somebody who may approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name that stands in approvals.
    pub name: String,
    /// Their roles.
    pub roles: Vec<String>,
    /// The keys they sign with.
    pub keys: Vec<PublicKey>,
    /// The last moment of which their approvals count.
    pub until: Option<Date>,
}

/// What is wrong with a file of approvers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// Bytes of the file.
    pub span: Range<usize>,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    role: BTreeMap<Spanned<String>, RoleEntry>,
    #[serde(default)]
    principal: Vec<PrincipalEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleEntry {
    rights: Spanned<Vec<Spanned<String>>>,
    needed: Option<Spanned<usize>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrincipalEntry {
    name: Spanned<String>,
    roles: Spanned<Vec<Spanned<String>>>,
    keys: Spanned<Vec<Spanned<String>>>,
    until: Option<Spanned<Value>>,
}

fn mistake(message: impl Into<String>, help: impl Into<String>, span: Range<usize>) -> Mistake {
    Mistake { message: message.into(), help: help.into(), span }
}

impl Approvers {
    /// Reads a file of approvers.
    pub fn read(text: &str) -> Result<Self, Mistake> {
        let file: File = toml::from_str(text).map_err(|error| {
            let help = "[role.NAME] has `rights` and `needed`; [[principal]] has `name`, `roles`, \
                        `keys` and `until`";
            mistake(error.message(), help, error.span().unwrap_or(0..0))
        })?;
        let mut roles = BTreeMap::new();
        for (name, entry) in &file.role {
            roles.insert(name.get_ref().clone(), entry.read()?);
        }
        let mut principals: Vec<Principal> = Vec::new();
        let mut owners = BTreeMap::new();
        for entry in file.principal {
            let principal = entry.read(&roles)?;
            if principals.iter().any(|other| other.name == principal.name) {
                let help = "give the keys and roles of a person in one entry";
                let message = format!("`{}` is there twice", principal.name);
                return Err(mistake(message, help, entry.name.span()));
            }
            for (key, place) in principal.keys.iter().zip(entry.keys.get_ref()) {
                // One key for two people would let one person approve twice.
                if let Some(owner) = owners.insert(key.clone(), principal.name.clone()) {
                    let help = "every person signs with a key of their own";
                    let message = format!("this is a key of `{owner}` already");
                    return Err(mistake(message, help, place.span()));
                }
            }
            principals.push(principal);
        }
        if principals.is_empty() {
            let help = "add [[principal]] with `name`, `roles` and `keys`";
            return Err(mistake("nobody may approve", help, 0..0));
        }
        let approvers = Self { roles, principals };
        approvers.enough(&file.role)?;
        Ok(approvers)
    }

    /// Refuses roles that need more people than have them.
    fn enough(&self, entries: &BTreeMap<Spanned<String>, RoleEntry>) -> Result<(), Mistake> {
        for (name, entry) in entries {
            let has = |principal: &&Principal| principal.roles.contains(name.get_ref());
            let people = self.principals.iter().filter(has).count();
            if let Some(needed) = entry.needed.as_ref().filter(|needed| *needed.get_ref() > people)
            {
                let message = format!("{people} have the role `{}`", name.get_ref());
                let help = "more approvals are needed than can be given: name more people, or ask \
                            for fewer";
                return Err(mistake(message, help, needed.span()));
            }
        }
        Ok(())
    }

    /// Somebody by name.
    pub fn principal(&self, name: &str) -> Option<&Principal> {
        self.principals.iter().find(|principal| principal.name == name)
    }

    /// Whose key it is.
    pub fn owner(&self, key: &PublicKey) -> Option<&Principal> {
        self.principals.iter().find(|principal| principal.keys.contains(key))
    }

    /// The names and keys as `ssh-keygen -Y verify` reads them.
    pub fn allowed_signers(&self) -> String {
        let mut text = String::new();
        for principal in &self.principals {
            for key in &principal.keys {
                let name = &principal.name;
                let _ = writeln!(text, "{name} namespaces=\"{NAMESPACE}\" {key}");
            }
        }
        text
    }
}

impl RoleEntry {
    fn read(&self) -> Result<Role, Mistake> {
        const NAMES: [&str; 6] =
            ["thresholds", "classes", "topology", "hosts", "balancing", "everything"];
        let mut parts = BTreeSet::new();
        let mut everything = false;
        for right in self.rights.get_ref() {
            let named = |part: &Part| *part != Part::Other && part.name() == right.get_ref();
            match Part::ALL.into_iter().find(named) {
                Some(part) => {
                    parts.insert(part);
                }
                None if right.get_ref() == "everything" => everything = true,
                None => {
                    let message = format!("`{}` is no right", right.get_ref());
                    return Err(mistake(
                        message,
                        suggest::help(right.get_ref(), NAMES),
                        right.span(),
                    ));
                }
            }
        }
        if parts.is_empty() && !everything {
            let help = format!("rights are {}", NAMES.join(", "));
            return Err(mistake(
                "a role without rights approves nothing",
                help,
                self.rights.span(),
            ));
        }
        let needed = self.needed.as_ref().map_or(1, |needed| *needed.get_ref());
        if let Some(zero) = self.needed.as_ref().filter(|_| needed == 0) {
            let help = "at least 1 is; leave it out for that";
            return Err(mistake("no approval is needed", help, zero.span()));
        }
        Ok(Role { rights: if everything { Rights::Everything } else { Rights::Of(parts) }, needed })
    }
}

impl PrincipalEntry {
    fn read(&self, known: &BTreeMap<String, Role>) -> Result<Principal, Mistake> {
        let name = self.name.get_ref();
        // What `ssh-keygen` takes for a pattern, a list, a comment or the end of a name.
        let strange = |c: char| c.is_whitespace() || c.is_control() || "\"'\\,*?!#".contains(c);
        if name.is_empty() || name.contains(strange) {
            let help = "a name is one word without quotes, commas, `*`, `?`, `!` and `#`, like \
                        ada@example.com";
            return Err(mistake("this is no name", help, self.name.span()));
        }
        for role in self.roles.get_ref() {
            if !known.contains_key(role.get_ref()) {
                let message = format!("there is no role `{}`", role.get_ref());
                let help = match known.is_empty() {
                    true => format!("say what it may approve: [role.{}]", role.get_ref()),
                    false => suggest::help(role.get_ref(), known.keys().map(String::as_str)),
                };
                return Err(mistake(message, help, role.span()));
            }
        }
        if self.roles.get_ref().is_empty() {
            let help = "name one of [role.NAME]";
            return Err(mistake(
                "somebody without a role approves nothing",
                help,
                self.roles.span(),
            ));
        }
        let mut keys = Vec::new();
        for line in self.keys.get_ref() {
            let help = "`ssh-keygen -y -f KEY` prints the public key of KEY";
            keys.push(
                PublicKey::parse(line.get_ref()).map_err(|why| mistake(why, help, line.span()))?,
            );
        }
        if keys.is_empty() {
            let help = "add the line of a file that ends in .pub";
            return Err(mistake("somebody without a key approves nothing", help, self.keys.span()));
        }
        let roles = self.roles.get_ref().iter().map(|role| role.get_ref().clone()).collect();
        Ok(Principal { name: name.clone(), roles, keys, until: self.until()? })
    }

    fn until(&self) -> Result<Option<Date>, Mistake> {
        let Some(until) = &self.until else { return Ok(None) };
        let day = match until.get_ref() {
            Value::Datetime(day) => Date::end_of_day(&day.to_string()),
            Value::String(day) => Date::end_of_day(day),
            _ => None,
        };
        let wrong = || mistake("this is no day", "year, month and day: 2027-06-30", until.span());
        day.map(Some).ok_or_else(wrong)
    }
}

/// The only name that a file of allowed signers, as `ssh-keygen` reads it, has for a key; `None` if
/// there are none, several, or patterns.
pub fn named_by_key(allowed: &str, key: &PublicKey) -> Option<String> {
    let mut found = BTreeSet::new();
    for line in allowed.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once([' ', '\t']) else { continue };
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let is_key = |pair: &[&str]| PublicKey::parse(&pair.join(" ")).as_ref() == Ok(key);
        if words.windows(2).any(is_key) {
            found.insert(name);
        }
    }
    let mut found = found.into_iter();
    let name = found.next().filter(|name| !name.contains(['*', '?', '!', ',', '"']))?;
    found.next().is_none().then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ADA: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDc2sbTz7sjBd5wL69UqXPXgZ7XzzwgzuWS5Owj8ye2b";
    const BOB: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEc2sbTz7sjBd5wL69UqXPXgZ7XzzwgzuWS5Owj8ye2b";

    fn file() -> String {
        format!(
            "[role.network]\nrights = ['thresholds', 'classes']\nneeded = 2\n\
             [role.architect]\nrights = ['everything']\n\
             [[principal]]\nname = 'ada@example.com'\nroles = ['network', 'architect']\n\
             keys = ['{ADA} desk']\n\
             [[principal]]\nname = 'bob'\nroles = ['network']\nkeys = ['{BOB}']\n\
             until = 2027-06-30\n"
        )
    }

    #[test]
    fn a_file_says_who_may_approve_what() {
        let approvers = Approvers::read(&file()).unwrap();
        assert_eq!(approvers.roles["network"].needed, 2);
        assert_eq!(approvers.roles["architect"], Role { rights: Rights::Everything, needed: 1 });
        let bob = approvers.principal("bob").unwrap();
        assert_eq!(bob.until.unwrap().to_string(), "2027-06-30T23:59:59Z");
        assert_eq!(approvers.owner(&PublicKey::parse(BOB).unwrap()), Some(bob));
        let signers = format!(
            "ada@example.com namespaces=\"xoff-approval\" {ADA}\n\
             bob namespaces=\"xoff-approval\" {BOB}\n"
        );
        assert_eq!(approvers.allowed_signers(), signers);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let cases = [
            ("'thresholds'", "'tresholds'", "is no right", "did you mean `thresholds`"),
            ("'thresholds'", "'other'", "is no right", "known here"),
            ("['everything']", "[]", "a role without rights", "rights are"),
            ("needed = 2", "needed = 3", "2 have the role `network`", "name more people"),
            ("needed = 2", "needed = 0", "no approval is needed", "at least 1"),
            ("needed = 2", "needed = -1", "invalid", "[role.NAME]"),
            ("needed = 2", "neded = 2", "unknown field", "[role.NAME]"),
            ("'bob'", "'bob *'", "this is no name", "one word"),
            ("'bob'", "'ada@example.com'", "is there twice", "one entry"),
            ("'bob'", "''", "this is no name", "one word"),
            ("roles = ['network']", "roles = ['netwrk']", "no role `netwrk`", "`network`"),
            ("roles = ['network']", "roles = []", "without a role", "[role.NAME]"),
            (BOB, ADA, "a key of `ada@example.com` already", "of their own"),
            (BOB, "ssh-ed25519 AAAA", "no public key", "ssh-keygen -y"),
            ("2027-06-30", "'June'", "this is no day", "2027-06-30"),
            ("2027-06-30", "2027-06-30T10:00:00Z", "this is no day", "2027-06-30"),
        ];
        for (from, to, message, help) in cases {
            assert!(file().contains(from), "{from}");
            let text = file().replacen(from, to, 1);
            let mistake = Approvers::read(&text).unwrap_err();
            assert!(mistake.message.contains(message), "{to}: {mistake:?}");
            assert!(mistake.help.contains(help), "{to}: {mistake:?}");
            assert!(!mistake.span.is_empty() && mistake.span.end <= text.len(), "{to}");
        }
        assert!(Approvers::read("").unwrap_err().message.contains("nobody may approve"));
    }

    #[test]
    fn a_plain_file_names_a_key() {
        let key = PublicKey::parse(ADA).unwrap();
        let name = |text: &str| named_by_key(text, &key);
        assert_eq!(name(&format!("# x\nada {ADA} c\nbob {BOB}\n")).as_deref(), Some("ada"));
        let options = format!("ada namespaces=\"xoff-approval,git\" {ADA}\n");
        assert_eq!(name(&options).as_deref(), Some("ada"));
        assert_eq!(name(&format!("ada {ADA}\nbob {ADA}\n")), None);
        assert_eq!(name(&format!("*@example.com {ADA}\n")), None);
        assert_eq!(name(&format!("# ada {ADA}\nbob {BOB}")), None);
        assert_eq!(name(""), None);
    }

    proptest! {
        #[test]
        fn damaged_files_end_in_a_mistake(at in 0usize..600, cut in 0usize..40, put in "[ -~é]{0,8}") {
            let text = file();
            let edge = |at: usize| (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i));
            let (from, to) = (edge(at).unwrap(), edge(at + cut).unwrap());
            let damaged = format!("{}{put}{}", &text[..from], &text[to..]);
            if let Err(mistake) = Approvers::read(&damaged) {
                prop_assert!(mistake.span.end <= damaged.len());
            }
        }
    }
}
