//! Pairs of contents that are meant to be alike.
//!
//! Each line has the digests of two contents, the lesser first, and the names that they had. When a
//! content changes, its pairs are news again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use resemble_core::ContentDigest;
use resemble_report::quote::quoted;

use crate::error::{CliError, CliResult};
use crate::new_file::NewFile;

/// The accepted pairs, each with what the line says after it.
#[derive(Default)]
pub(super) struct Baseline {
    pairs: BTreeMap<String, String>,
}

impl Baseline {
    /// Reads a baseline; `may_be_new`: it need not be there.
    pub(super) fn read(path: &Path, may_be_new: bool) -> CliResult<Self> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if may_be_new && error.kind() == std::io::ErrorKind::NotFound => {
                String::new()
            }
            text => text.map_err(CliError::file("read", path))?,
        };
        let mut pairs = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (pair, names) = line.split_at_checked(PAIR).unwrap_or((line, ""));
            if !is_pair(pair) || !names.is_empty() && !names.starts_with(' ') {
                return Err(CliError::Usage(format!(
                    "{} line {number}: not two digests of contents; `--accept` writes such lines",
                    quoted(path)
                )));
            }
            pairs.insert(pair.to_owned(), names.trim_start().to_owned());
        }
        Ok(Self { pairs })
    }

    /// Whether the pair is accepted.
    pub(super) fn has(&self, pair: &str) -> bool {
        self.pairs.contains_key(pair)
    }

    /// Accepts a pair of contents with these names.
    pub(super) fn add(&mut self, pair: String, names: String) {
        self.pairs.insert(pair, names);
    }

    /// Writes it in the place of the one that was read.
    pub(super) fn write(&self, path: &Path) -> CliResult<()> {
        let mut text =
            "# Pairs that `resemble check` leaves out, by the digests of both contents.\n"
                .to_owned();
        for (pair, names) in &self.pairs {
            // Writing to a string does not fail.
            writeln!(text, "{pair}  {names}").unwrap_or_default();
        }
        NewFile::put(path, text.as_bytes())
    }
}

/// Letters of a pair.
const PAIR: usize = 64 + 1 + 64;

/// The pair of two contents, whichever is asked about.
pub(super) fn pair_of(one: &ContentDigest, other: &ContentDigest) -> String {
    let (lesser, greater) = (one.min(other), one.max(other));
    format!("{lesser} {greater}")
}

fn is_pair(text: &str) -> bool {
    let is_digest =
        |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split_once(' ')
        .is_some_and(|(one, other)| is_digest(one) && is_digest(other))
}
