//! [`Advice`]: a change of a fabric file, and the file with it.
//!
//! Advice lays keys over a file or takes keys out of it. [`Advice::apply`] edits the text itself, so that comments, order
//! and everything else stay as they were.

use serde::{Deserialize, Serialize};
use toml_edit::{DocumentMut, Item, Table, Value};
use xoff_fabric::load_fabric;

/// What to change about the fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// In words.
    pub text: String,
    /// As keys of the fabric file, to be laid over it; empty if no key can express it.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub change: toml::Table,
    /// Keys to take out of the file first, like `ecn.kmin` or `class[0].ecn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Values to put into entries of a list, like `link[3].rate`.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub entries: toml::Table,
}

impl Advice {
    /// Advice in words only.
    pub fn words(text: impl Into<String>) -> Self {
        let (change, entries) = (toml::Table::new(), toml::Table::new());
        Self { text: text.into(), change, remove: Vec::new(), entries }
    }

    /// Advice with keys of the fabric file, which must be valid TOML.
    pub fn change(text: impl Into<String>, keys: &str) -> Self {
        let change = keys.parse();
        debug_assert!(change.is_ok(), "{keys}");
        Self { change: change.unwrap_or_default(), ..Self::words(text) }
    }

    /// Taking these keys out of the file first.
    pub fn without(mut self, keys: impl IntoIterator<Item = String>) -> Self {
        self.remove = keys.into_iter().collect();
        self
    }

    /// Whether it is in words only.
    pub fn is_words(&self) -> bool {
        self.change.is_empty() && self.remove.is_empty() && self.entries.is_empty()
    }

    /// The change as lines of a fabric file; keys to be taken out, and values of entries in a list, are comments.
    pub fn lines(&self) -> String {
        let removed = self.remove.iter().map(|key| format!("# take out: {key}\n"));
        let set = self.entries.iter().map(|(key, value)| format!("# set: {key} = {value}\n"));
        removed.chain(set).collect::<String>() + &toml::to_string(&self.change).unwrap_or_default()
    }

    /// The text of a fabric file with the change; none if the text is no TOML.
    pub fn apply(&self, text: &str) -> Option<String> {
        let mut document: DocumentMut = text.parse().ok()?;
        for key in &self.remove {
            take_out(document.as_table_mut(), key);
        }
        for (key, value) in &self.entries {
            let value: Value = value.to_string().parse().ok()?;
            put(document.as_table_mut(), key, &value);
        }
        let lines = toml::to_string(&self.change).ok()?;
        let change: DocumentMut = lines.parse().ok()?;
        lay_over(document.as_table_mut(), change.as_table());
        Some(document.to_string())
    }

    /// Whether a file with this text can have the change, and is another fabric with it.
    pub fn changes(&self, text: &str) -> bool {
        let Some(with) = self.apply(text) else { return false };
        let (before, after) = (load_fabric(text).value, load_fabric(&with).value);
        match (before, after) {
            // A model has no equality; its debug form says everything that is in it.
            (Some(before), Some(after)) => {
                format!("{:?}", before.fabric) != format!("{:?}", after.fabric)
            }
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }
}

/// The first step of a dotted path, with its index if it has one (`class[0]`), and the rest.
fn first_step(path: &str) -> (&str, Option<usize>, Option<&str>) {
    let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
    match step.split_once('[') {
        Some((key, index)) => (key, index.trim_end_matches(']').parse::<usize>().ok(), rest),
        None => (step, None, rest),
    }
}

/// Edits the inline table at a place of a list.
fn edit_inline(array: &mut toml_edit::Array, index: usize, edit: impl FnOnce(&mut Table)) {
    if let Some(Value::InlineTable(inner)) = array.get_mut(index) {
        let (decor, mut table) = (inner.decor().clone(), inner.clone().into_table());
        edit(&mut table);
        *inner = table.into_inline_table();
        *inner.decor_mut() = decor;
    }
}

/// Puts a value to the key at a dotted path, whose last step but one is an entry of a list.
fn put(table: &mut Table, path: &str, value: &Value) {
    let (key, index, rest) = first_step(path);
    match (table.get_mut(key), index, rest) {
        (Some(Item::ArrayOfTables(array)), Some(index), Some(rest)) => {
            if let Some(inner) = array.get_mut(index) {
                put(inner, rest, value);
            }
        }
        (Some(Item::Value(Value::Array(array))), Some(index), Some(rest)) => {
            edit_inline(array, index, |inner| put(inner, rest, value));
        }
        (_, None, None) => drop(table.insert(key, Item::Value(value.clone()))),
        _ => {}
    }
}

/// Takes the key at a dotted path out; a step may have an index, like `class[0]`. Tables that it leaves empty go, too.
fn take_out(table: &mut Table, path: &str) {
    let (key, index, rest) = first_step(path);
    let Some(rest) = rest else {
        match (index, table.get_mut(key)) {
            (Some(index), Some(Item::ArrayOfTables(array))) if index < array.len() => {
                array.remove(index);
            }
            (Some(index), Some(Item::Value(Value::Array(array)))) if index < array.len() => {
                array.remove(index);
            }
            _ => drop(table.remove(key)),
        }
        return;
    };
    let emptied = match (table.get_mut(key), index) {
        (Some(Item::ArrayOfTables(array)), Some(index)) => {
            if let Some(inner) = array.get_mut(index) {
                take_out(inner, rest);
            }
            false
        }
        (Some(Item::Value(Value::Array(array))), Some(index)) => {
            edit_inline(array, index, |inner| take_out(inner, rest));
            false
        }
        (Some(Item::Table(inner)), None) => {
            take_out(inner, rest);
            inner.is_empty()
        }
        (Some(Item::Value(Value::InlineTable(inner))), None) => {
            let mut as_table = inner.clone().into_table();
            take_out(&mut as_table, rest);
            *inner = as_table.into_inline_table();
            inner.is_empty()
        }
        _ => false,
    };
    if emptied {
        table.remove(key);
    }
}

/// Lays one table over another, key by key; what is not a table in both is replaced.
fn lay_over(base: &mut Table, top: &Table) {
    for (key, value) in top {
        match (base.get_mut(key), value) {
            (Some(Item::Table(below)), Item::Table(above)) => lay_over(below, above),
            (Some(Item::Value(Value::InlineTable(below))), Item::Table(above)) => {
                let mut table = below.clone().into_table();
                lay_over(&mut table, above);
                *below = table.into_inline_table();
            }
            // The comment behind a value stays.
            (Some(Item::Value(old)), Item::Value(new)) => {
                let decor = old.decor().clone();
                *old = new.clone();
                *old.decor_mut() = decor;
            }
            _ => {
                base.insert(key, value.clone());
            }
        }
    }
}

/// Every key of a table, at any depth, that has one of these names: as paths for [`Advice::remove`].
pub(crate) fn keys_named(table: &toml::Table, names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    collect("", table, names, &mut found);
    found
}

fn collect(at: &str, table: &toml::Table, names: &[&str], found: &mut Vec<String>) {
    for (key, value) in table {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match value {
            _ if names.contains(&path.as_str()) || names.contains(&key.as_str()) => {
                found.push(path)
            }
            toml::Value::Table(inner) => collect(&path, inner, names, found),
            toml::Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    if let toml::Value::Table(inner) = entry {
                        collect(&format!("{path}[{index}]"), inner, names, found);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# my pod\n[cluster]\ngpus = 64 # eight servers\nnic = \"connectx-7\"\n\n\
        [fabric]\nkind = \"rail\"\nleaf = \"tomahawk-5\"\n\n# from a blog\n[ecn]\nkmin = \"6MB\" # high\nkmax = \"24MB\"\n\n\
        [[class]]\nid = 3\nscheduling = 1\n";

    #[test]
    fn comments_and_order_stay() {
        let advice =
            Advice::change("lower", "[ecn]\nkmin = \"400KB\"\n[switch.watchdog]\nenabled = true");
        let with = advice.apply(FILE).unwrap();
        let expected =
            FILE.replace("\"6MB\"", "\"400KB\"") + "\n[switch.watchdog]\nenabled = true\n";
        let (with, expected): (Vec<&str>, Vec<&str>) =
            (with.lines().collect(), expected.lines().collect());
        assert!(expected.iter().all(|line| with.contains(line)), "{with:#?}");
        assert!(
            with.contains(&"# from a blog") && with.contains(&"kmin = \"400KB\" # high"),
            "{with:#?}"
        );
    }

    #[test]
    fn keys_are_taken_out() {
        let table: toml::Table = FILE.parse().unwrap();
        let keys = keys_named(&table, &["kmin", "kmax", "scheduling"]);
        assert_eq!(keys, ["class[0].scheduling", "ecn.kmax", "ecn.kmin"]);
        let with = Advice::words("default").without(keys).apply(FILE).unwrap();
        let rest: toml::Table = with.parse().unwrap();
        assert!(!rest.contains_key("ecn") && rest.contains_key("class"), "{with}");
        assert!(load_fabric(&with).value.is_some(), "{with}");
    }

    #[test]
    fn entries_of_lists_are_edited_in_place() {
        for file in [
            "link = [\n  { ends = \"a b\", rate = \"400Gbps\" }, # one\n  { ends = \"a c\", loss = 0.1 },\n]\n",
            "# one\n[[link]]\nends = \"a b\"\nrate = \"400Gbps\"\n\n[[link]]\nends = \"a c\"\nloss = 0.1\n",
        ] {
            let mut advice = Advice::words("one cable").without(["link[1].loss".to_owned()]);
            advice.entries.insert("link[0].rate".to_owned(), "800Gbps".into());
            let with = advice.apply(file).unwrap();
            assert_eq!(with.replace("800Gbps", "400Gbps").lines().count(), with.lines().count());
            let table: toml::Table = with.parse().unwrap();
            let links = table["link"].as_array().unwrap();
            assert_eq!(links[0]["rate"].as_str(), Some("800Gbps"), "{with}");
            assert!(links[1].get("loss").is_none() && with.contains("# one"), "{with}");
            assert_eq!(
                advice.lines(),
                "# take out: link[1].loss\n# set: link[0].rate = \"800Gbps\"\n"
            );
        }
    }

    #[test]
    fn what_is_in_force_changes_nothing() {
        assert!(Advice::words("default").without(["ecn".to_owned()]).changes(FILE));
        assert!(!Advice::change("same", "[ecn]\nkmin = \"6000KB\"").changes(FILE));
        assert!(!Advice::change("default anyway", "[pfc]\nenabled = true").changes(FILE));
        assert!(!Advice::change("refused", "[pfc]\nalpha = \"-1\"").changes(FILE));
    }

    #[test]
    fn advice_is_lines_of_a_file() {
        let advice = Advice::change("turn it on", "[pfc]\nenabled = true");
        assert_eq!(advice.lines(), "[pfc]\nenabled = true\n");
        assert_eq!(Advice::words("think").lines(), "");
    }
}
