//! From the name that a source has for a counter to its metric.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use xoff_telemetry::metric::{Alias, METRICS, Metric, Source};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Meaning {
    pub(crate) metric: Metric,
    pub(crate) priority: Option<u8>,
    /// Its place among the names of the metric: where a device has several of them, the first counts.
    pub(crate) rank: usize,
    /// What one of it is in the unit of the metric.
    pub(crate) scale: f64,
}

/// The names of one source.
#[derive(Debug, Default)]
struct Names {
    plain: BTreeMap<&'static str, Meaning>,
    /// Those that have a priority in them.
    patterns: Vec<(&'static Alias, Meaning)>,
}

impl Names {
    fn of(source: Source) -> Self {
        let mut names = Self::default();
        for facts in METRICS {
            let numbered = facts.aliases.iter().enumerate();
            for (rank, alias) in numbered.filter(|(_, alias)| alias.source == source) {
                let (metric, scale) = (facts.metric, alias.scale);
                let meaning = Meaning { metric, priority: None, rank, scale };
                if alias.name.contains("{p}") {
                    names.patterns.push((alias, meaning));
                } else {
                    names.plain.insert(alias.name, meaning);
                }
            }
        }
        names
    }
}

/// What a source means by a name, if the schema knows it.
pub(crate) fn meaning(source: Source, name: &str) -> Option<Meaning> {
    static NAMES: OnceLock<BTreeMap<Source, Names>> = OnceLock::new();
    let all = || Source::ALL.map(|source| (source, Names::of(source))).into();
    let names = NAMES.get_or_init(all).get(&source)?;
    names.plain.get(name).copied().or_else(|| {
        names.patterns.iter().find_map(|(alias, meaning)| {
            Some(Meaning { priority: alias.matches(name)?, ..*meaning })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_is_found() {
        for facts in METRICS {
            for (rank, alias) in facts.aliases.iter().enumerate() {
                let found = meaning(alias.source, &alias.name.replace("{p}", "5"));
                let priority = alias.name.contains("{p}").then_some(5);
                let (metric, scale) = (facts.metric, alias.scale);
                assert_eq!(found, Some(Meaning { metric, priority, rank, scale }));
            }
        }
        assert_eq!(meaning(Source::Ethtool, "rx_prio8_pause"), None);
        assert_eq!(meaning(Source::HwCounters, "lifespan"), None);
    }
}
