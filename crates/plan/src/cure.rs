//! What would make an impossible wish possible: wishes near it, each tried.

use super::design;
use super::refusal::Refusal;
use super::shape::Level;
use super::size;
use super::wish::{Ask, Network, Wish};
use xoff_fabric::catalogue::Catalogue;
use xoff_units::Ratio;

/// A wish that was sized and found too large.
pub(super) fn refuse(wish: &Wish, ask: &Ask, catalogue: &Catalogue) -> Refusal {
    if ask.mode(Level::Host, ask.host_rate()).is_none() {
        return unlinked(wish, ask, catalogue);
    }
    let tiers = ask.tiers.map_or(vec![1, 2, 3], |tiers| vec![tiers]);
    let most = tiers.iter().filter_map(|tiers| {
        let rails = design::rails(ask, *tiers)?;
        size::size(ask, *tiers, rails).err().map(|shortage| shortage.most)
    });
    let most = most.max().unwrap_or(0);
    let message = message(ask, most);
    let mut cures: Vec<String> = Vec::new();
    let mut attempt = attempts(catalogue, &mut cures);
    let others = (1..=3).filter(|tiers| ask.tiers.is_some_and(|given| given != *tiers));
    let mut others = others.map(|tiers| (tiers, Wish { tiers: Some(tiers), ..wish.clone() }));
    others.find(|(tiers, wish)| attempt(format!("--tiers {tiers}"), wish.clone()));
    for rails in [ask.nics, 1] {
        if ask.rails.is_some_and(|given| given != rails) {
            attempt(format!("--rails {rails}"), Wish { rails: Some(rails), ..wish.clone() });
        }
    }
    for ratio in [2, 3, 4, 8].map(|times| Ratio::new(times, 1)) {
        let wider = Wish { oversubscription: Some(ratio), ..wish.clone() };
        let text = format!("--oversubscription {}:1", ratio.numerator());
        if ratio > ask.leaf_ratio && ask.tiers != Some(1) && attempt(text, wider) {
            break;
        }
    }
    larger(wish, ask, catalogue, "", &mut attempt);
    drop(attempt);
    if most > 0 && most < ask.gpus() {
        cures.push(format!("{most} GPUs"));
    }
    Refusal::new(message, or_open(cures, wish, ask, catalogue))
}

/// The cures, or, where no single one helps, what would with the form of the fabric left open.
fn or_open(cures: Vec<String>, wish: &Wish, ask: &Ask, catalogue: &Catalogue) -> Vec<String> {
    if !cures.is_empty() {
        return cures;
    }
    let mut cures = cures;
    let mut attempt = attempts(catalogue, &mut cures);
    let open = Wish { tiers: None, rails: None, ..wish.clone() };
    if !attempt("neither --tiers nor --rails".to_owned(), open.clone()) {
        larger(&open, ask, catalogue, " and neither --tiers nor --rails", &mut attempt);
    }
    drop(attempt);
    if cures.is_empty() {
        cures.push("a smaller cluster".to_owned());
    }
    cures
}

/// Tries wishes; what is possible goes into the list.
fn attempts<'a>(
    catalogue: &'a Catalogue,
    cures: &'a mut Vec<String>,
) -> impl FnMut(String, Wish) -> bool + 'a {
    |text, wish| {
        let possible = wish.settle(catalogue).is_ok_and(|ask| design::choose(&ask).is_some());
        if possible {
            cures.push(text);
        }
        possible
    }
}

fn message(ask: &Ask, most: u64) -> String {
    let tiers = match ask.tiers {
        Some(1) => "one switch",
        Some(2) => "two tiers",
        _ => "three tiers",
    };
    let ratio = match size::oversubscribed(ask.leaf_ratio) {
        true => format!(" at {} oversubscription", ask.leaf_ratio),
        false => String::new(),
    };
    let (silicon, gpus) = (&ask.leaf.silicon.name, ask.gpus());
    if most >= gpus {
        // The silicon could hold them, but not in this form: too few servers to spread.
        return format!("{gpus} GPUs are too few for {tiers} with {silicon}{ratio}");
    }
    if most == 0 {
        let (rails, nics) = (ask.rails.unwrap_or(ask.nics), ask.nics);
        return match (ask.tiers, rails) {
            (Some(1), 2..) => format!("one switch cannot be a leaf for each of {rails} rails"),
            _ => format!("with {tiers} of {silicon}, servers of {nics} NICs do not fit{ratio}"),
        };
    }
    format!("with {tiers} of {silicon}, {most} GPUs are the most{ratio}, not {gpus}")
}

/// Silicon that would do in all tiers: the smallest.
fn larger(
    wish: &Wish,
    ask: &Ask,
    catalogue: &Catalogue,
    besides: &str,
    attempt: &mut impl FnMut(String, Wish) -> bool,
) {
    if ask.network != Network::Roce {
        return;
    }
    let real = catalogue.silicon.values();
    let real = real.filter(|s| !s.unlimited() && s.vendor != "none" && !s.infiniband);
    let mut larger: Vec<_> = real.filter(|s| s.capacity > ask.leaf.silicon.capacity).collect();
    larger.sort_by(|a, b| (a.capacity, &a.name).cmp(&(b.capacity, &b.name)));
    for silicon in larger {
        let name = Some(silicon.name.clone());
        let other = Wish { leaf: name, spine: None, core: None, ..wish.clone() };
        if attempt(format!("--leaf {}{besides}", silicon.name), other) {
            return;
        }
    }
}

/// Ports of NIC and leaf that nothing links.
fn unlinked(wish: &Wish, ask: &Ask, catalogue: &Catalogue) -> Refusal {
    let mut cures = Vec::new();
    let mut attempt = attempts(catalogue, &mut cures);
    larger(wish, ask, catalogue, "", &mut attempt);
    let mut slower: Vec<_> =
        catalogue.nics.values().filter(|nic| nic.rate <= ask.leaf.silicon.port_rate).collect();
    slower.sort_by(|a, b| (b.rate, &a.name).cmp(&(a.rate, &b.name)));
    slower.iter().find(|nic| {
        let other = Wish { nic: Some(nic.name.clone()), ..wish.clone() };
        attempt(format!("--nic {}", nic.name), other)
    });
    drop(attempt);
    let cures = or_open(cures, wish, ask, catalogue);
    let message = format!(
        "nothing in the catalogue links the {} ports of `{}` ({}) with the {} ports of `{}` ({})",
        ask.nic_port.form.name(),
        ask.nic.name,
        ask.nic_port.lanes,
        ask.leaf.port.form.name(),
        ask.leaf.silicon.name,
        ask.leaf.port.lanes
    );
    Refusal::new(message, cures)
}
