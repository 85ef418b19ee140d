//! Workloads of SimAI and AICB: one program for all ranks, layer by layer.
//!
//! The first line says how the model is parallelised, in one of two ways: a short one
//! (`model_parallel_NPU_group: 8 checkpoints: 0 checkpoint_initiates: 0`), and a long one that adds `ep`,
//! `pp`, `vpp`, `ga` and `all_gpus`. The second counts the layers. Each of those has twelve columns: name,
//! reserved, then compute time, collective and size of the forward pass, of the input gradient
//! and of the weight gradient, and the time of the update.
//!
//! Times are in nanoseconds (SimAI's tick), sizes those of the whole buffer. A collective is
//! tensor-parallel in the forward pass and the input gradient, and data-parallel in the weight gradient,
//! unless it ends in `_EP` or `_DP_EP`. Policies of the first ASTRA-sim that know one group only (`MODEL`, `MICRO`, `ALL`) have all
//! ranks in it.
//!
//! The order is SimAI's: all layers forward, each collective waited for; then backwards the input
//! gradient, waited for, and the weight gradient, whose collective only its own update waits for.

use super::aicb;
use super::builder::{Builder, Link};
use super::error::{Outcome, Place, TraceError};
use super::group::{GroupId, Members};
use super::model::{Basis, Collective, Edge, Effort, Operation, Who, Work};
use super::names::{self, Call};
use super::note::At;
use super::source::{Line, Source};
use xoff_units::{Bytes, Span};

/// Reads a workload.
pub(super) fn read(mut source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
    if aicb::begins(source.head.trim_ascii_start()) {
        return aicb::read(source, builder);
    }
    let name = source.name.clone();
    let mut buffer = Vec::new();
    let mut words = Words { source: &mut source, buffer: &mut buffer, name: &name };
    let header = words.line("the header")?;
    let plan = Plan::read(&header, builder, words.at())?;
    let count = words.line("the number of layers")?;
    let layers = match count.as_slice() {
        [count] => count.parse::<u64>().ok(),
        _ => None,
    };
    let Some(layers) = layers else {
        return Err(words.error("expected the number of layers"));
    };
    // What is said of a huge number is believed once the layers are there.
    let mut read: Vec<Layer> = Vec::new();
    while (read.len() as u64) < layers {
        let Some(row) = words.next()? else {
            let found = read.len();
            return Err(words.error(&format!(
                "the file ends after {found} of the {layers} layers that its second line counts; if these are all of \
                 them, write {found} there"
            )));
        };
        let at = words.at();
        let most = builder.limits().operations;
        if read.len() >= most as usize {
            return Err(words.error(&format!("more than {most} layers")));
        }
        let layer = plan.layer(&row, builder, at)?;
        read.push(layer);
    }
    words.rest(builder)?;
    let mut steps = Steps { builder, links: Vec::new(), count: 0, last: None };
    let at = At { file: &name, place: Place::File, rank: None };
    steps.run(&read, at)?;
    let links = steps.links;
    builder.link(links, &name)?.map_err(|_| TraceError::new(&name, at.place, "a cycle"))
}

/// The words of a file, line by line; lines without any are skipped.
struct Words<'a, 's> {
    source: &'a mut Source<'s>,
    buffer: &'a mut Vec<u8>,
    name: &'a str,
}

impl<'a> Words<'a, '_> {
    fn line(&mut self, expected: &str) -> Outcome<Vec<String>> {
        match self.next()? {
            Some(words) => Ok(words),
            None => Err(self.error(&format!("the file ends where {expected} should be"))),
        }
    }

    fn next(&mut self) -> Outcome<Option<Vec<String>>> {
        loop {
            match self.source.line(self.buffer)? {
                Line::End => return Ok(None),
                Line::TooLong => return Err(self.error("a line of more than 1 MiB")),
                Line::Whole => {}
            }
            let text = String::from_utf8_lossy(self.buffer);
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() {
                return Ok(Some(words));
            }
        }
    }

    fn rest(&mut self, builder: &mut Builder) -> Outcome<()> {
        while self.next()?.is_some() {
            builder.notes.unknown("line after the last layer", self.at());
        }
        Ok(())
    }

    fn at(&self) -> At<'a> {
        At { file: self.name, place: self.source.line_place(), rank: None }
    }

    fn error(&self, message: &str) -> TraceError {
        self.source.line_error(message)
    }
}

/// A group of all ranks, whose number is that of the replicas.
pub(crate) const ALL_RANKS: &str = "all ranks";
const UNKNOWN: &str = "short header: the number of ranks is not known";

/// How the model is parallelised.
struct Plan {
    tensor: GroupId,
    data: GroupId,
    expert: GroupId,
    data_expert: GroupId,
}

/// What a layer does in one of its three passes.
#[derive(Debug, Clone, Copy)]
struct Pass {
    compute: Span,
    collective: Option<Collective>,
}

#[derive(Debug, Clone, Copy)]
struct Layer {
    forward: Pass,
    input_gradient: Pass,
    weight_gradient: Pass,
    update: Span,
    line: Place,
}

impl Plan {
    fn read(header: &[String], builder: &mut Builder, at: At<'_>) -> Outcome<Self> {
        let fail = |text: String| TraceError::new(at.file, at.place, text);
        let number = |name: &str| -> Outcome<Option<u64>> {
            let named = |word: &String| word.strip_suffix(':').unwrap_or(word) == name;
            let Some(found) = header.iter().position(named) else { return Ok(None) };
            let value = header.get(found + 1).and_then(|word| word.parse().ok());
            value.map(Some).ok_or_else(|| fail(format!("expected a number after `{name}`")))
        };
        let policy = header.first().map_or("", String::as_str);
        let tensor = number("model_parallel_NPU_group")?;
        if tensor.is_none() && policy.starts_with("HYBRID_TRANSFORMER") {
            return Err(fail("`model_parallel_NPU_group: N` is missing".into()));
        }
        // Everything is of all ranks, however many there are.
        let open = tensor.is_none() && matches!(policy, "MODEL" | "MICRO" | "ALL");
        if !policy.starts_with("HYBRID_TRANSFORMER") {
            let how = match open {
                true => "of all ranks",
                false => "run like a transformer",
            };
            builder.notes.assumed(&format!("policy {policy}: {how}"), at);
        }
        let tensor = tensor.unwrap_or(1);
        let (expert, pipeline) = (number("ep")?.unwrap_or(1), number("pp")?.unwrap_or(1));
        let ranks = number("all_gpus")?;
        builder.at_least(ranks.unwrap_or(tensor), at)?;
        for name in ["checkpoints", "checkpoint_initiates"] {
            if number(name)?.is_some_and(|count| count > 0) {
                builder.notes.unknown(&format!("`{name}`: recomputed layers"), at);
            }
        }
        if pipeline > 1 {
            builder.notes.skipped("pipeline stages: all ranks run all layers, as in SimAI", at);
        }
        match ranks {
            Some(ranks) => Self::groups([tensor, expert, pipeline], ranks, builder, at),
            None if open => {
                builder.notes.assumed(UNKNOWN, at);
                let all = builder.group(ALL_RANKS, Members::Unknown { size: None }, at)?;
                Ok(Self { tensor: all, data: all, expert: all, data_expert: all })
            }
            None => Self::open_groups(tensor, builder, at),
        }
    }

    /// The short header does not say how many ranks there are beyond a tensor-parallel group.
    fn open_groups(tensor: u64, builder: &mut Builder, at: At<'_>) -> Outcome<Self> {
        builder.notes.assumed(UNKNOWN, at);
        if tensor == 0 {
            let text =
                "a tensor-parallel group of no rank; `model_parallel_NPU_group` is 1 or more";
            return Err(TraceError::new(at.file, at.place, text));
        }
        // Below the limit of ranks, as was checked.
        let members = Members::Every { size: tensor as u32, stride: 1 };
        let mut open = |name| builder.group(name, Members::Unknown { size: None }, at);
        let (data, expert) = (open("data parallel")?, open("expert parallel")?);
        let data_expert = open("data parallel of experts")?;
        let tensor = builder.group("tensor parallel", members, at)?;
        Ok(Self { tensor, data, expert, data_expert })
    }

    /// Tensor-parallel groups are neighbours, expert-parallel ones those of neighbouring
    /// tensor-parallel groups, data-parallel ones what is left.
    fn groups(sizes: [u64; 3], ranks: u64, builder: &mut Builder, at: At<'_>) -> Outcome<Self> {
        let [tensor, expert, pipeline] = sizes;
        let model = tensor.checked_mul(pipeline).filter(|model| *model > 0);
        let data = model.filter(|model| ranks.is_multiple_of(*model)).map(|model| ranks / model);
        let outer = data.filter(|data| expert > 0 && data.is_multiple_of(expert));
        let (Some(data), Some(outer)) = (data, outer.map(|data| data / expert)) else {
            let text = format!(
                "{ranks} GPUs cannot be cut into tensor-parallel groups of {tensor}, {pipeline} \
                 pipeline stages and expert-parallel groups of {expert}"
            );
            return Err(TraceError::new(at.file, at.place, text));
        };
        let mut group = |name: &str, size: u64, stride: u64| {
            // All below the limit of ranks, as their product is.
            let members = Members::Every { size: size as u32, stride: stride as u32 };
            builder.group(name, members, at)
        };
        Ok(Self {
            tensor: group("tensor parallel", tensor, 1)?,
            data: group("data parallel", data, tensor)?,
            expert: group("expert parallel", expert, tensor)?,
            data_expert: group("data parallel of experts", outer, tensor * expert)?,
        })
    }

    fn layer(&self, row: &[String], builder: &mut Builder, at: At<'_>) -> Outcome<Layer> {
        const COLUMNS: usize = 12;
        if row.len() < COLUMNS {
            let text = format!("{} columns; a layer has {COLUMNS}", row.len());
            return Err(TraceError::new(at.file, at.place, text));
        }
        if row.len() > COLUMNS {
            builder.notes.unknown("columns of a layer after the twelfth", at);
        }
        if !matches!(row[1].as_str(), "-1" | "0") {
            builder.notes.skipped("dependency in the reserved second column", at);
        }
        let forward = self.pass(&row[2..5], self.tensor, builder, at)?;
        let input_gradient = self.pass(&row[5..8], self.tensor, builder, at)?;
        let weight_gradient = self.pass(&row[8..11], self.data, builder, at)?;
        let update = nanoseconds(&row[11], at)?;
        Ok(Layer { forward, input_gradient, weight_gradient, update, line: at.place })
    }

    fn pass(
        &self,
        columns: &[String],
        plain: GroupId,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<Pass> {
        let [compute, name, size] = columns else {
            return Err(TraceError::new(at.file, at.place, "a pass has three columns"));
        };
        let compute = nanoseconds(compute, at)?;
        let bytes = Bytes::new(whole(size, "a size in bytes", at)?);
        if name == "DATA_REORDER" {
            builder.notes.skipped("data reordered on each GPU, which sends nothing", at);
            return Ok(Pass { compute, collective: None });
        }
        if name == "NONE" {
            if !bytes.is_zero() {
                builder.notes.skipped("size without a collective", at);
            }
            return Ok(Pass { compute, collective: None });
        }
        let group = if name.ends_with("_DP_EP") {
            self.data_expert
        } else if name.ends_with("_EP") {
            self.expert
        } else {
            plain
        };
        let both = name.starts_with("ALLREDUCEALLTOALL");
        let collective = match names::call(name) {
            Some(Call::Collective(kind)) if !both => Some(Collective {
                kind,
                group,
                bytes: Some(bytes),
                basis: Basis::Buffer,
                root: None,
            }),
            _ => {
                builder.notes.unknown(&format!("collective `{name}`"), at);
                None
            }
        };
        Ok(Pass { compute, collective })
    }
}

fn whole(word: &str, what: &str, at: At<'_>) -> Outcome<u64> {
    let short: String = word.chars().take(40).collect();
    let wrong = |_| TraceError::new(at.file, at.place, format!("`{short}` is not {what}"));
    word.parse().map_err(wrong)
}

fn nanoseconds(word: &str, at: At<'_>) -> Outcome<Span> {
    Ok(Span::from_ns(1) * whole(word, "a time in nanoseconds", at)?)
}

/// The operations of a step, in order.
struct Steps<'b> {
    builder: &'b mut Builder,
    links: Vec<Link>,
    count: u32,
    /// What the next operation waits for.
    last: Option<u32>,
}

impl Steps<'_> {
    fn run(&mut self, layers: &[Layer], at: At<'_>) -> Outcome<()> {
        for layer in layers {
            let at = At { place: layer.line, ..at };
            self.pass(layer.forward, at)?;
        }
        for layer in layers.iter().rev() {
            let at = At { place: layer.line, ..at };
            self.pass(layer.input_gradient, at)?;
            self.compute(layer.weight_gradient.compute, at)?;
            let main = self.last;
            if let Some(collective) = layer.weight_gradient.collective {
                self.push(Work::Collective(collective), at)?;
                self.compute(layer.update, at)?;
            }
            self.last = main;
        }
        Ok(())
    }

    fn pass(&mut self, pass: Pass, at: At<'_>) -> Outcome<()> {
        self.compute(pass.compute, at)?;
        match pass.collective {
            Some(collective) => self.push(Work::Collective(collective), at),
            None => Ok(()),
        }
    }

    fn compute(&mut self, span: Span, at: At<'_>) -> Outcome<()> {
        if span.is_zero() {
            return Ok(());
        }
        self.push(Work::Compute(Effort { span, ..Effort::default() }), at)
    }

    fn push(&mut self, work: Work, at: At<'_>) -> Outcome<()> {
        let operation = Operation { who: Who::Every, work, stream: None, measured: None };
        self.builder.push(operation, at)?;
        let from = self.count;
        self.links.extend(self.last.map(|on| Link { from, on, edge: Edge::Control }));
        (self.count, self.last) = (from + 1, Some(from));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
