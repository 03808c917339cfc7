//! The options of `versions`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Answering, RowOutput, TextLayer};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble versions thesis.docx
      All earlier and later versions among the files that the daemon watches, oldest first.
  resemble versions thesis.docx --in ~/Documents --in /mnt/stick
      Among the files of two directories; needs no daemon.
  resemble versions thesis.docx --format tsv | tail -1 | cut -f1
      The name of the newest one.";

/// `versions`
#[derive(Debug, Args)]
pub struct VersionsArgs {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Look among the files of DIR; may be repeated
    ///
    /// If left out, it looks among all that the daemon watches, and where no daemon runs below the
    /// current directory.
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub within: Vec<PathBuf>,
    /// The output options.
    #[command(flatten)]
    pub output: RowOutput,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
