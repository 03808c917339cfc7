//! Records the state of a file before its change. So the file can be assessed later without a
//! snapshot.
//!
//! A file is assessed some seconds after its change, against the index from before the change. A
//! snapshot of that index would suffice. But while a snapshot exists, the index file cannot reuse
//! the pages that the snapshot sees. If a file is rewritten all the time, a snapshot would exist
//! for ever, and the index file would grow with every commit. So the required facts are read from
//! the snapshot soon after the change. They are stored as ids, and the snapshot is dropped.
//!
//! Neighbours are stored as content ids and not as files, because contents never change, and their
//! ids are not reused. If the file of a neighbour has changed as well, [`Burst`] has the earlier
//! content of that file.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use resemble_core::ContentId;
use resemble_index::{ReadError, Snapshot};
use resemble_proto::number::Fraction;
use resemble_relate::AskError;

use super::partners::{self, ChangedFile, content_at};
use super::rules::Rules;
use super::{new_bytes, unshared};

/// The state of a path before its change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The content of the file; `None` if there was no readable file.
    pub was: Option<ContentId>,
    /// Contents that resembled the file closely enough for an alert. For an archive, the contents
    /// of its members are included. Empty if `was` is `None`.
    pub neighbours: Arc<[ContentId]>,
    /// The number of components of the deepest directory above the path that existed before the
    /// change.
    pub depth: usize,
}

impl Baseline {
    /// Returns whether `dir`, a directory above the path, existed before the change.
    pub fn had_directory(&self, dir: &Path) -> bool {
        dir.components().count() <= self.depth
    }
}

/// Reads the baselines of many paths from one snapshot.
#[derive(Debug)]
pub struct Baselines {
    before: Snapshot,
    rules: Rules,
    /// The neighbours found so far. The key is the content of a file and the least share that
    /// deserves an alert. Files with the same key have the same neighbours.
    neighbours: HashMap<(ContentId, Fraction), Arc<[ContentId]>>,
}

impl Baselines {
    /// Returns a reader of baselines from this snapshot.
    pub fn new(before: Snapshot) -> Self {
        Self {
            before,
            rules: Rules::default(),
            neighbours: HashMap::new(),
        }
    }

    /// Sets the alert rules of the roots.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Returns whether the change of a file may deserve an alert. The modules `new_bytes` and
    /// `unshared` decide this. Returns true if one of these modules fails, or if the file had no
    /// content before or has none after the change.
    pub fn may_be_news(&self, after: &Snapshot, path: &Path) -> bool {
        let may_be = || {
            let Some(changed) = ChangedFile::at(&self.before, after, path)? else {
                return Ok::<_, AskError>(true);
            };
            let least = self.rules.least_share(path);
            Ok(new_bytes::may_be_news(&changed, least)? && unshared::may_be_news(&changed)?)
        };
        may_be().unwrap_or_else(|error| {
            tracing::debug!(path = ?path, %error, "what the change brought is not known");
            true
        })
    }

    /// Returns the baseline of the path.
    pub fn of(&mut self, path: &Path) -> Result<Baseline, AskError> {
        let was = content_at(&self.before, path)?;
        let neighbours = match was {
            Some(content) => self.neighbours_of(content, path)?,
            None => Arc::default(),
        };
        Ok(Baseline {
            was,
            neighbours,
            depth: self.depth_above(path)?,
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
        let found: Arc<[ContentId]> = found.into();
        self.neighbours.insert((content, least), Arc::clone(&found));
        Ok(found)
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

/// A change of this age is forgotten, even if its burst still goes on.
const TOGETHER: Duration = Duration::from_secs(600);
/// The maximum number of changed files that are remembered for a burst. This many take some tens of
/// megabytes.
const MOST_TOGETHER: usize = 1_000_000;

/// The files that changed in the present burst, with their contents before the burst. A burst
/// begins after a moment without pending changes. Changes older than ten minutes are forgotten.
///
/// Paths are stored as keyed hashes of 64 bits. If the hashes of two paths are equal by chance,
/// which is very rare, an alert may be missing.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    hasher: RandomState,
    was: HashMap<u64, Option<ContentId>>,
    /// Hashes of the changed paths, with the time of their first change, oldest first.
    order: VecDeque<(Instant, u64)>,
}

impl Burst {
    /// Records a changed file and the content that it had before the change. Later changes of the
    /// file in the same burst are ignored.
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

    /// Returns whether the file at the path changed in this burst.
    pub fn contains(&self, path: &Path) -> bool {
        self.was.contains_key(&self.hasher.hash_one(path))
    }

    /// Returns the content that the file at the path had before the burst. For a file that did not
    /// change, this is its present content, `now`.
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
