//! Who approved a fabric file: a file of records beside it, signed by `ssh-keygen`.

mod book;
mod keygen;
mod list;
mod signers;

pub(crate) use book::Book;
pub(super) use list::list;

use crate::exit::{Exit, Failure, Level, say};
use crate::output::number::counted;
use crate::output::{self, printable};
use book::{MOST_RECORDS, now};
use keygen::Desk;
use signers::Signers;
use std::fs;
use std::path::{Path, PathBuf};
use xoff_config::approval::{Approval, Check, Policy, Reason, Standing, judge};
use xoff_config::device::Balancing;
use xoff_fabric::load_fabric;

/// Larger files are not read again.
const MOST_BYTES: usize = 64 << 20;

/// Options of `xoff config` that are about approvals.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Approvals")]
pub(super) struct Options {
    /// Record that this fabric file is approved: by NAME, or by the one whose key --key is
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    #[arg(group = "approving", conflicts_with_all = ["out", "diff"])]
    pub(super) approve: Option<String>,
    /// Sign the approval with this key: a private key, or a public one whose private key an agent
    /// has
    #[arg(long, value_name = "FILE", requires = "approve")]
    key: Option<PathBuf>,
    /// The role that approves, for people who have several
    #[arg(long, value_name = "ROLE", requires = "key")]
    role: Option<String>,
    /// List all approvals, and whether each of them holds
    #[arg(long, group = "approving", conflicts_with_all = ["out", "diff"])]
    pub(super) approvals: bool,
    /// Who may approve: a file of roles (.toml), or of allowed signers as ssh-keygen reads it
    /// [default: FABRIC.approvers, or approvers.toml beside it]
    #[arg(long, value_name = "FILE", requires = "approving")]
    approvers: Option<PathBuf>,
    /// Print the list as JSON
    #[arg(long, requires = "approvals")]
    json: bool,
}

/// A fabric file and its records, in which nothing was tampered with.
struct Desired<'a> {
    fabric: &'a Path,
    text: String,
    balancing: Balancing,
    book: Book,
}

/// Adds a record.
pub(super) fn record(
    fabric: &Path,
    options: &Options,
    balancing: Balancing,
) -> Result<Exit, Failure> {
    let text = fs::read_to_string(fabric)
        .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", fabric.display())))?;
    if load_fabric(&text).into_result().is_err() {
        return Err(Failure::input(format!(
            "`{}` is no fabric file: approve the fabric, not the scenario",
            fabric.display()
        )));
    }
    let book = Book::open(fabric, options.approvers.as_deref())?;
    if let Some(refusal) = book.refusals().into_iter().next() {
        return Err(Failure::input(format!("{refusal}; restore it as it was before you approve")));
    }
    if book.records.len() >= MOST_RECORDS {
        return Err(Failure::input(format!(
            "`{}` is full: keep it elsewhere, and approve the fabric file anew",
            book.path.display()
        )));
    }
    let desired = Desired { fabric, text, balancing, book };
    let (who, role) = desired.identity(options)?;
    let mut approval = desired.candidate(who, role);
    let standing = desired.standing(&approval)?;
    if let Some(key) = &options.key {
        desired.sign(&mut approval, key)?;
    }
    desired.write(approval, &standing)
}

impl Desired<'_> {
    /// Who approves, and as what.
    fn identity(&self, options: &Options) -> Result<(String, Option<String>), Failure> {
        let name = options.approve.as_deref().unwrap_or_default().trim();
        let signers = self.book.signers.as_ref();
        let Some(key) = &options.key else {
            return match signers {
                Some(signers) => Err(Failure::input(format!(
                    "`{}` says who may approve: sign the approval with --key FILE",
                    signers.path.display()
                ))),
                None if name.is_empty() => {
                    Err(Failure::input("say who approves: --approve NAME, or --key FILE"))
                }
                None => Ok((name.to_owned(), None)),
            };
        };
        let Some(signers) = signers else {
            if options.role.is_some() {
                return Err(Failure::input("there are no roles: write them to approvers.toml"));
            }
            if name.is_empty() {
                return Err(Failure::input(
                    "nothing says whose key it is: say who approves with --approve NAME, or write \
                     approvers.toml",
                ));
            }
            return Ok((name.to_owned(), None));
        };
        let who = if name.is_empty() { owner(signers, key)? } else { name.to_owned() };
        let role = signers.role(&who, options.role.as_deref())?;
        Ok((who, role))
    }

    /// The record as it will be, but for its signature.
    fn candidate(&self, who: String, role: Option<String>) -> Approval {
        Approval::new(who, now().to_string(), self.text.clone(), self.balancing)
            .after(self.book.records.last())
            .acting_as(role)
    }

    /// What a record would be worth if its signature held: nobody is asked for a passphrase in vain.
    fn standing(&self, approval: &Approval) -> Result<Standing, Failure> {
        let mut records = self.book.records.clone();
        let mut signed = approval.clone();
        signed.signature = self.book.signers.as_ref().map(|_| String::new());
        records.push(signed);
        let mut checks = self.book.checks.clone();
        checks.push(Check::Good);
        let policy = self.book.signers.as_ref().map_or(Policy::Nobody, Signers::policy);
        let verdict = judge(&records, &checks, policy, now()).verdicts.pop();
        match verdict.map(|verdict| verdict.standing) {
            Some(Standing::Idle(reason)) => Err(self.refused(approval, &reason)),
            Some(standing @ (Standing::Enough | Standing::Pending { .. })) => Ok(standing),
            broken => unreachable!("a record after whole ones is whole: {broken:?}"),
        }
    }

    fn refused(&self, approval: &Approval, reason: &Reason) -> Failure {
        let by = self.book.signers.as_ref().map(|signers| signers.path.display().to_string());
        let role = approval.role.as_ref().map_or(String::new(), |role| format!(" as `{role}`"));
        let cure = match (reason, by) {
            (Reason::Before(_), _) => "; is this machine's clock right?".to_owned(),
            (_, Some(path)) => format!("; `{path}` says who may"),
            _ => String::new(),
        };
        let first = match (reason, &self.book.judgement.in_force) {
            (Reason::Right(_), None) => {
                " (nothing is in force yet: a first approval is of everything)"
            }
            _ => "",
        };
        Failure::rule(format!(
            "`{}`{role} cannot approve this: {reason}{first}{cure}",
            approval.who
        ))
    }

    /// Signs a record, and checks that the signature will hold.
    fn sign(&self, approval: &mut Approval, key: &Path) -> Result<(), Failure> {
        let signature = keygen::sign(key, approval).map_err(|trouble| {
            Failure::input(format!("the approval was not signed, and not recorded: {trouble}"))
        })?;
        approval.signature = Some(signature);
        let allowed = self.book.signers.as_ref().map(|signers| signers.allowed.as_str());
        match Desk::open(allowed).check(approval) {
            Check::Good => Ok(()),
            Check::NotAllowed(signed_with) => Err(Failure::rule(format!(
                "`{}` cannot approve with {signed_with}: it is not allowed for this name{}",
                approval.who,
                self.book.signers.as_ref().map_or(String::new(), |signers| {
                    format!("; `{}` says which keys are", signers.path.display())
                })
            ))),
            Check::Forged => {
                Err(Failure::input("ssh-keygen printed a signature that does not hold"))
            }
            Check::NotChecked(why) => Err(Failure::input(format!(
                "the signature could not be checked, and the approval was not recorded: {why}"
            ))),
        }
    }

    /// Writes the file with the record.
    fn write(mut self, approval: Approval, standing: &Standing) -> Result<Exit, Failure> {
        let path = self.book.path.clone();
        // Somebody may have approved while a passphrase was typed.
        if !self.book.is_current() {
            return Err(Failure::input(format!(
                "`{}` changed meanwhile, and the approval was not recorded: approve again",
                path.display()
            )));
        }
        let said = said(&self, &approval, standing);
        self.book.records.push(approval);
        let json = output::json(&self.book.records)?;
        if json.len() > MOST_BYTES {
            return Err(Failure::input(format!(
                "`{}` is full: keep it elsewhere, and approve the fabric file anew",
                path.display()
            )));
        }
        xoff_telemetry::file::replace(&path, json.as_bytes())
            .map_err(|error| output::files::failed(&path, &error))?;
        if self.book.signers.is_none() && self.book.records.iter().any(|r| r.signature.is_some()) {
            say(
                Level::Note,
                "nothing says who may approve, so that any key and any name will do: write \
                 approvers.toml beside the fabric file",
            );
        }
        output::stdout(&said)?;
        Ok(Exit::Fine)
    }
}

/// Whose key it is, where nobody said.
fn owner(signers: &Signers, key: &Path) -> Result<String, Failure> {
    let public = keygen::public_key(key).map_err(|why| {
        Failure::input(format!("`{}` has no public key that can be read: {why}", key.display()))
    })?;
    signers.owner(&public).ok_or_else(|| {
        Failure::rule(format!(
            "`{}` does not say whose key `{}` is: it is nobody's who may approve, or say who you are \
             with --approve NAME",
            signers.path.display(),
            key.display()
        ))
    })
}

fn said(desired: &Desired<'_>, approval: &Approval, standing: &Standing) -> String {
    let role = approval.role.as_ref().map_or(String::new(), |role| format!(" as {role}"));
    let more = match standing {
        Standing::Pending { have, needed } => {
            let missing = counted((needed - have) as u64, "more is", "more are");
            format!("{have} of {needed} approvals, {missing} needed before it is in force\n")
        }
        _ => String::new(),
    };
    format!(
        "{}{} approved intent {} of {} at {}, {}; recorded in {}\n{more}",
        printable(&approval.who),
        printable(&role),
        approval.intent.get(..12).unwrap_or(&approval.intent),
        printable(&desired.fabric.display().to_string()),
        approval.when,
        if approval.signature.is_some() { "signed" } else { "unsigned" },
        printable(&desired.book.path.display().to_string()),
    )
}
