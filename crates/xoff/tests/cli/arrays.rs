//! `--slurm` with stand-ins for Slurm's commands, which run the tasks of an array one after the other on this machine. A real
//! Slurm is in `slurm.rs`.

use super::{code, example, repository, stderr, xoff};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Takes an array, and runs its tasks; `alive` is there until the last of them has ended, cancelled or not. With a file
/// `lose` beside it the node is lost after the first task of the next array; with `hold` the second task waits until
/// that file or the array is gone.
const SBATCH: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
for script; do :; done
for option; do case "$option" in --chdir=*) place="${option#--chdir=}";; esac; done
cp "$script" scripts/
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
here=$(pwd)
touch running alive
(
    cd "$place"
    task=0
    while [ "$task" -le "$last" ] && [ -e "$here/running" ]; do
        SLURM_ARRAY_TASK_ID=$task setsid sh "$script" >"$place/task-$task.log" 2>&1 &
        echo $! >"$here/task"
        wait $!
        task=$((task + 1))
        [ -e "$here/lose" ] && rm "$here/lose" && break
        while [ -e "$here/hold" ] && [ -e "$here/running" ]; do sleep 0.02; done
    done
    rm -f "$here/running" "$here/alive"
) >/dev/null 2>&1 &
echo 7
"#;

const SQUEUE: &str = r#"#!/bin/sh
[ -e "$(dirname "$0")/running" ] && echo "RUNNING|None" || { echo "Invalid job id specified" >&2; exit 1; }
"#;

const SCANCEL: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
echo "$1" >>cancelled
rm -f running
kill -- "-$(cat task)" 2>/dev/null
exit 0
"#;

const SCONTROL: &str = "#!/bin/sh\necho 'MaxArraySize            = 1001'\n";

/// The commands in a folder of their own.
fn slurm() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let programs =
        [("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL), ("scontrol", SCONTROL)];
    for (name, text) in programs {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(folder.path().join("scripts")).unwrap();
    folder
}

/// The command with these commands of Slurm before all others.
fn with(slurm: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = xoff(folder);
    command.args(arguments).env("PATH", format!("{}:{path}", slurm.display()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(slurm: &Path, folder: &Path, arguments: &[&str]) -> Output {
    with(slurm, folder, arguments).output().unwrap()
}

/// Every file of a result, without what is Slurm's.
pub(super) fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for part in ["", "experiments", "runs"] {
        for entry in fs::read_dir(folder.join(part)).into_iter().flatten().flatten() {
            if entry.path().is_file() {
                let name = Path::new(part).join(entry.file_name());
                all.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    all
}

/// The arrays that were submitted, by their scripts.
fn scripts(slurm: &Path) -> Vec<String> {
    let entries = fs::read_dir(slurm.join("scripts")).unwrap().flatten();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    names.sort();
    names.iter().map(|name| fs::read_to_string(name).unwrap()).collect()
}

/// A validation in little time, whose advice is tried: another fabric has arrays of its own.
pub(super) fn validation(out: &str) -> Vec<&str> {
    vec!["validate", "fabric.toml", "--quick", "--phase", "3", "--seed", "2", "--out", out]
}

/// A folder with a small fabric that fails for something that can be changed.
pub(super) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fabric = repository("examples/bad/slow-optic.toml");
    fs::copy(fabric, folder.path().join("fabric.toml")).unwrap();
    folder
}

#[test]
fn a_validation_is_the_same_on_slurm() {
    let (slurm, folder) = (slurm(), folder());
    let (slurm, folder) = (slurm.path(), folder.path());
    let local = run(slurm, folder, &validation("local"));
    assert!(scripts(slurm).is_empty());
    let options = ["--slurm", "--partition", "short", "--time", "10:00", "--tasks", "3"];
    let more = ["--account", "net", "--sbatch", "#SBATCH --mem=2G"];
    let far = run(slurm, folder, &[&validation("far")[..], &options, &more].concat());
    assert_eq!(code(&far), code(&local), "{}", stderr(&far));
    let (local, far) = (files(&folder.join("local")), files(&folder.join("far")));
    assert_eq!(local.keys().collect::<Vec<_>>(), far.keys().collect::<Vec<_>>());
    for (name, text) in &local {
        assert!(far[name] == *text, "{} differs", name.display());
    }
    assert!(local.keys().any(|name| name.to_string_lossy().contains("-with-")), "a trial");
    // The fabric has an array, and each trial another one.
    let scripts = scripts(slurm);
    assert!(scripts.len() > 1);
    let script = &scripts[0];
    for line in [
        "#SBATCH --job-name=xoff-validation",
        "#SBATCH --array=0-2",
        "#SBATCH --requeue",
        "#SBATCH --partition=short",
        "#SBATCH --account=net",
        "#SBATCH --time=10:00",
        "#SBATCH --mem=2G",
    ] {
        assert!(script.lines().any(|own| own == line), "no `{line}` in\n{script}");
    }
    assert!(script.contains("--phase synthetic --quick --seed 2 --out "), "{script}");
}

#[test]
fn a_validation_on_slurm_stops_and_goes_on() {
    let (slurm, folder) = (slurm(), folder());
    let (slurm, folder) = (slurm.path(), folder.path());
    let plain = [&validation("local")[..], &["--no-what-if"]].concat();
    let local = run(slurm, folder, &plain);
    let far = [&validation("far")[..], &["--no-what-if", "--slurm"]].concat();
    fs::write(slurm.join("hold"), "").unwrap();
    let child = with(slurm, folder, &far).spawn().unwrap();
    let measured = |folder: &Path| {
        let entries = fs::read_dir(folder.join("experiments")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count()
    };
    while measured(&folder.join("far")) == 0 {
        sleep(Duration::from_millis(5));
    }
    drop(Command::new("kill").args(["-INT", &child.id().to_string()]).status());
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(code(&stopped), Some(130), "{}", stderr(&stopped));
    assert!(stderr(&stopped).contains("the same command resumes"), "{}", stderr(&stopped));
    assert_eq!(fs::read_to_string(slurm.join("cancelled")).unwrap(), "7\n");
    assert!(measured(&folder.join("far")) > 0 && !folder.join("far/validation.json").exists());
    // The array that goes on is lost with its node after its first task: another one gets what is left.
    while slurm.join("alive").exists() {
        sleep(Duration::from_millis(5));
    }
    fs::remove_file(slurm.join("hold")).unwrap();
    fs::write(slurm.join("lose"), "").unwrap();
    let done = run(slurm, folder, &[&far[..], &["--tasks", "2"]].concat());
    assert_eq!(code(&done), code(&local), "{}", stderr(&done));
    assert!(stderr(&done).contains("submitting them again"), "{}", stderr(&done));
    assert!(files(&folder.join("local")) == files(&folder.join("far")));
}

#[test]
fn a_comparison_is_the_same_on_slurm() {
    let (slurm, folder) = (slurm(), tempfile::tempdir().unwrap());
    let (slurm, folder) = (slurm.path(), folder.path());
    let scenario = example("rivals-incast.toml");
    // The last is refused, which is a result, too.
    let compare = |out: &str, more: &[&str]| {
        let usual = ["compare", &scenario, "--transports", "tcp,roce,roce-v1", "--out", out];
        run(slurm, folder, &[&usual[..], more].concat())
    };
    let local = compare("local", &[]);
    let far = compare("far", &["--slurm"]);
    assert_eq!(code(&far), Some(1), "{}", stderr(&far));
    assert_eq!(code(&local), Some(1));
    // But for the folder's name the same is printed.
    let shown = |output: &Output| String::from_utf8_lossy(&output.stdout).replace("far", "local");
    assert_eq!(shown(&far), shown(&local));
    assert!(files(&folder.join("local")) == files(&folder.join("far")));
    assert_eq!(scripts(slurm).len(), 1);
    // All runs are there: nothing is submitted, here and there.
    assert_eq!(code(&compare("far", &["--slurm"])), Some(1));
    assert_eq!(scripts(slurm).len(), 1);
    // Another comparison takes the folder for itself.
    let seed = ["--slurm", "--seed", "9"];
    assert_eq!(code(&compare("far", &seed)), Some(1));
    assert_eq!(scripts(slurm).len(), 2);
    assert!(files(&folder.join("local")) != files(&folder.join("far")));
    // Runs that are kept are not run again, unless they are to be.
    let kept = |name: &str| fs::metadata(folder.join(name)).unwrap().modified().unwrap();
    let first = kept("local/runs/000.json");
    compare("local", &[]);
    assert_eq!(kept("local/runs/000.json"), first);
    compare("local", &["--fresh"]);
    assert!(kept("local/runs/000.json") > first);
}

#[test]
fn a_comparison_on_slurm_needs_a_folder() {
    let (slurm, folder) = (slurm(), tempfile::tempdir().unwrap());
    let scenario = example("rivals-incast.toml");
    let arguments = ["compare", &scenario, "--transports", "roce", "--slurm"];
    let refused = run(slurm.path(), folder.path(), &arguments);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("needs --out"), "{}", stderr(&refused));
}
