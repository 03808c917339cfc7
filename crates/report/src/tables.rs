//! Writes reports as tables: one table for each verb (CSV, TSV), and the lists of `fdupes`.
//!
//! A report of several lists is one table, too, because a file has only one header row. The first
//! column names the list that a row belongs to. Columns that the named list does not have stay
//! empty. Readers identify columns by position, so a new column is added at the end.

use std::io::{self, Write};

use resemble_proto::documents::GroupsDocument;
use resemble_proto::message::{Coverage, Groups};

use crate::document::Report;
use crate::schema::{ClusterLink, ClusterMember, SetFile, set_files};
use crate::table::{Columns, Field, Style, write_row, write_table};

/// The header rows of those tables that have several lists.
const COVERED: &str = "row,path,by,size,a_in_b,b_in_a,shared_bytes,reason,estimate";
const GROUPS: &str = "row,id,kind,a,b,size,mtime,a_in_b,b_in_a,shared_bytes,discounted,reason,\
                      estimate";

/// Writes the table of a report, with `end` after each row.
pub fn write(out: &mut dyn Write, style: Style, report: Report<'_>, end: u8) -> io::Result<()> {
    let joined = |out, header| JoinedTable {
        out,
        style,
        end,
        header,
    };
    match report {
        Report::Compare(document) => write_table(out, style, &document.body.entries, end),
        Report::Covered(document) => covered(&document.body, joined(out, COVERED)),
        Report::Dirs(document) => write_table(out, style, &document.body.pairs, end),
        Report::Groups(document) => groups(&document.body, joined(out, GROUPS)),
        Report::Find(document) => write_table(out, style, &document.body.results, end),
        Report::Pairs(document) => write_table(out, style, &document.body.pairs, end),
    }
}

/// A table of several lists.
struct JoinedTable<'a> {
    out: &'a mut dyn Write,
    style: Style,
    end: u8,
    header: &'static str,
}

/// One of the lists in a table. It has the word for its rows. For each column of the table, it has
/// the position of that column in the list.
struct JoinedList {
    word: &'static str,
    places: Vec<Option<usize>>,
}

impl JoinedTable<'_> {
    fn begin(&mut self) -> io::Result<()> {
        match self.style {
            Style::Csv => writeln!(self.out, "{}", self.header),
            Style::Tsv => Ok(()),
        }
    }

    fn list<R: Columns>(&self, word: &'static str) -> JoinedList {
        let place = |name| {
            R::COLUMNS
                .iter()
                .position(|column| column.name == Some(name))
        };
        // The first column of the table has the word of the list, so it is skipped.
        let places = self.header.split(',').skip(1).map(place).collect();
        JoinedList { word, places }
    }

    fn row(&mut self, list: &JoinedList, row: &impl Columns) -> io::Result<()> {
        let values = row.values();
        let places = list.places.iter();
        let values = places.map(|place| place.map_or(Field::Nothing, |place| values[place]));
        let fields: Vec<_> = std::iter::once(Field::Text(list.word))
            .chain(values)
            .collect();
        write_row(self.out, self.style, &fields, self.end)
    }

    fn rows<R: Columns>(&mut self, word: &'static str, rows: &[R]) -> io::Result<()> {
        let list = self.list::<R>(word);
        rows.iter().try_for_each(|row| self.row(&list, row))
    }
}

fn covered(coverage: &Coverage, mut table: JoinedTable<'_>) -> io::Result<()> {
    table.begin()?;
    table.rows("missing", &coverage.missing)?;
    table.rows("near", &coverage.near)?;
    table.rows("linked", &coverage.linked)?;
    table.rows("copy", &coverage.copies)?;
    table.rows("recorded", &coverage.recorded)
}

fn groups(groups: &Groups, mut table: JoinedTable<'_>) -> io::Result<()> {
    table.begin()?;
    let identical = table.list::<SetFile<'_>>("identical");
    set_files(groups).try_for_each(|file| table.row(&identical, &file))?;
    let members = table.list::<ClusterMember<'_>>("cluster");
    let links = table.list::<ClusterLink<'_>>("link");
    for (number, cluster) in (1..).zip(&groups.clusters) {
        for member in &cluster.members {
            table.row(&members, &ClusterMember { cluster, member })?;
        }
        for link in &cluster.links {
            let row = ClusterLink {
                number,
                cluster,
                link,
            };
            table.row(&links, &row)?;
        }
    }
    Ok(())
}

/// Writes the sets of identical files in the format of `fdupes`: one name on each line, and an
/// empty line after each set.
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
