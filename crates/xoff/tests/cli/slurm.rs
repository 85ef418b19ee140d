//! `--slurm` on a real Slurm: munge, a controller and four nodes on this machine, all of them started here.
//!
//! `cargo test -p xoff --test cli slurm -- --ignored --nocapture`, as root, with Debian's packages `slurmctld`, `slurmd`,
//! `slurm-client` and `munge` (`apt-get install --no-install-recommends`); skipped by name where they are missing.

use super::arrays::{files, folder, validation};
use super::{INCAST, code, example, folder_with, output, stderr, xoff};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const NODES: usize = 4;

/// A Slurm of its own, gone with this value.
struct Slurm {
    folder: tempfile::TempDir,
    munge: Child,
    controller: Option<Child>,
    nodes: Vec<Option<Child>>,
}

/// A program, also where only root looks.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let places = path.split(':').chain(["/usr/sbin", "/usr/bin"]).map(str::to_owned);
    places.map(|place| Path::new(&place).join(name)).find(|path| path.is_file())
}

/// Ports that nothing uses.
fn ports(count: usize) -> Vec<u16> {
    let all: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
    all.iter().map(|one| one.local_addr().unwrap().port()).collect()
}

#[allow(clippy::disallowed_methods, reason = "what Slurm takes is wall time")]
fn now() -> Instant {
    Instant::now()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let clock = now();
    while !done() {
        assert!(clock.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        sleep(Duration::from_millis(50));
    }
}

impl Slurm {
    /// Starts it; what is missing otherwise.
    fn start() -> Result<Self, String> {
        for name in ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol"] {
            program(name).ok_or(format!("{name} is not installed"))?;
        }
        let user = Command::new("id").arg("-u").output().map_err(|error| error.to_string())?;
        if user.stdout != b"0\n" {
            return Err("only root can start it".into());
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(path.join("state")).unwrap();
        // A key that nobody else has; what it protects is gone in a minute.
        let key: Vec<u8> = (0..1024u32).map(|at| (at * 31 + std::process::id()) as u8).collect();
        fs::write(path.join("munge.key"), key).unwrap();
        fs::set_permissions(path.join("munge.key"), fs::Permissions::from_mode(0o400)).unwrap();
        let file = |option: &str, name: &str| format!("--{option}={}", path.join(name).display());
        let munge = Command::new(program("munged").unwrap())
            .args(["--foreground", "--force"])
            .args([file("socket", "munge.socket"), file("key-file", "munge.key")])
            .args([file("log-file", "munge.log"), file("pid-file", "munge.pid")])
            .arg(file("seed-file", "munge.seed"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        fs::write(path.join("slurm.conf"), configuration(path)).unwrap();
        let nodes = (0..NODES).map(|_| None).collect();
        let mut slurm = Self { folder, munge, controller: None, nodes };
        wait_until("munge", || slurm.folder.path().join("munge.socket").exists());
        slurm.start_controller();
        (0..NODES).for_each(|node| slurm.start_node(node));
        wait_until("four idle nodes", || slurm.say("sinfo", &["-h", "-o", "%D %t"]) == "4 idle");
        Ok(slurm)
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn daemon(&self, name: &str, arguments: &[&str]) -> Option<Child> {
        let mut command = Command::new(program(name)?);
        command.arg("-D").args(arguments).env("SLURM_CONF", self.conf());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Some(command.spawn().unwrap())
    }

    fn start_controller(&mut self) {
        self.controller = self.daemon("slurmctld", &[]);
        wait_until("the controller", || self.say("scontrol", &["ping"]).contains("is UP"));
    }

    fn stop_controller(&mut self) {
        if let Some(mut controller) = self.controller.take() {
            drop(Command::new("kill").arg(controller.id().to_string()).status());
            controller.wait().unwrap();
        }
    }

    fn start_node(&mut self, node: usize) {
        self.nodes[node] = self.daemon("slurmd", &["-N", &format!("n{node}")]);
    }

    /// Takes a node away with all that runs on it.
    fn lose_node(&mut self, node: usize) {
        let mut daemon = self.nodes[node].take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        // What ran on it: first the steps, which would report the end of their jobs, then the jobs.
        let log = self.folder.path().join(format!("n{node}.log"));
        let step = |process: &Path| {
            let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            open.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|to| to == log))
        };
        let own = [
            format!("SLURMD_NODENAME=n{node}\0"),
            format!("SLURM_CONF={}\0", self.conf().display()),
        ];
        let job = |process: &Path| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            let has =
                |text: &String| environment.windows(text.len()).any(|part| part == text.as_bytes());
            own.iter().all(has)
        };
        for belongs in [&step as &dyn Fn(&Path) -> bool, &job] {
            for process in fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
                let number = process.file_name().unwrap().to_string_lossy().into_owned();
                if number.parse::<u32>().is_ok() && belongs(&process) {
                    drop(Command::new("kill").args(["-KILL", &number]).status());
                }
            }
        }
    }

    fn say(&self, program: &str, arguments: &[&str]) -> String {
        let answer = Command::new(program).args(arguments).env("SLURM_CONF", self.conf()).output();
        let answer = answer.unwrap();
        String::from_utf8_lossy(&answer.stdout).trim().to_owned()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.stop_controller();
        for daemon in self.nodes.iter_mut().flatten() {
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let _ = daemon.wait();
        }
        let _ = self.munge.kill();
        let _ = self.munge.wait();
    }
}

fn configuration(path: &Path) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let ports = ports(NODES + 1);
    let place = path.display();
    let mut text = format!(
        "ClusterName=sweep\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmctldPort={}\n\
         AuthType=auth/munge\nAuthInfo=socket={place}/munge.socket\nStateSaveLocation={place}/state\n\
         SlurmdSpoolDir={place}/spool.%n\nSlurmctldPidFile={place}/controller.pid\n\
         SlurmdPidFile={place}/%n.pid\nSlurmctldLogFile={place}/controller.log\n\
         SlurmdLogFile={place}/%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n\
         ReturnToService=2\nSlurmdTimeout=5\nKillWait=2\nMpiDefault=none\n\
         JobAcctGatherType=jobacct_gather/none\n",
        ports[NODES]
    );
    for (node, port) in ports[..NODES].iter().enumerate() {
        text += &format!(
            "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN\n"
        );
    }
    text + "PartitionName=short Nodes=ALL Default=YES State=UP\n"
}

/// 400 very short points.
const SWEEP: &str = "scenario = \"s.toml\"\nseeds = 4\n\
    [[axis]]\nkey = \"scenario.workload[0].size\"\nfrom = \"1KB\"\nto = \"40KB\"\nsteps = 10\n\
    [[axis]]\nkey = \"fabric.ecn.kmin\"\nfrom = \"10KB\"\nto = \"90KB\"\nsteps = 10\n";

/// Points that are in the folder.
fn points(out: &Path) -> usize {
    let entries = fs::read_dir(out.join("shards")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl")).count()
}

fn sweep(slurm: &Slurm, folder: &Path, more: &[&str]) -> Command {
    let mut command = on(slurm, folder, &["sweep", "sweep.toml"]);
    command.args(["--sbatch", "--comment=\"a sweep\"", "--tasks", "40"]).args(more);
    command
}

/// A command on Slurm.
fn on(slurm: &Slurm, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = xoff(folder);
    command.args(arguments).args(["--slurm", "--partition", "short", "--time", "10:00"]);
    command.env("SLURM_CONF", slurm.conf()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn send(signal: &str, child: &Child) {
    drop(Command::new("kill").args([signal, &child.id().to_string()]).status());
}

#[test]
#[ignore = "starts a Slurm, and takes five minutes: Slurm waits two before it starts a lost job again"]
fn a_sweep_survives_the_loss_of_a_node_and_of_the_controller() {
    let mut slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return println!("SKIPPED a sweep on Slurm: {why}"),
    };
    let folder = folder_with(INCAST);
    fs::write(folder.path().join("sweep.toml"), SWEEP).unwrap();
    let local = output(folder.path(), &["sweep", "sweep.toml", "--out", "local"]);
    assert_eq!(code(&local), Some(0), "{}", stderr(&local));
    let out = folder.path().join("cluster");
    let mut child = sweep(&slurm, folder.path(), &["--out", "cluster"]).spawn().unwrap();
    wait_until("the first points", || points(&out) >= 40);
    slurm.lose_node(1);
    println!("node n1 lost after {} points", points(&out));
    let seen = points(&out);
    wait_until("some more points", || points(&out) >= seen + 40);
    slurm.stop_controller();
    println!("controller stopped after {} points", points(&out));
    sleep(Duration::from_secs(6));
    assert!(child.try_wait().unwrap().is_none(), "it waits for the controller");
    slurm.start_controller();
    let clock = now();
    while child.try_wait().unwrap().is_none() {
        assert!(clock.elapsed() < Duration::from_secs(300), "{} points", points(&out));
        sleep(Duration::from_millis(100));
    }
    let ended = child.wait_with_output().unwrap();
    assert_eq!(code(&ended), Some(0), "{}", stderr(&ended));
    println!(
        "done {:.0} s after the controller was back\n{}",
        clock.elapsed().as_secs_f64(),
        stderr(&ended)
    );
    assert_eq!(points(&out), 400);
    let table = |name: &str| fs::read(folder.path().join(name).join("sweep.parquet")).unwrap();
    assert!(table("local") == table("cluster"), "the table of the local run, byte for byte");
    wait_until("the queue to be empty", || slurm.say("squeue", &["-h"]).is_empty());
    stops_and_goes_on(&slurm, folder.path(), &table("local"));
}

/// Ctrl-C takes the array out of the queue; a kill leaves it there, and the next command waits for it.
fn stops_and_goes_on(slurm: &Slurm, folder: &Path, expected: &[u8]) {
    let out = folder.join("stopped");
    let child = sweep(slurm, folder, &["--out", "stopped"]).spawn().unwrap();
    wait_until("the first points", || points(&out) >= 10);
    send("-INT", &child);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(code(&ended), Some(130), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("--resume --out stopped --slurm"), "{}", stderr(&ended));
    wait_until("the queue to be empty", || slurm.say("squeue", &["-h"]).is_empty());
    let child = sweep(slurm, folder, &["--out", "stopped", "--resume"]).spawn().unwrap();
    let seen = points(&out);
    wait_until("some more points", || points(&out) >= seen + 10);
    send("-KILL", &child);
    let killed = child.wait_with_output().unwrap();
    assert!(!slurm.say("squeue", &["-h"]).is_empty(), "the array goes on: {}", stderr(&killed));
    let ended = sweep(slurm, folder, &["--out", "stopped", "--resume"]).output().unwrap();
    assert_eq!(code(&ended), Some(0), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("is still there"), "{}", stderr(&ended));
    assert!(expected == fs::read(out.join("sweep.parquet")).unwrap());
    let refused = sweep(slurm, folder, &["--out", "none", "--sbatch", "--partition=nowhere"]);
    let refused = { refused }.output().unwrap();
    assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("sbatch refuses"), "{}", stderr(&refused));
}

#[test]
#[ignore = "starts a Slurm, and takes a minute"]
fn a_validation_and_a_comparison_are_the_same_on_slurm() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return println!("SKIPPED a validation and a comparison on Slurm: {why}"),
    };
    let folder = folder();
    let folder = folder.path();
    let local = output(folder, &validation("local"));
    // Stopped when the first experiments are there, and gone on with.
    let far = [&validation("far")[..], &["--tasks", "3"]].concat();
    let child = on(&slurm, folder, &far).spawn().unwrap();
    let measured = || {
        let entries = fs::read_dir(folder.join("far/experiments")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count()
    };
    wait_until("the first experiment", || measured() > 0);
    send("-INT", &child);
    let stopped = child.wait_with_output().unwrap();
    println!("stopped after {} experiments\n{}", measured(), stderr(&stopped));
    assert_eq!(code(&stopped), Some(130), "{}", stderr(&stopped));
    wait_until("the queue to be empty", || slurm.say("squeue", &["-h"]).is_empty());
    let clock = now();
    let ended = on(&slurm, folder, &far).output().unwrap();
    println!("validated after {:.0} s\n{}", clock.elapsed().as_secs_f64(), stderr(&ended));
    assert_eq!(code(&ended), code(&local), "{}", stderr(&ended));
    let validated = files(&folder.join("local"));
    assert!(validated == files(&folder.join("far")), "every file as without Slurm");
    assert!(validated.keys().any(|name| name.to_string_lossy().contains("-with-")), "a trial");
    let scenario = example("rivals-incast.toml");
    let compare = ["compare", &scenario, "--transports", "tcp,roce,infiniband,roce-v1", "--out"];
    let local = output(folder, &[&compare[..], &["c-local"]].concat());
    let clock = now();
    let far = on(&slurm, folder, &[&compare[..], &["c-far"]].concat()).output().unwrap();
    println!("compared after {:.0} s\n{}", clock.elapsed().as_secs_f64(), stderr(&far));
    assert_eq!(code(&far), code(&local), "{}", stderr(&far));
    assert!(files(&folder.join("c-local")) == files(&folder.join("c-far")));
    wait_until("the queue to be empty", || slurm.say("squeue", &["-h"]).is_empty());
}

#[test]
fn without_slurm_it_says_so() {
    let folder = folder_with(INCAST);
    fs::write(folder.path().join("sweep.toml"), SWEEP).unwrap();
    let mut command = xoff(folder.path());
    command.args(["sweep", "sweep.toml", "--slurm"]).env("PATH", "/nonexistent");
    let ended = command.output().unwrap();
    assert_eq!(code(&ended), Some(2), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("needs Slurm's commands"), "{}", stderr(&ended));
}
