//! Which ports a switch puts into tunnels: those of VLANs and VRFs that have a number in the overlay.

use crate::text::outline::Form;
use std::collections::BTreeSet;

/// VLANs by ranges, both ends included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Vlans(Vec<(u16, u16)>);

impl Vlans {
    /// All there can be.
    pub(crate) fn all() -> Self {
        Self(vec![(1, 4094)])
    }

    /// `10`, `10,20-29`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (range.0 <= range.1).then_some(range)
        };
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        let ranges: Option<Vec<(u16, u16)>> = parts.map(range).collect();
        ranges.filter(|ranges| !ranges.is_empty()).map(Self)
    }

    /// With those of another list.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether a VLAN is in both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let meet = |a: &(u16, u16), b: &(u16, u16)| a.0 <= b.1 && b.0 <= a.1;
        self.0.iter().any(|own| other.0.iter().any(|other| meet(own, other)))
    }
}

/// What a port belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Member {
    /// VLANs that it switches.
    pub(crate) vlans: Vlans,
    /// Whether it has several of them.
    pub(crate) trunk: bool,
    /// The VRF that it routes in, if it is not that of the box.
    pub(crate) vrf: Option<String>,
}

/// What has a number in the overlay.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overlay {
    pub(crate) vlans: Vlans,
    pub(crate) vrfs: BTreeSet<String>,
}

impl Overlay {
    /// Whether what a port carries goes into tunnels.
    pub(crate) fn carries(&self, member: &Member) -> bool {
        let routed = member.vrf.as_ref().is_some_and(|vrf| self.vrfs.contains(vrf));
        routed || self.vlans.meets(&member.vlans)
    }
}

impl Member {
    /// Reads what a port of EOS or NX-OS says of VLANs and VRFs; other statements change nothing.
    pub(crate) fn read(&mut self, form: Form, words: &[&str]) {
        match (form, words) {
            (Form::Plain, ["switchport", "access", "vlan", list]) if !self.trunk => {
                self.vlans = Vlans::read(list).unwrap_or_default();
            }
            (Form::Plain, ["switchport", "mode", "trunk"]) if !self.trunk => {
                (self.vlans, self.trunk) = (Vlans::all(), true);
            }
            (Form::Plain, ["switchport", "trunk", "allowed", "vlan", list]) => {
                (self.vlans, self.trunk) = (Vlans::read(list).unwrap_or_default(), true);
            }
            (Form::Plain, ["vrf", name] | ["vrf", "member" | "forwarding", name]) => {
                self.vrf = Some((*name).to_owned());
            }
            (Form::No, ["switchport"]) => (self.vlans, self.trunk) = (Vlans::default(), false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_in_the_overlay_by_vlan_or_vrf() {
        let vlans = |text: &str| Vlans::read(text).unwrap();
        let mut overlay = Overlay { vlans: vlans("10,20-29"), ..Overlay::default() };
        let member = |text: &str| Member { vlans: vlans(text), ..Member::default() };
        assert!(overlay.carries(&member("20")) && overlay.carries(&member("1-15")));
        assert!(!overlay.carries(&member("11-19,30")));
        assert!(!overlay.carries(&Member::default()));
        let routed = Member { vrf: Some("red".to_owned()), ..Member::default() };
        assert!(!overlay.carries(&routed));
        overlay.vrfs.insert("red".to_owned());
        assert!(overlay.carries(&routed));
        assert_eq!(Vlans::read("20-10"), None);
        assert_eq!(Vlans::read("a"), None);
        assert_eq!(Vlans::read(","), None);
    }
}
