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

/// A Linux host.
pub(crate) struct Host;

impl System for Host {
    fn id(&self) -> SystemId {
        SystemId::Host
    }

    fn likeness(&self, text: &str) -> u32 {
        let marks = [
            ("mlnx_qos", 30),
            ("/sys/class/infiniband/", 30),
            ("NCCL_IB_", 20),
            ("Priority trust state", 30),
            ("roce_np", 20),
            ("cma_roce_tos", 20),
        ];
        marks.iter().filter(|(mark, _)| text.contains(mark)).map(|(_, score)| score).sum()
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
        device.shared_buffer = Said::Absent;
        device.headroom_pool = Said::Absent;
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
    maps.class_to_group = [Said::Absent; 8];
    maps.pfc_to_queue = [Said::Absent; 8];
    maps.pfc_to_group = [Said::Absent; 8];
    let queues = maps.class_to_queue;
    for (pause, queue) in maps.pfc_to_queue.iter_mut().zip(queues) {
        if let Some(queue) = queue.get() {
            *pause = Said::Default(queue);
        }
    }
    maps.identity_by_default();
}
