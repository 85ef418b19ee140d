//! What tools print on servers with NVIDIA NICs, and the files people keep it in.

use crate::other_hosts;
use crate::plan::{HostForm, Nic, Plan, Server};
use std::fmt::Write;

/// The files of a server.
pub(crate) fn files(plan: &Plan, server: &Server) -> Vec<(String, String)> {
    let commands = match plan.form {
        HostForm::Folder | HostForm::Session => nvidia(plan, server),
        HostForm::Broadcom => other_hosts::broadcom(plan, server),
        HostForm::Intel => other_hosts::intel(plan, server),
    };
    let name = &server.name;
    if plan.form == HostForm::Folder
        || (plan.form != HostForm::Session && plan.seed.is_multiple_of(3))
    {
        let path = |file: &str| format!("hosts/{name}/{file}");
        return commands.into_iter().map(|(file, _, text)| (path(&file), text)).collect();
    }
    let mut session = String::new();
    for (_, command, text) in commands {
        let _ = write!(session, "root@{name}:~# {command}\n{text}");
    }
    let _ = writeln!(session, "root@{name}:~# exit\nlogout");
    vec![(format!("hosts/{name}.txt"), session)]
}

/// A file name, the command, what it prints.
pub(crate) type Output = (String, String, String);

fn nvidia(plan: &Plan, server: &Server) -> Vec<Output> {
    let mut all = vec![gids_and_devices(server)];
    for (number, nic) in server.nics.iter().enumerate() {
        let Nic { device, net, .. } = nic;
        all.push((format!("mlnx_qos_{net}.txt"), format!("mlnx_qos -i {net}"), mlnx_qos(plan)));
        let tos = tos(plan);
        all.push((
            format!("cma_roce_tos_{device}.txt"),
            format!("cma_roce_tos -d {device}"),
            format!("{tos}\n"),
        ));
        let slot = 0x18 + 16 * number;
        let text = format!(
            "driver: mlx5_core\nversion: 24.10-1.1.4\nfirmware-version: 28.43.2026 (MT_0000000838)\n\
             expansion-rom-version: \nbus-info: 0000:{slot:02x}:00.0\nsupports-statistics: yes\n\
             supports-test: yes\nsupports-eeprom-access: no\nsupports-register-dump: no\n\
             supports-priv-flags: yes\n"
        );
        all.push((format!("ethtool-i_{net}.txt"), format!("ethtool -i {net}"), text));
    }
    all.push(sysfs(plan, server));
    all.push(show_gids(server));
    all.push(ip_link(plan, server));
    all.push(nccl(plan, server));
    all
}

/// The ToS byte of RDMA data, with ECN.
pub(crate) fn tos(plan: &Plan) -> u8 {
    plan.data_dscp * 4 + 2
}

fn gids_and_devices(server: &Server) -> Output {
    let mut text = String::new();
    for nic in &server.nics {
        let _ = writeln!(text, "{} port 1 ==> {} (Up)", nic.device, nic.net);
    }
    ("ibdev2netdev.txt".into(), "ibdev2netdev".into(), text)
}

/// Priorities that pause, as flags.
pub(crate) fn pauses(plan: &Plan) -> [u8; 8] {
    let mut flags = [0; 8];
    flags[usize::from(plan.data)] = 1;
    if let Some(second) = plan.second {
        flags[usize::from(second)] = 1;
    }
    flags
}

fn mlnx_qos(plan: &Plan) -> String {
    let mut text =
        String::from("DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n");
    for priority in 0..8u8 {
        let of = |dscp: &u8| {
            let own = match *dscp {
                d if d == plan.data_dscp => plan.data,
                d if d == plan.cnp_dscp => plan.cnp,
                d => d / 8,
            };
            own == priority
        };
        let list: Vec<String> = (0..64).rev().filter(of).map(|d| format!("{d:02},")).collect();
        for part in list.chunks(8) {
            let _ = writeln!(text, "\tprio:{priority} dscp:{}", part.concat());
        }
    }
    text += "default priority:\n";
    text += "Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=1027728\n";
    let _ = writeln!(
        text,
        "Cable len: 7\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7"
    );
    let row = |flags: [u8; 8]| flags.map(|flag| format!("{flag}   ")).concat();
    let flags = row(pauses(plan));
    let _ = writeln!(text, "\tenabled     {flags}\n\tbuffer      {flags}");
    if plan.style == 1 {
        for (tc, priority) in [(1, 0), (0, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)] {
            let _ = writeln!(
                text,
                "tc: {tc} ratelimit: unlimited, tsa: vendor\n\t priority:  {priority}"
            );
        }
        return text;
    }
    for tc in 0..8u8 {
        let tsa = match tc {
            0 => format!("ets, bw: {}%", 100 - plan.share),
            tc if tc == plan.data => format!("ets, bw: {}%", plan.share),
            tc if tc == plan.cnp => "strict".to_owned(),
            _ => "ets, bw: 0%".to_owned(),
        };
        let _ = writeln!(text, "tc: {tc} ratelimit: unlimited, tsa: {tsa}\n\t priority:  {tc}");
    }
    text
}

fn sysfs(plan: &Plan, server: &Server) -> Output {
    let mut entries: Vec<(String, String)> = Vec::new();
    for Nic { device, net, .. } in &server.nics {
        let ib = format!("/sys/class/infiniband/{device}/tc/1/traffic_class");
        entries.push((ib, format!("Global tclass={}", tos(plan))));
        let ecn = format!("/sys/class/net/{net}/ecn");
        for point in ["roce_np", "roce_rp"] {
            for priority in 0..8 {
                entries.push((format!("{ecn}/{point}/enable/{priority}"), "1".into()));
            }
        }
        for (file, value) in [
            ("roce_np/min_time_between_cnps", 4),
            ("roce_np/cnp_802p_prio", u32::from(plan.cnp)),
            ("roce_np/cnp_dscp", u32::from(plan.cnp_dscp)),
            ("roce_rp/rpg_ai_rate", 5),
            ("roce_rp/rpg_hai_rate", 50),
            ("roce_rp/rpg_gd", 11),
            ("roce_rp/rpg_min_rate", 1),
            ("roce_rp/rpg_byte_reset", 32767),
            ("roce_rp/rpg_time_reset", 300),
            ("roce_rp/dce_tcp_g", 1019),
            ("roce_rp/initial_alpha_value", 1023),
            ("roce_rp/clamp_tgt_rate", 0),
        ] {
            entries.push((format!("{ecn}/{file}"), value.to_string()));
        }
        entries.push((format!("/sys/class/net/{net}/mtu"), plan.host_mtu.to_string()));
    }
    let mut text = String::new();
    let plain = plan.seed.is_multiple_of(2);
    for (path, value) in entries {
        let _ = match plain {
            true => writeln!(text, "{path}:{value}"),
            false => writeln!(text, "==> {path} <==\n{value}\n"),
        };
    }
    let command = match plain {
        true => "grep -r . /sys/class/infiniband/*/tc /sys/class/net/*/ecn /sys/class/net/*/mtu",
        false => {
            "tail -n +1 /sys/class/infiniband/*/tc/1/* /sys/class/net/*/ecn/*/* /sys/class/net/*/mtu"
        }
    };
    ("sysfs.txt".into(), command.into(), text)
}

fn show_gids(server: &Server) -> Output {
    let mut text = String::from(
        "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n",
    );
    for (number, Nic { device, net, .. }) in server.nics.iter().enumerate() {
        let local = format!("fe80:0000:0000:0000:a288:c2ff:fe12:34{number:02x}");
        let mapped = format!("0000:0000:0000:0000:0000:ffff:0a{number:02x}:0105");
        let ip = format!("10.{number}.1.5");
        let _ = writeln!(text, "{device}\t1\t0\t{local}\t\t\tv1\t{net}");
        let _ = writeln!(text, "{device}\t1\t1\t{local}\t\t\tv2\t{net}");
        let _ = writeln!(text, "{device}\t1\t2\t{mapped}\t{ip}  \tv1\t{net}");
        let _ = writeln!(text, "{device}\t1\t3\t{mapped}\t{ip}  \tv2\t{net}");
    }
    let _ = writeln!(text, "n_gids_found={}", 4 * server.nics.len());
    ("show_gids.txt".into(), "show_gids".into(), text)
}

pub(crate) fn ip_link(plan: &Plan, server: &Server) -> Output {
    let mut text = String::from(
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n    \
         link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n\
         2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000\n    \
         link/ether 3c:ec:ef:01:02:03 brd ff:ff:ff:ff:ff:ff\n",
    );
    for (number, nic) in server.nics.iter().enumerate() {
        let _ = writeln!(
            text,
            "{}: {}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {} qdisc mq state UP mode DEFAULT group default qlen 1000\n    \
             link/ether a0:88:c2:12:34:{number:02x} brd ff:ff:ff:ff:ff:ff",
            number + 3,
            nic.net,
            plan.host_mtu
        );
    }
    ("ip_link.txt".into(), "ip link".into(), text)
}

pub(crate) fn nccl(plan: &Plan, server: &Server) -> Output {
    let devices: Vec<&str> = server.nics.iter().map(|nic| nic.device.as_str()).collect();
    let tos = tos(plan);
    let hca = devices.join(",");
    if plan.seed.is_multiple_of(2) {
        let text = format!(
            "NCCL_IB_HCA={hca}\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TC={tos}\nNCCL_SOCKET_IFNAME=eno1\n\
             NCCL_IB_QPS_PER_CONNECTION=4\nNCCL_DEBUG=WARN\n"
        );
        return ("nccl.conf".into(), "cat /etc/nccl.conf".into(), text);
    }
    let text = format!(
        "SHELL=/bin/bash\nCUDA_HOME=/usr/local/cuda\nNCCL_IB_TC={tos}\nPWD=/root\nLANG=C.UTF-8\n\
         NCCL_IB_HCA={hca}\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TIMEOUT=22\nHOME=/root\nTERM=xterm\n\
         PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin\n"
    );
    ("env.txt".into(), "env".into(), text)
}
