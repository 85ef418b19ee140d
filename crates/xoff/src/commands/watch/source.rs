//! What is watched: the counters of a run, or a metric store.

use super::Args;
use crate::clock;
use crate::commands::diagnose::{self, store};
use crate::exit::Failure;
use crate::input::wall_time;
use std::time::Duration;
use xoff_collect::names::Names;
use xoff_collect::prometheus::query::Store;
use xoff_collect::store::StoreError;
use xoff_fabric::FabricSetup;
use xoff_telemetry::recording::{Recording, Steps, Timestamp};
use xoff_units::Span;
use xoff_watch::header::{Feed, Header, StoreState};
use xoff_watch::model::{Subject, View, Watcher};
use xoff_watch::player::Player;

/// What is watched, ready to be asked.
pub(crate) enum Source {
    Recorded(Recorded),
    Stored(Stored),
}

/// The counters of a run.
pub(crate) struct Recorded {
    pub(crate) setup: Box<FabricSetup>,
    pub(crate) recording: Recording,
    /// What of the file was not understood.
    pub(crate) left_out: Vec<String>,
    /// Steps that are shown; all without it.
    pub(crate) last: Option<usize>,
    pub(crate) header: Header,
}

/// A metric store.
pub(crate) struct Stored {
    pub(crate) setup: Box<FabricSetup>,
    pub(crate) store: Store,
    names: Names,
    pub(crate) name: Option<String>,
    /// What was before all this, in which all was well.
    pub(crate) usual: Option<Recording>,
    pub(crate) before: usize,
    pub(crate) steps: usize,
    pub(crate) step: Duration,
    pub(crate) interval: Duration,
    pub(crate) header: Header,
}

/// A store's answer, made a view.
pub(crate) struct Looked {
    pub(crate) view: View,
    pub(crate) newest: Option<Timestamp>,
}

impl Source {
    pub(crate) fn open(args: &Args) -> Result<Self, Failure> {
        let source = args.source.to_string_lossy().into_owned();
        match source.starts_with("http://") || source.starts_with("https://") {
            true => Stored::open(args, source).map(Source::Stored),
            false => Recorded::open(args, source).map(Source::Recorded),
        }
    }

    /// One view of it.
    pub(crate) fn once(self) -> Result<(Header, View), Failure> {
        let mut watcher = Watcher::default();
        match self {
            Source::Recorded(recorded) => {
                let Feed::Recording(player) = &recorded.header.feed else { unreachable!() };
                let view = recorded.look(&mut watcher, player.at());
                Ok((recorded.header, view))
            }
            Source::Stored(mut stored) => {
                let looked = stored.look(&mut watcher);
                let looked = looked.map_err(|error| Failure::input(error.to_string()))?;
                if looked.view.series == 0 {
                    return Err(Failure::input(stored.nothing()));
                }
                let mut header = stored.header;
                if let Feed::Store(state) = &mut header.feed {
                    (state.now, state.newest) = (clock::now(), looked.newest);
                }
                Ok((header, looked.view))
            }
        }
    }
}

impl Recorded {
    fn open(args: &Args, source: String) -> Result<Self, Failure> {
        let (recording, unread) = diagnose::recording(&args.source)?;
        let (setup, fabric) = diagnose::fabric(&args.source, args.fabric.as_deref())?;
        let steps = recording.steps();
        if steps.count == 0 {
            return Err(Failure::input(format!(
                "the counters of `{source}` were read once only; make the run with a shorter --counters"
            )));
        }
        let count = |span: Span| (span.as_ps() / steps.step.as_ps().max(1)) as usize;
        let last = match &args.last {
            Some(text) => {
                let span: Span =
                    text.parse().map_err(|error| Failure::input(format!("--last: {error}")))?;
                Some(count(span).max(1))
            }
            None => None,
        };
        let mut player = Player::new(steps, args.speed);
        if let Some(at) = args.at {
            player.go_to(count(at));
        }
        if args.play {
            player.toggle();
        }
        let left_out = match unread {
            0 => Vec::new(),
            unread => vec![format!("{unread} rows are of metrics that this version does not know")],
        };
        let header = Header { fabric, source, feed: Feed::Recording(player) };
        Ok(Self { setup, recording, left_out, last, header })
    }

    /// A view after so many steps.
    pub(crate) fn look(&self, watcher: &mut Watcher, at: usize) -> View {
        let subject =
            Subject { fabric: &self.setup.fabric, recording: &self.recording, usual: None };
        let from = self.last.map_or(0, |last| at.saturating_sub(last));
        watcher.look(&subject, from..at, &self.left_out)
    }
}

impl Stored {
    fn open(args: &Args, source: String) -> Result<Self, Failure> {
        let Some(path) = &args.fabric else {
            return Err(Failure::input(
                "a metric store does not say how the fabric was planned; name its file with --fabric",
            ));
        };
        if args.play || args.at.is_some() {
            return Err(Failure::input(
                "--play and --at are for recordings, not for a metric store",
            ));
        }
        let last = args.last.as_deref().unwrap_or("5min");
        let last = wall_time::some(last)
            .map_err(|error| Failure::input(format!("--last {last}: {error}")))?;
        if args.step < Duration::from_millis(1) {
            return Err(Failure::input("--step must be at least a millisecond, like 0.001s"));
        }
        let steps = |time: Duration| time.as_nanos() / args.step.as_nanos();
        if steps(last) == 0 {
            return Err(Failure::input(
                "--last is shorter than --step, which leaves nothing to look at",
            ));
        }
        if steps(last) + steps(args.before) > store::MOST_STEPS {
            return Err(Failure::input(format!(
                "--last and --before hold more than {} times --step; make --step longer",
                store::MOST_STEPS
            )));
        }
        let (setup, fabric) = diagnose::fabric(&args.source, Some(path))?;
        let state = StoreState {
            now: clock::now(),
            newest: None,
            trouble: None,
            stale_after: Duration::from_secs(60).max(2 * args.step),
        };
        let fabric = args.fabric_name.clone().unwrap_or(fabric);
        Ok(Self {
            setup,
            store: Store::new(&source),
            names: store::names(args.names.as_deref())?,
            name: args.fabric_name.clone(),
            usual: None,
            before: steps(args.before) as usize,
            steps: steps(last) as usize,
            step: args.step,
            interval: args.interval,
            header: Header { fabric, source, feed: Feed::Store(state) },
        })
    }

    /// Asks the store for the time until now.
    pub(crate) fn look(&mut self, watcher: &mut Watcher) -> Result<Looked, StoreError> {
        let now = clock::now();
        let name = self.name.as_deref();
        let mut go_on = |_: usize, _: usize| true;
        if self.before > 0 && self.usual.is_none() {
            let end = self.until(now, self.steps).start;
            let usual =
                self.store.record(&self.names, name, self.until(end, self.before), &mut go_on)?;
            self.usual = Some(usual.recorder.finish());
        }
        let answer =
            self.store.record(&self.names, name, self.until(now, self.steps), &mut go_on)?;
        // A store that does not know functions of time still has values.
        let newest = self.store.newest(&self.names, name).unwrap_or(None);
        let left_out: Vec<String> =
            store::left_out(&answer).into_iter().map(|missing| missing.what).collect();
        let recording = answer.recorder.finish();
        let subject = Subject {
            fabric: &self.setup.fabric,
            recording: &recording,
            usual: self.usual.as_ref().filter(|usual| !usual.is_empty()),
        };
        let view = watcher.look(&subject, 0..self.steps, &left_out);
        Ok(Looked { view, newest })
    }

    fn until(&self, end: Timestamp, count: usize) -> Steps {
        let step = self.step.as_nanos() as u64;
        let start = Timestamp(end.0.saturating_sub(count as i64 * step as i64));
        Steps { start, step: Span::from_ns(step), count }
    }

    /// No series is not "nothing wrong".
    pub(crate) fn nothing(&self) -> String {
        let of =
            self.name.as_ref().map_or(String::new(), |name| format!(" with fabric=\"{name}\""));
        let seconds = (self.step * self.steps as u32).as_secs();
        format!(
            "`{}` has no series of docs/metrics.md{of} in the last {seconds} s",
            self.header.source
        )
    }
}
