//! What GPUs say beside the network: which of them compute less than usual, and whose links send again.
//!
//! A GPU that waits for its peers runs the kernel of a collective and counts as busy. One that is busy for less of the time than usual
//! waits for something else: its host, its data, or a job that has ended.

use super::scene::{Gpu, Scene};
use super::usually;
use xoff_fabric::model::ServerId;
use xoff_telemetry::Metric;

/// A GPU idles if the share of time for which it is busy has fallen by so much, and by so much more than that of most GPUs.
const IDLE: f64 = 0.15;
/// A link sends again too often if it does so many times in a window, and so many times as often as usual.
const REPLAYS: f64 = 10.0;
const UNUSUAL: f64 = 3.0;
/// GPUs of one kind that are named.
const SHOWN: usize = 3;

/// What GPUs do that may hold a job up, in sentences.
pub(super) fn remarks(scene: &Scene<'_>) -> Vec<String> {
    let mut words = idle(scene);
    words.extend(replays(scene, None, Metric::GpuNvlinkReplays, "NVLinks"));
    words.extend(replays(scene, None, Metric::GpuPcieReplays, "PCIe link"));
    words
}

/// GPUs of a server whose PCIe links send again: they are slow to take what its NICs receive.
pub(super) fn pcie_replays(scene: &Scene<'_>, server: ServerId) -> Vec<String> {
    replays(scene, Some(server), Metric::GpuPcieReplays, "PCIe link")
}

fn idle(scene: &Scene<'_>) -> Vec<String> {
    let busy = |gpu: Gpu| {
        let (now, usual) = scene.mean_of_gpu(gpu, Metric::GpuBusyShare)?;
        Some((usual - now, gpu, now, usual))
    };
    let mut falls: Vec<(f64, Gpu, f64, f64)> = scene.gpus().filter_map(busy).collect();
    falls.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some(&(median, ..)) = falls.get(falls.len() / 2) else { return Vec::new() };
    if median > IDLE {
        let mean = |of: fn(&(f64, Gpu, f64, f64)) -> f64| {
            100.0 * falls.iter().map(of).sum::<f64>() / falls.len() as f64
        };
        let (now, usual) = (mean(|fall| fall.2), mean(|fall| fall.3));
        return vec![format!("GPUs are busy for {now:.0} % of the time, usually {usual:.0} %")];
    }
    let odd = falls.iter().filter(|(fall, ..)| *fall > IDLE && fall - median > IDLE);
    let words = odd.map(|(_, gpu, now, usual)| {
        let (name, now, usual) = (name(scene, *gpu), now * 100.0, usual * 100.0);
        format!(
            "{name} is busy for {now:.0} % of the time, usually {usual:.0} %; most are as usual"
        )
    });
    some(words.collect())
}

fn replays(scene: &Scene<'_>, server: Option<ServerId>, metric: Metric, link: &str) -> Vec<String> {
    let of = |gpu: Gpu| {
        let (count, usual) = scene.sum_of_gpu(gpu, metric)?;
        let usual = usual.unwrap_or(0.0);
        (count > REPLAYS && count > UNUSUAL * usual).then_some((count, gpu, usual))
    };
    let gpus = scene.gpus().filter(|gpu| server.is_none_or(|server| gpu.server == server));
    let mut odd: Vec<(f64, Gpu, f64)> = gpus.filter_map(of).collect();
    odd.sort_by(|a, b| b.0.total_cmp(&a.0));
    let words = odd.into_iter().map(|(count, gpu, usual)| {
        let usual = usually(scene, format_args!("{usual:.0}"));
        format!("the {link} of {} sent {count:.0} packets again{usual}", name(scene, gpu))
    });
    some(words.collect())
}

fn name(scene: &Scene<'_>, gpu: Gpu) -> String {
    format!("GPU {} of {}", gpu.number, scene.fabric.servers[gpu.server.index()].name)
}

/// The first few, and how many more there are.
fn some(mut words: Vec<String>) -> Vec<String> {
    let more = words.len().saturating_sub(SHOWN);
    words.truncate(SHOWN);
    if let (Some(last), true) = (words.last_mut(), more > 0) {
        last.push_str(&format!("; and {more} more GPUs like it"));
    }
    words
}
