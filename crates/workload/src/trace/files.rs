//! [`read`]: a trace from a file, a folder or a stream.

use super::builder::{Builder, Limits};
use super::error::{Outcome, Place, TraceError};
use super::model::Trace;
use super::note::At;
use super::sniff::{self, Format, Kind};
use super::source::{Source, Watch, Watcher, unreadable};
use super::{chakra, goal, kineto, nccl, simai};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// How to read a trace.
#[derive(Default)]
pub struct Options<'w> {
    /// What it is, where its beginning does not tell.
    pub format: Option<Format>,
    /// What it may hold.
    pub limits: Limits,
    /// The callback that progress is reported to, and that may stop it.
    pub watcher: Option<Watcher<'w>>,
}

/// Most files of a folder.
const MOST_FILES: usize = 1 << 20;

/// Reads a file, or a folder with one per rank.
pub fn read(path: &Path, options: Options<'_>) -> Result<Trace, TraceError> {
    let name = path.display().to_string();
    let failed = |error: &std::io::Error| unreadable(&name, Place::File, error);
    let mut watch = Watch::new(options.watcher);
    let mut reading = Reading::new(options.format, options.limits);
    if fs::metadata(path).map_err(|error| failed(&error))?.is_dir() {
        reading.folder(path, &name, &mut watch)?;
    } else {
        let file = File::open(path).map_err(|error| failed(&error))?;
        let short = path.file_name().map_or(name.clone(), |name| name.to_string_lossy().into());
        reading.one(&short, file, &mut watch)?;
    }
    reading.finish(&name)
}

/// Reads a trace of one file from a stream. Messages call it `name`.
pub fn read_stream(
    name: &str,
    stream: impl Read,
    options: Options<'_>,
) -> Result<Trace, TraceError> {
    let mut watch = Watch::new(options.watcher);
    let mut reading = Reading::new(options.format, options.limits);
    reading.one(name, stream, &mut watch)?;
    reading.finish(name)
}

/// A trace that is being read, file by file.
struct Reading {
    wanted: Option<Format>,
    reader: Option<Reader>,
    builder: Builder,
}

enum Reader {
    Chakra(chakra::Reader),
    Goal,
    SimAi,
    Kineto(kineto::Reader),
    NcclLog(nccl::Reader),
}

impl Reader {
    fn new(format: Format) -> Self {
        match format {
            Format::Chakra => Reader::Chakra(chakra::Reader::default()),
            Format::Goal => Reader::Goal,
            Format::SimAi => Reader::SimAi,
            Format::Kineto => Reader::Kineto(kineto::Reader::default()),
            Format::NcclLog => Reader::NcclLog(nccl::Reader::default()),
        }
    }

    const fn format(&self) -> Format {
        match self {
            Reader::Chakra(_) => Format::Chakra,
            Reader::Goal => Format::Goal,
            Reader::SimAi => Format::SimAi,
            Reader::Kineto(_) => Format::Kineto,
            Reader::NcclLog(_) => Format::NcclLog,
        }
    }
}

impl Reading {
    fn new(wanted: Option<Format>, limits: Limits) -> Self {
        Self { wanted, reader: None, builder: Builder::new(limits) }
    }

    /// Reads the only file of a trace.
    fn one(&mut self, name: &str, file: impl Read, watch: &mut Watch<'_>) -> Outcome<()> {
        let source = Source::open(name, file, watch)?;
        let kind = self.wanted.map_or_else(|| sniff::kind(&source.head), Kind::Trace);
        match kind {
            Kind::Trace(format) => self.file(source, format),
            Kind::Groups => Err(source.error(
                Place::File,
                "process groups without a trace; name the folder that has both",
            )),
            Kind::Empty => Err(source.error(Place::File, "there is nothing in it")),
            Kind::Other(cure) => Err(source.error(Place::File, cure)),
            Kind::Unknown => Err(source.error(Place::File, NOT_RECOGNISED)),
        }
    }

    /// Reads all files of a folder: groups first, then traces by name.
    fn folder(&mut self, path: &Path, name: &str, watch: &mut Watch<'_>) -> Outcome<()> {
        let mut traces = Vec::new();
        let files = list(path, name)?;
        for file in &files {
            let short = short_name(file);
            let source = open(file, &short, watch)?;
            match sniff::kind(&source.head) {
                Kind::Groups if self.wanted.is_none_or(|format| format == Format::Chakra) => {
                    self.groups(source)?;
                }
                Kind::Trace(format) if self.wanted.is_none_or(|wanted| wanted == format) => {
                    traces.push((file, format));
                }
                Kind::Unknown if self.wanted.is_some() && !short.starts_with('.') => {
                    traces.extend(self.wanted.map(|format| (file, format)));
                }
                kind => {
                    let at = At { file: &short, place: Place::File, rank: None };
                    let what = match kind {
                        Kind::Empty => "empty file",
                        _ => "file that is no trace",
                    };
                    self.builder.notes.skipped(what, at);
                }
            }
        }
        let Some((_, format)) = traces.first().copied() else {
            let text = format!("none of its {} files is a trace; {WHAT_IS_READ}", files.len());
            return Err(TraceError::new(name, Place::File, text));
        };
        if let Some((file, other)) = traces.iter().find(|(_, other)| *other != format) {
            let file = short_name(file);
            let text = format!(
                "{format} and {other} files in one folder (`{file}`); name one file, or a format"
            );
            return Err(TraceError::new(name, Place::File, text));
        }
        for (file, format) in traces {
            let source = open(file, &short_name(file), watch)?;
            self.file(source, format)?;
        }
        Ok(())
    }

    fn groups(&mut self, source: Source<'_>) -> Outcome<()> {
        let reader = self.reader.get_or_insert_with(|| Reader::new(Format::Chakra));
        match reader {
            Reader::Chakra(reader) => reader.groups(source, &mut self.builder),
            _ => Ok(()),
        }
    }

    fn file(&mut self, source: Source<'_>, format: Format) -> Outcome<()> {
        // Groups without Chakra traces are used by none.
        let fitting = self.reader.take().filter(|reader| reader.format() == format);
        let again = fitting.is_some();
        let reader = self.reader.insert(fitting.unwrap_or_else(|| Reader::new(format)));
        match reader {
            Reader::Chakra(reader) => reader.file(source, &mut self.builder),
            Reader::Kineto(reader) => reader.file(source, &mut self.builder),
            Reader::NcclLog(reader) => reader.file(source, &mut self.builder),
            Reader::Goal | Reader::SimAi if again => {
                let text = format!("there is another {format} file; name the one that is meant");
                Err(source.error(Place::File, text))
            }
            Reader::Goal => goal::read(source, &mut self.builder),
            Reader::SimAi => simai::read(source, &mut self.builder),
        }
    }

    fn finish(mut self, name: &str) -> Outcome<Trace> {
        let Some(reader) = self.reader else {
            return Err(TraceError::new(name, Place::File, NOT_RECOGNISED));
        };
        let format = reader.format();
        match reader {
            Reader::Chakra(reader) => reader.finish(&mut self.builder, name),
            Reader::Kineto(reader) => reader.finish(&mut self.builder, name)?,
            Reader::NcclLog(reader) => reader.finish(&mut self.builder, name)?,
            Reader::Goal | Reader::SimAi => {}
        }
        Ok(self.builder.finish(format))
    }
}

const WHAT_IS_READ: &str = "known are Chakra .et files and their JSON, GOAL schedules, workloads of \
     SimAI and AICB, PyTorch profiler JSON and NCCL logs";

const NOT_RECOGNISED: &str = "not recognised as a trace; known are Chakra .et files and their JSON, \
     GOAL schedules, workloads of SimAI and AICB, PyTorch profiler JSON and NCCL logs (of a log that \
     begins with other output, say that its format is nccl)";

/// The files of a folder, in an order that does not depend on the file system: shorter names first, so
/// that rank 10 comes after rank 9.
fn list(path: &Path, name: &str) -> Outcome<Vec<PathBuf>> {
    let failed = |error: &std::io::Error| unreadable(name, Place::File, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| failed(&error))? {
        let file = entry.map_err(|error| failed(&error))?.path();
        if file.is_file() {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            let text = format!("more than {MOST_FILES} files");
            return Err(TraceError::new(name, Place::File, text));
        }
    }
    files.sort_by_cached_key(|file| (file.as_os_str().len(), file.clone()));
    Ok(files)
}

fn short_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn open<'s, 'w: 's>(path: &Path, name: &str, watch: &'s mut Watch<'w>) -> Outcome<Source<'s>> {
    let file = File::open(path).map_err(|error| unreadable(name, Place::File, &error))?;
    Source::open(name, file, watch)
}
