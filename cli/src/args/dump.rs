//! `dump`

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use resemble_proto::message::DumpForm;

use super::{Answering, Form, MethodArgs};

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
#[command(group(ArgGroup::new("forms").required(true).multiple(true).args(["canonical", "chunks", "files", "method"])))]
pub struct DumpArgs {
    /// The form that holds nothing but the state of the tree, one line a path; with --method, =code or =text is what
    /// becomes of the bytes first
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "none", conflicts_with_all = ["chunks", "files"])]
    pub canonical: Option<Form>,
    /// One line a chunk: length, MD5, number of the file; repeats and all
    #[arg(long, conflicts_with_all = ["files", "method"])]
    pub chunks: bool,
    /// One line a file: the number that --chunks gives it, a tab, its path
    #[arg(long, conflicts_with = "method")]
    pub files: bool,
    /// The method.
    #[command(flatten)]
    pub method: MethodArgs,
    /// Only what lies under ROOT; without, all that the daemon watches
    #[arg(value_name = "ROOT", value_hint = ValueHint::AnyPath)]
    pub roots: Vec<PathBuf>,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Who answers.
    #[command(flatten)]
    pub answering: Answering,
}

impl DumpArgs {
    /// The form that was asked for.
    pub const fn form(&self) -> DumpForm {
        match (self.chunks, self.files) {
            (true, _) => DumpForm::Chunks,
            (_, true) => DumpForm::Files,
            _ => DumpForm::Canonical,
        }
    }
}
