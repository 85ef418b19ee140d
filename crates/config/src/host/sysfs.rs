//! Files of sysfs and configfs: read with `grep -r`, `head -v` or `cat`, copied as a tree, or written by a script.
//!
//! `ecn/roce_np`, `ecn/roce_rp` and `tc/1/traffic_class` are those of MLNX_OFED; `bnxt_re` of configfs is that which
//! Broadcom's `bnxt_setupcc.sh` writes, `irdma` that of Intel's README of the driver, `rdma_cm` is the kernel's.

use super::parse::{Parser, Slot, integer};
use crate::device::{Gid, Maker, RemarkKind};
use crate::number::{Dscp, Priorities, Priority};
use crate::place::Said;
use crate::text::notes::bytes;

/// Parameters of the reaction and notification points that rules know.
pub(super) const PARAMETERS: [&str; 13] = [
    "dce_tcp_g",
    "dce_tcp_rtt",
    "initial_alpha_value",
    "rate_reduce_monitor_period",
    "rate_to_set_on_first_cnp",
    "rpg_ai_rate",
    "rpg_byte_reset",
    "rpg_gd",
    "rpg_hai_rate",
    "rpg_min_dec_fac",
    "rpg_min_rate",
    "rpg_threshold",
    "rpg_time_reset",
];

/// Reads a line with a path and its value, or the head of one; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    if let Some(path) = line.strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")) {
        let path = path.trim();
        beside(parser, &parts_of(path));
        parser.path = Some(path.to_owned());
        return true;
    }
    let Some((path, text)) = path_and_value(line) else { return false };
    if !is_path(path) {
        return false;
    }
    value(parser, number, path, text.trim());
    true
}

/// `path:value`; addresses of the bus in a path have colons of their own.
fn path_and_value(line: &str) -> Option<(&str, &str)> {
    let colons = line.bytes().enumerate().filter(|(_, byte)| *byte == b':').map(|(at, _)| at);
    let inside = |colon: &usize| {
        let start = line[..*colon].rfind('/').map_or(0, |slash| slash + 1);
        let Some(length) = line[start..].find('/') else { return false };
        let part = line[start..start + length].trim_start_matches("pci");
        part.chars().all(|c| c.is_ascii_hexdigit() || ":.".contains(c))
    };
    let colon = colons.into_iter().take(16).find(|colon| !inside(colon))?;
    Some((&line[..colon], &line[colon + 1..]))
}

/// Whether a text is a path below sysfs, whole or from within.
fn is_path(text: &str) -> bool {
    let known = ["/infiniband/", "/net/", "/gid_attrs/", "/tc/", "/ecn/", "/ports/", "/cc/"];
    let plain = !text.contains(char::is_whitespace);
    plain && (text.starts_with("/sys/") || known.iter().any(|part| text.contains(part)))
}

/// What a command writes to a path; whether the path is one of a NIC.
pub(super) fn written(parser: &mut Parser, number: u32, path: &str, text: &str) -> bool {
    if !path.starts_with("/sys/") {
        return false;
    }
    value(parser, number, path, text);
    true
}

/// A path and its value, whether written or read.
pub(super) fn value(parser: &mut Parser, number: u32, path: &str, text: &str) {
    let parts = parts_of(path);
    beside(parser, &parts);
    let known = match parts[..] {
        [.., device, "tc", _, "traffic_class"] => traffic_class(parser, number, device, text),
        [.., device, "ports", _, "gid_attrs", what @ ("types" | "ndevs"), index] => {
            gid(parser, number, device, what, index, text);
            true
        }
        [.., device, "ports", _, "gids", index] => {
            let key = rdma(parser, device);
            if let (true, Ok(index)) = (super::links::is_of_link(text), index.parse()) {
                parser.gids_of_link.insert((key, index));
            }
            true
        }
        [.., device, "ports", _, "link_layer"] => {
            let device = rdma(parser, device);
            if text.trim() == "InfiniBand" {
                parser.excluded.insert(device);
            }
            true
        }
        [.., "rdma_cm", device, "ports", _, "default_roce_tos"] => {
            let said = parser.tos(number, text);
            let device = rdma(parser, device);
            parser.at(number, &device).nic.cm_dscp = said;
            true
        }
        [.., "rdma_cm", _, "ports", _, "default_roce_mode"] => true,
        [.., "bnxt_re", device, "ports", _, "cc", name] => {
            broadcom(parser, number, device, name, text)
        }
        [.., "irdma", device, name] => intel(parser, number, device, name, text),
        [.., device, "fw_ver"] => {
            let device = rdma(parser, device);
            let said = parser.notes.said(number, Some(text.trim().to_owned()));
            parser.firmware.insert(device, said);
            true
        }
        [.., interface, "ecn", point, "enable", priority] => {
            ecn(parser, number, interface, point, &["enable", priority], text)
        }
        [.., interface, "ecn", point, name] => ecn(parser, number, interface, point, &[name], text),
        [.., "net", interface, "mtu"] => {
            let said = parser.notes.said(number, bytes(text.trim()));
            let interface = parser.named(interface);
            parser.shows_mtu(number, &interface, said);
            true
        }
        [.., "net", interface, "speed"] => {
            let speed = text.trim().parse::<u64>().ok();
            let rate = speed.and_then(|mbps| mbps.checked_mul(1_000_000));
            // A link that is down has -1.
            if let Some(rate) = rate {
                let said = parser.notes.said(number, Some(xoff_units::Rate::from_bps(rate)));
                parser.link(number, interface).rate = said;
            }
            true
        }
        // The rest of a NIC's files: counters, states, addresses.
        ["sys", "class", "net" | "infiniband", ..] | ["sys", "devices", ..] => {
            let settles =
                ["tc", "ecn", "roce_np", "roce_rp", "qos"].iter().any(|part| parts.contains(part));
            if settles {
                parser.notes.mark(number, RemarkKind::Unknown);
            } else {
                parser.notes.mark(number, RemarkKind::Foreign);
            }
            true
        }
        _ => false,
    };
    if !known {
        parser.notes.mark(number, RemarkKind::Foreign);
    }
}

fn parts_of(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// What a path says by itself: which names are those of one NIC.
fn beside(parser: &mut Parser, parts: &[&str]) {
    for (at, part) in parts.iter().enumerate() {
        match (*part, &parts[at + 1..]) {
            ("infiniband", [device, "device", "net", interface, ..]) => {
                parser.join(device, interface)
            }
            ("infiniband", [device, ..]) if !device.starts_with('$') => {
                parser.rdma.insert((*device).to_owned());
                slot(parser, parts[..at].last(), device);
            }
            ("net", [interface, ..]) if !interface.starts_with('$') => {
                slot(parser, parts[..at].last(), interface);
            }
            _ => {}
        }
    }
}

/// The slot of the bus that a name of a NIC is found under.
fn slot(parser: &mut Parser, above: Option<&&str>, name: &str) {
    let Some(above) = above.filter(|above| above.matches(':').count() == 2) else { return };
    parser.same.push((name.to_owned(), (*above).to_owned()));
}

fn rdma(parser: &mut Parser, device: &str) -> String {
    let device = parser.named(device);
    parser.rdma.insert(device.clone());
    device
}

fn traffic_class(parser: &mut Parser, number: u32, device: &str, text: &str) -> bool {
    let text = text.rsplit('=').next().unwrap_or(text);
    let said = parser.tos(number, text);
    let device = rdma(parser, device);
    parser.at(number, &device).nic.data_dscp = said;
    true
}

fn gid(parser: &mut Parser, number: u32, device: &str, what: &str, index: &str, text: &str) {
    let device = rdma(parser, device);
    let text = text.trim();
    if what == "ndevs" {
        if !text.is_empty() && !text.contains(char::is_whitespace) {
            parser.join(&device, text);
        }
        return;
    }
    let kind = match text {
        "RoCE v2" => Gid::V2,
        "IB/RoCE v1" | "RoCE v1" => Gid::V1,
        // Entries that are not in use cannot be read.
        _ => return,
    };
    match index.parse() {
        Ok(index) => {
            let gids = &mut parser.at(number, &device).gids;
            // Another table may have said more.
            if gids.get(&index) != Some(&Gid::V2Link) {
                gids.insert(index, kind);
            }
        }
        Err(_) => parser.notes.mark(number, RemarkKind::Malformed),
    }
}

/// `ecn/roce_np/cnp_dscp`, `ecn/roce_rp/enable/3`, `ecn/roce_rp/rpg_ai_rate`.
fn ecn(
    parser: &mut Parser,
    number: u32,
    interface: &str,
    point: &str,
    rest: &[&str],
    text: &str,
) -> bool {
    match (point, rest) {
        ("roce_np", ["cnp_dscp"]) => {
            let said = parser.notes.said(number, Dscp::read(text.trim()));
            parser.at(number, interface).nic.cnp_dscp = said;
        }
        ("roce_np" | "roce_rp", ["enable", priority]) => {
            let Some(priority) = Priority::read(priority) else {
                parser.notes.mark(number, RemarkKind::Malformed);
                return true;
            };
            let slot = if point == "roce_rp" { Slot::Reacts } else { Slot::Notifies };
            parser.switch(number, slot, interface, priority, text.trim() == "1");
        }
        ("roce_np" | "roce_rp", [name]) => parameter(parser, number, interface, name, text),
        _ => return false,
    }
    true
}

/// A parameter of congestion control.
pub(super) fn parameter(parser: &mut Parser, number: u32, nic: &str, name: &str, text: &str) {
    match PARAMETERS.iter().find(|known| **known == name) {
        Some(known) => {
            let said = parser.notes.said(number, integer(text));
            parser.at(number, nic).congestion.insert(known, said);
        }
        None => parser.notes.mark(number, RemarkKind::Foreign),
    }
}

/// Whether a switch of one file is on, for all priorities.
fn on(parser: &mut Parser, number: u32, text: &str) -> Said<Priorities> {
    let set = |bit| if bit == 0 { Priorities::NONE } else { Priorities::ALL };
    parser.notes.said(number, integer(text).map(set))
}

fn broadcom(parser: &mut Parser, number: u32, device: &str, name: &str, text: &str) -> bool {
    let device = rdma(parser, device);
    // Values are printed with their names by some versions of the driver.
    let text = text.rsplit([':', '=']).next().unwrap_or(text);
    let dscp = || integer(text).and_then(|number| Dscp::new(u8::try_from(number).ok()?));
    match name {
        "roce_dscp" | "cnp_dscp" => {
            let said = parser.notes.said(number, dscp());
            let nic = &mut parser.at(number, &device).nic;
            *(if name == "roce_dscp" { &mut nic.data_dscp } else { &mut nic.cnp_dscp }) = said;
        }
        "ecn_enable" => {
            let said = on(parser, number, text);
            parser.at(number, &device).nic.reacts = said;
        }
        "ecn_marking" => {
            let said = on(parser, number, text);
            parser.at(number, &device).nic.notifies = said;
        }
        "apply" | "cc_mode" | "disable_prio_vlan_tx" | "roce_prio" | "cnp_prio" => {}
        _ => parser.notes.mark(number, RemarkKind::Foreign),
    }
    parser.at(number, &device).nic.maker = Some(Maker::Broadcom);
    true
}

fn intel(parser: &mut Parser, number: u32, device: &str, name: &str, text: &str) -> bool {
    let device = rdma(parser, device);
    match name {
        "roce_dcqcn_enable" => {
            let said = on(parser, number, text);
            let nic = &mut parser.at(number, &device).nic;
            (nic.notifies, nic.reacts) = (said, said);
        }
        _ => parser.notes.mark(number, RemarkKind::Foreign),
    }
    parser.at(number, &device).nic.maker = Some(Maker::Intel);
    true
}

#[cfg(test)]
mod tests {
    use crate::device::{Gid, PortName};
    use crate::host::tests::read;

    #[test]
    fn a_dump_of_grep() {
        let text = "/sys/class/infiniband/mlx5_2/tc/1/traffic_class:Global tclass=106\n\
            /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/0:IB/RoCE v1\n\
            /sys/class/infiniband/mlx5_2/ports/1/gids/1:fe80:0000:0000:0000:a288:c2ff:fe12:3400\n\
            /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/1:RoCE v2\n\
            /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/3:RoCE v2\n\
            /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3:eth2\n\
            /sys/class/net/eth2/ecn/roce_np/cnp_dscp:48\n\
            /sys/class/net/eth2/ecn/roce_rp/enable/3:1\n\
            /sys/class/net/eth2/ecn/roce_rp/rpg_ai_rate:5\n\
            /sys/class/net/eth2/mtu:9000\n/sys/class/net/eth0/mtu:1500\n";
        let device = read(&[("d/hgx1.sysfs", text)]);
        assert_eq!(device.name, "hgx1");
        let names: Vec<&str> = device.ports.keys().map(PortName::as_str).collect();
        assert_eq!(names, ["mlx5_2"], "eth0 carries no RoCE, as far as anybody said");
        let port = &device.ports[&PortName::new("mlx5_2")];
        assert_eq!(port.nic.data_dscp.get().map(|d| d.get()), Some(26));
        assert_eq!(port.nic.cnp_dscp.get().map(|d| d.get()), Some(48));
        assert_eq!(port.nic.reacts.get().unwrap().to_string(), "3");
        assert_eq!(port.nic.notifies.value(), None);
        assert_eq!(port.gids[&3], Gid::V2);
        assert_eq!(port.gids[&0], Gid::V1);
        assert_eq!(port.gids[&1], Gid::V2Link);
        assert_eq!(port.congestion["rpg_ai_rate"].get(), Some(5));
        assert_eq!(port.mtu.get().map(|m| m.get()), Some(9000));
        assert_eq!(port.pfc.value(), None);
        assert_eq!(port.trust.value(), None);
        assert!(!port.nic.shown);
    }

    #[test]
    fn trees_heads_and_real_paths() {
        let device = read(&[
            ("in/hgx1/sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n"),
            ("in/hgx1/sys/class/infiniband/mlx5_0/device/net/eth2/mtu", "9000\n"),
        ]);
        let port = &device.ports[&PortName::new("mlx5_0")];
        assert_eq!(
            (port.nic.data_dscp.get().unwrap().get(), port.mtu.get().unwrap().get()),
            (26, 9000)
        );
        let device = read(&[(
            "hgx1.sysfs",
            "==> /sys/devices/pci0000:15/0000:18:00.0/infiniband/mlx5_0/tc/1/traffic_class <==\n106\n\n\
             ==> /sys/devices/pci0000:15/0000:18:00.0/net/eth2/mtu <==\n4200\n",
        )]);
        let port = &device.ports[&PortName::new("mlx5_0")];
        assert_eq!(
            (port.nic.data_dscp.get().unwrap().get(), port.mtu.get().unwrap().get()),
            (26, 4200)
        );
        let text =
            "/sys/devices/pci0000:15/0000:18:00.0/infiniband/mlx5_0/tc/1/traffic_class:106\n";
        let device = read(&[("hgx1.sysfs", text)]);
        assert_eq!(device.ports[&PortName::new("mlx5_0")].nic.data_dscp.get().unwrap().get(), 26);
    }

    #[test]
    fn empty_files_have_no_value() {
        let text = "==> /sys/class/infiniband/mlx5_0/tc/1/traffic_class <==\n\n\
            ==> /sys/class/infiniband/mlx5_1/tc/1/traffic_class <==\n106\n";
        let device = read(&[("hgx1.sysfs", text)]);
        assert_eq!(device.ports[&PortName::new("mlx5_0")].nic.data_dscp.value(), None);
        assert_eq!(device.ports[&PortName::new("mlx5_1")].nic.data_dscp.get().unwrap().get(), 26);
        let text = "root@h:~# cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class\nroot@h:~# cma_roce_tos\n106\n";
        let device = read(&[("s.log", text)]);
        assert_eq!(device.ports[&PortName::new("mlx5_0")].nic.cm_dscp.get().unwrap().get(), 26);
        assert_eq!(device.remarks, []);
    }

    #[test]
    fn configfs_of_broadcom_and_intel() {
        let text = "/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/roce_dscp:0x1a\n\
            /sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/cnp_dscp:0x30\n\
            /sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/ecn_enable:0x1\n\
            /sys/kernel/config/irdma/rocep1s0/roce_dcqcn_enable:0\n\
            /sys/kernel/config/rdma_cm/rocep1s0/ports/1/default_roce_tos:104\n";
        let device = read(&[("d/host7.txt", text)]);
        let port = &device.ports[&PortName::new("bnxt_re0")];
        assert_eq!(port.nic.data_dscp.get().unwrap().get(), 26);
        assert_eq!(port.nic.cnp_dscp.get().unwrap().get(), 48);
        assert_eq!(port.nic.reacts.get().unwrap().count(), 8);
        let port = &device.ports[&PortName::new("rocep1s0")];
        assert_eq!(port.nic.cm_dscp.get().unwrap().get(), 26);
        assert!(port.nic.reacts.get().unwrap().is_empty());
    }
}
