//! [`Signers`]: the file that says who may approve.

use crate::exit::Failure;
use crate::input;
use crate::output::diagnostics::{Finding, Findings, Severity, SourceFile};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xoff_config::approval::{Approvers, Mistake, Policy, PublicKey, named_by_key};

/// A file that says who may approve.
#[derive(Debug)]
pub(crate) struct Signers {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What `ssh-keygen` reads.
    pub(super) allowed: String,
    /// The roles, if it has any.
    pub(super) roles: Option<Approvers>,
}

impl Signers {
    /// The file that is named, or the one that is beside the fabric file: `FABRIC.approvers`, or
    /// `approvers.toml` in its folder.
    pub(super) fn find(fabric: &Path, named: Option<&Path>) -> Result<Option<Self>, Failure> {
        if let Some(path) = named {
            return Self::read(path.to_owned()).map(Some);
        }
        let mut plain = fabric.as_os_str().to_owned();
        plain.push(".approvers");
        let plain = PathBuf::from(plain);
        let roles = fabric.with_file_name("approvers.toml");
        match (is_there(&plain), is_there(&roles)) {
            (true, true) => Err(Failure::input(format!(
                "`{}` and `{}` both say who may approve: name one of them with --approvers",
                plain.display(),
                roles.display()
            ))),
            (true, false) => Self::read(plain).map(Some),
            (false, true) => Self::read(roles).map(Some),
            (false, false) => Ok(None),
        }
    }

    fn read(path: PathBuf) -> Result<Self, Failure> {
        let text = input::read_text(&path).map_err(Failure::input)?;
        if path.extension().is_none_or(|end| end != "toml") {
            return Ok(Self { path, allowed: text, roles: None });
        }
        let roles = Approvers::read(&text).map_err(|mistake| {
            let Mistake { message, help, span } = mistake;
            let (code, help) = ("approvers".to_owned(), Some(help));
            let finding = Finding { severity: Severity::Error, code, message, help, file: 0, span };
            let file = SourceFile { path: path.clone(), text };
            Findings { files: vec![file], list: vec![finding] }.show(false);
            Failure::shown()
        })?;
        Ok(Self { path, allowed: roles.allowed_signers(), roles: Some(roles) })
    }

    /// The rules that it makes.
    pub(super) fn policy(&self) -> Policy<'_> {
        self.roles.as_ref().map_or(Policy::Keys, Policy::Roles)
    }

    /// Whose key it is.
    pub(super) fn owner(&self, key: &PublicKey) -> Option<String> {
        match &self.roles {
            Some(roles) => roles.owner(key).map(|principal| principal.name.clone()),
            None => named_by_key(&self.allowed, key),
        }
    }

    /// The role that somebody approves in: the one that is named, or the only one they have.
    pub(super) fn role(&self, who: &str, named: Option<&str>) -> Result<Option<String>, Failure> {
        let shown = self.path.display();
        let Some(roles) = &self.roles else {
            return match named {
                None => Ok(None),
                Some(_) => Err(Failure::input(format!(
                    "`{shown}` has no roles: leave out --role, or write a file of roles that ends \
                     in .toml"
                ))),
            };
        };
        let Some(principal) = roles.principal(who) else {
            return Err(Failure::rule(format!("nobody named `{who}` may approve: see `{shown}`")));
        };
        match (named, principal.roles.as_slice()) {
            (Some(named), theirs) if theirs.iter().any(|role| role == named) => {
                Ok(Some(named.to_owned()))
            }
            (None, [only]) => Ok(Some(only.clone())),
            (Some(named), theirs) => Err(Failure::rule(format!(
                "`{who}` does not have the role `{named}`; it has {}: see `{shown}`",
                theirs.join(", ")
            ))),
            (None, theirs) => Err(Failure::input(format!(
                "`{who}` has several roles: name the one that approves with --role: {}",
                theirs.join(", ")
            ))),
        }
    }
}

/// Whether there is a file; one that cannot be looked at is there, so that it is not passed over.
fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}
