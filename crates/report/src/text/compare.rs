//! Prints a comparison for people.
//!
//! 1. Totals of both sides come first, then a line for each class with its sign. So the signs of
//!    the rows need no legend.
//! 2. Directories that moved as a whole follow, one on each line. By default, the rows of files
//!    that moved with them are not listed.
//! 3. The rows are last, by class, and folded by folder. Classes of files without a partner come
//!    first. Within each class, the biggest file comes first.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, Relation};
use resemble_proto::documents::CompareDocument;
use resemble_proto::message::{CompareClass, CompareRow, OtherRow, SoftError, TreeRow};
use resemble_proto::path::PathText;

use super::fold::{Line, fold};
use super::{LARGER_SHARE, SCREENFUL, percent, percentages, sentence, share_of};
use crate::human::{counted, files_and_bytes, human_count, human_size};
use crate::lines::{Cell, TextStyle, TextWriter, Tint};
use crate::rows::{marked, score};

/// The parts of a comparison to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Shows every row and folds nothing.
    pub all: bool,
    /// Shows directories that moved as a whole.
    pub trees: bool,
}

/// The order of the classes. Files that exist on one side only come first, and files that moved or
/// are unchanged come last.
const ORDER: [CompareClass; 8] = [
    CompareClass::OnlyA,
    CompareClass::OnlyB,
    CompareClass::Edited,
    CompareClass::MovedEdited,
    CompareClass::Contained,
    CompareClass::Contains,
    CompareClass::Moved,
    CompareClass::Same,
];

/// Returns the sign that a class has in front of its rows.
pub const fn sign(class: CompareClass) -> &'static str {
    match class {
        CompareClass::Same => "=",
        CompareClass::Edited => "*",
        CompareClass::Moved => ">",
        CompareClass::MovedEdited => ">*",
        CompareClass::Contained => "<",
        CompareClass::Contains => "{",
        CompareClass::OnlyA => "-",
        CompareClass::OnlyB => "+",
    }
}

const fn tint(class: CompareClass) -> Tint {
    match class {
        CompareClass::Same => Tint::Good,
        CompareClass::OnlyA | CompareClass::OnlyB => Tint::Notable,
        _ => Tint::Plain,
    }
}

/// Prints a comparison.
pub fn print(out: &mut TextWriter<'_>, document: &CompareDocument, view: View) -> io::Result<()> {
    out.print(head(out.style(), document))?;
    out.print(counts(document))?;
    if view.trees && !document.body.trees.is_empty() {
        out.say("", Tint::Plain)?;
        out.print(trees(out.style(), document, view))?;
    }
    let (rows, rest) = entries(out.style(), document, view);
    if !rows.is_empty() {
        out.say("", Tint::Plain)?;
        percentages(out, LARGER_SHARE)?;
        out.print(rows)?;
    }
    if let Some(rest) = rest {
        out.say(rest, Tint::Faint)?;
    }
    Ok(())
}

/// Returns the lines about the two sides: their sizes, and how much of each side is in the other
/// side.
fn head(style: TextStyle, document: &CompareDocument) -> Vec<Vec<Cell>> {
    let sum = &document.body.summary;
    let is_partial = document.errors.iter().any(SoftError::is_trouble);
    let side = |which: &str, name: &PathText, files, bytes, found, without: u64, other: &str| {
        // The name of a catalogue already ends with a colon.
        let colon = if name.as_bytes().ends_with(b":") {
            ""
        } else {
            ":"
        };
        let rest = match without {
            0 if is_partial => "no file that could be looked at is missing there".to_owned(),
            0 => "no file is missing there".to_owned(),
            1 => "1 file is not".to_owned(),
            n => format!("{} files are not", human_count(n)),
        };
        vec![
            Cell::left(which, Tint::Heading),
            style.name(name, Tint::Heading).followed_by(colon),
            Cell::prose(
                format!(
                    "{}; {} of its bytes are in {other}; {rest}",
                    files_and_bytes(files, bytes),
                    share_of(found, bytes)
                ),
                Tint::Plain,
            ),
        ]
    };
    let parameters = &document.parameters;
    vec![
        side(
            "A",
            &parameters.a,
            sum.files_a,
            sum.bytes_a,
            sum.bytes_a_in_b,
            sum.files_a_not_in_b,
            "B",
        ),
        side(
            "B",
            &parameters.b,
            sum.files_b,
            sum.bytes_b,
            sum.bytes_b_in_a,
            sum.files_b_not_in_a,
            "A",
        ),
    ]
}

/// Returns a heading, and a line for each class that has files. A line has the numbers of the files
/// in A and in B. Lines about other entries and about small files follow.
fn counts(document: &CompareDocument) -> Vec<Vec<Cell>> {
    let mut sum = document.body.summary;
    let heading = |text: &str| Cell::right(text, Tint::Heading);
    let mut lines = vec![vec![
        Cell::left("in", Tint::Heading),
        heading("A"),
        heading("B"),
    ]];
    for class in CompareClass::ALL {
        let counts = [&mut sum.classes_a, &mut sum.classes_b].map(|counts| *counts.of(class));
        if counts != [0, 0] {
            let [a, b] = counts.map(|count| Cell::right(human_count(count), Tint::Plain));
            let sign = Cell::left(format!("{:2}", sign(class)), tint(class));
            lines.push(vec![sign, a, b, Cell::left(meaning(class), Tint::Plain)]);
        }
    }
    let other = sum.other;
    let differ = other.differ + other.only_a + other.only_b;
    if differ > 0 {
        let parts = [
            (other.differ, "on both sides"),
            (other.only_a, "only in A"),
            (other.only_b, "only in B"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", human_count(count)))
            .collect();
        lines.push(vec![
            Cell::left("! ", Tint::Notable),
            Cell::right(human_count(other.differ + other.only_a), Tint::Plain),
            Cell::right(human_count(other.differ + other.only_b), Tint::Plain),
            Cell::left(
                format!(
                    "differ: links, special and unreadable files ({})",
                    parts.join(", ")
                ),
                Tint::Plain,
            ),
        ]);
    }
    lines.extend(small(document));
    lines
}

const fn meaning(class: CompareClass) -> &'static str {
    match class {
        CompareClass::Same => "same",
        CompareClass::Edited => "edited: same path, other bytes",
        CompareClass::Moved => "moved: equal bytes, other path",
        CompareClass::MovedEdited => "moved-edited: alike, other path",
        CompareClass::Contained => "contained: A's file lies in B's",
        CompareClass::Contains => "contains: B's file lies in A's",
        CompareClass::OnlyA => "only-a: no partner in B",
        CompareClass::OnlyB => "only-b: no partner in A",
    }
}

/// Returns a remark about small files without a partner. They are too small to match any file that
/// is not identical.
fn small(document: &CompareDocument) -> Option<Vec<Cell>> {
    let alone = document.body.entries.iter();
    let alone = alone.filter(|row| matches!(row.class, CompareClass::OnlyA | CompareClass::OnlyB));
    let sizes = alone.filter_map(|row| row.size_a.or(row.size_b));
    let small = sizes
        .filter(|&size| size > 0 && too_small(ByteLen(size)))
        .count() as u64;
    let files = counted(small, "file");
    let text = format!("{files} without a partner: too small to judge, unless a copy is there");
    (small > 0).then(|| sentence(text, Tint::Plain))
}

/// The maximum number of directories that moved as a whole and are shown by default.
const TREES: usize = 12;

fn trees(style: TextStyle, document: &CompareDocument, view: View) -> Vec<Vec<Cell>> {
    let trees = &document.body.trees;
    let shown = if view.all { trees.len() } else { TREES };
    let mut lines: Vec<Vec<Cell>> = trees
        .iter()
        .take(shown)
        .map(|tree| {
            vec![
                Cell::left(">/", Tint::Plain),
                percent(tree.a_in_b, false, Tint::Plain),
                Cell::right(human_size(tree.bytes_a), Tint::Plain),
                Cell::right(counted(tree.files_a, "file"), Tint::Plain),
                style
                    .name(&folder(&tree.a), Tint::Plain)
                    .joined(" -> ", &style.name(&folder(&tree.b), Tint::Plain)),
            ]
        })
        .collect();
    let more = trees.len().saturating_sub(shown);
    if more > 0 {
        lines.push(sentence(
            format!("… and {} more that moved", counted_dirs(more as u64)),
            Tint::Faint,
        ));
    }
    lines
}

fn counted_dirs(count: u64) -> String {
    if count == 1 {
        "1 directory".to_owned()
    } else {
        format!("{} directories", human_count(count))
    }
}

/// Formats a directory as `drivers/`, and the compared directory itself as `./`.
fn folder(path: &PathText) -> PathText {
    let mut bytes = path.as_bytes().to_vec();
    if bytes.is_empty() {
        bytes.push(b'.');
    }
    bytes.push(b'/');
    PathText::from_bytes(bytes)
}

/// Returns the lines of the rows, and a sentence about the rows that are left out.
fn entries(
    style: TextStyle,
    document: &CompareDocument,
    view: View,
) -> (Vec<Vec<Cell>>, Option<String>) {
    let body = &document.body;
    let moves: Moves<'_> = if view.trees && !view.all {
        let trees = body.trees.iter();
        trees
            .map(|tree: &TreeRow| (tree.a.as_path(), tree.b.as_path()))
            .collect()
    } else {
        Moves::new()
    };
    let mut sections: Vec<(CompareClass, Vec<&CompareRow>)> =
        ORDER.into_iter().map(|class| (class, Vec::new())).collect();
    let mut in_trees = 0;
    for row in &body.entries {
        if row.class == CompareClass::Moved && is_explained(&moves, row) {
            in_trees += 1;
            continue;
        }
        if let Some((_, rows)) = sections.iter_mut().find(|(class, _)| *class == row.class) {
            rows.push(row);
        }
    }
    sections.retain(|(_, rows)| !rows.is_empty());
    let others = body.others.len();
    let needs: Vec<usize> = sections
        .iter()
        .map(|(_, rows)| rows.len())
        .chain([others])
        .collect();
    let room = if view.all {
        needs.clone()
    } else {
        shares(&needs, SCREENFUL)
    };

    let mut lines = Vec::new();
    let (mut hidden_files, mut hidden_folders, mut is_folded) = (0, 0, false);
    for ((class, rows), room) in sections.iter().zip(&room) {
        let files = rows.iter().map(|row| (place(row).as_bytes(), weight(row)));
        let folded = fold(files, *room);
        hidden_files += folded.hidden_files;
        hidden_folders += folded.hidden_folders;
        is_folded |= folded.is_folded();
        for line in &folded.lines {
            match line {
                Line::File(index) => entry(style, document, rows[*index], view, &mut lines),
                Line::Folder { path, files, bytes } => {
                    let name = style.name(&PathText::from_bytes(*path), Tint::Plain);
                    lines.push(vec![
                        Cell::left(format!("{:2}", sign(*class)), tint(*class)),
                        Cell::right("", Tint::Plain),
                        Cell::right(human_size(*bytes), Tint::Plain),
                        name,
                        Cell::prose(counted(*files, "file"), Tint::Plain),
                    ]);
                }
            }
        }
    }
    let shown = room.last().copied().unwrap_or(0).min(others);
    for other in &body.others[..shown] {
        lines.push(other_entry(style, other));
    }
    hidden_files += (others - shown) as u64;
    let mut rest = Vec::new();
    if hidden_files > 0 {
        let folders = match hidden_folders {
            0 | 1 => String::new(),
            n => format!(" in {} folders", human_count(n)),
        };
        rest.push(format!("… and {} more{folders}", human_count(hidden_files)));
    }
    if in_trees > 0 {
        rest.push(format!(
            "{} moved with their directories",
            counted(in_trees, "file")
        ));
    }
    if rest.is_empty() && !is_folded {
        return (lines, None);
    }
    rest.push("--all shows everything".to_owned());
    (lines, Some(rest.join("; ")))
}

/// Formats an entry that is not a regular file on both sides.
fn other_entry(style: TextStyle, other: &OtherRow) -> Vec<Cell> {
    let what = match (&other.a, &other.b) {
        (Some(a), Some(b)) if a == b => format!("{a}, not the same"),
        (Some(a), Some(b)) => format!("{a} in A, {b} in B"),
        (Some(a), None) => format!("{a}, only in A"),
        (None, Some(b)) => format!("{b}, only in B"),
        (None, None) => String::new(),
    };
    vec![
        Cell::left("! ", Tint::Notable),
        Cell::right("", Tint::Plain),
        Cell::right("", Tint::Plain),
        style.name(&other.path, Tint::Plain),
        Cell::prose(crate::quote::harmless(&what), Tint::Plain),
    ]
}

/// Returns the path in whose folder the row is shown.
fn place(row: &CompareRow) -> &PathText {
    const NOWHERE: &PathText = &PathText::NOTHING;
    row.a.as_ref().or(row.b.as_ref()).unwrap_or(NOWHERE)
}

/// Returns the size by which a row is sorted and folded. It is the size of the larger file. But if
/// one file is contained in the other, it is the size of the contained file.
fn weight(row: &CompareRow) -> u64 {
    let (a, b) = (row.size_a.unwrap_or(0), row.size_b.unwrap_or(0));
    match row.class {
        CompareClass::Contained => a,
        CompareClass::Contains => b,
        _ => a.max(b),
    }
}

/// The directories that moved as a whole, each with its path in A and in B.
type Moves<'a> = HashSet<(&'a Path, &'a Path)>;

/// Returns whether a file moved together with a directory above it, which moved as a whole.
fn is_explained(moves: &Moves<'_>, row: &CompareRow) -> bool {
    let (Some(a), Some(b)) = (&row.a, &row.b) else {
        return false;
    };
    // Up to the directory that moved, all names must be equal on both sides.
    let (mut a, mut b) = (a.as_path(), b.as_path());
    while let (Some(above_a), Some(above_b)) = (a.parent(), b.parent()) {
        if a.file_name() != b.file_name() {
            return false;
        }
        if moves.contains(&(above_a, above_b)) {
            return true;
        }
        (a, b) = (above_a, above_b);
    }
    false
}

/// Distributes `room` lines among lists and returns the number of lines of each. `needs` has the
/// number that each list needs. Short lists get all the lines that they need. The other lists share
/// the rest.
fn shares(needs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|at| needs[*at]);
    let mut left = room;
    let mut shares = vec![0; needs.len()];
    for (done, at) in order.iter().enumerate() {
        let fair = left / (needs.len() - done);
        shares[*at] = needs[*at].min(fair);
        left -= shares[*at];
    }
    shares
}

/// Adds the line of a row. If everything is shown, also adds a line for each further partner of the
/// row.
fn entry(
    style: TextStyle,
    document: &CompareDocument,
    row: &CompareRow,
    view: View,
    lines: &mut Vec<Vec<Cell>>,
) {
    let tint = tint(row.class);
    let equal = matches!(row.class, CompareClass::Same | CompareClass::Moved);
    let share = match row.class {
        CompareClass::OnlyA | CompareClass::OnlyB => Cell::right("", Tint::Plain),
        _ => score(row.a_in_b.max(row.b_in_a), equal, row.told.estimate, tint),
    };
    let mut more = Vec::new();
    if row.told.relation == Some(Relation::SameText) {
        more.push("(the same text, other bytes)".to_owned());
    }
    if row.copy && equal {
        more.push("(another copy)".to_owned());
    }
    if !row.others.is_empty() && !view.all {
        more.push(format!("(and {} more)", row.others.len()));
    }
    if let Some(why) = &row.discount.reason {
        more.push(format!("({})", crate::quote::harmless(why)));
    }
    let mut line = vec![
        Cell::left(format!("{:2}", sign(row.class)), tint),
        share,
        Cell::right(human_size(weight(row)), Tint::Plain),
        names(style, document, row),
    ];
    if !more.is_empty() {
        line.push(Cell::prose(more.join("  "), Tint::Plain));
    }
    lines.push(line);
    if view.all {
        for other in &row.others {
            lines.push(vec![
                Cell::left("  ", Tint::Plain),
                marked(
                    other.a_in_b.max(other.b_in_a),
                    other.told.estimate,
                    Tint::Faint,
                ),
                Cell::right("", Tint::Plain),
                Cell::left("also ", Tint::Faint).joined("", &style.name(&other.path, Tint::Faint)),
            ]);
        }
    }
}

/// Returns the names of a row: `a`, or `a -> b` if they differ.
fn names(style: TextStyle, document: &CompareDocument, row: &CompareRow) -> Cell {
    let shown = |path: &PathText, whole: &PathText| {
        // The relative paths are empty if two files are compared and not two directories.
        let path = if path.as_bytes().is_empty() {
            whole
        } else {
            path
        };
        style.name(path, Tint::Plain)
    };
    let parameters = &document.parameters;
    match (&row.a, &row.b) {
        (Some(a), Some(b)) if a == b && !a.as_bytes().is_empty() => style.name(a, Tint::Plain),
        (Some(a), Some(b)) => shown(a, &parameters.a).joined(" -> ", &shown(b, &parameters.b)),
        (Some(a), None) => shown(a, &parameters.a),
        (None, Some(b)) => shown(b, &parameters.b),
        (None, None) => Cell::left("", Tint::Plain),
    }
}
