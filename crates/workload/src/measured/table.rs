//! The table of nccl-tests and rccl-tests.
//!
//! A row is printed in two or three parts: size, count, type, operation and root before the test runs, the figures after it.
//! What NCCL logs meanwhile lands in between, on the same line or on lines of its own. So a row is put together from
//! words: those of a line up to the log, then those of the next lines that are nothing but figures.

use super::{Kind, Measured, Note, Notes, Row, Sample, Series, sample};
use std::collections::BTreeSet;
use xoff_units::Bytes;

/// Columns before the figures, with and without the root.
const DESCRIBED: [&str; 5] = ["size", "count", "type", "redop", "root"];

pub(super) fn read(text: &str) -> Measured {
    let mut reader = Reader { at: 0, ..Reader::new() };
    for (line, number) in text.lines().zip(1..) {
        reader.at = number;
        reader.line(without_prefix(line));
    }
    reader.finish()
}

/// What comes between figures of the out-of-place and the in-place half.
struct Columns {
    described: usize,
    /// Names of one half.
    half: Vec<String>,
    halves: usize,
}

struct Reader {
    at: u64,
    done: Vec<Series>,
    series: Series,
    hosts: BTreeSet<String>,
    ranks: u32,
    columns: Columns,
    /// Words of a row that is not complete.
    words: Vec<String>,
    began: u64,
    reduces: bool,
    rooted: bool,
    notes: Notes,
}

impl Reader {
    fn new() -> Self {
        Self {
            at: 0,
            done: Vec::new(),
            series: Series::new(),
            hosts: BTreeSet::new(),
            ranks: 0,
            columns: Columns::usual(),
            words: Vec::new(),
            began: 0,
            reduces: false,
            rooted: false,
            notes: Notes::default(),
        }
    }

    fn line(&mut self, line: &str) {
        match line.trim_start().strip_prefix('#') {
            Some(remark) => self.remark(remark),
            None => self.words(line),
        }
    }

    /// A line that begins with `#`.
    fn remark(&mut self, remark: &str) {
        let words: Vec<&str> = remark.split_whitespace().collect();
        match words[..] {
            // The first line of every call.
            ["nThread", ..] => self.next_series(),
            ["Collective", "test", "starting:", name, ..] => {
                if !self.series.rows.is_empty() {
                    self.next_series();
                }
                self.series.collective = Kind::named(name);
            }
            ["Rank", rank, "Group", _, "Pid", _, "on", host, ..]
            | ["Rank", rank, "Pid", _, "on", host, ..] => {
                if self.ranks > 0 && rank == "0" {
                    let alone =
                        "a second rank 0: processes built without MPI run alone, side by side";
                    self.notes.add(alone, Some(self.at));
                }
                self.ranks += 1;
                self.hosts.insert(host.to_owned());
            }
            ["size", "count", "type", ..] => match Columns::of(&words) {
                Some(columns) => self.columns = columns,
                None => self.notes.add("a head of columns that is not known", Some(self.at)),
            },
            _ => {}
        }
    }

    fn words(&mut self, line: &str) {
        let (line, cut) = without_log(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        if begins_a_row(&words) {
            self.torn();
            self.began = self.at;
            self.words = words.iter().map(|&word| word.to_owned()).collect();
            // A log may follow a word without a blank; what is not a root was the log's.
            if cut && self.words.len() == self.columns.described {
                self.clean_root();
            }
        } else if !self.words.is_empty() && words.iter().all(|word| is_figure(word)) {
            self.words.extend(words.iter().map(|&word| word.to_owned()));
        }
        if !self.words.is_empty() && self.words.len() >= self.columns.number() {
            self.row();
        }
    }

    fn clean_root(&mut self) {
        let Some(last) = self.words.last_mut() else { return };
        if self.columns.described == DESCRIBED.len() {
            let digits = last.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(last.len());
            last.truncate(digits);
        }
    }

    /// All words of a row are there.
    fn row(&mut self) {
        let words = std::mem::take(&mut self.words);
        let Ok(size) = words[0].parse().map(Bytes::new) else { return };
        // Rows of nothing are printed where ranks do not divide the size.
        if size.is_zero() {
            return;
        }
        let rooted = self.columns.described == DESCRIBED.len();
        self.reduces |= words[3] != "none";
        self.rooted |= rooted && words[4].parse::<i64>().is_ok_and(|root| root >= 0);
        let half = |index: usize| {
            let start = self.columns.described + index * self.columns.half.len();
            self.columns.sample(size, words.get(start..start + self.columns.half.len())?)
        };
        let out_of_place = half(0);
        let in_place = if self.columns.halves > 1 { half(1) } else { None };
        let damaged =
            [out_of_place, in_place].into_iter().flatten().any(|s| s.wrong.unwrap_or(0) > 0);
        if damaged {
            self.notes.add("a row with wrong values", Some(self.began));
        }
        if out_of_place.is_none() && in_place.is_none() {
            self.notes
                .add("a row whose time and bandwidths contradict each other", Some(self.began));
            return;
        }
        self.series.rows.push(Row { size, out_of_place, in_place });
    }

    /// A row that is followed by another one before it is complete.
    fn torn(&mut self) {
        if !std::mem::take(&mut self.words).is_empty() {
            self.notes.add("a row that has no end", Some(self.began));
        }
    }

    fn next_series(&mut self) {
        self.torn();
        let mut series = std::mem::replace(&mut self.series, Series::new());
        let hosts = std::mem::take(&mut self.hosts);
        series.ranks = (self.ranks > 0).then_some(self.ranks);
        series.hosts = (self.ranks > 0).then_some(hosts.len() as u32);
        self.ranks = 0;
        series.recognise(self.reduces, self.rooted);
        (self.reduces, self.rooted) = (false, false);
        self.columns = Columns::usual();
        if series.rows.is_empty() {
            // The name of the test is printed before everything else.
            self.series.collective = series.collective;
        } else {
            self.done.push(series);
        }
    }

    fn finish(mut self) -> Measured {
        self.next_series();
        let notes: Vec<Note> = self.notes.0;
        Measured { series: self.done, notes }
    }
}

impl Columns {
    /// Those of versions since 2022.
    fn usual() -> Self {
        let half = ["time", "algbw", "busbw", "#wrong"].map(str::to_owned).to_vec();
        Self { described: DESCRIBED.len(), half, halves: 2 }
    }

    /// As the head of a table has them.
    fn of(words: &[&str]) -> Option<Self> {
        let described =
            words.iter().zip(DESCRIBED).take_while(|(word, name)| *word == name).count();
        let rest = &words[described..];
        let again = rest.iter().skip(1).position(|word| rest.first() == Some(word));
        let (half, halves) = match again {
            Some(at) => (&rest[..=at], 2),
            None => (rest, 1),
        };
        let time = half.iter().any(|name| name.ends_with("time"));
        (described >= 4 && time && half.contains(&"busbw")).then(|| Self {
            described,
            half: half.iter().map(|&name| name.to_owned()).collect(),
            halves,
        })
    }

    fn number(&self) -> usize {
        self.described + self.half.len() * self.halves
    }

    fn sample(&self, size: Bytes, words: &[String]) -> Option<Sample> {
        let named = |name: &str| {
            let at = self.half.iter().position(|column| column.ends_with(name))?;
            words[at].parse::<f64>().ok()
        };
        let wrong = named("#wrong").or_else(|| {
            // Before it was counted the largest error was printed; zero or tiny is right.
            named("error").map(|error| if error > 1e-2 { 1.0 } else { 0.0 })
        });
        let wrong = wrong.filter(|wrong| *wrong >= 0.0).map(|wrong| wrong as u64);
        sample(size, named("time")?, named("algbw"), named("busbw")?, wrong)
    }
}

/// A line without what launchers and collectors of logs put before it, up to three of them.
fn without_prefix(line: &str) -> &str {
    const MOST: usize = 3;
    let line = line.trim_end();
    (0..MOST).try_fold(line, |line, _| without_one(line).ok_or(line)).unwrap_or_else(|line| line)
}

/// A line without one of: `[1,0]<stdout>:` of `mpirun --tag-output`, `0: ` of `srun -l`, `[0] ` of others, the time of
/// `kubectl logs --timestamps`, its `[pod/…] `, and the name of a pod with a colon.
fn without_one(line: &str) -> Option<&str> {
    if let Some((tag, rest)) = line.split_once("<stdout>:").or(line.split_once("<stderr>:"))
        && tag.split_whitespace().next_back().is_some_and(|tag| tag.starts_with('['))
    {
        return Some(rest);
    }
    let line = line.trim_start();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((tag, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (is_number(tag) || tag.starts_with("pod/")).then_some(rest);
    }
    let (word, rest) = line.split_once(' ')?;
    if let Some(name) = word.strip_suffix(':') {
        return (is_number(name) || name.bytes().any(|byte| byte.is_ascii_alphabetic()))
            .then_some(rest);
    }
    is_time(word).then_some(rest)
}

/// `2026-07-09T16:03:21.5Z`.
fn is_time(word: &str) -> bool {
    let form = "0000-00-00T00:00:00".bytes();
    let fits = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    word.len() >= form.len() && word.bytes().zip(form).all(fits)
}

/// A line up to where a log of NCCL begins (`host:pid:thread [gpu] NCCL INFO ...`), and whether there was one.
fn without_log(line: &str) -> (&str, bool) {
    let Some(at) =
        ["NCCL INFO", "NCCL WARN", "NCCL TRACE"].iter().filter_map(|log| line.find(log)).min()
    else {
        return (line, false);
    };
    let before = line[..at].trim_end();
    // The GPU, then the process; either may be missing.
    let before = match before.ends_with(']') {
        true => before[..before.rfind('[').unwrap_or(0)].trim_end(),
        false => before,
    };
    // `host:pid:thread` may be glued to the last word of a row, which is a number.
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let process = &before[start..];
    if process.matches(':').count() < 2 {
        return (before, true);
    }
    let digits = process.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(process.len());
    (&before[..start + digits], true)
}

/// Whether these are the first words of a row: a size, a count and a type.
fn begins_a_row(words: &[&str]) -> bool {
    let [size, count, kind, _, ..] = words else { return false };
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    number(size) && number(count) && kind.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_figure(word: &str) -> bool {
    word == "N/A" || word.parse::<f64>().is_ok()
}
