//! The search on functions whose best is known: it finds it, within its budget, and repeats itself.

use std::ops::Range;
use xoff_sweep::{Axis, Figure, Key, Row};
use xoff_tune::search::search;
use xoff_tune::{Answer, Case, Goal, Knob, Options, Plan, Point, Run, Runner, Verdict};

/// The objective in us and lossless drops, from the values of the knobs and the seed.
type Response = fn(&[f64], u64) -> (f64, f64);

struct Function {
    of: Response,
    batches: Vec<Vec<Run>>,
}

impl Runner for Function {
    fn run(&mut self, plan: &Plan, points: &[Point], runs: &[Run]) -> Option<Vec<Row>> {
        self.batches.push(runs.to_vec());
        let row = |run: &Run| {
            // The present value of every knob is 0.8.
            let values: Vec<f64> =
                points[run.point].places.iter().map(|place| place.unwrap_or(0.8)).collect();
            let (time, drops) = (self.of)(&values, plan.seed(run.case, run.seed));
            let mut row = Row::without_run(0, "completed", String::new());
            for (name, value) in
                [("fct_p99_us", time), ("lossless_drops", drops), ("paused_us", 1.0)]
            {
                row.figures[Figure::named(name).unwrap().place()] = Some(value);
            }
            row
        };
        Some(runs.iter().map(row).collect())
    }
}

fn plan(knobs: usize, budget: u64) -> Plan {
    let knob = |at: usize| {
        let key = Key::parse(&format!("fabric.knob.k{at}")).unwrap();
        let axis = Axis::between(key, 0.0.into(), 1.0.into(), false).unwrap();
        Knob { axis, present: Some(0.8.into()), words: "" }
    };
    let goal = Goal { figure: Figure::named("fct_p99_us").unwrap(), bounds: Vec::new() };
    let case = Case { name: "function".into(), weight: 1.0, goal, first_seed: 1 };
    let options = Options { budget, ..Options::default() };
    Plan::new(vec![case], (0..knobs).map(knob).collect(), options)
}

fn found(plan: &Plan, of: Response) -> (Answer, Vec<Vec<Run>>) {
    let mut function = Function { of, batches: Vec::new() };
    let found = search(plan, &mut function).unwrap();
    let answer = Answer::of(plan, &found);
    assert_eq!(answer.runs as usize, function.batches.iter().map(Vec::len).sum::<usize>());
    assert!(answer.runs <= plan.options.budget, "{} runs", answer.runs);
    (answer, function.batches)
}

/// Noise of a seed that is the same for all settings, as that of who sends to whom is.
fn luck(seed: u64) -> f64 {
    1.0 + 0.3 * ((seed * 37 % 11) as f64 / 11.0)
}

fn square(value: f64) -> f64 {
    value * value
}

#[test]
fn a_bowl_is_found_and_what_does_not_matter_stays() {
    let plan = plan(6, 400);
    let (answer, batches) = found(&plan, |at, seed| {
        (100.0 * luck(seed) * (1.0 + square(at[0] - 0.2) + square(at[3] - 0.4)), 0.0)
    });
    // The present setting is 1 + 0.36 + 0.16, the best is 1.
    let change = answer.change.unwrap();
    assert_eq!(answer.verdict, Verdict::Better);
    assert!((-0.35..-0.325).contains(&change.mean), "{change:?}");
    let turned: Vec<&str> = answer
        .values
        .iter()
        .filter(|own| own.advised.is_some())
        .map(|own| own.knob.as_str())
        .collect();
    assert_eq!(turned, ["fabric.knob.k0", "fabric.knob.k3"]);
    let worth: Vec<(&str, f64)> =
        answer.worth.iter().map(|own| (own.knobs[0].as_str(), own.back.unwrap().mean)).collect();
    assert_eq!((worth[0].0, worth[1].0), ("fabric.knob.k0", "fabric.knob.k3"));
    assert!((worth[0].1 - 0.36).abs() < 0.03 && (worth[1].1 - 0.16).abs() < 0.03, "{worth:?}");
    assert!(
        answer.profiles[1].everything && !answer.profiles[0].everything,
        "{:?}",
        answer.profiles
    );
    // The same again, request by request.
    let again = found(&plan, |at, seed| {
        (100.0 * luck(seed) * (1.0 + square(at[0] - 0.2) + square(at[3] - 0.4)), 0.0)
    });
    assert!(again == (answer, batches));
}

#[test]
fn a_present_setting_that_is_best_is_said_to_be() {
    let (answer, _) = found(&plan(5, 300), |at, seed| {
        (100.0 * luck(seed) * (1.0 + at.iter().map(|at| square(at - 0.8)).sum::<f64>()), 0.0)
    });
    assert_eq!((answer.verdict, answer.advised), (Verdict::AsGood, None));
    assert!(answer.values.iter().all(|own| own.advised.is_none()));
}

/// The best of all loses packets: it is never proposed, nor is what loses them on later seeds only.
#[test]
fn nothing_that_drops_is_proposed() {
    let drops: Response = |at, seed| {
        let limit = if seed > 6 { 0.31 } else { 0.3 } + if seed > 3 { 0.03 } else { 0.0 };
        (100.0 * luck(seed) * (0.2 + at[0]), f64::from(u8::from(at[0] < limit)))
    };
    let (answer, _) = found(&plan(3, 300), drops);
    let advised: f64 = answer.values[0].advised.as_ref().unwrap().parse().unwrap();
    assert!((0.34..0.5).contains(&advised), "{advised}");
    assert_eq!(answer.verdict, Verdict::Better);
    assert!(answer.violating > 0);
    // Where everything drops there is nothing to propose, and where only the present setting does, all else is better.
    let (none, _) = found(&plan(3, 300), |_, _| (100.0, 3.0));
    assert_eq!((none.verdict, none.advised), (Verdict::NoneFound, None));
    let (other, _) = found(&plan(3, 300), |at, _| (100.0, f64::from(u8::from(at[2] > 0.5))));
    assert!(other.verdict == Verdict::Better && other.present_violates);
}

/// What is good on the seeds of the search alone is not advised.
#[test]
fn luck_on_the_seeds_of_the_search_is_not_believed() {
    let (answer, _) = found(&plan(4, 300), |at, seed| {
        let lucky = seed <= 6 && (at[0] - 0.3).abs() < 0.2;
        (if lucky { 80.0 } else { 100.0 }, 0.0)
    });
    assert_eq!((answer.verdict, answer.advised), (Verdict::AsGood, None));
    assert!(answer.change_on_search_seeds.unwrap().mean < -0.15);
}

#[test]
fn any_budget_is_kept() {
    let least = Plan::least_budget(1, 8, &Options::default());
    for budget in [least, least + 1, 250, 333] {
        let (answer, _) = found(&plan(8, budget), |at, seed| {
            (100.0 * luck(seed) * (1.0 + square(at[1] - 0.1)), 0.0)
        });
        assert!(answer.change.is_some(), "{budget}");
    }
    let stops = |left: Range<usize>| {
        struct Stopped(usize);
        impl Runner for Stopped {
            fn run(&mut self, _: &Plan, _: &[Point], runs: &[Run]) -> Option<Vec<Row>> {
                self.0 = self.0.checked_sub(1)?;
                Some(runs.iter().map(|_| Row::without_run(0, "refused", String::new())).collect())
            }
        }
        left.into_iter().all(|left| search(&plan(2, 200), &mut Stopped(left)).is_none())
    };
    assert!(stops(0..4));
}
