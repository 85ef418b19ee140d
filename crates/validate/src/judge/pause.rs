//! Pause thresholds: how much one ingress may take, when it resumes, and how long a pause lasts.

use super::words::{percent, size, some, time};
use super::{Evidence, advice};
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use xoff_fabric::derived::{Derived, ThresholdRow};
use xoff_fabric::model::{Fabric, PortId, Switch};
use xoff_report::Verdict;

/// A share of the free buffer beyond this lets one ingress take more than it leaves.
const GREEDY: f64 = 1.0;
/// A pause that runs out sooner has to be refreshed more often than switches do.
const SHORT: f64 = 5.0;
/// What all ports need together, over a pool of headroom that they share. Not all are paused at once.
const POOLED: u64 = 4;

/// Fixed thresholds of all ports over the buffer that they share: not all fill at once, as far as that goes.
const OVERCOMMITTED: f64 = 4.0;

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    if !evidence.pauses() || !fabric.pause.enabled {
        return None;
    }
    let data = fabric.data_class.0;
    let rows = derived.thresholds.iter().filter(|row| row.lossless && row.class == data);
    let mut wrong: Vec<(Verdict, String)> = rows.flat_map(|row| row_wrong(fabric, row)).collect();
    wrong.extend(fabric.switches.iter().filter_map(|switch| switch_wrong(fabric, switch)));
    let verdict = Verdict::worst(wrong.iter().map(|(verdict, _)| *verdict));
    let mut words: Vec<String> = wrong.into_iter().map(|(_, words)| words).collect();
    words.dedup();
    let seen = match words.is_empty() {
        true => "no ingress takes the whole buffer, pauses last and end in time".to_owned(),
        false => some(&words),
    };
    let check = Check::new(
        Phase::Laboratory,
        "pause-thresholds",
        "Pauses begin and end where the buffer allows it",
    )
    .about(Aspect::Lossless)
    .done("compared XOFF, XON, pause times and headroom pools with buffers and packets")
    .seen(
        seen,
        "alpha of 1 or less, XON a packet or more below XOFF and above half of it, room for all",
    )
    .verdict(verdict.unwrap_or(Verdict::Pass))
    .places(words);
    Some(check.consider(advice::usual_pause(evidence)))
}

/// What is wrong with the thresholds of some ports.
fn row_wrong(fabric: &Fabric, row: &ThresholdRow) -> Vec<(Verdict, String)> {
    let mut wrong = Vec::new();
    if let Some(alpha) = row.alpha.map(|alpha| alpha.as_f64()).filter(|alpha| *alpha > GREEDY) {
        wrong.push((
            Verdict::Warn,
            format!(
                "{}: one ingress may take {} of the buffer (alpha {alpha:.0})",
                row.at,
                percent(alpha / (1.0 + alpha))
            ),
        ));
    }
    let packet = fabric.nics.iter().map(|nic| nic.qp.mtu).max().unwrap_or_default();
    let offset = row.xoff.saturating_sub(row.xon);
    if offset < packet {
        wrong.push((
            Verdict::Warn,
            format!("{}: resumes {offset} below XOFF, less than a packet", row.at),
        ));
    } else if offset.get() > row.xoff.get() / 2 && row.xoff > packet {
        wrong.push((
            Verdict::Warn,
            format!("{}: resumes only {} below XOFF ({})", row.at, size(offset), size(row.xoff)),
        ));
    }
    if let Some(quanta) = fabric.pause.quanta {
        let lasts = f64::from(quanta) * 512.0 / row.rate.bps().max(1) as f64 * 1e6;
        if lasts < SHORT {
            wrong.push((Verdict::Fail, format!("{}: a pause lasts {}", row.at, time(lasts))));
        }
    }
    wrong
}

/// Fixed thresholds that promise more than there is, and pools of headroom that hold too little.
fn switch_wrong(fabric: &Fabric, switch: &Switch) -> Option<(Verdict, String)> {
    let class = usize::from(fabric.data_class.0);
    let rules = || {
        let ports = switch.ports.clone().map(PortId);
        ports.map(|port| &fabric.ports[port.index()].classes[class])
    };
    let shared = fabric.packet_memory(switch).shared.get();
    let fixed: u64 = rules()
        .filter_map(|rules| match rules.threshold {
            xoff_fabric::model::Threshold::Static(xoff) if rules.lossless => Some(xoff.get()),
            _ => None,
        })
        .sum();
    if fixed > shared {
        let times = fixed as f64 / shared.max(1) as f64;
        return Some((
            if times > OVERCOMMITTED { Verdict::Fail } else { Verdict::Warn },
            format!(
                "{}: fixed thresholds of all ports are {times:.1} times its buffer",
                switch.name
            ),
        ));
    }
    let pool = switch.headroom_pool?.get();
    let needed: u64 = rules().map(|rules| rules.headroom.get()).sum();
    let largest = rules().map(|rules| rules.headroom.get()).max().unwrap_or(0);
    let verdict = match () {
        () if pool < 2 * largest => Verdict::Fail,
        () if pool * POOLED < needed => Verdict::Warn,
        () => return None,
    };
    let share = percent(pool as f64 / needed.max(1) as f64);
    Some((verdict, format!("{}: its pool holds {share} of its ports' headroom", switch.name)))
}
