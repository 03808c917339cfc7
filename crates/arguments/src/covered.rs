//! The options of `covered`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use resemble_report::plan::Treatment;

use super::{Answering, MemoryBound, ReportOutput};
use crate::{plan, values};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble covered ~/old-disk --by ~/Documents --by /srv/archive && echo it can go
      Is everything of the old disk in one of the two, byte for byte, now?
  resemble covered old-disk --by kept -0 | tar -C old-disk --null -T - -cf - | tar -C kept -xf -
      Copy what is missing, so that the disk can go.
  resemble covered copy --by original --format tsv
      What is missing, near (not safe), linked and covered, for a script.
  resemble covered copy --by original --plan hardlink -o plan.sh
      A script for review that makes one file of each covered copy and its equal.
  resemble covered old-disk --by kept --plan copy=kept/rest -o plan.sh
      A script that copies what is missing, so that the disk can go.";

/// The effect of `-0` here.
const NULL: &str = "In text, print only the names of what is missing, relative to DIR, each ended \
                    by NUL; in tsv, end rows with it";

/// `covered`
#[derive(Debug, Args)]
#[command(mut_arg("null", |null| null.help(NULL)))]
pub struct CoveredArgs {
    /// The directory that is to go
    #[arg(value_name = "DIR", required_unless_present = "from", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with = "from")]
    pub dir: Option<PathBuf>,
    /// Where to look for an equal of each file, DIR itself left out; may be repeated
    #[arg(long, value_name = "ROOT", required_unless_present = "from")]
    #[arg(conflicts_with = "from", value_hint = ValueHint::AnyPath)]
    pub by: Vec<PathBuf>,
    /// Accept an equal that only a catalogue has: by its digest, without comparing bytes
    #[arg(long, conflicts_with = "from")]
    pub by_digest: bool,
    /// With --from: list only files that match GLOB (as in .gitignore); may be repeated
    #[arg(long, value_name = "GLOB", value_parser = values::glob(), help_heading = "Selection")]
    #[arg(hide_short_help = true)]
    pub include: Vec<String>,
    /// With --from: list no files that match GLOB (as in .gitignore); may be repeated
    #[arg(long, value_name = "GLOB", value_parser = values::glob(), help_heading = "Selection")]
    #[arg(hide_short_help = true)]
    pub exclude: Vec<String>,
    /// With --from: list only files of at least SIZE bytes: 4096, 10K (of 1024), 10KB (of 1000)
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Selection")]
    #[arg(hide_short_help = true)]
    pub min_size: Option<u64>,
    /// With --from: only the first N rows of each list
    #[arg(long, value_name = "N", help_heading = "Selection")]
    #[arg(value_parser = values::count, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub top: Option<u64>,
    /// In text, fold nothing, and list which file covers which
    #[arg(long)]
    pub all: bool,
    /// Print a shell script for covered copies in DIR (symlink, hardlink, reflink, trash, remove,
    /// move=DIR) or for what is missing (copy=DIR)
    ///
    /// The script does nothing without --do-it. With --undo it reverses what can be reversed.
    #[arg(long, value_name = "HOW", conflicts_with_all = ["format", "null", "all"])]
    #[arg(value_parser = plan::of_covered_copies())]
    pub plan: Option<Treatment>,
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
