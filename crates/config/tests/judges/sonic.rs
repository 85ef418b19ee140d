//! SONiC's YANG models judge every table of a rendered `config_db.json`, with `yanglint`.
//!
//! The models describe whole devices: the lanes and speeds of ports, which are the box's and not ours,
//! are added to what is judged. Everything else must be accepted as rendered, references included.

use crate::common::{self, fabric_files};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

/// How a table of `config_db.json` is a list of its model.
enum Shape {
    /// The parts of an entry's name are these leaves; its fields are leaves.
    Entries(&'static [&'static str]),
    /// A field of an entry is a row of a list within, with these two leaves.
    Rows(&'static str, &'static str),
}

/// Every table that we render, with its model.
const TABLES: [(&str, &str, Shape); 17] = [
    ("DSCP_TO_TC_MAP", "sonic-dscp-tc-map", Shape::Rows("dscp", "tc")),
    ("TC_TO_QUEUE_MAP", "sonic-tc-queue-map", Shape::Rows("tc", "qindex")),
    ("TC_TO_PRIORITY_GROUP_MAP", "sonic-tc-priority-group-map", Shape::Rows("tc", "pg")),
    (
        "MAP_PFC_PRIORITY_TO_QUEUE",
        "sonic-pfc-priority-queue-map",
        Shape::Rows("pfc_priority", "qindex"),
    ),
    (
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
        "sonic-pfc-priority-priority-group-map",
        Shape::Rows("pfc_priority", "pg"),
    ),
    ("SCHEDULER", "sonic-scheduler", Shape::Entries(&["name"])),
    ("WRED_PROFILE", "sonic-wred-profile", Shape::Entries(&["name"])),
    ("BUFFER_POOL", "sonic-buffer-pool", Shape::Entries(&["name"])),
    ("BUFFER_PROFILE", "sonic-buffer-profile", Shape::Entries(&["name"])),
    ("CABLE_LENGTH", "sonic-cable-length", Shape::Rows("port", "length")),
    ("PORT", "sonic-port", Shape::Entries(&["name"])),
    ("DEVICE_NEIGHBOR", "sonic-device_neighbor", Shape::Entries(&["peer_name"])),
    ("PORT_QOS_MAP", "sonic-port-qos-map", Shape::Entries(&["ifname"])),
    ("QUEUE", "sonic-queue", Shape::Entries(&["ifname", "qindex"])),
    ("BUFFER_PG", "sonic-buffer-pg", Shape::Entries(&["port", "pg_num"])),
    ("BUFFER_QUEUE", "sonic-buffer-queue", Shape::Entries(&["port", "qindex"])),
    ("PFC_WD", "sonic-pfcwd", Shape::Entries(&["ifname"])),
];

/// The program and the models.
struct Judge {
    models: PathBuf,
    /// A folder for what is judged.
    folder: PathBuf,
}

impl Judge {
    /// None, with a word why, where program or models cannot be had.
    fn find() -> Option<Self> {
        let Some(models) = env::var_os("XOFF_SONIC_YANG") else {
            println!("SKIPPED: XOFF_SONIC_YANG names no folder with SONiC's YANG models");
            return None;
        };
        if Command::new("yanglint").arg("--version").output().is_err() {
            println!("SKIPPED: yanglint is not installed");
            return None;
        }
        let folder = env::temp_dir().join(format!("xoff-yang-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Some(Self { models: models.into(), folder })
    }

    fn model(&self, name: &str) -> PathBuf {
        self.models.join(format!("{name}.yang"))
    }

    /// What the models say against a file's text; empty if nothing.
    fn complaints(&self, text: &str) -> String {
        let data = self.folder.join("config.xml");
        fs::write(&data, self.instance(text)).unwrap();
        let mut command = Command::new("yanglint");
        command.arg("-t").arg("config").arg("-p").arg(&self.models);
        // Conditions look at the device's own table: without its model they would be left out.
        let known = TABLES.iter().map(|(_, model, _)| *model).chain(["sonic-device_metadata"]);
        let judged =
            command.args(known.map(|model| self.model(model))).arg(&data).output().unwrap();
        let said = String::from_utf8_lossy(&judged.stderr).into_owned();
        assert!(judged.status.success() || !said.is_empty(), "yanglint failed and says nothing");
        if judged.status.success() { String::new() } else { said }
    }

    /// A file's tables as instance data of their models. In XML, because JSON would have to know
    /// which leaves are numbers.
    fn instance(&self, text: &str) -> String {
        let tables: Map<String, Value> = serde_json::from_str(text).unwrap();
        let mut xml = String::new();
        for (table, entries) in &tables {
            let known = TABLES.iter().find(|(name, ..)| name == table);
            let (_, model, shape) = known.unwrap_or_else(|| panic!("{table} is not judged"));
            let space = namespace(&self.model(model));
            let _ = write!(xml, "<{model} xmlns=\"{space}\"><{table}>");
            for (key, fields) in entries.as_object().unwrap() {
                let _ = write!(xml, "<{table}_LIST>");
                entry(&mut xml, table, shape, key, fields.as_object().unwrap());
                let _ = write!(xml, "</{table}_LIST>");
            }
            let _ = write!(xml, "</{table}></{model}>");
        }
        xml
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // What is left of a failed clean-up is a small file in the folder for such.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn namespace(model: &Path) -> String {
    let text = fs::read_to_string(model).unwrap_or_else(|e| panic!("{}: {e}", model.display()));
    text.split("namespace").nth(1).and_then(|rest| rest.split('"').nth(1)).unwrap().to_owned()
}

fn entry(xml: &mut String, table: &str, shape: &Shape, key: &str, fields: &Map<String, Value>) {
    let leaves = fields.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
    match shape {
        Shape::Entries(names) => {
            assert_eq!(key.split('|').count(), names.len(), "{table} {key}");
            names.iter().zip(key.split('|')).for_each(|(name, part)| leaf(xml, name, part));
            leaves.for_each(|(name, value)| leaf(xml, name, value));
            if table == "PORT" {
                leaf(xml, "lanes", "1,2,3,4");
                leaf(xml, "speed", "400000");
            }
        }
        Shape::Rows(from, to) => {
            leaf(xml, "name", key);
            for (name, value) in leaves {
                let _ = write!(xml, "<{table}>");
                leaf(xml, from, name);
                leaf(xml, to, value);
                let _ = write!(xml, "</{table}>");
            }
        }
    }
}

fn leaf(xml: &mut String, name: &str, value: &str) {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    let _ = write!(xml, "<{name}>{value}</{name}>");
}

/// What is rendered for one switch per tier.
fn rendered(file: &str) -> Vec<String> {
    let intent = Intent::with(&common::setup(file), Choices::all(SystemId::Sonic));
    let system = SystemId::Sonic.system();
    let device = |name: &str| system.fit(intent.device(name).unwrap(), &mut Vec::new());
    ["leaf0", "spine0"].map(|name| system.render(&device(name)).remove(0).text).to_vec()
}

#[test]
fn sonic_s_models_accept_it() {
    let Some(judge) = Judge::find() else { return };
    let mut runner = TestRunner::deterministic();
    let drawn = (0..24).map(|_| fabric_files().new_tree(&mut runner).unwrap().current());
    // The model wants no time of the watchdog to be shorter than its polling interval.
    let hasty = common::POD.replace("'200ms'", "'4s'").replace("'400ms'", "'100ms'");
    let files: Vec<String> = [common::POD.to_owned(), hasty].into_iter().chain(drawn).collect();
    let mut seen = 0;
    for file in &files {
        for text in rendered(file) {
            let said = judge.complaints(&text);
            assert!(said.is_empty(), "{said}\n{file}\n{text}");
            seen += 1;
        }
    }
    println!("{seen} devices of {} fabrics are accepted by SONiC's models", files.len());
    // A judge that accepts everything is none.
    let text = rendered(common::POD).remove(0);
    for (right, wrong) in [
        ("\"dynamic_th\": \"-3\"", "\"dynamic_th\": \"-9\""),
        ("\"wred_profile\": \"ROCE\"", "\"wred_profile\": \"NONE\""),
        ("\"detection_time\": \"200\"", "\"detection_time\": \"99\""),
        ("\"POLL_INTERVAL\": \"100\"", "\"POLL_INTERVAL\": \"300\""),
        ("\"26\": \"3\"", "\"64\": \"3\""),
        ("\"mtu\": \"9216\"", "\"mtu\": \"9217\""),
    ] {
        assert!(text.contains(right), "{right}");
        let said = judge.complaints(&text.replacen(right, wrong, 1));
        assert!(!said.is_empty(), "{wrong} was accepted");
    }
}
