//! [`Single`]: a scenario with one thing broken, for settings that hold when something does.
//!
//! What breaks is broken from the beginning, and switches know it: the question is how the fabric runs without it for
//! hours, not what the first milliseconds cost.

use toml::{Table, Value};
use xoff_fabric::suggest;

/// A single fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Single {
    /// A link between switches is down; the seed says which.
    Link,
    /// A spine is down; the seed says which.
    Spine,
    /// A link between switches runs at half its rate; the seed says which.
    SlowLink,
}

impl Single {
    const ALL: [Single; 3] = [Single::Link, Single::Spine, Single::SlowLink];

    /// Its word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Single::Link => "link",
            Single::Spine => "spine",
            Single::SlowLink => "slow-link",
        }
    }

    /// By its word; what would be right otherwise.
    pub fn named(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|own| own.word() == word);
        found.ok_or_else(|| suggest::help(word, Self::ALL.map(Single::word)))
    }

    /// The text of a scenario with it; `uplink` is the slowest rate of a link between switches, in bit/s.
    pub fn with(self, scenario: &str, uplink: u64) -> Result<String, String> {
        let mut table: Table =
            scenario.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let mut fault = Table::new();
        let mut put = |key: &str, value: Value| drop(fault.insert(key.to_owned(), value));
        put("count", 1.into());
        match self {
            Single::Link | Single::Spine => {
                put("converge", "0us".into());
                put("late", "0us".into());
            }
            Single::SlowLink => put("rate", format!("{}bps", (uplink / 2).max(1)).into()),
        }
        match self {
            Single::Link => put("kind", "link-down".into()),
            Single::SlowLink => put("kind", "link-degraded".into()),
            Single::Spine => {
                put("kind", "switch-down".into());
                put("tier", "spine".into());
            }
        }
        let list = table.entry("fault").or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(list) = list else {
            return Err("`fault` of the scenario is no list of tables".to_owned());
        };
        list.push(Value::Table(fault));
        toml::to_string(&table).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FABRIC: &str = "[cluster]\nhosts = 8\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n";
    const SCENARIO: &str = "fabric = 'f.toml'\n[[workload]]\nkind = 'permutation'\nsize = '1MB'\n";

    #[test]
    fn each_is_a_scenario() {
        for single in Single::ALL {
            let text = single.with(SCENARIO, 400_000_000_000).unwrap();
            let loaded = xoff_fabric::load_scenario(&text, FABRIC);
            assert!(loaded.value.is_some(), "{text}: {:?}", loaded.diagnostics);
            assert_eq!(loaded.value.unwrap().scenario.faults.len(), 1);
            assert_eq!(Single::named(single.word()), Ok(single));
        }
        assert!(Single::named("lnik").unwrap_err().contains("link"));
        assert!(Single::Link.with("fault = 3", 1).is_err());
    }
}
