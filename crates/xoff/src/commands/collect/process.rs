//! A program that is given so much time and may say so much: [`run`]. Whatever happens, nothing of it is left behind.

use crate::clock::Stopwatch;
use crate::interrupt::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How it ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// Its time was over.
    TimedOut,
    /// It said too much.
    TooMuch,
    /// The user stopped everything.
    Interrupted,
    /// It could not be started, or watched.
    Failed(io::Error),
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) end: End,
    pub(super) stdout: Vec<u8>,
    /// The end of what it complained about.
    pub(super) stderr: Vec<u8>,
}

/// What it may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) time: Duration,
    pub(super) bytes: usize,
}

/// How often interrupts and the time are looked at.
const TICK: Duration = Duration::from_millis(40);

/// What has left the group and holds a pipe open is waited for no longer than this.
const GRACE: Duration = Duration::from_millis(500);

/// As much of the complaints as is kept.
const MOST_COMPLAINTS: usize = 64 << 10;

/// A child in a process group of its own, which ends with this value.
struct Group(Child);

impl Group {
    /// Whether it has ended. It stays a zombie, so that its number is not given to another process before its group
    /// is ended.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.0)), options)?.is_some())
    }

    /// Ends all of it; how the child itself ended.
    fn end(&mut self) -> io::Result<End> {
        // Nothing is left to end where the group is gone already.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let status = self.0.wait()?;
        let signal = || status.signal().map_or(End::Code(-1), End::Signal);
        Ok(status.code().map_or_else(signal, End::Code))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After `end` the child is reaped, and its number may be another's: only one that still runs is ended.
        if let Ok(None) = self.0.try_wait() {
            let _ = self.end();
        }
    }
}

/// Runs a program with `input` on its standard input.
pub(super) fn run(
    command: &mut Command,
    input: Option<&str>,
    limits: Limits,
    interrupt: &Interrupt,
) -> Outcome {
    let mut outcome = Outcome { end: End::Interrupted, stdout: Vec::new(), stderr: Vec::new() };
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let clock = Stopwatch::start();
    match command.spawn() {
        Ok(child) => {
            let mut group = Group(child);
            let watched = watch(&mut group, input, limits, interrupt, &clock, &mut outcome);
            let ended = group.end();
            outcome.end = match (watched, ended) {
                (Ok(Some(end)), _) => end,
                (Ok(None), Ok(end)) => end,
                (Err(error), _) | (_, Err(error)) => End::Failed(error),
            };
        }
        Err(error) => outcome.end = End::Failed(error),
    }
    outcome
}

/// Reads what it says until it ends; why it must be ended, if it must.
fn watch(
    group: &mut Group,
    input: Option<&str>,
    limits: Limits,
    interrupt: &Interrupt,
    clock: &Stopwatch,
    outcome: &mut Outcome,
) -> io::Result<Option<End>> {
    if let (Some(text), Some(mut pipe)) = (input, group.0.stdin.take()) {
        // It fits a pipe's buffer, so that nothing waits here; a child that is gone already is noticed below.
        let _ = pipe.write_all(text.as_bytes());
    }
    let (mut stdout, mut stderr) = (group.0.stdout.take(), group.0.stderr.take());
    let mut ended: Option<Duration> = None;
    loop {
        if interrupt.requested() {
            return Ok(Some(End::Interrupted));
        }
        let now = clock.elapsed();
        if now >= limits.time {
            return Ok(Some(End::TimedOut));
        }
        if ended.is_none() && group.has_ended()? {
            ended = Some(now);
        }
        let silent = stdout.is_none() && stderr.is_none();
        if ended.is_some_and(|at| silent || now - at >= GRACE) {
            return Ok(None);
        }
        if silent {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        let (says, complains) = ready(stdout.as_ref(), stderr.as_ref(), TICK)?;
        if says && !take(&mut stdout, &mut outcome.stdout)? {
            stdout = None;
        }
        if complains && !take(&mut stderr, &mut outcome.stderr)? {
            stderr = None;
        }
        if outcome.stdout.len() > limits.bytes {
            return Ok(Some(End::TooMuch));
        }
        let excess = outcome.stderr.len().saturating_sub(MOST_COMPLAINTS);
        outcome.stderr.drain(..excess);
    }
}

/// Waits until one of the pipes has something, or its end.
fn ready(
    stdout: Option<&impl AsFd>,
    stderr: Option<&impl AsFd>,
    most: Duration,
) -> io::Result<(bool, bool)> {
    let first = stdout.map(|pipe| PollFd::new(pipe, PollFlags::IN));
    let second = stderr.map(|pipe| PollFd::new(pipe, PollFlags::IN));
    let both = (first.is_some(), second.is_some());
    let mut pipes: Vec<PollFd<'_>> = first.into_iter().chain(second).collect();
    let time = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
    match poll(&mut pipes, Some(&time)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok((false, false)),
        Err(error) => return Err(error.into()),
    }
    let mut ready = pipes.iter().map(|pipe| !pipe.revents().is_empty());
    let first = both.0 && ready.next().unwrap_or(false);
    Ok((first, both.1 && ready.next().unwrap_or(false)))
}

/// Reads once from a pipe that has something; whether it is still open.
fn take(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(false) };
    let mut buffer = [0; 1 << 16];
    match pipe.read(&mut buffer) {
        Ok(0) => Ok(false),
        Ok(read) => {
            into.extend_from_slice(&buffer[..read]);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: Option<&str>, seconds: f64, bytes: usize) -> Outcome {
        let limits = Limits { time: Duration::from_secs_f64(seconds), bytes };
        run(Command::new("sh").args(["-c", script]), input, limits, &Interrupt::default())
    }

    #[test]
    fn what_it_says_and_how_it_ends() {
        let out = shell("cat; echo no >&2; exit 3", Some("hello"), 20.0, 1 << 20);
        assert!(matches!(out.end, End::Code(3)), "{out:?}");
        assert_eq!((out.stdout, out.stderr), (b"hello".to_vec(), b"no\n".to_vec()));
        assert!(matches!(shell("kill -9 $$", None, 20.0, 9).end, End::Signal(9)));
        let none = run(
            &mut Command::new("/nowhere/ssh"),
            None,
            Limits { time: Duration::from_secs(1), bytes: 1 },
            &Interrupt::default(),
        );
        assert!(matches!(none.end, End::Failed(_)));
    }

    /// Whether a process ends within seconds: a signal takes its time, and a zombie waits for its new parent.
    fn is_gone(pid: &str) -> bool {
        let ended = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => stat.contains(") Z ") || stat.contains(") X "),
            Err(_) => true,
        };
        (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            ended()
        })
    }

    /// One that hangs, with children of its own, one that talks without end, and one whose child holds the pipe.
    #[test]
    fn limits_are_kept_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let hang = format!("sleep 300 & echo $! > {}; wait", pid.display());
        let clock = Stopwatch::start();
        assert!(matches!(shell(&hang, None, 2.0, 1).end, End::TimedOut));
        assert!(clock.seconds() < 10.0);
        let child = std::fs::read_to_string(&pid).unwrap();
        assert!(is_gone(child.trim()), "{child}: its child still runs");
        let flood = shell("yes", None, 20.0, 1 << 20);
        assert!(matches!(flood.end, End::TooMuch));
        assert!(flood.stdout.len() < 2 << 20);
        let held = shell("sleep 300 & exit 0", None, 20.0, 1);
        assert!(matches!(held.end, End::Code(0)), "{held:?}");
        assert!(clock.seconds() < 25.0);
    }

    #[test]
    fn an_interrupt_ends_it() {
        let interrupt = Interrupt::default();
        interrupt.flag().store(true, std::sync::atomic::Ordering::Relaxed);
        let limits = Limits { time: Duration::from_secs(60), bytes: 1 };
        let out = run(Command::new("sleep").arg("300"), None, limits, &interrupt);
        assert!(matches!(out.end, End::Interrupted));
    }
}
