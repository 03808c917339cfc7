//! `covered`: checks whether a directory can be deleted.
//!
//! The user is about to delete files. So a file is taken as covered only if there is a proof.
//!
//! 1. **The directory is listed now** (`entries`), not taken from the index. So new files are
//!    included. Every path must be covered. An entry is never covered if it is not a regular file,
//!    or cannot be read or entered. No ignore rule applies, and mount points below are reported
//!    instead of skipped.
//! 2. **An index or a scan nominates** (`known`, `equals`) files with the same content, under a
//!    root and outside the directory. A command without an index scans both trees as `compare` does
//!    (`scanned`). A nomination that is out of date costs time, but does not make the answer wrong.
//! 3. **The bytes decide** (`bytes`). Both files are opened with the usual care, and all their
//!    bytes are compared. Then both files are checked again, because neither may have changed
//!    meanwhile.
//! 4. **An equal file must really be outside.** A root may contain the directory. A root inside the
//!    directory is not used, and the answer says so. Bind mounts are recognised by device and
//!    inode. If the folder of a candidate is one of the directory's own folders, the candidate is
//!    inside, whatever its path. The same inode under another name is a hard link. Under the same
//!    name, it covers nothing.
//! 5. **A catalogue proves nothing**, since its files are not here. An equal file that only a
//!    catalogue has is listed separately. Such a file covers another only if the user accepts a
//!    digest as proof.
//! 6. **Near copies are not safe** (`near`). They are listed separately, for missing files.
//!
//! If several files are equal to a checked file, the choice is deterministic. A file with the same
//! relative path below a root is preferred, then a file with the same name, then the first path in
//! order. Other files are preferred to further names of the checked file.

mod bytes;
mod entries;
mod equals;
mod known;
mod near;
mod scanned;

use std::collections::HashSet;
use std::path::PathBuf;

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentId, FileId, Params, StopFlag};
use resemble_index::Snapshot;
use resemble_proto::catalogued;
use resemble_proto::message::{
    CoverPair, Coverage, CoveredRequest, Header, Looked, MissingRow, NearRow, SoftError, Whole,
};
use resemble_proto::path::PathText;
use resemble_scan::parts::PartReader;

use bytes::Verifier;
use entries::{Listed, Listing};
use equals::{Outside, Places};
use known::KnownFiles;
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;
use resemble_relate::scope::{ScopedFiles, least_run};

/// The result for a checked file: another file that covers it, or the reason why nothing does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// Another file with the same bytes.
    Copy(PathBuf),
    /// Another name of the same file.
    Linked(PathBuf),
    /// Nothing covers the file. The string is the reason.
    Missing(String),
    /// The file cannot be read.
    Unreadable(SoftError),
}

/// Finds out whether every file of a directory has an equal file elsewhere.
///
/// `part_reader` takes documents and archives apart again, so that near copies are measured.
///
/// Fails if the directory cannot be accessed, or the index cannot be read.
pub fn covered(
    snapshot: &Snapshot,
    request: &CoveredRequest,
    part_reader: Option<&dyn PartReader>,
) -> Result<Whole<Coverage>, AskError> {
    let verdicts = Verdicts::of(snapshot, request, (snapshot.stop(), snapshot.params()))?;
    let mut whole =
        verdicts.with_near(|lost| near::rows(snapshot, part_reader, lost, request.memory))?;
    if snapshot.totals()?.unreadable_files > 0 {
        // An unreadable file outside of the directory may be equal to a missing file, so it is
        // reported.
        let scoped = ScopedFiles::of(snapshot, &near::scope_of(&request.by))?;
        let is_outside =
            |error: &SoftError| !error.path.as_path().starts_with(request.dir.as_path());
        whole
            .errors
            .extend(scoped.errors.into_iter().filter(is_outside));
        whole.errors.sort();
        whole.errors.dedup();
    }
    Ok(whole)
}

pub use scanned::covered as covered_by_scan;

/// The files without an equal file, and the places in which near copies are searched for.
struct LostFiles<'a> {
    listing: &'a Listing,
    by: &'a [PathText],
    files: Vec<&'a Listed>,
}

/// The verdicts on all files, before near copies are searched for.
#[derive(Debug)]
struct Verdicts {
    listing: Listing,
    /// The roots that are no catalogues. The bytes of files below them are compared.
    live: Vec<PathText>,
    /// The catalogues among the roots. They cover a file only if a digest is accepted as proof.
    recorded: Vec<PathText>,
    body: Coverage,
    looked: Looked,
    errors: Vec<SoftError>,
    /// The readable files that have no equal file, not even in a catalogue. They are given as
    /// indices into the listing.
    lost: Vec<usize>,
}

impl Verdicts {
    /// Makes the verdicts on the files that the directory of the request has now. `known` may lack
    /// these files.
    fn of(
        known: &dyn KnownFiles,
        request: &CoveredRequest,
        (stop, params): (&StopFlag, &Params),
    ) -> Result<Self, AskError> {
        let listing = Listing::of(request.dir.as_path(), stop)?;
        let mut errors = listing.errors.clone();
        let (recorded, live): (Vec<PathText>, Vec<PathText>) = request
            .by
            .iter()
            .cloned()
            .partition(|by| catalogued::is_catalogued(by.as_path()));
        let outside = Outside::of(&listing, &live, &mut errors);
        let (contents, verdicts) = verdicts(known, &outside, stop)?;
        let mut body = Coverage {
            files: listing.missing.len() as u64,
            missing: listing.missing.clone(),
            ..Coverage::default()
        };
        let mut inodes = HashSet::new();
        let mut looked = Looked {
            unreadable: errors.len() as u64,
            // This limit applies only to near copies. An equal file of any size is found.
            least_run: least_run(params),
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
                    if let Some(by) = recorded_at(known, &recorded, contents[at])? {
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
        })
    }

    /// Returns the answer, with the near copies that `near` finds.
    fn with_near(
        self,
        near: impl FnOnce(&LostFiles<'_>) -> Result<(Vec<NearRow>, Vec<SoftError>), AskError>,
    ) -> Result<Whole<Coverage>, AskError> {
        let (mut body, mut errors) = (self.body, self.errors);
        // Roots that cannot be opened were already reported, so these errors are dropped.
        let outside = Outside::of(&self.listing, &self.live, &mut Vec::new());
        let lost = self.lost.iter().map(|&at| &self.listing.files[at]);
        let live = outside.roots.iter();
        let mut by: Vec<PathText> = live.map(|root| PathText::from(root.path())).collect();
        by.extend(self.recorded);
        let (near, unread) = near(&LostFiles {
            listing: &self.listing,
            by: &by,
            files: lost.collect(),
        })?;
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

/// Returns the first path, in order, at which a catalogue has a content. A catalogue is no proof,
/// so it covers a file only if the request allows this.
fn recorded_at(
    known: &dyn KnownFiles,
    recorded: &[PathText],
    content: Option<ContentId>,
) -> Result<Option<PathBuf>, AskError> {
    let (false, Some(content)) = (recorded.is_empty(), content) else {
        return Ok(None);
    };
    let places = known.places(content)?.into_iter().map(|place| place.path);
    let is_there = |path: &PathBuf| recorded.iter().any(|root| path.starts_with(root.as_path()));
    Ok(places.filter(is_there).min())
}

/// Returns the content of each file of the listing, if the content is known, and the verdict on the
/// file.
///
/// A file whose content is not known is first compared with a file of the same size at the same
/// relative path below a root. In most cases, the two files are equal, and no digest is needed.
fn verdicts(
    known: &dyn KnownFiles,
    outside: &Outside<'_>,
    stop: &StopFlag,
) -> Result<(Vec<Option<ContentId>>, Vec<Verdict>), AskError> {
    let listing = outside.listing;
    let files = &listing.files;
    let all: Vec<usize> = (0..files.len()).collect();
    let nominated = each(&all, stop, |at, _| {
        let (file, content) = known.of(&files[at])?.unzip();
        Ok(match content.flatten() {
            Some(content) => (file, Some(content), true),
            None => (file, at_its_path(known, outside, &files[at])?, false),
        })
    })?;
    let own: Vec<Option<FileId>> = nominated.iter().map(|it| it.0).collect();
    let mut contents: Vec<Option<ContentId>> = nominated.iter().map(|it| it.1).collect();
    let mut verdicts = judged(known, outside, &all, (&own, &contents), stop)?;
    let is_open = |at: &usize| !nominated[*at].2 && matches!(verdicts[*at], Verdict::Missing(_));
    let open: Vec<usize> = all.into_iter().filter(is_open).collect();
    let digested = each(&open, stop, |at, verifier| {
        match verifier.digest(listing, &files[at]) {
            Some(digest) => known.content_by_digest(&digest),
            // The verdict will have the reason why the file cannot be read.
            None => Ok(None),
        }
    })?;
    for (&at, content) in open.iter().zip(digested) {
        contents[at] = content;
    }
    let again = judged(known, outside, &open, (&own, &contents), stop)?;
    for (&at, verdict) in open.iter().zip(again) {
        verdicts[at] = verdict;
    }
    Ok((contents, verdicts))
}

/// Returns the content of the file at the corresponding path below one of the roots, if that file
/// has the same size.
fn at_its_path(
    known: &dyn KnownFiles,
    outside: &Outside<'_>,
    file: &Listed,
) -> Result<Option<ContentId>, AskError> {
    let Ok(below) = file.path.strip_prefix(&outside.listing.dir) else {
        return Ok(None);
    };
    for root in &outside.roots {
        let content = known.content_at(&root.path().join(below), file.stat.size)?;
        if content.is_some() {
            return Ok(content);
        }
    }
    Ok(None)
}

/// Returns the verdicts on these files. The given contents can be guesses, because the bytes
/// decide.
fn judged(
    known: &dyn KnownFiles,
    outside: &Outside<'_>,
    files: &[usize],
    (own, contents): (&[Option<FileId>], &[Option<ContentId>]),
    stop: &StopFlag,
) -> Result<Vec<Verdict>, AskError> {
    let listing = outside.listing;
    let in_question = files.iter().filter_map(|&at| contents[at]);
    let places = Places::of(known, outside, in_question)?;
    each(files, stop, |at, verifier| {
        let file = &listing.files[at];
        let places = places.in_order(outside, contents[at], file, own[at]);
        Ok(verifier.verdict(listing, file, outside, &places))
    })
}

/// Calls `work` with every number, on several threads. Returns the results in the order of the
/// numbers.
fn each<T: Send>(
    numbers: &[usize],
    stop: &StopFlag,
    work: impl Fn(usize, &mut Verifier) -> Result<T, AskError> + Sync,
) -> Result<Vec<T>, AskError> {
    let verifier = || Verifier::new(stop);
    ordered(numbers.len(), verifier, |at, verifier| {
        let result = work(numbers[at], verifier)?;
        // If the stop flag was set meanwhile, the result is not valid.
        stop.go_on()?;
        Ok(result)
    })
}
