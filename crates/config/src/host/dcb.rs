//! `dcb` of iproute2: what it prints, plain and as JSON, and what it sets. The forms are those of its source
//! (`dcb_pfc.c`, `dcb_ets.c`, `dcb_app.c`) and manual pages.

use super::parse::{Parser, Slot};
use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, Queue};
use crate::text::json::{self, Node, Value};

/// A call: `dcb pfc show dev eth2`, `dcb app add dev eth2 dscp-prio 26:3`; whether it was understood.
pub(super) fn call(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    let words: Vec<&str> = options.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let [object, verb, "dev", interface, ref rest @ ..] = words[..] else { return false };
    let interface = parser.named(interface);
    match verb {
        "show" | "get" => {
            // An empty answer is one, too.
            if object == "app" && rest.is_empty() {
                parser.mapped.insert(interface.clone());
            }
            parser.current = Some(interface);
        }
        "set" | "add" | "replace" => {
            if object == "app" {
                parser.mapped.insert(interface.clone());
            }
            arguments(parser, number, &interface, rest);
        }
        "del" | "flush" => {}
        _ => return false,
    }
    true
}

/// `prio-pfc all:off 3:on`, one list after the other.
fn arguments(parser: &mut Parser, number: u32, interface: &str, words: &[&str]) {
    let mut key = "";
    for word in words {
        match word.split_once(':') {
            Some((left, right)) => entry(parser, number, interface, key, left, right),
            None => key = word,
        }
    }
}

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    if line.starts_with(['{', '[']) && json(parser, line, number - 1) {
        return true;
    }
    let mut words = line.split_whitespace();
    let key = words.next().unwrap_or("");
    let plain = [
        "pfc-cap",
        "willing",
        "ets-cap",
        "ets_cap",
        "pg-bw",
        "reco-tc-bw",
        "reco-tc-tsa",
        "reco-prio-tc",
        "prio-buffer",
        "buffer-size",
        "total-size",
        "tc-maxrate",
        "default-prio",
        "ethtype-prio",
        "stream-port-prio",
        "dgram-port-prio",
        "port-prio",
        "pcp-prio",
        "requests",
        "indications",
    ];
    let said = ["prio-pfc", "prio-tc", "tc-tsa", "tc-bw", "dscp-prio"];
    if plain.contains(&key) && line.contains(' ') {
        return true;
    }
    let Some(interface) = parser.current.clone().filter(|_| said.contains(&key)) else {
        return false;
    };
    for word in words {
        match word.split_once(':') {
            Some((left, right)) => entry(parser, number, &interface, key, left, right),
            None => parser.notes.mark(number, RemarkKind::Malformed),
        }
    }
    true
}

/// One entry of a list.
fn entry(parser: &mut Parser, number: u32, nic: &str, key: &str, left: &str, right: &str) {
    let queue = || left.parse::<usize>().ok().filter(|queue| *queue < 8);
    match key {
        "prio-pfc" => {
            let on = match right {
                "on" => true,
                "off" => false,
                _ => return parser.notes.mark(number, RemarkKind::Malformed),
            };
            if left == "all" {
                Priority::all().for_each(|which| parser.switch(number, Slot::Pfc, nic, which, on));
            } else if let Some(which) = Priority::read(left) {
                parser.switch(number, Slot::Pfc, nic, which, on);
            } else {
                parser.notes.mark(number, RemarkKind::Malformed);
            }
        }
        "prio-tc" => parser.map_queue(number, nic, Class::read(left).zip(Queue::read(right))),
        "tc-tsa" => match queue() {
            Some(queue) => parser.turn(number, nic, queue, right),
            None => parser.notes.mark(number, RemarkKind::Malformed),
        },
        "tc-bw" => match queue() {
            Some(queue) => parser.share(number, nic, queue, right),
            None => parser.notes.mark(number, RemarkKind::Malformed),
        },
        "dscp-prio" => {
            parser.map_dscp(number, nic, Dscp::named(left).zip(Class::read(right)));
            parser.reads_dscp(number, nic);
        }
        "dgram-port-prio" | "stream-port-prio" | "port-prio" | "ethtype-prio" => {}
        _ => parser.notes.mark(number, RemarkKind::Unknown),
    }
}

/// Reads a text that is JSON of `dcb -j`; whether it was. `before` are the lines above it.
pub(super) fn json(parser: &mut Parser, text: &str, before: u32) -> bool {
    let named = ["\"prio_pfc\"", "\"tc_tsa\"", "\"dscp_prio\"", "\"prio_tc\"", "\"pfc_cap\""];
    if !text.trim_start().starts_with(['{', '[']) || !named.iter().any(|name| text.contains(name)) {
        return false;
    }
    let (Some(object), Some(nic)) = (json::read(text).root, parser.current.clone()) else {
        return false;
    };
    // Shares come after turns, whatever their order in the text.
    for key in ["prio_pfc", "prio_tc", "tc_tsa", "tc_bw", "dscp_prio"] {
        let Some(Node { value: Value::List(list), .. }) = object.get(key) else { continue };
        for (index, node) in list.iter().enumerate() {
            let number = before + node.first;
            let (left, right) = pair(node).unwrap_or_else(|| (index.to_string(), scalar(node)));
            let right = match right.as_str() {
                "true" => "on",
                "false" => "off",
                other => other,
            };
            entry(parser, number, &nic, &key.replace('_', "-"), &left, right);
        }
    }
    if object.get("dscp_prio").is_some() {
        parser.mapped.insert(nic);
    }
    true
}

fn pair(node: &Node) -> Option<(String, String)> {
    match &node.value {
        Value::List(list) => match list.as_slice() {
            [left, right] => Some((scalar(left), scalar(right))),
            _ => None,
        },
        _ => None,
    }
}

fn scalar(node: &Node) -> String {
    node.text().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use crate::host::tests::{class, read};
    use crate::qos::Trust;
    use xoff_fabric::model::Scheduling;

    const PFC: &str = "pfc-cap 8 macsec-bypass off delay 0\n\
        prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n";
    const ETS: &str = "willing off ets-cap 8 cbs off\ntc-bw 0:50 1:0 2:0 3:50 4:0 5:0 6:0 7:0\n\
        pg-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0\n\
        tc-tsa 0:ets 1:strict 2:strict 3:ets 4:strict 5:strict 6:strict 7:strict\n\
        prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7\nreco-tc-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0\n";

    #[test]
    fn plain_output() {
        let device = read(&[
            ("d/host7.dcb_pfc.ens1f0", PFC),
            ("d/host7.dcb_ets.ens1f0", ETS),
            ("d/host7.dcb_app.ens1f0", "default-prio 0\ndscp-prio AF31:3 48:6\n"),
        ]);
        let port = device.ports.values().next().unwrap();
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        assert_eq!((class(port, 26), class(port, 48)), (Some(3), Some(6)));
        assert_eq!(port.queues[6].scheduling.get(), Some(Scheduling::Strict));
        assert_eq!(
            port.queues[3].scheduling.get(),
            Some(Scheduling::Weighted(50)),
            "shares stand first"
        );
        assert_eq!(device.remarks, []);
    }

    #[test]
    fn json_output() {
        let device = read(&[
            (
                "d/host7.dcb_pfc.ens1f0.json",
                "{\"pfc_cap\":8,\"prio_pfc\":[false,false,false,true,false,false,false,false]}",
            ),
            ("d/host7.dcb_app.ens1f0.json", "{\"dscp_prio\":[[26,3],[48,6]]}"),
            (
                "d/host7.dcb_ets.ens1f0.json",
                "[{\"tc_bw\":[50,0,0,50,0,0,0,0],\"tc_tsa\":[\"ets\",\"strict\",\"strict\",\"ets\",\"strict\",\"strict\",\"strict\",\"strict\"],\"prio_tc\":[0,1,2,3,4,5,6,7]}]",
            ),
        ]);
        let port = device.ports.values().next().unwrap();
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert_eq!((class(port, 26), class(port, 48)), (Some(3), Some(6)));
        assert_eq!(port.queues[3].scheduling.get(), Some(Scheduling::Weighted(50)));
        assert_eq!(device.remarks, []);
    }

    #[test]
    fn json_over_several_lines_of_a_session() {
        let text = "root@host7:~# dcb -j -p pfc show dev ens1f0\n{\n    \"pfc_cap\": 8,\n    \"delay\": 0,\n    \
                    \"prio_pfc\": [ false,false,false,false,true,false,false,false ]\n}\n\
                    root@host7:~# dcb -j -p pfc show dev ens1f1\n{\n    \"prio_pfc\": [ false,false,false,true,false,false,\n    \
                    false,false ]\n}\nroot@host7:~# exit\n";
        let device = read(&[("s.log", text)]);
        let all: Vec<String> =
            device.ports.values().map(|port| port.pfc.get().unwrap().to_string()).collect();
        assert_eq!(all, ["4", "3"]);
        assert_eq!(device.remarks, []);
    }

    #[test]
    fn a_topic_that_was_not_asked_for_is_unknown() {
        let device = read(&[("d/host7.dcb_pfc.ens1f0", PFC)]);
        let port = device.ports.values().next().unwrap();
        assert_eq!(port.trust.value(), None);
        assert_eq!(class(port, 26), None);
        let device =
            read(&[("s.log", "root@host7:~# dcb app show dev ens1f0\nroot@host7:~# exit\n")]);
        assert_eq!(device.ports.len(), 0, "an empty answer describes no NIC by itself");
    }
}
