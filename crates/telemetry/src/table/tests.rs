use super::*;
use crate::event::tests::event;
use crate::flow::tests::flow;
use crate::port::tests::port;
use crate::{ClassNumber, EventKind, EventRow, FlowNumber, FlowRow, PortRow, QueueRow};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use std::sync::Mutex;
use xoff_units::{Bytes, Instant, Span};

/// A disk of limited size that several tests share the view of.
#[derive(Clone)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    size: usize,
    /// Whether files can be made shorter on it.
    cuts: bool,
}

impl Disk {
    fn new(size: usize) -> Self {
        Self { bytes: Arc::default(), size, cuts: true }
    }

    fn rows(&self) -> Option<Vec<Vec<Field>>> {
        rows(self.bytes.lock().unwrap().clone())
    }
}

impl Write for Disk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        let room = self.size.saturating_sub(bytes.len()).min(data.len());
        if room == 0 && !data.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        bytes.extend_from_slice(&data[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Disk {
    fn cut_back(&mut self, length: u64) -> io::Result<()> {
        if !self.cuts {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.bytes.lock().unwrap().truncate(length as usize);
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Every row of a Parquet file, or nothing if it is not one.
fn rows(bytes: Vec<u8>) -> Option<Vec<Vec<Field>>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).ok()?;
    let row = |row: Result<parquet::record::Row, ParquetError>| {
        row.ok().map(|row| row.get_column_iter().map(|(_, field)| field.clone()).collect())
    };
    reader.get_row_iter(None).ok()?.map(row).collect()
}

fn sample(time: u64) -> QueueRow {
    QueueRow {
        time: Instant::from_ps(time),
        port: if time.is_multiple_of(3) { "leaf0→spine0" } else { "spine0→leaf1" }.into(),
        class: ClassNumber(3),
        egress: Bytes::new(time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40),
        ingress: Bytes::new(time * 2),
        paused: time.is_multiple_of(2),
        sent: Bytes::new(4096),
    }
}

fn table<R: Row>(disk: &Disk, group: u64) -> Table<R, Disk> {
    Table::with_groups(Path::new("t.parquet"), disk.clone(), group).unwrap()
}

#[test]
fn an_empty_table_is_a_file() {
    let disk = Disk::new(usize::MAX);
    assert_eq!(table::<FlowRow>(&disk, 10).finish().unwrap(), 0);
    assert_eq!(disk.rows(), Some(vec![]));
}

#[test]
fn flows_come_back() {
    let disk = Disk::new(usize::MAX);
    let mut table = table(&disk, 2);
    for row in [flow(0, 10, Some(250)), flow(1, 20, None), flow(2, 30, Some(100))] {
        table.push(&row).unwrap();
    }
    assert_eq!(table.finish().unwrap(), 3);
    let rows = disk.rows().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].len(), FlowRow::COLUMNS.len());
    assert_eq!(rows[0][0], Field::Long(0));
    assert_eq!(rows[0][3], Field::Str("server0-nic0".into()));
    assert_eq!(rows[0][9], Field::Long(260_000_000));
    assert_eq!(rows[0][12], Field::Double(2.5));
    assert_eq!(rows[0][17], Field::Long(4));
    let empty: Vec<usize> = (0..18).filter(|&column| rows[1][column] == Field::Null).collect();
    assert_eq!(empty, [9, 10, 12], "what is known only of finished flows");
    assert_eq!(rows[1][13], Field::Long(4_081_632), "500 bytes in 980 us");
    assert_eq!(rows[2][8], Field::Long(30_000_000));
}

#[test]
fn ports_come_back() {
    let disk = Disk::new(usize::MAX);
    let reports = [port(0, "leaf", &[(3, 250), (6, 500)]), port(1, "nic", &[])];
    let mut table = table::<PortRow<'_>>(&disk, 100);
    for row in reports.iter().flat_map(|report| report.rows(Span::from_us(1))) {
        table.push(&row).unwrap();
    }
    table.finish().unwrap();
    let rows = disk.rows().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0][0], Field::Str("leaf0→n0".into()));
    assert_eq!((&rows[1][5], &rows[1][7]), (&Field::Int(6), &Field::Long(500)));
    assert_eq!((&rows[1][8], &rows[1][17]), (&Field::Long(1000), &Field::Double(1.0)));
    assert_eq!((&rows[2][3], &rows[2][5]), (&Field::Str("nic".into()), &Field::Null));
}

#[test]
fn events_come_back() {
    let disk = Disk::new(usize::MAX);
    let mut table = table(&disk, 100);
    table.push(&event(EventKind::Deadlock, 1)).unwrap();
    let full = EventRow {
        port: Some("leaf0→n0".into()),
        class: Some(ClassNumber(3)),
        flow: Some(FlowNumber(9)),
        size: Some(Bytes::new(4160)),
        detail: Some("headroom".into()),
        ..event(EventKind::Drop, 2)
    };
    table.push(&full).unwrap();
    table.finish().unwrap();
    let text = |s: &str| Field::Str(s.into());
    let expected = [
        vec![Field::Long(1_000_000), text("deadlock"), text("leaf0")]
            .into_iter()
            .chain(std::iter::repeat_n(Field::Null, 5))
            .collect(),
        vec![
            Field::Long(2_000_000),
            text("drop"),
            text("leaf0"),
            text("leaf0→n0"),
            Field::Int(3),
            Field::Long(9),
            Field::Long(4160),
            text("headroom"),
        ],
    ];
    assert_eq!(disk.rows().unwrap(), expected);
}

#[test]
fn numbers_beyond_the_column_are_held_at_its_end() {
    let disk = Disk::new(usize::MAX);
    let mut table = table(&disk, 1);
    table.push(&QueueRow { sent: Bytes::MAX, ..sample(1) }).unwrap();
    drop(table);
    assert_eq!(disk.rows().unwrap()[0][6], Field::Long(i64::MAX));
}

#[test]
fn the_file_can_be_read_at_any_moment() {
    let disk = Disk::new(usize::MAX);
    let mut table = table(&disk, 4_000);
    for time in 0..100_000 {
        table.push(&sample(time)).unwrap();
        if time.is_multiple_of(5_000) {
            // As if the process were killed here.
            let rows = disk.rows().expect("the file can be read").len() as u64;
            assert!(rows >= (time * 3 / 4).saturating_sub(4_000), "{rows} of {time}");
        }
    }
    table.flush().unwrap();
    assert_eq!(disk.rows().unwrap().len(), 100_000);
    table.push(&sample(100_000)).unwrap();
    assert_eq!(table.finish().unwrap(), 100_001);
    assert_eq!(disk.rows().unwrap().len(), 100_001);
}

#[test]
fn dead_footers_stay_few() {
    let (once, often) = (Disk::new(usize::MAX), Disk::new(usize::MAX));
    for (disk, group) in [(&once, 20_000), (&often, 50)] {
        let mut table = table(disk, group);
        (0..20_000).for_each(|time| table.push(&sample(time)).unwrap());
        table.finish().unwrap();
    }
    let bytes = often.bytes.lock().unwrap().clone();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    let groups = reader.metadata().row_groups();
    let live: i64 = groups.iter().map(|group| group.compressed_size()).sum();
    let footer = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap());
    let dead = bytes.len() as i64 - live - i64::from(footer);
    assert!(dead < live / 4, "{dead} dead bytes beside {live}");
}

#[test]
fn dropping_a_table_keeps_its_rows() {
    let disk = Disk::new(usize::MAX);
    let mut table = table(&disk, 1_000);
    table.push(&sample(1)).unwrap();
    drop(table);
    assert_eq!(disk.rows().unwrap().len(), 1);
}

#[test]
fn a_full_device_is_reported_with_its_cure() {
    let Err(error) = Table::<QueueRow>::create(Path::new("/dev/full")) else {
        panic!("/dev/full took the file")
    };
    let text = error.to_string();
    assert!(text.contains("/dev/full") && text.contains("free some space"), "{text}");
}

#[test]
fn a_folder_in_the_way_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = Table::<QueueRow>::create(folder.path()).err().unwrap().to_string();
    assert!(text.contains("in the way"), "{text}");
}

#[test]
fn a_failed_table_takes_no_more() {
    let disk = Disk::new(2_000);
    let mut table = table(&disk, 100);
    let first = (0..10_000).find_map(|time| table.push(&sample(time)).err()).unwrap();
    assert!(matches!(first, RunError::Table { .. }), "{first}");
    assert!(matches!(table.push(&sample(0)), Err(RunError::Closed { .. })));
    assert!(matches!(table.finish(), Err(RunError::Closed { .. })));
    assert!(disk.rows().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_full_disk_loses_nothing_already_written(
        size in 900usize..30_000, group in 1u64..400, cuts in prop::bool::weighted(0.9),
    ) {
        let disk = Disk { cuts, ..Disk::new(size) };
        let Ok(mut table) = Table::with_groups(Path::new("t"), disk.clone(), group) else {
            return Ok(());
        };
        let pushed = (0u64..5_000).map(|time| (time + 1, table.push(&sample(time)).err()));
        let failure = pushed.into_iter().find_map(|(count, error)| error.map(|e| (count, e)));
        let (handed, error) = match failure {
            Some(found) => found,
            None => match table.finish() {
                Ok(rows) => {
                    prop_assert_eq!(disk.rows().map(|rows| rows.len() as u64), Some(rows));
                    return Ok(());
                }
                Err(error) => (5_000, error),
            },
        };
        let RunError::Table { rows_kept, rows_lost, .. } = error else {
            return Err(TestCaseError::fail(error.to_string()));
        };
        prop_assert_eq!(rows_kept + rows_lost, handed);
        if cuts {
            let rows = disk.rows().expect("the file can be read");
            prop_assert_eq!(rows.len() as u64, rows_kept);
            for (time, row) in rows.iter().enumerate() {
                prop_assert_eq!(&row[0], &Field::Long(time as i64));
            }
            prop_assert!(disk.bytes.lock().unwrap().len() <= size);
        }
    }
}
