//! Signatures that are cached in the index: a second question reads no file.
//!
//! Signatures are records of the index under (params id, content id). A record holds the signatures
//! of `BLOCK` contents, because records of one signature each would be mostly names. The index
//! never reuses the id of a content. So a signature is only found under its own content.
//!
//! ```text
//! method.register        the blocks of each params id; the id used last comes first
//! method.kept/ID/BLOCK   signatures by the place of their content in the block
//! method.sets/ID         a digest of the contents, and the collated sets of sif made of them
//! method.arrays          the name of the index whose ids the arrays of sorted5 use
//! ```
//!
//! 1. **Signatures go with their contents.** Each write removes, from the blocks of its params id,
//!    the signatures of contents that the index no longer has.
//! 2. **The cache is bounded.** It holds signatures of `MOST_IDS` params ids. Trying out further
//!    parameters removes the oldest ones.
//! 3. **The cache is never needed.** A record that is damaged, missing or cannot be written costs
//!    time and nothing else.
//! 4. **A record changes in one transaction** that also reads the replaced record. So two
//!    simultaneous questions lose nothing of each other's data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resemble_core::ContentId;
use resemble_index::{Index, ReadError, Snapshot};
use resemble_methods::MethodSignature;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Number of contents in a record: those whose ids divided by this are equal.
pub(super) const BLOCK: u32 = 1024;

/// The content of a record: signatures by the place of their content in it.
type SignatureBlock = BTreeMap<u32, Vec<u8>>;

/// For each params id the numbers of its blocks.
type BlockRegister = Vec<(String, BTreeSet<u32>)>;

/// Records that are written together; `None` removes one.
type Records = Vec<(String, Option<Vec<u8>>)>;

/// The maximum number of params ids whose signatures are cached.
const MOST_IDS: usize = 8;

/// The record that lists the blocks.
const REGISTER: &str = "method.register";

/// The record with the name of the index.
const NAME: &str = "method.arrays";

/// The index that caches signatures, and the folder for cached files.
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

    /// A cache in this index.
    pub const fn in_index(index: &'a Index) -> Self {
        Self {
            index: Some(index),
            ..Self::nowhere()
        }
    }

    /// Sets the folder for cached files, and whether files may stay there. By default it is the
    /// folder of temporary files, where nothing stays.
    #[must_use]
    pub const fn with_folder(self, folder: &'a Path, stays: bool) -> Self {
        Self {
            folder: Some(folder),
            stays,
            ..self
        }
    }

    /// The folder for cached files, and whether files may stay there.
    pub(super) fn folder(&self) -> (PathBuf, bool) {
        let folder = self
            .folder
            .map_or_else(std::env::temp_dir, Path::to_path_buf);
        (folder, self.stays)
    }

    /// Returns the unique name of this index. An index without a name gets one.
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

    /// Writes the records that `change` makes from the present ones. A failure is only logged,
    /// because a missing cache only costs time.
    fn update(&self, change: impl FnOnce(&Snapshot) -> Result<Records, ReadError>) {
        if let Some(index) = self.index
            && let Err(error) = index.update_records(change)
        {
            tracing::debug!(%error, "signatures are not cached");
        }
    }
}

/// A signature that was made for this question.
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

/// The signatures of a block. A block that is missing or damaged has none.
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
    /// True if this question has already removed the signatures of contents that are gone.
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

    /// The cached signatures of these contents, whose ids ascend; `None` for those without one.
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

    /// The sets that are cached under this key.
    pub(super) fn recall_sets(&self, key: &[u8; 32]) -> Result<Option<Vec<u8>>, ReadError> {
        let record = self.snapshot.record(&sets_name(&self.id))?;
        Ok(record.and_then(|record| Some(record.strip_prefix(key)?.to_vec())))
    }

    /// Caches sets under this key and removes the previous ones.
    pub(super) fn store_sets(&self, key: &[u8; 32], sets: &[u8]) {
        self.cache.update(|now| {
            let (register, mut records) = touched(now, &self.id)?;
            records.push((sets_name(&self.id), Some([key, sets].concat())));
            records.push((REGISTER.to_owned(), Some(encoded(&register))));
            Ok(records)
        });
    }
}

/// The register with this params id in front. Also returns the removal of the records of excess
/// ids.
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

/// The signatures of a block whose contents the index still has, and how many the block had.
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

/// Reads a value that fills these bytes exactly.
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

    /// Returns whether each of these contents has a signature.
    fn found(index: &Index, contents: &[u32]) -> Vec<bool> {
        let snapshot = index.snapshot().expect("a snapshot");
        let cached = CachedSignatures::new(&snapshot, id(), SignatureCache::nowhere());
        let contents: Vec<ContentId> = contents.iter().copied().map(ContentId).collect();
        let found = cached.recall(&contents).expect("read");
        found.iter().map(Option::is_some).collect()
    }

    /// All blocks that a question writes in several calls are registered, so that they can be
    /// removed.
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

        // The index has no contents with these ids, so the next question removes their signatures.
        let mut cached = CachedSignatures::new(&snapshot, id(), cache);
        cached.store(new(5 * BLOCK));
        let snapshot = index.snapshot().expect("a snapshot");
        let left = snapshot.records("method.kept/").expect("records");
        assert_eq!(left.len(), 1);
    }

    /// Two questions that began on the same state write to one block and to one register.
    #[test]
    fn two_writers_lose_nothing_of_each_other() {
        let index = Index::in_memory(&Params::default()).expect("an index");
        let before = index.snapshot().expect("a snapshot");
        let cache = SignatureCache::in_index(&index);
        let swept = || CachedSignatures {
            // No content has the ids of this test, so nothing must be removed.
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
