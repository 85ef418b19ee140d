//! The tunnels of a box: `interface Vxlan1`, and which VLANs and VRFs go into them.
//!
//! Where nothing is said, the outer header gets the DSCP of the packet's class and no mark, and the packet itself stays as it is (Arista's
//! page on DSCP and ECN of VXLAN bridged packets, 2023).

use crate::number::{Class, Dscp};
use crate::place::Said;
use crate::text::notes::Notes;
use crate::text::outline::{Form, Statement};
use crate::text::overlay::{Member, Overlay, Vlans};
use crate::tunnel::{Inner, Outer, Tunnels};

/// What the text says of tunnels.
#[derive(Debug, Default)]
pub(super) struct Vxlan {
    overlay: Overlay,
    tunnels: Tunnels,
}

impl Vxlan {
    /// The statements of `interface Vxlan1`.
    pub(super) fn read(&mut self, statement: &Statement<'_>, notes: &mut Notes) {
        self.tunnels.place = Some(notes.line(statement.line));
        for child in &statement.children {
            let place = notes.line(child.line);
            let (form, words) = child.form();
            match (form, &words[..]) {
                (
                    Form::Plain,
                    ["vxlan", "vlan", vlans, "vni", _] | ["vxlan", "vlan", "add", vlans, "vni", _],
                ) => match Vlans::read(vlans) {
                    Some(vlans) => self.overlay.vlans.extend(vlans),
                    None => notes.mark(child.line, crate::device::RemarkKind::Malformed),
                },
                (Form::Plain, ["vxlan", "vrf", vrf, "vni", _]) => {
                    self.overlay.vrfs.insert((*vrf).to_owned());
                }
                (_, ["vxlan", "qos", "dscp", "propagation", "encapsulation"]) => {
                    let copied = if form == Form::Plain { Outer::Copied } else { Outer::OfClass };
                    self.tunnels.outer = Said::At(copied, place);
                }
                (_, ["vxlan", "qos", "ecn", "propagation"]) => {
                    self.tunnels.marks = Said::At(form == Form::Plain, place);
                }
                // The class of what comes out of a tunnel is that of its outer header; its own DSCP stays.
                (_, ["vxlan", "qos", "map", "dscp", "to", "traffic-class", "decapsulation"]) => {}
                (_, ["vxlan", "qos", ..]) => notes.unknown(child),
                _ => notes.foreign(child),
            }
        }
    }

    /// `qos map traffic-class 3 to dscp 26`: what a class is written as.
    pub(super) fn rewrite(&mut self, form: Form, words: &[&str], line: u32, notes: &Notes) {
        let ["traffic-class", classes @ .., "to", "dscp", dscp] = words else { return };
        let classes = classes.iter().filter_map(|list| crate::number::ranges(list, Class::COUNT));
        let said = match (form, dscp_of(dscp)) {
            (Form::Plain, Some(dscp)) => Said::At(dscp, notes.line(line)),
            _ => Said::Absent,
        };
        for class in classes.flatten() {
            self.tunnels.rewrite[usize::from(class)] = said;
        }
    }

    /// Whether what a port carries goes into tunnels.
    pub(super) fn carries(&self, member: &Member) -> bool {
        self.tunnels.place.is_some() && self.overlay.carries(member)
    }

    /// What becomes of packets, with what the box does by itself.
    pub(super) fn settled(&self) -> Tunnels {
        let mut tunnels = self.tunnels;
        if tunnels.place.is_none() {
            return tunnels;
        }
        tunnels.outer = tunnels.outer.or_default(Outer::OfClass);
        tunnels.inner = tunnels.inner.or_default(Inner::Kept);
        tunnels.marks = tunnels.marks.or_default(false);
        // Classes 0 and 1 are written as 8 and 0, the others as their class selectors.
        for (class, number) in [(0, 8), (1, 0)] {
            if let Some(dscp) = Dscp::new(number) {
                tunnels.rewrite[class] = tunnels.rewrite[class].or_default(dscp);
            }
        }
        tunnels
    }
}

fn dscp_of(word: &str) -> Option<Dscp> {
    Dscp::named(word).or_else(|| Dscp::read(word))
}
