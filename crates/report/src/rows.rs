//! Writes answers that are lists of rows, in every format.
//!
//! A kind of row defines its columns once ([`columns!`]). The same module defines the cells of its
//! line of text.

mod conflicts;
mod dated;
mod fold;
mod holders;
mod sweeps;
mod templates;
mod versions;

use std::io::{self, Write};

use resemble_core::Relation;
use resemble_proto::message::{
    AckRow, AlertKind, AlertRow, AlertRules, DatedBy, Differs, Discount, FindRow, FirstSeen, Newer,
    OrderRow, PairRow, PairSide, RootRules, SoftError, StatedDate, WatchRow,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::report::{Head, json_line, write_error_line};
use serde::Serialize;

use crate::columns;
use crate::human::{counted, human_count, human_size};
use crate::lines::{Cell, TextStyle, TextWriter, Tint};
use crate::quote::harmless;
use crate::table::Columns;

pub use conflicts::{ConflictRow, ConflictState};
pub use dated::DatedRow;
pub use fold::FoldRow;
pub use sweeps::{Became, LinkRow, LostRow, VersionRow};
pub use versions::DatedVersion;

/// A row that can be printed.
pub trait Row: Columns + Serialize {
    /// Returns the cells of the row's line of text.
    fn cells(&self, style: TextStyle) -> Vec<Cell>;

    /// Returns the heading of the row, for text in which rows are grouped under headings.
    fn heading(&self, style: TextStyle) -> Option<Cell> {
        let _ = style;
        None
    }
}

/// Writes one line for each row. If `grouped` is true, successive rows with the same heading have
/// that heading above them.
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

/// Writes one object on each line: first the head, then the rows, then the errors.
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

/// Formats a share as `97%`, or as `?` if the files are too small to judge.
pub(crate) fn percent_text(share: Fraction, identical: bool) -> String {
    let percent = share.percent(identical);
    percent.map_or("?".to_owned(), |percent| format!("{percent}%"))
}

/// Returns a share as a percentage in a cell, flush right.
pub(crate) fn percent(share: Fraction, identical: bool, tint: Tint) -> Cell {
    Cell::right(percent_text(share, identical), tint)
}

/// Returns the colour for a relation.
pub fn tint(relation: Option<Relation>) -> Tint {
    match relation {
        Some(Relation::Identical | Relation::SameText) => Tint::Good,
        Some(Relation::Shares) | None => Tint::Faint,
        Some(_) => Tint::Plain,
    }
}

/// Formats a share of two files that are not identical, flush right. An estimate has the mark `~`.
pub(crate) fn marked(share: Fraction, is_estimate: bool, tint: Tint) -> Cell {
    score(share, false, is_estimate, tint)
}

/// Formats a share of two files that may be identical, flush right. An estimate has the mark `~`.
pub(crate) fn score(share: Fraction, identical: bool, is_estimate: bool, tint: Tint) -> Cell {
    let mark = if is_estimate { "~" } else { "" };
    Cell::right(format!("{mark}{}", percent_text(share, identical)), tint)
}

/// Returns the word for a relation, or `-` if there is no relation.
pub fn word(relation: Option<Relation>) -> &'static str {
    relation.map_or("-", Relation::word)
}

/// Returns the cells that `-v` adds: both containments and the number of shared bytes. For an
/// estimate, only the proven bytes are counted, so the text says `at least`.
fn details(
    (a_in_b, b_in_a): (Fraction, Fraction),
    shared: u64,
    identical: bool,
    is_estimate: bool,
) -> [Cell; 3] {
    let share = |share| percent_text(share, identical);
    let least = if is_estimate { "at least " } else { "" };
    [
        Cell::left(format!("a in b {}", share(a_in_b)), Tint::Faint),
        Cell::left(format!("b in a {}", share(b_in_a)), Tint::Faint),
        Cell::right(format!("{least}{shared} bytes"), Tint::Faint),
    ]
}

/// Returns the reason of a discount, if the discount is ten percentage points or more.
fn much_discounted(raw: Fraction, discount: &Discount) -> Option<Cell> {
    const MUCH: u32 = 100_000;
    let lost = raw
        .millionths()?
        .saturating_sub(discount.discounted.millionths()?);
    let reason = discount.reason.as_ref().filter(|_| lost >= MUCH)?;
    Some(Cell::prose(format!("({reason})"), Tint::Faint))
}

/// Returns the mark of the newest version. `by` is the date that the document states, if that date
/// makes the version the newest.
pub(crate) fn newest_mark(by: Option<&StatedDate>) -> String {
    by.map_or("newest".to_owned(), |date| {
        format!("newest by {}", harmless(&date.source))
    })
}

/// The remark about a version that has an earlier date than another version, although it contains
/// that version whole.
pub(crate) const OLDER_THAN_HELD: &str = "older by its date than a version that it holds whole";

/// Returns the date that a document states, as the name of its property and the day.
pub(crate) fn stated(style: TextStyle, date: &StatedDate) -> Cell {
    let text = format!("{} {}", harmless(&date.source), style.day(date.time));
    Cell::prose(text, Tint::Faint)
}

/// Returns when a content was first seen. The path at that time is added if it differs from the
/// present path.
fn first_seen(style: TextStyle, first: Option<&FirstSeen>, now: &PathText) -> Option<Cell> {
    let first = first?;
    let when = Cell::left(format!("first seen {}", style.day(first.time)), Tint::Faint);
    if first.path == *now {
        return Some(when);
    }
    Some(when.joined(" as ", &style.name(&first.path, Tint::Faint)))
}

/// Returns the word for the value of an enum, if there is a value.
fn word_of<W: Into<&'static str>>(word: Option<W>) -> Option<&'static str> {
    word.map(Into::into)
}

/// Returns a cell that says which of two files is newer. `words` are the texts for `a` and for `b`.
fn age(age: Newer, words: [&'static str; 2]) -> Option<Cell> {
    let newer = match age.newer? {
        PairSide::A => words[0],
        PairSide::B => words[1],
    };
    let by = match age.newer_by? {
        DatedBy::Document => "stated date",
        DatedBy::File => "time of change",
    };
    Some(Cell::prose(format!("{newer} by {by}"), Tint::Faint))
}

columns! { FindRow: row =>
    "file" ["File", 50] name(&row.file);
    "path" ["Similar file", 70] name(&row.path);
    "relation" ["Relation", 12] text(row.relation.map(Relation::word));
    "unit" text(row.unit.word());
    "layer" text(row.layer.word());
    "estimate" ["Estimate", 9] flag(row.estimate, "estimate");
    "a_in_b" ["File in similar", 14] share_of(row.a_in_b, row.is_identical());
    "b_in_a" ["Similar in file", 14] share_of(row.b_in_a, row.is_identical());
    "resemblance" ["Resemblance", 12] share_of(row.resemblance, row.is_identical());
    "shared_bytes" ["Bytes in both", 14] count(row.shared_bytes);
    "discounted" @later ["Without common text", 19] share(row.discount.discounted);
    "reason" @later ["Reason", 40] text(row.discount.reason.as_deref());
    "document_date" @later ["Stated (UTC)", 17] time(row.document_date.as_ref().map(|d| d.time));
    "newer" @later ["Newer", 7] text(word_of(row.age.newer));
    "newer_by" @later ["Newer by", 10] text(word_of(row.age.newer_by));
}

impl Row for FindRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = tint(self.relation);
        let identical = self.is_identical();
        let mut cells = vec![
            score(self.score(), identical, self.estimate, tint),
            Cell::left(word(self.relation), tint),
        ];
        if style.verbose {
            cells.extend(owner([&self.owner]));
            cells.extend(details(
                (self.a_in_b, self.b_in_a),
                self.shared_bytes,
                identical,
                self.estimate,
            ));
            if !self.layer.is_bytes() {
                cells.push(Cell::left("by text", Tint::Faint));
            }
        }
        cells.push(style.name(&self.path, Tint::Plain));
        if let Some(date) = self.document_date.as_ref().filter(|_| style.verbose) {
            cells.push(stated(style, date));
        }
        if style.verbose {
            cells.extend(age(self.age, ["older", "newer"]));
            cells.extend(first_seen(style, self.first_seen.as_ref(), &self.path));
        }
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

/// Returns the owners of these files in one cell, or `None` if an owner is not known.
pub(crate) fn owner<const N: usize>(owners: [&Option<String>; N]) -> Option<Cell> {
    let mut names: Vec<&str> = owners.into_iter().flatten().map(String::as_str).collect();
    if names.len() < N {
        return None;
    }
    names.dedup();
    Some(Cell::left(
        format!("of {}", names.join(" and ")),
        Tint::Faint,
    ))
}

columns! { PairRow: row =>
    "a" ["First file", 60] name(&row.a);
    "b" ["Second file", 60] name(&row.b);
    "score" ["Score", 9] share_of(row.score, row.identical);
    "a_in_b" ["First in second", 14] share_of(row.a_in_b, row.identical);
    "b_in_a" ["Second in first", 14] share_of(row.b_in_a, row.identical);
    "resemblance" ["Resemblance", 12] share_of(row.resemblance, row.identical);
    "shared_bytes" ["Bytes in both", 14] count(row.shared_bytes);
    "discounted" @later ["Without common text", 19] share(row.discount.discounted);
    "reason" @later ["Reason", 40] text(row.discount.reason.as_deref());
    "relation" @later text(row.told.relation.map(Relation::word));
    "unit" @later text(row.told.unit.word());
    "estimate" @later ["Estimate", 9] flag(row.told.estimate, "estimate");
    "copies" @later count(row.copies);
    "newer" @later ["Newer", 7] text(word_of(row.age.newer));
    "newer_by" @later ["Newer by", 10] text(word_of(row.age.newer_by));
}

impl Row for PairRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = Tint::of_pair(self.identical);
        let mut cells = vec![score(self.score, self.identical, self.told.estimate, tint)];
        if style.verbose {
            cells.extend(owner([&self.owner_a, &self.owner_b]));
            cells.extend(details(
                (self.a_in_b, self.b_in_a),
                self.shared_bytes,
                self.identical,
                self.told.estimate,
            ));
        }
        cells.push(style.name(&self.a, Tint::Plain));
        cells.push(style.name(&self.b, Tint::Plain));
        if style.verbose {
            cells.extend(age(self.age, ["the first is newer", "the second is newer"]));
        }
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

columns! { AlertRow: row =>
    "seq" count(row.seq);
    "time" count(row.time);
    "kind" text(match row.kind {
        AlertKind::File => "file",
        AlertKind::Tree => "tree",
        AlertKind::Summary => "summary",
    });
    "a" name(&row.a);
    "b" name(&row.b);
    "relation" text(row.relation.map(Relation::word));
    "a_in_b" share(row.a_in_b);
    "b_in_a" share(row.b_in_a);
    "shared_bytes" count(row.shared_bytes);
    "files" count(row.files);
}

impl Row for AlertRow {
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
                "{} more alerts, not reported one by one",
                human_count(self.files)
            );
            return vec![time, a, Cell::left(what, Tint::Notable)];
        }
        let identical = self.relation == Some(Relation::Identical);
        let tint = tint(self.relation);
        let score = percent(self.a_in_b.max(self.b_in_a), identical, tint);
        let mut cells = vec![time, score, Cell::left(word(self.relation), tint), a, b];
        if style.verbose {
            cells.extend(owner([&self.owner_a, &self.owner_b]));
        }
        cells
    }
}

columns! { AckRow: row =>
    "time" count(row.time);
    "group" yes(row.group);
    "files" count(row.paths.len() as u64);
    "a" name(row.paths.first());
    "b" name(row.paths.get(1));
}

impl Row for AckRow {
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

columns! { OrderRow: row =>
    "path" name(&row.path);
}

impl Row for OrderRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        vec![style.name(&self.path, Tint::Plain)]
    }
}

/// The maximum number of patterns of a root, or of files of a mark, that a line of text names. JSON
/// has all of them.
const NAMED: usize = 3;

/// Returns the scan rules of a root, each in a few words.
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

/// Returns the alert rules of a root in a few words; `None` if they are the default.
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

columns! { WatchRow: row =>
    "path" name(&row.path);
    "origin" text(row.origin.word());
    "ignore" yes(row.rules.ignore);
    "one_file_system" yes(row.rules.one_file_system);
    "text" yes(row.rules.text);
}

impl Row for WatchRow {
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
