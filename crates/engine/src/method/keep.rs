//! Signatures that are kept in the index: a second question reads no file.
//!
//! They stand under (params id, content id), `BLOCK` contents to a record, because a record a signature would be mostly
//! names. Ids of contents are given out once, so a signature can only ever be found under the content that it is
//! of.
//!
//! ```text
//! method.register            for each params id, the one used last in front: which blocks there are
//! method.kept/ID/BLOCK       content - first of the block, length, signature; again and again
//! method.sets/ID             what the collated sets of sif are of, and these
//! method.carried/ROOT        the params id of the signatures that came with a catalogue ([`crate::portable`])
//! method.arrays              names the index: whose ids the arrays of sorted5 have ([`super::sorted`])
//! ```
//!
//! 1. **With the content they go.** Whenever anything is written, the blocks of that params id lose what is of no
//!    content any more.
//! 2. **Bounded.** Signatures of `MOST_IDS` params ids are kept; who tries out parameters pushes out the oldest, apart from those
//!    that came with a catalogue, which nobody could make again.
//! 3. **Never needed.** A record that is damaged or missing costs time; one that cannot be written, nothing more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::ContentId;
use resemble_core::hash::content::digest;
use resemble_index::varint::{Reader, put};
use resemble_index::{ApplyError, Index, ReadError, Snapshot};
use resemble_methods::MethodSignature;

/// Contents in one record, those of ids from a multiple of it on.
pub(super) const BLOCK: u32 = 1024;

/// What a record holds: signatures by the place of their content in it.
type Block = BTreeMap<u32, Vec<u8>>;

/// Params ids of which signatures are kept.
const MOST_IDS: usize = 8;

/// The record of what there is.
const REGISTER: &str = "method.register";

/// What records of signatures that catalogues carry begin with.
const CARRIED: &str = "method.carried/";

/// Records that are written together; `None` forgets one.
pub type Records = Vec<(String, Option<Vec<u8>>)>;

/// Where signatures are kept.
pub trait Keep: Sync {
    /// Writes the records, or does not: nothing depends on it but time.
    fn keep(&self, records: Records);

    /// A folder of ours for what does not fit into records, and whether anything may stay there.
    fn folder(&self) -> (PathBuf, bool) {
        (std::env::temp_dir(), false)
    }
}

impl Keep for Index {
    fn keep(&self, records: Records) {
        let records: Vec<(&str, Option<&[u8]>)> = records
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_deref()))
            .collect();
        if let Err(error) = self.put_records(&records) {
            tracing::debug!(%error, "signatures are not kept");
        }
    }
}

/// Keeps in a folder as well.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// Where records are kept.
    pub records: &'a dyn Keep,
    /// The folder.
    pub folder: &'a Path,
    /// Whether anything may stay there.
    pub stays: bool,
}

impl std::fmt::Debug for Beside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Beside({}, {})", self.folder.display(), self.stays)
    }
}

impl Keep for Beside<'_> {
    fn keep(&self, records: Records) {
        self.records.keep(records);
    }

    fn folder(&self) -> (PathBuf, bool) {
        (self.folder.to_owned(), self.stays)
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forget;

impl Keep for Forget {
    fn keep(&self, _: Records) {}
}

/// A signature that was made.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) content: ContentId,
    pub(crate) signature: Vec<u8>,
}

/// Under which name it is kept which signatures the catalogue at `root` carries.
fn carried_name(root: &Path) -> String {
    let root = digest(root.as_os_str().as_bytes()).to_string();
    format!("{CARRIED}{}", &root[..32])
}

/// Remembers that the catalogue at `root` carries signatures of this params id, or with `None` that there is no such catalogue.
pub(crate) fn carry(index: &Index, root: &Path, id: Option<&str>) -> Result<(), ApplyError> {
    index.put_records(&[(&carried_name(root), id.map(str::as_bytes))])
}

/// The params id of the signatures that the catalogue at `root` carries.
pub(crate) fn carried(snapshot: &Snapshot, root: &Path) -> Result<Option<String>, ReadError> {
    let record = snapshot.record(&carried_name(root))?;
    Ok(record.map(|id| String::from_utf8_lossy(&id).into_owned()))
}

/// Reads kept signatures one by one, in any order: those of contents that were met together lie together.
pub(crate) struct OneByOne<'a> {
    snapshot: &'a Snapshot,
    id: String,
    /// The blocks that were read last.
    blocks: VecDeque<(u32, Block)>,
}

impl<'a> OneByOne<'a> {
    /// Blocks that are in memory.
    const MOST: usize = 16;

    pub(crate) fn new(snapshot: &'a Snapshot, id: String) -> Self {
        Self {
            snapshot,
            id,
            blocks: VecDeque::new(),
        }
    }

    /// The encoded signature of a content, if it is kept.
    pub(crate) fn of(&mut self, content: ContentId) -> Result<Option<&[u8]>, ReadError> {
        let number = content.0 / BLOCK;
        let at = self.blocks.iter().position(|(known, _)| *known == number);
        if at.is_none() {
            let block = read_block(self.snapshot, &self.id, number)?;
            self.blocks.truncate(Self::MOST - 1);
            self.blocks.push_front((number, block));
        }
        let block = self.blocks.get(at.unwrap_or(0)).map(|(_, block)| block);
        Ok(block.and_then(|block| Some(block.get(&(content.0 % BLOCK))?.as_slice())))
    }
}

fn block_name(id: &str, block: u32) -> String {
    format!("method.kept/{id}/{block:08x}")
}

/// What a block keeps; nothing if there is none, or it is damaged.
fn read_block(snapshot: &Snapshot, id: &str, number: u32) -> Result<Block, ReadError> {
    let record = snapshot.record(&block_name(id, number))?;
    Ok(decode_block(&record.unwrap_or_default()).unwrap_or_default())
}

fn sets_name(id: &str) -> String {
    format!("method.sets/{id}")
}

/// The signatures that are kept of one params id, as a question meets and adds to them.
pub(crate) struct Kept<'a> {
    snapshot: &'a Snapshot,
    keep: &'a dyn Keep,
    id: String,
    /// As this question has left it: the snapshot is from before.
    register: Option<Register>,
}

impl<'a> Kept<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, id: String, keep: &'a dyn Keep) -> Self {
        Self {
            snapshot,
            keep,
            id,
            register: None,
        }
    }

    /// The kept signatures of these contents, which ascend; `None` where there is none.
    pub(crate) fn recall(
        &self,
        contents: &[ContentId],
    ) -> Result<Vec<Option<MethodSignature>>, ReadError> {
        let mut found = Vec::with_capacity(contents.len());
        for block in contents.chunk_by(|a, b| a.0 / BLOCK == b.0 / BLOCK) {
            let number = block[0].0 / BLOCK;
            let kept = read_block(self.snapshot, &self.id, number)?;
            found.extend(block.iter().map(|content| {
                let bytes = kept.get(&(content.0 % BLOCK))?;
                MethodSignature::decode(bytes).ok()
            }));
        }
        Ok(found)
    }

    /// Keeps what was made. Two calls of one question may have no [`BLOCK`] of contents in common, for what the first
    /// has written there is not in the snapshot.
    pub(crate) fn store(&mut self, new: Vec<New>) -> Result<(), ReadError> {
        if new.is_empty() {
            return Ok(());
        }
        let mut records = Records::new();
        let mut fresh: BTreeMap<u32, Vec<New>> = BTreeMap::new();
        for one in new {
            fresh.entry(one.content.0 / BLOCK).or_default().push(one);
        }
        let mut numbers: BTreeSet<u32> = fresh.keys().copied().collect();
        let mut register = if let Some(register) = self.register.take() {
            register
        } else {
            // The first call looks at what was there before, all of it.
            let mut register = self.touched(&mut records)?;
            numbers.append(&mut register[0].1);
            register
        };
        for number in numbers {
            let (mut kept, had) = self.living(number)?;
            let added = fresh.remove(&number).unwrap_or_default();
            let changed = kept.len() < had || !added.is_empty();
            kept.extend(
                added
                    .into_iter()
                    .map(|one| (one.content.0 % BLOCK, one.signature)),
            );
            if !kept.is_empty() {
                register[0].1.insert(number);
            }
            if changed {
                let record = (!kept.is_empty()).then(|| encode_block(&kept));
                records.push((block_name(&self.id, number), record));
            }
        }
        self.write(records, register);
        Ok(())
    }

    /// Writes records together with the register, which is then as this question has left it.
    fn write(&mut self, mut records: Records, register: Register) {
        records.push((REGISTER.to_owned(), Some(encode_register(&register))));
        self.keep.keep(records);
        self.register = Some(register);
    }

    /// What was kept under this key.
    pub(super) fn recall_sets(&self, key: &[u8; 32]) -> Result<Option<Vec<u8>>, ReadError> {
        let record = self.snapshot.record(&sets_name(&self.id))?;
        Ok(record.and_then(|record| Some(record.strip_prefix(key)?.to_vec())))
    }

    /// Keeps it in place of what was there.
    pub(super) fn store_sets(&mut self, key: &[u8; 32], sets: &[u8]) -> Result<(), ReadError> {
        let mut records = Records::new();
        let register = match self.register.take() {
            Some(register) => register,
            None => self.touched(&mut records)?,
        };
        records.push((sets_name(&self.id), Some([key, sets].concat())));
        self.write(records, register);
        Ok(())
    }

    /// The register with this params id in front; what is one too many goes into `records` to be forgotten.
    fn touched(&self, records: &mut Records) -> Result<Register, ReadError> {
        let record = self.snapshot.record(REGISTER)?.unwrap_or_default();
        let mut register = decode_register(&record).unwrap_or_default();
        let own = register.iter().position(|(id, _)| *id == self.id);
        let own = own.map_or_else(
            || (self.id.clone(), BTreeSet::new()),
            |at| register.remove(at),
        );
        register.insert(0, own);
        let carried = self.snapshot.records(CARRIED)?;
        let is_carried = |id: &str| carried.iter().any(|(_, carried)| carried == id.as_bytes());
        let (recent, old) = register.split_at(MOST_IDS.min(register.len()));
        let (needed, old): (Vec<_>, Vec<_>) =
            old.iter().cloned().partition(|(id, _)| is_carried(id));
        for (old, blocks) in old {
            records.extend(blocks.iter().map(|&block| (block_name(&old, block), None)));
            records.push((sets_name(&old), None));
        }
        Ok(recent.iter().cloned().chain(needed).collect())
    }

    /// What a block keeps of contents that there still are, and of how many it did.
    fn living(&self, number: u32) -> Result<(Block, usize), ReadError> {
        let mut kept = read_block(self.snapshot, &self.id, number)?;
        let had = kept.len();
        let mut failure = None;
        kept.retain(|place, _| {
            let row = self.snapshot.content(ContentId(number * BLOCK + place));
            row.map_err(|error| failure = Some(error))
                .is_ok_and(|row| row.is_some())
        });
        match failure {
            Some(error) => Err(error),
            None => Ok((kept, had)),
        }
    }
}

/// For each params id the numbers of its blocks.
type Register = Vec<(String, BTreeSet<u32>)>;

fn encode_register(register: &Register) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, register.len() as u64);
    for (id, blocks) in register {
        put(&mut out, id.len() as u64);
        out.extend_from_slice(id.as_bytes());
        put(&mut out, blocks.len() as u64);
        for &block in blocks {
            put(&mut out, block.into());
        }
    }
    out
}

fn decode_register(record: &[u8]) -> Option<Register> {
    let mut reader = Reader(record);
    let mut register = Register::new();
    for _ in 0..reader.u64()? {
        let len = usize::try_from(reader.u64()?).ok()?;
        let id = String::from_utf8(reader.bytes(len)?.to_vec()).ok()?;
        let mut blocks = BTreeSet::new();
        for _ in 0..reader.u64()? {
            blocks.insert(u32::try_from(reader.u64()?).ok()?);
        }
        register.push((id, blocks));
    }
    reader.end(register)
}

fn encode_block(kept: &Block) -> Vec<u8> {
    let mut out = Vec::new();
    for (&place, signature) in kept {
        put(&mut out, place.into());
        put(&mut out, signature.len() as u64);
        out.extend_from_slice(signature);
    }
    out
}

fn decode_block(record: &[u8]) -> Option<Block> {
    let mut reader = Reader(record);
    let mut kept = BTreeMap::new();
    while !reader.0.is_empty() {
        let place = u32::try_from(reader.u64()?).ok().filter(|&at| at < BLOCK)?;
        let len = usize::try_from(reader.u64()?).ok()?;
        kept.insert(place, reader.bytes(len)?.to_vec());
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use resemble_core::Params;
    use resemble_methods::{Method, MethodParams, sign};

    use super::*;

    fn signature(params: &MethodParams) -> Vec<u8> {
        sign(params, &b"one two three four five six ".repeat(20)).encode()
    }

    /// What a question writes in several calls is all registered, so that it can be forgotten.
    #[test]
    fn nothing_that_is_written_is_lost_from_the_register() {
        let index = Index::in_memory(&Params::default()).expect("an index");
        let params = MethodParams::paper(Method::Sif);
        let new = |content: u32| {
            vec![New {
                content: ContentId(content),
                signature: signature(&params),
            }]
        };
        let snapshot = index.snapshot().expect("a snapshot");
        let mut kept = Kept::new(&snapshot, params.to_string(), &index);
        kept.store(new(1)).expect("kept");
        kept.store(new(BLOCK)).expect("kept");
        kept.store_sets(&[7; 32], b"sets").expect("kept");

        let snapshot = index.snapshot().expect("a snapshot");
        let kept = Kept::new(&snapshot, params.to_string(), &index);
        let found = kept.recall(&[ContentId(1), ContentId(BLOCK), ContentId(BLOCK + 1)]);
        let found: Vec<bool> = found.expect("read").iter().map(Option::is_some).collect();
        assert_eq!(found, [true, true, false]);
        assert_eq!(
            kept.recall_sets(&[7; 32]).expect("read"),
            Some(b"sets".to_vec())
        );
        let mut records = Records::new();
        let register = kept.touched(&mut records).expect("read");
        assert_eq!(register[0].1, BTreeSet::from([0, 1]));

        // No content has these ids: the next question forgets them.
        let mut kept = Kept::new(&snapshot, params.to_string(), &index);
        kept.store(new(5 * BLOCK)).expect("kept");
        let snapshot = index.snapshot().expect("a snapshot");
        let left = snapshot.records("method.kept/").expect("records");
        assert_eq!(left.len(), 1);
    }
}
