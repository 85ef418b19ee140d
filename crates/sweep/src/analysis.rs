//! What a sweep shows: the response to every axis, which axis matters how much, and which settings no
//! other is better than.

use crate::plan::Plan;
use crate::row::{Figure, Row};
use crate::sample::{Place, Sample};
use crate::value::shown;
use std::collections::BTreeMap;

/// Parts into which an axis without listed values is divided.
const BINS: usize = 12;

/// Figures that are looked at where the sweep file names none: the first that the runs have.
const TIMES: [&str; 5] =
    ["step_us", "collective_us", "fct_p99_us", "latency_p99_us", "simulated_us"];

/// What is held against the first where the sweep file names no second one.
const AGAINST: &str = "paused_us";

/// What is kept of a sweep while its rows pass by: a few numbers for each setting.
#[derive(Debug)]
pub struct Gathered<'a> {
    plan: &'a Plan,
    /// The figures that are looked at; known with the first run that went well.
    figures: Vec<&'static Figure>,
    /// The settings all of whose points went well.
    settings: Vec<Observed>,
    /// The setting whose points are passing by.
    open: Option<Open>,
    /// How points ended.
    pub outcomes: BTreeMap<String, u64>,
    /// The first point that ended in each way that is not well, and why.
    pub troubles: BTreeMap<String, (u64, String)>,
    /// Points seen.
    pub points: u64,
}

/// A setting, on average over its seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Its number.
    pub setting: u64,
    /// Its figures, on average.
    pub means: Vec<f64>,
    /// How far its points are from the average of the first figure: the sum of squares.
    scatter: f64,
}

#[derive(Debug)]
struct Open {
    setting: u64,
    fine: bool,
    values: Vec<Vec<f64>>,
}

/// A share of the variance of the first figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The axis, `seed`, or what is left.
    pub name: String,
    /// From 0 to 1.
    pub share: f64,
}

/// Settings that are alike on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The value, or the values from and to.
    pub label: String,
    /// Where it is on the axis, if that is a number.
    pub number: Option<f64>,
    /// How many settings there are.
    pub count: u64,
    /// The figure: mean, least, greatest.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl<'a> Gathered<'a> {
    /// Of the rows of a plan, which come in order.
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            figures: Vec::new(),
            settings: Vec::new(),
            open: None,
            outcomes: BTreeMap::new(),
            troubles: BTreeMap::new(),
            points: 0,
        }
    }

    /// Takes in the next row.
    pub fn add(&mut self, row: &Row) {
        self.points += 1;
        *self.outcomes.entry(row.outcome.clone()).or_default() += 1;
        if !row.is_fine() {
            let why = row.reason.clone().unwrap_or_default();
            self.troubles.entry(row.outcome.clone()).or_insert((row.point, why));
        }
        if self.figures.is_empty() && row.is_fine() {
            self.figures = choose(self.plan, row);
        }
        let setting = row.point / self.plan.sweep.seeds.count();
        if self.open.as_ref().is_some_and(|open| open.setting != setting) {
            self.close();
        }
        let open = self.open.get_or_insert(Open { setting, fine: true, values: Vec::new() });
        let values: Option<Vec<f64>> =
            self.figures.iter().map(|figure| row.figure(figure)).collect();
        match values.filter(|values| !values.is_empty() && row.is_fine()) {
            Some(values) => open.values.push(values),
            None => open.fine = false,
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take().filter(|open| open.fine && !open.values.is_empty())
        else {
            return;
        };
        let count = open.values.len() as f64;
        let mean = |at: usize| open.values.iter().map(|values| values[at]).sum::<f64>() / count;
        let means: Vec<f64> = (0..self.figures.len()).map(mean).collect();
        let away = |values: &Vec<f64>| (values[0] - means[0]) * (values[0] - means[0]);
        let scatter = open.values.iter().map(away).sum();
        self.settings.push(Observed { setting: open.setting, means, scatter });
    }

    /// No more rows come.
    pub fn finish(mut self) -> Self {
        self.close();
        self
    }

    /// The plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The figures that are looked at.
    pub fn figures(&self) -> &[&'static Figure] {
        &self.figures
    }

    /// The settings all of whose points went well.
    pub fn settings(&self) -> &[Observed] {
        &self.settings
    }

    /// Points that did not go well.
    pub fn failed(&self) -> u64 {
        let fine = ["completed", "duration-reached"];
        let not = self.outcomes.iter().filter(|(word, _)| !fine.contains(&word.as_str()));
        not.map(|(_, count)| count).sum()
    }

    /// Settings by the first figure, the best first; of equal ones the first.
    pub fn ranked(&self) -> Vec<&Observed> {
        let mut all: Vec<&Observed> = self.settings.iter().collect();
        let Some(figure) = self.figures.first() else { return all };
        all.sort_by(|a, b| better(figure, a.means[0], b.means[0]));
        all
    }

    /// The settings than which no other is better in both of the first two figures, in the order of the
    /// first.
    pub fn front(&self) -> Vec<&Observed> {
        let [first, second, ..] = self.figures[..] else { return Vec::new() };
        let mut all: Vec<&Observed> = self.settings.iter().collect();
        all.sort_by(|a, b| {
            better(first, a.means[0], b.means[0]).then(better(second, a.means[1], b.means[1]))
        });
        let mut front: Vec<&Observed> = Vec::new();
        for one in all {
            let beats = |last: &&Observed| better(second, one.means[1], last.means[1]).is_lt();
            if front.last().is_none_or(beats) {
                front.push(one);
            }
        }
        front
    }

    /// The settings by where they are on an axis.
    pub fn groups(&self, axis: usize) -> Vec<Group> {
        let members = self.members(axis);
        let group = |(label, number, members): (String, Option<f64>, Vec<&Observed>)| {
            let values = || members.iter().map(|one| one.means[0]);
            Group {
                label,
                number,
                count: members.len() as u64,
                mean: values().sum::<f64>() / members.len().max(1) as f64,
                least: values().fold(f64::INFINITY, f64::min),
                greatest: values().fold(f64::NEG_INFINITY, f64::max),
            }
        };
        members.into_iter().map(group).collect()
    }

    /// Settings by value: its label, its number, and those that have it.
    pub(crate) fn members(&self, axis: usize) -> Vec<(String, Option<f64>, Vec<&Observed>)> {
        let own = &self.plan.axes()[axis];
        let measure = own.measure(0);
        let number = |settings: &[crate::axis::Setting<'_>]| match settings {
            [only] => measure.number(&only.value),
            _ => None,
        };
        let label = |settings: &[crate::axis::Setting<'_>]| {
            settings.iter().map(|setting| shown(&setting.value)).collect::<Vec<_>>().join(", ")
        };
        let Some(levels) = own.levels() else {
            let mut all: Vec<(f64, &Observed)> = self
                .settings
                .iter()
                .map(|one| match self.plan.place(axis, one.setting) {
                    Place::Share(share) => (share, one),
                    Place::Level(level) => (level as f64, one),
                })
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let size = all.len().div_ceil(BINS).max(1);
            let part = |part: &[(f64, &'_ Observed)]| {
                let (from, to) = (part[0].0, part[part.len() - 1].0);
                let [low, middle, high] = [from, (from + to) / 2.0, to].map(|place| own.at(place));
                let label = format!("{} to {}", label(&low), label(&high));
                (label, number(&middle))
            };
            return all
                .chunks(size)
                .map(|chunk| {
                    let (label, number) = part(chunk);
                    (label, number, chunk.iter().map(|(_, one)| *one).collect())
                })
                .collect();
        };
        let mut groups: Vec<Vec<&Observed>> = vec![Vec::new(); levels];
        for one in &self.settings {
            if let Place::Level(level) = self.plan.place(axis, one.setting) {
                groups[level].push(one);
            }
        }
        let groups = groups.into_iter().enumerate().filter(|(_, members)| !members.is_empty());
        let named = groups.map(|(level, members)| {
            let settings = own.level(level);
            (label(&settings), number(&settings), members)
        });
        named.collect()
    }

    /// The share of the variance of the first figure that each axis explains alone, that seeds make, and
    /// that is left for axes together. Nothing where nothing varies.
    pub fn shares(&self) -> Vec<Share> {
        let count = self.settings.len() as f64;
        let seeds = self.plan.sweep.seeds.count() as f64;
        if count < 2.0 {
            return Vec::new();
        }
        let mean = self.settings.iter().map(|one| one.means[0]).sum::<f64>() / count;
        let square = |value: f64| (value - mean) * (value - mean);
        let between: f64 = self.settings.iter().map(|one| square(one.means[0])).sum();
        let noise: f64 = self.settings.iter().map(|one| one.scatter).sum();
        let total = between * seeds + noise;
        if total <= 0.0 {
            return Vec::new();
        }
        let of = |axis: usize| {
            let groups = self.groups(axis);
            let explained: f64 =
                groups.iter().map(|group| group.count as f64 * square(group.mean)).sum();
            // Means of a few settings differ by chance; on a grid every other axis is the same in each.
            let degrees = groups.len() as f64 - 1.0;
            let by_chance = match self.plan.sweep.sample {
                Sample::Grid => 0.0,
                _ => (between - explained) * degrees / (count - degrees - 1.0).max(1.0),
            };
            ((explained - by_chance) * seeds / total).clamp(0.0, 1.0)
        };
        let axes = self.plan.axes().iter().enumerate();
        let mut shares: Vec<Share> =
            axes.map(|(at, axis)| Share { name: axis.name.clone(), share: of(at) }).collect();
        if seeds > 1.0 {
            shares.push(Share { name: "seed".to_owned(), share: noise / total });
        }
        let rest = 1.0 - shares.iter().map(|share| share.share).sum::<f64>();
        if self.plan.axes().len() > 1 {
            shares.push(Share { name: "axes together".to_owned(), share: rest.clamp(0.0, 1.0) });
        }
        shares
    }
}

/// The figures that are looked at: those of the sweep file, or what a run has.
fn choose(plan: &Plan, row: &Row) -> Vec<&'static Figure> {
    if !plan.sweep.results.is_empty() {
        return plan.sweep.results.clone();
    }
    let has = |figure: &&'static Figure| row.figure(figure).is_some();
    let first = TIMES.iter().filter_map(|name| Figure::named(name)).find(has);
    first.into_iter().chain(Figure::named(AGAINST).filter(has)).collect()
}

fn better(figure: &Figure, a: f64, b: f64) -> std::cmp::Ordering {
    if figure.more { b.total_cmp(&a) } else { a.total_cmp(&b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Sweep;

    fn plan(text: &str) -> Plan {
        Plan::new(
            Sweep::parse(&format!("scenario = 's'\nresults = ['fct_p99_us', 'pauses']\n{text}"))
                .unwrap(),
            1,
        )
    }

    /// Rows of a function of the point's number.
    fn gathered<'a>(plan: &'a Plan, of: impl Fn(u64) -> Option<(f64, f64)>) -> Gathered<'a> {
        let mut all = Gathered::new(plan);
        for number in 0..plan.points() {
            let mut row = Row::without_run(number, "failed", "x".into());
            if let Some((first, second)) = of(number) {
                row.outcome = "completed".into();
                row.figures[Figure::named("fct_p99_us").unwrap().place()] = Some(first);
                row.figures[Figure::named("pauses").unwrap().place()] = Some(second);
            }
            all.add(&row);
        }
        all.finish()
    }

    const TWO: &str = "[[axis]]\nkey = 'fabric.a'\nvalues = [1, 2, 3]\n[[axis]]\nkey = 'fabric.b'\nvalues = ['x', 'y']\n";

    #[test]
    fn an_axis_that_decides_alone_has_all_of_the_variance() {
        let plan = plan(TWO);
        let all = gathered(&plan, |number| Some(((number / 2) as f64, 0.0)));
        let shares = all.shares();
        assert_eq!(shares[0], Share { name: "fabric.a".into(), share: 1.0 });
        assert_eq!((shares[1].share, shares[2].share), (0.0, 0.0));
        let groups = all.groups(0);
        assert_eq!(
            (groups[2].label.as_str(), groups[2].number, groups[2].mean),
            ("3", Some(3.0), 2.0)
        );
        assert_eq!(all.groups(1)[1].label, "y");
        assert_eq!((all.groups(1)[1].least, all.groups(1)[1].greatest), (0.0, 2.0));
    }

    #[test]
    fn what_only_seeds_change_is_said_to_be_theirs() {
        let plan = plan(&format!("seeds = 2\n{TWO}"));
        let all = gathered(&plan, |number| Some(((number % 2) as f64, 0.0)));
        let of = |name: &str| all.shares().iter().find(|share| share.name == name).unwrap().share;
        assert_eq!((of("seed"), of("fabric.a"), of("axes together")), (1.0, 0.0, 0.0));
    }

    /// In a sample of one axis that matters and one that does not.
    #[test]
    fn chance_is_taken_off_samples() {
        let plan = plan(
            "sample = 'sobol'\npoints = 256\n[[axis]]\nkey = 'fabric.a'\nfrom = 0.0\nto = 1.0\n\
             [[axis]]\nkey = 'fabric.b'\nfrom = 0.0\nto = 1.0\n",
        );
        let all = gathered(&plan, |number| {
            let point = plan.point(number).unwrap();
            Some((point.settings[0].value.as_float().unwrap(), 0.0))
        });
        let shares = all.shares();
        assert!(shares[0].share > 0.97 && shares[1].share < 0.03, "{shares:?}");
    }

    #[test]
    fn the_front_has_what_nothing_beats() {
        let plan = plan(TWO);
        let figures = [(1.0, 9.0), (2.0, 5.0), (2.0, 7.0), (3.0, 5.0), (4.0, 1.0), (0.0, 0.0)];
        let all = gathered(&plan, |number| (number != 5).then(|| figures[number as usize]));
        let front: Vec<u64> = all.front().iter().map(|one| one.setting).collect();
        assert_eq!(front, [0, 1, 4], "a point that failed is best in both and does not count");
        assert_eq!(all.ranked()[0].setting, 0);
        assert_eq!((all.failed(), all.settings().len()), (1, 5));
        assert_eq!(all.troubles["failed"].0, 5);
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let plan = plan(TWO);
        let none = gathered(&plan, |_| None);
        assert!(none.shares().is_empty() && none.front().is_empty() && none.ranked().is_empty());
        assert!(none.groups(0).is_empty());
        let same = gathered(&plan, |_| Some((1.0, 1.0)));
        assert!(same.shares().is_empty());
        assert_eq!(same.front().len(), 1);
    }
}
