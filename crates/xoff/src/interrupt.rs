//! Ctrl-C and termination: the first asks the run to stop and write what it has, the second ends
//! the program at once.

use crate::exit::Exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a signal asks the run to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for signals from now on. Where that is not possible a signal kills the process,
    /// which the tables survive.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let flag = interrupt.clone();
        let listening = ctrlc::set_handler(move || {
            if flag.0.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
        });
        drop(listening);
        interrupt
    }

    /// The flag that a signal sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Whether a signal arrived.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
