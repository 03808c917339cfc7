//! Makes the worksheets of a report, for the workbook and for the plain tables of the page.
//!
//! A report is a few sheets with columns and rows. A row has an outline level. The rows of files
//! are one level below the row of their set, their cluster or their folder, as in Forman et al.
//! 2005, figures 5 and 6. The rows are passed on one by one, so a million of them are never held in
//! memory twice.

use std::collections::BTreeMap;
use std::io;

use resemble_proto::documents::DirsDocument;
use resemble_proto::message::{
    Cluster, CompareClass, CompareRow, Comparison, Coverage, DirRow, Groups, TreeRow,
};
use resemble_proto::path::PathText;

use crate::document::{Extras, Report};
use crate::schema::{ClusterLink, ClusterMember, SetFile, set_files};
use crate::table::{
    Align, Column, Columns, Field, count, flag, name, share, text, time, values_of,
};

/// A sheet without its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sheet {
    /// The name of the sheet. It has at most 31 characters, as workbooks allow no more.
    pub name: &'static str,
    /// A sentence that explains the sheet.
    pub lead: &'static str,
    /// Rows of this level and of deeper levels are folded when the workbook is opened. If the level
    /// is 0, no row is folded.
    #[cfg_attr(
        not(feature = "xlsx"),
        expect(dead_code, reason = "a page folds no rows")
    )]
    pub folded: u8,
    columns: &'static [Column],
}

impl Sheet {
    const fn of<R: Columns>(name: &'static str, lead: &'static str) -> Self {
        Self {
            name,
            lead,
            folded: 0,
            columns: R::COLUMNS,
        }
    }

    const fn folded(self, folded: u8) -> Self {
        Self { folded, ..self }
    }

    /// Returns the columns of the sheet: for each the title, the width in characters, and the
    /// alignment.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'static str, u16, Align)> {
        let titled = |column: &Column| {
            column
                .title
                .map(|(title, width)| (title, width, column.align))
        };
        self.columns.iter().filter_map(titled)
    }
}

/// Receives the sheets of a report, one after the other.
pub(crate) trait SheetSink {
    /// Begins a sheet. The rows that follow belong to it.
    fn sheet(&mut self, sheet: &Sheet) -> io::Result<()>;

    /// Receives a row with one value for each column. A row of level 1 belongs to the last row of
    /// level 0 before it, and so on for deeper levels.
    fn row(&mut self, level: u8, cells: &[Field<'_>]) -> io::Result<()>;
}

type Sink<'s> = &'s mut dyn SheetSink;

/// Passes every sheet with its rows to `sink`. In a report of groups, the folders are first, then
/// the clusters, then the identical files.
pub(crate) fn walk(report: Report<'_>, extras: &Extras<'_>, sink: Sink<'_>) -> io::Result<()> {
    match report {
        Report::Groups(document) => groups(&document.body, extras.folders, sink)?,
        Report::Compare(document) => compare(&document.body, sink)?,
        Report::Dirs(document) => flat(FOLDERS, &document.body.pairs, sink)?,
        Report::Covered(document) => covered(&document.body, sink)?,
        Report::Find(document) => {
            let lead = "Files similar to those that were named, best first. Bytes in both are a \
                        lower bound.";
            flat(("Similar files", lead), &document.body.results, sink)?;
        }
        Report::Pairs(document) => {
            let lead = "Pairs of similar files, best first. Bytes in both are a lower bound.";
            flat(("Pairs", lead), &document.body.pairs, sink)?;
        }
    }
    let lead = "What could not be looked at: the report says nothing about it.";
    flat_if_any(("Errors", lead), report.common().errors, sink)
}

/// The name of a sheet, and the sentence that explains the sheet.
type Named = (&'static str, &'static str);

const FOLDERS: Named = (
    "Folders",
    "Similar folders whatever their names: how much of the bytes below one is in files below the \
     other.",
);

/// Writes a sheet whose rows all have level 0.
fn flat<R: Columns>((name, lead): Named, rows: &[R], sink: Sink<'_>) -> io::Result<()> {
    sink.sheet(&Sheet::of::<R>(name, lead))?;
    rows.iter().try_for_each(|row| put(0, row, sink))
}

fn flat_if_any<R: Columns>(named: Named, rows: &[R], sink: Sink<'_>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    flat(named, rows, sink)
}

fn put(level: u8, row: &impl Columns, sink: Sink<'_>) -> io::Result<()> {
    sink.row(level, &values_of(row, |column| column.title.is_some()))
}

/// Writes a row of the sheet of `R`. Only the columns that `some` names have values.
fn put_some<R: Columns>(level: u8, some: &[(&str, Field<'_>)], sink: Sink<'_>) -> io::Result<()> {
    let titles = || R::COLUMNS.iter().filter_map(|column| column.title);
    debug_assert!(
        some.iter()
            .all(|(of, _)| titles().any(|(title, _)| title == *of))
    );
    let value = |title: &str| {
        let of_title = some.iter().find(|(of, _)| *of == title);
        of_title.map_or(Field::Nothing, |(_, value)| *value)
    };
    let cells: Vec<_> = titles().map(|(title, _)| value(title)).collect();
    sink.row(level, &cells)
}

fn groups(groups: &Groups, folders: Option<&DirsDocument>, sink: Sink<'_>) -> io::Result<()> {
    if let Some(document) = folders {
        flat(FOLDERS, &document.body.pairs, sink)?;
    }
    let lead = "Groups of similar files. A cluster's row has its totals and its centre, which \
                every member resembles; members stand below it.";
    sink.sheet(&Sheet::of::<ClusterMember<'_>>("Clusters", lead).folded(1))?;
    let clusters = || (1..).zip(&groups.clusters);
    for (number, cluster) in clusters() {
        put_head(number, cluster, sink)?;
        for member in &cluster.members {
            put(1, &ClusterMember { cluster, member }, sink)?;
        }
    }
    let lead = "Sets of files with equal bytes. Overhead is what all but one of a set take.";
    sink.sheet(&Sheet::of::<SetFile<'_>>("Identical files", lead).folded(1))?;
    set_files(groups).try_for_each(|file| put(u8::from(file.at > 0), &file, sink))?;
    let lead = "Pairs of similar members of a cluster. Bytes in both are a lower bound.";
    sink.sheet(&Sheet::of::<ClusterLink<'_>>("Links", lead))?;
    for (number, cluster) in clusters() {
        for link in &cluster.links {
            let row = ClusterLink {
                number,
                cluster,
                link,
            };
            put(0, &row, sink)?;
        }
    }
    Ok(())
}

fn put_head(number: u64, cluster: &Cluster, sink: Sink<'_>) -> io::Result<()> {
    let newest = cluster.members.iter().map(|member| member.mtime).max();
    let head = [
        ("Cluster", count(number)),
        ("Kind", text(cluster.kind.word())),
        ("Files", count(cluster.members.len() as u64)),
        ("Links", count(cluster.links.len() as u64)),
        ("Size", count(cluster.bytes)),
        ("Similar", share(cluster.average)),
        ("Worst pair", share(cluster.worst)),
        ("Changed (UTC)", time(newest)),
        ("Mark", text("cluster")),
        ("Id", text(cluster.id.as_str())),
        ("File", name(&cluster.center)),
        ("Estimate", flag(cluster.estimate, "estimate")),
    ];
    put_some::<ClusterMember<'_>>(0, &head, sink)
}

/// Returns the folder of a row's file in A, or in B if A does not have the file.
fn folder(row: &CompareRow) -> &[u8] {
    let path = row.a.as_ref().or(row.b.as_ref());
    let bytes = path.map_or(&[][..], PathText::as_bytes);
    let slash = bytes.iter().rposition(|byte| *byte == b'/');
    &bytes[..slash.unwrap_or(0)]
}

fn compare(comparison: &Comparison, sink: Sink<'_>) -> io::Result<()> {
    if !comparison.trees.is_empty() {
        sink.sheet(&Sheet::of::<DirRow>(FOLDERS.0, FOLDERS.1))?;
        for tree in &comparison.trees {
            put_tree(tree, sink)?;
        }
    }
    let lead = "Every file of both sides by class and folder, with its partner; further partners \
                stand below their file.";
    sink.sheet(&Sheet::of::<CompareRow>("Compare", lead).folded(2))?;
    for class in CompareClass::ALL {
        let mut by_folder: BTreeMap<&[u8], Vec<&CompareRow>> = BTreeMap::new();
        for row in comparison.entries.iter().filter(|row| row.class == class) {
            by_folder.entry(folder(row)).or_default().push(row);
        }
        if by_folder.is_empty() {
            continue;
        }
        let all = by_folder.values().flatten();
        put_total(0, class, all, Field::Nothing, sink)?;
        for (folder, rows) in &by_folder {
            let folder = crate::escaping::visible(folder) + "/";
            put_total(1, class, rows.iter(), text(folder.as_str()), sink)?;
            rows.iter().try_for_each(|row| put_file(row, sink))?;
        }
    }
    let lead = "What is no regular file, or could not be read, and is not the same on both sides.";
    flat_if_any(("Links and special files", lead), &comparison.others, sink)
}

fn put_tree(tree: &TreeRow, sink: Sink<'_>) -> io::Result<()> {
    let cells = [
        ("First folder", name(&tree.a)),
        ("Second folder", name(&tree.b)),
        ("First in second", share(tree.a_in_b)),
        ("Second in first", share(tree.b_in_a)),
        ("Files first", count(tree.files_a)),
        ("Files second", count(tree.files_b)),
        ("Bytes first", count(tree.bytes_a)),
        ("Bytes second", count(tree.bytes_b)),
    ];
    put_some::<DirRow>(0, &cells, sink)
}

/// Writes a row with the totals of a class, or with the totals of a class in one folder.
fn put_total<'a>(
    level: u8,
    class: CompareClass,
    rows: impl Iterator<Item = &'a &'a CompareRow>,
    folder: Field<'_>,
    sink: Sink<'_>,
) -> io::Result<()> {
    let (mut files, mut bytes) = (0, 0);
    for row in rows {
        files += 1;
        bytes += row.size_a.or(row.size_b).unwrap_or(0);
    }
    let cells = [
        ("Class", text(class.word())),
        ("Files", count(files)),
        ("Bytes", count(bytes)),
        ("First file", folder),
    ];
    put_some::<CompareRow>(level, &cells, sink)
}

/// Writes the row of a file, and a row for each further file that it matches.
fn put_file(row: &CompareRow, sink: Sink<'_>) -> io::Result<()> {
    put(2, row, sink)?;
    let side = if row.a.is_some() {
        "Second file"
    } else {
        "First file"
    };
    row.others.iter().try_for_each(|other| {
        let cells = [
            ("Class", text(row.class.word())),
            (side, name(&other.path)),
            ("First in second", share(other.a_in_b)),
            ("Second in first", share(other.b_in_a)),
            ("Bytes in both", count(other.shared_bytes)),
            ("Mark", text("further partner")),
            ("Estimate", flag(other.told.estimate, "estimate")),
        ];
        put_some::<CompareRow>(2, &cells, sink)
    })
}

fn covered(coverage: &Coverage, sink: Sink<'_>) -> io::Result<()> {
    let missing = "Entries without an equal elsewhere: they would be lost.";
    let near = "Of those not covered, the ones that resemble a file elsewhere. Resembling is not \
                having.";
    let linked = "The equal is the same inode under another name.";
    let copies = "Compared byte by byte when the report was made.";
    let recorded = "Equal by digest to what only a catalogue has: no bytes were compared.";
    flat(("Not covered", missing), &coverage.missing, sink)?;
    flat(("Near copies, not safe", near), &coverage.near, sink)?;
    flat(("Covered by a hard link", linked), &coverage.linked, sink)?;
    flat(("Covered by a copy", copies), &coverage.copies, sink)?;
    flat_if_any(
        ("Recorded in a catalogue", recorded),
        &coverage.recorded,
        sink,
    )
}
