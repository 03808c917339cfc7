//! The only module that opens redb and converts its errors. Other modules only use redb's tables.
//!
//! This module follows these rules:
//! 1. Every durable commit has two phases and saves the allocator's state (`set_quick_repair`). So
//!    if the process is killed, the next opening takes milliseconds at any size. A crafted file
//!    cannot make a half-written commit look whole.
//! 2. There are no savepoints. A commit that is not durable writes nothing. Readers see such a
//!    commit, and the next durable commit writes it to the file.
//! 3. A compacted store is closed and opened again, because only this saves the allocator's state
//!    without making the file larger. New transactions wait meanwhile. redb does not follow rule 1
//!    while it compacts. If the process is killed at that moment, the next opening walks the file
//!    to repair it.
//! 4. After an I/O error, redb refuses every access to data that are not cached, until it is opened
//!    again ([`Fault::Closed`]). If redb cannot be opened again, [`Store::open_unwritten`] reads
//!    the last commit.

use std::fs::File;
use std::io;
use std::sync::Arc;

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, StorageBackend};
pub(crate) use redb::{
    ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, Table, TableDefinition,
    WriteTransaction,
};

use crate::checked::Checked;
use crate::fault::{Fault, guarded};
use crate::health::Health;
use crate::unwritten::Unwritten;

/// The key of a block: its first posting.
pub(crate) type BlockKey = (u64, u32);
/// A cursor over the blocks of one posting table.
pub(crate) type BlockCursor<'a> = redb::Cursor<'a, BlockKey, &'static [u8]>;
/// The bytes of a block, in redb's page cache.
pub(crate) type BlockGuard<'a> = redb::AccessGuard<'a, &'static [u8]>;
/// The key of a block, in redb's page cache.
pub(crate) type KeyGuard<'a> = redb::AccessGuard<'a, BlockKey>;
/// An iterator over all blocks of a posting table.
pub(crate) type BlockRange = redb::Range<'static, BlockKey, &'static [u8]>;

impl From<redb::StorageError> for Fault {
    fn from(error: redb::StorageError) -> Self {
        match error {
            redb::StorageError::Io(error) => error.into(),
            redb::StorageError::PreviousIo
            | redb::StorageError::DatabaseClosed
            | redb::StorageError::LockPoisoned(_) => Self::Closed,
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<io::Error> for Fault {
    /// Converts an error. A read past the end of the file means that the file is cut off, which is
    /// damage.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Io(error),
        }
    }
}

/// Implements the conversion of redb's errors. If an error is not a storage error, the file is
/// damaged.
macro_rules! storage_or_damaged {
    ($($failure:ty),*) => {
        $(impl From<$failure> for Fault {
            fn from(error: $failure) -> Self {
                type Failure = $failure;
                match error {
                    Failure::Storage(error) => error.into(),
                    other => Self::Damaged(other.to_string()),
                }
            }
        })*
    };
}

storage_or_damaged!(
    redb::TableError,
    redb::TransactionError,
    redb::CursorError,
    redb::CompactionError
);

impl From<redb::SetDurabilityError> for Fault {
    /// This error occurs only with savepoints, which are not used here (rule 2).
    fn from(error: redb::SetDurabilityError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<redb::CommitError> for Fault {
    fn from(error: redb::CommitError) -> Self {
        match error {
            redb::CommitError::Storage(error) => error.into(),
            _ => Self::Closed,
        }
    }
}

/// The reason why a file could not be opened as a store.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Another process, or another store of this process, has the file open.
    InUse,
    /// The file is not a store, is damaged, or was written by another version of redb.
    Foreign(String),
    /// The file system failed.
    Io(io::Error),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Io(error) => Self::Io(error),
            Fault::Damaged(reason) => Self::Foreign(reason),
            Fault::Closed => Self::Foreign("it cannot be read".into()),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Fault::from(error).into()
    }
}

/// The time at which a commit becomes durable: from then on, it is in the file even if the process
/// is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Writes the commit to the file at once.
    AtOnce,
    /// Writes the commit to the file with the next commit that is [`Self::AtOnce`].
    Later,
}

#[derive(Debug)]
pub(crate) struct Store {
    /// The database. The lock is taken for writing only to close the database or to open it again.
    database: RwLock<Option<Database>>,
    cache_bytes: usize,
    /// The layer with checksums between redb and the file. `None` if the store is in memory.
    checked: Option<Checked>,
}

impl Drop for Store {
    /// Closes the database. redb can panic on a damaged file here, too. So such a panic is caught.
    fn drop(&mut self) {
        let database = self.database.get_mut().take();
        if let Err(fault) = guarded(|| {
            drop(database);
            Ok(())
        }) {
            tracing::warn!(?fault, "the index did not close in order");
        }
    }
}

impl Store {
    /// Opens a store in `file`. An empty file becomes an empty store.
    pub(crate) fn open(
        file: File,
        cache_bytes: usize,
        health: &Arc<Health>,
    ) -> Result<Self, Refused> {
        let file = FileBackend::new(file).map_err(io::Error::other);
        Self::checked(file.map_err(Refused::Io)?, cache_bytes, health)
    }

    /// Opens a store in `backend`. Every block is verified when it is read.
    pub(crate) fn checked(
        backend: impl StorageBackend,
        cache_bytes: usize,
        health: &Arc<Health>,
    ) -> Result<Self, Refused> {
        let checked = Checked::new(backend, Arc::clone(health)).map_err(Refused::from)?;
        let mut store = Self::with_backend(checked.clone(), cache_bytes)?;
        store.checked = Some(checked);
        Ok(store)
    }

    fn with_backend(backend: impl StorageBackend, cache_bytes: usize) -> Result<Self, Refused> {
        Self::build(|builder| builder.create_with_backend(backend), cache_bytes)
    }

    /// Opens the store in `file`, but never writes to the file: see [`Unwritten`].
    pub(crate) fn open_unwritten(
        file: File,
        cache_bytes: usize,
        health: &Arc<Health>,
    ) -> Result<Self, Refused> {
        let file = FileBackend::new(file).map_err(io::Error::other);
        let checked = Checked::new(file.map_err(Refused::Io)?, Arc::clone(health));
        let backend = Unwritten::new(checked.map_err(Refused::from)?);
        Self::with_backend(backend.map_err(Refused::from)?, cache_bytes)
    }

    /// Makes an empty store in memory.
    pub(crate) fn in_memory(cache_bytes: usize) -> Result<Self, Refused> {
        Self::with_backend(redb::backends::InMemoryBackend::new(), cache_bytes)
    }

    fn build(
        open: impl FnOnce(&mut Builder) -> Result<Database, DatabaseError>,
        cache_bytes: usize,
    ) -> Result<Self, Refused> {
        let mut opened = None;
        guarded(|| {
            opened = Some(open(Builder::new().set_cache_size(cache_bytes)));
            Ok(())
        })
        .map_err(|fault| Refused::Foreign(format!("{fault:?}")))?;
        match opened {
            Some(Ok(database)) => Ok(Self {
                database: RwLock::new(Some(database)),
                cache_bytes,
                checked: None,
            }),
            Some(Err(DatabaseError::DatabaseAlreadyOpen)) => Err(Refused::InUse),
            Some(Err(DatabaseError::Storage(error))) => Err(Fault::from(error).into()),
            Some(Err(other)) => Err(Refused::Foreign(other.to_string())),
            None => Err(Refused::Foreign("it cannot be read".into())),
        }
    }

    fn database(&self) -> Result<MappedRwLockReadGuard<'_, Database>, Fault> {
        let open = RwLockReadGuard::try_map(self.database.read(), Option::as_ref);
        open.map_err(|_| Fault::Closed)
    }

    pub(crate) fn database_mut(&mut self) -> Result<&mut Database, Fault> {
        self.database.get_mut().as_mut().ok_or(Fault::Closed)
    }

    /// Begins a read transaction, which sees the last commit.
    pub(crate) fn read(&self) -> Result<ReadTransaction, Fault> {
        Ok(self.database()?.begin_read()?)
    }

    /// Begins a write transaction that follows rules 1 and 2. Waits until no other write
    /// transaction is open.
    pub(crate) fn write(&self, lasting: Durability) -> Result<WriteTransaction, Fault> {
        let mut txn = self.database()?.begin_write()?;
        match lasting {
            Durability::AtOnce => txn.set_quick_repair(true),
            Durability::Later => txn.set_durability(redb::Durability::None)?,
        }
        Ok(txn)
    }

    /// Moves pages to the front of the file, and cuts off the rest. Returns `false` if a snapshot
    /// exists.
    pub(crate) fn compact(&mut self) -> Result<bool, Fault> {
        compact(self.database_mut()?)
    }

    /// Like [`Self::compact`], but other threads may use the store at the same time.
    pub(crate) fn compact_in_use(&self) -> Result<bool, Fault> {
        let mut slot = self.database.write();
        if !compact(slot.as_mut().ok_or(Fault::Closed)?)? {
            return Ok(false);
        }
        let Some(checked) = &self.checked else {
            return Ok(true);
        };
        drop(slot.take());
        let opened = Builder::new()
            .set_cache_size(self.cache_bytes)
            .create_with_backend(checked.clone());
        *slot = Some(opened.map_err(|error| match error {
            DatabaseError::Storage(error) => error.into(),
            _ => Fault::Closed,
        })?);
        Ok(true)
    }

    /// Compares up to `most` blocks of the file with their checksums, from block `from` on. Returns
    /// the block to continue with, or `None` at the end.
    pub(crate) fn verify(&self, from: u64, most: u64) -> Result<Option<u64>, Fault> {
        let Some(checked) = &self.checked else {
            return Ok(None);
        };
        let (next, wrong) = checked.verify(from, most)?;
        if !wrong.is_empty() {
            // A crash can leave half-written blocks that no commit uses. To distinguish such blocks
            // from damage, every page in use is read. If such a page is damaged, the read fails.
            let txn = self.read()?;
            let tables: Vec<_> = txn.list_tables()?.collect();
            for table in tables {
                txn.open_untyped_table(table)?.stats()?;
            }
            checked.set_unused(&wrong);
        }
        Ok(next)
    }
}

fn compact(database: &mut Database) -> Result<bool, Fault> {
    match database.compact() {
        Ok(_) => Ok(true),
        Err(redb::CompactionError::TransactionInProgress) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
