//! Buffers and settings that devices have as a whole: what most devices have which ought to have the same.

use super::kind;
use crate::device::Device;
use crate::place::Said;
use crate::system::SystemId;
use std::collections::{BTreeMap, BTreeSet};
use xoff_units::Rate;

/// Enters what most have into each device.
pub(super) fn whole_devices(devices: &[&Device], all: &mut [Device]) {
    let pools = Votes::of(devices, |device| device.headroom_pool);
    let buffers = Votes::of(devices, |device| device.shared_buffer);
    let names: BTreeSet<&String> = devices.iter().flat_map(|device| device.own.keys()).collect();
    let said = |device: &Device, name: &String| device.own.get(name).cloned().unwrap_or_default();
    let others: Vec<(&String, Votes<String>)> = names
        .into_iter()
        .map(|name| (name, Votes::of(devices, |device| said(device, name))))
        .collect();
    for (own, made) in devices.iter().zip(all).filter(|(own, _)| !own.is_host()) {
        made.headroom_pool = pools.common(own).unwrap_or(own.headroom_pool);
        made.shared_buffer = buffers.common(own).unwrap_or(own.shared_buffer);
        for (name, votes) in &others {
            let common = votes.common(own).unwrap_or_else(|| said(own, name));
            if common.is_said() {
                made.own.insert((*name).clone(), common);
            }
        }
    }
}

/// Votes for a value, by system and by what makes devices alike.
struct Votes<T>(BTreeMap<(SystemId, Alike), Counted<T>>);

/// What makes devices alike. Buffers depend on ports: leaves and spines differ in them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Alike {
    /// How they are named.
    Named(String),
    /// How many ports of each speed they have.
    Built(BTreeMap<Option<Rate>, usize>),
    /// Nothing but the system.
    All,
}

/// How many devices have each value.
type Counted<T> = BTreeMap<Option<T>, (Said<T>, usize)>;

impl<T: Ord + Clone> Votes<T> {
    fn of(devices: &[&Device], value: impl Fn(&Device) -> Said<T>) -> Self {
        let mut votes = Self(BTreeMap::new());
        for device in devices {
            for alike in [Alike::named(device), Alike::built(device), Alike::All] {
                let own = votes.0.entry((device.system, alike)).or_default();
                let said = value(device);
                own.entry(said.value().cloned()).or_insert((said, 0)).1 += 1;
            }
        }
        votes
    }

    /// What more than half of three or more have, or both of two. Two that differ ask all devices, and one alone those that are built alike.
    fn common(&self, device: &Device) -> Option<Said<T>> {
        let named = self.0.get(&(device.system, Alike::named(device)))?;
        let next = match total(named) {
            1 => Alike::built(device),
            _ => Alike::All,
        };
        let most = |own: &Counted<T>| {
            let (value, count) = own.values().max_by_key(|(_, count)| *count)?;
            (total(own) > 1 && 2 * count > total(own)).then(|| value.clone())
        };
        let of_three = |own: &&Counted<T>| total(own) > 2;
        most(named).or_else(|| self.0.get(&(device.system, next)).filter(of_three).and_then(most))
    }
}

fn total<T>(counted: &Counted<T>) -> usize {
    counted.values().map(|(_, count)| count).sum()
}

impl Alike {
    fn named(device: &Device) -> Self {
        Self::Named(kind::role(&device.name))
    }

    fn built(device: &Device) -> Self {
        let mut ports = BTreeMap::new();
        for port in device.ports.values() {
            *ports.entry(port.rate.get()).or_default() += 1;
        }
        Self::Built(ports)
    }
}
