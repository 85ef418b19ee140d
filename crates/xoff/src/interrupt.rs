//! Ctrl-C and termination: the first asks the run to stop and write what it has, the second ends
//! the program at once.

use crate::exit::Exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody wants the run to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for signals from now on. Where that is not possible the run goes on without:
    /// signals then end it the hard way, which its tables survive.
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

    /// What is set when a signal comes.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Whether a signal has come.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
