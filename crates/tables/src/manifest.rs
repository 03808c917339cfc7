//! Writes the manifest. It has the numbers of rows and bytes and the digest of each table. A copy
//! of the tables is checked with these figures.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{SCHEMA, TablesError};

/// The folder of the manifest. Engines ignore names that begin with an underscore.
const FOLDER: &str = "_manifest";

#[derive(Debug, Serialize)]
pub(crate) struct Manifest<'a> {
    pub(crate) schema: i64,
    pub(crate) label: &'a str,
    pub(crate) params: &'a str,
    pub(crate) created: i64,
    pub(crate) salt: u64,
    pub(crate) tables: Vec<TableSum>,
}

/// The figures of a table.
#[derive(Debug, Serialize)]
pub(crate) struct TableSum {
    pub(crate) name: &'static str,
    /// The path below the folder of all tables.
    pub(crate) file: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// The digest in hexadecimal digits.
    pub(crate) sha256: String,
}

/// Returns two hexadecimal digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

impl<'a> Manifest<'a> {
    pub(crate) fn new(label: &'a str, params: &'a str, created: i64, salt: u64) -> Self {
        Self {
            schema: SCHEMA,
            label,
            params,
            created,
            salt,
            tables: Vec::new(),
        }
    }

    /// Returns the path of the manifest below the folder of all tables.
    fn place(&self, folder: &Path) -> PathBuf {
        folder.join(FOLDER).join(format!("{}.json", self.label))
    }

    /// Writes the manifest. Replaces an older manifest.
    pub(crate) fn put(&self, folder: &Path) -> Result<(), TablesError> {
        let place = self.place(folder);
        let unfinished =
            place.with_file_name(format!(".{}.{}.new", self.label, std::process::id()));
        let written = fs::create_dir_all(folder.join(FOLDER)).and_then(|()| {
            let mut file = File::create(&unfinished)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&unfinished, &place)
        });
        written.map_err(|source| TablesError::Write {
            path: place,
            source,
        })
    }

    /// Removes the manifest of older tables, which are about to be replaced.
    pub(crate) fn remove(&self, folder: &Path) -> Result<(), TablesError> {
        let place = self.place(folder);
        match fs::remove_file(&place) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(TablesError::Write {
                path: place,
                source,
            }),
            _ => Ok(()),
        }
    }
}
