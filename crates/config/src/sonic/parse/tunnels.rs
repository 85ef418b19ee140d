//! Tunnels: `TUNNEL` (IP in IP, between two top-of-rack switches that share servers) and `VXLAN_TUNNEL`.
//!
//! Where nothing is said, the DSCP is copied to the outer header and back: the default of the interface that SONiC drives switches by. Marks
//! are always carried.

use super::Parser;
use crate::device::PortName;
use crate::number::{Class, Dscp};
use crate::place::Said;
use crate::text::json::Node;
use crate::text::overlay::{Member, Overlay, Vlans};
use crate::tunnel::{Inner, Outer};
use std::collections::BTreeMap;

impl Parser<'_> {
    pub(super) fn tunnels(&mut self) {
        if let Some((_, node)) = self.table("VXLAN_TUNNEL").first() {
            let place = self.place(node);
            let tunnels = &mut self.device.tunnels;
            tunnels.place = Some(place);
            tunnels.outer = Said::Default(Outer::Copied);
            tunnels.inner = Said::Default(Inner::OfOuter);
            self.mark_overlay();
        }
        for (_, node) in self.table("TUNNEL") {
            self.shared_servers(node);
        }
        let tunnelled = self.device.tunnels.place.is_some();
        for port in self.device.ports.values_mut().filter(|_| tunnelled) {
            port.tunnelled = port.tunnelled.or_default(false);
        }
    }

    /// A tunnel to the other switch of a pair: what is for a server whose cable that switch serves goes through it.
    fn shared_servers(&mut self, node: &Node) {
        let place = self.place(node);
        self.device.tunnels.place = Some(place);
        if let Some(mode) = node.get("dscp_mode") {
            self.device.tunnels.outer = self.value(mode, |word| match word {
                "uniform" => Some(Outer::Copied),
                "pipe" => Dscp::new(0).map(Outer::Fixed),
                _ => None,
            });
            self.device.tunnels.inner = self.value(mode, |word| match word {
                "uniform" => Some(Inner::OfOuter),
                "pipe" => Some(Inner::Kept),
                _ => None,
            });
        }
        if let Some(map) = node.get("encap_tc_to_dscp_map") {
            self.device.tunnels.outer = Said::At(Outer::OfClass, self.place(map));
            let mut rewrite = [Said::Absent; Class::COUNT];
            self.map("TC_TO_DSCP_MAP", map, &mut rewrite, Class::COUNT, Dscp::read);
            self.device.tunnels.rewrite = rewrite;
        }
        for (key, entry) in self.table("MUX_CABLE") {
            let place = self.place(entry);
            let name = PortName::new(key.text.as_str());
            if let Some(port) = self.device.ports.get_mut(&name) {
                port.tunnelled = Said::At(true, place);
            }
        }
    }

    /// Ports of VLANs and VRFs that have a number in the overlay.
    fn mark_overlay(&mut self) {
        let mut overlay = Overlay::default();
        for (_, node) in self.table("VXLAN_TUNNEL_MAP") {
            let vlan = node.get("vlan").and_then(Node::text).and_then(vlan);
            overlay.vlans.extend(vlan.unwrap_or_default());
        }
        for (key, node) in self.table("VRF") {
            let number = node.get("vni").and_then(Node::text).unwrap_or("0");
            if number != "0" {
                overlay.vrfs.insert(key.text.clone());
            }
        }
        let mut members: BTreeMap<&str, Member> = BTreeMap::new();
        for (key, _) in self.table("VLAN_MEMBER") {
            let Some((name, port)) = key.text.split_once('|') else { continue };
            members.entry(port).or_default().vlans.extend(vlan(name).unwrap_or_default());
        }
        for (key, node) in self.table("INTERFACE") {
            let vrf = node.get("vrf_name").and_then(Node::text);
            if let Some(vrf) = vrf {
                members.entry(&key.text).or_default().vrf = Some(vrf.to_owned());
            }
        }
        for (name, member) in members {
            let name = PortName::new(name);
            if let Some(port) = self.device.ports.get_mut(&name) {
                port.tunnelled = Said::Default(overlay.carries(&member));
            }
        }
    }
}

/// The VLAN of `Vlan100`.
fn vlan(name: &str) -> Option<Vlans> {
    Vlans::read(name.strip_prefix("Vlan").unwrap_or(name))
}
