//! `xoff config --ansible`, `--avd`, `--gnmi`, `--agent`, `--ztp`: the files of tools that carry configurations, beside those
//! of the devices.

use super::super::audit::collect;
use super::Args;
use super::folder::Made;
use crate::exit::{Failure, Level, say};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use xoff_config::delivery::{agent, ansible, avd, gnmi, is_plain, ztp};
use xoff_config::{Device, Files, Intent, SystemId};
use xoff_fabric::FabricSetup;

/// The files that were asked for. What a tool has no words for is noted.
pub(super) fn files(
    args: &Args,
    setup: &FabricSetup,
    intent: &Intent,
) -> Result<Vec<Made>, Failure> {
    let mut made = Vec::new();
    if args.ansible {
        let files = ansible::files(intent, &setup.fabric).map_err(Failure::input)?;
        made.extend(files.into_iter().map(Made::common));
        if intent.devices.iter().any(|device| device.system == SystemId::PicOs) {
            say(Level::Note, "ansible: no collection for picos is known; its files go by hand");
        }
    }
    if args.avd {
        let eos = intent.devices.iter().filter(|device| device.system == SystemId::Eos);
        let before = made.len();
        made.extend(eos.map(|device| Made::common(avd::file(&fitting(device)))));
        if made.len() == before {
            return Err(Failure::input(
                "--avd is for Arista EOS, and no switch runs it; say so with --system eos",
            ));
        }
        let others = switches(intent).filter(|device| device.system != SystemId::Eos).count();
        if others > 0 {
            say(Level::Note, &format!("avd: {others} switches do not run eos and are left out"));
        }
    }
    if args.gnmi {
        let all: Vec<Device> = switches(intent).map(fitting).collect();
        made.extend(all.iter().map(|device| Made::common(gnmi::file(device))));
        let all: Vec<&Device> = all.iter().collect();
        made.push(Made::common(gnmi::readme(&all)));
        let mut unsaid: Vec<String> = all.iter().flat_map(|device| gnmi::unsaid(device)).collect();
        unsaid.sort();
        unsaid.dedup();
        unsaid.iter().for_each(|sentence| say(Level::Note, &format!("gnmi: {sentence}")));
    }
    if args.agent {
        let files = agent::files(setup, |switch| args.choose(setup, switch));
        if files.is_empty() {
            return Err(Failure::input(
                "--agent is for thresholds that move, and this fabric's stay; give it `[ecn.adaptive]` \
                 (docs/adaptive.md)",
            ));
        }
        made.extend(files.into_iter().map(Made::common));
    }
    if args.ztp {
        made.extend(bundle(args, intent)?);
    }
    Ok(made)
}

/// The files of `--ztp`.
fn bundle(args: &Args, intent: &Intent) -> Result<Vec<Made>, Failure> {
    let (Some(serials), Some(server)) = (&args.serials, &args.server) else {
        return Err(Failure::input("--ztp needs --serials FILE and --server URL"));
    };
    let names: Vec<&str> = switches(intent).map(|device| device.name.as_str()).collect();
    if let Some(odd) = names.iter().find(|name| !is_plain(name)) {
        return Err(Failure::input(format!(
            "`{odd}` is no name for a bundle; use letters, digits, `.`, `_` and `-`"
        )));
    }
    let text = fs::read_to_string(serials)
        .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", serials.display())))?;
    let wrong = |file: &Path, why: Vec<String>| {
        Failure::input(format!("`{}`: {}", file.display(), why.join("\n  ")))
    };
    let identities = ztp::serials::read(&text, &names).map_err(|lines| wrong(serials, lines))?;
    let base = args.base.as_deref().map(|dir| base(dir, &names)).transpose()?;
    let bundle = ztp::Bundle { intent, identities: &identities, base: base.as_ref(), server };
    let files = bundle.files().map_err(|lines| {
        Failure::input(format!("no bundle can be made: {}", lines.join("\n  ")))
    })?;
    let what = match base {
        Some(_) => "ztp: base configurations with the RoCE part of xoff behind them",
        None => "ztp: the RoCE part only, without addresses and routes; give --base for the rest",
    };
    say(Level::Note, what);
    Ok(files.into_iter().map(Made::common).collect())
}

/// The base configurations of a folder by device: `leaf0.cfg` is that of `leaf0`.
fn base(dir: &Path, names: &[&str]) -> Result<BTreeMap<String, String>, Failure> {
    let mut files = Files::default();
    collect(dir, &mut files)?;
    let mut found = BTreeMap::new();
    for (_, file) in files.iter() {
        let name = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        if !names.contains(&stem) {
            say(Level::Note, &format!("`{}` is the base of no switch", file.name));
        } else if found.insert(stem.to_owned(), file.text.clone()).is_some() {
            return Err(Failure::input(format!(
                "`{}` is the second base configuration of `{stem}`; leave one",
                file.name
            )));
        }
    }
    Ok(found)
}

/// An address that can stand in scripts as it is.
pub(super) fn server(text: &str) -> Result<String, String> {
    let inside = |c: char| c.is_ascii_alphanumeric() || ":/._-[]~%".contains(c);
    let address = text.trim_end_matches('/');
    let plain = address.contains("://") && address.chars().all(inside);
    plain.then(|| address.to_owned()).ok_or_else(|| {
        "it is an address like http://192.0.2.1/ztp, without spaces and quotes".to_owned()
    })
}

fn switches(intent: &Intent) -> impl Iterator<Item = &Device> {
    intent.devices.iter().filter(|device| !device.is_host())
}

/// A device as far as its system can say it. What it cannot is noted where its own file is made.
fn fitting(device: &Device) -> Device {
    device.system.system().fit(device, &mut Vec::new())
}
