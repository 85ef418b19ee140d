//! How the program ends: [`Exit`] codes, and [`Failure`] with what there is to say.

use crate::output::{stderr, style::Style};
use std::process::ExitCode;

/// An exit code, as `--help` documents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine.
    Fine,
    /// The run did something its scenario does not allow.
    BrokeARule,
    /// Bad usage or a bad file.
    BadInput,
    /// Results could not be written.
    CannotWrite,
    /// Somebody stopped it.
    Interrupted,
}

/// The codes, for the end of every `--help`.
pub(crate) const CODES: &str = "Exit codes:
  0    fine
  1    the run broke a rule: a lossless drop, a deadlock, unfinished or
       failed flows that the scenario does not allow
  2    bad usage or a bad file
  3    results could not be written
  130  interrupted";

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::BrokeARule => 1,
            Exit::BadInput => 2,
            Exit::CannotWrite => 3,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What to say; nothing when everything has been said.
    message: Option<String>,
}

impl Failure {
    /// Bad usage or a bad file.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self { exit: Exit::BadInput, message: Some(message.into()) }
    }

    /// What was attempted did not go well.
    pub(crate) fn rule(message: impl Into<String>) -> Self {
        Self { exit: Exit::BrokeARule, message: Some(message.into()) }
    }

    /// Results could not be written.
    pub(crate) fn write(message: impl Into<String>) -> Self {
        Self { exit: Exit::CannotWrite, message: Some(message.into()) }
    }

    /// A bad file whose diagnostics are on the screen already.
    pub(crate) fn shown() -> Self {
        Self { exit: Exit::BadInput, message: None }
    }

    /// An end about which everything has been said.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { exit, message: None }
    }

    /// Tells the user.
    pub(crate) fn show(&self) {
        if let Some(message) = &self.message {
            say(Level::Error, message);
        }
    }
}

impl From<xoff_telemetry::RunError> for Failure {
    fn from(error: xoff_telemetry::RunError) -> Self {
        Failure::write(error.to_string())
    }
}

/// How much a line on standard error matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The command failed because of it.
    Error,
    /// Worth a look.
    Warning,
    /// Good to know.
    Note,
}

/// One line (or a few) on standard error.
pub(crate) fn say(level: Level, message: &str) {
    let style = Style::stderr();
    let word = match level {
        Level::Error => style.red("error"),
        Level::Warning => style.yellow("warning"),
        Level::Note => style.cyan("note"),
    };
    stderr(&format!("{word}: {}\n", crate::output::printable(message)));
}
