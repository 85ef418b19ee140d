//! Collecting from one device: every ask of its system in turn, within its time.

use super::cause::{self, Cause};
use super::process::{self, End, Limits, Outcome};
use super::ssh::Ssh;
use crate::clock::{self, Stopwatch};
use crate::interrupt::Interrupt;
use serde::Serialize;
use xoff_config::inventory::{Ask, NOT_READ, Target, asks, redact};
use xoff_config::place::FileId;
use xoff_config::system::Input;
use xoff_config::{Device, SystemId};
use xoff_watch::time::Clock;

/// What became of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Its files are in the folder.
    Collected,
    /// They are not.
    Failed,
    /// The user did not wait for it.
    Interrupted,
}

/// What a device was asked, and what of it is worth saying.
#[derive(Debug, Default, Serialize)]
pub(super) struct Collected {
    pub(super) asked: Vec<Asked>,
    /// What the device calls itself, where that is not its name in the inventory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) calls_itself: Option<String>,
    /// What the answer looks like, where that is not what the inventory says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) looks_like: Option<&'static str>,
    /// Files of an earlier time that are still in the folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) kept: Vec<String>,
}

/// One command.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    pub(super) what: &'static str,
    pub(super) command: &'static str,
    pub(super) began: String,
    pub(super) seconds: f64,
    /// What it ended with; nothing where it was ended.
    pub(super) code: Option<i32>,
    pub(super) bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    /// Lines in which secrets were masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) masked_lines: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// What came of a device.
pub(super) struct Result {
    pub(super) state: State,
    pub(super) cause: Option<Cause>,
    pub(super) collected: Collected,
    /// Files and what belongs into them, until they are written.
    pub(super) files: Vec<(String, String)>,
    /// How many files were written, and of what size together.
    pub(super) written: (usize, usize),
}

/// How devices are asked.
pub(super) struct Asking<'a> {
    pub(super) ssh: &'a Ssh,
    pub(super) interrupt: &'a Interrupt,
    /// The most bytes that a device may answer.
    pub(super) bytes: usize,
    pub(super) redact: bool,
}

impl Asking<'_> {
    /// Asks a device everything.
    pub(super) fn collect(&self, target: &Target) -> Result {
        let clock = Stopwatch::start();
        let mut result = Result {
            state: State::Collected,
            cause: None,
            collected: Collected::default(),
            files: Vec::new(),
            written: (0, 0),
        };
        let mut bytes = self.bytes;
        for ask in asks(target.system) {
            let answer = self.ask(target, ask, &clock, &mut bytes, &mut result.collected.asked);
            match answer {
                Ok(text) => self.keep(target, ask, &text, &mut result),
                Err((End::Interrupted, _)) => {
                    result.state = State::Interrupted;
                    break;
                }
                Err((_, cause)) if ask.needed => {
                    result.state = State::Failed;
                    result.cause = Some(cause);
                    break;
                }
                // What people look up beside it may be missing; the record says so.
                Err(_) => {}
            }
        }
        if result.state != State::Collected {
            result.files.clear();
            result.collected.asked.iter_mut().for_each(|asked| asked.file = None);
        }
        result
    }

    /// Asks one thing, in every form there is; the answer, or the last failure.
    fn ask(
        &self,
        target: &Target,
        ask: &Ask,
        clock: &Stopwatch,
        bytes: &mut usize,
        asked: &mut Vec<Asked>,
    ) -> std::result::Result<String, (End, Cause)> {
        let mut failure = (End::Interrupted, Cause::new("interrupted", "run the command again"));
        for command in ask.commands {
            let time = self.ssh.timeout.saturating_sub(clock.elapsed());
            let own = Stopwatch::start();
            let began = Clock::Wall.exact(clock::now());
            let mut ssh = self.ssh.command(target, command);
            let limits = Limits { time, bytes: *bytes };
            let outcome = process::run(&mut ssh, ask.input, limits, self.interrupt);
            let text = plain(&outcome.stdout);
            *bytes = bytes.saturating_sub(outcome.stdout.len());
            let connection = cause::of_connection(self.ssh, target, &outcome);
            let unreached = connection.is_some();
            let cause = connection.or_else(|| cause::of_answer(command, &outcome, &text));
            asked.push(Asked {
                what: ask.what,
                command,
                began,
                seconds: rounded(own.seconds()),
                code: code(&outcome),
                bytes: outcome.stdout.len(),
                file: None,
                masked_lines: None,
                error: cause.as_ref().map(|cause| cause.message.clone()),
            });
            match cause {
                None => return Ok(text),
                Some(cause) => failure = (outcome.end, cause),
            }
            if unreached {
                break;
            }
        }
        Err(failure)
    }

    /// Takes an answer into the files of a device.
    fn keep(&self, target: &Target, ask: &Ask, text: &str, result: &mut Result) {
        let (text, masked) = match self.redact {
            true => redact(text),
            false => (text.to_owned(), 0),
        };
        let name = format!("{}{}", target.name, ask.ending);
        if let Some(asked) = result.collected.asked.last_mut() {
            asked.file = Some(name.clone());
            asked.masked_lines = self.redact.then_some(masked);
        }
        if ask.needed {
            look(target, &text, &mut result.collected);
        }
        let text = if ask.read { text } else { format!("# {NOT_READ}\n{text}") };
        result.files.push((name, text));
    }
}

/// What an answer says of the device that gave it.
fn look(target: &Target, text: &str, collected: &mut Collected) {
    let Some(system) = SystemId::recognise(text) else {
        collected.looks_like = Some("nothing that is known");
        return;
    };
    if system.family() != target.system {
        collected.looks_like = Some(system.family().name());
        return;
    }
    let input = Input { name: &target.name, file: FileId(0), text };
    let device: Device = system.system().parse(&input);
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    // One that the inventory knows by its address has no other name there.
    let address = target.name.parse::<std::net::IpAddr>().is_ok();
    if !address && short(&device.name) != short(&target.name) {
        collected.calls_itself = Some(device.name);
    }
}

/// Text with the line ends of this side.
fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "")
}

fn code(outcome: &Outcome) -> Option<i32> {
    match outcome.end {
        End::Code(code) => Some(code),
        _ => None,
    }
}

/// Milliseconds are enough.
pub(super) fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}
