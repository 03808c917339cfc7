//! The baseline of `check`: pairs of contents that are meant to be alike.
//!
//! Each line has the digests of two contents, in ascending order. The line also has the names that
//! their files had when the line was written. When a content changes, its pairs are reported again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use resemble_core::ContentDigest;
use resemble_report::quote::quoted;

use crate::error::{CliError, CliResult};
use crate::new_file::{NewFile, folder_of};

/// The accepted pairs, each with the file names of its line.
#[derive(Default)]
pub(super) struct Baseline(pub(super) BTreeMap<String, String>);

impl Baseline {
    /// Reads a baseline; with `may_be_new` it may be missing.
    pub(super) fn read(path: &Path, may_be_new: bool) -> CliResult<Self> {
        if may_be_new && !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
        let mut pairs = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (pair, names) = line.split_once("  ").unwrap_or((line, ""));
            let is_digest = |word: &str| word.len() == 64 && !word.contains(' ');
            if !pair
                .split_once(' ')
                .is_some_and(|(one, other)| is_digest(one) && is_digest(other))
            {
                return Err(CliError::Usage(format!(
                    "{} line {number}: not two digests of contents; `--accept` writes such lines",
                    quoted(path)
                )));
            }
            pairs.insert(pair.to_owned(), names.to_owned());
        }
        Ok(Self(pairs))
    }

    /// Adds pairs to the file, and returns how many are new. Concurrent writers wait for each
    /// other.
    pub(super) fn add(pairs: BTreeMap<String, String>, path: &Path) -> CliResult<u64> {
        // Links are resolved, so that all writers of one baseline lock the same folder.
        let real = std::fs::canonicalize(path);
        let path = real.as_deref().unwrap_or(path);
        let folder = folder_of(path);
        // The lock lasts until `_lock` is dropped, which closes the folder.
        let lock = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
        let _lock = lock.map_err(CliError::file("lock", folder))?;
        let mut all = Self::read(path, true)?.0;
        let before = all.len();
        all.extend(pairs);
        Self::write(&all, path)?;
        Ok((all.len() - before) as u64)
    }

    fn write(pairs: &BTreeMap<String, String>, path: &Path) -> CliResult<()> {
        let mut text = "# Pairs that `resemble check` leaves out, by both contents\n".to_owned();
        for (pair, names) in pairs {
            // Writing to a string does not fail.
            writeln!(text, "{pair}  {names}").unwrap_or_default();
        }
        NewFile::put(path, text.as_bytes())
    }
}

/// Returns the key of a pair of contents. The order of the two contents does not change the key.
pub(super) fn pair_of(one: &ContentDigest, other: &ContentDigest) -> String {
    format!("{} {}", one.min(other), one.max(other))
}
