//! FS PicOS, as `set` commands (read with braces, too).
//!
//! A classifier sorts DSCPs into forwarding classes, whose local priority is their queue; a PFC
//! profile names the priorities that pause. How sure we are: classifier, classes, schedulers, PFC
//! profile and their binding to ports were read in one operator's configuration, none was accepted by a
//! box here. For marking, the PFC watchdog and load balancing no verified statement is known: they are
//! left out, and the rendered text says so. Headroom is left to the box.

mod parse;
mod render;

use crate::device::{Balancing, Device};
use crate::place::Said;
use crate::qos::{GroupSettings, Maps, WatchdogSettings};
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

    fn likeness(&self, text: &str) -> u32 {
        let marks = [
            ("class-of-service forwarding-class ", 30),
            ("class-of-service classifier ", 30),
            ("class-of-service scheduler-profile ", 40),
            ("class-of-service pfc-profile ", 40),
            ("class-of-service interface ", 30),
            ("interface gigabit-ethernet ", 30),
            ("\ngigabit-ethernet ", 20),
            ("local-priority:", 30),
            ("trust-mode:", 30),
        ];
        marks.iter().filter(|(mark, _)| text.contains(mark)).map(|(_, score)| score).sum()
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        let marks = device.ports.values().any(|p| p.queues.iter().any(|q| q.wred.is_said()));
        let watched = device.ports.values().any(|port| port.watchdog.on.get() == Some(true));
        fit::queues(&mut device, |queue| queue.wred = Said::Absent);
        for port in device.ports.values_mut() {
            port.groups = Arc::new([GroupSettings::default(); 8]);
            port.cable = Said::Absent;
            port.watchdog = WatchdogSettings::default();
            port.balancing = Said::Absent;
            own_numbers(Arc::make_mut(&mut port.maps));
        }
        if marks {
            limits.push("how ECN marking is configured is not verified: it is left out".to_owned());
        }
        if watched {
            limits
                .push("how the PFC watchdog is configured is not verified: it is left out".into());
        }
        if device.balancing.get().is_some_and(|balancing| balancing != Balancing::Hash) {
            limits.push("how flows are balanced dynamically is not verified: left out".to_owned());
        }
        device.balancing = Said::Default(Balancing::Hash);
        device.shared_buffer = Said::Absent;
        device.headroom_pool = Said::Absent;
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        vec![Rendered { name: format!("{}.picos", device.name), text: render::render(device) }]
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

/// Groups have the number of the class. A pause of a priority stops the queue of that number, and
/// is sent for the class that waits in it.
fn own_numbers(maps: &mut Maps) {
    maps.class_to_group = [Said::Absent; 8];
    maps.pfc_to_queue = [Said::Absent; 8];
    maps.pfc_to_group = [Said::Absent; 8];
    maps.identity_by_default();
}
