//! `xoff tune`: the values of a fabric's knobs that suit its workloads.

mod advised;
mod arguments;
mod change;
mod folder;
mod screen;
mod source;
mod work;

use crate::commands::run::quoted;
use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::diagnostics::Findings;
use crate::output::files::Earlier;
pub(crate) use arguments::Args;
use folder::Folder;
use source::Source;
use std::path::{Path, PathBuf};
use work::Local;
use xoff_tune::page::{Material, page};
use xoff_tune::search::{self, Found};
use xoff_tune::{Answer, Verdict};

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen();
    let source = source::open(args, &interrupt)?;
    for note in &source.notes {
        say(Level::Note, note);
    }
    if args.dry_run {
        return screen::dry_run(args, &source);
    }
    let folder = open_folder(args, &source)?;
    let mut local = Local::new(&source, &folder, args.threads, &interrupt, args.json)?;
    let found = match args.random {
        Some(count) => search::random(&source.plan, &mut local, count),
        None => search::search(&source.plan, &mut local),
    };
    let done = local.finish()?;
    let Some(found) = found else {
        return Err(folder.interrupted(done, &source, &args.command(Some("--resume"))));
    };
    conclude(args, &source, &folder, &found)
}

fn open_folder(args: &Args, source: &Source) -> Result<Folder, Failure> {
    let path = args.out.clone().unwrap_or_else(|| Path::new("tunes").join(plain(&source.name)));
    let earlier = Earlier::of(args.resume, args.fresh);
    Folder::open(&path, source, earlier)
}

/// Writes table, page and advised files, and says what was found.
fn conclude(args: &Args, source: &Source, folder: &Folder, found: &Found) -> Result<Exit, Failure> {
    let answer = Answer::of(&source.plan, found);
    folder.table(&source.plan, found)?;
    let command = args.command(None);
    let material = Material {
        name: &source.name,
        plan: &source.plan,
        found,
        answer: &answer,
        command: &command,
        key: &source.key,
        version: env!("CARGO_PKG_VERSION"),
    };
    folder.write(folder::PAGE, page(&material).html().as_bytes())?;
    let advised = match answer.advised {
        Some(point) => {
            let places = &found.points[point].places;
            advised::write(source, folder, places, &answer, &command)?
        }
        None => advised::Advised::none(folder)?,
    };
    let summary = screen::Summary::new(source, folder, &answer, advised);
    folder.write(folder::SUMMARY, output::json(&summary)?.as_bytes())?;
    summary.show(args.json)?;
    Ok(if answer.verdict == Verdict::NoneFound { Exit::BrokeARule } else { Exit::Fine })
}

/// Reads a tune file for `xoff check`.
pub(crate) fn check(path: &Path) -> Result<(Option<String>, Findings), Failure> {
    source::check(path)
}

/// A name as that of a folder.
fn plain(name: &str) -> String {
    let word = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(word).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "tune".to_owned() } else { name.to_owned() }
}

impl Args {
    /// The command that repeats the tuning, with one more argument.
    fn command(&self, more: Option<&str>) -> String {
        let word = |path: &PathBuf| quoted(&path.display().to_string());
        let mut words = vec!["xoff tune".to_owned()];
        words.extend(self.files.iter().map(word));
        words.extend(self.own_words());
        words.extend(more.map(str::to_owned));
        if let Some(out) = &self.out {
            words.push(format!("--out {}", word(out)));
        }
        words.join(" ")
    }
}
