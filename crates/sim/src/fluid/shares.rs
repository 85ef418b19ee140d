//! [`Shares`]: what everything that is under way gets of the links that it shares.
//!
//! A [load](Shares::add) uses links in fixed proportions: so many bytes of each for a unit of its progress. One queue pair
//! uses every link of its path alike; a collective uses thousands, and all of them in step. Loads progress as fast as
//! links and their own greatest rate allow, and where they compete their rates are weighted max-min fair: all rise in proportion to
//! their weights until a link is full, those on it stay, the others go on rising.
//!
//! A link whose loads together could not fill it, however fast they were, binds nobody. Loads that share no *crowded* link have
//! nothing to do with each other, so a change is worked out again only for what is connected with it by
//! crowded links ([`Shares::settle`]), and the progress of all others is not touched.
//!
//! Numbers are floating point, and deterministic all the same: one thread adds them up in an order that depends on
//! nothing but the calls.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;
use xoff_units::{Instant, Span};

/// A link, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkId(pub(crate) u32);

/// A load under way. Its number is used again after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoadId(pub(crate) u32);

/// Links, each once, and the bytes of them that a unit of progress takes.
pub(crate) type Usage = Arc<[(LinkId, f64)]>;

/// Sums of many numbers may exceed a capacity by this much without meaning it.
const SLACK: f64 = 1.0 + 1e-9;

#[derive(Debug, Default)]
struct Link {
    /// Bytes per picosecond; and what is left of it when several loads that are in step compete for it.
    alone: f64,
    shared: f64,
    /// Loads on it that are in step.
    in_step: u32,
    /// What its loads would take at their greatest rates.
    demand: f64,
    /// Its loads, and the place of the link in the usage of each.
    members: Vec<(LoadId, u32)>,
    /// The last settlement that reached it.
    reached: u32,
    /// While shares are worked out: what is left, what those that still rise take of it for each unit of their
    /// level, and how many they are.
    left: f64,
    pull: f64,
    rising: u32,
}

impl Link {
    fn capacity(&self) -> f64 {
        if self.in_step > 1 { self.shared } else { self.alone }
    }

    fn is_crowded(&self) -> bool {
        self.demand > self.capacity() * SLACK
    }

    /// The level at which it is full.
    fn level(&self) -> f64 {
        self.left.max(self.alone * 1e-12) / self.pull
    }
}

#[derive(Debug)]
struct Load {
    usage: Usage,
    /// Its place among the members of each link that it uses.
    places: Vec<u32>,
    /// Greatest rate, in units per picosecond.
    most: f64,
    weight: f64,
    rate: f64,
    /// Progress that was left at an instant.
    left: f64,
    at: Instant,
    /// Counts changes of what is due, so that what was scheduled before can be told.
    turn: u32,
    live: bool,
    in_step: bool,
    reached: u32,
    rises: bool,
}

/// What a load is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Manner {
    /// Its greatest rate, in units of progress per picosecond.
    pub(crate) most: f64,
    /// It rises in proportion to this.
    pub(crate) weight: f64,
    /// It is many queue pairs that wait for each other: two of those on one link leave gaps that neither fills.
    pub(crate) in_step: bool,
}

/// All links and loads.
#[derive(Debug)]
pub(crate) struct Shares {
    links: Vec<Link>,
    loads: Vec<Load>,
    free: Vec<LoadId>,
    /// Links whose loads must be worked out again.
    unsettled: Vec<LinkId>,
    settlement: u32,
    /// Kept for their memory.
    found: Vec<LoadId>,
    crowded: Vec<LinkId>,
    levels: BinaryHeap<Level>,
}

/// Something that stops rising at a level: a link that is full, or a load at its greatest rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    at: f64,
    what: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Load(LoadId),
    Link(LinkId),
}

impl Eq for Level {}

impl Ord for Level {
    /// The lowest is the greatest, which a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then_with(|| other.what.cmp(&self.what))
    }
}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Shares {
    /// Links with so many bytes per picosecond, and with so many for loads in step that compete.
    pub(crate) fn new(capacities: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let link = |(alone, shared)| Link { alone, shared, ..Link::default() };
        Self {
            links: capacities.into_iter().map(link).collect(),
            loads: Vec::new(),
            free: Vec::new(),
            unsettled: Vec::new(),
            settlement: 0,
            found: Vec::new(),
            crowded: Vec::new(),
            levels: BinaryHeap::new(),
        }
    }

    /// A link that others make up, which all that uses them uses alike: it carries what they carry together.
    pub(crate) fn bundle(&mut self, links: impl IntoIterator<Item = LinkId>) -> LinkId {
        let mut bundle = Link::default();
        for link in links {
            bundle.alone += self.links[link.0 as usize].alone;
            bundle.shared += self.links[link.0 as usize].shared;
        }
        self.links.push(bundle);
        LinkId(self.links.len() as u32 - 1)
    }

    /// A load that has so much to do. Where nothing competes with it it has its greatest rate at once; otherwise it waits for
    /// [`Shares::settle`].
    pub(crate) fn add(
        &mut self,
        now: Instant,
        usage: Usage,
        manner: Manner,
        amount: f64,
    ) -> LoadId {
        let Manner { most, weight, in_step } = manner;
        assert!(most > 0.0 && weight > 0.0 && amount >= 0.0, "a load that cannot progress");
        let id = self.free.pop().unwrap_or(LoadId(self.loads.len() as u32));
        let mut is_free = true;
        let mut places = Vec::with_capacity(usage.len());
        for (at, &(link, bytes)) in usage.iter().enumerate() {
            let link_state = &mut self.links[link.0 as usize];
            places.push(link_state.members.len() as u32);
            link_state.members.push((id, at as u32));
            link_state.in_step += u32::from(in_step);
            link_state.demand += bytes * most;
            if link_state.is_crowded() {
                self.unsettled.push(link);
                is_free = false;
            }
        }
        let rate = if is_free { most } else { 0.0 };
        let turn = self.loads.get(id.0 as usize).map_or(0, |before| before.turn + 1);
        let load = Load {
            usage,
            places,
            most,
            weight,
            rate,
            left: amount,
            at: now,
            turn,
            live: true,
            in_step,
            reached: 0,
            rises: false,
        };
        match self.loads.get_mut(id.0 as usize) {
            Some(slot) => *slot = load,
            None => self.loads.push(load),
        }
        id
    }

    /// A load is over, or taken away; what others gain by that shows [`Shares::settle`]. Returns what was left of it.
    pub(crate) fn remove(&mut self, now: Instant, id: LoadId) -> f64 {
        let left = self.left(id, now);
        let load = &mut self.loads[id.0 as usize];
        debug_assert!(load.live, "a load that is over ends again");
        load.live = false;
        load.turn += 1;
        let (usage, most, in_step) = (load.usage.clone(), load.most, load.in_step);
        let places = std::mem::take(&mut load.places);
        for (&(link, bytes), place) in usage.iter().zip(places) {
            let state = &mut self.links[link.0 as usize];
            let was_crowded = state.is_crowded();
            debug_assert_eq!(state.members[place as usize].0, id, "a load is not where it was");
            state.members.swap_remove(place as usize);
            // The last one has taken its place.
            if let Some(&(moved, at)) = state.members.get(place as usize) {
                self.loads[moved.0 as usize].places[at as usize] = place;
            }
            let state = &mut self.links[link.0 as usize];
            state.in_step -= u32::from(in_step);
            state.demand -= bytes * most;
            if state.members.is_empty() {
                // What rounding left.
                state.demand = 0.0;
            } else if was_crowded {
                self.unsettled.push(link);
            }
        }
        self.free.push(id);
        left
    }

    /// A load that is through has so much more to do, and keeps its rate.
    pub(crate) fn go_on(&mut self, now: Instant, id: LoadId, amount: f64) {
        let load = &mut self.loads[id.0 as usize];
        (load.left, load.at) = (amount, now);
        load.turn += 1;
    }

    /// The bytes per picosecond that a link carries.
    pub(crate) fn capacity(&self, link: LinkId) -> f64 {
        self.links[link.0 as usize].alone
    }

    /// Whether nothing has to be worked out again.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// When a load will be through, and the turn for which that is so; never while it has no rate.
    pub(crate) fn due(&self, id: LoadId) -> (Instant, u32) {
        let load = &self.loads[id.0 as usize];
        let time = load.left.max(0.0) / load.rate;
        let at = match time.is_finite() && time < 9e18 {
            true => load.at.plus(Span::from_ps(time.ceil() as u64)),
            false => Instant::MAX,
        };
        (at, load.turn)
    }

    /// How long so much of a load would take if there were no other.
    pub(crate) fn time_alone(&self, id: LoadId, amount: f64) -> Span {
        let load = &self.loads[id.0 as usize];
        let of_link = |&(link, bytes): &(LinkId, f64)| self.links[link.0 as usize].alone / bytes;
        let rate = load.usage.iter().map(of_link).fold(load.most, f64::min);
        Span::from_ps((amount / rate).ceil() as u64)
    }

    /// Whether a load is still what it was when it had this turn.
    pub(crate) fn is_turn(&self, id: LoadId, turn: u32) -> bool {
        self.loads.get(id.0 as usize).is_some_and(|load| load.live && load.turn == turn)
    }

    /// What is left of a load at an instant.
    pub(crate) fn left(&self, id: LoadId, now: Instant) -> f64 {
        let load = &self.loads[id.0 as usize];
        (load.left - load.rate * (now - load.at).as_ps() as f64).max(0.0)
    }

    /// Works out the rates of all that is connected with what has changed, and names the loads whose rates are others now.
    pub(crate) fn settle(&mut self, now: Instant, changed: &mut Vec<LoadId>) {
        self.settlement += 1;
        self.collect();
        self.prepare();
        while let Some(Level { at, what }) = self.levels.pop() {
            match what {
                Bound::Load(load) => self.fix(now, load, at, changed),
                Bound::Link(link) => {
                    let state = &self.links[link.0 as usize];
                    if state.rising == 0 {
                        continue;
                    }
                    let level = state.level();
                    if level > at {
                        // Others on it stopped rising since.
                        self.levels.push(Level { at: level, what });
                        continue;
                    }
                    for member in 0..self.links[link.0 as usize].members.len() {
                        let (load, _) = self.links[link.0 as usize].members[member];
                        self.fix(now, load, at, changed);
                    }
                }
            }
        }
        changed.sort_unstable();
    }

    /// Finds what is connected with the links that have to be settled.
    fn collect(&mut self) {
        self.found.clear();
        self.crowded.clear();
        let mut links = std::mem::take(&mut self.unsettled);
        let mut next = 0;
        while let Some(&link) = links.get(next) {
            next += 1;
            let state = &mut self.links[link.0 as usize];
            if std::mem::replace(&mut state.reached, self.settlement) == self.settlement {
                continue;
            }
            if state.is_crowded() {
                self.crowded.push(link);
            }
            for &(member, _) in &self.links[link.0 as usize].members {
                let load = &mut self.loads[member.0 as usize];
                if std::mem::replace(&mut load.reached, self.settlement) == self.settlement {
                    continue;
                }
                self.found.push(member);
                let onward = |(link, _): &(LinkId, f64)| {
                    let state = &self.links[link.0 as usize];
                    state.reached != self.settlement && state.is_crowded()
                };
                links.extend(load.usage.iter().filter(|used| onward(used)).map(|used| used.0));
            }
        }
        links.clear();
        self.unsettled = links;
    }

    /// Before anything rises.
    fn prepare(&mut self) {
        for &link in &self.crowded {
            let state = &mut self.links[link.0 as usize];
            (state.left, state.pull, state.rising) = (state.capacity(), 0.0, 0);
        }
        for &id in &self.found {
            let load = &mut self.loads[id.0 as usize];
            load.rises = true;
            for &(link, bytes) in load.usage.iter() {
                let state = &mut self.links[link.0 as usize];
                state.pull += bytes * load.weight;
                state.rising += 1;
            }
            self.levels.push(Level { at: load.most / load.weight, what: Bound::Load(id) });
        }
        for &link in &self.crowded {
            let level = self.links[link.0 as usize].level();
            self.levels.push(Level { at: level, what: Bound::Link(link) });
        }
    }

    /// A load rises no further than to this level.
    fn fix(&mut self, now: Instant, id: LoadId, level: f64, changed: &mut Vec<LoadId>) {
        let load = &mut self.loads[id.0 as usize];
        if !std::mem::replace(&mut load.rises, false) {
            return;
        }
        let rate = (level * load.weight).min(load.most);
        for &(link, bytes) in load.usage.iter() {
            let state = &mut self.links[link.0 as usize];
            state.left -= bytes * rate;
            state.pull -= bytes * load.weight;
            state.rising -= 1;
        }
        if (rate - load.rate).abs() > 1e-12 * rate {
            load.left -= load.rate * (now - load.at).as_ps() as f64;
            (load.at, load.rate) = (now, rate);
            load.turn += 1;
            changed.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Instant = Instant::ZERO;

    fn shares(capacities: &[f64]) -> Shares {
        Shares::new(capacities.iter().map(|&capacity| (capacity, capacity)))
    }

    fn usage(links: &[(u32, f64)]) -> Usage {
        links.iter().map(|&(link, bytes)| (LinkId(link), bytes)).collect()
    }

    fn plain(most: f64, weight: f64) -> Manner {
        Manner { most, weight, in_step: false }
    }

    fn rates(shares: &mut Shares) -> Vec<f64> {
        shares.settle(T0, &mut Vec::new());
        shares.loads.iter().filter(|load| load.live).map(|load| load.rate).collect()
    }

    #[test]
    fn a_load_alone_has_its_rate_at_once() {
        let mut shares = shares(&[1.0, 1.0]);
        let id = shares.add(T0, usage(&[(0, 1.0), (1, 1.0)]), plain(1.0, 1.0), 500.0);
        assert!(shares.is_settled());
        assert_eq!(shares.due(id).0, Instant::from_ps(500));
    }

    #[test]
    fn loads_on_a_link_share_it_and_what_one_cannot_use_goes_to_the_others() {
        let mut shares = shares(&[1.0, 0.2]);
        for links in [&[(0, 1.0)][..], &[(0, 1.0)], &[(0, 1.0), (1, 1.0)]] {
            shares.add(T0, usage(links), plain(1.0, 1.0), 1.0);
        }
        let rates = rates(&mut shares);
        assert!((rates[0] - 0.4).abs() < 1e-9 && (rates[2] - 0.2).abs() < 1e-9, "{rates:?}");
    }

    #[test]
    fn the_slowest_of_its_links_holds_a_load_that_uses_many() {
        let mut shares = shares(&[1.0, 1.0, 1.0]);
        // One that crosses all three, twice over the last.
        shares.add(T0, usage(&[(0, 1.0), (1, 1.0), (2, 2.0)]), plain(1.0, 1.0), 1.0);
        shares.add(T0, usage(&[(0, 1.0)]), plain(1.0, 1.0), 1.0);
        let rates = rates(&mut shares);
        assert!((rates[0] - 0.5).abs() < 1e-9 && (rates[1] - 0.5).abs() < 1e-9, "{rates:?}");
    }

    #[test]
    fn weights_and_greatest_rates_count() {
        let mut shares = shares(&[1.0]);
        shares.add(T0, usage(&[(0, 1.0)]), plain(1.0, 3.0), 1.0);
        shares.add(T0, usage(&[(0, 1.0)]), plain(1.0, 1.0), 1.0);
        shares.add(T0, usage(&[(0, 1.0)]), plain(0.2, 9.0), 1.0);
        let rates = rates(&mut shares);
        for (rate, meant) in rates.iter().zip([0.6, 0.2, 0.2]) {
            assert!((rate - meant).abs() < 1e-9, "{rates:?}");
        }
    }

    #[test]
    fn loads_in_step_leave_gaps_where_they_meet() {
        let mut shares = Shares::new([(1.0, 0.8)]);
        let in_step = Manner { in_step: true, ..plain(1.0, 1.0) };
        let one = shares.add(T0, usage(&[(0, 1.0)]), in_step, 1.0);
        shares.add(T0, usage(&[(0, 1.0)]), plain(1.0, 1.0), 1.0);
        assert_eq!(rates(&mut shares), [0.5, 0.5]);
        shares.add(T0, usage(&[(0, 1.0)]), in_step, 1.0);
        let three = rates(&mut shares);
        assert!(three.iter().all(|rate| (rate - 0.8 / 3.0).abs() < 1e-9), "{three:?}");
        shares.remove(T0, one);
        assert_eq!(rates(&mut shares), [0.5, 0.5]);
    }

    #[test]
    fn what_ends_gives_its_share_back_and_others_are_not_touched() {
        let mut shares = shares(&[1.0, 1.0]);
        let one = shares.add(T0, usage(&[(0, 1.0)]), plain(1.0, 1.0), 100.0);
        let two = shares.add(T0, usage(&[(0, 1.0)]), plain(1.0, 1.0), 100.0);
        let far = shares.add(T0, usage(&[(1, 1.0)]), plain(1.0, 1.0), 100.0);
        shares.settle(T0, &mut Vec::new());
        assert_eq!(shares.due(two).0, Instant::from_ps(200));
        let (now, before) = (Instant::from_ps(100), shares.due(far));
        assert_eq!(shares.remove(now, one), 50.0);
        let mut changed = Vec::new();
        shares.settle(now, &mut changed);
        assert_eq!(changed, [two]);
        assert_eq!(shares.due(two).0, Instant::from_ps(150));
        assert_eq!(shares.due(far), before);
    }

    /// In random networks nothing exceeds a link, and every load is held by its own rate or by a full link on which nobody
    /// has a higher level: that is what max-min fair means.
    #[test]
    fn shares_are_max_min_fair_whatever_comes_and_goes() {
        let mut random = xoff_workload::stream::Stream::new(7, 0, "shares");
        let mut draw = |below: u64| random.next_u64() % below;
        for _ in 0..200 {
            let links = 1 + draw(6) as usize;
            let capacities: Vec<f64> = (0..links).map(|_| 1.0 + draw(8) as f64).collect();
            let mut shares = shares(&capacities);
            let mut live = Vec::new();
            for _ in 0..30 {
                if draw(3) == 0 && !live.is_empty() {
                    let id = live.swap_remove(draw(live.len() as u64) as usize);
                    shares.remove(T0, id);
                } else {
                    let mut used: Vec<(u32, f64)> = Vec::new();
                    for link in 0..links as u32 {
                        if draw(2) == 0 {
                            used.push((link, 1.0 + draw(3) as f64));
                        }
                    }
                    let most = 0.5 + draw(6) as f64;
                    let weight = 1.0 + draw(4) as f64;
                    live.push(shares.add(T0, usage(&used), plain(most, weight), 1.0));
                }
                shares.settle(T0, &mut Vec::new());
                check(&shares, &capacities);
            }
        }
    }

    fn check(shares: &Shares, capacities: &[f64]) {
        let live = || shares.loads.iter().filter(|load| load.live);
        let used = |link: usize| -> f64 {
            let of = |load: &Load| {
                let bytes = load.usage.iter().filter(|used| used.0.0 as usize == link);
                bytes.map(|used| used.1 * load.rate).sum::<f64>()
            };
            live().map(of).sum()
        };
        for (link, capacity) in capacities.iter().enumerate() {
            assert!(used(link) <= capacity * (1.0 + 1e-6), "link {link} carries {}", used(link));
        }
        for load in live().filter(|load| load.rate < load.most * (1.0 - 1e-6)) {
            let level = load.rate / load.weight;
            let holds = |used_link: &(LinkId, f64)| {
                let link = used_link.0.0 as usize;
                let shares_it = |other: &&Load| other.usage.iter().any(|u| u.0.0 as usize == link);
                let top = live().filter(shares_it).map(|other| other.rate / other.weight);
                used(link) >= capacities[link] * (1.0 - 1e-6)
                    && top.fold(0.0, f64::max) <= level * (1.0 + 1e-6)
            };
            assert!(load.usage.iter().any(holds), "{load:?} is held by nothing");
        }
    }
}
