//! Answers the questions of the overlay from the index.
//!
//! Every answer is that of the last commit, and none waits for a scan or touches the overlay. A
//! listing is computed from a fresh snapshot, unless nothing has changed since the same one was: to
//! find out who has something in common with a file takes longer than all else once measures are
//! kept, and `ls`, completion and file managers open one folder several times over. When the index
//! cannot be read, the answer is empty and the reason is in the journal and in `status`, because a
//! listing has no place for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::{Relation, Score};
use resemble_fs::{Listing, Neighbour, Neighbours};
use resemble_index::Snapshot;
use resemble_proto::catalogued;
use resemble_proto::message::{Answer, DirRow, FindOptions};
use resemble_proto::path::PathText;
use resemble_proto::report;
use resemble_query::AskError;
use resemble_query::dirs;
use resemble_query::find::{self, LISTED, Similar, Subject};
use resemble_query::why;

use crate::questions;
use crate::state::Shared;

/// The index as the overlay sees it.
#[derive(Debug)]
pub struct IndexNeighbours {
    shared: Arc<Shared>,
    listings: Mutex<KeptListings>,
}

/// The listings of one moment.
#[derive(Debug, Default)]
struct KeptListings {
    /// See [`Shared::clock`].
    clock: u64,
    of: HashMap<PathBuf, Listing>,
    /// Entries of all of them, and one for each.
    entries: usize,
}

impl KeptListings {
    /// With more entries than this, all are forgotten: at some 200 bytes each, they take 6 MB.
    const MOST: usize = 1 << 15;

    fn get(&self, clock: u64, path: &Path) -> Option<Listing> {
        let of = (self.clock == clock).then_some(&self.of)?;
        of.get(path).cloned()
    }

    fn put(&mut self, clock: u64, path: &Path, listing: &Listing) {
        let entries = listing.neighbours.len() + 1;
        if self.clock != clock || self.entries + entries > Self::MOST {
            *self = Self {
                clock,
                ..Self::default()
            };
        }
        if self.of.insert(path.to_owned(), listing.clone()).is_none() {
            self.entries += entries;
        }
    }
}

impl IndexNeighbours {
    /// Answers from this index.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            listings: Mutex::default(),
        }
    }

    /// Runs a question; a failure is logged and answered with the default.
    fn ask<T: Default>(
        &self,
        path: &Path,
        question: impl FnOnce(&Snapshot) -> Result<T, AskError>,
    ) -> T {
        self.try_ask(path, question).unwrap_or_default()
    }

    fn try_ask<T>(
        &self,
        path: &Path,
        question: impl FnOnce(&Snapshot) -> Result<T, AskError>,
    ) -> Option<T> {
        let answer = match self.shared.snapshot() {
            Ok(snapshot) => question(&snapshot).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        answer
            .inspect_err(|error| {
                tracing::warn!(path = ?path, error, "the overlay has no answer");
            })
            .ok()
    }

    /// The listing of a file or directory: the one that was computed last, if nothing has changed
    /// since.
    fn listing(
        &self,
        path: &Path,
        question: impl FnOnce(&Snapshot) -> Result<Listing, AskError>,
    ) -> Listing {
        // The clock is read before the index: if that changes in between, the listing is at worst
        // kept for too short a time.
        let clock = self.shared.clock();
        if let Some(listing) = self.listings.lock().get(clock, path) {
            return listing;
        }
        let Some(listing) = self.try_ask(path, question) else {
            return Listing::default();
        };
        // Until the first scan is done, former roots go without a tick.
        if self.shared.first_scan_done() {
            self.listings.lock().put(clock, path, &listing);
        }
        listing
    }
}

fn neighbour(similar: Similar) -> Neighbour {
    Neighbour {
        a_in_b: similar.least().a_in_b.unwrap_or(Score::ZERO),
        identical: similar.relation == Some(Relation::Identical),
        relation: similar.relation.map_or("", Relation::word),
        target: similar.path,
        member: similar.names,
    }
}

/// The other directory of a row, as a neighbour of the first.
fn neighbouring(row: &DirRow) -> Neighbour {
    Neighbour {
        target: row.b.as_path().to_owned(),
        member: Vec::new(),
        a_in_b: row.a_in_b.score().unwrap_or(Score::ZERO),
        identical: row.identical,
        relation: dirs::relation(row).word(),
    }
}

impl Neighbours for IndexNeighbours {
    fn similar(&self, file: &Path) -> Listing {
        self.listing(file, |snapshot| {
            let (similar, total) = questions::similar(snapshot, file, self.shared.part_reader())?;
            Ok(Listing {
                neighbours: similar.into_iter().map(neighbour).collect(),
                total,
            })
        })
    }

    fn similar_dirs(&self, dir: &Path) -> Listing {
        self.listing(dir, |snapshot| {
            let part_reader = self.shared.part_reader().map(|reader| &**reader);
            let (mut rows, mut total) = dirs::listing(snapshot, dir, part_reader)?;
            let before = rows.len();
            rows.retain(|row| !catalogued::is_catalogued(row.b.as_path()));
            total -= before - rows.len();
            Ok(Listing {
                neighbours: rows.iter().map(neighbouring).collect(),
                total,
            })
        })
    }

    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8> {
        self.ask(file, |snapshot| {
            let text = self
                .shared
                .root_of(file)
                .is_some_and(|root| root.options.text);
            let part_reader = self
                .shared
                .part_reader()
                .filter(|_| text)
                .map(|part_reader| &**part_reader);
            why::explain(snapshot, file, neighbour, &self.shared.params, part_reader)
                .map(String::into_bytes)
        })
    }

    fn report(&self, file: &Path) -> Vec<u8> {
        self.ask(file, |snapshot| {
            let name = PathText::from(file);
            let options = FindOptions {
                text: true,
                // No more rows than a listing has links, or `shown` would count files that the
                // listing leaves out.
                top: Some(LISTED as u64),
                ..FindOptions::default()
            };
            let mut answer = match Subject::indexed(snapshot, file, &self.shared.params)? {
                Some(subject) => {
                    let part_reader = self.shared.part_reader().cloned();
                    let subject = subject.with_part_reader(part_reader);
                    find::find(snapshot, &subject, &name, &options)?
                }
                None => Answer::fresh(Vec::new(), Vec::new()),
            };
            for row in &mut answer.rows {
                if let Some(shown) = catalogued::shown(row.path.as_path()) {
                    row.path = shown.into();
                }
            }
            answer.header.fresh = self.shared.fresh();
            answer.header.pending = self.shared.pending();
            Ok(report::find_json(&name, &answer, &self.shared.params))
        })
    }

    fn generation(&self) -> Option<u64> {
        Some(self.shared.clock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(entries: usize) -> Listing {
        let neighbour = Neighbour {
            target: "/b".into(),
            member: Vec::new(),
            a_in_b: Score::ONE,
            identical: true,
            relation: "identical",
        };
        Listing {
            neighbours: vec![neighbour; entries],
            total: entries,
        }
    }

    #[test]
    fn a_listing_stands_until_the_clock_moves() {
        let mut kept = KeptListings::default();
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        kept.put(7, a, &listing(2));
        assert_eq!(kept.get(7, a), Some(listing(2)));
        assert_eq!(kept.get(7, b), None);
        assert_eq!(kept.get(8, a), None);
        // A question that began before a change ends after another one.
        kept.put(8, b, &listing(1));
        assert_eq!((kept.get(7, a), kept.get(8, a)), (None, None));
        assert_eq!(kept.get(8, b), Some(listing(1)));
    }

    #[test]
    fn listings_are_bounded_by_their_entries() {
        let mut kept = KeptListings::default();
        for n in 0..2000 {
            let path = PathBuf::from(format!("/{n}"));
            kept.put(1, &path, &listing(99));
            kept.put(1, &path, &listing(99));
            let entries: usize = kept.of.values().map(|of| of.neighbours.len() + 1).sum();
            assert_eq!(kept.entries, entries);
            assert!(entries <= KeptListings::MOST);
            assert!(kept.get(1, &path).is_some());
        }
    }
}
