//! Records the past state of a changed file for its assessment, without a snapshot.
//!
//! A file is assessed some seconds after its change, against the index from before the change. A
//! snapshot would suffice, but while it exists, no page that it can see is reused. A file that is
//! rewritten all the time would keep a snapshot for ever. The index would then grow with every
//! commit. So the required facts are read from the snapshot soon after the change, as ids. Then the
//! snapshot is dropped.
//!
//! Neighbours are stored as contents, not as files: contents never change, and their ids are not
//! reused. If a neighbour changed as well, [`Burst`] has its content from before.

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

/// State of a path before its change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Content of the file; `None` if there was no readable file.
    pub was: Option<ContentId>,
    /// Contents that resembled the file enough for an alert, and its members; empty without a
    /// content.
    pub neighbours: Arc<[ContentId]>,
    /// Number of components of the deepest existing directory above it.
    pub depth: usize,
    /// True if a person has acknowledged the file together with an identical copy. If the two
    /// differ later, that deserves an alert.
    pub is_seen: bool,
}

impl Baseline {
    /// Returns whether a directory above the path existed.
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
    /// Neighbours by content and least share; equal files of roots with the same rule share them.
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

    /// Applies the rules of the roots.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Uses the marks of files that a user has acknowledged.
    #[must_use]
    pub fn with_acks(self, acks: Arc<Acks>) -> Self {
        Self { acks, ..self }
    }

    /// Returns whether the change of a file may deserve an alert; see `new_bytes` and `unshared`.
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

    /// Returns the state of the path.
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
            // Neighbours that were acknowledged with this content are left out. So they are news
            // after the change.
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

/// Longest time for which files of an endless burst count as simultaneous.
const TOGETHER: Duration = Duration::from_secs(600);
/// The maximum number of files of one burst that are remembered; they take some tens of megabytes.
const MOST_TOGETHER: usize = 1_000_000;

/// The files that changed since the last quiet moment, at most ten minutes ago, and their previous
/// contents.
///
/// Paths are stored as keyed hashes of 64 bits. If two of them are equal by chance, which is very
/// rare, one alert may be missing.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    hasher: RandomState,
    was: HashMap<u64, Option<ContentId>>,
    /// The same files in the order of their changes.
    order: VecDeque<(Instant, u64)>,
}

impl Burst {
    /// Records a changed file and its previous content. Later changes of the file in the same burst
    /// are ignored.
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

    /// Returns whether the file at the path changed.
    pub fn contains(&self, path: &Path) -> bool {
        self.was.contains_key(&self.hasher.hash_one(path))
    }

    /// Returns the previous content of the file at the path; `now` if it did not change.
    pub fn content_before(&self, path: &Path, now: Option<ContentId>) -> Option<ContentId> {
        let was = self.was.get(&self.hasher.hash_one(path));
        was.copied().unwrap_or(now)
    }

    /// Returns the number of changed files.
    pub fn len(&self) -> usize {
        self.was.len()
    }

    /// Returns whether no file changed.
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
