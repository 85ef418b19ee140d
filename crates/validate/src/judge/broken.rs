//! A fabric that breaks a rule of the trade so badly that it cannot be built: the laboratory says
//! so, with what would be right.

use super::advice;
use crate::advice::Advice;
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use xoff_fabric::FabricSetup;
use xoff_fabric::diagnostic::{Code, Diagnostic, code};
use xoff_report::Verdict;

/// The rules that a file can break and still be understood.
const RULES: [(Code, &str, &str); 3] = [
    (code::HEADROOM, "headroom", "Headroom fits every cable and the buffer"),
    (code::MTU, "mtu", "Every port passes the NICs' packets"),
    (code::REACH, "reach", "Optics reach as far as their cables"),
];

/// Whether this finding is about the fabric (and not about the file).
pub fn is_a_rule(found: &Diagnostic) -> bool {
    RULES.iter().any(|(code, _, _)| *code == found.code)
}

/// The checks that errors of a file amount to. `draft` is the fabric as far as it could be built.
pub fn judge_broken(found: &[Diagnostic], draft: Option<&FabricSetup>) -> Vec<Check> {
    let errors = found.iter().filter(|found| found.is_error());
    let check = |found: &Diagnostic| {
        let rule = RULES.iter().find(|(code, _, _)| *code == found.code);
        let (name, title) = rule.map_or(("file", "The file can be used"), |rule| (rule.1, rule.2));
        let change = draft.and_then(|setup| match found.code {
            code::HEADROOM => Some(advice::headroom()),
            code::MTU => Some(advice::mtu(setup)),
            _ => None,
        });
        let words = found.help.clone().map(Advice::words);
        Check::new(Phase::Laboratory, name, title)
            .about(Aspect::Lossless)
            .headline()
            .done("read the fabric file and built the fabric")
            .seen(found.message.clone(), "the fabric follows the rules")
            .verdict(Verdict::Fail)
            .advise(change.or(words))
    };
    errors.map(check).collect()
}
