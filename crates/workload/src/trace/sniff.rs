//! The format of a file, recognised by its content.

use super::{aicb, chakra, goal};
use std::fmt;
use std::str::FromStr;

/// The formats of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Chakra execution traces: a file per rank.
    Chakra,
    /// GOAL schedules, as text.
    Goal,
    /// Workloads of SimAI and AICB, as text.
    SimAi,
    /// JSON of the PyTorch profiler (Kineto): a file per rank.
    Kineto,
    /// What NCCL writes with `NCCL_DEBUG=INFO`.
    NcclLog,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] =
        [Format::Chakra, Format::Goal, Format::SimAi, Format::Kineto, Format::NcclLog];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Format::Chakra => "chakra",
            Format::Goal => "goal",
            Format::SimAi => "simai",
            Format::Kineto => "kineto",
            Format::NcclLog => "nccl",
        })
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let named = Format::ALL.into_iter().find(|format| format.to_string() == text);
        named.ok_or_else(|| format!("`{text}` is not one of chakra, goal, simai, kineto, nccl"))
    }
}

/// What a file of a trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trace(Format),
    /// The process groups of Chakra traces, as JSON.
    Groups,
    /// Nothing at all is in it.
    Empty,
    /// Something known that is no trace for us, and what to do about it.
    Other(&'static str),
    Unknown,
}

/// First words of SimAI's workloads: how the model is parallelised.
const POLICIES: [&str; 14] = [
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "HYBRID_TRANSFORMER",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "DISTRIBUTED_INFERENCE",
    "DATA",
    "DATA_REORDER",
    "MODEL",
    "MICRO",
    "TRANSFORMER",
    "ALL",
];

/// Recognises a file by its first bytes.
pub(super) fn kind(head: &[u8]) -> Kind {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = text.trim_ascii_start();
    if text.is_empty() {
        return Kind::Empty;
    }
    let text_kind = match text[0] {
        _ if is_log(text) => Kind::Trace(Format::NcclLog),
        _ if aicb::begins(text) => Kind::Trace(Format::SimAi),
        b'{' | b'[' => json(text),
        _ if goal::is_binary(head) => Kind::Trace(Format::Goal),
        _ if is_goal(text) => Kind::Trace(Format::Goal),
        _ if is_simai(text) => Kind::Trace(Format::SimAi),
        _ if text.starts_with(b"# collprof ") => Kind::Other(MPI_TRACE),
        _ => Kind::Unknown,
    };
    // The first bytes of these can pass for text, but never all that are read here.
    if text_kind == Kind::Unknown && head.iter().any(is_binary) && chakra::begins(head) {
        return Kind::Trace(Format::Chakra);
    }
    text_kind
}

/// Whether a byte is in no text.
pub(super) fn is_binary(byte: &u8) -> bool {
    *byte < 0x20 && !byte.is_ascii_whitespace()
}

fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}

fn is_log(text: &[u8]) -> bool {
    contains(text, " NCCL INFO ") || contains(text, " NCCL WARN ")
}

fn json(text: &[u8]) -> Kind {
    // Names of nodes may be words of the profiler, so that these come first.
    if chakra::has_nodes(text) {
        return Kind::Trace(Format::Chakra);
    }
    let is_host = contains(text, "\"schema\"") && contains(text, "chakra");
    if is_host && !contains(text, "\"traceEvents\"") {
        return Kind::Other(HOST_TRACE);
    }
    const OF_KINETO: [&str; 6] = [
        "\"traceEvents\"",
        "\"schemaVersion\"",
        "\"deviceProperties\"",
        "\"distributedInfo\"",
        "\"record_param_comms\"",
        "\"ph\"",
    ];
    if OF_KINETO.iter().any(|word| contains(text, word)) {
        return Kind::Trace(Format::Kineto);
    }
    if contains(text, "\"communicators\"") || is_map_of_lists(text) {
        return Kind::Groups;
    }
    if contains(text, "chakra") || contains(text, "\"nodes\"") {
        return Kind::Other(HOST_TRACE);
    }
    Kind::Unknown
}

const MPI_TRACE: &str = "an MPI trace of liballprof; turn it into a GOAL schedule with schedgen";

const HOST_TRACE: &str = "a PyTorch execution trace, which has no times; turn it into `.et` files \
     with chakra_trace_link and chakra_converter";

/// `{ "0": [0, 1`, or nothing in the map at all.
fn is_map_of_lists(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"{") else { return false };
    let rest = rest.trim_ascii_start();
    if rest.starts_with(b"}") {
        return true;
    }
    let Some(rest) = rest.strip_prefix(b"\"") else { return false };
    let Some(end) = rest.iter().position(|&byte| byte == b'"') else { return false };
    let rest = rest[end + 1..].trim_ascii_start();
    let Some(rest) = rest.strip_prefix(b":") else { return false };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"[") else { return false };
    let rest = rest.trim_ascii_start();
    rest.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b']')
}

fn is_goal(text: &[u8]) -> bool {
    let mut text = text;
    loop {
        text = text.trim_ascii_start();
        let end = if text.starts_with(b"//") {
            text.iter().position(|&byte| byte == b'\n')
        } else if text.starts_with(b"/*") {
            text.windows(2).position(|window| window == b"*/").map(|at| at + 2)
        } else {
            let after = text.strip_prefix(b"num_ranks").or_else(|| text.strip_prefix(b"rank"));
            return after.is_some_and(|after| after.first().is_some_and(u8::is_ascii_whitespace));
        };
        match end {
            Some(end) => text = &text[end..],
            None => return false,
        }
    }
}

fn is_simai(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let word = first.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let counted = lines.next().unwrap_or_default();
    let counted = !counted.is_empty() && counted.iter().all(u8::is_ascii_digit);
    contains(first, "model_parallel_NPU_group")
        || counted && POLICIES.iter().any(|policy| policy.as_bytes() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_how_they_begin() {
        let trace = |format| Kind::Trace(format);
        for (head, expected) in [
            ("num_ranks 2\n", trace(Format::Goal)),
            ("// made by hand\n/* two\nlines */ num_ranks 2\n", trace(Format::Goal)),
            ("HYBRID_TRANSFORMER model_parallel_NPU_group: 8", trace(Format::SimAi)),
            ("MICRO\r\n19\r\n", trace(Format::SimAi)),
            ("DATA is what this is about\nreally\n", Kind::Unknown),
            ("{\n \"schemaVersion\": 1,", trace(Format::Kineto)),
            ("[{\"ph\": \"X\"}]", trace(Format::Kineto)),
            ("\u{feff}{\"traceEvents\": []}", trace(Format::Kineto)),
            ("{\"0\": [0, 1]}", Kind::Groups),
            ("{\"communicators\": []}", Kind::Groups),
            ("{}", Kind::Groups),
            ("{\"a\": 1}", Kind::Unknown),
            ("[2026-01-01] h:1:1 [0] NCCL INFO x\n", trace(Format::NcclLog)),
            ("loading\nh:1:1 [0] NCCL WARN x\n", trace(Format::NcclLog)),
            ("", Kind::Empty),
            (" \n\n", Kind::Empty),
            ("\n\nhello", Kind::Unknown),
            ("/* never closed", Kind::Unknown),
            // Cut off, which its reader says better.
            ("{\n\0", trace(Format::Chakra)),
            ("\u{1}", Kind::Unknown),
            // `GlobalMetadata` of one version, and a node with a number and a type.
            ("\u{7}\n\u{5}0.0.4\u{4}\u{8}\u{1}\u{18}\u{4}", trace(Format::Chakra)),
            ("\0\u{4}\u{8}\u{1}\u{18}\u{4}", trace(Format::Chakra)),
            ("\u{4}\u{8}\u{1}\u{18}\u{4}", trace(Format::Chakra)),
        ] {
            assert_eq!(kind(head.as_bytes()), expected, "{head:?}");
        }
        let graph = b"{\"workload_graph\": [{\"Id\": 1, \"Name\": \"record_param_comms\"}]}";
        assert_eq!(kind(graph), trace(Format::Chakra));
        let jsonized = b"{}{\n  \"id\": \"1\",\n  \"type\": \"COMP_NODE\"\n}";
        assert_eq!(kind(jsonized), trace(Format::Chakra));
        let host =
            b"{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [{\"name\": \"record_param_comms\"}]}";
        assert!(matches!(kind(host), Kind::Other(text) if text.contains("chakra_converter")));
        let calls = b"# collprof 0.9 output file\n# host: a\n\nMPI_Init:-:1:2:3.0\n";
        assert!(matches!(kind(calls), Kind::Other(text) if text.contains("schedgen")));
        let host = b"{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": []}";
        assert!(matches!(kind(host), Kind::Other(_)));
    }

    #[test]
    fn names_go_both_ways() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("xml".parse::<Format>().unwrap_err().contains("kineto"));
    }
}
