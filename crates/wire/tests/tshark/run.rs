//! Runs tshark and reads what it prints.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installed tshark.
pub(crate) struct Tshark(());

/// What it says of one packet.
#[derive(Debug)]
pub(crate) struct Row {
    /// The fields asked for, as numbers.
    pub(crate) values: Vec<Option<u64>>,
    /// Anything malformed, or an expert's warning.
    pub(crate) complaint: Option<String>,
}

/// Notes and below are no complaints.
const WARNING: u64 = 0x0060_0000;

impl Tshark {
    /// The one that is installed, or a word that there is none.
    pub(crate) fn find() -> Option<Self> {
        let reason = match Command::new("tshark").arg("--version").output() {
            Ok(output) if output.status.success() => return Some(Self(())),
            Ok(output) => format!("it ends with {}", output.status),
            Err(error) => error.to_string(),
        };
        // Not eprintln, which the test harness swallows when the test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED tshark: {reason}");
        None
    }

    /// The fields of every packet in a capture.
    pub(crate) fn fields(&self, file: &Path, names: &[&str]) -> Vec<Row> {
        let mut command = Command::new("tshark");
        command.args(["-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"]);
        for name in ["_ws.malformed", "_ws.expert.severity", "_ws.expert.message"] {
            command.args(["-e", name]);
        }
        for name in names {
            command.args(["-e", name]);
        }
        let output = command.arg("-r").arg(file).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).unwrap().lines().map(|line| row(line, names)).collect()
    }
}

fn row(line: &str, names: &[&str]) -> Row {
    let mut cells = line.split('\t');
    let mut next = || cells.next().unwrap_or_default();
    let (malformed, severity, message) = (next(), next(), next());
    // RoCEv2 over IPv6 goes without UDP checksum, the kernel's too; the ICRC does its work.
    let serious = !message.contains("Illegal checksum value (0)")
        && number("", severity).is_some_and(|severity| severity >= WARNING);
    let complaint = (serious || !malformed.is_empty()).then(|| format!("{malformed} {message}"));
    Row {
        values: names.iter().zip(cells).map(|(name, cell)| number(name, cell)).collect(),
        complaint,
    }
}

/// Fields that are printed as bytes: hexadecimal digits without prefix.
const BYTES: [&str; 2] = ["infiniband.immdt", "infiniband.ieth"];

/// Decimal, hexadecimal, or a truth value.
fn number(name: &str, cell: &str) -> Option<u64> {
    let digits = match cell {
        "" => return None,
        "True" => return Some(1),
        "False" => return Some(0),
        _ => cell.strip_prefix("0x").or(BYTES.contains(&name).then_some(cell)),
    };
    let value = match digits {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => cell.parse(),
    };
    Some(value.unwrap_or_else(|_| panic!("{name}: {cell:?} is no number")))
}

/// A place for a capture of ours.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
