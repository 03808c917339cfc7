//! Writes the rows of one table to a Parquet file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use sha2::{Digest as _, Sha256};

use crate::TablesError;
use crate::manifest::{TableSum, hexadecimal};

/// The number of rows that are buffered and written together.
const GROUP: usize = 1 << 19;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number.
    Int,
    /// A number, or null.
    IntOrNull,
    /// Bytes that have nothing in common with the bytes of the row before.
    Bytes,
    /// The same as [`Self::Bytes`], or null.
    BytesOrNull,
    /// Bytes that often have a common prefix with the bytes of the row before.
    Path,
}

impl Kind {
    const fn is_int(self) -> bool {
        matches!(self, Self::Int | Self::IntOrNull)
    }

    const fn may_be_null(self) -> bool {
        matches!(self, Self::IntOrNull | Self::BytesOrNull)
    }
}

/// A table and its columns in order.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Int(i64),
    Bytes(&'a [u8]),
    Null,
}

impl From<Option<i64>> for Cell<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Int)
    }
}

/// The values of a column that are not written yet.
#[derive(Debug)]
struct Column {
    kind: Kind,
    ints: Vec<i64>,
    bytes: Vec<ByteArray>,
    /// 1 for each row with a value, 0 for each null. The list is empty for a column that is never
    /// null.
    levels: Vec<i16>,
}

/// A table that is written next to its final place.
pub(crate) struct Table {
    layout: &'static Layout,
    columns: Vec<Column>,
    waiting: usize,
    rows: u64,
    writer: SerializedFileWriter<Summed>,
    /// The path while the table is written; `None` when the table is in its final place.
    unfinished: Option<PathBuf>,
    place: PathBuf,
    /// The final path, relative to the folder of all tables.
    file: String,
}

/// A file, and the digest of the bytes written to it.
struct Summed {
    file: BufWriter<File>,
    sum: Sha256,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Table {
    /// Begins a table in `folder/NAME/catalogue=LABEL`, with these properties in its metadata.
    pub(crate) fn new(
        layout: &'static Layout,
        folder: &Path,
        label: &str,
        notes: &[(&str, String)],
    ) -> Result<Self, TablesError> {
        let file = format!("{}/catalogue={label}/rows.parquet", layout.name);
        let place = folder.join(&file);
        let failed = |source| TablesError::Write {
            path: place.clone(),
            source,
        };
        // Engines ignore names that begin with a dot.
        let unfinished = place.with_file_name(format!(".rows.{}.new", std::process::id()));
        fs::create_dir_all(unfinished.parent().unwrap_or(folder)).map_err(failed)?;
        let out = Summed {
            file: BufWriter::new(File::create_new(&unfinished).map_err(failed)?),
            sum: Sha256::new(),
        };
        let made = schema(layout)
            .and_then(|schema| SerializedFileWriter::new(out, schema, properties(layout, notes)));
        let writer = match made {
            Ok(writer) => writer,
            Err(error) => {
                fs::remove_file(&unfinished).ok();
                return Err(failed(io_error(error)));
            }
        };
        let column = |&(_, kind): &(_, Kind)| Column {
            kind,
            ints: Vec::new(),
            bytes: Vec::new(),
            levels: Vec::new(),
        };
        Ok(Self {
            layout,
            columns: layout.columns.iter().map(column).collect(),
            waiting: 0,
            rows: 0,
            writer,
            unfinished: Some(unfinished),
            place,
            file,
        })
    }

    /// Appends a row with one cell for each column.
    pub(crate) fn push(&mut self, row: &[Cell<'_>]) -> Result<(), TablesError> {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.layout.name);
        for (column, cell) in self.columns.iter_mut().zip(row) {
            let is_null = matches!(cell, Cell::Null);
            debug_assert!(column.kind.may_be_null() || !is_null);
            if column.kind.may_be_null() {
                column.levels.push(i16::from(!is_null));
            }
            match cell {
                Cell::Int(number) => column.ints.push(*number),
                Cell::Bytes(bytes) => column.bytes.push(bytes.to_vec().into()),
                Cell::Null => {}
            }
        }
        self.waiting += 1;
        self.rows += 1;
        if self.waiting == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), TablesError> {
        let written = self.try_write_group();
        written.map_err(|error| self.failed(io_error(error)))
    }

    fn try_write_group(&mut self) -> Result<(), ParquetError> {
        self.waiting = 0;
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut next) = group.next_column()? else {
                return Err(ParquetError::General("a column is missing".to_owned()));
            };
            let levels = column.kind.may_be_null().then_some(&column.levels[..]);
            match next.untyped() {
                ColumnWriter::Int64ColumnWriter(of) => {
                    of.write_batch(&column.ints, levels, None)?
                }
                ColumnWriter::ByteArrayColumnWriter(of) => {
                    of.write_batch(&column.bytes, levels, None)?
                }
                _ => return Err(ParquetError::General("a column of another type".to_owned())),
            };
            next.close()?;
            column.ints.clear();
            column.bytes.clear();
            column.levels.clear();
        }
        group.close()?;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TablesError {
        TablesError::Write {
            path: self.place.clone(),
            source,
        }
    }

    /// Returns the number of rows so far.
    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Completes the table and moves it to its final place. Returns the figures of the table.
    pub(crate) fn finish(mut self) -> Result<TableSum, TablesError> {
        if self.waiting > 0 {
            self.write_group()?;
        }
        let finished = self.writer.finish().map(|_| ());
        finished.map_err(|error| self.failed(io_error(error)))?;
        let file = self.writer.inner_mut();
        let written = file.flush().and_then(|()| file.file.get_ref().sync_all());
        let sum = file.sum.clone().finalize();
        written.map_err(|source| self.failed(source))?;
        if let Some(unfinished) = self.unfinished.take() {
            fs::rename(&unfinished, &self.place).map_err(|source| self.failed(source))?;
        }
        Ok(TableSum {
            name: self.layout.name,
            file: std::mem::take(&mut self.file),
            rows: self.rows,
            bytes: self.writer.bytes_written() as u64,
            sha256: hexadecimal(&sum),
        })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            fs::remove_file(unfinished).ok();
        }
    }
}

fn schema(layout: &Layout) -> Result<Arc<Type>, ParquetError> {
    let field = |&(name, kind): &(&str, Kind)| {
        let physical = if kind.is_int() {
            Physical::INT64
        } else {
            Physical::BYTE_ARRAY
        };
        let repetition = if kind.may_be_null() {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let field = Type::primitive_type_builder(name, physical);
        field.with_repetition(repetition).build().map(Arc::new)
    };
    let fields: Result<Vec<_>, _> = layout.columns.iter().map(field).collect();
    let schema = Type::group_type_builder(layout.name).with_fields(fields?);
    schema.build().map(Arc::new)
}

fn properties(layout: &Layout, notes: &[(&str, String)]) -> WriterPropertiesPtr {
    let notes = notes
        .iter()
        .map(|(key, value)| KeyValue::new(format!("resemble.{key}"), value.clone()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(notes.collect()));
    for &(name, kind) in layout.columns {
        let encoding = match kind {
            Kind::Int | Kind::IntOrNull => Encoding::DELTA_BINARY_PACKED,
            Kind::Bytes | Kind::BytesOrNull => Encoding::PLAIN,
            Kind::Path => Encoding::DELTA_BYTE_ARRAY,
        };
        properties = properties.set_column_encoding(ColumnPath::from(name), encoding);
    }
    Arc::new(properties.build())
}

/// Converts the error of a writer to an I/O error of the file.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}
