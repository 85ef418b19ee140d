//! Where a few things stand in a scenario file, found before it is read for good.

use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// What tells the two files apart, and where findings about a scenario's parts point.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// The fabric file that is named, and where.
    pub(crate) fabric: Option<(String, Range<usize>)>,
    /// Each `[[workload]]`.
    pub(crate) workloads: Vec<Range<usize>>,
    /// Keys that only a scenario has.
    scenario_keys: bool,
    /// Keys that only a fabric file has.
    fabric_keys: bool,
}

/// Tables of a fabric file; a scenario has them only inside `[override]`.
const FABRIC_KEYS: [&str; 13] = [
    "catalogue",
    "class",
    "cluster",
    "ecn",
    "link",
    "links",
    "nic",
    "node",
    "pfc",
    "profile",
    "route",
    "switch",
    "traffic",
];

/// Keys of a scenario.
const SCENARIO_KEYS: [&str; 7] =
    ["allow", "duration", "fault", "override", "record", "seed", "workload"];

impl Places {
    /// Looks through a file, as far as it can be parsed.
    pub(crate) fn of(text: &str) -> Self {
        let (table, _) = DeTable::parse_recoverable(text);
        let mut places = Self::default();
        for (key, value) in table.get_ref() {
            let (key, span): (&str, _) = (key.get_ref(), value.span());
            match (key, value.get_ref()) {
                ("fabric", DeValue::String(name)) => {
                    places.fabric = Some((name.to_string(), span));
                    places.scenario_keys = true;
                }
                ("fabric", DeValue::Table(_)) => places.fabric_keys = true,
                ("workload", DeValue::Array(list)) => {
                    places.workloads = list.iter().map(|entry| entry.span()).collect();
                    places.scenario_keys = true;
                }
                (key, _) => {
                    places.scenario_keys |= SCENARIO_KEYS.contains(&key);
                    places.fabric_keys |= FABRIC_KEYS.contains(&key);
                }
            }
        }
        places
    }

    /// Whether the file is a scenario: it names its fabric, or has keys that only scenarios have.
    pub(crate) fn is_scenario(&self) -> bool {
        self.fabric.is_some() || (self.scenario_keys && !self.fabric_keys)
    }

    /// Whether the file is surely a fabric file.
    pub(crate) fn is_fabric(&self) -> bool {
        self.fabric_keys && !self.scenario_keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_what_is_in_them() {
        let scenario = Places::of("fabric = \"x.toml\"\n[[workload]]\nkind = \"incast\"\n");
        assert!(scenario.is_scenario() && !scenario.is_fabric());
        assert_eq!(scenario.fabric, Some(("x.toml".to_owned(), 9..17)));
        assert_eq!(scenario.workloads.len(), 1);
        let fabric = Places::of("[cluster]\ngpus = 8\n[fabric]\nkind = \"single\"\n");
        assert!(fabric.is_fabric() && !fabric.is_scenario());
        assert!(Places::of("seed = 3\n").is_scenario());
        let empty = Places::of("");
        assert!(!empty.is_scenario() && !empty.is_fabric());
    }

    #[test]
    fn half_a_file_is_recognised_too() {
        assert!(Places::of("fabric = \"x.toml\"\n[[workload]\nkind = ").is_scenario());
        assert!(Places::of("[cluster]\ngpus = = 8\n").is_fabric());
    }
}
