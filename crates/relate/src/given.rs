//! Candidate pairs from an external engine. `docs/scale.md` calls these pairs links.
//!
//! The engine has searched for pairs of contents that share something, and has counted the pieces
//! that they share. It does not decide which pairs are related: `groups` judges each pair again.
//! For each content, the engine's counts must add up to the count that `groups` makes. If they do
//! not, the question fails. So `groups` need not trust the counts of an implementation of
//! [`ExternalPairs`].
//!
//! If the engine's workers can read the files, they may have measured pairs by [`crate::listed`].
//! Measures depend only on the two contents, so the engine's measures are accepted. One in
//! [`CHECKED`] of these pairs is measured again if its files can be read. The second result must be
//! equal to the first.

use std::error::Error;
use std::fmt;

use resemble_core::similarity::proof::Proven;
use resemble_core::{ContentDigest, Relation, Score};

/// Two contents and the numbers of pieces that they share. Pieces that are too common are not
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalPair {
    /// The engine's number for the first content.
    pub a: i64,
    /// The engine's number for the second content.
    pub b: i64,
    /// The numbers of pieces that the two contents share.
    pub common: ExternalCommon,
}

/// Two contents and the measures of this pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalMeasures {
    /// The engine's number for the first content.
    pub a: i64,
    /// The engine's number for the second content.
    pub b: i64,
    /// The measures of the pair.
    pub of_both: Proven,
}

/// Of the pairs that the engine measured, one in this many is measured again.
pub const CHECKED: u128 = 64;

/// The numbers of pieces that two contents share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalCommon {
    /// The number of samples that both contents have.
    pub fingerprints: u64,
    /// The number of chunks that both contents have.
    pub chunks: u64,
}

/// Rows that are read one by one. If a row cannot be read, the iterator returns an error and ends.
pub type GivenRows<'a, T> = Box<dyn Iterator<Item = Result<T, ExternalError>> + 'a>;

/// The results of an external engine: pairs of contents that may be links.
pub trait ExternalPairs: fmt::Debug {
    /// Returns the engine's number for a content.
    fn name(&self, content: &ContentDigest) -> i64;

    /// Returns the engine's limit. The engine left out the pieces that more contents than this
    /// have.
    fn degree(&self) -> u64;

    /// Returns the candidate pairs in any order.
    fn pairs(&self) -> GivenRows<'_, ExternalPair>;

    /// Returns, for each content, the number of pieces that it shares in pairs that are not
    /// candidates. The number is a sum over all these pairs.
    fn rest(&self) -> GivenRows<'_, (i64, ExternalCommon)>;

    /// Returns the pairs that were measured, in any order. A pair occurs at most once. The list may
    /// be empty.
    fn measured(&self) -> GivenRows<'_, ExternalMeasures>;
}

/// Returns whether the candidates include every pair whose score is at least `min`. If `min` is
/// `None`, returns true, because the candidates include every pair that has a relation.
pub fn reaches(min: Option<Score>) -> bool {
    min.is_none_or(|min| min.get() >= Relation::PARTLY)
}

/// The reason why the results of an external engine cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The links cannot be read.
    #[error(transparent)]
    Read(Box<dyn Error + Send + Sync>),
    /// The limit of the engine differs from that of the question. So the engine and the question
    /// left out different pieces.
    #[error(
        "the links leave out what more than {links} contents have, and the question what more than \
         {asked} have: give --degree {links}, or make the links again with --degree {asked}"
    )]
    Degree {
        /// The limit of the engine.
        links: u64,
        /// The limit of the question.
        asked: u64,
    },
    /// The question asks for pairs with scores below [`Relation::PARTLY`]. The candidates may lack
    /// such pairs.
    #[error("links are made for pairs of 25% and more: leave out --min, or ask without --links")]
    TooLittle,
    /// Pieces of marked templates do not count in the question, but the engine counted them.
    #[error(
        "templates are marked, but the links do not account for them: unmark them, or ask without \
         --links"
    )]
    Templates,
    /// The engine has the same number for two contents.
    #[error(
        "two contents are called {name} in the links: export all tables again with --salt, the \
         same number for all"
    )]
    SameName {
        /// The number that the two contents have.
        name: i64,
    },
    /// The engine has a number for a content that the question does not include.
    #[error(
        "the links name a content {name} that is not among those asked about: name everything that \
         was exported and nothing else, without --include, --exclude and --min-size"
    )]
    Unknown {
        /// The engine's number for the content.
        name: i64,
    },
    /// The engine's measures of a pair differ from those that the question computed.
    #[error(
        "the links say that the contents {a} and {b} have other figures than they have: remove \
         their folder \"measured\", and make it again with this version of resemble"
    )]
    Measures {
        /// The first content of the pair.
        a: ContentDigest,
        /// The second content of the pair.
        b: ContentDigest,
    },
    /// The engine's counts for a content do not add up to the count that the question made.
    #[error(
        "the links do not add up for the content {content} (they have {samples:+} samples and \
         {chunks:+} chunks in common with others): they are incomplete, or of other contents than \
         those asked about; export the tables and make the links again"
    )]
    Amiss {
        /// The content whose counts do not add up.
        content: ContentDigest,
        /// The sum of the engine's common samples minus the question's count.
        samples: i64,
        /// The sum of the engine's common chunks minus the question's count.
        chunks: i64,
    },
}
