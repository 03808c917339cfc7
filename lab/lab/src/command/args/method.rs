//! The method and what may be said about it.

use std::path::PathBuf;

use crate::method::MOST_SHARDS;
use crate::method::rules::WhereRule;
use clap::{Args, ValueEnum, ValueHint};
use resemble_cli::values;
use resemble_methods::Method;
use resemble_methods::canonical::Canonical;
use resemble_methods::sorted5::ChunkHashing;
use resemble_methods::vocabulary::Language;
use resemble_proto::number::Fraction;

/// `--method` and the parameters of the papers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Which method answers
    #[arg(long, value_name = "METHOD", value_parser = method())]
    pub(crate) method: Method,
    /// Bytes of a window (5-100; sif and bsw more)
    #[arg(long, value_name = "BYTES")]
    pub(crate) window: Option<u32>,
    /// Runs of N words instead of windows of bytes
    #[arg(long, value_name = "N", conflicts_with = "window")]
    pub(crate) words: Option<u32>,
    /// One fingerprint in N is kept; of tttd and bsw the mean size of a chunk
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<u32>,
    /// The n of mod, bsw-min (the rate), min and sketch (so many are kept)
    #[arg(long = "n", value_name = "N", conflicts_with = "rate")]
    pub(crate) n: Option<u32>,
    /// Of sif: fingerprints of 30, 31 or 32 bits before those that are always zero go; sorted5: so
    /// many upper bits of a chunk's hash (8-32)
    #[arg(long, value_name = "BITS")]
    pub(crate) bits: Option<u32>,
    /// Of sif: at most N fingerprints of a file; a small file in a large one may be missed
    #[arg(long, value_name = "N")]
    pub(crate) most: Option<u32>,
    /// Of shingle: documents of N to 2 N shingles keep all, of 2 N to 4 N every second, and so on
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "n"])]
    pub(crate) sizes: Option<u32>,
    /// Of super-shingle: shingles of one
    #[arg(long, value_name = "N")]
    pub(crate) length: Option<u32>,
    /// Of shingle and super-shingle: a secret that chooses which shingles are kept
    #[arg(long, value_name = "TEXT")]
    pub(crate) seed: Option<String>,
    /// Of shingle and super-shingle: the secret is what FILE holds, without a line feed at its end:
    /// a command line is seen by all
    #[arg(long, value_name = "FILE", conflicts_with = "seed", value_hint = ValueHint::FilePath)]
    pub(crate) seed_file: Option<PathBuf>,
    /// Of sif-anchors: the strings of FILE, one a line, instead of the usual ones
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) anchors: Option<PathBuf>,
    /// Of sorted5: only the words of FILE count
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: Option<PathBuf>,
    /// Of sorted5: words become their basic forms, by the lines of FILE: word, tab, basic form
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) lemmas: Option<PathBuf>,
    /// Of sorted5: words become their stems, by the rules of Snowball
    #[arg(long, value_name = "LANGUAGE", value_parser = language())]
    pub(crate) stem: Option<Language>,
    /// Of sorted5: what chunks are hashed with [default: md5]
    #[arg(long, value_name = "HASH", value_parser = hash())]
    pub(crate) hash: Option<ChunkHashing>,
    /// Of sorted5: N processes share the work
    #[arg(long, value_name = "N", value_parser = shards())]
    pub(crate) shards: Option<u32>,
    /// Make the identifiers of code equal, or leave out what formats a document, first
    #[arg(long, value_name = "FORM", default_value = "none")]
    pub(crate) canonical: Form,
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

/// From how many files on a shingle is common: a number, or `off` (0).
fn common(text: &str) -> Result<u32, String> {
    if text == "off" {
        return Ok(0);
    }
    match text.parse() {
        Ok(0) | Err(_) => Err("neither a number of files from 1 on nor `off`".to_owned()),
        Ok(common) => Ok(common),
    }
}

fn method() -> impl clap::builder::TypedValueParser<Value = Method> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = PossibleValuesParser::new(Method::ALL.map(Method::name));
    names.try_map(|name| name.parse::<Method>())
}

/// Forms of a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
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

/// What may be in a group together.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Groups")]
pub(crate) struct GroupRules {
    /// Together only if the smaller has this share of the larger's size
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) size_ratio: Option<Fraction>,
    /// Together only with the same suffix
    #[arg(long)]
    pub(crate) same_suffix: bool,
    /// Together only if both are text, binary or compressed
    #[arg(long)]
    pub(crate) same_type: bool,
    /// Together only if EXPR holds, such as 'b.size < 2 * a.size and suffix = "c"'
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) only: Option<WhereRule>,
    /// Together only if CMD prints their line again; it reads lines of two names and a tab
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub(crate) filter_cmd: Option<String>,
    /// Of shingle and super-shingle: ignore shingles that more than N files have; `off`: none
    #[arg(long, value_name = "N", value_parser = common)]
    pub(crate) common: Option<u32>,
    /// Of shingle: together also if SHARE of one lies in the other
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) contained: Option<Fraction>,
    /// Of shingle and super-shingle: work in DIR and keep there what another question needs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) work: Option<PathBuf>,
    /// Of sif: sets of files that all share at least N fingerprints, instead of groups
    #[arg(long, value_name = "N", conflicts_with = "min")]
    #[arg(conflicts_with_all = ["size_ratio", "same_suffix", "same_type", "only", "filter_cmd"])]
    pub(crate) interesting: Option<u64>,
}
