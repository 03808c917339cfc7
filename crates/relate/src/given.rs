//! Candidates that something else has found: the links of docs/scale.md.
//!
//! An engine has looked for pairs of contents with something in common, and counted how much. It
//! decides nothing: `groups` looks at each pair anew, and does not answer unless the numbers of all
//! pairs of every content add up to what it counts itself. So whoever implements [`GivenPairs`]
//! need not be trusted with these, and this module says all that there is to know of it.
//!
//! Where the files are within reach of the workers, pairs may have been measured there, by
//! [`crate::listed`]. Measures follow from two contents alone, so it does not matter who has made
//! them: they are taken for what would be measured here. One pair in [`CHECKED`] is measured here
//! all the same if its files can be read, and must have the same figures.

use std::error::Error;
use std::fmt;

use resemble_core::similarity::proof::Proven;
use resemble_core::{ContentDigest, Relation, Score};

/// Two contents and how much they have in common, not counting what is common to too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenPair {
    /// The name of one of them.
    pub a: i64,
    /// The name of the other one.
    pub b: i64,
    /// What both have.
    pub common: GivenCommon,
}

/// Two contents and what they have in common, measured on both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GivenMeasures {
    /// The name of one of them.
    pub a: i64,
    /// The name of the other one.
    pub b: i64,
    /// What was measured.
    pub of_both: Proven,
}

/// Of so many pairs that were measured elsewhere one is measured again.
pub const CHECKED: u128 = 64;

/// How many pieces contents have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenCommon {
    /// Samples.
    pub fingerprints: u64,
    /// Chunks.
    pub chunks: u64,
}

/// What is handed over one by one; the first failure is the last.
pub type GivenRows<'a, T> = Box<dyn Iterator<Item = Result<T, GivenError>> + 'a>;

/// Pairs of contents that may be links.
pub trait GivenPairs: fmt::Debug {
    /// What they call a content.
    fn name(&self, content: &ContentDigest) -> i64;

    /// What more contents have was left out.
    fn degree(&self) -> u64;

    /// The candidates, in any order.
    fn pairs(&self) -> GivenRows<'_, GivenPair>;

    /// For a content what it has in common with all those together with which it is no candidate.
    fn rest(&self) -> GivenRows<'_, (i64, GivenCommon)>;

    /// Pairs that were measured, in any order, each at most once; there need be none.
    fn measured(&self) -> GivenRows<'_, GivenMeasures>;
}

/// Whether all pairs that may reach this score, or have a relation, are candidates.
pub fn reaches(min: Option<Score>) -> bool {
    min.is_none_or(|min| min.get() >= Relation::PARTLY)
}

/// Why links that were given are of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    /// They cannot be read.
    #[error(transparent)]
    Read(Box<dyn Error + Send + Sync>),
    /// Other pieces were left out.
    #[error(
        "the links leave out what more than {links} contents have, and the question what more than \
         {asked} have: give --degree {links}, or make the links again with --degree {asked}"
    )]
    Degree {
        /// By the links.
        links: u64,
        /// By the question.
        asked: u64,
    },
    /// Pairs with so little in common are not among them.
    #[error("links are made for pairs of 25% and more: leave out --min, or ask without --links")]
    TooLittle,
    /// What is marked takes pieces away that the links know.
    #[error(
        "templates are marked, of which the links know nothing: unmark them, or ask without --links"
    )]
    Templates,
    /// Two contents have one name.
    #[error(
        "two contents are called {name} in the links: export all tables again with --salt, the \
         same number for all"
    )]
    SameName {
        /// The name.
        name: i64,
    },
    /// A content is not among those that are asked about.
    #[error(
        "the links name a content {name} that is not among those asked about: name everything that \
         was exported and nothing else, without --include, --exclude and --min-size"
    )]
    Unknown {
        /// Its name.
        name: i64,
    },
    /// Two contents have other figures than those that were measured elsewhere.
    #[error(
        "the links say that the contents {a} and {b} have other figures than they have: remove \
         their folder \"measured\", and make it again with this version of resemble"
    )]
    Measures {
        /// One of them.
        a: ContentDigest,
        /// The other one.
        b: ContentDigest,
    },
    /// A content has more or less in common with others than the links say.
    #[error(
        "the links do not add up for the content {content} (they have {samples:+} samples and \
         {chunks:+} chunks in common with others): they are incomplete, or of other contents than \
         those asked about; export the tables and make the links again"
    )]
    Amiss {
        /// The content.
        content: ContentDigest,
        /// How many common samples too many the links have.
        samples: i64,
        /// The same of chunks.
        chunks: i64,
    },
}
