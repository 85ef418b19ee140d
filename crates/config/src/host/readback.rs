//! What `mlnx_qos` and `grep -H` print.

use super::parse::{Parser, flags, trust};
use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Queue};
use crate::place::Said;
use std::sync::Arc;
use xoff_fabric::model::Scheduling;
use xoff_units::Length;

/// Which part of the output of `mlnx_qos` a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// None.
    Plain,
    /// `dscp2prio mapping:`.
    DscpMap,
    /// `PFC configuration:`.
    Pfc,
    /// `tc: 3 …`: priorities of a queue.
    Queue(usize),
}

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, raw: &str) -> bool {
    let line = raw.trim();
    if let Some((path, value)) = line.split_once(':').filter(|(path, _)| path.starts_with("/sys/"))
    {
        parser.file(number, path, value);
        return true;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    if let ["cma_roce_tos", device, tos] = words[..] {
        if device.starts_with('-') {
            return false;
        }
        let said = parser.tos(number, tos);
        parser.at(number, device).nic.cm_dscp = said;
        return true;
    }
    let Some(nic) = parser.current.clone() else { return false };
    match words[..] {
        ["DCBX", "mode:", ..] | ["default", "priority:", ..] => {}
        ["Receive", "buffer", "size", ..] => {}
        ["Priority", "trust", "state:", word] => {
            let said = parser.notes.said(number, trust(word));
            parser.at(number, &nic).trust = said;
        }
        ["dscp2prio", "mapping:"] => parser.mode = Mode::DscpMap,
        ["Cable", "len:", metres] => {
            let said = parser.notes.said(number, metres.parse().ok().map(Length::from_m));
            parser.at(number, &nic).cable = said;
        }
        ["PFC", "configuration:"] => parser.mode = Mode::Pfc,
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
    let read = Class::read(priority).zip(Queue::new(queue as u8));
    let said = parser.notes.said(number, read);
    if let Said::At((class, queue), place) = said {
        let maps = Arc::make_mut(&mut parser.at(number, nic).maps);
        maps.class_to_queue[class.index()] = Said::At(queue, place);
    }
}
