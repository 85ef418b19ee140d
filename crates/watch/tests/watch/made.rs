//! Recordings made by hand, and what is shown of them.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;
use xoff_fabric::model::{Fabric, PortId};
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Place, Recorder, Recording, Steps, Timestamp};
use xoff_units::Span;
use xoff_watch::draw;
use xoff_watch::header::{Feed, Header, StoreState};
use xoff_watch::model::{Subject, View, Watcher};
use xoff_watch::screen::Screen;

/// Ten steps of 30 s that end at 12:05:00.
pub(crate) const STEPS: Steps =
    Steps { start: Timestamp(1_700_049_600_000_000_000), step: Span::from_ms(30_000), count: 10 };

pub(crate) fn three_leaves() -> Fabric {
    let text = include_str!("../../../../examples/three-leaves-100g.toml");
    xoff_fabric::load_fabric(text).into_result().expect("a fabric").fabric
}

pub(crate) fn leaf_spine() -> Fabric {
    let text = include_str!("../../../../examples/leaf-spine-64.toml");
    xoff_fabric::load_fabric(text).into_result().expect("a fabric").fabric
}

pub(crate) fn rails(gpus: u32) -> Fabric {
    let leaf = if gpus > 4_096 { "tomahawk-6" } else { "tomahawk-5" };
    let text = format!(
        "[cluster]\ngpus = {gpus}\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = '{leaf}'\n"
    );
    xoff_fabric::load_fabric(&text).into_result().expect("a fabric").fabric
}

/// A recording in which every port sends a third of its rate and nothing else happens, until it is changed.
pub(crate) struct Made<'a> {
    pub(crate) fabric: &'a Fabric,
    recorder: Recorder,
}

impl<'a> Made<'a> {
    pub(crate) fn nothing(fabric: &'a Fabric) -> Self {
        Self { fabric, recorder: Recorder::new(STEPS) }
    }

    pub(crate) fn sound(fabric: &'a Fabric) -> Self {
        let mut made = Self::nothing(fabric);
        for port in ports(fabric) {
            let rate = fabric.cable(port).rate.bps() as f64 / 8.0;
            let peer = fabric.ports[port.index()].peer;
            let theirs = fabric.cable(peer).rate.bps() as f64 / 8.0;
            for (metric, priority, value) in [
                (Metric::TxBytes, Some(3), rate * 10.0),
                (Metric::RxBytes, Some(3), theirs * 10.0),
                (Metric::TxPackets, Some(3), rate * 10.0 / 4_000.0),
                (Metric::RxPackets, Some(3), theirs * 10.0 / 4_000.0),
                (Metric::Up, None, 1.0),
                (Metric::LinkDowns, None, 0.0),
                (Metric::CrcErrors, None, 0.0),
                (Metric::PausedTime, Some(3), 0.0),
                (Metric::PauseTransitions, Some(3), 0.0),
                (Metric::PfcReceived, Some(3), 0.0),
                (Metric::PfcSent, Some(3), 0.0),
                (Metric::BufferDrops, Some(3), 0.0),
                (Metric::EcnMarked, Some(3), 0.0),
            ] {
                made.put(port, metric, priority, 0..STEPS.count, value);
            }
            if fabric.node_switch(fabric.ports[port.index()].node).is_none() {
                for metric in [Metric::Retransmitted, Metric::Timeouts, Metric::CnpSent] {
                    made.put(port, metric, None, 0..STEPS.count, 0.0);
                }
            }
        }
        made
    }

    /// b0 pauses without end from the fifth step on, and what waits for it.
    pub(crate) fn storm(fabric: &'a Fabric) -> Self {
        let mut made = Self::sound(fabric);
        for name in
            ["leaf-b→b0", "spine→leaf-b", "leaf-a→spine", "leaf-c→spine", "a0→leaf-a", "c0→leaf-c"]
        {
            made.named(name, Metric::PausedTime, Some(3), 4, 30.0);
            made.named(name, Metric::TxBytes, Some(3), 4, 0.0);
            made.named(name, Metric::TxPackets, Some(3), 4, 0.0);
        }
        made.named("a0→leaf-a", Metric::Timeouts, None, 5, 3.0);
        made.named("a0→leaf-a", Metric::Retransmitted, None, 5, 1_200.0);
        made
    }

    /// spine0 loses all its links in the third step.
    pub(crate) fn dead_spine(fabric: &'a Fabric) -> Self {
        let mut made = Self::sound(fabric);
        for port in ports(fabric) {
            let peer = fabric.ports[port.index()].peer;
            let node = |port: PortId| fabric.node_name(fabric.ports[port.index()].node);
            if node(port) == "spine0" || node(peer) == "spine0" {
                made.put(port, Metric::LinkDowns, None, 2..3, 1.0);
                made.put(port, Metric::Up, None, 2..STEPS.count, 0.0);
                made.put(port, Metric::TxBytes, Some(3), 2..STEPS.count, 0.0);
            }
        }
        made
    }

    pub(crate) fn put(
        &mut self,
        port: PortId,
        metric: Metric,
        priority: Option<u8>,
        steps: std::ops::Range<usize>,
        value: f64,
    ) {
        let device = self.fabric.node_name(self.fabric.ports[port.index()].node).to_owned();
        let place = Place::Port { device, port: self.fabric.port_name(port) };
        let place = self.recorder.place(place);
        steps.for_each(|step| self.recorder.put(Key { place, metric, priority }, step, value));
    }

    /// The same value from a step on.
    pub(crate) fn named(
        &mut self,
        name: &str,
        metric: Metric,
        priority: Option<u8>,
        from: usize,
        value: f64,
    ) {
        let port = ports(self.fabric).find(|port| self.fabric.port_name(*port) == name);
        self.put(port.expect("a port"), metric, priority, from..STEPS.count, value);
    }

    pub(crate) fn finish(self) -> Recording {
        self.recorder.finish()
    }

    pub(crate) fn view(self) -> View {
        let fabric = self.fabric;
        look(fabric, &self.finish())
    }
}

pub(crate) fn ports(fabric: &Fabric) -> impl Iterator<Item = PortId> + use<> {
    (0..fabric.ports.len() as u32).map(PortId)
}

pub(crate) fn look(fabric: &Fabric, recording: &Recording) -> View {
    let subject = Subject { fabric, recording, usual: None };
    Watcher::default().look(&subject, 0..STEPS.count, &[])
}

/// A store that answered ten seconds after the last step.
pub(crate) fn header() -> Header {
    let now = Timestamp(STEPS.begin(STEPS.count).0 + 10_000_000_000);
    let state =
        StoreState { now, newest: None, trouble: None, stale_after: Duration::from_secs(60) };
    Header {
        fabric: "pod".into(),
        source: "http://prometheus:9090".into(),
        feed: Feed::Store(state),
    }
}

/// What is on a screen of this size.
pub(crate) fn drawn(
    size: (u16, u16),
    header: &Header,
    view: Option<&View>,
    screen: &mut Screen,
) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a terminal");
    let frame = terminal.draw(|frame| {
        let area = frame.area();
        draw::screen(frame.buffer_mut(), area, header, view, screen);
    });
    frame.expect("a frame");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let text: String = (0..size.0).map(|x| buffer[(x, y)].symbol()).collect();
        text.trim_end().to_owned()
    };
    (0..size.1).map(line).collect::<Vec<_>>().join("\n")
}

/// The same, as it begins.
pub(crate) fn plain(size: (u16, u16), view: &View) -> String {
    drawn(size, &header(), Some(view), &mut Screen::new(false))
}
