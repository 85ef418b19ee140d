//! `xoff collect` against real SSH servers on loopback. Needs Debian's `openssh-server`, which `./test` fetches; without it
//! those parts are skipped by name.

use super::{code, example, json, output, stderr, stdout, xoff};
use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a server runs as where the test is root and has no user for sshd's own unprivileged part.
const NOBODY: u32 = 65534;

/// Keys, answers and servers of a test.
struct Lab {
    folder: tempfile::TempDir,
    sshd: PathBuf,
    /// The user that servers run as and let in.
    user: String,
    /// A library that tells sshd of a user that the system does not have.
    wrapper: Option<PathBuf>,
    servers: Vec<Child>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The SSH server, by its whole path, which it needs to start itself again.
fn sshd() -> Option<PathBuf> {
    let named = std::env::var_os("XOFF_SSHD").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = std::env::split_paths(&path).map(|folder| folder.join("sshd"));
    let mut all = named.into_iter().chain(usual).chain([PathBuf::from("/usr/sbin/sshd")]);
    all.find(|program| program.is_absolute() && program.exists())
}

fn keygen(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "ssh-keygen makes a key");
}

impl Lab {
    /// A lab; nothing, said on standard error, where no server can be run.
    fn new(test: &str) -> Option<Self> {
        let skip = |why: &str| {
            eprintln!("SKIPPED {test}: {why}");
            None
        };
        let Some(sshd) = sshd() else { return skip("sshd is not installed") };
        if Command::new("ssh").arg("-V").output().is_err() {
            return skip("ssh is not installed");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let root = fs::metadata(&path).unwrap().uid() == 0;
        let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let separated = known.lines().any(|line| line.starts_with("sshd:"));
        let wrapper = std::env::var_os("XOFF_NSS_WRAPPER").map(PathBuf::from);
        let (user, wrapper) = match (root, separated, wrapper) {
            (false, ..) => (name_of_user(), None),
            (true, true, _) => {
                // Where a package would have made it at boot.
                let _ = fs::create_dir("/run/sshd");
                ("root".to_owned(), None)
            }
            (true, false, Some(wrapper)) => ("operator".to_owned(), Some(wrapper)),
            (true, false, None) => return skip("root needs a user `sshd`, or XOFF_NSS_WRAPPER"),
        };
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        for key in ["host", "id"] {
            keygen(&path.join(key));
        }
        fs::copy(path.join("id.pub"), path.join("let-in")).unwrap();
        fs::write(path.join("nobody"), "").unwrap();
        fs::write(path.join("hang"), "").unwrap();
        fs::create_dir(path.join("asked")).unwrap();
        // It answers what was recorded, and keeps what it was asked.
        let answer = "#!/bin/sh\necho \"$SSH_ORIGINAL_COMMAND\" >> \"$1/asked/$2\"\ncase $SSH_ORIGINAL_COMMAND in\n\
                      *lldp*) [ -e \"$1/$2.lldp\" ] && exec cat \"$1/$2.lldp\"; echo no LLDP here >&2; exit 4 ;;\n\
                      *\"show version\"*|*\"nv show system\"*) exec echo version 1 ;;\n\
                      *runningconfiguration*) echo \"show: permission denied\" >&2; exit 1 ;;\n\
                      */bin/sh*) cat > \"$1/asked/$2.script\" ;;\nesac\nexec cat \"$1/$2.running\"\n";
        fs::write(path.join("answer.sh"), answer).unwrap();
        if wrapper.is_some() {
            let home = path.display();
            let line = format!("operator:x:{NOBODY}:{NOBODY}::{home}:/bin/sh\n");
            fs::write(path.join("passwd"), line).unwrap();
            fs::write(path.join("group"), format!("operator:x:{NOBODY}:\n")).unwrap();
            for name in ["host", "asked"] {
                chown(path.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let ssh = path.join("ssh");
        fs::write(&ssh, "#!/bin/sh\nexec ssh -F none \"$@\"\n").unwrap();
        fs::set_permissions(&ssh, Permissions::from_mode(0o755)).unwrap();
        fs::write(path.join("known"), "").unwrap();
        Some(Self { folder, sshd, user, wrapper, servers: Vec::new() })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a server that runs a command for whoever is let in; its port. Its host key is known where `known`.
    fn serve(&mut self, keys: &str, command: &str, known: bool) -> u16 {
        let port = free_port();
        let home = self.path().display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {home}/host\nPidFile none\nStrictModes no\n\
             AuthorizedKeysFile {home}/{keys}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin yes\nMaxStartups 100\nForceCommand {command}\n"
        );
        let file = self.path().join(format!("sshd-{port}"));
        fs::write(&file, config).unwrap();
        let mut server = Command::new(&self.sshd);
        server.args(["-D", "-e", "-f"]).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let log = fs::File::create(self.path().join(format!("log-{port}"))).unwrap();
        server.stderr(log);
        if let Some(wrapper) = &self.wrapper {
            server.uid(NOBODY).gid(NOBODY).env("LD_PRELOAD", wrapper);
            server.env("NSS_WRAPPER_PASSWD", self.path().join("passwd"));
            server.env("NSS_WRAPPER_GROUP", self.path().join("group"));
        }
        self.servers.push(server.spawn().expect("sshd starts"));
        wait_until("sshd to listen", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        if known {
            let key = fs::read_to_string(self.path().join("host.pub")).unwrap();
            let key: Vec<&str> = key.split_whitespace().take(2).collect();
            let mut all = fs::read_to_string(self.path().join("known")).unwrap();
            all += &format!("[127.0.0.1]:{port} {}\n", key.join(" "));
            fs::write(self.path().join("known"), all).unwrap();
        }
        port
    }

    /// A server that gives the answers recorded for a device.
    fn device(&mut self, name: &str, running: &str) -> u16 {
        fs::write(self.path().join(format!("{name}.running")), running).unwrap();
        let home = self.path().display().to_string();
        self.serve("let-in", &format!("/bin/sh {home}/answer.sh {home} {name}"), true)
    }

    /// `xoff collect` with the keys of the lab.
    fn collect(&self, inventory: &str, more: &[&str]) -> Command {
        fs::write(self.path().join("inventory.toml"), inventory).unwrap();
        let known = format!("UserKnownHostsFile={}/known", self.path().display());
        let mut command = xoff(self.path());
        command.env("XOFF_SSH", self.path().join("ssh"));
        command.args(["collect", "inventory.toml", "--out", "running", "--ssh-option", &known]);
        command.args(["--ssh-option", "GlobalKnownHostsFile=/dev/null"]).args(more);
        command
    }

    /// Defaults of an inventory, then devices by name, system and port.
    fn inventory(&self, devices: &[(&str, &str, u16)]) -> String {
        let identity = self.path().join("id");
        let mut text = format!(
            "[defaults]\naddress = \"127.0.0.1\"\nuser = \"{}\"\nidentity = \"{}\"\n",
            self.user,
            identity.display()
        );
        for (name, system, port) in devices {
            text +=
                &format!("[[device]]\nname = \"{name}\"\nsystem = \"{system}\"\nport = {port}\n");
        }
        text
    }

    /// Programs that still run for this lab's collection.
    fn left(&self) -> Vec<String> {
        let mark = format!("UserKnownHostsFile={}/known", self.path().display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&mark)).collect()
    }

    fn record(&self) -> serde_json::Value {
        let text = fs::read_to_string(self.path().join("running/collection.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn name_of_user() -> String {
    let out = Command::new("id").arg("-un").output().expect("id runs");
    stdout(&out).trim().to_owned()
}

#[allow(clippy::disallowed_methods, reason = "a limit of wall time is what is tested")]
fn now() -> Instant {
    Instant::now()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..600 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("waited in vain for {what}");
}

/// The configuration of a device of the example fabric, as a device of that system would answer.
fn configured(folder: &Path, system: &str, file: &str) -> String {
    let fabric = example("leaf-spine-64.toml");
    let out = folder.join(format!("of-{system}"));
    let made =
        output(folder, &["config", &fabric, "--system", system, "--out", out.to_str().unwrap()]);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    fs::read_to_string(out.join(file)).unwrap()
}

/// What a host prints.
const HOST: &str = "hostname hgx1\n$ mlnx_qos -i eth2\nnic mlx5_0 eth2\nDCBX mode: OS controlled\nPriority trust state: \
                    dscp\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   \
                    0   0   0\n/sys/class/net/eth2/mtu:9000\n/sys/class/infiniband/mlx5_0/tc/1/traffic_class:106\n";

fn names(answer: &serde_json::Value) -> Vec<&str> {
    let devices = answer["devices"].as_array().unwrap();
    devices.iter().filter_map(|device| device["name"].as_str()).collect()
}

#[test]
fn the_rest_is_collected_where_one_hangs_and_one_refuses() {
    const LIMIT: f64 = 15.0;
    let Some(mut lab) = Lab::new("the_rest_is_collected_where_one_hangs_and_one_refuses") else {
        return;
    };
    let home = lab.path().to_owned();
    let secret = "\nusername admin secret sha512 $6$abcd$efghijklmnop\n";
    let eos = configured(&home, "eos", "leaf0.cfg").replace('\n', "\r\n") + secret;
    fs::write(home.join("leaf0.lldp"), "Interface Ethernet1/1 detected 0 LLDP neighbors:\n")
        .unwrap();
    let devices = [
        ("leaf0", "eos", lab.device("leaf0", &eos)),
        ("leaf1", "sonic", lab.device("leaf1", &configured(&home, "sonic", "leaf1.json"))),
        ("spine0", "junos", lab.device("spine0", &configured(&home, "junos-set", "spine0.set"))),
        ("spine1", "cumulus", lab.device("spine1", &configured(&home, "cumulus", "spine1.nv"))),
        ("hgx1", "host", lab.device("hgx1", HOST)),
        // The script itself, on this machine.
        ("hgx2", "host", lab.serve("let-in", "/bin/sh -c \"$SSH_ORIGINAL_COMMAND\"", true)),
        (
            "stuck",
            "eos",
            lab.serve(
                "let-in",
                &format!("while [ -e {0}/hang ]; do sleep 0.2; done", home.display()),
                true,
            ),
        ),
        ("stranger", "eos", lab.serve("nobody", "echo in", true)),
        ("unknown", "eos", lab.serve("let-in", "echo in", false)),
        ("gone", "eos", free_port()),
    ];
    let inventory = lab.inventory(&devices);
    let clock = now();
    let more = ["--timeout", "15s", "--redact", "--parallel", "16"];
    let out = lab.collect(&inventory, &more).output().unwrap();
    let took = clock.elapsed().as_secs_f64();
    assert_eq!(code(&out), Some(1), "{}\n{}", stdout(&out), stderr(&out));
    assert!((LIMIT..2.0 * LIMIT).contains(&took), "{took} s with a limit of {LIMIT} s");
    assert_eq!(lab.left(), Vec::<String>::new());
    let page = stdout(&out);
    assert!(page.contains("collected 6 of 10 devices"), "{page}");
    for (device, cause, cure) in [
        ("stuck", "timed out after 15 s", "--timeout"),
        ("stranger", "refused the key", "ssh-copy-id"),
        ("unknown", "its host key is not known", "--accept-new"),
        ("gone", "unreachable: no SSH server listens there", "`port`"),
    ] {
        let line = page.lines().position(|line| line.trim().starts_with(&format!("{device} (")));
        let line = line.unwrap_or_else(|| panic!("no {device} in\n{page}"));
        let said: Vec<&str> = page.lines().skip(line).take(2).collect();
        assert!(said[0].contains(cause) && said[1].contains(cure), "{said:?}");
        let left = fs::read_dir(home.join("running")).unwrap().flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(device));
        assert_eq!(left.count(), 0, "{device} leaves no file");
    }
    assert!(stderr(&out).contains("no lldp of spine0 (junos)"), "{}", stderr(&out));

    what_was_asked_is_kept(&lab);
    what_was_collected_is_audited(&lab);
}

fn what_was_asked_is_kept(lab: &Lab) {
    let record = lab.record();
    assert_eq!(record["collected"], 6);
    assert_eq!(record["redacted"], true);
    let device = |name: &str| {
        let all = record["devices"].as_array().unwrap();
        all.iter().find(|device| device["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert_eq!(device("leaf0")["asked"][0]["command"], "show running-config | no-more");
    assert_eq!(device("leaf0")["asked"][0]["code"], 0);
    assert_eq!(device("leaf0")["asked"][0]["masked_lines"], 1);
    assert!(device("leaf0")["asked"][0]["bytes"].as_u64() > Some(1000));
    assert_eq!(device("stuck")["state"], "failed");
    assert_eq!(device("stuck")["asked"][0]["code"], serde_json::Value::Null);
    // The first form is refused, and so is the one with more rights; what is saved is taken.
    let sonic = device("leaf1");
    let commands: Vec<&str> =
        (0..3).filter_map(|at| sonic["asked"][at]["command"].as_str()).collect();
    assert_eq!(commands[2], "cat /etc/sonic/config_db.json");
    assert_eq!(sonic["asked"][2]["file"], "leaf1.json");
    let asked = fs::read_to_string(lab.path().join("asked/leaf0")).unwrap();
    assert_eq!(asked.lines().count(), 3, "{asked}");
    let script = fs::read_to_string(lab.path().join("asked/hgx1.script")).unwrap();
    assert!(script.contains("mlnx_qos -i") && script.ends_with("echo \"# end\"\n"), "{script}");
    let here = fs::read_to_string(lab.path().join("running/hgx2.txt")).unwrap();
    assert!(here.starts_with("hostname ") && here.ends_with("# end\n"), "{here}");
    for entry in fs::read_dir(lab.path().join("running")).unwrap().flatten() {
        let (name, mode) = (entry.file_name(), entry.metadata().unwrap().mode() & 0o777);
        assert_eq!(mode, 0o600, "{name:?}");
    }
    let eos = fs::read_to_string(lab.path().join("running/leaf0.cfg")).unwrap();
    assert!(
        !eos.contains('\r') && !eos.contains("$6$") && eos.contains("secret <redacted>"),
        "{eos}"
    );
}

fn what_was_collected_is_audited(lab: &Lab) {
    let fabric = example("leaf-spine-64.toml");
    let audited = output(lab.path(), &["audit", "running", "--fabric", &fabric, "--json"]);
    assert!(code(&audited) < Some(2), "{}", stderr(&audited));
    let answer = json(&audited);
    for name in ["leaf0", "leaf1", "spine0", "spine1", "hgx1"] {
        assert!(names(&answer).contains(&name), "{:?}", names(&answer));
    }
    assert_eq!(names(&answer).iter().filter(|name| name.starts_with("leaf0")).count(), 1);
    let ports = |name: &str| {
        let all = answer["devices"].as_array().unwrap();
        all.iter().find(|device| device["name"] == name).and_then(|device| device["ports"].as_u64())
    };
    assert!(ports("leaf0") > Some(8) && ports("leaf1") > Some(8) && ports("spine0") > Some(2));
    assert_eq!(ports("hgx1"), Some(1));
    assert!(!stderr(&audited).contains("collection.json"), "{}", stderr(&audited));
    assert!(!stderr(&audited).contains("version.txt"), "{}", stderr(&audited));
}

#[test]
fn an_interrupted_collection_keeps_what_is_complete() {
    let Some(mut lab) = Lab::new("an_interrupted_collection_keeps_what_is_complete") else {
        return;
    };
    let hang = format!("while [ -e {0}/hang ]; do sleep 0.2; done", lab.path().display());
    let devices = [
        ("hgx1", "host", lab.device("hgx1", HOST)),
        ("stuck", "eos", lab.serve("let-in", &hang, true)),
    ];
    let inventory = lab.inventory(&devices);
    let mut command = lab.collect(&inventory, &["--timeout", "5min"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first device", || lab.path().join("running/hgx1.txt").exists());
    let clock = now();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let out: Output = child.wait_with_output().unwrap();
    assert!(clock.elapsed() < Duration::from_secs(10));
    assert_eq!(code(&out), Some(130), "{}", stderr(&out));
    assert!(stdout(&out).contains("interrupted before 1 of them were done"), "{}", stdout(&out));
    assert_eq!(lab.left(), Vec::<String>::new());
    let record = lab.record();
    assert_eq!(record["devices"][0]["state"], "collected");
    assert_eq!(record["devices"][1]["state"], "interrupted");

    // Once more, by name alone; what fails now leaves what was there and says so.
    lab.servers.iter_mut().for_each(|server| {
        let _ = server.kill();
        let _ = server.wait();
    });
    let again = lab.collect(&inventory, &["--json"]).output().unwrap();
    assert_eq!(code(&again), Some(1), "{}", stderr(&again));
    assert_eq!(json(&again)["devices"][0]["kept"][0], "hgx1.txt");
}

#[test]
fn nothing_is_contacted_by_list_and_dry_run() {
    let folder = tempfile::tempdir().unwrap();
    let list = output(folder.path(), &["collect", "--list"]);
    assert_eq!(code(&list), Some(0), "{}", stderr(&list));
    for line in
        ["nv config show -o commands", "terminal length 0 ; show running-config", "run mlnx_qos"]
    {
        assert!(stdout(&list).contains(line), "{}", stdout(&list));
    }
    let ini = "[leafs]\nleaf[0:1] ansible_network_os=arista.eos.eos ansible_port=2222\n[h]\nhgx1 ansible_network_os=linux\n";
    fs::write(folder.path().join("hosts"), ini).unwrap();
    let mut dry = xoff(folder.path());
    let fabric = example("leaf-spine-64.toml");
    dry.args(["collect", "hosts", "--dry-run", "--accept-new", "--fabric", &fabric]);
    // A program that is not there is not missed.
    let dry = dry.env("XOFF_SSH", "/nowhere/ssh").output().unwrap();
    assert_eq!(code(&dry), Some(0), "{}", stderr(&dry));
    let line = "/nowhere/ssh -T -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o ConnectTimeout=10 -o \
                ControlMaster=no -p 2222 -- leaf1 'show running-config | no-more'";
    assert!(stdout(&dry).lines().any(|said| said == line), "{}", stdout(&dry));
    assert!(stderr(&dry).contains("not in the inventory: leaf2"), "{}", stderr(&dry));
    assert!(stderr(&dry).contains("1 device not in the fabric: hgx1"), "{}", stderr(&dry));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
}

#[test]
fn mistakes_in_usage_and_inventories_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    put("good", "leaf0 eos\n");
    put("twice", "leaf0 eos\nleaf0 eos\n");
    put("empty.toml", "");
    put("option", "-oProxyCommand=id eos\n");
    put("system.csv", "name,system\nleaf0,ios\n");
    fs::create_dir(folder.path().join("full")).unwrap();
    put("full/precious", "x");
    for (arguments, expected, said) in [
        (&["good"][..], 2, "--out"),
        (&["nowhere", "--out", "o"], 2, "cannot read `nowhere`"),
        (&["twice", "--out", "o"], 2, "`leaf0` is there already, on line 1"),
        (&["empty.toml", "--out", "o"], 2, "no device in this TOML inventory"),
        (&["option", "--out", "o"], 2, "cannot be the name of a device"),
        (&["system.csv", "--out", "o"], 2, "there is no system `ios`"),
        (&["good", "--out", "o", "--ssh", "/nowhere/ssh"], 2, "install OpenSSH's client"),
        (&["good", "--out", "o", "--ssh-option", "BatchMode=no"], 2, "BatchMode stays on"),
        (&["good", "--out", "o", "--parallel", "0"], 2, "1 to 512"),
        (&["good", "--out", "o", "--timeout", "0s"], 2, "longer than nothing"),
        (&["good", "--out", "o", "--system", "ios"], 2, "nx-os"),
        (&["good", "--out", "full", "--ssh", "true"], 3, "holds no earlier collection"),
    ] {
        let out = output(folder.path(), &[&["collect"], arguments].concat());
        assert_eq!(code(&out), Some(expected), "{arguments:?}: {}", stderr(&out));
        assert!(stderr(&out).contains(said), "{arguments:?}: {}", stderr(&out));
    }
    assert!(!folder.path().join("o").exists(), "nothing is made before all is well");
}
