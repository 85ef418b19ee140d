//! Linux hosts with NICs of NVIDIA, Broadcom, AMD and Intel.
//!
//! Written are a script, units and a udev rule that run it at every boot and whenever a driver is loaded, the
//! environment of NCCL, and a check script whose output the auditor reads. Read is that, and what people collect:
//! output of tools, files of sysfs, environments, logs of sessions, any number of files for one host.
//!
//! Ports have the name of their RDMA device (`mlx5_0`). Priorities, buffers and pauses have one number. What no file
//! of a host shows is unknown, which is not the same as off.

mod command;
mod dcb;
mod environment;
mod fit;
mod join;
pub(crate) mod label;
mod links;
mod lldp;
mod mlnx;
mod mlxconfig;
mod nicctl;
mod parse;
mod render;
pub(crate) use render::INTERFACE;
mod sysfs;

pub(crate) use parse::{HostFile, read};

use crate::device::{Device, Maker};
use crate::system::{Cage, Input, Rendered, System, SystemId};

/// A comment in files that belong to a host and do not describe it.
pub const NOT_READ: &str = "xoff: not read by the audit";

/// A Linux host.
pub(crate) struct Host;

impl System for Host {
    fn id(&self) -> SystemId {
        SystemId::Host
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("mlnx_qos", 30),
            ("/sys/class/infiniband/", 30),
            ("/infiniband/mlx5", 30),
            ("NCCL_IB_", 20),
            ("Priority trust state", 30),
            ("PFC configuration:", 20),
            ("/sys/class/net/", 20),
            ("roce_np", 20),
            ("roce_rp", 20),
            ("cma_roce_tos", 20),
            ("nicctl ", 30),
            ("Classification type ", 20),
            ("ROCE device ", 20),
            ("niccli ", 30),
            ("bnxt_setupcc.sh", 30),
            ("bnxtqos", 30),
            ("/sys/kernel/config/bnxt_re/", 30),
            ("/sys/kernel/config/irdma/", 30),
            ("/sys/kernel/config/rdma_cm/", 30),
            ("lldptool ", 20),
            ("IEEE 8021QAZ ", 30),
            ("prio-pfc ", 30),
            ("dcb pfc ", 20),
            ("dcb app ", 20),
            ("dcb ets ", 20),
            ("dscp-prio ", 20),
            ("tc-tsa ", 20),
            ("\"prio_pfc\"", 30),
            ("\"dscp_prio\"", 30),
            ("CNP_DSCP_P1", 30),
            ("ROCE_CC_PRIO_MASK_P1", 30),
            (" port 1 ==> ", 30),
            ("physical_state LINK_UP", 30),
            ("PORT\tINDEX\tGID", 30),
            ("n_gids_found", 30),
            ("hca_id:", 20),
            ("NIC statistics:", 20),
            ("firmware-version:", 20),
            ("Settings for e", 20),
            ("rx_prio3_pause", 10),
        ]
    }

    fn likeness(&self, text: &str) -> u32 {
        let marks = self.marks().iter().filter(|(mark, _)| text.contains(mark));
        let dump = u32::from(environment::looks_like_dump(text));
        marks.map(|(_, weight)| weight).sum::<u32>() + 20 * dump
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        fit::fit(device, limits)
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        render::render(device)
    }

    fn port_name(&self, cage: Cage) -> String {
        device_name(Maker::Nvidia, cage.cage)
    }
}

/// The name that a maker's driver gives RDMA devices.
pub(crate) fn device_name(maker: Maker, number: u32) -> String {
    match maker {
        Maker::Nvidia => format!("mlx5_{number}"),
        Maker::Broadcom => format!("bnxt_re{number}"),
        Maker::Amd => format!("ionic_{number}"),
        Maker::Intel => format!("irdma{number}"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::device::Port;
    use crate::place::Files;

    /// The one host that files describe.
    pub(crate) fn read(texts: &[(&str, &str)]) -> Device {
        let mut files = Files::default();
        for (name, text) in texts {
            files.add(*name, *text);
        }
        let mut found = crate::collection::read(&files);
        assert_eq!(found.strange, [], "{texts:?}");
        assert_eq!(
            found.devices.len(),
            1,
            "{:?}",
            found.devices.iter().map(|d| &d.name).collect::<Vec<_>>()
        );
        found.devices.remove(0)
    }

    /// The class that a port has a DSCP in.
    pub(crate) fn class(port: &Port, dscp: usize) -> Option<u8> {
        port.maps.dscp_to_class[dscp].get().map(|class| class.get())
    }
}
