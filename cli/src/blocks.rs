//! Finds files that share their blocks, as clones do: removing one of them frees no space.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fiemap::{Fiemap, FiemapExtent, FiemapExtentFlags};
use resemble_proto::message::{Groups, IdenticalSet};
use resemble_proto::path::PathText;
use rustix::fs::{Mode, OFlags};

/// File systems whose files can share blocks, and that report the shared blocks.
const SHARING: [&[u8]; 3] = [b"btrfs", b"xfs", b"bcachefs"];

/// The minimum size of identical files whose holes are searched for. Holes of smaller files are not
/// worth a system call for each file. Plans and reports use the same minimum, so their figures
/// agree.
const HOLES_FROM: u64 = 64 << 10;

/// The places of a file's blocks on its device. Each extent has its offset in the file, its offset
/// on the device, and its length.
type Extents = Vec<(u64, u64, u64)>;

/// Returns whether two files have all their blocks in common. Blocks that a file system does not
/// report, or that are not on the disk yet, count as not shared.
pub(crate) fn are_shared(a: &Path, b: &Path) -> bool {
    matches!((extents(a), extents(b)), (Some(a), Some(b)) if a == b && !a.is_empty())
}

/// Returns the number of bytes that the removal of a file frees. These are the bytes that the file
/// takes on its disk, at most its size. A small file counts as a file without holes.
pub(crate) fn taken(meta: &Metadata) -> u64 {
    if meta.size() < HOLES_FROM {
        return meta.size();
    }
    meta.size().min(meta.blocks() * 512)
}

/// Records in the sets of identical files how many bytes each file with holes takes on its disk.
/// This changes the number of duplicate bytes of a set, so the sets are sorted by that number
/// again. The paths must be real paths.
pub(crate) fn note_holes(groups: &mut Groups) {
    for set in &mut groups.identical {
        if set.size < HOLES_FROM {
            continue;
        }
        let of_path = |path: &PathText| {
            let meta = std::fs::symlink_metadata(path.as_path()).ok();
            meta.map_or(set.size, |meta| set.size.min(taken(&meta)))
        };
        let allocated: Vec<u64> = set.paths.iter().map(of_path).collect();
        if allocated.iter().any(|bytes| *bytes < set.size) {
            let before = set.overhead();
            set.allocated = allocated;
            groups.summary.overhead -= before - set.overhead();
        }
    }
    groups.identical.sort_by_key(|set| Reverse(set.overhead()));
}

/// Records which files share their blocks, and how many bytes the shared blocks have. Only file
/// systems that can share blocks are asked. The paths must be real paths.
pub(crate) fn note_shared(groups: &mut Groups) {
    let mounts = resemble_mounts::read().unwrap_or_default();
    let is_sharing = |fs_type: &[u8]| SHARING.contains(&fs_type);
    if !mounts.iter().any(|mount| is_sharing(&mount.fs_type)) {
        return;
    }
    // A later mount covers an earlier mount at the same point, so the map keeps the later mount.
    let types: HashMap<PathBuf, bool> = mounts
        .into_iter()
        .map(|mount| (mount.point, is_sharing(&mount.fs_type)))
        .collect();
    let can_share = |path: &Path| path.ancestors().find_map(|dir| types.get(dir)) == Some(&true);
    for set in &mut groups.identical {
        let places = set.paths.iter().map(|path| {
            let path = path.as_path();
            can_share(path).then(|| extents(path)).flatten()
        });
        set.blocks = numbers(places.collect());
    }
    let shared = groups.identical.iter().map(IdenticalSet::shared_blocks);
    groups.summary.shared_blocks = shared.sum();
}

/// Returns a number for each file. Files with the same blocks have the same number; the number of
/// every other file is 0. Returns an empty list if all numbers are 0.
fn numbers(places: Vec<Option<Extents>>) -> Vec<u32> {
    let mut files: HashMap<Extents, Vec<usize>> = HashMap::new();
    let mut numbers = vec![0; places.len()];
    for (at, place) in places.into_iter().enumerate() {
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            files.entry(place).or_default().push(at);
        }
    }
    let mut together: Vec<_> = files.into_values().filter(|all| all.len() > 1).collect();
    if together.is_empty() {
        return Vec::new();
    }
    together.sort_unstable();
    for (number, files) in (1..).zip(together) {
        for at in files {
            numbers[at] = number;
        }
    }
    numbers
}

/// Reads the extents of a file. Returns `None` if an extent is not shared or cannot be read.
fn extents(path: &Path) -> Option<Extents> {
    let extent = |extent: io::Result<FiemapExtent>| {
        let extent = extent.ok()?;
        let is_shared = extent.fe_flags.contains(FiemapExtentFlags::SHARED);
        is_shared.then_some((extent.fe_logical, extent.fe_physical, extent.fe_length))
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    Fiemap::new(file).map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_at_one_place_have_one_number() {
        let at = |physical| Some(vec![(0, physical, 4096)]);
        let places = vec![
            at(1),
            None,
            at(2),
            at(1),
            Some(Vec::new()),
            at(3),
            at(2),
            at(1),
        ];
        let set = IdenticalSet {
            size: 10,
            paths: vec!["a".into(); places.len()],
            blocks: numbers(places),
            ..IdenticalSet::default()
        };
        assert_eq!(set.blocks, [1, 0, 2, 1, 0, 0, 2, 1]);
        assert_eq!(set.overhead(), 70);
        assert_eq!(set.shared_blocks(), 30);
        assert!(numbers(vec![at(1), None, None, at(2)]).is_empty());
    }

    /// A file that consists of one hole takes no space. A set of such files follows a smaller set
    /// that takes space.
    #[test]
    fn holes_are_no_overhead() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8], size: u64| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_len(size).unwrap();
            PathText::from(path)
        };
        let set = |size, paths: [PathText; 2]| IdenticalSet {
            size,
            paths: paths.to_vec(),
            ..IdenticalSet::default()
        };
        let empty = ["a", "b"].map(|name| file(name, b"", 4 << 20));
        let full = ["c", "d"].map(|name| file(name, &vec![7; 1 << 20], 1 << 20));
        let mut groups = Groups {
            identical: vec![set(4 << 20, empty), set(1 << 20, full)],
            ..Groups::default()
        };
        groups.summary.overhead = 5 << 20;
        note_holes(&mut groups);
        assert_eq!(groups.summary.overhead, 1 << 20);
        assert_eq!(groups.identical[0].size, 1 << 20);
        assert_eq!(groups.identical[1].overhead(), 0);
    }
}
