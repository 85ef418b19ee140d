//! VXLAN: what becomes of DSCPs, and which ports go into tunnels.
//!
//! Where nothing is said, headers get the DSCP of the packet's priority, and marks are carried as RFC 6040 describes (NVIDIA's Cumulus Linux
//! guide, VXLAN Tunnel DSCP Operations).

use crate::number::Dscp;
use crate::place::Said;
use crate::text::notes::Notes;
use crate::text::overlay::{Member, Overlay, Vlans};
use crate::tunnel::{Inner, Outer, Tunnels};
use std::collections::BTreeMap;

/// What the text says of tunnels.
#[derive(Debug, Default)]
pub(super) struct Vxlan {
    overlay: Overlay,
    members: BTreeMap<String, Member>,
    tunnels: Tunnels,
    /// The outer DSCP, where it is the same for all packets.
    value: Said<Dscp>,
    fixed: bool,
}

impl Vxlan {
    /// Reads a statement about tunnels; false if it is about something else, or about nothing that RoCE depends on.
    pub(super) fn read(&mut self, path: &[&str], line: u32, notes: &mut Notes) -> bool {
        let place = notes.line(line);
        match path {
            ["nve", "vxlan", "encapsulation", "dscp", "action", word] => {
                let outer = match *word {
                    "copy" => Some(Outer::Copied),
                    "derive" => Some(Outer::OfClass),
                    "set" => Dscp::new(0).map(Outer::Fixed),
                    _ => None,
                };
                self.fixed = *word == "set";
                self.tunnels.outer = notes.said(line, outer);
            }
            ["nve", "vxlan", "encapsulation", "dscp", "value", number] => {
                self.value = notes.said(line, Dscp::read(number));
            }
            ["nve", "vxlan", "decapsulation", "dscp", "action", word] => {
                let inner = match *word {
                    "copy" => Some(Inner::OfOuter),
                    "preserve" => Some(Inner::Kept),
                    "derive" => Some(Inner::OfClass),
                    _ => None,
                };
                self.tunnels.inner = notes.said(line, inner);
            }
            ["nve", "vxlan", ..] => {
                self.tunnels.place = self.tunnels.place.or(Some(place));
                return false;
            }
            ["bridge", "domain", _, "vlan", list, "vni", ..] => {
                self.overlay.vlans.extend(Vlans::read(list).unwrap_or_default());
                return false;
            }
            ["vrf", name, "evpn", "vni", ..] => {
                self.overlay.vrfs.insert((*name).to_owned());
                return false;
            }
            _ => return false,
        }
        self.tunnels.place = self.tunnels.place.or(Some(place));
        true
    }

    /// What an interface says of VLANs and VRFs.
    pub(super) fn member(&mut self, name: &str, rest: &[&str]) {
        let vlans = match rest {
            ["bridge", "domain", _] => Vlans::all(),
            ["bridge", "domain", _, "access" | "untagged" | "vlan", list, ..] => {
                Vlans::read(list).unwrap_or_default()
            }
            ["ip", "vrf", vrf] => {
                self.members.entry(name.to_owned()).or_default().vrf = Some((*vrf).to_owned());
                return;
            }
            _ => return,
        };
        let member = self.members.entry(name.to_owned()).or_default();
        match rest {
            ["bridge", "domain", _] => member.vlans = vlans,
            // What is listed takes the place of all VLANs of the bridge.
            _ if member.trunk => member.vlans.extend(vlans),
            _ => (member.vlans, member.trunk) = (vlans, true),
        }
    }

    /// Whether what a port carries goes into tunnels.
    pub(super) fn carries(&self, port: &str) -> bool {
        let member = self.members.get(port);
        self.tunnels.place.is_some() && member.is_some_and(|member| self.overlay.carries(member))
    }

    /// What becomes of packets, with what the box does by itself.
    pub(super) fn settled(&self) -> Tunnels {
        let mut tunnels = self.tunnels;
        if tunnels.place.is_none() {
            return tunnels;
        }
        if self.fixed && self.value.is_said() {
            tunnels.outer = self.value.map(Outer::Fixed);
        }
        tunnels.outer = tunnels.outer.or_default(Outer::OfClass);
        tunnels.inner = tunnels.inner.or_default(Inner::OfClass);
        tunnels.marks = Said::Default(true);
        tunnels
    }
}
