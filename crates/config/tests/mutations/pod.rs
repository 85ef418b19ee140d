//! A clean two-tier fabric as people collect it: running configurations with all that is in them
//! beside RoCE, and the read-back of hosts.

use crate::common;
use std::collections::BTreeMap;
use std::fmt::Write;
use xoff_config::audit::{self, Report};
use xoff_config::device::{Balancing, PortName};
use xoff_config::intent::{Choices, Intent};
use xoff_config::{Device, Files, SystemId};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::Scheduling;

/// Files by name.
pub(crate) type Texts = BTreeMap<String, String>;

/// The fabric, and how its switches spread flows.
pub(crate) struct Pod {
    pub(crate) setup: FabricSetup,
    pub(crate) balancing: Balancing,
    pub(crate) clean: Texts,
}

impl Pod {
    pub(crate) fn of(system: SystemId) -> Self {
        Self::from(common::POD, system)
    }

    /// The pod of a fabric file.
    pub(crate) fn from(file: &str, system: SystemId) -> Self {
        let setup = common::setup(file);
        let balancing = match system {
            SystemId::Sonic => Balancing::Hash,
            _ => Balancing::Flowlet,
        };
        let intent = Intent::with(&setup, Choices { balancing, ..Choices::all(system) });
        let clean = intent.devices.iter().map(|device| (file_name(device), text(device))).collect();
        Self { setup, balancing, clean }
    }

    /// The findings on these texts, with the fabric file or without.
    pub(crate) fn audit(&self, texts: &Texts, with_fabric: bool) -> Report {
        self.report(texts, with_fabric, false)
    }

    /// The same, with fixes.
    pub(crate) fn audit_with_fixes(&self, texts: &Texts, with_fabric: bool) -> Report {
        self.report(texts, with_fabric, true)
    }

    fn report(&self, texts: &Texts, with_fabric: bool, fixes: bool) -> Report {
        let mut files = Files::default();
        for (name, text) in texts {
            files.add(name.clone(), text.clone());
        }
        let audit::Collection { devices, strange, cables, .. } = audit::read(&files);
        assert!(strange.is_empty(), "not recognised: {strange:?}");
        let intent = common::intent_for(&self.setup, self.balancing, &devices);
        let intent = with_fabric.then_some(&intent);
        match fixes {
            true => audit::with_fixes(&devices, &cables, &files, intent),
            false => audit::audit_with(&devices, &cables, intent),
        }
    }
}

fn file_name(device: &Device) -> String {
    match device.system {
        SystemId::Sonic => format!("{}.json", device.name),
        SystemId::Host => format!("{}.txt", device.name),
        _ => format!("{}.cfg", device.name),
    }
}

fn text(device: &Device) -> String {
    if device.is_host() {
        return read_back(device);
    }
    let system = device.system.system();
    let fitting = system.fit(device, &mut Vec::new());
    let rendered = system.render(&fitting).remove(0).text;
    match device.system {
        SystemId::Sonic => sonic(device, &rendered),
        SystemId::Eos => eos(device, &rendered),
        SystemId::NxOs => nx_os(device, &rendered),
        SystemId::Junos => junos(device, &rendered),
        SystemId::JunosSet => junos_set(device, &rendered),
        SystemId::Os10 => os10(device, &rendered),
        SystemId::PicOs => picos(device, &rendered),
        SystemId::CumulusYaml => cumulus_yaml(device, &rendered),
        _ => cumulus(device, &rendered),
    }
}

fn peers(device: &Device) -> impl Iterator<Item = (&PortName, String)> {
    device.ports.iter().filter_map(|(name, port)| {
        let peer = port.neighbour.value()?;
        Some((name, format!("{} {}", peer.device, peer.port.as_deref().unwrap_or(""))))
    })
}

fn gbps(device: &Device, name: &PortName) -> u64 {
    device.ports[name].rate.get().map_or(0, |rate| rate.bps() / 1_000_000_000)
}

fn sonic(device: &Device, rendered: &str) -> String {
    let mut base = String::from("admin@sonic:~$ sudo cat /etc/sonic/config_db.json\n{\n");
    let _ = writeln!(
        base,
        "    \"DEVICE_METADATA\": {{\n        \"localhost\": {{\n            \"hostname\": \"{}\",\n            \
         \"hwsku\": \"Some-TH5-64x800\",\n            \"version\": \"202411\"\n        }}\n    }},\n    \
         \"BGP_NEIGHBOR\": {{}},\n    \"DEVICE_NEIGHBOR\": {{",
        device.name
    );
    let entries: Vec<String> = peers(device)
        .map(|(name, peer)| {
            let (device, port) = peer.split_once(' ').unwrap();
            format!("        \"{name}\": {{\"name\": \"{device}\", \"port\": \"{port}\"}}")
        })
        .collect();
    let _ = writeln!(base, "{}\n    }},", entries.join(",\n"));
    let mut text = rendered.replacen("{\n", &base, 1);
    for name in device.ports.keys() {
        let mtu = format!("        \"{name}\": {{\n            \"mtu\"");
        let speed = gbps(device, name) * 1000;
        let both = format!(
            "        \"{name}\": {{\n            \"speed\": \"{speed}\",\n            \"mtu\""
        );
        text = text.replacen(&mtu, &both, 1);
    }
    text + "admin@sonic:~$ exit\n"
}

fn eos(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "{0}#show running-config\n! Command: show running-config\n! device: {0} (DCS-7060X6-64PE, \
         EOS-4.32.2F)\n!\nhostname {0}\n!\nbanner login\nqos trust cos\nEOF\n!\nspanning-tree mode mstp\n!\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name);
        let _ = writeln!(
            text,
            "interface {name}\n   description {peer}\n   speed {speed}g\n   no switchport\n!"
        );
    }
    text + "router bgp 65001\n   neighbor 10.0.0.1 remote-as 65002\n!\n" + rendered + "end\n"
}

fn nx_os(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "{0}# show running-config\n\n!Command: show running-config\n!Time: Sun Nov 15 2026\n\n\
         version 10.5(1) Bios:version 05.47\nhostname {0}\nfeature bgp\nbanner motd ^C\nhello ^C\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name) * 1000;
        let _ = writeln!(
            text,
            "interface {name}\n  description {peer}\n  no switchport\n  speed {speed}\n  no shutdown"
        );
    }
    text + rendered + "line console\nboot nxos bootflash:/nxos64.bin\n"
}

fn cumulus(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "cumulus@{0}:mgmt:~$ nv config show -o commands\nnv set system hostname {0}\n\
         nv set router bgp autonomous-system 65001\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name);
        let _ = writeln!(text, "nv set interface {name} description '{peer}'");
        let _ = writeln!(text, "nv set interface {name} link speed {speed}G");
    }
    text + rendered
}

fn cumulus_yaml(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "cumulus@{0}:mgmt:~$ nv config show\n- header:\n    model: SN5600\n    nvue-api-version: nvue_v1\n    \
         version: Cumulus Linux 5.11.0\n- set:\n    system:\n      hostname: {0}\n    interface:\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name);
        let _ = writeln!(
            text,
            "      {name}:\n        description: '{peer}'\n        link:\n          speed: {speed}G\n        type: swp"
        );
    }
    text + "    router:\n      bgp:\n        autonomous-system: 65001\n" + rendered
}

fn junos(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "admin@{0}> show configuration | no-more\n## Last commit: 2026-11-15 by admin\nversion 24.4R1.7-EVO;\n\
         system {{\n    host-name {0};\n    services {{\n        ssh;\n    }}\n}}\ninterfaces {{\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name);
        let _ = writeln!(
            text,
            "    {name} {{\n        description \"{peer}\";\n        speed {speed}g;\n        unit 0 {{\n            \
             family inet {{\n                address 10.0.0.0/31;\n            }}\n        }}\n    }}"
        );
    }
    text + "}\nprotocols {\n    lldp {\n        interface all;\n    }\n}\n"
        + rendered
        + "\n{master:0}\n"
}

fn junos_set(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "admin@{0}> show configuration | display set | no-more\nset version 24.4R1.7-EVO\n\
         set system host-name {0}\nset protocols lldp interface all\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name);
        let _ = writeln!(text, "set interfaces {name} description \"{peer}\"");
        let _ = writeln!(text, "set interfaces {name} speed {speed}g");
    }
    text + rendered
}

fn os10(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "{0}# show running-configuration\n! Version 10.5.6.3\n! Last configuration change at Nov 15\n!\n\
         hostname {0}\nbanner motd ^C\nhello ^C\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name) * 1000;
        let _ = writeln!(
            text,
            "interface {name}\n description \"{peer}\"\n no switchport\n speed {speed}\n no shutdown\n!"
        );
    }
    text + rendered
}

fn picos(device: &Device, rendered: &str) -> String {
    let mut text = format!(
        "admin@{0}> show running-config | display set\nset version 4.5.1\nset system hostname \"{0}\"\n\
         set protocols lldp enable true\n",
        device.name
    );
    for (name, peer) in peers(device) {
        let speed = gbps(device, name) * 1000;
        let _ = writeln!(text, "set interface gigabit-ethernet {name} description \"{peer}\"");
        let _ = writeln!(text, "set interface gigabit-ethernet {name} speed \"{speed}\"");
    }
    text + rendered
}

/// What the check script prints on a host that is configured as meant.
fn read_back(device: &Device) -> String {
    let system = device.system.system();
    let device = system.fit(device, &mut Vec::new());
    let mut text = format!("hostname {}\nNCCL_DEBUG=INFO\n", device.name);
    if let Some(tos) = device.nccl.traffic_class.get() {
        let _ = writeln!(text, "NCCL_IB_TC={tos}\nNCCL_IB_GID_INDEX=3");
    }
    for (number, (name, port)) in device.ports.iter().enumerate() {
        let net = format!("enp{number}s0np0");
        let _ = writeln!(text, "nic {name} {net}\nDCBX mode: OS controlled");
        let _ = writeln!(text, "Priority trust state: dscp\ndscp2prio mapping:");
        for class in 0..8u8 {
            let list: Vec<String> = (0..64usize)
                .filter(|d| port.maps.dscp_to_class[*d].get().map(|c| c.get()) == Some(class))
                .map(|dscp| format!("{dscp:02}"))
                .collect();
            let _ = writeln!(text, "\tprio:{class} dscp:{},", list.join(","));
        }
        let cable = port.cable.get().map_or(7, |cable| cable.as_mm() / 1000);
        let _ = writeln!(
            text,
            "default priority:\nReceive buffer size (bytes): 20016,156096,0,0,0,0,0,0,"
        );
        let _ = writeln!(text, "Cable len: {cable}\nPFC configuration:");
        text += "\tpriority    0   1   2   3   4   5   6   7\n\tenabled     ";
        let pfc = port.pfc.get().unwrap();
        let flags: Vec<&str> = xoff_config::number::Priority::all()
            .map(|priority| if pfc.has(priority) { "1" } else { "0" })
            .collect();
        let _ =
            writeln!(text, "{}\n\tbuffer      0   0   0   1   0   0   0   0", flags.join("   "));
        for (queue, settings) in port.queues.iter().enumerate() {
            let turn = match settings.scheduling.get() {
                Some(Scheduling::Weighted(share)) => format!("ets, bw: {share}%"),
                _ => "strict".to_owned(),
            };
            let _ = writeln!(
                text,
                "tc: {queue} ratelimit: unlimited, tsa: {turn}\n\t priority:  {queue}"
            );
        }
        let mtu = port.mtu.get().unwrap().get();
        let _ = writeln!(text, "/sys/class/net/{net}/mtu:{mtu}");
        let tos = port.nic.data_dscp.get().unwrap().tos_with_ecn();
        let _ =
            writeln!(text, "/sys/class/infiniband/{name}/tc/1/traffic_class:Global tclass={tos}");
        let cnp = port.nic.cnp_dscp.get().unwrap();
        let _ = writeln!(text, "/sys/class/net/{net}/ecn/roce_np/cnp_dscp:{cnp}");
        for point in ["np", "rp"] {
            for priority in 0..8 {
                let on = u8::from(priority == 3);
                let _ =
                    writeln!(text, "/sys/class/net/{net}/ecn/roce_{point}/enable/{priority}:{on}");
            }
        }
        let _ = writeln!(text, "cma_roce_tos {name} {tos}");
    }
    text
}
