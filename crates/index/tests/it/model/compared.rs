//! Compares all answers of the index with the answers of the model.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use resemble_core::similarity::too_small;
use resemble_index::{Entry, FileState, Gap, LeftOutRule, PartRow};

use super::*;

impl Pair {
    pub(super) fn compare(&mut self) {
        let snapshot = made::sound(self.index());
        self.compare_tree(&snapshot);
        self.compare_files(&snapshot);
        self.compare_contents(&snapshot);
        let index = self.index.as_ref().unwrap();
        self.kept.compare(index, &self.model);
    }

    fn entry(&self, node: &Node, got: &Entry) -> bool {
        match (node, got) {
            (Node::File(file), Entry::File(id)) => self.model.files[file].id == *id,
            (Node::Symlink(target), Entry::Symlink(got)) => got[..] == [*target, 0xff],
            (Node::Dir, Entry::Dir(_)) | (Node::Special, Entry::Special(SpecialKind::Fifo)) => true,
            (Node::Gap(0), Entry::Gap(gap)) => *gap == Gap::LeftOut(LeftOutRule::Ignore),
            (Node::Gap(errno), Entry::Gap(gap)) => *gap == Gap::Failed(*errno),
            _ => false,
        }
    }

    fn compare_tree(&self, snapshot: &Snapshot) {
        let mut expected: Vec<_> = self.model.tree.iter().collect();
        expected.sort_by_key(|(path, _)| path.as_os_str().as_bytes());
        let mut walked = Vec::new();
        let root = Path::new("/");
        snapshot
            .walk(root, &mut |path, entry| {
                walked.push((path.to_path_buf(), entry.clone()));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(walked.remove(0).0, root);
        assert_eq!(
            walked.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            expected.iter().map(|(path, _)| *path).collect::<Vec<_>>()
        );
        for ((path, got), (_, node)) in walked.iter().zip(&expected) {
            assert!(
                self.entry(node, got),
                "{}: {node:?}, {got:?}",
                path.display()
            );
            assert_eq!(snapshot.entry(path).unwrap().as_ref(), Some(got));
            let list = snapshot.list(path).unwrap();
            let below = expected
                .iter()
                .filter(|(at, _)| at.parent() == Some(path))
                .count();
            assert_eq!(list.len(), below);
            assert!(list.is_sorted_by(|a, b| a.0.as_bytes() < b.0.as_bytes()));
            assert!(matches!(snapshot.entry(&path.join("none")), Ok(None)));
        }
    }

    fn compare_files(&self, snapshot: &Snapshot) {
        let totals = snapshot.totals().unwrap();
        let files = self.model.files.values();
        assert_eq!(totals.files, files.len() as u64);
        let bytes = files.clone().map(|file| file.stat.size.get());
        assert_eq!(totals.file_bytes, bytes.sum::<u64>());
        let of = |state| files.clone().filter(|file| file.state == state).count() as u64;
        assert_eq!(totals.unreadable_files, of(ModelState::Unreadable));
        assert_eq!(totals.skipped_files, of(ModelState::Skipped));
        let small = files.clone().filter(|file| too_small(file.stat.size));
        assert_eq!(totals.small_files, small.count() as u64);
        for (number, file) in &self.model.files {
            let row = snapshot.file(file.id).unwrap().unwrap();
            assert_eq!((row.id, &row.stat), (file.id, &file.stat));
            let content = |n: u64| {
                snapshot
                    .content_by_digest(&digest(n).content)
                    .unwrap()
                    .unwrap()
            };
            let state = match file.state {
                ModelState::Settled(n) => FileState::Settled(content(n)),
                ModelState::Unsettled(n) => FileState::Unsettled(content(n)),
                ModelState::Unreadable => FileState::Unreadable(13),
                ModelState::Skipped => FileState::Skipped("size".into()),
            };
            assert_eq!(row.state, state);
            let mut paths: Vec<_> = self
                .model
                .tree
                .iter()
                .filter(|(_, node)| **node == Node::File(*number))
                .map(|(path, _)| path.clone())
                .collect();
            paths.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
            assert_eq!(snapshot.paths(file.id).unwrap(), paths);
            assert_eq!(snapshot.file_at(&paths[0]).unwrap().unwrap(), row);
            let [parent, name] = [paths[0].parent().map(Path::as_os_str), paths[0].file_name()];
            let parent = snapshot.entry(Path::new(parent.unwrap())).unwrap();
            let Some(Entry::Dir(dir)) = parent else {
                panic!("{parent:?} has a file");
            };
            let found = snapshot.entry_in(dir, name.unwrap()).unwrap();
            assert!(matches!(found, Some(Entry::File(id)) if id == file.id));
        }
        let free = snapshot.free_inode(&made::stat(0, 0).fs).unwrap();
        let last = self.model.inodes.keys().next_back();
        assert!(last.is_none_or(|&last| last < free), "{last:?} {free}");
        assert!(free <= last.map_or(0, |last| last + 32), "{last:?} {free}");
        for ino in 0..15 {
            let id = snapshot.file_by_inode(&made::stat(0, 0).fs, ino).unwrap();
            assert_eq!(
                id,
                self.model
                    .inodes
                    .get(&ino)
                    .map(|file| self.model.files[file].id)
            );
        }
    }

    fn compare_contents(&self, snapshot: &Snapshot) {
        let live = self.model.live();
        let mut ids = BTreeMap::new();
        for n in 0..CONTENTS {
            let digest = digest(n);
            let id = snapshot.content_by_digest(&digest.content).unwrap();
            assert_eq!(id.is_some(), live.contains(&n), "content {n}");
            let Some(id) = id else { continue };
            ids.insert(n, id);
            let row = snapshot.content(id).unwrap().unwrap();
            let mut files: Vec<_> = self
                .model
                .files
                .values()
                .filter(|file| file.state.content() == Some(n))
                .map(|file| file.id)
                .collect();
            files.sort_unstable();
            assert_eq!(snapshot.files_of(id).unwrap(), files);
            assert_eq!(row.files as usize, files.len());
            self.compare_parts(snapshot, n, id);
            assert_eq!(
                (row.digest, row.size, row.kind),
                (digest.content, digest.size, digest.kind)
            );
            assert_eq!(snapshot.chunks(id).unwrap(), digest.chunks);
            assert_eq!(snapshot.signature(id).unwrap(), digest.signature);
        }
        assert_eq!(snapshot.totals().unwrap().contents, live.len() as u64);
        for kind in PostingKind::ALL {
            let all: Vec<u64> = match kind {
                PostingKind::Chunk => (0..KEYS).map(|n| made::chunk_key(n as u32)).collect(),
                PostingKind::Fingerprint => (0..KEYS + 2).collect(),
            };
            let mut found = vec![Vec::new(); all.len()];
            snapshot
                .postings(kind, &all, &mut |index, list| found[index] = list.to_vec())
                .unwrap();
            let mut few = vec![Vec::new(); all.len()];
            snapshot
                .postings_up_to(kind, &all, 2, &mut |index, list| few[index] = list.to_vec())
                .unwrap();
            for (index, key) in all.iter().enumerate() {
                let mut expected: Vec<_> = ids
                    .iter()
                    .filter(|(n, _)| keys(**n, kind).contains(key))
                    .map(|(_, id)| *id)
                    .collect();
                expected.sort_unstable();
                assert_eq!(found[index], expected, "{kind:?} {key}");
                let boilerplate = expected.len() > LIMIT as usize;
                assert_eq!(snapshot.is_boilerplate(kind, *key).unwrap(), boilerplate);
                if expected.len() > 2 {
                    expected.clear();
                }
                assert_eq!(few[index], expected, "{kind:?} {key} up to 2");
            }
        }
    }

    fn compare_parts(&self, snapshot: &Snapshot, n: u64, id: ContentId) {
        let row = snapshot.content(id).unwrap().unwrap();
        let id_of = |n: u64| {
            let id = snapshot.content_by_digest(&digest(n).content).unwrap();
            id.expect("a part lives as long as what it is part of")
        };
        let looked = self.model.looks.get(&n);
        let parts = looked.map_or(&[][..], |looked| &looked.parts);
        let expected: Vec<PartRow> = (0..)
            .zip(parts)
            .map(|(at, part)| {
                let new = part_row(at, None);
                PartRow {
                    role: new.role,
                    parent: new.parent,
                    name: new.name,
                    content: part.map(id_of),
                }
            })
            .collect();
        assert_eq!(snapshot.parts(id).unwrap(), expected);
        for (at, part) in (0..).zip(&expected) {
            assert_eq!(snapshot.part(id, at).unwrap().as_ref(), Some(part));
        }
        assert_eq!(row.parts as usize, expected.len());
        assert_eq!(row.look, looked.map_or(Look::Unseen, |looked| looked.look));
        let skipped = looked.is_some_and(|looked| looked.skipped);
        assert_eq!(row.skipped, skipped);
        assert_eq!(
            snapshot.skipped_parts(id).unwrap().len(),
            usize::from(skipped)
        );
        let mut places: Vec<(ContentId, u32)> = Vec::new();
        for (&container, looked) in &self.model.looks {
            let places_in = (0..)
                .zip(&looked.parts)
                .filter(|(_, part)| **part == Some(n));
            places.extend(places_in.map(|(at, _)| (id_of(container), at)));
        }
        places.sort_unstable();
        assert_eq!(row.uses as usize, places.len());
        assert_eq!(snapshot.part_of(id).unwrap(), places);
    }
}
