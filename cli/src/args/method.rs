//! The options of published methods.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use resemble_engine::method::MOST_SHARDS;
use resemble_engine::method::rules::Where;
use resemble_methods::canonical::Canonical;
use resemble_methods::sorted5::ChunkHashing;
use resemble_methods::vocabulary::Language;
use resemble_methods::{Choice, Method};
use resemble_proto::number::Fraction;

use crate::values;

/// `--method` and the parameters of the papers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// `--method`.
    #[arg(
        help = "Answer by a published method, exactly as its paper defines it [default: default]"
    )]
    #[arg(long, value_name = "METHOD", value_parser = choice())]
    pub method: Option<Choice>,
    /// Method: bytes of a window (5-100; sif and bsw more)
    #[arg(long, value_name = "BYTES", requires = "method")]
    pub window: Option<u32>,
    /// Method: runs of N words instead of windows of bytes
    #[arg(long, value_name = "N", requires = "method", conflicts_with = "window")]
    pub words: Option<u32>,
    /// Method: one fingerprint in N is kept; of tttd and bsw the mean size of a chunk
    #[arg(long, value_name = "N", requires = "method")]
    pub rate: Option<u32>,
    /// Method: the n of mod, bsw-min (the rate), min and sketch (so many are kept)
    #[arg(
        long = "n",
        value_name = "N",
        requires = "method",
        conflicts_with = "rate"
    )]
    pub n: Option<u32>,
    /// Method sif: fingerprints of 30, 31 or 32 bits before those that are always zero go; sorted5: so many upper bits of a
    /// chunk's hash (8-32)
    #[arg(long, value_name = "BITS", requires = "method")]
    pub bits: Option<u32>,
    /// Method sif: at most N fingerprints of a file; a small file in a large one may be missed
    #[arg(long, value_name = "N", requires = "method")]
    pub most: Option<u32>,
    /// Method shingle: documents of N to 2 N shingles keep all, of 2 N to 4 N every second, and so on
    #[arg(long, value_name = "N", requires = "method", conflicts_with_all = ["rate", "n"])]
    pub sizes: Option<u32>,
    /// Method super-shingle: shingles of one
    #[arg(long, value_name = "N", requires = "method")]
    pub length: Option<u32>,
    /// Method shingle, super-shingle: a secret that chooses which shingles are kept
    #[arg(long, value_name = "TEXT", requires = "method")]
    pub seed: Option<String>,
    /// Method shingle, super-shingle: the secret is what FILE holds, without a line feed at its end: a command line is seen by all
    #[arg(long, value_name = "FILE", requires = "method", conflicts_with = "seed", value_hint = ValueHint::FilePath)]
    pub seed_file: Option<PathBuf>,
    /// Method sif-anchors: the strings of FILE, one a line, instead of the usual ones
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath)]
    pub anchors: Option<PathBuf>,
    /// Method sorted5: only the words of FILE count
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath)]
    pub dictionary: Option<PathBuf>,
    /// Method sorted5: words become their basic forms, by the lines of FILE: word, tab, basic form
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath)]
    pub lemmas: Option<PathBuf>,
    /// Method sorted5: words become their stems, by the rules of Snowball
    #[arg(long, value_name = "LANGUAGE", requires = "method", value_parser = language())]
    pub stem: Option<Language>,
    /// Method sorted5: what chunks are hashed with [default: md5]
    #[arg(long, value_name = "HASH", requires = "method", value_parser = hash())]
    pub hash: Option<ChunkHashing>,
    /// Method sorted5: N processes share the work
    #[arg(long, value_name = "N", requires = "method", value_parser = shards())]
    pub shards: Option<u32>,
}

fn language() -> impl clap::builder::TypedValueParser<Value = Language> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Language::names()).try_map(|name| name.parse::<Language>())
}

fn hash() -> impl clap::builder::TypedValueParser<Value = ChunkHashing> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = PossibleValuesParser::new(ChunkHashing::ALL.map(ChunkHashing::name));
    names.try_map(|name| name.parse::<ChunkHashing>())
}

fn shards() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MOST_SHARDS))
}

fn choice() -> impl clap::builder::TypedValueParser<Value = Choice> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = PossibleValuesParser::new(Choice::names());
    names.try_map(|name| name.parse::<Choice>())
}

impl MethodArgs {
    /// The published method, if one is chosen.
    pub const fn paper(&self) -> Option<Method> {
        match self.method {
            Some(Choice::Paper(method)) => Some(method),
            Some(Choice::Default) | None => None,
        }
    }
}

/// What becomes of the bytes first.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Method")]
pub struct CanonicalArgs {
    /// Method: make the identifiers of code equal, or leave out what formats a document, first
    #[arg(long, value_name = "FORM", requires = "method")]
    pub canonical: Option<Form>,
}

/// Forms of a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// As it is.
    #[default]
    None,
    /// Identifiers become equal, comments go.
    Code,
    /// Headers of PostScript, requests of troff and commands of TeX go.
    Text,
}

impl From<Form> for Canonical {
    fn from(form: Form) -> Self {
        match form {
            Form::None => Self::None,
            Form::Code => Self::Code,
            Form::Text => Self::Text,
        }
    }
}

/// What may be in a group together, with a method.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Groups of a method")]
pub struct GroupRules {
    /// Method: together only if the smaller has this share of the larger's size
    #[arg(long, value_name = "SHARE", value_parser = values::share, requires = "method")]
    pub size_ratio: Option<Fraction>,
    /// Method: together only with the same suffix
    #[arg(long, requires = "method")]
    pub same_suffix: bool,
    /// Method: together only if both are text, binary or compressed
    #[arg(long, requires = "method")]
    pub same_type: bool,
    /// Method: together only if EXPR holds, such as 'b.size < 2 * a.size and suffix = "c"'
    #[arg(long = "where", value_name = "EXPR", requires = "method")]
    pub only: Option<Where>,
    /// Method: together only if CMD prints their line again; it reads lines of two names and a tab
    #[arg(long, value_name = "CMD", requires = "method", value_hint = ValueHint::CommandString)]
    pub filter_cmd: Option<String>,
    /// Method shingle, super-shingle: ignore shingles that more than N files have; `off`: none
    #[arg(long, value_name = "N", value_parser = values::common, requires = "method")]
    pub common: Option<u32>,
    /// Method shingle: together also if SHARE of one lies in the other
    #[arg(long, value_name = "SHARE", value_parser = values::share, requires = "method")]
    pub contained: Option<Fraction>,
    /// Method shingle, super-shingle: work in DIR and keep there what another question needs; no
    /// daemon is asked
    #[arg(long, value_name = "DIR", requires = "method", value_hint = ValueHint::DirPath)]
    pub work: Option<PathBuf>,
    /// Method sif: sets of files that all share at least N fingerprints, instead of groups
    #[arg(long, value_name = "N", requires = "method", conflicts_with = "min")]
    #[arg(conflicts_with_all = ["size_ratio", "same_suffix", "same_type", "only", "filter_cmd"])]
    pub interesting: Option<u64>,
}
