//! Answers that are lists of rows, in every format.
//!
//! The type of a row says once what its columns are ([`Row`]); text, tables and JSON follow from
//! that.

mod dated;
mod fold;
mod holders;
mod sweeps;
mod templates;
mod versions;

use std::io::{self, Write};

use resemble_core::Relation;
use resemble_proto::message::{
    AckRow, AlertKind, AlertRow, AlertRules, Differs, Discount, FindRow, OrderRow, PairRow,
    RootRules, SoftError, WatchRow,
};
use resemble_proto::number::Fraction;
use resemble_proto::report::{Head, json_line, write_error_line};
use serde::Serialize;

use crate::human::{counted, human_count, human_size};
use crate::lines::{Cell, TextStyle, TextWriter, Tint};
use crate::quote::harmless;
use crate::table::{Field, Style, write_row};

pub use dated::DatedRow;
pub use fold::FoldRow;
pub use sweeps::{Became, LostRow, VersionRow};
pub use versions::DatedVersion;

/// The columns of a row, each with its name and its value: [`Row::COLUMNS`] and [`Row::fields`].
/// Those after `later` are [`Row::LATER_COLUMNS`].
macro_rules! columns {
    (
        $row:ident;
        $($name:literal: $field:expr,)*
        $(later $($later:literal: $added:expr,)*)?
    ) => {
        const COLUMNS: &'static [&'static str] = &[$($name),*];
        $(const LATER_COLUMNS: &'static [&'static str] = &[$($later),*];)?

        fn fields(&self) -> Vec<$crate::table::Field<'_>> {
            let $row = self;
            vec![$($field,)* $($($added,)*)?]
        }
    };
}
pub(crate) use columns;

/// A row that can be printed.
pub trait Row: Serialize {
    /// The names of the columns of TSV and CSV, in the order of [`Self::fields`] and of the JSON.
    /// TSV has no header row, so scripts count on the number of its columns: it never changes.
    const COLUMNS: &'static [&'static str];

    /// The names of the columns that were added later. They are in CSV alone, after the others,
    /// because readers take columns by their place.
    const LATER_COLUMNS: &'static [&'static str] = &[];

    /// The names of all columns.
    fn columns() -> Vec<&'static str> {
        [Self::COLUMNS, Self::LATER_COLUMNS].concat()
    }

    /// The values for TSV and CSV.
    fn fields(&self) -> Vec<Field<'_>>;

    /// The cells of its line of text.
    fn cells(&self, style: TextStyle) -> Vec<Cell>;

    /// The heading above the line, if lines are grouped.
    fn heading(&self, style: TextStyle) -> Option<Cell> {
        let _ = style;
        None
    }
}

/// Writes one line for each row. If `grouped`, a line with the heading comes before each run of
/// rows that have the same one.
pub fn write_text<R: Row>(
    out: &mut TextWriter<'_>,
    rows: &[R],
    end: u8,
    grouped: bool,
) -> io::Result<()> {
    let style = out.style();
    let mut lines = Vec::with_capacity(rows.len());
    let mut current: Option<Vec<u8>> = None;
    for row in rows {
        if let Some(heading) = row.heading(style).filter(|_| grouped)
            && current.as_deref() != Some(heading.bytes())
        {
            current = Some(heading.bytes().to_vec());
            lines.push(vec![heading]);
        }
        lines.push(row.cells(style));
    }
    out.lines(&lines, end)
}

/// Writes one object on each line: the head, the rows, the errors.
pub fn write_jsonl<P: Serialize, R: Row>(
    out: &mut dyn Write,
    head: &Head<'_, P>,
    rows: &[R],
    errors: &[SoftError],
) -> io::Result<()> {
    json_line(out, head)?;
    rows.iter().try_for_each(|row| json_line(out, row))?;
    errors
        .iter()
        .try_for_each(|error| write_error_line(out, error))
}

/// Writes the header row of CSV.
pub fn write_csv_header<R: Row>(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", R::columns().join(","))
}

/// Writes rows of CSV, without the header row.
pub fn write_csv<R: Row>(out: &mut dyn Write, rows: &[R]) -> io::Result<()> {
    rows.iter()
        .try_for_each(|row| write_row(out, Style::Csv, &row.fields(), b'\n'))
}

/// Writes rows of TSV.
pub fn write_tsv<R: Row>(out: &mut dyn Write, rows: &[R], end: u8) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        let fields = row.fields();
        write_row(
            out,
            Style::Tsv,
            &fields[..R::COLUMNS.len().min(fields.len())],
            end,
        )
    })
}

/// `97%`, or `?` for what is too small to judge.
pub(crate) fn percent_text(share: Fraction, identical: bool) -> String {
    let percent = share.percent(identical);
    percent.map_or("?".to_owned(), |percent| format!("{percent}%"))
}

/// The same as a cell, flush right.
pub(crate) fn percent(share: Fraction, identical: bool, tint: Tint) -> Cell {
    Cell::right(percent_text(share, identical), tint)
}

/// The colour of a relation.
pub fn tint(relation: Option<Relation>) -> Tint {
    match relation {
        Some(Relation::Identical | Relation::SameText) => Tint::Good,
        Some(Relation::Shares) | None => Tint::Faint,
        Some(_) => Tint::Plain,
    }
}

/// A share of files that are not identical, flush right, with a mark if it is an estimate.
pub(crate) fn marked(share: Fraction, is_estimate: bool, tint: Tint) -> Cell {
    let mark = if is_estimate { "~" } else { "" };
    Cell::right(format!("{mark}{}", percent_text(share, false)), tint)
}

/// A relation in a word; `-` for none.
pub fn word(relation: Option<Relation>) -> &'static str {
    relation.map_or("-", Relation::word)
}

/// The cells that `-v` adds: both containments and the proven bytes.
fn details(a_in_b: Fraction, b_in_a: Fraction, shared: u64, identical: bool) -> [Cell; 3] {
    let share = |share| percent_text(share, identical);
    [
        Cell::left(format!("a in b {}", share(a_in_b)), Tint::Faint),
        Cell::left(format!("b in a {}", share(b_in_a)), Tint::Faint),
        Cell::right(format!("at least {shared} bytes"), Tint::Faint),
    ]
}

/// A column that says yes or no.
pub(crate) const fn yes(yes: bool) -> Field<'static> {
    Field::Word(if yes { "true" } else { "false" })
}

/// The reason of a discount as a column, which is empty where there is none.
pub fn reason(discount: &Discount) -> Field<'_> {
    let reason = discount.reason.as_deref();
    reason.map_or(Field::Nothing, |text| Field::Name(text.as_bytes()))
}

/// The reason of a discount of ten points or more: a smaller one does not change the picture.
fn much_discounted(raw: Fraction, discount: &Discount) -> Option<Cell> {
    const MUCH: u32 = 100_000;
    let lost = raw
        .millionths()?
        .saturating_sub(discount.discounted.millionths()?);
    let reason = discount.reason.as_ref().filter(|_| lost >= MUCH)?;
    Some(Cell::prose(format!("({reason})"), Tint::Faint))
}

impl Row for FindRow {
    columns! { row;
        "file": Field::Name(row.file.as_bytes()),
        "path": Field::Name(row.path.as_bytes()),
        "relation": Field::Word(row.relation.map_or("", Relation::word)),
        "unit": Field::Word(row.unit.word()),
        "layer": Field::Word(row.layer.word()),
        "estimate": Field::Word(if row.estimate { "true" } else { "false" }),
        "a_in_b": Field::Share(row.a_in_b),
        "b_in_a": Field::Share(row.b_in_a),
        "resemblance": Field::Share(row.resemblance),
        "shared_bytes": Field::Count(row.shared_bytes),
        later
        "discounted": Field::Share(row.discount.discounted),
        "reason": reason(&row.discount),
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = tint(self.relation);
        let identical = self.is_identical();
        let mut cells = vec![
            Cell::right(
                format!(
                    "{}{}",
                    if self.estimate { "~" } else { "" },
                    percent_text(self.score(), identical)
                ),
                tint,
            ),
            Cell::left(word(self.relation), tint),
        ];
        if style.verbose {
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
        cells.push(style.name(&self.path, Tint::Plain));
        cells.extend(much_discounted(self.score(), &self.discount));
        if self.differs == Some(Differs::OnlyInNumbers) {
            cells.push(Cell::left("(differ only in numbers)", Tint::Faint));
        }
        cells
    }

    fn heading(&self, style: TextStyle) -> Option<Cell> {
        Some(style.name(&self.file, Tint::Heading).followed_by(":"))
    }
}

impl Row for PairRow {
    columns! { row;
        "a": Field::Name(row.a.as_bytes()),
        "b": Field::Name(row.b.as_bytes()),
        "score": Field::Share(row.score),
        "a_in_b": Field::Share(row.a_in_b),
        "b_in_a": Field::Share(row.b_in_a),
        "resemblance": Field::Share(row.resemblance),
        "shared_bytes": Field::Count(row.shared_bytes),
        later
        "discounted": Field::Share(row.discount.discounted),
        "reason": reason(&row.discount),
        "relation": Field::Word(row.told.relation.map_or("", Relation::word)),
        "unit": Field::Word(row.told.unit.word()),
        "estimate": yes(row.told.estimate),
        "copies": row.copies.map_or(Field::Nothing, Field::Count),
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = if self.identical {
            Tint::Good
        } else {
            Tint::Plain
        };
        let mut cells = vec![Cell::right(
            format!(
                "{}{}",
                if self.told.estimate { "~" } else { "" },
                percent_text(self.score, self.identical)
            ),
            tint,
        )];
        if style.verbose {
            cells.extend(details(
                self.a_in_b,
                self.b_in_a,
                self.shared_bytes,
                self.identical,
            ));
        }
        cells.push(style.name(&self.a, Tint::Plain));
        cells.push(style.name(&self.b, Tint::Plain));
        if let Some(copies) = self.copies {
            cells.push(Cell::left(
                format!("({copies} identical files)"),
                Tint::Faint,
            ));
        }
        cells.extend(much_discounted(self.score, &self.discount));
        cells
    }
}

impl Row for AlertRow {
    columns! { row;
        "seq": Field::Count(row.seq),
        "time": Field::Count(row.time),
        "kind": Field::Word(match row.kind {
                AlertKind::File => "file",
                AlertKind::Tree => "tree",
                AlertKind::Summary => "summary",
            }),
        "a": Field::Name(row.a.as_bytes()),
        "b": Field::Name(row.b.as_bytes()),
        "relation": Field::Word(row.relation.map_or("", Relation::word)),
        "a_in_b": Field::Share(row.a_in_b),
        "b_in_a": Field::Share(row.b_in_a),
        "shared_bytes": Field::Count(row.shared_bytes),
        "files": Field::Count(row.files),
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let time = Cell::left(style.time(self.time), Tint::Faint);
        let (a, b) = (
            style.name(&self.a, Tint::Plain),
            style.name(&self.b, Tint::Plain),
        );
        if self.kind == AlertKind::Tree {
            let what = format!("{} files, a copy of", self.files);
            return vec![time, a, Cell::left(what, Tint::Notable), b];
        }
        if self.kind == AlertKind::Summary {
            let what = format!(
                "{} more alerts, not told one by one",
                human_count(self.files)
            );
            return vec![time, a, Cell::left(what, Tint::Notable)];
        }
        let identical = self.relation == Some(Relation::Identical);
        let tint = tint(self.relation);
        let score = percent(self.a_in_b.max(self.b_in_a), identical, tint);
        vec![time, score, Cell::left(word(self.relation), tint), a, b]
    }
}

impl Row for AckRow {
    columns! { row;
        "time": Field::Count(row.time),
        "group": yes(row.group),
        "files": Field::Count(row.paths.len() as u64),
        "a": path_at(row, 0),
        "b": path_at(row, 1),
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let mut cells = vec![Cell::left(style.time(self.time), Tint::Faint)];
        if self.group {
            let what = format!("a group of {}", counted(self.paths.len() as u64, "file"));
            cells.push(Cell::left(what, Tint::Notable));
        }
        let most = if style.verbose {
            self.paths.len()
        } else {
            NAMED
        };
        let named = self.paths.iter().take(most);
        cells.extend(named.map(|path| style.name(path, Tint::Plain)));
        if let Some(more) = self.paths.len().checked_sub(most).filter(|more| *more > 0) {
            cells.push(Cell::left(format!("and {more} more"), Tint::Faint));
        }
        cells
    }
}

fn path_at(row: &AckRow, at: usize) -> Field<'_> {
    let path = row.paths.get(at);
    path.map_or(Field::Nothing, |path| Field::Name(path.as_bytes()))
}

impl Row for OrderRow {
    columns! { row;
        "path": Field::Name(row.path.as_bytes()),
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        vec![style.name(&self.path, Tint::Plain)]
    }
}

/// So many patterns of a root, and files of a mark, are named; JSON has them all.
const NAMED: usize = 3;

/// What of a root is not looked at, in a few words each.
pub fn rules_in_words(rules: &RootRules) -> Vec<String> {
    let mut words = Vec::new();
    if rules.ignore {
        words.push("without ignored files".to_owned());
    }
    if !rules.exclude.is_empty() {
        let named = rules.exclude.iter().take(NAMED);
        let named: Vec<String> = named.map(|pattern| harmless(pattern)).collect();
        let more = match rules.exclude.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        words.push(format!("without {}{more}", named.join(", ")));
    }
    if let Some(most) = rules.max_size {
        words.push(format!("files up to {}", human_size(most)));
    }
    if rules.one_file_system {
        words.push("one file system".to_owned());
    }
    if !rules.text {
        words.push("by its bytes alone".to_owned());
    }
    words
}

/// What of a root is worth an alert, in a few words; none if that is as usual.
pub fn alerts_in_words(rules: &AlertRules) -> Option<String> {
    if *rules == AlertRules::default() {
        return None;
    }
    if rules.kinds.as_ref().is_some_and(Vec::is_empty) {
        return Some("no alerts".to_owned());
    }
    let mut words = Vec::new();
    if let Some(share) = rules.min {
        let percent = f64::from(share.millionths().unwrap_or(0)) / 1e4;
        words.push(format!("from {percent}%"));
    }
    if let Some(least) = rules.min_size {
        words.push(format!("of files from {}", human_size(least)));
    }
    if let Some(kinds) = &rules.kinds {
        let kinds: Vec<&str> = kinds.iter().map(|word| word.word()).collect();
        words.push(format!("if {}", kinds.join(", ")));
    }
    Some(format!("alerts {}", words.join(" ")))
}

impl Row for WatchRow {
    columns! { row;
        "path": Field::Name(row.path.as_bytes()),
        "origin": Field::Word(row.origin.word()),
        "ignore": yes(row.rules.ignore),
        "one_file_system": yes(row.rules.one_file_system),
        "text": yes(row.rules.text),
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let mut cells = vec![style.name(&self.path, Tint::Plain)];
        if style.verbose {
            cells.push(Cell::left(self.origin.word(), Tint::Faint));
        }
        let rules = rules_in_words(&self.rules).into_iter();
        cells.extend(rules.map(|rule| Cell::left(rule, Tint::Faint)));
        cells.extend(alerts_in_words(&self.alerts).map(|rule| Cell::left(rule, Tint::Faint)));
        cells
    }
}
