//! The environment of NCCL: dumps, `nccl.conf`, scripts of batch systems, containers and pods.

use super::parse::{HostFile, Parser};
use crate::device::RemarkKind;

/// Whether a file is an environment as a whole, so that what is not in it is not set.
pub(super) fn is_dump(file: &HostFile<'_>) -> bool {
    let named = matches!(
        file.label.tool,
        Some("env" | "printenv" | "environment" | "export" | "nccl_conf")
    );
    let copied = matches!(file.label.copy_of.as_deref(), Some("/etc/nccl.conf"));
    // The check script begins with the host's name and prints the environment next.
    let checked = file.text.lines().next().is_some_and(|line| line.starts_with("hostname "));
    named || copied || checked || looks_like_dump(file.text)
}

/// Whether a text has the variables that every environment has.
pub(super) fn looks_like_dump(text: &str) -> bool {
    let variable = |line: &&str| {
        let line = line.trim().trim_start_matches("export ").trim_start_matches("declare -x ");
        ["PATH=", "HOME=", "SHELL=", "PWD="].iter().any(|start| line.starts_with(start))
    };
    text.lines().take(5000).filter(variable).take(3).count() == 3
}

/// Reads a line that sets variables of NCCL; whether it did.
pub(super) fn line(parser: &mut Parser, number: u32, text: &str) -> bool {
    // A pod: the name on one line, the value on the next.
    let name = text.trim_start_matches("- ").strip_prefix("name:").map(str::trim);
    if let Some(name) = name.map(unquoted).filter(|name| name.starts_with("NCCL_")) {
        parser.variable = Some(name.to_owned());
        return true;
    }
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find("NCCL_") {
        let inside = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let before = rest[..at].chars().next_back();
        let tail = &rest[at..];
        let end = tail.find(|c| !inside(c)).unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        rest = after;
        // A use, not a setting, or the end of another name.
        if before.is_some_and(|c| "${_".contains(c) || c.is_ascii_alphanumeric()) {
            continue;
        }
        let setenv = text.starts_with("setenv ");
        let value = after.strip_prefix('=').or_else(|| {
            let after = after.trim_start_matches(['"', '\'']);
            after.strip_prefix(':').or(after.strip_prefix(' ').filter(|_| setenv))
        });
        if let Some(value) = value {
            variable(parser, number, name, value.trim_start());
            found = true;
        }
    }
    found
}

/// One variable and what follows its name.
pub(super) fn variable(parser: &mut Parser, number: u32, name: &str, text: &str) {
    let place = parser.notes.line(number);
    parser.device.nccl.shown.get_or_insert(place);
    let value = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split(quote).next().unwrap_or(""),
        // A list of variables is told apart by commas, but so are NICs.
        _ if name == "NCCL_IB_HCA" => text.split_whitespace().next().unwrap_or(""),
        _ => text.split([' ', ',', ';', '"', '\'', '}']).next().unwrap_or(""),
    };
    // `${NCCL_IB_TC:-106}` and the like say nothing that holds for sure.
    if value.starts_with('$') || value.is_empty() {
        return;
    }
    match name {
        "NCCL_IB_TC" => {
            parser.device.nccl.traffic_class = parser.notes.said(number, value.parse().ok());
        }
        // -1 lets NCCL choose.
        "NCCL_IB_GID_INDEX" if value == "-1" => {}
        "NCCL_IB_GID_INDEX" => {
            parser.device.nccl.gid_index = parser.notes.said(number, value.parse().ok());
        }
        "NCCL_IB_HCA" => {
            parser.device.nccl.ib_hca = parser.notes.said(number, Some(value.to_owned()));
        }
        _ => parser.notes.mark(number, RemarkKind::Foreign),
    }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use crate::host::tests::read;

    #[test]
    fn every_way_to_set_a_variable() {
        let texts = [
            "NCCL_IB_TC=106\n",
            "export NCCL_IB_TC=106\n",
            "declare -x NCCL_IB_TC=\"106\"\n",
            "setenv NCCL_IB_TC 106\n",
            "#SBATCH --export=ALL,NCCL_IB_GID_INDEX=3,NCCL_IB_TC=106\n",
            "mpirun -np 8 -x NCCL_IB_GID_INDEX=3 -x NCCL_IB_TC=106 ./all_reduce_perf\n",
            "ENV NCCL_IB_TC=106\n",
            "    - NCCL_IB_TC=106\n",
            "      NCCL_IB_TC: \"106\"\n",
            "        env:\n        - name: NCCL_IB_TC\n          value: \"106\"\n",
            "  \"NCCL_IB_TC\": \"106\",\n",
            "export FOO=1; export NCCL_IB_TC=106; ./run\n",
        ];
        for text in texts {
            let device = read(&[("d/hgx1.txt", text)]);
            assert_eq!(device.nccl.traffic_class.get(), Some(106), "{text}");
            assert!(device.nccl.shown.is_some(), "{text}");
        }
    }

    #[test]
    fn uses_and_comments_set_nothing() {
        for text in [
            "echo $NCCL_IB_TC\n",
            "# NCCL_IB_TC=0\n",
            "export NCCL_IB_TC=${NCCL_IB_TC:-0}\n",
            "MY_NCCL_IB_TC=0\n",
        ] {
            let device = read(&[("d/hgx1.txt", text)]);
            assert_eq!(device.nccl.traffic_class.get(), None, "{text}");
        }
        let device = read(&[(
            "d/hgx1.env",
            "NCCL_IB_GID_INDEX=-1\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nNCCL_IB_TC=x\n",
        )]);
        assert_eq!(device.nccl.gid_index.get(), None);
        assert_eq!(device.nccl.ib_hca.value().map(String::as_str), Some("=mlx5_0:1,mlx5_1:1"));
        assert_eq!(device.count(crate::device::RemarkKind::Malformed), 1);
    }

    #[test]
    fn a_dump_without_nccl_is_still_one() {
        assert!(read(&[("d/hgx1.env.txt", "PATH=/bin\n")]).nccl.shown.is_some());
        assert!(
            read(&[("d/hgx1.txt", "PATH=/bin\nHOME=/root\nSHELL=/bin/sh\n")]).nccl.shown.is_some()
        );
        assert!(read(&[("hgx1/etc/nccl.conf", "\n")]).nccl.shown.is_some());
        assert!(read(&[("d/hgx1.mlnx_qos.eth2", "PFC configuration:\n")]).nccl.shown.is_none());
    }
}
