//! The fields of a device and what may be in them. All of them become arguments of `ssh`, and some of them
//! are seen by a shell (`ssh` itself runs one for a jump host): what is not a plain name or address is refused.

use std::collections::BTreeMap;

/// More devices than this are a mistake.
pub(super) const MOST_TARGETS: usize = 100_000;

/// What can be said of a device beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Address,
    System,
    User,
    Port,
    Jump,
    Identity,
}

/// A device as a file has it, nothing checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Raw {
    pub(super) name: String,
    pub(super) line: u32,
    /// Values with their lines.
    pub(super) fields: BTreeMap<Field, (String, u32)>,
}

impl Raw {
    pub(super) fn new(name: impl Into<String>, line: u32) -> Self {
        Self { name: name.into(), line, fields: BTreeMap::new() }
    }

    /// Sets a field; one that is empty says nothing.
    pub(super) fn set(&mut self, field: Field, value: &str, line: u32) {
        if !value.trim().is_empty() {
            self.fields.insert(field, (value.trim().to_owned(), line));
        }
    }
}

/// What is wrong, and what would be right.
pub(super) type Wrong = (String, String);

impl Field {
    /// All fields.
    pub(super) const ALL: [Self; 6] =
        [Self::Address, Self::System, Self::User, Self::Port, Self::Jump, Self::Identity];

    /// The key in a file of ours, and in a list.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::System => "system",
            Self::User => "user",
            Self::Port => "port",
            Self::Jump => "jump",
            Self::Identity => "identity",
        }
    }

    /// The field with that key.
    pub(super) fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }

    /// All keys, for messages.
    pub(super) fn keys() -> String {
        let keys: Vec<&str> = Self::ALL.iter().map(|field| field.key()).collect();
        keys.join(", ")
    }

    /// The value as it is used, if it can be.
    pub(super) fn check(self, text: &str) -> Result<String, Wrong> {
        match self {
            Self::Address => address(text),
            Self::User => user(text),
            Self::Port => port(text),
            Self::Jump => jump(text),
            Self::Identity => identity(text),
            Self::System => Ok(text.to_owned()),
        }
    }
}

fn wrong<T>(message: String, cure: &str) -> Result<T, Wrong> {
    Err((message, cure.to_owned()))
}

/// A device's name: it names files, and is the address where none is said.
pub(super) fn name(text: &str) -> Result<String, Wrong> {
    const CURE: &str = "names have letters, digits, `-`, `_` and `.`, begin with a letter or digit and are at \
                        most 200 characters long; put anything else into `address`";
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && text.len() <= 200 && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    wrong(format!("`{}` cannot be the name of a device", shown(text)), CURE)
}

/// A name or an address, IPv6 with or without brackets; a length of prefix behind it is left out.
fn address(text: &str) -> Result<String, Wrong> {
    let bare = text.split_once('/').map_or(text, |(bare, prefix)| {
        if prefix.len() <= 3 && prefix.bytes().all(|b| b.is_ascii_digit()) { bare } else { text }
    });
    let bare = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
    let begins = bare.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':');
    if begins && bare.len() <= 255 && bare.chars().all(plain) {
        return Ok(bare.to_owned());
    }
    wrong(
        format!("`{}` is no address", shown(text)),
        "give a name or an address like leaf0.example.com, 10.0.0.7 or 2001:db8::7; user and port have keys \
         of their own",
    )
}

fn user(text: &str) -> Result<String, Wrong> {
    // Users of directories have their domain in their name.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@+\\".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if begins && text.len() <= 128 && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    wrong(format!("`{}` cannot be a user", shown(text)), "give a user like admin")
}

fn port(text: &str) -> Result<String, Wrong> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port.to_string()),
        _ => wrong(format!("`{}` is no port", shown(text)), "give a number from 1 to 65535"),
    }
}

/// `[user@]host[:port]`, several with commas between them.
fn jump(text: &str) -> Result<String, Wrong> {
    let hop = |hop: &str| -> Result<String, Wrong> {
        let (who, place) = match hop.rsplit_once('@') {
            Some((who, place)) => (Some(user(who)?), place),
            None => (None, hop),
        };
        let bracketed = place.rfind(']').map(|end| place.split_at(end + 1));
        let (host, number) = match (bracketed, place.split_once(':')) {
            (Some((host, "")), _) => (host, None),
            (Some((host, rest)), _) => (host, Some(rest.strip_prefix(':').unwrap_or(rest))),
            (None, Some((host, number))) if !number.contains(':') => (host, Some(number)),
            (None, _) => (place, None),
        };
        let bare = address(host)?;
        let host = if bare.contains(':') { format!("[{bare}]") } else { bare };
        let number = number.map(port).transpose()?;
        Ok(format!(
            "{}{host}{}",
            who.map(|who| format!("{who}@")).unwrap_or_default(),
            number.map(|number| format!(":{number}")).unwrap_or_default()
        ))
    };
    let hops: Result<Vec<String>, Wrong> = text.split(',').map(|part| hop(part.trim())).collect();
    hops.map(|hops| hops.join(",")).map_err(|(message, _)| {
        let cure =
            "name jump hosts as ssh -J does: user@bastion:22, several with commas between them";
        (format!("jump: {message}"), cure.to_owned())
    })
}

fn identity(text: &str) -> Result<String, Wrong> {
    if text.starts_with('-') || text.chars().any(char::is_control) || text.len() > 4096 {
        let cure = "name the file of a private key, like ~/.ssh/fabric";
        return wrong(format!("`{}` is no file of a key", shown(text)), cure);
    }
    Ok(text.to_owned())
}

/// A text for a message: control characters escaped, and not too much of it.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}

/// The names that a name with ranges stands for: `leaf[01:04]`, `[a:c]`, `rack[0:8:2]-leaf[0:1]`.
pub(super) fn expand(name: &str, most: usize) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = name;
    while let Some(open) = rest.find('[') {
        let (before, inside) = rest.split_at(open);
        let Some(close) = inside.find(']') else {
            return Err(format!("`{}`: a range has no end", shown(name)));
        };
        let parts = range(&inside[1..close], most).ok_or_else(|| {
            format!("`{}`: `{}` is no range", shown(name), shown(&inside[..=close]))
        })?;
        if names.len().saturating_mul(parts.len()) > most {
            return Err(format!("more than {MOST_TARGETS} devices"));
        }
        let longer = |head: &String| {
            let join = |part: &String| format!("{head}{before}{part}");
            parts.iter().map(join).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(longer).collect();
        rest = &inside[close + 1..];
    }
    if most == 0 {
        return Err(format!("more than {MOST_TARGETS} devices"));
    }
    Ok(names.into_iter().map(|head| head + rest).collect())
}

/// What is between the brackets: first, last and maybe a step.
fn range(text: &str, most: usize) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split(':').collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step.parse().ok().filter(|step| *step > 0)?),
        _ => return None,
    };
    let digits = |text: &str| {
        !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit())
    };
    if digits(first) && digits(last) {
        // Leading zeros are part of the name.
        let width = if first.starts_with('0') { first.len() } else { 1 };
        let (low, high): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let numbers = (low..=high).step_by(step);
        let all = numbers.take(most.saturating_add(1)).map(|n| format!("{n:0width$}"));
        return Some(all.collect()).filter(|all: &Vec<String>| !all.is_empty());
    }
    let letter =
        |text: &str| text.bytes().next().filter(|b| text.len() == 1 && b.is_ascii_alphabetic());
    let letters = (letter(first)?..=letter(last)?).step_by(step);
    Some(letters.map(|b| char::from(b).to_string()).collect())
        .filter(|all: &Vec<String>| !all.is_empty())
}
