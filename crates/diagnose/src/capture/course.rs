//! From bins to rates, and to what is shown of them.

use super::report::{Connection, Rates};
use super::stream::Stream;
use super::timeline::{Course, PausedPort, Sample, Sender, Timeline};
use std::cmp::Reverse;

/// Senders that are shown over time.
const SENDERS: usize = 64;
/// Bins between the first and the last that it takes to speak of a fastest and a slowest.
const ENOUGH: usize = 3;

/// How fast a stream's sender was.
pub(super) fn rates(stream: &Stream, bins: &[Sample], width: u64) -> Option<Rates> {
    let ns = stream.ended.since(stream.began).as_ps() / 1000;
    let mean_bps = per_second(stream.wire_bytes, ns)?;
    // The first and the last bin are not full.
    let first = bins.iter().position(|bin| bin.bytes > 0).map_or(0, |first| first + 1);
    let full = bins.get(first..bins.len().saturating_sub(1)).unwrap_or_default();
    let rates = || full.iter().filter_map(|bin| per_second(bin.bytes, width));
    let enough = full.len() >= ENOUGH;
    let peak = if enough { rates().max() } else { None };
    let lowest = if enough { rates().min() } else { None };
    Some(Rates {
        mean_bps,
        peak_bps: peak.unwrap_or(mean_bps),
        lowest_bps: lowest.unwrap_or(mean_bps),
    })
}

/// Bits per second.
fn per_second(bytes: u64, ns: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits.checked_div(u128::from(ns))?).ok()
}

/// Two streams of a connection: where they are, and from which end.
pub(super) type Ends = [(Option<usize>, &'static str); 2];

/// What happened when, of the busiest senders.
pub(super) fn course(
    timeline: &Timeline,
    connections: &[(Ends, Connection)],
    pauses: Vec<PausedPort>,
) -> Course {
    let mut senders = Vec::new();
    for (at, (ends, connection)) in connections.iter().enumerate() {
        for (side, direction) in [&connection.a_to_b, &connection.b_to_a].into_iter().enumerate() {
            let (own, end) = ends[side];
            let Some(own) = own.filter(|_| direction.packets > 0) else { continue };
            let told = ends[1 - side].0.map_or(&[][..], |other| timeline.stream(other));
            let bins = timeline.stream(own);
            if !bins.is_empty() {
                senders.push((direction.wire_bytes, sender((at + 1, end), bins, told)));
            }
        }
    }
    let all =
        connections.iter().flat_map(|(_, connection)| [&connection.a_to_b, &connection.b_to_a]);
    let all = all.filter(|direction| direction.packets > 0).count();
    senders.sort_by_key(|(bytes, sender)| (Reverse(*bytes), sender.connection, sender.end));
    senders.truncate(SENDERS);
    senders.sort_by_key(|(_, sender)| (sender.connection, sender.end));
    let senders: Vec<_> = senders.into_iter().map(|(_, sender)| sender).collect();
    Course {
        start_ns: timeline.start().unwrap_or_default().as_ns(),
        bin_ns: timeline.width(),
        senders_left_out: (all - senders.len().min(all)) as u64,
        senders,
        pauses,
    }
}

fn sender((connection, end): (usize, &'static str), bins: &[Sample], told: &[Sample]) -> Sender {
    let part = |of: fn(&Sample) -> u32| trimmed(bins.iter().map(of).collect());
    Sender {
        connection,
        end,
        bytes: bins.iter().map(|bin| bin.bytes).collect(),
        cnps: trimmed(told.iter().map(|bin| bin.cnps).collect()),
        marked: part(|bin| bin.marked),
        resent: part(|bin| bin.resent),
        gaps: part(|bin| bin.gaps),
    }
}

/// Without the zeros at its end.
fn trimmed(mut counts: Vec<u32>) -> Vec<u32> {
    let used = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    counts.truncate(used);
    counts
}
