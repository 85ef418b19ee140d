//! Stub.
use crate::device::Device;
use crate::system::{Cage, Input, Rendered, System, SystemId};
pub(crate) struct Cumulus;
impl System for Cumulus {
    fn id(&self) -> SystemId {
        SystemId::Cumulus
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
        format!("Ethernet{}/{}", cage.cage + 1, 1 + cage.link * (8 / cage.links))
    }
}
