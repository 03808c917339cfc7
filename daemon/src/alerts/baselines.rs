//! The past of a changed file: as much of it as the assessment needs, without a snapshot.
//!
//! A file is assessed some seconds after its change, against the index as it was before. A snapshot
//! of that would do, but while it lives, no page that it can see is used again: a file that is
//! rewritten all the time would keep one for ever, and the index would grow with every commit. So
//! what the assessment asks of the past is taken out of the snapshot soon after the change, as ids,
//! and the snapshot is let go of.
//!
//! Neighbours are kept as contents, not as files: contents are never changed, and their ids are
//! never given out again. If a neighbour changed as well, [`Burst`] knows its content from before.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use resemble_core::{ContentDigest, ContentId};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::number::Fraction;
use resemble_relate::AskError;

use super::partners::{self, ChangedFile, content_at};
use super::rules::Rules;
use super::{new_bytes, unshared};
use crate::acks::Acks;

/// What a path was before its change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The content that it had; `None` if there was no file, or none that could be read.
    pub was: Option<ContentId>,
    /// The contents that it resembled enough for an alert, or held as members. There are none if it
    /// had no content.
    pub neighbours: Arc<[ContentId]>,
    /// How many components the path of the deepest directory above it had that was there.
    pub depth: usize,
    /// A person has seen it together with a copy: that it has ceased to be one is news.
    pub is_seen: bool,
}

impl Baseline {
    /// Whether a directory above the path was there.
    pub fn had_directory(&self, dir: &Path) -> bool {
        dir.components().count() <= self.depth
    }
}

/// Reads baselines of many paths from one snapshot.
#[derive(Debug)]
pub struct Baselines {
    before: Snapshot,
    rules: Rules,
    acks: Arc<Acks>,
    /// Files with the same content had the same neighbours, if the least share is the same.
    neighbours: HashMap<(ContentId, Fraction), Arc<[ContentId]>>,
}

impl Baselines {
    /// Reads from this snapshot.
    pub fn new(before: Snapshot) -> Self {
        Self {
            before,
            rules: Rules::default(),
            acks: Arc::default(),
            neighbours: HashMap::new(),
        }
    }

    /// Goes by the rules of the roots.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Knows what a person has seen.
    #[must_use]
    pub fn with_acks(self, acks: Arc<Acks>) -> Self {
        Self { acks, ..self }
    }

    /// Whether the change of a file may be news at all; see `new_bytes` and `unshared`.
    pub fn may_be_news(&self, after: &Snapshot, path: &Path) -> bool {
        let may_be = || {
            let Some(changed) = ChangedFile::at(&self.before, after, path)? else {
                return Ok::<_, AskError>(true);
            };
            if self.acks.has(changed.was.digest) {
                return Ok(true);
            }
            let least = self.rules.least_share(path);
            Ok(new_bytes::may_be_news(&changed, least)? && unshared::may_be_news(&changed)?)
        };
        may_be().unwrap_or_else(|error| {
            tracing::debug!(path = ?path, %error, "what the change brought is not known");
            true
        })
    }

    /// What the path was.
    pub fn of(&mut self, path: &Path) -> Result<Baseline, AskError> {
        let was = content_at(&self.before, path)?;
        let neighbours = match was {
            Some(content) => self.neighbours_of(content, path)?,
            None => Arc::default(),
        };
        let digest = was.map(|was| self.digest(was)).transpose()?.flatten();
        let is_seen = digest.is_some_and(|digest| self.acks.is_seen(digest, digest));
        Ok(Baseline {
            was,
            neighbours,
            depth: self.depth_above(path)?,
            is_seen,
        })
    }

    fn neighbours_of(
        &mut self,
        content: ContentId,
        path: &Path,
    ) -> Result<Arc<[ContentId]>, AskError> {
        let least = self.rules.least_share(path);
        if let Some(known) = self.neighbours.get(&(content, least)) {
            return Ok(Arc::clone(known));
        }
        let mut found = Vec::new();
        for other in partners::alike_before(&self.before, path, least)? {
            found.extend(content_at(&self.before, &other)?);
        }
        let members = partners::members(&self.before, content)?;
        found.extend(members.into_iter().map(|(member, _)| member));
        found.sort_unstable();
        found.dedup();
        if let Some(digest) = self
            .digest(content)?
            .filter(|digest| self.acks.has(*digest))
        {
            // What it was seen with is news when it has changed.
            let mut unseen = Vec::new();
            for other in found {
                let other_digest = self.digest(other)?;
                if !other_digest.is_some_and(|other| self.acks.is_seen(digest, other)) {
                    unseen.push(other);
                }
            }
            found = unseen;
        }
        let found: Arc<[ContentId]> = found.into();
        self.neighbours.insert((content, least), Arc::clone(&found));
        Ok(found)
    }

    fn digest(&self, content: ContentId) -> Result<Option<ContentDigest>, ReadError> {
        let row = self.before.content(content)?;
        Ok(row.map(|row| row.digest))
    }

    fn depth_above(&self, path: &Path) -> Result<usize, ReadError> {
        for dir in path.ancestors().skip(1) {
            if self.before.entry(dir)?.is_some() {
                return Ok(dir.components().count());
            }
        }
        Ok(0)
    }
}

/// How long files of a burst that does not end count as having come together.
const TOGETHER: Duration = Duration::from_secs(600);
/// The most files of one burst that are remembered; they take some tens of megabytes.
const MOST_TOGETHER: usize = 1_000_000;

/// The files that changed since the last quiet moment, but not longer than ten minutes ago, and
/// what each had before.
///
/// Paths are kept as keyed hashes of 64 bits. If two of them are equal by chance, which is very
/// rare, one alert may be missing.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    hasher: RandomState,
    was: HashMap<u64, Option<ContentId>>,
    /// The same files in the order of their changes.
    order: VecDeque<(Instant, u64)>,
}

impl Burst {
    /// A file changed, and had this content before. The first change of a burst counts.
    pub fn add(&mut self, path: &Path, was: Option<ContentId>, now: Instant) {
        while self
            .order
            .front()
            .is_some_and(|(at, _)| *at + TOGETHER < now)
        {
            if let Some((_, old)) = self.order.pop_front() {
                self.was.remove(&old);
            }
        }
        let hash = self.hasher.hash_one(path);
        if self.was.len() < MOST_TOGETHER && !self.was.contains_key(&hash) {
            self.was.insert(hash, was);
            self.order.push_back((now, hash));
        }
    }

    /// Whether the file at the path changed.
    pub fn contains(&self, path: &Path) -> bool {
        self.was.contains_key(&self.hasher.hash_one(path))
    }

    /// The content that the file at the path had before; `now`, if it did not change.
    pub fn content_before(&self, path: &Path, now: Option<ContentId>) -> Option<ContentId> {
        let was = self.was.get(&self.hasher.hash_one(path));
        was.copied().unwrap_or(now)
    }

    /// How many files changed.
    pub fn len(&self) -> usize {
        self.was.len()
    }

    /// Whether no file changed.
    pub fn is_empty(&self) -> bool {
        self.was.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_knows_what_was_there_before_its_first_change() {
        let (now, mut burst) = (Instant::now(), Burst::default());
        let (a, b) = (Path::new("/r/a"), Path::new("/r/b"));
        burst.add(a, Some(ContentId(1)), now);
        burst.add(a, Some(ContentId(2)), now);
        assert_eq!(
            burst.content_before(a, Some(ContentId(3))),
            Some(ContentId(1))
        );
        assert_eq!(
            burst.content_before(b, Some(ContentId(3))),
            Some(ContentId(3))
        );
        assert!(burst.contains(a) && !burst.contains(b));
        burst.add(b, None, now + TOGETHER + Duration::from_secs(1));
        assert!(!burst.contains(a), "that is too long ago");
        assert_eq!(burst.len(), 1);
    }
}
