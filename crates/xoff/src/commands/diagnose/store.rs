//! A diagnosis of what a metric store holds.

use super::Args;
use crate::clock;
use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use xoff_collect::benchmark::{self, File};
use xoff_collect::names::Names;
use xoff_collect::prometheus::query::{Answer, Store};
use xoff_collect::steplog::StepLog;
use xoff_diagnose::fabric::{Diagnosis, Missing, Scene};
use xoff_fabric::FabricSetup;
use xoff_telemetry::recording::{Steps, Timestamp};
use xoff_units::Span;
use xoff_workload::measured;

/// The most steps that a store answers for, a few fewer than Prometheus' 11,000.
pub(crate) const MOST_STEPS: u128 = 10_000;

/// Asks the store at `url` and says what is wrong.
pub(super) fn diagnose(args: &Args, url: &str) -> Result<(Diagnosis, Box<FabricSetup>), Failure> {
    let Some(fabric) = &args.fabric else {
        return Err(Failure::input(
            "a metric store does not say how the fabric was planned; name its file with --fabric",
        ));
    };
    if args.window.is_some() || args.usual.is_some() {
        return Err(Failure::input(
            "--window and --usual are parts of a run; of a metric store say --last and --before",
        ));
    }
    let setup = Box::new(crate::input::fabric(fabric)?);
    let (steps, usual) = steps(args, clock::now())?;
    let names = names(args.names.as_deref())?;
    let answer = ask(args, url, &names, steps)?;
    if answer.recorder.is_empty() {
        return Err(Failure::input(nothing(args, url, &answer)));
    }
    let missing = left_out(&answer);
    let mut recorder = answer.recorder;
    if let Some(path) = &args.steps {
        let job = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        step_log(path)?.add_to(&mut recorder, &job);
    }
    let tests = benchmark::tests(&measurements(&args.nccl_tests)?);
    let (mut at_rest, mut unknown) = (Vec::new(), Vec::new());
    for test in &tests {
        unknown.extend(test.add_to(&mut recorder, steps, usual));
        match test.at_rest(&setup.fabric) {
            Ok(bandwidth) => at_rest.push((test.job.clone(), bandwidth)),
            Err(why) => unknown.push(why),
        }
    }
    let recording = &recorder.finish();
    let scene = Scene::new(&setup.fabric, recording, usual..steps.count);
    let scene = scene.with_usual(recording, 0..usual).with_at_rest(at_rest);
    let mut diagnosis = xoff_diagnose::fabric::diagnose(&scene);
    diagnosis.missing.extend(missing);
    diagnosis.missing.extend(unknown.into_iter().map(|what| Missing { what }));
    drop(scene);
    Ok((diagnosis, setup))
}

/// What benchmarks printed into these files.
fn measurements(paths: &[PathBuf]) -> Result<Vec<File>, Failure> {
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.display();
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::input(format!("cannot use the measurements of `{name}`: {error}"))
        };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let measured = measured::read(&text).map_err(|error| wrong(&error))?;
        for note in &measured.notes {
            say(Level::Warning, &format!("`{name}`: {note}"));
        }
        let written = std::fs::metadata(path).and_then(|about| about.modified()).ok();
        let since = written.and_then(|written| written.duration_since(UNIX_EPOCH).ok());
        let written = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).map(Timestamp);
        files.push(File { name: name.to_string(), written, measured });
    }
    Ok(files)
}

/// The step times that a job logged.
fn step_log(path: &Path) -> Result<StepLog, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::input(format!("cannot use the step times of `{}`: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    StepLog::read(&text).map_err(|error| wrong(&error))
}

/// What series are called: as in the schema, and as a file says.
pub(crate) fn names(path: Option<&Path>) -> Result<Names, Failure> {
    let Some(path) = path else { return Ok(Names::own()) };
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::input(format!("cannot use the names of `{}`: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let base = path.parent().unwrap_or(Path::new(""));
    Names::read(&text, &mut |name| std::fs::read_to_string(base.join(name)))
        .map_err(|error| wrong(&error))
}

/// The steps until now, and how many of them are usual.
fn steps(args: &Args, now: Timestamp) -> Result<(Steps, usize), Failure> {
    let step = args.step.as_nanos();
    if step < Duration::from_millis(1).as_nanos() {
        return Err(Failure::input("--step must be at least a millisecond, like 0.001s"));
    }
    let (last, before) = (args.last.as_nanos() / step, args.before.as_nanos() / step);
    if last == 0 {
        return Err(Failure::input(
            "--last is shorter than --step, which leaves nothing to look at",
        ));
    }
    let count = last + before;
    if count > MOST_STEPS {
        return Err(Failure::input(format!(
            "--last and --before hold more than {MOST_STEPS} times --step; make --step longer"
        )));
    }
    let start = Timestamp(now.0 - (count * step) as i64);
    let step = Span::from_ns(step as u64);
    Ok((Steps { start, step, count: count as usize }, before as usize))
}

fn ask(args: &Args, url: &str, names: &Names, steps: Steps) -> Result<Answer, Failure> {
    let interrupt = Interrupt::listen();
    let bar = (!args.json && std::io::stderr().is_terminal()).then(bar);
    let mut go_on = |done: usize, all: usize| {
        if let Some(bar) = &bar {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        }
        !interrupt.requested()
    };
    let answer = Store::new(url).record(names, args.fabric_name.as_deref(), steps, &mut go_on);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    if interrupt.requested() {
        return Err(Failure::silent(Exit::Interrupted));
    }
    answer.map_err(|error| Failure::input(error.to_string()))
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is ours and valid; without one the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3}%  metrics · {eta} left")
    {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

/// Nothing is not "nothing wrong".
fn nothing(args: &Args, url: &str, answer: &Answer) -> String {
    let of = match &args.fabric_name {
        Some(name) => format!(" with fabric=\"{name}\""),
        None => String::new(),
    };
    let odd = match answer.placeless {
        0 => String::new(),
        count => format!("; {count} series have neither `device` nor `job_name`"),
    };
    format!(
        "`{url}` has no series of docs/metrics.md{of} in the last {} s{odd}; series with other names need --names",
        (args.last + args.before).as_secs()
    )
}

/// What the store did not tell.
pub(crate) fn left_out(answer: &Answer) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    let mut say = |what: String| missing.push(Missing { what });
    answer.warnings.iter().for_each(|text| say(format!("the store answered in part: {text}")));
    if answer.placeless > 0 {
        say(format!("{} series name no device and no job", answer.placeless));
    }
    if answer.twice > 0 {
        say(format!("{} series are there twice; the first of each was used", answer.twice));
    }
    let refused = answer.recorder.refused();
    if refused > 0 {
        say(format!("{refused} values are no numbers, or not in order"));
    }
    missing
}
