//! The options of `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use resemble_proto::number::Fraction;

use super::{Answering, TextLayer};
use crate::values;

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble check --staged
      Before a commit: is a staged file a near-copy of one that is there, or of another one?
  resemble check - --name src/parse.rs < draft
      Before a file is written: does another file hold what is about to be written?
  resemble check src/*.rs --min 95% --format sarif -o check.sarif
      For code scanning.
  resemble check --staged --baseline accepted.txt --accept
      These pairs are meant to be alike: with --baseline they are rows no more.";

/// `check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files to check; - is standard input
    #[arg(
        value_name = "FILE",
        required_unless_present = "staged",
        conflicts_with = "staged"
    )]
    #[arg(value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// The path that FILE is to be written to: what is there is no copy of it
    #[arg(long, value_name = "PATH", conflicts_with = "staged", value_hint = ValueHint::FilePath)]
    pub name: Option<PathBuf>,
    /// Check what is staged in git, and compare it with each other, too
    #[arg(long)]
    pub staged: bool,
    /// Look among the files of DIR; may be repeated
    ///
    /// If left out, it looks in the git work tree, at what git does not ignore; outside of one
    /// where `find` looks.
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub within: Vec<PathBuf>,
    /// Only if this share of the smaller one is in the other, common text left out
    #[arg(long, value_name = "SHARE", value_parser = values::share, default_value = "80%")]
    pub min: Fraction,
    /// No files that match GLOB as in .gitignore; repeatable
    #[arg(long, value_name = "GLOB", value_parser = values::glob())]
    pub exclude: Vec<String>,
    /// Leave out the pairs of contents that FILE lists
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,
    /// Add the rows to the baseline
    #[arg(long, requires = "baseline")]
    pub accept: bool,
    /// How to print the answer
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Output"
    )]
    pub format: CheckFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}

/// Formats of `check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// One sentence a row.
    #[default]
    Text,
    /// One object with parameters, rows and errors.
    Json,
    /// The same with one object per line: header, rows, errors.
    Jsonl,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
}
