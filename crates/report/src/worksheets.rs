//! The worksheets of a report, for the workbook and for the plain tables of the page.
//!
//! A report is a few sheets, and a sheet has columns and rows. A row has an outline level: files
//! are below their set, their cluster or their folder, as in Forman et al. 2005, figures 5 and 6.
//! The rows are handed out one by one, so that a million of them are never held twice.

mod layout;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use resemble_core::Relation;
use resemble_proto::documents::{
    CompareDocument, CoveredDocument, DirsDocument, FindDocument, GroupsDocument, PairsDocument,
};
use resemble_proto::message::{
    Cluster, CompareClass, CompareRow, CoverPair, DirRow, Discount, IdenticalSet, SoftError,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::document::{Extras, Report};

pub(crate) use layout::{Align, Sheet};

use layout::{
    CLUSTERS, COMPARE, COPIES, ERRORS, FOLDERS, FOUND, IDENTICAL, LINKED, LINKS, MISSING, NEAR,
    OTHERS, PAIRS, RECORDED,
};

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SheetCell<'a> {
    /// Nothing.
    Empty,
    /// Text from this program, or a message of the system.
    Text(Cow<'a, str>),
    /// A name.
    Name(&'a PathText),
    /// A whole number.
    Count(u64),
    /// A share, and whether the two files are identical: only then can it be 100 %.
    Share(Fraction, bool),
    /// Seconds since 1970.
    Time(i64),
}

/// Takes the sheets of a report, one after the other.
pub(crate) trait SheetSink {
    /// Begins a sheet: the rows that follow are its rows.
    fn sheet(&mut self, sheet: &Sheet) -> io::Result<()>;

    /// Takes a row with one cell for each column. A row of level 1 is below the last one of level
    /// 0, and so on.
    fn row(&mut self, level: u8, cells: &[SheetCell<'_>]) -> io::Result<()>;
}

/// Hands every sheet with its rows to `sink`: folders first, then clusters, then identical files.
pub(crate) fn walk(
    report: Report<'_>,
    extras: &Extras<'_>,
    sink: &mut dyn SheetSink,
) -> io::Result<()> {
    match report {
        Report::Groups(document) => groups(document, extras.folders, sink),
        Report::Compare(document) => compare(document, sink),
        Report::Dirs(document) => dirs(document, sink),
        Report::Covered(document) => covered(document, sink),
        Report::Find(document) => find(document, sink),
        Report::Pairs(document) => pairs(document, sink),
    }?;
    errors(report.common().errors, sink)
}

fn text(text: &str) -> SheetCell<'_> {
    SheetCell::Text(Cow::Borrowed(text))
}

fn reason(discount: &Discount) -> SheetCell<'_> {
    discount.reason.as_deref().map_or(SheetCell::Empty, text)
}

fn folders<'a>(
    rows: impl IntoIterator<Item = &'a DirRow>,
    sink: &mut dyn SheetSink,
) -> io::Result<()> {
    sink.sheet(&FOLDERS)?;
    for row in rows {
        let cells = [
            SheetCell::Name(&row.a),
            SheetCell::Name(&row.b),
            SheetCell::Share(row.a_in_b, row.identical),
            SheetCell::Share(row.b_in_a, row.identical),
            SheetCell::Count(row.shared_bytes),
            SheetCell::Count(row.files_a),
            SheetCell::Count(row.files_b),
            SheetCell::Count(row.bytes_a),
            SheetCell::Count(row.bytes_b),
            text(if row.identical { "identical" } else { "" }),
        ];
        sink.row(0, &cells)?;
    }
    Ok(())
}

fn dirs(document: &DirsDocument, sink: &mut dyn SheetSink) -> io::Result<()> {
    folders(&document.body.pairs, sink)
}

fn groups(
    document: &GroupsDocument,
    folders_of: Option<&DirsDocument>,
    sink: &mut dyn SheetSink,
) -> io::Result<()> {
    let groups = &document.body;
    if let Some(pairs) = folders_of {
        folders(&pairs.body.pairs, sink)?;
    }
    sink.sheet(&CLUSTERS)?;
    for (at, cluster) in groups.clusters.iter().enumerate() {
        cluster_rows(at as u64 + 1, cluster, sink)?;
    }
    sink.sheet(&IDENTICAL)?;
    for (at, set) in groups.identical.iter().enumerate() {
        set_rows(at as u64 + 1, set, sink)?;
    }
    sink.sheet(&LINKS)?;
    for (at, cluster) in groups.clusters.iter().enumerate() {
        for link in &cluster.links {
            let cells = [
                SheetCell::Count(at as u64 + 1),
                SheetCell::Name(&link.a),
                SheetCell::Name(&link.b),
                SheetCell::Share(link.a_in_b, false),
                SheetCell::Share(link.b_in_a, false),
                SheetCell::Count(link.shared_bytes),
                SheetCell::Share(link.discount.discounted, false),
                reason(&link.discount),
            ];
            sink.row(0, &cells)?;
        }
    }
    Ok(())
}

fn set_rows(number: u64, set: &IdenticalSet, sink: &mut dyn SheetSink) -> io::Result<()> {
    let files = set.paths.len() as u64;
    let time = |at: usize| {
        set.mtimes
            .get(at)
            .map_or(SheetCell::Empty, |t| SheetCell::Time(*t))
    };
    for (at, path) in set.paths.iter().enumerate() {
        let [first, size, overhead, count] = if at == 0 {
            let overhead = set.size.saturating_mul(files.saturating_sub(1));
            [number, set.size, overhead, files].map(SheetCell::Count)
        } else {
            [const { SheetCell::Empty }; 4]
        };
        let cells = [
            first,
            count,
            overhead,
            size,
            time(at),
            SheetCell::Name(path),
        ];
        sink.row(u8::from(at > 0), &cells)?;
    }
    Ok(())
}

fn cluster_rows(number: u64, cluster: &Cluster, sink: &mut dyn SheetSink) -> io::Result<()> {
    let newest = cluster.members.iter().map(|member| member.mtime).max();
    let top = [
        SheetCell::Count(number),
        text(cluster.kind.word()),
        SheetCell::Count(cluster.members.len() as u64),
        SheetCell::Count(cluster.links.len() as u64),
        SheetCell::Count(cluster.bytes),
        SheetCell::Share(cluster.average, false),
        SheetCell::Share(cluster.worst, false),
        SheetCell::Empty,
        SheetCell::Empty,
        newest.map_or(SheetCell::Empty, SheetCell::Time),
        SheetCell::Empty,
        text("cluster"),
        text(&cluster.id),
        SheetCell::Name(&cluster.center),
    ];
    sink.row(0, &top)?;
    for member in &cluster.members {
        let is_center = member.path == cluster.center;
        let share = |share| {
            if is_center {
                SheetCell::Empty
            } else {
                SheetCell::Share(share, false)
            }
        };
        let cells = [
            SheetCell::Empty,
            SheetCell::Empty,
            SheetCell::Empty,
            SheetCell::Empty,
            SheetCell::Count(member.size),
            share(member.a_in_b.max(member.b_in_a)),
            SheetCell::Empty,
            share(member.a_in_b),
            share(member.b_in_a),
            SheetCell::Time(member.mtime),
            SheetCell::Count(member.copies),
            text(match (is_center, member.newest) {
                (_, true) => "newest",
                (true, false) => "centre",
                (false, false) => "",
            }),
            SheetCell::Empty,
            SheetCell::Name(&member.path),
        ];
        sink.row(1, &cells)?;
    }
    Ok(())
}

/// The folder of a row's file on the first side, or else on the second.
fn folder(row: &CompareRow) -> &[u8] {
    let path = row.a.as_ref().or(row.b.as_ref());
    let bytes = path.map_or(&[][..], PathText::as_bytes);
    let slash = bytes.iter().rposition(|byte| *byte == b'/');
    &bytes[..slash.unwrap_or(0)]
}

fn compare(document: &CompareDocument, sink: &mut dyn SheetSink) -> io::Result<()> {
    let comparison = &document.body;
    if !comparison.trees.is_empty() {
        sink.sheet(&FOLDERS)?;
        for tree in &comparison.trees {
            let cells = [
                SheetCell::Name(&tree.a),
                SheetCell::Name(&tree.b),
                SheetCell::Share(tree.a_in_b, false),
                SheetCell::Share(tree.b_in_a, false),
                SheetCell::Empty,
                SheetCell::Count(tree.files_a),
                SheetCell::Count(tree.files_b),
                SheetCell::Count(tree.bytes_a),
                SheetCell::Count(tree.bytes_b),
                SheetCell::Empty,
            ];
            sink.row(0, &cells)?;
        }
    }
    sink.sheet(&COMPARE)?;
    let size = |row: &CompareRow| row.size_a.or(row.size_b).unwrap_or(0);
    for class in CompareClass::ALL {
        let mut by_folder: BTreeMap<&[u8], Vec<&CompareRow>> = BTreeMap::new();
        let (mut files, mut bytes) = (0, 0);
        for row in comparison.entries.iter().filter(|row| row.class == class) {
            by_folder.entry(folder(row)).or_default().push(row);
            files += 1;
            bytes += size(row);
        }
        if files == 0 {
            continue;
        }
        let total = |first, files, bytes, name| {
            let mut cells = [const { SheetCell::Empty }; 11];
            cells[0] = first;
            cells[1] = SheetCell::Count(files);
            cells[2] = SheetCell::Count(bytes);
            cells[3] = name;
            cells
        };
        sink.row(
            0,
            &total(text(class.word()), files, bytes, SheetCell::Empty),
        )?;
        for (folder, rows) in by_folder {
            let bytes = rows.iter().map(|row| size(row)).sum();
            let mut name = crate::escaping::visible(folder);
            name.push('/');
            let name = SheetCell::Text(Cow::Owned(name));
            sink.row(
                1,
                &total(text(class.word()), rows.len() as u64, bytes, name),
            )?;
            for row in rows {
                file_rows(row, sink)?;
            }
        }
    }
    if !comparison.others.is_empty() {
        sink.sheet(&OTHERS)?;
        for other in &comparison.others {
            let side = |what: &'_ Option<String>| {
                what.clone()
                    .map_or(SheetCell::Empty, |what| SheetCell::Text(Cow::Owned(what)))
            };
            sink.row(
                0,
                &[SheetCell::Name(&other.path), side(&other.a), side(&other.b)],
            )?;
        }
    }
    Ok(())
}

fn file_rows(row: &CompareRow, sink: &mut dyn SheetSink) -> io::Result<()> {
    let identical = matches!(row.class, CompareClass::Same | CompareClass::Moved);
    let name = |path: &'_ Option<PathText>| path.is_some();
    let both = name(&row.a) && name(&row.b);
    let size = |size: Option<u64>| size.map_or(SheetCell::Empty, SheetCell::Count);
    let cells = [
        text(row.class.word()),
        SheetCell::Empty,
        SheetCell::Empty,
        row.a.as_ref().map_or(SheetCell::Empty, SheetCell::Name),
        row.b.as_ref().map_or(SheetCell::Empty, SheetCell::Name),
        SheetCell::Share(row.a_in_b, identical),
        SheetCell::Share(row.b_in_a, identical),
        if both {
            SheetCell::Count(row.shared_bytes)
        } else {
            SheetCell::Empty
        },
        size(row.size_a),
        size(row.size_b),
        text(if row.copy { "surplus copy" } else { "" }),
    ];
    sink.row(2, &cells)?;
    for other in &row.others {
        let mut cells = [const { SheetCell::Empty }; 11];
        cells[0] = text(row.class.word());
        cells[if row.a.is_some() { 4 } else { 3 }] = SheetCell::Name(&other.path);
        cells[5] = SheetCell::Share(other.a_in_b, false);
        cells[6] = SheetCell::Share(other.b_in_a, false);
        cells[7] = SheetCell::Count(other.shared_bytes);
        cells[10] = text("further partner");
        sink.row(2, &cells)?;
    }
    Ok(())
}

fn covered(document: &CoveredDocument, sink: &mut dyn SheetSink) -> io::Result<()> {
    let coverage = &document.body;
    sink.sheet(&MISSING)?;
    for row in &coverage.missing {
        let cells = [
            SheetCell::Name(&row.path),
            SheetCell::Count(row.size),
            text(&row.reason),
        ];
        sink.row(0, &cells)?;
    }
    sink.sheet(&NEAR)?;
    for row in &coverage.near {
        let cells = [
            SheetCell::Name(&row.path),
            SheetCell::Name(&row.by),
            SheetCell::Share(row.a_in_b, false),
            SheetCell::Share(row.b_in_a, false),
            SheetCell::Count(row.shared_bytes),
        ];
        sink.row(0, &cells)?;
    }
    let pairs = |sheet: &Sheet, rows: &[CoverPair], sink: &mut dyn SheetSink| {
        sink.sheet(sheet)?;
        rows.iter().try_for_each(|row| {
            let cells = [
                SheetCell::Name(&row.path),
                SheetCell::Name(&row.by),
                SheetCell::Count(row.size),
            ];
            sink.row(0, &cells)
        })
    };
    pairs(&LINKED, &coverage.linked, sink)?;
    pairs(&COPIES, &coverage.copies, sink)?;
    if coverage.recorded.is_empty() {
        return Ok(());
    }
    pairs(&RECORDED, &coverage.recorded, sink)
}

fn find(document: &FindDocument, sink: &mut dyn SheetSink) -> io::Result<()> {
    sink.sheet(&FOUND)?;
    document.body.results.iter().try_for_each(|row| {
        let identical = row.is_identical();
        let cells = [
            SheetCell::Name(&row.file),
            SheetCell::Name(&row.path),
            text(row.relation.map_or("", Relation::word)),
            SheetCell::Share(row.a_in_b, identical),
            SheetCell::Share(row.b_in_a, identical),
            SheetCell::Share(row.resemblance, identical),
            SheetCell::Count(row.shared_bytes),
            SheetCell::Share(row.discount.discounted, false),
            reason(&row.discount),
        ];
        sink.row(0, &cells)
    })
}

fn pairs(document: &PairsDocument, sink: &mut dyn SheetSink) -> io::Result<()> {
    sink.sheet(&PAIRS)?;
    document.body.pairs.iter().try_for_each(|row| {
        let cells = [
            SheetCell::Name(&row.a),
            SheetCell::Name(&row.b),
            SheetCell::Share(row.score, row.identical),
            SheetCell::Share(row.a_in_b, row.identical),
            SheetCell::Share(row.b_in_a, row.identical),
            SheetCell::Share(row.resemblance, row.identical),
            SheetCell::Count(row.shared_bytes),
            SheetCell::Share(row.discount.discounted, false),
            reason(&row.discount),
        ];
        sink.row(0, &cells)
    })
}

fn errors(errors: &[SoftError], sink: &mut dyn SheetSink) -> io::Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    sink.sheet(&ERRORS)?;
    errors
        .iter()
        .try_for_each(|error| sink.row(0, &[SheetCell::Name(&error.path), text(&error.message)]))
}
