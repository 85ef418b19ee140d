//! FS PicOS, as `set` commands (read with braces, too).
//!
//! A classifier sorts DSCPs into forwarding classes, whose local priority is their queue; a PFC
//! profile names the priorities that pause. How sure we are: classifier, classes, schedulers, PFC
//! profile and their binding to ports were read in one operator's configuration, the PFC watchdog in
//! Pica8's guides (granularity times detect-interval); none was accepted by a box here. WRED's
//! statements stand in those guides without a word on marking or on the unit of thresholds, and Easy ECN
//! chooses thresholds itself: WRED is read in the numbers of the box, marking and load balancing are not written, and the rendered text
//! says so.
//! Headroom is left to the box.

mod parse;
mod render;

use crate::device::Device;
use crate::place::Said;
use crate::qos::WatchdogSettings;
use crate::system::{Cage, Input, Rendered, System, SystemId, Topic};
use crate::text::fit;
use std::sync::Arc;
use xoff_units::{Bytes, Span};

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
        let watchdogs: Vec<WatchdogSettings> =
            device.ports.values().map(|port| port.watchdog).collect();
        let sized = device.ports.values().any(|p| p.groups.iter().any(|g| !g.is_absent()));
        fit::bare_ports(&mut device);
        let mut timed = false;
        for (port, wanted) in device.ports.values_mut().zip(watchdogs) {
            // It watches what pauses.
            let pauses = port.pfc.get().is_some_and(|set| !set.is_empty());
            let on = if pauses { wanted.on.or_default(false) } else { Said::Default(false) };
            port.watchdog = WatchdogSettings { on, ..WatchdogSettings::default() };
            if on.get() == Some(true) {
                let ms = |span| Span::from_ms(render::polls(span).0 * render::polls(span).1);
                port.watchdog.detect = wanted.detect.map(ms).or_default(Span::from_ms(1500));
                timed |= port.watchdog.detect != wanted.detect || wanted.restore.is_said();
            }
            // A pause stops the queue of its number, whichever class waits in it.
            Arc::make_mut(&mut port.maps).number_by_class();
        }
        if marks {
            limits.push("how ECN marking is configured is not verified: it is left out".to_owned());
        }
        if timed {
            limits.push("the watchdog detects within 10 ms to 1.5 s and restores by itself".into());
        }
        if sized {
            limits.push("headroom and pause thresholds are the box's".to_owned());
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
        &[Topic::Marking, Topic::Balancing]
    }

    fn port_name(&self, cage: Cage) -> String {
        match cage.links {
            1 => format!("xe-1/1/{}", cage.cage + 1),
            _ => format!("xe-1/1/{}.{}", cage.cage + 1, cage.link + 1),
        }
    }
}

#[cfg(test)]
mod tests;
