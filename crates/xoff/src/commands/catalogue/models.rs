//! Models and GPUs that scenarios can name.

use crate::output::number::{count, large, plain};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::wrap;
use serde_json::{Value, json};
use xoff_workload::training::{DATA_PARALLEL, GPUS, GpuPreset, MODELS, Model, Subject};

/// A model as the catalogue lists it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    parameters: u64,
    /// Those that a token meets, where some are experts of other tokens.
    active: Option<u64>,
    model: Option<Model>,
    /// Tokens of a sequence, or samples at once on each GPU.
    sequence: Option<u32>,
    samples: Option<u32>,
    source: &'static str,
}

/// All models, transformers first.
pub(super) fn all() -> Vec<Entry> {
    let transformers = MODELS.iter().map(|preset| Entry {
        name: preset.name,
        parameters: preset.model.parameters(),
        active: preset.model.experts.map(|_| preset.model.active_parameters()),
        model: Some(preset.model),
        sequence: Some(preset.sequence),
        samples: None,
        source: preset.source,
    });
    let others = DATA_PARALLEL.iter().map(|preset| Entry {
        name: preset.name,
        parameters: match preset.subject {
            Subject::Transformer(model) => model.parameters(),
            Subject::Recommender(model) => model.parameters(),
            Subject::Whole(model) => model.parameters,
        },
        active: None,
        model: None,
        sequence: None,
        samples: Some(preset.samples),
        source: preset.source,
    });
    transformers.chain(others).collect()
}

pub(super) fn table(entries: &[Entry]) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("parameters", Align::Right),
        ("active", Align::Right),
        ("layers", Align::Right),
        ("sequence", Align::Right),
        ("samples", Align::Right),
        ("from", Align::Left),
    ]);
    let some = |number: Option<u64>| number.map_or(String::new(), count);
    for entry in entries {
        table.row([
            entry.name.to_owned(),
            large(entry.parameters as f64),
            entry.active.map_or(String::new(), |active| large(active as f64)),
            some(entry.model.map(|model| model.layers.into())),
            some(entry.sequence.map(Into::into)),
            some(entry.samples.map(Into::into)),
            entry.source.to_owned(),
        ]);
    }
    table
}

/// One model in full.
pub(super) fn page(entry: &Entry, width: usize, style: Style) -> String {
    let mut text = format!("{}  {} parameters", style.bold(entry.name), count(entry.parameters));
    if let Some(active) = entry.active {
        text += &format!(", {} of them active", count(active));
    }
    text.push('\n');
    let mut line = |name: &str, value: u32| text += &format!("  {name} = {value}\n");
    if let Some(model) = entry.model {
        for (name, value) in [
            ("layers", model.layers),
            ("hidden", model.hidden),
            ("heads", model.heads),
            ("kv-heads", model.kv_heads),
            ("ffn", model.ffn),
            ("vocabulary", model.vocabulary),
        ] {
            line(name, value);
        }
        if let Some(experts) = model.experts {
            line("experts", experts.count);
            line("active experts", experts.active);
        }
    }
    entry.sequence.into_iter().for_each(|tokens| line("sequence", tokens));
    entry.samples.into_iter().for_each(|samples| line("samples", samples));
    let source = wrap(entry.source, width.saturating_sub(2).max(20));
    text + &source.iter().map(|line| format!("  {line}\n")).collect::<String>()
}

pub(super) fn json(entry: &Entry) -> Value {
    let shape = entry.model.map(|model| {
        json!({
            "layers": model.layers,
            "hidden": model.hidden,
            "heads": model.heads,
            "kv_heads": model.kv_heads,
            "ffn": model.ffn,
            "vocabulary": model.vocabulary,
            "experts": model.experts.map(|experts| experts.count),
            "active_experts": model.experts.map(|experts| experts.active),
        })
    });
    json!({
        "name": entry.name,
        "parameters": entry.parameters,
        "active_parameters": entry.active,
        "transformer": shape,
        "sequence": entry.sequence,
        "samples": entry.samples,
        "source": entry.source,
    })
}

pub(super) fn gpu_table(gpus: &[&GpuPreset]) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("peak", Align::Right),
        ("reached", Align::Right),
        ("memory", Align::Right),
        ("from", Align::Left),
    ]);
    for preset in gpus {
        let gpu = preset.gpu;
        table.row([
            preset.name.to_owned(),
            format!("{} TFLOP/s", plain(gpu.peak.per_second() as f64 / 1e12)),
            crate::output::number::percent(gpu.efficiency.as_f64()),
            format!("{} GB/s", plain(gpu.memory.bps() as f64 / 8e9)),
            preset.source.to_owned(),
        ]);
    }
    table
}

pub(super) fn gpu_json(preset: &&GpuPreset) -> Value {
    json!({
        "name": preset.name,
        "peak_flops": preset.gpu.peak.per_second(),
        "efficiency": preset.gpu.efficiency.as_f64(),
        "memory_bps": preset.gpu.memory.bps(),
        "source": preset.source,
    })
}

/// All GPUs.
pub(super) fn gpus() -> Vec<&'static GpuPreset> {
    GPUS.iter().collect()
}
