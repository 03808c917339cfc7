//! Opens an index. If its file cannot be used, renames the file and starts a new index.
//!
//! The index is derived data. So if all contents are read again, any fault of the file is repaired.
//! A file that is not an index, is damaged, or has another version or other parameters is *set
//! aside*: it is renamed to `NAME.set-aside`, and a new index takes its place. A file that was set
//! aside earlier is replaced, so there is at most one such file. The caller receives the reason,
//! and reports it. An error is returned only if somebody has to act. For example, the file is in
//! use, the disk is full, or a permission is missing.
//!
//! If the boilerplate limit has changed, only the keys are counted again. No content is read again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use resemble_core::Params;

use crate::batch::boilerplate;
use crate::error::OpenError;
use crate::fault::{Fault, guarded, open_error};
use crate::footprint::CommitLog;
use crate::health::Health;
use crate::index::{Index, Options};
use crate::measures::NewMeasures;
use crate::place::{Place, set_aside};
use crate::rows::SetAside;
use crate::schema;
use crate::snapshot::Snapshot;
use crate::state::{self, Counters, Sets};
use crate::store::{Durability, Refused, Store};

impl Index {
    /// Opens the index at `path`. A missing index is created (mode 0600), but its folder must
    /// exist. A file that cannot be used is set aside: see the [module](crate::open).
    pub fn open(
        path: &Path,
        params: &Params,
        options: &Options,
    ) -> Result<(Self, Option<SetAside>), OpenError> {
        let reason = match Self::try_open(path, params, options)? {
            Ok(index) => return Ok((index, None)),
            Err(reason) => reason,
        };
        let moved_to = set_aside(path).map_err(|source| open_error(path.to_path_buf(), source))?;
        tracing::warn!(
            path = %path.display(), moved_to = %moved_to.display(), reason, "index set aside"
        );
        match Self::try_open(path, params, options)? {
            Ok(index) => Ok((index, Some(SetAside { moved_to, reason }))),
            Err(reason) => Err(OpenError::Damaged {
                path: path.to_path_buf(),
                reason,
            }),
        }
    }

    /// Makes an empty index in memory, with default options. The index is lost when the process
    /// ends.
    pub fn in_memory(params: &Params) -> Result<Self, OpenError> {
        Self::in_memory_with(params, &Options::default())
    }

    /// Makes an empty index in memory, with these options.
    pub fn in_memory_with(params: &Params, options: &Options) -> Result<Self, OpenError> {
        let place = Place::default();
        let path = place.path().to_path_buf();
        let store = Store::in_memory(options.cache_bytes);
        let store = store.map_err(|refused| refusal(refused, &path))?;
        match Self::from_store(store, place, params, options)? {
            Ok(index) => Ok(index),
            Err(reason) => Err(OpenError::Damaged { path, reason }),
        }
    }

    /// Returns a snapshot of the last commit in the file at `path`, without writing to the file.
    /// This is for a disk that is full or read-only. If redb has to repair the file, it does so in
    /// memory.
    ///
    /// While this snapshot or a copy of it exists, no process can open the file for writing
    /// ([`OpenError::InUse`]). The boilerplate counts are those in the file, even if the limit is
    /// different now.
    pub fn last_commit(
        path: &Path,
        params: &Params,
        options: &Options,
    ) -> Result<Snapshot, OpenError> {
        let file = File::open(path).map_err(|source| open_error(path.to_path_buf(), source))?;
        let health = Arc::new(Health::default());
        let store = Store::open_unwritten(file, options.cache_bytes, &health);
        let store = store.map_err(|refused| refusal(refused, path))?;
        guarded(|| {
            let boilerplate_limit = match survey(&store, params)? {
                Found::Index { limit } => {
                    complete(&store)?;
                    limit
                }
                Found::Nothing => return Err(Fault::damaged("it is empty")),
                Found::Other(reason) => return Err(Fault::damaged(reason)),
            };
            let txn = store.read()?;
            let counters = state::counters(&txn)?;
            Snapshot::new(
                &txn,
                counters,
                Sets::load(&txn, boilerplate_limit)?,
                (boilerplate_limit, *params),
                Arc::new(Place::file(path, health)),
                (Arc::default(), CommitLog::since(counters.generation)),
                Some(store),
            )
        })
        .map_err(|fault| fault.into_open(path))
    }

    /// Opens the index at `path`. The inner error is the reason why the file must be set aside.
    fn try_open(
        path: &Path,
        params: &Params,
        options: &Options,
    ) -> Result<Result<Self, String>, OpenError> {
        let file = open_file(path).map_err(|source| open_error(path.to_path_buf(), source))?;
        let health = Arc::new(Health::default());
        match Store::open(file, options.cache_bytes, &health) {
            Ok(store) => Self::from_store(store, Place::file(path, health), params, options),
            Err(Refused::Foreign(reason)) => Ok(Err(reason)),
            Err(refused) => Err(refusal(refused, path)),
        }
    }

    /// Makes an index from an open store. The inner error is the reason why its file must be set
    /// aside.
    pub(crate) fn from_store(
        store: Store,
        place: Place,
        params: &Params,
        options: &Options,
    ) -> Result<Result<Self, String>, OpenError> {
        let path = place.path().to_path_buf();
        let health = Arc::clone(&place.health);
        let loaded = guarded(|| Self::load(store, place, params, options));
        // A read can find damage even if all data were loaded. So the health is always checked.
        if let Some(damage) = health.damage() {
            return Ok(Err(damage.to_owned()));
        }
        match loaded {
            Ok(loaded) => Ok(loaded),
            Err(Fault::Damaged(reason)) => Ok(Err(reason)),
            Err(fault) => Err(fault.into_open(&path)),
        }
    }

    fn load(
        store: Store,
        place: Place,
        params: &Params,
        options: &Options,
    ) -> Result<Result<Self, String>, Fault> {
        let limit = options.boilerplate_limit;
        let counted_with = match survey(&store, params)? {
            Found::Nothing => {
                initialise(&store, params, limit)?;
                limit
            }
            Found::Index { limit } => {
                complete(&store)?;
                limit
            }
            Found::Other(reason) => return Ok(Err(reason)),
        };
        let txn = store.read()?;
        let generation = state::counters(&txn)?.generation;
        let published = vec![(generation, Sets::load(&txn, limit)?)];
        let compact_bytes = match state::compact_bytes(&txn)? {
            0 => place.bytes()?,
            bytes => bytes,
        };
        drop(txn);
        let index = Self {
            compact_bytes: AtomicU64::new(compact_bytes),
            loaded_bytes: AtomicU64::new(0),
            store,
            params: *params,
            boilerplate_limit: limit,
            place: Arc::new(place),
            turn: Mutex::new(()),
            published: Mutex::new(published),
            latest: Mutex::default(),
            unlasting: Mutex::default(),
            new_measures: Arc::new(NewMeasures::default()),
            commits: CommitLog::since(generation),
        };
        if counted_with != limit {
            let path = index.place.path().to_path_buf();
            let counted = index.transact(|writing| {
                let mut meta = writing.txn.open_table(schema::META)?;
                meta.insert(schema::meta::LIMIT, &limit.to_le_bytes()[..])?;
                drop(meta);
                boilerplate::recount_all(writing)
            });
            counted.map_err(|error| {
                Fault::damaged(format!(
                    "{} could not be counted anew: {error}",
                    path.display()
                ))
            })?;
        }
        Ok(Ok(index))
    }
}

/// The data that an open file contains.
enum Found {
    Nothing,
    Index { limit: u32 },
    Other(String),
}

fn survey(store: &Store, params: &Params) -> Result<Found, Fault> {
    let txn = store.read()?;
    if txn.list_tables()?.next().is_none() && txn.list_multimap_tables()?.next().is_none() {
        return Ok(Found::Nothing);
    }
    let Ok(meta) = txn.open_table(schema::META) else {
        return Ok(Found::Other("it is another program's".into()));
    };
    let number = |name| -> Result<Option<u32>, Fault> {
        let row = meta.get(name)?;
        Ok(row.and_then(|row| Some(u32::from_le_bytes(row.value().try_into().ok()?))))
    };
    let stored = meta.get(schema::meta::PARAMS)?;
    let stored = stored.map(|row| String::from_utf8_lossy(row.value()).into_owned());
    let wanted = params.to_string();
    if stored.as_ref() != Some(&wanted) {
        let stored = stored.unwrap_or_default();
        return Ok(Found::Other(format!(
            "it was built with {stored}, not {wanted}"
        )));
    }
    match number(schema::meta::LIMIT)? {
        Some(limit) => Ok(Found::Index { limit }),
        None => Err(Fault::damaged("the boilerplate limit is missing")),
    }
}

fn initialise(store: &Store, params: &Params, limit: u32) -> Result<(), Fault> {
    let txn = store.write(Durability::AtOnce)?;
    schema::create(&txn)?;
    let mut meta = txn.open_table(schema::META)?;
    meta.insert(schema::meta::PARAMS, params.to_string().as_bytes())?;
    meta.insert(schema::meta::LIMIT, &limit.to_le_bytes()[..])?;
    meta.insert(schema::meta::COUNTERS, &Counters::NEW.encode()[..])?;
    drop(meta);
    txn.commit()?;
    Ok(())
}

/// Creates the tables that an older index of the same format does not have.
fn complete(store: &Store) -> Result<(), Fault> {
    // Tables were added to the format one after another. So a file with the newest table has all
    // tables.
    if store.read()?.open_table(schema::ORIGINS).is_ok() {
        return Ok(());
    }
    let txn = store.write(Durability::AtOnce)?;
    schema::create(&txn)?;
    Ok(txn.commit()?)
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

fn refusal(refused: Refused, path: &Path) -> OpenError {
    let path = path.to_path_buf();
    match refused {
        Refused::InUse => OpenError::InUse { path },
        Refused::Foreign(reason) => OpenError::Damaged { path, reason },
        Refused::Io(source) => open_error(path, source),
    }
}
