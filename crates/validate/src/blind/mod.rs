//! Where is it broken? Answered from counters alone, by the rules of `xoff diagnose`, which know of no experiment.
//!
//! [`PortCounters`] are what an operator scrapes of a port in an interval, each counter from its own source. [`diagnose`]
//! gives them to [`xoff_diagnose::fabric`] as a recording of one step, with those of a usual interval where there are any.

mod counters;

pub use counters::PortCounters;

use xoff_diagnose::fabric::{Cause, Finding, Scene};
use xoff_fabric::model::Fabric;
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Place, Recorder, Recording, Steps, Timestamp};
use xoff_units::Span;

/// The counters of an interval.
#[derive(Debug, Clone, Copy)]
pub struct Interval<'a> {
    /// The counters of the ports where anything happened.
    pub counters: &'a [PortCounters],
    /// How long it was, in microseconds.
    pub us: f64,
}

/// What may be the cause of what these counters show, the likeliest first. `usual` is an interval in which nothing was wrong.
pub fn diagnose(fabric: &Fabric, now: Interval<'_>, usual: Option<Interval<'_>>) -> Vec<Finding> {
    let class = fabric.data_class.0;
    let recording = now.recording(class);
    let mut scene = Scene::new(fabric, &recording, 0..1).read_at_once();
    if let Some(usual) = usual.map(|usual| usual.recording(class)) {
        scene = scene.with_usual(&usual, 0..1);
    }
    xoff_diagnose::fabric::diagnose(&scene).findings
}

impl Interval<'_> {
    /// As a recording of one step. All that priorities count is the data class's.
    fn recording(&self, class: u8) -> Recording {
        let step = Span::from_ns((self.us.max(1.0) * 1e3) as u64);
        let mut recorder = Recorder::new(Steps { start: Timestamp(0), step, count: 1 });
        for port in self.counters {
            let place = Place::Port { device: port.device.clone(), port: port.port.clone() };
            let place = recorder.place(place);
            let mut put = |metric: Metric, value: f64, priority: Option<u8>| {
                recorder.put(Key { place, metric, priority }, 0, value);
            };
            let (all, data) = (None, Some(class));
            put(Metric::LinkDowns, port.link_downs as f64, all);
            put(Metric::CrcErrors, port.crc_errors as f64, all);
            put(Metric::RxPackets, port.rx_packets as f64, all);
            put(Metric::TxPackets, port.tx_packets as f64, data);
            put(Metric::PfcReceived, port.pfc_rx as f64, data);
            put(Metric::PfcSent, port.pfc_tx as f64, data);
            put(Metric::PausedTime, port.paused_us / 1e6, data);
            if port.nic {
                put(Metric::OutOfBuffer, port.discards as f64, all);
                put(Metric::Timeouts, port.timeouts as f64, all);
                put(Metric::Retransmitted, port.retransmitted as f64, all);
                put(Metric::OutOfSequence, port.out_of_sequence as f64, all);
                put(Metric::QueuePairErrors, port.failures as f64, all);
            } else {
                put(Metric::BufferDrops, port.discards as f64, data);
                put(Metric::RouteDrops, port.no_route as f64, all);
                put(Metric::WatchdogEvents, port.watchdog as f64, all);
                put(Metric::WatchdogDrops, port.watchdog_drops as f64, all);
                put(Metric::EcnMarked, port.ecn_marked as f64, data);
            }
        }
        recorder.finish()
    }
}

/// What to alert on, with the names of SONiC and ConnectX.
pub const fn alert(cause: Cause) -> &'static str {
    match cause {
        Cause::SwitchDown | Cause::ServerDown | Cause::LinkDown => {
            "any link that goes down (link_down_events_phy, oper status)"
        }
        Cause::LinkFlaps => "a link that goes down twice in ten minutes (link_down_events_phy)",
        Cause::PauseStorm | Cause::Deadlock => {
            "any queue that the watchdog declares stuck (PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED), or a port \
             paused for more than half of a minute (PFC_3_RX_PAUSE_DURATION)"
        }
        Cause::BadOptic => {
            "any FEC or CRC error after correction (rx_crc_errors_phy, FEC uncorrectable)"
        }
        Cause::BlackHole => "packets out at one end of a link and not in at the other",
        Cause::SlowReceiver => "pause frames from a NIC above its usual rate (PFC_3_RX_PKTS)",
        Cause::Routes | Cause::UnevenLinks => {
            "links up of one switch whose shares of its traffic change"
        }
        Cause::Discards | Cause::PfcOff | Cause::HeadroomTooSmall => {
            "any discard in a lossless queue (SAI_QUEUE_STAT_DROPPED_PACKETS)"
        }
        Cause::SlowLink => "a port below its planned speed (oper speed)",
        Cause::CongestionControlOff | Cause::NotificationOff => {
            "congestion notifications ignored or not sent (rp_cnp_ignored, np_cnp_sent)"
        }
        _ => "timeouts on any NIC (local_ack_timeout_err)",
    }
}
