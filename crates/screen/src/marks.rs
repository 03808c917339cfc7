//! Records which files the user has marked to be removed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use resemble_proto::clock::is_past;
use resemble_proto::path::PathText;

use crate::collection::{Collection, GroupFile, GroupKind};

/// The message to a user who tries to mark a near copy.
pub(super) const ONLY_EQUAL: &str =
    "only files of identical sets can be marked; near copies are there to be looked at";

/// The message to a user who tries to mark the last unmarked file of a set.
const LAST: &str = "this is the last file of its set without a mark: one copy always stays";

/// The rule that decides which files of a set stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeepChoice {
    Newest,
    Oldest,
    Shortest,
    /// Files in this folder stay. A set that has no file there is not changed.
    In(PathBuf),
}

/// The marked files.
#[derive(Debug, Default)]
pub(crate) struct FileMarks {
    files: BTreeSet<usize>,
    /// True if a plan of exactly these marks was written.
    pub(crate) is_saved: bool,
}

/// The totals of the marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarksTally {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) sets: u64,
}

impl FileMarks {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn has(&self, file: usize) -> bool {
        self.files.contains(&file)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = usize> {
        self.files.iter().copied()
    }

    /// Returns the number of marked files of a group.
    pub(crate) fn of_group(&self, all: &Collection, group: usize) -> usize {
        let files = all.groups[group].files.clone();
        self.files.range(files).count()
    }

    /// Marks a file, or returns a sentence that says why it cannot be marked.
    pub(crate) fn mark(&mut self, all: &Collection, file: usize) -> Result<(), &'static str> {
        let group = all.files[file].group;
        if all.groups[group].kind != GroupKind::Identical {
            return Err(ONLY_EQUAL);
        }
        let stay = all.members(group).len() - self.of_group(all, group);
        if !self.has(file) && stay < 2 {
            return Err(LAST);
        }
        self.is_saved &= !self.files.insert(file);
        Ok(())
    }

    /// Removes the mark of a file. Returns whether the file was marked.
    pub(crate) fn unmark(&mut self, file: usize) -> bool {
        let was_there = self.files.remove(&file);
        self.is_saved &= !was_there;
        was_there
    }

    /// Applies a rule to these sets: unmarks the files that the rule keeps, and marks the others. A
    /// set in which the rule keeps no file is not changed. Returns the number of sets with newly
    /// marked files, and the number of these files.
    pub(crate) fn mark_by(
        &mut self,
        all: &Collection,
        groups: &[usize],
        choice: &KeepChoice,
    ) -> (u64, u64) {
        let (mut sets, mut count) = (0, 0);
        for group in groups {
            let range = all.groups[*group].files.clone();
            let files = all.members(*group);
            let stays = match choice {
                _ if all.groups[*group].kind != GroupKind::Identical => Vec::new(),
                KeepChoice::In(folder) => {
                    let is_in = |file: &GroupFile| file.path.as_path().starts_with(folder);
                    range
                        .clone()
                        .zip(files)
                        .filter(|(_, file)| is_in(file))
                        .collect()
                }
                _ => {
                    let rank = |(at, file): &(usize, &GroupFile)| {
                        let time = file.mtime.filter(is_past);
                        let by = match choice {
                            KeepChoice::Newest => time.map_or(i64::MAX, i64::saturating_neg),
                            KeepChoice::Oldest => time.unwrap_or(i64::MAX),
                            _ => file.path.as_bytes().len() as i64,
                        };
                        (by, *at)
                    };
                    let best = range.clone().zip(files).min_by_key(rank);
                    best.into_iter().collect()
                }
            };
            if stays.is_empty() {
                continue;
            }
            let stays: BTreeSet<usize> = stays.into_iter().map(|(at, _)| at).collect();
            let goes = range.filter(|file| !stays.contains(file));
            for file in &stays {
                self.files.remove(file);
            }
            let before = count;
            for file in goes {
                count += u64::from(self.files.insert(file));
            }
            sets += u64::from(count > before);
            self.is_saved = false;
        }
        (sets, count)
    }

    /// Carries the marks over to a new answer: the files of `now` with the same paths are marked.
    pub(crate) fn carry_over(&mut self, before: &Collection, now: &Collection) {
        let marked = self.files.iter().map(|file| &before.files[*file].path);
        let marked: BTreeSet<&PathText> = marked.collect();
        let marks = (0..now.files.len()).filter(|at| marked.contains(&now.files[*at].path));
        let marks: Vec<usize> = marks.collect();
        let is_saved = self.is_saved;
        self.files.clear();
        for file in marks {
            // `mark` fails if the file is not in an identical set any more. It also fails if all
            // other files of the set are marked. Such a file loses its mark.
            self.mark(now, file).unwrap_or_default();
        }
        self.is_saved = is_saved;
    }

    /// Returns the totals of the marks.
    pub(crate) fn tally(&self, all: &Collection) -> MarksTally {
        let mut tally = MarksTally::default();
        let mut last = None;
        for file in self.files.iter().map(|file| &all.files[*file]) {
            tally.files += 1;
            tally.bytes += file.taken;
            tally.sets += u64::from(last.replace(file.group) != Some(file.group));
        }
        tally
    }

    /// Returns a pair for each marked file: the first unmarked file of its set, and the marked
    /// file.
    pub(crate) fn pairs(&self, all: &Collection) -> Vec<(PathText, PathText)> {
        let pair = |file: &usize| {
            let mut members = all.groups[all.files[*file].group].files.clone();
            let stays = members.find(|member| !self.has(*member))?;
            Some((all.files[stays].path.clone(), all.files[*file].path.clone()))
        };
        self.files.iter().filter_map(pair).collect()
    }
}
