//! Reads the links that an engine computed from the tables (docs/scale.md).
//!
//! The result of a run is a folder with one folder of Parquet files for each stage. `_run.json` has
//! the inputs of the run, and `_stages/NAME.json` is written when a stage is complete. This module
//! reads three stages, row by row. The third one, with pairs that were measured on the files, is
//! optional. The caller, which knows the contents, checks the rows.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use resemble_core::{ContentDigest, Params};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{SCHEMA, cid};

/// The stages that are read.
const PAIRS: &str = "link";
const REST: &str = "rest";
const MEASURED: &str = "measured";

/// The number of rows that are read together.
const BATCH: usize = 8192;

/// A complete folder of links.
#[derive(Debug)]
pub struct LinkTables {
    run: Run,
    pairs: Vec<PathBuf>,
    rest: Vec<PathBuf>,
    measured: Vec<PathBuf>,
}

/// The inputs of the links.
#[derive(Debug, Deserialize)]
struct Run {
    schema: i64,
    params: String,
    /// The salt of the tables.
    salt: i64,
    degree: u64,
}

/// The record of a complete stage.
#[derive(Debug, Deserialize)]
struct Stage {
    files: Vec<StageFile>,
}

#[derive(Debug, Deserialize)]
struct StageFile {
    file: String,
    bytes: u64,
}

/// The reason why links cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkTablesError {
    /// The folder has no links.
    #[error(
        "{}: the folder has no links; scale/resemble_scale.py makes them from the tables of \
         `resemble catalogue write --format parquet`",
        .0.display()
    )]
    None(PathBuf),
    /// A stage was not completed, or its files are not the recorded files.
    #[error(
        "{}: the stage {stage} is not complete; run scale/resemble_scale.py again, which creates \
         the missing files",
        folder.display()
    )]
    Torn {
        /// The folder of the links.
        folder: PathBuf,
        /// The stage.
        stage: &'static str,
    },
    /// The links are of a later or an earlier version.
    #[error(
        "{}: the links have version {version}, and this program reads {SCHEMA}",
        folder.display()
    )]
    Version {
        /// The folder of the links.
        folder: PathBuf,
        /// The version of the links.
        version: i64,
    },
    /// The contents were digested with other parameters.
    #[error(
        "{}: the links are of contents digested with {of_links}, and these are digested with \
         {ours}, so they have nothing in common; export the tables again, or ask with the \
         --chunk-size of the links",
        folder.display()
    )]
    Params {
        /// The folder of the links.
        folder: PathBuf,
        /// The parameters of the links.
        of_links: String,
        /// The parameters of the caller.
        ours: String,
    },
    /// A file cannot be read, or has a format that this program does not read.
    #[error(
        "cannot read {}: {source}; remove its folder and run scale/resemble_scale.py again",
        path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl LinkTables {
    /// Opens a folder of links of contents that are digested with `params`.
    ///
    /// # Errors
    ///
    /// See [`LinkTablesError`].
    pub fn open(folder: &Path, params: &Params) -> Result<Self, LinkTablesError> {
        let folder = folder.to_owned();
        let run: Run = match read(&folder.join("_run.json"))? {
            Some(run) => run,
            None => return Err(LinkTablesError::None(folder)),
        };
        if run.schema != SCHEMA {
            let version = run.schema;
            return Err(LinkTablesError::Version { folder, version });
        }
        let ours = params.to_string();
        if run.params != ours {
            return Err(LinkTablesError::Params {
                folder,
                of_links: run.params,
                ours,
            });
        }
        Ok(Self {
            pairs: files(&folder, PAIRS)?,
            rest: files(&folder, REST)?,
            measured: if record_of(&folder, MEASURED).exists() {
                files(&folder, MEASURED)?
            } else {
                Vec::new()
            },
            run,
        })
    }

    /// Returns the maximum number of contents that may have a piece. Pieces that more contents have
    /// were left out.
    pub const fn degree(&self) -> u64 {
        self.run.degree
    }

    /// Returns the name of a content: the number by which the tables identify it.
    pub fn cid(&self, content: &ContentDigest) -> i64 {
        cid(content, self.run.salt.cast_unsigned())
    }

    /// Returns the pairs of contents that may be links. A row has the names of both contents, the
    /// number of samples that both have, and the number of chunks that both have.
    pub fn pairs(&self) -> LinkRows<'_, 4> {
        LinkRows::of(&self.pairs, ["a", "b", "fingerprints", "chunks"])
    }

    /// Returns a row for each content with pairs that [`Self::pairs`] leaves out. The row has the
    /// content's name and two sums over these pairs: common samples and common chunks.
    pub fn rest(&self) -> LinkRows<'_, 3> {
        LinkRows::of(&self.rest, ["cid", "fingerprints", "chunks"])
    }

    /// Returns the pairs of contents that were measured. A row has the names of both contents, the
    /// unit (0 words, 1 bytes) and five numbers. These are the measures (`Proven::to_words` of the
    /// core).
    pub fn measured(&self) -> LinkRows<'_, 8> {
        let [a_in_b, b_in_a] = ["a_in_b", "b_in_a"];
        let columns = [
            "a",
            "b",
            "unit",
            "flags",
            a_in_b,
            b_in_a,
            "resemblance",
            "shared",
        ];
        LinkRows::of(&self.measured, columns)
    }
}

/// Parses a file; `None` if it does not exist.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LinkTablesError> {
    let failed = |source| LinkTablesError::Read {
        path: path.to_owned(),
        source,
    };
    match fs::read(path) {
        Ok(text) => Ok(Some(
            serde_json::from_slice(&text).map_err(|error| failed(error.into()))?,
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the path of the record of a complete stage.
fn record_of(folder: &Path, stage: &str) -> PathBuf {
    folder.join(format!("_stages/{stage}.json"))
}

/// Returns the files of a stage. Fails unless all recorded files exist with the recorded lengths,
/// and no other Parquet files exist.
fn files(folder: &Path, stage: &'static str) -> Result<Vec<PathBuf>, LinkTablesError> {
    let torn = || LinkTablesError::Torn {
        folder: folder.to_owned(),
        stage,
    };
    let record: Stage = read(&record_of(folder, stage))?.ok_or_else(torn)?;
    let place = folder.join(stage);
    let mut known: Vec<PathBuf> = Vec::with_capacity(record.files.len());
    for of_stage in record.files {
        let path = place.join(of_stage.file);
        let is_whole = fs::metadata(&path).is_ok_and(|stat| stat.len() == of_stage.bytes);
        if !is_whole {
            return Err(torn());
        }
        known.push(path);
    }
    let failed = |source| LinkTablesError::Read {
        path: place.clone(),
        source,
    };
    for entry in fs::read_dir(&place).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_table = path
            .extension()
            .is_some_and(|extension| extension == "parquet");
        if is_table && !known.contains(&path) {
            return Err(torn());
        }
    }
    Ok(known)
}

/// The rows of a stage, file by file.
#[derive(Debug)]
pub struct LinkRows<'a, const COLUMNS: usize> {
    names: [&'static str; COLUMNS],
    files: std::slice::Iter<'a, PathBuf>,
    open: Option<OpenTable<'a>>,
    /// The columns of the rows that were read last; `at` is the number of the next row among them.
    columns: [Vec<i64>; COLUMNS],
    at: usize,
    has_failed: bool,
}

/// A file that is being read.
struct OpenTable<'a> {
    path: &'a Path,
    reader: SerializedFileReader<File>,
    /// The next row group.
    group: usize,
    /// The columns of the current row group, and the number of its rows that are not read yet.
    columns: Vec<ColumnReaderImpl<Int64Type>>,
    rows: usize,
}

impl std::fmt::Debug for OpenTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenTable").field(&self.path).finish()
    }
}

impl<'a, const COLUMNS: usize> LinkRows<'a, COLUMNS> {
    fn of(files: &'a [PathBuf], names: [&'static str; COLUMNS]) -> Self {
        Self {
            names,
            files: files.iter(),
            open: None,
            columns: std::array::from_fn(|_| Vec::new()),
            at: 0,
            has_failed: false,
        }
    }

    /// Reads the next rows. Returns `false` if there are no more rows.
    fn fill(&mut self) -> Result<bool, LinkTablesError> {
        loop {
            if self.open.is_none() {
                let Some(path) = self.files.next() else {
                    return Ok(false);
                };
                self.open = Some(OpenTable::of(path)?);
            }
            let Some(open) = &mut self.open else {
                return Ok(false);
            };
            let filled = open.fill(self.names, &mut self.columns);
            let is_filled = filled.map_err(|error| failed(open.path, error))?;
            self.at = 0;
            if is_filled {
                return Ok(true);
            }
            self.open = None;
        }
    }
}

impl<'a> OpenTable<'a> {
    fn of(path: &'a Path) -> Result<Self, LinkTablesError> {
        let opened = File::open(path).map_err(ParquetError::from);
        let reader = opened.and_then(SerializedFileReader::new);
        Ok(Self {
            path,
            reader: reader.map_err(|error| failed(path, error))?,
            group: 0,
            columns: Vec::new(),
            rows: 0,
        })
    }

    /// Puts the next rows into `columns`; returns `false` at the end of the file.
    fn fill<const COLUMNS: usize>(
        &mut self,
        names: [&'static str; COLUMNS],
        columns: &mut [Vec<i64>; COLUMNS],
    ) -> Result<bool, ParquetError> {
        columns.iter_mut().for_each(Vec::clear);
        while self.rows == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            self.begin_group(names)?;
        }
        let wanted = self.rows.min(BATCH);
        for (of, into) in self.columns.iter_mut().zip(&mut *columns) {
            let mut levels = Vec::new();
            while into.len() < wanted {
                levels.clear();
                let left = wanted - into.len();
                let (records, values, _) = of.read_records(left, Some(&mut levels), None, into)?;
                if records == 0 {
                    return Err(general("a column ends too early"));
                }
                if values < records {
                    return Err(general("a number is missing"));
                }
            }
        }
        self.rows -= wanted;
        Ok(true)
    }

    fn begin_group<const COLUMNS: usize>(
        &mut self,
        names: [&'static str; COLUMNS],
    ) -> Result<(), ParquetError> {
        let group = self.reader.get_row_group(self.group)?;
        self.group += 1;
        self.rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        self.columns.clear();
        let schema = group.metadata().schema_descr();
        for name in names {
            let all = schema.columns().iter();
            let at = all.into_iter().position(|column| column.name() == name);
            let at = at.ok_or_else(|| general(format!("it has no column {name}")))?;
            match group.get_column_reader(at)? {
                ColumnReader::Int64ColumnReader(column) => self.columns.push(column),
                _ => return Err(general(format!("{name} has no numbers of 64 bits"))),
            }
        }
        Ok(())
    }
}

impl<const COLUMNS: usize> Iterator for LinkRows<'_, COLUMNS> {
    type Item = Result<[i64; COLUMNS], LinkTablesError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        if self.at == self.columns[0].len() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.has_failed = true;
                    return Some(Err(error));
                }
            }
        }
        let row = std::array::from_fn(|column| self.columns[column][self.at]);
        self.at += 1;
        Some(Ok(row))
    }
}

fn general(text: impl Into<String>) -> ParquetError {
    ParquetError::General(text.into())
}

fn failed(path: &Path, error: ParquetError) -> LinkTablesError {
    LinkTablesError::Read {
        path: path.to_owned(),
        source: io::Error::other(error),
    }
}

#[cfg(test)]
mod tests;
