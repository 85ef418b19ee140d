//! `xoff plan`.

use super::{code, json, output, program, stderr, stdout, xoff};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const FILES: [&str; 7] =
    ["bom.csv", "cabling.csv", "fabric.toml", "plan.json", "racks.csv", "racks.txt", "report.html"];

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Compares with a recorded page; `XOFF_BLESS=1` records it anew.
fn matches_recorded(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/expected").join(name);
    if std::env::var_os("XOFF_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(recorded, text, "{name} changed; XOFF_BLESS=1 records it anew");
}

#[test]
fn pages() {
    let here = Path::new(".");
    for (name, arguments) in [
        ("plan-64.txt", &["plan", "64"][..]),
        ("plan-1024.txt", &["plan", "1024"]),
        ("plan-24576.txt", &["plan", "24576", "--spine-oversubscription", "7:1"]),
    ] {
        let output = output(here, arguments);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).is_empty());
        matches_recorded(name, stdout(&output));
    }
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for columns in ["72", "80", "100"] {
        let output = xoff(Path::new(".")).args(["plan", "100000"]).env("COLUMNS", columns).output();
        let output = output.unwrap();
        let width: usize = columns.parse().unwrap();
        let tables = stdout(&output).lines().filter(|line| !line.contains("not possible"));
        for line in tables {
            assert!(line.chars().count() <= width, "{columns}: {line:?}");
        }
    }
}

#[test]
fn the_four_sizes_are_accepted_by_check() {
    let folder = tempfile::tempdir().unwrap();
    for gpus in ["1024", "8192", "24576", "100000"] {
        let made = output(folder.path(), &["plan", gpus, "--out", gpus, "--json"]);
        assert_eq!(code(&made), Some(0), "{}", stderr(&made));
        assert_eq!(names(&folder.path().join(gpus)), FILES);
        let plan = json(&made);
        let file = format!("{gpus}/fabric.toml");
        let check = output(folder.path(), &["check", &file, "--json"]);
        assert_eq!(code(&check), Some(0), "{gpus}: {}", stderr(&check));
        let checked = json(&check);
        assert_eq!(checked["diagnostics"].as_array().unwrap().len(), 0);
        let derived = &checked["derived"];
        assert_eq!(derived["gpus"].to_string(), gpus);
        let rows = derived["tiers"].as_array().unwrap();
        let shape = &plan["design"]["shape"];
        assert_eq!(rows.len() as u64, shape["tiers"].as_u64().unwrap());
        assert_eq!(rows[0]["switches"], shape["leaves"]);
        for row in &rows[..rows.len() - 1] {
            assert_eq!(row["oversubscription"], "1", "{gpus}");
        }
        let cables = derived["links"].as_array().unwrap().iter();
        let cables: u64 = cables.map(|row| row["count"].as_u64().unwrap()).sum();
        let rows = std::fs::read_to_string(folder.path().join(gpus).join("cabling.csv")).unwrap();
        assert_eq!(rows.lines().count() as u64, cables + 1);
    }
}

#[test]
fn the_files_say_what_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let made = output(folder.path(), &["plan", "1024", "--out", "pod"]);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("pod").join(name)).unwrap();
    matches_recorded("plan-1024-fabric.toml", &read("fabric.toml"));
    matches_recorded("plan-1024-bom.csv", &read("bom.csv"));
    matches_recorded("plan-1024-racks.txt", &read("racks.txt"));
    let cabling = read("cabling.csv");
    let mut lines = cabling.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(columns.len(), 22);
    let mut ports: BTreeMap<String, u32> = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), columns.len(), "{line}");
        *ports.entry(format!("{} {}", cells[5], cells[6])).or_default() += 1;
        *ports.entry(format!("{} {}", cells[10], cells[11])).or_default() += 1;
    }
    assert_eq!((ports.len(), ports.values().max()), (2 * 1_536, Some(&1)));
    let json: serde_json::Value = serde_json::from_str(&read("plan.json")).unwrap();
    assert_eq!(json["design"]["grows_to"], 4_096);
    assert_eq!(read("racks.csv").lines().count(), 1 + 128 + 24);
    // The same wish gives the same bytes, and is no offence to what is there.
    assert_eq!(code(&output(folder.path(), &["plan", "1024", "--out", "pod"])), Some(0));
}

#[test]
fn the_page_has_bill_racks_alternatives_and_networks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("inv.csv"), "part,quantity\nconnectx-6,16\n").unwrap();
    let arguments = [
        "plan",
        "256",
        "--storage",
        "--frontend",
        "--management",
        "--existing",
        "inv.csv",
        "--skills",
        "ethernet",
        "--out",
        "pod",
    ];
    let made = output(folder.path(), &arguments);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    let text = stdout(&made);
    for expected in ["Other networks", "management", "What is there already", "connectx-6"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let page = std::fs::read_to_string(folder.path().join("pod/report.html")).unwrap();
    for id in ["design", "bill", "racks", "alternatives", "networks", "existing"] {
        assert!(page.contains(&format!("id=\"s-{id}\"")), "{id}");
    }
    // The command repeats the plan, wherever it is written.
    assert!(page.contains("--skills ethernet") && !page.contains("--out pod"));
    let cabling = std::fs::read_to_string(folder.path().join("pod/cabling.csv")).unwrap();
    for network in [",compute,", ",storage,", ",frontend,", ",management,"] {
        assert!(cabling.contains(network), "{network}");
    }
}

#[test]
fn a_mistake_in_an_inventory_points_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("i.csv"), "part,quantity\ntomahawk5,1\n").unwrap();
    let wrong = output(folder.path(), &["plan", "64", "--existing", "i.csv"]);
    assert_eq!(code(&wrong), Some(2));
    let text = stderr(&wrong);
    assert!(text.contains("i.csv:2") && text.contains("did you mean `tomahawk-5`?"), "{text}");
    let power = output(folder.path(), &["plan", "64", "--rack-power", "45"]);
    assert_eq!(code(&power), Some(2));
    assert!(stderr(&power).contains("write a unit, like 45kW"), "{}", stderr(&power));
}

/// The step time stands beside the price, of the design and of each alternative.
#[test]
fn designs_are_validated() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["plan", "16", "--gpus-per-server", "4", "--validate", "--json"];
    let made = output(folder.path(), &arguments);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    let plan = json(&made);
    let judged = plan["validated"].as_array().unwrap();
    assert_eq!(judged[0]["name"], "planned");
    assert!(judged[0]["verdict"].is_string(), "{judged:?}");
    assert!(judged.len() > 1);
    // InfiniBand has parts, but no file to validate.
    let rival = judged.iter().find(|one| one["name"] == "InfiniBand").unwrap();
    assert!(rival["verdict"].is_null() && rival["refused"].is_string());
}

#[test]
fn what_is_planned_passes_its_validation() {
    let folder = tempfile::tempdir().unwrap();
    for (gpus, phases) in [("64", &[][..]), ("1024", &["--phase", "1", "--phase", "2"][..])] {
        let made = output(folder.path(), &["plan", gpus, "--out", gpus]);
        assert_eq!(code(&made), Some(0), "{}", stderr(&made));
        let (file, out) = (format!("{gpus}/fabric.toml"), format!("v{gpus}"));
        let arguments = ["validate", &file, "--quick", "--json", "--out", &out];
        let validated = output(folder.path(), &[&arguments[..], phases].concat());
        assert_eq!(code(&validated), Some(0), "{gpus}: {}", stdout(&validated));
        let found: serde_json::Value = serde_json::from_str(stdout(&validated)).unwrap();
        assert_eq!(found["verdict"], "pass", "{gpus}");
        assert_eq!(found["changes"], serde_json::json!([]), "{gpus}: advice for a sound plan");
        assert!(!folder.path().join(out).join("advised.toml").exists());
    }
}

#[test]
fn cables_say_where_they_go_and_parts_what_to_order() {
    let folder = tempfile::tempdir().unwrap();
    let made = output(folder.path(), &["plan", "256", "--storage", "--out", "pod"]);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    let rows = |name: &str| -> Vec<BTreeMap<String, String>> {
        let text = std::fs::read_to_string(folder.path().join("pod").join(name)).unwrap();
        // Every second part between quotes is text, in which a comma ends no cell.
        let cells = |line: &str| {
            let parts = line.split('"').enumerate();
            let kept = parts.map(|(at, part)| match at % 2 {
                0 => part.replace(',', "\0"),
                _ => part.to_owned(),
            });
            let line: String = kept.collect();
            line.split('\0').map(str::to_owned).collect::<Vec<_>>()
        };
        let mut lines = text.lines().map(cells);
        let heads = lines.next().unwrap();
        lines.map(|cells| heads.iter().cloned().zip(cells).collect()).collect()
    };
    let cables = rows("cabling.csv");
    for cable in &cables {
        for end in ["from", "to"] {
            let [rack, device, label, form] =
                ["rack", "device", "label", "form"].map(|key| &cable[&format!("{end}_{key}")]);
            assert!(!rack.is_empty() && !form.is_empty(), "{cable:?}");
            assert!(label.starts_with(rack.as_str()) && label.contains(device.as_str()), "{label}");
        }
        assert!(!cable["rate"].is_empty() && !cable["part"].is_empty(), "{cable:?}");
    }
    assert!(cables.len() >= 256);
    let parts = rows("bom.csv");
    let optics = parts.iter().filter(|part| ["transceiver", "cable"].contains(&&*part["role"]));
    let mut counted = 0;
    for part in optics {
        assert!(part["rate"].ends_with("bps") && !part["form_factor"].is_empty(), "{part:?}");
        let number = |key: &str| part[key].parse::<u64>().unwrap();
        assert_eq!(number("ordered"), number("quantity") + number("spares"), "{part:?}");
        assert!(number("spares") > 0, "{part:?}");
        counted += 1;
    }
    assert!(counted >= 2, "{parts:?}");
}

#[test]
fn without_out_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let made = output(folder.path(), &["plan", "256"]);
    assert!(stdout(&made).contains("nothing is written without --out"));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn somebodys_work_stays_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bom.csv"), "mine").unwrap();
    let made = output(folder.path(), &["plan", "256", "--out", "."]);
    assert_eq!(code(&made), Some(3));
    assert!(stderr(&made).contains("--force"), "{}", stderr(&made));
    assert_eq!(names(folder.path()), ["bom.csv"]);
    let made = output(folder.path(), &["plan", "256", "--out", ".", "--force"]);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    assert_eq!(names(folder.path()), FILES);
}

#[test]
fn refusals_say_what_would_do() {
    let cases: [(&[&str], &[&str]); 5] = [
        (
            &["10000", "--tiers", "2"],
            &["8192 GPUs are the most", "--tiers 3", "--oversubscription 2:1", "--leaf tomahawk-6"],
        ),
        (&["1001"], &["1000 GPUs", "1008 GPUs"]),
        (&["64", "--nic", "connectx7"], &["did you mean `connectx-7`?"]),
        (&["64", "--rails", "3"], &["--rails 1", "--rails 8"]),
        (&["0"], &["at least 1"]),
    ];
    for (arguments, expected) in cases {
        let output = xoff(Path::new(".")).arg("plan").args(arguments).output().unwrap();
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        for text in expected {
            assert!(stderr(&output).contains(text), "{arguments:?}: {}", stderr(&output));
        }
    }
}

#[test]
fn price_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("p.toml"), text).unwrap();
    let planned = || output(folder.path(), &["plan", "64", "--prices", "p.toml"]);
    write("currency = \"EUR\"\nusd = 0.92\n[nic]\nconnectx-7 = 1450\n");
    assert!(stdout(&planned()).contains("EUR"), "{}", stderr(&planned()));
    write("[nic]\nconnectx7 = 1450\n");
    let wrong = planned();
    assert_eq!(code(&wrong), Some(2));
    let text = stderr(&wrong);
    assert!(text.contains("p.toml:2") && text.contains("did you mean `connectx-7`?"), "{text}");
    let missing = output(folder.path(), &["plan", "64", "--prices", "none.toml"]);
    assert_eq!(code(&missing), Some(2));
}

/// A limit on the size of files fails writes as a full disk does.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" plan 1024 --out pod";
    let mut shell = Command::new("sh");
    shell.current_dir(folder.path()).args(["-c", script]).arg(program());
    let made = shell.output().unwrap();
    assert_eq!(code(&made), Some(3), "{}", stderr(&made));
    assert!(stderr(&made).contains("cabling.csv"), "{}", stderr(&made));
    assert_eq!(names(&folder.path().join("pod")), ["bom.csv", "fabric.toml"]);
}
