//! Reports in the formats for other programs: one document, many printers.
//!
//! A verb makes a document ([`resemble_proto::documents`]) from an answer, or reads a saved one;
//! from there on nobody knows which it was. Text for people is in [`crate::text`], pages and
//! workbooks are in [`crate::report`].

mod tables;

use crate::args::{ReportFormat, ReportOutput};
use crate::error::CliResult;
use crate::report::{self, Extras, Report};
use crate::table::Style;
use crate::ui::Ui;

/// Prints a report in any format but text, for which each verb has its own view.
pub fn print(
    ui: &mut Ui,
    output: &ReportOutput,
    report: Report<'_>,
    extras: &Extras<'_>,
) -> CliResult<()> {
    let end = output.end();
    match output.format {
        ReportFormat::Json => ui.write(|out| report.write_json(out)),
        ReportFormat::Jsonl => ui.write(|out| report.write_jsonl(out)),
        ReportFormat::Csv => ui.write(|out| tables::write(out, Style::Csv, report, b'\n')),
        ReportFormat::Tsv => ui.write(|out| tables::write(out, Style::Tsv, report, end)),
        ReportFormat::Fdupes => match report {
            Report::Groups(document) => ui.write(|out| tables::fdupes(out, document, end)),
            // Refused before anything was looked at.
            _ => Ok(()),
        },
        format @ (ReportFormat::Html | ReportFormat::Xlsx | ReportFormat::Text) => {
            ui.write(|out| report::write(out, format, report, extras))
        }
    }
}

#[cfg(test)]
mod tests;
