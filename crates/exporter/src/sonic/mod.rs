//! A switch with SONiC: its counters are in Redis, in database 2 (COUNTERS_DB), one hash for each port, queue, ingress priority
//! group and buffer pool. `COUNTERS_PORT_NAME_MAP` and its like say which is which.
//!
//! What the schema knows is exported, and what SONiC has beside it of watermarks and of the PFC watchdog; with [`Detail::All`]
//! every other counter, too. A queue below 8 that is not for multicast stands for the priority of its number, as in SONiC's
//! own maps.
//!
//! Watermarks are those of `PERIODIC_WATERMARKS`, the greatest of a period of two minutes unless it is configured, because those
//! in `COUNTERS` are cleared whenever they are polled; they stand in where there is no periodic one.

mod database;
mod field;

pub use database::{Address, Database, Db, Hash, Redis};

pub(crate) use field::{Field, Subject, Table, state, wanted};

use crate::exposition::{Exposition, Target};
use crate::naming::Naming;
use crate::scraper::{Origin, Unavailable};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Hashes that are asked for at once. A hundred ports' are a megabyte.
const BATCH: usize = 128;
/// Most ports, queues, groups and pools together.
const MOST: usize = 65_536;

/// How much is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What the schema knows, watermarks and the watchdog.
    Schema,
    /// Every counter there is.
    All,
}

/// A switch.
pub struct Switch {
    /// Its databases.
    pub database: Box<dyn Database>,
    /// What its ports are called.
    pub naming: Naming,
    /// How much is exported.
    pub detail: Detail,
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch").field("naming", &self.naming).finish_non_exhaustive()
    }
}

/// The name that the switch gives itself, if it has one.
pub fn hostname(database: &mut dyn Database) -> Result<Option<String>, Unavailable> {
    let hashes = database.hashes(Db::Config, &["DEVICE_METADATA|localhost".to_owned()])?;
    let mut fields = hashes.into_iter().flatten();
    Ok(fields.find(|(field, value)| field == "hostname" && !value.is_empty()).map(|field| field.1))
}

/// A hash of counters.
#[derive(Debug)]
struct Item {
    oid: String,
    target: Rc<Target>,
    subject: Subject,
}

impl Origin for Switch {
    fn read(&mut self, out: &mut Exposition) -> Result<(), Unavailable> {
        let maps = ["PORT_NAME", "QUEUE_NAME", "QUEUE_TYPE", "PG_NAME", "BUFFER_POOL_NAME"];
        let maps = maps.map(|map| format!("COUNTERS_{map}_MAP"));
        let maps = self.database.hashes(Db::Counters, &maps)?;
        let [ports, queues, types, groups, pools] = <[Hash; 5]>::try_from(maps)
            .map_err(|_| Unavailable("Redis answered less than it was asked".into()))?;
        if ports.is_empty() {
            let text = "Redis has no COUNTERS_PORT_NAME_MAP in database 2: is it SONiC's, and has the switch finished booting?";
            return Err(Unavailable(text.into()));
        }
        let mut items = Vec::new();
        let mut known = BTreeMap::new();
        for (name, oid) in &ports {
            let target = Rc::new(self.naming.port(&[name]));
            known.insert(name.as_str(), target.clone());
            items.push(Item { oid: oid.clone(), target, subject: Subject::Port });
        }
        let multicast = |(oid, kind): &(String, String)| {
            (kind == "SAI_QUEUE_TYPE_MULTICAST").then(|| oid.clone())
        };
        let multicast: Vec<String> = types.iter().filter_map(multicast).collect();
        let multicast = std::collections::BTreeSet::from_iter(multicast);
        for (name, oid) in queues.iter().chain(&groups) {
            // `Ethernet0:3`.
            let Some((port, index)) = name.rsplit_once(':') else {
                out.error();
                continue;
            };
            let Some(target) = known.get(port) else { continue };
            let subject = match Subject::queue(index) {
                Subject::Priority(_) if multicast.contains(oid) => Subject::Queue(index.to_owned()),
                subject => subject,
            };
            items.push(Item { oid: oid.clone(), target: target.clone(), subject });
        }
        let device = Rc::new(self.naming.device());
        for (name, oid) in &pools {
            let (oid, subject) = (oid.clone(), Subject::Pool(name.clone()));
            items.push(Item { oid, target: device.clone(), subject });
        }
        if items.len() > MOST {
            let text =
                format!("Redis lists {} ports and queues; {MOST} are read at most", items.len());
            return Err(Unavailable(text));
        }
        self.state(&known, out)?;
        self.items(&items, out)
    }
}

impl Switch {
    /// Rates and whether ports are up.
    fn state(
        &mut self,
        ports: &BTreeMap<&str, Rc<Target>>,
        out: &mut Exposition,
    ) -> Result<(), Unavailable> {
        let list: Vec<(&&str, &Rc<Target>)> = ports.iter().collect();
        for batch in list.chunks(BATCH) {
            let keys: Vec<String> =
                batch.iter().map(|(port, _)| format!("PORT_TABLE:{port}")).collect();
            let hashes = self.database.hashes(Db::Appl, &keys)?;
            for ((_, target), hash) in batch.iter().zip(hashes) {
                for (field, value) in hash {
                    field::state(target, &field, &value, out);
                }
            }
        }
        Ok(())
    }

    fn items(&mut self, items: &[Item], out: &mut Exposition) -> Result<(), Unavailable> {
        for batch in items.chunks(BATCH) {
            let mut keys = Vec::new();
            let mut what = Vec::new();
            for item in batch {
                // Ports have no watermarks. Periodic ones come first, because the first of a name counts.
                let tables: &[Table] = match item.subject {
                    Subject::Port => &[Table::Counters],
                    _ => &[Table::Periodic, Table::Counters, Table::User],
                };
                for table in tables {
                    keys.push(format!("{}:{}", table.name(), item.oid));
                    what.push((item, *table));
                }
            }
            let hashes = self.database.hashes(Db::Counters, &keys)?;
            for ((item, table), mut hash) in what.into_iter().zip(hashes) {
                // What the switch counts comes before what it estimates: SAI_ before EST_.
                hash.sort_by(|a, b| b.cmp(a));
                let Item { target, subject, .. } = item;
                for (name, value) in &hash {
                    let field = Field { target, subject, table, name };
                    field.export(value, self.detail, out);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
