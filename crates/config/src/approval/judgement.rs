//! [`judge`]: which records hold, which count, and which intent is in force.
//!
//! A record that was tampered with, or does not follow the one before it, is a [`Break`]: the whole
//! file is refused then, and nothing is in force. A record that is intact but given by somebody who
//! may not is left out ([`Reason`]): it approves nothing, and later ones go on without it.
//!
//! An intent is in force once as many people of one role approved it as the role needs. Their records
//! follow each other; one that approves another intent starts anew.

use super::approvers::Approvers;
use super::date::Date;
use super::part::{Part, changed};
use super::record::Approval;
use std::collections::BTreeSet;
use std::fmt;

#[cfg(test)]
mod tests;

/// How far a clock may be behind that of the machine on which somebody approved, in seconds.
const SKEW: u64 = 300;

/// What says who may approve.
#[derive(Debug, Clone, Copy)]
pub enum Policy<'a> {
    /// Nothing: every record counts, signed or not.
    Nobody,
    /// A list of keys: whoever signs with one of them may approve everything alone.
    Keys,
    /// A file of roles.
    Roles(&'a Approvers),
}

/// What came of checking a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// It is of the record, and of a key that its name may sign with; with [`Policy::Nobody`] of
    /// any key.
    Good,
    /// It is not of the record.
    Forged,
    /// It is of the record, but of another key, which is named.
    NotAllowed(String),
    /// It was not checked, for this reason.
    NotChecked(String),
}

/// How a record was tampered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The hash is not that of the fabric.
    Hash,
    /// It follows a record that is not before it.
    Place,
    /// It does not say which record it follows.
    Loose,
    /// Its signature is not of it.
    Signature,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Break::Hash => {
                "it was changed after it was written: its hash is not that of its fabric and of the \
                 way flows are spread"
            }
            Break::Place => {
                "it does not follow the record before it: that one was changed, or a record was \
                 removed, added or moved"
            }
            Break::Loose => "it does not say which record it follows: it was added or changed by hand",
            Break::Signature => {
                "its signature is not of it: who, when, role, fabric, balancing or the record before \
                 it was changed after it was signed, or the signature is of another record"
            }
        })
    }
}

/// Why a record does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is not signed.
    Unsigned,
    /// It is signed with a key that its name may not sign with.
    Key(String),
    /// Its signature was not checked.
    NotChecked(String),
    /// Its date cannot be read.
    NoDate,
    /// It is dated before an earlier one.
    Before(Date),
    /// It is dated in the future.
    Future,
    /// Nobody of its name may approve.
    Stranger,
    /// Its name may not approve any more.
    Left(Date),
    /// Its name does not have its role; the roles it has.
    Role(Vec<String>),
    /// Its role has no right to these parts of what it changes.
    Right(Vec<Part>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unsigned => f.write_str("it is unsigned"),
            Reason::Key(key) => {
                write!(f, "it is signed with {key}, which is not allowed for this name")
            }
            Reason::NotChecked(why) => write!(f, "its signature was not checked: {why}"),
            Reason::NoDate => f.write_str("its date cannot be read"),
            Reason::Before(date) => write!(f, "it is dated before an earlier approval, of {date}"),
            Reason::Future => f.write_str("it is dated in the future"),
            Reason::Stranger => f.write_str("nobody of this name may approve"),
            Reason::Left(until) => write!(f, "this name could approve until {until}"),
            Reason::Role(roles) => {
                write!(
                    f,
                    "it is given in a role that this name does not have; it has {}",
                    list(roles)
                )
            }
            Reason::Right(parts) => {
                write!(f, "its role has no right to approve changes of {}", list(parts))
            }
        }
    }
}

fn list(items: &[impl fmt::Display]) -> String {
    let names: Vec<String> = items.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// What a record is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It was tampered with.
    Broken(Vec<Break>),
    /// It does not count.
    Idle(Reason),
    /// It counts, and more are needed.
    Pending {
        /// How many of its role approved this intent.
        have: usize,
        /// How many have to.
        needed: usize,
    },
    /// With it, its intent was in force.
    Enough,
}

/// What is said of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What it is worth.
    pub standing: Standing,
    /// What it changes against the intent that was in force before; not worked out of records that
    /// are refused or left out for another reason.
    pub changed: Option<BTreeSet<Part>>,
}

/// The intent that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// The record with which it came into force, or was confirmed last.
    pub index: usize,
    /// Who approved it, in order.
    pub who: Vec<String>,
}

/// What is said of all records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// One for each record.
    pub verdicts: Vec<Verdict>,
    /// What is in force, if nothing is broken and anything is.
    pub in_force: Option<InForce>,
}

impl Judgement {
    /// Records that were tampered with.
    pub fn broken(&self) -> impl Iterator<Item = (usize, &[Break])> {
        self.verdicts.iter().enumerate().filter_map(|(index, verdict)| match &verdict.standing {
            Standing::Broken(breaks) => Some((index, breaks.as_slice())),
            _ => None,
        })
    }

    /// Records after the one in force that do not count: nothing has been approved since that would
    /// replace them.
    pub fn left_out(&self) -> impl Iterator<Item = (usize, &Reason)> {
        let first = self.in_force.as_ref().map_or(0, |in_force| in_force.index + 1);
        let all = self.verdicts.iter().enumerate().skip(first);
        all.filter_map(|(index, verdict)| match &verdict.standing {
            Standing::Idle(reason) => Some((index, reason)),
            _ => None,
        })
    }
}

/// Judges all records of a file, oldest first. `checks` has what came of each one's signature; of a
/// record without a signature it is not asked.
///
/// # Panics
/// If there are not as many checks as records.
pub fn judge(records: &[Approval], checks: &[Check], policy: Policy<'_>, now: Date) -> Judgement {
    assert_eq!(records.len(), checks.len(), "a check for each record");
    let mut state = State { records, policy, now, in_force: None, pending: Vec::new(), last: None };
    let mut verdicts = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        verdicts.push(state.verdict(index, check));
    }
    let broken = verdicts.iter().any(|verdict| matches!(verdict.standing, Standing::Broken(_)));
    Judgement { verdicts, in_force: state.in_force.filter(|_| !broken) }
}

struct State<'a> {
    records: &'a [Approval],
    policy: Policy<'a>,
    now: Date,
    in_force: Option<InForce>,
    /// Records that count and approve an intent that is not in force yet, all the same one.
    pending: Vec<usize>,
    /// The date of the last record that counts.
    last: Option<Date>,
}

impl State<'_> {
    fn verdict(&mut self, index: usize, check: &Check) -> Verdict {
        let breaks = self.breaks(index, check);
        if !breaks.is_empty() {
            return Verdict { standing: Standing::Broken(breaks), changed: None };
        }
        let record = &self.records[index];
        let date = match self.credible(record, check) {
            Ok(date) => date,
            Err(reason) => return Verdict { standing: Standing::Idle(reason), changed: None },
        };
        // Only now: comparing large fabrics takes time, which strangers are not given.
        let before = self.in_force.as_ref().map(|in_force| &self.records[in_force.index]);
        let changed = changed(before, record);
        let needed = match self.policy {
            Policy::Nobody | Policy::Keys => Ok(1),
            Policy::Roles(approvers) => of_role(approvers, record, date, &changed),
        };
        let standing = match needed {
            Ok(needed) => {
                self.last = Some(date);
                self.count(index, needed)
            }
            Err(reason) => Standing::Idle(reason),
        };
        Verdict { standing, changed: Some(changed) }
    }

    fn breaks(&self, index: usize, check: &Check) -> Vec<Break> {
        let record = &self.records[index];
        let previous = index.checked_sub(1).map(|before| &self.records[before]);
        let mut breaks = Vec::new();
        if !record.is_whole() {
            breaks.push(Break::Hash);
        }
        match (&record.previous, previous) {
            (Some(hash), Some(previous)) if *hash == previous.hash() => {}
            (Some(_), _) => breaks.push(Break::Place),
            // Records of the first form do not say what they follow, and follow nothing else.
            (None, Some(previous)) if record.signature.is_some() || previous.is_linked() => {
                breaks.push(Break::Loose);
            }
            (None, _) => {}
        }
        if record.signature.is_some() && *check == Check::Forged {
            breaks.push(Break::Signature);
        }
        breaks
    }

    /// Whether an intact record was given by the one it names, and when.
    fn credible(&self, record: &Approval, check: &Check) -> Result<Date, Reason> {
        let date: Date = record.when.parse().map_err(|_| Reason::NoDate)?;
        if let Some(last) = self.last.filter(|last| date < *last) {
            return Err(Reason::Before(last));
        }
        if date > self.now.plus(SKEW) {
            return Err(Reason::Future);
        }
        match (self.policy, check) {
            (Policy::Nobody, _) => Ok(date),
            _ if record.signature.is_none() => Err(Reason::Unsigned),
            // Who may not approve at all is told so, whatever the key.
            (Policy::Roles(approvers), _) if approvers.principal(&record.who).is_none() => {
                Err(Reason::Stranger)
            }
            (_, Check::Good) => Ok(date),
            (_, Check::NotAllowed(key)) => Err(Reason::Key(key.clone())),
            (_, Check::NotChecked(why)) => Err(Reason::NotChecked(why.clone())),
            (_, Check::Forged) => unreachable!("a forged signature breaks the file"),
        }
    }

    /// Counts a record that may be counted.
    fn count(&mut self, index: usize, needed: usize) -> Standing {
        let record = &self.records[index];
        if let Some(in_force) = &mut self.in_force
            && self.records[in_force.index].intent == record.intent
        {
            self.pending.clear();
            in_force.index = index;
            if !in_force.who.contains(&record.who) {
                in_force.who.push(record.who.clone());
            }
            return Standing::Enough;
        }
        self.pending.retain(|&at| self.records[at].intent == record.intent);
        self.pending.push(index);
        let same = self.pending.iter().filter(|&&at| self.records[at].role == record.role);
        let people: BTreeSet<&String> = same.map(|&at| &self.records[at].who).collect();
        let have = people.len();
        if have < needed {
            return Standing::Pending { have, needed };
        }
        let mut who: Vec<String> = Vec::new();
        for at in self.pending.drain(..) {
            if !who.contains(&self.records[at].who) {
                who.push(self.records[at].who.clone());
            }
        }
        self.in_force = Some(InForce { index, who });
        Standing::Enough
    }
}

/// What the roles say of a record: how many approvals like it are needed.
fn of_role(
    approvers: &Approvers,
    record: &Approval,
    date: Date,
    changed: &BTreeSet<Part>,
) -> Result<usize, Reason> {
    let principal = approvers.principal(&record.who).ok_or(Reason::Stranger)?;
    if let Some(until) = principal.until.filter(|until| date > *until) {
        return Err(Reason::Left(until));
    }
    let theirs = record.role.as_ref().filter(|role| principal.roles.contains(role));
    let role = theirs.and_then(|role| approvers.roles.get(role));
    let role = role.ok_or_else(|| Reason::Role(principal.roles.clone()))?;
    let missing = role.rights.missing(changed);
    if missing.is_empty() { Ok(role.needed) } else { Err(Reason::Right(missing)) }
}
