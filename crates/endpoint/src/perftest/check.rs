//! Whether what arrived is what was sent.

use super::area::part;
use super::lane::Lane;
use super::outcome::{Contents, Verified};
use super::pattern::{Sequence, is_blotted};
use super::session::Session;
use super::settings::{AtomicKind, Extent};
use crate::{Device, Error, Slice};
use xoff_wire::Service;

/// What was checked so far.
#[derive(Debug, Default)]
pub(super) struct Check {
    verified: Verified,
    sequence: Sequence,
    checked: bool,
}

impl Check {
    /// A message arrived at `slice`: number `number` of its sender, if none was lost.
    pub(super) fn message(
        &mut self,
        device: &Device,
        ours: bool,
        lane: &Lane,
        slice: Slice,
        number: u64,
        exact: bool,
    ) -> Result<(), Error> {
        let bytes = part(device, slice)?;
        self.checked = true;
        self.verified.messages += 1;
        if !ours {
            self.foreign(bytes);
            return Ok(());
        }
        self.verified.how = Contents::Stamped;
        self.verified.compared += bytes.len() as u64;
        let shown = lane.theirs.number(bytes).filter(|_| !exact).unwrap_or(number);
        self.verified.wrong += u64::from(!lane.theirs.is(bytes, shown));
        Ok(())
    }

    /// Data was read to `slice` that lies `offset` bytes into the peer's memory.
    pub(super) fn read(
        &mut self,
        device: &Device,
        ours: bool,
        lane: &Lane,
        slice: Slice,
        offset: u64,
    ) -> Result<(), Error> {
        let bytes = part(device, slice)?;
        self.checked = true;
        self.verified.messages += 1;
        if ours {
            self.verified.how = Contents::Stamped;
            self.verified.compared += bytes.len() as u64;
            self.verified.wrong += u64::from(!lane.theirs.holds(offset, bytes));
        } else {
            self.foreign(bytes);
        }
        Ok(())
    }

    /// Checks what a stock tool sent to memory that was blotted before.
    fn foreign(&mut self, bytes: &[u8]) {
        if is_blotted(bytes) {
            self.verified.untouched += bytes.len() as u64;
        } else {
            self.sequence.check(bytes);
        }
    }

    /// An atomic operation found `before` where `expected` had to be, as far as that is known.
    pub(super) fn value(&mut self, before: u64, expected: Option<u64>) {
        self.checked = true;
        self.verified.how = Contents::Values;
        self.verified.messages += 1;
        if let Some(expected) = expected {
            self.verified.compared += 8;
            self.verified.wrong += u64::from(before != expected);
        }
    }

    /// Messages that had to come and did not.
    pub(super) fn lost(&mut self, count: u64) {
        self.checked = true;
        self.verified.lost = self.verified.lost.map(|lost| lost + count);
    }

    /// How many had to come is not known.
    pub(super) fn lost_unknown(&mut self) {
        self.checked = true;
        self.verified.lost = None;
    }

    /// The sender says how many it sent, and so how many are lost of all sizes together.
    pub(super) fn lost_in_all(&mut self, count: u64) {
        self.verified.lost = Some(count);
    }

    /// The result; `None` if nothing was checked.
    pub(super) fn verdict(mut self) -> Option<Verified> {
        if self.sequence.is_recognised() {
            self.verified.how = Contents::Sequence;
            self.verified.compared += self.sequence.good + self.sequence.bad;
            self.verified.wrong += self.sequence.bad;
        }
        self.checked.then_some(self.verified)
    }
}

impl Session {
    /// The peer wrote `total` messages to our memory: the last ones are there.
    pub(super) fn check_written(
        &self,
        check: &mut Check,
        size: u64,
        total: u64,
    ) -> Result<(), Error> {
        let each = total / self.lanes.len() as u64;
        let steps = self.area.layout.target_steps(size);
        // A lost unreliable write is not reported, nor is the number of writes in a given time.
        let exact = self.settings.service == Service::Reliable
            && matches!(self.settings.extent, Extent::Iterations(_));
        for (index, lane) in self.lanes.iter().enumerate() {
            for number in each.saturating_sub(steps.count)..each {
                let slice = self.area.target(index, number, size);
                check.message(&self.stage.device, self.peer.ours, lane, slice, number, exact)?;
            }
        }
        if self.settings.service == Service::Unreliable {
            // A stock tool that runs for a time reports only what it counted in the middle of it.
            if self.peer.ours || matches!(self.settings.extent, Extent::Iterations(_)) {
                check.lost(total.saturating_sub(self.written() - self.written_before));
            } else {
                check.lost_unknown();
            }
        }
        check.verified.messages = total;
        Ok(())
    }

    /// The peer changed our memory `total` times: it was all zeros before.
    pub(super) fn check_changed(
        &self,
        check: &mut Check,
        kind: AtomicKind,
        total: u64,
    ) -> Result<(), Error> {
        let mut sum = 0u64;
        for index in 0..self.lanes.len() {
            let bytes = part(&self.stage.device, self.area.whole_target(index))?;
            for word in bytes.as_chunks::<8>().0 {
                sum = sum.wrapping_add(u64::from_ne_bytes(*word));
            }
        }
        // A stock tool that runs for a time reports only the operations that it counted in the
        // middle of it: there were that many at least.
        let whole = self.peer.ours || matches!(self.settings.extent, Extent::Iterations(_));
        match kind {
            AtomicKind::FetchAdd if whole => check.value(sum, Some(total)),
            AtomicKind::FetchAdd => check.value(sum.min(total), Some(total)),
            // The stock tool swaps zeros for zeros, we swap for something.
            AtomicKind::CompareSwap if !self.peer.ours => check.value(sum, Some(0)),
            AtomicKind::CompareSwap => check.value(sum, None),
        }
        check.verified.messages = total;
        Ok(())
    }
}
