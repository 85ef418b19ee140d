//! Slurm's commands, and what they answer.

use crate::clock::Stopwatch;
use crate::exit::Failure;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// What a command of Slurm may take: a controller that restarts answers late.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a program said.
pub(super) struct Answer {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) error: String,
}

/// Runs a program of Slurm, for at most [`PATIENCE`]. None if it did not end.
pub(super) fn ask(command: &mut Command) -> std::io::Result<Option<Answer>> {
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
pub(super) fn not_started(program: &str, error: &std::io::Error) -> Failure {
    Failure::input(format!(
        "cannot start `{program}`: {error}\n  --slurm needs Slurm's commands on this machine; without it \
         everything runs here"
    ))
}

/// Whether an error passes: the controller restarts, or is busy.
pub(super) fn passes(error: &str) -> bool {
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
pub(super) struct Queue {
    /// Tasks by state, and why the first of those that wait does.
    pub(super) states: BTreeMap<String, u64>,
    pub(super) waits_for: Option<String>,
}

impl Queue {
    pub(super) fn words(&self) -> String {
        let each = self.states.iter().map(|(state, count)| {
            let why = self.waits_for.as_ref().filter(|_| state == "PENDING");
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            format!("{count} {}{why}", state.to_lowercase())
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

/// The most tasks that this Slurm has in an array.
pub(super) fn most_tasks() -> Result<Option<u64>, Failure> {
    let answer = ask(Command::new("scontrol").args(["show", "config"]));
    let answer = answer.map_err(|error| not_started("scontrol", &error))?;
    let Some(Answer { out, .. }) = answer else { return Ok(None) };
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "MaxArraySize").then(|| value.trim().parse::<u64>().ok())?
    };
    // The greatest index is one less than this size.
    Ok(out.lines().find_map(value).map(|size| size.saturating_sub(1).max(1)))
}

/// The array in the queue, empty if it is gone; none if the controller does not say.
pub(super) fn queue(job: &str) -> Result<Option<Queue>, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_pass_are_told_from_refusals() {
        for error in [
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
            "slurm_load_jobs error: Socket timed out on send/recv operation",
            "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying",
        ] {
            assert!(passes(error), "{error}");
        }
        assert!(!passes("sbatch: error: invalid partition specified: nowhere"));
    }

    #[test]
    fn a_program_says_what_it_says() {
        let answer = ask(Command::new("sh").args(["-c", "echo out; echo error >&2; exit 3"]));
        let answer = answer.unwrap().unwrap();
        assert_eq!((answer.out.as_str(), answer.error.as_str()), ("out", "error"));
        assert_eq!(answer.status.code(), Some(3));
        let missing = ask(&mut Command::new("no-such-program-of-slurm"));
        assert!(missing.is_err());
    }
}
