//! Training steps on packets.

use xoff_fabric::load_scenario;
use xoff_fabric::model::Fabric;
use xoff_sim::{Job, Outcome, QueueKind, Report, Settings, Silent};
use xoff_units::{Ratio, Span};
use xoff_workload::collective::Network;
use xoff_workload::training::Dimension;

const RAIL: &str = "[cluster]\ngpus = 64\nnic = \"connectx-7\"\n\
                    [fabric]\nkind = \"rail\"\nleaf = \"tomahawk-5\"\n";

/// The only training step among the workloads of a scenario.
fn job(fabric: &Fabric, text: &str) -> xoff_workload::Job {
    let setup = load_scenario(text, RAIL).into_result().expect("a sound scenario");
    xoff_workload::programs(&setup.scenario.workloads, fabric, 1).expect("jobs").remove(0)
}

fn run(fabric: &Fabric, job: &xoff_workload::Job, settings: &Settings) -> Report {
    let jobs = vec![Job::of(job).expect("programs")];
    xoff_sim::run_jobs(fabric, &[], jobs, &[], settings, &mut Silent).expect("a run")
}

/// What NICs carried, and what the step says that they carry.
fn bytes(fabric: &Fabric, job: &xoff_workload::Job, report: &Report) -> (u64, u64) {
    let nics = fabric.nics.iter().map(|nic| nic.ports.start as usize);
    let carried = nics.map(|port| report.ports[port].iter().map(|c| c.tx_bytes).sum::<u64>()).sum();
    let step = job.training.expect("a step").step;
    let volumes = step.volumes(0).expect("volumes");
    let far = Dimension::ALL.iter().filter(|&&dimension| dimension != Dimension::Tensor);
    let one = far.map(|&dimension| volumes.along(dimension).get()).sum::<u64>();
    (carried, one * u64::from(step.gpus()))
}

/// NICs without headers, and the time of the step where nothing hinders anything.
fn analytic(job: &xoff_workload::Job) -> Span {
    let network = Network { nic_share: Ratio::new(98, 100), ..Network::default() };
    job.training.expect("a step").step.analytic(&job.layout, &network).expect("a time").time
}

const LITTLE: &str = "fabric = 'rail-64.toml'\n[[workload]]\nkind = 'training-step'\n\
    model = { layers = 2, hidden = 1024, heads = 16, kv-heads = 8, ffn = 2048, vocabulary = 8192, \
    experts = 8 }\nsequence = 4096\ntp = 8\ncp = 4\nep = 4\ndp = 2\n";

#[test]
fn a_step_ends_and_moves_what_it_should() {
    let fabric = Fabric::from_toml(RAIL).expect("a fabric");
    let job = job(&fabric, LITTLE);
    let report = run(&fabric, &job, &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
    let (carried, said) = bytes(&fabric, &job, &report);
    // Headers, acknowledgements and clear-to-sends come on top.
    assert!(carried >= said && carried < said * 106 / 100, "{carried} for {said}");
    let (time, least) = (report.jobs[0].runs[0].time().expect("an end"), analytic(&job));
    let over = time.as_ps() as f64 / least.as_ps() as f64;
    assert!(over > 0.98 && over < 1.5, "{time} for {least}");
    let heap = Settings { queue: QueueKind::Heap, ..Settings::default() };
    assert_eq!(run(&fabric, &job, &heap).hash, report.hash);
}

/// GPUs that compute for longer than the run waits for a delivery.
#[test]
fn a_step_that_computes_for_ten_seconds_runs() {
    let fabric = Fabric::from_toml(RAIL).expect("a fabric");
    let job = job(&fabric, &(LITTLE.to_owned() + "efficiency = 0.0000002\n"));
    let report = run(&fabric, &job, &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
    let time = report.jobs[0].runs[0].time().expect("an end");
    assert!(time > Span::from_ms(10_000), "{time} is too short to show anything");
}

/// The example of 64 GPUs.
#[test]
#[ignore = "190 million packet-hops: half a minute or more"]
fn mixtral_on_64_gpus() {
    let fabric = Fabric::from_toml(RAIL).expect("a fabric");
    let job = job(&fabric, include_str!("../../../../examples/mixtral-64.toml"));
    let report = run(&fabric, &job, &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
    let (carried, said) = bytes(&fabric, &job, &report);
    let time = report.jobs[0].runs[0].time().expect("an end");
    let step = job.training.expect("a step").step;
    let figures = step.figures(time).expect("figures");
    let (events, hops) = (report.events, report.packet_hops);
    eprintln!("{figures:?}\nleast {}\n{carried} bytes for {said}", analytic(&job));
    eprintln!("{events} events, {hops} packet-hops, {} CNPs", report.cnps);
    let mut program = step.program(&job.layout).expect("a program");
    let network = Network { nic_share: Ratio::new(98, 100), ..Network::default() };
    let ideal = xoff_workload::ideal::run(&mut program, &fabric, &network).expect("an end");
    eprintln!("ideal {}", ideal.end);
    eprintln!("{:?}", report.jobs[0].counters);
    assert!(carried >= said && carried < said * 106 / 100, "{carried} for {said}");
}
