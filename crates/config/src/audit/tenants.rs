//! Tenants that are meant to be apart, by class, and are not.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Site;
use crate::intent::Agreement;
use crate::number::{Class, Dscp, Priority};

/// Those who share a class by intent.
struct Party<'a> {
    class: Class,
    dscp: Dscp,
    /// Their names; none for RDMA data that is no tenant's.
    names: Vec<&'a str>,
}

impl Party<'_> {
    fn label(&self) -> String {
        match self.names[..] {
            [] => "other RDMA data".to_owned(),
            [one] => format!("tenant {one}"),
            ref several => format!("tenants {}", several.join(", ")),
        }
    }

    fn is_lossless(&self, agreement: &Agreement) -> bool {
        let priority = Priority::new(self.class.get());
        priority.zip(agreement.lossless).is_some_and(|(priority, set)| set.has(priority))
    }
}

/// Tenants by class, and RDMA data that belongs to none of them where they have other classes.
fn parties(agreement: &Agreement) -> Vec<Party<'_>> {
    let mut all: Vec<Party<'_>> = Vec::new();
    for tenant in &agreement.tenants {
        match all.iter_mut().find(|party| party.class == tenant.class) {
            Some(party) => party.names.push(&tenant.name),
            None => all.push(Party {
                class: tenant.class,
                dscp: tenant.dscp,
                names: vec![&tenant.name],
            }),
        }
    }
    if let (false, Some((class, dscp))) =
        (all.is_empty(), agreement.data_class.zip(agreement.data_dscp))
        && all.iter().all(|party| party.class != class)
    {
        all.push(Party { class, dscp, names: Vec::new() });
    }
    all
}

/// Whether a tenant's data has this DSCP: it is reported here and nowhere else.
pub(super) fn owns(agreement: &Agreement, dscp: Dscp) -> bool {
    agreement.tenants.iter().any(|tenant| tenant.dscp == dscp)
}

/// No two parties in one queue, or charged to one buffer, of which at least one is lossless.
pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) {
    let agreement = site.agreement();
    let maps = &site.port.maps;
    let all = parties(agreement);
    for (number, one) in all.iter().enumerate() {
        for other in &all[number + 1..] {
            if !one.is_lossless(agreement) && !other.is_lossless(agreement) {
                continue;
            }
            let same = |a: Option<u8>, b: Option<u8>| a.filter(|a| Some(*a) == b);
            let queue = |party: &Party<'_>| maps.queue_of(party.dscp).map(|queue| queue.get());
            let group = |party: &Party<'_>| maps.group_of(party.dscp).map(|group| group.get());
            let shared = match (same(queue(one), queue(other)), same(group(one), group(other))) {
                (Some(queue), _) => format!("queue {queue}"),
                (None, Some(group)) => format!("priority group {group}"),
                (None, None) => continue,
            };
            let message = format!(
                "{} and {} share {shared}; they are meant to be apart, in classes {} and {}",
                one.label(),
                other.label(),
                one.class,
                other.class
            );
            let places = [one, other].into_iter().flat_map(|party| {
                let class = site.class(party.dscp).map_or(0, Class::index);
                [
                    maps.dscp_to_class[party.dscp.index()].place(),
                    maps.class_to_queue[class].place(),
                    maps.class_to_group[class].place(),
                ]
            });
            let fault =
                Fault::new(&rule::TENANTS, message).at(places.flatten()).cured_by(Aspect::Maps);
            found.port(site, fault);
        }
    }
}
