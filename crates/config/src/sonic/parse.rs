//! Reading `config_db.json`.

mod tunnels;

use super::Sonic;
use super::tables::{self, KNOWN};
use crate::device::{Balancing, Device, Guard, Neighbour, PortName, Remark, RemarkKind};
use crate::number::{Class, Dscp, Group, Priorities, Priority, Queue, ranges};
use crate::place::{Place, Said};
use crate::qos::{GroupSettings, Levels, Maps, QueueSettings, Reaction, Trust, Wred};
use crate::system::{Input, System};
use crate::text::description;
use crate::text::fit::power;
use crate::text::json::{self, Key, Node};
use crate::text::notes::share;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xoff_fabric::model::{Ecn, Scheduling, Threshold, WatchdogAction};
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

/// The MTU of a port that says none (SONiC's port manager sets 9100).
const USUAL_MTU: Bytes = Bytes::new(9100);

pub(super) fn parse(input: &Input<'_>) -> Device {
    let read = json::read(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, Sonic.id()),
        input: *input,
        root: read.root.as_ref(),
        maps: Vec::new(),
        queues: Vec::new(),
        groups: Vec::new(),
        dangling: BTreeSet::new(),
        watched: BTreeMap::new(),
    };
    parser.device.balancing = Said::Default(Balancing::Hash);
    for line in &read.around {
        parser.remark(*line, *line, RemarkKind::Foreign);
    }
    if let Some(line) = read.broken {
        // What stands behind it was not read.
        let last = input.text.trim_end().lines().count() as u32;
        let kind = if read.cut { RemarkKind::Truncated } else { RemarkKind::Malformed };
        parser.remark(line, last.max(line), kind);
    }
    parser.foreign();
    parser.fields();
    parser.metadata();
    parser.ports();
    parser.bindings();
    parser.queues();
    parser.groups();
    parser.pools();
    parser.watchdogs();
    parser.neighbours();
    parser.tunnels();
    parser.device
}

struct Parser<'a> {
    device: Device,
    input: Input<'a>,
    root: Option<&'a Node>,
    maps: Vec<Arc<Maps>>,
    queues: Vec<Arc<[QueueSettings; 8]>>,
    groups: Vec<Arc<[GroupSettings; 8]>>,
    /// References to entries that are not there: each is remarked once.
    dangling: BTreeSet<String>,
    /// Priorities that the watchdog of a port looks at.
    watched: BTreeMap<String, Said<Priorities>>,
}

impl<'a> Parser<'a> {
    fn remark(&mut self, first: u32, last: u32, kind: RemarkKind) {
        let place = Place { file: self.input.file, first, last };
        self.device.remarks.push(Remark { place, kind });
    }

    fn place(&self, node: &Node) -> Place {
        Place { file: self.input.file, first: node.first, last: node.last }
    }

    fn table(&self, name: &str) -> &'a [(Key, Node)] {
        self.root.and_then(|root| root.get(name)).map_or(&[], Node::entries)
    }

    fn foreign(&mut self) {
        for (key, node) in self.root.map_or(&[][..], Node::entries) {
            if !KNOWN.contains(&key.text.as_str()) {
                self.remark(key.line, node.last, RemarkKind::Foreign);
            }
        }
    }

    /// Remarks fields that entries of their table do not have, but for tables that remark them where
    /// they are read.
    fn fields(&mut self) {
        for (table, known) in tables::FIELDS {
            for (_, entry) in self.table(table) {
                for (name, value) in entry.entries() {
                    if !known.contains(&name.text.as_str()) {
                        self.unknown(name, value);
                    }
                }
            }
        }
    }

    /// A field's value as `read` takes it; remarks what cannot be read.
    fn value<T>(&mut self, node: &Node, read: impl FnOnce(&str) -> Option<T>) -> Said<T> {
        match node.text().and_then(read) {
            Some(value) => Said::At(value, self.place(node)),
            None => {
                self.remark(node.first, node.last, RemarkKind::Malformed);
                Said::Absent
            }
        }
    }

    fn unknown(&mut self, key: &Key, node: &Node) {
        self.remark(key.line, node.last, RemarkKind::Unknown);
    }

    fn metadata(&mut self) {
        // The version of the database follows the release: the image is in no table.
        let database = self.table("VERSIONS").iter().find(|(key, _)| key.text == "DATABASE");
        if let Some(version) = database.and_then(|(_, node)| node.get("VERSION")) {
            self.device.version = self.value(version, |text| Some(text.to_owned()));
        }
        let Some((_, local)) =
            self.table("DEVICE_METADATA").iter().find(|(key, _)| key.text == "localhost")
        else {
            return;
        };
        for (key, node) in local.entries() {
            let text = |text: &str| Some(text.to_owned());
            match key.text.as_str() {
                "hostname" => {
                    if let Some(name) = node.text() {
                        self.device.name = name.to_owned();
                    }
                }
                "hwsku" | "platform" => {
                    let said = self.value(node, text);
                    // The SKU names the box; the platform is second best.
                    if key.text == "hwsku" || !self.device.hardware.is_said() {
                        self.device.hardware = said;
                    }
                }
                "sonic_version" | "version" | "build_version" => {
                    self.device.version = self.value(node, text);
                }
                _ => {}
            }
        }
    }

    fn ports(&mut self) {
        for (key, node) in self.table("PORT") {
            let place = self.place(node);
            let port = self.device.port(&key.text);
            port.place = Some(place);
            port.mtu = Said::Default(USUAL_MTU);
            for (name, value) in node.entries() {
                match name.text.as_str() {
                    "mtu" => self.device.port(&key.text).mtu = self.value(value, bytes),
                    "speed" => self.device.port(&key.text).rate = self.value(value, megabits),
                    "admin_status" => {
                        let up = self.value(value, |text| Some(text == "up"));
                        self.device.port(&key.text).enabled = up;
                    }
                    "description" => {
                        let said = self.value(value, |text| Some(description::neighbour(text)));
                        self.device.port(&key.text).neighbour = said;
                    }
                    // Lanes, FEC, names: the port's own business.
                    _ => {}
                }
            }
        }
        // A port that does not say so is down, unless nothing in the text says which ports are up.
        if self.device.ports.values().any(|port| port.enabled.said() == Some(&true)) {
            for port in self.device.ports.values_mut() {
                port.enabled = port.enabled.or_default(false);
            }
        }
        for (_, list) in self.table("CABLE_LENGTH") {
            for (key, node) in list.entries() {
                let said = self.value(node, |text| text.parse::<Length>().ok());
                self.device.port(&key.text).cable = said;
            }
        }
    }

    /// The entry that a field refers to, by `NAME` or by `[TABLE|NAME]`.
    fn target(&mut self, table: &str, node: &Node) -> Option<&'a Node> {
        let text = node.text().unwrap_or_default();
        let name = text.trim_matches(['[', ']']);
        let name = name.rsplit_once('|').map_or(name, |(_, name)| name);
        let found = self.table(table).iter().rev().find(|(key, _)| key.text == name);
        if found.is_none() && self.dangling.insert(format!("{table}|{name}")) {
            self.remark(node.first, node.last, RemarkKind::Undefined);
        }
        found.map(|(_, entry)| entry)
    }

    fn bindings(&mut self) {
        let mut known: BTreeMap<Vec<String>, Arc<Maps>> = BTreeMap::new();
        let all = self.table("PORT_QOS_MAP").iter().rev().find(|(key, _)| key.text == "global");
        // A map of DSCPs for the whole switch holds at ports that bind none.
        let global = all.and_then(|(_, node)| node.get("dscp_to_tc_map"));
        for (key, node) in self.table("PORT_QOS_MAP") {
            let mut trust = match global {
                Some(value) => Said::At(Trust::Dscp, self.place(value)),
                None => Said::Default(Trust::Nothing),
            };
            let mut pfc = Said::Default(Priorities::NONE);
            let mut watched = Said::Absent;
            let mut names = Vec::new();
            for (name, value) in node.entries() {
                match name.text.as_str() {
                    "pfc_enable" => pfc = self.value(value, Priorities::read),
                    "pfcwd_sw_enable" => watched = self.value(value, Priorities::read),
                    "dscp_to_tc_map" => trust = Said::At(Trust::Dscp, self.place(value)),
                    "dot1p_to_tc_map" if !trust.is_said() && global.is_none() => {
                        trust = Said::At(Trust::Pcp, self.place(value));
                    }
                    "dot1p_to_tc_map" | "tc_to_queue_map" | "tc_to_pg_map" => {}
                    "pfc_to_queue_map" | "pfc_to_pg_map" | "tc_to_dscp_map" | "scheduler" => {}
                    _ => self.unknown(name, value),
                }
                names.push(format!("{}={}", name.text, value.text().unwrap_or_default()));
            }
            if key.text == "global" {
                continue;
            }
            names.retain(|name| name.contains("_map="));
            let maps = match known.get(&names) {
                Some(maps) => Arc::clone(maps),
                None => {
                    let read = self.maps(node, global);
                    let shared = share(&mut self.maps, read);
                    known.insert(names, Arc::clone(&shared));
                    shared
                }
            };
            let place = self.place(node);
            for name in key.text.split(',') {
                let port = self.device.port(name.trim());
                port.place = port.place.or(Some(place));
                port.trust = trust;
                port.pfc = pfc;
                port.maps = Arc::clone(&maps);
                self.watched.insert(name.trim().to_owned(), watched);
            }
        }
    }

    fn maps(&mut self, binding: &'a Node, global: Option<&'a Node>) -> Maps {
        let mut maps = Maps::default();
        if let Some(node) = binding.get("dscp_to_tc_map").or(global) {
            self.map("DSCP_TO_TC_MAP", node, &mut maps.dscp_to_class, Dscp::COUNT, Class::read);
        }
        if let Some(node) = binding.get("tc_to_queue_map") {
            self.map("TC_TO_QUEUE_MAP", node, &mut maps.class_to_queue, 8, Queue::read);
        }
        if let Some(node) = binding.get("tc_to_pg_map") {
            self.map("TC_TO_PRIORITY_GROUP_MAP", node, &mut maps.class_to_group, 8, Group::read);
        }
        if let Some(node) = binding.get("pfc_to_queue_map") {
            self.map("MAP_PFC_PRIORITY_TO_QUEUE", node, &mut maps.pfc_to_queue, 8, Queue::read);
        }
        if let Some(node) = binding.get("pfc_to_pg_map") {
            let table = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP";
            self.map(table, node, &mut maps.pfc_to_group, Priority::COUNT, Group::read);
        }
        maps.identity_by_default();
        maps
    }

    fn map<T>(
        &mut self,
        table: &str,
        reference: &Node,
        map: &mut [Said<T>],
        count: usize,
        read: fn(&str) -> Option<T>,
    ) {
        let Some(entry) = self.target(table, reference) else { return };
        // Switches that share servers with another have a ninth class, for what is worth least. It is not in the model.
        let ninth = |text: Option<&str>, has: bool| has && text.map(str::trim) == Some("8");
        let (from_classes, to_classes) = (table.starts_with("TC_"), table.ends_with("_TO_TC_MAP"));
        for (key, node) in entry.entries() {
            if ninth(Some(&key.text), from_classes) || ninth(node.text(), to_classes) {
                self.unknown(key, node);
                continue;
            }
            match key.text.trim().parse::<usize>().ok().filter(|from| *from < count) {
                Some(from) => map[from] = self.value(node, read),
                None => self.remark(key.line, node.last, RemarkKind::Malformed),
            }
        }
    }

    /// Ports and numbers of a key like `Ethernet0,Ethernet4|3-4`.
    fn numbered_key(&mut self, key: &Key) -> Vec<(String, usize)> {
        let parts = key.text.rsplit_once('|');
        let numbers = parts.and_then(|(_, numbers)| ranges(numbers, 64));
        let (Some((ports, _)), Some(numbers)) = (parts, numbers) else {
            self.remark(key.line, key.line, RemarkKind::Malformed);
            return Vec::new();
        };
        // A chassis puts its own name before the port's.
        let ports = ports.split(',').map(|port| port.rsplit('|').next().unwrap_or(port).trim());
        // Queues above 7 are for multicast, and not in the model.
        if numbers.iter().any(|number| *number >= 8) {
            self.remark(key.line, key.line, RemarkKind::Foreign);
        }
        let numbers: Vec<usize> =
            numbers.into_iter().map(usize::from).filter(|number| *number < 8).collect();
        ports
            .flat_map(|port| numbers.iter().map(move |number| (port.to_owned(), *number)))
            .collect()
    }

    fn queues(&mut self) {
        let mut all: BTreeMap<String, [QueueSettings; 8]> = BTreeMap::new();
        for (key, node) in self.table("QUEUE") {
            let mut settings = QueueSettings::default();
            for (name, value) in node.entries() {
                match name.text.as_str() {
                    "scheduler" => {
                        let target = self.target("SCHEDULER", value);
                        settings.scheduling =
                            target.map_or(Said::Absent, |entry| self.scheduler(entry));
                    }
                    "wred_profile" => {
                        let target = self.target("WRED_PROFILE", value);
                        settings.wred = target.map_or(Said::Absent, |entry| self.wred(entry));
                    }
                    _ => self.unknown(name, value),
                }
            }
            for (port, number) in self.numbered_key(key) {
                let entry = all.entry(port).or_default();
                let old = entry[number];
                entry[number] = QueueSettings {
                    scheduling: if settings.scheduling.is_said() {
                        settings.scheduling
                    } else {
                        old.scheduling
                    },
                    wred: if settings.wred.is_said() { settings.wred } else { old.wred },
                };
            }
        }
        for (port, queues) in all {
            let shared = share(&mut self.queues, queues);
            self.device.port(&port).queues = shared;
        }
    }

    fn scheduler(&mut self, entry: &Node) -> Said<Scheduling> {
        let kind = entry.get("type").and_then(Node::text).unwrap_or_default();
        let weight = entry.get("weight").and_then(Node::text).map(str::parse::<u32>);
        let turn = match (kind, weight) {
            ("STRICT", _) => Some(Scheduling::Strict),
            ("DWRR" | "WRR", Some(Ok(weight))) => Some(Scheduling::Weighted(weight)),
            ("DWRR" | "WRR", None) => Some(Scheduling::Weighted(1)),
            _ => None,
        };
        match turn {
            Some(turn) => Said::At(turn, self.place(entry)),
            None => {
                self.remark(entry.first, entry.last, RemarkKind::Malformed);
                Said::Absent
            }
        }
    }

    fn wred(&mut self, entry: &Node) -> Said<Wred> {
        let number = |field: &str| entry.get(field).and_then(Node::text)?.parse::<u64>().ok();
        let colours = ["green", "yellow", "red"];
        // RoCE is green, unless a profile has other colours only.
        let colour = colours.into_iter().find(|c| number(&format!("{c}_max_threshold")).is_some());
        // Thresholds of a colour that is switched off are those of nothing.
        let enabled = |colour| entry.get(&format!("wred_{colour}_enable")).and_then(Node::text);
        if colour.and_then(enabled).is_some_and(|word| word.eq_ignore_ascii_case("false")) {
            return Said::Absent;
        }
        let ecn = colour.and_then(|colour| {
            Some(Ecn {
                kmin: Bytes::new(number(&format!("{colour}_min_threshold"))?),
                kmax: Bytes::new(number(&format!("{colour}_max_threshold"))?),
                pmax: Ratio::new(
                    number(&format!("{colour}_drop_probability")).unwrap_or(100).min(100),
                    100,
                ),
            })
        });
        let marks = match entry.get("ecn").and_then(Node::text) {
            Some(word) => word == "ecn_all" || word.contains("green"),
            None => false,
        };
        match ecn {
            Some(ecn) => Said::At(Wred { levels: Levels::Sizes(ecn), marks }, self.place(entry)),
            None => {
                self.remark(entry.first, entry.last, RemarkKind::Malformed);
                Said::Absent
            }
        }
    }

    fn groups(&mut self) {
        let mut all: BTreeMap<String, [GroupSettings; 8]> = BTreeMap::new();
        for (key, node) in self.table("BUFFER_PG") {
            let Some(reference) = node.get("profile") else { continue };
            // Profiles that the box computes itself are not written down.
            let computed = reference.text() == Some("NULL");
            let profile = if computed { None } else { self.target("BUFFER_PROFILE", reference) };
            let settings = profile.and_then(|profile| self.profile(profile));
            for (port, number) in self.numbered_key(key) {
                if let Some(settings) = settings {
                    all.entry(port).or_default()[number] = settings;
                }
            }
        }
        for (port, groups) in all {
            let shared = share(&mut self.groups, groups);
            self.device.port(&port).groups = shared;
        }
    }

    /// A lossless profile: one with headroom. Others only bound what may be dropped.
    fn profile(&mut self, profile: &Node) -> Option<GroupSettings> {
        let mut read = |field: &str| profile.get(field).map(|node| self.value(node, bytes));
        let headroom = read("xoff")?;
        let size = read("size").unwrap_or_default();
        let offset = read("xon_offset").or_else(|| read("xon")).unwrap_or_default();
        let fixed = read("static_th").map(|said| said.map(Threshold::Static));
        let dynamic = profile.get("dynamic_th").map(|node| {
            let exponent = |text: &str| {
                let exponent = text.parse::<i32>().ok().filter(|e| (-8..=7).contains(e))?;
                Some(Threshold::Dynamic(power(exponent)))
            };
            self.value(node, exponent)
        });
        let beyond = headroom.get().unwrap_or(Bytes::ZERO);
        let reserved = size.map(|size| if size >= beyond { size - beyond } else { size });
        let threshold = dynamic.or(fixed).unwrap_or_default();
        Some(GroupSettings { reserved, threshold, xon_offset: offset, headroom })
    }

    fn pools(&mut self) {
        let pools = self.table("BUFFER_POOL");
        // A box with one pool for all that arrives calls it otherwise.
        let profiles = self.table("BUFFER_PROFILE").iter();
        let mut lossless = profiles.filter(|(_, profile)| profile.get("xoff").is_some());
        let named = lossless.find_map(|(_, profile)| profile.get("pool")?.text());
        let named = named.map(|name| name.trim_matches(['[', ']']));
        let named = named.map(|name| name.rsplit_once('|').map_or(name, |(_, name)| name));
        let wanted = named.unwrap_or("ingress_lossless_pool");
        let Some((_, pool)) = pools.iter().find(|(key, _)| key.text == wanted) else { return };
        if let Some(size) = pool.get("size") {
            self.device.shared_buffer = self.value(size, bytes);
        }
        if let Some(xoff) = pool.get("xoff") {
            self.device.headroom_pool = self.value(xoff, bytes);
        }
    }

    fn watchdogs(&mut self) {
        let entries = self.table("PFC_WD");
        for (key, node) in entries {
            if key.text == "GLOBAL" {
                continue;
            }
            let mut found = crate::qos::WatchdogSettings {
                on: Said::At(true, self.place(node)),
                ..Default::default()
            };
            for (name, value) in node.entries() {
                match name.text.as_str() {
                    "action" => found.reaction = self.value(value, reaction),
                    "detection_time" => found.detect = self.value(value, milliseconds),
                    "restoration_time" => found.restore = self.value(value, milliseconds),
                    "pfc_stat_history" => {}
                    _ => self.unknown(name, value),
                }
            }
            for name in key.text.split(',') {
                self.device.port(name.trim()).watchdog = found;
            }
        }
        let named = !self.watches_what_pauses();
        for (name, port) in &mut self.device.ports {
            let pauses = port.pfc.get().unwrap_or(Priorities::NONE);
            let watched = self.watched.get(name.as_str()).copied().unwrap_or_default();
            let looks = pauses.iter().any(|p| watched.get().is_some_and(|set| set.has(p)));
            if let (Said::At(true, place), true, false) = (port.watchdog.on, named, looks)
                && !pauses.is_empty()
            {
                port.watchdog.on = Said::At(false, watched.place().unwrap_or(place));
            }
            port.watchdog.on = port.watchdog.on.or_default(false);
        }
    }

    /// Whether the release is one whose watchdog looks at all priorities that pause. Later ones look at those of
    /// `pfcwd_sw_enable`, which the upgrade from version 3.0.4 of the database writes.
    fn watches_what_pauses(&self) -> bool {
        let version = self.device.version.value().map_or("", String::as_str);
        let numbers = version.strip_prefix("version_").unwrap_or_default().split('_');
        let numbers: Vec<u32> = numbers.map_while(|number| number.parse().ok()).collect();
        !numbers.is_empty() && numbers.as_slice() <= [3, 0, 4].as_slice()
    }

    fn neighbours(&mut self) {
        for (key, node) in self.table("DEVICE_NEIGHBOR") {
            let Some(device) = node.get("name").and_then(Node::text) else { continue };
            let port = node.get("port").and_then(Node::text).map(str::to_owned);
            let neighbour = Neighbour { device: device.to_owned(), port };
            let place = self.place(node);
            let name = PortName::new(key.text.as_str());
            if let Some(port) = self.device.ports.get_mut(&name) {
                port.neighbour = Said::At(neighbour, place);
            }
        }
        for (key, node) in self.table("ACL_RULE") {
            let names_roce = node.get("L4_DST_PORT").and_then(Node::text) == Some("4791");
            if names_roce {
                let place = self.place(node);
                self.device.guards.push(Guard { name: key.text.clone(), place });
            }
        }
    }
}

fn bytes(text: &str) -> Option<Bytes> {
    text.trim().parse().ok().map(Bytes::new)
}

fn megabits(text: &str) -> Option<Rate> {
    let mbps: u64 = text.trim().parse().ok()?;
    mbps.checked_mul(1_000_000).map(Rate::from_bps)
}

fn milliseconds(text: &str) -> Option<Span> {
    let ms: u64 = text.trim().parse().ok()?;
    // A longer time than this does not fit the clock, and no watchdog waits so long.
    (ms < 1_000_000_000).then(|| Span::from_ms(ms))
}

fn reaction(text: &str) -> Option<Reaction> {
    match text {
        "drop" => Some(Reaction::Act(WatchdogAction::Drop)),
        "forward" => Some(Reaction::Act(WatchdogAction::Forward)),
        "alert" => Some(Reaction::Alert),
        _ => None,
    }
}
