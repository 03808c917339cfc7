//! Candidate pairs from an external engine. `docs/scale.md` calls them links.
//!
//! An engine has searched for pairs of contents that share something, and counted the common
//! pieces. It decides nothing: `groups` judges each pair again. For each content the engine's
//! counts must add up to those of `groups`; if they do not, there is no answer. So an
//! implementation of [`ExternalPairs`] need not be trusted with counts.
//!
//! If workers can read the files, they may have measured pairs by [`crate::listed`]. Measures
//! depend on the two contents only, so they are accepted as if measured here. One pair in
//! [`CHECKED`] is measured again if its files can be read, and must have the same figures.

use std::error::Error;
use std::fmt;

use resemble_core::similarity::proof::Proven;
use resemble_core::{ContentDigest, Relation, Score};

/// Two contents and how much they share, without pieces that are too common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalPair {
    /// Name of the first content.
    pub a: i64,
    /// Name of the second content.
    pub b: i64,
    /// Numbers of common pieces.
    pub common: ExternalCommon,
}

/// Two contents and the measures of the pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalMeasures {
    /// Name of the first content.
    pub a: i64,
    /// Name of the second content.
    pub b: i64,
    /// Measures of the pair.
    pub of_both: Proven,
}

/// One in this many externally measured pairs is measured again.
pub const CHECKED: u128 = 64;

/// Numbers of common pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalCommon {
    /// Number of common samples.
    pub fingerprints: u64,
    /// Number of common chunks.
    pub chunks: u64,
}

/// Rows that are read one by one. The first failure is the last row.
pub type GivenRows<'a, T> = Box<dyn Iterator<Item = Result<T, ExternalError>> + 'a>;

/// External pairs of contents that may be links.
pub trait ExternalPairs: fmt::Debug {
    /// Returns the number by which the engine names a content.
    fn name(&self, content: &ContentDigest) -> i64;

    /// Returns the engine's limit: it leaves out pieces that more contents than this have.
    fn degree(&self) -> u64;

    /// Returns the candidates, in any order.
    fn pairs(&self) -> GivenRows<'_, ExternalPair>;

    /// Returns, for each content, the numbers of pieces shared with partners that are not
    /// candidates, added up over all of these.
    fn rest(&self) -> GivenRows<'_, (i64, ExternalCommon)>;

    /// Returns measured pairs, in any order, each at most once; possibly none.
    fn measured(&self) -> GivenRows<'_, ExternalMeasures>;
}

/// Returns whether the candidates include every pair that reaches this score, or, without a score,
/// every pair with a relation.
pub fn reaches(min: Option<Score>) -> bool {
    min.is_none_or(|min| min.get() >= Relation::PARTLY)
}

/// The reasons why external links cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The links cannot be read.
    #[error(transparent)]
    Read(Box<dyn Error + Send + Sync>),
    /// The links leave out other pieces than the question does.
    #[error(
        "the links leave out what more than {links} contents have, and the question what more than \
         {asked} have: give --degree {links}, or make the links again with --degree {asked}"
    )]
    Degree {
        /// Limit of the links.
        links: u64,
        /// Limit of the question.
        asked: u64,
    },
    /// The question also asks for pairs that share less than the links include.
    #[error("links are made for pairs of 25% and more: leave out --min, or ask without --links")]
    TooLittle,
    /// Marked templates remove pieces that the links count.
    #[error(
        "templates are marked, but the links do not account for them: unmark them, or ask without \
         --links"
    )]
    Templates,
    /// Two contents have the same name.
    #[error(
        "two contents are called {name} in the links: export all tables again with --salt, the \
         same number for all"
    )]
    SameName {
        /// The name.
        name: i64,
    },
    /// The links name a content that the question does not include.
    #[error(
        "the links name a content {name} that is not among those asked about: name everything that \
         was exported and nothing else, without --include, --exclude and --min-size"
    )]
    Unknown {
        /// Name of the content.
        name: i64,
    },
    /// The external measures of a pair differ from the computed ones.
    #[error(
        "the links say that the contents {a} and {b} have other figures than they have: remove \
         their folder \"measured\", and make it again with this version of resemble"
    )]
    Measures {
        /// One content.
        a: ContentDigest,
        /// The other content.
        b: ContentDigest,
    },
    /// The links' counts for a content do not match its own.
    #[error(
        "the links do not add up for the content {content} (they have {samples:+} samples and \
         {chunks:+} chunks in common with others): they are incomplete, or of other contents than \
         those asked about; export the tables and make the links again"
    )]
    Amiss {
        /// The content.
        content: ContentDigest,
        /// By how many common samples the links exceed the content's own count.
        samples: i64,
        /// By how many common chunks the links exceed it.
        chunks: i64,
    },
}
