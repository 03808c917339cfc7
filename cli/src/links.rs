//! Reads the links that an SQL engine has found, for `groups --links`.
//!
//! This module connects two crates that do not depend on each other. `resemble_tables` reads the
//! files, and `resemble_query` checks the links in them.

use std::path::Path;

use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::Proven;
use resemble_core::{ContentDigest, Params};
use resemble_relate::given::{
    ExternalCommon, ExternalError, ExternalMeasures, ExternalPair, ExternalPairs, GivenRows,
};
use resemble_tables::{LinkTables, LinkTablesError};

use crate::error::CliResult;

/// A folder of links.
#[derive(Debug)]
pub struct Links(LinkTables);

impl Links {
    /// Opens a folder with links. `params` are the parameters with which the linked contents were
    /// digested.
    pub fn open(folder: &Path, params: &Params) -> CliResult<Self> {
        Ok(Self(LinkTables::open(folder, params)?))
    }
}

impl ExternalPairs for Links {
    fn name(&self, content: &ContentDigest) -> i64 {
        self.0.cid(content)
    }

    fn degree(&self) -> u64 {
        self.0.degree()
    }

    fn pairs(&self) -> GivenRows<'_, ExternalPair> {
        let pairs = self.0.pairs().map(|row| {
            let [a, b, fingerprints, chunks] = row.map_err(unreadable)?;
            let common = common(fingerprints, chunks);
            Ok(ExternalPair { a, b, common })
        });
        Box::new(pairs)
    }

    fn rest(&self) -> GivenRows<'_, (i64, ExternalCommon)> {
        let rest = self.0.rest().map(|row| {
            let [name, fingerprints, chunks] = row.map_err(unreadable)?;
            Ok((name, common(fingerprints, chunks)))
        });
        Box::new(rest)
    }

    fn measured(&self) -> GivenRows<'_, ExternalMeasures> {
        let measured = self.0.measured().map(|row| {
            let [a, b, numbers @ ..] = row.map_err(unreadable)?;
            let of_both = measures(numbers).ok_or_else(|| {
                let text = "a row of the stage measured was not written by resemble";
                ExternalError::Read(text.into())
            })?;
            Ok(ExternalMeasures { a, b, of_both })
        });
        Box::new(measured)
    }
}

/// Encodes the measures of a pair for the output of `resemble measure`. The first number is the
/// unit: 0 for words, 1 for bytes, -1 if the pair was not measured. The others are
/// [`Proven::to_words`].
pub fn numbers(found: Option<Proven>) -> [i64; 6] {
    let Some(found) = found else {
        return [-1, 0, 0, 0, 0, 0];
    };
    let [flags, a_in_b, b_in_a, resemblance, shared] = found.to_words().map(u64::cast_signed);
    let unit = (found.unit == Unit::Bytes).into();
    [unit, flags, a_in_b, b_in_a, resemblance, shared]
}

/// Decodes what [`numbers`] has encoded. Returns `None` if the pair was not measured.
fn measures([unit, words @ ..]: [i64; 6]) -> Option<Proven> {
    let unit = match unit {
        0 => Unit::Words,
        1 => Unit::Bytes,
        _ => return None,
    };
    Proven::of_words(words.map(i64::cast_unsigned), unit)
}

/// Converts two signed numbers of a row. A negative number becomes a huge number, and the check of
/// the links refuses that number.
const fn common(fingerprints: i64, chunks: i64) -> ExternalCommon {
    ExternalCommon {
        fingerprints: fingerprints.cast_unsigned(),
        chunks: chunks.cast_unsigned(),
    }
}

fn unreadable(error: LinkTablesError) -> ExternalError {
    ExternalError::Read(Box::new(error))
}
