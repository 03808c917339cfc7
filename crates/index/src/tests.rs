//! Tests with a disk that fails. The disk becomes full at a write, or the power is cut at a point.
//! The tests try all writes and all points.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;
use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ChunkRun, ContentDigest, ContentKind, Digest, Fingerprint,
    Params, Repeats, Signature,
};
use resemble_testutil::random::Random;

use crate::change::{Change, ContentRef, NewState};
use crate::error::ApplyError;
use crate::index::{Index, Options};
use crate::place::Place;
use crate::rows::{FileStat, FsId, Timestamp};
use crate::store::Store;

/// A request that the store makes to the disk, or a mark that the test sets in the log.
#[derive(Clone, Debug)]
enum Asked {
    Write(u64, Vec<u8>),
    Length(u64),
    Sync,
    /// A mark of the test. The number is the number of batches that are committed at this point.
    Committed(u64),
}

#[derive(Debug, Default)]
struct Disk {
    bytes: Vec<u8>,
    /// All requests so far. `None` if they are not recorded.
    log: Option<Vec<Asked>>,
    /// The number of writes and extensions that are possible before the disk is full. `None` if the
    /// disk is never full.
    left: Option<u64>,
}

impl Disk {
    fn spend(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(io::ErrorKind::StorageFull.into()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn note(&mut self, asked: impl FnOnce() -> Asked) {
        if let Some(log) = &mut self.log {
            log.push(asked());
        }
    }
}

#[derive(Clone, Debug, Default)]
struct SharedDisk(Arc<Mutex<Disk>>);

impl SharedDisk {
    fn with<T>(&self, work: impl FnOnce(&mut Disk) -> T) -> T {
        work(&mut self.0.lock())
    }

    fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Disk {
            bytes,
            ..Disk::default()
        })))
    }
}

fn write(bytes: &mut Vec<u8>, at: u64, data: &[u8]) {
    let end = at as usize + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at as usize..end].copy_from_slice(data);
}

impl StorageBackend for SharedDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|disk| disk.bytes.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|disk| {
            let from = disk.bytes.get(offset as usize..).unwrap_or_default();
            let from = from.get(..out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            out.copy_from_slice(from);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|disk| {
            disk.spend()?;
            disk.bytes.resize(len as usize, 0);
            disk.note(|| Asked::Length(len));
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|disk| disk.note(|| Asked::Sync));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|disk| {
            disk.spend()?;
            write(&mut disk.bytes, offset, data);
            disk.note(|| Asked::Write(offset, data.to_vec()));
            Ok(())
        })
    }
}

fn try_open(disk: &SharedDisk) -> Result<Index, String> {
    let options = Options {
        cache_bytes: 1 << 20,
        boilerplate_limit: 20,
    };
    let place = Place::default();
    let store = Store::checked(disk.clone(), options.cache_bytes, &place.health);
    let store = store.map_err(|refused| format!("{refused:?}"))?;
    let opened = Index::from_store(store, place, &Params::default(), &options);
    opened.map_err(|error| error.to_string())?
}

fn open(disk: &SharedDisk) -> Index {
    try_open(disk).unwrap()
}

const BATCHES: u64 = 8;

/// Returns batch number `n`. Each batch adds ten files, and every third batch removes the ten files
/// of the previous one.
fn batch(n: u64) -> Vec<Change> {
    let mut changes: Vec<_> = (n * 10..n * 10 + 10).map(file).collect();
    if n % 3 == 2 {
        changes.push(Change::Remove(format!("/d{}", n - 1).into()));
    }
    changes
}

/// Returns the number of files after this number of batches.
fn files(committed: u64) -> u64 {
    committed * 10 - committed / 3 * 10
}

fn file(n: u64) -> Change {
    let time = Timestamp { secs: 1, nanos: 2 };
    let mut content = [0; 32];
    content[..8].copy_from_slice(&n.to_be_bytes());
    let run = |k: u64| {
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&(n * 7 + k).to_be_bytes());
        hash[0] = k as u8;
        ChunkRun {
            hash: ChunkHash(hash),
            len: 900,
            count: 1,
            constant: false,
        }
    };
    let digest = Digest {
        content: ContentDigest(content),
        size: ByteLen(2700),
        kind: ContentKind::Text,
        chunks: ChunkList((0..3).map(run).collect()),
        signature: Signature {
            level: 5,
            fingerprints: (0..30).map(|k| Fingerprint((n * k) << 8 | k)).collect(),
            repeats: Some(Repeats(n as u8)),
        },
        besides: Vec::new(),
        words: None,
    };
    Change::File {
        path: format!("/d{}/{n}", n / 10).into(),
        stat: FileStat {
            fs: FsId("fs".into()),
            ino: n + 1,
            size: ByteLen(2700),
            mtime: time,
            ctime: time,
            nlink: 1,
        },
        state: NewState::Settled(ContentRef::New(Box::new(digest))),
    }
}

/// Checks that the index is undamaged. Returns the number of batches in it.
fn committed(index: &Index) -> u64 {
    let snapshot = index.snapshot().unwrap();
    assert_eq!(snapshot.check().unwrap(), Vec::<String>::new());
    let totals = snapshot.totals().unwrap();
    let generation = snapshot.generation();
    assert_eq!(totals.files, files(generation));
    assert_eq!(totals.contents, totals.files);
    generation
}

#[test]
fn a_full_disk_at_any_write_is_an_error_and_the_last_commit_stays() {
    let disk = SharedDisk::default();
    let index = open(&disk);
    disk.with(|disk| disk.left = Some(1 << 40));
    for n in 0..BATCHES {
        index.apply(batch(n)).unwrap();
    }
    let writes = (1 << 40) - disk.with(|disk| disk.left.unwrap());
    drop(index);
    assert!(writes > 100, "{writes}");
    for most in 0..writes {
        let disk = SharedDisk::default();
        let index = open(&disk);
        disk.with(|disk| disk.left = Some(most));
        let mut done = 0;
        let error = loop {
            match index.apply(batch(done)) {
                Ok(_) => done += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ApplyError::DiskFull { .. }), "{error}");
        // Free space alone is not enough, because the store's data in memory differ from the disk.
        disk.with(|disk| disk.left = None);
        let again = index.apply(batch(done));
        assert!(matches!(again, Err(ApplyError::Closed { .. })), "{again:?}");
        // Meanwhile, readers still see the last commit.
        let kept = committed(&index);
        assert!(kept == done || kept == done + 1, "{kept} kept, {done} done");
        drop(index);
        let index = open(&disk);
        let kept = committed(&index);
        assert!(kept == done || kept == done + 1, "{kept} kept, {done} done");
        for n in kept..BATCHES {
            index.apply(batch(n)).unwrap();
        }
        assert_eq!(committed(&index), BATCHES);
    }
}

/// The fate of a write that was not synced before the power cut.
#[derive(Clone, Copy)]
enum Fate {
    Kept,
    Lost,
    /// Only some sectors of the write reached the disk. In each group of 64 sectors, a sector
    /// reached the disk if its bit is set.
    Torn(u64),
}

/// The number of bytes that a disk writes at once or not at all.
const SECTOR: usize = 512;

/// Returns the bytes of a disk after a power cut. If `syncs` is true, the disk has everything up to
/// the last sync. If it is false, the disk has everything up to the first sync. `fate` returns what
/// happens to each later write, and to each later extension of the file.
fn after_power_cut(log: &[Asked], syncs: bool, fate: &mut impl FnMut() -> Fate) -> Vec<u8> {
    let is_sync = |asked: &Asked| matches!(asked, Asked::Sync);
    let first = log.iter().position(is_sync).unwrap_or(0);
    let last = log.iter().rposition(is_sync).unwrap_or(0);
    let synced = if syncs { last } else { first };
    let mut bytes = Vec::new();
    for (at, asked) in log.iter().enumerate() {
        let mut fate = || if at > synced { fate() } else { Fate::Kept };
        match asked {
            Asked::Write(offset, data) => match fate() {
                Fate::Kept => write(&mut bytes, *offset, data),
                Fate::Lost => {}
                Fate::Torn(sectors) => {
                    for (number, sector) in data.chunks(SECTOR).enumerate() {
                        if sectors >> (number % 64) & 1 == 1 {
                            write(&mut bytes, offset + (number * SECTOR) as u64, sector);
                        }
                    }
                }
            },
            Asked::Length(length) => {
                let grows = *length as usize > bytes.len();
                if !grows || matches!(fate(), Fate::Kept) {
                    bytes.resize(*length as usize, 0);
                }
            }
            Asked::Sync | Asked::Committed(_) => {}
        }
    }
    bytes
}

/// Applies all batches, closes the index, and returns the requests to the disk.
fn recorded() -> Vec<Asked> {
    let disk = SharedDisk::default();
    disk.with(|disk| disk.log = Some(Vec::new()));
    let index = open(&disk);
    for n in 0..BATCHES {
        disk.with(|disk| disk.note(|| Asked::Committed(n)));
        index.apply(batch(n)).unwrap();
    }
    disk.with(|disk| disk.note(|| Asked::Committed(BATCHES)));
    index.close().unwrap();
    disk.with(|disk| disk.log.take()).unwrap()
}

/// Chooses the fate of a write after the last sync. In variants 0 and 1, all writes have the same
/// fate. In the other variants, each write has its own fate.
fn fate(variant: u64, random: &mut Random) -> Fate {
    let torn = |random: &mut Random| Fate::Torn(random.draw());
    match variant {
        0 => Fate::Lost,
        1 => Fate::Kept,
        // In this variant, each write is kept or lost as a whole. The result depends most on the
        // few writes to the header and to the last pages.
        n if n % 3 == 2 => match random.below(4) {
            0 => Fate::Lost,
            _ => Fate::Kept,
        },
        n if n % 3 == 0 => match random.below(3) {
            0 => torn(random),
            1 => Fate::Lost,
            _ => Fate::Kept,
        },
        _ => torn(random),
    }
}

#[derive(Debug, Default)]
struct CrashStates {
    tried: u64,
    unopenable: Vec<String>,
    mixed: Vec<String>,
}

/// Cuts the power at each request, and tests `variants` states of the disk for each cut. The last
/// requests in the log compact and close the index.
fn cut_everywhere(variants: u64, syncs: bool) -> CrashStates {
    let log = recorded();
    let first = log
        .iter()
        .position(|asked| matches!(asked, Asked::Committed(0)))
        .unwrap();
    let mut random = Random::new(7);
    let mut states = CrashStates::default();
    for cut in first..=log.len() {
        let log = &log[..cut];
        let done = log.iter().rev().find_map(|asked| match asked {
            Asked::Committed(done) => Some(*done),
            _ => None,
        });
        let done = done.unwrap_or(0);
        for variant in 0..variants {
            states.tried += 1;
            let bytes = after_power_cut(log, syncs, &mut || fate(variant, &mut random));
            match try_open(&SharedDisk::of(bytes)).map(|index| committed(&index)) {
                Ok(kept) if kept == done || kept == done + 1 => {}
                Ok(kept) => states
                    .mixed
                    .push(format!("{kept} kept, {done} done, cut at {cut}")),
                Err(reason) => states.unopenable.push(format!("cut at {cut}: {reason}")),
            }
        }
    }
    println!(
        "{} crash states: {} unopenable, {} mixed",
        states.tried,
        states.unopenable.len(),
        states.mixed.len()
    );
    states
}

/// The environment variable `RESEMBLE_CRASH_VARIANTS` sets the number of states for each cut.
#[test]
fn a_power_cut_at_any_point_leaves_a_whole_commit() {
    let states = cut_everywhere(
        resemble_testutil::asked_for("RESEMBLE_CRASH_VARIANTS").unwrap_or(5),
        true,
    );
    assert!(states.unopenable.is_empty(), "{states:?}");
    assert!(states.mixed.is_empty(), "{states:?}");
}

#[test]
fn a_disk_that_syncs_nothing_is_found_out() {
    let states = cut_everywhere(3, false);
    assert!(states.unopenable.len() > 100, "{states:?}");
}
