//! A sweep on Slurm: an array of jobs, each with many shards, that needs nothing but a shared folder.
//!
//! The array's tasks take the shards that are missing, in turn. A task skips what is there, so that
//! Slurm may start it again as often as it likes. When the array is gone and shards are missing (a node
//! was lost, the time was up) another array gets what is left. What the folder holds decides, never what Slurm says:
//! its controller may be away for a while.

use super::folder::Folder;
use super::source::{Source, whole};
use super::work::Progress;
use crate::clock::Stopwatch;
use crate::commands::run::quoted;
use crate::exit::{Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output::files::failed;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;
use xoff_telemetry::file;

/// The file with the number of the array that is under way.
pub(super) const JOB: &str = "job";

/// The folder of all that is Slurm's.
const SLURM: &str = "slurm";

/// Tasks of an array, unless the user says otherwise: enough for a busy cluster, and submitted at once.
const TASKS: u64 = 64;

/// Arrays that bring no new point, one after the other, before the sweep gives up.
const MOST_FUTILE: u32 = 3;

/// What a command of Slurm may take: a controller that restarts answers late.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the folder and the queue are looked at.
const LOOK: Duration = Duration::from_millis(500);
const ASK: f64 = 5.0;

/// Seconds for which a controller that cannot be reached is asked again to take an array.
const SUBMITTING: f64 = 600.0;

/// How to use Slurm.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Slurm")]
pub(crate) struct Options {
    /// Run on Slurm: an array of jobs over the shared folder, submitted with sbatch; waits for
    /// it, cancels it on Ctrl-C, and submits again what was lost
    #[arg(long)]
    pub(super) slurm: bool,
    /// The partition
    #[arg(long, value_name = "NAME", requires = "slurm")]
    partition: Option<String>,
    /// The account
    #[arg(long, value_name = "NAME", requires = "slurm")]
    account: Option<String>,
    /// The time limit of a job, as sbatch takes it: 30:00 is half an hour
    #[arg(long, value_name = "TIME", requires = "slurm")]
    time: Option<String>,
    /// A further #SBATCH line of the script, like "--cpus-per-task=8"; may be repeated
    #[arg(long, value_name = "LINE", requires = "slurm", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Tasks of the array [default: as many as there are shards, and 64 at most]
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u64).range(1..))]
    tasks: Option<u64>,
}

/// What a program said.
struct Answer {
    status: ExitStatus,
    out: String,
    error: String,
}

/// Runs a program of Slurm, for at most [`PATIENCE`]. None if it did not end.
fn ask(command: &mut Command) -> std::io::Result<Option<Answer>> {
    let (mut out, mut error) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(error.try_clone()?);
    let mut child = command.spawn()?;
    let clock = Stopwatch::start();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if clock.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(20));
    };
    let read = |file: &mut fs::File| {
        let mut text = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut text)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&text).trim().to_owned())
    };
    Ok(Some(Answer { status, out: read(&mut out)?, error: read(&mut error)? }))
}

/// Why a program of Slurm could not be started.
fn not_started(program: &str, error: &std::io::Error) -> Failure {
    Failure::input(format!(
        "cannot start `{program}`: {error}\n  --slurm needs Slurm's commands on this machine; without it \
         the sweep runs here"
    ))
}

/// Whether an error passes: the controller restarts, or is busy.
fn passes(error: &str) -> bool {
    [
        "Unable to contact",
        "timed out",
        "Connection refused",
        "Zero Bytes",
        "temporarily",
        "Try again",
    ]
    .iter()
    .any(|word| error.contains(word))
}

/// An array of jobs in the queue.
struct Queue {
    /// Tasks by state, and why the first of those that wait does.
    states: BTreeMap<String, u64>,
    waits_for: Option<String>,
}

impl Queue {
    fn words(&self) -> String {
        let each = self.states.iter().map(|(state, count)| {
            let why = self.waits_for.as_ref().filter(|_| state == "PENDING");
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            format!("{count} {}{why}", state.to_lowercase())
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

/// A sweep on Slurm.
struct Run<'a> {
    folder: &'a Folder,
    options: &'a Options,
    interrupt: &'a Interrupt,
    quiet: bool,
    /// The folder from the root.
    place: PathBuf,
}

/// How an array ended.
enum Ended {
    Complete,
    Gone,
    Interrupted,
}

/// Runs a sweep on Slurm until all of its shards are there.
pub(super) fn run(
    folder: &Folder,
    source: &Source,
    options: &Options,
    interrupt: &Interrupt,
    quiet: bool,
    resume: &str,
) -> Result<(), Failure> {
    let place = whole(folder.path());
    let run = Run { folder, options, interrupt, quiet, place };
    let progress = Progress::new(source.plan.points(), folder.points(), quiet);
    let ended = run.to_the_end(&progress);
    progress.finish();
    if ended? { Ok(()) } else { Err(folder.interrupted(source, resume)) }
}

impl Run<'_> {
    /// Whether all shards are there; not so if it was interrupted.
    fn to_the_end(&self, progress: &Progress) -> Result<bool, Failure> {
        let mut futile = 0;
        loop {
            if self.folder.missing().is_empty() {
                return Ok(true);
            }
            let before = self.folder.points();
            let Some(job) =
                self.under_way()?.map_or_else(|| self.submit(progress), |job| Ok(Some(job)))?
            else {
                return Ok(false);
            };
            match self.wait(&job, progress)? {
                Ended::Complete => {
                    self.cancel(&job);
                    return Ok(true);
                }
                Ended::Interrupted => {
                    self.cancel(&job);
                    return Ok(false);
                }
                Ended::Gone => {}
            }
            futile = if self.folder.points() > before { 0 } else { futile + 1 };
            if futile == MOST_FUTILE {
                return Err(Failure::rule(format!(
                    "{MOST_FUTILE} arrays ended without running a point, the last as job {job}\n  look at \
                     the logs in {}; --resume goes on",
                    self.place.join(SLURM).display()
                )));
            }
            let left = self.folder.missing().len();
            self.note(&format!(
                "job {job} is over and {left} shards are missing: submitting them again"
            ));
        }
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            say(Level::Note, text);
        }
    }

    /// The array that another xoff submitted for this folder, if it is still there.
    fn under_way(&self) -> Result<Option<String>, Failure> {
        let Ok(job) = fs::read_to_string(self.place.join(SLURM).join(JOB)) else { return Ok(None) };
        let job = job.trim().to_owned();
        if job.is_empty() || !job.chars().all(|c| c.is_ascii_digit()) {
            return Ok(None);
        }
        let there = matches!(self.queue(&job)?, Some(queue) if !queue.states.is_empty());
        if there {
            self.note(&format!("job {job} of this sweep is still there: waiting for it"));
        }
        Ok(there.then_some(job))
    }

    /// Submits an array for the shards that are missing; none if it was interrupted meanwhile.
    fn submit(&self, progress: &Progress) -> Result<Option<String>, Failure> {
        let slurm = self.place.join(SLURM);
        fs::create_dir_all(&slurm).map_err(|error| failed(&slurm, &error))?;
        let program = self.program(&slurm)?;
        let missing = self.folder.missing();
        let number = (0u64..).find(|number| !slurm.join(list_name(*number)).exists()).unwrap_or(0);
        let list: String = missing.iter().map(|shard| format!("{shard}\n")).collect();
        put(&slurm.join(list_name(number)), &list)?;
        let tasks =
            self.options.tasks.unwrap_or(TASKS).min(missing.len() as u64).min(self.most_tasks()?);
        let script = slurm.join(format!("sweep-{number}.sh"));
        put(&script, &self.script(&program, number, tasks))?;
        let clock = Stopwatch::start();
        loop {
            let mut command = Command::new("sbatch");
            command.arg("--parsable").arg(format!("--chdir={}", slurm.display())).arg(&script);
            let answer = ask(&mut command).map_err(|error| not_started("sbatch", &error))?;
            let error = match answer {
                Some(Answer { status, out, .. }) if status.success() => {
                    let job = out.split(';').next().unwrap_or_default().trim().to_owned();
                    put(&slurm.join(JOB), &format!("{job}\n"))?;
                    self.note(&format!(
                        "job {job}: {tasks} tasks for {} shards; logs in {}",
                        missing.len(),
                        slurm.display()
                    ));
                    return Ok(Some(job));
                }
                Some(Answer { error, .. }) => error,
                None => "timed out".to_owned(),
            };
            if !passes(&error) || clock.seconds() > SUBMITTING {
                return Err(Failure::input(format!(
                    "sbatch refuses {}: {error}\n  change --partition, --account, --time or --sbatch; --resume \
                     goes on",
                    script.display()
                )));
            }
            progress.reach(self.folder.points(), "waiting for Slurm's controller");
            for _ in 0..10 {
                if self.interrupt.requested() {
                    return Ok(None);
                }
                sleep(LOOK);
            }
        }
    }

    /// The script of an array.
    fn script(&self, program: &Path, number: u64, tasks: u64) -> String {
        let mut lines = vec![
            "#!/bin/sh".to_owned(),
            "#SBATCH --job-name=xoff-sweep".to_owned(),
            format!("#SBATCH --array=0-{}", tasks - 1),
            "#SBATCH --output=%A_%a.log".to_owned(),
            "#SBATCH --open-mode=append".to_owned(),
            "#SBATCH --requeue".to_owned(),
        ];
        let options = [
            ("partition", &self.options.partition),
            ("account", &self.options.account),
            ("time", &self.options.time),
        ];
        for (name, value) in options {
            lines.extend(
                value.as_ref().map(|value| format!("#SBATCH --{name}={}", one_line(value))),
            );
        }
        lines.extend(self.options.sbatch.iter().map(|line| {
            let line = one_line(line);
            format!("#SBATCH {}", line.trim_start_matches("#SBATCH").trim())
        }));
        lines.push(format!(
            "exec {} sweep {} --worker {number}:\"$SLURM_ARRAY_TASK_ID\":{tasks} --threads \
             \"${{SLURM_CPUS_PER_TASK:-1}}\"",
            quoted(&program.display().to_string()),
            quoted(&self.place.display().to_string()),
        ));
        lines.join("\n") + "\n"
    }

    /// A copy of this program in the shared folder: nodes need not have it.
    fn program(&self, slurm: &Path) -> Result<PathBuf, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::write(format!("cannot find this program: {error}")))?;
        let copy = slurm.join("xoff");
        let length = |path: &Path| fs::metadata(path).map(|about| about.len()).ok();
        if length(&copy) != length(&own) {
            // Moved into its place, because a program that runs cannot be written.
            let beside = slurm.join("xoff.new");
            let copied = fs::copy(&own, &beside).and_then(|_| fs::rename(&beside, &copy));
            copied.map_err(|error| failed(&copy, &error))?;
        }
        Ok(copy)
    }

    /// The most tasks that this Slurm has in an array.
    fn most_tasks(&self) -> Result<u64, Failure> {
        let answer = ask(Command::new("scontrol").args(["show", "config"]));
        let answer = answer.map_err(|error| not_started("scontrol", &error))?;
        let Some(Answer { out, .. }) = answer else { return Ok(TASKS) };
        let value = |line: &str| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == "MaxArraySize").then(|| value.trim().parse::<u64>().ok())?
        };
        // The greatest index is one less than this size.
        Ok(out.lines().find_map(value).map_or(TASKS, |size| size.saturating_sub(1)).max(1))
    }

    /// The array in the queue, empty if it is gone; none if the controller does not say.
    fn queue(&self, job: &str) -> Result<Option<Queue>, Failure> {
        let mut command = Command::new("squeue");
        command.args(["--noheader", "--array", "--format=%T|%r", "--jobs", job]);
        let answer = ask(&mut command).map_err(|error| not_started("squeue", &error))?;
        let mut queue = Queue { states: BTreeMap::new(), waits_for: None };
        match answer {
            Some(Answer { status, out, .. }) if status.success() => {
                for (state, why) in out.lines().filter_map(|line| line.split_once('|')) {
                    *queue.states.entry(state.to_owned()).or_default() += 1;
                    if state == "PENDING" && why != "None" {
                        queue.waits_for.get_or_insert(why.to_owned());
                    }
                }
                Ok(Some(queue))
            }
            Some(Answer { error, .. }) if error.contains("Invalid job id") => Ok(Some(queue)),
            _ => Ok(None),
        }
    }

    /// Waits until all shards are there, the array is gone or the user stops it.
    fn wait(&self, job: &str, progress: &Progress) -> Result<Ended, Failure> {
        let mut asked = Stopwatch::start();
        let mut words = String::new();
        let mut gone = false;
        loop {
            if self.folder.missing().is_empty() {
                return Ok(Ended::Complete);
            }
            // The folder is looked at once more after the queue: the last task may just have ended.
            if gone {
                return Ok(Ended::Gone);
            }
            if self.interrupt.requested() {
                return Ok(Ended::Interrupted);
            }
            if asked.seconds() > ASK {
                match self.queue(job)? {
                    None => words = "Slurm's controller does not answer".to_owned(),
                    Some(queue) if queue.states.is_empty() => {
                        gone = true;
                        // A shared folder may show files a little later than Slurm ends jobs.
                        sleep(2 * LOOK);
                    }
                    Some(queue) => {
                        self.release(job, &queue);
                        words = queue.words();
                    }
                }
                asked = Stopwatch::start();
            }
            progress.reach(self.folder.points(), &words);
            sleep(LOOK);
        }
    }

    /// Slurm holds tasks that it could not start on a node; they may start on another one.
    fn release(&self, job: &str, queue: &Queue) {
        let held = |why: &String| why.to_lowercase().contains("launch") && why.contains("held");
        if queue.waits_for.as_ref().is_some_and(held) {
            // Where it does not help the reason stays on the screen.
            drop(ask(Command::new("scontrol").args(["release", job])));
        }
    }

    fn cancel(&self, job: &str) {
        // A job that is over already needs no cancelling.
        let cancelled = ask(Command::new("scancel").arg(job));
        if !matches!(cancelled, Ok(Some(Answer { status, .. })) if status.success()) {
            self.note(&format!("job {job} may still be in the queue: `scancel {job}`"));
        }
        drop(fs::remove_file(self.place.join(SLURM).join(JOB)));
    }
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    file::put(path, text.as_bytes()).map_err(|error| failed(path, &error))
}

/// Text that cannot begin another line of a script.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn list_name(number: u64) -> String {
    format!("shards-{number}.txt")
}

/// The shards of a task: `LIST:TASK:TASKS`.
pub(super) fn part(folder: &Path, text: &str) -> Result<Vec<u64>, Failure> {
    let numbers: Vec<u64> = text.split(':').filter_map(|part| part.parse().ok()).collect();
    let [list, task, tasks] = numbers[..] else {
        return Err(Failure::input("--worker takes LIST:TASK:TASKS, three numbers"));
    };
    let path = folder.join(SLURM).join(list_name(list));
    let text = crate::input::read_text(&path).map_err(Failure::input)?;
    let all = text.lines().filter_map(|line| line.parse().ok());
    // In turn, so that every task has points from all over the sweep.
    Ok(all.skip(task as usize).step_by(tasks.max(1) as usize).collect())
}
