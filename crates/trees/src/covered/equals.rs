//! Finds files outside of the directory that are equal to its files, according to an index or a
//! scan.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use resemble_core::{ContentId, FileId};
use resemble_proto::message::{SoftError, SoftErrorKind};
use resemble_proto::path::PathText;
use resemble_proto::places::is_in_trash;
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;
use resemble_scan::walk::{Anchor, OpenDir};

use super::entries::{Listed, Listing};
use super::known::{KnownFiles, KnownPlace};

/// The maximum number of candidates that are tried for a file, not counting its hard links. A
/// candidate is tried only if the bytes of all previous candidates differ.
const TRIES: usize = 64;

/// The roots below which an equal file is accepted, except the part in the checked directory.
#[derive(Debug)]
pub(super) struct Outside<'a> {
    pub(super) listing: &'a Listing,
    /// The open roots, in the order of their raw paths.
    pub(super) roots: Vec<Anchor>,
}

impl<'a> Outside<'a> {
    /// Opens the roots. A root that cannot be opened or lies in the checked directory is reported,
    /// and is not used.
    pub(super) fn of(listing: &'a Listing, by: &[PathText], errors: &mut Vec<SoftError>) -> Self {
        let mut by: Vec<&PathText> = by.iter().collect();
        by.sort_unstable_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        by.dedup();
        let mut roots = Vec::new();
        for root in by {
            match Anchor::open(root.as_path()) {
                Ok(anchor) => {
                    let stat = anchor.stat();
                    let is_inside = listing.inside.contains(&(stat.dev, stat.ino))
                        || root.as_path().starts_with(&listing.dir);
                    if is_inside {
                        errors.push(SoftError {
                            path: root.clone(),
                            kind: SoftErrorKind::Other,
                            message: "lies in the directory that is to go: its files do not count"
                                .to_owned(),
                        });
                    } else {
                        roots.push(anchor);
                    }
                }
                Err(errno) => errors.push(SoftError::of_io(root.clone(), &errno.into())),
            }
        }
        Self { listing, roots }
    }

    /// Returns the root that contains a path. Returns `None` if the path is in the checked
    /// directory, or in a trash below the root. A trash may hold files of the directory.
    pub(super) fn root_of(&self, path: &Path) -> Option<&Anchor> {
        if path.starts_with(&self.listing.dir) {
            return None;
        }
        let is_trash = is_in_trash(path);
        self.roots
            .iter()
            .find(|root| path.starts_with(root.path()) && (!is_trash || is_in_trash(root.path())))
    }

    /// Returns whether the file `name` in `folder` is inside the checked directory, whatever its
    /// path. Then `folder` is one of the directory's own folders. If `covered` checks a single
    /// file, returns whether the folder and the name belong to that file.
    pub(super) fn is_really_inside(&self, folder: &OpenDir, name: &OsStr) -> bool {
        let identity = (folder.stat.dev, folder.stat.ino);
        let is_it = |(above, single): &(_, OsString)| *above == identity && *single == *name;
        self.listing.inside.contains(&identity) || self.listing.single.as_ref().is_some_and(is_it)
    }
}

/// The paths of the files with one content, in the order of raw paths.
#[derive(Debug, Default)]
struct ContentPlaces {
    places: Vec<KnownPlace>,
    by_name: HashMap<OsString, Vec<usize>>,
}

/// The paths of all needed contents, if they are below a root and outside of the directory.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_content: HashMap<ContentId, ContentPlaces>,
}

impl Places {
    pub(super) fn of(
        known: &dyn KnownFiles,
        outside: &Outside<'_>,
        contents: impl Iterator<Item = ContentId>,
    ) -> Result<Self, AskError> {
        let mut contents: Vec<ContentId> = contents.collect();
        contents.sort_unstable();
        contents.dedup();
        let of_content = |at: usize, (): &mut ()| {
            let mut places = known.places(contents[at])?;
            places.retain(|place| outside.root_of(&place.path).is_some());
            places.sort_unstable_by(|a, b| raw(&a.path).cmp(raw(&b.path)));
            let mut by_name: HashMap<OsString, Vec<usize>> = HashMap::new();
            for (at, place) in places.iter().enumerate() {
                let name = place.path.file_name().unwrap_or_default();
                by_name.entry(name.to_owned()).or_default().push(at);
            }
            Ok::<_, AskError>(ContentPlaces { places, by_name })
        };
        let places = ordered(contents.len(), || (), of_content)?;
        Ok(Self {
            by_content: contents.into_iter().zip(places).collect(),
        })
    }

    /// Returns the paths to try for a file, best first. The first paths, at most [`TRIES`], belong
    /// to other files. Other names of the file itself (`own`) follow, also at most [`TRIES`].
    pub(super) fn in_order(
        &self,
        outside: &Outside<'_>,
        content: Option<ContentId>,
        file: &Listed,
        own: Option<FileId>,
    ) -> Vec<&Path> {
        let Some(holders) = content.and_then(|content| self.by_content.get(&content)) else {
            return Vec::new();
        };
        let below = file.path.strip_prefix(&outside.listing.dir).ok();
        let below = below.filter(|below| !below.as_os_str().is_empty());
        let same_path = outside.roots.iter().filter_map(|root| {
            let path = root.path().join(below?);
            let found = holders
                .places
                .binary_search_by(|place| raw(&place.path).cmp(raw(&path)));
            found.ok()
        });
        let name = file.path.file_name().unwrap_or_default();
        let same_name = holders.by_name.get(name).into_iter().flatten().copied();
        let all = 0..holders.places.len();
        let mut seen = HashSet::new();
        let mut others = Vec::new();
        let mut links = Vec::new();
        for at in same_path.chain(same_name).chain(all) {
            if !seen.insert(at) {
                continue;
            }
            let place = &holders.places[at];
            if Some(place.file) == own {
                if links.len() < TRIES {
                    links.push(place.path.as_path());
                }
            } else {
                others.push(place.path.as_path());
                if others.len() == TRIES {
                    break;
                }
            }
        }
        others.extend(links);
        others
    }
}

fn raw(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
