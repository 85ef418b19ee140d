//! Inventories nobody expected, and the promises of the tables: nothing that a device is asked changes it, and what
//! is masked are secrets only.

mod common;

use proptest::prelude::*;
use xoff_config::SystemId;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::inventory::{Defaults, asks, read, redact, systems};

const INVENTORIES: [(&str, &str); 5] = [
    (
        "a.toml",
        "[defaults]\nuser = \"ops\"\n[group.leaf]\nsystem = \"eos\"\n[[device]]\nname = \"leaf[0:3]\"\ngroup = \
         \"leaf\"\njump = \"me@b:22,c\"\n[[device]]\nname = \"h\"\naddress = \"::1\"\nsystem = \"host\"\nport = 22\n",
    ),
    (
        "a.ini",
        "lone ansible_network_os=eos\n[a]\nleaf[0:9:3] ansible_host=10.0.0.1 x='y z'\n[a:vars]\nansible_network_os=\
         sonic\n[b:children]\na\n[b:vars]\nansible_ssh_common_args=\"-J hop\"\n",
    ),
    (
        "a.yml",
        "---\nall:\n  vars:\n    ansible_user: x\n    list:\n    - a\n    - b: c\n    text: |\n      more\n  children:\n    \
         g:\n      hosts:\n        h1: {ansible_host: 10.0.0.1, n: 'a b'}\n        \"h2\":\n      vars:\n        \
         ansible_network_os: junos  # yes\n",
    ),
    ("a.txt", "leaf0 eos\nleaf[1:2] nxos user=a port=1 # c\n"),
    ("a.csv", "name,ip,os,note\nleaf0,10.0.0.1/24,eos,\"x, \"\"y\"\"\nz\"\nleaf1,,sonic,\n"),
];

/// What `ssh` must never be given: an option, or anything that a shell would act on.
fn is_safe(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:%@+\\[],".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

/// Reads a text as each form; whatever comes of it can be used or names its line.
fn check(text: &str) {
    let lines = text.lines().count() as u32;
    for name in ["a.toml", "a.ini", "a.yml", "a.csv", "devices"] {
        let defaults = Defaults { system: Some(SystemId::Host), user: None };
        match read(name, text, &defaults) {
            Ok(inventory) => {
                assert!(!inventory.targets.is_empty());
                for target in &inventory.targets {
                    assert!(target.line >= 1 && target.line <= lines, "{target:?}");
                    assert!(
                        is_safe(&target.name) && !target.name.contains(['/', ':']),
                        "{target:?}"
                    );
                    assert!(is_safe(&target.address), "{target:?}");
                    assert!(target.user.as_deref().is_none_or(is_safe), "{target:?}");
                    assert!(target.jump.as_deref().is_none_or(is_safe), "{target:?}");
                    assert!(target.identity.as_deref().is_none_or(|path| !path.starts_with('-')));
                }
            }
            Err(mistakes) => {
                assert!(!mistakes.is_empty());
                for mistake in mistakes {
                    assert!(mistake.line <= lines.max(1), "{mistake:?} of {lines} lines");
                    assert!(!mistake.message.is_empty() && !mistake.cure.is_empty());
                }
            }
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "[[device]]",
        "name = \"a\"",
        "[a]",
        "[a:vars]",
        "[a:children]",
        "[",
        "]",
        "a:",
        "  hosts:",
        "    b:",
        "  - x",
        "\t",
        "leaf[0:3]",
        "leaf[0:",
        "eos",
        "ansible_host=1",
        "ansible_network_os: eos",
        "{",
        "}",
        "{a: b}",
        "'",
        "\"",
        "#",
        ";",
        ",",
        "name,os",
        "=",
        "&x",
        "*x",
        "<<: *x",
        "|",
        "é",
        "\u{feff}",
        "-oProxyCommand=id",
        "$(id)",
        "\0",
        "all:",
        "  children:",
        "    a:",
        "      children:",
        "x=y",
        "...",
        "---",
        "!vault |",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    let end = prop::sample::select(vec!["\n", " ", "", "\r\n", "\n  ", "\n      "]);
    let part = (prop_oneof![4 => word, 1 => "\\PC{0,12}"], end).prop_map(|(word, end)| word + end);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_or_refused(text in pieces()) {
        check(&text);
    }

    #[test]
    fn damaged_inventories_are_read_or_refused(
        which in 0usize..5, at in 0usize..400, garbage in "\\PC{0,6}", cut in any::<bool>(),
    ) {
        let text = INVENTORIES[which].1;
        let at = text.floor_char_boundary(at.min(text.len()));
        check(&if cut { text[..at].to_owned() } else { format!("{}{garbage}{}", &text[..at], &text[at..]) });
    }

    #[test]
    fn redaction_keeps_lines(text in "(key|password|\"|[{}$;: \\n]|\\PC){0,60}") {
        let (out, masked) = redact(&text);
        prop_assert_eq!(out.matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(masked == 0, out == text);
    }
}

#[test]
fn the_samples_are_inventories() {
    for (name, text) in INVENTORIES {
        let found = read(name, text, &Defaults::default());
        assert!(found.is_ok_and(|inventory| inventory.targets.len() >= 2), "{name}");
        check(text);
    }
}

/// Large, deep and cyclic ones: an answer within moments.
#[test]
fn huge_inventories_end() {
    let many: String = (0..10_000).map(|n| format!("h{n} eos\n")).collect();
    assert_eq!(read("x", &many, &Defaults::default()).unwrap().targets.len(), 10_000);
    let more: String = (0..100_001).map(|n| format!("h{n} eos\n")).collect();
    assert!(read("x", &more, &Defaults::default()).is_err());
    let deep: String = (0..1_500).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    check(&deep);
    let chain: String = (0..5_000).map(|n| format!("[g{n}:children]\ng{}\n", n + 1)).collect();
    check(&chain);
    let ring: String =
        (0..5_000).map(|n| format!("[g{n}:children]\ng{}\n", (n + 1) % 5_000)).collect();
    check(&ring);
    // Many groups above many hosts.
    let mut wide: String = (0..2_000).map(|n| format!("[g{n}:children]\nleafs\n")).collect();
    wide += "[leafs:vars]\nansible_network_os=eos\n[leafs]\nleaf[0:20000]\n";
    assert_eq!(read("x.ini", &wide, &Defaults::default()).unwrap().targets.len(), 20_001);
    for range in ["[0:99999][0:99999]", "[0:999999999]", "[0:9][0:9][0:9][0:9][0:9][0:9]"] {
        assert!(read("x", &format!("leaf{range} eos\n"), &Defaults::default()).is_err(), "{range}");
    }
    check(&"[".repeat(100_000));
    check(&"{a: ".repeat(50_000));
    check(&"\"".repeat(100_001));
}

/// Words that begin a command on a switch and only ask. `configure` enters a mode; nothing is entered in it.
fn asks_only(command: &str) -> bool {
    let command = command.strip_prefix("sudo -n ").unwrap_or(command);
    for shell in ["cli -c ", "/pica/bin/pica_sh -c "] {
        if let Some(inner) = command.strip_prefix(shell) {
            let inner = inner.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
            let Some(inner) = inner.filter(|inner| !inner.contains('"')) else { return false };
            return asks_only(inner.strip_prefix("configure;").unwrap_or(inner));
        }
    }
    let allowed: [&[&str]; 8] = [
        &["show"],
        &["terminal", "length", "0"],
        &["cat", "/etc/sonic/config_db.json"],
        &["nv", "config", "show"],
        &["nv", "show"],
        &["lldpctl", "-f", "json"],
        &["no-more"],
        &["display"],
    ];
    let asks = |part: &str| {
        let words: Vec<&str> = part.split_whitespace().collect();
        words == ["version"] || allowed.iter().any(|start| words.starts_with(start))
    };
    !command.contains(['>', '<', '`', '$', '&', '\n']) && command.split([';', '|']).all(asks)
}

#[test]
fn nothing_that_a_switch_is_asked_changes_it() {
    let mut commands = 0;
    for system in systems().filter(|system| *system != SystemId::Host) {
        for ask in asks(system) {
            assert!(ask.input.is_none(), "{system}");
            for command in ask.commands {
                assert!(asks_only(command), "{system}: {command}");
                commands += 1;
            }
        }
        assert_eq!(asks(system).iter().filter(|ask| ask.needed).count(), 1, "{system}");
    }
    assert!(commands > 20);
    for wrong in [
        "configure",
        "reload",
        "show x > y",
        "show x ; write",
        "show x | tee y",
        "nv set x",
        "sudo -n config save",
        "cli -c \"clear x\"",
        "/pica/bin/pica_sh -c \"configure;commit\"",
        "show `id`",
        "cat /etc/shadow",
    ] {
        assert!(!asks_only(wrong), "{wrong}");
    }
}

/// What a host's script may run: programs with the arguments that only ask.
const HOST_CALLS: [&str; 33] = [
    "command -v",
    "return 0",
    "echo \"",
    "hostname",
    "export LC_ALL PATH",
    "$limit \"$@\"",
    "env",
    "continue",
    "break",
    "grep -h ",
    "grep -H . ",
    "grep \"^NCCL_\"",
    "run uname -sr",
    "run ibdev2netdev",
    "run rdma link show",
    "run ip -d link show",
    "run show_gids",
    "run mlnx_qos -i \"$NET\"",
    "run dcb ",
    "run lldptool -t -i \"$NET\"",
    "run ethtool -i \"$NET\"",
    "run ethtool -m \"$NET\"",
    "run niccli --dev ",
    "run nicctl show ",
    "run lldpctl -f json",
    "cma_roce_tos -d \"$DEV\"",
    "basename ",
    "readlink ",
    "[ -e ",
    "[ -f ",
    "[ -n ",
    "for ",
    "case $DEV in",
];

/// The commands of a line of the script, one by one.
fn commands_of(line: &str) -> Vec<String> {
    let line =
        line.replace("2>/dev/null", "").replace(">/dev/null 2>&1", "").replace("</dev/null", "");
    let line =
        line.replace(">/dev/null", "").replace("2>&1", "").replace("$(", "\n").replace("&&", "\n");
    let line =
        line.replace("||", "\n").replace(";;", "\n").replace("; do", "\n").replace(';', "\n");
    // A pipe inside quotation marks would be taken apart, too: there is none.
    line.split(['\n', '|'])
        .map(|part| part.trim().trim_end_matches([')', '"']).to_owned())
        .collect()
}

fn host_asks_only(script: &str) -> Result<(), String> {
    for line in script.lines().map(str::trim) {
        if line.is_empty()
            || line.starts_with('#')
            || ["}", "done", "esac", "run() {"].contains(&line)
        {
            continue;
        }
        for part in commands_of(line) {
            let part = part.strip_prefix("bnxt*) ").unwrap_or(&part);
            let assigns = part.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
            });
            let allowed = part.is_empty()
                || assigns
                || HOST_CALLS.iter().any(|call| part.starts_with(call.trim_end_matches('"')));
            let shows = !part.starts_with("run dcb ") || part.contains(" show dev ");
            if !allowed || !shows || (part.contains('>') && !part.starts_with("echo")) {
                return Err(format!("`{part}` in `{line}`"));
            }
        }
        let quoted = line.replace("2>/dev/null", "").replace(">/dev/null", "").replace("2>&1", "");
        if quoted.contains('>') {
            return Err(format!("`{line}` writes"));
        }
    }
    Ok(())
}

#[test]
fn nothing_that_a_host_is_asked_changes_it() {
    let [ask] = asks(SystemId::Host) else { panic!("one ask") };
    let script = ask.input.unwrap();
    // It must fit a pipe's buffer.
    assert!(script.len() < 16 << 10);
    host_asks_only(script).unwrap();
    for wrong in [
        "rm -rf /",
        "run mlnx_qos -p 3",
        "echo 1 > /sys/class/net/eth0/x",
        "run ip link set eth0 up",
        "run ethtool -s x",
        "run cma_roce_tos -d x -t 106",
        "run dcb pfc set dev eth0",
        "grep x y && reboot",
        "echo \"$(reboot)\"",
        "cat /etc/shadow",
        "run nicctl update qos",
    ] {
        assert!(host_asks_only(&format!("{script}\n{wrong}\n")).is_err(), "{wrong}");
    }
}

/// What xoff writes for a fabric has no secrets: none of its lines may be masked.
#[test]
fn statements_of_qos_are_not_masked() {
    for system in SystemId::ALL {
        let of_switches = if system == SystemId::Host { SystemId::Eos } else { system };
        for balancing in [Balancing::Hash, Balancing::Flowlet, Balancing::Packet] {
            let choices = Choices { balancing, ..Choices::all(of_switches) };
            let intent = Intent::with(&common::setup(common::POD), choices);
            for device in &intent.devices {
                for file in intent.files(device, &mut Vec::new()) {
                    let (out, masked) = redact(&file.text);
                    assert!(masked == 0 && out == file.text, "{system}: {}", file.name);
                }
            }
        }
    }
}
