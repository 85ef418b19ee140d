//! Files of the ns-3 models of the HPCC line: a topology, a list of flows and, where they were
//! recorded, the paths that the flows took.
//!
//! [`import`] turns [`Files`] into a fabric file, a scenario and a flow list that `xoff run` takes,
//! or reports every mistake with its file and line. What it is not: it reads and writes no files,
//! and it does not check that the fabric is sound; loading what it gives does that.

mod flows;
mod paths;
mod render;
mod text;
mod topology;

use std::path::PathBuf;

/// The senders' congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Line rate; PFC alone.
    None,
    /// DCQCN with the ECN ramp.
    Dcqcn,
    /// DCQCN with one ECN threshold, so that nothing is random.
    DcqcnStep,
    /// HPCC.
    Hpcc,
}

/// A file as text.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// The files to import.
#[derive(Debug, Clone)]
pub struct Files {
    /// Nodes, switches and links: `topology.txt`.
    pub topology: Source,
    /// Flows: `flow.txt`.
    pub flows: Source,
    /// The paths that flows took.
    pub paths: Option<Source>,
    /// What these files do not say.
    pub congestion: Congestion,
}

/// The texts of the imported files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The fabric, for [`FABRIC`].
    pub fabric: String,
    /// The scenario, for [`SCENARIO`].
    pub scenario: String,
    /// The flow list, for [`FLOWS`].
    pub flows: String,
    /// Flows whose path is not pinned although paths were given.
    pub unpinned: usize,
}

/// Name of the fabric file; the scenario refers to it.
pub const FABRIC: &str = "fabric.toml";
/// Name of the scenario file.
pub const SCENARIO: &str = "scenario.toml";
/// Name of the flow list; the scenario refers to it.
pub const FLOWS: &str = "flows.csv";

/// Converts the files, or reports every mistake in them: file, line and what is wrong.
pub fn import(files: &Files) -> Result<Imported, Vec<String>> {
    let mut mistakes = text::Mistakes::default();
    mistakes.in_file(&files.topology.path);
    let topology = topology::read(&files.topology.text, &mut mistakes);
    mistakes.in_file(&files.flows.path);
    let mut flows = flows::read(&files.flows.text, &topology, &mut mistakes);
    let mut unpinned = 0;
    if let Some(file) = &files.paths {
        mistakes.in_file(&file.path);
        let mut paths = paths::read(&file.text, &topology, &mut mistakes);
        unpinned = paths.pin(&mut flows);
    }
    mistakes.into_result()?;
    Ok(Imported {
        fabric: render::fabric(&topology, &flows, files.congestion),
        scenario: render::scenario(),
        flows: render::flows(&topology, &flows),
        unpinned,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = "5 2 4\n3 4\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n\
                            2 4 25Gbps 0.001ms 0.001\n3 4 100Gbps 1us 0\n";
    const FLOWS: &str = "2\n0 2 3 100 20000 2.000000000\n1 2 4 101 1000 2.000001500\n";
    const PATHS: &str = "data 0 2 10000 100 20000 : 0 3 4 2\nack 0 2 10000 100 20000 : 2 4 3 0\n";

    fn convert(topology: &str, flows: &str, paths: &str) -> Result<Imported, Vec<String>> {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.to_owned() };
        import(&Files {
            topology: source("t.txt", topology),
            flows: source("f.txt", flows),
            paths: (!paths.is_empty()).then(|| source("p.txt", paths)),
            congestion: Congestion::Dcqcn,
        })
    }

    #[test]
    fn flows_keep_their_ends_sizes_and_paths() {
        let imported = convert(TOPOLOGY, FLOWS, PATHS).unwrap();
        let expected = "start,source,destination,bytes,class,path,ack_path\n\
            0ps,host0,host2,20000,3,switch3>switch4,switch4>switch3\n\
            1.5us,host1,host2,1000,4,,\n";
        assert_eq!(imported.flows, expected);
        assert_eq!(imported.unpinned, 1);
        assert!(imported.fabric.contains(
            "ends = \"host2 switch4\"\nrate = \"25Gbps\"\ndelay = \"1us\"\nloss = \"0.001\""
        ));
    }

    #[test]
    fn the_files_can_be_loaded() {
        for paths in ["", PATHS] {
            let imported = convert(TOPOLOGY, FLOWS, paths).unwrap();
            let loaded = xoff_fabric::load_scenario(&imported.scenario, &imported.fabric);
            assert!(loaded.value.is_some(), "{:#?}\n{}", loaded.diagnostics, imported.fabric);
            let Some(setup) = loaded.value else { continue };
            let text = imported.flows.clone().into_bytes();
            let mut open = |name: &str| -> std::io::Result<Box<dyn std::io::BufRead>> {
                assert_eq!(name, super::FLOWS);
                Ok(Box::new(std::io::Cursor::new(text.clone())))
            };
            let (workloads, fabric) = (&setup.scenario.workloads, &setup.setup.fabric);
            let flows = crate::expand(workloads, fabric, 1, &mut open).unwrap();
            assert_eq!(flows.len(), 2);
            assert_eq!(flows[0].path.is_some(), !paths.is_empty());
        }
    }

    #[test]
    fn every_mistake_names_its_line() {
        let topology = "5 2 4\n3 9\n0 3 100Gbps 1000ns 0\n1 1 fast 1000ns 0\n2 4 25Gbps\n";
        let flows = "3\n0 3 3 100 20000 2.0\n0 1 9 100 0 soon\n";
        let mistakes = convert(topology, flows, "data 0 : 1\n").unwrap_err().join("\n");
        let expected = [
            "t.txt:2: node 9",
            "t.txt:4: a link from 1 to itself",
            "t.txt:4: `fast`",
            "t.txt:5: 3 words",
            "t.txt:1: 4 links",
            "f.txt:2: 3 is a switch",
            "f.txt:3: class 9",
            "f.txt:3: a flow of 0 bytes",
            "f.txt:3: `soon`",
            "f.txt:1: 3 flows",
            "p.txt:1: ",
        ];
        for part in expected {
            assert!(mistakes.contains(part), "no `{part}` in\n{mistakes}");
        }
    }

    #[test]
    fn paths_must_exist() {
        let wrong = |line: &str| convert(TOPOLOGY, FLOWS, line).unwrap_err().join("\n");
        assert!(wrong("data 0 2 1 100 20000 : 0 4 2\n").contains("no link from 0 to 4"));
        assert!(wrong("data 0 2 1 100 20000 : 0 3 4\n").contains("leads from 0 to 4"));
        assert!(wrong("data 0 2 1 100 20000 : 0 3 1 3 4 2\n").contains("1 is not a switch"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(
            a in "[0-9a-z .:\n]{0,80}", b in "[0-9a-z .:\n]{0,80}", c in "[a-z0-9 :\n]{0,80}",
        ) {
            let _ = convert(&a, &b, &c);
            let _ = convert(TOPOLOGY, &b, &c);
            let _ = convert(TOPOLOGY, FLOWS, &c);
        }
    }
}
