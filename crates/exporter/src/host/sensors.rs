//! Temperatures that a NIC's driver reports: `device/hwmon/*/temp*_input`, in thousandths of a degree.

use super::file;
use crate::exposition::{Exposition, Kind, Target, Value};
use std::path::Path;
use xoff_telemetry::metric::Metric;

/// The temperatures of a network interface's device. The optical module's is the one that is called so.
pub(super) fn read(interface: &Path, target: &Target, out: &mut Exposition) {
    let folder = interface.join("device/hwmon");
    for chip in file::names(&folder) {
        let chip = folder.join(chip);
        for name in file::names(&chip) {
            let Some(sensor) = name.strip_suffix("_input").filter(|name| name.starts_with("temp"))
            else {
                continue;
            };
            let Ok(value) = file::number(&chip.join(&name)) else {
                out.error();
                continue;
            };
            let value = Value::Real(value as f64 / 1_000.0);
            let label = file::text(&chip.join(format!("{sensor}_label"))).unwrap_or_default();
            let label = if label.is_empty() { sensor.to_owned() } else { label };
            let module = label.to_ascii_lowercase().contains("module");
            if module && out.metric(target, Metric::ModuleTemperature, None, value) {
                continue;
            }
            let help = "Temperature of a sensor of the NIC.";
            let target = target.with("sensor", &label);
            out.raw(&target, "xoff_sensor_temperature_celsius", Kind::Gauge, help, value);
        }
    }
}
