//! The rules.

use super::{Cause, Finding, Inventory, PortCounters};
use std::collections::{BTreeMap, BTreeSet};

/// A port that was paused for this share of the interval, or longer, is the victim of a storm. A slow receiver
/// resumes again and again.
const STORM: f64 = 0.8;
/// A switch that sends so much more of its packets to other neighbours than usual, beyond what it gets from others,
/// has other routes.
const MOVED: f64 = 0.25;
/// Fewer packets say nothing about how a switch spreads them.
const ENOUGH: u64 = 1_000;
/// A NIC pauses more than usual when it sends so many times as many pause frames.
const UNUSUAL: u64 = 4;

/// What may be the cause of what these counters show, the likeliest first. `usual` are the counters of an interval
/// in which nothing was wrong, if there are any; `interval_us` is how long the interval was.
pub fn diagnose(
    counters: &[PortCounters],
    usual: &[PortCounters],
    interval_us: f64,
    plan: &Inventory,
) -> Vec<Finding> {
    let scene = Scene { counters, usual, interval_us, plan };
    let mut found = scene.outages();
    found.extend(scene.pauses());
    found.extend(scene.wires());
    found.extend(scene.routes());
    found.extend(scene.discards());
    if found.is_empty() {
        found.extend(scene.timeouts());
    }
    found.sort_by(|a, b| {
        let rank = |finding: &Finding| (finding.cause, std::cmp::Reverse(finding.weight));
        rank(a).cmp(&rank(b)).then_with(|| a.place.cmp(&b.place))
    });
    found
}

struct Scene<'a> {
    counters: &'a [PortCounters],
    usual: &'a [PortCounters],
    interval_us: f64,
    plan: &'a Inventory,
}

/// A cable that went down: how often, between which devices.
struct Down<'a> {
    times: u64,
    ends: [&'a str; 2],
    to_nic: bool,
}

impl Scene<'_> {
    /// Devices all of whose cables went down, then servers, then what is left of single cables. What a device
    /// explains needs no further cause.
    fn outages(&self) -> Vec<Finding> {
        let mut down: BTreeMap<String, Down<'_>> = BTreeMap::new();
        for port in self.counters.iter().filter(|port| port.link_downs > 0) {
            let entry = down.entry(port.cable()).or_insert(Down {
                times: 0,
                ends: [&port.device, &port.neighbour],
                to_nic: port.nic || port.to_nic,
            });
            entry.times = entry.times.max(port.link_downs);
        }
        let mut found = Vec::new();
        while let Some((device, cables)) = self.dead_device(&down) {
            down.retain(|_, cable| !cable.ends.contains(&device.as_str()));
            found.push(Finding {
                evidence: format!("all its {cables} links went down"),
                cause: Cause::SwitchDown,
                place: device,
                weight: cables as u64,
            });
        }
        while let Some((server, cables)) = self.dead_server(&down) {
            down.retain(|_, cable| self.server_of(cable) != Some(server.as_str()));
            found.push(Finding {
                evidence: format!("all its {cables} links went down"),
                cause: Cause::ServerDown,
                place: server,
                weight: cables as u64,
            });
        }
        found.extend(down.into_iter().map(|(cable, state)| {
            let flaps = state.times > 1;
            Finding {
                evidence: format!("link-down events: {}", state.times),
                cause: if flaps { Cause::LinkFlaps } else { Cause::LinkDown },
                place: cable,
                weight: state.times,
            }
        }));
        found
    }

    /// The switch with most cables all of which are down; at least two, or it is as well a link.
    fn dead_device(&self, down: &BTreeMap<String, Down<'_>>) -> Option<(String, usize)> {
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        for end in down.values().flat_map(|cable| cable.ends) {
            *ends.entry(end).or_default() += 1;
        }
        let whole = ends.into_iter().filter(|(device, count)| {
            *count > 1 && *count == self.plan.cables(device) && self.plan.server(device).is_none()
        });
        whole.max_by_key(|(_, count)| *count).map(|(device, count)| (device.to_owned(), count))
    }

    /// A server all of whose cables are down; at least two.
    fn dead_server(&self, down: &BTreeMap<String, Down<'_>>) -> Option<(String, usize)> {
        let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
        for server in down.values().filter(|cable| cable.to_nic).filter_map(|c| self.server_of(c)) {
            *servers.entry(server).or_default() += 1;
        }
        let whole = servers
            .into_iter()
            .find(|(server, count)| *count > 1 && *count == self.plan.server_cables(server));
        whole.map(|(server, count)| (server.to_owned(), count))
    }

    fn server_of(&self, cable: &Down<'_>) -> Option<&str> {
        cable.ends.iter().find_map(|end| self.plan.server(end))
    }

    fn usual(&self, port: &PortCounters) -> Option<&PortCounters> {
        self.usual.iter().find(|usual| usual.port == port.port)
    }

    /// Pauses begin where a NIC sends them: those between switches only spread them.
    fn pauses(&self) -> Vec<Finding> {
        let hurt = self.counters.iter().filter(|port| port.to_nic && port.pfc_rx > 0);
        let unusual = hurt.filter(|port| {
            let usual = self.usual(port).map_or(0, |usual| usual.pfc_rx);
            port.pfc_rx > usual.saturating_mul(UNUSUAL)
        });
        let finding = |port: &PortCounters| {
            let share = port.paused_us / self.interval_us.max(1.0);
            let storm = port.watchdog > 0 || share >= STORM;
            Finding {
                cause: if storm { Cause::PauseStorm } else { Cause::SlowReceiver },
                place: port.neighbour.clone(),
                evidence: format!(
                    "{} received {} PFC frames, was paused {:.1} % of the time, watchdog events: {}",
                    port.port,
                    port.pfc_rx,
                    share.min(1.0) * 100.0,
                    port.watchdog
                ),
                weight: port.paused_us as u64,
            }
        };
        unusual.map(finding).collect()
    }

    /// What gets lost between the two ends of a cable that is up.
    fn wires(&self) -> Vec<Finding> {
        let by_name: BTreeMap<&str, &PortCounters> =
            self.counters.iter().map(|port| (port.port.as_str(), port)).collect();
        let mut found: BTreeMap<String, Finding> = BTreeMap::new();
        for port in self.counters {
            let Some(other) = by_name.get(port.reverse().as_str()) else { continue };
            if port.link_downs + other.link_downs > 0 {
                continue;
            }
            let missing = port.tx_packets.saturating_sub(other.rx_packets);
            let (cause, weight, evidence) = if other.crc_errors > 0 {
                let damaged = other.crc_errors;
                let evidence = format!("{} received {damaged} damaged packets", other.port);
                (Cause::Optic, damaged, evidence)
            } else if missing > 0 {
                let evidence = format!("{missing} packets left {} and did not arrive", port.port);
                (Cause::BlackHole, missing, evidence)
            } else {
                continue;
            };
            let place = port.cable();
            let more = found.get(&place).is_none_or(|before| before.weight < weight);
            if more {
                found.insert(place.clone(), Finding { cause, place, evidence, weight });
            }
        }
        found.into_values().collect()
    }

    /// Switches that send to other neighbours than usual, though no link of theirs went down and they get their
    /// packets from the same ones: what only passes on what others do differently is no cause.
    fn routes(&self) -> Vec<Finding> {
        let disturbed: BTreeSet<&str> = self
            .counters
            .iter()
            .filter(|port| port.link_downs > 0)
            .flat_map(|port| [port.device.as_str(), port.neighbour.as_str()])
            .collect();
        let (now, before) = (shares(self.counters), shares(self.usual));
        let mut found = Vec::new();
        for (device, shares) in now.iter().filter(|(device, _)| !disturbed.contains(*device)) {
            let Some(usual) = before.get(device) else { continue };
            if shares.sent.total < ENOUGH || usual.sent.total < ENOUGH {
                continue;
            }
            let moved = shares.sent.distance(&usual.sent) - shares.taken.distance(&usual.taken);
            if moved > MOVED {
                let (neighbour, packets) = shares.sent.largest();
                let was = usual.sent.share(neighbour);
                found.push(Finding {
                    cause: Cause::Routes,
                    place: (*device).to_owned(),
                    evidence: format!(
                        "{:.0} % of what it sends to other switches goes to {neighbour}, usually {:.0} %",
                        packets * 100.0,
                        was * 100.0
                    ),
                    weight: (moved * 1e6) as u64,
                });
            }
        }
        found
    }

    /// Full queues: of switches by themselves, of NICs because their hosts are slow.
    fn discards(&self) -> Vec<Finding> {
        let full = self.counters.iter().filter(|port| port.discards > 0);
        let finding = |port: &PortCounters| {
            let (cause, place) = match port.nic {
                true => (Cause::SlowReceiver, &port.device),
                false => (Cause::Discards, &port.port),
            };
            Finding {
                cause,
                place: place.clone(),
                evidence: format!("{} packets discarded for want of buffer", port.discards),
                weight: port.discards,
            }
        };
        full.map(finding).collect()
    }

    fn timeouts(&self) -> Option<Finding> {
        let most = self.counters.iter().filter(|port| port.timeouts > 0);
        let most = most.max_by_key(|port| port.timeouts)?;
        Some(Finding {
            cause: Cause::Timeouts,
            place: most.device.clone(),
            evidence: format!("{} timeouts", most.timeouts),
            weight: most.timeouts,
        })
    }
}

/// Packets by the neighbour that they went to or came from.
#[derive(Default)]
struct Spread<'a> {
    total: u64,
    to: BTreeMap<&'a str, u64>,
}

impl<'a> Spread<'a> {
    fn add(&mut self, neighbour: &'a str, packets: u64) {
        self.total += packets;
        *self.to.entry(neighbour).or_default() += packets;
    }

    fn share(&self, neighbour: &str) -> f64 {
        let packets = self.to.get(neighbour).copied().unwrap_or_default();
        packets as f64 / self.total.max(1) as f64
    }

    fn largest(&self) -> (&'a str, f64) {
        let most = self.to.iter().max_by_key(|(_, packets)| **packets);
        most.map_or(("", 0.0), |(neighbour, _)| (*neighbour, self.share(neighbour)))
    }

    /// The share of packets that go to other neighbours: 0 for the same, 1 for quite different ones.
    fn distance(&self, other: &Self) -> f64 {
        let all: BTreeSet<&str> = self.to.keys().chain(other.to.keys()).copied().collect();
        all.into_iter().map(|to| (self.share(to) - other.share(to)).max(0.0)).sum()
    }
}

/// What a switch sent to other switches, and what it got from them.
#[derive(Default)]
struct Shares<'a> {
    sent: Spread<'a>,
    taken: Spread<'a>,
}

/// The shares of each switch.
fn shares(counters: &[PortCounters]) -> BTreeMap<&str, Shares<'_>> {
    let mut all: BTreeMap<&str, Shares<'_>> = BTreeMap::new();
    for port in counters.iter().filter(|port| !port.nic && !port.to_nic) {
        let shares = all.entry(&port.device).or_default();
        shares.sent.add(&port.neighbour, port.tx_packets);
        shares.taken.add(&port.neighbour, port.rx_packets);
    }
    all
}
