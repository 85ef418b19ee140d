//! What the tests of this crate share.

use crate::error::WorkloadError;
use crate::expand::expand;
use crate::flow::Flow;
use std::io::{self, BufRead, Cursor};
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Workload;

/// `count` NICs `n0`, `n1`, … at 100G. Only good for what does not follow cables.
pub(crate) fn star(count: u32) -> Fabric {
    let mut model = (*tree()).clone();
    let nic = model.nics[0].clone();
    let named = |number| xoff_fabric::model::Nic { name: format!("n{number}"), ..nic.clone() };
    model.nics = (0..count).map(named).collect();
    Fabric::unchecked_for_tests(model)
}

/// NICs `n0`, `n1` at `leaf0` and `n2`, `n3` at `leaf1`, joined by `spine0` and `spine1`.
pub(crate) fn tree() -> Fabric {
    let mut text = "[fabric]\nkind = 'custom'\n".to_owned();
    let mut node = |name: &str, rest: &str| text += &format!("[[node]]\nname = '{name}'\n{rest}\n");
    ["n0", "n1", "n2", "n3"].iter().for_each(|name| node(name, "kind = 'nic'"));
    ["leaf0", "leaf1"].iter().for_each(|name| node(name, "kind = 'switch'"));
    ["spine0", "spine1"].iter().for_each(|name| node(name, "kind = 'switch'\ntier = 'spine'"));
    let ends = ["n0 leaf0", "n1 leaf0", "n2 leaf1", "n3 leaf1"];
    let trunks = ["leaf0 spine0", "leaf0 spine1", "leaf1 spine0", "leaf1 spine1"];
    for ends in ends.iter().chain(&trunks) {
        text += &format!("[[link]]\nends = '{ends}'\nrate = '100Gbps'\nlength = '5m'\n");
    }
    Fabric::from_toml(&text).unwrap()
}

/// Files that exist only here.
pub(crate) fn files(
    files: &[(&str, &str)],
) -> impl FnMut(&str) -> io::Result<Box<dyn BufRead>> + use<> {
    let files: Vec<_> = files.iter().map(|(n, t)| (n.to_string(), t.to_string())).collect();
    move |name| match files.iter().find(|(known, _)| known == name) {
        Some((_, text)) => Ok(Box::new(Cursor::new(text.clone().into_bytes()))),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Workloads from TOML; the first `[[workload]]` is understood.
pub(crate) fn workloads(text: &str) -> Vec<Workload> {
    let table: toml::Table = toml::from_str(&format!("[[workload]]\n{text}")).unwrap();
    table["workload"].clone().try_into().unwrap()
}

/// The flows of workloads without files.
pub(crate) fn expand_text(fabric: &Fabric, text: &str, seed: u64) -> Vec<Flow> {
    expand(&workloads(text), fabric, seed, &mut files(&[])).unwrap()
}

/// What is wrong with workloads, as people read it.
pub(crate) fn refuse_text(fabric: &Fabric, text: &str) -> String {
    refuse_file(fabric, text, "")
}

/// The same, with a file `f.csv`.
pub(crate) fn refuse_file(fabric: &Fabric, text: &str, file: &str) -> String {
    let mut files = files(&[("f.csv", file)]);
    let wrong = expand(&workloads(text), fabric, 1, &mut files).unwrap_err();
    wrong.iter().map(|error: &WorkloadError| format!("{error}\n")).collect()
}
