//! From the traces of a scenario to replays on GPUs.

use super::{Job, MOST_RUNS, ReplayRun, cost, placement, start};
use crate::collective::{Algorithm, Settings};
use crate::layout::Layout;
use crate::replay::{Choice, Options, Replay};
use crate::resolve::Resolver;
use crate::stream;
use crate::trace;
use crate::training::{GPUS, Gpu};
use std::path::Path;
use std::sync::Arc;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{AlgorithmSetting, TraceReplay};
use xoff_units::Ratio;

/// The job of an entry, whose trace lies relative to `base`.
pub(super) fn job(
    entry: &TraceReplay,
    index: u32,
    fabric: &Fabric,
    names: &Resolver<'_>,
    seed: u64,
    base: Option<&Path>,
) -> Result<Job, String> {
    let base = base.ok_or("traces are read from files, and none can be read here")?;
    let repeat = entry.repeat.unwrap_or(1);
    if repeat == 0 || u64::from(repeat) > MOST_RUNS {
        return Err(format!("`repeat` is {repeat}; 1 to {MOST_RUNS} replays can be made"));
    }
    let options = options(entry)?;
    let format = entry.format.as_deref().map(str::parse).transpose()?;
    let reading = trace::Options { format, ..trace::Options::default() };
    let read = trace::read(&base.join(&entry.path), reading);
    let read = read.map_err(|error| error.to_string())?;
    let placement = placement(&entry.placement, stream::hash(seed, u64::from(index)));
    // A fabric that is too small is refused at once: planning millions of operations takes long.
    let ranks = read.ranks.saturating_mul(options.replicas);
    let layout = (ranks > 0).then(|| Layout::new(fabric, Some(ranks), &placement)).transpose();
    let layout = layout.map_err(|error| error.to_string())?;
    let replay = Replay::new(&read, &options).map_err(|error| error.to_string())?;
    drop(read);
    let layout = layout.ok_or("a trace of no ranks")?;
    let queues = entry.qps.unwrap_or(fabric.queue_pairs);
    let job = Job {
        workload: index,
        start: start(&entry.common)?,
        class: names.class(entry.common.class)?,
        layout,
        settings: Settings { cost: cost(&entry.cost, fabric), queues, ..Settings::default() },
        runs: Vec::new(),
        uneven: None,
        training: None,
        replay: Some(ReplayRun {
            replay: Arc::new(replay),
            choice: choice(entry.algorithm),
            repeat,
        }),
        service: None,
        keeps_connections: true,
        vxlan: entry.common.vxlan,
        own_ports: entry.common.tenant.is_some(),
        refused: None,
    };
    job.programs().map_err(|error| error.to_string())?;
    Ok(job)
}

fn options(entry: &TraceReplay) -> Result<Options, String> {
    let name = entry.gpu.as_deref().unwrap_or("h100");
    let Some(gpu) = Gpu::named(name) else {
        let known = GPUS.map(|preset| preset.name).join(", ");
        return Err(format!("there is no GPU `{name}`; there are {known}"));
    };
    Ok(Options {
        compute_scale: entry.compute_scale.unwrap_or(Ratio::ONE),
        gpu: gpu.gpu,
        lenient: entry.lenient,
        replicas: entry.replicas.unwrap_or(1),
        spread: entry.replica_groups.clone(),
    })
}

fn choice(setting: AlgorithmSetting) -> Choice {
    match setting {
        AlgorithmSetting::Auto => Choice::Auto,
        AlgorithmSetting::Ring => Choice::Always(Algorithm::Ring),
        AlgorithmSetting::Tree => Choice::Always(Algorithm::Tree),
        AlgorithmSetting::Rail => Choice::Always(Algorithm::Rail),
        AlgorithmSetting::Pairwise => Choice::Always(Algorithm::Pairwise),
        AlgorithmSetting::Pxn => Choice::Always(Algorithm::Pxn),
        AlgorithmSetting::Direct => Choice::Always(Algorithm::Direct),
        AlgorithmSetting::Pat => Choice::Always(Algorithm::Pat),
        // Refused where the file is checked: groups are a job's, and a trace has communicators.
        AlgorithmSetting::Nvls | AlgorithmSetting::NvlsTree | AlgorithmSetting::InNetwork => {
            Choice::Auto
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::collective::Network;
    use crate::testing::workloads;
    use crate::{Job, ideal, programs, programs_in};
    use std::path::Path;
    use xoff_fabric::model::Fabric;

    const GOAL: &str =
        "num_ranks 2\nrank 0 {\ncalc 5\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";

    fn jobs(text: &str, base: &Path) -> Result<Vec<Job>, String> {
        let fabric = Fabric::from_toml("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n").unwrap();
        let made = programs_in(&workloads(text), &fabric, 1, Some(base));
        made.map_err(|errors| errors.iter().map(|error| format!("{error}\n")).collect())
    }

    #[test]
    fn entries_become_jobs_that_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.goal"), GOAL).unwrap();
        let text = "kind='trace'\npath='a.goal'\nreplicas=3\ncompute-scale=2\nrepeat=4\nqps=2\n\
                    placement='fragmented'\n[[workload]]\nkind='trace'\npath='a.goal'\nplacement=[0, 9]";
        let jobs = jobs(text, folder.path()).unwrap();
        let ranks: Vec<u32> = jobs.iter().map(|job| job.layout.ranks()).collect();
        assert_eq!(ranks, [6, 2]);
        let fabric = Fabric::from_toml("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n").unwrap();
        for (job, repeat) in jobs.iter().zip([4, 1]) {
            let mut turn = job.programs().unwrap().remove(0);
            assert_eq!(turn.repeat, repeat);
            ideal::run(&mut turn.program, &fabric, &Network::default()).unwrap();
        }
    }

    #[test]
    fn mistakes_are_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.goal"), GOAL).unwrap();
        std::fs::write(folder.path().join("b.goal"), "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\n")
            .unwrap();
        for (text, expected) in [
            ("path='none.goal'", "workload 0: "),
            ("path='a.goal'\ngpu='tpu'", "there is no GPU `tpu`; there are a100,"),
            ("path='a.goal'\nreplicas=9", "18 ranks are to be placed, and the fabric has 16"),
            ("path='b.goal'", "b.goal line 3 (rank 0, send): send without a receive"),
            ("path='a.goal'\nformat='xml'", "`xml` is not one of chakra"),
            ("path='a.goal'\nplacement=[1]", "2 ranks are to be placed"),
        ] {
            let said = jobs(&format!("kind='trace'\n{text}"), folder.path()).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
        let fabric = Fabric::from_toml("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n").unwrap();
        let without = programs(&workloads("kind='trace'\npath='a.goal'"), &fabric, 1).unwrap_err();
        assert!(without[0].message.contains("none can be read here"));
    }
}
