//! From files to devices: what each file is, and which files are of one host.
//!
//! Switches have a file each. Files of a host are gathered under its name, which a text says itself, or its path.
//! What is no device is never dropped in silence: it is listed as strange, or remarked. Only files that are known to
//! belong beside configurations (hidden ones, fabric files, records of approvals) are passed over.

mod cut;
mod decode;
mod fanned;
mod parts;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use fanned::Strays;
pub use parts::parts;

use crate::cabling::{Cables, device_of_file, scan};
use crate::device::Device;
use crate::host::label::{self, Named};
use crate::host::{self, HostFile, NOT_READ};
use crate::place::{File, FileId, Files};
use crate::system::{Input, SystemId};
use std::collections::{BTreeMap, BTreeSet};

/// What files describe.
#[derive(Debug, Default)]
pub struct Collection {
    /// The devices. A host may be described by several files.
    pub devices: Vec<Device>,
    /// Files that look like no system's.
    pub strange: Vec<FileId>,
    /// What tables say about cables.
    pub cables: Cables,
    /// Sentences on what was read in part or not at all.
    pub remarks: Vec<String>,
}

/// A host while its files are gathered.
struct Gathered<'a> {
    name: String,
    /// Where it stands among the devices.
    place: usize,
    files: Vec<HostFile<'a>>,
}

/// The devices that files describe.
pub fn read(files: &Files) -> Collection {
    let mut found = Collection::default();
    let mut hosts: BTreeMap<String, Gathered<'_>> = BTreeMap::new();
    let mut unread: BTreeMap<String, usize> = BTreeMap::new();
    let labels: Vec<label::Label> = labels(files);
    let trees: BTreeSet<String> = labels.iter().filter_map(|label| label.tree.clone()).collect();
    for ((id, file), label) in files.iter().zip(labels) {
        if is_beside(file) || file.text.lines().take(5).any(|line| line.contains(NOT_READ)) {
            continue;
        }
        let scan = scan(id, &file.text);
        let tables = !scan.is_empty();
        let mut owner = file.owner.clone().unwrap_or_else(|| device_of_file(&file.name));
        let text = scan.rest.as_deref().unwrap_or(&file.text);
        let system = SystemId::recognise(text).filter(|_| !is_document(file));
        match system {
            Some(system) if system != SystemId::Host && label.copy_of.is_none() => {
                let stem = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
                let name = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
                let name = file.owner.as_deref().unwrap_or(name);
                let input = Input { name, file: id, text };
                let mut device = system.system().parse(&input);
                device.files.push(id);
                owner.clone_from(&device.name);
                found.devices.push(device);
            }
            _ if system == Some(SystemId::Host) || is_of_host(&label, file) => {
                let name = file.owner.clone().unwrap_or_else(|| host_name(&label, &file.text));
                owner.clone_from(&name);
                let key = label::short(&name).to_ascii_lowercase();
                let next = hosts.len() + found.devices.len();
                let host = hosts.entry(key).or_insert_with(|| Gathered {
                    name,
                    place: next,
                    files: Vec::new(),
                });
                host.files.push(HostFile { file: id, text: &file.text, label });
            }
            _ if tables => {}
            _ => match tree_of(&file.name, &trees) {
                Some(tree) => *unread.entry(tree).or_default() += 1,
                None => found.strange.push(id),
            },
        }
        found.cables.add(scan, &owner);
    }
    cut::mark(&mut found.devices, files);
    let mut hosts: Vec<Gathered<'_>> = hosts.into_values().collect();
    hosts.sort_by_key(|host| host.place);
    for host in hosts {
        let mut device = host::read(&host.name, &host.files);
        device.files.extend(host.files.iter().map(|file| file.file));
        found.devices.insert(host.place.min(found.devices.len()), device);
    }
    found.remarks = unread
        .into_iter()
        .map(|(tree, count)| format!("`{tree}`: {count} files of the host say nothing of RoCE"))
        .collect();
    found
}

/// What the paths of files say, each for itself and all together. In the folder of a host, `cc_mlx5_0.txt` is about
/// congestion control and not of a host `cc`: the folder has files that name no host, and others of its kind have the same.
fn labels(files: &Files) -> Vec<label::Label> {
    let mut labels: Vec<label::Label> =
        files.iter().map(|(_, file)| label::of(&file.name)).collect();
    let mut nameless: BTreeMap<String, usize> = BTreeMap::new();
    let whole = labels.iter().zip(files.iter()).filter(|(_, (_, file))| file.owner.is_none());
    let unnamed = whole.map(|(label, _)| label).filter(|label| label.host.is_none());
    for label in unnamed.filter(|label| label.tool.is_some()) {
        *nameless.entry(label.folder.clone().unwrap_or_default()).or_default() += 1;
    }
    let mut named: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for label in labels.iter().filter(|label| label.tree.is_none()) {
        let (Some(host), Some(folder)) = (&label.host, &label.folder) else { continue };
        if nameless.contains_key(folder) {
            *named.entry(host.clone()).or_default().entry(folder.clone()).or_default() += 1;
        }
    }
    for label in labels.iter_mut().filter(|label| label.tree.is_none()) {
        let (Some(host), Some(folder)) = (&label.host, &label.folder) else { continue };
        let Some(folders) = named.get(host) else { continue };
        let within: usize = named.values().filter_map(|folders| folders.get(folder)).sum();
        let most = nameless.get(folder).is_some_and(|count| *count > within);
        if folders.contains_key(folder) && host != folder && (folders.len() > 1 || most) {
            label.host = None;
        }
    }
    labels
}

/// The name of the host that a file is of: what the text says, the name of the file, the tree it is in, its folder.
fn host_name(label: &label::Label, text: &str) -> String {
    let said = label::in_text(text);
    match (said, &label.host, &label.folder) {
        (Some(Named::Surely(name)), _, _) => name,
        (_, Some(name), _) => name.clone(),
        (Some(Named::Maybe(name)), None, _) => name,
        (None, None, Some(folder)) => folder.clone(),
        (None, None, None) => "host".to_owned(),
    }
}

/// Whether a file that looks like no system's is one of a host all the same: by its name, with something in it.
fn is_of_host(label: &label::Label, file: &File) -> bool {
    let copied = label.copy_of.as_deref().is_some_and(|path| {
        let nic =
            ["/sys/class/net/", "/sys/class/infiniband/", "/sys/devices/", "/sys/kernel/config/"];
        path == "/etc/nccl.conf" || nic.iter().any(|start| path.starts_with(start))
    });
    // A word that is the name of a tool and of nothing else.
    let named = matches!(
        label.tool,
        Some(
            "mlnx_qos"
                | "cma_roce_tos"
                | "ibdev2netdev"
                | "show_gids"
                | "ibv_devinfo"
                | "nccl_conf"
        ) | Some(
            "mlxconfig" | "rdma_link" | "lldptool" | "nicctl" | "niccli" | "bnxtqos" | "printenv"
        ) | Some(
            "ethtool"
                | "ethtool_s"
                | "ethtool_i"
                | "ethtool_m"
                | "ip_link"
                | "ip_addr"
                | "ip_d_addr"
                | "ip_d_address"
                | "ip_s_d_link"
                | "ip_d_link"
                | "ip_address"
        ) | Some(
            "dcb"
                | "dcb_pfc"
                | "dcb_ets"
                | "dcb_app"
                | "dcb_buffer"
                | "dcb_maxrate"
                | "env"
                | "sysctl"
        )
    );
    copied || (named && !is_document(file) && !file.text.trim().is_empty())
}

/// The tree of a host's files that a file is in.
fn tree_of(name: &str, trees: &BTreeSet<String>) -> Option<String> {
    let name = name.replace('\\', "/");
    let name = name.trim_start_matches("./").trim_start_matches('/');
    let inside =
        |tree: &&String| name.strip_prefix(tree.as_str()).is_some_and(|rest| rest.starts_with('/'));
    trees.iter().find(inside).cloned()
}

/// Files that stand beside configurations and describe no device.
fn is_beside(file: &File) -> bool {
    let name = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
    let ours = [".approved.json", ".toml", ".sarif", ".partial"];
    (name.starts_with('.') && name.len() > 1) || ours.iter().any(|end| name.ends_with(end))
}

/// Whether a file is a page or a program: it may quote configurations, and is none.
fn is_document(file: &File) -> bool {
    const ENDINGS: [&str; 30] = [
        "md", "markdown", "rst", "adoc", "html", "htm", "xhtml", "tex", "rs", "py", "c", "h", "cc",
        "cpp", "hpp", "go", "js", "ts", "java", "rb", "pl", "lua", "css", "svg", "xsl", "ipynb",
        "diff", "patch", "lock", "d",
    ];
    let name = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let start = file.text.trim_start();
    let page =
        ["<!DOCTYPE", "<!doctype", "<html", "<HTML", "<?xml"].iter().any(|p| start.starts_with(p));
    page || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) || is_prose(&file.text)
}

/// Whether a good part of a text is sentences. Commands have as many words, but not those between them.
fn is_prose(text: &str) -> bool {
    const BETWEEN: [&str; 14] = [
        "the", "a", "an", "is", "are", "and", "of", "that", "this", "which", "with", "who", "it",
        "be",
    ];
    let sentence = |line: &&str| {
        let words = line.split_whitespace();
        let between = words.clone().filter(|word| BETWEEN.contains(word)).count();
        words.count() >= 8 && between >= 2
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2000);
    let all = lines().count();
    lines().filter(sentence).count() * 3 > all
}
