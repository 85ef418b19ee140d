//! Whose a file is and what it shows: from its path, and from prompts and names in it.

use crate::text::notes::is_address;

/// What a file's path says of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Label {
    /// The host, from the name of the file or from a tree of system files.
    pub(crate) host: Option<String>,
    /// The folder that the file is in: the host where nothing else says one.
    pub(crate) folder: Option<String>,
    /// The tool whose output it is.
    pub(crate) tool: Option<&'static str>,
    /// The NIC that it is about.
    pub(crate) port: Option<String>,
    /// The file of the host that it is a copy of, like `/sys/class/net/eth2/mtu`.
    pub(crate) copy_of: Option<String>,
    /// Where the tree of system files begins that it is part of.
    pub(crate) tree: Option<String>,
}

/// Words in names of files that say what is in them; `_` stands for any separator. Longer ones first.
const TOOLS: [&str; 42] = [
    "bnxt_setupcc",
    "ip_d_address",
    "ip_s_d_link",
    "ip_d_link",
    "ip_address",
    "cma_roce_tos",
    "ibdev2netdev",
    "environment",
    "ibv_devinfo",
    "ethtool_s",
    "ethtool_i",
    "ethtool_m",
    "dcb_maxrate",
    "dcb_buffer",
    "show_gids",
    "mlxconfig",
    "nccl_conf",
    "rdma_link",
    "ip_d_addr",
    "lldptool",
    "mlnx_qos",
    "printenv",
    "ip_addr",
    "ip_link",
    "dcb_app",
    "dcb_ets",
    "dcb_pfc",
    "devinfo",
    "ethtool",
    "bnxtqos",
    "ibstat",
    "nicctl",
    "niccli",
    "sysctl",
    "export",
    "sysfs",
    "nccl",
    "gids",
    "dcb",
    "env",
    "tos",
    "sys",
];

/// Endings and words of file names that name no host.
const PLAIN: [&str; 27] = [
    "txt", "log", "out", "conf", "cfg", "sh", "json", "yaml", "yml", "dump", "session", "output",
    "commands", "command", "config", "check", "roce", "nic", "nics", "host", "info", "all",
    "report", "result", "results", "show", "sbatch",
];

/// What a path says.
pub(crate) fn of(path: &str) -> Label {
    let path = path.replace('\\', "/");
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut label = Label::default();
    if let Some(at) = (1..parts.len()).find(|at| begins_tree(&parts[*at..])) {
        label.host = host_of_folder(parts[at - 1]);
        label.tree = Some(parts[..at].join("/"));
        if parts[at] != "sos_commands" {
            label.copy_of = Some(format!("/{}", parts[at..].join("/")));
            return label;
        }
    }
    let Some((name, folders)) = parts.split_last() else { return label };
    label.folder = folders.last().filter(|folder| **folder != "..").and_then(|f| host_of_folder(f));
    let name = of_name(name);
    label.host = label.host.or(name.host);
    label.tool = name.tool;
    label.port = name.port;
    label
}

/// Whether a path goes on as system files of Linux do.
fn begins_tree(parts: &[&str]) -> bool {
    matches!(
        parts,
        ["sos_commands", ..]
            | ["sys", "class" | "kernel" | "devices" | "module", _, ..]
            | ["proc", "sys" | "net", _, ..]
            | ["etc", "nccl.conf" | "hostname" | "environment" | "sysctl.conf"]
            | ["etc", "sysctl.d" | "modprobe.d" | "udev", ..]
    )
}

/// The host that a folder is named after: `hgx1`, `sosreport-hgx1-2026-11-17-abcdefg`.
fn host_of_folder(folder: &str) -> Option<String> {
    let Some(rest) = folder.strip_prefix("sosreport-").or(folder.strip_prefix("sos-")) else {
        return Some(short(folder)).filter(|name| is_name(name));
    };
    let words: Vec<&str> = rest.split('-').collect();
    let digits = |word: &str, least: usize| {
        word.len() >= least && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let year = |at: &usize| words[*at].len() == 4 && digits(words[*at], 4);
    let date = (1..words.len()).find(year).unwrap_or(words.len().saturating_sub(1).max(1));
    let case = words.get(date - 1).is_some_and(|word| date > 1 && digits(word, 5));
    let name = words[..date - usize::from(case)].join("-");
    Some(short(&name)).filter(|name| is_name(name))
}

/// A name without its domain; addresses stay whole.
pub(crate) fn short(name: &str) -> String {
    let name = name.trim();
    if is_address(name) {
        return name.to_owned();
    }
    name.split('.').next().unwrap_or(name).to_owned()
}

pub(crate) fn is_name(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=253).contains(&text.len())
        && text.chars().all(inside)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// What the name of a file says: `hgx1.mlnx_qos.eth2`, `hgx1-mlnx_qos-eth2.txt`, `mlnx_qos_eth2.txt`.
fn of_name(name: &str) -> Label {
    let even: String = name
        .chars()
        .map(|c| if "-. ".contains(c) { '_' } else { c.to_ascii_lowercase() })
        .collect();
    let mut label = Label::default();
    // The bytes of the name that are no part of the host's.
    let mut taken = vec![false; even.len()];
    for start in (0..even.len()).filter(|at| even.is_char_boundary(*at)) {
        let first = start == 0 || even.as_bytes()[start - 1] == b'_';
        if !first || taken[start] {
            continue;
        }
        let rest = &even[start..];
        let tool = TOOLS.iter().find_map(|tool| Some((tool, word(rest, tool)?)));
        let plain = PLAIN.iter().find_map(|plain| word(rest, plain));
        if let Some(port) = port_at(rest) {
            label.port = label.port.or_else(|| Some(name[start..start + port].to_owned()));
            taken[start..start + port].fill(true);
        } else if let Some((tool, length)) = tool {
            label.tool = label.tool.or(Some(tool));
            taken[start..start + length].fill(true);
        } else if let Some(length) = plain {
            taken[start..start + length].fill(true);
        } else {
            let word = rest.split('_').next().unwrap_or(rest);
            if word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_digit()) {
                taken[start..start + word.len()].fill(true);
            }
        }
    }
    let free = taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| at);
    let separator = |at: &usize| "-_. ".contains(char::from(name.as_bytes()[*at]));
    let start = free.clone().find(|at| !separator(at));
    label.host = start.and_then(|start| {
        let end = (start..name.len()).find(|at| taken[*at]).unwrap_or(name.len());
        let name = name.get(start..end)?.trim_end_matches(['-', '_', '.', ' ']);
        Some(short(name)).filter(|name| is_name(name))
    });
    label
}

/// The length of a word that a text begins with, if it ends there or before a separator. Where the word has one
/// separator, the text may have more: `ip_-d_addr`.
fn word(text: &str, word: &str) -> Option<usize> {
    let mut rest = text;
    for piece in word.split('_') {
        let trimmed = rest.trim_start_matches('_');
        let apart = rest.len() == text.len() || trimmed.len() < rest.len();
        rest = trimmed.strip_prefix(piece).filter(|_| apart)?;
    }
    (rest.is_empty() || rest.starts_with('_')).then_some(text.len() - rest.len())
}

/// The length of the name of a NIC that a text begins with: `eth2`, `ens1f0np0`, `mlx5_2`.
fn port_at(text: &str) -> Option<usize> {
    const STARTS: [&str; 20] = [
        "mlx5_bond_",
        "mlx5_",
        "mlx4_",
        "bnxt_re",
        "ionic_",
        "irdma",
        "benic",
        "rocep",
        "rdmap",
        "rdma",
        "roce",
        "hca",
        "nic",
        "enx",
        "bond",
        "eth",
        "enp",
        "ens",
        "eno",
        "ib",
    ];
    let start = STARTS.iter().find(|start| text.starts_with(**start))?;
    let rest = &text[start.len()..];
    let number = rest.starts_with(|c: char| c.is_ascii_digit());
    let length = rest.find('_').unwrap_or(rest.len());
    number.then_some(start.len() + length)
}

/// How sure a text is of the host it was taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// It says so: a prompt, the answer of `hostname`.
    Surely(String),
    /// The environment says so, which may be that of a container.
    Maybe(String),
}

/// The host that a text says it was taken from.
pub(crate) fn in_text(text: &str) -> Option<Named> {
    let mut maybe = None;
    let mut asked = false;
    for (number, line) in text.lines().take(5000).enumerate() {
        let line = line.trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        if asked {
            if let [name] = words[..]
                && is_name(name)
            {
                return Some(Named::Surely(short(name)));
            }
            asked = words.is_empty();
        }
        match words[..] {
            // The check script, and files of ours: these name a host as the fabric does.
            ["hostname", name] if number == 0 => return Some(Named::Surely(name.to_owned())),
            ["#", "RoCE", "configuration", "of", name, ..] => {
                return Some(Named::Surely(name.trim_end_matches(':').to_owned()));
            }
            ["#", "environment", "of", "NCCL", "jobs", "on", name] => {
                return Some(Named::Surely(name.to_owned()));
            }
            ["Linux", name, kernel, ..] if kernel.starts_with(|c: char| c.is_ascii_digit()) => {
                return Some(Named::Surely(short(name)));
            }
            ["Static", "hostname:", name] => return Some(Named::Surely(short(name))),
            _ => {}
        }
        if let Some(prompt) = prompt(line) {
            let command: Vec<&str> = prompt.command.split_whitespace().collect();
            asked =
                matches!(command[..], ["hostname"] | ["hostname", "-s" | "-f"] | ["uname", "-n"]);
            if let Some(host) = prompt.host {
                return Some(Named::Surely(short(host)));
            }
        }
        let assigned = line.strip_prefix("export ").or(line.strip_prefix("declare -x "));
        if let Some(name) = assigned.unwrap_or(line).strip_prefix("HOSTNAME=") {
            let name = name.trim_matches(['"', '\'']);
            maybe = maybe.or_else(|| Some(short(name)).filter(|name| is_name(name)));
        }
    }
    maybe.map(Named::Maybe)
}

/// A line that a shell asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prompt<'a> {
    /// The machine that it ran on, where the prompt says so.
    pub(super) host: Option<&'a str>,
    /// What was entered.
    pub(super) command: &'a str,
    /// Whether it surely ran: `# command` may be a comment.
    pub(super) ran: bool,
}

/// `root@hgx1:~# command`, `[root@hgx1 ~]$ command`, `$ command`, `# command`, `+ command`.
pub(super) fn prompt(line: &str) -> Option<Prompt<'_>> {
    for (start, ran) in [("$ ", true), ("+ ", true), ("# ", false), ("% ", true)] {
        if let Some(command) = line.strip_prefix(start) {
            return Some(Prompt { host: None, command: command.trim(), ran });
        }
    }
    // An environment of Python or conda stands before it in parentheses.
    let inner = match line.strip_prefix('(') {
        Some(rest) => rest.split_once(") ").map_or(line, |(_, rest)| rest),
        None => line,
    };
    let end = inner.find(['#', '$'])?;
    let (before, command) = inner.split_at(end);
    let (user, host) = before.trim_start_matches('[').split_once('@')?;
    let word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let host = &host[..host.find(|c| !word(c)).unwrap_or(host.len())];
    let plain = !user.is_empty() && user.chars().all(word) && is_name(host);
    let follows = before.get(user.len()..)?.trim_start_matches(['[', '@']).get(host.len()..)?;
    let spaced = follows.split_whitespace().count() <= 2;
    let command = command[1..].trim();
    (plain && spaced).then_some(Prompt { host: Some(host), command, ran: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_name_hosts_tools_and_nics() {
        let check = |path: &str, host: Option<&str>, tool: Option<&str>, port: Option<&str>| {
            let label = of(path);
            assert_eq!(label.host.as_deref(), host, "{path}");
            assert_eq!(label.tool, tool, "{path}");
            assert_eq!(label.port.as_deref(), port, "{path}");
        };
        check("d/hgx1.mlnx_qos.eth2", Some("hgx1"), Some("mlnx_qos"), Some("eth2"));
        check("d/hgx1-mlnx_qos-eth2.txt", Some("hgx1"), Some("mlnx_qos"), Some("eth2"));
        check("d/hgx1_cma_roce_tos.txt", Some("hgx1"), Some("cma_roce_tos"), None);
        check(
            "d/mlnx_qos_gpu-node-07_ens1f0np0.log",
            Some("gpu-node-07"),
            Some("mlnx_qos"),
            Some("ens1f0np0"),
        );
        check("hgx1/mlnx_qos_eth2.txt", None, Some("mlnx_qos"), Some("eth2"));
        check("hgx1/nccl.conf", None, Some("nccl_conf"), None);
        check("d/hgx1.sysfs", Some("hgx1"), Some("sysfs"), None);
        check("d/hgx1.example.com.mlnx_qos.mlx5_2", Some("hgx1"), Some("mlnx_qos"), Some("mlx5_2"));
        check("d/10.0.0.7-env.txt", Some("10.0.0.7"), Some("env"), None);
        check("d/hgx1.ethtool-S.eth2-20261117", Some("hgx1"), Some("ethtool_s"), Some("eth2"));
        check("hgx1/ip_-d_addr.txt", None, Some("ip_d_addr"), None);
        check("hgx1/ip_-d_address", None, Some("ip_d_address"), None);
        check("hgx1/ip_-s_-d_link", None, Some("ip_s_d_link"), None);
        check("hgx1/ethtool_-S_eth2", None, Some("ethtool_s"), Some("eth2"));
        check("d/server0.sh", Some("server0"), None, None);
        check("session.log", None, None, None);
        check("d/ué.txt", None, None, None);
        assert_eq!(of("hgx1/mlnx_qos_eth2.txt").folder.as_deref(), Some("hgx1"));
    }

    #[test]
    fn trees_of_system_files() {
        let label = of("in/hgx1/sys/class/net/eth2/mtu");
        assert_eq!(label.host.as_deref(), Some("hgx1"));
        assert_eq!(label.copy_of.as_deref(), Some("/sys/class/net/eth2/mtu"));
        assert_eq!(label.tree.as_deref(), Some("in/hgx1"));
        let sos = of(
            "in/sosreport-gpu-07-01234567-2026-11-17-abcdefg/sos_commands/networking/ip_-d_addr",
        );
        assert_eq!(sos.host.as_deref(), Some("gpu-07"));
        assert_eq!(sos.copy_of, None);
        assert_eq!(
            of("sosreport-hgx1-2026-11-17-qwerty/etc/nccl.conf").host.as_deref(),
            Some("hgx1")
        );
        assert_eq!(of("/etc/xoff/configs/leaf0.cfg").tree, None);
    }

    #[test]
    fn prompts() {
        let of = |line| prompt(line).map(|p| (p.host.unwrap_or(""), p.command, p.ran));
        assert_eq!(of("root@hgx1:~# mlnx_qos -i eth2"), Some(("hgx1", "mlnx_qos -i eth2", true)));
        assert_eq!(of("[root@hgx1 ~]# env"), Some(("hgx1", "env", true)));
        assert_eq!(of("(base) me@gpu-1:~/x$ env"), Some(("gpu-1", "env", true)));
        assert_eq!(of("$ env"), Some(("", "env", true)));
        assert_eq!(of("# env"), Some(("", "env", false)));
        assert_eq!(of("mail me@x.org about # this"), None);
        assert_eq!(of("NCCL_IB_TC=106"), None);
        assert_eq!(of("@#"), None);
    }

    #[test]
    fn texts_say_their_host() {
        let sure = |text: &str| Some(Named::Surely(text.to_owned()));
        assert_eq!(in_text("hostname hgx1\n"), sure("hgx1"));
        assert_eq!(in_text("\nroot@hgx1:/tmp# env\n"), sure("hgx1"));
        assert_eq!(in_text("$ hostname\nhgx1.example.com\n"), sure("hgx1"));
        assert_eq!(in_text("Linux hgx1 5.15.0-91-generic #101-Ubuntu SMP\n"), sure("hgx1"));
        assert_eq!(in_text("PATH=/bin\nHOSTNAME=a1b2\n"), Some(Named::Maybe("a1b2".into())));
        assert_eq!(in_text("nothing here\n"), None);
    }
}
