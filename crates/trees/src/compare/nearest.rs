//! Looks up several files in a tree. For each of them, finds the file of the tree that contains
//! most of it.
//!
//! `covered` uses this for files that are missing in the tree. The search is a comparison in which
//! only one side is looked up. All files of this side are looked up in one scan. If most of a file
//! lies in the file at its own path, another file is measured only if its estimate allows a larger
//! share.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use resemble_core::Measures;
use resemble_core::similarity::Templates;
use resemble_proto::message::{CompareOptions, PairFigures, SoftError};
use resemble_relate::AskError;
use resemble_relate::judge::listing::is_listed;
use resemble_relate::nominate::evidence::Counts;
use resemble_relate::parallel::ordered;
use resemble_relate::prove::cost::MOST_WORK;
use resemble_relate::scope::ScopedFiles;
use resemble_scan::parts::PartReader;

use super::classes::{Joined, file_name};
use super::files::{ComparedFiles, FilesMeet};
use super::partners::{Better, Link, PartnerQuestion, Partners, discounted_pieces};
use super::sides::{Holders, Pieces, Sides};

/// The files to look up, and the tree in which they are looked up.
pub(crate) struct NearestQuestion<'a> {
    /// Side A has the files to look up, and side B is the tree.
    pub(crate) sides: &'a Sides,
    pub(crate) pieces: &'a dyn Pieces,
    /// The files of B, if an index has them.
    pub(crate) scoped: Option<&'a ScopedFiles>,
    pub(crate) templates: &'a Templates,
    /// A piece is boilerplate if the number of contents that have it is above this limit.
    pub(crate) limit: u32,
    /// Takes documents and archives apart again.
    pub(crate) part_reader: Option<&'a dyn PartReader>,
    /// The bound of the memory, as in [`CompareOptions::memory`].
    pub(crate) memory: Option<u64>,
}

/// A file that was looked up, and the file that contains most of it.
pub(crate) struct NearestFile {
    pub(crate) path: PathBuf,
    pub(crate) by: PathBuf,
    pub(crate) measures: Measures,
    pub(crate) told: PairFigures,
}

impl NearestQuestion<'_> {
    /// Looks up each file of A. Returns the file of B that contains most of it, among the listed
    /// pairs. The results are in the order of the paths of A. Also returns the read errors.
    pub(crate) fn ask(&self) -> Result<(Vec<NearestFile>, Vec<SoftError>), AskError> {
        let sides = self.sides;
        let holders = [&sides.a, &sides.b].map(|side| Holders::of(side, sides.contents.len()));
        let joined = Joined::of(sides);
        let twins = joined.twins(sides);
        let alone = joined.lone_contents(sides);
        let asked = (0..sides.contents.len() as u32)
            .filter(|&content| holders[0].has(content) && !holders[1].has(content));
        let asked: Vec<u32> = asked.collect();
        let options = CompareOptions {
            text: true,
            memory: self.memory,
            ..CompareOptions::default()
        };
        let question = PartnerQuestion {
            sides,
            files: &ComparedFiles::of(sides),
            part_reader: self.part_reader,
            pieces: self.pieces,
            scoped: self.scoped,
            templates: self.templates,
            options: &options,
            better: Better::OfA,
            holders: [&holders[0], &holders[1]],
            limit: self.limit,
            work: MOST_WORK,
            has_unread: AtomicBool::new(false),
        };
        let alone = [&alone[0][..], &alone[1][..]];
        let (partners, mut counts) = question.ask([&asked, &[]], alone, &twins)?;
        let discounted = Mutex::default();
        let nearest = |counts: &Counts| {
            let is_listed_of = |link: &Link| Self::is_listed(&question, link, counts, &discounted);
            ordered(
                sides.a.entries.len(),
                || (),
                |at, ()| nearest_of(&question, at, &partners, &is_listed_of),
            )
        };
        let mut found = nearest(&counts)?;
        // All contents must be read to find families. So families are searched only if they could
        // add a pair.
        let pieces = std::mem::take(&mut *discounted.lock());
        if !pieces.is_empty() && question.count_families_once(&mut counts, &pieces)? {
            found = nearest(&counts)?;
        }
        Ok((found.into_iter().flatten().collect(), partners.errors))
    }

    /// Returns whether a link is listed. If it is not, adds the pieces that are the reason to
    /// `discounted`.
    fn is_listed(
        question: &PartnerQuestion<'_>,
        link: &Link,
        counts: &Counts,
        discounted: &Mutex<HashSet<u64>>,
    ) -> Result<bool, AskError> {
        let is_listed = |rarity| is_listed(link.told.relation, &link.measures, rarity);
        let (x, y) = match question.files.meeting(link.a, link.b) {
            FilesMeet::Contents(x, y) if x != y && is_listed(None) => (x, y),
            _ => return Ok(is_listed(None)),
        };
        let figures = (&link.told, &link.measures);
        let is_rare = is_listed(question.rarity((x, y), figures, counts)?);
        if !is_rare {
            let sketches = (question.load(x)?, question.load(y)?);
            let pieces = discounted_pieces((&sketches.0, &sketches.1), counts);
            discounted.lock().extend(pieces);
        }
        Ok(is_rare)
    }
}

/// Returns the file of B that contains most of the entry `at` of A, among the listed pairs.
fn nearest_of(
    question: &PartnerQuestion<'_>,
    at: usize,
    partners: &Partners,
    is_listed: &(dyn Fn(&Link) -> Result<bool, AskError> + Sync),
) -> Result<Option<NearestFile>, AskError> {
    let sides = question.sides;
    let entry = &sides.a.entries[at];
    let Some(content) = entry.what.content() else {
        return Ok(None);
    };
    let of = |links: &'_ [Link]| {
        let from = links.partition_point(|link| link.a < content);
        let to = links.partition_point(|link| link.a <= content);
        from..to
    };
    let (links, twins) = (&partners.links, &partners.twins);
    let mut found: Vec<(&Link, &[u8])> = links[of(links)]
        .iter()
        .chain(&twins[of(twins)])
        .filter_map(|link| {
            Some((
                link,
                place_of(sides, question.holders[1], &entry.path, link)?,
            ))
        })
        .collect();
    let figures = |link: &Link| {
        let measures = &link.measures;
        (measures.a_in_b, link.score(), measures.resemblance)
    };
    found.sort_by(|(x, path), (y, other)| {
        let best_first = figures(y).cmp(&figures(x));
        best_first.then_with(|| path.cmp(other))
    });
    for (link, path) in found {
        if is_listed(link)? {
            let by = Path::new(OsStr::from_bytes(path));
            return Ok(Some(NearestFile {
                path: sides.a.path(entry),
                by: sides.b.root.join(by),
                measures: link.measures,
                told: link.told,
            }));
        }
    }
    Ok(None)
}

/// Returns the path of a file of B with this content. The same path is preferred, then a path with
/// the same name, then the first path in order.
fn place_of<'s>(sides: &'s Sides, holders: &Holders, path: &[u8], link: &Link) -> Option<&'s [u8]> {
    let held = holders.of_content(link.b);
    let paths = || held.iter().map(|&at| &*sides.b.entries[at as usize].path);
    let same_path = paths().find(|other| *other == path);
    let same_name = || paths().find(|other| file_name(other) == file_name(path));
    same_path.or_else(same_name).or_else(|| paths().min())
}
