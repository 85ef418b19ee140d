//! The playbook is judged by `ansible-playbook --syntax-check` and by `ansible-lint`, options of modules
//! included; the files by the reader that vendors' modules have in common.

use crate::{Folder, common};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use xoff_config::delivery::ansible;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

/// The vendors' modules that playbooks use, with the options they use.
const MODULES: [(&str, &str, &str); 4] = [
    ("arista.eos", "eos_config", "src replace save_when backup backup_options"),
    ("cisco.nxos", "nxos_config", "src save_when backup backup_options"),
    (
        "junipernetworks.junos",
        "junos_config",
        "src src_format update confirm comment confirm_commit backup backup_options",
    ),
    ("dellemc.os10", "os10_config", "src save backup backup_options"),
];

struct Judge {
    programs: Option<PathBuf>,
    collections: String,
}

impl Judge {
    /// Programs and collections, stood in for where they are not installed. `None`, with a word why,
    /// where the programs are not.
    fn find(folder: &Path) -> Option<Self> {
        let programs = env::var_os("XOFF_ANSIBLE").map(PathBuf::from);
        let installed = env::var("ANSIBLE_COLLECTIONS_PATH").unwrap_or_default();
        let stubs = folder.join("stubs");
        for (collection, module, options) in MODULES {
            let place = format!("ansible_collections/{}", collection.replace('.', "/"));
            let real = |path: &str| !path.is_empty() && Path::new(path).join(&place).is_dir();
            if installed.split(':').any(real) {
                println!("{collection} is judged by its own module");
                continue;
            }
            println!(
                "SKIPPED: {collection} is not installed; a stand-in knows the options by name only"
            );
            let modules = stubs.join(place).join("plugins/modules");
            fs::create_dir_all(&modules).unwrap();
            fs::write(modules.join(format!("{module}.py")), stub(module, options)).unwrap();
        }
        let collections = format!("{installed}:{}", stubs.display());
        let judge = Self { programs, collections: collections.trim_start_matches(':').to_owned() };
        for name in ["ansible-playbook", "ansible-lint"] {
            if judge.command(name).arg("--version").output().is_err() {
                println!("SKIPPED: {name} is not installed (XOFF_ANSIBLE names its folder)");
                return None;
            }
        }
        Some(judge)
    }

    /// Whether a collection is there, and no stand-in.
    fn is_installed(&self, collection: &str) -> bool {
        let place = format!("ansible_collections/{}/MANIFEST.json", collection.replace('.', "/"));
        self.collections.split(':').any(|path| Path::new(path).join(&place).is_file())
    }

    fn command(&self, name: &str) -> Command {
        let mut command = match &self.programs {
            Some(folder) => Command::new(folder.join(name)),
            None => Command::new(name),
        };
        if let Some(folder) = &self.programs {
            // ansible-lint starts ansible.
            let path = env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(folder.clone()).chain(env::split_paths(&path));
            command.env("PATH", env::join_paths(all).unwrap());
        }
        command
            .env("ANSIBLE_COLLECTIONS_PATH", &self.collections)
            .env("ANSIBLE_LOCALHOST_WARNING", "0");
        command
    }

    fn syntax(&self, folder: &Path) -> Output {
        let mut command = self.command("ansible-playbook");
        command.current_dir(folder).args(["-i", "inventory.yml", "--syntax-check", "deliver.yml"]);
        command.output().unwrap()
    }

    fn lint(&self, folder: &Path, playbooks: &[PathBuf]) -> Output {
        let mut command = self.command("ansible-lint");
        command.current_dir(folder).args([
            "--offline",
            "--profile",
            "production",
            "--nocolor",
            "-p",
        ]);
        command.args(playbooks).output().unwrap()
    }
}

/// A module that knows its options by name.
fn stub(module: &str, options: &str) -> String {
    let option = |name: &str| format!("{name}={{'type': 'raw'}}");
    let spec: Vec<String> = options.split(' ').map(option).collect();
    format!(
        "#!/usr/bin/python\nDOCUMENTATION = '''\nmodule: {module}\nshort_description: Stands in\n'''\n\
         from ansible.module_utils.basic import AnsibleModule\n\n\ndef main():\n    \
         AnsibleModule(argument_spec=dict({}))\n\n\nif __name__ == '__main__':\n    main()\n",
        spec.join(", ")
    )
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The files of the test's fabric with this system, in a folder of that name.
fn write(folder: &Path, system: SystemId) -> PathBuf {
    let setup = common::setup(common::POD);
    let intent = Intent::with(&setup, Choices::all(system));
    let home = folder.join(system.name());
    let own = intent.devices.iter().flat_map(|device| intent.files(device, &mut Vec::new()));
    let own: Vec<_> = own.chain(ansible::files(&intent, &setup.fabric).unwrap()).collect();
    for file in own {
        let path = home.join(&file.name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file.text).unwrap();
    }
    home.join(ansible::FOLDER)
}

#[test]
fn ansible_accepts_the_playbooks() {
    let folder = Folder::new("ansible");
    let Some(judge) = Judge::find(&folder.0) else { return };
    let systems = SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host);
    let playbooks: Vec<PathBuf> = systems.map(|system| write(&folder.0, system)).collect();
    for playbook in &playbooks {
        let judged = judge.syntax(playbook);
        assert!(judged.status.success(), "{}: {}", playbook.display(), said(&judged));
        assert!(!said(&judged).contains("WARNING"), "{}", said(&judged));
    }
    // A judge that accepts everything is none: one playbook has a task without a name.
    let bad = folder.0.join("bad");
    fs::create_dir_all(bad.join("tasks")).unwrap();
    fs::copy(playbooks[1].join("deliver.yml"), bad.join("deliver.yml")).unwrap();
    for system in ["eos", "host"] {
        let text = fs::read_to_string(playbooks[1].join(format!("tasks/{system}.yml"))).unwrap();
        let text = text.replace("- name: Merge the RoCE configuration\n  arista", "- arista");
        fs::write(bad.join(format!("tasks/{system}.yml")), text).unwrap();
    }
    let all: Vec<PathBuf> = playbooks.iter().chain([&bad]).cloned().collect();
    let linted = judge.lint(&folder.0, &all);
    let found = String::from_utf8_lossy(&linted.stdout).into_owned();
    assert!(found.lines().any(|line| line.starts_with("bad/tasks/eos.yml")), "{}", said(&linted));
    assert!(found.lines().all(|line| line.starts_with("bad/tasks/eos.yml")), "{}", said(&linted));
    println!("{} playbooks pass ansible-playbook --syntax-check and ansible-lint", playbooks.len());
    options(&judge, &folder.0, &playbooks);

    // One leaf comes first, and only once.
    let mut command = judge.command("ansible-playbook");
    command.current_dir(&playbooks[0]).args(["-i", "inventory.yml", "--list-hosts", "deliver.yml"]);
    let listed = said(&command.output().unwrap());
    let plays: Vec<&str> = listed.split("play #").skip(1).collect();
    assert_eq!(plays.len(), 3, "{listed}");
    let has = |play: &str, name: &str| play.lines().any(|line| line.trim() == name);
    assert!(has(plays[0], "leaf0") && !has(plays[0], "leaf1"), "{listed}");
    assert!(
        !has(plays[1], "leaf0") && has(plays[1], "leaf1") && has(plays[1], "spine0"),
        "{listed}"
    );
    assert!(has(plays[2], "server3") && !has(plays[2], "leaf0"), "{listed}");

    let tasks = playbooks[1].join("tasks/eos.yml");
    let text = fs::read_to_string(&tasks).unwrap();
    fs::write(&tasks, text.replace("eos_config", "eos_configure")).unwrap();
    assert!(
        !judge.syntax(&playbooks[1]).status.success(),
        "a module that is not there was accepted"
    );
}

/// What modules themselves document of their options.
fn options(judge: &Judge, folder: &Path, playbooks: &[PathBuf]) {
    let mut tasks: Vec<PathBuf> = playbooks
        .iter()
        .flat_map(|playbook| fs::read_dir(playbook.join("tasks")).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    tasks.sort();
    let own = ["copy", "file", "command", "debug", "systemd_service"];
    let vendors = MODULES.iter().filter(|(collection, ..)| judge.is_installed(collection));
    let names = own.iter().map(|name| format!("ansible.builtin.{name}"));
    let names =
        names.chain(vendors.map(|(collection, module, _)| format!("{collection}.{module}")));
    let described = judge.command("ansible-doc").args(["-t", "module", "-j"]).args(names).output();
    let described = described.unwrap();
    assert!(described.status.success(), "{}", said(&described));
    fs::write(folder.join("modules.json"), &described.stdout).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges_delivery/modules.py");
    let python = env::var("XOFF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let run = |tasks: &[PathBuf]| {
        let mut command = Command::new(&python);
        let judged = command.arg(&script).arg(folder.join("modules.json")).args(tasks).output();
        let judged = judged.unwrap();
        assert!(judged.status.success(), "{}", said(&judged));
        said(&judged)
    };
    assert_eq!(run(&tasks), "", "options that modules do not have");
    let wrong = folder.join("wrong.yml");
    let text = fs::read_to_string(playbooks[0].join("tasks/host.yml")).unwrap();
    fs::write(&wrong, text.replace("backup:", "backups:")).unwrap();
    assert!(run(&[wrong]).contains("no option backups"), "a mistake was accepted");
    println!("options in {} files of tasks are those that modules document", tasks.len());
}

#[test]
fn vendors_modules_read_the_files() {
    let folder = Folder::new("netcommon");
    let python = env::var("XOFF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges_delivery/netcommon.py");
    let mut command = Command::new(&python);
    command.arg(script);
    // The indentation that each system's module expects.
    for (system, indent) in [(SystemId::Eos, "3"), (SystemId::NxOs, "2"), (SystemId::Os10, "1")] {
        let home = write(&folder.0, system);
        command.arg(home.join("../leaf0.cfg")).arg(indent);
    }
    let Ok(judged) = command.output() else {
        println!("SKIPPED: `{python}` is not installed");
        return;
    };
    if judged.status.code() == Some(3) {
        println!("SKIPPED: ansible.netcommon is not in ANSIBLE_COLLECTIONS_PATH for `{python}`");
        return;
    }
    assert!(judged.status.success(), "{}", said(&judged));
    let lines = said(&judged);
    for line in lines.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(words[1].parse::<u32>().unwrap() > 50 && words[2] == "0", "{lines}");
    }
    assert_eq!(lines.lines().count(), 3, "{lines}");
    println!(
        "ansible.netcommon reads the files of eos, nx-os and os10 with all that statements stand below"
    );
}
