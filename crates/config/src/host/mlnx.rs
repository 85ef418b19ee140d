//! `mlnx_qos`: what it prints, and its options (`mlnx_qos -h` of Mellanox/mlnx-tools).

use super::parse::{Mode, Parser, flags, trust};
use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Queue};
use xoff_fabric::model::Scheduling;
use xoff_units::Length;

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    let Some(nic) = parser.current.clone() else { return false };
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["DCBX", "mode:", ..] | ["default", "priority:", ..] => {}
        ["Receive", "buffer", "size", ..] => {}
        ["Priority", "trust", "state:", word] | ["Priority", "trust", "mode:", word] => {
            parser.shows_qos(&nic);
            let said = parser.notes.said(number, trust(word));
            parser.at(number, &nic).trust = said;
        }
        ["dscp2prio", "mapping:"] => parser.mode = Mode::DscpMap,
        ["Cable", "len:", metres] => {
            let said = parser.notes.said(number, metres.parse().ok().map(Length::from_m));
            parser.at(number, &nic).cable = said;
        }
        ["PFC", "configuration:"] => {
            parser.shows_qos(&nic);
            parser.mode = Mode::Pfc;
        }
        ["priority", ..] | ["buffer", ..] if parser.mode == Mode::Pfc => {}
        ["enabled", ref list @ ..] if parser.mode == Mode::Pfc => {
            let said = parser.notes.said(number, flags(list));
            parser.at(number, &nic).pfc = said;
        }
        ["tc:", queue, ref rest @ ..] => turn(parser, number, &nic, queue, rest),
        ["priority:", priority] => priorities(parser, number, &nic, priority),
        [first, ..] if parser.mode == Mode::DscpMap && first.starts_with("prio:") => {
            dscps(parser, number, &nic, &words);
        }
        _ => return false,
    }
    true
}

/// `prio:3 dscp:31,30,29,`.
fn dscps(parser: &mut Parser, number: u32, nic: &str, words: &[&str]) {
    let class = words.first().and_then(|word| Class::read(word.strip_prefix("prio:")?));
    let list = words.get(1).and_then(|word| word.strip_prefix("dscp:")).unwrap_or("");
    for dscp in list.split(',').filter(|word| !word.is_empty()) {
        parser.map_dscp(number, nic, Dscp::read(dscp).zip(class));
    }
}

/// `tc: 3 ratelimit: unlimited, tsa: ets, bw: 50%`.
fn turn(parser: &mut Parser, number: u32, nic: &str, queue: &str, rest: &[&str]) {
    let Some(queue) = queue.parse::<usize>().ok().filter(|queue| *queue < 8) else {
        return parser.notes.mark(number, RemarkKind::Malformed);
    };
    parser.mode = Mode::Queue(queue);
    let after = |word: &str| {
        let at = rest.iter().position(|w| *w == word)?;
        rest.get(at + 1).map(|w| w.trim_end_matches([',', '%']))
    };
    let turn = match (after("tsa:"), after("bw:").and_then(|share| share.parse().ok())) {
        (Some("strict"), _) => Some(Scheduling::Strict),
        (Some("ets"), Some(share)) => Some(Scheduling::Weighted(share)),
        // The NIC's own way, which is not configured.
        (Some("vendor"), _) => return,
        _ => None,
    };
    let said = parser.notes.said(number, turn);
    parser.queue(number, nic, queue).scheduling = said;
}

fn priorities(parser: &mut Parser, number: u32, nic: &str, priority: &str) {
    let Mode::Queue(queue) = parser.mode else { return };
    let read = Class::read(priority).zip(u8::try_from(queue).ok().and_then(Queue::new));
    parser.map_queue(number, nic, read);
}

/// The options of a call; without any it asks, and what follows is its answer.
pub(super) fn call(parser: &mut Parser, number: u32, interface: &str, options: &[&str]) {
    let interface = parser.named(interface);
    if options.is_empty() {
        parser.current = Some(interface);
        return;
    }
    parser.shows_qos(&interface);
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*option, None),
        };
        if matches!(name, "-a" | "-h" | "--help") {
            continue;
        }
        let Some(value) = value.or_else(|| rest.next().copied()) else {
            return parser.notes.mark(number, RemarkKind::Unknown);
        };
        set(parser, number, &interface, name, value);
    }
}

fn set(parser: &mut Parser, number: u32, interface: &str, name: &str, value: &str) {
    let list: Vec<&str> = value.split(',').collect();
    match name {
        "--trust" => {
            let said = parser.notes.said(number, trust(value));
            parser.at(number, interface).trust = said;
        }
        "--dscp2prio" => match list[..] {
            ["set", dscp, priority] => {
                let read = Dscp::read(dscp).zip(Class::read(priority));
                parser.map_dscp(number, interface, read);
            }
            ["del", ..] | ["flush"] => {}
            _ => parser.notes.mark(number, RemarkKind::Malformed),
        },
        "--pfc" | "-f" => {
            let said = parser.notes.said(number, flags(&list));
            parser.at(number, interface).pfc = said;
        }
        "--prio_tc" | "-p" => {
            let queues: Option<Vec<Queue>> = list.iter().map(|n| Queue::read(n)).collect();
            let said = parser.notes.said(number, queues.filter(|queues| queues.len() == 8));
            parser.map_queues(number, interface, &said);
        }
        "--tsa" | "-s" => parser.turns(number, interface, &list),
        "--tcbw" | "-t" => parser.shares(number, interface, &list),
        "--cable_len" => {
            let said = parser.notes.said(number, value.parse().ok().map(Length::from_m));
            parser.at(number, interface).cable = said;
        }
        "--buffer_size" | "--prio2buffer" | "--ratelimit" | "-r" | "--dcbx" | "-d" | "-i" => {}
        _ => parser.notes.mark(number, RemarkKind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use crate::host::tests::{class, read};
    use crate::qos::Trust;
    use xoff_fabric::model::Scheduling;

    /// As MLNX_OFED 4.2 printed it: the NIC is named by the file alone.
    const OLD: &str = "DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n\
        \tprio:0 dscp:07,06,05,04,03,02,01,00,\n\tprio:3 dscp:31,30,29,28,27,26,25,24,\nCable len: 7\n\
        PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\
        \tenabled     0   0   0   1   0   0   0   0\n\
        tc: 0 ratelimit: unlimited, tsa: ets, bw: 50%\n\t priority:  0\n\
        tc: 3 ratelimit: unlimited, tsa: ets, bw: 50%\n\t priority:  3\n\
        tc: 6 ratelimit: unlimited, tsa: strict\n\t priority:  6\n";

    #[test]
    fn output_of_one_interface() {
        let device = read(&[("d/hgx1.mlnx_qos.eth2", OLD)]);
        let port = &device.ports[&crate::device::PortName::new("eth2")];
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert_eq!(class(port, 26), Some(3));
        assert_eq!(class(port, 48), Some(6), "by default");
        assert_eq!(port.queues[3].scheduling.get(), Some(Scheduling::Weighted(50)));
        assert_eq!(port.queues[6].scheduling.get(), Some(Scheduling::Strict));
        assert_eq!(port.nic.data_dscp.value(), None, "nobody showed it");
    }

    /// Before DSCPs were trusted there was neither trust nor a map to show.
    #[test]
    fn output_without_trust_is_that_of_vlan_priorities() {
        let text = "root@hgx1:~# mlnx_qos -i eth2\nPFC configuration:\n\
            \tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   0   0   0   0   0\n\
            tc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  0\n";
        let device = read(&[("session.log", text)]);
        assert_eq!(device.name, "hgx1");
        let port = device.ports.values().next().unwrap();
        assert_eq!(port.trust.get(), Some(Trust::Pcp));
        assert!(port.pfc.get().unwrap().is_empty() && port.pfc.is_said());
    }

    #[test]
    fn options_with_and_without_equals_signs() {
        let text = "mlnx_qos -i eth2 --trust dscp\nmlnx_qos -i eth2 -f 0,0,0,1,0,0,0,0 -s ets,ets,ets,ets,ets,ets,strict,strict\n";
        let device = read(&[("hgx1.sh", text)]);
        let port = device.ports.values().next().unwrap();
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert!(device.remarks.is_empty(), "{:?}", device.remarks);
    }
}
