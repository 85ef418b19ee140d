//! A host's NICs: `/sys/class/infiniband`, `/sys/class/net`, `ethtool -S`, optical modules and DCB.
//!
//! Everything that a NIC counts is exported. What the schema has a name for has that name; all else has the driver's name
//! with `xoff_hw_` (hw_counters), `xoff_ib_` (port counters), `xoff_netdev_` or `xoff_ethtool_` before it. Where a NIC has a metric
//! from several sources, the first in the order of the schema's names counts, and the others keep the driver's name.

mod file;
mod module;
mod nic;
mod sensors;

pub use module::Extent;
pub use nic::{Nic, RdmaPort, nics};

use crate::exposition::{Exposition, Kind, Target, Value};
use crate::names::{Meaning, meaning};
use crate::naming::Naming;
use crate::scraper::{Origin, Unavailable};
use std::io;
use std::path::{Path, PathBuf};
use xoff_endpoint::dcb::Pfc;
use xoff_telemetry::metric::{Metric, Source};

/// Where comes from what no file has, so that a tree of files cannot stand for it.
pub trait Statistics: Send {
    /// The statistics of a network interface, as `ethtool -S` has them.
    fn of(&self, netdev: &str) -> io::Result<Vec<(String, u64)>>;

    /// Some of the memory of its optical module.
    fn module(&self, _netdev: &str, _extent: Extent) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Its PFC, as `dcb` has it.
    fn pfc(&self, _netdev: &str) -> io::Result<Pfc> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The statistics of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Kernel;

impl Statistics for Kernel {
    fn of(&self, netdev: &str) -> io::Result<Vec<(String, u64)>> {
        xoff_endpoint::ethtool::statistics(netdev)
    }

    fn module(&self, netdev: &str, extent: Extent) -> io::Result<Vec<u8>> {
        xoff_endpoint::ethtool::module(netdev, extent.offset, extent.length)
    }

    fn pfc(&self, netdev: &str) -> io::Result<Pfc> {
        xoff_endpoint::dcb::pfc(netdev)
    }
}

/// Which of the driver's statistics are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Those of a port.
    Port,
    /// Those of every queue, too: thousands for each NIC.
    Queues,
}

/// A host.
pub struct Host {
    /// Where sysfs is.
    pub sysfs: PathBuf,
    /// What its ports are called.
    pub naming: Naming,
    /// `ethtool -S`, if it is wanted.
    pub statistics: Option<Box<dyn Statistics>>,
    /// How much of it.
    pub detail: Detail,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("sysfs", &self.sysfs).finish_non_exhaustive()
    }
}

impl Origin for Host {
    fn read(&mut self, out: &mut Exposition) -> Result<(), Unavailable> {
        if !self.sysfs.is_dir() {
            let path = self.sysfs.display();
            return Err(Unavailable(format!("no sysfs at `{path}`; name its folder with --sysfs")));
        }
        for nic in nics(&self.sysfs) {
            self.nic(&nic, out);
        }
        Ok(())
    }
}

/// A number that a source has, before it is known under which name it is exported.
struct Found {
    source: Source,
    name: String,
    value: u64,
    meaning: Option<Meaning>,
}

impl Host {
    fn nic(&self, nic: &Nic, out: &mut Exposition) {
        let local = nic.local();
        let device = nic.rdma.as_ref().map_or("", |rdma| rdma.device.as_str());
        let netdev = nic.netdev.as_deref().unwrap_or_default();
        let target = self.naming.port(&[&local, device, netdev]);
        let port = nic.rdma.as_ref().map_or(String::new(), |rdma| rdma.port.to_string());
        let names = target.with("rdma_device", device).with("rdma_port", &port);
        let names = names.with("netdev", netdev);
        let help = "What the host calls a port.";
        out.raw(&names, "xoff_exporter_port_info", Kind::Gauge, help, Value::Whole(1));
        let mut found = Vec::new();
        if let Some(netdev) = &nic.netdev {
            self.ethtool(netdev, &mut found, out);
            self.carrier(netdev, &target, &mut found, out);
        }
        if let Some(rdma) = &nic.rdma {
            self.rdma(rdma, &target, &mut found, out);
        }
        if let Some(netdev) = &nic.netdev {
            self.traffic(nic, netdev, &mut found, out);
            sensors::read(&nic::interface(&self.sysfs, netdev), &target, out);
        }
        export(found, &target, out);
        // After what the driver counts itself, which they may repeat.
        if let Some((netdev, kernel)) = nic.netdev.as_deref().zip(self.statistics.as_deref()) {
            optics(kernel, netdev, &target, out);
            dcb(kernel, netdev, &target, out);
        }
    }

    fn ethtool(&self, netdev: &str, found: &mut Vec<Found>, out: &mut Exposition) {
        let Some(statistics) = &self.statistics else { return };
        let list = match statistics.of(netdev) {
            Ok(list) => list,
            // Most drivers of virtual interfaces have none.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
            Err(_) => return out.error(),
        };
        for (name, value) in list {
            let meaning = meaning(Source::Ethtool, &name);
            if meaning.is_some() || self.detail == Detail::Queues || !of_a_queue(&name) {
                found.push(Found { source: Source::Ethtool, name, value, meaning });
            }
        }
    }

    /// Whether the link is up, how fast it is, how often it went down.
    fn carrier(&self, netdev: &str, target: &Target, found: &mut Vec<Found>, out: &mut Exposition) {
        let folder = nic::interface(&self.sysfs, netdev);
        match file::optional(file::counter(&folder.join("carrier"))) {
            Ok(Some(up)) => {
                out.metric(target, Metric::Up, None, Value::Whole((up != 0).into()));
            }
            Ok(None) => {}
            // That is how the kernel says that the interface is not even enabled.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                out.metric(target, Metric::Up, None, Value::Whole(0));
            }
            Err(_) => out.error(),
        }
        // Unknown is -1, or an error where there is no carrier.
        if let Ok(speed @ 1..) = file::number(&folder.join("speed")) {
            let bits = speed as u128 * 1_000_000;
            out.metric(target, Metric::Speed, None, Value::Whole(bits));
        }
        for name in ["carrier_changes", "carrier_up_count", "carrier_down_count"] {
            match file::optional(file::counter(&folder.join(name))) {
                Ok(Some(value)) => found.push(known(Source::Netdev, name, value)),
                Ok(None) => {}
                Err(_) => out.error(),
            }
        }
    }

    fn rdma(&self, rdma: &RdmaPort, target: &Target, found: &mut Vec<Found>, out: &mut Exposition) {
        let device = self.sysfs.join("class/infiniband").join(&rdma.device);
        let folder = device.join("ports").join(rdma.port.to_string());
        for (name, value) in counters(&folder.join("hw_counters"), out) {
            // A setting, and no counter: for how long the driver gives out the same values.
            if name == "lifespan" {
                let help = "For how long the driver gives out the same hw_counters.";
                let seconds = Value::scaled(value, 1e-3);
                out.raw(target, "xoff_hw_lifespan_seconds", Kind::Gauge, help, seconds);
                continue;
            }
            let meaning =
                meaning(Source::HwCounters, &name).or_else(|| meaning(Source::Rxe, &name));
            found.push(Found { source: Source::HwCounters, name, value, meaning });
        }
        let port = counters(&folder.join("counters"), out);
        found.extend(port.iter().map(|(name, value)| known(Source::PortCounters, name, *value)));
        // `4: ACTIVE`. The network interface knows it better, if there is one.
        if let Ok(state) = file::text(&folder.join("state")) {
            let active = state.split(':').next() == Some("4");
            out.metric(target, Metric::Up, None, Value::Whole(active.into()));
        }
        // `400 Gb/sec (4X NDR)`. Software has no rate, and says 10 or 40 Gb/s whatever is below it.
        let rate = file::text(&folder.join("rate")).ok().filter(|_| !rdma.software);
        if let Some(gigabits) = rate.as_deref().and_then(gigabits) {
            out.metric(target, Metric::Speed, None, Value::Real(gigabits * 1e9));
        }
        // Of the device as a whole: once, with its first port.
        if rdma.port == 1 {
            for (name, value) in counters(&device.join("hw_counters"), out) {
                if name != "lifespan" {
                    let help =
                        format!("`{name}` of the device's hw_counters, as its driver has it.");
                    let name = format!("xoff_hw_device_{name}");
                    out.raw(target, &name, Kind::Counter, &help, Value::Whole(value.into()));
                }
            }
        }
    }

    /// What the network interface counts. RDMA of a NIC's hardware passes by it, so its traffic does not stand for the port's.
    fn traffic(&self, nic: &Nic, netdev: &str, found: &mut Vec<Found>, out: &mut Exposition) {
        let beside = nic.rdma.as_ref().is_some_and(|rdma| !rdma.software);
        let folder = nic::interface(&self.sysfs, netdev).join("statistics");
        for (name, value) in counters(&folder, out) {
            let traffic = ["tx_bytes", "rx_bytes", "tx_packets", "rx_packets"];
            let partial = beside && traffic.contains(&name.as_str());
            let mut one = known(Source::Netdev, &name, value);
            one.meaning = one.meaning.filter(|_| !partial);
            found.push(one);
        }
    }
}

/// What the optical module says of itself, where the driver has not said it.
fn optics(kernel: &dyn Statistics, netdev: &str, target: &Target, out: &mut Exposition) {
    let sensors = match module::sensors(|extent| kernel.module(netdev, extent)) {
        Ok(sensors) => sensors,
        // A port without a module, or a driver that does not show it.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
        Err(_) => return out.error(),
    };
    for (metric, value) in [
        (Metric::ModuleTemperature, sensors.temperature),
        (Metric::ModuleRxPower, sensors.received),
    ] {
        if let Some(value) = value {
            out.metric(target, metric, None, Value::Real(value));
        }
    }
}

/// For which priorities PFC is on, and its frames where the driver has not counted them.
fn dcb(kernel: &dyn Statistics, netdev: &str, target: &Target, out: &mut Exposition) {
    let pfc = match kernel.pfc(netdev) {
        Ok(pfc) => pfc,
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
        Err(_) => return out.error(),
    };
    // Drivers that do not count have zeros there, which are no news of pauses.
    let counts = pfc.sent.iter().chain(&pfc.received).any(|count| *count > 0);
    for priority in 0..8_u8 {
        let at = usize::from(priority);
        let help = "Whether PFC is on for the priority, by DCB: 1 or 0.";
        let labelled = target.with("priority", &priority.to_string());
        let enabled = Value::Whole(pfc.enabled[at].into());
        out.raw(&labelled, "xoff_dcb_pfc_enabled", Kind::Gauge, help, enabled);
        if counts && (pfc.enabled[at] || pfc.sent[at] > 0 || pfc.received[at] > 0) {
            let (sent, received) = (pfc.sent[at].into(), pfc.received[at].into());
            out.metric(target, Metric::PfcSent, Some(priority), Value::Whole(sent));
            out.metric(target, Metric::PfcReceived, Some(priority), Value::Whole(received));
        }
    }
}

/// A number by the name that its source has for it.
fn known(source: Source, name: &str, value: u64) -> Found {
    Found { source, name: name.to_owned(), value, meaning: meaning(source, name) }
}

/// Exports what was found: under the schema's name the first of several, all else under the driver's.
fn export(mut found: Vec<Found>, target: &Target, out: &mut Exposition) {
    found.sort_by_key(|one| one.meaning.map(|meaning| meaning.rank));
    for one in found {
        let taken = one.meaning.is_some_and(|meaning| {
            let value = Value::scaled(one.value, meaning.scale);
            out.metric(target, meaning.metric, meaning.priority, value)
        });
        if taken {
            continue;
        }
        let (prefix, kind, whose) = match one.source {
            Source::Ethtool => ("ethtool", Kind::Untyped, "of `ethtool -S`"),
            Source::Netdev => ("netdev", Kind::Counter, "of the network interface"),
            Source::PortCounters => ("ib", Kind::Counter, "of the RDMA port's counters"),
            _ => ("hw", Kind::Counter, "of the RDMA port's hw_counters"),
        };
        let help = format!("`{}` {whose}, as the driver has it.", one.name);
        let name = format!("xoff_{prefix}_{}", one.name);
        // Two names that differ only in what Prometheus does not take.
        if !out.raw(target, &name, kind, &help, Value::Whole(one.value.into())) {
            out.error();
        }
    }
}

/// The counters in a folder. What cannot be read is counted.
fn counters(folder: &Path, out: &mut Exposition) -> Vec<(String, u64)> {
    let mut list = Vec::new();
    for name in file::names(folder) {
        match file::counter(&folder.join(&name)) {
            Ok(value) => list.push((name, value)),
            Err(_) => out.error(),
        }
    }
    list
}

/// The rate in a text like `400 Gb/sec (4X NDR)`.
fn gigabits(text: &str) -> Option<f64> {
    let number: f64 = text.split_once(" Gb/sec")?.0.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Whether a statistic is one of a queue: `rx0_packets`, `ch3_events`, `tx_queue_7_bytes`. Lanes are no queues.
fn of_a_queue(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut before = "";
    for (at, word) in name.split(['_', '-', '.']).enumerate() {
        let numbered = ["rx", "tx", "ch"]
            .iter()
            .any(|start| at == 0 && word.strip_prefix(start).is_some_and(digits));
        if numbered || (digits(word) && before != "lane") {
            return true;
        }
        before = word;
    }
    false
}

#[cfg(test)]
mod tests;
