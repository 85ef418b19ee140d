//! NVIDIA Cumulus Linux, as NVUE commands or as the YAML of NVUE. A key of the YAML is a word of a
//! command: one is read and written by way of the other.
//!
//! Settings stand in profiles that ports refer to; `default-global` holds for ports that refer to
//! none, and alone says which queue a class waits in: a box has that map once. `nv set qos roce`
//! stands for a whole configuration, which is read as what it stands for. Switch priorities,
//! priority groups and pauses have one number; headroom follows from the cable length, whose
//! default of 10 m is short for a row of racks.

mod buffers;
mod parse;
mod render;
mod roce;
mod yaml;

pub(crate) use parse::ports_of_list;

use crate::device::{Balancing, Device};
use crate::place::Said;
use crate::qos::{Levels, Reaction, Wred};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit;
use crate::text::profiles::one_alpha;
use std::sync::Arc;
use xoff_fabric::model::WatchdogAction;
use xoff_units::{Bytes, Length, Span};

/// NVIDIA Cumulus Linux, in one of its two forms.
pub(crate) enum Cumulus {
    /// As `nv config show -o commands` prints it.
    Commands,
    /// As `nv config show` prints it.
    Yaml,
}

/// Cable length that headroom is sized for when nothing is said.
const USUAL_CABLE: Length = Length::from_m(10);
/// The MTU of a port that says none: ifupdown2 sets it (NVIDIA's Cumulus Linux guide, Switch Port
/// Attributes).
const USUAL_MTU: Bytes = Bytes::new(9216);
/// How queue 0 of a port that refers to no profile marks.
const USUAL_MARKING: Wred = Wred { levels: Levels::Sizes(roce::USUAL_ECN), marks: true };
/// Polls of the watchdog after which a queue is stuck, when nothing is said.
const USUAL_ROBUSTNESS: u64 = 3;
/// Milliseconds between two polls, when nothing is said.
const USUAL_POLL_MS: u64 = 100;

impl System for Cumulus {
    fn id(&self) -> SystemId {
        match self {
            Cumulus::Commands => SystemId::Cumulus,
            Cumulus::Yaml => SystemId::CumulusYaml,
        }
    }

    fn likeness(&self, text: &str) -> u32 {
        match self {
            Cumulus::Commands => {
                let command = |line: &&str| line.contains("nv set ");
                10 * text.lines().filter(command).take(50).count() as u32
            }
            Cumulus::Yaml => yaml::likeness(text),
        }
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        match self {
            Cumulus::Commands => parse::commands(input),
            Cumulus::Yaml => parse::yaml(input),
        }
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        fit::queues(&mut device, fit::whole_percent);
        fit::own_buffers(&mut device);
        let mut timed = false;
        for port in device.ports.values_mut() {
            Arc::make_mut(&mut port.maps).pause_by_class();
            if port.pfc.get().is_none_or(|set| set.is_empty()) {
                port.cable = Said::Absent;
            } else {
                port.cable = port.cable.or_default(USUAL_CABLE);
            }
            if !port.queues.iter().any(|queue| queue.wred.is_said()) {
                let first = &mut Arc::make_mut(&mut port.queues)[0];
                first.wred = first.wred.or_default(USUAL_MARKING);
            }
            let watchdog = &mut port.watchdog;
            timed |= watchdog.restore.is_said();
            watchdog.detect =
                watchdog.detect.map(|span| Span::from_ms(render::polls(span).0 * USUAL_ROBUSTNESS));
            watchdog.restore = Said::Absent;
            watchdog.reaction = watchdog.reaction.map(|_| Reaction::Act(WatchdogAction::Drop));
            if port.balancing.get() != Some(true) {
                port.balancing = Said::Default(false);
            }
        }
        one_alpha(&mut device, buffers::ALPHA, limits);
        if timed {
            limits.push("the watchdog drops until pauses end; no restore time is set".to_owned());
        }
        device.balancing = match device.balancing.get() {
            None | Some(Balancing::Hash) => Said::Default(Balancing::Hash),
            // Adaptive routing decides packet by packet for RoCE.
            Some(_) => Said::meant(Balancing::Packet),
        };
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        let commands = render::render(device);
        let (end, text) = match self {
            Cumulus::Commands => ("nv", commands),
            Cumulus::Yaml => ("yaml", yaml::of_commands(&commands)),
        };
        Rendered::only(device, end, text)
    }

    fn port_name(&self, cage: Cage) -> String {
        match cage.links {
            1 => format!("swp{}", cage.cage + 1),
            _ => format!("swp{}s{}", cage.cage + 1, cage.link),
        }
    }
}
