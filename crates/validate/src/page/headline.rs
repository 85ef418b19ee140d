//! The top of the page: one sentence, and the figures that matter most to whoever pays for the
//! cluster. The sentence is the same on the terminal.

use crate::check::Aspect;
use crate::measure::{CollectiveFigures, Measurement, TrainingFigures};
use crate::phase::Phase;
use crate::suite::Curtailment;
use crate::validation::{AspectResult, Validation};
use std::collections::BTreeMap;
use xoff_report::{Number, Tile, Unit, Verdict, counted};

type Measured = BTreeMap<String, Measurement>;

/// How many checks there are and how they ended, in one sentence that the verdict cannot contradict.
pub fn sentence(validation: &Validation) -> String {
    let count = |verdict| validation.checks.iter().filter(|check| check.verdict == verdict).count();
    let words = |verdict, one: &str, many: &str| counted(count(verdict) as u64, one, many);
    let all = counted(validation.checks.len() as u64, "check", "checks");
    match (count(Verdict::Fail), count(Verdict::Warn)) {
        (0, 0) => format!("{all}: all pass."),
        (0, _) => format!("{all}: none fails, {}.", words(Verdict::Warn, "warns", "warn")),
        (_, warned) => {
            let failed = words(Verdict::Fail, "fails", "fail");
            let warned = match warned {
                0 => "none warns".to_owned(),
                _ => words(Verdict::Warn, "warns", "warn"),
            };
            format!("{all}: {failed}, {warned}.")
        }
    }
}

/// What the verdict does not cover: phases that were not chosen, and the size of the experiments.
pub(super) fn not_covered(validation: &Validation) -> Vec<String> {
    let made = |phase: &Phase| validation.phases.iter().any(|result| result.phase == *phase);
    let left: Vec<&str> =
        Phase::ALL.iter().filter(|phase| !made(phase)).map(|p| p.title()).collect();
    let phases = (!left.is_empty()).then(|| format!("Not checked: {}.", left.join(", ")));
    let quick =
        validation.quick.then(|| "Quick: smaller experiments, and fewer of them.".to_owned());
    let budget = validation.curtailment.as_ref().and_then(Curtailment::sentence);
    phases.into_iter().chain(quick).chain(budget.map(|text| format!("{text}."))).collect()
}

/// The figures at the top. What was not measured has no tile.
pub(super) fn tiles(validation: &Validation, measured: &Measured) -> Vec<Tile> {
    let tiles = [step_time(measured), gpu_hours(measured), bandwidth(measured)];
    let tiles = tiles.into_iter().flatten();
    let figures = tiles.map(|(tile, experiments)| judged(tile, validation, &experiments));
    figures.chain(words(validation)).collect()
}

/// Lossless or not, and how failures end.
fn words(validation: &Validation) -> impl Iterator<Item = Tile> {
    let told = validation.aspects.iter().filter_map(|result| {
        let (name, word) = match (result.aspect, result.verdict) {
            (Aspect::Performance, _) => return None,
            (_, Verdict::Pass) if !result.measured => return None,
            (Aspect::Lossless, Verdict::Fail) => ("Lossless", "no"),
            (Aspect::Lossless, _) => ("Lossless", "yes"),
            (Aspect::Resilience, Verdict::Pass) => ("Resilience", "as designed"),
            (Aspect::Resilience, Verdict::Warn) => ("Resilience", "has gaps"),
            (Aspect::Resilience, Verdict::Fail) => ("Resilience", "insufficient"),
        };
        Some(Tile::words(name, word).verdict(result.verdict))
    });
    told.collect::<Vec<_>>().into_iter()
}

/// The three answers, in sentences.
pub(super) fn answers(validation: &Validation) -> Vec<String> {
    let sentence = |result: &AspectResult| {
        let name = result.aspect.name();
        format!("{}{}: {}.", name[..1].to_uppercase(), &name[1..], result.answer)
    };
    validation.aspects.iter().map(sentence).collect()
}

/// A figure, and the experiments that it comes from.
type Figure<'a> = (Tile, Vec<&'a str>);

/// The tile with the verdict of the worst check that is about one of these experiments, and a link to
/// it. Checks of many experiments at once are about something else.
fn judged(tile: Tile, validation: &Validation, experiments: &[&str]) -> Tile {
    let own = validation.checks.iter().filter(|check| {
        // A check of an experiment and of the undisturbed one is about the former.
        let about = check.experiments.len() <= 2;
        about && check.experiments.iter().any(|id| experiments.contains(&id.as_str()))
    });
    // Of equals the first, in the order of the phases.
    let worst = own.fold(None, |worst: Option<&crate::Check>, check| match worst {
        Some(known) if known.verdict >= check.verdict => Some(known),
        _ => Some(check),
    });
    match worst {
        Some(check) => tile.verdict(check.verdict).link(check.id.clone()),
        None => tile,
    }
}

fn seconds(us: f64) -> Number {
    Number::new(us / 1e6, Unit::Seconds)
}

/// The training step that most GPUs took part in, undisturbed.
pub(super) fn step(measured: &Measured) -> Option<(&str, &TrainingFigures)> {
    let own = measured.iter().filter(|(id, _)| !id.starts_with("failure"));
    let steps = own.flat_map(|(id, all)| all.steps.iter().map(move |step| (id.as_str(), step)));
    steps.filter(|(_, step)| step.finished && step.time_us > 0.0).max_by_key(|(_, step)| step.ranks)
}

/// The share of a step's time that an ideal network would save.
pub(super) fn lost(step: &TrainingFigures) -> f64 {
    (1.0 - step.ideal_us / step.time_us).max(0.0)
}

fn step_time(measured: &Measured) -> Option<Figure<'_>> {
    let (id, step) = step(measured)?;
    let times = Number::plain(step.time_us / step.ideal_us.max(f64::MIN_POSITIVE));
    let note = format!("{times} times the ideal network's {}", seconds(step.ideal_us));
    Some((Tile::new("Step time", seconds(step.time_us)).note(note), vec![id]))
}

fn gpu_hours(measured: &Measured) -> Option<Figure<'_>> {
    let (id, step) = step(measured)?;
    let all = 24.0 * f64::from(step.ranks);
    let hours = Number::new(all * lost(step), Unit::Other("GPU-h"));
    let note =
        format!("of {} on {} GPUs", Number::count(all as u64), Number::count(step.ranks.into()));
    Some((Tile::new("Lost to the fabric a day", hours).note(note), vec![id]))
}

/// The largest AllReduce, or whichever collective there is.
fn bandwidth(measured: &Measured) -> Option<Figure<'_>> {
    let own = measured.iter().filter(|(id, _)| !id.starts_with("failure"));
    let rows = own.flat_map(|(id, all)| all.collectives.iter().map(move |row| (id.as_str(), row)));
    let rank = |row: &CollectiveFigures| {
        (row.name.contains("Reduce") && row.name.contains("All"), row.bytes)
    };
    let done = rows.filter(|(_, row)| row.finished && row.ideal_busbw > 0.0);
    let (id, row) = done.max_by_key(|(id, row)| (id.starts_with("all-reduce"), rank(row)))?;
    let share = Number::share(row.busbw / row.ideal_busbw);
    let size = xoff_units::Bytes::new(row.bytes);
    let name = format!("{} bus bandwidth", row.name);
    let busbw = Number::new(row.busbw, Unit::BytesPerSecond);
    let note = format!("{share} of ideal, {size} on {} GPUs", Number::count(row.ranks.into()));
    Some((Tile::new(name, busbw).note(note), vec![id]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::Subject;
    use crate::{Check, Validation};
    use std::collections::BTreeMap;

    fn validation(verdicts: &[Verdict]) -> Validation {
        let subject = Subject {
            fabric: "pod.toml".into(),
            fabric_sha256: "00".into(),
            version: "0".into(),
            seed: 1,
            quick: true,
        };
        let check = |(at, verdict): (usize, &Verdict)| {
            let check = Check::new(Phase::Workload, &format!("c{at}"), "t").verdict(*verdict);
            check.from([format!("x{at}")])
        };
        let checks = verdicts.iter().enumerate().map(check).collect();
        Validation::new(subject, checks, &BTreeMap::new())
    }

    /// A sentence that says "passes" beside a warning is what readers cannot trust.
    #[test]
    fn the_sentence_agrees_with_the_verdict() {
        use Verdict::{Fail, Pass, Warn};
        let said = |verdicts: &[Verdict]| sentence(&validation(verdicts));
        assert_eq!(said(&[Pass, Pass]), "2 checks: all pass.");
        assert_eq!(said(&[Pass, Warn]), "2 checks: none fails, 1 warns.");
        assert_eq!(said(&[Pass, Warn, Warn, Fail]), "4 checks: 1 fails, 2 warn.");
        assert_eq!(said(&[Fail]), "1 check: 1 fails, none warns.");
        for verdicts in [&[Warn][..], &[Fail], &[Fail, Warn]] {
            assert!(!said(verdicts).contains("pass"), "{}", said(verdicts));
        }
    }

    /// "Nothing found" and "nothing looked at" are different sentences.
    #[test]
    fn what_was_not_checked_is_said() {
        let said = not_covered(&validation(&[Verdict::Pass]));
        let phases = "Not checked: Laboratory, Baseline, Synthetic load, Failures, Operations.";
        assert_eq!(said, [phases, "Quick: smaller experiments, and fewer of them."]);
    }

    #[test]
    fn the_top_has_step_time_bandwidth_and_hours_lost() {
        let mut measured = Measured::new();
        let step = TrainingFigures {
            name: "step".into(),
            ranks: 256,
            finished: true,
            time_us: 2e6,
            ideal_us: 1.5e6,
            ..TrainingFigures::default()
        };
        measured.insert("x0".into(), Measurement { steps: vec![step], ..Measurement::default() });
        let row = CollectiveFigures {
            name: "AllReduce".into(),
            ranks: 256,
            bytes: 1 << 30,
            finished: true,
            busbw: 40e9,
            ideal_busbw: 50e9,
            ..CollectiveFigures::default()
        };
        let all = Measurement { collectives: vec![row], ..Measurement::default() };
        measured.insert("x1".into(), all);
        let tiles = tiles(&validation(&[Verdict::Warn, Verdict::Pass]), &measured);
        let said: Vec<String> = tiles
            .iter()
            .map(|tile| format!("{} {:?} {:?}", tile.name, tile.note, tile.verdict))
            .collect();
        let said = said.join("\n");
        // A quarter of 24 hours times 256 GPUs.
        assert_eq!(
            tiles[1].value,
            xoff_report::Value::Number(Number::new(1536.0, Unit::Other("GPU-h")))
        );
        for part in ["1.33 times", "of 6,144 on 256 GPUs", "80 % of ideal, 1GiB"] {
            assert!(said.contains(part), "no {part} in\n{said}");
        }
        assert_eq!(tiles[0].link.as_deref(), Some("workload.c0"));
        assert_eq!(tiles[0].verdict, Some(Verdict::Warn));
    }

    #[test]
    fn the_top_says_whether_it_is_lossless() {
        for (verdict, word) in [(Verdict::Pass, "yes"), (Verdict::Fail, "no")] {
            let mut told = validation(&[]);
            let answer = "so many dropped".to_owned();
            told.aspects =
                vec![AspectResult { aspect: Aspect::Lossless, verdict, answer, measured: true }];
            let tiles = tiles(&told, &Measured::new());
            assert_eq!(tiles, [Tile::words("Lossless", word).verdict(verdict)]);
            assert_eq!(answers(&told), ["Lossless: so many dropped."]);
        }
    }
}
