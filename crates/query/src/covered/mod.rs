//! `covered`: can a directory go?
//!
//! Whoever asks is about to delete, so everything here errs to one side: what is not proven is not
//! covered.
//!
//! 1. **The directory is listed now** (`entries`), not taken from the index: a file that came a
//!    moment ago counts. Every path must be covered; what is no regular file, or cannot be read or
//!    entered, never is. No rule of ignoring applies, and mount points below are named rather than
//!    passed over.
//! 2. **The index nominates** (`equals`): files with the same content, under a root and outside of
//!    the directory. The content is the one that the index has if the file has still the stat that
//!    goes with it. Of another one it is what the index has at the same path under a root, if the
//!    bytes agree, and is digested now otherwise: a stale index costs time and no truth.
//! 3. **The bytes decide** (`bytes`): both files are opened as carefully as everywhere, compared to
//!    the last byte, and looked at again: neither may have changed meanwhile.
//! 4. **Outside means outside.** A root may lie around the directory; one inside of it does not
//!    count, and that is said. Bind mounts and the like are seen through by device and inode: a
//!    candidate whose folder is one of the directory's own folders is in it, whatever its path
//!    says. A file that *is* the file (one inode) is a hard link if it has another name, and
//!    nothing otherwise.
//! 5. **A catalogue proves nothing.** Its files are not here, so an equal one that only a catalogue
//!    has is told apart, and counts only for who says that a digest is enough.
//! 6. **Near copies are not safe** (`near`). They are listed apart, of files that are missing.
//!
//! Which equal is named does not depend on chance: that of the same relative path below a root,
//! then of the same name, then the one with the least path, other files before further names of
//! this one.

mod bytes;
mod entries;
mod equals;
mod near;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentId, StopFlag, Stopped};
use resemble_index::{FileState, ReadError, Snapshot};
use resemble_proto::catalogued;
use resemble_proto::message::{
    CoverPair, Coverage, CoveredRequest, Header, Looked, MissingRow, SoftError, Whole,
};
use resemble_proto::path::PathText;
use resemble_scan::parts::PartReader;

use bytes::Verifier;
use entries::{Listed, Listing};
use equals::{Outside, Places};
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;

/// How a file is covered, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// By another file with the same bytes.
    Copy(PathBuf),
    /// By another name of the same file.
    Linked(PathBuf),
    /// Nothing covers it, for this reason.
    Missing(String),
    /// It cannot be read.
    Unreadable(SoftError),
}

/// Whether every file of a directory has an equal one elsewhere.
///
/// `part_reader` takes documents and archives apart again, so that near copies are measured.
///
/// Fails if the directory cannot be looked at, or the index not be read.
pub fn covered(
    snapshot: &Snapshot,
    request: &CoveredRequest,
    part_reader: Option<&dyn PartReader>,
) -> Result<Whole<Coverage>, AskError> {
    Verdicts::of(snapshot, request)?.with_near(snapshot, part_reader)
}

/// What is covered and what is not, before near copies are looked for.
#[derive(Debug)]
pub struct Verdicts {
    listing: Listing,
    /// The roots that count, but for catalogues.
    live: Vec<PathText>,
    /// The catalogues among the roots: what is in them is like a file, and covers none.
    recorded: Vec<PathText>,
    body: Coverage,
    looked: Looked,
    errors: Vec<SoftError>,
    /// The files that nothing covers, by their place in the listing.
    lost: Vec<usize>,
    /// The most memory for looking for near copies of them.
    memory: Option<u64>,
}

impl Verdicts {
    /// Of the files that are there now. The index need not know the directory.
    ///
    /// # Errors
    ///
    /// As [`covered`].
    pub fn of(snapshot: &Snapshot, request: &CoveredRequest) -> Result<Self, AskError> {
        let listing = Listing::of(request.dir.as_path(), snapshot.stop())?;
        let mut errors = listing.errors.clone();
        let (recorded, live): (Vec<PathText>, Vec<PathText>) = request
            .by
            .iter()
            .cloned()
            .partition(|by| catalogued::is_catalogued(by.as_path()));
        let outside = Outside::of(&listing, &live, &mut errors);
        let (contents, verdicts) = verdicts(snapshot, &outside)?;
        let mut body = Coverage {
            files: listing.missing.len() as u64,
            missing: listing.missing.clone(),
            ..Coverage::default()
        };
        let mut inodes = HashSet::new();
        let mut looked = Looked {
            unreadable: errors.len() as u64,
            // For near copies: a file that is equal is seen whatever its size.
            least_run: u64::from(snapshot.params().chunk.max) * 2,
            ..Looked::default()
        };
        let mut lost = Vec::new();
        for (at, (file, verdict)) in listing.files.iter().zip(verdicts).enumerate() {
            let size = file.stat.size;
            body.files += 1;
            if inodes.insert((file.stat.dev, file.stat.ino)) {
                looked.files += 1;
                looked.bytes += size;
                looked.small += u64::from(too_small(ByteLen(size)));
            }
            let path = PathText::from(file.path.as_path());
            let pair = |by: PathBuf| CoverPair {
                path: path.clone(),
                by: by.into(),
                size,
            };
            let reason = match verdict {
                Verdict::Copy(by) => {
                    body.copies.push(pair(by));
                    continue;
                }
                Verdict::Linked(by) => {
                    body.linked.push(pair(by));
                    continue;
                }
                Verdict::Missing(reason) => {
                    if let Some(by) = recorded_at(snapshot, &recorded, contents[at])? {
                        body.recorded.push(pair(by));
                        if request.by_digest {
                            continue;
                        }
                        "only a catalogue has its equal".to_owned()
                    } else {
                        lost.push(at);
                        reason
                    }
                }
                Verdict::Unreadable(error) => {
                    let reason = format!("cannot be read: {}", error.message);
                    errors.push(error);
                    looked.unreadable += 1;
                    reason
                }
            };
            body.missing.push(MissingRow { path, size, reason });
        }
        body.bytes = looked.bytes;
        body.missing
            .sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        body.covered = body.missing.is_empty();
        Ok(Self {
            listing,
            live,
            recorded,
            body,
            looked,
            errors,
            lost,
            memory: request.memory,
        })
    }

    /// The files that nothing covers. Near copies are named of those that the index knows.
    pub fn lost(&self) -> impl Iterator<Item = &Path> {
        let files = self.lost.iter().map(|&at| &self.listing.files[at]);
        files.map(|file| &*file.path)
    }

    /// The answer, with near copies.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub fn with_near(
        self,
        snapshot: &Snapshot,
        part_reader: Option<&dyn PartReader>,
    ) -> Result<Whole<Coverage>, AskError> {
        let (mut body, mut errors) = (self.body, self.errors);
        // What cannot be opened has been said.
        let outside = Outside::of(&self.listing, &self.live, &mut Vec::new());
        let lost: Vec<&Listed> = (self.lost.iter())
            .map(|&at| &self.listing.files[at])
            .collect();
        let live = outside.roots.iter();
        let mut by: Vec<PathText> = live.map(|root| PathText::from(root.path())).collect();
        by.extend(self.recorded);
        let (near, unread) = near::rows(
            snapshot,
            part_reader,
            (&self.listing, &by),
            &lost,
            self.memory,
        )?;
        body.near = near;
        errors.extend(unread);
        errors.sort();
        errors.dedup();
        let count = (body.missing.len()
            + body.near.len()
            + body.linked.len()
            + body.copies.len()
            + body.recorded.len()) as u64;
        let header = Header {
            fresh: true,
            pending: 0,
            total: count,
            shown: count,
            looked: Some(self.looked),
            ..Header::default()
        };
        Ok(Whole {
            header,
            body,
            errors,
        })
    }
}

/// The least path at which a catalogue has a content. What a catalogue says is no proof, so nothing
/// is covered by it unless that was asked for.
fn recorded_at(
    snapshot: &Snapshot,
    recorded: &[PathText],
    content: Option<ContentId>,
) -> Result<Option<PathBuf>, ReadError> {
    let (false, Some(content)) = (recorded.is_empty(), content) else {
        return Ok(None);
    };
    let mut least: Option<PathBuf> = None;
    for file in snapshot.files_of(content)? {
        for path in snapshot.paths(file)? {
            let is_there = recorded.iter().any(|root| path.starts_with(root.as_path()));
            if is_there && least.as_ref().is_none_or(|least| path < *least) {
                least = Some(path);
            }
        }
    }
    Ok(least)
}

/// What each file of the listing holds, if the index has that, and what covers it.
///
/// A file that the index does not know is first compared with the one at its path under a root, if
/// that has its size: most are equal, and need no digest.
fn verdicts(
    snapshot: &Snapshot,
    outside: &Outside<'_>,
) -> Result<(Vec<Option<ContentId>>, Vec<Verdict>), AskError> {
    let (listing, stop) = (outside.listing, snapshot.stop());
    let files = &listing.files;
    let all: Vec<usize> = (0..files.len()).collect();
    let nominated = each(&all, stop, |at, _| {
        let row = snapshot.file_at(&files[at].path)?;
        let known = row.and_then(|row| match row.state {
            // An unsettled file may have changed without a trace in its stat.
            FileState::Settled(content) => files[at].is_as(&row.stat).then_some(content),
            _ => None,
        });
        Ok::<_, ReadError>(match known {
            Some(content) => (Some(content), true),
            None => (at_its_path(snapshot, outside, &files[at])?, false),
        })
    })?;
    let mut contents: Vec<Option<ContentId>> = nominated.iter().map(|it| it.0).collect();
    let mut verdicts = judged(snapshot, outside, &all, &contents)?;
    let is_open = |at: &usize| !nominated[*at].1 && matches!(verdicts[*at], Verdict::Missing(_));
    let open: Vec<usize> = all.into_iter().filter(is_open).collect();
    let digested = each(&open, stop, |at, verifier| {
        match verifier.digest(listing, &files[at]) {
            Some(digest) => snapshot.content_by_digest(&digest),
            // The verdict will say why.
            None => Ok(None),
        }
    })?;
    for (&at, content) in open.iter().zip(digested) {
        contents[at] = content;
    }
    let again = judged(snapshot, outside, &open, &contents)?;
    for (&at, verdict) in open.iter().zip(again) {
        verdicts[at] = verdict;
    }
    Ok((contents, verdicts))
}

/// What the index has at the path that a file has below the directory, under one of the roots.
fn at_its_path(
    snapshot: &Snapshot,
    outside: &Outside<'_>,
    file: &Listed,
) -> Result<Option<ContentId>, ReadError> {
    let below = file.path.strip_prefix(&outside.listing.dir);
    for root in &outside.roots {
        let row = match &below {
            Ok(below) => snapshot.file_at(&root.path().join(below))?,
            Err(_) => None,
        };
        if let Some(row) = row
            && row.stat.size.0 == file.stat.size
            && let Some(content) = row.state.content()
        {
            return Ok(Some(content));
        }
    }
    Ok(None)
}

/// What covers these files, by what they may hold.
fn judged(
    snapshot: &Snapshot,
    outside: &Outside<'_>,
    files: &[usize],
    contents: &[Option<ContentId>],
) -> Result<Vec<Verdict>, AskError> {
    let listing = outside.listing;
    let in_question = files.iter().filter_map(|&at| contents[at]);
    let places = Places::of(snapshot, outside, in_question)?;
    let verdicts = each(files, snapshot.stop(), |at, verifier| {
        let file = &listing.files[at];
        let own = snapshot.file_at(&file.path)?.map(|row| row.id);
        let places = places.in_order(outside, contents[at], file, own);
        Ok::<_, ReadError>(verifier.verdict(listing, file, outside, &places))
    })?;
    Ok(verdicts)
}

/// Calls `work` with every number on several threads; the results in their order.
fn each<T: Send, E: Send + From<Stopped>>(
    numbers: &[usize],
    stop: &StopFlag,
    work: impl Fn(usize, &mut Verifier) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let verifier = || Verifier::new(stop);
    ordered(numbers.len(), verifier, |at, verifier| {
        let result = work(numbers[at], verifier)?;
        // A result that was stopped midway is not valid.
        stop.go_on()?;
        Ok(result)
    })
}
