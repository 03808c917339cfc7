//! Compares two trees without an index of them.
//!
//! An index answers any question, but to make one, postings and rows for inodes must be written in
//! transactions. A single comparison of two trees needs less, and should take no longer than a read
//! of both trees:
//!
//! 1. **Both trees are walked together** ([`scan`]), by all cores. Files of the same path and size
//!    are read side by side and compared byte by byte. If they are equal, only one of them is
//!    digested. Every file is read once, except large files of the same size that are found to be
//!    unequal. The chunks and fingerprints of a file are packed at once, into about 650 bytes.
//!    Documents and archives are taken apart afterwards if necessary, and their renditions are
//!    packed as well.
//! 2. **The comparison** is made by [`crate::compare`]. Packed pieces are unpacked only if a
//!    partner must be searched for some files.
//! 3. **An inventory of each tree is stored** ([`store`]) while the comparison runs. An inventory
//!    holds paths, stats and digests. The packed pieces are in pools that several inventories
//!    share. The next comparison calls `stat` for everything, and reads only changed files. If
//!    nothing changed, it also reuses the pairs that were found (`findings`). An inventory only
//!    saves time. If it cannot be decoded, it is ignored.
//!
//! An inventory trusts a stat only if rule 5 of [`resemble_scan::read`] allows it. So a file that
//! changed less than 35 seconds before it was read is not recorded, and the next comparison reads
//! it again.

pub(crate) mod codec;
mod findings;
mod known;
mod pair;
mod scan;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use resemble_core::similarity::Templates;
use resemble_core::{ChunkList, Signature};
use resemble_index::{Index, ReadError, Snapshot, packed};
use resemble_proto::message::{CompareRequest, Comparison, Whole};
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::CHUNK;
use resemble_relate::parallel::both;
use resemble_relate::prove::cost::MOST_WORK;
use resemble_scan::ingest::Observer;
use resemble_scan::parts::PartReader;

use self::known::{Inventory, Names, PackedPlace};
use self::scan::Scanned;
use crate::compare::partners::Better;
use crate::compare::sides::{Pieces, Sides};
use crate::compare::{Terms, of_sides};

/// The cache of inventories, and the settings of the scans that fill it.
#[derive(Debug)]
pub struct TreeCache<'a> {
    /// The index with the inventories.
    pub index: &'a Arc<Index>,
    /// The maximum size of the cache file. If it is 0, nothing is written.
    pub cache_bytes: u64,
    /// Folders that are left out of every tree, such as the cache itself.
    pub exclude: &'a [PathBuf],
    /// An inventory trusts a stat only if the inode was unchanged for at least this time when its
    /// file was read.
    pub settle_window: Duration,
    /// Takes documents and archives apart.
    pub part_reader: Option<&'a dyn PartReader>,
}

impl<'a> TreeCache<'a> {
    /// Returns whether there is an inventory of the tree.
    pub fn has(&self, root: &Path) -> Result<bool, ReadError> {
        Ok(self
            .index
            .snapshot()?
            .record(&store::head_name(root))?
            .is_some())
    }

    /// Returns the part reader, if the request compares documents by their texts.
    pub(crate) fn part_reader_for(&self, request: &CompareRequest) -> Option<&'a dyn PartReader> {
        self.part_reader.filter(|_| request.options.text)
    }

    /// Returns the id of the part reader. Returns an empty id if nothing is taken apart for the
    /// request.
    fn formats_for(&self, request: &CompareRequest) -> String {
        let part_reader = self.part_reader_for(request);
        part_reader.map_or_else(String::new, PartReader::id)
    }

    /// Compares two trees in their present state.
    pub fn compare(
        &self,
        request: &CompareRequest,
        templates: &Templates,
        observer: &mut dyn Observer,
    ) -> Result<Whole<Comparison>, AskError> {
        self.scanned(request, Better::OfBoth, observer, |trees| {
            let terms = Terms {
                options: &request.options,
                templates,
                params: self.index.params(),
                limit: Terms::default_limit(),
                part_reader: self.part_reader_for(request),
                work: MOST_WORK,
            };
            let keeps = (self.cache_bytes > 0).then_some(self as _);
            of_sides(&trees.scanned.sides, trees, &terms, keeps)
        })
    }

    /// Scans two trees and calls `ask` with the result, while their inventories are stored. If
    /// stored inventories are damaged, scans and asks once more without them. If only files of A
    /// are looked up (`better`), documents are taken apart only if B lacks a content of A.
    pub(crate) fn scanned<T>(
        &self,
        request: &CompareRequest,
        better: Better,
        observer: &mut dyn Observer,
        ask: impl Fn(&ScannedTrees<'_>) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let roots = [request.a.as_path(), request.b.as_path()];
        let snapshot = self.index.snapshot()?;
        let names = Mutex::new(Names::default());
        let formats = self.formats_for(request);
        let made_with = (self.index.params(), &*formats);
        let known = both(
            || store::load(&snapshot, made_with, roots[0], &names),
            || store::load(&snapshot, made_with, roots[1], &names),
        );
        let names = names.into_inner();
        drop(snapshot);
        let wanted = (request, better);
        let answer = self.look(wanted, (&known.into(), names), observer, &ask);
        let answer = match answer {
            // Packed pieces are missing or damaged, so the trees are scanned again without the
            // inventories.
            Err(Failure::Pool) => {
                let unknown = (&[None, None], Names::default());
                self.look(wanted, unknown, observer, &ask)
            }
            other => other,
        };
        answer.map_err(Failure::into_ask)
    }

    fn look<T>(
        &self,
        (request, better): (&CompareRequest, Better),
        (known, names): (&[Option<Inventory>; 2], Names),
        observer: &mut dyn Observer,
        ask: &impl Fn(&ScannedTrees<'_>) -> Result<T, AskError>,
    ) -> Result<T, Failure> {
        let scanned = scan::scan((request, better), self, (known, names), observer)?;
        let pieces = ScannedTrees {
            index: self.index,
            measured: self.index.snapshot().map_err(AskError::from)?,
            scanned: &scanned,
            pools: scanned.names.pools.iter().cloned().map(Pool::new).collect(),
            damaged: AtomicBool::new(false),
        };
        std::thread::scope(|threads| {
            let writing = (self.cache_bytes > 0).then(|| {
                let keep = store::NewInventories {
                    tree_cache: self,
                    request,
                    scanned: &scanned,
                    known,
                    pieces: &pieces,
                };
                threads.spawn(move || keep.store())
            });
            let answer = ask(&pieces);
            if let Some(Ok(Err(error))) = writing.map(std::thread::ScopedJoinHandle::join) {
                tracing::debug!("the catalogues were not kept: {error}");
            }
            if pieces.failed() {
                return Err(Failure::Pool);
            }
            Ok(answer?)
        })
    }
}

/// The reason why the scan of two trees failed.
enum Failure {
    Ask(AskError),
    /// Packed pieces that an inventory names are missing or damaged.
    Pool,
}

impl Failure {
    fn into_ask(self) -> AskError {
        match self {
            Self::Ask(error) => error,
            // Only inventories refer to pools, and the second attempt uses no inventory. So this
            // failure should not occur.
            Self::Pool => AskError::Unreadable {
                path: PathBuf::from("cache.redb"),
                source: std::io::Error::other("the cache changed under our eyes; ask again"),
            },
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self::Ask(error)
    }
}

/// A record of packed pieces, loaded on first use.
struct Pool {
    name: String,
    bytes: std::sync::OnceLock<Option<Vec<u8>>>,
}

impl Pool {
    const fn new(name: String) -> Self {
        Self {
            name,
            bytes: std::sync::OnceLock::new(),
        }
    }
}

/// Two scanned trees, with access to the packed pieces of their contents. The pieces are in memory
/// or in pools of the cache.
pub(crate) struct ScannedTrees<'a> {
    index: &'a Index,
    /// A snapshot of the cache, which has the measures of earlier comparisons.
    measured: Snapshot,
    scanned: &'a Scanned,
    pools: Vec<Pool>,
    damaged: AtomicBool,
}

impl ScannedTrees<'_> {
    pub(crate) const fn sides(&self) -> &Sides {
        &self.scanned.sides
    }

    fn bytes(&self, place: &PackedPlace) -> Option<&[u8]> {
        let all = match place.pool {
            known::Where::Arena(number) => &self.scanned.arenas.get(number as usize)?[..],
            known::Where::Pool(number) => {
                let pool = self.pools.get(number as usize)?;
                let fetch = || {
                    let snapshot = self.index.snapshot().ok()?;
                    snapshot.record(&pool.name).ok().flatten()
                };
                pool.bytes.get_or_init(fetch).as_deref()?
            }
        };
        let from = usize::try_from(place.from).ok()?;
        all.get(from..from.checked_add(place.length as usize)?)
    }

    /// Returns whether requested pieces were missing or damaged. If so, the answer is not valid.
    fn failed(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }
}

impl Pieces for ScannedTrees<'_> {
    fn pieces(&self, content: u32) -> Result<(ChunkList, Signature), AskError> {
        let place = &self.scanned.places[content as usize];
        let unpacked = self.bytes(place).and_then(packed::unpack);
        if unpacked.is_none() {
            self.damaged.store(true, Ordering::Relaxed);
        }
        Ok(unpacked.unwrap_or_default())
    }

    fn measured(&self) -> Option<&Snapshot> {
        Some(&self.measured)
    }

    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> bool {
        let Some(bytes) = self.bytes(&self.scanned.places[content as usize]) else {
            return false;
        };
        keys.clear();
        let mut fingerprints = Vec::with_capacity(128);
        let told = packed::evidence(
            bytes,
            |key| keys.push(key | CHUNK),
            |fingerprint| fingerprints.push(fingerprint),
        );
        keys.sort_unstable();
        keys.dedup();
        keys.extend(fingerprints);
        told.is_some()
    }
}

#[cfg(test)]
mod tests;
