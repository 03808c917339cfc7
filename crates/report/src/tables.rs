//! Reports as tables: one table for each verb (csv, tsv), and the lists of `fdupes`.
//!
//! A report of several lists is one table too, because a file has one header row. Its first column
//! says which list a row is from, and columns that this list does not have stay empty. Readers take
//! columns by their place, so a new one goes to the end.

use std::io::{self, Write};

use resemble_proto::documents::{CoveredDocument, GroupsDocument};
use resemble_proto::message::{CompareRow, DirRow, FindRow, PairRow};
use resemble_proto::path::PathText;

use crate::document::Report;
use crate::rows::{Row, columns, reason, yes};
use crate::table::{Field, Style, write_row};

const COVERED: &[&str] = &[
    "row",
    "path",
    "by",
    "size",
    "a_in_b",
    "b_in_a",
    "shared_bytes",
    "reason",
];
const GROUPS: &[&str] = &[
    "row",
    "id",
    "kind",
    "a",
    "b",
    "size",
    "mtime",
    "a_in_b",
    "b_in_a",
    "shared_bytes",
    "discounted",
    "reason",
    "estimate",
];

/// Writes the table of a report, with `end` after each row.
pub fn write(out: &mut dyn Write, style: Style, report: Report<'_>, end: u8) -> io::Result<()> {
    let columns = match report {
        Report::Compare(_) => CompareRow::COLUMNS.to_vec(),
        Report::Covered(_) => COVERED.to_vec(),
        Report::Dirs(_) => DirRow::COLUMNS.to_vec(),
        Report::Groups(_) => GROUPS.to_vec(),
        Report::Find(_) => FindRow::columns(),
        Report::Pairs(_) => PairRow::columns(),
    };
    if style == Style::Csv {
        writeln!(out, "{}", columns.join(","))?;
    }
    let mut row = |fields: &[Field<'_>]| {
        debug_assert_eq!(fields.len(), columns.len());
        write_row(out, style, fields, end)
    };
    match report {
        Report::Compare(document) => list(&document.body.entries, &mut row),
        Report::Covered(document) => covered(document, &mut row),
        Report::Dirs(document) => list(&document.body.pairs, &mut row),
        Report::Groups(document) => groups(document, &mut row),
        Report::Find(document) => list(&document.body.results, &mut row),
        Report::Pairs(document) => list(&document.body.pairs, &mut row),
    }
}

type EachRow<'r> = dyn FnMut(&[Field<'_>]) -> io::Result<()> + 'r;

/// A row whose table has no other lists.
trait TableRow {
    const COLUMNS: &'static [&'static str];

    fn fields(&self) -> Vec<Field<'_>>;
}

fn list<R: TableRow>(rows: &[R], row: &mut EachRow<'_>) -> io::Result<()> {
    rows.iter().try_for_each(|one| row(&one.fields()))
}

fn name(path: &PathText) -> Field<'_> {
    Field::Name(path.as_bytes())
}

fn name_of(path: Option<&PathText>) -> Field<'_> {
    path.map_or(Field::Nothing, name)
}

fn count_of(count: Option<u64>) -> Field<'static> {
    count.map_or(Field::Nothing, Field::Count)
}

impl TableRow for CompareRow {
    columns! { row;
        "class": Field::Word(row.class.word()),
        "a": name_of(row.a.as_ref()),
        "b": name_of(row.b.as_ref()),
        "a_in_b": Field::Share(row.a_in_b),
        "b_in_a": Field::Share(row.b_in_a),
        "shared_bytes": Field::Count(row.shared_bytes),
        "size_a": count_of(row.size_a),
        "size_b": count_of(row.size_b),
        "copy": yes(row.copy),
        "discounted": Field::Share(row.discount.discounted),
        "reason": reason(&row.discount),
    }
}

impl TableRow for DirRow {
    columns! { row;
        "a": name(&row.a),
        "b": name(&row.b),
        "a_in_b": Field::Share(row.a_in_b),
        "b_in_a": Field::Share(row.b_in_a),
        "shared_bytes": Field::Count(row.shared_bytes),
        "files_a": Field::Count(row.files_a),
        "files_b": Field::Count(row.files_b),
        "bytes_a": Field::Count(row.bytes_a),
        "bytes_b": Field::Count(row.bytes_b),
        "identical": yes(row.identical),
        "estimate": yes(row.estimate),
    }
}

impl<R: Row> TableRow for R {
    const COLUMNS: &'static [&'static str] = R::COLUMNS;

    fn fields(&self) -> Vec<Field<'_>> {
        Row::fields(self)
    }
}

fn covered(document: &CoveredDocument, row: &mut EachRow<'_>) -> io::Result<()> {
    const NO: Field<'static> = Field::Nothing;
    let body = &document.body;
    for missing in &body.missing {
        row(&[
            Field::Word("missing"),
            name(&missing.path),
            NO,
            Field::Count(missing.size),
            NO,
            NO,
            NO,
            Field::Name(missing.reason.as_bytes()),
        ])?;
    }
    for near in &body.near {
        row(&[
            Field::Word("near"),
            name(&near.path),
            name(&near.by),
            NO,
            Field::Share(near.a_in_b),
            Field::Share(near.b_in_a),
            Field::Count(near.shared_bytes),
            NO,
        ])?;
    }
    let lists = [
        ("linked", &body.linked),
        ("copy", &body.copies),
        ("recorded", &body.recorded),
    ];
    for (word, pairs) in lists {
        for pair in pairs {
            row(&[
                Field::Word(word),
                name(&pair.path),
                name(&pair.by),
                Field::Count(pair.size),
                NO,
                NO,
                NO,
                NO,
            ])?;
        }
    }
    Ok(())
}

fn groups(document: &GroupsDocument, row: &mut EachRow<'_>) -> io::Result<()> {
    const NO: Field<'static> = Field::Nothing;
    for (number, set) in (1u64..).zip(&document.body.identical) {
        for (i, path) in set.paths.iter().enumerate() {
            row(&[
                Field::Word("identical"),
                Field::Count(number),
                NO,
                name(path),
                NO,
                Field::Count(set.size),
                set.mtimes.get(i).map_or(NO, |mtime| Field::Number(*mtime)),
                NO,
                NO,
                NO,
                NO,
                NO,
                NO,
            ])?;
        }
    }
    for cluster in &document.body.clusters {
        let id = Field::Name(cluster.id.as_bytes());
        let kind = Field::Word(cluster.kind.word());
        for member in &cluster.members {
            row(&[
                Field::Word("cluster"),
                id,
                kind,
                name(&member.path),
                name(&cluster.center),
                Field::Count(member.size),
                Field::Number(member.mtime),
                Field::Share(member.a_in_b),
                Field::Share(member.b_in_a),
                NO,
                NO,
                NO,
                yes(member.estimate),
            ])?;
        }
        for link in &cluster.links {
            row(&[
                Field::Word("link"),
                id,
                kind,
                name(&link.a),
                name(&link.b),
                NO,
                NO,
                Field::Share(link.a_in_b),
                Field::Share(link.b_in_a),
                Field::Count(link.shared_bytes),
                Field::Share(link.discount.discounted),
                reason(&link.discount),
                yes(link.estimate),
            ])?;
        }
    }
    Ok(())
}

/// Writes the identical sets as fdupes prints them: one name on each line, an empty line after each
/// set.
pub fn fdupes(out: &mut dyn Write, document: &GroupsDocument, end: u8) -> io::Result<()> {
    for set in &document.body.identical {
        for path in &set.paths {
            out.write_all(path.as_bytes())?;
            out.write_all(&[end])?;
        }
        out.write_all(&[end])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
