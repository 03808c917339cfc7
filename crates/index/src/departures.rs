//! The log of names that were removed or renamed. `resemble lost` searches this log for the new
//! place of a missing path.
//!
//! A row is written in the transaction that removes the name. For a vanished file, the row has the
//! digest of the file's content. For a renamed file or directory, the row has the new name. With
//! the digest, the lost file can be found even if no new name is known: any file with that content
//! is a copy. A name that exists again at the end of the batch is not recorded, because programs
//! save a file by renaming a new file to its name. A name that `Change::Remove` removes, or that a
//! rule leaves out, is not recorded either.
//!
//! The log is bounded by age, number of rows and length of paths. So a tree of temporary files
//! cannot fill the disk. New rows only displace older ones.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use resemble_core::{ContentDigest, FileId};

use crate::codec::Malformed;
use crate::codec::varint::{self, Reader};
use crate::fault::Fault;
use crate::schema;
use crate::store::{ReadableTable, WriteTransaction};

/// The age in seconds at which a departure is removed: 90 days.
const KEPT: i64 = 90 * 24 * 60 * 60;

/// The maximum number of departures in the log.
const MOST: u64 = 1 << 16;

/// The maximum length of a path in bytes. A longer path is not recorded.
const LONGEST: usize = 1024;

/// The fate of a name that is gone: it vanished or was renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departed {
    /// The content that the file had. `None` for a directory and for a file that was not read. Also
    /// `None` for a path below a renamed directory, if the path has no row of its own.
    pub content: Option<ContentDigest>,
    /// The target of the rename, or another name of a file that lost this name. `None` if neither
    /// is known.
    pub to: Option<Renamed>,
}

/// The target of a rename, or another name of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The new name.
    pub path: PathBuf,
    /// The id of the file at the new name. For a directory, the first file id that was assigned
    /// after the rename. This id shows whether the new name now belongs to another file or
    /// directory.
    pub file: FileId,
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    /// The time of the change, in seconds since 1970.
    pub(crate) time: i64,
    /// The former name.
    pub(crate) path: PathBuf,
    /// The departure.
    pub(crate) departed: Departed,
}

impl Departure {
    /// Returns the departure that this row implies for `path`. Every row implies a departure of its
    /// own name. A row with a new name also implies one for any path below its name. Returns `None`
    /// for other paths.
    pub(crate) fn leads(&self, path: &Path) -> Option<Departed> {
        let below = path.strip_prefix(&self.path).ok()?;
        if below.as_os_str().is_empty() {
            return Some(self.departed.clone());
        }
        let to = self.departed.to.as_ref()?;
        Some(Departed {
            content: None,
            to: Some(Renamed {
                path: to.path.join(below),
                file: to.file,
            }),
        })
    }

    fn is_old(&self, now: i64) -> bool {
        self.time < now - KEPT
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::put_signed(&mut out, self.time);
        let path = self.path.as_os_str().as_bytes();
        varint::put(&mut out, path.len() as u64);
        out.extend_from_slice(path);
        let Departed { content, to } = &self.departed;
        out.push(u8::from(content.is_some()) | u8::from(to.is_some()) << 1);
        if let Some(content) = content {
            out.extend_from_slice(&content.0);
        }
        if let Some(to) = to {
            varint::put(&mut out, u64::from(to.file.0));
            out.extend_from_slice(to.path.as_os_str().as_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let path = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
        let mut row = || {
            let time = reader.i64()?;
            let length = usize::try_from(reader.u64()?).ok()?;
            let name = path(reader.bytes(length)?);
            let flags = reader.byte().filter(|flags| *flags < 4)?;
            let content = match flags & 1 {
                0 => None,
                _ => Some(ContentDigest(reader.array()?)),
            };
            let to = match flags & 2 {
                0 => None,
                _ => Some(Renamed {
                    file: FileId(reader.u32()?),
                    path: path(reader.rest()),
                }),
            };
            let departed = Departed { content, to };
            let row = Self {
                time,
                path: name,
                departed,
            };
            reader.0.is_empty().then_some(row)
        };
        row().ok_or(Malformed("departures"))
    }
}

/// The departures that a batch has recorded. They are written at its end.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    pub(crate) gone: Vec<(PathBuf, Departed)>,
    forgotten: HashSet<PathBuf>,
}

impl Departures {
    /// Records the departure of a name. Does nothing if a path is too long, or if the batch has
    /// recorded the maximum number of departures.
    pub(crate) fn note(&mut self, path: PathBuf, departed: Departed) {
        let fits = |path: &Path| path.as_os_str().len() <= LONGEST;
        let to = departed.to.as_ref();
        let fits = fits(&path) && to.is_none_or(|to| fits(&to.path));
        if fits && !self.is_full() {
            self.gone.push((path, departed));
        }
    }

    /// Drops the departures that the batch has recorded so far for names at or below a path. A
    /// departure whose new name is at or below the path loses only that new name. When the batch is
    /// written, the log is changed in the same way.
    pub(crate) fn forget(&mut self, path: &Path) {
        self.gone.retain_mut(|(gone, departed)| {
            departed.to.take_if(|to| to.path.starts_with(path));
            !gone.starts_with(path)
        });
        self.forgotten.insert(path.to_owned());
    }

    /// Returns whether the batch has recorded the maximum number of departures.
    pub(crate) fn is_full(&self) -> bool {
        self.gone.len() as u64 >= MOST
    }

    pub(crate) fn write(self, txn: &WriteTransaction) -> Result<(), Fault> {
        if self.gone.is_empty() && self.forgotten.is_empty() {
            return Ok(());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = now.map_or(0, |now| now.as_secs().cast_signed());
        let mut table = txn.open_table(schema::DEPARTURES)?;
        if !self.forgotten.is_empty() {
            let is_forgotten = |path: &Path| path.ancestors().any(|at| self.forgotten.contains(at));
            let mut changed = Vec::new();
            table.retain(|number, row| {
                // A row that cannot be decoded is removed.
                Departure::decode(row).is_ok_and(|mut row| {
                    let to = row.departed.to.take_if(|to| is_forgotten(&to.path));
                    let stays = !is_forgotten(&row.path);
                    if stays && to.is_some() {
                        changed.push((number, row.encode()));
                    }
                    stays
                })
            })?;
            for (number, row) in changed {
                table.insert(number, &row[..])?;
            }
        }
        let mut number = match table.last()? {
            Some((last, _)) => last.value() + 1,
            None => 0,
        };
        for (path, departed) in self.gone {
            let row = Departure {
                time,
                path,
                departed,
            };
            table.insert(number, &row.encode()[..])?;
            number += 1;
        }
        loop {
            let is_over = match table.first()? {
                Some((first, row)) => {
                    number - first.value() > MOST
                        || Departure::decode(row.value()).is_ok_and(|row| row.is_old(time))
                }
                None => false,
            };
            if !is_over {
                return Ok(());
            }
            table.pop_first()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use resemble_core::Params;

    use super::*;
    use crate::store::{Durability, Store};
    use crate::{Index, Options, Snapshot};

    fn vanished() -> Departed {
        Departed {
            content: Some(ContentDigest([7; 32])),
            to: None,
        }
    }

    fn renamed(path: &str, file: u32) -> Departed {
        let to = Renamed {
            path: path.into(),
            file: FileId(file),
        };
        Departed {
            content: None,
            to: Some(to),
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        for (path, departed) in [
            ("/a", vanished()),
            ("/a/b", renamed("/c", 300)),
            (
                "/a/c",
                Departed {
                    content: vanished().content,
                    ..renamed("/d", 7)
                },
            ),
        ] {
            let row = Departure {
                time: -5,
                path: path.into(),
                departed,
            };
            let bytes = row.encode();
            assert_eq!(Departure::decode(&bytes).unwrap(), row);
            assert!(Departure::decode(&bytes[..4]).is_err());
        }
        assert!(Departure::decode(&[0, 1, b'/', 4]).is_err());
    }

    #[test]
    fn an_index_that_was_made_without_the_log_gets_one() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("index.redb");
        let open = || Index::open(&path, &Params::default(), &Options::default()).unwrap();
        let (index, _) = open();
        index
            .store
            .write(Durability::AtOnce)
            .and_then(|txn| {
                txn.delete_table(schema::DEPARTURES)?;
                // Opening the index adds missing tables only if the newest table, that of the
                // origins, is missing.
                txn.delete_table(schema::ORIGINS)?;
                Ok(txn.commit()?)
            })
            .unwrap();
        index.close().unwrap();
        let departed = |snapshot: Snapshot| snapshot.departures().unwrap().of(Path::new("/a"));
        let none = Vec::new;
        let last = Index::last_commit(&path, &Params::default(), &Options::default());
        assert_eq!(departed(last.unwrap()), none());
        let (index, set_aside) = open();
        assert_eq!(set_aside, None);
        assert_eq!(departed(index.snapshot().unwrap()), none());
    }

    #[test]
    fn the_oldest_go() {
        let store = Store::in_memory(1 << 20).unwrap();
        let commit = |departures: Departures| {
            let txn = store.write(Durability::AtOnce).unwrap();
            departures.write(&txn).unwrap();
            txn.commit().unwrap();
        };
        let vanished = |number: u64| (PathBuf::from(format!("/{number}")), vanished());
        let long = PathBuf::from(format!("/{}", "x".repeat(LONGEST)));
        let mut first = Departures::default();
        first.note(long, renamed("/short", 1));
        assert!(first.gone.is_empty());
        for number in 0..MOST + 5 {
            let (path, departed) = vanished(number);
            first.note(path, departed);
        }
        assert!(first.is_full());
        commit(first);
        let mut second = Departures::default();
        for number in 0..3 {
            let (path, departed) = vanished(number);
            second.note(path, departed);
        }
        commit(second);
        let table = store
            .read()
            .unwrap()
            .open_table(schema::DEPARTURES)
            .unwrap();
        let rows: Vec<u64> = table
            .iter()
            .unwrap()
            .map(|row| row.unwrap().0.value())
            .collect();
        assert_eq!(rows, (3..MOST + 3).collect::<Vec<_>>());
        let row = table.get(5).unwrap().unwrap();
        let row = Departure::decode(row.value()).unwrap();
        assert_eq!(row.path, Path::new("/5"));
        assert!(!row.is_old(row.time + KEPT) && row.is_old(row.time + KEPT + 1));
    }

    #[test]
    fn a_directory_takes_what_is_below_along() {
        let row = |departed| Departure {
            time: 0,
            path: "/a/b".into(),
            departed,
        };
        let moved = row(renamed("/c", 9));
        let to = |path: &str| Some(renamed(path, 9));
        assert_eq!(moved.leads(Path::new("/a/b")), to("/c"));
        assert_eq!(moved.leads(Path::new("/a/b/d")), to("/c/d"));
        assert_eq!(moved.leads(Path::new("/a/bc")), None);
        let vanished = row(vanished());
        assert_eq!(vanished.leads(Path::new("/a/b/d")), None);
        assert!(vanished.leads(Path::new("/a/b")).is_some());
    }
}
