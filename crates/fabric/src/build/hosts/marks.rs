//! DSCPs that NICs write, and whether switches know them.

use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::file::FabricFile;
use crate::model::{ClassId, Model, PortId, Switch};
use std::collections::BTreeSet;

/// Gives NICs the DSCPs that the file says they write, and warns where switches put those elsewhere.
pub(super) fn settle(
    fabric: &mut Model,
    file: &FabricFile,
    entries: &[Vec<usize>],
    report: &mut Report<'_>,
) {
    let (data, cnp) = (fabric.data_class, fabric.cnp_class);
    check(file, cnp, report);
    let mut told = BTreeSet::new();
    for (nic, entries) in entries.iter().enumerate() {
        for (key, class) in [("data", Some(data)), ("cnp", cnp)] {
            let Some((path, dscp)) = written(file, entries, key) else { continue };
            let Some(class) = class.filter(|_| dscp < 64) else { continue };
            fabric.nics[nic].dscp[usize::from(class.0)] = dscp;
            let strange = leaf_that_differs(fabric, nic, dscp, class);
            if let Some(leaf) = strange.filter(|_| told.insert(path.clone())) {
                let (message, help) = complaint(fabric, nic, leaf, dscp, class);
                report.warn(code::UNUSUAL, &path, message, help);
            }
        }
    }
}

/// The DSCP that a NIC is said to write, and where.
fn written(
    file: &FabricFile,
    entries: &[usize],
    key: &'static str,
) -> Option<(Vec<Step<'static>>, u8)> {
    let of = |dscp: crate::file::NicDscp| if key == "data" { dscp.data } else { dscp.cnp };
    let own = entries.iter().rev().find_map(|&index| {
        let dscp = of(file.hosts[index].dscp)?;
        Some((vec![Step::Key("host"), Step::Index(index), Step::Key("dscp"), Step::Key(key)], dscp))
    });
    own.or_else(|| {
        let path = vec![Step::Key("nic"), Step::Key("dscp"), Step::Key(key)];
        of(file.nic.dscp).map(|dscp| (path, dscp))
    })
}

/// Notifications that travel with the data have its DSCP.
fn check(file: &FabricFile, cnp: Option<ClassId>, report: &mut Report<'_>) {
    if cnp.is_some() {
        return;
    }
    let message = "notifications travel in the class of the data, and have its DSCP";
    let help = "give `data`, or a class of their own under [traffic]";
    if file.nic.dscp.cnp.is_some() {
        report.error(code::IMPOSSIBLE, keys!["nic", "dscp", "cnp"], message, help);
    }
    for (index, _) in file.hosts.iter().enumerate().filter(|(_, host)| host.dscp.cnp.is_some()) {
        report.error(code::IMPOSSIBLE, keys!["host", index, "dscp", "cnp"], message, help);
    }
}

/// A leaf of a NIC that puts a DSCP into another class.
fn leaf_that_differs(fabric: &Model, nic: usize, dscp: u8, class: ClassId) -> Option<&Switch> {
    let ports = fabric.nics[nic].ports.clone().map(PortId);
    let peers = ports.map(|port| fabric.ports[fabric.ports[port.index()].peer.index()].node);
    let mut leaves = peers.filter_map(|node| fabric.node_switch(node));
    let leaf = leaves
        .find(|leaf| fabric.switches[leaf.index()].dscp_to_class[usize::from(dscp)] != class)?;
    Some(&fabric.switches[leaf.index()])
}

fn complaint(
    fabric: &Model,
    nic: usize,
    leaf: &Switch,
    dscp: u8,
    class: ClassId,
) -> (String, String) {
    let found = leaf.dscp_to_class[usize::from(dscp)];
    let name = |class: ClassId| {
        format!("class {} ({})", class.0, fabric.classes[usize::from(class.0)].name)
    };
    let unprotected = fabric.classes[usize::from(class.0)].lossless
        && !fabric.classes[usize::from(found.0)].lossless;
    let so = if unprotected { ", where PFC does not protect them" } else { "" };
    let message = format!(
        "`{}` writes DSCP {dscp} into packets of {}, and `{}` puts them into {}{so}",
        fabric.nics[nic].name,
        name(class),
        leaf.name,
        name(found)
    );
    let meant = fabric.classes[usize::from(class.0)].dscp;
    let help = format!("write DSCP {meant}, or list {dscp} in `dscp` of [[class]] {}", class.0);
    (message, help)
}
