//! Linux hosts with NVIDIA NICs: a script, a unit that runs it at every boot, the environment of
//! NCCL, and a check script whose output the auditor reads.
//!
//! Ports have the name of their RDMA device (`mlx5_0`). Priorities, buffers and pauses have one
//! number. `mlnx_qos` forgets at reboot, hence the unit.

mod parse;
mod readback;
mod render;

use crate::device::Device;
use crate::number::{Class, Dscp};
use crate::place::Said;
use crate::qos::{GroupSettings, Maps, WatchdogSettings};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit;
use std::sync::Arc;
use xoff_units::Bytes;

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
            ("NCCL_IB_", 20),
            ("Priority trust state", 30),
            ("roce_np", 20),
            ("cma_roce_tos", 20),
        ]
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9978), limits);
        fit::queues(&mut device, |queue| queue.wred = Said::Absent);
        fit::groups(&mut device, |group| *group = GroupSettings::default());
        device.balancing = Said::Absent;
        fit::own_buffers(&mut device);
        for port in device.ports.values_mut() {
            port.watchdog = WatchdogSettings::default();
            port.balancing = Said::Absent;
            own_numbers(Arc::make_mut(&mut port.maps));
        }
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        render::render(device)
    }

    fn port_name(&self, cage: Cage) -> String {
        format!("mlx5_{}", cage.cage)
    }
}

/// A NIC's own map takes the upper three bits of the DSCP; the rest has one number.
fn own_numbers(maps: &mut Maps) {
    for dscp in Dscp::all() {
        if let Some(class) = Class::new(dscp.get() >> 3) {
            let entry = &mut maps.dscp_to_class[dscp.index()];
            *entry = entry.or_default(class);
        }
    }
    maps.pause_by_class();
}
