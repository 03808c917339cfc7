//! Finds pairs of contents of which one lies partly in the other. Through these pairs, similar
//! files add to the similarity of directories.
//!
//! The pairs are the links of `groups`, with the same figures, between the contents of the
//! question. Each content keeps its best [`MOST`] links: a file that resembles hundreds of others
//! indicates little about directories.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use resemble_core::similarity::too_small;
use resemble_core::tree::{Link, Share};
use resemble_core::{ByteLen, ContentId};
use resemble_index::Snapshot;
use resemble_relate::AskError;
use resemble_relate::scope::ScopedFiles;
use resemble_scan::parts::PartReader;

use super::countable::Countable;
use crate::groups::near::{NearTerms, near_links};

/// The maximum number of links that are kept for a content.
const MOST: usize = 64;

/// The position of a content's files relative to a directory, if only the pairs of that directory
/// are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WhichSide {
    /// All pairs are requested. A content may be linked with any other.
    Any,
    /// The content is only below the directory. It may be linked with contents outside.
    Inside,
    /// The content is only elsewhere. It may be linked with contents below the directory.
    Outside,
    /// The content is in both places, so it counts as equal in some directories elsewhere. It may
    /// still be linked with any other content, for the other directories. If there are too many
    /// contents, those in both places are dropped first.
    Both,
}

impl WhichSide {
    fn links_with(self, other: Self) -> bool {
        self != other || matches!(self, Self::Any | Self::Both)
    }
}

/// Limits of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkEffort<'a> {
    /// The maximum number of contents. If there are more, only the largest are used.
    pub(super) contents: usize,
    /// The maximum number of bytes to read.
    pub(super) work: u64,
    /// The maximum bytes of memory, and the folder for data beyond that; `None`: unbounded.
    pub(super) memory: Option<(u64, &'a Path)>,
}

/// Links between contents. A content is named by its index in the list of the question.
#[derive(Debug, Default)]
pub(super) struct FoundLinks {
    pub(super) links: Vec<Link>,
    /// The links whose shares are estimates.
    pub(super) estimates: Vec<EstimatedLink>,
}

/// The two contents of a link whose shares are estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct EstimatedLink {
    pub(super) of: u32,
    pub(super) to: u32,
    /// For each content: how far below and above the estimate its true share in the other may be,
    /// in millionths. `None`: unknown.
    pub(super) slack: Option<[(u32, u32); 2]>,
}

/// The contents, the side of each content, and the data that decides which links can matter.
type AskedLinks<'a> = (
    &'a [ContentId],
    &'a (dyn Fn(ContentId) -> WhichSide + Sync),
    &'a Countable<'a>,
);

/// Returns the links between the contents of the scoped files, as indices into `contents`.
pub(super) fn between(
    (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
    scoped: &ScopedFiles,
    (contents, side, countable): AskedLinks<'_>,
    effort: LinkEffort<'_>,
) -> Result<FoundLinks, AskError> {
    let of_largest = largest(snapshot, contents, side, effort.contents)?;
    let of_largest = of_largest.map(|contents| scoped.with_contents(&contents));
    let scoped = of_largest.as_ref().unwrap_or(scoped);
    let places: HashMap<ContentId, u32> = contents.iter().copied().zip(0..).collect();
    let near = NearTerms {
        is_wanted: &|a, b| {
            let known = places.get(&a).zip(places.get(&b));
            side(a).links_with(side(b)) && known.is_some_and(|(&a, &b)| countable.are_apart(a, b))
        },
        needed: &|links| {
            let place = |content| places.get(&content).copied().unwrap_or(0);
            let placed = links.iter().map(|&(a, b)| (place(a), place(b)));
            let placed: Vec<(u32, u32)> = placed.collect();
            let mut times = vec![0_usize; contents.len()];
            for &(a, b) in &placed {
                times[a as usize] += 1;
                times[b as usize] += 1;
            }
            // A content with too many links keeps its best ones. These are known only after all its
            // links are measured.
            let are_cut = |&(a, b): &(u32, u32)| times[a as usize].max(times[b as usize]) > MOST;
            let needed = countable.needed(&placed).into_iter().zip(&placed);
            needed
                .map(|(needed, link)| needed || are_cut(link))
                .collect()
        },
        work: effort.work,
        memory: effort.memory,
    };
    let mut found = FoundLinks::default();
    for link in near_links((snapshot, part_reader), scoped, near)? {
        let (Some(&a), Some(&b)) = (places.get(&link.a), places.get(&link.b)) else {
            continue;
        };
        for (of, to, share) in [(a, b, link.a_in_b), (b, a, link.b_in_a)] {
            let share = Share::from_millionths(share);
            found.links.push(Link { of, to, share });
        }
        if link.is_estimate {
            let slack = |share: u32, (low, high): (u32, u32)| {
                (share.saturating_sub(low), high.saturating_sub(share))
            };
            let slack = link
                .ends
                .map(|[in_b, in_a]| [slack(link.a_in_b, in_b), slack(link.b_in_a, in_a)]);
            let (of, to) = (a, b);
            found.estimates.push(EstimatedLink { of, to, slack });
        }
    }
    found.links = best(found.links);
    Ok(found)
}

/// Returns the `most` largest contents that can be judged. Returns `None` if there are at most
/// `most` contents. Contents on both sides are dropped first.
fn largest(
    snapshot: &Snapshot,
    contents: &[ContentId],
    side: &dyn Fn(ContentId) -> WhichSide,
    most: usize,
) -> Result<Option<HashSet<ContentId>>, AskError> {
    if contents.len() <= most {
        return Ok(None);
    }
    let mut sizes: Vec<(ByteLen, ContentId, u32)> = Vec::new();
    for (number, &content) in (0u32..).zip(contents) {
        if let Some(row) = snapshot.content(content)?
            && !too_small(row.size)
        {
            sizes.push((row.size, content, number));
        }
    }
    sizes.sort_unstable_by_key(|&(size, content, number)| {
        (side(content) == WhichSide::Both, Reverse(size), number)
    });
    sizes.truncate(most);
    let largest = sizes.into_iter().map(|(_, content, _)| content);
    Ok(Some(largest.collect()))
}

/// Returns the [`MOST`] best links of each content, sorted by content.
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
