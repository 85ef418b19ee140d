//! The ports of a host's NICs: RDMA devices, network interfaces, and which belong together.

use super::file;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A port of an RDMA device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaPort {
    /// The device, like `mlx5_0`.
    pub device: String,
    /// The port, from 1.
    pub port: u32,
    /// The only one of its device.
    pub alone: bool,
    /// The kernel's own RoCE (rxe, siw), whose packets the network interface counts, too.
    pub software: bool,
}

/// A port of a NIC: an RDMA port, a network interface, or most often both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Its RDMA side.
    pub rdma: Option<RdmaPort>,
    /// Its Ethernet side, like `ens1f0np0`.
    pub netdev: Option<String>,
}

impl Nic {
    /// What it is called here: its RDMA device, else its network interface.
    pub fn local(&self) -> String {
        match (&self.rdma, &self.netdev) {
            (Some(rdma), _) if rdma.alone => rdma.device.clone(),
            (Some(rdma), _) => format!("{}/{}", rdma.device, rdma.port),
            (None, netdev) => netdev.clone().unwrap_or_default(),
        }
    }
}

/// All ports of NICs: those with RDMA, then other network interfaces that are hardware.
pub fn nics(sysfs: &Path) -> Vec<Nic> {
    let rdma = sysfs.join("class/infiniband");
    let mut nics = Vec::new();
    for device in file::names(&rdma) {
        let folder = rdma.join(&device);
        let ports = file::names(&folder.join("ports"));
        let ports: Vec<u32> = ports.iter().filter_map(|port| port.parse().ok()).collect();
        for port in &ports {
            let software = folder.join("parent").is_file();
            let alone = ports.len() == 1;
            let netdev = netdev(&folder, *port).filter(|name| interface(sysfs, name).is_dir());
            let rdma = RdmaPort { device: device.clone(), port: *port, alone, software };
            nics.push(Nic { rdma: Some(rdma), netdev });
        }
    }
    let taken: BTreeSet<String> = nics.iter().filter_map(|nic| nic.netdev.clone()).collect();
    let others = file::names(&sysfs.join("class/net")).into_iter();
    let hardware = |name: &String| interface(sysfs, name).join("device").exists();
    let others = others.filter(|name| !taken.contains(name) && hardware(name));
    nics.extend(others.map(|name| Nic { rdma: None, netdev: Some(name) }));
    nics
}

/// The folder of a network interface.
pub(super) fn interface(sysfs: &Path, name: &str) -> PathBuf {
    sysfs.join("class/net").join(name)
}

/// The network interface of an RDMA port. Names come from files and directories, so those that would lead elsewhere are none.
fn netdev(rdma: &Path, port: u32) -> Option<String> {
    // rxe and siw say whom they use.
    let parent = file::text(&rdma.join("parent")).ok();
    let beside = rdma.join("device/net");
    let names = file::names(&beside);
    let of_port = |name: &&String| {
        let number = file::counter(&beside.join(name).join("dev_port")).unwrap_or(0);
        number + 1 == u64::from(port)
    };
    let first = || (names.len() == 1).then(|| names[0].clone());
    let hardware = || names.iter().find(of_port).cloned().or_else(first);
    let gid = || file::text(&rdma.join(format!("ports/{port}/gid_attrs/ndevs/0"))).ok();
    parent.or_else(hardware).or_else(gid).filter(|name| is_plain(name))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}
