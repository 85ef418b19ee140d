//! Dell SmartFabric OS10.
//!
//! A trust map sorts DSCPs into qos-groups, a traffic-class map qos-groups into queues; a network-qos
//! policy says which group is paused by which priority. How sure we are: policies, PFC and queuing
//! were read in configurations of others that classify by VLAN priority; the DSCP form (`trust dscp-map`,
//! `trust-map dscp`) and `wred` are not verified, and the rendered text says so. For the PFC watchdog and
//! load balancing no statement is known. Headroom is left to the box.

mod parse;
mod policy;
mod render;

use crate::device::{Device, Port};
use crate::qos::QueueSettings;
use crate::system::{Cage, Input, Rendered, System, SystemId, Topic};
use crate::text::fit;
use std::sync::Arc;
use xoff_units::Bytes;

/// MTU of a port that says none: 1532 bytes with the headers, of which IP gets 1500 (`show interface`
/// prints both).
const DEFAULT_MTU: Bytes = Bytes::new(1532);

/// Dell OS10.
pub(crate) struct Os10;

impl System for Os10 {
    fn id(&self) -> SystemId {
        SystemId::Os10
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("\ntrust dscp-map ", 40),
            ("trust-map dscp", 30),
            ("qos-map traffic-class ", 30),
            ("service-policy input type network-qos", 30),
            ("service-policy output type queuing", 20),
            ("ets mode on", 10),
            ("! Version 10.", 30),
            ("\ntrust dot1p-map ", 30),
            ("trust-map dot1p", 30),
            ("\nwred ", 15),
            ("class-map type application class-iscsi", 30),
            ("\niscsi target port ", 20),
            ("\ninterface breakout 1/1/", 30),
            ("interface mgmt1/1/1", 30),
            ("\ninterface range ", 15),
            ("Ethernet 1/1/", 20),
            ("\nport-group 1/1/", 15),
            ("vlt-domain ", 15),
            ("\nsystem-user linuxadmin ", 30),
            ("match queue ", 20),
            ("\ninterface ethernet 1/1/", 20),
            ("SmartFabric OS10", 30),
            ("\ninterface ethernet1/1/", 20),
            ("class-map type network-qos", 5),
        ]
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        let rounded = std::cell::Cell::new(false);
        fit::queues(&mut device, |queue| {
            fit::whole_percent(queue);
            let wanted = queue.wred.get();
            whole_kilobytes(queue);
            rounded.set(rounded.get() || queue.wred.get() != wanted);
        });
        if rounded.get() {
            limits.push("ECN thresholds are whole kilobytes".to_owned());
        }
        let buffered = |port: &Port| port.groups.iter().any(|group| !group.is_absent());
        if device.ports.values().any(buffered) {
            limits.push("pause thresholds (alpha) and headroom are left to the box".to_owned());
        }
        let watched = fit::bare_ports(&mut device);
        for port in device.ports.values_mut() {
            port.mtu = port.mtu.or_default(DEFAULT_MTU);
            Arc::make_mut(&mut port.maps).pause_by_class();
        }
        if watched {
            limits
                .push("how the PFC watchdog is configured is not verified: it is left out".into());
        }
        let unknown = "how flows are balanced dynamically is not known: left out";
        fit::hash_only(&mut device, unknown, limits);
        fit::own_buffers(&mut device);
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        Rendered::only(device, "cfg", render::render(device))
    }

    fn unsaid(&self) -> &'static [Topic] {
        &[Topic::Watchdog, Topic::Balancing]
    }

    fn port_name(&self, cage: Cage) -> String {
        match cage.links {
            1 => format!("ethernet1/1/{}", cage.cage + 1),
            _ => format!("ethernet1/1/{}:{}", cage.cage + 1, cage.link + 1),
        }
    }
}

/// Thresholds are counted in kilobytes, at least one, and the upper one is above the lower.
fn whole_kilobytes(queue: &mut QueueSettings) {
    queue.wred = queue.wred.map(|mut wred| {
        if let crate::qos::Levels::Sizes(ecn) = &mut wred.levels {
            let low = (ecn.kmin.get() / 1000).max(1);
            let high = (ecn.kmax.get() / 1000).max(low + 1);
            assert!(low < high, "WRED between {low} and {high} kilobytes");
            (ecn.kmin, ecn.kmax) = (Bytes::new(low * 1000), Bytes::new(high * 1000));
        }
        wred
    });
}
