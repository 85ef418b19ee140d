//! From a fabric and its traffic to an engine ready to run.

mod hosts;
mod net;

use crate::engine::Engine;
use crate::event::{EventQueue, MAX_ID};
use crate::fast::state::Fast;
use crate::fault::state::Faults;
use crate::fluid::refusal;
use crate::fluid::state::Fluid;
use crate::ideal::flight;
use crate::job::state::Job;
use crate::observe::Observation;
use crate::report::Observer;
use crate::switch::hashing::Hashing;
use crate::{Settings, SimError};
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::route::Routes;
use xoff_fabric::scenario::{Fault, Fidelity};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// Builds an engine around an event queue.
pub(crate) fn engine<'a, Q: EventQueue>(
    fabric: &'a Fabric,
    traffic: (&[Flow], Vec<Job>),
    faults: &[Fault],
    settings: &Settings,
    events: Q,
    observer: &'a mut dyn Observer,
) -> Result<Engine<'a, Q>, SimError> {
    if (fabric.ports.len() * 8 + fabric.nics.len()) as u64 > u64::from(MAX_ID)
        || traffic.0.len() as u64 > u64::from(MAX_ID / 2)
    {
        return Err(SimError::TooLarge);
    }
    if settings.fidelity == Fidelity::Flow {
        refusal::check(fabric, traffic.0, &traffic.1, faults, settings).map_err(SimError::Flow)?;
    }
    let usage =
        net::Use { by_turn: Q::BY_TURN, routes_change: faults.iter().any(Fault::changes_routes) };
    let (routes, mut hashing) = (Routes::new(fabric), Hashing::of(fabric));
    let ways = (&routes, &mut hashing);
    let hosts = hosts::hosts(fabric, ways, traffic, settings, usage.routes_change)?;
    let net = net::net(fabric, (routes, hashing), &hosts, settings, &usage)?;
    let changes = crate::fault::plan(fabric, faults, settings.seed);
    let changes = changes.map_err(|error| SimError::Name(error.message))?;
    let faults = Faults::new(fabric, changes);
    let observation = Observation::new(fabric, observer, settings);
    let horizon = settings.until.unwrap_or(Instant::MAX);
    let fluid = match settings.fidelity {
        Fidelity::Packet => None,
        Fidelity::Flow => Some(Box::new(Fluid::new(fabric, &net, &hosts))),
        Fidelity::Fast => {
            let mut fluid = Fluid::new(fabric, &net, &hosts);
            fluid.fast = Some(Box::new(Fast::new(fabric.ports.len(), settings)));
            Some(Box::new(fluid))
        }
    };
    let mut engine = Engine::new(fabric, events, (net, hosts), faults, observation, horizon);
    engine.fluid = fluid;
    Ok(engine)
}

/// Events per microsecond and how far ahead they lie, for the wheel.
pub(crate) fn event_density(fabric: &Fabric) -> (u64, Span) {
    let mtu = fabric.nics.first().map_or(4096, |nic| nic.qp.mtu.get() + 64);
    let mut per_us = 0u64;
    let mut horizon = Span::ZERO;
    for port in 0..fabric.ports.len() as u32 {
        let rate = fabric.cable(PortId(port)).rate;
        let packet = rate.time_for(xoff_units::Bytes::new(mtu));
        // A port is busy with data some of the time, and with as many small answers.
        per_us += 500_000 / packet.as_ps().max(1) + 1;
        horizon = horizon.max(packet + packet + flight(fabric, PortId(port)));
    }
    (per_us, horizon.min(Span::from_us(20)))
}
