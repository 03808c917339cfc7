//! The options of `text`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble text contract.pdf
      The text by which contract.pdf is compared with other files.
  resemble text --members mail.eml | grep -n offer
      What a mail and its attachments say.
  git config diff.resemble.textconv 'resemble text'
      With `*.docx diff=resemble` in .gitattributes, `git diff` compares what documents say.

Lines are those that `resemble why` names. What could not be read of a document is reported.";

/// `text`
#[derive(Debug, Args)]
pub struct TextArgs {
    /// Files, or members of archives; of several each has a heading
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Print the texts of the members of archives and mails, each with a heading
    #[arg(long)]
    pub members: bool,
    /// Number the lines, as `why` does
    #[arg(long)]
    pub lines: bool,
}
