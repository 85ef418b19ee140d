//! Juniper's YANG models for QFX judge every statement of a rendered configuration, with `yanglint`.
//!
//! `XOFF_JUNOS_YANG` names a folder with the models of one release: `junos-qfx/conf/models` and
//! `common/models` of Juniper's repository of models, side by side.

use crate::common::{self, fabric_files};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

const MODELS: [&str; 4] = ["root", "class-of-service", "interfaces", "forwarding-options"];

/// An element of instance data: equal ones are one.
#[derive(Default)]
struct Element {
    tag: String,
    /// Keys of a list's entry, as XML.
    keys: String,
    text: String,
    below: Vec<Element>,
}

/// A step of a path: tag, keys, text.
type Step = (&'static str, String, String);

impl Element {
    fn put(&mut self, path: &[Step]) {
        let Some(((tag, keys, text), rest)) = path.split_first() else { return };
        let same = |e: &Element| e.tag == *tag && e.keys == *keys && e.text == *text;
        let at = self.below.iter().position(same).unwrap_or_else(|| {
            let (tag, keys, text) = ((*tag).to_owned(), keys.clone(), text.clone());
            self.below.push(Element { tag, keys, text, below: Vec::new() });
            self.below.len() - 1
        });
        self.below[at].put(rest);
    }

    fn write(&self, xml: &mut String, depth: usize) {
        let part = if depth == 0 { "root" } else { self.tag.as_str() };
        let space = match depth {
            0 | 1 => format!(" xmlns=\"http://yang.juniper.net/junos-qfx/conf/{part}\""),
            _ => String::new(),
        };
        let _ = write!(xml, "<{}{space}>{}{}", self.tag, self.keys, self.text);
        self.below.iter().for_each(|element| element.write(xml, depth + 1));
        let _ = write!(xml, "</{}>", self.tag);
    }
}

fn container(tag: &'static str) -> Step {
    (tag, String::new(), String::new())
}

fn list(tag: &'static str, name: &str) -> Step {
    (tag, format!("<name>{name}</name>"), String::new())
}

fn leaf(tag: &'static str, text: &str) -> Step {
    (tag, String::new(), text.to_owned())
}

/// The paths that the words of a `set` command make in the models.
fn paths(words: &[&str]) -> Vec<Vec<Step>> {
    let one = |steps: Vec<Step>| vec![steps];
    match words {
        ["interfaces", port, rest @ ..] => {
            let step = match rest {
                ["description", ..] => leaf("description", &rest[1..].join(" ")),
                ["mtu", mtu] => leaf("mtu", mtu),
                _ => panic!("{words:?} is not judged"),
            };
            one(vec![container("interfaces"), list("interface", port), step])
        }
        ["forwarding-options", "enhanced-hash-key", "ecmp-dlb", rest @ ..] => {
            let mut steps =
                ["forwarding-options", "enhanced-hash-key", "ecmp-dlb"].map(container).to_vec();
            match rest {
                ["flowlet", "inactivity-interval", time] => {
                    steps.extend([container("flowlet"), leaf("inactivity-interval", time)]);
                }
                ["per-packet"] => steps.push(container("per-packet")),
                ["ether-type", "ipv4"] => steps.extend(["ether-type", "ipv4"].map(container)),
                ["ether-type", "ipv6"] => steps.extend(["ether-type", "ipv6"].map(container)),
                _ => panic!("{words:?} is not judged"),
            }
            one(steps)
        }
        ["class-of-service", rest @ ..] => {
            let below = class_of_service(rest);
            let under = |steps: Vec<Step>| [vec![container("class-of-service")], steps].concat();
            below.into_iter().map(under).collect()
        }
        _ => panic!("{words:?} is not judged"),
    }
}

fn class_of_service(words: &[&str]) -> Vec<Vec<Step>> {
    match words {
        [
            "classifiers",
            "dscp",
            name,
            "forwarding-class",
            class,
            "loss-priority",
            loss,
            _,
            points @ ..,
        ] => {
            let point = |point: &&str| {
                vec![
                    container("classifiers"),
                    list("dscp", name),
                    list("forwarding-class", class),
                    list("loss-priority", loss),
                    leaf("code-points", point),
                ]
            };
            points.iter().map(point).collect()
        }
        ["drop-profiles", name, "interpolate", what, points @ ..] => {
            let tag = if *what == "fill-level" { "fill-level" } else { "drop-probability" };
            let above = || vec![list("drop-profiles", name), container("interpolate")];
            points.iter().map(|point| [above(), vec![leaf(tag, point)]].concat()).collect()
        }
        ["shared-buffer", "ingress", "buffer-partition", part, "dynamic-threshold", step] => {
            vec![vec![
                container("shared-buffer"),
                container("ingress"),
                list("buffer-partition", part),
                leaf("dynamic-threshold", step),
            ]]
        }
        ["forwarding-classes", "class", name, "queue-num", queue, rest @ ..] => {
            let above = || vec![container("forwarding-classes"), list("class", name)];
            let mut leaves = vec![leaf("queue-num", queue)];
            if let ["no-loss", "pfc-priority", priority] = rest {
                leaves.extend([container("no-loss"), leaf("pfc-priority", priority)]);
            }
            leaves.into_iter().map(|leaf| [above(), vec![leaf]].concat()).collect()
        }
        ["congestion-notification-profile", name, rest @ ..] => {
            let mut steps = vec![list("congestion-notification-profile", name)];
            steps.extend(pausing(rest));
            vec![steps]
        }
        ["interfaces", port, rest @ ..] => {
            let mut steps = vec![container("interfaces"), list("interface", port)];
            match rest {
                ["congestion-notification-profile", name] => {
                    steps.push(leaf("congestion-notification-profile", name));
                }
                ["scheduler-map", name] => steps.push(leaf("scheduler-map", name)),
                ["unit", unit, "classifiers", "dscp", name] => {
                    let bound = leaf("dscp", &format!("<name>{name}</name>"));
                    steps.extend([list("unit", unit), container("classifiers"), bound]);
                }
                _ => panic!("{words:?} is not judged"),
            }
            vec![steps]
        }
        ["scheduler-maps", map, "forwarding-class", class, "scheduler", scheduler] => {
            vec![vec![
                list("scheduler-maps", map),
                list("forwarding-class", class),
                leaf("scheduler", scheduler),
            ]]
        }
        ["schedulers", name, rest @ ..] => {
            let mut steps = vec![list("schedulers", name)];
            match rest {
                ["transmit-rate", "percent", share] => {
                    steps.extend([container("transmit-rate"), leaf("percent", share)]);
                }
                ["priority", word] => steps.push(leaf("priority", word)),
                ["explicit-congestion-notification"] => {
                    steps.push(container("explicit-congestion-notification"))
                }
                [
                    "drop-profile-map",
                    "loss-priority",
                    loss,
                    "protocol",
                    protocol,
                    "drop-profile",
                    profile,
                ] => {
                    let keys = format!(
                        "<loss-priority>{loss}</loss-priority><protocol>{protocol}</protocol>"
                    );
                    steps.push(("drop-profile-map", keys, String::new()));
                    steps.push(leaf("drop-profile", profile));
                }
                _ => panic!("{words:?} is not judged"),
            }
            vec![steps]
        }
        _ => panic!("{words:?} is not judged"),
    }
}

fn pausing(words: &[&str]) -> Vec<Step> {
    match words {
        ["pfc-watchdog"] => vec![container("pfc-watchdog")],
        ["pfc-watchdog", what, value] => {
            let known = ["poll-interval", "detection", "recovery", "watchdog-action"];
            let tag = known.into_iter().find(|tag| tag == what).expect("a known time");
            vec![container("pfc-watchdog"), leaf(tag, value)]
        }
        ["input", "cable-length", metres] => vec![container("input"), leaf("cable-length", metres)],
        ["input", "dscp", "code-point", point, "pfc"] => {
            vec![container("input"), container("dscp"), list("code-point", point), container("pfc")]
        }
        ["output", "ieee-802.1", "code-point", point, "flow-control-queue", queue] => vec![
            container("output"),
            container("ieee-802.1"),
            list("code-point", point),
            leaf("flow-control-queue", queue),
        ],
        _ => panic!("{words:?} is not judged"),
    }
}

struct Judge {
    folder: PathBuf,
}

impl Judge {
    /// None, with a word why, where program or models cannot be had.
    fn find() -> Option<Self> {
        let Some(models) = env::var_os("XOFF_JUNOS_YANG") else {
            println!("SKIPPED: XOFF_JUNOS_YANG names no folder with Juniper's YANG models for QFX");
            return None;
        };
        if Command::new("yanglint").arg("--version").output().is_err() {
            println!("SKIPPED: yanglint is not installed");
            return None;
        }
        let folder = env::temp_dir().join(format!("xoff-junos-yang-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(models).unwrap() {
            let path = entry.unwrap().path();
            // YANG 1.1 knows no `\*` within quotation marks; the models have it in a pattern.
            let text = fs::read_to_string(&path).unwrap().replace("\\*", "\\\\*");
            // The models' own names, without the date of the release.
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let stem = name.split(['@', '.']).next().unwrap_or(&name).to_owned();
            fs::write(folder.join(format!("{stem}.yang")), text).unwrap();
        }
        Some(Self { folder })
    }

    /// What the models say against a file's text; empty if nothing.
    fn complaints(&self, text: &str) -> String {
        let mut root = Element { tag: "configuration".to_owned(), ..Element::default() };
        for line in text.lines().filter_map(|line| line.strip_prefix("set ")) {
            let plain = line.replace(['[', ']', '"'], " ");
            let words: Vec<&str> = plain.split_whitespace().collect();
            paths(&words).iter().for_each(|path| root.put(path));
        }
        let mut xml = String::new();
        root.write(&mut xml, 0);
        let data = self.folder.join("config.xml");
        fs::write(&data, xml).unwrap();
        let models = MODELS.map(|model| self.folder.join(format!("junos-qfx-conf-{model}.yang")));
        let mut command = Command::new("yanglint");
        command.args(["-t", "config", "-p"]).arg(&self.folder).args(models).arg(&data);
        let judged = command.output().unwrap();
        let said = String::from_utf8_lossy(&judged.stderr).into_owned();
        assert!(judged.status.success() || !said.is_empty(), "yanglint failed and says nothing");
        if judged.status.success() { String::new() } else { said }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // What is left of a failed clean-up are small files in the folder for such.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn rendered(file: &str, balancing: Balancing) -> Vec<String> {
    let choices = Choices { balancing, ..Choices::all(SystemId::JunosSet) };
    let intent = Intent::with(&common::setup(file), choices);
    let system = SystemId::JunosSet.system();
    let device = |name: &str| system.fit(intent.device(name).unwrap(), &mut Vec::new());
    ["leaf0", "spine0"].map(|name| system.render(&device(name)).remove(0).text).to_vec()
}

#[test]
fn juniper_s_models_accept_it() {
    let Some(judge) = Judge::find() else { return };
    let mut runner = TestRunner::deterministic();
    let drawn = (0..12).map(|_| fabric_files().new_tree(&mut runner).unwrap().current());
    let files: Vec<String> = [common::POD.to_owned()].into_iter().chain(drawn).collect();
    let ways = [Balancing::Hash, Balancing::Flowlet, Balancing::Packet];
    let mut seen = 0;
    for (file, balancing) in files.iter().zip(ways.into_iter().cycle()) {
        for text in rendered(file, balancing) {
            let said = judge.complaints(&text);
            assert!(said.is_empty(), "{said}\n{file}\n{text}");
            seen += 1;
        }
    }
    println!("{seen} devices of {} fabrics are accepted by Juniper's models", files.len());
    // A judge that accepts everything is none.
    let text = rendered(common::POD, Balancing::Hash).remove(0);
    for (right, wrong) in [
        ("queue-num 3", "queue-num three"),
        ("dynamic-threshold 4", "dynamic-threshold 11"),
        ("watchdog-action drop", "watchdog-action alert"),
        ("detection 2", "detection two"),
        ("mtu 9216", "mtu jumbo"),
    ] {
        assert!(text.contains(right), "{right}");
        let said = judge.complaints(&text.replacen(right, wrong, 1));
        assert!(!said.is_empty(), "{wrong} was accepted");
    }
}
