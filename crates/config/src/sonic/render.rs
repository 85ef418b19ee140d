//! Writing `config_db.json`.

use super::{action, headroom_included, mode};
use crate::device::{Device, Port};
use crate::place::Said;
use crate::qos::{GroupSettings, Levels, Maps, WatchdogSettings, Wred};
use crate::text::{description, fit};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::Bytes;

/// Tables in the order they are written: what is referred to comes first.
const ORDER: [&str; 17] = [
    "DSCP_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "SCHEDULER",
    "WRED_PROFILE",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "CABLE_LENGTH",
    "PORT",
    "DEVICE_NEIGHBOR",
    "PORT_QOS_MAP",
    "QUEUE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "PFC_WD",
];

type Fields = Vec<(String, String)>;

#[derive(Default)]
struct Document {
    /// What maps and profiles are called.
    stem: String,
    tables: BTreeMap<&'static str, Vec<(String, Fields)>>,
}

impl Document {
    fn entry(&mut self, table: &'static str, key: impl Into<String>, fields: Fields) {
        if !fields.is_empty() {
            self.tables.entry(table).or_default().push((key.into(), fields));
        }
    }

    /// The key under which `fields` stand in `table`; a new one if they are new.
    fn shared(&mut self, table: &'static str, name: &str, fields: Fields) -> String {
        let known = self.tables.entry(table).or_default();
        if let Some((key, _)) = known.iter().find(|(_, old)| *old == fields) {
            return key.clone();
        }
        let mut key = name.to_owned();
        let mut number = 1;
        while known.iter().any(|(old, _)| *old == key) {
            number += 1;
            key = format!("{name}_{number}");
        }
        known.push((key.clone(), fields));
        key
    }

    fn write(&self) -> String {
        let mut text = String::from("{\n");
        let present: Vec<_> =
            ORDER.iter().filter_map(|name| self.tables.get_key_value(name)).collect();
        for (i, (table, entries)) in present.iter().enumerate() {
            let _ = writeln!(text, "    {}: {{", quoted(table));
            for (j, (key, fields)) in entries.iter().enumerate() {
                let _ = writeln!(text, "        {}: {{", quoted(key));
                for (k, (field, value)) in fields.iter().enumerate() {
                    let comma = if k + 1 < fields.len() { "," } else { "" };
                    let _ =
                        writeln!(text, "            {}: {}{comma}", quoted(field), quoted(value));
                }
                text += if j + 1 < entries.len() { "        },\n" } else { "        }\n" };
            }
            text += if i + 1 < present.len() { "    },\n" } else { "    }\n" };
        }
        text + "}\n"
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

pub(super) fn render(device: &Device) -> String {
    let stem = device.part.stem("_");
    let mut document = Document { stem, ..Document::default() };
    pools(&mut document, device);
    polling(&mut document, device);
    let included = headroom_included(device);
    for (name, port) in &device.ports {
        let name = name.as_str();
        let mut fields: Fields = Vec::new();
        fields.extend(description::of(port).map(|text| field("description", text)));
        fields.extend(port.mtu.said().map(|mtu| field("mtu", mtu.get())));
        document.entry("PORT", name, fields);
        neighbour(&mut document, name, port);
        qos_map(&mut document, name, port);
        queues(&mut document, name, port);
        groups(&mut document, name, port, included);
        watchdog(&mut document, name, port);
    }
    cables(&mut document, device);
    document.write()
}

fn neighbour(document: &mut Document, name: &str, port: &Port) {
    let Some(neighbour) = port.neighbour.said() else { return };
    let mut fields = vec![field("name", &neighbour.device)];
    fields.extend(neighbour.port.as_ref().map(|port| field("port", port)));
    document.entry("DEVICE_NEIGHBOR", name, fields);
}

fn field(name: &str, value: impl Display) -> (String, String) {
    (name.to_owned(), value.to_string())
}

fn numbered<T: Display>(map: &[Said<T>]) -> Fields {
    let said = map.iter().enumerate().filter_map(|(i, entry)| Some((i, entry.said()?)));
    said.map(|(i, value)| (i.to_string(), value.to_string())).collect()
}

fn qos_map(document: &mut Document, name: &str, port: &Port) {
    let maps: &Maps = &port.maps;
    let tables = [
        ("DSCP_TO_TC_MAP", "dscp_to_tc_map", numbered(&maps.dscp_to_class)),
        ("TC_TO_QUEUE_MAP", "tc_to_queue_map", numbered(&maps.class_to_queue)),
        ("TC_TO_PRIORITY_GROUP_MAP", "tc_to_pg_map", numbered(&maps.class_to_group)),
        ("MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_queue_map", numbered(&maps.pfc_to_queue)),
        ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc_to_pg_map", numbered(&maps.pfc_to_group)),
    ];
    let mut fields = Vec::new();
    for (table, binding, entries) in tables {
        if !entries.is_empty() {
            let key = document.shared(table, &document.stem.clone(), entries);
            fields.push(field(binding, key));
        }
    }
    if let Some(priorities) = port.pfc.said().filter(|set| !set.is_empty()) {
        fields.push(field("pfc_enable", priorities));
        if port.watchdog.on.get() == Some(true) {
            fields.push(field("pfcwd_sw_enable", priorities));
        }
    }
    document.entry("PORT_QOS_MAP", name, fields);
}

fn queues(document: &mut Document, name: &str, port: &Port) {
    for (number, queue) in port.queues.iter().enumerate() {
        let mut fields = Vec::new();
        if let Some(turn) = queue.scheduling.said() {
            let (profile, settings) = match turn {
                Scheduling::Strict => ("roce.strict".to_owned(), vec![field("type", "STRICT")]),
                Scheduling::Weighted(weight) => {
                    (format!("roce.{weight}"), vec![field("type", "DWRR"), field("weight", weight)])
                }
            };
            fields.push(field("scheduler", document.shared("SCHEDULER", &profile, settings)));
        }
        if let Some(settings) = queue.wred.said().and_then(wred) {
            fields.push(field(
                "wred_profile",
                document.shared("WRED_PROFILE", &document.stem.clone(), settings),
            ));
        }
        document.entry("QUEUE", format!("{name}|{number}"), fields);
    }
}

/// The same thresholds for all colours: RoCE is not coloured.
fn wred(wred: &Wred) -> Option<Fields> {
    let Levels::Sizes(ecn) = wred.levels else { return None };
    let mut fields = vec![field("ecn", if wred.marks { "ecn_all" } else { "ecn_none" })];
    for colour in ["green", "yellow", "red"] {
        fields.push(field(&format!("wred_{colour}_enable"), "true"));
        fields.push(field(&format!("{colour}_min_threshold"), ecn.kmin.get()));
        fields.push(field(&format!("{colour}_max_threshold"), ecn.kmax.get()));
        let probability = fit::percent(ecn.pmax);
        fields.push(field(&format!("{colour}_drop_probability"), probability));
    }
    Some(fields)
}

fn pools(document: &mut Document, device: &Device) {
    let lossless = |port: &Port| port.groups.iter().any(|group| !group.is_absent());
    if !device.ports.values().any(lossless) {
        return;
    }
    let Some(size) = device.shared_buffer.said() else { return };
    let all = device.ports.values().flat_map(|port| port.groups.iter());
    let mode = all.filter_map(|group| group.threshold.get()).map(mode).next();
    let mut fields = vec![
        field("type", "ingress"),
        field("mode", mode.unwrap_or("dynamic")),
        field("size", size.get()),
    ];
    if let Some(pool) = device.headroom_pool.said() {
        fields.push(field("xoff", pool.get()));
    }
    document.entry("BUFFER_POOL", "ingress_lossless_pool", fields);
    // A lossless packet is admitted once, at ingress: egress must never refuse it.
    let fields = vec![field("type", "egress"), field("mode", "static"), field("size", size.get())];
    document.entry("BUFFER_POOL", "egress_lossless_pool", fields);
    let fields = vec![
        field("pool", "egress_lossless_pool"),
        field("size", 0),
        field("static_th", size.get()),
    ];
    document.entry("BUFFER_PROFILE", "roce_egress_lossless", fields);
}

fn groups(document: &mut Document, name: &str, port: &Port, included: bool) {
    for (number, group) in port.groups.iter().enumerate() {
        if group.is_absent() {
            continue;
        }
        let profile =
            document.shared("BUFFER_PROFILE", &profile_name(port), profile(group, included));
        let key = format!("{name}|{number}");
        document.entry("BUFFER_PG", &key, vec![field("profile", profile)]);
        if document.tables.contains_key("BUFFER_POOL") {
            document.entry("BUFFER_QUEUE", key, vec![field("profile", "roce_egress_lossless")]);
        }
    }
}

fn profile_name(port: &Port) -> String {
    let rate = port.rate.get().map(|rate| format!("_{}", rate.bps() / 1_000_000));
    let cable = port.cable.get().map(|cable| format!("_{cable}"));
    format!("roce_lossless{}{}", rate.unwrap_or_default(), cable.unwrap_or_default())
}

fn profile(group: &GroupSettings, included: bool) -> Fields {
    let mut fields = vec![field("pool", "ingress_lossless_pool")];
    let headroom = group.headroom.get();
    if let Some(reserved) = group.reserved.get() {
        let beyond = headroom.filter(|_| included).unwrap_or(Bytes::ZERO);
        fields.push(field("size", (reserved + beyond).get()));
    }
    if let Some(offset) = group.xon_offset.get() {
        fields.push(field("xon", offset.get()));
        fields.push(field("xon_offset", offset.get()));
    }
    if let Some(headroom) = headroom {
        fields.push(field("xoff", headroom.get()));
    }
    match group.threshold.get() {
        Some(Threshold::Dynamic(alpha)) => {
            let (low, high) = super::ALPHA;
            fields.push(field("dynamic_th", fit::exponent(alpha, low, high)));
        }
        Some(Threshold::Static(size)) => fields.push(field("static_th", size.get())),
        None => {}
    }
    fields
}

fn detection(watchdog: &WatchdogSettings) -> Option<u64> {
    watchdog.detect.get().map(|span| fit::millis(span, 100, 5_000))
}

fn restoration(watchdog: &WatchdogSettings) -> Option<u64> {
    watchdog.restore.get().map(|span| fit::millis(span, 100, 60_000))
}

/// The poll interval: twice within the time that makes a queue stuck, and no longer than any
/// time of any port, which SONiC's model does not allow.
fn polling(document: &mut Document, device: &Device) {
    let watched = device.ports.values().map(|port| &port.watchdog);
    let watched = watched.filter(|watchdog| watchdog.on.said() == Some(&true));
    let longest = |watchdog: &WatchdogSettings| {
        let poll = detection(watchdog).unwrap_or(200) / 2;
        restoration(watchdog).map_or(poll, |restore| poll.min(restore))
    };
    if let Some(poll) = watched.map(longest).min() {
        let poll = poll.clamp(100, 1_000);
        document.entry("PFC_WD", "GLOBAL", vec![field("POLL_INTERVAL", poll)]);
    }
}

fn watchdog(document: &mut Document, name: &str, port: &Port) {
    let watchdog = &port.watchdog;
    if watchdog.on.said() != Some(&true) {
        return;
    }
    let mut fields = Vec::new();
    if let Some(reaction) = watchdog.reaction.get() {
        fields.push(field("action", action(reaction)));
    }
    if let Some(detect) = detection(watchdog) {
        fields.push(field("detection_time", detect));
    }
    if let Some(restore) = restoration(watchdog) {
        fields.push(field("restoration_time", restore));
    }
    document.entry("PFC_WD", name, fields);
}

fn cables(document: &mut Document, device: &Device) {
    let said = device.ports.iter().filter_map(|(name, port)| Some((name, port.cable.said()?)));
    let fields: Fields = said
        .map(|(name, cable)| field(name.as_str(), format!("{}m", cable.as_mm().div_ceil(1000))))
        .collect();
    document.entry("CABLE_LENGTH", "AZURE", fields);
}
