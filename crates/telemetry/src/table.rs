//! [`Table`]: rows that stream into a Parquet file which can be read at any moment.
//!
//! Parquet keeps its directory (the footer) at the end of the file, so a file that was cut off
//! anywhere cannot be read at all. Two properties of the format help: a reader only reads the
//! *last* footer, and it skips bytes that no footer points to. A table therefore appends row
//! groups, footer, row groups, footer, …; every footer covers all row groups before it, and older
//! footers become dead bytes. To keep those few, encoded row groups wait in memory until they are
//! eight times as long as the last footer, or a few megabytes.
//!
//! Row groups and footer reach the file in one write. When that fails, the file is cut back to the
//! footer before, and is complete again.

use crate::column::{self, Cells, Column, Kind, Row};
use crate::error::RunError;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that wait in memory before they are flushed as a row group: a few megabytes per table.
const ROWS_PER_GROUP: u64 = 16_384;

/// Row groups are written when they are this many times as long as the last footer.
const FOOTER_SHARE: usize = 8;

/// Row groups are written when they are this many bytes long, however long the last footer.
const MOST_ENCODED: usize = 4 << 20;

/// Where a table's bytes go. A file, outside of tests.
pub trait Sink: Write {
    /// Forgets everything after the first `length` bytes and goes on writing there.
    fn cut_back(&mut self, length: u64) -> io::Result<()>;
    /// Returns when everything written is on the disk.
    fn settle(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn cut_back(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A Parquet file that is being written. Dropping it flushes what it can; [`Table::finish`] also
/// says whether that worked.
pub struct Table<R: Row, S: Sink = File> {
    path: PathBuf,
    sink: S,
    cells: Cells,
    /// Rows in `cells`.
    waiting: u64,
    /// Makes the bytes, in memory: a row group reaches the sink whole or not at all.
    encoder: SerializedFileWriter<Vec<u8>>,
    rows_per_group: u64,
    /// Rows in the encoder, of row groups that are not in the file yet.
    encoded: u64,
    /// Rows in the file.
    written: u64,
    /// Length of the file, which ends with a footer.
    length: u64,
    footer_length: usize,
    state: State,
    row: PhantomData<fn(&R)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Failed,
    Finished,
}

impl<R: Row> Table<R> {
    /// Starts a new file at `path`, replacing one that is there.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        Self::with_columns(path, R::COLUMNS)
    }

    /// The same with columns that are known only now; rows fill these and not [`Row::COLUMNS`].
    pub fn with_columns(path: &Path, columns: &[Column]) -> Result<Self, RunError> {
        let file = File::create(path).map_err(|source| RunError::Table {
            path: path.to_owned(),
            rows_kept: 0,
            rows_lost: 0,
            source,
        })?;
        Self::with_all(path, file, columns, ROWS_PER_GROUP)
    }
}

impl<R: Row, S: Sink> Table<R, S> {
    /// Starts a table in `sink`; `path` is for messages.
    pub fn with_sink(path: &Path, sink: S) -> Result<Self, RunError> {
        Self::with_groups(path, sink, ROWS_PER_GROUP)
    }

    pub(crate) fn with_groups(path: &Path, sink: S, rows_per_group: u64) -> Result<Self, RunError> {
        Self::with_all(path, sink, R::COLUMNS, rows_per_group)
    }

    fn with_all(
        path: &Path,
        sink: S,
        columns: &[Column],
        rows_per_group: u64,
    ) -> Result<Self, RunError> {
        let encoder = encoder(R::TABLE, columns).map_err(|error| RunError::Table {
            path: path.to_owned(),
            rows_kept: 0,
            rows_lost: 0,
            source: into_io(error),
        })?;
        let mut table = Self {
            path: path.to_owned(),
            sink,
            cells: Cells::new(columns),
            waiting: 0,
            encoder,
            rows_per_group: rows_per_group.max(1),
            encoded: 0,
            written: 0,
            length: 0,
            footer_length: 0,
            state: State::Open,
            row: PhantomData,
        };
        // An empty table is a file with a footer, too.
        table.emit().map_err(|source| table.fail(source))?;
        Ok(table)
    }

    /// Appends a row. An error means the disk took no more: the table is closed with the rows it
    /// has, and takes no others.
    pub fn push(&mut self, row: &R) -> Result<(), RunError> {
        if self.state != State::Open {
            return Err(RunError::Closed { path: self.path.clone() });
        }
        self.cells.begin_row();
        row.fill(&mut self.cells);
        self.waiting += 1;
        if self.waiting < self.rows_per_group {
            return Ok(());
        }
        let result = self.encode().and_then(|()| {
            let encoded = self.encoder.inner().len();
            let enough = encoded >= self.footer_length * FOOTER_SHARE || encoded >= MOST_ENCODED;
            if enough { self.emit() } else { Ok(()) }
        });
        result.map_err(|source| self.fail(source))
    }

    /// Rows handed over so far.
    pub fn rows(&self) -> u64 {
        self.written + self.encoded + self.waiting
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts all rows that wait in memory into the file.
    pub fn flush(&mut self) -> Result<(), RunError> {
        if self.state != State::Open || self.rows() == self.written {
            return Ok(());
        }
        self.encode().and_then(|()| self.emit()).map_err(|source| self.fail(source))
    }

    /// Writes what is left and waits for the disk. Returns the number of rows.
    pub fn finish(mut self) -> Result<u64, RunError> {
        self.close()
    }

    fn close(&mut self) -> Result<u64, RunError> {
        if self.state == State::Failed {
            return Err(RunError::Closed { path: self.path.clone() });
        }
        self.flush()?;
        self.sink.settle().map_err(|source| self.fail(source))?;
        self.state = State::Finished;
        Ok(self.written)
    }

    /// Makes a row group, still in memory, of the rows that wait.
    fn encode(&mut self) -> io::Result<()> {
        if self.waiting > 0 {
            self.encode_group().map_err(into_io)?;
            self.encoder.flush()?;
            self.encoded += std::mem::take(&mut self.waiting);
        }
        Ok(())
    }

    fn encode_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.encoder.next_row_group()?;
        let mut index = 0;
        while let Some(mut column) = group.next_column()? {
            self.cells.write_column(index, &mut column)?;
            column.close()?;
            index += 1;
        }
        group.close()?;
        Ok(())
    }

    /// Appends the encoded row groups and a footer over everything to the file.
    fn emit(&mut self) -> io::Result<()> {
        let footer = self.footer().map_err(into_io)?;
        // Through the encoder, because it counts where the next row group will begin.
        self.encoder.write_all(&footer)?;
        self.encoder.flush()?;
        let bytes = std::mem::take(self.encoder.inner_mut());
        self.sink.write_all(&bytes)?;
        self.sink.flush()?;
        self.length += bytes.len() as u64;
        self.footer_length = footer.len();
        self.written += std::mem::take(&mut self.encoded);
        Ok(())
    }

    /// The footer over all row groups so far.
    fn footer(&self) -> Result<Vec<u8>, ParquetError> {
        let groups = self.encoder.flushed_row_groups().to_vec();
        let properties = self.encoder.properties();
        let rows = groups.iter().map(|group| group.num_rows()).sum();
        let file = FileMetaData::new(
            properties.writer_version().as_num(),
            rows,
            Some(properties.created_by().to_owned()),
            None,
            Arc::new(SchemaDescriptor::new(self.encoder.schema_descr().root_schema_ptr())),
            None,
        );
        let mut bytes = Vec::new();
        ParquetMetaDataWriter::new(&mut bytes, &ParquetMetaData::new(file, groups)).finish()?;
        Ok(bytes)
    }

    /// Makes the file complete again with the rows it had, and closes it.
    fn fail(&mut self, source: io::Error) -> RunError {
        self.state = State::Failed;
        // Where even cutting fails nothing more can be done, and nothing is promised.
        let rows_kept = self.sink.cut_back(self.length).map_or(0, |()| self.written);
        let rows_lost = self.rows() - rows_kept;
        RunError::Table { path: self.path.clone(), rows_kept, rows_lost, source }
    }
}

impl<R: Row, S: Sink> Drop for Table<R, S> {
    fn drop(&mut self) {
        if self.state == State::Open {
            // Dropped without `finish`: the caller has given up, and an error could not be
            // returned.
            let _ = self.close();
        }
    }
}

fn encoder(table: &str, columns: &[Column]) -> Result<SerializedFileWriter<Vec<u8>>, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("xoff version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Page indexes live at the end of a file, and this one has many ends.
        .set_offset_index_disabled(true);
    for column in columns.iter().filter(|column| column.kind == Kind::Growing) {
        let path = ColumnPath::from(column.name.to_string());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    SerializedFileWriter::new(
        Vec::new(),
        column::schema(table, columns)?,
        Arc::new(properties.build()),
    )
}

fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => io::Error::other(inner),
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests;
