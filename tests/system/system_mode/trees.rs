//! Makes random trees whose files have many owners and common content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::random::Random;
use resemble_testutil::{office, pack};
use rustix::fs::XattrFlags;

use super::{USERS, as_user, opens};
use crate::system_mode::User;

/// The owners and groups of the files. Some owners are users of the test, others are not.
const OWNERS: [u32; 5] = [0, 4001, 4002, 4003, 4004];
const GROUPS: [u32; 6] = [0, 5001, 5002, 5004, 6001, 6002];

/// The modes of files and of folders. The usual modes occur several times in the list, so they are
/// drawn more often.
const FILE_MODES: [u32; 10] = [
    0o644, 0o644, 0o644, 0o640, 0o640, 0o600, 0o604, 0o044, 0o000, 0o444,
];
const FOLDER_MODES: [u32; 10] = [
    0o755, 0o755, 0o755, 0o755, 0o750, 0o750, 0o711, 0o700, 0o710, 0o744,
];

/// A tree whose files belong to families. The files of a family resemble each other.
pub(super) struct Tree {
    /// The family of each path.
    pub(super) families: BTreeMap<PathBuf, usize>,
}

fn one_of(random: &mut Random, of: &[u32]) -> u32 {
    of[random.below(of.len())]
}

fn belongs(path: &Path, random: &mut Random, modes: &[u32]) {
    let (owner, group) = (one_of(random, &OWNERS), one_of(random, &GROUPS));
    chown(path, Some(owner), Some(group)).expect("chown");
    let mode = fs::Permissions::from_mode(one_of(random, modes));
    fs::set_permissions(path, mode).expect("chmod");
    if random.below(5) == 0 {
        set_acl(path, random);
    }
}

/// Returns a text as a file of the format that the extension names.
pub(super) fn written(text: &[u8], ending: &str) -> Vec<u8> {
    let document = || office::docx(&String::from_utf8_lossy(text));
    match ending {
        "docx" => document(),
        "eml" => pack::mail(
            "Dear all, this is attached.",
            &[("minutes.docx", &document())],
        ),
        _ => text.to_vec(),
    }
}

/// Sets an access control list. The list has entries for a user and for a group, and a mask that
/// may restrict the rights of these entries.
fn set_acl(path: &Path, random: &mut Random) {
    const NOBODY: u32 = u32::MAX;
    let mode = fs::metadata(path).expect("a file").mode();
    let is_folder = path.is_dir();
    let rights = |random: &mut Random| {
        let all: &[u32] = if is_folder { &[0, 1, 5, 5] } else { &[0, 4, 4] };
        one_of(random, all)
    };
    let entries = [
        (0x01, mode >> 6 & 7, NOBODY),
        (0x02, rights(random), one_of(random, &OWNERS[1..])),
        (0x04, mode >> 3 & 7, NOBODY),
        (0x08, rights(random), one_of(random, &GROUPS[1..])),
        (0x10, if random.below(4) == 0 { 0 } else { 7 }, NOBODY),
        (0x20, mode & 7, NOBODY),
    ];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend_from_slice(&(tag as u16).to_le_bytes());
        list.extend_from_slice(&(rights as u16).to_le_bytes());
        list.extend_from_slice(&u32::to_le_bytes(id));
    }
    let set = rustix::fs::setxattr(path, "system.posix_acl_access", &list, XattrFlags::empty());
    set.expect("this file system has access control lists");
}

impl Tree {
    /// Makes a tree of `files` files below `top`.
    pub(super) fn make(top: &Path, seed: u64, files: usize) -> Self {
        let mut random = Random::new(seed);
        let mut folders = vec![top.to_path_buf()];
        for number in 0..files / 4 {
            let above = folders[random.below(folders.len())].clone();
            let depth = above.components().count() - top.components().count();
            let above = if depth > 3 { top.to_path_buf() } else { above };
            let folder = above.join(format!("d{number}"));
            fs::create_dir(&folder).expect("a folder");
            folders.push(folder);
        }
        let mut families = BTreeMap::new();
        for number in 0..files {
            let folder = &folders[random.below(folders.len())];
            // A fourth of the files are documents.
            let ending = ["txt", "txt", "txt", "docx"][random.below(4)];
            let path = folder.join(format!("f{number}.{ending}"));
            let family = random.below(files / 8 + 1);
            let text = prose(seed << 16 | family as u64, 6_000);
            // A third of the texts are not edited, so these files are copies.
            let text = match random.below(3) {
                0 => text,
                _ => edited(&text, number as u64, 2),
            };
            fs::write(&path, written(&text, ending)).expect("a file");
            belongs(&path, &mut random, &FILE_MODES);
            if random.below(8) == 0 {
                let other = &folders[random.below(folders.len())];
                let link = other.join(format!("l{number}.{ending}"));
                fs::hard_link(&path, &link).expect("a link");
                families.insert(link, family);
            }
            families.insert(path, family);
        }
        // Folders are changed from the deepest to the topmost. Otherwise the new mode of a folder
        // could prevent changes in it.
        for folder in folders[1..].iter().rev() {
            belongs(folder, &mut random, &FOLDER_MODES);
        }
        Self { families }
    }

    /// Returns the paths that a user can open. The test opens each file as that user to find out.
    pub(super) fn opened_by(&self, user: User) -> BTreeSet<PathBuf> {
        as_user(user, || {
            let paths = self.families.keys();
            paths.filter(|path| opens(path)).cloned().collect()
        })
    }

    /// Returns the files that an answer about `of` must show: all files of its family that the user
    /// has `opened`, except `of` itself. If a file has several names, only the first name in sorted
    /// order is shown.
    pub(super) fn expected(&self, of: &Path, opened: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let ino = |path: &Path| fs::metadata(path).expect("root sees it").ino();
        let own = ino(of);
        let mut least: BTreeMap<u64, PathBuf> = BTreeMap::new();
        for path in opened
            .iter()
            .filter(|path| self.families[*path] == self.families[of])
        {
            least.entry(ino(path)).or_insert_with(|| path.clone());
        }
        least.remove(&own);
        least.into_values().collect()
    }
}

/// Checks that the trees suit the tests: each user can open some of the files, but not all.
#[test]
fn trees_are_for_some_and_not_for_others() {
    const NAME: &str = "system_mode::trees::trees_are_for_some_and_not_for_others";
    let Some(_disks) = super::disks_of(NAME) else {
        return;
    };
    let tree = Tree::make(Path::new(super::SHARES), 7, 120);
    for user in USERS {
        let opened = tree.opened_by(user).len();
        assert!((10..110).contains(&opened), "{user:?}: {opened}");
    }
}
