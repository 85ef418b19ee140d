//! Permutations: who sends to whom when every NIC sends and receives alike.

use crate::error::Place;
use crate::expand::{Own, Plan};
use crate::stream::Stream;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::scenario::{Permutation, RailPattern};
use xoff_units::{Bytes, Span};

/// Every NIC sends to so many others and receives from as many.
pub(crate) fn permutation(plan: &mut Plan<'_>, entry: &Permutation) {
    let (Some(shared), Some(bytes), Some(nics)) =
        (plan.shared(&entry.common), plan.size(entry.size), plan.nics())
    else {
        return;
    };
    let flows = [nics, entry.destinations, entry.queue_pairs].map(u128::from).iter().product();
    if !plan.has_room(flows) {
        return;
    }
    let mut stream = Stream::new(plan.seed, u64::from(plan.workload), "permutation");
    let rounds = match rounds(&mut stream, plan.fabric, entry) {
        Ok(rounds) => rounds,
        Err(message) => return plan.wrong(Place::Entry, message),
    };
    let parts = u64::from(entry.queue_pairs.max(1));
    for (round, pairs) in rounds.into_iter().enumerate() {
        for (source, destination) in pairs {
            for part in 0..parts {
                let order = (round as u64) << 48 | part << 32 | u64::from(source.0);
                // The first queue pairs take a byte more where the bytes do not divide evenly.
                let size = bytes.get() / parts + u64::from(part < bytes.get() % parts);
                if size > 0 {
                    let bytes = Bytes::new(size);
                    let after = Span::ZERO;
                    plan.push(shared, Own { order, after, source, destination, bytes, path: None });
                }
            }
        }
    }
}

/// Who sends to whom.
type Pairs = Vec<(NicId, NicId)>;

/// A list of pairs for each destination that a NIC has.
fn rounds(stream: &mut Stream, fabric: &Fabric, entry: &Permutation) -> Result<Vec<Pairs>, String> {
    let all: Vec<NicId> = (0..fabric.hosts()).map(NicId).collect();
    let groups = match entry.rails {
        RailPattern::Any => vec![all],
        RailPattern::Other => return across_rails(stream, fabric, all).map(|pairs| vec![pairs]),
        RailPattern::Same => {
            let mut rails: BTreeMap<u32, Vec<NicId>> = BTreeMap::new();
            all.into_iter().for_each(|nic| rails.entry(rail(fabric, nic)).or_default().push(nic));
            rails.into_values().collect()
        }
    };
    let mut rounds = vec![Pairs::new(); entry.destinations as usize];
    for group in groups {
        if (entry.destinations as usize) >= group.len() {
            let others = group.len() - 1;
            let text =
                format!("`destinations` is {}; a NIC has {others} others", entry.destinations);
            return Err(text);
        }
        let orders = shuffles(stream, group.len() as u32, entry.destinations);
        for (pairs, order) in rounds.iter_mut().zip(orders) {
            let to = order.into_iter().map(|index| group[index as usize]);
            pairs.extend(group.iter().copied().zip(to));
        }
    }
    Ok(rounds)
}

/// The NIC's number in its server.
fn rail(fabric: &Fabric, nic: NicId) -> u32 {
    nic.0 - fabric.servers[fabric.nics[nic.index()].server.index()].nics.start
}

/// So many orders of `0..count` that leave nothing in its place, no two of which agree anywhere.
fn shuffles(stream: &mut Stream, count: u32, number: u32) -> Vec<Vec<u32>> {
    if number == 1 {
        return vec![derangement(stream, count)];
    }
    // All stand in a circle in random order, and each sends so many places ahead.
    let mut circle: Vec<u32> = (0..count).collect();
    stream.shuffle(&mut circle);
    let mut place = vec![0; count as usize];
    circle.iter().zip(0..).for_each(|(&who, at)| place[who as usize] = at);
    let mut steps: Vec<u32> = (1..count).collect();
    stream.shuffle(&mut steps);
    let ahead = |step: u32| {
        let to = |who: u32| circle[((place[who as usize] + step) % count) as usize];
        (0..count).map(to).collect()
    };
    steps.into_iter().take(number as usize).map(ahead).collect()
}

/// An order of `0..count` that leaves nothing in its place. `count` is at least 2.
fn derangement(stream: &mut Stream, count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    let has_fixed = |order: &[u32]| order.iter().zip(0..).any(|(&to, from)| to == from);
    // More than one shuffle in three is a derangement, whatever the count: taking the first that
    // is makes all equally likely, and a thousand tries fail less than once in 10^199.
    for _ in 0..1000 {
        stream.shuffle(&mut order);
        if !has_fixed(&order) {
            return order;
        }
    }
    (0..count).map(|from| (from + 1) % count).collect()
}

/// Pairs on different rails of different servers: each rail sends to another one, so many further on, and its servers to
/// one another as in a permutation of their own.
fn across_rails(stream: &mut Stream, fabric: &Fabric, all: Vec<NicId>) -> Result<Pairs, String> {
    let servers = &fabric.servers[..fabric.host_servers() as usize];
    let rails = servers.first().map_or(0, |server| server.nics.len() as u32);
    if servers.len() < 2 || rails < 2 {
        return Err("there are no pairs on different rails of different servers".to_owned());
    }
    if servers.iter().any(|server| server.nics.len() as u32 != rails) {
        return Err(
            "servers have different numbers of NICs, so their rails cannot be paired".to_owned()
        );
    }
    let further = 1 + stream.below(u64::from(rails) - 1) as u32;
    let orders: Vec<Vec<u32>> =
        (0..rails).map(|_| derangement(stream, servers.len() as u32)).collect();
    let pair = |from: NicId| {
        let (server, own) = (fabric.nics[from.index()].server.index(), rail(fabric, from));
        let other = &servers[orders[own as usize][server] as usize];
        (from, NicId(other.nics.start + (own + further) % rails))
    };
    Ok(all.into_iter().map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expand_text, refuse_text, star};
    use std::collections::BTreeSet;

    #[test]
    fn a_permutation_leaves_nobody_out() {
        for nics in [2, 3, 17, 128] {
            let flows = expand_text(&star(nics), "kind='permutation'\nsize='2MB'\nstart='1us'", 3);
            let sources: BTreeSet<_> = flows.iter().map(|flow| flow.source).collect();
            let targets: BTreeSet<_> = flows.iter().map(|flow| flow.destination).collect();
            assert_eq!((sources.len(), targets.len()), (nics as usize, nics as usize));
            assert!(flows.iter().all(|flow| flow.source != flow.destination));
            assert!(flows.iter().all(|flow| flow.start.as_ps() == 1_000_000));
        }
    }

    #[test]
    fn seeds_and_places_give_other_permutations() {
        let one = "kind='permutation'\nsize='2MB'";
        let pairs = |seed| -> Vec<_> {
            let flows = expand_text(&star(64), &format!("{one}\n[[workload]]\n{one}"), seed);
            let of =
                |w| flows.iter().filter(move |f| f.workload == w).map(|f| f.destination).collect();
            [of(0), of(1)].map(|v: Vec<NicId>| v).to_vec()
        };
        let (first, second) = (pairs(1), pairs(2));
        assert_eq!(first, pairs(1));
        assert_ne!(first[0], first[1]);
        assert_ne!(first[0], second[0]);
    }

    #[test]
    fn derangements_are_equally_likely() {
        // Four things have nine derangements.
        let mut stream = Stream::new(1, 0, "test");
        let mut seen = std::collections::BTreeMap::<Vec<u32>, u32>::new();
        (0..9_000).for_each(|_| *seen.entry(derangement(&mut stream, 4)).or_default() += 1);
        assert_eq!(seen.len(), 9);
        assert!(seen.values().all(|&count| (820..1180).contains(&count)), "{seen:?}");
    }

    const RAILS: &str =
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";

    #[test]
    fn rails_are_kept_or_left() {
        for gpus in [16, 24, 64] {
            let text = RAILS.replace("64", &gpus.to_string());
            let fabric = Fabric::from_toml(&text).unwrap();
            kept_or_left(&fabric, gpus);
        }
    }

    fn kept_or_left(fabric: &Fabric, gpus: usize) {
        for (pattern, same) in [("same", true), ("other", false)] {
            for seed in 1..20 {
                let text = format!("kind='permutation'\nsize='1MB'\nrails='{pattern}'");
                let flows = expand_text(fabric, &text, seed);
                let targets: BTreeSet<_> = flows.iter().map(|flow| flow.destination).collect();
                assert_eq!((flows.len(), targets.len()), (gpus, gpus));
                for flow in &flows {
                    let (from, to) = (flow.source, flow.destination);
                    assert_eq!(rail(fabric, from) == rail(fabric, to), same, "{flow:?}");
                    assert_ne!(fabric.nics[from.index()].server, fabric.nics[to.index()].server);
                }
            }
        }
    }

    #[test]
    fn destinations_are_different_and_everybody_receives_as_much() {
        let text = "kind='permutation'\nsize='1MB'\ndestinations=16";
        for nics in [17, 64] {
            let flows = expand_text(&star(nics), text, 1);
            let pairs: BTreeSet<_> = flows.iter().map(|f| (f.source, f.destination)).collect();
            assert_eq!((flows.len(), pairs.len()), (16 * nics as usize, 16 * nics as usize));
            for nic in 0..nics {
                let received = flows.iter().filter(|flow| flow.destination == NicId(nic)).count();
                assert_eq!(received, 16);
                assert!(!pairs.contains(&(NicId(nic), NicId(nic))));
            }
        }
        assert!(refuse_text(&star(16), text).contains("a NIC has 15 others"));
    }

    #[test]
    fn queue_pairs_share_the_bytes() {
        let flows = expand_text(&star(4), "kind='permutation'\nsize='10B'\nqueue-pairs=4", 1);
        let of = |nic| -> Vec<u64> {
            let own = flows.iter().filter(|flow| flow.source == NicId(nic));
            own.map(|flow| flow.bytes.get()).collect()
        };
        assert_eq!(of(0), [3, 3, 2, 2]);
        let ports: BTreeSet<_> = flows.iter().map(|flow| flow.source_port).collect();
        assert!(ports.len() > 12, "each has a hash of its own: {ports:?}");
    }

    #[test]
    fn one_rail_has_no_other() {
        let said = refuse_text(&star(4), "kind='permutation'\nsize='1KB'\nrails='other'");
        assert!(said.contains("different rails"), "{said}");
    }
}
