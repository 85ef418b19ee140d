//! Mistakes of servers: edits of what tools printed.

use crate::draw::Draw;
use crate::edit::{Edit, Mistake, swap, without};
use crate::hosts::tos;
use crate::plan::{HostForm, Nic, Plan, Server};

type Change = Box<dyn Fn(&str) -> String>;

/// Changes what a command printed: a section of a session, or the file it is in.
fn printed(text: &str, command: &str, change: &dyn Fn(&str) -> String) -> String {
    let Some(start) = text.find(&format!("# {command}\n")) else { return text.to_owned() };
    let start = start + command.len() + 3;
    let end = text[start..].find("root@").map_or(text.len(), |at| start + at);
    format!("{}{}{}", &text[..start], change(&text[start..end]), &text[end..])
}

/// A mistake in what one command printed, kept in a file whose name begins like this.
fn mistake(
    name: &str,
    server: &Server,
    nic: Option<&Nic>,
    rules: &[&'static str],
    at: (String, String),
    change: Change,
) -> Mistake {
    let (file, command) = at;
    let folder = format!("hosts/{}/", server.name);
    let session = format!("hosts/{}.txt", server.name);
    let edit = move |text: &str| match text.contains("root@") {
        true => printed(text, &command, &*change),
        false => change(text),
    };
    let whole = Mistake::device(name, &server.name, rules, str::to_owned);
    let ports = nic.map_or(Vec::new(), |nic| vec![nic.device.clone(), nic.net.clone()]);
    // A host is one file, or a folder of which one file matters.
    let edit: Change = Box::new(edit);
    Mistake { ports, edit: Edit::File(vec![session, format!("{folder}{file}")], edit), ..whole }
}

pub(crate) fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut draw = Draw::new(plan.seed, "hosts");
    let mut all = match plan.form {
        HostForm::Folder | HostForm::Session => nvidia(plan, &mut draw),
        HostForm::Broadcom => broadcom(plan, &mut draw),
        HostForm::Intel => intel(plan, &mut draw),
    };
    all.extend(common(plan, &mut draw));
    all
}

fn any(plan: &Plan, draw: &mut Draw) -> (Server, Nic) {
    let server = draw.pick(&plan.servers);
    let nic = draw.pick(&server.nics);
    (server, nic)
}

fn nvidia(plan: &Plan, draw: &mut Draw) -> Vec<Mistake> {
    let (data, share) = (plan.data, plan.share);
    let mut all = Vec::new();
    let flags = |on: &[usize]| {
        let flag = |p: usize| if on.contains(&p) { "1   " } else { "0   " };
        (0..8).map(flag).collect::<String>()
    };
    let now = flags(&match plan.second {
        Some(second) => vec![usize::from(data), usize::from(second)],
        None => vec![usize::from(data)],
    });
    let row = move |new: String| -> Change {
        let old = format!("enabled     {now}");
        Box::new(move |t| swap(t, &old, &format!("enabled     {new}")))
    };
    let mut qos: Vec<(&str, &[&'static str], Change)> = vec![
        (
            "nic trusts pcp",
            &["trust"],
            Box::new(|t| swap(t, "trust state: dscp", "trust state: pcp")),
        ),
        ("nic without pfc", &["pfc-missing", "qos-not-applied"], row(flags(&[]))),
        ("nic pauses another priority", &["pfc-priority", "pfc-missing"], row(flags(&[5]))),
        (
            "nic pauses all priorities",
            &["pfc-all-priorities"],
            row(flags(&[0, 1, 2, 3, 4, 5, 6, 7])),
        ),
        ("nic maps data to priority 0", &["data-class", "nic-data-dscp"], {
            let dscp = plan.data_dscp;
            Box::new(move |t| {
                let t = swap(t, &format!("{dscp:02},"), "");
                swap(&t, "\tprio:0 dscp:", &format!("\tprio:0 dscp:{dscp:02},"))
            })
        }),
    ];
    if plan.style != 1 {
        qos.push(("nic gives rdma little", &["weights-drift", "weights-sum", "fleet-drift"], {
            Box::new(move |t| {
                let t = swap(t, &format!("bw: {share}%"), "bw: \u{1}%");
                let t = t.replace(&format!("bw: {}%", 100 - share), "bw: 95%");
                swap(&t, "\u{1}", "5")
            })
        }));
    }
    for (name, rules, change) in qos {
        let (server, nic) = any(plan, draw);
        let at = (format!("mlnx_qos_{}.txt", nic.net), format!("mlnx_qos -i {}", nic.net));
        all.push(mistake(name, &server, Some(&nic), rules, at, change));
    }
    let tos = tos(plan);
    let cnp = plan.cnp_dscp;
    let values: [(&str, &[&'static str], &str, String, String); 5] = [
        (
            "nic writes another dscp",
            &["nic-data-dscp"],
            "tc/1/traffic_class",
            format!("Global tclass={tos}"),
            "Global tclass=64".into(),
        ),
        (
            "nic writes cnps with dscp 4",
            &["nic-cnp-dscp"],
            "roce_np/cnp_dscp",
            cnp.to_string(),
            "4".into(),
        ),
        (
            "nic sends no cnps",
            &["nic-congestion-control"],
            "roce_np/enable/3",
            "1".into(),
            "0".into(),
        ),
        (
            "nic ignores cnps",
            &["nic-congestion-control"],
            "roce_rp/enable/3",
            "1".into(),
            "0".into(),
        ),
        (
            "nic with mtu 1500",
            &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"],
            "mtu",
            plan.host_mtu.to_string(),
            "1500".into(),
        ),
    ];
    for (name, rules, file, old, new) in values {
        let (server, nic) = any(plan, draw);
        let path = match file.starts_with("tc/") {
            true => format!("/sys/class/infiniband/{}/{file}", nic.device),
            false if file == "mtu" => format!("/sys/class/net/{}/mtu", nic.net),
            false => format!("/sys/class/net/{}/ecn/{file}", nic.net),
        };
        let change = move |t: &str| match t.contains("<==") {
            true => {
                swap(t, &format!("==> {path} <==\n{old}\n"), &format!("==> {path} <==\n{new}\n"))
            }
            false => swap(t, &format!("{path}:{old}\n"), &format!("{path}:{new}\n")),
        };
        let command = match plan.seed.is_multiple_of(2) {
            true => {
                "grep -r . /sys/class/infiniband/*/tc /sys/class/net/*/ecn /sys/class/net/*/mtu"
            }
            false => {
                "tail -n +1 /sys/class/infiniband/*/tc/1/* /sys/class/net/*/ecn/*/* /sys/class/net/*/mtu"
            }
        };
        let at = ("sysfs.txt".to_owned(), command.to_owned());
        all.push(mistake(name, &server, Some(&nic), rules, at, Box::new(change)));
    }
    let (server, nic) = any(plan, draw);
    let at =
        (format!("cma_roce_tos_{}.txt", nic.device), format!("cma_roce_tos -d {}", nic.device));
    let change = Box::new(move |t: &str| swap(t, &tos.to_string(), "0"));
    all.push(mistake("rdma_cm writes dscp 0", &server, Some(&nic), &["nic-data-dscp"], at, change));
    let (server, _) = any(plan, draw);
    let change = Box::new(|t: &str| swap(t, "GID_INDEX=3", "GID_INDEX=0"));
    all.push(mistake(
        "gid index of RoCEv1",
        &server,
        None,
        &["nccl-gid-index"],
        nccl_at(plan),
        change,
    ));
    all
}

fn nccl_at(plan: &Plan) -> (String, String) {
    match plan.seed.is_multiple_of(2) {
        true => ("nccl.conf".into(), "cat /etc/nccl.conf".into()),
        false => ("env.txt".into(), "env".into()),
    }
}

/// What any server has.
fn common(plan: &Plan, draw: &mut Draw) -> Vec<Mistake> {
    let mut all = Vec::new();
    let own = format!("NCCL_IB_TC={}", tos(plan));
    let wrong = draw.pick(&["NCCL_IB_TC=184", "NCCL_IB_TC=0", "NCCL_IB_TC=64"]);
    let (server, _) = any(plan, draw);
    let line = own.clone();
    let change = Box::new(move |t: &str| swap(t, &line, wrong));
    let rules = ["nccl-traffic-class"];
    all.push(mistake("nccl in another class", &server, None, &rules, nccl_at(plan), change));
    let (server, _) = any(plan, draw);
    let change = Box::new(move |t: &str| without(t, &own));
    let rules = ["nccl-unset"];
    all.push(mistake("nccl without a class", &server, None, &rules, nccl_at(plan), change));
    let (server, nic) = any(plan, draw);
    let (net, firmware) = (nic.net.clone(), "firmware-version: ");
    let at = (format!("ethtool-i_{net}.txt"), format!("ethtool -i {net}"));
    let change = Box::new(move |t: &str| {
        let line = t.lines().find(|l| l.starts_with(firmware)).expect("a version").to_owned();
        swap(t, &line, "firmware-version: 20.31.1014 (MT_0000000223)")
    });
    let rules = ["versions-differ", "fleet-drift"];
    all.push(mistake("another firmware", &server, Some(&nic), &rules, at, change));
    if matches!(plan.form, HostForm::Broadcom | HostForm::Intel) {
        let (server, nic) = any(plan, draw);
        let (net, mtu) = (nic.net.clone(), plan.host_mtu);
        let start = format!(": {net}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu ");
        let change =
            Box::new(move |t: &str| swap(t, &format!("{start}{mtu}"), &format!("{start}1500")));
        let at = ("ip_link.txt".to_owned(), "ip link".to_owned());
        let rules = ["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
        all.push(mistake("nic with mtu 1500", &server, Some(&nic), &rules, at, change));
        let (server, nic) = any(plan, draw);
        let device = &nic.device;
        let path = format!("/sys/kernel/config/rdma_cm/{device}/ports/1/default_roce_tos");
        let at = (format!("default_roce_tos_{device}.txt"), format!("grep -H . {path}"));
        let tos = tos(plan);
        let change =
            Box::new(move |t: &str| swap(t, &format!("{path}:{tos}"), &format!("{path}:0")));
        all.push(mistake(
            "rdma_cm writes dscp 0",
            &server,
            Some(&nic),
            &["nic-data-dscp"],
            at,
            change,
        ));
    }
    all
}

fn broadcom(plan: &Plan, draw: &mut Draw) -> Vec<Mistake> {
    let mut all = Vec::new();
    let (data_dscp, cnp_dscp) = (plan.data_dscp, plan.cnp_dscp);
    let now = match plan.second {
        Some(second) => format!("PFC enabled: {},{second}\n", plan.data),
        None => format!("PFC enabled: {}\n", plan.data),
    };
    let pfc = |new: &'static str| -> Change {
        let now = now.clone();
        Box::new(move |t| swap(t, &now, new))
    };
    let qos: Vec<(&str, &[&'static str], Change)> = vec![
        ("nic without pfc", &["pfc-missing", "qos-not-applied"], pfc("PFC enabled: none\n")),
        ("nic pauses another priority", &["pfc-priority", "pfc-missing"], pfc("PFC enabled: 5\n")),
        (
            "nic pauses all priorities",
            &["pfc-all-priorities"],
            pfc("PFC enabled: 0,1,2,3,4,5,6,7\n"),
        ),
        ("nic maps another dscp", &["data-class", "nic-data-dscp", "trust"], {
            Box::new(move |t| swap(t, &format!("DSCP: {data_dscp}\n"), "DSCP: 10\n"))
        }),
    ];
    for (name, rules, change) in qos {
        let (server, nic) = any(plan, draw);
        let index = server.nics.iter().position(|own| own.net == nic.net).map_or(1, |at| at + 1);
        let at = (format!("niccli_getqos_{}.txt", nic.net), format!("niccli -i {index} getqos"));
        all.push(mistake(name, &server, Some(&nic), rules, at, change));
    }
    let values: [(&str, &[&'static str], String, String); 3] = [
        (
            "nic writes another dscp",
            &["nic-data-dscp"],
            format!("roce_dscp:0x{data_dscp:x}"),
            "roce_dscp:0x0".into(),
        ),
        (
            "nic writes cnps with dscp 4",
            &["nic-cnp-dscp"],
            format!("cnp_dscp:0x{cnp_dscp:x}"),
            "cnp_dscp:0x4".into(),
        ),
        (
            "nic without congestion control",
            &["nic-congestion-control"],
            "ecn_enable:0x1".into(),
            "ecn_enable:0x0".into(),
        ),
    ];
    for (name, rules, old, new) in values {
        let (server, nic) = any(plan, draw);
        let device = &nic.device;
        let command = format!("grep -r . /sys/kernel/config/bnxt_re/{device}/ports/1/cc");
        let change = Box::new(move |t: &str| swap(t, &old, &new));
        let at = (format!("cc_{device}.txt"), command);
        all.push(mistake(name, &server, Some(&nic), rules, at, change));
    }
    all
}

fn intel(plan: &Plan, draw: &mut Draw) -> Vec<Mistake> {
    let mut all = Vec::new();
    let data = plan.data;
    let pfc: [(&str, &[&'static str], String); 2] = [
        ("nic without pfc", &["pfc-missing", "qos-not-applied"], format!("{data}:off")),
        (
            "nic pauses another priority",
            &["pfc-priority", "pfc-missing"],
            format!("{data}:off \u{1}"),
        ),
    ];
    for (name, rules, new) in pfc {
        let (server, nic) = any(plan, draw);
        let at = (format!("dcb_pfc_{}.txt", nic.net), format!("dcb pfc show dev {}", nic.net));
        let change = Box::new(move |t: &str| {
            let t = swap(t, &format!("{data}:on"), &new);
            match t.contains('\u{1}') {
                true => swap(&swap(&t, " \u{1}", ""), "5:off", "5:on"),
                false => t,
            }
        });
        all.push(mistake(name, &server, Some(&nic), rules, at, change));
    }
    let (server, nic) = any(plan, draw);
    let at = (format!("dcb_app_{}.txt", nic.net), format!("dcb app show dev {}", nic.net));
    let change = Box::new(move |t: &str| swap(t, &format!(":{data} "), ":0 "));
    let rules = ["data-class", "nic-data-dscp"];
    all.push(mistake("nic maps data to priority 0", &server, Some(&nic), &rules, at, change));
    all
}
