//! Files of other simulators. For now those of the ns-3 models of the HPCC line: a topology, a list
//! of flows and, where somebody recorded them, the paths the flows took.

mod flows;
mod paths;
mod render;
mod text;
mod topology;

use std::path::PathBuf;

/// What a sender does about congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Congestion {
    /// Line rate; PFC alone
    None,
    /// DCQCN with the ECN ramp
    Dcqcn,
    /// DCQCN with one ECN threshold, so that nothing is random
    DcqcnStep,
    /// HPCC
    Hpcc,
}

/// The files to import, as text.
#[derive(Debug, Clone)]
pub(crate) struct Ns3 {
    pub(crate) topology: (PathBuf, String),
    pub(crate) flows: (PathBuf, String),
    pub(crate) paths: Option<(PathBuf, String)>,
    pub(crate) congestion: Congestion,
}

/// The files that come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Imported {
    pub(crate) fabric: String,
    pub(crate) scenario: String,
    pub(crate) flows: String,
    /// Flows whose path is not pinned although paths were given.
    pub(crate) unpinned: usize,
}

/// Names of the files that are written.
pub(crate) const FABRIC: &str = "fabric.toml";
pub(crate) const SCENARIO: &str = "scenario.toml";
pub(crate) const FLOWS: &str = "flows.csv";

/// Turns the files into ours, or says everything that is wrong with them: file, line and what.
pub(crate) fn ns3(files: &Ns3) -> Result<Imported, Vec<String>> {
    let mut mistakes = text::Mistakes::default();
    mistakes.in_file(&files.topology.0);
    let topology = topology::read(&files.topology.1, &mut mistakes);
    mistakes.in_file(&files.flows.0);
    let mut flows = flows::read(&files.flows.1, &topology, &mut mistakes);
    let mut unpinned = 0;
    if let Some((path, text)) = &files.paths {
        mistakes.in_file(path);
        let mut paths = paths::read(text, &topology, &mut mistakes);
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

    fn import(topology: &str, flows: &str, paths: &str) -> Result<Imported, Vec<String>> {
        ns3(&Ns3 {
            topology: ("t.txt".into(), topology.to_owned()),
            flows: ("f.txt".into(), flows.to_owned()),
            paths: (!paths.is_empty()).then(|| ("p.txt".into(), paths.to_owned())),
            congestion: Congestion::Dcqcn,
        })
    }

    #[test]
    fn flows_keep_their_ends_sizes_and_paths() {
        let imported = import(TOPOLOGY, FLOWS, PATHS).unwrap();
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
            let imported = import(TOPOLOGY, FLOWS, paths).unwrap();
            let loaded = xoff_fabric::load_scenario(&imported.scenario, &imported.fabric);
            assert!(loaded.value.is_some(), "{:#?}\n{}", loaded.diagnostics, imported.fabric);
        }
    }

    #[test]
    fn every_mistake_names_its_line() {
        let topology = "5 2 4\n3 9\n0 3 100Gbps 1000ns 0\n1 1 fast 1000ns 0\n2 4 25Gbps\n";
        let flows = "3\n0 3 3 100 20000 2.0\n0 1 9 100 0 soon\n";
        let mistakes = import(topology, flows, "data 0 : 1\n").unwrap_err().join("\n");
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
        let wrong = |line: &str| import(TOPOLOGY, FLOWS, line).unwrap_err().join("\n");
        assert!(wrong("data 0 2 1 100 20000 : 0 4 2\n").contains("no link from 0 to 4"));
        assert!(wrong("data 0 2 1 100 20000 : 0 3 4\n").contains("leads from 0 to 4"));
        assert!(wrong("data 0 2 1 100 20000 : 0 3 1 3 4 2\n").contains("1 is not a switch"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(
            a in "[0-9a-z .:\n]{0,80}", b in "[0-9a-z .:\n]{0,80}", c in "[a-z0-9 :\n]{0,80}",
        ) {
            let _ = import(&a, &b, &c);
            let _ = import(TOPOLOGY, &b, &c);
            let _ = import(TOPOLOGY, FLOWS, &c);
        }
    }
}
