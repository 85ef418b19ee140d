//! Work on Slurm: an array of jobs, each with many shards, that needs nothing but a shared folder.
//!
//! The array's tasks take the shards that are missing, in turn. A task skips what is there, so that
//! Slurm may start it again as often as it likes. When the array is gone and shards are missing (a node
//! was lost, the time was up) another array gets what is left. What the folder holds decides, never what Slurm says:
//! its controller may be away for a while.
//!
//! What the work is, and how the folder keeps it, is a [`Work`] of the command whose work it is.

mod client;

use crate::clock::Stopwatch;
use crate::commands::run::quoted;
use crate::exit::{Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output::files::{failed, whole};
use client::{Answer, Queue, ask, most_tasks, not_started, passes, queue};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;
use xoff_telemetry::file;

/// The file with the number of the array that is under way.
const JOB: &str = "job";

/// The folder of all that is Slurm's.
const SLURM: &str = "slurm";

/// Tasks of an array, unless the user says otherwise: enough for a busy cluster, and submitted at once.
const TASKS: u64 = 64;

/// Arrays that bring nothing new, one after the other, before it gives up.
const MOST_FUTILE: u32 = 3;

/// How often the folder and the queue are looked at.
const LOOK: Duration = Duration::from_millis(500);
const ASK: f64 = 5.0;

/// Seconds for which a controller that cannot be reached is asked again to take an array.
const SUBMITTING: f64 = 600.0;

/// Work in shards, each of which a folder has whole or not at all, and the same whoever makes it.
pub(crate) trait Work {
    /// What it is, in a word: `sweep`.
    fn what(&self) -> &'static str;

    /// The folder, which all nodes see.
    fn folder(&self) -> &Path;

    /// Arguments of the command that does a part of it, without the part; `folder` is the folder from the root.
    fn command(&self, folder: &Path) -> Vec<String>;

    /// The shards that the folder has not, those first that take longest.
    fn missing(&self) -> Vec<String>;

    /// A number that grows whenever more of it is done.
    fn done(&self) -> u64;

    /// Shows how much is done, and what Slurm says.
    fn show(&self, words: &str);

    /// How it is gone on with: `--resume`.
    fn resume(&self) -> &'static str;
}

/// How to use Slurm.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Slurm")]
pub(crate) struct Options {
    /// Run on Slurm: an array of jobs over the shared folder, submitted with sbatch; waits for
    /// it, cancels it on Ctrl-C, and submits again what was lost
    #[arg(long)]
    pub(crate) slurm: bool,
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
    /// Do a part of the work in a folder, as a job of --slurm: LIST:TASK:TASKS
    #[arg(long, value_name = "PART", hide = true)]
    pub(crate) worker: Option<String>,
}

/// Work on Slurm.
struct Run<'a> {
    work: &'a dyn Work,
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

/// Does work on Slurm until all of its shards are there. Returns whether they are: not if it was interrupted.
pub(crate) fn run(
    work: &dyn Work,
    options: &Options,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<bool, Failure> {
    let place = whole(work.folder());
    Run { work, options, interrupt, quiet, place }.to_the_end()
}

impl Run<'_> {
    /// Whether all shards are there; not so if it was interrupted.
    fn to_the_end(&self) -> Result<bool, Failure> {
        let mut futile = 0;
        loop {
            if self.work.missing().is_empty() {
                return Ok(true);
            }
            let before = self.work.done();
            let Some(job) = self.under_way()?.map_or_else(|| self.submit(), |job| Ok(Some(job)))?
            else {
                return Ok(false);
            };
            match self.wait(&job)? {
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
            futile = if self.work.done() > before { 0 } else { futile + 1 };
            if futile == MOST_FUTILE {
                return Err(Failure::rule(format!(
                    "{MOST_FUTILE} arrays ended without anything new, the last as job {job}\n  look at the \
                     logs in {}; {} goes on",
                    self.place.join(SLURM).display(),
                    self.work.resume()
                )));
            }
            let left = self.work.missing().len();
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
        let there = matches!(queue(&job)?, Some(queue) if !queue.states.is_empty());
        if there {
            self.note(&format!(
                "job {job} of this {} is still there: waiting for it",
                self.work.what()
            ));
        }
        Ok(there.then_some(job))
    }

    /// Submits an array for the shards that are missing; none if it was interrupted meanwhile.
    fn submit(&self) -> Result<Option<String>, Failure> {
        let slurm = self.place.join(SLURM);
        fs::create_dir_all(&slurm).map_err(|error| failed(&slurm, &error))?;
        let program = self.program(&slurm)?;
        let missing = self.work.missing();
        let number = (0u64..).find(|number| !slurm.join(list_name(*number)).exists()).unwrap_or(0);
        let list: String = missing.iter().map(|shard| format!("{shard}\n")).collect();
        put(&slurm.join(list_name(number)), &list)?;
        let tasks = self
            .options
            .tasks
            .unwrap_or(TASKS)
            .min(missing.len() as u64)
            .min(most_tasks()?.unwrap_or(TASKS));
        let script = slurm.join(format!("{}-{number}.sh", self.work.what()));
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
                    "sbatch refuses {}: {error}\n  change --partition, --account, --time or --sbatch; {} \
                     goes on",
                    script.display(),
                    self.work.resume()
                )));
            }
            self.work.show("waiting for Slurm's controller");
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
            format!("#SBATCH --job-name=xoff-{}", self.work.what()),
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
        let words = std::iter::once(program.display().to_string());
        let words = words.chain(self.work.command(&self.place));
        lines.push(format!(
            "exec {} --worker {number}:\"$SLURM_ARRAY_TASK_ID\":{tasks} --threads \
             \"${{SLURM_CPUS_PER_TASK:-1}}\"",
            words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" "),
        ));
        lines.join("\n") + "\n"
    }

    /// A copy of this program in the shared folder: nodes need not have it.
    fn program(&self, slurm: &Path) -> Result<PathBuf, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::write(format!("cannot find this program: {error}")))?;
        let copy = slurm.join("xoff");
        if !fs::read(&copy).is_ok_and(|there| fs::read(&own).is_ok_and(|own| own == there)) {
            // Moved into its place, because a program that runs cannot be written.
            let beside = slurm.join("xoff.new");
            let copied = fs::copy(&own, &beside).and_then(|_| fs::rename(&beside, &copy));
            copied.map_err(|error| failed(&copy, &error))?;
        }
        Ok(copy)
    }

    /// Waits until all shards are there, the array is gone or the user stops it.
    fn wait(&self, job: &str) -> Result<Ended, Failure> {
        let mut asked = Stopwatch::start();
        let mut words = String::new();
        let mut gone = false;
        loop {
            if self.work.missing().is_empty() {
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
                match queue(job)? {
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
            self.work.show(&words);
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
pub(crate) fn part(folder: &Path, text: &str) -> Result<Vec<String>, Failure> {
    let numbers: Vec<u64> = text.split(':').filter_map(|part| part.parse().ok()).collect();
    let [list, task, tasks] = numbers[..] else {
        return Err(Failure::input("--worker takes LIST:TASK:TASKS, three numbers"));
    };
    let path = folder.join(SLURM).join(list_name(list));
    let text = crate::input::read_text(&path).map_err(Failure::input)?;
    // In turn, so that every task has shards from all over the work.
    let own = text.lines().skip(task as usize).step_by(tasks.max(1) as usize);
    Ok(own.map(str::to_owned).collect())
}

/// Forgets the array that was under way for a folder.
pub(crate) fn forget(folder: &Path) -> Result<(), Failure> {
    let job = folder.join(SLURM).join(JOB);
    match fs::remove_file(&job) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(&job, &error)),
        _ => Ok(()),
    }
}
