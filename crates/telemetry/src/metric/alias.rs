//! The names of metrics elsewhere.

/// Where counters come from, by whose names they have there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `ethtool -S` of mlx5 (NVIDIA ConnectX and BlueField).
    Ethtool,
    /// `/sys/class/infiniband/*/ports/*/hw_counters` of mlx5.
    HwCounters,
    /// `hw_counters` of the kernel's software RoCE.
    Rxe,
    /// `/sys/class/infiniband/*/ports/*/counters`.
    PortCounters,
    /// `/sys/class/net/*/statistics`, and the carrier's counters beside it.
    Netdev,
    /// Fields of SONiC's COUNTERS_DB.
    Sonic,
    /// Prometheus exporters on SONiC switches that read COUNTERS_DB, as `sonic-exporter` names it.
    SonicExporter,
    /// node_exporter's collectors `infiniband` and `ethtool`.
    NodeExporter,
    /// Leaves of OpenConfig.
    OpenConfig,
    /// NVIDIA's DCGM exporter.
    Dcgm,
    /// NCCL Inspector.
    NcclInspector,
    /// AMD's device metrics exporter.
    Amd,
}

impl Source {
    /// All of them, in the order of tables.
    pub const ALL: [Source; 12] = [
        Source::Ethtool,
        Source::HwCounters,
        Source::Rxe,
        Source::PortCounters,
        Source::Netdev,
        Source::Sonic,
        Source::SonicExporter,
        Source::NodeExporter,
        Source::OpenConfig,
        Source::Dcgm,
        Source::NcclInspector,
        Source::Amd,
    ];

    /// In tables.
    pub const fn words(self) -> &'static str {
        match self {
            Source::Ethtool => "ethtool -S (mlx5)",
            Source::HwCounters => "hw_counters (mlx5)",
            Source::Rxe => "hw_counters (rxe)",
            Source::PortCounters => "counters (sysfs)",
            Source::Netdev => "netdev (sysfs)",
            Source::Sonic => "SONiC COUNTERS_DB",
            Source::SonicExporter => "sonic-exporter",
            Source::NodeExporter => "node_exporter",
            Source::OpenConfig => "OpenConfig",
            Source::Dcgm => "DCGM exporter",
            Source::NcclInspector => "NCCL Inspector",
            Source::Amd => "AMD exporter",
        }
    }
}

/// The name of a metric at a source.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// Where.
    pub source: Source,
    /// Its name there; `{p}` is a priority.
    pub name: &'static str,
    /// What one of it is in the unit of the metric.
    pub scale: f64,
}

impl Alias {
    /// A name in the metric's own unit.
    pub(super) const fn of(source: Source, name: &'static str) -> Self {
        Self { source, name, scale: 1.0 }
    }

    /// A name whose values are in another unit.
    pub(super) const fn scaled(source: Source, name: &'static str, scale: f64) -> Self {
        Self { source, name, scale }
    }

    /// Whether this is a name of it, and of which priority.
    pub fn matches(&self, name: &str) -> Option<Option<u8>> {
        let Some((before, after)) = self.name.split_once("{p}") else {
            return (self.name == name).then_some(None);
        };
        let digit = name.strip_prefix(before)?.strip_suffix(after)?;
        match digit.as_bytes() {
            [digit @ b'0'..=b'7'] => Some(Some(digit - b'0')),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_read_from_a_name() {
        let alias = Alias::of(Source::Ethtool, "rx_prio{p}_pause");
        assert_eq!(alias.matches("rx_prio3_pause"), Some(Some(3)));
        assert_eq!(alias.matches("rx_prio8_pause"), None);
        assert_eq!(alias.matches("rx_prio33_pause"), None);
        assert_eq!(alias.matches("rx_prio_pause"), None);
        assert_eq!(alias.matches("rx_prio3_pause_duration"), None);
        let plain = Alias::of(Source::HwCounters, "np_cnp_sent");
        assert_eq!(plain.matches("np_cnp_sent"), Some(None));
        assert_eq!(plain.matches("np_cnp_sen"), None);
    }
}
