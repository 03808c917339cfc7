//! Answers `covered` without an index.
//!
//! The directory and the root are scanned together, as for `compare`. So finding the equal files
//! takes no longer than reading both trees. The scan only nominates files. Their bytes are compared
//! afterwards, as with an index. Near copies of missing files are searched for among the scanned
//! contents.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::similarity::{Templates, too_small};
use resemble_core::{ByteLen, ChunkList, ContentDigest, ContentId, FileId, Signature, StopFlag};
use resemble_index::Snapshot;
use resemble_proto::message::{
    CompareOptions, CompareRequest, Coverage, CoveredRequest, NearRow, SoftError, Whole,
};
use resemble_relate::AskError;
use resemble_scan::ingest::Observer;
use resemble_scan::parts::PartReader;

use super::entries::Listed;
use super::known::{FileContent, KnownFiles, KnownPlace};
use super::near::{below, near_rows};
use super::{LostFiles, Verdicts};
use crate::compare::cache::{ScannedTrees, TreeCache};
use crate::compare::sides::{Entry, Holders, Pieces, Side, Sides, What};
use crate::compare::{Better, NearestQuestion, Terms};

/// Finds out whether every file of a directory has an equal file below a root. `by` is the only
/// root of the request.
pub fn covered(
    tree_cache: &TreeCache<'_>,
    request: &CoveredRequest,
    by: &Path,
    templates: &Templates,
    observer: &mut dyn Observer,
) -> Result<Whole<Coverage>, AskError> {
    let compared = CompareRequest {
        a: request.dir.clone(),
        b: by.into(),
        options: CompareOptions {
            text: true,
            memory: request.memory,
            ..CompareOptions::default()
        },
    };
    let params = tree_cache.index.params();
    let part_reader = tree_cache.part_reader_for(&compared);
    tree_cache.scanned(&compared, Better::OfA, observer, |trees| {
        let sides = trees.sides();
        let known = ScannedFiles::of(sides);
        let verdicts = Verdicts::of(&known, request, (&StopFlag::default(), params))?;
        let mut whole = verdicts.with_near(|lost| {
            let terms = (templates, part_reader, request.memory);
            near(trees, lost, terms)
        })?;
        // The directory may lie under the root, and the answer already has the errors in the
        // directory. So only errors outside of the directory are added. If an unreadable file has
        // several names, only the name that sorts first is reported, as with an index.
        let further = further_names(sides, by);
        let outside = sides.errors.iter().filter(|error| {
            let path = error.path.as_path();
            path.starts_with(by)
                && !path.starts_with(request.dir.as_path())
                && !further.contains(path)
        });
        whole.errors.extend(outside.cloned());
        whole.errors.sort();
        whole.errors.dedup();
        whole.header.fresh = sides.moving == 0;
        whole.header.pending = sides.moving;
        Ok(whole)
    })
}

/// Returns the further names of unreadable files below a root. If such a file has several names,
/// these are all but the one that sorts first.
fn further_names(sides: &Sides, by: &Path) -> HashSet<PathBuf> {
    let mut names = Vec::new();
    for side in [&sides.a, &sides.b] {
        let unread = side.entries.iter();
        let unread = unread.filter(|entry| entry.what == What::Unread);
        names.extend(unread.map(|entry| (side.path(entry).into_os_string(), entry.inode)));
    }
    names.retain(|(name, _)| Path::new(name).starts_with(by));
    names.sort_unstable();
    let mut inodes = HashSet::new();
    names.retain(|(_, inode)| !inodes.insert(*inode));
    names.into_iter().map(|(name, _)| name.into()).collect()
}

/// The files of two scanned sides. A file is identified by its inode.
struct ScannedFiles<'a> {
    sides: &'a Sides,
    /// The files of side B that have each content.
    holders: Holders,
    contents: HashMap<ContentDigest, ContentId>,
    files: HashMap<(u64, u64), FileId>,
}

impl<'a> ScannedFiles<'a> {
    fn of(sides: &'a Sides) -> Self {
        let mut files = HashMap::new();
        for entry in sides.a.entries.iter().chain(&sides.b.entries) {
            let next = FileId(files.len() as u32);
            files.entry(entry.inode).or_insert(next);
        }
        let contents = (0..).zip(&sides.contents);
        Self {
            sides,
            holders: Holders::of(&sides.b, sides.contents.len()),
            contents: contents
                .map(|(number, content)| (content.digest, ContentId(number)))
                .collect(),
            files,
        }
    }

    fn entry(side: &'a Side, path: &Path) -> Option<&'a Entry> {
        if side.single {
            return side.entries.first().filter(|_| path == side.root);
        }
        let below = path.strip_prefix(&side.root).ok()?.as_os_str().as_bytes();
        let at = side
            .entries
            .binary_search_by(|entry| (*entry.path).cmp(below));
        Some(&side.entries[at.ok()?])
    }
}

impl KnownFiles for ScannedFiles<'_> {
    /// Returns the file as it was scanned. A later change is noticed when the bytes are compared.
    fn of(&self, file: &Listed) -> Result<Option<FileContent>, AskError> {
        let entry = Self::entry(&self.sides.a, &file.path);
        Ok(entry.and_then(|entry| {
            let file = *self.files.get(&entry.inode)?;
            Some((file, entry.what.content().map(ContentId)))
        }))
    }

    fn content_at(&self, path: &Path, size: u64) -> Result<Option<ContentId>, AskError> {
        let entry = Self::entry(&self.sides.b, path);
        let content = entry.and_then(|entry| entry.what.content());
        let has_size = |&content: &u32| self.sides.contents[content as usize].size.0 == size;
        Ok(content.filter(has_size).map(ContentId))
    }

    fn content_by_digest(&self, digest: &ContentDigest) -> Result<Option<ContentId>, AskError> {
        Ok(self.contents.get(digest).copied())
    }

    fn places(&self, content: ContentId) -> Result<Vec<KnownPlace>, AskError> {
        let side = &self.sides.b;
        let entries = self.holders.of_content(content.0).iter();
        let places = entries.filter_map(|&at| {
            let entry = &side.entries[at as usize];
            Some(KnownPlace {
                path: side.path(entry),
                file: *self.files.get(&entry.inode)?,
            })
        });
        Ok(places.collect())
    }
}

/// Returns the near copies of files without an equal file, as the question with an index does.
fn near(
    trees: &ScannedTrees<'_>,
    lost: &LostFiles<'_>,
    (templates, part_reader, memory): (&Templates, Option<&dyn PartReader>, Option<u64>),
) -> Result<(Vec<NearRow>, Vec<SoftError>), AskError> {
    let scanned = trees.sides();
    let a = lost.files.iter().filter_map(|file| {
        let entry = ScannedFiles::entry(&scanned.a, &file.path)?;
        let path = below(&lost.listing.dir, &file.path).into();
        let is_judged = !too_small(ByteLen(file.stat.size));
        (is_judged && entry.what.content().is_some()).then(|| Entry {
            path,
            ..entry.clone()
        })
    });
    let a: Vec<Entry> = a.collect();
    if a.is_empty() || lost.by.is_empty() {
        return Ok(Default::default());
    }
    // If a file has several names, only the name that sorts first is used, as with an index.
    let mut inodes = HashSet::new();
    let b = scanned.b.entries.iter();
    let b = b.filter(|entry| matches!(entry.what, What::File(_)) && inodes.insert(entry.inode));
    let side = |root: &Path, entries| Side {
        root: root.to_owned(),
        single: false,
        entries,
    };
    let mut sides = Sides {
        a: side(&lost.listing.dir, a),
        b: side(&scanned.b.root, b.cloned().collect()),
        contents: scanned.contents.clone(),
        apart: scanned.apart.clone(),
        ..Sides::default()
    };
    let of_trees = sides.put_in_order();
    let pieces = RenumberedPieces { trees, of_trees };
    near_rows(&NearestQuestion {
        sides: &sides,
        pieces: &pieces,
        scoped: None,
        templates,
        limit: Terms::default_limit(),
        part_reader,
        memory,
    })
}

/// Reads the pieces of some contents of two scanned trees. In the question these contents have new
/// numbers. `of_trees` has the number of each of them in the scanned trees.
struct RenumberedPieces<'a> {
    trees: &'a ScannedTrees<'a>,
    /// The number in the scanned trees, at the position of the number in the question.
    of_trees: Vec<u32>,
}

impl Pieces for RenumberedPieces<'_> {
    fn pieces(&self, content: u32) -> Result<(ChunkList, Signature), AskError> {
        self.trees.pieces(self.of_trees[content as usize])
    }

    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> bool {
        self.trees.keys(self.of_trees[content as usize], keys)
    }

    fn measured(&self) -> Option<&Snapshot> {
        self.trees.measured()
    }
}
