//! Stub.
use crate::device::Device;
use crate::system::{Cage, Input, Rendered, System, SystemId};
pub(crate) struct Host;
impl System for Host {
    fn id(&self) -> SystemId {
        SystemId::Host
    }
    fn likeness(&self, _: &str) -> u32 {
        0
    }
    fn parse(&self, input: &Input<'_>) -> Device {
        Device::new(input.name, self.id())
    }
    fn fit(&self, device: &Device, _: &mut Vec<String>) -> Device {
        device.clone()
    }
    fn render(&self, _: &Device) -> Vec<Rendered> {
        Vec::new()
    }
    fn port_name(&self, cage: Cage) -> String {
        format!("mlx5_{}", cage.cage)
    }
}
