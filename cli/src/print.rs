//! Prints a report in any format except text.
//!
//! A verb makes a document ([`resemble_proto::documents`]) from an answer, or reads a saved
//! document. Both kinds of documents are printed in the same way. [`resemble_report::text`] makes
//! the text for people, and [`resemble_report`] makes pages and workbooks.

use resemble_arguments::ReportFormat;
use resemble_proto::clock;
use resemble_report::document::{Extras, Report};
use resemble_report::table::Style;
use resemble_report::tables;
use resemble_report::{html, xlsx};

use crate::error::CliResult;
use crate::ui::Ui;

/// Prints a report in any format except text, which each verb prints in its own way. `end` is the
/// byte after a row of TSV, and after a name in the lists of `fdupes`.
pub fn print(
    ui: &mut Ui,
    format: ReportFormat,
    end: u8,
    report: Report<'_>,
    extras: &Extras<'_>,
) -> CliResult<()> {
    match format {
        ReportFormat::Json => ui.write_data(|out| report.write_json(out)),
        ReportFormat::Jsonl => ui.write_data(|out| report.write_jsonl(out)),
        ReportFormat::Csv => ui.write_data(|out| tables::write(out, Style::Csv, report, b'\n')),
        ReportFormat::Tsv => ui.write_data(|out| tables::write(out, Style::Tsv, report, end)),
        ReportFormat::Fdupes => match report {
            Report::Groups(document) => ui.write_data(|out| tables::fdupes(out, document, end)),
            // All other verbs have refused `fdupes` before they read any file.
            _ => Ok(()),
        },
        ReportFormat::Html => ui.write_data(|out| html::write(out, report, extras, now())),
        ReportFormat::Xlsx => ui.write(|out| xlsx::write(out, report, extras, now())),
        // Each verb prints text itself.
        ReportFormat::Text => Ok(()),
    }
}

/// Returns the time of the report in seconds since 1970. `SOURCE_DATE_EPOCH` sets it, so that two
/// reports of the same document have the same bytes.
fn now() -> u64 {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok();
    let fixed = fixed.and_then(|seconds| seconds.parse().ok());
    fixed.unwrap_or_else(clock::now)
}
