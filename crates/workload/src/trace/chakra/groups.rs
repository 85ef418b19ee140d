//! The process groups of Chakra traces: a JSON file beside them.
//!
//! Two ways to write it are known: a map from name to ranks (`{"0": [0, 1]}`), and the list of
//! communicators that Chakra's own extractor writes.

use super::super::builder::Builder;
use super::super::error::{Outcome, Place};
use super::super::json::{self, Guard};
use super::super::model::Rank;
use super::super::note::At;
use super::super::source::Source;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Members by name.
pub(super) type Map = BTreeMap<String, Vec<Rank>>;

/// One communicator of the extractor's list.
#[derive(Debug, Deserialize)]
struct Communicator {
    #[serde(rename = "communicatorId")]
    id: serde_json::Value,
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    #[serde(rename = "globalRank")]
    rank: u64,
}

/// The whole file.
#[derive(Debug, Default)]
struct File {
    groups: Vec<(String, Vec<u64>)>,
    /// Keys whose value is no list of ranks.
    others: Vec<String>,
}

/// Reads a file of groups into `map`.
pub(super) fn read(source: Source<'_>, builder: &mut Builder, map: &mut Map) -> Outcome<()> {
    let Source { name, reader, .. } = source;
    let file: File = json::read(&name, Guard::new(reader))?;
    let at = At { file: &name, place: Place::File, rank: None };
    for key in file.others {
        builder.notes.unknown(&format!("`{key}` in a file of process groups"), at);
    }
    let most = builder.limits().members as usize;
    let mut total: usize = map.values().map(Vec::len).sum();
    for (group, ranks) in file.groups {
        total = total.saturating_add(ranks.len());
        if total > most {
            let text = format!("groups of more than {most} members in all");
            return Err(super::super::TraceError::new(&name, Place::File, text));
        }
        let ranks: Outcome<Vec<Rank>> = ranks.iter().map(|rank| builder.rank(*rank, at)).collect();
        if map.insert(group, ranks?).is_some() {
            builder.notes.unknown("a process group that is there twice", at);
        }
    }
    Ok(())
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FileVisitor)
    }
}

struct FileVisitor;

impl<'de> Visitor<'de> for FileVisitor {
    type Value = File;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("process groups like {\"0\": [0, 1]}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<File, A::Error> {
        let mut file = File::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == "communicators" {
                for one in map.next_value::<Vec<Communicator>>()? {
                    let name = match one.id {
                        serde_json::Value::String(name) => name,
                        other => other.to_string(),
                    };
                    file.groups.push((name, one.nodes.into_iter().map(|node| node.rank).collect()));
                }
                continue;
            }
            match map.next_value::<Ranks>()? {
                Ranks(Some(ranks)) => file.groups.push((key, ranks)),
                Ranks(None) => file.others.push(key),
            }
        }
        Ok(file)
    }
}

/// A list of ranks, or something else.
struct Ranks(Option<Vec<u64>>);

impl<'de> Deserialize<'de> for Ranks {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RanksVisitor)
    }
}

struct RanksVisitor;

impl<'de> Visitor<'de> for RanksVisitor {
    type Value = Ranks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of ranks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ranks, A::Error> {
        let mut ranks = Vec::new();
        while let Some(rank) = list.next_element::<u64>()? {
            ranks.push(rank);
        }
        Ok(Ranks(Some(ranks)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ranks, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Ranks(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Ranks, E> {
        Ok(Ranks(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Ranks, E> {
        Ok(Ranks(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Ranks, E> {
        Ok(Ranks(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Ranks, E> {
        Ok(Ranks(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Ranks, E> {
        Ok(Ranks(None))
    }

    fn visit_unit<E>(self) -> Result<Ranks, E> {
        Ok(Ranks(None))
    }
}
