//! Defines the names and types of all tables. `docs/index-format.md` explains each row, and a test
//! compares that page with this module.

use crate::fault::Fault;
pub(crate) use crate::store::BlockKey;
use crate::store::{ReadOnlyTable, TableDefinition, WriteTransaction};

/// The key of an entry: its directory and its name.
pub(crate) type EntryKey = (u32, &'static [u8]);
/// The parent and the name of a directory.
pub(crate) type DirValue = (u32, &'static [u8]);
/// A further name of a file: the file, the directory, and the name in the directory.
pub(crate) type NameKey = (u32, u32, &'static [u8]);
/// The first and the last content of a segment, its number of chunk postings, and its number of
/// fingerprint postings.
pub(crate) type SegmentValue = (u32, u32, u64, u64);
/// The measures of a pair: flags, containment of a in b, containment of b in a, resemblance, shared
/// bytes.
pub(crate) type MeasuresValue = (u8, u64, u64, u64, u64);

pub(crate) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
pub(crate) const FILE_SYSTEMS: TableDefinition<u16, &str> = TableDefinition::new("file_systems");
pub(crate) const DIRECTORIES: TableDefinition<u32, DirValue> = TableDefinition::new("directories");
pub(crate) const ENTRIES: TableDefinition<EntryKey, &[u8]> = TableDefinition::new("entries");
/// The errno of each directory that could not be listed.
pub(crate) const UNLISTED: TableDefinition<u32, i32> = TableDefinition::new("unlisted");
/// Maps a directory to its number of gaps for each reason.
pub(crate) const GAPS: TableDefinition<u32, &[u8]> = TableDefinition::new("gaps");
pub(crate) const FILES: TableDefinition<u32, &[u8]> = TableDefinition::new("files");
pub(crate) const FURTHER_NAMES: TableDefinition<NameKey, ()> =
    TableDefinition::new("further_names");
pub(crate) const INODES: TableDefinition<(u16, u64), &[u8]> = TableDefinition::new("inodes");
pub(crate) const CONTENTS: TableDefinition<u32, &[u8]> = TableDefinition::new("contents");
pub(crate) const CONTENT_FILES: TableDefinition<(u32, u32), ()> =
    TableDefinition::new("content_files");
pub(crate) const PARTS: TableDefinition<(u32, u32), &[u8]> = TableDefinition::new("parts");
pub(crate) const PART_OF: TableDefinition<(u32, u32, u32), ()> = TableDefinition::new("part_of");
pub(crate) const SKIPPED_PARTS: TableDefinition<u32, &[u8]> = TableDefinition::new("skipped_parts");
pub(crate) const DIGESTS: TableDefinition<(u32, u32), ()> = TableDefinition::new("digests");
pub(crate) const CHUNK_LISTS: TableDefinition<(u32, u32), &[u8]> =
    TableDefinition::new("chunk_lists");
/// Maps a content to the id under which its chunk list is stored, if that is not its own id.
pub(crate) const CHUNK_LIST_OF: TableDefinition<u32, u32> = TableDefinition::new("chunk_list_of");
pub(crate) const SIGNATURES: TableDefinition<(u32, u32), &[u8]> =
    TableDefinition::new("signatures");
pub(crate) const SEGMENTS: TableDefinition<u32, SegmentValue> = TableDefinition::new("segments");
/// Maps a segment and a rank to the ids of the contents from this rank on.
pub(crate) const ORDERS: TableDefinition<(u32, u32), &[u8]> = TableDefinition::new("orders");
pub(crate) const DEAD_CONTENTS: TableDefinition<u32, ()> = TableDefinition::new("dead_contents");
/// Maps a dead content to the heir that has taken over its postings.
pub(crate) const HEIRS: TableDefinition<u32, &[u8]> = TableDefinition::new("heirs");
pub(crate) const BOILERPLATE: TableDefinition<(u8, u64), u32> = TableDefinition::new("boilerplate");
pub(crate) const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");
/// Names that are gone, in the order in which they departed.
pub(crate) const DEPARTURES: TableDefinition<u64, &[u8]> = TableDefinition::new("departures");
/// Maps a content to its origin.
pub(crate) const ORIGINS: TableDefinition<u32, &[u8]> = TableDefinition::new("origins");
pub(crate) const MEASURES: TableDefinition<u128, MeasuresValue> = TableDefinition::new("measures");
pub(crate) const OLDER_MEASURES: TableDefinition<u128, MeasuresValue> =
    TableDefinition::new("older_measures");

/// The names of all tables, without the posting tables of the segments.
pub const TABLES: [&str; 28] = [
    "meta",
    "file_systems",
    "directories",
    "entries",
    "unlisted",
    "gaps",
    "files",
    "further_names",
    "inodes",
    "contents",
    "content_files",
    "parts",
    "part_of",
    "skipped_parts",
    "digests",
    "chunk_lists",
    "chunk_list_of",
    "signatures",
    "segments",
    "orders",
    "dead_contents",
    "heirs",
    "boilerplate",
    "records",
    "departures",
    "origins",
    "measures",
    "older_measures",
];

/// The two kinds of evidence that have posting lists. The keys of the table `boilerplate` contain
/// these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum PostingKind {
    /// Keys are [`resemble_core::ChunkHash::posting_key`]s. Only chunks that are not constant and
    /// have at least [`resemble_core::Params::WINDOW`] bytes are evidence.
    Chunk = 0,
    /// Keys are [`resemble_core::Fingerprint`] values.
    Fingerprint = 1,
}

impl PostingKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Chunk, Self::Fingerprint];
}

/// The rows of `meta`.
pub(crate) mod meta {
    /// The parameters with which all contents were digested, as `Params` prints them.
    pub(crate) const PARAMS: &str = "params";
    /// See [`crate::state::Counters`].
    pub(crate) const COUNTERS: &str = "counters";
    /// See [`crate::state::FileSums`].
    pub(crate) const FILE_SUMS: &str = "file_sums";
    /// The boilerplate limit with which the table `boilerplate` was counted, as u32 LE.
    pub(crate) const LIMIT: &str = "boilerplate_limit";
    /// The number of bytes on disk when the file was last compact, as u64 LE. If this number is 0
    /// or missing, the file is compact now.
    pub(crate) const COMPACT: &str = "compact_bytes";
}

/// Returns the name of the table that has a segment's postings of one kind.
pub(crate) fn postings_name(kind: PostingKind, segment: u32) -> String {
    match kind {
        PostingKind::Chunk => format!("chunk_postings/{segment}"),
        PostingKind::Fingerprint => format!("fingerprint_postings/{segment}"),
    }
}

/// Returns the definition of the posting table with this name.
pub(crate) fn postings_table(name: &str) -> TableDefinition<'_, BlockKey, &'static [u8]> {
    TableDefinition::new(name)
}

/// Creates all tables that do not exist, so that a reader can open every table.
pub(crate) fn create(txn: &WriteTransaction) -> Result<(), Fault> {
    txn.open_table(META)?;
    txn.open_table(FILE_SYSTEMS)?;
    txn.open_table(DIRECTORIES)?;
    txn.open_table(ENTRIES)?;
    txn.open_table(UNLISTED)?;
    txn.open_table(GAPS)?;
    txn.open_table(FILES)?;
    txn.open_table(FURTHER_NAMES)?;
    txn.open_table(INODES)?;
    txn.open_table(CONTENTS)?;
    txn.open_table(CONTENT_FILES)?;
    txn.open_table(PARTS)?;
    txn.open_table(PART_OF)?;
    txn.open_table(SKIPPED_PARTS)?;
    txn.open_table(DIGESTS)?;
    txn.open_table(CHUNK_LISTS)?;
    txn.open_table(CHUNK_LIST_OF)?;
    txn.open_table(SIGNATURES)?;
    txn.open_table(SEGMENTS)?;
    txn.open_table(ORDERS)?;
    txn.open_table(DEAD_CONTENTS)?;
    txn.open_table(HEIRS)?;
    txn.open_table(BOILERPLATE)?;
    txn.open_table(RECORDS)?;
    txn.open_table(DEPARTURES)?;
    txn.open_table(ORIGINS)?;
    txn.open_table(MEASURES)?;
    txn.open_table(OLDER_MEASURES)?;
    Ok(())
}

/// A posting table, open for reading.
pub(crate) type PostingTable = ReadOnlyTable<BlockKey, &'static [u8]>;
