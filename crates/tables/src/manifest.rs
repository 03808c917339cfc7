//! What was written, for whoever copies it: rows, bytes and digests of all tables.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::{SCHEMA, TablesError};

/// The manifest of a catalogue's tables.
#[derive(Debug, Serialize)]
pub(crate) struct Manifest<'a> {
    pub(crate) schema: i64,
    pub(crate) label: &'a str,
    pub(crate) params: &'a str,
    pub(crate) created: i64,
    pub(crate) salt: u64,
    pub(crate) tables: Vec<TableSum>,
}

/// What a table is.
#[derive(Debug, Serialize)]
pub(crate) struct TableSum {
    name: &'static str,
    /// Below the folder of all tables.
    file: String,
    rows: u64,
    pub(crate) bytes: u64,
    sha256: String,
}

impl TableSum {
    pub(crate) fn new(
        name: &'static str,
        place: &Path,
        rows: u64,
        bytes: u64,
        digest: &[u8],
    ) -> Self {
        // TABLE/catalogue=LABEL/rows.parquet
        let mut last: Vec<_> = place.components().rev().take(3).collect();
        last.reverse();
        let file: std::path::PathBuf = last.iter().collect();
        Self {
            name,
            file: file.display().to_string(),
            rows,
            bytes,
            sha256: hexadecimal(digest),
        }
    }
}

/// Two digits for each byte.
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

    /// Writes it, instead of an older one.
    pub(crate) fn put(&self, folder: &Path) -> Result<(), TablesError> {
        // Engines leave out names that begin with an underscore.
        let folder = folder.join("_manifest");
        let place = folder.join(format!("{}.json", self.label));
        let unfinished = folder.join(format!(".{}.{}.new", self.label, std::process::id()));
        let written = fs::create_dir_all(&folder).and_then(|()| {
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

    /// Removes that of older tables: they are about to go.
    pub(crate) fn remove(&self, folder: &Path) -> Result<(), TablesError> {
        let place = folder
            .join("_manifest")
            .join(format!("{}.json", self.label));
        match fs::remove_file(&place) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(TablesError::Write {
                    path: place,
                    source,
                })
            }
            _ => Ok(()),
        }
    }
}
