//! `xoff config --ansible`, `--avd`, `--gnmi`: the files of tools that carry configurations, beside those
//! of the devices.

use super::Args;
use super::folder::Made;
use crate::exit::{Failure, Level, say};
use xoff_config::delivery::{ansible, avd, gnmi};
use xoff_config::{Device, Intent, SystemId};
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
    Ok(made)
}

fn switches(intent: &Intent) -> impl Iterator<Item = &Device> {
    intent.devices.iter().filter(|device| !device.is_host())
}

/// A device as far as its system can say it. What it cannot is noted where its own file is made.
fn fitting(device: &Device) -> Device {
    device.system.system().fit(device, &mut Vec::new())
}
