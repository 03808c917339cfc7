//! `compare`: compares two directories by content.
//!
//! ```text
//! an index ──────► indexed ┐                  ┌─► partners (one scan) ─┐
//!                          ├─► sides ─► join ─┤                        ├─► classes ─► rows, trees
//! the disk ─► inventory ───┘                  └─► same, moved ─────────┘
//! ```
//!
//! 1. **Paths first.** Both lists of entries are sorted, and one merge finds the entries of each
//!    path. Files with equal contents at the same path need no further work. For two copies of a
//!    tree, nothing is measured.
//! 2. **The remaining files are looked up once among all files of the other side** (`partners`), by
//!    content. If most of a file lies in the file at its own path, only a better partner is
//!    searched for.
//! 3. **Every file gets one class.** The module `classes` explains the order of decisions.
//! 4. **The totals** include all files, whatever the rows. They are the bytes of one side that lie
//!    in any file of the other side. If a file has several partners, a piece that it shares with
//!    two of them is counted once.
//!
//! The index (`indexed`) and the scan of the disk (`crate::compare::cache`) fill one model
//! (`sides`). Candidates and boilerplate are counted over the contents of these two trees alone. A
//! daemon can have a million other files, and a command has read only the two trees. But both give
//! the same bytes as the answer.
//!
//! A repeated comparison of the same contents uses stored findings (`findings`).
//!
//! A comparison that is not exact reads at most `MOST_WORK` bytes: first the pairs of files with
//! the same path on both sides, then the pairs with the best estimates (`partners::budget`). The
//! rows of unread pairs are marked as estimates.
//!
//! Documents are compared by their texts, and archives by their members, as in every question
//! (`files`). The extracted parts of a file are looked up in addition to its own content.
//!
//! The two trees are the scope. So no ignore rule applies, even if a daemon's root has such rules.
//! If one tree lies in the other, the inner tree is left out of the outer tree.

pub(crate) mod cache;
mod classes;
mod common;
mod discounts;
mod files;
mod findings;
mod framed;
pub(crate) mod indexed;
mod nearest;
mod partners;
mod record;
mod rows;
mod samples;
pub(crate) mod sides;
mod trees;
pub(crate) mod wanted;

use std::sync::atomic::{AtomicBool, Ordering};

use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_index::{Options, Snapshot};
use resemble_proto::message::{CompareOptions, CompareRequest, Comparison, Whole};
use resemble_relate::AskError;
use resemble_relate::findings::FindingsCache;
use resemble_relate::prove::cost::MOST_WORK;
use resemble_scan::parts::PartReader;

use self::classes::{Classes, Joined, Known};
use self::discounts::Discounts;
use self::files::ComparedFiles;
use self::partners::{PartnerQuestion, Partners};
use self::sides::{Holders, Pieces, Sides};

pub use self::cache::TreeCache;
pub(crate) use self::nearest::{NearestFile, NearestQuestion};
pub(crate) use self::partners::Better;

/// Compares two directories (or files) that the index has. `cache` stores the findings for the next
/// comparison. `part_reader` extracts documents and archives again to measure them. Without a part
/// reader, they are estimated.
///
/// # Errors
///
/// Fails with [`AskError::Unreadable`] if the index has nothing at one of the paths.
pub fn compare_with_parts(
    snapshot: &Snapshot,
    request: &CompareRequest,
    part_reader: Option<&dyn PartReader>,
    cache: &dyn FindingsCache,
) -> Result<Whole<Comparison>, AskError> {
    let (sides, pieces) = indexed::sides(snapshot, request)?;
    of_sides(
        &sides,
        &pieces,
        &Terms {
            options: &request.options,
            templates: snapshot.templates(),
            params: snapshot.params(),
            limit: snapshot.boilerplate_limit(),
            part_reader,
            work: MOST_WORK,
        },
        Some(cache),
    )
}

/// The inputs of a comparison other than the files.
pub(crate) struct Terms<'a> {
    pub(crate) options: &'a CompareOptions,
    pub(crate) templates: &'a Templates,
    pub(crate) params: &'a Params,
    /// A piece is boilerplate if the number of contents that have it is above this limit.
    pub(crate) limit: u32,
    /// Takes documents and archives apart again.
    pub(crate) part_reader: Option<&'a dyn PartReader>,
    /// The maximum number of bytes to read, as in `groups`. Pairs beyond this limit keep their
    /// estimates.
    pub(crate) work: u64,
}

impl Terms<'_> {
    /// Returns the limit of boilerplate for comparisons without an index.
    pub(crate) fn default_limit() -> u32 {
        Options::default().boilerplate_limit
    }
}

/// Compares two sides, which an index or a scan has filled.
pub(crate) fn of_sides(
    sides: &Sides,
    pieces: &dyn Pieces,
    terms: &Terms<'_>,
    cache: Option<&dyn FindingsCache>,
) -> Result<Whole<Comparison>, AskError> {
    let holders = [&sides.a, &sides.b].map(|side| Holders::of(side, sides.contents.len()));
    let holders = [&holders[0], &holders[1]];
    let joined = Joined::of(sides);
    let twins = joined.twins(sides);
    let alone = joined.lone_contents(sides);
    let subjects = [0, 1].map(|side| {
        let twin = |&(a, b): &(u32, u32)| [a, b][side];
        let mut subjects: Vec<u32> = (alone[side].iter().copied())
            .chain(twins.iter().map(twin))
            .filter(|&content| !holders[1 - side].has(content))
            .collect();
        subjects.sort_unstable();
        subjects.dedup();
        subjects
    });
    let files = ComparedFiles::of(sides);
    let question = PartnerQuestion {
        sides,
        files: &files,
        part_reader: terms.part_reader,
        pieces,
        scoped: None,
        templates: terms.templates,
        options: terms.options,
        better: Better::OfBoth,
        holders,
        limit: terms.limit,
        work: terms.work,
        has_unread: AtomicBool::new(false),
    };
    let subjects = [&subjects[0][..], &subjects[1][..]];
    let alone = [&alone[0][..], &alone[1][..]];
    let answer = |rows, known: &Known<'_>, partners: &Partners, discounts: &Discounts| {
        let params = terms.params;
        rows::answer(&question, params, &joined, rows, known, partners, discounts)
    };
    let name = || findings::name_of(sides, holders, terms, (subjects, alone), &twins);
    let cache = cache.and_then(|cache| Some((cache, name()?)));
    let kept = cache.as_ref().and_then(|(cache, name)| cache.get(name));
    if let Some((partners, discounts)) =
        kept.and_then(|kept| findings::decode(&kept, sides.contents.len()))
    {
        let (rows, known) =
            Classes::new(sides, holders, terms.options, &partners).rows(&joined, &partners);
        // Stored findings do not depend on paths, but the choice of pairs with rows does. So the
        // discount of a pair may be missing.
        if discounts.has_all(sides, &rows) {
            tracing::debug!("compared before");
            return answer(rows, &known, &partners, &discounts);
        }
    }
    let (partners, counts) = question.ask(subjects, alone, &twins)?;
    tracing::debug!(
        contents = sides.contents.len(),
        looked_up = subjects[0].len() + subjects[1].len(),
        links = partners.links.len(),
        "compared"
    );
    let (rows, known) =
        Classes::new(sides, holders, terms.options, &partners).rows(&joined, &partners);
    let discounts = Discounts::of(&question, &counts, &rows)?;
    std::thread::scope(|threads| {
        // Unreadable contents may be readable the next time. So findings are not stored if a
        // content could not be read.
        let is_final = !question.has_unread.load(Ordering::Relaxed);
        if let Some((cache, name)) = cache.as_ref().filter(|_| is_final) {
            threads.spawn(|| cache.put(name, &findings::encode(&partners, &discounts)));
        }
        answer(rows, &known, &partners, &discounts)
    })
}

#[cfg(test)]
mod tests;
