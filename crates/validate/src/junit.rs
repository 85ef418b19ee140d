//! JUnit XML, which every pipeline reads: a suite per phase, a case per check.
//!
//! Written by hand: four elements and one escape take less code than `quick-junit` takes crates (an
//! XML writer, clocks and UUIDs, none of which a validation has).

use crate::validation::Validation;
use std::fmt::Write;
use xoff_report::Verdict;

/// The validation as JUnit XML. A warning passes, with its words as output.
pub fn junit(validation: &Validation) -> String {
    let failures = validation.checks.iter().filter(|check| check.verdict == Verdict::Fail).count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escape(&validation.fabric);
    let tests = validation.checks.len();
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "<testsuites name=\"xoff validate {name}\" tests=\"{tests}\" failures=\"{failures}\">"
    );
    for phase in &validation.phases {
        let [passed, warned, failed] = phase.counts;
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">",
            phase.phase.name(),
            passed + warned + failed
        );
        for check in validation.checks.iter().filter(|check| check.phase == phase.phase) {
            let (id, title) = (escape(&check.id), escape(&check.title));
            let _ = write!(xml, "    <testcase classname=\"xoff.{id}\" name=\"{title}\"");
            let said = format!("{}; expected: {}", check.measured, check.expected);
            let said = escape(&said);
            let _ = match check.verdict {
                Verdict::Pass => writeln!(xml, "/>"),
                Verdict::Warn => {
                    writeln!(xml, "><system-out>warning: {said}</system-out></testcase>")
                }
                Verdict::Fail => {
                    let advice = check.advice.as_ref().map_or("", |advice| advice.text.as_str());
                    let advice = escape(advice);
                    writeln!(xml, "><failure message=\"{said}\">{advice}</failure></testcase>")
                }
            };
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Text as XML allows it: no markup, no control characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Advice;
    use crate::check::Check;
    use crate::phase::Phase;
    use crate::validation::Subject;
    use std::collections::BTreeMap;

    #[test]
    fn names_do_not_break_the_xml() {
        let subject = Subject {
            fabric: "a<b>&\"\u{1}.toml".into(),
            fabric_sha256: String::new(),
            version: String::new(),
            seed: 1,
            quick: false,
        };
        let check = Check::new(Phase::Baseline, "x", "t < u")
            .seen("1 > 0", "\u{0}")
            .verdict(Verdict::Fail)
            .advise(Some(Advice::words("</failure>")));
        let xml = junit(&Validation::new(subject, vec![check], &BTreeMap::new()));
        assert_eq!(
            xml,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"xoff validate a&lt;b&gt;&amp;&quot;\u{fffd}.toml\" tests=\"1\" \
             failures=\"1\">\n  \
             <testsuite name=\"baseline\" tests=\"1\" failures=\"1\">\n    \
             <testcase classname=\"xoff.baseline.x\" name=\"t &lt; u\"><failure message=\"1 &gt; 0; \
             expected: \u{fffd}\">&lt;/failure&gt;</failure></testcase>\n  \
             </testsuite>\n</testsuites>\n"
        );
    }
}
