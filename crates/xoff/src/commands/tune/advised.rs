//! The files that are advised: the fabric with the values, a scenario where that is what has them, and what changes on
//! devices.

use super::change;
use super::folder::Folder;
use super::source::{Read, Source};
use crate::exit::{Failure, Level, say};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use toml::{Table, Value};
use xoff_fabric::{FabricSetup, load_fabric, load_scenario};
use xoff_sweep::{File, Setting};
use xoff_tune::page::headline;
use xoff_tune::{Answer, Place};
use xoff_validate::advice::Advice;

/// The advised files.
#[derive(Debug, Default, Serialize)]
pub(super) struct Advised {
    /// Fabrics and scenarios.
    pub(super) files: Vec<PathBuf>,
    /// What changes on devices.
    pub(super) configuration: Option<PathBuf>,
    /// Devices that change.
    pub(super) devices: u64,
    /// What is set at NICs and hosts, and in no configuration that xoff writes.
    pub(super) by_hand: Vec<String>,
}

const CONFIGURATION: &str = "advised-config.txt";

impl Advised {
    /// Nothing is advised: what an earlier tuning advised goes.
    pub(super) fn none(folder: &Folder) -> Result<Self, Failure> {
        folder.remove_advised()?;
        Ok(Self::default())
    }
}

/// Writes them.
pub(super) fn write(
    source: &Source,
    folder: &Folder,
    places: &[Place],
    answer: &Answer,
    command: &str,
) -> Result<Advised, Failure> {
    folder.remove_advised()?;
    let settings = source.plan.settings(places);
    let mut advised = Advised::default();
    let mut fabrics: Vec<(PathBuf, String, String)> = Vec::new();
    let mut configuration = String::new();
    for (at, file) in source.files.iter().enumerate() {
        let place = file.folder.join(&file.fabric_path);
        let name = match fabrics.iter().find(|(own, ..)| *own == place) {
            Some((_, name, _)) => name.clone(),
            None => {
                let name = numbered("advised", fabrics.len());
                let text = fabric(file, &settings)?;
                let header = header(source, answer, command, &file.fabric_path);
                folder.write(&name, (header + &text).as_bytes())?;
                advised.files.push(folder.path.join(&name));
                let (today, then) = (load_fabric(&file.fabric).value, load_fabric(&text).value);
                if let (Some(today), Some(then)) = (today, then) {
                    let own = change::between(&today, &then);
                    advised.devices += own.devices;
                    let _ = writeln!(configuration, "# {}\n", file.fabric_path);
                    configuration += &own.text;
                }
                fabrics.push((place, name.clone(), text));
                name
            }
        };
        if let Some(text) = scenario(file, &settings, &name)? {
            let own = numbered("advised-scenario", at);
            folder.write(&own, text.as_bytes())?;
            advised.files.push(folder.path.join(&own));
        }
        let text = fabrics.iter().find(|(_, own, _)| *own == name).map(|(.., text)| text.as_str());
        verify(source, at, &settings, &name, text.unwrap_or_default());
    }
    advised.by_hand = change::by_hand(&settings);
    if !advised.by_hand.is_empty() {
        configuration += "# At NICs and hosts, by hand\n\n";
        advised.by_hand.iter().for_each(|line| configuration += &format!("{line}\n"));
    }
    if advised.devices > 0 || !advised.by_hand.is_empty() {
        folder.write(CONFIGURATION, configuration.as_bytes())?;
        advised.configuration = Some(folder.path.join(CONFIGURATION));
    }
    Ok(advised)
}

fn numbered(name: &str, at: usize) -> String {
    if at == 0 { format!("{name}.toml") } else { format!("{name}-{}.toml", at + 1) }
}

fn header(source: &Source, answer: &Answer, command: &str, fabric: &str) -> String {
    let mut text = format!("# {fabric} with values that `{command}` advises.\n");
    for line in crate::output::wrap(&headline(&source.plan, answer), 98) {
        let _ = writeln!(text, "# {line}");
    }
    text + "\n"
}

/// The text of the fabric with the values; comments and order stay.
fn fabric(file: &Read, settings: &[Setting<'_>]) -> Result<String, Failure> {
    let broken = |why: String| Failure::write(format!("`{}`: {why}", file.fabric_path));
    let of_fabric = || settings.iter().filter(|own| own.key.file() == File::Fabric);
    let mut change = Table::new();
    for own in of_fabric().filter(|own| !own.key.has_entries()) {
        own.key.put(&mut change, &own.value).map_err(broken)?;
    }
    let advice = Advice { change, ..Advice::words("values") };
    // A schema beside the original is not beside this one.
    let lines = file.fabric.lines().filter(|line| !line.starts_with("#:schema"));
    let text = lines.fold(String::new(), |text, line| text + line + "\n");
    let mut text = advice.apply(&text).ok_or_else(|| broken("it is no TOML".to_owned()))?;
    let entries: Vec<&Setting<'_>> = of_fabric().filter(|own| own.key.has_entries()).collect();
    if !entries.is_empty() {
        let mut table: Table =
            text.parse().map_err(|error: toml::de::Error| broken(error.message().to_owned()))?;
        for own in entries {
            own.key.put(&mut table, &own.value).map_err(broken)?;
        }
        text = toml::to_string(&table).map_err(|error| broken(error.to_string()))?;
    }
    Ok(text)
}

/// The text of the scenario, where it has values itself: its own keys, or keys of the fabric that it overrides.
fn scenario(
    file: &Read,
    settings: &[Setting<'_>],
    fabric: &str,
) -> Result<Option<String>, Failure> {
    let broken = |why: String| Failure::write(format!("`{}`: {why}", file.path.display()));
    let mut table: Table = file
        .scenario
        .parse()
        .map_err(|error: toml::de::Error| broken(error.message().to_owned()))?;
    let mut has = false;
    for own in settings {
        match own.key.file() {
            File::Scenario => {
                own.key.put(&mut table, &own.value).map_err(broken)?;
                has = true;
            }
            File::Fabric => {
                if let Some(Value::Table(over)) = table.get_mut("override")
                    && own.key.get(over).is_some()
                {
                    own.key.put(over, &own.value).map_err(broken)?;
                    has = true;
                }
            }
        }
    }
    if !has {
        return Ok(None);
    }
    table.insert("fabric".to_owned(), fabric.into());
    let named = toml::to_string(&table).map_err(|error| broken(error.to_string()))?;
    Ok(Some(named))
}

/// Says so if the advised files do not mean what was run.
fn verify(source: &Source, at: usize, settings: &[Setting<'_>], name: &str, fabric: &str) {
    let file = &source.files[at];
    let own = scenario(file, settings, name).ok().flatten();
    let scenario = own.unwrap_or_else(|| file.scenario.clone());
    let Some(case) = source.cases.iter().find(|case| case.file == at) else { return };
    let meant = case.base.change(settings, case.base.seed());
    let meant = meant.ok().and_then(|texts| load_scenario(&texts.scenario, &texts.fabric).value);
    let written = load_scenario(&scenario, fabric).value;
    // A model has no equality; its debug form says everything that is in it.
    let text = |setup: &FabricSetup| format!("{:?}", setup.fabric);
    let same = match (&meant, &written) {
        (Some(meant), Some(written)) => text(&meant.setup) == text(&written.setup),
        _ => false,
    };
    if !same {
        say(
            Level::Warning,
            &format!(
                "{name} with `{}` is not the setting that was run; set the values by hand",
                file.path.display()
            ),
        );
    }
}
