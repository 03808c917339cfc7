//! The options of `ui`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Answering, Selection, TextLayer};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble ui ~/Documents
      What is there more than once, most bytes first: open groups, mark what can go, write a plan.
  resemble ui --compare old new
      Two directories by eye: what is edited, moved, and in one of them alone.
  resemble groups /srv --format json -o srv.json; resemble ui --from srv.json
      A report that was made before, or on another machine.

The screen changes none of the files. w writes a plan, a script that does nothing without --do-it.
T marks what a cluster shares as a template. ? lists the keys.";

/// `ui`
#[derive(Clone, Debug, Args)]
pub struct ScreenArgs {
    /// Where to look
    #[arg(value_name = "ROOT", default_value = ".", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with = "from")]
    pub roots: Vec<PathBuf>,
    /// Look at a saved report of groups or compare (json or html)
    #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,
    /// Compare two directories: the first ROOT with the second
    #[arg(long, conflicts_with = "from")]
    pub compare: bool,
    /// The selection of files and groups.
    #[command(flatten)]
    pub selection: Selection,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
