//! Answers the questions of the overlay from the index.
//!
//! Every answer is from the last commit. No answer waits for a scan or accesses the overlay. A
//! listing cannot show errors. So if the index cannot be read, the listing is empty, and the reason
//! is in the journal and in `status`.
//!
//! Listings are cached, because the search for similar files is slow. `ls`, completion and file
//! managers also open the same folder several times. While the index has no newer commit, a cached
//! listing is returned without any access to the index. After a commit the listing stays valid
//! unless that commit has changed a record that the search read ([`Footprint`]). If the search read
//! more records than a footprint can have, or failed to read a file, the listing has no footprint.
//! It is then valid until the clock changes ([`Shared::clock`]).

use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{AccessCheck, Caller, Seen, SeenPlace};
use resemble_core::similarity::Templates;
use resemble_core::{Relation, Score};
use resemble_fs::{Audience, Listing, Member, Neighbour, Neighbours, Party};
use resemble_index::{Entry, Footprint, Snapshot, Timestamp};
use resemble_proto::catalogued;
use resemble_proto::message::{self, Answer, DirRow, FindOptions, FindRequest, Request};
use resemble_proto::path::PathText;
use resemble_proto::report;
use resemble_query::asked::places_of;
use resemble_query::dirs;
use resemble_query::find::{self, LISTED, Similar, Subject};
use resemble_query::unread;
use resemble_query::why;
use resemble_relate::{AskError, OpenedMember};
use resemble_report::quote::quoted;
use resemble_scan::parts::PartReader;
use resemble_scan::walk::Stat;

use crate::questions;
use crate::state::Shared;
use crate::system::System;

/// Answers the overlay's questions from the index.
#[derive(Debug)]
pub struct IndexNeighbours {
    shared: Arc<Shared>,
    listings: Mutex<KeptListings>,
    /// The access checks of the user who gets the answers. `None` if everything is visible. Answers
    /// are cached only in that case.
    sight: Option<Arc<dyn AccessCheck>>,
}

/// Cached listings by path. Each has the latest value of the clock at which it was known to be
/// valid.
#[derive(Debug, Default)]
struct KeptListings {
    of: HashMap<PathBuf, KeptListing>,
    /// The number of bytes that all listings take.
    bytes: usize,
}

#[derive(Debug)]
struct KeptListing {
    listing: Listing,
    /// The latest value of [`Shared::clock`] at which the listing was known to be valid.
    clock: u64,
    /// The templates that the search excluded.
    templates: Arc<Templates>,
    /// The records that the listing depends on; `None` if some of these records are unknown.
    footprint: Option<Footprint>,
}

impl KeptListing {
    /// Returns whether a search in this snapshot is known to give the same listing.
    fn is_right(&mut self, snapshot: &Snapshot) -> bool {
        let (then, now) = (&self.templates, snapshot.templates());
        let same_templates = Arc::ptr_eq(then, now) || (then.is_empty() && now.is_empty());
        let footprint = self.footprint.as_mut().filter(|_| same_templates);
        footprint.is_some_and(|footprint| snapshot.is_untouched(footprint))
    }

    /// Returns the number of bytes that the listing takes.
    fn bytes(&self) -> usize {
        let neighbours = self.listing.neighbours.iter();
        let names = neighbours.map(|one| one.target.as_os_str().len() + one.member.len());
        size_of::<Self>()
            + self.listing.neighbours.len() * size_of::<Neighbour>()
            + names.sum::<usize>()
            + self.footprint.as_ref().map_or(0, Footprint::bytes)
    }
}

impl KeptListings {
    /// The maximum number of bytes of all listings. If a new listing would exceed this limit, all
    /// other listings are dropped.
    const MOST: usize = 16 << 20;

    /// Returns the cached listing of a path, if it is known to be valid at this clock.
    fn get(&self, clock: u64, path: &Path) -> Option<Listing> {
        let kept = self.of.get(path).filter(|kept| kept.clock == clock);
        kept.map(|kept| kept.listing.clone())
    }

    /// Returns the cached listing of a path if it is valid in this snapshot, and removes it
    /// otherwise. The snapshot must be at least as new as the clock.
    fn get_in(&mut self, snapshot: &Snapshot, clock: u64, path: &Path) -> Option<Listing> {
        let kept = self.of.get_mut(path)?;
        if kept.is_right(snapshot) {
            kept.clock = clock;
            return Some(kept.listing.clone());
        }
        self.remove(path);
        None
    }

    fn put(&mut self, path: &Path, kept: KeptListing) {
        self.remove(path);
        let bytes = kept.bytes() + path.as_os_str().len();
        if self.bytes + bytes > Self::MOST {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.of.insert(path.to_owned(), kept);
    }

    fn remove(&mut self, path: &Path) {
        if let Some(kept) = self.of.remove(path) {
            self.bytes -= kept.bytes() + path.as_os_str().len();
        }
    }
}

impl IndexNeighbours {
    /// Makes the neighbours of this index for a user who may see everything.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            listings: Mutex::default(),
            sight: None,
        }
    }

    /// Makes the neighbours of this index for a user who may see only some files.
    fn seen_by(shared: Arc<Shared>, sight: Arc<dyn AccessCheck>) -> Self {
        Self {
            sight: Some(sight),
            ..Self::new(shared)
        }
    }

    /// Asks a question about a snapshot. A failure is logged, and the answer is then the default
    /// value.
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
        let snapshot = self.snapshot(path)?;
        said(path, question(&snapshot))
    }

    fn snapshot(&self, path: &Path) -> Option<Snapshot> {
        let snapshot = said(path, self.shared.snapshot())?;
        Some(match &self.sight {
            Some(sight) => snapshot.seen_by(Arc::clone(sight)),
            None => snapshot,
        })
    }

    /// Returns the reader of documents; `None` in system mode. Without a reader, figures about
    /// documents are estimates from stored samples.
    fn part_reader(&self) -> Option<&Arc<dyn PartReader>> {
        self.shared.part_reader().filter(|_| self.sight.is_none())
    }

    /// Returns the listing of a file or directory. `question` is asked only if no cached listing is
    /// valid.
    fn listing(
        &self,
        path: &Path,
        question: impl FnOnce(&Snapshot) -> Result<Listing, AskError>,
    ) -> Listing {
        if self.sight.is_some() {
            // A listing for one user would be wrong for another user. Soon it would even be wrong
            // for the same user, because a change of permissions need not change the index. So it
            // is not cached.
            return self.ask(path, question);
        }
        // The clock is read before the index. If a commit comes between, the cached listing expires
        // too early, which is harmless.
        let clock = self.shared.clock();
        if let Some(listing) = self.listings.lock().get(clock, path) {
            return listing;
        }
        let Some(snapshot) = self.snapshot(path) else {
            return Listing::default();
        };
        if let Some(listing) = self.listings.lock().get_in(&snapshot, clock, path) {
            return listing;
        }
        let snapshot = snapshot.noting();
        let Some(listing) = said(path, question(&snapshot)) else {
            return Listing::default();
        };
        // Before the first scan is done, roots may be removed without a change of the clock. So no
        // listing is cached until then.
        if self.shared.first_scan_done() {
            let kept = KeptListing {
                listing: listing.clone(),
                clock,
                templates: Arc::clone(snapshot.templates()),
                footprint: snapshot.footprint(),
            };
            self.listings.lock().put(path, kept);
        }
        listing
    }
}

/// Returns the answer, or logs the error and returns `None`.
fn said<T, E: Display>(path: &Path, answer: Result<T, E>) -> Option<T> {
    let logged = |error: &E| tracing::warn!(path = ?path, %error, "the overlay has no answer");
    answer.inspect_err(logged).ok()
}

/// Returns true if the user could open the file at this path, and the stat of that file is
/// `opened`.
fn opens(sight: &dyn AccessCheck, path: &Path, opened: &Stat) -> bool {
    let time = |time: Timestamp| (time.secs, time.nanos);
    let opened = SeenPlace {
        dev: opened.dev,
        ino: opened.ino,
        size: opened.size,
        mtime: time(opened.mtime),
        ctime: time(opened.ctime),
    };
    let looked = sight.look(&[path.to_owned()]);
    looked.is_ok_and(|seen| seen == [Seen::File(opened)])
}

/// Searches for the files that resemble a file, and returns them as a listing.
fn similar_files(
    snapshot: &Snapshot,
    file: &Path,
    part_reader: Option<&Arc<dyn PartReader>>,
) -> Result<Listing, AskError> {
    let (similar, total) = questions::similar(snapshot, file, part_reader)?;
    let similar = similar.into_iter();
    let neighbours = similar.map(|similar| neighbour(snapshot, similar));
    Ok(Listing {
        neighbours: neighbours.collect::<Result<_, _>>()?,
        total,
    })
}

fn neighbour(snapshot: &Snapshot, similar: Similar) -> Result<Neighbour, AskError> {
    let member = match similar.member {
        Some(content) => snapshot.content(content)?,
        None => None,
    };
    Ok(Neighbour {
        a_in_b: similar.least().a_in_b.unwrap_or(Score::ZERO),
        identical: similar.relation == Some(Relation::Identical),
        relation: similar.relation.map_or("", Relation::word),
        target: similar.path,
        member: similar.names,
        member_size: member.map_or(0, |row| row.size.0),
    })
}

/// Returns the second directory of a row, as a neighbour of the first directory.
fn neighbouring(row: &DirRow) -> Neighbour {
    Neighbour {
        target: row.b.as_path().to_owned(),
        member: Vec::new(),
        member_size: 0,
        a_in_b: row.a_in_b.score().unwrap_or(Score::ZERO),
        identical: row.identical,
        relation: dirs::relation(row).word(),
    }
}

impl Neighbours for IndexNeighbours {
    fn similar(&self, file: &Path) -> Listing {
        self.listing(file, |snapshot| {
            similar_files(snapshot, file, self.part_reader())
        })
    }

    fn similar_dirs(&self, dir: &Path) -> Listing {
        self.listing(dir, |snapshot| {
            let part_reader = self.part_reader().map(|reader| &**reader);
            let (rows, total) = dirs::listing(snapshot, dir, part_reader)?;
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
                .part_reader()
                .filter(|_| text)
                .map(|part_reader| &**part_reader);
            why::explain(snapshot, file, neighbour, &self.shared.params, part_reader)
                .map(String::into_bytes)
        })
    }

    fn member<'a>(&'a self, path: &'a Path) -> Option<Box<dyn Member + 'a>> {
        let part_reader = &**self.shared.part_reader()?;
        let may = |file: &Path, opened: &Stat| match &self.sight {
            None => true,
            Some(sight) => opens(&**sight, file, opened),
        };
        let opened = said(path, OpenedMember::of(path, &may)).flatten()?;
        Some(Box::new(ArchivedMember {
            path,
            opened,
            part_reader,
        }))
    }

    fn more(&self, of: &Path, left: usize) -> Vec<u8> {
        let is_dir = if self.sight.is_some() {
            let entry = self.try_ask(of, |snapshot| Ok(snapshot.entry(of)?));
            matches!(entry.flatten(), Some(Entry::Dir(_)))
        } else {
            of.is_dir()
        };
        let (what, verb) = if is_dir {
            ("directories resemble", "dirs --of")
        } else {
            ("files resemble", "find")
        };
        let of = quoted(of);
        format!("{left} more {what} {of}. To see all:\n\nresemble {verb} {of}\n").into_bytes()
    }

    fn report(&self, file: &Path) -> Vec<u8> {
        self.ask(file, |snapshot| {
            let name = PathText::from(file);
            let options = FindOptions {
                text: true,
                // A report has at most as many rows as a listing has links. With more rows, `shown`
                // would count files that the listing leaves out.
                top: Some(LISTED as u64),
                ..FindOptions::default()
            };
            let mut answer = match Subject::indexed(snapshot, file, &self.shared.params)? {
                Some(subject) => {
                    let part_reader = self.part_reader().cloned();
                    let subject = subject.with_part_reader(part_reader);
                    find::find(snapshot, &subject, &name, &options)?
                }
                None => Answer::fresh(Vec::new(), Vec::new()),
            };
            let request = Request::Find(FindRequest {
                subject: message::Subject::File(name.clone()),
                options,
            });
            let roots = self.shared.root_paths();
            let places = places_of(&request, &roots);
            answer.header.left_out = places.left_out(snapshot, &roots)?;
            answer.errors.extend(places.errors(snapshot)?);
            answer
                .errors
                .extend(unread::of_request(snapshot, &request)?);
            if self.sight.is_none() {
                answer.errors.extend(self.shared.unreachable(&[]));
            }
            answer.errors.sort();
            answer.errors.dedup_by(|a, b| a.path == b.path);
            for row in &mut answer.rows {
                if let Some(shown) = catalogued::shown(row.path.as_path()) {
                    row.path = shown.into();
                }
            }
            answer.header.fresh = self.shared.fresh();
            if self.sight.is_none() {
                answer.header.pending = self.shared.pending();
            }
            Ok(report::find_json(&name, &answer, &self.shared.params))
        })
    }

    fn generation(&self) -> Option<u64> {
        Some(self.shared.clock())
    }
}

/// A member of an archive that is in a watched tree.
struct ArchivedMember<'a> {
    path: &'a Path,
    opened: OpenedMember<'a>,
    part_reader: &'a dyn PartReader,
}

impl Member for ArchivedMember<'_> {
    fn origin(&self) -> Vec<u8> {
        self.opened.origin()
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        said(self.path, self.opened.bytes(self.part_reader)).flatten()
    }
}

/// The users of an overlay that serves all users.
#[derive(Debug)]
pub(crate) struct Everybody {
    /// The index.
    pub(crate) shared: Arc<Shared>,
    /// The access checks.
    pub(crate) system: Arc<System>,
}

impl Audience for Everybody {
    fn party(&self, caller: Caller) -> Party {
        let sight = self.system.sight(caller);
        let neighbours = IndexNeighbours::seen_by(Arc::clone(&self.shared), Arc::clone(&sight));
        Party {
            sight,
            neighbours: Arc::new(neighbours),
        }
    }

    fn account(&self, uid: u32) -> Account {
        self.system.account(uid)
    }
}

#[cfg(test)]
mod tests;
