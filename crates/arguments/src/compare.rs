//! The options of `compare`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use resemble_proto::message::CompareClass;
use resemble_proto::number::Fraction;
use resemble_report::plan::Treatment;

use super::{Answering, MemoryBound, ReportOutput, Selection, TextLayer};
use crate::{plan, values};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble compare old new
      What became of every file: totals, moved directories, the biggest differences.
  resemble compare old new --class only-a --all
      Every file of old that has no partner in new.
  resemble compare backup disk --new-only -0 | rsync -a --from0 --files-from=- disk/ backup/
      Copy what the backup has nothing of.
  resemble compare disk backup --plan rename -o plan.sh
      A script that renames in the backup what was moved on the disk.
  resemble compare old new --format html -o report.html
      The whole report as one page.

Signs: = same  * edited  > moved  >* moved-edited  < contained (A's file lies in B's)
       { contains (B's file lies in A's)  - only-a  + only-b  ! differs and is no regular file";

/// `compare`
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// One directory or file
    #[arg(value_name = "A", required_unless_present = "from", value_hint = ValueHint::AnyPath)]
    pub a: Option<PathBuf>,
    /// The directory or file to compare it with
    #[arg(value_name = "B", required_unless_present = "from", value_hint = ValueHint::AnyPath)]
    #[arg(conflicts_with = "from")]
    pub b: Option<PathBuf>,
    /// Only rows of this class
    #[arg(long, value_name = "CLASS")]
    pub class: Vec<CompareClass>,
    /// Only the names of files of B that have no partner in A
    ///
    /// They are relative to B.
    #[arg(long, conflicts_with_all = ["class", "all"])]
    #[arg(hide_short_help = true)]
    pub new_only: bool,
    /// Look for more partners for each file; fold no rows of the text format
    ///
    /// Nothing is folded then. Without it they are looked for only of files that have no partner of
    /// 70 % at their own path. With -v the files that are the same are listed, too.
    #[arg(long)]
    pub all: bool,
    /// Leave out the list of directories that moved as a whole
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub no_trees: bool,
    /// Print a shell script that gives the files of B the names that they have in A: rename
    ///
    /// The script does nothing without --do-it, and reverses it with --undo. The next rsync from A
    /// to B then copies only what has changed.
    #[arg(long, value_name = "HOW", value_parser = plan::of_trees())]
    #[arg(conflicts_with_all = ["format", "null", "class", "new_only", "all", "top", "min"])]
    #[arg(hide_short_help = true)]
    pub plan: Option<Treatment>,
    /// The selection of files and rows.
    #[command(flatten)]
    pub selection: Selection,
    /// Measure all candidates on the files, and report what cannot be read
    #[arg(long, conflicts_with = "from", help_heading = "Selection")]
    #[arg(hide_short_help = true)]
    pub exact: bool,
    /// The output options.
    #[command(flatten)]
    pub output: ReportOutput,
    /// Pair files of different content only if one has at least this share of the other's size
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = super::EXPERT)]
    #[arg(conflicts_with = "from")]
    #[arg(hide_short_help = true)]
    pub size_ratio: Option<Fraction>,
    /// Pair files of different content only if both have the same suffix
    #[arg(long, conflicts_with = "from", help_heading = super::EXPERT)]
    #[arg(hide_short_help = true)]
    pub same_suffix: bool,
    /// Of several partners with the same score, prefer the one with the same file name
    #[arg(long, conflicts_with = "from", help_heading = super::EXPERT)]
    #[arg(hide_short_help = true)]
    pub names: bool,
    /// The memory bound.
    #[command(flatten)]
    pub bound: MemoryBound,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
