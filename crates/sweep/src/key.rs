//! [`Key`]: a place in the fabric or the scenario file, like `fabric.ecn.kmin` or
//! `scenario.workload[0].size`.

use std::fmt;
use toml::{Table, Value};

/// The file that a key is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// The fabric file.
    Fabric,
    /// The scenario file.
    Scenario,
}

impl File {
    /// Its word at the beginning of keys.
    pub const fn word(self) -> &'static str {
        match self {
            File::Fabric => "fabric",
            File::Scenario => "scenario",
        }
    }
}

/// One step into a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Into a table.
    Key(String),
    /// Into a list, by number.
    Index(usize),
    /// Into a list, to the entry of this name.
    Named(String),
}

/// A place in the fabric or the scenario file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    file: File,
    steps: Vec<Step>,
    text: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// More steps than any key of a file has.
const MOST_STEPS: usize = 32;

impl Key {
    /// Reads a key; what is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = steps(text)?;
        if steps.len() > MOST_STEPS {
            return Err(format!("a key has at most {MOST_STEPS} parts"));
        }
        let file = match steps.first() {
            Some(Step::Key(word)) if word == "fabric" => File::Fabric,
            Some(Step::Key(word)) if word == "scenario" => File::Scenario,
            _ => return Err("a key begins with `fabric.` or `scenario.`, the file it is in".into()),
        };
        steps.remove(0);
        if !matches!(steps.first(), Some(Step::Key(_))) {
            return Err(format!("`{}` is a whole file; name a key in it", file.word()));
        }
        Ok(Self { file, steps, text: text.to_owned() })
    }

    /// The file it is in.
    pub fn file(&self) -> File {
        self.file
    }

    /// Its first part, a table or a key at the top of the file.
    pub fn top(&self) -> &str {
        match self.steps.first() {
            Some(Step::Key(key)) => key,
            _ => "",
        }
    }

    /// Whether it is this key at the top of its file.
    pub fn is(&self, file: File, top: &str) -> bool {
        self.file == file && self.steps.len() == 1 && self.top() == top
    }

    /// What a table of its file has there.
    pub fn get<'a>(&self, table: &'a Table) -> Option<&'a Value> {
        let (Step::Key(first), rest) = self.steps.split_first()? else { return None };
        let first = table.get(first)?;
        rest.iter().try_fold(first, |place, step| match step {
            Step::Key(key) => place.get(key.as_str()),
            Step::Index(index) => place.get(*index),
            Step::Named(name) => {
                let own = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some(name);
                place.as_array()?.iter().find(own)
            }
        })
    }

    /// Whether it leads into a list.
    pub fn has_entries(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, Step::Key(_)))
    }

    /// Puts a value there. Tables on the way are made; entries of lists must be there.
    pub fn put(&self, table: &mut Table, value: &Value) -> Result<(), String> {
        put(table, &self.steps, value, self.file.word())
    }
}

/// The parts of a key.
fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        let (key, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (key, after) = quoted.split_once('"').ok_or("a quote is not closed")?;
                (key, after)
            }
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let quoted = rest.starts_with('"');
        if key.is_empty() || (!quoted && !key.chars().all(plain)) {
            return Err(format!("`{text}` is no key; write it like `fabric.ecn.kmin`"));
        }
        steps.push(Step::Key(key.to_owned()));
        rest = after;
        while let Some(inner) = rest.strip_prefix('[') {
            let (entry, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
            steps.push(match entry.parse() {
                Ok(index) => Step::Index(index),
                Err(_) if entry.is_empty() => {
                    return Err("`[]` names no entry; the first is `[0]`".into());
                }
                Err(_) => Step::Named(entry.to_owned()),
            });
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None if rest.is_empty() => return Ok(steps),
            None => return Err(format!("`{text}` is no key; write it like `fabric.ecn.kmin`")),
        }
    }
}

fn put(table: &mut Table, steps: &[Step], value: &Value, so_far: &str) -> Result<(), String> {
    let Some((Step::Key(key), rest)) = steps.split_first() else {
        return Err(format!("`{so_far}` is a table; name a key in it"));
    };
    let here = format!("{so_far}.{key}");
    match rest {
        [] => drop(table.insert(key.clone(), value.clone())),
        [Step::Key(_), ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            put_into(inner, rest, value, &here)?;
        }
        _ => {
            let list = table.get_mut(key).ok_or_else(|| format!("the file has no `{here}`"))?;
            put_into(list, rest, value, &here)?;
        }
    }
    Ok(())
}

/// The same for what a key holds.
fn put_into(place: &mut Value, steps: &[Step], value: &Value, so_far: &str) -> Result<(), String> {
    let (step, rest) = match steps.split_first() {
        None => {
            *place = value.clone();
            return Ok(());
        }
        Some(parts) => parts,
    };
    match (place, step) {
        (Value::Table(table), Step::Key(_)) => put(table, steps, value, so_far),
        (Value::Array(list), Step::Index(index)) => {
            let count = list.len();
            let entry = list.get_mut(*index).ok_or_else(|| match count {
                0 => format!("`{so_far}` is empty"),
                count => format!(
                    "`{so_far}` has no entry {index}: it has {count}, from `[0]` to `[{}]`",
                    count - 1
                ),
            })?;
            put_into(entry, rest, value, &format!("{so_far}[{index}]"))
        }
        (Value::Array(list), Step::Named(name)) => {
            let own = |entry: &Value| entry.get("name").and_then(Value::as_str) == Some(name);
            let mut named = list.iter_mut().filter(|entry| own(entry));
            let entry = named.next().ok_or_else(|| format!("`{so_far}` has no entry `{name}`"))?;
            if named.next().is_some() {
                return Err(format!("`{so_far}` has several entries `{name}`; use their numbers"));
            }
            put_into(entry, rest, value, &format!("{so_far}[{name}]"))
        }
        (Value::Array(_), Step::Key(_)) => {
            Err(format!("`{so_far}` is a list; name the entry, like `{so_far}[0]`"))
        }
        (_, Step::Key(key)) => Err(format!("`{so_far}` is no table and has no `{key}`")),
        (_, _) => Err(format!("`{so_far}` is no list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "top = 1\nlist = [3, 4]\n[ecn]\nkmin = '1KB'\n[[workload]]\nname = 'a'\nsize = '1KB'\n\
        [[workload]]\nname = 'b'\n[[workload]]\nname = 'b'\n";

    fn changed(key: &str) -> Result<Table, String> {
        let mut table: Table = FILE.parse().unwrap();
        Key::parse(key)?.put(&mut table, &Value::Integer(7))?;
        Ok(table)
    }

    #[test]
    fn values_are_put_where_keys_say() {
        let seven = Some(7);
        let get = |key: &str| changed(key).unwrap();
        assert_eq!(get("scenario.top")["top"].as_integer(), seven);
        assert_eq!(get("fabric.ecn.kmin")["ecn"]["kmin"].as_integer(), seven);
        assert_eq!(get("fabric.ecn.kmax")["ecn"]["kmax"].as_integer(), seven);
        assert_eq!(get("fabric.a.b.c")["a"]["b"]["c"].as_integer(), seven);
        assert_eq!(get("fabric.a.\"x.y\"")["a"]["x.y"].as_integer(), seven);
        assert_eq!(get("scenario.workload[0].size")["workload"][0]["size"].as_integer(), seven);
        assert_eq!(get("scenario.workload[a].size")["workload"][0]["size"].as_integer(), seven);
        assert_eq!(get("scenario.list[1]")["list"][1].as_integer(), seven);
    }

    #[test]
    fn keys_that_lead_nowhere_say_why() {
        for (key, why) in [
            ("ecn.kmin", "begins with `fabric.`"),
            ("", "no key"),
            ("fabric", "whole file"),
            ("fabric[0].x", "whole file"),
            ("fabric..x", "no key"),
            ("fabric.ecn.", "no key"),
            ("fabric.e cn", "no key"),
            ("fabric.\"ecn", "not closed"),
            ("scenario.workload[0", "not closed"),
            ("scenario.workload[].size", "first is `[0]`"),
            ("scenario.workload[0]size", "no key"),
            ("scenario.workload.size", "is a list"),
            ("scenario.workload[3].size", "from `[0]` to `[2]`"),
            ("scenario.workload[c].size", "no entry `c`"),
            ("scenario.workload[b].size", "several entries `b`"),
            ("scenario.fault[0].at", "has no `scenario.fault`"),
            ("scenario.top.x", "is no table"),
            ("scenario.top[0]", "is no list"),
            ("fabric.ecn[0]", "is no list"),
        ] {
            let error = changed(key).unwrap_err();
            assert!(error.contains(why), "{key}: {error}");
        }
        assert!(Key::parse(&"fabric.a".repeat(20_000)).is_err());
        assert!(Key::parse(&format!("fabric{}", ".a".repeat(20_000))).is_err());
    }
}
