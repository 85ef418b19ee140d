//! `xoff audit` on what people collect: hosts in pieces, and folders with everything else in them.

use super::{code, json, output, stderr, stdout};
use std::fs;
use std::path::Path;

const QOS: &str = "Priority trust state: dscp\ndscp2prio mapping:\n\tprio:3 dscp:26,\n\tprio:6 dscp:48,\n\
    PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0\n";

/// Two servers with eight NICs each.
const POD: &str = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-5'\n\
    leaves = 2\nspines = 2\n";

fn put(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn names(folder: &Path, dir: &str) -> Vec<String> {
    let answer = json(&output(folder, &["audit", dir, "--json"]));
    let devices = answer["devices"].as_array().unwrap();
    devices.iter().map(|device| device["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn audit_joins_the_files_of_a_host() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "d/hgx1.mlnx_qos.eth2", QOS);
    put(at, "d/hgx1.cma_roce_tos", "106\n");
    put(at, "d/hgx1.sysfs", "/sys/class/infiniband/mlx5_0/tc/1/traffic_class:Global tclass=106\n");
    put(at, "d/hgx2/mlnx_qos_eth2.txt", QOS);
    put(at, "d/hgx2/sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n");
    put(at, "d/hgx2/sys/class/infiniband/mlx5_0/hca_type", "MT4129\n");
    assert_eq!(names(at, "d"), ["hgx1", "hgx2"]);
    let found = output(at, &["audit", "d"]);
    assert_eq!(code(&found), Some(0), "{}", stdout(&found));
    assert!(stdout(&found).contains("0 errors, 0 warnings"), "{}", stdout(&found));
    assert_eq!(stderr(&found), "");
    // One mistake is one finding, of the host and its NIC.
    put(at, "d/hgx1.mlnx_qos.eth2", QOS.replace("0   1   0", "0   0   0"));
    let found = output(at, &["audit", "d"]);
    assert!(stdout(&found).contains("error[pfc-missing]: hgx1 mlx5_0"), "{}", stdout(&found));
    assert!(stdout(&found).contains("1 error, 0 warnings"), "{}", stdout(&found));
}

#[cfg(unix)]
#[test]
fn audit_says_what_it_could_not_read() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "d/hgx1.mlnx_qos.eth2", QOS);
    put(
        at,
        "d/program",
        b"\x7fELF\x02\x01\x01\0interface gigabit-ethernet class-of-service classifier ",
    );
    put(at, "d/old.cfg.gz", b"\x1f\x8b\x08\0\0\0\0\0");
    put(at, "d/zeros", [0; 4096]);
    put(at, "d/empty.txt", "");
    put(at, "d/.hidden", "mlnx_qos\n");
    put(at, "d/.git/config", "mlnx_qos\n");
    put(at, "d/pod.toml", "[cluster]\ngpus = 8\n");
    put(at, "d/pod.approved.json", "{}");
    put(at, "d/README.md", "# Run `mlnx_qos -i eth2` and NCCL_IB_TC=106\n");
    let wide: Vec<u8> = QOS.encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(at, "d/hgx2.mlnx_qos.eth2", [b"\xff\xfe".as_slice(), &wide].concat());
    symlink(".", at.join("d/loop")).unwrap();
    symlink("self", at.join("d/self")).unwrap();
    symlink("nowhere", at.join("d/dangling")).unwrap();
    symlink("/dev/zero", at.join("d/zero-device")).unwrap();
    let _socket = UnixListener::bind(at.join("d/socket")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(at.join("d/pipe")).status();
    let piped = pipe.is_ok_and(|status| status.success());

    let found = output(at, &["audit", "d"]);
    assert_eq!(code(&found), Some(0), "{}{}", stdout(&found), stderr(&found));
    assert!(stdout(&found).contains("2 devices"), "{}", stdout(&found));
    let said = stderr(&found);
    let mut expected = vec![
        ("d/program`", "a program"),
        ("d/old.cfg.gz`", "gzip"),
        ("d/zeros`", "not a text"),
        ("d/empty.txt`", "no known configuration"),
        ("d/README.md`", "no known configuration"),
        ("d/loop`", "leads back"),
        ("d/self`", "not read"),
        ("d/dangling`", "not read"),
        ("d/socket`", "socket"),
        ("d/zero-device`", "device"),
    ];
    if piped {
        expected.push(("d/pipe`", "a pipe"));
    }
    for (file, why) in &expected {
        let line = said.lines().find(|line| line.contains(file));
        assert!(line.is_some_and(|line| line.contains(why)), "{file}: {why}\n{said}");
    }
    assert_eq!(said.lines().count(), expected.len(), "{said}");
}

/// A switch of EOS with a port of RoCE.
fn switch(name: &str, mtu: u32) -> String {
    format!(
        "hostname {name}\n!\ninterface Ethernet1/1\n   mtu {mtu}\n   qos trust dscp\n   priority-flow-control on\n   \
         priority-flow-control priority 3 no-drop\n   tx-queue 3\n      random-detect ecn minimum-threshold 800 kbytes \
         maximum-threshold 3200 kbytes max-mark-probability 20 weight 0\n"
    )
}

#[test]
fn audit_takes_files_of_several_devices_apart() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let log = ["leaf1", "leaf2", "leaf3"]
        .map(|name| format!("{name}#show running-config\n{}end\n", switch(name, 9214)));
    let crossed = log[2].replace("maximum-threshold 3200", "maximum-threshold 300");
    put(at, "d/session.log", log[..2].concat() + &crossed);
    assert_eq!(names(at, "d"), ["leaf1", "leaf2", "leaf3"]);
    let found = output(at, &["audit", "d"]);
    assert_eq!(code(&found), Some(1), "{}", stdout(&found));
    let text = stdout(&found);
    assert!(text.contains("error[ecn-range]: leaf3 Ethernet1/1"), "{text}");
    // Lines are those of the file.
    let whole = fs::read_to_string(at.join("d/session.log")).unwrap();
    let line = whole.lines().position(|line| line.contains("threshold 300 ")).unwrap() + 1;
    assert!(text.contains(&format!("d/session.log:{line} |")), "{line}: {text}");
    let sarif = json(&output(at, &["audit", "d", "--sarif"]));
    let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], line, "{sarif}");
    assert!(text.contains("maximum-threshold 3200"), "the fix: {text}");

    // Nothing says where the second begins.
    put(at, "e/both.cfg", switch("leaf1", 9214) + &switch("leaf2", 9214));
    put(at, "e/leaf3.cfg", switch("leaf3", 9214));
    let found = output(at, &["audit", "e", "--json"]);
    assert_eq!(code(&found), Some(1), "{}", stdout(&found));
    assert!(stderr(&found).contains("several devices (leaf1, leaf2)"), "{}", stderr(&found));
    assert_eq!(json(&found)["unread"].as_array().unwrap().len(), 1);
    let found = output(at, &["audit", "e/both.cfg"]);
    assert_eq!(code(&found), Some(2), "{}", stdout(&found));
}

#[test]
fn an_audit_of_a_part_of_a_folder_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "d/leaf1.cfg", switch("leaf1", 9214));
    put(at, "d/leaf2.cfg", switch("leaf2", 9214));
    put(at, "d/others.zip", b"PK\x03\x04");
    assert_eq!(code(&output(at, &["audit", "d"])), Some(0));
    assert_eq!(code(&output(at, &["audit", "d", "--strict"])), Some(1));
    fs::remove_file(at.join("d/others.zip")).unwrap();
    assert_eq!(code(&output(at, &["audit", "d", "--strict"])), Some(0));
    put(at, "d/leaf3.cfg", "\n");
    let found = output(at, &["audit", "d", "--strict", "--json"]);
    assert_eq!(code(&found), Some(1), "{}", stdout(&found));
    assert!(
        json(&found)["unread"][0].as_str().unwrap().contains("leaf3.cfg"),
        "{}",
        stdout(&found)
    );
    fs::remove_file(at.join("d/leaf3.cfg")).unwrap();
    // The file of another fabric.
    put(at, "pod.toml", POD);
    let found = output(at, &["audit", "d", "--fabric", "pod.toml"]);
    assert!(stdout(&found).contains("warning[not-in-fabric]: leaf2"), "{}", stdout(&found));
    fs::remove_file(at.join("d/leaf1.cfg")).unwrap();
    put(at, "d/leaf9.cfg", switch("leaf9", 9214));
    fs::remove_file(at.join("d/leaf2.cfg")).unwrap();
    let found = output(at, &["audit", "d", "--fabric", "pod.toml"]);
    assert_eq!(code(&found), Some(1), "{}", stdout(&found));
    assert!(stdout(&found).contains("error[not-in-fabric]: leaf9"), "{}", stdout(&found));
    // Two copies of a device.
    put(at, "d/old/leaf9.cfg", switch("leaf9", 9214));
    let found = output(at, &["audit", "d"]);
    assert!(stdout(&found).contains("several devices have one name (leaf9)"), "{}", stdout(&found));
}

/// A file that may be a configuration and cannot be read is an error; root reads everything.
#[cfg(unix)]
#[test]
fn a_file_without_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "d/leaf1.cfg", switch("leaf1", 9214));
    put(at, "d/leaf2.cfg", switch("leaf2", 9214));
    let path = at.join("d/leaf2.cfg");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        return;
    }
    let found = output(at, &["audit", "d"]);
    assert_eq!(code(&found), Some(1), "{}", stdout(&found));
    assert!(stderr(&found).contains("error: `d/leaf2.cfg` is not read"), "{}", stderr(&found));
}

#[test]
fn audit_counts_no_devices_in_documents_and_programs() {
    let folder = tempfile::tempdir().unwrap();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let found = output(folder.path(), &["audit", docs.to_str().unwrap()]);
    assert_eq!(code(&found), Some(2), "{}", stdout(&found));
    assert!(stderr(&found).contains("looks like a configuration"), "{}", stderr(&found));
    let own = env!("CARGO_BIN_EXE_xoff");
    let found = output(folder.path(), &["audit", own]);
    assert_eq!(code(&found), Some(2), "{}", stdout(&found));
    assert!(
        stderr(&found).contains("too large") || stderr(&found).contains("a program"),
        "{}",
        stderr(&found)
    );
}

/// Links that lead to one folder on very many ways are no reason to walk them all.
#[cfg(unix)]
#[test]
fn audit_reads_a_folder_once_however_many_links_lead_there() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for level in 0..20 {
        fs::create_dir_all(at.join(format!("d/{level}"))).unwrap();
        for link in ["a", "b", "c"] {
            symlink(format!("../{}", level + 1), at.join(format!("d/{level}/{link}"))).unwrap();
        }
    }
    put(at, "d/20/hgx1.mlnx_qos.eth2", QOS);
    let found = output(at, &["audit", "d"]);
    assert_eq!(code(&found), Some(0), "{}", stderr(&found));
    assert!(stdout(&found).contains("1 device"), "{}", stdout(&found));
    assert!(stderr(&found).contains("they are read once"), "{}", stderr(&found));
}

#[test]
fn hosts_of_every_maker_are_configured_and_pass_the_audit() {
    let folder = tempfile::tempdir().unwrap();
    for (nic, tool) in
        [("thor-2", "bnxt_re"), ("pollara-400", "nicctl"), ("connectx-7", "mlnx_qos")]
    {
        put(folder.path(), "pod.toml", POD.replace("connectx-7", nic));
        let written =
            output(folder.path(), &["config", "pod.toml", "--out", nic, "--system", "eos"]);
        assert_eq!(code(&written), Some(0), "{}", stderr(&written));
        let script = folder.path().join(nic).join("server0.sh");
        assert!(fs::read_to_string(&script).unwrap().contains(tool), "{nic}");
        let audited = output(folder.path(), &["audit", nic, "--fabric", "pod.toml"]);
        assert!(stdout(&audited).contains("0 errors, 0 warnings"), "{nic}: {}", stdout(&audited));
        assert!(stdout(&audited).contains("0 statements not understood"), "{}", stdout(&audited));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_ne!(mode(&script) & 0o100, 0, "the script can be run");
            assert_eq!(mode(&folder.path().join(nic).join("server0.service")) & 0o111, 0);
            let parsed = std::process::Command::new("sh").arg("-n").arg(&script).status().unwrap();
            assert!(parsed.success(), "{nic}");
        }
    }
}

/// A NIC that cannot be set does not keep the next one from being set, and the end says so.
#[cfg(unix)]
#[test]
fn a_script_goes_on_to_the_next_nic() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "pod.toml", POD);
    let written = output(folder.path(), &["config", "pod.toml", "--out", "d", "--system", "eos"]);
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    // Of names that no machine has: every block fails at its first command, and says so.
    let script = fs::read_to_string(folder.path().join("d/server0.sh")).unwrap();
    put(folder.path(), "try.sh", script.replace("mlx5_", "no-such-nic-"));
    let run = |argument: &[&str]| {
        let mut command = std::process::Command::new("sh");
        command.arg(folder.path().join("try.sh")).args(argument).output().unwrap()
    };
    let ran = run(&[]);
    assert_eq!(ran.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let nics = said.lines().filter(|line| line.contains("/infiniband/no-such-nic-")).count();
    assert_eq!(nics, 8, "{said}");
    // Of another NIC only that one is tried.
    assert_eq!(run(&["none"]).status.code(), Some(0));
}
