//! `find`

use std::path::PathBuf;

use clap::{Args, ValueHint};
use resemble_proto::message::MeasureUnit;

use super::{Answering, ListOutput, RelationFilter, Selection, TextLayer};

/// `find`
#[derive(Debug, Args)]
#[command(mut_arg("relation", |relation| relation.conflicts_with("holders")))]
pub struct FindArgs {
    /// Files to find similar ones for; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Look among the files of DIR; may be repeated
    ///
    /// If left out, it looks among all that the daemon watches, and where no daemon runs below the
    /// current directory.
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub within: Vec<PathBuf>,
    /// Read more FILE names from LIST, one per line; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    #[arg(hide_short_help = true)]
    pub files_from: Option<PathBuf>,
    /// List every file that holds parts of FILE, and where they are
    ///
    /// Members of archives are listed, too, each with the ranges of FILE, the owner and the root,
    /// if the parts have at least --min-shared bytes in all. Every file of the search is read.
    #[arg(long)]
    pub holders: bool,
    /// List as well what has only common text (a letterhead, a licence) or one passage of FILE
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    pub all: bool,
    /// Which files take part, and which rows are listed.
    #[command(flatten)]
    pub selection: Selection,
    /// Which relations rows have.
    #[command(flatten)]
    pub filter: RelationFilter,
    /// How the figures are measured.
    #[command(flatten)]
    pub measuring: Measuring,
    /// How the list is printed, and where.
    #[command(flatten)]
    pub output: ListOutput,
    /// With --holders: read only the files that share a chunk or a sample with FILE. This is
    /// faster, but can miss a paragraph in a large file
    #[arg(long, requires = "holders", conflicts_with = "exact")]
    #[arg(hide_short_help = true, help_heading = super::EXPERT)]
    pub quick: bool,
    /// Whether documents and archives are looked into.
    #[command(flatten)]
    pub layer: TextLayer,
    /// Who answers, and with which cache.
    #[command(flatten)]
    pub answering: Answering,
}

/// How the figures of a pair of files are measured.
#[derive(Clone, Copy, Debug, Args)]
pub struct Measuring {
    /// Measure on the files themselves instead of estimating from samples
    #[arg(long, help_heading = "Selection", hide = true)]
    pub exact: bool,
    /// What the measures count: bytes in common runs, or runs of five words
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "words",
        help_heading = "Selection",
        hide = true
    )]
    pub unit: MeasureUnit,
}
