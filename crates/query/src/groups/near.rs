//! Finds the similar files of a scope for another question.
//!
//! `dirs` measures directories, and similar files in two directories add to the similarity of
//! these. The similar files are those that `groups` links, with the same figures.

use std::path::Path;

use resemble_core::similarity::{Estimated, Unit};
use resemble_core::{ContentId, Score};
use resemble_index::Snapshot;
use resemble_proto::message::GroupsRequest;
use resemble_proto::number::Fraction;
use resemble_relate::AskError;
use resemble_relate::nominate::frames::Frames;
use resemble_relate::prove::contents::ContentReader;
use resemble_relate::prove::many::PairProver;
use resemble_relate::prove::read::OpenFolders;
use resemble_relate::renditions::owners::RenditionOwners;
use resemble_relate::scope::ScopedFiles;
use resemble_scan::parts::PartReader;

use super::held::JoinedLinks;
use super::links::{HalfLink, Links};
use super::meeting::shown;
use super::solve::{NeededLinks, Solver};
use super::terms::LinkTerms;
use resemble_relate::join::Table;
use resemble_relate::join::{PieceLimits, common_pieces};
use resemble_relate::sort::MemoryBudget;

/// Two linked contents of files. Shares are in millionths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearLink {
    pub(crate) a: ContentId,
    pub(crate) b: ContentId,
    pub(crate) a_in_b: u32,
    pub(crate) b_in_a: u32,
    /// True if the shares are estimates, false if they were measured.
    pub(crate) is_estimate: bool,
    /// The bounds of both shares, if they are estimates and bounds were computed.
    pub(crate) ends: Option<[(u32, u32); 2]>,
}

/// If there are more estimates than this, no bounds are computed, because computing them takes
/// long.
pub(crate) const MOST_ESTIMATES: usize = 10_000;

impl NearLink {
    /// Sets the shares and their bounds to the figures that are shown for two unread files.
    fn show(&mut self, found: &Estimated) {
        let millionths = |share: Option<Score>| Fraction::from(share).millionths().unwrap_or(0);
        let Estimated { measures, interval } = found;
        (self.a_in_b, self.b_in_a) = (millionths(measures.a_in_b), millionths(measures.b_in_a));
        let ends = interval.a_in_b.zip(interval.b_in_a);
        let in_millionths = |(low, high)| (millionths(Some(low)), millionths(Some(high)));
        self.ends = ends.map(|(of_a, of_b)| [in_millionths(of_a), in_millionths(of_b)]);
    }
}

/// The links that are requested.
#[derive(Clone, Copy)]
pub(crate) struct NearTerms<'a> {
    /// Returns whether files with these two contents are compared.
    pub(crate) is_wanted: &'a (dyn Fn(ContentId, ContentId) -> bool + Sync),
    /// Selects the needed links from all possible ones.
    pub(crate) needed: NeededLinks<'a>,
    /// The read budget, in the unit of [`MOST_WORK`](resemble_relate::prove::cost::MOST_WORK).
    pub(crate) work: u64,
    /// The bound of [`GroupsRequest::memory`], and the directory for data that exceed the bound.
    pub(crate) memory: Option<(u64, &'a Path)>,
}

/// Returns the links between the files of a scope. Files are named by their contents.
pub(crate) fn near_links(
    (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
    scoped: &ScopedFiles,
    near: NearTerms<'_>,
) -> Result<Vec<NearLink>, AskError> {
    let renditions = RenditionOwners::of(snapshot, scoped)?;
    let table = Table::of(snapshot, scoped, &renditions)?;
    let (memory, dir) = near.memory.unzip();
    // Without a bound nothing is written, so the folder does not matter.
    let (room, dir) = (MemoryBudget::of(memory), dir.unwrap_or(Path::new("/")));
    let limit = snapshot.boilerplate_limit();
    let folders = OpenFolders::default();
    let reader = ContentReader {
        snapshot,
        scoped,
        renditions: &renditions,
        folders: &folders,
        part_reader,
    };
    let prover = PairProver::new(reader, room.part(3));
    // In a family, a member is compared with the leader only, but here copies in other directories
    // matter. So only families of more than `limit` near-copies are formed.
    let limits = PieceLimits {
        limit,
        family: limit,
    };
    let common = common_pieces((&table, &prover), limits, None, (room, dir))?;
    let is_wanted = |a: u32, b: u32| (near.is_wanted)(table.id(a), table.id(b));
    let holders = common.holders(&table);
    let frames = Frames::among(snapshot, &holders);
    let solver = Solver {
        snapshot,
        table: &table,
        counts: &common.counts,
        families: &common.families,
        weighs_by_counts: common.counts_smaller_families,
        frames: (&frames, &common.samples),
        known: None,
        given: None,
        terms: LinkTerms::of(&GroupsRequest::default()),
        prover: &prover,
        is_wanted: &is_wanted,
        needed: Some(near.needed),
        work: near.work,
        room,
        dir,
    };
    let solved = solver.solve(&common.sets, None)?;
    let terms = (solver.terms, &table);
    let mut joined = JoinedLinks::new(
        (snapshot, scoped),
        terms,
        &renditions,
        (part_reader, near.work),
    );
    let mut join = |halves: &[HalfLink]| joined.join(halves);
    let of = (table.file_contents(), snapshot.stop());
    let links = Links::of(solved.runs, of, &mut join, room, dir)?;
    let (mut near, mut halves, mut estimates) = (Vec::new(), Vec::new(), 0);
    for place in 0..table.file_contents() {
        links.read(place, &mut halves)?;
        for half in halves.iter().filter(|half| half.from < half.to) {
            let tie = half.tie();
            let mut link = NearLink {
                a: table.id(half.from),
                b: table.id(half.to),
                a_in_b: tie.there.unwrap_or(0),
                b_in_a: tie.back.unwrap_or(0),
                is_estimate: half.is_estimate(),
                ends: None,
            };
            estimates += usize::from(link.is_estimate);
            if link.is_estimate && estimates <= MOST_ESTIMATES {
                let found = shown(
                    (snapshot, &table),
                    (true, Unit::Words),
                    (half.from, half.to),
                )?;
                if let Some(found) = found {
                    link.show(&found);
                }
            }
            near.push(link);
        }
    }
    Ok(near)
}
