//! A switch by gNMI: one stream of samples from it, of which the latest values are exported at every scrape.
//!
//! A thread with a runtime of its own (`client`) keeps the stream, makes it again when it breaks, and puts what arrives into a
//! `Store`. [`Dialect`] says what is subscribed to and what a leaf means; names, units and labels are those of the other origins.
//!
//! A value that was not sent for three sample intervals, that the device deleted, or whose stream broke, is not exported: a
//! series that is missing is a signal, and one that stands still looks like a port without traffic. For the same reason nothing is
//! exported before the device has said that it has sent everything once.

mod access;
mod client;
mod failure;
mod json;
mod openconfig;
mod paths;
pub mod proto;
mod sonic;
mod store;

pub use access::{AccessError, Address, Login, Secret, Security, Tls};
pub use paths::{Dialect, Queues};

use crate::exposition::{Exposition, Kind, Target, Value};
use crate::naming::Naming;
use crate::scraper::{Origin, Unavailable};
use failure::Failure;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::Store;
use tokio::sync::oneshot;

/// Sample intervals after which a value that was not sent again is none.
const STALE: u32 = 3;

/// Time since some moment; it only grows.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// How a device is reached and what it is asked for.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens.
    pub address: Address,
    /// Whether others can read what is sent.
    pub security: Security,
    /// Who the client is.
    pub login: Login,
    /// Whose paths it has; else what it says itself.
    pub dialect: Option<Dialect>,
    /// Time between samples.
    pub sample: Duration,
    /// For how long the first page waits for the device.
    pub patience: Duration,
}

/// How far the client has got.
#[derive(Debug)]
enum Phase {
    /// It has not failed yet.
    Starting,
    /// The device has sent everything once, in this dialect.
    Synced(Dialect),
    /// It tries again.
    Down(Failure),
}

/// What the client and the scrapes share.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    now: Clock,
}

struct State {
    phase: Phase,
    store: Store,
    /// Whether the device refused some of the paths.
    refused: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.state();
        // Values are those of one stream: what was before it may have been deleted meanwhile.
        if !matches!(phase, Phase::Synced(_)) {
            state.store.clear();
        }
        state.phase = phase;
        drop(state);
        self.changed.notify_all();
    }
}

/// A switch that is read by gNMI. The stream lasts as long as this value.
pub struct Switch {
    shared: Arc<Shared>,
    naming: Naming,
    queues: Queues,
    address: Address,
    sample: Duration,
    /// For how long the next page waits for the device: the first one does, so that whoever starts it sees values or what is wrong.
    patience: Option<Duration>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Switch {
    /// Starts the stream. `queues` says which priority a queue of OpenConfig stands for, where its name does not.
    pub fn start(
        settings: Settings,
        naming: Naming,
        queues: Queues,
        now: Clock,
    ) -> Result<Self, Unavailable> {
        let Settings { sample, patience, .. } = settings;
        let (address, patience) = (settings.address.clone(), Some(patience));
        let state = State { phase: Phase::Starting, store: Store::default(), refused: false };
        let shared = Shared { state: Mutex::new(state), changed: Condvar::new(), now };
        let shared = Arc::new(shared);
        let own = |error| Unavailable(format!("cannot start a thread for gNMI: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(own)?;
        let (stop, stopped) = oneshot::channel();
        let client = client::run(shared.clone(), settings);
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = client => {}
                    _ = stopped => {}
                }
            });
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("gnmi".into()).spawn(work).map_err(own)?;
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Self { shared, naming, queues, address, sample, patience, stop, thread })
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked there is nothing left to end.
            let _ = thread.join();
        }
    }
}

impl Origin for Switch {
    fn read(&mut self, out: &mut Exposition) -> Result<(), Unavailable> {
        let mut state = self.shared.state();
        if let Some(patience) = self.patience.take() {
            let starting = |state: &mut State| matches!(state.phase, Phase::Starting);
            let wait = self.shared.changed.wait_timeout_while(state, patience, starting);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        out.skipped(state.store.skipped());
        let dialect = match &state.phase {
            Phase::Synced(dialect) => *dialect,
            Phase::Down(failure) => return Err(Unavailable(failure.text(&self.address))),
            Phase::Starting => {
                return Err(Unavailable(Failure::NotSynced.text(&self.address)));
            }
        };
        state.store.expire((self.shared.now)(), self.sample * STALE);
        dialect.export(&state.store, &self.naming, &self.queues, out);
        let help = "Whether the device refused to stream some of the paths: 1 or 0.";
        let refused = Value::Whole(state.refused.into());
        out.raw(&Target::default(), "xoff_exporter_paths_refused", Kind::Gauge, help, refused);
        Ok(())
    }
}
