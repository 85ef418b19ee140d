//! What tools print on servers with NICs of Broadcom and Intel.

use crate::hosts::{Output, ip_link, nccl, pauses, tos};
use crate::plan::{Nic, Plan, Server};
use std::fmt::Write;

pub(crate) fn broadcom(plan: &Plan, server: &Server) -> Vec<Output> {
    let mut all = Vec::new();
    let mut devices = String::new();
    for (number, nic) in server.nics.iter().enumerate() {
        let (device, net) = (&nic.device, &nic.net);
        let _ =
            writeln!(devices, "link {device}/1 state ACTIVE physical_state LINK_UP netdev {net} ");
        let name = format!("niccli_getqos_{net}.txt");
        let index = number + 1;
        all.push((name, format!("niccli -i {index} getqos"), getqos(plan)));
        all.push((
            format!("cc_{device}.txt"),
            format!("grep -r . /sys/kernel/config/bnxt_re/{device}/ports/1/cc"),
            controls(plan, nic),
        ));
        let text = "driver: bnxt_en\nversion: 1.10.3-231.0.162.0\nfirmware-version: 231.0.154.0/pkg \
                    231.1.162.1\nexpansion-rom-version: \nbus-info: 0000:19:00.0\nsupports-statistics: yes\n";
        all.push((format!("ethtool-i_{net}.txt"), format!("ethtool -i {net}"), text.into()));
        all.push(default_tos(plan, nic));
    }
    all.insert(0, ("rdma_link.txt".into(), "rdma link".into(), devices));
    all.push(ip_link(plan, server));
    all.push(nccl(plan, server));
    all
}

fn getqos(plan: &Plan) -> String {
    let (data, cnp) = (plan.data, plan.cnp);
    let groups: Vec<String> = (0..8u8)
        .map(|p| match p {
            p if p == data => format!("{p}:1"),
            p if p == cnp => format!("{p}:2"),
            p => format!("{p}:0"),
        })
        .collect();
    let on: Vec<String> = (0..8).filter(|p| pauses(plan)[*p] == 1).map(|p| p.to_string()).collect();
    format!(
        "IEEE 8021QAZ ETS Configuration TLV:\n\t PRIO_MAP: {}\n\t TC Bandwidth: {}% {}% 0%\n\t TSA_MAP: 0:ets \
         1:ets 2:strict\nIEEE 8021QAZ PFC TLV:\n\t PFC enabled: {}\nIEEE 8021QAZ APP TLV:\n\t APP#0:\n\t  \
         Priority: {cnp}\n\t  Sel: 5\n\t  DSCP: {}\n\n\t APP#1:\n\t  Priority: {data}\n\t  Sel: 5\n\t  DSCP: {}\n\n\t \
         APP#2:\n\t  Priority: {data}\n\t  Sel: 3\n\t  UDP or DCCP: 4791\n\nTC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%\n",
        groups.join(" "),
        100 - plan.share,
        plan.share,
        on.join(","),
        plan.cnp_dscp,
        plan.data_dscp
    )
}

fn controls(plan: &Plan, nic: &Nic) -> String {
    let mut text = String::new();
    for (file, value) in [
        ("ecn_enable", "0x1".to_owned()),
        ("ecn_marking", "0x1".to_owned()),
        ("cc_mode", "0x1".to_owned()),
        ("roce_dscp", format!("0x{:x}", plan.data_dscp)),
        ("roce_prio", format!("0x{:x}", plan.data)),
        ("cnp_dscp", format!("0x{:x}", plan.cnp_dscp)),
        ("cnp_prio", format!("0x{:x}", plan.cnp)),
    ] {
        let _ =
            writeln!(text, "/sys/kernel/config/bnxt_re/{}/ports/1/cc/{file}:{value}", nic.device);
    }
    text
}

/// The ToS of connections that rdma_cm makes.
fn default_tos(plan: &Plan, nic: &Nic) -> Output {
    let path = format!("/sys/kernel/config/rdma_cm/{}/ports/1/default_roce_tos", nic.device);
    let text = format!("{path}:{}\n", tos(plan));
    (format!("default_roce_tos_{}.txt", nic.device), format!("grep -H . {path}"), text)
}

pub(crate) fn intel(plan: &Plan, server: &Server) -> Vec<Output> {
    let mut all = Vec::new();
    let mut devices = String::new();
    for nic in &server.nics {
        let net = &nic.net;
        let _ = writeln!(
            devices,
            "link {}/1 state ACTIVE physical_state LINK_UP netdev {net} ",
            nic.device
        );
        let flags: Vec<String> = pauses(plan)
            .iter()
            .enumerate()
            .map(|(p, on)| format!("{p}:{}", if *on == 1 { "on" } else { "off" }))
            .collect();
        let pfc = format!("pfc-cap 8 macsec-bypass off delay 0 \nprio-pfc {} \n", flags.join(" "));
        all.push((format!("dcb_pfc_{net}.txt"), format!("dcb pfc show dev {net}"), pfc));
        let app = format!(
            "dscp-prio {}:{} {}:{} \n",
            code(plan.data_dscp),
            plan.data,
            code(plan.cnp_dscp),
            plan.cnp
        );
        all.push((format!("dcb_app_{net}.txt"), format!("dcb app show dev {net}"), app));
        all.push((format!("dcb_ets_{net}.txt"), format!("dcb ets show dev {net}"), ets(plan)));
        let text = "driver: ice\nversion: 1.14.13\nfirmware-version: 4.60 0x8001ea2c 1.3682.0\n\
                    expansion-rom-version: \nbus-info: 0000:18:00.0\nsupports-statistics: yes\n";
        all.push((format!("ethtool-i_{net}.txt"), format!("ethtool -i {net}"), text.into()));
        all.push(default_tos(plan, nic));
    }
    all.insert(0, ("rdma_link.txt".into(), "rdma link".into(), devices));
    all.push(ip_link(plan, server));
    all.push(nccl(plan, server));
    all
}

fn ets(plan: &Plan) -> String {
    let (data, cnp) = (plan.data, plan.cnp);
    let row =
        |of: &dyn Fn(u8) -> String| (0..8u8).map(|n| format!("{n}:{} ", of(n))).collect::<String>();
    let group = |p: u8| match p {
        p if p == data => "1".to_owned(),
        p if p == cnp => "2".to_owned(),
        _ => "0".to_owned(),
    };
    let share = |tc: u8| match tc {
        0 => (100 - plan.share).to_string(),
        1 => plan.share.to_string(),
        _ => "0".to_owned(),
    };
    let turn = |tc: u8| if tc < 2 { "ets".to_owned() } else { "strict".to_owned() };
    format!(
        "willing off ets_cap 8 cbs off \ntc-bw {}\npg-bw {}\ntc-tsa {}\nprio-tc {}\n",
        row(&share),
        row(&|_| "0".to_owned()),
        row(&turn),
        row(&group)
    )
}

/// DSCPs as iproute2 names them.
fn code(dscp: u8) -> String {
    match dscp {
        24 => "CS3".into(),
        26 => "AF31".into(),
        48 => "CS6".into(),
        other => other.to_string(),
    }
}
