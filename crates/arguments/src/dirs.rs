//! The options of `dirs`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Answering, MemoryBound, ReportOutput, Selection};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble dirs ~/Documents /mnt/backup --top 20
      The twenty pairs of directories that have the most bytes in common.
  resemble dirs /srv --of /srv/projects/alpha
      What resembles one directory.
  resemble dirs ~ --min 95% --format csv -o dirs.csv
      Nearly whole copies, for a spreadsheet.

The two percentages say how much of the first directory is in the second, and the other way round,
by bytes, whatever the files are called and wherever they lie.";

/// `dirs`
#[derive(Debug, Args)]
pub struct DirsArgs {
    /// Where to look
    #[arg(value_name = "ROOT", default_value = ".", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with = "from")]
    pub roots: Vec<PathBuf>,
    /// Only directories that resemble DIR
    #[arg(long, value_name = "DIR", conflicts_with = "from", value_hint = ValueHint::DirPath)]
    pub of: Option<PathBuf>,
    /// The selection of files and rows.
    #[command(flatten)]
    pub selection: Selection,
    /// The output options.
    #[command(flatten)]
    pub output: ReportOutput,
    /// The memory bound.
    #[command(flatten)]
    pub bound: MemoryBound,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
