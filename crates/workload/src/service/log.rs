//! Requests of a log: a line of JSON for each, as Mooncake's published traces have them.

use super::Prompt;
use serde::Deserialize;
use std::io::{BufRead, Read};
use xoff_units::Span;

/// Longest line taken, in bytes: hashes of prefixes are lists.
const LONGEST: u64 = 1 << 20;

/// What is used of a line. Other fields are allowed.
#[derive(Deserialize)]
struct Line {
    /// In milliseconds from the begin of the log.
    timestamp: f64,
    input_length: u32,
    output_length: u32,
}

/// The first requests of a log, at most so many. Time begins with the first of them.
pub(crate) fn read(mut source: impl BufRead, most: u32) -> Result<Vec<Prompt>, String> {
    let mut prompts: Vec<Prompt> = Vec::new();
    let mut before: Option<f64> = None;
    let mut text = Vec::new();
    for number in 1u64.. {
        text.clear();
        let read = source.by_ref().take(LONGEST).read_until(b'\n', &mut text);
        let read = read.map_err(|error| format!("line {number}: {error}"))?;
        if read == 0 || prompts.len() >= most as usize {
            break;
        }
        if read as u64 == LONGEST {
            return Err(format!("line {number} is longer than {LONGEST} bytes"));
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_slice(&text)
            .map_err(|error| format!("line {number} is no request: {error}"))?;
        if line.input_length == 0 || line.output_length == 0 {
            return Err(format!("line {number}: a request has one token or more each way"));
        }
        let start = *before.get_or_insert(line.timestamp);
        let gap = line.timestamp - start;
        // A day of milliseconds is far below what a float holds exactly.
        if !(0.0..1e11).contains(&gap) {
            return Err(format!("line {number}: time goes backwards, or far ahead"));
        }
        before = Some(line.timestamp);
        let after = Span::from_ps((gap * 1e9).round() as u64);
        prompts.push(Prompt { after, input: line.input_length, output: line.output_length });
    }
    match prompts.is_empty() {
        true => Err("there are no requests".into()),
        false => Ok(prompts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_requests() {
        let text = "{\"timestamp\": 5, \"input_length\": 10, \"output_length\": 2, \"hash_ids\": [1]}\n\n\
                    {\"timestamp\": 5, \"input_length\": 11, \"output_length\": 3}\n\
                    {\"timestamp\": 7.5, \"input_length\": 12, \"output_length\": 4}";
        let prompt = |us, input, output| Prompt { after: Span::from_us(us), input, output };
        let all = [prompt(0, 10, 2), prompt(0, 11, 3), prompt(2_500, 12, 4)];
        assert_eq!(read(text.as_bytes(), 9).unwrap(), all);
        assert_eq!(read(text.as_bytes(), 2).unwrap(), all[..2]);
    }

    #[test]
    fn mistakes_name_their_line() {
        let good = "{\"timestamp\": 5, \"input_length\": 10, \"output_length\": 2}\n";
        for (line, said) in [
            (
                "{\"timestamp\": 4, \"input_length\": 1, \"output_length\": 2}",
                "time goes backwards",
            ),
            ("{\"timestamp\": 5, \"input_length\": 0, \"output_length\": 2}", "one token or more"),
            ("{\"timestamp\": 5}", "no request: missing field"),
            ("[", "no request"),
        ] {
            let wrong = read(format!("{good}{line}\n").as_bytes(), 9).unwrap_err();
            assert!(wrong.starts_with("line 2") && wrong.contains(said), "{wrong}");
        }
        let long = "x".repeat(2 << 20);
        assert!(read(long.as_bytes(), 9).unwrap_err().contains("longer than"));
        assert!(read(&b""[..], 9).unwrap_err().contains("no requests"));
    }
}
