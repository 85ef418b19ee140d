//! What an interface is: `ip link`, `ethtool`, and the tools that join interfaces to RDMA devices.

use super::parse::Parser;
use crate::device::{Gid, Maker};
use crate::text::notes::{bytes, speed};
use xoff_units::{Length, Rate};

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    names(parser, number, line)
        || ip(parser, number, line)
        || verbs(parser, number, line)
        || ethtool(parser, number, line)
        || tos(parser, number, line)
}

/// `mlx5_0 port 1 ==> eth2 (Up)`, `link mlx5_0/1 state ACTIVE … netdev eth2`, and the rows of `show_gids`.
fn names(parser: &mut Parser, number: u32, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [.., "==>", interface, _] if words.contains(&"port") => {
            ibdev2netdev(parser, &words, interface)
        }
        ["link", device, "state", ..] => {
            let (device, port) = device.split_once('/').unwrap_or((device, "1"));
            let netdev = words.iter().position(|word| *word == "netdev");
            if let Some(interface) = netdev.and_then(|at| words.get(at + 1)).filter(|_| port == "1")
            {
                parser.join(device, interface);
            }
        }
        ["DEV", "PORT", "INDEX", ..] | ["---", "----", "-----", ..] | ["n_gids_found", ..] => {}
        [device, "1", index, address, ref rest @ ..]
            if rest.iter().any(|w| matches!(*w, "v1" | "v2")) =>
        {
            let Ok(index) = index.parse() else { return false };
            let kind = match (rest.contains(&"v2"), is_of_link(address)) {
                (false, _) => Gid::V1,
                (true, true) => Gid::V2Link,
                (true, false) => Gid::V2,
            };
            parser.rdma.insert(device.to_owned());
            parser.at(number, device).gids.insert(index, kind);
            if let Some(interface) = rest.last().filter(|word| !matches!(**word, "v1" | "v2")) {
                parser.join(device, interface);
            }
        }
        _ => return words.len() == 1 && line.starts_with("n_gids_found="),
    }
    true
}

/// With `-v` the device stands behind its slot, and more between it and its port.
fn ibdev2netdev(parser: &mut Parser, words: &[&str], interface: &str) {
    let device = words.iter().find(|word| !word.contains(':'));
    let port = words.iter().position(|word| *word == "port").and_then(|at| words.get(at + 1));
    if let Some(device) = device.filter(|_| port == Some(&"1")) {
        parser.join(device, interface);
    }
}

/// `3: eth2: <BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state UP`.
fn ip(parser: &mut Parser, number: u32, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [index, name, flags, "mtu", mtu, ..] if flags.starts_with('<') && index.ends_with(':') => {
            let name = name.trim_end_matches(':').split('@').next().unwrap_or(name);
            parser.current = None;
            if name != "lo" {
                let said = parser.notes.said(number, bytes(mtu));
                parser.shows_mtu(number, name, said);
            }
        }
        ["link/ether" | "link/loopback" | "link/infiniband" | "inet" | "inet6" | "altname", ..] => {
        }
        ["valid_lft", ..] => {}
        _ => return false,
    }
    true
}

/// `ibv_devinfo`.
fn verbs(parser: &mut Parser, number: u32, line: &str) -> bool {
    if line.starts_with("GID[") {
        return gid(parser, number, line);
    }
    let Some((key, value)) = line.split_once(':').map(|(key, value)| (key.trim(), value.trim()))
    else {
        return false;
    };
    match (key, parser.current.clone()) {
        ("hca_id", _) => {
            parser.rdma.insert(value.to_owned());
            parser.at(number, value);
            parser.current = Some(value.to_owned());
        }
        ("fw_ver", Some(device)) => {
            let said = parser.notes.said(number, Some(value.to_owned()));
            parser.firmware.insert(device, said);
        }
        ("link_layer", Some(device)) => {
            if value == "InfiniBand" {
                parser.excluded.insert(device);
            }
        }
        (
            "transport" | "node_guid" | "sys_image_guid" | "vendor_id" | "vendor_part_id"
            | "hw_ver",
            _,
        ) => {}
        ("board_id" | "phys_port_cnt" | "state" | "max_mtu" | "active_mtu" | "sm_lid", Some(_)) => {
        }
        ("port" | "port_lid" | "port_lmc", Some(_)) => {}
        _ => return false,
    }
    true
}

/// Whether an address is one of the link (`fe80::/10`).
pub(super) fn is_of_link(address: &str) -> bool {
    let first =
        address.trim().split(':').next().and_then(|word| u16::from_str_radix(word, 16).ok());
    first.is_some_and(|first| first & 0xffc0 == 0xfe80)
}

/// `GID[  1]:  fe80::a288:c2ff:fe12:3400, RoCE v2` of `ibv_devinfo -v`.
fn gid(parser: &mut Parser, number: u32, line: &str) -> bool {
    let Some((index, rest)) = line.strip_prefix("GID[").and_then(|rest| rest.split_once("]:"))
    else {
        return false;
    };
    let (Some(device), Ok(index)) = (parser.current.clone(), index.trim().parse()) else {
        return false;
    };
    let (address, kind) = rest.split_once(',').unwrap_or((rest, ""));
    let kind = match (kind.trim(), is_of_link(address)) {
        ("RoCE v2", true) => Gid::V2Link,
        ("RoCE v2", false) => Gid::V2,
        ("RoCE v1" | "IB/RoCE v1", _) => Gid::V1,
        // Older releases do not say it.
        _ => return true,
    };
    parser.at(number, &device).gids.insert(index, kind);
    true
}

/// `ethtool eth2`, `-i`, `-m` and `-S`.
fn ethtool(parser: &mut Parser, number: u32, line: &str) -> bool {
    if let Some(name) = line.strip_prefix("Settings for ").and_then(|rest| rest.strip_suffix(':')) {
        parser.nets.insert(name.to_owned());
        parser.current = Some(name.to_owned());
        return true;
    }
    if matches!(line, "NIC statistics:") {
        return true;
    }
    let Some(interface) = parser.current.clone() else { return false };
    let Some((key, value)) = line.split_once(':').map(|(key, value)| (key.trim(), value.trim()))
    else {
        return false;
    };
    match key {
        "Speed" => {
            // `400000Mb/s`, or `Unknown!` on a link that is down.
            if let Some(rate) = value.strip_suffix("Mb/s").and_then(speed) {
                let said = parser.notes.said::<Rate>(number, Some(rate));
                parser.link(number, &interface).rate = said;
            }
        }
        "driver" => {
            let maker = match value {
                "mlx5_core" | "mlx4_en" => Some(Maker::Nvidia),
                "bnxt_en" => Some(Maker::Broadcom),
                "ionic" => Some(Maker::Amd),
                "ice" | "idpf" => Some(Maker::Intel),
                _ => None,
            };
            parser.link(number, &interface).nic.maker = maker;
        }
        "firmware-version" => {
            let version = value.split([' ', '/']).next().unwrap_or(value).to_owned();
            let said = parser.notes.said(number, Some(version));
            parser.firmware.insert(interface, said);
        }
        "bus-info" => parser.same.push((interface, value.to_owned())),
        "Length (Copper or Active cable)" | "Cable assembly length" => {
            let metres = value.trim_end_matches('m').parse::<f64>().ok();
            let length = metres.filter(|metres| (0.5..=200_000.0).contains(metres));
            if let Some(metres) = length {
                let said = parser.notes.said(number, Some(Length::from_m(metres.ceil() as u64)));
                parser.link(number, &interface).cable = said;
            }
        }
        // Counters, and the other properties of links and modules.
        _ => {
            let counter = value.parse::<u64>().is_ok() && !key.contains(char::is_whitespace);
            let told =
                matches!(parser.tool, Some("ethtool" | "ethtool_s" | "ethtool_i" | "ethtool_m"));
            return counter && is_counter(key) || told;
        }
    }
    true
}

/// Counters of NICs, as their drivers name them.
fn is_counter(key: &str) -> bool {
    [
        "rx_",
        "tx_",
        "rx",
        "tx",
        "ch",
        "port.",
        "[",
        "roce_",
        "module_",
        "dev_",
        "outbound_",
        "out_of_",
    ]
    .iter()
    .any(|start| key.starts_with(start))
}

/// The bare number that `cma_roce_tos` prints.
fn tos(parser: &mut Parser, number: u32, line: &str) -> bool {
    if parser.tool != Some("cma_roce_tos") || line.parse::<u8>().is_err() {
        return false;
    }
    let device = parser.current.clone().unwrap_or_else(|| "mlx5_0".to_owned());
    let said = parser.tos(number, line);
    parser.rdma.insert(device.clone());
    parser.at(number, &device).nic.cm_dscp = said;
    true
}

#[cfg(test)]
mod tests {
    use crate::device::{Gid, PortName};
    use crate::host::tests::read;

    #[test]
    fn tools_that_join_names() {
        let qos = "PFC configuration:\n\tpriority 0 1 2 3 4 5 6 7\n\tenabled 0 0 0 1 0 0 0 0\n";
        let maps = [
            ("hgx1.ibdev2netdev", "mlx5_0 port 1 ==> eth3 (Up)\nmlx5_1 port 1 ==> eth2 (Up)\n"),
            (
                "hgx1.ibdev2netdev",
                "0000:18:00.0 mlx5_1 (MT4129 - MCX75310) CX-7 fw 28.39.1002 port 1 (ACTIVE) ==> eth2 (Up)\n0000:19:00.0 mlx5_0 (MT4129 - MCX75310) CX-7 fw 28.39.1002 port 1 (ACTIVE) ==> eth3 (Up)\n",
            ),
            (
                "hgx1.rdma_link",
                "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth3\nlink mlx5_1/1 state ACTIVE physical_state LINK_UP netdev eth2\n",
            ),
            (
                "hgx1.show_gids",
                "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n---     ----    -----   ---                                     ------------    ---     ---\nmlx5_1  1       3       0000:0000:0000:0000:0000:ffff:0a00:0001 10.0.0.1        v2      eth2\nmlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a00:0002 10.0.0.2        v2      eth3\nn_gids_found=2\n",
            ),
        ];
        for (name, text) in maps {
            let device = read(&[("hgx1.mlnx_qos.eth2", qos), (name, text)]);
            let names: Vec<&str> = device.ports.keys().map(PortName::as_str).collect();
            assert!(!names.contains(&"eth2"), "{name}: {names:?}");
            let port = &device.ports[&PortName::new("mlx5_1")];
            assert_eq!(port.pfc.get().unwrap().to_string(), "3", "{name}");
            assert_eq!(device.count(crate::device::RemarkKind::Malformed), 0);
        }
    }

    #[test]
    fn links_modules_and_firmware() {
        let device = read(&[
            ("hgx1/ibdev2netdev.txt", "mlx5_0 port 1 ==> eth2 (Up)\n"),
            (
                "hgx1/ip_-d_addr.txt",
                "2: eth0: <BROADCAST,UP> mtu 1500 qdisc mq state UP\n    link/ether aa\n3: eth2: <BROADCAST,UP> mtu 9000 qdisc mq state UP\n",
            ),
            (
                "hgx1/ethtool_eth2.txt",
                "Settings for eth2:\n\tSupported ports: [ FIBRE ]\n\tSpeed: 400000Mb/s\n",
            ),
            (
                "hgx1/ethtool_-i_eth2.txt",
                "driver: mlx5_core\nversion: 24.10\nfirmware-version: 28.39.1002 (MT_0000000838)\nbus-info: 0000:18:00.0\n",
            ),
            (
                "hgx1/ethtool_-m_eth2.txt",
                "\tIdentifier : 0x19 (OSFP)\n\tCable assembly length : 3.00m\n",
            ),
            (
                "hgx1/ethtool_-S_eth2.txt",
                "NIC statistics:\n     rx_prio3_pause: 12\n     tx_prio3_pause: 0\n",
            ),
            (
                "hgx1/ethtool_-i_eth0.txt",
                "driver: tg3\nfirmware-version: FFV21\nbus-info: 0000:01:00.0\n",
            ),
        ]);
        assert_eq!(device.name, "hgx1");
        assert_eq!(device.ports.len(), 1);
        let port = &device.ports[&PortName::new("mlx5_0")];
        assert_eq!(port.mtu.get().unwrap().get(), 9000);
        assert_eq!(port.rate.get().unwrap().bps(), 400_000_000_000);
        assert_eq!(port.cable.get().unwrap().as_mm(), 3000);
        assert_eq!(device.version.value().map(String::as_str), Some("28.39.1002"));
        assert_eq!(device.remarks, []);
    }

    #[test]
    fn devices_of_infiniband_are_left_out() {
        let text = "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.39.1002\n\
            \t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tlink_layer:\t\tEthernet\n\n\
            hca_id:\tmlx5_1\n\tfw_ver:\t20.1\n\t\tport:\t1\n\t\t\tlink_layer:\t\tInfiniBand\n";
        let device = read(&[("hgx1.ibv_devinfo", text)]);
        let names: Vec<&str> = device.ports.keys().map(PortName::as_str).collect();
        assert_eq!(names, ["mlx5_0"]);
        assert_eq!(device.version.value().map(String::as_str), Some("28.39.1002"));
    }

    #[test]
    fn gid_tables() {
        let text = "mlx5_0  1  0  fe80:0000:0000:0000:ee0d:9aff:fed9:8d8a  v1  eth2\n\
            mlx5_0  1  1  fe80:0000:0000:0000:ee0d:9aff:fed9:8d8a  v2  eth2\n";
        let device = read(&[("hgx1.show_gids", text)]);
        let port = &device.ports[&PortName::new("mlx5_0")];
        assert_eq!(port.gids.values().copied().collect::<Vec<_>>(), [Gid::V1, Gid::V2Link]);
        let text = "hca_id: mlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\t\tport:\t1\n\t\t\tGID[  0]:\t\tfe80::a288:c2ff:fe12:3400, RoCE v1\n\
            \t\t\tGID[  1]:\t\tfe80::a288:c2ff:fe12:3400, RoCE v2\n\t\t\tGID[  3]:\t\t::ffff:10.0.1.5, RoCE v2\n";
        let device = read(&[("hgx1.ibv_devinfo", text)]);
        let port = &device.ports[&PortName::new("mlx5_0")];
        assert_eq!(
            port.gids.values().copied().collect::<Vec<_>>(),
            [Gid::V1, Gid::V2Link, Gid::V2]
        );
    }

    #[test]
    fn the_tos_of_rdma_cm() {
        let of = |files: &[(&str, &str)]| {
            let device = read(files);
            device.ports[&PortName::new("mlx5_0")].nic.cm_dscp.get().map(|dscp| dscp.get())
        };
        assert_eq!(of(&[("d/hgx1.cma_roce_tos", "106\n")]), Some(26));
        assert_eq!(of(&[("d/hgx1_cma_roce_tos_mlx5_0.txt", "106\n")]), Some(26));
        assert_eq!(of(&[("d/s.log", "root@hgx1:~# cma_roce_tos -d mlx5_0\n106\n")]), Some(26));
    }
}
