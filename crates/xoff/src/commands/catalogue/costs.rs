//! Named costs of collectives, each with its error against what was published of its system.

use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::wrap;
use serde_json::{Value, json};
use xoff_fabric::catalogue::CollectiveProfile;
use xoff_workload::calibrate::ProfileError;

/// The columns of errors, by sizes.
const BANDS: [&str; 3] = ["< 1 MiB", "to 64 MiB", "> 64 MiB"];

pub(super) fn table<'a>(profiles: impl Iterator<Item = &'a CollectiveProfile>) -> Table {
    let right = |name| (name, Align::Right);
    let [small, middle, large] = BANDS.map(right);
    let columns =
        [("name", Align::Left), right("channels"), small, middle, large, ("from", Align::Left)];
    let mut table = Table::new(&columns);
    for profile in profiles {
        let errors: Vec<&ProfileError> = ProfileError::of(&profile.name).collect();
        let [small, middle, large] = span(&errors);
        table.row([
            profile.name.clone(),
            channels(profile),
            small,
            middle,
            large,
            profile.source.clone(),
        ]);
    }
    table
}

/// One profile in full.
pub(super) fn page(profile: &CollectiveProfile, width: usize, style: Style) -> String {
    let mut text = format!("{}  channels {}\n", style.bold(&profile.name), channels(profile));
    for line in wrap(&profile.source, width.saturating_sub(2).max(20)) {
        text += &format!("  {line}\n");
    }
    text += "\nCosts; what is not listed is as in `measured`\n";
    let costs = toml::Table::try_from(profile.cost).unwrap_or_default();
    for (key, value) in &costs {
        text += &format!("  {key} = {value}\n");
    }
    if costs.is_empty() {
        text += "  all are\n";
    }
    let right = |name| (name, Align::Right);
    let [small, middle, large] = BANDS.map(right);
    let mut table = Table::new(&[("published series", Align::Left), small, middle, large]);
    for error in ProfileError::of(&profile.name) {
        let [small, middle, large] = span(&[error]);
        table.row([error.series.to_owned(), small, middle, large]);
    }
    text + "\nMean error against what was published, by size\n" + &table.render(width, style)
}

pub(super) fn json(profile: &CollectiveProfile) -> Value {
    let error = |error: &ProfileError| {
        json!({
            "series": error.series,
            "below_1mib_factor": error.small,
            "1mib_to_64mib": error.middle,
            "above_64mib": error.large,
        })
    };
    json!({
        "name": profile.name,
        "source": profile.source,
        "channels": profile.channels,
        "cost": profile.cost,
        "errors": ProfileError::of(&profile.name).map(error).collect::<Vec<_>>(),
    })
}

fn channels(profile: &CollectiveProfile) -> String {
    profile.channels.map_or("by rule".to_owned(), |number| number.to_string())
}

/// The errors of all series, from the least to the most, band by band.
fn span(errors: &[&ProfileError]) -> [String; 3] {
    let shares = |of: fn(&ProfileError) -> Option<f64>| {
        let found = errors.iter().filter_map(|error| of(error));
        let (least, most) = found.fold((f64::MAX, f64::MIN), |(a, b), e| (a.min(e), b.max(e)));
        (least <= most).then_some((least, most))
    };
    let text = |range: Option<(f64, f64)>, scale: f64, digits: usize| match range {
        None => String::new(),
        Some((least, most)) if least == most => format!("{:.digits$}", most * scale),
        Some((least, most)) => format!("{:.digits$}-{:.digits$}", least * scale, most * scale),
    };
    let unit = |text: String, unit: &str| if text.is_empty() { text } else { text + unit };
    [
        unit(text(shares(|error| error.small), 1.0, 2), "x"),
        unit(text(shares(|error| error.middle), 100.0, 1), " %"),
        unit(text(shares(|error| error.large), 100.0, 1), " %"),
    ]
}
