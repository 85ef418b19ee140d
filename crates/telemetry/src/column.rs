//! Columns of a table and the cells that wait in memory for the next flush.

use crate::Name;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{Type, TypePtr};
use std::borrow::Cow;
use std::sync::Arc;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit integers. Signed, so that the difference of two columns may be negative; counts that
    /// do not fit are held at the largest.
    Integer,
    /// 64-bit integers that mostly grow from row to row (times), stored as differences.
    Growing,
    /// Integers that fit 32 bits.
    Small,
    /// Floating point.
    Real,
    /// True or false.
    Flag,
    /// UTF-8 text.
    Text,
}

/// One column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name in the file.
    pub name: Cow<'static, str>,
    /// What it holds.
    pub kind: Kind,
    /// Whether a row may leave it empty.
    pub nullable: bool,
}

impl Column {
    /// A column with a value in every row.
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind, nullable: false }
    }

    /// A column that a row may leave empty.
    pub const fn nullable(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind, nullable: true }
    }

    /// A column that a row may leave empty, of a name that is known only when the table is made.
    pub const fn named(name: String, kind: Kind) -> Self {
        Self { name: Cow::Owned(name), kind, nullable: true }
    }

    fn schema(&self) -> Result<Type> {
        let (physical, logical) = match self.kind {
            Kind::Integer | Kind::Growing => (Physical::INT64, None),
            Kind::Small => (Physical::INT32, None),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Flag => (Physical::BOOLEAN, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if self.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    }
}

/// A row of a table: its columns, and how to fill them.
pub trait Row {
    /// Name of the table, and of its file without `.parquet`.
    const TABLE: &'static str;
    /// The columns, in order. None where they are known only when the table is made, by
    /// [`Table::with_columns`](crate::Table::with_columns).
    const COLUMNS: &'static [Column];

    /// Hands over the cells of this row, one per column, in the order of [`Row::COLUMNS`].
    fn fill(&self, cells: &mut Cells);
}

/// The Parquet schema of a table.
pub(crate) fn schema(table: &str, columns: &[Column]) -> Result<TypePtr> {
    let fields = columns.iter().map(|c| c.schema().map(Arc::new)).collect::<Result<_>>()?;
    Ok(Arc::new(Type::group_type_builder(table).with_fields(fields).build()?))
}

/// The cells of the rows not yet flushed, column by column.
#[derive(Debug)]
pub struct Cells {
    columns: Vec<Waiting>,
    next: usize,
}

#[derive(Debug)]
struct Waiting {
    values: Values,
    /// 1 where there is a value, 0 where there is none; unused in columns without empty cells.
    present: Option<Vec<i16>>,
}

#[derive(Debug)]
enum Values {
    Integer(Vec<i64>),
    Small(Vec<i32>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl Cells {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let waiting = |column: &Column| Waiting {
            values: match column.kind {
                Kind::Integer | Kind::Growing => Values::Integer(Vec::new()),
                Kind::Small => Values::Small(Vec::new()),
                Kind::Real => Values::Real(Vec::new()),
                Kind::Flag => Values::Flag(Vec::new()),
                Kind::Text => Values::Text(Vec::new()),
            },
            present: column.nullable.then(Vec::new),
        };
        Self { columns: columns.iter().map(waiting).collect(), next: 0 }
    }

    /// Starts the next row.
    pub(crate) fn begin_row(&mut self) {
        debug_assert!(self.next == 0 || self.next == self.columns.len(), "a row left cells out");
        self.next = 0;
    }

    /// An integer cell.
    pub fn integer(&mut self, value: impl Into<Option<u64>>) {
        let value = value.into().map(|v| i64::try_from(v).unwrap_or(i64::MAX));
        self.put(value, |values, v| match values {
            Values::Integer(cells) => cells.push(v),
            other => mismatch("an integer", other),
        });
    }

    /// A small integer cell.
    pub fn small(&mut self, value: impl Into<Option<u32>>) {
        let value = value.into().map(|v| i32::try_from(v).unwrap_or(i32::MAX));
        self.put(value, |values, v| match values {
            Values::Small(cells) => cells.push(v),
            other => mismatch("a small integer", other),
        });
    }

    /// A floating-point cell.
    pub fn real(&mut self, value: impl Into<Option<f64>>) {
        self.put(value.into(), |values, v| match values {
            Values::Real(cells) => cells.push(v),
            other => mismatch("a real", other),
        });
    }

    /// A true-or-false cell.
    pub fn flag(&mut self, value: bool) {
        self.put(Some(value), |values, v| match values {
            Values::Flag(cells) => cells.push(v),
            other => mismatch("a flag", other),
        });
    }

    /// A text cell.
    pub fn text<'a>(&mut self, value: impl Into<Option<&'a Name>>) {
        self.put(value.into().map(Name::bytes), |values, v| match values {
            Values::Text(cells) => cells.push(v),
            other => mismatch("text", other),
        });
    }

    fn put<T>(&mut self, value: Option<T>, push: impl FnOnce(&mut Values, T)) {
        let Some(column) = self.columns.get_mut(self.next) else {
            debug_assert!(false, "a row has more cells than columns");
            return;
        };
        self.next += 1;
        if let Some(present) = &mut column.present {
            present.push(i16::from(value.is_some()));
        } else {
            debug_assert!(value.is_some(), "an empty cell in a column that has none");
        }
        if let Some(value) = value {
            push(&mut column.values, value);
        }
    }

    /// Writes one column and forgets its cells.
    pub(crate) fn write_column(
        &mut self,
        index: usize,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<()> {
        let column = &mut self.columns[index];
        let present = column.present.as_deref();
        match &mut column.values {
            Values::Integer(cells) => {
                writer.typed::<Int64Type>().write_batch(cells, present, None)?;
                cells.clear();
            }
            Values::Small(cells) => {
                writer.typed::<Int32Type>().write_batch(cells, present, None)?;
                cells.clear();
            }
            Values::Real(cells) => {
                writer.typed::<DoubleType>().write_batch(cells, present, None)?;
                cells.clear();
            }
            Values::Flag(cells) => {
                writer.typed::<BoolType>().write_batch(cells, present, None)?;
                cells.clear();
            }
            Values::Text(cells) => {
                writer.typed::<ByteArrayType>().write_batch(cells, present, None)?;
                cells.clear();
            }
        }
        if let Some(present) = &mut column.present {
            present.clear();
        }
        Ok(())
    }
}

/// A row type that disagrees with its own columns is a mistake in this crate; its tests find it.
fn mismatch(got: &str, column: &Values) {
    debug_assert!(false, "{got} in a column of {column:?}");
}
