//! What collectives cost, from `[collectives]` and the catalogue.

use crate::catalogue::Catalogue;
use crate::check::{MOST_CHANNELS, costs};
use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::file::FabricFile;
use crate::model::CollectiveCosts;
use crate::scenario::{CostName, CostSetting};
use crate::suggest;

/// The costs of `file`, `measured` where it says nothing.
pub(super) fn settle(
    file: &FabricFile,
    catalogue: &Catalogue,
    report: &mut Report<'_>,
) -> CollectiveCosts {
    let settings = &file.collectives;
    let measured = CostSetting::Named(CostName::Measured);
    for (name, entry) in &file.catalogue.collectives {
        costs(keys!["catalogue", "collectives", name.as_str(), "cost"], &entry.cost, report);
        let path = keys!["catalogue", "collectives", name.as_str(), "channels"];
        channels(path, entry.channels, report);
    }
    channels(keys!["collectives", "channels"], settings.channels, report);
    let (own, of_profile) = match (&settings.cost, &settings.profile) {
        (Some(_), Some(_)) => {
            report.error(
                code::IMPOSSIBLE,
                keys!["collectives", "cost"],
                "`cost` and `profile` both say what collectives cost",
                "leave one of them out",
            );
            (measured, None)
        }
        (Some(CostSetting::Named(CostName::Fabric)), None) => {
            report.error(
                code::IMPOSSIBLE,
                keys!["collectives", "cost"],
                "the costs of this fabric cannot be those of the fabric",
                "give `measured`, `none`, or a table of times and rates",
            );
            (measured, None)
        }
        (Some(setting), None) => {
            if let CostSetting::Own(values) = setting {
                costs(keys!["collectives", "cost"], values, report);
            }
            (setting.clone(), None)
        }
        (None, Some(name)) => match catalogue.collectives.get(name) {
            Some(profile) => (CostSetting::Own(profile.cost), profile.channels),
            None => {
                let known = catalogue.collectives.keys().map(String::as_str);
                report.error(
                    code::UNKNOWN_NAME,
                    keys!["collectives", "profile"],
                    format!("there is no profile `{name}`"),
                    suggest::help(name, known),
                );
                (measured, None)
            }
        },
        (None, None) => (measured, None),
    };
    CollectiveCosts { cost: own, channels: settings.channels.or(of_profile) }
}

fn channels(path: &[Step<'_>], value: Option<u32>, report: &mut Report<'_>) {
    if let Some(value) = value.filter(|&value| value == 0 || value > MOST_CHANNELS) {
        let help = format!("give 1 or more, at most {MOST_CHANNELS}");
        report.error(code::IMPOSSIBLE, path, format!("`channels` is {value}"), help);
    }
}
