//! `--out` and its like: every command replaces what it wrote itself, and nothing else.

use super::{INCAST, code, folder_with, output, stderr};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
const FLOWS: &str = "1\n0 1 3 100 100000 0\n";

/// Every command with `--out`, and a file that it writes there.
const COMMANDS: [(&[&str], &str); 8] = [
    (&["run", "s.toml", "--quiet"], "summary.json"),
    (&["validate", "fabric.toml", "--phase", "1"], "report.html"),
    (&["validate", "fabric.toml", "--phase", "1"], "fabric.toml"),
    (&["compare", "s.toml", "--transports", "roce"], "report.html"),
    (&["plan", "64"], "bom.csv"),
    (&["config", "fabric.toml"], "leaf0.json"),
    (&["import", "ns3", "--topology", "t.txt", "--flows", "f.txt"], "fabric.toml"),
    (&["man"], "xoff.1"),
];

fn prepared() -> tempfile::TempDir {
    let folder = folder_with(INCAST);
    fs::write(folder.path().join("t.txt"), TOPOLOGY).unwrap();
    fs::write(folder.path().join("f.txt"), FLOWS).unwrap();
    folder
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let named = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap_or_default())
    };
    fs::read_dir(folder).unwrap().flatten().map(named).collect()
}

#[test]
fn a_foreign_file_is_never_overwritten() {
    for (command, name) in COMMANDS {
        let folder = prepared();
        let mine = folder.path().join("mine");
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join(name), "years of work").unwrap();
        let before = files(&mine);
        let refused = output(folder.path(), &[command, &["--out", "mine"]].concat());
        let text = stderr(&refused);
        assert_eq!(code(&refused), Some(3), "{command:?}: {text}");
        assert!(text.contains("mine") && text.contains("choose another"), "{command:?}: {text}");
        assert!(refused.stdout.is_empty(), "{command:?} ran before it looked at the folder");
        assert_eq!(files(&mine), before, "{command:?}");
    }
}

#[test]
fn a_file_in_the_place_of_the_folder_stays() {
    for (command, _) in COMMANDS {
        let folder = prepared();
        fs::write(folder.path().join("mine"), "years of work").unwrap();
        let refused = output(folder.path(), &[command, &["--out", "mine"]].concat());
        let text = stderr(&refused);
        assert_eq!(code(&refused), Some(3), "{command:?}: {text}");
        assert!(text.contains("`mine` is a file"), "{command:?}: {text}");
        assert_eq!(fs::read(folder.path().join("mine")).unwrap(), b"years of work");
    }
}

#[test]
fn a_folder_of_its_own_is_filled_again() {
    for (command, name) in COMMANDS {
        let folder = prepared();
        let arguments = [command, &["--out", "own"]].concat();
        let first = output(folder.path(), &arguments);
        assert!(matches!(code(&first), Some(0 | 1)), "{command:?}: {}", stderr(&first));
        let written = files(&folder.path().join("own"));
        assert!(written.contains_key(name), "{command:?} writes no {name}");
        let again = output(folder.path(), &arguments);
        // Imported files are edited by hand afterwards: they stay as they are.
        let expected = if command[0] == "import" { Some(3) } else { code(&first) };
        assert_eq!(code(&again), expected, "{command:?}: {}", stderr(&again));
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&files(&folder.path().join("own"))), names(&written), "{command:?}");
    }
}

#[test]
fn results_of_one_command_are_foreign_to_another() {
    let folder = prepared();
    let mut done = Vec::new();
    for (command, name) in [COMMANDS[0], COMMANDS[1], COMMANDS[3], COMMANDS[4]] {
        let out = command[0];
        let made = output(folder.path(), &[command, &["--out", out]].concat());
        assert!(matches!(code(&made), Some(0 | 1)), "{command:?}: {}", stderr(&made));
        done.push((command, out, name));
    }
    for (command, out, _) in &done {
        for (_, other, name) in done.iter().filter(|(_, other, _)| other != out) {
            // A plan lies beside other files, where none of its own names is taken.
            if *out == "plan" && *other == "run" {
                continue;
            }
            let path = folder.path().join(other).join(name);
            let before = fs::read(&path).unwrap();
            let refused = output(folder.path(), &[*command, &["--out", other]].concat());
            assert_eq!(code(&refused), Some(3), "{command:?} into {other}: {}", stderr(&refused));
            assert_eq!(fs::read(&path).unwrap(), before, "{command:?} into {other}");
        }
    }
}

/// Every plan writes a `fabric.toml`: their validations do not replace each other.
#[test]
fn a_validation_of_another_fabric_stays() {
    let folder = prepared();
    let path = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(path("fabric.toml")).unwrap();
    fs::create_dir(path("other")).unwrap();
    fs::write(path("other/fabric.toml"), format!("# another\n{text}")).unwrap();
    let run = |fabric: &str, more: &[&str]| {
        output(folder.path(), &[&["validate", fabric, "--phase", "1"], more].concat())
    };
    assert_ne!(code(&run("fabric.toml", &["--out", "v"])), Some(3));
    let before = fs::read(path("v/validation.json")).unwrap();
    let refused = run("other/fabric.toml", &["--out", "v"]);
    assert_eq!(code(&refused), Some(3));
    let words = stderr(&refused);
    assert!(words.contains("validation of another fabric") && words.contains("--fresh"), "{words}");
    assert_eq!(fs::read(path("v/validation.json")).unwrap(), before);
    // The same file goes on there, edited or not.
    fs::write(path("fabric.toml"), format!("# edited\n{text}")).unwrap();
    assert_ne!(code(&run("fabric.toml", &["--out", "v"])), Some(3));
    assert_ne!(code(&run("other/fabric.toml", &["--out", "v", "--fresh"])), Some(3));
    // Without --out each has a folder, and the same one again.
    for _ in 0..2 {
        assert_ne!(code(&run("fabric.toml", &[])), Some(3));
        let noted = run("other/fabric.toml", &[]);
        assert!(stderr(&noted).contains("it stays"), "{}", stderr(&noted));
    }
    assert!(path("validations/fabric-1-2/validation.json").is_file());
    assert!(!path("validations/fabric-1-3").exists());
}

#[test]
fn a_validation_without_a_verdict_is_known_as_one() {
    // Killed after its first file.
    let folder = prepared();
    fs::create_dir(folder.path().join("v")).unwrap();
    fs::write(folder.path().join("v/.xoff-validation"), "").unwrap();
    fs::write(folder.path().join("v/fabric.toml.partial"), "[clus").unwrap();
    let arguments = ["validate", "fabric.toml", "--phase", "1", "--out", "v"];
    assert_ne!(code(&output(folder.path(), &arguments)), Some(3));
    assert!(folder.path().join("v/validation.json").is_file());
    // One of a version without the mark.
    fs::remove_file(folder.path().join("v/.xoff-validation")).unwrap();
    assert_ne!(code(&output(folder.path(), &arguments)), Some(3));
    // A folder with experiments is not yet one.
    fs::create_dir_all(folder.path().join("lab/experiments")).unwrap();
    fs::write(folder.path().join("lab/report.html"), "years of work").unwrap();
    let lab = ["validate", "fabric.toml", "--phase", "1", "--fresh", "--out", "lab"];
    assert_eq!(code(&output(folder.path(), &lab)), Some(3));
}

#[test]
fn single_files_are_replaced_if_they_are_of_their_kind() {
    let folder = prepared();
    let configured = output(folder.path(), &["config", "fabric.toml", "--out", "devices"]);
    assert_eq!(code(&configured), Some(0), "{}", stderr(&configured));
    let commands: [&[&str]; 2] = [
        &["validate", "fabric.toml", "--phase", "1", "--out", "v", "--junit"],
        &["audit", "devices", "--write-baseline"],
    ];
    for command in commands {
        fs::write(folder.path().join("mine"), "years of work").unwrap();
        let refused = output(folder.path(), &[command, &["mine"]].concat());
        assert_eq!(code(&refused), Some(3), "{command:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("`mine` is already there"), "{}", stderr(&refused));
        assert_eq!(fs::read(folder.path().join("mine")).unwrap(), b"years of work");
        for _ in 0..2 {
            let written = output(folder.path(), &[command, &["own"]].concat());
            assert!(matches!(code(&written), Some(0 | 1)), "{command:?}: {}", stderr(&written));
        }
        fs::remove_file(folder.path().join("own")).unwrap();
    }
}
