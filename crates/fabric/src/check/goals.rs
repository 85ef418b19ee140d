//! `[goals]`: bounds that nothing can meet, or that contradict each other; and the values that follow.

use crate::diagnostic::code;
use crate::document::{Report, Value, keys};
use crate::file::{Bounds, GoalEntry, GoalSettings};
use crate::goals::{Better, Failure, Goal, Goals};
use xoff_units::{Ratio, Span};

/// The goals of a file, with its mistakes reported.
pub(crate) fn goals(given: &GoalSettings, report: &mut Report<'_>) -> Goals {
    let usual = Goals::default();
    let mut ratio = |key: &str, entry: Option<GoalEntry<Ratio>>, usual: Goal| {
        let Some(entry) = entry else { return usual };
        let Bounds { pass, fail } = entry.bounds();
        let bounds = [pass, fail].map(|bound| bound.map(Ratio::as_f64));
        goal(key, bounds, usual, figure(usual), report)
    };
    Goals {
        collective: ratio("collective", given.collective, usual.collective),
        step: ratio("step", given.step, usual.step),
        all_to_all: ratio("all-to-all", given.all_to_all, usual.all_to_all),
        permutation: ratio("permutation", given.permutation, usual.permutation),
        incast: ratio("incast", given.incast, usual.incast),
        failure: given.failure.map_or(usual.failure, |entry| {
            let Bounds { pass, fail } = entry.bounds();
            let bounds = [pass, fail].map(|bound| bound.map(Span::as_s_f64));
            goal("failure", bounds, usual.failure, Figure::Seconds, report)
        }),
        oversubscription: oversubscription(given.oversubscription, report),
        survive: survive(given.survive.as_deref(), report),
    }
}

/// What a goal is a bound of, and how it is written.
#[derive(Clone, Copy)]
enum Figure {
    Share,
    Times,
    Seconds,
}

fn figure(usual: Goal) -> Figure {
    match usual.better {
        Better::Higher => Figure::Share,
        Better::Lower => Figure::Times,
    }
}

impl Figure {
    fn show(self, value: f64) -> String {
        // Bounds are written with few digits; three decimals keep what a proportion of them gives readable.
        let round = |value: f64| (value * 1000.0).round() / 1000.0;
        match self {
            Figure::Share => format!("{}%", round(value * 100.0)),
            Figure::Times => format!("{}", round(value)),
            Figure::Seconds => format!("{}s", round(value)),
        }
    }

    /// Why a bound is nonsense, and what would be right.
    fn wrong(self, value: f64) -> Option<(String, &'static str)> {
        let shown = self.show(value);
        match self {
            Figure::Share if value == 0.0 => {
                Some(("a share of 0 is reached by a fabric that carries nothing".to_owned(), SHARE))
            }
            Figure::Share if value > 1.0 => {
                Some((format!("{shown} is more than all of it"), SHARE))
            }
            Figure::Times if value < 1.0 => Some((
                format!("{shown} times the ideal time is faster than an ideal network"),
                "give 1 or more, like 1.3",
            )),
            Figure::Seconds if value == 0.0 => Some((
                "no failure heals in no time".to_owned(),
                "give the longest interruption that is acceptable, like \"10s\"",
            )),
            Figure::Share | Figure::Times | Figure::Seconds => None,
        }
    }
}

const SHARE: &str = "give a share above 0 and up to 1, like 0.8 or \"80%\"";

/// One goal from the bounds that are written.
fn goal(
    key: &str,
    [pass, fail]: [Option<f64>; 2],
    usual: Goal,
    figure: Figure,
    report: &mut Report<'_>,
) -> Goal {
    let table = report.document().get(keys!["goals", key]);
    let single = !matches!(table.map(|node| &node.value), Some(Value::Table(_)));
    let mut sound = true;
    if pass.is_none() && fail.is_none() {
        let message = "it gives neither `pass` nor `fail`";
        let help = format!("give one of them, or leave `{key}` out for the default");
        report.error(code::MISSING_KEY, keys!["goals", key], message, help);
    }
    for (name, bound) in [("pass", pass), ("fail", fail)] {
        let Some((message, help)) = bound.and_then(|bound| figure.wrong(bound)) else { continue };
        let path: &[_] = if single { keys!["goals", key] } else { keys!["goals", key, name] };
        report.error(code::IMPOSSIBLE, path, message, help);
        sound = false;
    }
    let given = pass.is_some();
    let pass = pass.unwrap_or(usual.pass);
    let fail = fail.unwrap_or(usual.fail / usual.pass * pass);
    let goal = Goal { pass, fail, better: usual.better };
    // Equal bounds are a limit without a band of warnings.
    let contradicts = match usual.better {
        Better::Higher => fail > pass,
        Better::Lower => fail < pass,
    };
    if sound && contradicts {
        let shown = [pass, fail].map(|bound| figure.show(bound));
        let default = if given { "" } else { " (the default)" };
        report.error(
            code::IMPOSSIBLE,
            keys!["goals", key, "fail"],
            format!(
                "it passes at {}{default} and fails beyond {}, which is better than that",
                shown[0], shown[1]
            ),
            match usual.better {
                Better::Higher => "`fail` is the smaller one of the two: swap them, or give both",
                Better::Lower => "`fail` is the larger one of the two: swap them, or give both",
            },
        );
    }
    goal
}

fn oversubscription(given: Option<Ratio>, report: &mut Report<'_>) -> Ratio {
    let Some(ratio) = given else { return Ratio::ONE };
    if ratio >= Ratio::ONE {
        return ratio;
    }
    let help = match ratio.is_zero() {
        true => "\"1:1\" is full bandwidth, \"3:1\" a third of it".to_owned(),
        false => format!(
            "host bandwidth comes first: \"{}:{}\" if there is less above the leaves, else \"1:1\"",
            ratio.denominator(),
            ratio.numerator()
        ),
    };
    report.error(
        code::IMPOSSIBLE,
        keys!["goals", "oversubscription"],
        "more bandwidth above the leaves than the hosts have is not a goal that traffic can show",
        help,
    );
    Ratio::ONE
}

fn survive(given: Option<&[Failure]>, report: &mut Report<'_>) -> Vec<Failure> {
    let Some(given) = given else { return Goals::default().survive };
    let mut known: Vec<Failure> = Vec::with_capacity(given.len());
    for (position, &failure) in given.iter().enumerate() {
        if known.contains(&failure) {
            let message = "this failure is listed twice";
            let path = keys!["goals", "survive", position];
            report.error(code::DUPLICATE, path, message, "remove one of them");
        } else {
            known.push(failure);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use crate::FabricSetup;
    use crate::goals::{Failure, Goals};
    use crate::load::{load_fabric, load_scenario};
    use xoff_units::Ratio;

    const BASE: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n";

    fn setup(goals: &str) -> FabricSetup {
        let loaded = load_fabric(&format!("{BASE}[goals]\n{goals}\n"));
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        loaded.value.unwrap()
    }

    #[test]
    fn a_file_without_goals_has_the_default_ones() {
        let without = load_fabric(BASE).value.unwrap().goals;
        assert_eq!(without, Goals::default());
        assert_eq!(setup("").goals, without);
        let Goals { collective, step, all_to_all, permutation, incast, failure, .. } = without;
        let bounds = [collective, step, all_to_all, permutation, incast, failure];
        let bounds = bounds.map(|goal| (goal.pass, goal.fail));
        assert_eq!(
            bounds,
            [(0.8, 0.6), (1.3, 2.0), (0.8, 0.5), (0.8, 0.5), (2.0, 10.0), (10.0, 60.0)]
        );
        assert!(
            bounds
                .iter()
                .zip([true, false, true, true, false, false])
                .all(|(&(pass, fail), higher)| if higher { pass > fail } else { pass < fail })
        );
    }

    #[test]
    fn goals_are_written_as_one_bound_or_two() {
        let goals = setup(
            "collective = '90%'\nstep = { pass = 1.1, fail = 1.5 }\nincast = { fail = 20 }\n\
             failure = { pass = '500ms', fail = '2s' }\noversubscription = '3:1'\n\
             permutation = { pass = 0.7 }\nsurvive = ['link', 'leaf']",
        )
        .goals;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // 90% keeps the distance of 80% and 60%.
        assert!(near(goals.collective.pass, 0.9) && near(goals.collective.fail, 0.675));
        assert!(near(goals.step.pass, 1.1) && near(goals.step.fail, 1.5));
        assert!(near(goals.incast.pass, 2.0) && near(goals.incast.fail, 20.0));
        assert!(near(goals.failure.pass, 0.5) && near(goals.failure.fail, 2.0));
        assert!(near(goals.permutation.pass, 0.7) && near(goals.permutation.fail, 0.4375));
        assert_eq!(goals.oversubscription, Ratio::new(3, 1));
        assert!(near(goals.intended_share(), 1.0 / 3.0));
        assert!(goals.survives(Failure::Leaf) && !goals.survives(Failure::Spine));
        let none = setup("survive = []").goals;
        assert!(none.survive.is_empty());
        let hard = setup("step = { pass = 1.5, fail = 1.5 }").goals.step;
        assert!(hard.met_by(1.5) && hard.missed_by(1.501));
    }

    /// Asserts that one line of goals is refused where `shown` is, with a cure.
    fn refused(goals: &str, shown: &str, cure: &str) {
        let text = format!("{BASE}[goals]\n{goals}\n");
        let loaded = load_fabric(&text);
        assert!(loaded.value.is_none(), "{goals}");
        assert_eq!(loaded.diagnostics.len(), 1, "{goals}: {:?}", loaded.diagnostics);
        let found = &loaded.diagnostics[0];
        assert_eq!(&text[found.span.clone()], shown, "{found}");
        assert!(found.to_string().contains(cure), "{goals}: {found}");
    }

    #[test]
    fn nonsense_is_refused_on_its_line_with_the_cure() {
        refused("collective = 1.2", "1.2", "80%");
        refused("collective = 0", "0", "80%");
        refused("collective = '120%'", "'120%'", "120% is more");
        refused("collective = { pass = 0.6, fail = 0.8 }", "0.8", "swap");
        refused("collective = { fail = 0.9 }", "0.9", "80% (the default)");
        refused("all-to-all = { pass = 0.8, fail = 1.5 }", "1.5", "up to 1");
        refused("step = 0.9", "0.9", "1.3");
        refused("step = { pass = 3, fail = 2 }", "2", "larger");
        refused("failure = '0s'", "'0s'", "\"10s\"");
        refused("failure = 10", "10", "like \"2us\"");
        refused("collective = 'fast'", "'fast'", "20%");
        refused("oversubscription = '1:3'", "'1:3'", "\"3:1\"");
        refused("oversubscription = 0", "0", "1:1");
        refused("survive = ['link', 'spin']", "'spin'", "spine");
        refused("survive = ['link', 'link']", "'link'", "twice");
        refused("collective = {}", "collective", "neither `pass` nor `fail`");
        refused("colective = 0.8", "colective", "collective");
        refused("collective = { pas = 0.8 }", "pas", "pass");
    }

    #[test]
    fn a_scenario_may_have_goals_of_its_own() {
        let scenario = "fabric = 'f.toml'\n[override.goals]\nstep = 1.2\n";
        let loaded = load_scenario(scenario, &format!("{BASE}[goals]\ncollective = 0.7\n"));
        let goals = loaded.into_result().unwrap().setup.goals;
        assert!((goals.step.pass - 1.2).abs() < 1e-12);
        assert!((goals.collective.pass - 0.7).abs() < 1e-12);
    }
}
