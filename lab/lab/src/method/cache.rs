//! Signatures that are cached in the index: a second question reads no file.
//!
//! They stand under (params id, content id), `BLOCK` contents to a record, because a record a
//! signature would be mostly names. Ids of contents are given out once, so a signature can only
//! ever be found under the content that it is of.
//!
//! ```text
//! method.register            for each params id, the one used last in front: which blocks there are
//! method.kept/ID/BLOCK       signatures by the place of their content in the block
//! method.sets/ID             what the collated sets of sif are of, and these
//! method.arrays              names the index: whose ids the arrays of sorted5 have ([`super::sorted`])
//! ```
//!
//! 1. **With the content they go.** Whenever anything is written, the blocks of that params id lose
//!    what is of no content any more.
//! 2. **Bounded.** Signatures of `MOST_IDS` params ids are cached; who tries out parameters pushes
//!    out the oldest.
//! 3. **Never needed.** A record that is damaged or missing costs time; one that cannot be written,
//!    nothing more.
//! 4. **A record changes in one transaction** that reads what it replaces: two questions at a time
//!    lose nothing of what the other has written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resemble_core::ContentId;
use resemble_index::{Index, ReadError, Snapshot};
use resemble_methods::MethodSignature;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Contents in one record, those of ids from a multiple of it on.
pub(super) const BLOCK: u32 = 1024;

/// What a record holds: signatures by the place of their content in it.
type SignatureBlock = BTreeMap<u32, Vec<u8>>;

/// For each params id the numbers of its blocks.
type BlockRegister = Vec<(String, BTreeSet<u32>)>;

/// Records that are written together; `None` forgets one.
type Records = Vec<(String, Option<Vec<u8>>)>;

/// Params ids of which signatures are cached.
const MOST_IDS: usize = 8;

/// The record of what there is.
const REGISTER: &str = "method.register";

/// The record that names an index.
const NAME: &str = "method.arrays";

/// Where signatures are cached, and in which folder there is room for what is no record.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignatureCache<'a> {
    index: Option<&'a Index>,
    folder: Option<&'a Path>,
    stays: bool,
}

impl<'a> SignatureCache<'a> {
    /// Nothing is cached.
    pub const fn nowhere() -> Self {
        Self {
            index: None,
            folder: None,
            stays: false,
        }
    }

    /// Signatures are cached in this index.
    pub const fn in_index(index: &'a Index) -> Self {
        Self {
            index: Some(index),
            ..Self::nowhere()
        }
    }

    /// A folder for what is no record, and whether anything may stay there. Without one it is the
    /// folder of temporary files, where nothing may.
    #[must_use]
    pub const fn with_folder(self, folder: &'a Path, stays: bool) -> Self {
        Self {
            folder: Some(folder),
            stays,
            ..self
        }
    }

    /// The folder for what is no record, and whether anything may stay there.
    pub(super) fn folder(&self) -> (PathBuf, bool) {
        let folder = self
            .folder
            .map_or_else(std::env::temp_dir, Path::to_path_buf);
        (folder, self.stays)
    }

    /// What tells this index from all others. A new one gets its name now.
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

    /// Writes what `change` makes of the records as they are, or does not: nothing depends on it
    /// but time.
    fn update(&self, change: impl FnOnce(&Snapshot) -> Result<Records, ReadError>) {
        if let Some(index) = self.index
            && let Err(error) = index.update_records(change)
        {
            tracing::debug!(%error, "signatures are not cached");
        }
    }
}

/// A signature that was made.
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

/// What a block has; nothing if there is none, or it is damaged.
fn read_block(snapshot: &Snapshot, id: &str, number: u32) -> Result<SignatureBlock, ReadError> {
    let record = snapshot.record(&block_name(id, number))?;
    let block: Option<SignatureBlock> = record.and_then(|record| decoded(&record));
    Ok(block
        .filter(|block| block.keys().all(|&place| place < BLOCK))
        .unwrap_or_default())
}

/// The cached signatures of one params id, as a question meets and adds to them.
pub(super) struct CachedSignatures<'a> {
    snapshot: &'a Snapshot,
    cache: SignatureCache<'a>,
    id: String,
    /// Blocks without a new signature were looked at for contents that have gone.
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

    /// The cached signatures of these contents, which ascend; `None` where there is none.
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

    /// Adds what was made.
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

    /// Caches sets in place of those that were there.
    pub(super) fn store_sets(&self, key: &[u8; 32], sets: &[u8]) {
        self.cache.update(|now| {
            let (register, mut records) = touched(now, &self.id)?;
            records.push((sets_name(&self.id), Some([key, sets].concat())));
            records.push((REGISTER.to_owned(), Some(encoded(&register))));
            Ok(records)
        });
    }
}

/// The register with this params id in front; the records of the ids that are too many are to be
/// forgotten.
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

/// What a block has of contents that there still are, and of how many it did.
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
    // Lists of numbers and bytes: there is nothing that cannot be written.
    postcard::to_stdvec(value).unwrap_or_default()
}

/// The value that these bytes are, all of them.
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

    /// Which of these contents have a signature.
    fn found(index: &Index, contents: &[u32]) -> Vec<bool> {
        let snapshot = index.snapshot().expect("a snapshot");
        let cached = CachedSignatures::new(&snapshot, id(), SignatureCache::nowhere());
        let contents: Vec<ContentId> = contents.iter().copied().map(ContentId).collect();
        let found = cached.recall(&contents).expect("read");
        found.iter().map(Option::is_some).collect()
    }

    /// What a question writes in several calls is all registered, so that it can be forgotten.
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

        // No content has these ids: the next question forgets them.
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
            // No content has the ids of this test: nothing is to be forgotten.
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
