//! The output options of `compare`, `covered`, `dirs` and `groups`. `find` and `pairs` have most of
//! them, because their lists can be printed as reports, too.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use resemble_proto::message::SoftError;
use strum::IntoStaticStr;

use super::{RowFormat, RowOutput};

/// The output options of a report.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ReportOutput {
    /// How to print the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = without_fdupes())]
    pub format: ReportFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// End rows (tsv) and lists of names with NUL instead of a newline
    #[arg(short = '0', long)]
    #[arg(hide_short_help = true)]
    pub null: bool,
    /// Print a saved report (json or html) again, filtered anew, instead of looking at files
    #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath)]
    #[arg(hide_short_help = true)]
    pub from: Option<PathBuf>,
    /// In html, show the best N pairs of files side by side
    #[arg(long, value_name = "N", default_value = "50")]
    #[arg(hide_short_help = true, help_heading = super::EXPERT)]
    pub evidence: usize,
}

/// Formats of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ReportFormat {
    /// For people: what weighs most first, whole percents, names quoted on a terminal.
    #[default]
    Text,
    /// One object with parameters, totals, rows and errors.
    Json,
    /// The same with one object per line: header, rows, errors.
    Jsonl,
    /// Comma-separated, with a header row.
    Csv,
    /// Tab-separated, no header row; \t, \n and \\ in names.
    Tsv,
    /// One page that a browser shows without any network.
    Html,
    /// A workbook with outline groups.
    Xlsx,
    /// Sets of identical files, one name per line, an empty line between sets.
    Fdupes,
}

/// The formats without `fdupes`, for verbs that have no sets of identical files. `fdupes` is not
/// listed, but it is parsed, so that [`ReportOutput::check`] can report why it is refused.
fn without_fdupes() -> impl TypedValueParser<Value = ReportFormat> {
    let listed = ReportFormat::value_variants().iter().filter_map(|format| {
        let value = format.to_possible_value()?;
        Some(value.hide(*format == ReportFormat::Fdupes))
    });
    PossibleValuesParser::new(listed).try_map(|word| ReportFormat::from_str(&word, false))
}

impl ReportFormat {
    /// Returns an empty list for errors if the format prints errors; otherwise `None`.
    pub fn errors(self) -> Option<Vec<SoftError>> {
        self.for_rows().and_then(RowFormat::errors)
    }

    /// Returns whether the report is made of JSON objects.
    pub fn is_json(self) -> bool {
        self.for_rows().is_some_and(RowFormat::is_json)
    }

    /// Returns the name of the format on the command line.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Returns the same format for rows, or `None` if the format is only for whole reports.
    const fn for_rows(self) -> Option<RowFormat> {
        match self {
            Self::Text => Some(RowFormat::Text),
            Self::Json => Some(RowFormat::Json),
            Self::Jsonl => Some(RowFormat::Jsonl),
            Self::Csv => Some(RowFormat::Csv),
            Self::Tsv => Some(RowFormat::Tsv),
            Self::Html | Self::Xlsx | Self::Fdupes => None,
        }
    }

    const fn ends_with_null(self) -> bool {
        matches!(self, Self::Text | Self::Tsv | Self::Fdupes)
    }
}

/// The reason why output options are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// The format is for sets of identical files, and this verb has none.
    #[error("--format fdupes is for sets of identical files; `{0}` has none")]
    NoSets(String),
    /// `-0` is given, and this format has no lines that NUL could end.
    #[error("-0 ends lines with NUL; --format {} has no such lines", .0.word())]
    NoLines(ReportFormat),
    /// `-0` is given for text. The value describes the output that `-0` is for.
    #[error("-0 is for {0}; a line of text can have several names")]
    SeveralNames(String),
    /// The output is a list of names, which this format cannot print.
    #[error("{list} prints names; --format {} is for whole reports", .format.word())]
    NoNames {
        /// A description of the list.
        list: String,
        /// The format.
        format: ReportFormat,
    },
    /// A workbook would go to a terminal.
    #[error("a workbook cannot be shown on a terminal: name a file with -o")]
    Workbook,
}

impl ReportOutput {
    /// Refuses options that contradict each other, before any file is read. `fdupes` is true if the
    /// verb has sets of identical files.
    pub fn check(&self, verb: &str, fdupes: bool) -> Result<(), OutputError> {
        match self.format {
            ReportFormat::Fdupes if !fdupes => Err(OutputError::NoSets(verb.to_owned())),
            ReportFormat::Xlsx if !self.null => not_for_a_terminal(self.output.as_deref()),
            format if self.null && !format.ends_with_null() => Err(OutputError::NoLines(format)),
            _ => Ok(()),
        }
    }

    /// Refuses `-0` for text, whose lines can have several names. `names` describes the output that
    /// `-0` is for.
    pub fn check_null(&self, names: &str) -> Result<(), OutputError> {
        if self.null && self.format == ReportFormat::Text {
            return Err(OutputError::SeveralNames(names.to_owned()));
        }
        Ok(())
    }

    /// Returns these options for an output that is a list of names. `list` describes the list in
    /// the error about a format that cannot print rows.
    pub fn as_rows(&self, list: &str) -> Result<RowOutput, OutputError> {
        let Some(format) = self.format.for_rows() else {
            return Err(OutputError::NoNames {
                list: list.to_owned(),
                format: self.format,
            });
        };
        Ok(RowOutput {
            format,
            output: self.output.clone(),
            null: self.null,
        })
    }

    /// The byte after a row.
    pub const fn end(&self) -> u8 {
        if self.null { b'\0' } else { b'\n' }
    }
}

/// The output options of a list that can also be a report.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ListOutput {
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = without_fdupes())]
    pub format: ReportFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// End rows (text, tsv) and names read by --files-from with NUL instead of a newline
    #[arg(short = '0', long)]
    #[arg(hide_short_help = true)]
    pub null: bool,
}

/// The form in which a list is printed: row by row, or as a report.
#[derive(Clone, Debug)]
pub enum ListAs {
    /// Row by row.
    Rows(RowOutput),
    /// A page or a workbook.
    Report(ReportFormat),
}

impl ListAs {
    /// Returns whether rows are objects.
    pub const fn is_json(&self) -> bool {
        matches!(self, Self::Rows(output) if output.format.is_json())
    }
}

impl ListOutput {
    /// Returns the form of the list of this verb. Refuses options that contradict each other,
    /// before any file is read.
    pub fn checked(&self, verb: &str) -> Result<ListAs, OutputError> {
        match (self.format, self.format.for_rows()) {
            (ReportFormat::Fdupes, _) => return Err(OutputError::NoSets(verb.to_owned())),
            (ReportFormat::Xlsx, _) => not_for_a_terminal(self.output.as_deref())?,
            (_, Some(format)) => {
                return Ok(ListAs::Rows(RowOutput {
                    format,
                    output: self.output.clone(),
                    null: self.null,
                }));
            }
            (_, None) => {}
        }
        Ok(ListAs::Report(self.format))
    }
}

fn not_for_a_terminal(output: Option<&Path>) -> Result<(), OutputError> {
    if output.is_none_or(|path| path == Path::new("-")) && is_terminal() {
        return Err(OutputError::Workbook);
    }
    Ok(())
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdout())
}
