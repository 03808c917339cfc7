//! The options of `pairs`.

use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{Args, ValueHint};
use resemble_proto::message::PairScore;

use super::{Answering, ListOutput, Measuring, RelationFilter, Selection, TextLayer};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble pairs ~/Documents --top 20
      The twenty pairs of a collection that are most worth reading: alike, but not the same.
  resemble pairs ~/Documents --relation near
      All pairs of which most of each is in the other.
  resemble pairs old new --score resemblance --format tsv
      Every pair among the files of both, for a script.
  resemble pairs . --include '*.c' --exclude 'vendor/'
      Among the C files alone.
  resemble pairs . --estimate --format jsonl
      From samples alone, with intervals that hold the true figures in 19 cases of 20.";

/// `pairs`
#[derive(Debug, Args)]
#[command(mut_arg("relation", |relation| relation.alias("only")))]
pub struct PairsArgs {
    /// Directories whose files are compared, each with every other
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    #[arg(default_value_if("files_from", ArgPredicate::IsPresent, None))]
    pub dirs: Vec<PathBuf>,
    /// The score that sorts the pairs, and that --min is about [default: containment; with --top
    /// and without --score the pairs most worth reading come first]
    ///
    /// Pairs that have a relation and differ are most worth reading and come first. Pairs with the
    /// same bytes or words follow. Pairs without a relation are last. Among pairs of one kind,
    /// those with more common bytes that are rare in other files come first.
    #[arg(long, value_name = "SCORE")]
    #[arg(hide_short_help = true)]
    pub score: Option<PairScore>,
    /// A row for each two of several identical files, instead of one for all of them
    #[arg(long)]
    pub all: bool,
    /// Read more names from LIST, one per line; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    #[arg(hide_short_help = true)]
    pub files_from: Option<PathBuf>,
    /// The selection of files and rows.
    #[command(flatten)]
    pub selection: Selection,
    /// The option `--relation`, whose old name is `--only`.
    #[command(flatten)]
    pub filter: RelationFilter,
    /// The options of the measures.
    #[command(flatten)]
    pub measuring: Measuring,
    /// The output options.
    #[command(flatten)]
    pub output: ListOutput,
    /// Read nothing for the figures: all are estimates from samples, with their intervals
    #[arg(long, conflicts_with = "exact")]
    #[arg(hide_short_help = true, help_heading = super::EXPERT)]
    pub estimate: bool,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
