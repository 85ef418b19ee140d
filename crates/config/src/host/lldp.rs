//! TLVs of DCBX as `lldptool`, `niccli` and `bnxtqos` print and set them, and Broadcom's `bnxt_setupcc.sh`.
//!
//! The output is that of open-lldp (`lldp_8021qaz_clif.c`) and of `niccli --dev N qos --ets --show`; the options are
//! those that `bnxt_setupcc.sh` 236.1 documents and uses, and those in Intel's README of irdma. What older versions
//! of `niccli` take is not read.

use super::parse::{Mode, Parser, Slot, integer};
use crate::device::{Maker, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Priority, Queue};
use crate::place::Said;

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    if device_list(parser, line) {
        return true;
    }
    if line.starts_with("IEEE 8021QAZ ") {
        let asks = line.contains("Recommendation");
        parser.mode = if asks { Mode::Recommended } else { Mode::Tlv };
        return true;
    }
    let tlv = matches!(parser.mode, Mode::Tlv | Mode::Recommended | Mode::App(..));
    if line.ends_with(" TLV") || line.starts_with("End of LLDPDU") {
        parser.mode = Mode::Plain;
        return tlv || line.starts_with("End of");
    }
    let Some(nic) = parser.current.clone().filter(|_| tlv) else { return false };
    let Some((key, value)) = line.split_once(':').map(|(key, value)| (key.trim(), value.trim()))
    else {
        return false;
    };
    if parser.mode == Mode::Recommended {
        return true;
    }
    match key {
        "PRIO_MAP" => pairs(value, ' ').for_each(|(class, queue)| {
            parser.map_queue(number, &nic, Class::read(class).zip(Queue::read(queue)));
        }),
        // Shares stand before turns.
        "TC Bandwidth" => shares_first(parser, number, &nic, value),
        "TSA_MAP" => {
            pairs(value, ' ').for_each(|(queue, turn)| tsa(parser, number, &nic, queue, turn))
        }
        "PFC enabled" => pfc(parser, number, &nic, value),
        "Priority" => parser.mode = Mode::App(Class::read(value), false),
        "Sel" => {
            if let Mode::App(class, _) = parser.mode {
                parser.mode = Mode::App(class, value == "5");
            }
        }
        "DSCP" => {
            if let Mode::App(class, true) = parser.mode {
                let dscp = integer(value).and_then(|dscp| Dscp::new(u8::try_from(dscp).ok()?));
                parser.map_dscp(number, &nic, dscp.zip(class));
                parser.reads_dscp(number, &nic);
            }
        }
        "Willing" | "CBS" | "MAX_TCS" | "MACsec Bypass Capable" | "PFC capable traffic classes" => {
        }
        "TC Rate Limit" => parser.mode = Mode::Plain,
        _ if key.to_ascii_lowercase().starts_with("app#") => parser.mode = Mode::Tlv,
        "Ethertype" | "UDP or DCCP" | "TCP" | "UDP" | "{S}TCP Port" | "TCP/UDP Port" => {}
        _ => return false,
    }
    true
}

/// `niccli --list_devices`: numbers of NICs and their interfaces.
fn device_list(parser: &mut Parser, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [number, ")", "Broadcom", ..] => parser.current = Some(handle(number)),
        ["Device", "Interface", "Name", ":", interface] => {
            if let Some(handle) = parser.current.clone() {
                parser.nets.insert(interface.to_owned());
                parser.same.push((handle, interface.to_owned()));
            }
        }
        ["MAC" | "PCI", "Address", ":", _] => {}
        _ => return false,
    }
    true
}

/// The name of a NIC that is known by its number in `niccli` only.
fn handle(number: &str) -> String {
    match number.parse::<u32>() {
        Ok(number) => format!("niccli {number}"),
        Err(_) => number.to_owned(),
    }
}

fn pairs(text: &str, separator: char) -> impl Iterator<Item = (&str, &str)> {
    text.split(separator).filter_map(|pair| pair.split_once(':'))
}

fn tsa(parser: &mut Parser, number: u32, nic: &str, queue: &str, turn: &str) {
    let Some(queue) = queue.parse::<usize>().ok().filter(|queue| *queue < 8) else {
        return parser.notes.mark(number, RemarkKind::Malformed);
    };
    // The share was said already.
    let share = parser.queue(number, nic, queue).scheduling.get();
    parser.turn(number, nic, queue, turn);
    if let Some(xoff_fabric::model::Scheduling::Weighted(share)) = share {
        parser.share(number, nic, queue, &share.to_string());
    }
}

/// Shares that are printed before the turns they belong to.
fn shares_first(parser: &mut Parser, number: u32, nic: &str, value: &str) {
    for (queue, word) in value.split_whitespace().enumerate().take(8) {
        if word.trim_end_matches('%') != "0" {
            parser.turn(number, nic, queue, "ets");
            parser.share(number, nic, queue, word);
        }
    }
}

/// `3`, `1 2 5`, `none`.
fn pfc(parser: &mut Parser, number: u32, nic: &str, value: &str) {
    let list = || value.split([' ', ',']).filter(|word| !word.is_empty());
    let set = match value {
        "none" | "" => Some(Priorities::NONE),
        _ => list().map(Priority::read).collect(),
    };
    let said = parser.notes.said(number, set);
    parser.at(number, nic).pfc = said;
}

/// `3,5,26`: priority, selector, protocol. A selector of 5 is a DSCP.
fn app(parser: &mut Parser, number: u32, nic: &str, value: &str) {
    let parts: Vec<&str> = value.trim_matches('"').split(',').collect();
    let [priority, selector, protocol] = parts[..] else {
        return parser.notes.mark(number, RemarkKind::Malformed);
    };
    if selector == "5" {
        parser.map_dscp(number, nic, Dscp::read(protocol).zip(Class::read(priority)));
        parser.reads_dscp(number, nic);
    }
}

/// `key=value` arguments that all three tools share.
fn set(parser: &mut Parser, number: u32, nic: &str, key: &str, value: &str) {
    match key {
        "enabled" => pfc(parser, number, nic, value),
        "app" => app(parser, number, nic, value),
        "up2tc" | "priority2tc" => {
            pairs(value.trim_matches('"'), ',').for_each(|(class, queue)| {
                parser.map_queue(number, nic, Class::read(class).zip(Queue::read(queue)));
            })
        }
        "tsa" => pairs(value.trim_matches('"'), ',')
            .for_each(|(queue, turn)| tsa(parser, number, nic, queue, turn)),
        "tcbw" => {
            let list: Vec<&str> = value.split(',').collect();
            // Turns come first in every example; where they do not, a share makes one.
            for (queue, word) in list.iter().enumerate().take(8) {
                if parser.queue(number, nic, queue).scheduling.is_said() {
                    parser.share(number, nic, queue, word);
                } else if *word != "0" {
                    parser.turn(number, nic, queue, "ets");
                    parser.share(number, nic, queue, word);
                }
            }
        }
        "willing" | "enableTx" | "adminStatus" => {}
        _ => parser.notes.mark(number, RemarkKind::Unknown),
    }
}

/// `lldptool -T -i eth2 -V PFC enabled=3`, `lldptool -ti eth2`.
pub(super) fn lldptool(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    let at = options.iter().position(|word| matches!(*word, "-i" | "-Ti" | "-ti" | "-tni"));
    let Some(nic) = at.and_then(|at| options.get(at + 1)).map(|nic| parser.named(nic)) else {
        return false;
    };
    if options.iter().any(|word| matches!(*word, "-t" | "-ti" | "-n" | "-tni")) {
        // What the neighbour announces is not what is configured here.
        let neighbour = options.iter().any(|word| matches!(*word, "-n" | "-tni"));
        parser.current = (!neighbour).then_some(nic);
        return true;
    }
    for (key, value) in options.iter().filter_map(|word| word.split_once('=')) {
        set(parser, number, &nic, key, value);
    }
    true
}

/// `bnxtqos -dev=eth2 set_pfc enabled=3`.
pub(super) fn bnxtqos(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    let [device, verb, arguments @ ..] = options else { return false };
    let Some(nic) = device.strip_prefix("-dev=").map(|nic| parser.named(nic)) else { return false };
    parser.at(number, &nic).nic.maker = Some(Maker::Broadcom);
    if *verb == "get_qos" {
        parser.current = Some(nic);
        return true;
    }
    if arguments.first() == Some(&"-d") {
        return true;
    }
    for (key, value) in arguments.iter().filter_map(|word| word.split_once('=')) {
        set(parser, number, &nic, key, value);
    }
    true
}

/// `niccli --dev 1 qos --pfc --enable 3`, `niccli -dev 1 getqos`, `niccli --list_devices`.
pub(super) fn niccli(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    let at = options.iter().position(|word| matches!(*word, "--dev" | "-dev" | "-i" | "--index"));
    let Some(at) = at else { return options.iter().any(|word| word.contains("list")) };
    let Some(nic) = options.get(at + 1).map(|number| handle(number)) else { return false };
    let rest = &options[at + 2..];
    if rest.iter().any(|word| matches!(*word, "--show" | "getqos" | "get_qos")) {
        parser.at(number, &nic).nic.maker = Some(Maker::Broadcom);
        parser.current = Some(nic);
        return true;
    }
    if rest.first() != Some(&"qos") {
        return true;
    }
    parser.at(number, &nic).nic.maker = Some(Maker::Broadcom);
    for pair in rest.windows(2) {
        match pair[0] {
            "--enable" if pair[1] == "0xFF" => pfc(parser, number, &nic, "none"),
            "--enable" => set(parser, number, &nic, "enabled", pair[1]),
            "--app" if !rest.contains(&"--del") => set(parser, number, &nic, "app", pair[1]),
            "--tsa" | "--up2tc" | "--tcbw" => {
                set(parser, number, &nic, pair[0].trim_start_matches('-'), pair[1]);
            }
            _ => {}
        }
    }
    true
}

/// `bnxt_setupcc.sh -d bnxt_re0 -i eth2 -m 3 -s 26 -p 48 -r 3 -c 7 [-b 50]`: what that script sets.
pub(super) fn setup(parser: &mut Parser, number: u32, options: &[&str]) {
    let after = |option: &str| {
        let at = options.iter().position(|word| *word == option)?;
        options.get(at + 1).copied()
    };
    let Some(interface) = after("-i") else {
        return parser.notes.mark(number, RemarkKind::Malformed);
    };
    let nic = parser.named(interface);
    if let Some(device) = after("-d") {
        let device = parser.named(device);
        parser.join(&device, &nic);
    }
    let small = |option: &str| after(option).and_then(integer).and_then(|n| u8::try_from(n).ok());
    let priority = small("-r").and_then(Priority::new);
    let class = small("-r").and_then(Class::new);
    let (data, cnp) = (small("-s").and_then(Dscp::new), small("-p").and_then(Dscp::new));
    let Some(priority) = priority else { return parser.notes.mark(number, RemarkKind::Malformed) };
    // 1 pauses only, 2 congestion control only, 3 and nothing both.
    let mode = after("-m").unwrap_or("3");
    let place = parser.notes.line(number);
    let control = Said::At(if mode == "1" { Priorities::NONE } else { Priorities::ALL }, place);
    let port = parser.at(number, &nic);
    port.nic.maker = Some(Maker::Broadcom);
    port.pfc = Said::At(Priorities::NONE, place);
    (port.nic.notifies, port.nic.reacts) = (control, control);
    if let Some(dscp) = data {
        (port.nic.data_dscp, port.nic.cm_dscp) = (Said::At(dscp, place), Said::At(dscp, place));
    }
    if let Some(dscp) = cnp {
        port.nic.cnp_dscp = Said::At(dscp, place);
    }
    if mode != "2" {
        parser.switch(number, Slot::Pfc, &nic, priority, true);
    }
    if let Some(dscp) = data {
        parser.map_dscp(number, &nic, Some(dscp).zip(class));
        parser.reads_dscp(number, &nic);
    }
    let share =
        after("-b").and_then(|share| share.parse::<u32>().ok()).filter(|share| *share < 100);
    let share = share.unwrap_or(50);
    for (queue, share) in [100 - share, share].into_iter().enumerate() {
        parser.turn(number, &nic, queue, "ets");
        parser.share(number, &nic, queue, &share.to_string());
    }
    for each in Class::all() {
        let queue = Queue::new(u8::from(each.get() == priority.get()));
        parser.map_queue(number, &nic, Some(each).zip(queue));
    }
}

#[cfg(test)]
mod tests {
    use crate::device::{Maker, PortName};
    use crate::host::tests::{class, read};
    use crate::qos::Trust;
    use xoff_fabric::model::Scheduling;

    const NICCLI: &str = "root@amd7:/# niccli --list_devices\n1 ) Broadcom BCM57608 1x400G (Adp#1 Port#1)\n\
        \x20    Device Interface Name     : benic1p1\n     MAC Address               : 8C:84:74:37:C3:70\n\
        root@amd7:/# niccli --dev 1 qos --ets --show\n\nIEEE 8021QAZ ETS Configuration TLV:\n\
        \t PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2\n\t TC Bandwidth: 50% 50% 0%\n\
        \t TSA_MAP: 0:ets 1:ets 2:strict\nIEEE 8021QAZ PFC TLV:\n\t PFC enabled: 3\n\
        IEEE 8021QAZ APP TLV:\n\t APP#0:\n\t  Priority: 7\n\t  Sel: 5\n\t  DSCP: 48\n\n\
        \t APP#1:\n\t  Priority: 3\n\t  Sel: 5\n\t  DSCP: 26\n\n\
        \t APP#2:\n\t  Priority: 3\n\t  Sel: 3\n\t  UDP or DCCP: 4791\n\nTC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%\n\
        root@amd7:/# rdma link\nlink bnxt_re0/1 state ACTIVE physical_state LINK_UP netdev benic1p1\n";

    #[test]
    fn niccli_shows_a_nic_of_broadcom() {
        let device = read(&[("s.log", NICCLI)]);
        let port = &device.ports[&PortName::new("bnxt_re0")];
        assert_eq!(device.ports.len(), 1);
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert_eq!((class(port, 26), class(port, 48), class(port, 0)), (Some(3), Some(7), Some(0)));
        assert_eq!(port.maps.class_to_queue[3].get().unwrap().get(), 1);
        assert_eq!(port.queues[1].scheduling.get(), Some(Scheduling::Weighted(50)));
        assert_eq!(port.queues[2].scheduling.get(), Some(Scheduling::Strict));
        assert_eq!(device.count(crate::device::RemarkKind::Malformed), 0);
    }

    #[test]
    fn the_setup_script_says_everything() {
        let text = "bnxt_setupcc.sh -d bnxt_re0 -i benic1p1 -m 3 -s 26 -p 48 -r 3 -c 7\n";
        let device = read(&[("amd7.sh", text)]);
        let port = &device.ports[&PortName::new("bnxt_re0")];
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert_eq!(port.nic.cnp_dscp.get().unwrap().get(), 48);
        assert_eq!(class(port, 26), Some(3));
        assert_eq!(port.nic.maker, Some(Maker::Broadcom));
        assert_eq!(device.remarks, []);
    }

    /// As Intel's README shows it, with the recommendation beside the configuration.
    #[test]
    fn lldptool_of_an_interface() {
        let text = "IEEE 8021QAZ ETS Configuration TLV\n\t Willing: no\n\t CBS: not supported\n\t MAX_TCS: 8\n\
            \t PRIO_MAP: 0:0 1:1 2:2 3:0 4:0 5:0 6:0 7:0\n\t TC Bandwidth: 0% 0% 100% 0% 0% 0% 0% 0%\n\
            \t TSA_MAP: 0:ets 1:ets 2:ets 3:strict 4:strict 5:strict 6:strict 7:strict\n\
            IEEE 8021QAZ ETS Recommendation TLV\n\t PRIO_MAP:  0:7 1:7 2:7 3:7 4:7 5:7 6:7 7:7\n\
            IEEE 8021QAZ PFC TLV\n\t Willing: no\n\t MACsec Bypass Capable: no\n\
            \t PFC capable traffic classes: 8\n\t PFC enabled: 2\nEnd of LLDPDU TLV\n";
        let device = read(&[("host9.lldptool.ens1f0", text)]);
        let port = &device.ports[&PortName::new("ens1f0")];
        assert_eq!(port.pfc.get().unwrap().to_string(), "2");
        assert_eq!(port.maps.class_to_queue[2].get().unwrap().get(), 2);
        assert_eq!(port.queues[2].scheduling.get(), Some(Scheduling::Weighted(100)));
        assert_eq!(port.trust.value(), None);
        let text = "lldptool -Ti ens1f0 -V PFC willing=no enabled=3\nlldptool -T -i ens1f0 -V APP app=3,5,26\n";
        let device = read(&[("host9.sh", text)]);
        let port = &device.ports[&PortName::new("ens1f0")];
        assert_eq!((port.pfc.get().unwrap().to_string().as_str(), class(port, 26)), ("3", Some(3)));
    }
}
