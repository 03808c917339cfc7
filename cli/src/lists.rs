//! Prints answers that are lists of rows, in the requested format. Notes about the answer go to
//! standard error.
//!
//! The layout of a row is decided in [`resemble_report::rows`].

use std::fmt::Write as _;
use std::io::{self, Write};

use resemble_arguments::{ListAs, RowFormat, RowOutput};
use resemble_proto::documents::{Document, ListBody};
use resemble_proto::message::{Header, SoftError};
use resemble_proto::report::{self, Head, RowsName, json_line};
use resemble_report::document::{Extras, Report};
use resemble_report::human::{counted, human_count, human_size};
use resemble_report::left_out_in_words;
use resemble_report::rows::{self, Row};
use resemble_report::table::{Style, write_header, write_rows, write_table};
use serde::Serialize;

use crate::error::CliResult;
use crate::print;
use crate::ui::{Cell, Tint, Ui};

/// The note about an answer without rows. A verb may have another note.
pub const NOTHING: &str = "nothing found";

/// The line above a list whose percentages are containments. It explains the percentages.
pub const LARGER_SHARE: &str = "the larger share of one file that is in the other:";

/// The line above a list whose percentages are resemblances. It explains the percentages.
pub const RESEMBLANCE: &str = "what both have, of what either has:";

/// Prints a line that explains the percentages of the following rows, if the output is a terminal.
pub fn title<B: ListBody<Row: Row>>(
    ui: &mut Ui,
    how: &ListAs,
    title: &str,
    document: &Document<B>,
) -> CliResult<()> {
    match how {
        ListAs::Rows(output) => title_of_rows(ui, output, title, document),
        ListAs::Report(_) => Ok(()),
    }
}

/// Like [`title`], for a list that cannot be printed as a report.
pub fn title_of_rows<B: ListBody<Row: Row>>(
    ui: &mut Ui,
    output: &RowOutput,
    title: &str,
    document: &Document<B>,
) -> CliResult<()> {
    if !is_table(output) || document.body.rows().is_empty() {
        return Ok(());
    }
    ui.page();
    heading(ui, title)
}

/// Returns whether rows are printed as a table for people.
pub fn is_table(output: &RowOutput) -> bool {
    output.format == RowFormat::Text && !output.null
}

/// Prints a line above a table. It is printed on a terminal only, because every line in a pipe is a
/// row.
pub fn heading(ui: &mut Ui, title: &str) -> CliResult<()> {
    if ui.is_terminal() {
        ui.lines(&[vec![Cell::prose(title, Tint::Faint)]], b'\n')?;
    }
    Ok(())
}

/// Prints an answer that consists of one list. The list is printed as rows, as a page or as a
/// workbook.
pub fn print_as<B: ListBody<Row: Row>>(
    ui: &mut Ui,
    how: &ListAs,
    document: &Document<B>,
    report: Report<'_>,
    extras: &Extras<'_>,
    grouped: bool,
) -> CliResult<()> {
    match how {
        ListAs::Rows(output) => print_document(ui, output, document, grouped),
        ListAs::Report(format) => print::print(ui, *format, b'\n', report, extras),
    }
}

/// Prints a whole answer. If `grouped` is true, text has a line before each group of rows.
pub fn print_document<B: ListBody<Row: Row>>(
    ui: &mut Ui,
    output: &RowOutput,
    document: &Document<B>,
    grouped: bool,
) -> CliResult<()> {
    let is_lines = output.format == RowFormat::Jsonl;
    print_rows(ui, output, document.body.rows(), grouped, |out| {
        if is_lines {
            document.write_jsonl(out)
        } else {
            document.write_json(out)
        }
    })
}

/// Prints rows that are not in a [`Document`].
pub fn print<P: Serialize, R: Row>(
    ui: &mut Ui,
    output: &RowOutput,
    head: &Head<'_, P>,
    name: RowsName,
    rows: &[R],
    errors: &[SoftError],
    grouped: bool,
) -> CliResult<()> {
    let is_lines = output.format == RowFormat::Jsonl;
    print_rows(ui, output, rows, grouped, |out| {
        if is_lines {
            rows::write_jsonl(out, head, rows, errors)
        } else {
            report::write_json(out, head, name, rows, errors)
        }
    })
}

/// Prints rows. For JSON it calls `json`, which writes the whole document.
fn print_rows<R: Row>(
    ui: &mut Ui,
    output: &RowOutput,
    rows: &[R],
    grouped: bool,
    json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> CliResult<()> {
    let end = output.end();
    match output.format {
        RowFormat::Text => print_text(ui, output, rows, grouped),
        RowFormat::Json | RowFormat::Jsonl => ui.write_data(json),
        RowFormat::Csv => ui.write_data(|out| write_table(out, Style::Csv, rows, b'\n')),
        RowFormat::Tsv => ui.write_data(|out| write_table(out, Style::Tsv, rows, end)),
    }
}

/// Prints rows as text.
pub fn print_text<R: Row>(
    ui: &mut Ui,
    output: &RowOutput,
    rows: &[R],
    grouped: bool,
) -> CliResult<()> {
    if !output.null {
        ui.page();
    }
    ui.print(|out| rows::write_text(out, rows, output.end(), grouped))
}

/// Prints one row of an answer that has no end (`alerts --follow`).
pub fn print_one<R: Row>(ui: &mut Ui, output: &RowOutput, row: &R) -> CliResult<()> {
    let end = output.end();
    let one = std::slice::from_ref(row);
    match output.format {
        RowFormat::Text => ui.print(|out| rows::write_text(out, one, end, false))?,
        RowFormat::Json | RowFormat::Jsonl => ui.write_data(|out| json_line(out, row))?,
        RowFormat::Csv => ui.write_data(|out| write_rows(out, Style::Csv, one, b'\n'))?,
        RowFormat::Tsv => ui.write_data(|out| write_rows(out, Style::Tsv, one, end))?,
    }
    ui.flush()
}

/// Prints the head of an answer that has no end.
pub fn print_head<P: Serialize, R: Row>(
    ui: &mut Ui,
    output: &RowOutput,
    head: &Head<'_, P>,
) -> CliResult<()> {
    match output.format {
        RowFormat::Json | RowFormat::Jsonl => ui.write_data(|out| json_line(out, head))?,
        RowFormat::Csv => ui.write_data(write_header::<R>)?,
        RowFormat::Text | RowFormat::Tsv => {}
    }
    ui.flush()
}

/// The size of the largest family of near-copies in which each file is compared with every other
/// file.
const MOST_COMPARED: &str = "1,000";

/// Reports on standard error which rows an answer does not have, and whether it is out of date.
pub fn note_limits(ui: &mut Ui, header: &Header, top: Option<u64>, by_daemon: bool) {
    if header.shown < header.total {
        let why = top.map_or_else(
            || "the others are near-copies as well, and `resemble groups` names all".to_owned(),
            |top| format!("--top {top}"),
        );
        let (shown, total) = (header.shown, header.total);
        let (shown, total) = (human_count(shown), human_count(total));
        ui.note(&format!("{shown} of {total} rows shown ({why})"));
    }
    if let Some(files) = header.near_copies {
        ui.note(&format!(
            "{} are in families of more than {MOST_COMPARED} near-copies: each has rows with the \
             first one of its family and with its neighbours by path alone; `resemble groups` \
             names all",
            counted(files, "file")
        ));
    }
    if let Some(files) = header.unopened {
        ui.note(&format!(
            "{} not looked into (archives, mails, compressed files); `--text` does",
            counted(files, "file")
        ));
    }
    if let Some(text) = left_out_in_words(&header.left_out) {
        ui.note(&text);
    }
    if !header.fresh {
        let files = counted(header.pending, "file");
        ui.note(&if by_daemon {
            // Even if no file is waiting to be read, some folders may still have to be listed. Some
            // paths may be unreadable for now.
            let left = if header.pending == 0 {
                String::new()
            } else {
                format!(" ({files} to be read)")
            };
            format!("the daemon has not seen everything yet{left}; `resemble sync` waits for it")
        } else {
            format!("{files} changed while being read: the answer may be out of date")
        });
    }
}

/// If an answer has no rows, reports on standard error how much was searched. `what` describes the
/// empty answer in a few words.
pub fn note_nothing(ui: &mut Ui, header: &Header, what: &str) {
    let Some(looked) = header.looked.filter(|_| header.total == 0) else {
        return;
    };
    let yet = if header.fresh { "" } else { " so far" };
    let mut text = format!(
        "{what}{yet}: compared {} of {}",
        counted(looked.files, "file"),
        human_size(looked.bytes)
    );
    let left = [
        (looked.unreadable, "could not be read"),
        (
            looked.skipped,
            "left out by a pattern, a size or a file system",
        ),
        (looked.small, "under 256 bytes, found only if identical"),
    ];
    for (count, what) in left.into_iter().filter(|(count, _)| *count > 0) {
        // Writing to a string does not fail.
        write!(text, "; {} {what}", human_count(count)).unwrap_or_default();
    }
    if looked.least_run > 0 && header.fresh && ui.is_verbose() {
        let run = human_count(looked.least_run);
        write!(
            text,
            "; {run} bytes in a row in common would have been found"
        )
        .unwrap_or_default();
    }
    ui.note(&text);
}

#[cfg(test)]
#[path = "lists/tests.rs"]
mod tests;
