//! `xoff completions`: scripts that complete commands, options and file names in a shell.

use super::Cli;
use crate::exit::{Exit, Failure};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

const EXAMPLES: &str = "Examples:
  xoff completions bash > ~/.local/share/bash-completion/completions/xoff
  xoff completions zsh > ~/.zfunc/_xoff
  xoff completions fish > ~/.config/fish/completions/xoff.fish

For zsh the folder must be in `fpath` before `compinit` runs, in ~/.zshrc:
  fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit";

/// Arguments of `xoff completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    // Into memory first: the generator would panic on a pipe whose reader has left.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "xoff", &mut script);
    output::stdout(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
