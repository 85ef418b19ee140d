//! Cases from their files to verdicts, summaries and pages, without the binary.

use xoff_fabric::{ScenarioSetup, load_scenario};
use xoff_results::watch::Timescale;
use xoff_results::{Case, Results, Verdict, Watched, Watcher, isolation, page, settings};
use xoff_sim::{Outcome, Progress, Report, Settings, Silent};
use xoff_telemetry::recording::{Place, Reading};
use xoff_telemetry::{Metric, RunFolder, Summary};
use xoff_workload::{Flow, Job};

/// Everything that a case refers to.
struct Scene {
    loaded: ScenarioSetup,
    flows: Vec<Flow>,
    jobs: Vec<Job>,
}

impl Scene {
    fn new(scenario: &str, fabric: &str) -> Self {
        let loaded = load_scenario(scenario, fabric).into_result().expect("a scenario");
        let (workloads, fabric) = (&loaded.scenario.workloads, &loaded.setup.fabric);
        let mut no_files = |name: &str| Err(std::io::Error::other(name.to_owned()));
        let flows = xoff_workload::expand(workloads, fabric, 1, &mut no_files).expect("flows");
        let jobs = xoff_workload::programs(workloads, fabric, 1).expect("jobs");
        Self { loaded, flows, jobs }
    }

    /// Four hosts at one switch.
    fn small(scenario: &str) -> Self {
        let fabric = "[cluster]\nhosts = 4\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
        Self::new(&format!("fabric = 'fabric.toml'\n{scenario}"), fabric)
    }

    fn case(&self) -> Case<'_> {
        Case {
            fabric: &self.loaded.setup.fabric,
            workloads: &self.loaded.scenario.workloads,
            flows: &self.flows,
            jobs: &self.jobs,
            faults: &self.loaded.scenario.faults,
        }
    }

    fn settings(&self) -> Settings {
        settings(&self.loaded.scenario, 1)
    }

    /// Runs it with all that a watcher can keep.
    fn watched(&self, folder: &RunFolder, go_on: bool) -> (Report, Watched) {
        let (case, settings) = (self.case(), self.settings());
        let mut go_on = |_: &Progress| go_on;
        let watcher = Watcher::new(case.fabric, &mut go_on).keep_pauses(1000).keep_samples();
        let watcher = watcher.keep_series(settings.sample_period);
        let mut watcher = watcher.write_to(folder, case.faults, 1000).expect("tables");
        let report = case.run(&settings, &mut watcher).expect("a run");
        (report, watcher.finish())
    }
}

const INCAST: &str = "[[workload]]\nkind = 'incast'\nsize = '100KB'\n";

/// Headroom for two packets under an incast: the lossless class pauses, and drops all the same.
const LOSSY: &str = "[[workload]]\nkind = 'incast'\nsize = '2MB'\n\
    [override.pfc]\nxoff = '20KB'\nxon-offset = '10KB'\nheadroom = '10KB'\n\
    [override.ecn]\nenabled = false\n";

/// What a run comes to, with its summary and its page.
fn conclude(scene: &Scene, go_on: bool) -> (Verdict, Summary, String) {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = RunFolder::create(place.path().join("run")).expect("a run folder");
    let (report, watched) = scene.watched(&folder, go_on);
    assert!(watched.errors.is_empty(), "{:?}", watched.errors);
    let (case, seen) = (scene.case(), &watched.seen);
    let results = Results { case, report: &report, seen, wall_seconds: 1.0 };
    let (mut summary, errors) = results.write(&folder, 1);
    assert!(errors.is_empty(), "{errors:?}");
    let verdict = Verdict::of(&results, &scene.loaded.scenario.allow);
    summary.outcome = verdict.outcome(case.fabric, &report);
    let html = page(&page::Material {
        results: &results,
        summary: &summary,
        series: watched.series.as_ref().expect("series"),
        pauses: &watched.pauses,
        verdict: &verdict,
        title: "a run".to_owned(),
        command: "xoff run".to_owned(),
    });
    (verdict, summary, html)
}

#[test]
fn a_run_that_keeps_the_rules() {
    let (verdict, summary, html) = conclude(&Scene::small(INCAST), true);
    assert_eq!(verdict, Verdict::default());
    assert_eq!(summary.outcome, xoff_telemetry::Outcome::Completed);
    assert_eq!((summary.flows.count, summary.flows.finished), (3, 3));
    assert_eq!(summary.workloads.len(), 1);
    assert!(html.contains("Completed in") && html.contains("nothing was dropped"));
}

#[test]
fn a_lossless_drop_is_a_breach_that_names_its_place() {
    let (verdict, summary, html) = conclude(&Scene::small(LOSSY), true);
    let [breach] = &verdict.breaches[..] else { panic!("one breach: {verdict:?}") };
    for part in ["lossless drop", "class 3", "headroom", "first at leaf0→"] {
        assert!(breach.message.contains(part), "{}", breach.message);
    }
    assert!(verdict.is_broken());
    assert!(matches!(summary.outcome, xoff_telemetry::Outcome::Failed { .. }));
    assert!(html.contains("Lossless drop"));
    let allowed = format!("{LOSSY}[allow]\nlossless-drops = true\n");
    let (verdict, summary, _) = conclude(&Scene::small(&allowed), true);
    assert!(!verdict.is_broken() && verdict.breaches[0].allowed);
    assert_eq!(summary.outcome, xoff_telemetry::Outcome::Completed);
}

#[test]
fn flows_that_do_not_finish_are_a_breach_unless_the_run_was_interrupted() {
    let cut = format!("duration = '2us'\n{INCAST}");
    let (verdict, _, _) = conclude(&Scene::small(&cut), true);
    assert!(verdict.breaches[0].message.starts_with("3 of 3 flows did not finish (0: "));
    // Long enough for the watcher to be asked.
    let scene = Scene::small(&INCAST.replace("100KB", "100MB"));
    let (verdict, summary, _) = conclude(&scene, false);
    assert_eq!(verdict, Verdict::default());
    assert_eq!(summary.outcome, xoff_telemetry::Outcome::Interrupted);
}

#[test]
fn watching_changes_nothing() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = RunFolder::create(place.path().join("run")).expect("a run folder");
    let scene = Scene::small(&format!("{LOSSY}[record]\nperiod = '1us'\n"));
    let (report, watched) = scene.watched(&folder, true);
    assert_eq!(report.outcome, Outcome::Completed);
    let alone = scene.case().run(&scene.settings(), &mut Silent).expect("a run");
    assert_eq!(report.hash, alone.hash);
    // What was seen is what the simulator counted.
    let pauses: u64 = report.ports.iter().flatten().map(|class| class.pauses_received).sum();
    assert!(watched.seen.first_pause.is_some() && pauses > 0);
    assert!(watched.pauses.kept().len() as u64 + watched.pauses.left_out() <= pauses);
    let dropped: u64 = report.ports.iter().flatten().map(|class| class.dropped_bytes).sum();
    assert_eq!(watched.seen.dropped.iter().flatten().sum::<u64>(), dropped);
    let first = watched.seen.first_lossless_drop.expect("a drop");
    assert_eq!(watched.seen.first_loss, Some(first));
    let samples = watched.samples.expect("samples");
    assert!(!samples.depths().is_empty() && !samples.sent_bytes().is_empty());
}

#[test]
fn a_tenant_beside_another_takes_longer_than_alone() {
    let scenario = include_str!("../../../examples/tenants-one-class.toml");
    let fabric = include_str!("../../../examples/three-leaves-100g.toml");
    let scene = Scene::new(scenario, fabric);
    let (_, mut summary, _) = conclude(&scene, true);
    let mut go_on = |_: &Progress| true;
    let rows = &mut summary.workloads;
    let all = isolation::compare(&scene.case(), &scene.settings(), &mut go_on, rows);
    assert_eq!(all, Ok(true));
    let training = rows.iter().find(|row| row.name == "training").expect("the training");
    assert!(training.slowdown.is_some_and(|slowdown| slowdown > 2.0), "{training:?}");
}

/// What a GPU computes and waits for adds up to the time of the steps; the stages of a pipeline differ.
#[test]
fn gpus_compute_or_wait() {
    let fabric = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n";
    let scenario = "fabric = 'f'\n[[workload]]\nkind = 'training-step'\nname = 'train'\nrepeat = 2\n\
        model = { layers = 3, hidden = 512, heads = 8, ffn = 1024, vocabulary = 4096 }\nsequence = 512\n\
        tp = 2\npp = 2\nmicro-batches = 2\n";
    let scene = Scene::new(scenario, fabric);
    let (case, settings) = (scene.case(), scene.settings());
    let mut go_on = |_: &Progress| true;
    let mut watcher = Watcher::new(case.fabric, &mut go_on).keep_counters(Timescale::OF_THE_RUN);
    let report = case.run(&settings, &mut watcher).expect("a run");
    let mut counters = watcher.finish().counters.expect("counters");
    counters.add_jobs(&case, &report);
    let steps: f64 = report.jobs[0].runs.iter().map(|run| run.time().unwrap().as_s_f64()).sum();
    let readings = counters.readings();
    let last = |rank: u32, metric: Metric| {
        let of = |reading: &&Reading| {
            let place = Place::Rank { job: "train".into(), rank };
            *readings.places.get(reading.key.place) == place && reading.key.metric == metric
        };
        readings.list.iter().filter(of).map(|reading| reading.value).fold(0.0, f64::max)
    };
    for rank in 0..16 {
        let (busy, wait) = (last(rank, Metric::GpuBusy), last(rank, Metric::GpuWait));
        assert!(busy > 0.0 && wait > 0.0, "{rank}: {busy} {wait}");
        assert!((busy + wait - steps).abs() < 1e-9 * steps, "{rank}: {busy} + {wait} of {steps}");
    }
    assert_ne!(last(0, Metric::GpuBusy), last(15, Metric::GpuBusy));
}
