//! Tables of LLDP neighbours as switches print them.

use crate::edit::{Edit, Mistake};
use crate::plan::{Cabling, Plan, Switch};
use std::fmt::Write;
use xoff_config::SystemId;

/// The table of a switch, as a file of its own.
pub(crate) fn file(plan: &Plan, switch: &Switch) -> (String, String) {
    let text = match plan.system {
        SystemId::Eos => eos(switch),
        SystemId::NxOs => nx_os(switch),
        SystemId::Sonic => sonic(switch),
        SystemId::Os10 => os10(switch),
        SystemId::Junos | SystemId::JunosSet => junos(switch),
        _ => lldpcli(switch),
    };
    (format!("{}-lldp.txt", switch.name), text)
}

/// The short form of `Ethernet`.
fn short(port: &str, form: &str) -> String {
    port.replacen("Ethernet", form, 1)
}

fn eos(switch: &Switch) -> String {
    let mut text = format!(
        "{}#show lldp neighbors\nLast table change time   : 9 days, 3:02:11 ago\nNumber of table inserts  : {1}\nNumber of \
         table deletes  : 0\nNumber of table drops    : 0\nNumber of table age-outs : 0\n\nPort          Neighbor Device \
         ID       Neighbor Port ID    TTL\n---------- ------------------------ ---------------------- ---\n",
        switch.name,
        switch.ports.len()
    );
    for port in &switch.ports {
        let _ = writeln!(
            text,
            "{:<13} {:<24} {:<19} 120",
            short(&port.name, "Et"),
            port.peer,
            port.peer_port
        );
    }
    text + "Ma1           oob-sw-01                Ethernet7           120\n"
}

fn nx_os(switch: &Switch) -> String {
    let mut text = format!(
        "{}# show lldp neighbors\nCapability codes:\n  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable \
         Device\n  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\nDevice ID            Local Intf      \
         Hold-time  Capability  Port ID\n",
        switch.name
    );
    for port in &switch.ports {
        let capability = if port.up { "BR" } else { "S" };
        let _ = writeln!(
            text,
            "{:<20} {:<15} 120        {capability:<11} {}",
            port.peer,
            short(&port.name, "Eth"),
            port.peer_port
        );
    }
    let _ = writeln!(text, "Total entries displayed: {}", switch.ports.len());
    text
}

fn sonic(switch: &Switch) -> String {
    let mut text = format!(
        "admin@{}:~$ show lldp table\nCapability codes: (R) Router, (B) Bridge, (O) Other\nLocalPort    RemoteDevice      \
         RemotePortID    Capability    RemotePortDescr\n-----------  ----------------  --------------  ------------  \
         -----------------\n",
        switch.name
    );
    for port in &switch.ports {
        let _ = writeln!(
            text,
            "{:<11}  {:<16}  {:<14}  {:<12}  {}",
            port.name,
            port.peer,
            port.peer_port,
            if port.up { "BR" } else { "O" },
            port.peer_port
        );
    }
    let _ = writeln!(
        text,
        "--------------------------------------------------\nTotal entries displayed:  {}",
        switch.ports.len()
    );
    text
}

fn os10(switch: &Switch) -> String {
    let mut text = format!(
        "{}# show lldp neighbors\nLoc PortID          Rem Host Name        Rem Port Id                    Rem Chassis \
         Id\n------------------------------------------------------------------------------------------\n",
        switch.name
    );
    for port in &switch.ports {
        let _ = writeln!(
            text,
            "{:<19} {:<20} {:<30} a0:88:c2:12:34:{:02x}",
            port.name, port.peer, port.peer_port, port.number
        );
    }
    text
}

fn junos(switch: &Switch) -> String {
    let mut text = format!(
        "admin@{}> show lldp neighbors\nLocal Interface    Parent Interface    Chassis Id          Port info          System \
         Name\n",
        switch.name
    );
    for port in &switch.ports {
        let _ = writeln!(
            text,
            "{:<18} -                   a0:88:c2:12:34:{:02x}   {:<18} {}",
            port.name, port.number, port.peer_port, port.peer
        );
    }
    text
}

fn lldpcli(switch: &Switch) -> String {
    let line = "-------------------------------------------------------------------------------\n";
    let mut text = format!(
        "cumulus@{}:mgmt:~$ sudo lldpcli show neighbors\n{line}LLDP neighbors:\n{line}",
        switch.name
    );
    for port in &switch.ports {
        let _ = write!(
            text,
            "Interface:    {}, via: LLDP, RID: {}, Time: 9 days, 03:02:11\n  Chassis:\n    ChassisID:    mac \
             a0:88:c2:12:34:{:02x}\n    SysName:      {}\n    SysDescr:     Linux\n    Capability:   Station, on\n  Port:\n    \
             PortID:       ifname {}\n    PortDescr:    {}\n    TTL:          120\n{line}",
            port.name,
            port.number + 1,
            port.number,
            port.peer,
            port.peer_port,
            port.peer_port
        );
    }
    text
}

/// Two cables of a leaf exchanged: LLDP sees it, the fabric file says what was planned.
pub(crate) fn wrong_cable(plan: &Plan) -> Option<Mistake> {
    let leaf = plan.leaves().nth(1)?;
    let hosts: Vec<_> = leaf.ports.iter().filter(|port| !port.up).collect();
    let (first, second) = (hosts.first()?.peer.clone(), hosts.get(1)?.peer.clone());
    if plan.cabling != Cabling::Lldp {
        return None;
    }
    let mistake =
        Mistake::device("cables exchanged", &leaf.name, &["cable-mismatch"], str::to_owned);
    let names = vec![format!("{}-lldp.txt", leaf.name)];
    let edit = move |text: &str| {
        text.replace(&first, "\u{1}").replace(&second, &first).replace('\u{1}', &second)
    };
    Some(Mistake { planned_only: true, edit: Edit::File(names, Box::new(edit)), ..mistake })
}
