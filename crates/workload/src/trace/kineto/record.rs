//! [`Record`]: a communication call or kernel, while its file is read.

use super::super::builder::Builder;
use super::super::error::{Outcome, Place, TraceError};
use super::super::names::{self, Call};
use super::super::note::At;
use super::annotation::{self, Annotations};
use super::event::{Arguments, Distributed, Event, Listener, Scalar};
use std::collections::BTreeMap;
use xoff_units::Bytes;

/// A communication call, or a kernel whose call is not there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) call: Call,
    pub(super) bytes: Option<Bytes>,
    /// By its place among the groups of the file.
    pub(super) group: Option<u32>,
    pub(super) peer: Option<u64>,
    /// Microseconds, on the clock of the file.
    pub(super) start: f64,
    pub(super) duration: f64,
    pub(super) stream: Option<u32>,
    /// Ties a kernel to its call.
    external: Option<u64>,
    /// Ties a kernel to its launch.
    pub(super) correlation: Option<u64>,
    /// Whether its times are those of a kernel.
    ran: bool,
    /// Whether arguments say what it does.
    described: bool,
    /// Whether the size is that of its input, by its shape.
    pub(super) by_shape: bool,
    /// Which event of the file it is.
    pub(super) event: u64,
}

impl Record {
    /// A kernel ran for this call: from the first to the last of them, if there are more.
    pub(super) fn ran(&mut self, kernel: &Self) {
        let before = (self.start, self.start + self.duration);
        (self.start, self.duration) = (kernel.start, kernel.duration);
        if std::mem::replace(&mut self.ran, true) {
            let end = before.1.max(kernel.start + kernel.duration);
            self.start = before.0.min(kernel.start);
            self.duration = end - self.start;
        }
        self.stream = kernel.stream;
    }
}

/// A group as calls describe it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    pub(super) name: String,
    pub(super) ranks: Option<String>,
    pub(super) size: Option<u64>,
    first: Option<u64>,
    stride: Option<u64>,
}

impl GroupKey {
    /// Whether there can be so many ranks in it.
    pub(super) fn fits(&self, count: usize) -> bool {
        count > 0 && self.size.is_none_or(|size| size == count as u64)
    }

    /// The ranks of a group that is evenly spread.
    pub(super) fn strided(&self) -> Option<Vec<u64>> {
        /// More than any group has.
        const MOST: u64 = 1 << 20;
        let (first, size) = (self.first?, self.size.filter(|size| *size <= MOST)?);
        let stride = self.stride.unwrap_or(1);
        (0..size).map(|at| first.checked_add(at.checked_mul(stride)?)).collect()
    }
}

/// `[0, 1, 2]`, unless it was shortened (`[0, 1, ..., 63]`).
pub(super) fn rank_list(text: &str) -> Option<Vec<u64>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    if inner.is_empty() {
        return None;
    }
    inner.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// Calls that move no data: the profiler notes them like the others.
const IDLE: [&str; 8] = [
    "wait",
    "init",
    "start_coalescing",
    "end_coalescing",
    "coalesced",
    "pg_init",
    "abort",
    "shutdown",
];

/// Gathers the records of a file.
pub(super) struct Collector<'a> {
    file: &'a str,
    builder: &'a mut Builder,
    what: String,
    calls: Vec<Record>,
    kernels: Vec<Record>,
    annotations: Annotations,
    groups: BTreeMap<GroupKey, u32>,
    /// Bytes of all descriptions of groups.
    described: usize,
    distributed: Distributed,
}

/// Most bytes of all descriptions of groups together.
const MOST_DESCRIBED: usize = 1 << 28;

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a str, builder: &'a mut Builder) -> Self {
        Self {
            file,
            builder,
            what: String::new(),
            calls: Vec::new(),
            kernels: Vec::new(),
            annotations: Annotations::default(),
            groups: BTreeMap::new(),
            described: 0,
            distributed: Distributed::default(),
        }
    }

    /// Gives calls the times of their kernels, and adds the kernels that have none.
    pub(super) fn finish(mut self) -> (Vec<Record>, Vec<GroupKey>, Distributed) {
        let any_calls = self.calls.iter().any(|call| call.described);
        let annotations = std::mem::take(&mut self.annotations);
        if annotations.len() > 0 && !any_calls {
            self.annotated(annotations);
        } else {
            self.tied(any_calls);
        }
        let before = self.calls.len();
        self.calls.retain(|call| call.call != Call::Any || !call.by_shape);
        let at = At { file: self.file, place: Place::File, rank: None };
        for _ in self.calls.len()..before {
            self.builder.notes.skipped("record_param_comms without a name and a kernel", at);
        }
        let mut groups = vec![GroupKey::default(); self.groups.len()];
        for (key, at) in self.groups {
            groups[at as usize] = key;
        }
        (self.calls, groups, self.distributed)
    }

    /// Takes the annotations of an older profile for its calls.
    fn annotated(&mut self, annotations: Annotations) {
        for call in std::mem::take(&mut self.calls) {
            let at = At { file: self.file, place: Place::Event(call.event), rank: None };
            self.builder.notes.skipped("record_param_comms without a name: beside it", at);
        }
        let (calls, left) = annotations.with_kernels(std::mem::take(&mut self.kernels));
        self.calls = calls;
        for kernel in left {
            let at = At { file: self.file, place: Place::Event(kernel.event), rank: None };
            self.builder.notes.skipped("NCCL kernel of no call in particular", at);
        }
    }

    /// Ties kernels to calls by their external id.
    fn tied(&mut self, any_calls: bool) {
        let with_id = self.calls.iter().enumerate();
        let mut by_id: Vec<(u64, usize)> =
            with_id.filter_map(|(at, call)| Some((call.external?, at))).collect();
        by_id.sort_unstable();
        for kernel in std::mem::take(&mut self.kernels) {
            let found = kernel.external.and_then(|id| {
                let at = by_id.partition_point(|(known, _)| *known < id);
                by_id.get(at).filter(|(known, _)| *known == id)
            });
            let at = At { file: self.file, place: Place::Event(kernel.event), rank: None };
            match found {
                Some((_, call)) => {
                    let call = &mut self.calls[*call];
                    if call.call == Call::Any {
                        call.call = kernel.call;
                    }
                    call.ran(&kernel);
                }
                // Calls in a group are launched together, by a kernel that is none of theirs.
                None if any_calls && !kernel.described => {
                    self.builder.notes.skipped("NCCL kernel of no call in particular", at);
                }
                None => self.calls.push(kernel),
            }
        }
    }

    fn record(&mut self, call: Call, index: u64, event: &Event) -> Outcome<Record> {
        let a = &event.arguments;
        let at = At { file: self.file, place: Place::Event(index), rank: None };
        let count = self.calls.len() + self.kernels.len() + self.annotations.len();
        let most = self.builder.limits().operations as usize;
        if count >= most {
            let text =
                format!("more than {most} communication calls; take a shorter part of the run");
            return Err(TraceError::new(self.file, at.place, text));
        }
        if event.start.number().is_none() {
            self.builder.notes.assumed("event without a time", at);
        }
        let described = a.collective.text().is_some();
        let peer = match call {
            Call::Send => a.destination.whole(),
            Call::Receive => a.source.whole(),
            _ => None,
        };
        Ok(Record {
            call,
            bytes: if described { self.size(a, at) } else { self.shaped(a, at) },
            group: if described { Some(self.group(a, at)?) } else { None },
            peer,
            start: event.start.number().unwrap_or(0.0),
            duration: event.duration.number().unwrap_or(0.0),
            stream: a.stream.whole().and_then(|stream| u32::try_from(stream).ok()),
            external: a.external.whole(),
            correlation: annotation::correlation(event),
            ran: false,
            described,
            by_shape: !described && a.shapes.elements.is_some(),
            event: index,
        })
    }

    /// The larger of what goes in and what comes out.
    fn size(&mut self, a: &Arguments, at: At<'_>) -> Option<Bytes> {
        let elements = a.elements_in.whole().into_iter().chain(a.elements_out.whole()).max()?;
        if elements == 0 {
            return Some(Bytes::ZERO);
        }
        let name = a.element.text().unwrap_or("");
        let size = names::torch_type(name);
        if size.is_none() {
            self.builder.notes.unknown(&format!("element type `{name}`"), at);
        }
        Some(size? * elements)
    }

    /// The size of the first input of a call that says no more.
    fn shaped(&mut self, a: &Arguments, at: At<'_>) -> Option<Bytes> {
        let elements = a.shapes.elements?;
        let name = a.types.0.as_deref().unwrap_or("");
        let plain = name.strip_prefix("c10::").unwrap_or(name);
        let size = names::torch_type(plain);
        if size.is_none() && !name.is_empty() {
            self.builder.notes.unknown(&format!("element type `{name}`"), at);
        }
        Some(size? * elements)
    }

    fn group(&mut self, a: &Arguments, at: At<'_>) -> Outcome<u32> {
        let ranks = match &a.group_ranks {
            Scalar::Text(text) => Some(text.clone()),
            Scalar::Ranks(ranks) => Some(format!("{ranks:?}")),
            _ => None,
        };
        let name = match &a.group_name {
            Scalar::Text(text) => text.clone(),
            other => other.whole().map_or(String::new(), |number| number.to_string()),
        };
        let key = GroupKey {
            name,
            ranks,
            size: a.group_size.whole(),
            first: a.first_rank.whole(),
            stride: a.rank_stride.whole(),
        };
        if let Some(known) = self.groups.get(&key) {
            return Ok(*known);
        }
        self.described += key.name.len() + key.ranks.as_ref().map_or(0, String::len);
        if self.described > MOST_DESCRIBED {
            let text = "descriptions of groups of more than 256 MiB in all";
            return Err(TraceError::new(at.file, at.place, text));
        }
        let next = self.groups.len() as u32;
        self.groups.insert(key, next);
        Ok(next)
    }

    fn skip(&mut self, parts: &[&str], index: u64, known: bool) {
        self.what.clear();
        self.what.extend(parts.iter().copied());
        let at = At { file: self.file, place: Place::Event(index), rank: None };
        if known {
            self.builder.notes.skipped(&self.what, at);
        } else {
            self.builder.notes.unknown(&self.what, at);
        }
    }
}

impl Listener for Collector<'_> {
    fn event(&mut self, index: u64, event: &Event) -> Outcome<()> {
        let name = event.name.text().unwrap_or("");
        let category = event.category.text().unwrap_or("");
        if name == "record_param_comms" {
            let Some(collective) = event.arguments.collective.text() else {
                if event.arguments.shapes.elements.is_some() {
                    let record = self.record(Call::Any, index, event)?;
                    self.calls.push(record);
                    return Ok(());
                }
                self.skip(&["record_param_comms without arguments"], index, true);
                return Ok(());
            };
            match names::call(collective) {
                Some(call) if !IDLE.contains(&collective) => {
                    let record = self.record(call, index, event)?;
                    self.calls.push(record);
                }
                _ => self.skip(&["call `", collective, "`"], index, IDLE.contains(&collective)),
            }
        } else if category.eq_ignore_ascii_case("kernel") && is_nccl(name) {
            let collective = event.arguments.collective.text();
            let call = collective.and_then(names::call).or_else(|| names::call(name));
            let record = self.record(call.unwrap_or(Call::Any), index, event)?;
            self.kernels.push(record);
        } else if let Some((call, peer)) = annotation::named(event)
            && let Some(call) = names::call(call)
        {
            let record = self.record(call, index, event)?;
            self.annotations.call(event, Record { peer, ..record });
        } else if category.is_empty() {
            let phase = event.phase.text().unwrap_or("");
            self.skip(&["event of phase `", phase, "`"], index, true);
        } else {
            self.annotations.launch(event);
            self.skip(&["event of category `", category, "`"], index, true);
        }
        Ok(())
    }

    fn distributed(&mut self, distributed: Distributed) {
        self.distributed = distributed;
    }

    fn other(&mut self, key: &str) {
        let at = At { file: self.file, place: Place::File, rank: None };
        self.builder.notes.skipped(&format!("`{key}` of the file"), at);
    }
}

/// Kernels of NCCL and RCCL.
fn is_nccl(name: &str) -> bool {
    name.starts_with("nccl") || name.starts_with("rccl") || name.contains("ncclKernel")
}
