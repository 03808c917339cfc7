//! Finds for each of some files the file of a tree that contains most of it.
//!
//! `covered` asks this about missing files. It is a comparison in which only one side is looked up,
//! so all files are in one join. If a file has its best known partner at its own path, only a
//! better one replaces that.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use resemble_core::{ContentId, FileId, Measures};
use resemble_index::{PostingKind, Snapshot};
use resemble_proto::message::{CompareOptions, PairFigures, SoftError};
use resemble_relate::AskError;
use resemble_relate::judge::listing::is_listed;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::nominate::frames::{Frames, ListedHolders, less_of};
use resemble_relate::parallel::ordered;
use resemble_relate::prove::cost::MOST_WORK;
use resemble_relate::scope::ScopedFiles;
use resemble_scan::parts::PartReader;

use super::classes::{Joined, file_name};
use super::files::{ComparedFiles, FilesMeet};
use super::indexed::{self, ListedSide};
use super::partners::{Better, Link, PartnerQuestion, Partners};
use super::sides::{Holders, Sides};

/// A file with its absolute path, or the path below the root of its side.
pub(crate) type PlacedFile<'p> = (&'p [u8], FileId, ContentId);

/// The files in question, and the tree in which they are searched for.
pub(crate) struct NearestQuestion<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The roots of both sides.
    pub(crate) roots: [&'a Path; 2],
    /// The files that are searched.
    pub(crate) scoped: &'a ScopedFiles,
    /// Takes documents and archives apart again.
    pub(crate) part_reader: Option<&'a dyn PartReader>,
    /// The bound of [`CompareOptions::memory`].
    pub(crate) memory: Option<u64>,
}

/// A file, and the one that contains most of it.
pub(crate) struct NearestFile {
    pub(crate) path: PathBuf,
    pub(crate) by: PathBuf,
    pub(crate) measures: Measures,
    pub(crate) told: PairFigures,
}

impl NearestQuestion<'_> {
    /// Returns for each file of A the listed partner that contains most of it, by path.
    pub(crate) fn ask<'p>(
        &self,
        a: impl Iterator<Item = PlacedFile<'p>>,
        b: impl Iterator<Item = PlacedFile<'p>>,
    ) -> Result<(Vec<NearestFile>, Vec<SoftError>), AskError> {
        let snapshot = self.snapshot;
        let a = ListedSide::of_files(snapshot, self.roots[0], a)?;
        let b = ListedSide::of_files(snapshot, self.roots[1], b)?;
        let (sides, pieces) = indexed::joined(snapshot, a, b, true)?;
        let holders = [&sides.a, &sides.b].map(|side| Holders::of(side, sides.contents.len()));
        let joined = Joined::of(&sides);
        let twins = joined.twins(&sides);
        let alone = joined.lone_contents(&sides);
        let asked = (0..sides.contents.len() as u32)
            .filter(|&content| holders[0].has(content) && !holders[1].has(content));
        let asked: Vec<u32> = asked.collect();
        let options = CompareOptions {
            text: true,
            memory: self.memory,
            ..CompareOptions::default()
        };
        let question = PartnerQuestion {
            sides: &sides,
            files: &ComparedFiles::of(&sides),
            part_reader: self.part_reader,
            pieces: &pieces,
            templates: snapshot.templates(),
            options: &options,
            better: Better::OfA,
            holders: [&holders[0], &holders[1]],
            limit: snapshot.boilerplate_limit(),
            work: MOST_WORK,
            has_unread: AtomicBool::new(false),
        };
        let alone = [&alone[0][..], &alone[1][..]];
        let (partners, counts) = question.ask([&asked, &[]], alone, &twins)?;
        let here: HashSet<ContentId> = pieces.ids().iter().copied().collect();
        let is_here = |content, key| {
            let piece = (PostingKind::Fingerprint, key);
            Ok(here.contains(&content) && self.scoped.knows(snapshot, content, piece)?)
        };
        let holders = ListedHolders {
            snapshot,
            is_here: Some(&is_here),
        };
        let frames = Frames::among(snapshot, &holders);
        let is_listed_of = |link: &Link| {
            let is_listed = |rarity| is_listed(link.told.relation, &link.measures, rarity);
            let (x, y) = match question.files.meeting(link.a, link.b) {
                FilesMeet::Contents(x, y) if x != y && is_listed(None) => (x, y),
                _ => return Ok::<_, AskError>(is_listed(None)),
            };
            let load = |number: u32| {
                let id = pieces.ids()[number as usize];
                Ok::<_, AskError>(StoredSketch {
                    id,
                    ..question.load(number)?
                })
            };
            let (x, y) = (load(x)?, load(y)?);
            let rarity = counts.rarity(&x.sketch(), &y.sketch());
            // Each kind of common text only lowers the score, so a failed step ends the check.
            if !is_listed(rarity) {
                return Ok(false);
            }
            let framed = frames.of_both(&x, &y)?.rarity(&x.signature, &y.signature);
            Ok(is_listed(less_of(rarity, framed)))
        };
        let nearest = ordered(
            sides.a.entries.len(),
            || (),
            |at, ()| nearest_of(&question, at, &partners, &is_listed_of),
        )?;
        Ok((nearest.into_iter().flatten().collect(), partners.errors))
    }
}

/// Returns the file that contains most of this entry of A.
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

/// Returns a path in B of this content: the same path, else a path with the same name, else the
/// least one.
fn place_of<'s>(sides: &'s Sides, holders: &Holders, path: &[u8], link: &Link) -> Option<&'s [u8]> {
    let held = holders.of_content(link.b);
    let paths = || held.iter().map(|&at| &*sides.b.entries[at as usize].path);
    let same_path = paths().find(|other| *other == path);
    let same_name = || paths().find(|other| file_name(other) == file_name(path));
    same_path.or_else(same_name).or_else(|| paths().min())
}
