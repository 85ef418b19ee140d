//! Files of records as they should be, and as somebody made them.

use super::*;
use crate::approval::Approvers;
use crate::device::Balancing;
use proptest::prelude::*;

const BASE: &str = "[fabric]\nkind = 'rail'\n[ecn]\nkmin = '100KB'\n";
const KEYS: [&str; 3] = [
    "AAAAC3NzaC1lZDI1NTE5AAAAIDc2sbTz7sjBd5wL69UqXPXgZ7XzzwgzuWS5Owj8ye2b",
    "AAAAC3NzaC1lZDI1NTE5AAAAIEc2sbTz7sjBd5wL69UqXPXgZ7XzzwgzuWS5Owj8ye2b",
    "AAAAC3NzaC1lZDI1NTE5AAAAIFc2sbTz7sjBd5wL69UqXPXgZ7XzzwgzuWS5Owj8ye2b",
];

/// Ada may approve everything; two of Ada, Bob and Carol thresholds, Carol until the end of 2026.
fn approvers() -> Approvers {
    let [ada, bob, carol] = KEYS;
    let text = format!(
        "[role.architect]\nrights = ['everything']\n\
         [role.network]\nrights = ['thresholds']\nneeded = 2\n\
         [[principal]]\nname = 'ada'\nroles = ['architect', 'network']\nkeys = ['ssh-ed25519 {ada}']\n\
         [[principal]]\nname = 'bob'\nroles = ['network']\nkeys = ['ssh-ed25519 {bob}']\n\
         [[principal]]\nname = 'carol'\nroles = ['network']\nkeys = ['ssh-ed25519 {carol}']\n\
         until = '2026-12-31'\n"
    );
    Approvers::read(&text).unwrap()
}

fn now() -> Date {
    "2027-01-31T00:00:00Z".parse().unwrap()
}

/// A file that grows by one record a day, from the first of December 2026 on.
#[derive(Default)]
struct Book(Vec<Approval>);

impl Book {
    fn add(mut self, who: &str, role: &str, fabric: &str) -> Self {
        let when = format!("2026-12-{:02}T12:00:00Z", self.0.len() + 1);
        let mut record = Approval::new(who.into(), when, fabric.into(), Balancing::Hash)
            .after(self.0.last())
            .acting_as(Some(role.to_owned()));
        record.signature = Some(format!("of {who}"));
        self.0.push(record);
        self
    }

    fn judge(&self) -> Judgement {
        let checks = vec![Check::Good; self.0.len()];
        judge(&self.0, &checks, Policy::Roles(&approvers()), now())
    }

    fn last(&self) -> Standing {
        self.judge().verdicts.pop().unwrap().standing
    }
}

fn changed_ecn(size: &str) -> String {
    BASE.replace("100KB", size)
}

#[test]
fn the_first_approval_is_of_everything() {
    let first = Book::default().add("ada", "architect", BASE);
    assert_eq!(first.last(), Standing::Enough);
    assert_eq!(first.judge().in_force, Some(InForce { index: 0, who: vec!["ada".into()] }));
    let Standing::Idle(Reason::Right(missing)) = Book::default().add("bob", "network", BASE).last()
    else {
        panic!("a role with a right to thresholds approves everything");
    };
    assert!(missing.contains(&Part::Topology) && !missing.contains(&Part::Thresholds));
}

#[test]
fn two_of_a_role_are_needed_and_are_different_people() {
    let new = changed_ecn("200KB");
    let one = Book::default().add("ada", "architect", BASE).add("bob", "network", &new);
    assert_eq!(one.last(), Standing::Pending { have: 1, needed: 2 });
    assert_eq!(one.judge().in_force.map(|in_force| in_force.index), Some(0));
    let twice = one.add("bob", "network", &new);
    assert_eq!(twice.last(), Standing::Pending { have: 1, needed: 2 }, "one person is one person");
    let two = twice.add("carol", "network", &new);
    assert_eq!(two.last(), Standing::Enough);
    let who = vec!["bob".to_owned(), "carol".to_owned()];
    assert_eq!(two.judge().in_force, Some(InForce { index: 3, who }));
    // In between, another intent was approved: the count starts anew.
    let other = changed_ecn("300KB");
    let apart = Book::default()
        .add("ada", "architect", BASE)
        .add("bob", "network", &new)
        .add("carol", "network", &other)
        .add("carol", "network", &new);
    assert_eq!(apart.last(), Standing::Pending { have: 1, needed: 2 });
}

/// Approvals as different roles are not added up.
#[test]
fn roles_count_apart() {
    let new = changed_ecn("200KB");
    let book = Book::default().add("ada", "architect", BASE).add("bob", "network", &new);
    assert_eq!(book.add("ada", "architect", &new).last(), Standing::Enough, "enough by itself");
}

#[test]
fn a_record_that_slipped_in_does_not_count_and_does_not_stop_others() {
    let rewired = BASE.replace("rail", "leaf-spine");
    let book = Book::default().add("ada", "architect", BASE).add("bob", "network", &rewired);
    assert_eq!(book.last(), Standing::Idle(Reason::Right(vec![Part::Topology])));
    let judged = book.judge();
    assert_eq!(judged.in_force.as_ref().map(|in_force| in_force.index), Some(0));
    assert_eq!(judged.left_out().count(), 1);
    // Against what is in force, not against the record that does not count.
    let new = changed_ecn("200KB");
    let later = book.add("bob", "network", &new).add("ada", "network", &new);
    assert_eq!(later.last(), Standing::Enough);
    assert_eq!(later.judge().left_out().count(), 0, "what is in force came later");
}

#[test]
fn names_roles_and_dates_are_checked() {
    let stands = |who: &str, role: &str, when: &str| {
        let mut book = Book::default().add("ada", "architect", BASE);
        book = book.add(who, role, &changed_ecn("200KB"));
        book.0[1].when = when.to_owned();
        book.last()
    };
    let day = "2026-12-02T00:00:00Z";
    assert_eq!(stands("mallory", "network", day), Standing::Idle(Reason::Stranger));
    assert_eq!(
        stands("bob", "architect", day),
        Standing::Idle(Reason::Role(vec!["network".into()]))
    );
    assert_eq!(stands("carol", "network", day), Standing::Pending { have: 1, needed: 2 });
    let late = stands("carol", "network", "2027-01-01T00:00:00Z");
    assert!(matches!(late, Standing::Idle(Reason::Left(_))), "{late:?}");
    let early = stands("bob", "network", "2026-12-01T11:59:59Z");
    assert!(matches!(early, Standing::Idle(Reason::Before(_))), "{early:?}");
    let future = stands("bob", "network", "2027-02-01T00:00:00Z");
    assert_eq!(future, Standing::Idle(Reason::Future));
    assert_eq!(stands("bob", "network", "tomorrow"), Standing::Idle(Reason::NoDate));
    let skewed = stands("bob", "network", "2027-01-31T00:05:00Z");
    assert_eq!(skewed, Standing::Pending { have: 1, needed: 2 }, "clocks differ");
}

#[test]
fn signatures_decide() {
    let mut book = Book::default().add("ada", "architect", BASE);
    let stands = |book: &Book, check: Check, policy: Policy<'_>| {
        judge(&book.0, &[check], policy, now()).verdicts.remove(0).standing
    };
    let known = approvers();
    for policy in [Policy::Keys, Policy::Roles(&known)] {
        assert_eq!(stands(&book, Check::Good, policy), Standing::Enough);
        let key = stands(&book, Check::NotAllowed("SHA256:x".into()), policy);
        assert_eq!(key, Standing::Idle(Reason::Key("SHA256:x".into())));
        let not = stands(&book, Check::NotChecked("why".into()), policy);
        assert_eq!(not, Standing::Idle(Reason::NotChecked("why".into())));
    }
    for policy in [Policy::Nobody, Policy::Keys, Policy::Roles(&known)] {
        let forged = stands(&book, Check::Forged, policy);
        assert_eq!(forged, Standing::Broken(vec![Break::Signature]));
    }
    let not = stands(&book, Check::NotChecked("why".into()), Policy::Nobody);
    assert_eq!(not, Standing::Enough, "nobody asks for signatures");
    book.0[0].signature = None;
    assert_eq!(stands(&book, Check::Good, Policy::Nobody), Standing::Enough);
    for policy in [Policy::Keys, Policy::Roles(&known)] {
        assert_eq!(stands(&book, Check::Good, policy), Standing::Idle(Reason::Unsigned));
    }
}

#[test]
fn records_of_the_first_form_follow_each_other_and_are_followed() {
    let old = |day: u8| {
        let when = format!("2026-11-{day:02}T12:00:00Z");
        Approval::new("Ada Lovelace".into(), when, BASE.into(), Balancing::Hash)
    };
    let mut records = vec![old(1), old(2)];
    records.push(old(3).after(records.last()));
    let judged = |records: &[Approval]| {
        judge(records, &vec![Check::Good; records.len()], Policy::Nobody, now())
    };
    assert_eq!(judged(&records).in_force.map(|in_force| in_force.index), Some(2));
    records.push(old(4));
    let broken = judged(&records);
    assert_eq!(broken.broken().collect::<Vec<_>>(), [(3, &[Break::Loose][..])]);
    assert_eq!(broken.in_force, None);
}

/// A way to tamper with a file of records.
#[derive(Debug, Clone)]
enum Tampering {
    Remove(usize),
    Swap(usize, usize),
    Repeat(usize),
    Unlink(usize),
    Fabric(usize),
    Balancing(usize),
    Who(usize),
    When(usize),
    Role(usize),
    Signature(usize),
}

fn tamperings() -> impl Strategy<Value = Tampering> {
    let at = || 0usize..6;
    prop_oneof![
        at().prop_map(Tampering::Remove),
        (at(), at()).prop_map(|(a, b)| Tampering::Swap(a, b)),
        at().prop_map(Tampering::Repeat),
        at().prop_map(Tampering::Unlink),
        at().prop_map(Tampering::Fabric),
        at().prop_map(Tampering::Balancing),
        at().prop_map(Tampering::Who),
        at().prop_map(Tampering::When),
        at().prop_map(Tampering::Role),
        at().prop_map(Tampering::Signature),
    ]
}

fn tamper(records: &mut Vec<Approval>, tampering: &Tampering) {
    match *tampering {
        Tampering::Remove(at) => drop(records.remove(at)),
        Tampering::Swap(a, b) => records.swap(a, b),
        Tampering::Repeat(at) => records.insert(at, records[at].clone()),
        Tampering::Unlink(at) => records[at].previous = None,
        Tampering::Fabric(at) => records[at].fabric.push('#'),
        Tampering::Balancing(at) => records[at].balancing = "flowlet".into(),
        Tampering::Who(at) => records[at].who = "eve".into(),
        Tampering::When(at) => records[at].when = "2026-12-31T00:00:00Z".into(),
        Tampering::Role(at) => records[at].role = None,
        Tampering::Signature(at) => records[at].signature = Some("of eve".into()),
    }
}

proptest! {
    /// Whatever is done to a record before the last one is seen from the chain alone: all signatures
    /// are called good here.
    #[test]
    fn the_chain_shows_tampering(tampering in tamperings()) {
        let mut book = Book::default();
        for _ in 0..6 {
            book = book.add("ada", "architect", BASE);
        }
        let whole = book.0.clone();
        tamper(&mut book.0, &tampering);
        // Of the last record only its signature tells, and a file that ends earlier is whole.
        let same = book.0[..] == whole[..book.0.len().min(6)] && book.0.len() <= 6;
        let last_only = book.0.len() == 6 && book.0[..5] == whole[..5];
        let broken = book.judge().broken().count() > 0;
        if !last_only {
            prop_assert_eq!(broken, !same);
        }
        prop_assert!(!same || !broken);
    }
}
