//! The options of `why`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{RowFormat, TextLayer};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble why report.txt report-v2.txt
      Side by side on a terminal, equal parts in equal colours; a list of ranges in a pipe.
  resemble why old.c new.c --matches-only
      Only what both have.
  DIFF=meld resemble why old.c new.c --diff
      Look at both in another program.
  resemble why contract.docx contract.pdf
      Documents are compared by their texts.
  resemble why mail.eml!report.zip!a.txt a.txt
      A member of an archive or a mail is named as the other commands print it.
  resemble why disk.img copy.img --format json
      Offsets of everything shared and everything that differs, for a script.

Runs of at least 64 bytes that both files have are shared, wherever they are; a run has the same
number and colour on both sides. In the middle: | the lines differ, < only in A here, > only in B
here.";

/// `why`
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line
pub struct WhyArgs {
    /// One file
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub a: PathBuf,
    /// The other
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub b: PathBuf,
    /// Show only what both files have
    #[arg(long, conflicts_with_all = ["side_by_side", "diff"])]
    pub matches_only: bool,
    /// Show both in two columns, as on a terminal
    #[arg(short = 'y', long, conflicts_with = "diff")]
    pub side_by_side: bool,
    /// Show both through $DIFF instead [default: diff -u]; the exit code stays that of `why`
    #[arg(long)]
    pub diff: bool,
    /// Show N equal lines around what differs; with --matches-only, N at both ends of a range
    #[arg(short = 'C', long, value_name = "N")]
    pub context: Option<usize>,
    /// How to print the answer
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Output"
    )]
    pub format: RowFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// The option to compare documents by their texts.
    #[command(flatten)]
    pub layer: TextLayer,
}
