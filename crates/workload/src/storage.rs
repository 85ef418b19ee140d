//! Checkpoints: everybody writes its share to storage, or reads it back.

use crate::error::Place;
use crate::expand::{Own, Plan, Shared};
use crate::layout::gpu_nics;
use xoff_fabric::model::{NicId, ServerId};
use xoff_fabric::names::Role;
use xoff_fabric::scenario::{Checkpoint, Writer};
use xoff_units::{Bytes, Span};

/// One flow per share and stripe. Shares go to the storage NICs in turn, so that each of them has
/// as many as any other, or one more.
pub(crate) fn checkpoint(plan: &mut Plan<'_>, entry: &Checkpoint) {
    let (shared, size) = (plan.shared(&entry.common), plan.size(entry.size));
    let front = Role { key: "servers", set: entry.servers.as_ref() };
    let roles = plan.names.roles(front, Role { key: "storage", set: Some(&entry.storage) });
    let roles = roles.map_err(|message| plan.wrong(Place::Entry, message)).ok();
    let (Some(shared), Some(size), Some((clients, storage))) = (shared, size, roles) else {
        return;
    };
    let nics = |servers: &[ServerId]| -> Vec<NicId> {
        servers.iter().flat_map(|&server| plan.names.server_nics(server)).collect()
    };
    let storage = nics(&storage);
    let stripes = entry.stripes.unwrap_or(1) as usize;
    if stripes == 0 || stripes > storage.len() {
        let text = format!("`stripes` is {stripes}; there are 1 to {} storage NICs", storage.len());
        return plan.wrong(Place::Entry, text);
    }
    let shares = shares(plan, entry.each, &clients, size);
    if !plan.has_room(shares.len() as u128 * stripes as u128) {
        return;
    }
    let stagger = entry.stagger.unwrap_or(Span::ZERO);
    let last = shares.last().map_or(0, |share| share.writer);
    let latest = u128::from(stagger.as_ps()) * u128::from(last);
    let fits = |ps: u64| !(shared.start + Span::from_ps(ps)).is_never();
    if !u64::try_from(latest).is_ok_and(fits) {
        return plan.wrong(Place::Entry, "`stagger` reaches beyond simulated time (213 days)");
    }
    write(plan, shared, &shares, &storage, Spread { stripes, stagger });
}

/// What one NIC writes for a writer.
struct Share {
    writer: u32,
    nic: NicId,
    bytes: Bytes,
}

#[derive(Clone, Copy)]
struct Spread {
    stripes: usize,
    stagger: Span,
}

fn shares(plan: &Plan<'_>, each: Writer, clients: &[ServerId], size: Bytes) -> Vec<Share> {
    let own = |server: &ServerId| plan.names.server_nics(*server).collect::<Vec<_>>();
    match each {
        Writer::Gpu => {
            let nics = gpu_nics(plan.fabric, clients);
            (0..).zip(nics).map(|(writer, nic)| Share { writer, nic, bytes: size }).collect()
        }
        Writer::Server => {
            let of = |(writer, server): (u32, &ServerId)| {
                let nics = own(server);
                let parts = parts(size, nics.len());
                nics.into_iter().zip(parts).map(move |(nic, bytes)| Share { writer, nic, bytes })
            };
            (0..).zip(clients).flat_map(of).collect()
        }
    }
}

fn write(plan: &mut Plan<'_>, shared: Shared, shares: &[Share], to: &[NicId], spread: Spread) {
    for (number, share) in shares.iter().enumerate() {
        for (stripe, bytes) in parts(share.bytes, spread.stripes).enumerate() {
            let order = number * spread.stripes + stripe;
            if bytes.is_zero() {
                continue;
            }
            let after = Span::from_ps(spread.stagger.as_ps() * u64::from(share.writer));
            let destination = to[order % to.len()];
            let (order, source) = (order as u64, share.nic);
            plan.push(shared, Own { order, after, source, destination, bytes, path: None });
        }
    }
}

/// Parts of bytes, as equal as can be: the first ones have a byte more.
pub(crate) fn parts(bytes: Bytes, count: usize) -> impl Iterator<Item = Bytes> {
    let count = count.max(1) as u64;
    let (each, more) = (bytes.get() / count, bytes.get() % count);
    (0..count).map(move |part| Bytes::new(each + u64::from(part < more)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{expand_text, refuse_text};
    use std::collections::BTreeMap;
    use xoff_fabric::model::Fabric;
    use xoff_fabric::scenario::Operation;

    /// Four servers of four GPUs and two NICs.
    fn pod() -> Fabric {
        let text = "[cluster]\ngpus = 16\ngpus-per-server = 4\nnics-per-server = 2\n\
                    [fabric]\nkind = 'single'\n";
        Fabric::from_toml(text).unwrap()
    }

    fn loads(text: &str) -> (BTreeMap<u32, u64>, BTreeMap<u32, u64>) {
        let text = format!("kind='checkpoint'\nsize='1001B'\n{text}");
        let (mut out, mut into) = (BTreeMap::new(), BTreeMap::new());
        for flow in expand_text(&pod(), &text, 1) {
            *out.entry(flow.source.0).or_default() += flow.bytes.get();
            *into.entry(flow.destination.0).or_default() += flow.bytes.get();
        }
        (out, into)
    }

    #[test]
    fn every_byte_of_every_share_goes_to_storage_evenly() {
        let (out, into) = loads("storage=1");
        assert_eq!(out, (0..6).map(|nic| (nic, 2002)).collect());
        assert_eq!(into, [(6, 6006), (7, 6006)].into());
        let (out, into) = loads("storage=['server0']\nservers=[3]\neach='server'\nstripes=2");
        assert_eq!((out, into), ([(6, 501), (7, 500)].into(), [(0, 501), (1, 500)].into()));
        let (out, into) = loads("storage=2\neach='server'\nservers=1");
        assert_eq!((out.values().sum::<u64>(), into.values().sum::<u64>()), (1001, 1001));
    }

    #[test]
    fn writers_begin_one_after_the_other_and_readers_ask() {
        let text = "kind='checkpoint'\nsize='1KB'\nstorage=1\nstagger='1us'\noperation='read'";
        let flows = expand_text(&pod(), text, 1);
        let starts: Vec<u64> = flows.iter().map(|flow| flow.start.as_ps() / 1_000_000).collect();
        assert_eq!(starts, (0..12).collect::<Vec<_>>());
        assert!(flows.iter().all(|flow| flow.operation == Operation::Read));
        assert!(flows.iter().all(|flow| flow.destination.0 >= 6));
    }

    #[test]
    fn mistakes_are_said() {
        for (text, said) in [
            ("size='0B'\nstorage=1", "`size` is zero"),
            ("size='1B'\nstorage=4", "no server is left"),
            ("size='1B'\nstorage=1\nstripes=3", "`stripes` is 3"),
            ("size='1B'\nstorage=1\nstripes=0", "`stripes` is 0"),
            ("size='1B'\nstorage=1\nstagger='10000000s'", "`stagger` reaches"),
            ("size='1B'\nstorage=['server9']", "there is no server"),
        ] {
            let found = refuse_text(&pod(), &format!("kind='checkpoint'\n{text}"));
            assert!(found.contains(said), "{said}: {found}");
        }
    }
}
