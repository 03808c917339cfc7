//! The output options of answers.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use resemble_proto::message::SoftError;

/// The output options of rows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct RowOutput {
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: RowFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// End rows (text, tsv) and names read by --files-from with NUL instead of a newline
    #[arg(short = '0', long)]
    #[arg(hide_short_help = true)]
    pub null: bool,
}

/// The output options of a single answer.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct DocumentOutput {
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: DocumentFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

impl RowOutput {
    /// Returns the byte that ends a row of text or TSV.
    pub const fn end(&self) -> u8 {
        if self.null { b'\0' } else { b'\n' }
    }
}

/// Formats of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// For people: whole percents, names quoted on a terminal.
    #[default]
    Text,
    /// One object with parameters, rows and errors.
    Json,
    /// The same with one object per line: header, rows, errors.
    Jsonl,
    /// Comma-separated, with a header row.
    Csv,
    /// Tab-separated, no header row; \t, \n and \\ in names.
    Tsv,
}

impl RowFormat {
    /// Returns an empty list for errors if the format prints errors; otherwise `None`.
    pub fn errors(self) -> Option<Vec<SoftError>> {
        self.is_json().then(Vec::new)
    }

    /// Returns whether a row is printed as a JSON object, which includes all fields.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }
}

/// Formats of single answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DocumentFormat {
    /// For people.
    #[default]
    Text,
    /// One object.
    Json,
}
