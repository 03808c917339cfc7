//! The options of `find`.

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
    /// The selection of files and rows.
    #[command(flatten)]
    pub selection: Selection,
    /// The relations of rows.
    #[command(flatten)]
    pub filter: RelationFilter,
    /// The options of the measures.
    #[command(flatten)]
    pub measuring: Measuring,
    /// The output options.
    #[command(flatten)]
    pub output: ListOutput,
    /// With --holders: read only the files that share a chunk or a sample with FILE. This is
    /// faster, but can miss a paragraph in a large file
    #[arg(long, requires = "holders", conflicts_with = "exact")]
    #[arg(hide_short_help = true, help_heading = super::EXPERT)]
    pub quick: bool,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}

/// The options of the measures of a pair of files.
#[derive(Clone, Copy, Debug, Args)]
pub struct Measuring {
    /// Measure on the files themselves instead of estimating from samples
    #[arg(long, help_heading = "Selection", hide = true)]
    pub exact: bool,
    /// What the measures count: words in common runs of five or more, or bytes in common runs of 64
    /// or more
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "words",
        help_heading = "Selection",
        hide = true
    )]
    pub unit: MeasureUnit,
}
