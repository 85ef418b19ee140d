//! What became of the cases of a campaign.

use super::case::Case;
use super::fault::Fault;
use std::collections::BTreeMap;
use std::fmt;
use xoff_diagnose::fabric::Diagnosis;

/// How many cases of a fault were found first, among the first three, and in all; and what was found instead.
#[derive(Default)]
struct Row {
    first: u32,
    third: u32,
    all: u32,
    instead: BTreeMap<String, Vec<u64>>,
}

#[derive(Default)]
pub(crate) struct Table(BTreeMap<Fault, Row>);

impl Table {
    pub(crate) fn add(&mut self, case: &Case, diagnosis: &Diagnosis) {
        let row = self.0.entry(case.fault).or_default();
        row.all += 1;
        let hits: Vec<bool> = diagnosis.findings.iter().take(3).map(|f| case.is_hit(f)).collect();
        let nothing = diagnosis.findings.is_empty() && !case.fault.is_fault();
        let first = nothing || hits.first() == Some(&true);
        row.first += u32::from(first);
        row.third += u32::from(nothing || hits.contains(&true));
        if !first {
            let found = diagnosis.findings.first();
            let word = found.map_or("nothing".to_owned(), |found| {
                let right = case.fault.causes().contains(&found.cause);
                let place = if right { " elsewhere" } else { "" };
                format!("{}{place}", found.cause.name())
            });
            row.instead.entry(word).or_default().push(case.seed);
        }
    }

    /// Cases found first, and all, of the faults that are meant.
    pub(crate) fn first(&self, which: impl Fn(Fault) -> bool) -> (u32, u32) {
        let rows = self.0.iter().filter(|(fault, _)| which(**fault));
        rows.fold((0, 0), |sum, (_, row)| (sum.0 + row.first, sum.1 + row.all))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:24} {:>5} {:>6} {:>5}  instead (seeds)",
            "fault", "first", "third", "cases"
        )?;
        for (fault, row) in &self.0 {
            let instead = row.instead.iter().map(|(word, seeds)| format!("{word} {seeds:?}"));
            let instead: Vec<String> = instead.collect();
            let Row { first, third, all, .. } = row;
            let name = fault.name();
            writeln!(f, "{name:24} {first:>5} {third:>6} {all:>5}  {}", instead.join(", "))?;
        }
        let sum = |of: fn(&Row) -> u32| self.0.values().map(of).sum::<u32>();
        let (first, third, all) = (sum(|r| r.first), sum(|r| r.third), sum(|r| r.all));
        writeln!(f, "{:24} {first:>5} {third:>6} {all:>5}", "all")
    }
}
