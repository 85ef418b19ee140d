//! OpenConfig's models judge what is written for gNMI, with `yanglint`: names, types and references.

use crate::{Folder, common, fabrics};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xoff_config::delivery::gnmi;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

struct Judge {
    models: Vec<PathBuf>,
    modules: Vec<PathBuf>,
    folder: Folder,
}

/// All folders below one that hold models.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    found.push(folder.to_owned());
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.path().is_dir() {
            below(&entry.path(), found);
        }
    }
}

impl Judge {
    /// None, with a word why, where program or models cannot be had.
    fn find() -> Option<Self> {
        let Some(root) = env::var_os("XOFF_OPENCONFIG").map(PathBuf::from) else {
            println!("SKIPPED: XOFF_OPENCONFIG names no folder with OpenConfig's models");
            return None;
        };
        if Command::new("yanglint").arg("--version").output().is_err() {
            println!("SKIPPED: yanglint is not installed");
            return None;
        }
        let mut models = Vec::new();
        below(&root, &mut models);
        let find = |name: &str| {
            let file = models.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
            file.unwrap_or_else(|| panic!("{name} is not in {}", root.display()))
        };
        let wanted = ["openconfig-qos", "openconfig-interfaces", "iana-if-type"];
        let modules = wanted.map(|name| find(&format!("{name}.yang"))).to_vec();
        Some(Self { models, modules, folder: Folder::new("openconfig") })
    }

    /// What the models say against a text; empty if nothing.
    fn complaints(&self, text: &str) -> String {
        let data = self.folder.0.join("device.json");
        fs::write(&data, text).unwrap();
        let mut command = Command::new("yanglint");
        command.args(["-t", "config"]);
        for folder in &self.models {
            command.arg("-p").arg(folder);
        }
        let judged = command.args(&self.modules).arg(&data).output().unwrap();
        let said = String::from_utf8_lossy(&judged.stderr).into_owned();
        assert!(judged.status.success() || !said.is_empty(), "yanglint failed and says nothing");
        if judged.status.success() { String::new() } else { said }
    }
}

#[test]
fn openconfig_s_models_accept_it() {
    let Some(judge) = Judge::find() else { return };
    let mut seen = 0;
    let systems = [SystemId::Eos, SystemId::Sonic, SystemId::Junos, SystemId::NxOs];
    for (file, id) in fabrics(8).iter().zip(systems.into_iter().cycle()) {
        let intent = Intent::with(&common::setup(file), Choices::all(id));
        for name in ["leaf0", "spine0"] {
            let fitting = id.system().fit(intent.device(name).unwrap(), &mut Vec::new());
            let text = gnmi::file(&fitting).text;
            let said = judge.complaints(&text);
            assert!(said.is_empty(), "{said}\n{text}");
            seen += 1;
        }
    }
    println!("{seen} devices are accepted by OpenConfig's models");
    // A judge that accepts everything is none.
    let intent = Intent::with(&common::setup(common::POD), Choices::all(SystemId::Eos));
    let text = gnmi::file(intent.device("leaf0").unwrap()).text;
    for (right, wrong) in [
        ("\"target-group\": \"tc3\"", "\"target-group\": \"tc9\""),
        ("\"STRICT\"", "\"STRICTEST\""),
        ("\"enable-ecn\": true", "\"ecn\": true"),
        ("\"openconfig-qos:DYNAMIC", "\"openconfig-qos:DYNAMO"),
        ("\"weight\": \"", "\"weight\": \"x"),
    ] {
        assert!(text.contains(right), "{right}\n{text}");
        assert!(
            !judge.complaints(&text.replacen(right, wrong, 1)).is_empty(),
            "{wrong} was accepted"
        );
    }
}
