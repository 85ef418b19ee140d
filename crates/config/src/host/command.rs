//! Command lines: those of scripts, and those that were entered before an output.

use super::parse::Parser;
use super::{dcb, environment, lldp, mlnx, nicctl, sysfs};
use crate::device::RemarkKind;
use crate::text::notes::bytes;

/// Whether a text is a call of a known tool that only asks: `# mlnx_qos -i eth2` may also be a comment.
pub(super) fn asks(text: &str) -> bool {
    let words: Vec<&str> = words(text);
    match words[..] {
        ["mlnx_qos", "-i", _] | ["cma_roce_tos", "-d", _] | ["cma_roce_tos"] => true,
        ["dcb", .., "show", "dev", _] | ["lldptool", "-t" | "-ti", ..] => true,
        ["ethtool", ..] | ["env" | "printenv" | "export" | "show_gids" | "ibdev2netdev"] => true,
        ["ibv_devinfo", ..] | ["rdma", "link", ..] | ["nicctl", "show", ..] => true,
        ["mlxconfig" | "mstconfig", ..] => words.iter().any(|w| matches!(*w, "q" | "query")),
        ["cat", path] => path.starts_with("/sys/"),
        _ => false,
    }
}

/// The words of a command, without what stands before it and what is done with its output.
fn words(text: &str) -> Vec<&str> {
    let all = text.split_whitespace().skip_while(|word| matches!(*word, "sudo" | "+" | "time"));
    let end = |word: &&str| !matches!(*word, "|" | "||" | "&&" | ";" | "2>&1" | "2>/dev/null");
    all.take_while(end).map(|word| word.trim_end_matches(';')).collect()
}

/// Reads a command; whether it was a known one.
pub(super) fn line(parser: &mut Parser, number: u32, text: &str) -> bool {
    let words = words(text);
    let Some((first, rest)) = words.split_first() else { return false };
    match (first.rsplit('/').next().unwrap_or(first), rest) {
        // The shell around our own commands, and around those of others.
        (
            "set" | "failed=0" | "failed=1" | "fi" | "done" | "exit" | "(" | ")" | "[" | "true",
            _,
        ) => {}
        ("mkdir" | "rmdir" | "modprobe" | "sleep" | "sysctl" | "hostname" | "uname", _) => {}
        ("nic", [device, interface]) => parser.nic(number, device, Some(interface)),
        ("ip", ["link", "set", "dev", interface, "mtu", mtu]) => {
            let said = parser.notes.said(number, bytes(mtu));
            let interface = parser.named(interface);
            if parser.device.ports.contains_key(&crate::device::PortName::new(&interface)) {
                parser.at(number, &interface).mtu = said;
            } else {
                parser.link(number, &interface).mtu = said;
            }
        }
        ("mlnx_qos", ["-i", interface, options @ ..]) => {
            mlnx::call(parser, number, interface, options)
        }
        ("cma_roce_tos", options) => tos(parser, number, options),
        ("echo", ["-n", value, ">", path] | [value, ">", path]) => {
            let value = value.trim_matches(['"', '\'']);
            return sysfs::written(parser, number, path, value);
        }
        ("cat", [path]) if path.starts_with("/sys/") => parser.path = Some((*path).to_owned()),
        ("env" | "printenv" | "export" | "declare", [] | ["-x" | "-p"]) => {
            let place = parser.notes.line(number);
            parser.device.nccl.shown.get_or_insert(place);
        }
        ("ethtool", options) => return ethtool(parser, options),
        ("dcb", options) => return dcb::call(parser, number, options),
        ("lldptool", options) => return lldp::lldptool(parser, number, options),
        ("niccli", options) => return lldp::niccli(parser, number, options),
        ("bnxtqos", options) => return lldp::bnxtqos(parser, number, options),
        ("bnxt_setupcc.sh", options) => lldp::setup(parser, number, options),
        ("nicctl", options) => return nicctl::call(parser, number, options),
        ("mlxconfig" | "mstconfig", options) => {
            let at = options.iter().position(|word| *word == "-d");
            parser.current = at.and_then(|at| options.get(at + 1)).map(|name| (*name).to_owned());
        }
        (
            "show_gids" | "ibdev2netdev" | "ibv_devinfo" | "ibv_devices" | "rdma" | "ip" | "ibstat",
            _,
        ) => {}
        ("head" | "grep" | "ls" | "find", _) => {}
        _ => return assignment(parser, number, text.trim()),
    }
    true
}

fn assignment(parser: &mut Parser, number: u32, line: &str) -> bool {
    match line.split_once('=') {
        Some(("DEV", name)) => parser.nic(number, name, None),
        Some(("NET", _)) => {}
        _ => return environment::line(parser, number, line),
    }
    true
}

/// `cma_roce_tos [-d mlx5_0] [-t 106]`: without a device it is about mlx5_0.
fn tos(parser: &mut Parser, number: u32, options: &[&str]) {
    let after = |option: &str| {
        let at = options.iter().position(|word| *word == option)?;
        options.get(at + 1).copied()
    };
    let device = match options {
        // As the check script prints it.
        [device, tos] if !device.starts_with('-') => {
            let (said, device) = (parser.tos(number, tos), (*device).to_owned());
            parser.rdma.insert(device.clone());
            parser.at(number, &device).nic.cm_dscp = said;
            return;
        }
        _ => parser.named(after("-d").unwrap_or("mlx5_0")),
    };
    parser.rdma.insert(device.clone());
    match after("-t") {
        Some(tos) => {
            let said = parser.tos(number, tos);
            parser.at(number, &device).nic.cm_dscp = said;
        }
        None if options.iter().all(|word| !word.starts_with('-') || *word == "-d") => {
            parser.path =
                Some(format!("/sys/kernel/config/rdma_cm/{device}/ports/1/default_roce_tos"));
        }
        None => parser.notes.mark(number, RemarkKind::Unknown),
    }
}

/// `ethtool [-S|-i|-m] eth2`: what follows is about that interface.
fn ethtool(parser: &mut Parser, options: &[&str]) -> bool {
    let Some(interface) = options.iter().find(|word| !word.starts_with('-')) else { return false };
    let interface = parser.named(interface);
    // Our scripts ask nothing; what is set is not about RoCE.
    if !matches!(options, ["-A" | "-K" | "-G" | "-L" | "-C" | "--set-priv-flags", ..]) {
        parser.current = Some(interface);
    }
    true
}
