//! Caches signatures in the index, so that a second question reads no file.
//!
//! Signatures are records of the index with the key (params id, content id). One record holds the
//! signatures of `BLOCK` contents, because a record of a single signature would consist mostly of
//! the record's name. The index never reuses the id of a content, so no content gets the signature
//! of another one.
//!
//! ```text
//! method.register        the blocks of each params id; the id written last comes first
//! method.kept/ID/BLOCK   signatures by the place of their content in the block
//! method.sets/ID         a digest of the contents, and the collated sets of sif made of them
//! method.arrays          the name of the index whose ids the arrays of sorted5 use
//! ```
//!
//! 1. **Signatures are removed with their contents.** The first write of a question removes
//!    signatures of its params id if the index no longer has their contents.
//! 2. **The cache is bounded.** It holds the signatures of at most `MOST_IDS` params ids. The
//!    signatures of the oldest id are removed when someone tries further parameters.
//! 3. **No answer needs the cache.** A record that is damaged, is missing, or cannot be written
//!    costs only time.
//! 4. **A record is read and replaced in one transaction.** So two simultaneous questions do not
//!    lose each other's signatures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resemble_core::ContentId;
use resemble_index::{Index, ReadError, Snapshot};
use resemble_methods::MethodSignature;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The number of consecutive content ids whose signatures are in one record.
pub(super) const BLOCK: u32 = 1024;

/// The encoded signatures of a record. The key of a signature is the content's id modulo [`BLOCK`].
type SignatureBlock = BTreeMap<u32, Vec<u8>>;

/// The params ids, each with the numbers of its blocks. The id that was written last is first.
type BlockRegister = Vec<(String, BTreeSet<u32>)>;

/// The names of records, with their new contents. `None` removes a record.
type Records = Vec<(String, Option<Vec<u8>>)>;

/// The maximum number of params ids whose signatures are cached.
const MOST_IDS: usize = 8;

/// The name of the record that lists the blocks.
const REGISTER: &str = "method.register";

/// The name of the record that holds the name of the index.
const NAME: &str = "method.arrays";

/// A cache of signatures: the index in which they are stored, and the folder for cached files.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignatureCache<'a> {
    index: Option<&'a Index>,
    folder: Option<&'a Path>,
    stays: bool,
}

impl<'a> SignatureCache<'a> {
    /// A cache that stores nothing.
    pub const fn nowhere() -> Self {
        Self {
            index: None,
            folder: None,
            stays: false,
        }
    }

    /// Creates a cache that stores signatures in this index.
    pub const fn in_index(index: &'a Index) -> Self {
        Self {
            index: Some(index),
            ..Self::nowhere()
        }
    }

    /// Sets the folder for cached files. `stays` says whether files remain there after the
    /// question. By default, the folder is that of temporary files, where nothing remains.
    #[must_use]
    pub const fn with_folder(self, folder: &'a Path, stays: bool) -> Self {
        Self {
            folder: Some(folder),
            stays,
            ..self
        }
    }

    /// Returns the folder for cached files, and whether files remain there after the question.
    pub(super) fn folder(&self) -> (PathBuf, bool) {
        let folder = self
            .folder
            .map_or_else(std::env::temp_dir, Path::to_path_buf);
        (folder, self.stays)
    }

    /// Returns the unique name of this index. If the index has no name yet, it gets one.
    pub(super) fn name_of_index(&self, snapshot: &Snapshot) -> Result<String, ReadError> {
        let text = |record: Vec<u8>| String::from_utf8_lossy(&record).into_owned();
        if let Some(name) = snapshot.record(NAME)? {
            return Ok(text(name));
        }
        let mut name = crate::arrays::fresh_name();
        self.update(|now| {
            if let Some(given) = now.record(NAME)? {
                name = text(given);
                return Ok(Records::new());
            }
            Ok(vec![(NAME.to_owned(), Some(name.clone().into_bytes()))])
        });
        Ok(name)
    }

    /// Writes the records that `change` makes from the current state of the index. A failure is
    /// only logged, because a missing record only costs time.
    fn update(&self, change: impl FnOnce(&Snapshot) -> Result<Records, ReadError>) {
        if let Some(index) = self.index
            && let Err(error) = index.update_records(change)
        {
            tracing::debug!(%error, "signatures are not cached");
        }
    }
}

/// A signature that was computed for this question.
#[derive(Debug)]
pub(super) struct NewSignature {
    pub(super) content: ContentId,
    pub(super) signature: Vec<u8>,
}

fn block_name(id: &str, block: u32) -> String {
    format!("method.kept/{id}/{block:08x}")
}

fn sets_name(id: &str) -> String {
    format!("method.sets/{id}")
}

/// Returns the signatures of a block. A block that is missing or damaged has no signatures.
fn read_block(snapshot: &Snapshot, id: &str, number: u32) -> Result<SignatureBlock, ReadError> {
    let record = snapshot.record(&block_name(id, number))?;
    let block: Option<SignatureBlock> = record.and_then(|record| decoded(&record));
    Ok(block
        .filter(|block| block.keys().all(|&place| place < BLOCK))
        .unwrap_or_default())
}

/// The cached signatures of one params id, for one question.
pub(super) struct CachedSignatures<'a> {
    snapshot: &'a Snapshot,
    cache: SignatureCache<'a>,
    id: String,
    /// True if this question has already removed the signatures of contents that the index no
    /// longer has.
    is_swept: bool,
}

impl<'a> CachedSignatures<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, id: String, cache: SignatureCache<'a>) -> Self {
        Self {
            snapshot,
            cache,
            id,
            is_swept: false,
        }
    }

    /// Returns the cached signatures of these contents, whose ids ascend. The result is `None` for
    /// a content that is not cached.
    pub(super) fn recall(
        &self,
        contents: &[ContentId],
    ) -> Result<Vec<Option<MethodSignature>>, ReadError> {
        let mut found = Vec::with_capacity(contents.len());
        for block in contents.chunk_by(|a, b| a.0 / BLOCK == b.0 / BLOCK) {
            let number = block[0].0 / BLOCK;
            let cached = read_block(self.snapshot, &self.id, number)?;
            found.extend(block.iter().map(|content| {
                let bytes = cached.get(&(content.0 % BLOCK))?;
                MethodSignature::decode(bytes).ok()
            }));
        }
        Ok(found)
    }

    /// Adds signatures to the cache.
    pub(super) fn store(&mut self, new: Vec<NewSignature>) {
        if new.is_empty() {
            return;
        }
        let mut added: BTreeMap<u32, SignatureBlock> = BTreeMap::new();
        for NewSignature { content, signature } in new {
            let block = added.entry(content.0 / BLOCK).or_default();
            block.insert(content.0 % BLOCK, signature);
        }
        let id = &self.id;
        let sweeps = !std::mem::replace(&mut self.is_swept, true);
        self.cache.update(|now| {
            let (mut register, mut records) = touched(now, id)?;
            let mut numbers: BTreeSet<u32> = added.keys().copied().collect();
            if sweeps {
                numbers.append(&mut register[0].1);
            }
            for number in numbers {
                let (mut block, had) = living(now, id, number)?;
                let mut added = added.remove(&number).unwrap_or_default();
                let is_changed = block.len() < had || !added.is_empty();
                block.append(&mut added);
                if !block.is_empty() {
                    register[0].1.insert(number);
                }
                if is_changed {
                    let record = (!block.is_empty()).then(|| encoded(&block));
                    records.push((block_name(id, number), record));
                }
            }
            records.push((REGISTER.to_owned(), Some(encoded(&register))));
            Ok(records)
        });
    }

    /// Returns the sets that are cached under this key, if there are any.
    pub(super) fn recall_sets(&self, key: &[u8; 32]) -> Result<Option<Vec<u8>>, ReadError> {
        let record = self.snapshot.record(&sets_name(&self.id))?;
        Ok(record.and_then(|record| Some(record.strip_prefix(key)?.to_vec())))
    }

    /// Caches collated sets under this key, and removes the previous sets.
    pub(super) fn store_sets(&self, key: &[u8; 32], sets: &[u8]) {
        self.cache.update(|now| {
            let (register, mut records) = touched(now, &self.id)?;
            records.push((sets_name(&self.id), Some([key, sets].concat())));
            records.push((REGISTER.to_owned(), Some(encoded(&register))));
            Ok(records)
        });
    }
}

/// Returns the register with this params id moved to the front. Also returns changes that remove
/// the records of the ids beyond [`MOST_IDS`].
fn touched(now: &Snapshot, id: &str) -> Result<(BlockRegister, Records), ReadError> {
    let record = now.record(REGISTER)?;
    let mut register: BlockRegister = record
        .and_then(|record| decoded(&record))
        .unwrap_or_default();
    let own = register.iter().position(|(known, _)| known == id);
    let own = own.map_or_else(
        || (id.to_owned(), BTreeSet::new()),
        |at| register.remove(at),
    );
    register.insert(0, own);
    let mut forgotten = Records::new();
    for (old, blocks) in register.split_off(MOST_IDS.min(register.len())) {
        forgotten.extend(blocks.iter().map(|&block| (block_name(&old, block), None)));
        forgotten.push((sets_name(&old), None));
    }
    Ok((register, forgotten))
}

/// Returns those signatures of a block whose contents are still in the index. Also returns the
/// number of signatures in the stored block.
fn living(now: &Snapshot, id: &str, number: u32) -> Result<(SignatureBlock, usize), ReadError> {
    let mut block = read_block(now, id, number)?;
    let had = block.len();
    let mut failure = None;
    block.retain(|place, _| {
        let row = now.content(ContentId(number * BLOCK + place));
        row.map_err(|error| failure = Some(error))
            .is_ok_and(|row| row.is_some())
    });
    match failure {
        Some(error) => Err(error),
        None => Ok((block, had)),
    }
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    // These types are lists of numbers and bytes, which postcard can always write.
    postcard::to_stdvec(value).unwrap_or_default()
}

/// Decodes these bytes. Returns `None` if bytes are left over.
fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use resemble_core::Params;
    use resemble_methods::{Method, MethodParams, sign};

    use super::*;

    fn new(content: u32) -> Vec<NewSignature> {
        let params = MethodParams::paper(Method::Sif);
        vec![NewSignature {
            content: ContentId(content),
            signature: sign(&params, &b"one two three four five six ".repeat(20)).encode(),
        }]
    }

    fn id() -> String {
        MethodParams::paper(Method::Sif).to_string()
    }

    /// Returns whether the signature of each of these contents is cached.
    fn found(index: &Index, contents: &[u32]) -> Vec<bool> {
        let snapshot = index.snapshot().expect("a snapshot");
        let cached = CachedSignatures::new(&snapshot, id(), SignatureCache::nowhere());
        let contents: Vec<ContentId> = contents.iter().copied().map(ContentId).collect();
        let found = cached.recall(&contents).expect("read");
        found.iter().map(Option::is_some).collect()
    }

    /// A question may write blocks in several calls. All blocks must be registered, so that they
    /// can be removed.
    #[test]
    fn nothing_that_is_written_is_lost_from_the_register() {
        let index = Index::in_memory(&Params::default()).expect("an index");
        let cache = SignatureCache::in_index(&index);
        let snapshot = index.snapshot().expect("a snapshot");
        let mut cached = CachedSignatures::new(&snapshot, id(), cache);
        cached.store(new(1));
        cached.store(new(BLOCK));
        cached.store_sets(&[7; 32], b"sets");

        assert_eq!(found(&index, &[1, BLOCK, BLOCK + 1]), [true, true, false]);
        let snapshot = index.snapshot().expect("a snapshot");
        let cached = CachedSignatures::new(&snapshot, id(), cache);
        assert_eq!(
            cached.recall_sets(&[7; 32]).expect("read"),
            Some(b"sets".to_vec())
        );
        let (register, _) = touched(&snapshot, &id()).expect("read");
        assert_eq!(register[0].1, BTreeSet::from([0, 1]));

        // The index has no contents with the earlier ids, so the next write removes their
        // signatures.
        let mut cached = CachedSignatures::new(&snapshot, id(), cache);
        cached.store(new(5 * BLOCK));
        let snapshot = index.snapshot().expect("a snapshot");
        let left = snapshot.records("method.kept/").expect("records");
        assert_eq!(left.len(), 1);
    }

    /// Two questions that begin on the same state of the index write to the same block and
    /// register.
    #[test]
    fn two_writers_lose_nothing_of_each_other() {
        let index = Index::in_memory(&Params::default()).expect("an index");
        let before = index.snapshot().expect("a snapshot");
        let cache = SignatureCache::in_index(&index);
        let swept = || CachedSignatures {
            // The index has no content with the ids of this test. So the sweep, which would remove
            // the signatures, is marked as done.
            is_swept: true,
            ..CachedSignatures::new(&before, id(), cache)
        };
        let (mut one, mut other) = (swept(), swept());
        one.store(new(3 * BLOCK));
        other.store(new(4 * BLOCK));
        let snapshot = index.snapshot().expect("a snapshot");
        let (register, _) = touched(&snapshot, &id()).expect("read");
        assert_eq!(register[0].1, BTreeSet::from([3, 4]));
        let name = cache.name_of_index(&before).expect("a name");
        assert_eq!(cache.name_of_index(&before).expect("the same"), name);
    }
}
