//! The method, its parameters, and the rules of groups.

use std::path::PathBuf;

use crate::method::MOST_SHARDS;
use crate::method::rules::WhereRule;
use clap::{Args, ValueEnum, ValueHint};
use resemble_arguments::values;
use resemble_methods::Method;
use resemble_methods::canonical::Canonical;
use resemble_methods::sorted5::ChunkHashing;
use resemble_methods::vocabulary::Language;
use resemble_proto::number::Fraction;

/// `--method` and the parameters of the papers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// The method that compares the files
    #[arg(long, value_name = "METHOD", value_parser = method())]
    pub(crate) method: Method,
    /// The length of a window in bytes (5-100; more for sif and bsw)
    #[arg(long, value_name = "BYTES")]
    pub(crate) window: Option<u32>,
    /// Take runs of N words instead of windows of bytes
    #[arg(long, value_name = "N", conflicts_with = "window")]
    pub(crate) words: Option<u32>,
    /// Keep one fingerprint in N; for tttd and bsw, the mean size of a chunk
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<u32>,
    /// The n of mod and bsw-min (the rate), or of min and sketch (how many are kept)
    #[arg(long = "n", value_name = "N", conflicts_with = "rate")]
    pub(crate) n: Option<u32>,
    /// For sif: the bits of a fingerprint (30-32), some of which are always zero; for sorted5: how
    /// many upper bits of a chunk's hash are kept (8-32)
    #[arg(long, value_name = "BITS")]
    pub(crate) bits: Option<u32>,
    /// For sif: keep at most N fingerprints of a file; small files in large ones may be missed
    #[arg(long, value_name = "N")]
    pub(crate) most: Option<u32>,
    /// For shingle: keep all shingles of a document with N to 2 N of them, every second one if
    /// there are 2 N to 4 N, and so on
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "n"])]
    pub(crate) sizes: Option<u32>,
    /// For super-shingle: how many shingles make one super shingle
    #[arg(long, value_name = "N")]
    pub(crate) length: Option<u32>,
    /// For shingle and super-shingle: a secret that decides which shingles are kept
    #[arg(long, value_name = "TEXT")]
    pub(crate) seed: Option<String>,
    /// For shingle and super-shingle: read the secret from FILE, because all users of a machine can
    /// see a command line; a line feed at its end is ignored
    #[arg(long, value_name = "FILE", conflicts_with = "seed", value_hint = ValueHint::FilePath)]
    pub(crate) seed_file: Option<PathBuf>,
    /// For sif-anchors: use the strings in FILE, one on each line, instead of the usual ones
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) anchors: Option<PathBuf>,
    /// For sorted5: count only the words in FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: Option<PathBuf>,
    /// For sorted5: replace words by their basic forms; a line of FILE is a word, a tab, its form
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) lemmas: Option<PathBuf>,
    /// For sorted5: replace words by their stems, by the rules of Snowball
    #[arg(long, value_name = "LANGUAGE", value_parser = language())]
    pub(crate) stem: Option<Language>,
    /// For sorted5: the hash of chunks [default: md5]
    #[arg(long, value_name = "HASH", value_parser = hash())]
    pub(crate) hash: Option<ChunkHashing>,
    /// For sorted5: share the work among N processes
    #[arg(long, value_name = "N", value_parser = shards())]
    pub(crate) shards: Option<u32>,
    /// First make the identifiers of code equal, or leave out the formatting of documents
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

/// Parses the number of files above which a shingle is common. Returns 0 for `off`.
fn common(text: &str) -> Result<u32, String> {
    if text == "off" {
        return Ok(0);
    }
    match text.parse() {
        Ok(0) | Err(_) => Err("it is neither a number of files (1 or more) nor `off`".to_owned()),
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
    /// The content as it is.
    #[default]
    None,
    /// Code with all identifiers made equal and without comments.
    Code,
    /// Documents without headers of PostScript, requests of troff and commands of TeX.
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

/// Which files may be in a group together.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Groups")]
pub(crate) struct GroupRules {
    /// Group files only if the smaller one has at least this share of the larger one's size
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) size_ratio: Option<Fraction>,
    /// Group files only if they have the same suffix
    #[arg(long)]
    pub(crate) same_suffix: bool,
    /// Group files only if both are text, both binary or both compressed
    #[arg(long)]
    pub(crate) same_type: bool,
    /// Group files only if EXPR holds, such as 'b.size < 2 * a.size and suffix = "c"'
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) only: Option<WhereRule>,
    /// Group files only if CMD prints their line again; it reads lines of two names and a tab
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub(crate) filter_cmd: Option<String>,
    /// For shingle and super-shingle: ignore shingles that more than N files have; `off`: none
    #[arg(long, value_name = "N", value_parser = common)]
    pub(crate) common: Option<u32>,
    /// For shingle: group files also if SHARE of one is in the other
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) contained: Option<Fraction>,
    /// For shingle and super-shingle: work in DIR, and leave there what another question needs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) work: Option<PathBuf>,
    /// For sif: instead of groups, list sets of files that all share at least N fingerprints
    #[arg(long, value_name = "N", conflicts_with = "min")]
    #[arg(conflicts_with_all = ["size_ratio", "same_suffix", "same_type", "only", "filter_cmd"])]
    pub(crate) interesting: Option<u64>,
}
