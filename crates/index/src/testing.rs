//! Checks that the data in an index agree with each other, and measures its tables. Only tests use
//! this module.
//!
//! The rows contain most facts twice. An entry refers to a file, and the file has its name. A
//! content row has the number of its files, and the files refer to their content. Chunk lists and
//! signatures have keys that are also in postings. [`Snapshot::check`] compares these facts. Chunk
//! postings are compared without being sorted or stored. Each pair (key, content) is hashed, and
//! the sum of these hashes must be the same over the lists and over the segments. Each fingerprint
//! of a signature must have a posting, and the number of fingerprint postings must be right.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{DatabaseError, TableHandle};
use resemble_core::{ContentId, DirId, FileId};

use crate::batch::boilerplate::Counter;
use crate::checked::Checked;
use crate::codec::inodes;
use crate::codec::rows::{StoredContent, StoredFile, decode_entry, decode_gaps, decode_part};
use crate::error::{ApplyError, ReadError};
use crate::fault::{Fault, guarded};
use crate::index::Index;
use crate::origins::Origin;
use crate::rows::{Entry, FileState, Gap, GapCounts, LeftOutRule, Look};
use crate::schema::PostingKind;
use crate::segments::plan;
use crate::segments::posted;
use crate::segments::read::Scan;
use crate::segments::write::{Merge, Source};
use crate::snapshot::paths::ROOT;
use crate::snapshot::rows::digest_prefix;
use crate::snapshot::{Inner, Snapshot};
use crate::state::{Boilerplate, FileSums, near};
use crate::store::{ReadTransaction, ReadableTableMetadata, TableDefinition};

/// Sets whether this thread skips the checks of blocks. A test uses this function to show that
/// damage would change an answer.
pub fn set_unverified(unverified: bool) {
    crate::checked::UNVERIFIED.set(unverified);
}

/// Returns whether the store in a file can be opened without reading all of it for a repair.
pub fn opens_without_repair(path: &Path) -> bool {
    let file = File::options().read(true).write(true).open(path);
    let file = file.ok().and_then(|file| FileBackend::new(file).ok());
    let checked = file.and_then(|file| Checked::new(file, Arc::default()).ok());
    checked.is_some_and(|checked| {
        redb::Builder::new()
            .set_repair_callback(redb::RepairSession::abort)
            .create_with_backend(checked)
            .is_ok()
    })
}

/// The size of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Number of rows.
    pub rows: u64,
    /// Number of pages of 4096 bytes.
    pub pages: u64,
    /// Number of bytes of keys and values.
    pub stored: u64,
}

impl Index {
    /// Returns the name and the size of every table, including those of segments.
    pub fn table_sizes(&self) -> Result<Vec<(String, TableSize)>, ReadError> {
        let sizes = guarded(|| {
            let txn = self.store.read()?;
            let names = txn.list_tables()?.map(|table| table.name().to_owned());
            names
                .map(|name| Ok((name.clone(), size(&txn, &name)?)))
                .collect()
        });
        sizes.map_err(|fault: Fault| self.place.read_error(fault))
    }

    /// Reads the whole file. Also compares every page with redb's own checksum. Returns `false` if
    /// the file is damaged and must be set aside. Fails if a snapshot exists.
    pub fn verify(&mut self) -> Result<bool, ApplyError> {
        self.latest.lock().take();
        let verified = guarded(|| match self.store.database_mut()?.check_integrity() {
            Ok(clean) => Ok(clean),
            Err(DatabaseError::Storage(error)) => Err(error.into()),
            Err(_) => Ok(false),
        });
        verified.map_err(|fault| self.place.apply_error(fault))
    }
}

fn size(txn: &ReadTransaction, name: &str) -> Result<TableSize, Fault> {
    let table = txn.open_untyped_table(TableDefinition::<u32, u32>::new(name))?;
    let stats = table.stats()?;
    Ok(TableSize {
        rows: table.len()?,
        pages: (stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes()) / 4096,
        stored: stats.stored_bytes(),
    })
}

impl Snapshot {
    /// Compares the rows of names, files, contents and postings. Returns up to a hundred
    /// contradictions, one sentence each. There are no contradictions in an undamaged index.
    pub fn check(&self) -> Result<Vec<String>, ReadError> {
        self.ask(|inner| {
            let mut check = Check {
                inner,
                problems: Vec::new(),
            };
            check.names()?;
            check.files()?;
            check.contents()?;
            check.parts()?;
            check.postings()?;
            Ok(check.problems)
        })
    }
}

const MOST_PROBLEMS: usize = 100;

struct Check<'a> {
    inner: &'a Inner,
    problems: Vec<String>,
}

impl Check<'_> {
    fn expect(&mut self, sound: bool, problem: impl FnOnce() -> String) {
        if !sound && self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem());
        }
    }

    /// Checks that each entry has its directory or file, and that each directory and file has its
    /// entry.
    fn names(&mut self) -> Result<(), Fault> {
        let inner = self.inner;
        let mut dirs = 0;
        let mut counted = HashMap::<u32, GapCounts>::new();
        for row in inner.entries.range::<(u32, &[u8])>(..)? {
            let (key, entry) = row?;
            let (parent, name) = key.value();
            let known = parent == ROOT.0 || inner.directories.get(parent)?.is_some();
            self.expect(known, || {
                format!("an entry is in the unknown directory {parent}")
            });
            match decode_entry(entry.value())? {
                Entry::Dir(DirId(dir)) => {
                    dirs += 1;
                    let row = inner.directories.get(dir)?;
                    let agrees = row.is_some_and(|row| row.value() == (parent, name));
                    self.expect(agrees, || {
                        format!("directory {dir} is not where its entry is")
                    });
                    let given = dir < inner.counters.next_dir;
                    self.expect(given, || format!("directory id {dir} was never given out"));
                }
                Entry::File(file) => {
                    let row = inner.stored_file(file)?;
                    let is_skipped = |row: &StoredFile| matches!(row.state, FileState::Skipped(_));
                    if row.as_ref().is_some_and(is_skipped) {
                        let gap = Gap::LeftOut(LeftOutRule::MaxSize);
                        *counted.entry(parent).or_default().of(gap) += 1;
                    }
                    let named = match row {
                        Some(row) if (row.dir.0, &row.name[..]) == (parent, name) => true,
                        Some(_) => inner.further_names.get((file.0, parent, name))?.is_some(),
                        None => false,
                    };
                    self.expect(named, || {
                        format!("file {} has not the name of an entry", file.0)
                    });
                }
                Entry::Gap(gap) => *counted.entry(parent).or_default().of(gap) += 1,
                Entry::Symlink(_) | Entry::Special(_) => {}
            }
        }
        self.gaps(&counted)?;
        let rows = inner.directories.len()?;
        self.expect(rows == dirs, || {
            format!("{rows} directories have {dirs} entries")
        });
        for row in inner.further_names.range::<(u32, u32, &[u8])>(..)? {
            let (key, _) = row?;
            let (file, dir, name) = key.value();
            let entry = inner.entries.get((dir, name))?;
            let entry = entry.map(|entry| decode_entry(entry.value())).transpose()?;
            let agrees = entry == Some(Entry::File(FileId(file)));
            self.expect(agrees, || {
                format!("a further name of file {file} has no entry")
            });
        }
        Ok(())
    }

    /// Compares the gaps among the entries with the gap counts, and checks the directories that
    /// could not be listed.
    fn gaps(&mut self, counted: &HashMap<u32, GapCounts>) -> Result<(), Fault> {
        let inner = self.inner;
        let mut rows = HashMap::new();
        for row in inner.gaps.range::<u32>(..)? {
            let (dir, row) = row?;
            rows.insert(dir.value(), decode_gaps(row.value())?);
        }
        self.expect(rows == *counted, || {
            format!("gaps {rows:?}, but counted {counted:?}")
        });
        for row in inner.unlisted.range::<u32>(..)? {
            let dir = row?.0.value();
            let known = inner.directories.get(dir)?.is_some();
            self.expect(known, || {
                format!("directory {dir} is unknown and not listed")
            });
        }
        Ok(())
    }

    /// Compares files with their first names, inodes and contents.
    fn files(&mut self) -> Result<(), Fault> {
        let inner = self.inner;
        let mut settled = 0;
        for row in inner.files.range::<u32>(..)? {
            let (id, row) = row?;
            let id = id.value();
            let row = StoredFile::decode(row.value())?;
            let entry = inner.entries.get((row.dir.0, &row.name[..]))?;
            let entry = entry.map(|entry| decode_entry(entry.value())).transpose()?;
            let agrees = entry == Some(Entry::File(FileId(id)));
            self.expect(agrees, || {
                format!("the first name of file {id} has no entry")
            });
            let inode = match inner.inodes.get(inodes::row_of(row.fs, row.ino))? {
                Some(inodes) => inodes::file(inodes.value(), row.ino)?,
                None => None,
            };
            self.expect(inode.is_some(), || {
                format!("the inode of file {id} is unknown")
            });
            let given = id < inner.counters.next_file;
            self.expect(given, || format!("file id {id} was never given out"));
            inner.sets.file_systems.id(row.fs)?;
            if let Some(content) = row.state.content() {
                settled += 1;
                let listed = inner.content_files.get((content.0, id))?.is_some();
                self.expect(listed, || format!("content {} misses file {id}", content.0));
            }
        }
        let sums = FileSums::count(&inner.files)?;
        self.expect(sums == inner.sets.file_sums, || {
            format!("sums {:?}, but counted {sums:?}", inner.sets.file_sums)
        });
        let listed = inner.content_files.len()?;
        self.expect(listed == settled, || {
            format!("{settled} files, {listed} listed by contents")
        });
        for row in inner.inodes.range::<(u16, u64)>(..)? {
            let files = inodes::files(row?.1.value())?;
            self.expect(!files.is_empty(), || "a row of inodes is empty".into());
            for file in files {
                let known = inner.files.get(file.0)?.is_some();
                self.expect(known, || format!("an inode is of the unknown {file:?}"));
            }
        }
        Ok(())
    }

    /// Compares contents with digests, files, lists and counters.
    fn contents(&mut self) -> Result<(), Fault> {
        let inner = self.inner;
        let (mut chunks, mut fingerprints, mut parts) = (0, 0, 0);
        for row in inner.origins.range::<u32>(..)? {
            let (id, row) = row?;
            Origin::decode(row.value())?;
            let id = id.value();
            let is_known = inner.contents.get(id)?.is_some();
            self.expect(is_known, || format!("no content {id}, but its origin"));
        }
        for row in inner.contents.range::<u32>(..)? {
            let (id, row) = row?;
            let id = id.value();
            let row = StoredContent::decode(row.value())?;
            let content = ContentId(id);
            let given = id < inner.counters.next_content;
            self.expect(given, || format!("content id {id} was never given out"));
            self.expect(!inner.sets.dead.has(id), || format!("content {id} is dead"));
            let files = inner.content_files.range((id, 0)..=(id, u32::MAX))?.count();
            let uses = (id, 0, 0)..=(id, u32::MAX, u32::MAX);
            let uses = inner.part_of.range(uses)?.count();
            let counted = (files, uses) == (row.files as usize, row.uses as usize);
            self.expect(counted && files + uses > 0, || {
                let said = (row.files, row.uses);
                format!("content {id}: {files} files and {uses} uses, {said:?} said")
            });
            let parts_of_file = files > 0 || (row.look == Look::Unseen && row.parts == 0);
            self.expect(parts_of_file, || {
                format!("content {id} has parts and no file")
            });
            let listed = inner.parts.range((id, 0)..=(id, u32::MAX))?.count();
            let skipped = inner.skipped_parts.get(id)?.is_some();
            let agree = (listed, skipped) == (row.parts as usize, row.skipped);
            self.expect(agree, || {
                format!("content {id}: {listed} parts, {} said", row.parts)
            });
            let digest = inner
                .digests
                .get((digest_prefix(&row.digest), id))?
                .is_some();
            self.expect(digest, || {
                format!("content {id} is not found by its digest")
            });
            let list = inner.chunks(content)?;
            let whole = list.0.len() as u64 == row.chunk_runs
                && list.0.iter().map(|run| run.count).sum::<u64>() == row.chunks;
            self.expect(whole, || {
                format!("content {id}: its chunk list is not whole")
            });
            let signature = inner.signature(content)?;
            let whole = signature.fingerprints.len() <= row.fingerprints as usize
                && signature.level >= row.level;
            self.expect(whole, || {
                format!("content {id}: its signature is not whole")
            });
            parts += u64::from(row.chunk_runs > 0);
            chunks += row.chunks;
            fingerprints += u64::from(row.fingerprints);
        }
        let rows = (inner.contents.len()?, inner.digests.len()?);
        self.expect(rows.0 == rows.1, || {
            format!("{} contents, {} digests", rows.0, rows.1)
        });
        let lists = inner.chunk_lists.len()?;
        self.expect(lists >= parts, || {
            format!("{parts} contents, {lists} parts of lists")
        });
        let totals = (inner.counters.chunks, inner.counters.fingerprints);
        self.expect(totals == (chunks, fingerprints), || {
            format!(
                "totals {totals:?}, but counted {:?}",
                (chunks, fingerprints)
            )
        });
        Ok(())
    }

    /// Checks that each part belongs to a content and is listed after its parent. Also checks that
    /// `part_of` has a row for each part with a content, and no other rows.
    fn parts(&mut self) -> Result<(), Fault> {
        let inner = self.inner;
        let mut held = 0;
        for row in inner.parts.range::<(u32, u32)>(..)? {
            let (key, row) = row?;
            let (container, number) = key.value();
            let known = inner.contents.get(container)?.is_some();
            self.expect(known, || {
                format!("a part is of the unknown content {container}")
            });
            let part = decode_part(row.value())?;
            let earlier = part.parent.is_none_or(|parent| parent < number);
            self.expect(earlier, || {
                format!("part {number} of content {container} is in a later one")
            });
            if let Some(content) = part.content {
                held += 1;
                let back = inner.part_of.get((content.0, container, number))?.is_some();
                self.expect(back, || {
                    format!("content {} misses its place in {container}", content.0)
                });
            }
        }
        let places = inner.part_of.len()?;
        self.expect(places == held, || {
            format!("{held} parts with a content, {places} places")
        });
        for row in inner.skipped_parts.range::<u32>(..)? {
            let container = row?.0.value();
            let known = inner.contents.get(container)?.is_some();
            self.expect(known, || {
                format!("something of the unknown content {container}")
            });
        }
        Ok(())
    }

    /// Compares postings with chunk lists and signatures, and boilerplate with postings.
    fn postings(&mut self) -> Result<(), Fault> {
        let inner = self.inner;
        let mut previous = None;
        for segment in &inner.segments {
            let row = segment.row;
            let apart = previous < Some(row.first) && row.first <= row.last;
            self.expect(apart, || format!("segment {} overlaps another", row.id));
            previous = Some(row.last);
        }
        let segments = inner.segments.len();
        self.expect(segments <= plan::MOST_IN_BULK, || {
            format!("{segments} segments")
        });
        for id in inner.sets.dead.iter() {
            let held = inner
                .segments
                .iter()
                .any(|s| (s.row.first..=s.row.last).contains(&id));
            self.expect(held, || format!("the dead content {id} is in no segment"));
        }
        let mut forward = [Sum::default(); 2];
        // A text can have more fingerprint postings than its signature has fingerprints. The row of
        // the text has the number of its fingerprint postings.
        let mut posted_prints = 0;
        let mut sampled = HashSet::new();
        for row in inner.contents.range::<u32>(..)? {
            let (id, row) = row?;
            let id = id.value();
            posted_prints += u64::from(StoredContent::decode(row.value())?.fingerprints);
            let chunks: HashSet<u64> = posted(&inner.chunks(ContentId(id))?).collect();
            let signature = inner.signature(ContentId(id))?;
            sampled.extend(signature.fingerprints.iter().map(|f| (f.0, id)));
            for key in chunks {
                forward[0].add(key, id);
            }
        }
        self.heirs()?;
        let limit = inner.boilerplate_limit;
        let mut counts = Boilerplate::default();
        for (kind, forward) in PostingKind::ALL.into_iter().zip(forward) {
            let mut sources = Vec::new();
            let segments = inner.segments.iter();
            for postings in segments.filter_map(|segment| segment.postings(kind)) {
                sources.push(Source::stored(Scan::new(postings)?));
            }
            let mut merge = Merge::new(sources, inner.sets.live(kind));
            let mut counter = Counter::new(counts.of_mut(kind), near(limit));
            let mut stored = Sum::default();
            let mut last = None;
            loop {
                let next = merge.next()?;
                counter.see(next);
                let Some((key, id)) = next else { break };
                self.expect(last < next, || format!("{kind:?} {key:x} is out of order"));
                last = next;
                stored.add(key, id);
                sampled.remove(&(key, id));
            }
            let (is_whole, expected) = match kind {
                PostingKind::Chunk => (stored == forward, forward.count),
                PostingKind::Fingerprint => (stored.count == posted_prints, posted_prints),
            };
            self.expect(is_whole, || {
                format!("{kind:?}: {} postings, {expected} expected", stored.count)
            });
        }
        let unposted = sampled.len();
        self.expect(unposted == 0, || {
            format!("{unposted} samples without a posting")
        });
        if !inner.counters.uncounted {
            self.counts(&counts);
        }
        Ok(())
    }

    /// Compares the stored counts with the counts of all keys that are [`near`] the limit.
    fn counts(&mut self, counted: &Boilerplate) {
        let (sets, limit) = (&self.inner.sets, self.inner.boilerplate_limit);
        // Contents that were added since the last full count may have brought more keys near the
        // limit.
        let births = self.inner.counters.uncounted_births;
        for kind in PostingKind::ALL {
            for key in sets.known_keys(kind) {
                let (said, count) = (sets.count_of(kind, key), counted.of(kind).get(&key));
                let is_boilerplate = said > Some(limit);
                let exact = said == count.copied()
                    && is_boilerplate == sets.boilerplate.of(kind).contains_key(&key);
                self.expect(exact, || {
                    format!("{kind:?} {key:x}: {said:?} contents said, {count:?} counted")
                });
            }
            for (&key, &count) in counted.of(kind) {
                let most = near(limit).saturating_add(births).min(limit);
                let known = count <= most || sets.count_of(kind, key).is_some();
                self.expect(known, || {
                    format!("{kind:?} {key:x}: that {count} contents have it is not known")
                });
            }
            let boilerplate = sets.boilerplate.of(kind).len();
            let above = counted.of(kind).values().filter(|&&count| count > limit);
            let above = above.count();
            self.expect(boilerplate == above, || {
                format!("{kind:?}: {boilerplate} keys are boilerplate, {above} counted")
            });
        }
    }
}

impl Check<'_> {
    /// Compares heirs with contents and with dead contents. Also checks that every chunk list
    /// belongs to one content.
    fn heirs(&mut self) -> Result<(), Fault> {
        let inner = self.inner;
        let heirs = &inner.sets.heirs;
        for (ancestor, heir) in heirs.all() {
            let lives = inner.contents.get(heir)?.is_some();
            self.expect(lives, || {
                format!("the heir {heir} of {ancestor} is no content")
            });
            let dead = inner.sets.dead.has(ancestor);
            self.expect(dead, || format!("{ancestor} has an heir and is not dead"));
        }
        for content in heirs.elsewhere() {
            let lives = inner.contents.get(content)?.is_some();
            self.expect(lives, || format!("the list of {content} is of no content"));
        }
        let mut lists = HashSet::new();
        for row in inner.contents.range::<u32>(..)? {
            let list = heirs.list_of(ContentId(row?.0.value()));
            self.expect(lists.insert(list), || {
                format!("two contents have list {list}")
            });
        }
        for row in inner.chunk_lists.range::<(u32, u32)>(..)? {
            let list = row?.0.value().0;
            let owned = lists.contains(&list);
            self.expect(owned, || format!("list {list} is nobody's"));
        }
        Ok(())
    }
}

/// The sum of the hashes of some postings. The sum does not depend on the order of the postings.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, key: u64, content: u32) {
        // The finaliser of splitmix64 is applied twice. Otherwise, the two combined values could
        // cancel each other.
        let mix = |mut z: u64| {
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(mix(mix(key) ^ u64::from(content)));
    }
}
