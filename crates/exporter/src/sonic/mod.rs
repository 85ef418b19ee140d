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

pub use database::{Address, Database, Db, Hash, Redis};

use crate::exposition::{Exposition, Kind, Target, Value};
use crate::names::meaning;
use crate::naming::Naming;
use crate::scraper::{Origin, Unavailable};
use std::collections::BTreeMap;
use std::rc::Rc;
use xoff_telemetry::metric::{Metric, Source};

/// Hashes that are asked for at once. A hundred ports' are a megabyte.
const BATCH: usize = 128;
/// Most ports, queues, groups and pools together.
const MOST: usize = 65_536;

const COUNTERS: &str = "COUNTERS";
const PERIODIC: &str = "PERIODIC_WATERMARKS";
const USER: &str = "USER_WATERMARKS";

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

/// What a hash of counters is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Port,
    /// A queue that stands for a priority, or an ingress priority group.
    Priority(u8),
    /// A queue that stands for none: of multicast, or beyond seven.
    Queue(String),
    Pool(String),
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
            let subject = match index.parse::<u8>() {
                Ok(priority @ 0..8) if !multicast.contains(oid) => Subject::Priority(priority),
                _ => Subject::Queue(index.to_owned()),
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
                    match field.as_str() {
                        "oper_status" => {
                            let up = Value::Whole((value == "up").into());
                            out.metric(target, Metric::Up, None, up);
                        }
                        // In Mbit/s.
                        "speed" => match value.parse::<u64>() {
                            Ok(speed) => {
                                let bits = Value::Whole(u128::from(speed) * 1_000_000);
                                out.metric(target, Metric::Speed, None, bits);
                            }
                            Err(_) => out.error(),
                        },
                        _ => {}
                    }
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
                let tables: &[&'static str] = match item.subject {
                    Subject::Port => &[COUNTERS],
                    _ => &[PERIODIC, COUNTERS, USER],
                };
                for table in tables {
                    keys.push(format!("{table}:{}", item.oid));
                    what.push((item, *table));
                }
            }
            let hashes = self.database.hashes(Db::Counters, &keys)?;
            for ((item, table), mut hash) in what.into_iter().zip(hashes) {
                // What the switch counts comes before what it estimates: SAI_ before EST_.
                hash.sort_by(|a, b| b.cmp(a));
                for (field, value) in &hash {
                    self.field(item, table, field, value, out);
                }
            }
        }
        Ok(())
    }

    fn field(&self, item: &Item, table: &str, field: &str, value: &str, out: &mut Exposition) {
        if field == "PFC_WD_STATUS" {
            return storm(item, value, out);
        }
        let watermark = field.contains("WATERMARK");
        let watchdog = field.starts_with("PFC_WD_QUEUE_STATS_");
        // The two other tables have watermarks only, and one that is not there says `N/A`.
        if (table != COUNTERS && !watermark) || value == "N/A" {
            return;
        }
        let schema = meaning(Source::Sonic, field).filter(|_| table != USER);
        let priority = match item.subject {
            Subject::Priority(priority) => Some(priority),
            _ => None,
        };
        let placed = matches!(item.subject, Subject::Port | Subject::Priority(_));
        let wanted = watermark || watchdog || self.detail == Detail::All;
        if !wanted && (schema.is_none() || !placed) {
            return;
        }
        let Some(number) = number(value) else {
            // Words, like PFC_WD_ACTION's `drop`, are no counters that failed.
            if schema.is_some() {
                out.error();
            }
            return;
        };
        let Some(schema) = schema.filter(|_| placed) else {
            return raw(item, table, field, number, out);
        };
        let value = Value::scaled(number, schema.scale);
        let priority = schema.priority.or(priority);
        match schema.metric {
            // A queue and a priority group drop different packets.
            Metric::BufferDrops => out.add(&item.target, schema.metric, priority, value),
            _ => {
                out.metric(&item.target, schema.metric, priority, value);
            }
        }
    }
}

/// Whether the watchdog has stopped a queue.
fn storm(item: &Item, value: &str, out: &mut Exposition) {
    let help = "Whether the PFC watchdog has stopped the queue: 1 or 0.";
    let stormed = Value::Whole((value == "stormed").into());
    out.raw(&labelled(item), "xoff_sonic_pfc_wd_stormed", Kind::Gauge, help, stormed);
}

/// What the schema has no name for. It is there from a better table, if it is there already.
fn raw(item: &Item, table: &str, field: &str, value: u64, out: &mut Exposition) {
    let plain = field.strip_prefix("SAI_").unwrap_or(field).to_ascii_lowercase();
    let plain = plain.replacen("_stat_", "_", 1);
    let user = if table == USER { "user_" } else { "" };
    let of_the_moment = ["WATERMARK", "CURR_OCCUPANCY", "DETECTION_TIME", "RESTORATION_TIME"];
    let gauge = of_the_moment.iter().any(|word| field.contains(word));
    let kind = if gauge { Kind::Gauge } else { Kind::Counter };
    let help = format!("`{field}` of SONiC's {table}.");
    let name = format!("xoff_sonic_{user}{plain}");
    out.raw(&labelled(item), &name, kind, &help, Value::Whole(value.into()));
}

fn labelled(item: &Item) -> Target {
    match &item.subject {
        Subject::Port => Target::clone(&item.target),
        Subject::Priority(priority) => item.target.with("priority", &priority.to_string()),
        Subject::Queue(queue) => item.target.with("queue", queue),
        Subject::Pool(pool) => item.target.with("pool", pool),
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests;
