use super::*;
use crate::audit::audit;
use crate::device::PortName;

fn collect(texts: &[(&str, &str)]) -> (Files, Collection) {
    let mut files = Files::default();
    for (name, text) in texts {
        files.add(*name, *text);
    }
    let found = read(&files);
    (files, found)
}

const QOS: &str = "Priority trust state: dscp\ndscp2prio mapping:\n\tprio:3 dscp:26,\n\tprio:6 dscp:48,\nPFC configuration:\n\
    \tpriority 0 1 2 3 4 5 6 7\n\tenabled 0 0 0 1 0 0 0 0\n";
const SYS: &str = "/sys/class/infiniband/mlx5_2/tc/1/traffic_class:Global tclass=106\n\
    /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3:eth2\n";

/// Files of one host are one device, and what none of them shows is nobody's mistake.
#[test]
fn files_of_one_host_are_one_device() {
    let texts = [
        ("d/hgx1.mlnx_qos.eth2", QOS),
        ("d/hgx1.sysfs", SYS),
        ("d/hgx1.cma_roce_tos.mlx5_2", "106\n"),
    ];
    let (_, found) = collect(&texts);
    assert_eq!(found.strange, []);
    assert_eq!(found.devices.len(), 1);
    let device = &found.devices[0];
    assert_eq!(device.name, "hgx1");
    let port = &device.ports[&PortName::new("mlx5_2")];
    assert_eq!(port.nic.data_dscp.get().map(|dscp| dscp.get()), Some(26));
    assert_eq!(port.nic.cm_dscp.get().map(|dscp| dscp.get()), Some(26));
    let report = audit(&found.devices, None);
    assert_eq!(report.findings, [], "{:#?}", report.findings);
    // Each file alone is nobody's mistake, either.
    for one in texts {
        let (_, found) = collect(&[one]);
        let report = audit(&found.devices, None);
        assert_eq!(report.findings, [], "{}: {:#?}", one.0, report.findings);
    }
}

#[test]
fn a_mistake_in_one_of_them_is_still_found() {
    let rules = |texts: &[(&str, &str)]| {
        let (_, found) = collect(texts);
        let report = audit(&found.devices, None);
        report.findings.iter().map(|finding| finding.rule.id).collect::<Vec<_>>()
    };
    let bare = QOS.replace("0 0 0 1", "0 0 0 0").replace("state: dscp", "state: pcp");
    let good = [("d/hgx2.mlnx_qos.eth2", QOS), ("d/hgx1.mlnx_qos.eth2", bare.as_str())];
    assert_eq!(rules(&good), ["pfc-missing", "trust"]);
    let env = [("d/hgx1.sysfs", SYS), ("d/hgx1.env", "PATH=/bin\n")];
    assert_eq!(rules(&env), ["nccl-unset"]);
    let other = SYS.replace("=106", "=0").replace("mlx5_2", "mlx5_3");
    let both = [("d/hgx1.sysfs", SYS), ("d/hgx2.sysfs", SYS), ("d/hgx3.sysfs", other.as_str())];
    assert_eq!(rules(&both), ["nic-data-dscp"]);
}

#[test]
fn hosts_by_prompt_folder_and_tree() {
    let session = format!(
        "root@hgx7:~# mlnx_qos -i eth2\n{QOS}root@hgx7:~# cma_roce_tos -d mlx5_2\n106\nroot@hgx7:~# exit\n"
    );
    let (_, found) = collect(&[
        ("in/a.log", &session),
        ("in/hgx8/mlnx_qos_eth2.txt", QOS),
        ("in/hgx8/etc/nccl.conf", "NCCL_IB_TC=106\n"),
        (
            "in/sosreport-hgx9-2026-11-17-abcdefg/sys/class/infiniband/mlx5_0/tc/1/traffic_class",
            "106\n",
        ),
        ("in/sosreport-hgx9-2026-11-17-abcdefg/sos_commands/host/uptime", " 10:00 up 3 days\n"),
        ("in/HGX8.mlnx_qos.eth3", QOS),
    ]);
    let names: Vec<&str> = found.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["hgx7", "hgx8", "hgx9"]);
    assert_eq!(found.devices[1].ports.len(), 2);
    assert_eq!(found.devices[1].nccl.traffic_class.get(), Some(106));
    assert_eq!(found.strange, []);
    assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
}

#[test]
fn pages_programs_and_our_own_files_are_no_devices() {
    let page = "# PFC\n\nRun `mlnx_qos -i eth2 --pfc 0,0,0,1,0,0,0,0` on each host, then `nv set qos roce` on the switch.\n";
    let prose =
        "This is a text about class-of-service classifier and mlnx_qos for people who read a lot of the text\n"
            .repeat(9);
    let (files, found) = collect(&[
        ("docs/a.md", page),
        ("docs/b.html", "<!DOCTYPE html><pre>uc-tx-queue 1\nqos profile X</pre>"),
        ("docs/c.rs", "const A: &str = \"mlnx_qos\";\n"),
        ("docs/readme", &prose),
        ("docs/empty.txt", ""),
        ("docs/.git", "mlnx_qos\n"),
        ("docs/pod.approved.json", "{}"),
        ("docs/pod.toml", "[cluster]\ngpus = 8\n"),
    ]);
    assert_eq!(found.devices.len(), 0);
    let names: Vec<&str> = found
        .strange
        .iter()
        .filter_map(|id| files.get(*id))
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(names, ["docs/a.md", "docs/b.html", "docs/c.rs", "docs/readme", "docs/empty.txt"]);
}

/// The address that NCCL uses, and parameters that make no sense.
#[test]
fn addresses_and_parameters() {
    let rules = |texts: &[(&str, &str)]| {
        let (_, found) = collect(texts);
        let report = audit(&found.devices, None);
        let name =
            |finding: &crate::audit::Finding| format!("{} {:?}", finding.rule.id, finding.severity);
        report.findings.iter().map(name).collect::<Vec<_>>()
    };
    let gids = "mlx5_0  1  2  fe80:0000:0000:0000:ee0d:9aff:fed9:8d8a  v1  eth2\n\
                mlx5_0  1  3  0000:0000:0000:0000:0000:ffff:0a00:0001 10.0.0.1 v2  eth2\n";
    let with = |env: &str, more: &[(&str, &str)]| {
        let env = format!("NCCL_IB_TC=106\n{env}\n");
        let mut texts = vec![("d/hgx1.env", env.as_str())];
        texts.extend(more);
        rules(&texts)
    };
    let table = [("d/hgx1.show_gids", gids)];
    assert_eq!(with("NCCL_IB_GID_INDEX=3", &table), [""; 0]);
    assert_eq!(with("NCCL_IB_GID_INDEX=2", &table), ["nccl-gid-index Error"]);
    assert_eq!(with("NCCL_IB_GID_INDEX=7", &table), ["nccl-gid-index Error"]);
    assert_eq!(with("NCCL_IB_GID_INDEX=7\nNCCL_IB_HCA=mlx5_1", &table), [""; 0]);
    assert_eq!(with("NCCL_IB_GID_INDEX=1", &[("d/hgx1.sysfs", SYS)]), ["nccl-gid-index Warning"]);
    assert_eq!(with("NCCL_IB_GID_INDEX=-1", &[("d/hgx1.sysfs", SYS)]), [""; 0]);
    let amd = "NIC : 1\nROCE device : ionic_0\n  Status : Enabled\n";
    assert_eq!(with("NCCL_IB_GID_INDEX=1", &[("d/hgx1.nicctl_show_dcqcn", amd)]), [""; 0]);
    let parameters = "/sys/class/net/eth2/ecn/roce_rp/rpg_gd:7\n/sys/class/net/eth2/ecn/roce_rp/rpg_ai_rate:50\n\
                      /sys/class/net/eth2/ecn/roce_rp/rpg_hai_rate:5\n/sys/class/net/eth2/ecn/roce_rp/dce_tcp_g:1019\n";
    let found = rules(&[("d/hgx1.sysfs", parameters)]);
    assert_eq!(found, ["nic-congestion-range Warning", "nic-congestion-range Warning"]);
}

/// In folders of hosts, words in names of files are not hosts.
#[test]
fn what_a_file_is_about_is_not_a_host() {
    let link = "link bnxt_re0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0\n";
    let nccl = "NCCL_IB_TC=106\n";
    let (_, found) = collect(&[
        ("all/gpu01/cc_bnxt_re0.txt", "ecn_enable : 0x1\n"),
        ("all/gpu01/rdma_link.txt", link),
        ("all/gpu01/nccl.conf", nccl),
        ("all/gpu02/cc_bnxt_re0.txt", "ecn_enable : 0x1\n"),
        ("all/gpu02/rdma_link.txt", link),
        ("flat/nccl.conf", nccl),
        ("flat/hgx1.rdma_link", link),
        ("flat/hgx2.rdma_link", link),
    ]);
    let names: Vec<&str> = found.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["gpu01", "gpu02", "flat", "hgx1", "hgx2"]);
}

/// Four leaves, of which the last has this in the place of its end.
fn cut_off(end: &str) -> bool {
    let head = "hostname leaf\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n    mtu 9216\n    \
                pause pfc-cos 3\nsystem qos\n  service-policy type network-qos N\ninterface Ethernet1/1\n  \
                priority-flow-control mode on\n";
    let whole = format!("{head}  mtu 9216\n  description to spine\n");
    let mut files = Files::default();
    for number in 1..4 {
        files.add(format!("leaf{number}.cfg"), whole.replace("leaf", &format!("leaf{number}")));
    }
    files.add("leaf4.cfg", format!("{}{end}", head.replace("leaf", "leaf4")));
    let found = read(&files);
    assert_eq!(found.devices.len(), 4);
    let own = found.devices.iter().find(|device| device.name == "leaf4").expect("it is there");
    own.count(crate::device::RemarkKind::Truncated) > 0
}

#[test]
fn half_a_line_is_the_beginning_of_one_that_others_have() {
    assert!(cut_off("  mtu 9216\n  descr"));
    assert!(cut_off("  mtu 9216\n  "));
    // Whoever edits a file may leave out the end of its last line.
    assert!(!cut_off("  mtu 9216\n  description to spine\n  no shutdown"));
    assert!(!cut_off("  mtu 9216\n  description to spine"));
}

/// A part of a configuration among outputs of a command is no output that was cut off.
#[test]
fn a_part_begins_otherwise_than_the_whole() {
    let body = "- set:\n    bridge:\n      domain:\n        br_default: {}\n    interface:\n      swp1:\n        link:\n          mtu: 9216\n";
    let whole = format!("- header:\n    model: vx\n{body}    vrf:\n      default: {{}}\n");
    let cut = |text: &str| {
        let mut files = Files::default();
        for number in 1..4 {
            files.add(format!("leaf{number}.yaml"), whole.as_str());
        }
        files.add("leaf4.yaml", text);
        let found = read(&files);
        assert_eq!(found.devices.len(), 4);
        found.devices[3].count(crate::device::RemarkKind::Truncated) > 0
    };
    assert!(cut(&format!("- header:\n    model: vx\n{body}")));
    assert!(!cut(body));
}

/// The prompt behind the output of a command has the name of the device: leaves and spines end alike with it.
#[test]
fn a_prompt_ends_all_texts_alike() {
    let text = |name: &str, end: &str| {
        format!(
            "{name}# show running-configuration\nhostname {name}\npolicy-map type network-qos N\n class P\n  pause\n  \
             pfc-cos 3\ninterface ethernet1/1/1\n no shutdown\n service-policy input type network-qos N\n \
             priority-flow-control mode on\n{end}"
        )
    };
    let cut = |end: &str| {
        let mut files = Files::default();
        for name in ["leaf1", "leaf2", "spine1"] {
            files.add(format!("{name}.cfg"), text(name, &format!(" mtu 9216\n{name}# \n")));
        }
        files.add("spine2.cfg", text("spine2", end));
        let found = read(&files);
        assert_eq!(found.devices.len(), 4);
        found.devices[3].count(crate::device::RemarkKind::Truncated) > 0
    };
    assert!(cut(" mtu 9216\n"));
    assert!(!cut(" mtu 9216\nspine2# \n"));
    assert!(!cut(" mtu 9216\nspine2#"));
}

/// Output of several hosts in one file: each is a device, and findings have the lines of the file.
#[test]
fn output_of_several_hosts_is_taken_apart() {
    let line = |name: &str, text: &str| -> String {
        text.lines().map(|line| format!("{name}: {line}\n")).collect()
    };
    let bad = QOS.replace("0 0 0 1", "0 0 0 0");
    let all = line("hgx1", QOS) + &line("hgx2.example.net", &bad) + "pdsh@adm: hgx9: timed out\n";
    let tos = "hgx1: 106\nhgx2: 106\n";
    let framed = format!("-----\nhgx[1-2]\n-----\n{SYS}");
    let mut files = Files::default();
    let mut strays = Vec::new();
    for (name, text) in [
        ("d/mlnx_qos_eth2.txt", all.as_str()),
        ("d/cma_roce_tos_mlx5_2.txt", tos),
        ("d/sys.txt", &framed),
    ] {
        let (parts, left) = parts(name, text).expect("it says whose it is");
        for part in parts {
            files.add_part(part);
        }
        strays.extend(left);
    }
    // One of their own in the same folder keeps its name.
    files.add("d/hgx3.mlnx_qos.eth2", QOS);
    let found = read(&files);
    let names: Vec<&str> = found.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["hgx1", "hgx2.example.net", "hgx3"]);
    assert_eq!((found.strange, strays.len()), (vec![], 1));
    for device in &found.devices[..2] {
        let port = &device.ports[&PortName::new("mlx5_2")];
        assert_eq!(port.nic.cm_dscp.get().map(|dscp| dscp.get()), Some(26), "{}", device.name);
        assert!(port.pfc.get().is_some() && port.nic.data_dscp.get().is_some());
    }
    let report = audit(&found.devices, None);
    let [finding] = &report.findings[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((finding.device.as_str(), finding.rule.id), ("hgx2.example.net", "pfc-missing"));
    let line = all.lines().position(|line| line == "hgx2.example.net: \tenabled 0 0 0 0 0 0 0 0");
    let line = line.expect("what is wrong") as u32 + 1;
    assert_eq!(files.numbers(finding.places[0]).1, line);
}

/// Firmware is compared among NICs of one maker: each numbers its own in its own way.
#[test]
fn firmware_of_one_maker() {
    let text = |driver: &str, version: &str| {
        format!(
            "driver: {driver}\nversion: 6.8.0\nfirmware-version: {version}\nbus-info: 0000:17:00.0\n"
        )
    };
    let hosts = |all: &[(&str, &str, &str)]| -> Vec<(String, String)> {
        let names = (1..).map(|number| format!("hgx{number}"));
        let files = names.zip(all).flat_map(|(name, (nic, driver, version))| {
            let link = format!("link {nic}/1 state ACTIVE physical_state LINK_UP netdev eth2\n");
            let ethtool = (format!("d/{name}.ethtool_i.eth2"), text(driver, version));
            let job = (format!("d/{name}.nccl.conf"), "NCCL_IB_TC=106\n".to_owned());
            [ethtool, (format!("d/{name}.rdma_link"), link), job]
        });
        files.collect()
    };
    let found = |all: &[(&str, &str, &str)]| -> Vec<(String, &str)> {
        let texts = hosts(all);
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let (_, found) = collect(&texts);
        assert_eq!(found.devices.len(), all.len());
        let report = audit(&found.devices, None);
        report.findings.into_iter().map(|f| (f.device, f.rule.id)).collect()
    };
    let nvidia = ("mlx5_0", "mlx5_core", "28.39.1002 (MT_0000000838)");
    let older = ("mlx5_0", "mlx5_core", "28.35.2000 (MT_0000000838)");
    let broadcom = ("bnxt_re0", "bnxt_en", "229.2.52.0/pkg 229.2.52.0");
    let amd = ("ionic_0", "ionic", "1.110.0-a-70");
    let intel = ("irdma0", "ice", "4.40 0x8001c967 1.3534.0");
    assert_eq!(found(&[nvidia, nvidia, broadcom, broadcom, amd, intel]), []);
    // As many of one maker as of another, and one of each.
    assert_eq!(found(&[nvidia, broadcom, amd, intel]), []);
    let one = |name: &str| vec![(name.to_owned(), "versions-differ")];
    assert_eq!(found(&[nvidia, nvidia, older, broadcom, broadcom, broadcom]), one("hgx3"));
    let other = ("bnxt_re0", "bnxt_en", "227.0.131.0/pkg 227.0.131.0");
    assert_eq!(found(&[nvidia, nvidia, nvidia, broadcom, other, broadcom]), one("hgx5"));
}

/// A last line with another value is a setting, not a cut.
#[test]
fn another_value_at_the_end_is_no_cut() {
    let text = |name: &str, end: &str| {
        format!(
            "nv set system hostname {name}\nnv set interface swp1 link mtu 9216\nnv set qos roce cable-length 40\n{end}"
        )
    };
    let cut = |end: &str| {
        let mut files = Files::default();
        for name in ["leaf1", "leaf2", "leaf3"] {
            files.add(format!("{name}.nv"), text(name, "nv set qos roce mode lossy\n"));
        }
        files.add("leaf4.nv", text("leaf4", end));
        let found = read(&files);
        assert_eq!(found.devices.len(), 4);
        found.devices[3].count(crate::device::RemarkKind::Truncated) > 0
    };
    assert!(!cut("nv set qos roce mode lossless\n"));
    for end in ["", "nv set qos roce mode\n", "nv set qos roce mode los", "nv set qos roce\n"] {
        assert!(cut(end), "{end}");
    }
}
