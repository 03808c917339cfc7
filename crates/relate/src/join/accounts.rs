//! Checks that the candidate pairs of an external SQL engine (docs/scale.md) are complete. The
//! engine leaves out a pair whose common piece is boilerplate for the engine. Such pairs are added
//! here.
//!
//! While [`super::common_pieces`] scans all pieces, it reports the number of contents with each
//! piece. These numbers show how many pieces each content has in common with all other contents.
//! The common pieces of the given pairs must add up to the same number. docs/scale.md explains why
//! this finds any mistake.
//!
//! The engine counts every content that has a piece. The question counts a family of near-copies as
//! one. So a piece may be boilerplate for the engine and not for the question. Then the pairs of
//! contents that have this piece are added.
//!
//! Some exported contents are not compared by the question: parts that are not renditions of a
//! file. They are counted nevertheless. Their places follow those of the [`Table`].

use std::collections::BTreeSet;
use std::path::Path;

use resemble_core::ContentId;
use resemble_index::{PostingKind, Snapshot};

use super::measured::{MeasuredPairs, MeasuredSorter};
use super::pair_lists::{CandidatePair, PairLists};
use super::table::Table;
use crate::AskError;
use crate::given::{ExternalCommon, ExternalError, ExternalPairs};
use crate::nominate::evidence::piece_of;
use crate::nominate::families::Families;
use crate::scope::ScopedFiles;
use crate::sort::MemoryBudget;
use crate::sort::Sorter;

/// The counts by which the given candidate pairs are checked.
#[derive(Debug)]
pub struct Accounts<'a> {
    given: &'a dyn ExternalPairs,
    snapshot: &'a Snapshot,
    table: &'a Table,
    /// Contents that are counted, but not compared.
    pub(super) others: Vec<ContentId>,
    /// The engine's name of each content, with the place of the content.
    names: Vec<(i64, u32)>,
    /// The number of common samples and of common chunks that no given pair has accounted for yet,
    /// by place.
    due: Vec<(i64, i64)>,
    pairs: Sorter<CandidatePair>,
    room: MemoryBudget,
    dir: &'a Path,
}

impl<'a> Accounts<'a> {
    /// Returns the accounts of the contents of a question. A piece that more than `limit` contents
    /// have is boilerplate.
    pub fn of(
        given: &'a dyn ExternalPairs,
        (snapshot, scoped, table): (&'a Snapshot, &ScopedFiles, &'a Table),
        limit: u32,
        (room, dir): (MemoryBudget, &'a Path),
    ) -> Result<Self, AskError> {
        if given.degree() != u64::from(limit) {
            return Err(AskError::Given(ExternalError::Degree {
                links: given.degree(),
                asked: u64::from(limit),
            }));
        }
        if !snapshot.templates().is_empty() {
            return Err(AskError::Given(ExternalError::Templates));
        }
        let others = others(snapshot, scoped, table)?;
        let all = (0..table.all()).map(|place| table.id(place));
        let all = all.chain(others.iter().copied());
        let mut names = Vec::new();
        for (place, id) in (0u32..).zip(all) {
            snapshot.stop().go_on()?;
            if let Some(row) = snapshot.content(id)? {
                names.push((given.name(&row.digest), place));
            }
        }
        names.sort_unstable();
        let same = names.windows(2).find(|two| two[0].0 == two[1].0);
        if let Some(&[(name, _), _]) = same {
            return Err(AskError::Given(ExternalError::SameName { name }));
        }
        Ok(Self {
            given,
            snapshot,
            table,
            due: vec![(0, 0); table.all() as usize + others.len()],
            others,
            names,
            pairs: Sorter::new(room.part(6), dir)?,
            room,
            dir,
        })
    }

    /// Returns the measures that were given for pairs of the question.
    pub fn measured(&self) -> Result<MeasuredPairs, AskError> {
        let mut measured = MeasuredSorter::new(self.room, self.dir)?;
        for row in self.given.measured() {
            self.snapshot.stop().go_on()?;
            let row = row?;
            let (a, b) = (self.place(row.a)?, self.place(row.b)?);
            if a.max(b) < self.table.all() {
                let contents = (self.table.id(a), self.table.id(b));
                measured.push(contents, row.of_both)?;
            }
        }
        measured.finish()
    }

    /// Counts a piece. `places` are those of all contents that have it. If more than `limit`
    /// contents have the piece, it is not counted.
    pub(super) fn note(&mut self, kind: PostingKind, places: &[u32], limit: u32) {
        if places.len() > limit as usize {
            return;
        }
        let meets = places.len() as i64 - 1;
        for &place in places {
            add(&mut self.due[place as usize], kind, meets);
        }
    }

    /// Adds all pairs of compared contents that have this piece, which is boilerplate for the
    /// engine only. A content whose leader has the piece is left out.
    pub(super) fn pair_up(
        &mut self,
        (kind, key): (PostingKind, u64),
        places: &[u32],
        families: &Families,
    ) -> Result<(), AskError> {
        let piece = piece_of(kind, key);
        let is_its_own = |&&place: &&u32| {
            let of_leader = families.of_leader(place);
            of_leader.is_none_or(|pieces| !pieces.contains(&piece))
        };
        let own: Vec<u32> = places.iter().filter(is_its_own).copied().collect();
        for (at, &a) in own.iter().enumerate() {
            self.snapshot.stop().go_on()?;
            for &b in &own[at + 1..] {
                self.pairs.push(CandidatePair { a, b })?;
            }
        }
        Ok(())
    }

    /// Reads the given candidates and checks the counts. Returns the given pairs and the added
    /// pairs.
    pub fn close(mut self) -> Result<PairLists, AskError> {
        let given = self.given;
        for pair in given.pairs() {
            self.snapshot.stop().go_on()?;
            let pair = pair?;
            let (a, b) = (self.place(pair.a)?, self.place(pair.b)?);
            self.take(a, pair.common);
            self.take(b, pair.common);
            if a.max(b) < self.table.all() {
                let (a, b) = (a.min(b), a.max(b));
                self.pairs.push(CandidatePair { a, b })?;
            }
        }
        for row in given.rest() {
            let (name, common) = row?;
            let place = self.place(name)?;
            self.take(place, common);
        }
        if let Some(place) = self.due.iter().position(|&due| due != (0, 0)) {
            return Err(self.amiss(place));
        }
        let (contents, room, dir) = (self.table.all(), self.room, self.dir);
        drop((self.names, self.due));
        PairLists::of(self.pairs.finish()?, contents, room, dir)
    }

    fn place(&self, name: i64) -> Result<u32, AskError> {
        let at = self.names.binary_search_by_key(&name, |named| named.0);
        let at = at.map_err(|_| ExternalError::Unknown { name })?;
        Ok(self.names[at].1)
    }

    fn take(&mut self, place: u32, common: ExternalCommon) {
        let due = &mut self.due[place as usize];
        let count = |count: u64| -i64::try_from(count).unwrap_or(i64::MAX);
        add(due, PostingKind::Fingerprint, count(common.fingerprints));
        add(due, PostingKind::Chunk, count(common.chunks));
    }

    fn amiss(&self, place: usize) -> AskError {
        let compared = self.table.all() as usize;
        let id = match place.checked_sub(compared) {
            Some(other) => self.others[other],
            None => self.table.id(place as u32),
        };
        let row = self.snapshot.content(id);
        let (samples, chunks) = self.due[place];
        match row {
            Ok(Some(row)) => AskError::Given(ExternalError::Amiss {
                content: row.digest,
                samples: samples.saturating_neg(),
                chunks: chunks.saturating_neg(),
            }),
            Ok(None) => AskError::Given(ExternalError::Unknown { name: 0 }),
            Err(error) => error.into(),
        }
    }
}

fn add(due: &mut (i64, i64), kind: PostingKind, meets: i64) {
    let due = match kind {
        PostingKind::Fingerprint => &mut due.0,
        PostingKind::Chunk => &mut due.1,
    };
    *due = due.saturating_add(meets);
}

/// Returns the contents that are exported with the files of a question, but not compared by it.
fn others(
    snapshot: &Snapshot,
    scoped: &ScopedFiles,
    table: &Table,
) -> Result<Vec<ContentId>, AskError> {
    let mut others = BTreeSet::new();
    for content in scoped.contents() {
        snapshot.stop().go_on()?;
        if !table.has(content) {
            others.insert(content);
        }
        let row = snapshot.content(content)?;
        if row.is_some_and(|row| row.parts > 0) {
            let parts = snapshot.parts(content)?;
            let contents = parts.into_iter().filter_map(|part| part.content);
            others.extend(contents.filter(|&content| !table.has(content)));
        }
    }
    Ok(others.into_iter().collect())
}
