//! `xoff man`: manual pages of the program and its commands.

use super::Cli;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::output::files::{self, Replace};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  xoff man > xoff.1 && man ./xoff.1
  xoff man --out ~/.local/share/man/man1 && man xoff-run

Without --out the page of xoff itself is printed; with it, that page and one
per command are written: xoff.1, xoff-run.1 and so on.";

/// Arguments of `xoff man`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for all pages
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.out else {
        output::stdout(&page(&command)?)?;
        return Ok(Exit::Fine);
    };
    let mut pages = Vec::new();
    let mut open = vec![&command];
    while let Some(command) = open.pop() {
        let name = command.get_display_name().unwrap_or(command.get_name());
        pages.push((format!("{name}.1"), page(command)?));
        open.extend(command.get_subcommands().filter(|command| !command.is_hide_set()));
    }
    let pages: Vec<(&str, &str)> = pages.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    // Pages of another version are replaced: nobody edits what is generated.
    files::write(folder, &pages, Replace::Own(|there| there.contains(".TH xoff")))?;
    Ok(Exit::Fine)
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    // The crate would fill examples and tables like running text, so they are laid in by hand.
    Man::new(command.clone().after_help(Resettable::Reset))
        .render(&mut page)
        .map_err(|error| Failure::write(format!("cannot make a manual page: {error}")))?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if let Some(text) = command.get_after_help() {
        page += &verbatim("NOTES", &text.to_string());
    }
    Ok(page)
}

/// A section whose lines stay as they are.
fn verbatim(heading: &str, text: &str) -> String {
    let mut section = format!(".SH {heading}\n.nf\n");
    for line in text.lines() {
        // A dot or an apostrophe at the start of a line would be a request.
        section += if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        section += &line.replace('\\', "\\e").replace('-', "\\-");
        section.push('\n');
    }
    section + ".fi\n"
}
