//! Applies random batches, and compares the index with a naive model after every batch, merge and
//! reopening. Both must have the same tree, files, contents, references, postings and boilerplate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use resemble_core::{ChunkEdit, ContentId, Digest, EditedDigest, FileId, Params};
use resemble_index::{
    Change, ContentRef, Gap, Index, LeftOutRule, Look, MergeWork, NewLook, NewPart, NewState,
    Options, PartRole, PostingKind, SkippedPart, Snapshot, SpecialKind,
};
use resemble_testutil::random::Random;

use self::kept::KeptAnswers;
use self::naive::{File, Looked, Model, ModelState, Node};
use self::steps::{After, Content, State, Step, batches, part_row};
use crate::made;

mod compared;
mod kept;
mod naive;
mod steps;

const LIMIT: u32 = 3;
const CONTENTS: u64 = 14;
const KEYS: u64 = 12;

fn chunks_of(n: u64) -> Vec<u32> {
    let runs = digest(n).chunks.0;
    runs.iter().map(|run| made::number(run.hash)).collect()
}

fn random_from(seed: u64, below: u64) -> usize {
    (Random::new(seed ^ 0x5eed).draw() % below) as usize
}

/// Returns content number `n`, given as edits of content number `base`.
fn edited(n: u64, base: u64) -> ContentRef {
    let base = digest(base);
    let mut digest = Box::new(digest(n));
    let mut by = std::mem::take(&mut digest.chunks);
    let (start, end) = base.chunks.common_ends(&by);
    by.0.truncate(by.0.len() - end);
    by.0.drain(..start);
    let end = match end {
        0 => u64::MAX,
        _ => (base.chunks.0.len() - end) as u64,
    };
    let runs = start as u64..end;
    // For some contents, it is not stated which fingerprints differ from those of the base.
    let fingerprints = (!n.is_multiple_of(3)).then(|| made::fingerprint_edit(&base, &digest));
    ContentRef::Edited(Box::new(EditedDigest {
        base: base.content,
        edits: vec![ChunkEdit { runs, by }],
        fingerprints,
        digest,
    }))
}

/// Returns the digest of content number `n`. There are only a few keys, so that contents have
/// common keys. Content 0 is empty.
fn digest(n: u64) -> Digest {
    if n == 0 {
        return made::digest(0, &[], &[]);
    }
    let mut random = Random::new(n);
    let mut some = |most: u64| -> Vec<u64> {
        (0..random.draw() % most)
            .map(|_| random.draw() % KEYS)
            .collect()
    };
    let mut chunks: Vec<u32> = some(6).into_iter().map(|key| key as u32).collect();
    // From number 8 on, content `n` is content `n - 4` with another end. Up to three chunks are cut
    // off, and others are appended. Contents 5, 9 and 13 are so long that their chunk lists have
    // several parts.
    if n == 5 {
        chunks.extend(100..1500);
    } else if n >= 8 {
        let base = chunks_of(n - 4);
        let kept = base.len() - random_from(n, base.len().min(3) as u64 + 1);
        chunks.splice(..0, base[..kept].iter().copied());
    }
    // Content 13 also differs from content 9 in the middle and at the front.
    if n == 13 {
        chunks.splice(700..705, 2000..2300);
        chunks.splice(..400, 3..9);
    }
    let mut prints = some(6);
    prints.sort_unstable();
    prints.dedup();
    // The digests of contents 1 and 13 have the same first four bytes. These bytes are the key in
    // `digests`.
    made::digest(n % 12 + ((n / 12) << 56) + 1, &chunks, &prints)
}

fn keys(n: u64, kind: PostingKind) -> BTreeSet<u64> {
    let digest = digest(n);
    match kind {
        PostingKind::Chunk => digest
            .chunks
            .0
            .iter()
            .map(|run| run.hash.posting_key())
            .collect(),
        PostingKind::Fingerprint => digest.signature.fingerprints.iter().map(|f| f.0).collect(),
    }
}

/// The index, and the model with which it is compared.
struct Pair {
    index: Option<Index>,
    model: Model,
    kept: KeptAnswers,
    /// The path of the index file. `None` if the index is in memory.
    path: Option<PathBuf>,
}

impl Pair {
    fn index(&self) -> &Index {
        self.index.as_ref().unwrap()
    }

    fn open(path: Option<&Path>) -> Index {
        let options = Options {
            cache_bytes: 4 << 20,
            boilerplate_limit: LIMIT,
        };
        match path {
            Some(path) => {
                let (index, aside) = Index::open(path, &Params::default(), &options).unwrap();
                assert_eq!(aside, None);
                index
            }
            None => Index::in_memory_with(&Params::default(), &options).unwrap(),
        }
    }

    /// Turns a step [`Step::Grow`] into a step that changes the content of the file. The number of
    /// the new content is four higher or lower, depending on `tick`. Returns `None` if there is no
    /// such file or content. Returns other steps as they are.
    fn growing(&self, step: Step) -> Option<Step> {
        let Step::Grow(ino, tick) = step else {
            return Some(step);
        };
        let file = self.model.inodes.get(&ino)?;
        let (ModelState::Settled(base) | ModelState::Unsettled(base)) =
            self.model.files.get(file)?.state
        else {
            return None;
        };
        let mut names = self.model.tree.iter();
        let (path, _) = names.find(|(_, node)| **node == Node::File(*file))?;
        // The change is given as edits, or as a whole digest that shares most chunks with the old
        // digest.
        let to = match tick % 3 {
            0 => Content::Grown((base + 4 < CONTENTS).then_some(base + 4)?, base),
            1 => Content::New((base + 4 < CONTENTS).then_some(base + 4)?),
            _ => Content::New(base.checked_sub(4)?),
        };
        Some(Step::File(path.clone(), ino, tick, State::Unsettled(to)))
    }

    fn apply(&mut self, steps: Vec<Step>) {
        let before = self.index().snapshot().unwrap();
        let known = |n: u64| before.content_by_digest(&digest(n).content).unwrap();
        let start = self.model.live();
        let mut current = start.clone();
        let mut changes = Vec::new();
        let mut gone = Vec::new();
        let mut expected = Vec::new();
        // A caller can name only the ids of files that existed before the batch.
        let inodes = self.model.inodes.clone();
        let ids: BTreeMap<usize, FileId> =
            self.model.files.iter().map(|(&k, f)| (k, f.id)).collect();
        for step in steps {
            let Some(step) = self.growing(step) else {
                continue;
            };
            let model = &mut self.model;
            match step {
                Step::Grow(..) => {}
                Step::Dir(path) => {
                    if model.tree.get(&path) != Some(&Node::Dir) {
                        model.put(&path, &Node::Dir);
                    }
                    changes.push(Change::Dir(path));
                }
                Step::File(path, ino, tick, state) => {
                    let mut missing = false;
                    let mut content = |content: Content| match content {
                        Content::Known(n) if start.contains(&n) => {
                            (n, ContentRef::Known(known(n).unwrap()))
                        }
                        Content::Known(n) => {
                            missing = true;
                            (n, ContentRef::Known(ContentId(u32::MAX - 7)))
                        }
                        Content::Grown(n, base) if start.contains(&base) => (n, edited(n, base)),
                        Content::New(n) | Content::Grown(n, _) => {
                            (n, ContentRef::New(Box::new(digest(n))))
                        }
                    };
                    let (state, new) = match state {
                        State::Settled(c) => {
                            let (n, reference) = content(c);
                            (ModelState::Settled(n), NewState::Settled(reference))
                        }
                        State::Unsettled(c) => {
                            let (n, reference) = content(c);
                            (ModelState::Unsettled(n), NewState::Unsettled(reference))
                        }
                        State::Unreadable => (ModelState::Unreadable, NewState::Unreadable(13)),
                        State::Skipped => (ModelState::Skipped, NewState::Skipped("size".into())),
                    };
                    let stat = made::stat(ino, tick);
                    changes.push(Change::File {
                        path: path.clone(),
                        stat: stat.clone(),
                        state: new,
                    });
                    if missing {
                        gone.push(path);
                        continue;
                    }
                    current.extend(state.content());
                    expected.push((path.clone(), state.content()));
                    model.parents(&path);
                    let file = model.inodes.get(&ino).copied();
                    let here = model.tree.get(&path).cloned();
                    if file.is_none() || here != file.map(Node::File) {
                        model.clear(&path);
                        let file = model.inodes.get(&ino).copied().unwrap_or_else(|| {
                            model.born += 1;
                            let id = FileId(u32::MAX);
                            let file = File {
                                id,
                                stat: stat.clone(),
                                state: state.clone(),
                            };
                            model.files.insert(model.born, file);
                            model.inodes.insert(ino, model.born);
                            model.born
                        });
                        model.tree.insert(path, Node::File(file));
                    }
                    let file = model.files.get_mut(&model.inodes[&ino]).unwrap();
                    file.stat = stat;
                    file.state = state;
                }
                Step::Stat(ino, new_ino, tick) => {
                    let Some(&file) = inodes.get(&ino) else {
                        continue;
                    };
                    let stat = made::stat(new_ino, tick);
                    changes.push(Change::Stat {
                        file: ids[&file],
                        stat: stat.clone(),
                    });
                    // The inode number may belong to another file. That case is tested in `tree`.
                    if model
                        .inodes
                        .get(&new_ino)
                        .is_some_and(|other| *other != file)
                    {
                        changes.pop();
                        continue;
                    }
                    if let Some(row) = model.files.get_mut(&file) {
                        model.inodes.remove(&row.stat.ino);
                        model.inodes.insert(new_ino, file);
                        row.stat = stat;
                    }
                }
                Step::Link(path, ino) => {
                    let Some(&file) = inodes.get(&ino) else {
                        continue;
                    };
                    changes.push(Change::Link {
                        path: path.clone(),
                        file: ids[&file],
                    });
                    let is_taken = |row: &File| model.inodes.contains_key(&row.stat.ino);
                    if model.nameless.get(&file).is_some_and(is_taken) {
                        gone.push(path);
                        continue;
                    }
                    if model.tree.get(&path) != Some(&Node::File(file)) {
                        model.parents(&path);
                        model.clear(&path);
                        if let Some(row) = model.nameless.remove(&file) {
                            model.inodes.insert(row.stat.ino, file);
                            model.files.insert(file, row);
                        }
                        model.tree.insert(path, Node::File(file));
                    }
                }
                Step::Symlink(path, target) => {
                    model.put(&path, &Node::Symlink(target));
                    changes.push(Change::Symlink {
                        path,
                        target: vec![target, 0xff],
                    });
                }
                Step::Gap(path, errno) => {
                    model.put(&path, &Node::Gap(errno));
                    let gap = match errno {
                        0 => Gap::LeftOut(LeftOutRule::Ignore),
                        errno => Gap::Failed(errno),
                    };
                    changes.push(Change::Gap { path, gap });
                }
                Step::Unlisted(path, errno) => {
                    if model.tree.get(&path) != Some(&Node::Dir) {
                        model.put(&path, &Node::Dir);
                    }
                    changes.push(Change::Unlisted { path, errno });
                }
                Step::Special(path) => {
                    model.put(&path, &Node::Special);
                    changes.push(Change::Special {
                        path,
                        kind: SpecialKind::Fifo,
                    });
                }
                Step::Remove(path) => {
                    model.clear(&path);
                    changes.push(Change::Remove(path));
                }
                Step::Rename(from, to) => {
                    model.rename(&from, &to);
                    changes.push(Change::Rename { from, to });
                }
                Step::Look(n, look) => {
                    let path = PathBuf::from(format!("/looked/{n}"));
                    let exists = current.contains(&n);
                    let mut missing = false;
                    let (new, looked) = match look {
                        None => {
                            let looked = Looked {
                                look: Look::Plain,
                                parts: Vec::new(),
                                skipped: false,
                            };
                            (NewLook::Plain, looked)
                        }
                        Some((parts, skips, again)) => {
                            let mut of = Vec::new();
                            let mut new = Vec::new();
                            for (at, part) in (0..).zip(parts) {
                                let content = part.map(|part| match part {
                                    Content::Known(n) if start.contains(&n) => {
                                        of.push(Some(n));
                                        ContentRef::Known(known(n).unwrap())
                                    }
                                    Content::Known(n) => {
                                        missing = true;
                                        of.push(Some(n));
                                        ContentRef::Known(ContentId(u32::MAX - 7))
                                    }
                                    Content::New(m) | Content::Grown(m, _) => {
                                        of.push(Some(m));
                                        if exists && !missing {
                                            current.insert(m);
                                        }
                                        ContentRef::New(Box::new(digest(m)))
                                    }
                                });
                                if content.is_none() {
                                    of.push(None);
                                }
                                new.push(part_row(at, content));
                            }
                            let skipped = SkippedPart {
                                path: vec![n as u8],
                                reason: "encrypted".into(),
                            };
                            let new = NewLook::Apart {
                                parts: new,
                                skipped: skips.then_some(skipped).into_iter().collect(),
                                date: None,
                                again,
                            };
                            let look = if again { Look::Unseen } else { Look::Apart };
                            let looked = Looked {
                                look,
                                parts: of,
                                skipped: skips,
                            };
                            (new, looked)
                        }
                    };
                    changes.push(Change::Look {
                        path: path.clone(),
                        content: digest(n).content,
                        look: new,
                    });
                    let is_apart = |was: &Looked| was.look == Look::Apart;
                    if !exists {
                        continue;
                    }
                    if missing {
                        gone.push(path);
                        continue;
                    }
                    let keeps =
                        looked.look == Look::Plain && model.looks.get(&n).is_some_and(is_apart);
                    if !keeps {
                        model.looks.insert(n, looked);
                    }
                }
            }
        }
        self.model.let_go();
        drop(before);
        // It makes no difference to the result whether a batch is durable at once.
        let applied = if changes.len().is_multiple_of(2) {
            self.index().apply(changes).unwrap()
        } else {
            self.index().apply_for_now(changes).unwrap()
        };
        assert_eq!(applied.gone, gone);
        let contents: Vec<_> = applied.contents.iter().map(|c| c.path.clone()).collect();
        assert_eq!(
            contents,
            expected.iter().map(|e| e.0.clone()).collect::<Vec<_>>()
        );
        for (applied, expected) in applied.contents.iter().zip(&expected) {
            assert_eq!(applied.content.is_some(), expected.1.is_some());
        }
        // New files have got their ids now. Old files must have kept their ids.
        let after = self.index().snapshot().unwrap();
        for file in self.model.files.values_mut() {
            let id = after
                .file_by_inode(&file.stat.fs, file.stat.ino)
                .unwrap()
                .unwrap();
            assert!(file.id == FileId(u32::MAX) || file.id == id, "ids stay");
            file.id = id;
        }
    }

    fn after(&mut self, after: &After) {
        match after {
            After::Nothing => return,
            After::Finish => self.index().finish_bulk().unwrap(),
            After::Merge => self.index().merge(MergeWork::IfUseful).unwrap(),
            After::Forget => {
                self.index().forget_looks().unwrap();
                for looked in self.model.looks.values_mut() {
                    looked.look = Look::Unseen;
                }
            }
            After::Reopen => {
                self.index = None;
                self.index = Some(Self::open(self.path.as_deref()));
            }
            After::CloseAndReopen => {
                self.index.take().unwrap().close().unwrap();
                self.index = Some(Self::open(self.path.as_deref()));
            }
        }
        self.compare();
    }
}

fn run(path: Option<PathBuf>, batches: Vec<(Vec<Step>, After)>) {
    let index = Some(Pair::open(path.as_deref()));
    let mut pair = Pair {
        index,
        model: Model::default(),
        kept: KeptAnswers::default(),
        path,
    };
    for (steps, after) in batches {
        pair.apply(steps);
        pair.compare();
        pair.after(&after);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn the_index_is_the_model(
        batches in batches(vec![
            After::Nothing, After::Nothing, After::Finish, After::Merge, After::Forget,
        ])
    ) {
        run(None, batches);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn and_stays_it_when_reopened(
        batches in batches(vec![
            After::Nothing, After::Finish, After::Reopen, After::CloseAndReopen,
        ])
    ) {
        let folder = tempfile::tempdir().unwrap();
        run(Some(folder.path().join("index")), batches);
    }
}
