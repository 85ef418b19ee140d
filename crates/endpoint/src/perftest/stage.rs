//! A device with its connection manager, turned by one hand.

use super::error::PerfError;
use crate::Device;
use crate::clock::until;
use crate::cm::Agent;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xoff_units::Instant;

/// Longest sleep before the stop flag is checked again.
const NAP: Duration = Duration::from_millis(100);

/// Turns between two polls of another descriptor, each of which costs a system call.
const TURNS: usize = 32;

/// A device with what moves it on.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) device: Device,
    pub(super) agent: Option<Agent>,
    /// When a packet arrived last.
    heard: Instant,
    patience: Duration,
    stop: Arc<AtomicBool>,
}

impl Stage {
    pub(super) fn new(device: Device, patience: Duration, stop: Arc<AtomicBool>) -> Self {
        let heard = device.now();
        Self { device, agent: None, heard, patience, stop }
    }

    pub(super) fn now(&self) -> Instant {
        self.device.now()
    }

    /// Does all there is to do, and says whether there was nothing.
    pub(super) fn turn(&mut self) -> Result<bool, PerfError> {
        let progress = self.device.progress();
        if let Some(agent) = &mut self.agent {
            agent.turn(&mut self.device)?;
        }
        if progress.received > 0 {
            self.heard = self.device.now();
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(PerfError::Interrupted);
        }
        Ok(progress.is_idle())
    }

    /// Moves data, and sleeps if there is none, until `other` is due to be polled.
    pub(super) fn attend(&mut self, other: BorrowedFd<'_>) -> Result<(), PerfError> {
        for _ in 0..TURNS {
            if self.turn()? && self.rest(Some(other))? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for packets, for what is due, or until `other` can be read, and says whether it slept.
    /// It is an error if nothing has come for too long.
    pub(super) fn rest(&mut self, other: Option<BorrowedFd<'_>>) -> Result<bool, PerfError> {
        let now = self.device.now();
        if until(self.heard, now) > self.patience {
            return Err(PerfError::Silence(self.patience.as_secs()));
        }
        let agent = self.agent.as_ref().map_or(Instant::MAX, Agent::deadline);
        Ok(self.device.wait_or(NAP.min(until(now, agent)), other))
    }

    /// Something came by another way.
    pub(super) fn heard(&mut self) {
        self.heard = self.device.now();
    }
}
