//! The options of `lost` and `history`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use resemble_proto::number::Fraction;

use super::{Answering, RowOutput, TextLayer};
use crate::values;

pub(super) const LOST_EXAMPLES: &str = "\
Examples:
  resemble lost ~/Documents/plan.txt --in monday.cat --in tuesday.cat --in ~/Documents
      Where the content of a vanished file is now, or was last.
  resemble lost ~/Documents/plan.txt
      The same by what the daemon itself saw go, in the last 90 days.
  resemble lost --links ~/Desktop
      Which links there lead nowhere, and where what they led to is now.
  resemble lost monday.cat:/plan.txt --in ~/Documents --top 1
      The same for a file that a catalogue names.

The first row is the most recent path. Exit 0: it is more recent than the last known place;
1: it is not.";

pub(super) const HISTORY_EXAMPLES: &str = "\
Examples:
  resemble history ~/Documents/plan.txt --in monday.cat --in tuesday.cat
      How each version resembles the one before.
  resemble history --summary --in monday.cat --in tuesday.cat --in wednesday.cat -o changes
      How often and how much files change, move, come and go: a page with tables and plots.";

/// Which sweeps take part, and who answers.
#[derive(Clone, Debug, Args)]
pub struct InSweeps {
    /// A sweep: a catalogue with its date, or a directory as it is now; may be repeated. If left
    /// out, the imported catalogues and what the daemon watches
    #[arg(long = "in", value_name = "ROOT", value_hint = ValueHint::AnyPath)]
    pub within: Vec<PathBuf>,
    /// How much two files must resemble each other to be versions of one file
    #[arg(long, value_name = "SHARE", value_parser = values::share, default_value = "50%")]
    pub min: Fraction,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}

impl InSweeps {
    /// Returns the answering options with `text` set as `--text` says.
    pub fn answering(&self) -> Answering {
        self.layer.answering(&self.answering)
    }
}

/// `lost`
#[derive(Debug, Args)]
pub struct LostArgs {
    /// The path that vanished, or a file in a catalogue
    #[arg(
        value_name = "PATH",
        required_unless_present = "links",
        conflicts_with = "links"
    )]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// List the symbolic links below DIR that lead nowhere, each with its target's present place
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub links: Option<PathBuf>,
    /// Only the first N rows
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub top: Option<u64>,
    /// The selection of sweeps, and the answering process.
    #[command(flatten)]
    pub sweeps: InSweeps,
    /// The output options.
    #[command(flatten)]
    pub output: RowOutput,
}

/// `history`
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The file, as it is called now, was called, or is called in a catalogue
    #[arg(
        value_name = "FILE",
        required_unless_present = "summary",
        conflicts_with = "summary"
    )]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub file: Option<PathBuf>,
    /// Count how many files were created, edited, moved and lost from sweep to sweep; -o names a
    /// folder for the page, tables and plots, and without it the page is printed
    #[arg(long)]
    pub summary: bool,
    /// The selection of sweeps, and the answering process.
    #[command(flatten)]
    pub sweeps: InSweeps,
    /// The output options.
    #[command(flatten)]
    pub output: RowOutput,
}
