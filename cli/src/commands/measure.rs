//! `resemble measure`: measures pairs of files that another engine has found.
//!
//! Programs run it on millions of pairs, so its input and output are binary. `docs/scale.md`
//! defines their layout.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;

use resemble_core::ContentDigest;
use resemble_relate::listed::{ListedFile, ListedProver};

use crate::error::{CliError, CliResult, Outcome};
use crate::links::numbers;

/// The number of pairs that are read and measured together.
const AT_ONCE: usize = 1 << 16;

/// The maximum number of bytes of a path, including its terminator.
const LONGEST: u64 = 4096;

pub(super) fn run() -> CliResult {
    let mut from = BufReader::new(io::stdin().lock());
    let mut to = BufWriter::new(io::stdout().lock());
    let prover = ListedProver::default();
    loop {
        let mut pairs = Vec::new();
        while pairs.len() < AT_ONCE
            && let Some(a) = file(&mut from)?
        {
            let b = file(&mut from)?.ok_or_else(cut)?;
            pairs.push([a, b]);
        }
        if pairs.is_empty() {
            return Ok(Outcome::Holds);
        }
        for found in prover.measure(&pairs) {
            for number in numbers(found) {
                to.write_all(&number.to_le_bytes()).map_err(failed)?;
            }
        }
        to.flush().map_err(failed)?;
    }
}

/// Reads the next file of the list: a digest of 32 bytes, and a path ended by NUL. Returns `None`
/// at the end of the list.
fn file(from: &mut impl BufRead) -> CliResult<Option<ListedFile>> {
    if from.fill_buf().map_err(failed)?.is_empty() {
        return Ok(None);
    }
    let mut digest = [0; 32];
    from.read_exact(&mut digest).map_err(|_| cut())?;
    let mut path = Vec::new();
    let mut rest = from.take(LONGEST);
    rest.read_until(0, &mut path).map_err(failed)?;
    if path.pop() != Some(0) || !path.starts_with(b"/") {
        return Err(cut());
    }
    Ok(Some(ListedFile {
        digest: ContentDigest(digest),
        path: OsStr::from_bytes(&path).into(),
    }))
}

fn cut() -> CliError {
    CliError::Usage(
        "the input is not a list of pairs: a digest of 32 bytes and an absolute path that ends \
         with a zero byte, twice for each pair"
            .to_owned(),
    )
}

fn failed(source: io::Error) -> CliError {
    CliError::File {
        verb: "measure",
        path: "-".into(),
        source,
    }
}
