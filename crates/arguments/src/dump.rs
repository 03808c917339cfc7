//! The options of `dump`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use resemble_proto::message::DumpForm;

use super::Answering;

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble dump --canonical ~/Documents > today; diff yesterday today
      What has changed, by content.
  resemble dump --chunks ~/Documents | sort -k2,2 | less
      Files that share a chunk stand next to each other.
  resemble dump --files ~/Documents
      What the numbers of the files mean.";

/// `dump`
#[derive(Debug, Args)]
#[command(group(
    ArgGroup::new("forms").required(true).multiple(true).args(["canonical", "chunks", "files"])
))]
pub struct DumpArgs {
    /// Print the state of the tree and nothing else, one line per path
    #[arg(long, conflicts_with_all = ["chunks", "files"])]
    pub canonical: bool,
    /// Print one line per chunk, repeats included: length, MD5, number of the file
    #[arg(long, conflicts_with = "files")]
    pub chunks: bool,
    /// Print one line per file: the number that --chunks gives it, a tab, its path
    #[arg(long)]
    pub files: bool,
    /// Only what lies under ROOT; if left out, all that the daemon watches
    #[arg(value_name = "ROOT", value_hint = ValueHint::AnyPath)]
    pub roots: Vec<PathBuf>,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}

impl DumpArgs {
    /// Returns the requested form.
    pub const fn form(&self) -> DumpForm {
        match (self.chunks, self.files) {
            (true, _) => DumpForm::Chunks,
            (_, true) => DumpForm::Files,
            _ => DumpForm::Canonical,
        }
    }
}
