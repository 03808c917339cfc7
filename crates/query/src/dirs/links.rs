//! Which contents lie partly in which: what makes near files count.
//!
//! The candidates are those of `pairs`, among the contents of the question alone. A link needs what
//! a listing needs: a quarter of a content in the other and 256 bytes. Of each content the best
//! [`MOST`] links are kept: a file that resembles hundreds says little about directories.

use std::cmp::Reverse;

use resemble_core::similarity::{Boilerplate, Prepared, too_small};
use resemble_core::tree::{Link, Share};
use resemble_core::{ChunkList, ContentId, Relation, Signature};
use resemble_index::{ContentRow, ReadError, Snapshot};
use resemble_proto::number::Fraction;

use crate::judge::estimate::{enough_shared, estimate_prepared};
use crate::nominate::block::{Common, PostingBlock};
use crate::nominate::evidence::Kept;
use crate::parallel::threads;

/// So many links of one content are kept.
const MOST: usize = 64;

/// Where the files of a content lie, if only the pairs of one directory are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WhichSide {
    /// All pairs are asked for: it may be linked with any content.
    Any,
    /// Below the directory only: it may be linked with those outside.
    Inside,
    /// Elsewhere only: it may be linked with all others.
    Outside,
    /// In both: a content with an equal elsewhere may need a further link all the same. These are
    /// dropped first if there are too many contents.
    Both,
}

impl WhichSide {
    fn links_with(self, other: Self) -> bool {
        self == Self::Any || (self == Self::Outside) != (other == Self::Outside)
    }
}

/// The links between these contents, which they name by their places in the slice. If the contents
/// are more than `most`, between the largest.
pub(super) fn between(
    snapshot: &Snapshot,
    contents: &[ContentId],
    side: impl Fn(ContentId) -> WhichSide,
    most: usize,
) -> Result<Vec<Link>, ReadError> {
    let mut rows: Vec<(u32, ContentRow)> = Vec::new();
    for (number, &content) in (0u32..).zip(contents) {
        if let Some(row) = snapshot.content(content)?
            && !too_small(row.size)
        {
            rows.push((number, row));
        }
    }
    if rows.len() > most {
        rows.sort_unstable_by_key(|(number, row)| {
            (side(row.id) == WhichSide::Both, Reverse(row.size), *number)
        });
        rows.truncate(most);
    }
    let sides: Vec<WhichSide> = rows.iter().map(|(_, row)| side(row.id)).collect();
    let numbers: Vec<u32> = rows.iter().map(|&(number, _)| number).collect();
    let kept: Result<Vec<Kept>, _> = rows
        .iter()
        .map(|(_, row)| Kept::of(snapshot, row))
        .collect();
    let kept = kept?;
    let (mut block, counts) =
        PostingBlock::counting(kept, snapshot.boilerplate_limit(), snapshot.stop());
    let mut bounds: Vec<Bound> = Vec::with_capacity(block.kept.len());
    let mut prepared: Vec<Prepared> = Vec::with_capacity(block.kept.len());
    for content in &mut block.kept {
        prepared.push(Prepared::of(&content.sketch(), &counts));
        let fingerprints = &mut content.signature.fingerprints;
        fingerprints.retain(|&fingerprint| !Boilerplate::fingerprint(&counts, fingerprint));
        bounds.push(Bound::of(content));
        // From here on only what was made of both lists is needed.
        content.signature = Signature::default();
        content.chunks = ChunkList::default();
    }
    let kept = &block.kept;
    let found = block.candidates(
        threads(),
        Vec::new,
        |links: &mut Vec<Link>, a, b, common| {
            if !sides[a].links_with(sides[b]) || !bounds[a].could_link(&bounds[b], common) {
                return Ok(());
            }
            let ready = |at: usize| (&prepared[at], kept[at].kind);
            let measures = estimate_prepared(ready(a), ready(b), &counts);
            let sizes = (kept[a].size, kept[b].size);
            let least = measures
                .containment()
                .is_some_and(|score| score.get() >= Relation::PARTLY);
            if !least || !enough_shared(sizes, &measures, Relation::MIN_SHARED) {
                return Ok(());
            }
            for (of, to, score) in [
                (numbers[a], numbers[b], measures.a_in_b),
                (numbers[b], numbers[a], measures.b_in_a),
            ] {
                let millionths = Fraction::from(score).millionths().unwrap_or(0);
                let share = Share::from_millionths(millionths);
                links.push(Link { of, to, share });
            }
            Ok::<(), ReadError>(())
        },
    )?;
    Ok(best(found.into_iter().flatten().collect()))
}

/// Bounds what a content can share, so that pairs that share no more than a phrase are skipped.
struct Bound {
    size: u64,
    level: u8,
    longest_chunk: u64,
    /// How many fingerprints have at least each level.
    at_least: [u16; LEVELS],
}

/// Levels that are told apart; only the signature of a file of petabytes would have higher ones.
const LEVELS: usize = 48;

/// The least share of windows in common. Scattered edits spoil 64 windows each but one byte: with a
/// share p of the windows in common the containment is at most about p·(1 − ln p), which is a
/// quarter for p = 0.07. The rest is room for the error of small samples.
const LEAST_WINDOWS: f64 = 0.05;

/// With so many samples a chunk that is a quarter of the file would show in them.
const ENOUGH: u16 = 32;

impl Bound {
    fn of(kept: &Kept) -> Self {
        let mut at_least = [0_u16; LEVELS];
        for fingerprint in &kept.signature.fingerprints {
            let count = &mut at_least[usize::from(fingerprint.level()).min(LEVELS - 1)];
            *count = count.saturating_add(1);
        }
        for level in (1..LEVELS).rev() {
            at_least[level - 1] = at_least[level - 1].saturating_add(at_least[level]);
        }
        let longest = kept.chunks.0.iter().map(|run| run.len).max().unwrap_or(0);
        Self {
            size: kept.size.0,
            level: kept.signature.level,
            longest_chunk: u64::from(longest),
            at_least,
        }
    }

    /// Whether so much in common could come to a quarter of one of both.
    fn could_link(&self, other: &Self, common: Common) -> bool {
        let level = usize::from(self.level.max(other.level)).min(LEVELS - 1);
        let fewer = self.at_least[level].min(other.at_least[level]);
        if f64::from(common.fingerprints) >= LEAST_WINDOWS * f64::from(fewer.max(1)) {
            return true;
        }
        // A chunk may prove what few samples hide.
        let chunks = u64::from(common.chunks) * self.longest_chunk.min(other.longest_chunk);
        fewer < ENOUGH && chunks * 4 >= self.size.min(other.size)
    }
}

/// The best links of each content, by content.
fn best(mut links: Vec<Link>) -> Vec<Link> {
    links.sort_unstable_by(|a, b| {
        let place = |link: &Link| (link.of, Reverse(link.share), link.to);
        place(a).cmp(&place(b))
    });
    let mut kept = 0;
    let mut last = None;
    links.retain(|link| {
        kept = if last == Some(link.of) { kept + 1 } else { 1 };
        last = Some(link.of);
        kept <= MOST
    });
    links
}
