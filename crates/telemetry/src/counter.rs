//! Counters over time: the rows of `counters.parquet`, and how they are read back.

use crate::Name;
use crate::column::{Cells, Column, Kind, Row};
use crate::metric::Metric;
use crate::recording::{Key, Place, Reading, Readings, Timestamp};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// One reading of one counter.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterRow {
    /// When.
    pub at: Timestamp,
    /// The metric, by its name.
    pub metric: Name,
    /// The switch or NIC, the job, or the server of a GPU.
    pub device: Name,
    /// The port, the rank of the job, or the number of the GPU; nothing where all of it is meant.
    pub port: Option<Name>,
    /// The priority, where the counter has one.
    pub priority: Option<u8>,
    /// The value: of what adds up, the sum so far.
    pub value: f64,
}

impl Row for CounterRow {
    const TABLE: &'static str = "counters";
    const COLUMNS: &'static [Column] = &[
        Column::new("time_ns", Kind::Growing),
        Column::new("metric", Kind::Text),
        Column::new("device", Kind::Text),
        Column::nullable("port", Kind::Text),
        Column::nullable("priority", Kind::Small),
        Column::new("value", Kind::Real),
    ];

    fn fill(&self, cells: &mut Cells) {
        cells.integer(u64::try_from(self.at.0).unwrap_or_default());
        cells.text(&self.metric);
        cells.text(&self.device);
        cells.text(self.port.as_ref());
        cells.small(self.priority.map(u32::from));
        cells.real(self.value);
    }
}

impl Readings {
    /// As rows of a table.
    pub fn rows(&self) -> impl Iterator<Item = CounterRow> {
        let metrics: BTreeMap<Metric, Name> =
            Metric::all().map(|metric| (metric, metric.name().into())).collect();
        let names = self.places.all().iter().map(|place| match place {
            Place::Port { device, port } => (device.as_str().into(), Some(port.as_str().into())),
            Place::Rank { job, rank } => (job.as_str().into(), Some(rank.to_string().into())),
            Place::Job { job } => (job.as_str().into(), None),
            Place::Gpu { host, gpu } => (host.as_str().into(), Some(gpu.to_string().into())),
        });
        let names: Vec<(Name, Option<Name>)> = names.collect();
        self.list.iter().map(move |reading| {
            let (device, port) = names[reading.key.place.0 as usize].clone();
            let Reading { key, at, value } = *reading;
            let metric = metrics[&key.metric].clone();
            CounterRow { at, metric, device, port, priority: key.priority, value }
        })
    }

    /// Reads a table back. Rows of metrics that this version does not know are counted and left out.
    pub fn read(path: &Path) -> Result<(Self, u64), ParquetError> {
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let (mut readings, mut unknown) = (Self::default(), 0);
        for row in reader.get_row_iter(None)? {
            match reading(&row?, &mut readings) {
                Some(reading) => readings.list.push(reading),
                None => unknown += 1,
            }
        }
        Ok((readings, unknown))
    }
}

fn reading(row: &parquet::record::Row, readings: &mut Readings) -> Option<Reading> {
    let (mut at, mut metric, mut value, mut priority) = (None, None, None, None);
    let (mut device, mut port) = (None, None);
    for (name, field) in row.get_column_iter() {
        match (name.as_str(), field) {
            ("time_ns", Field::Long(ns)) => at = Some(Timestamp(*ns)),
            ("metric", Field::Str(name)) => metric = Metric::named(name),
            ("device", Field::Str(name)) => device = Some(name.clone()),
            ("port", Field::Str(name)) => port = Some(name.clone()),
            ("priority", Field::Int(number)) => priority = u8::try_from(*number).ok(),
            ("value", Field::Double(number)) => value = Some(*number),
            _ => {}
        }
    }
    let (metric, device) = (metric?, device?);
    let place = place(metric, device, port)?;
    let key = Key { place: readings.places.number(place), metric, priority };
    Some(Reading { key, at: at?, value: value? })
}

fn place(metric: Metric, device: String, port: Option<String>) -> Option<Place> {
    use crate::metric::Scope;
    Some(match metric.facts().scope {
        Scope::Job => Place::Job { job: device },
        Scope::Rank => Place::Rank { job: device, rank: port?.parse().ok()? },
        Scope::Gpu => Place::Gpu { host: device, gpu: port?.parse().ok()? },
        Scope::Port | Scope::Priority | Scope::Nic => {
            Place::Port { device, port: port.unwrap_or_default() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    #[test]
    fn readings_are_read_back() {
        let mut readings = Readings::default();
        let port = Place::Port { device: "leaf0".into(), port: "leaf0→spine1#2".into() };
        let rank = Place::Rank { job: "train".into(), rank: 7 };
        for (place, metric, priority) in [
            (port.clone(), Metric::TxBytes, Some(3)),
            (port, Metric::LinkDowns, None),
            (rank, Metric::GpuWait, None),
            (Place::Job { job: "train".into() }, Metric::StepTime, None),
            (Place::Gpu { host: "server3".into(), gpu: 5 }, Metric::GpuBusyShare, None),
        ] {
            let key = Key { place: readings.places.number(place), metric, priority };
            for second in 0..3 {
                let at = Timestamp::from_ms(1_000 * second);
                readings.list.push(Reading { key, at, value: second as f64 * 0.5 });
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counters.parquet");
        let mut table = Table::create(&path).expect("a table");
        readings.rows().for_each(|row| table.push(&row).expect("a row"));
        table.finish().expect("a table");
        let (read, unknown) = Readings::read(&path).expect("a table");
        assert_eq!((read.list, unknown), (readings.list, 0));
        assert_eq!(read.places.all(), readings.places.all());
    }
}
