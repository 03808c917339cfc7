//! `dirs`: directories that resemble each other, whatever their names and layout.
//!
//! [`resemble_core::tree`] defines what is counted and how pairs are found and folded. This module
//! makes its input from the files of the question.
//!
//! * **Equal contents** are read from the index: all files of one content record are equal.
//! * **Near contents** are the pairs that `groups` links, by the same measures (`links`). Files
//!   under 256 bytes are counted only if they are identical. Files that cannot be read, or exceed
//!   the read budget, are counted by their estimate, and the row says so.
//! * **One directory** ([`listing`]) is shown in the overlay. Its candidates are found from the
//!   files below it (`around`), whatever else the index holds. They are then measured as in a
//!   question about these directories alone.

mod around;
mod countable;
mod links;
mod trees;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use resemble_core::tree::{Node, Pair, Share, fold};
use resemble_core::{ContentId, Relation, Score};
use resemble_index::Snapshot;
use resemble_proto::message::{Answer, DirRow, DirsRequest, EstimateInterval, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_scan::parts::PartReader;

use countable::LeastCommon;
use links::{LinkEffort, WhichSide};
use resemble_relate::AskError;
use resemble_relate::judge::listing::LISTED;
use resemble_relate::prove::cost::MOST_WORK;
use resemble_relate::scope::ScopedFiles;
use trees::Trees;

/// By default, the larger containment of a pair must be at least this share.
const MIN: Share = Share::HALF;

/// By default, a pair must share at least this number of bytes, unless its directories are
/// identical.
const MIN_SHARED: u64 = 256;

/// The limits of a question.
const EVERYTHING: LinkEffort<'_> = LinkEffort {
    contents: usize::MAX,
    work: MOST_WORK,
    memory: None,
};

/// The limits of a listing in the overlay, which every `ls` asks for.
const LISTING: LinkEffort<'_> = LinkEffort {
    contents: 20_000,
    work: 16 << 20,
    memory: None,
};

/// Returns the pairs of similar directories in a scope, most shared bytes first. `part_reader`
/// takes documents apart again to measure their common text; without it the common text is
/// estimated. `scratch` is the folder for data beyond [`DirsRequest::memory`]. It is not used if
/// memory is not bounded.
pub fn dirs_with_parts(
    snapshot: &Snapshot,
    request: &DirsRequest,
    part_reader: Option<&dyn PartReader>,
    scratch: &Path,
) -> Result<Answer<DirRow>, AskError> {
    let mut scope = request.scope.clone();
    if let Some(of) = &request.of
        && !scope
            .within
            .iter()
            .any(|base| of.as_path().starts_with(base.as_path()))
    {
        scope.within.push(of.clone());
    }
    let scoped = ScopedFiles::of(snapshot, &scope)?;
    let dir = request.of.as_ref().map(PathText::as_path);
    let files = (snapshot, part_reader);
    let min = request.min.millionths().map_or(MIN, Share::from_millionths);
    let min_shared = request.min_shared.unwrap_or(MIN_SHARED);
    // By default, identical directories may share less than other pairs.
    let least_identical = request.min_shared.unwrap_or(1);
    let least = (min, min_shared.min(least_identical));
    let effort = LinkEffort {
        memory: request.memory.map(|memory| (memory, scratch)),
        ..EVERYTHING
    };
    let trees = trees(files, &scoped, &scope, (dir, least), effort)?;
    let of = dir.map(|dir| trees.node(dir));
    let mut pairs = match of {
        None => trees.holdings.pairs(least.0, least.1),
        Some(None) => Vec::new(),
        Some(Some(node)) => trees.holdings.pairs_of(node),
    };
    pairs.retain(|pair| {
        let is_identical = || trees.identical(pair.a, pair.b);
        // The files of two directories may all have equal texts, but different bytes. A row shows
        // less than all as the share of such files. So such a pair does not pass if `min` is all.
        let is_similar = min < Share::ALL && pair.passes(min, min_shared);
        is_similar || pair.passes(min, least_identical) && is_identical()
    });
    let mut rows = rows(&trees, &pairs, of.flatten());
    rows.sort_unstable_by(by_saving);
    let mut answer = Answer::fresh(rows, scoped.errors.clone()).cut(request.top);
    answer.header.looked = Some(scoped.looked(snapshot));
    Ok(answer)
}

/// Lists a directory for the overlay. Returns at most [`LISTED`] directories, most shared bytes
/// first, and the number of all that qualify. A directory qualifies if it holds a quarter of `dir`,
/// or if most of it lies in `dir`. The work is bounded: see `around`. `part_reader` is as in
/// [`dirs_with_parts`].
pub fn listing(
    snapshot: &Snapshot,
    dir: &Path,
    part_reader: Option<&dyn PartReader>,
) -> Result<(Vec<DirRow>, usize), AskError> {
    let bases = around::bases(snapshot, dir)?;
    if bases.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let within = bases.iter().map(PathBuf::as_path).chain([dir]);
    let scope = Scope {
        within: within.map(PathText::from).collect(),
        ..Scope::default()
    };
    let scoped = ScopedFiles::of(snapshot, &scope)?;
    let files = (snapshot, part_reader);
    let trees = trees(
        files,
        &scoped,
        &scope,
        (Some(dir), (Share::ZERO, 1)),
        LISTING,
    )?;
    let Some(node) = trees.node(dir) else {
        return Ok((Vec::new(), 0));
    };
    let mut pairs = trees.holdings.pairs_of(node);
    pairs.retain(|pair| is_listed(&trees, pair, node));
    let mut rows = rows(&trees, &pairs, Some(node));
    let total = rows.len();
    rows.sort_unstable_by(by_saving);
    rows.truncate(LISTED);
    Ok((rows, total))
}

/// Returns the relation of the two directories of a row, as if they were files.
pub fn relation(row: &DirRow) -> Relation {
    let share = |fraction: Fraction| fraction.score().map_or(0.0, Score::get);
    let mostly = |fraction| share(fraction) >= Relation::MOSTLY;
    match (mostly(row.a_in_b), mostly(row.b_in_a)) {
        _ if row.identical => Relation::Identical,
        (true, true) => Relation::Near,
        (false, true) => Relation::Contains,
        (true, false) => Relation::Contained,
        (false, false) => Relation::Shares,
    }
}

/// Returns the forest of the scoped files. If the pairs of one directory are requested, near
/// contents are searched for that directory only. Otherwise all pairs of contents that may matter
/// are compared.
fn trees(
    (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
    scoped: &ScopedFiles,
    scope: &Scope,
    (of, least): (Option<&Path>, LeastCommon),
    effort: LinkEffort<'_>,
) -> Result<Trees, AskError> {
    let within = scope.within.iter();
    let bases: Vec<&Path> = within.map(PathText::as_path).collect();
    let sides = of.map(|dir| sides(scoped, dir));
    let side = |content| match &sides {
        None => WhichSide::Any,
        Some(sides) => sides.get(&content).copied().unwrap_or(WhichSide::Outside),
    };
    let least = of.is_none().then_some(least);
    Trees::of(snapshot, scoped, (&bases, least), |contents, countable| {
        let asked = (contents, &side as &_, countable);
        links::between((snapshot, part_reader), scoped, asked, effort)
    })
}

/// Returns for each content whether its files are below `dir`, elsewhere, or in both places.
fn sides(scoped: &ScopedFiles, dir: &Path) -> HashMap<ContentId, WhichSide> {
    let mut sides: HashMap<ContentId, WhichSide> = HashMap::new();
    for file in &scoped.files {
        for path in scoped.paths(file) {
            let side = if path.starts_with(dir) {
                WhichSide::Inside
            } else {
                WhichSide::Outside
            };
            let known = sides.entry(file.content).or_insert(side);
            if *known != side {
                *known = WhichSide::Both;
            }
        }
    }
    sides
}

/// Returns whether the overlay lists the other directory of a pair when `of` is listed. The rule is
/// the same as for files.
fn is_listed(trees: &Trees, pair: &Pair, of: Node) -> bool {
    let pair = if pair.a == of { *pair } else { pair.swapped() };
    let at_least = |share: Share, least: f64| f64::from(share.millionths()) >= least * 1e6;
    let much =
        at_least(pair.a_in_b(), Relation::PARTLY) || at_least(pair.b_in_a(), Relation::MOSTLY);
    (much && pair.passes(Share::ZERO, MIN_SHARED)) || trees.identical(pair.a, pair.b)
}

/// Returns the rows of the pairs that remain after folding. These are the topmost useful pairs. If
/// `first` is given, it is the `a` of each row.
fn rows(trees: &Trees, pairs: &[Pair], first: Option<Node>) -> Vec<DirRow> {
    fold(trees.holdings.forest(), pairs)
        .iter()
        .map(|pair| row(trees, pair, first))
        .collect()
}

/// Returns the row of a pair. Its `a` is `first`, or else the directory whose path sorts first.
fn row(trees: &Trees, pair: &Pair, first: Option<Node>) -> DirRow {
    let raw = |node| trees.path(node).as_os_str().as_encoded_bytes();
    let swapped = match first {
        Some(first) => pair.b == first,
        None => raw(pair.b) < raw(pair.a),
    };
    let pair = if swapped { pair.swapped() } else { *pair };
    let identical = trees.identical(pair.a, pair.b);
    let most = if identical {
        Score::ONE
    } else {
        Score::ALL_BUT_IDENTICAL
    };
    let fraction =
        |share: Share| Fraction::from_millionths(share.millionths()).min(Fraction::from(most));
    DirRow {
        a: PathText::from(trees.path(pair.a)),
        b: PathText::from(trees.path(pair.b)),
        a_in_b: fraction(pair.a_in_b()),
        b_in_a: fraction(pair.b_in_a()),
        shared_bytes: pair.shared(),
        files_a: trees.holdings.files(pair.a),
        files_b: trees.holdings.files(pair.b),
        bytes_a: pair.bytes_a,
        bytes_b: pair.bytes_b,
        estimate: trees.is_estimate(pair.a, pair.b),
        interval: interval(trees, &pair),
        identical,
    }
}

/// Returns the interval of both shares if an estimate is part of them. The errors of all estimates
/// are assumed to have the same sign, so they are added up.
fn interval(trees: &Trees, pair: &Pair) -> Option<EstimateInterval> {
    if !trees.is_estimate(pair.a, pair.b) {
        return None;
    }
    let ends = |shared: u64, all: u64, (less, more): (u64, u64)| {
        let share = |bytes: u64| Share::of(bytes.min(all), all).millionths();
        let ends = [share(shared.saturating_sub(less)), share(shared + more)];
        ends.map(Fraction::from_millionths)
    };
    let [slack_a, slack_b] = trees.slack(pair.a, pair.b)?;
    Some(EstimateInterval {
        a_in_b: ends(pair.shared_a, pair.bytes_a, slack_a),
        b_in_a: ends(pair.shared_b, pair.bytes_b, slack_b),
        resemblance: [Fraction::NONE; 2],
    })
}

/// Compares rows by their shared bytes (most first), larger containment, containment of `a`, and
/// paths.
fn by_saving(one: &DirRow, other: &DirRow) -> Ordering {
    let place = |row: &DirRow| (row.shared_bytes, row.a_in_b.max(row.b_in_a), row.a_in_b);
    place(other)
        .cmp(&place(one))
        .then_with(|| one.a.as_bytes().cmp(other.a.as_bytes()))
        .then_with(|| one.b.as_bytes().cmp(other.b.as_bytes()))
}
