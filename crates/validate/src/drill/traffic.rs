//! What is sent in a drill.

use super::cast::{Cast, rate};
use super::{END, FAULT, JOB, PERIOD};
use xoff_fabric::model::{ClassId, Fabric, NicId};
use xoff_fabric::scenario::{Operation, Workload};
use xoff_units::{Bytes, Instant, Ratio, Span};
use xoff_workload::Flow;
use xoff_workload::stream::Stream;

/// Flows of each NIC in each round: enough for hashes to spread them.
const FLOWS: u64 = 4;

/// Makes flows.
pub(super) struct Traffic<'a> {
    fabric: &'a Fabric,
    cast: &'a Cast,
    draw: Stream,
    pub(super) flows: Vec<Flow>,
}

impl<'a> Traffic<'a> {
    pub(super) fn new(fabric: &'a Fabric, cast: &'a Cast) -> Self {
        Self { fabric, cast, draw: Stream::new(1, 0, "drill"), flows: Vec::new() }
    }

    /// New flows in every round, of this percentage of each NIC's rate, to destinations that change.
    pub(super) fn rounds(&mut self, percent: u64) {
        let class = self.fabric.data_class;
        self.rounds_in(percent, |_, _| class);
    }

    /// The same in classes by sender and time.
    pub(super) fn rounds_in(&mut self, percent: u64, class: impl Fn(NicId, Span) -> ClassId) {
        for round in 0..END.as_ps() / PERIOD.as_ps() {
            let at = Span::from_ps(round * PERIOD.as_ps());
            for from in 0..self.cast.nics.len() {
                let source = self.cast.nics[from];
                let destination = self.cast.destination(from, round as usize);
                let bytes = self.share(source, PERIOD, percent).get() / FLOWS;
                for part in 0..FLOWS {
                    // Not all at once: NICs do not know of each other.
                    let wait = self.draw.below(PERIOD.as_ps() / FLOWS);
                    let at = at + Span::from_ps(part * PERIOD.as_ps() / FLOWS + wait);
                    self.flow(at, (source, destination), Bytes::new(bytes), class(source, at));
                }
            }
        }
    }

    /// Small messages at random times to random destinations.
    pub(super) fn small(&mut self, percent: u64) {
        let size = Bytes::new(8 << 10);
        for from in 0..self.cast.nics.len() {
            let source = self.cast.nics[from];
            let count = self.share(source, END, percent).get() / size.get();
            for _ in 0..count {
                let round = self.draw.below(1_000) as usize;
                let at = Span::from_ps(self.draw.below(END.as_ps()));
                let destination = self.cast.destination(from, round);
                self.flow(at, (source, destination), size, self.fabric.data_class);
            }
        }
    }

    /// All others send to one NIC, from the fault on, more than it takes.
    pub(super) fn incast(&mut self, target: NicId) {
        let senders: Vec<NicId> =
            self.cast.nics.iter().copied().filter(|nic| *nic != target).collect();
        let percent = 150 / senders.len().max(1) as u64;
        for source in senders {
            // Several flows, so that a NIC with several ports uses all of them.
            let bytes = self.share(source, END - FAULT, percent.max(1)).get() / FLOWS;
            for _ in 0..FLOWS {
                self.flow(FAULT, (source, target), Bytes::new(bytes), self.fabric.data_class);
            }
        }
    }

    fn share(&self, nic: NicId, time: Span, percent: u64) -> Bytes {
        let bps = rate(self.fabric, nic).bps();
        let bits = u128::from(bps) * u128::from(time.as_ps()) / 1_000_000_000_000;
        Bytes::new((bits / 8 * u128::from(percent) / 100) as u64)
    }

    fn flow(&mut self, at: Span, ends: (NicId, NicId), bytes: Bytes, class: ClassId) {
        self.flows.push(Flow {
            start: Instant::ZERO + at,
            source: ends.0,
            destination: ends.1,
            bytes: bytes.max(Bytes::new(1)),
            class,
            operation: Operation::Write,
            source_port: 0xC000 | self.draw.below(1 << 14) as u16,
            path: None,
            workload: 0,
            vxlan: false,
        });
    }
}

/// Steps of a small model on a GPU of each of a few servers; from the fault on, if they are to be slower then, with kernels of
/// half the efficiency.
pub(super) fn steps(fabric: &Fabric, slower: bool) -> Vec<Workload> {
    let mut first = 0;
    let mut ranks = Vec::new();
    for server in &fabric.servers {
        ranks.push(first.to_string());
        first += server.gpus.max(1);
    }
    ranks.truncate(4);
    let text = |start: Span, repeat: u64, percent: u64| {
        let ranks = ranks.join(", ");
        format!(
            "kind = 'training-step'\nname = '{JOB}'\nplacement = [{ranks}]\ndp = {}\nsequence = 512\npeak-tflops = 10\ncost = 'none'\nrepeat = {repeat}\n\
             start = '{}us'\nefficiency = '{}'\nmodel = {{ layers = 1, hidden = 64, heads = 2, ffn = 128, vocabulary = 128 }}\n",
            ranks.matches(',').count() + 1,
            start.as_ps() / 1_000_000,
            Ratio::new(percent, 100),
        )
    };
    let texts = match slower {
        false => vec![text(Span::ZERO, 40, 40)],
        true => vec![text(Span::ZERO, 5, 40), text(FAULT, 20, 20)],
    };
    texts.iter().filter_map(|text| toml::from_str(text).ok()).collect()
}
