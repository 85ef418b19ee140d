//! FS PicOS, as `set` commands (read with braces, too).
//!
//! A classifier sorts DSCPs into forwarding classes, whose local priority is their queue; a PFC
//! profile names the priorities that pause. How sure we are: classifier, classes, schedulers, PFC
//! profile and their binding to ports were read in one operator's configuration, none was accepted by a
//! box here. For marking, the PFC watchdog and load balancing no verified statement is known: they are
//! left out, and the rendered text says so. Headroom is left to the box.

mod parse;
mod render;

use crate::device::Device;
use crate::place::Said;
use crate::system::{Cage, Input, Rendered, System, SystemId, Topic};
use crate::text::fit;
use std::sync::Arc;
use xoff_units::Bytes;

/// FS PicOS.
pub(crate) struct PicOs;

impl System for PicOs {
    fn id(&self) -> SystemId {
        SystemId::PicOs
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("class-of-service forwarding-class ", 30),
            ("class-of-service classifier ", 30),
            ("class-of-service scheduler-profile ", 40),
            ("class-of-service pfc-profile ", 40),
            ("class-of-service interface ", 30),
            ("interface gigabit-ethernet ", 30),
            ("\ngigabit-ethernet ", 20),
            ("local-priority:", 30),
            ("trust-mode:", 30),
        ]
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        let marks = device.ports.values().any(|p| p.queues.iter().any(|q| q.wred.is_said()));
        fit::queues(&mut device, |queue| queue.wred = Said::Absent);
        let watched = fit::bare_ports(&mut device);
        for port in device.ports.values_mut() {
            // A pause stops the queue of its number, whichever class waits in it.
            Arc::make_mut(&mut port.maps).number_by_class();
        }
        if marks {
            limits.push("how ECN marking is configured is not verified: it is left out".to_owned());
        }
        if watched {
            limits
                .push("how the PFC watchdog is configured is not verified: it is left out".into());
        }
        let unverified = "how flows are balanced dynamically is not verified: left out";
        fit::hash_only(&mut device, unverified, limits);
        fit::own_buffers(&mut device);
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        Rendered::only(device, "picos", render::render(device))
    }

    fn unsaid(&self) -> &'static [Topic] {
        &[Topic::Marking, Topic::Watchdog, Topic::Balancing]
    }

    fn port_name(&self, cage: Cage) -> String {
        match cage.links {
            1 => format!("xe-1/1/{}", cage.cage + 1),
            _ => format!("xe-1/1/{}.{}", cage.cage + 1, cage.link + 1),
        }
    }
}
