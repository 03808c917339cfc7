//! Answers made of rows, in every format.
//!
//! A row type says once what its columns are ([`Row`]); text, tables and JSON follow from that.

mod fold;
mod holders;
mod method;
mod sweeps;

use std::fmt::Write as _;

use resemble_core::Relation;
use resemble_proto::message::{
    AlertKind, AlertRow, Differs, Discount, FindRow, Header, OrderRow, PairRow, SoftError, WatchRow,
};
use resemble_proto::number::Fraction;
use resemble_proto::report::{self, Head, RowsName, json_line, write_error_line};
use serde::Serialize;

use crate::args::{RowFormat, RowOutput};
use crate::error::CliResult;
use crate::table::{Field, Style, write_row};
use crate::ui::{Cell, Tint, Ui};
use crate::values::{human_count, human_size};

pub use fold::FoldRow;
pub use sweeps::{Became, LostRow, VersionRow};

/// A row that can be printed.
pub trait Row: Serialize {
    /// The names of the columns of CSV, in the order of [`Self::fields`] (and of the JSON). Readers take
    /// columns by their place: a new one goes to the end.
    const COLUMNS: &'static [&'static str];

    /// So many of the columns are in TSV. It has no header row, so what scripts count on is their number:
    /// columns that come later are in CSV alone.
    const IN_TSV: usize = Self::COLUMNS.len();

    /// The values for TSV and CSV.
    fn fields(&self) -> Vec<Field<'_>>;

    /// The cells of its line of text.
    fn cells(&self, ui: &Ui) -> Vec<Cell>;

    /// The heading that the line stands under, if lines are grouped.
    fn heading(&self, ui: &Ui) -> Option<Cell> {
        let _ = ui;
        None
    }
}

/// Prints a whole answer. `grouped`: text gets a line before each group of rows.
pub fn print<P: Serialize, R: Row>(
    ui: &mut Ui,
    output: &RowOutput,
    head: &Head<'_, P>,
    name: RowsName,
    rows: &[R],
    errors: &[SoftError],
    grouped: bool,
) -> CliResult<()> {
    let end = if output.null { b'\0' } else { b'\n' };
    match output.format {
        RowFormat::Text => {
            if !output.null {
                ui.page();
            }
            print_text(ui, rows, end, grouped)
        }
        RowFormat::Json => ui.write(|out| report::write_json(out, head, name, rows, errors)),
        RowFormat::Jsonl => ui.write(|out| {
            json_line(out, head)?;
            rows.iter().try_for_each(|row| json_line(out, row))?;
            errors
                .iter()
                .try_for_each(|error| write_error_line(out, error))
        }),
        RowFormat::Csv => ui.write(|out| {
            writeln!(out, "{}", R::COLUMNS.join(","))?;
            rows.iter()
                .try_for_each(|row| write_row(out, Style::Csv, &row.fields(), b'\n'))
        }),
        RowFormat::Tsv => ui.write(|out| {
            rows.iter()
                .try_for_each(|row| write_row(out, Style::Tsv, tsv_fields::<R>(&row.fields()), end))
        }),
    }
}

fn tsv_fields<'f, R: Row>(fields: &'f [Field<'f>]) -> &'f [Field<'f>] {
    &fields[..R::IN_TSV.min(fields.len())]
}

/// Prints one row of an answer that never ends.
pub fn print_one<R: Row>(ui: &mut Ui, output: &RowOutput, row: &R) -> CliResult<()> {
    let end = if output.null { b'\0' } else { b'\n' };
    match output.format {
        RowFormat::Text => print_text(ui, std::slice::from_ref(row), end, false)?,
        RowFormat::Json | RowFormat::Jsonl => ui.write(|out| json_line(out, row))?,
        RowFormat::Csv => ui.write(|out| write_row(out, Style::Csv, &row.fields(), b'\n'))?,
        RowFormat::Tsv => {
            ui.write(|out| write_row(out, Style::Tsv, tsv_fields::<R>(&row.fields()), end))?;
        }
    }
    ui.flush()
}

/// Prints what comes before the first row of an answer that never ends.
pub fn print_head<P: Serialize, R: Row>(
    ui: &mut Ui,
    output: &RowOutput,
    head: &Head<'_, P>,
) -> CliResult<()> {
    match output.format {
        RowFormat::Json | RowFormat::Jsonl => ui.write(|out| json_line(out, head))?,
        RowFormat::Csv => ui.write(|out| writeln!(out, "{}", R::COLUMNS.join(",")))?,
        RowFormat::Text | RowFormat::Tsv => {}
    }
    ui.flush()
}

/// Says on standard error what an answer does not hold.
pub fn note_limits(ui: &mut Ui, header: &Header, top: Option<u64>, by_daemon: bool) {
    if let Some(top) = top.filter(|_| header.shown < header.total) {
        ui.note(&format!(
            "{} of {} rows shown (--top {top})",
            header.shown, header.total
        ));
    }
    if !header.fresh {
        let files = match header.pending {
            1 => "1 file".to_owned(),
            files => format!("{files} files"),
        };
        ui.note(&if by_daemon {
            format!("the daemon has not seen everything yet ({files} to be read); `resemble sync` waits for it")
        } else {
            format!("{files} changed while being read: the answer may be out of date")
        });
    }
}

/// Says on standard error what an answer without rows was made of: nothing found is an answer. `what` is
/// the answer in two words.
pub fn note_nothing(ui: &mut Ui, header: &Header, what: &str) {
    let Some(looked) = header.looked.filter(|_| header.total == 0) else {
        return;
    };
    let mut text = format!(
        "{what}: compared {} of {}",
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
    if looked.least_run > 0 {
        let run = human_count(looked.least_run);
        write!(text, "; a common run of {run} bytes would have been seen").unwrap_or_default();
    }
    ui.note(&text);
}

/// `1 file`, `12,345 files`.
pub fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", human_count(count))
}

fn print_text<R: Row>(ui: &mut Ui, rows: &[R], end: u8, grouped: bool) -> CliResult<()> {
    let mut lines = Vec::with_capacity(rows.len());
    let mut current: Option<Vec<u8>> = None;
    for row in rows {
        if let Some(heading) = row.heading(ui).filter(|_| grouped)
            && current.as_deref() != Some(heading.bytes())
        {
            current = Some(heading.bytes().to_vec());
            lines.push(vec![heading]);
        }
        lines.push(row.cells(ui));
    }
    ui.lines(&lines, end)
}

/// `97%`, or `?` for what is too small to judge.
fn percent(share: Fraction, identical: bool, tint: Tint) -> Cell {
    match share.percent(identical) {
        Some(percent) => Cell::right(format!("{percent}%"), tint),
        None => Cell::right("?", tint),
    }
}

fn tint(relation: Option<Relation>) -> Tint {
    match relation {
        Some(Relation::Identical | Relation::SameText) => Tint::Good,
        Some(Relation::Shares) | None => Tint::Faint,
        Some(_) => Tint::Plain,
    }
}

fn word(relation: Option<Relation>) -> &'static str {
    relation.map_or("-", Relation::word)
}

/// The columns of `-v`: both containments and the proven bytes.
fn details(a_in_b: Fraction, b_in_a: Fraction, shared: u64, identical: bool) -> [Cell; 3] {
    let share = |share: Fraction| {
        share
            .percent(identical)
            .map_or("?".to_owned(), |percent| format!("{percent}%"))
    };
    [
        Cell::left(format!("a in b {}", share(a_in_b)), Tint::Faint),
        Cell::left(format!("b in a {}", share(b_in_a)), Tint::Faint),
        Cell::right(format!("at least {shared} bytes"), Tint::Faint),
    ]
}

/// The reason of a discount as a column; nothing where there is none.
pub fn reason(discount: &Discount) -> Field<'_> {
    let reason = discount.reason.as_deref();
    reason.map_or(Field::Nothing, |text| Field::Name(text.as_bytes()))
}

/// The reason of a discount that changes the picture: by ten points or more.
fn much_discounted(raw: Fraction, discount: &Discount) -> Option<Cell> {
    const MUCH: u32 = 100_000;
    let lost = raw
        .millionths()?
        .saturating_sub(discount.discounted.millionths()?);
    let reason = discount.reason.as_ref().filter(|_| lost >= MUCH)?;
    Some(Cell::left(format!("({reason})"), Tint::Faint))
}

impl Row for FindRow {
    const COLUMNS: &'static [&'static str] = &[
        "file",
        "path",
        "relation",
        "layer",
        "a_in_b",
        "b_in_a",
        "resemblance",
        "shared_bytes",
        "discounted",
        "reason",
    ];
    const IN_TSV: usize = 8;

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.file.as_bytes()),
            Field::Name(self.path.as_bytes()),
            Field::Word(self.relation.map_or("", Relation::word)),
            Field::Word(self.layer.word()),
            Field::Share(self.a_in_b),
            Field::Share(self.b_in_a),
            Field::Share(self.resemblance),
            Field::Count(self.shared_bytes),
            Field::Share(self.discount.discounted),
            reason(&self.discount),
        ]
    }

    fn cells(&self, ui: &Ui) -> Vec<Cell> {
        let tint = tint(self.relation);
        let identical = self.is_identical();
        let mut cells = vec![
            percent(self.score(), identical, tint),
            Cell::left(word(self.relation), tint),
        ];
        if ui.is_verbose() {
            cells.extend(details(
                self.a_in_b,
                self.b_in_a,
                self.shared_bytes,
                identical,
            ));
            if !self.layer.is_bytes() {
                cells.push(Cell::left("by text", Tint::Faint));
            }
        }
        cells.push(ui.name(&self.path, Tint::Plain));
        cells.extend(much_discounted(self.score(), &self.discount));
        if self.differs == Some(Differs::OnlyInNumbers) {
            cells.push(Cell::left("(differ only in numbers)", Tint::Faint));
        }
        cells
    }

    fn heading(&self, ui: &Ui) -> Option<Cell> {
        Some(ui.name(&self.file, Tint::Heading).followed_by(":"))
    }
}

impl Row for PairRow {
    const COLUMNS: &'static [&'static str] = &[
        "a",
        "b",
        "score",
        "a_in_b",
        "b_in_a",
        "resemblance",
        "shared_bytes",
        "discounted",
        "reason",
    ];
    const IN_TSV: usize = 7;

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.a.as_bytes()),
            Field::Name(self.b.as_bytes()),
            Field::Share(self.score),
            Field::Share(self.a_in_b),
            Field::Share(self.b_in_a),
            Field::Share(self.resemblance),
            Field::Count(self.shared_bytes),
            Field::Share(self.discount.discounted),
            reason(&self.discount),
        ]
    }

    fn cells(&self, ui: &Ui) -> Vec<Cell> {
        let tint = if self.identical {
            Tint::Good
        } else {
            Tint::Plain
        };
        let mut cells = vec![percent(self.score, self.identical, tint)];
        if ui.is_verbose() {
            cells.extend(details(
                self.a_in_b,
                self.b_in_a,
                self.shared_bytes,
                self.identical,
            ));
        }
        cells.push(ui.name(&self.a, Tint::Plain));
        cells.push(ui.name(&self.b, Tint::Plain));
        cells.extend(much_discounted(self.score, &self.discount));
        cells
    }
}

impl Row for AlertRow {
    const COLUMNS: &'static [&'static str] = &[
        "seq",
        "time",
        "kind",
        "a",
        "b",
        "relation",
        "a_in_b",
        "b_in_a",
        "shared_bytes",
        "files",
    ];

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Count(self.seq),
            Field::Count(self.time),
            Field::Word(match self.kind {
                AlertKind::File => "file",
                AlertKind::Tree => "tree",
            }),
            Field::Name(self.a.as_bytes()),
            Field::Name(self.b.as_bytes()),
            Field::Word(self.relation.map_or("", Relation::word)),
            Field::Share(self.a_in_b),
            Field::Share(self.b_in_a),
            Field::Count(self.shared_bytes),
            Field::Count(self.files),
        ]
    }

    fn cells(&self, ui: &Ui) -> Vec<Cell> {
        let time = Cell::left(utc(self.time), Tint::Faint);
        let (a, b) = (ui.name(&self.a, Tint::Plain), ui.name(&self.b, Tint::Plain));
        if self.kind == AlertKind::Tree {
            let what = format!("{} files, a copy of", self.files);
            return vec![time, a, Cell::left(what, Tint::Notable), b];
        }
        let identical = self.relation == Some(Relation::Identical);
        let tint = tint(self.relation);
        let score = percent(self.a_in_b.max(self.b_in_a), identical, tint);
        vec![time, score, Cell::left(word(self.relation), tint), a, b]
    }
}

impl Row for OrderRow {
    const COLUMNS: &'static [&'static str] = &["path"];

    fn fields(&self) -> Vec<Field<'_>> {
        vec![Field::Name(self.path.as_bytes())]
    }

    fn cells(&self, ui: &Ui) -> Vec<Cell> {
        vec![ui.name(&self.path, Tint::Plain)]
    }
}

impl Row for WatchRow {
    const COLUMNS: &'static [&'static str] =
        &["path", "origin", "ignore", "one_file_system", "text"];

    fn fields(&self) -> Vec<Field<'_>> {
        let yes = |yes| Field::Word(if yes { "true" } else { "false" });
        vec![
            Field::Name(self.path.as_bytes()),
            Field::Word(self.origin.word()),
            yes(self.ignore),
            yes(self.one_file_system),
            yes(self.text),
        ]
    }

    fn cells(&self, ui: &Ui) -> Vec<Cell> {
        let mut cells = vec![ui.name(&self.path, Tint::Plain)];
        if ui.is_verbose() {
            cells.push(Cell::left(self.origin.word(), Tint::Faint));
        }
        if self.ignore {
            cells.push(Cell::left("without ignored files", Tint::Faint));
        }
        if self.one_file_system {
            cells.push(Cell::left("one file system", Tint::Faint));
        }
        if !self.text {
            cells.push(Cell::left("by its bytes alone", Tint::Faint));
        }
        cells
    }
}

/// The day of a time of last change: `2026-09-01`; `-` before 1970.
pub fn day(seconds: i64) -> String {
    match u64::try_from(seconds) {
        Ok(seconds) => utc(seconds).split('T').next().unwrap_or("-").to_owned(),
        Err(_) => "-".to_owned(),
    }
}

/// Seconds since 1970 as `2026-09-01T12:34:56Z`. The calendar is Howard Hinnant's
/// `civil_from_days`, exact for every day of the proleptic Gregorian calendar.
pub(crate) fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01: leap days fall on the end of a year that starts in March.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
#[path = "rows/tests.rs"]
mod tests;
