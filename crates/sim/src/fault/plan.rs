//! From the faults of a scenario, with their names and random choices, to changes at points in time.

use crate::fault::change::{ActiveSetting, Change, Effect, Known, TimedFault, What};
use crate::link::state::{Degradation, cable_ends};
use std::sync::Arc;
use xoff_fabric::model::{CableId, ClassId, Fabric, NicId, PortId, SwitchId};
use xoff_fabric::names::{NameError, Names};
use xoff_fabric::route::Forced;
use xoff_fabric::scenario::{
    Fault, LinkChoice, LinkFlap, Reaction, RouteChange, ServerDown, Setting, SwitchDown,
};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// The changes a scenario's faults make, in the order of the file.
pub(crate) fn plan(
    fabric: &Fabric,
    faults: &[Fault],
    seed: u64,
) -> Result<Vec<TimedFault>, NameError> {
    if faults.is_empty() {
        return Ok(Vec::new());
    }
    let mut plan = Plan {
        fabric,
        names: Names::of(fabric),
        cable_ends: cable_ends(fabric),
        changes: Vec::new(),
    };
    for (number, fault) in faults.iter().enumerate() {
        let mut stream = Stream::new(seed, number as u64, "fault");
        plan.add(number as u32, fault, &mut stream)?;
    }
    Ok(plan.changes)
}

struct Plan<'a> {
    fabric: &'a Fabric,
    names: Names<'a>,
    cable_ends: Vec<PortId>,
    changes: Vec<TimedFault>,
}

impl Plan<'_> {
    fn add(&mut self, number: u32, fault: &Fault, stream: &mut Stream) -> Result<(), NameError> {
        let (at, duration, what) = match fault {
            Fault::PauseStorm { nic, at, duration } => {
                let nic = self.names.nic_ref(nic)?;
                (at, *duration, self.at_nic(nic, Effect::Storm { nic }))
            }
            Fault::SlowReceiver { nic, at, rate, duration } => {
                let nic = self.names.nic_ref(nic)?;
                let effect = Effect::SlowReceiver { nic, rate: *rate };
                (at, *duration, self.at_nic(nic, effect))
            }
            Fault::LinkDown(fault) => {
                let cables = self.cables(&fault.links, stream)?;
                let what = self.outage(cables, fault.silent, fault.reaction);
                (&fault.at, fault.restore_after, what)
            }
            Fault::LinkFlap(fault) => {
                let cables = self.cables(&fault.links, stream)?;
                self.flap(number, fault, self.outage(cables, false, fault.reaction));
                return Ok(());
            }
            Fault::LinkDegraded(fault) => {
                let cables = self.cables(&fault.links, stream)?;
                let places = self.ends(&cables);
                let to = fault.degraded;
                let effect = Effect::Degraded(Degradation { number, cables: cables.into(), to });
                (&fault.at, fault.duration, What { places, effect })
            }
            Fault::SwitchDown(fault) => {
                let what = self.switch_down(fault, stream)?;
                self.drain(number, fault, &what);
                (&fault.at, fault.restore_after, what)
            }
            Fault::ServerDown(fault) => {
                (&fault.at, fault.restore_after, self.server_down(fault, stream)?)
            }
            Fault::RouteChange(fault) => (&fault.at, fault.duration, self.route_change(fault)?),
            Fault::Setting(setting) => {
                (&setting.at, setting.duration, self.setting(number, setting)?)
            }
            // Has happened before the fabric came here.
            Fault::Miscabling(_) => return Ok(()),
        };
        self.during(number, *at, duration, Arc::new(what));
        Ok(())
    }

    fn during(&mut self, number: u32, at: Span, duration: Option<Span>, what: Arc<What>) {
        let at = Instant::ZERO + at;
        let fault = |begins| Change::Fault { number, begins, what: what.clone() };
        self.changes.push(TimedFault { at, change: fault(true) });
        if let Some(duration) = duration {
            self.changes.push(TimedFault { at: at + duration, change: fault(false) });
        }
    }

    fn flap(&mut self, number: u32, fault: &LinkFlap, what: What) {
        let what = Arc::new(what);
        let down = Span::from_ps(fault.duty.of(fault.period.as_ps()));
        for time in 0..u64::from(fault.times) {
            self.during(number, fault.at + fault.period * time, Some(down), what.clone());
        }
    }

    fn at_nic(&self, nic: NicId, effect: Effect) -> What {
        What { places: vec![PortId(self.fabric.nics[nic.index()].ports.start)], effect }
    }

    /// The links that are named or drawn.
    fn cables(&self, choice: &LinkChoice, stream: &mut Stream) -> Result<Vec<CableId>, NameError> {
        match &choice.link {
            Some(link) => Ok(vec![self.names.cable(link, choice.index)?]),
            None => Ok(draw(choice.candidates(self.fabric), choice.count, stream)),
        }
    }

    /// The first port of each cable.
    fn ends(&self, cables: &[CableId]) -> Vec<PortId> {
        cables.iter().map(|cable| self.cable_ends[cable.index()]).collect()
    }

    fn outage(&self, cables: Vec<CableId>, silent: bool, reaction: Reaction) -> What {
        let places = self.ends(&cables);
        let known = self.known(reaction, silent);
        What { places, effect: Effect::Outage { cables, switches: Vec::new(), silent, known } }
    }

    /// How soon it is known: as the fault says, or else the fabric.
    fn known(&self, reaction: Reaction, silent: bool) -> Known {
        let (ends, all) = reaction.times(self.fabric.convergence, silent);
        Known { ends, all }
    }

    /// The cables at some ports, each once.
    fn cables_at(&self, ports: impl Iterator<Item = u32>) -> Vec<CableId> {
        let cables = ports.map(|port| self.fabric.ports[port as usize].cable);
        let cables: std::collections::BTreeSet<CableId> = cables.collect();
        cables.into_iter().collect()
    }

    fn switch_down(&self, fault: &SwitchDown, stream: &mut Stream) -> Result<What, NameError> {
        let switches = match &fault.switch {
            Some(name) => vec![self.names.switch(name)?],
            None => {
                let tier = fault.tier.map(|word| word.tier());
                let all = self.fabric.switches.iter().enumerate();
                let fits = all.filter(|(_, switch)| tier.is_none_or(|tier| switch.tier == tier));
                let fits = fits.map(|(switch, _)| SwitchId(switch as u32)).collect();
                draw(fits, fault.count, stream)
            }
        };
        let ports = |switch: &SwitchId| self.fabric.switches[switch.index()].ports.clone();
        let cables = self.cables_at(switches.iter().flat_map(ports));
        let places = switches.iter().filter_map(|switch| ports(switch).next()).map(PortId);
        let places = places.collect();
        let (silent, known) = (false, self.known(fault.reaction, false));
        Ok(What { places, effect: Effect::Outage { cables, switches, silent, known } })
    }

    /// Planned work: others stop to use the switch before it goes down, until it is back.
    fn drain(&mut self, number: u32, fault: &SwitchDown, what: &What) {
        let (Some(before), Effect::Outage { cables, switches, known, .. }) =
            (fault.drain, &what.effect)
        else {
            return;
        };
        let (cables, switches) = (cables.clone(), switches.clone());
        let effect = Effect::Drain { cables, switches, known: *known };
        let until = fault.restore_after.map(|outage| before + outage);
        // The fault itself is reported when the switch goes down.
        let drain = Arc::new(What { places: Vec::new(), effect });
        self.during(number, fault.at.saturating_sub(before), until, drain);
    }

    fn server_down(&self, fault: &ServerDown, stream: &mut Stream) -> Result<What, NameError> {
        let servers = match &fault.server {
            Some(name) => vec![self.names.server(name)?.index()],
            None => draw((0..self.fabric.host_servers() as usize).collect(), fault.count, stream),
        };
        let nics = servers.iter().flat_map(|&server| self.fabric.servers[server].nics.clone());
        let ports = nics.flat_map(|nic| self.fabric.nics[nic as usize].ports.clone());
        Ok(self.outage(self.cables_at(ports), false, fault.reaction))
    }

    fn route_change(&self, fault: &RouteChange) -> Result<What, NameError> {
        let at = self.names.switch(&fault.switch)?;
        let to = fault.to.as_ref().map(|nic| self.names.nic_ref(nic)).transpose()?;
        let via = self.names.port(&format!("{} {}", fault.switch, fault.via), None)?;
        Ok(What { places: vec![via], effect: Effect::Route(Forced { at, to, via }) })
    }

    fn setting(&self, number: u32, setting: &Setting) -> Result<What, NameError> {
        let ports: Arc<[PortId]> = self.names.setting_ports(setting)?.into();
        let places = match &setting.switch {
            Some(_) => ports.iter().take(1).copied().collect(),
            None => ports.to_vec(),
        };
        let class = ClassId(setting.class.unwrap_or(self.fabric.data_class.0) & 7);
        let setting = Arc::new(setting.clone());
        let effect = Effect::Setting(ActiveSetting { number, ports, class, setting });
        Ok(What { places, effect })
    }
}

/// So many of a list (one without a number), in its order.
fn draw<T: Ord>(mut list: Vec<T>, count: Option<u32>, stream: &mut Stream) -> Vec<T> {
    stream.shuffle(&mut list);
    list.truncate(count.unwrap_or(1) as usize);
    list.sort_unstable();
    list
}
