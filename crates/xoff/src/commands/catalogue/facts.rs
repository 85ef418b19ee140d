//! One NIC, or one set of DCQCN constants: every default with where it is from and how sure it is.

use crate::output::number::{rate, time};
use crate::output::style::Style;
use crate::output::wrap;
use serde_json::{Value, json};
use xoff_fabric::catalogue::{DcqcnSet, Fact, NicModel};

/// What a NIC is and does unless a file says otherwise.
pub(super) fn nic(model: &NicModel, width: usize, style: Style) -> String {
    let ports = if model.ports == 1 { "1 port" } else { "2 ports" };
    let mut text = format!(
        "{}  {}, {}, {ports} of {} lanes, latency {}, {} ({})\n",
        style.bold(&model.name),
        model.vendor,
        rate(model.rate),
        model.lanes,
        time(model.latency),
        super::watts(model.power),
        super::source(model.source),
    );
    text += &format!("places packets that arrive out of order: {}\n", model.placement.name());
    text += "\nDefaults of [transport]; a file changes any of them\n";
    text += &list(model.transport.iter(), width, style);
    if let Some(set) = set_of(model) {
        text += &format!("\nIts DCQCN constants: {} ({})\n", set.name, set.about);
        text += &list(set.facts(), width, style);
    }
    text
}

/// What is in a set of DCQCN constants.
pub(super) fn set(set: &DcqcnSet, width: usize, style: Style) -> String {
    let title = format!("{}  {} ({})\n", style.bold(set.name), set.about, set.source());
    title + &list(set.facts(), width, style)
}

fn list<'a>(facts: impl Iterator<Item = &'a Fact>, width: usize, style: Style) -> String {
    facts.fold(String::new(), |text, fact| {
        let head = format!("  {} = {}", fact.key, fact.value);
        let from = format!("{}: {}", fact.confidence.name(), fact.source);
        let lines = wrap(&from, width.saturating_sub(6).max(20));
        let lines: String = lines.iter().map(|line| format!("      {line}\n")).collect();
        text + &style.bold(&head) + "\n" + &lines
    })
}

/// The named set that a NIC uses.
fn set_of(model: &NicModel) -> Option<&'static DcqcnSet> {
    let fact = model.transport.iter().find(|fact| fact.key == "congestion")?;
    let table: toml::Table = format!("congestion = {}", fact.value).parse().ok()?;
    DcqcnSet::named(table.get("congestion")?.get("preset")?.as_str()?)
}

pub(super) fn fact_json(fact: &Fact) -> Value {
    json!({
        "key": format!("transport.{}", fact.key),
        "value": fact.value,
        "confidence": fact.confidence.name(),
        "source": fact.source,
    })
}

pub(super) fn set_json(set: &DcqcnSet) -> Value {
    json!({
        "name": set.name,
        "about": set.about,
        "source": set.source(),
        "constants": set.facts().map(fact_json).collect::<Vec<_>>(),
    })
}
