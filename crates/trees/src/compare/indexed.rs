//! Reads the two sides of a comparison from an index.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::similarity::too_small;
use resemble_core::{ChunkList, ContentId, FileId, Signature, Stopped};
use resemble_index::{Entry as Known, FileState, Snapshot};
use resemble_proto::message::{CompareRequest, Scope, SoftError};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::parallel::both;
use resemble_relate::renditions::owners::further_members;
use resemble_relate::renditions::{MOST_MEMBERS, Place, Rendition, held_contents, renditions};
use resemble_relate::scope::Rules;
use rustix::io::Errno;

use super::sides::{Content, Entry, Numbering, Pieces, Side, Sides, What, inner_of};

/// Reads the chunks and the signature of a content from the index, by its number in the comparison.
pub(crate) struct Indexed<'a> {
    snapshot: &'a Snapshot,
    ids: Vec<ContentId>,
}

impl Pieces for Indexed<'_> {
    fn pieces(&self, content: u32) -> Result<(ChunkList, Signature), AskError> {
        let id = self.ids[content as usize];
        Ok((self.snapshot.chunks(id)?, self.snapshot.signature(id)?))
    }

    fn measured(&self) -> Option<&Snapshot> {
        Some(self.snapshot)
    }

    fn listed(&self) -> Option<(&Snapshot, &[ContentId])> {
        Some((self.snapshot, &self.ids))
    }

    fn go_on(&self) -> Result<(), Stopped> {
        self.snapshot.stop().go_on()
    }
}

/// Reads both sides of a comparison. Also returns a reader for the chunks and signatures of the
/// contents.
pub(crate) fn sides<'a>(
    snapshot: &'a Snapshot,
    request: &CompareRequest,
) -> Result<(Sides, Indexed<'a>), AskError> {
    let (a, b) = (request.a.as_path(), request.b.as_path());
    let scope = &request.options.scope;
    // The sides are read on two threads, because the look-ups for a tree of a million files take a
    // second.
    let (of_a, of_b) = both(
        || listed(snapshot, a, inner_of(a, b).as_deref(), scope),
        || listed(snapshot, b, inner_of(b, a).as_deref(), scope),
    );
    joined(snapshot, of_a?, of_b?, request.options.text)
}

/// Joins both sides and numbers their contents together. With `text`, also reads the renditions of
/// the files.
pub(crate) fn joined(
    snapshot: &Snapshot,
    mut of_a: ListedSide,
    of_b: ListedSide,
    text: bool,
) -> Result<(Sides, Indexed<'_>), AskError> {
    let mut sides = Sides {
        skipped: of_a.skipped + of_b.skipped,
        errors: std::mem::take(&mut of_a.errors),
        ..Sides::default()
    };
    sides.errors.extend(of_b.errors);
    let mut numbers = Numbering::default();
    let mut ids: Vec<ContentId> = Vec::new();
    let mut of = [of_a.side, of_b.side]
        .into_iter()
        .zip([of_a.contents, of_b.contents]);
    let mut renumbered = || {
        let (mut side, contents): (Side, Vec<(ContentId, Content)>) = of.next().unwrap_or_default();
        let numbers: Vec<u32> = contents
            .into_iter()
            .map(|(id, content)| {
                let (number, new) = numbers.number(content);
                if new {
                    ids.push(id);
                }
                number
            })
            .collect();
        for entry in &mut side.entries {
            if let What::File(content) = &mut entry.what {
                *content = numbers[*content as usize];
            }
        }
        side
    };
    sides.a = renumbered();
    sides.b = renumbered();
    if text {
        take_apart(snapshot, &mut sides, &mut numbers, &mut ids)?;
    }
    sides.contents = numbers.contents;
    let old = sides.put_in_order();
    let ids = old.into_iter().map(|old| ids[old as usize]).collect();
    Ok((sides, Indexed { snapshot, ids }))
}

/// Adds the renditions of the files, and the parts that were skipped.
fn take_apart(
    snapshot: &Snapshot,
    sides: &mut Sides,
    numbers: &mut Numbering,
    ids: &mut Vec<ContentId>,
) -> Result<(), AskError> {
    for owner in 0..ids.len() {
        let Some(row) = snapshot.content(ids[owner])? else {
            continue;
        };
        if row.skipped {
            let skipped = snapshot.skipped_parts(ids[owner])?;
            sides.skipped_parts.insert(owner as u32, skipped);
        }
        if row.parts == 0 {
            continue;
        }
        let mut stand_ins: Vec<(Rendition, u32)> = Vec::new();
        let place = Place::file(ids[owner]);
        let mut found = renditions(snapshot, place)?;
        if found.iter().any(|(rendition, _)| rendition.is_whole()) {
            let held = held_contents(snapshot, place, usize::MAX)?;
            if let Some(further) = further_members(held.len()) {
                let skipped = sides.skipped_parts.entry(owner as u32).or_default();
                skipped.push(further);
            }
            let held = held.into_iter().take(MOST_MEMBERS);
            found.extend(held.map(|content| (Rendition::Member, content)));
        }
        for (rendition, id) in found {
            let Some(row) = snapshot.content(id)? else {
                continue;
            };
            if rendition == Rendition::Member && too_small(row.size) {
                continue;
            }
            let (number, new) = numbers.number(Content {
                digest: row.digest,
                size: row.size,
                kind: row.kind,
            });
            if new {
                ids.push(id);
            }
            stand_ins.push((rendition, number));
        }
        sides.apart.insert(owner as u32, stand_ins);
    }
    Ok(())
}

/// One side, as it was read. Its contents have separate numbers until both sides are joined.
#[derive(Default)]
pub(crate) struct ListedSide {
    side: Side,
    contents: Vec<(ContentId, Content)>,
    errors: Vec<SoftError>,
    skipped: u64,
}

fn listed(
    snapshot: &Snapshot,
    root: &Path,
    leave_out: Option<&Path>,
    scope: &Scope,
) -> Result<ListedSide, AskError> {
    let rules = Rules::new(root, scope)?;
    let leave_out = leave_out.map(|below| root.join(below));
    let mut found: Vec<(Box<[u8]>, Known)> = Vec::new();
    let mut side = Side {
        root: root.to_owned(),
        ..Side::default()
    };
    let mut exists = false;
    let mut skipped = 0;
    snapshot.walk(root, &mut |path, entry| {
        let relative = if path == root {
            exists = true;
            side.single = !matches!(entry, Known::Dir(_));
            path.file_name().map(OsStr::as_bytes).unwrap_or_default()
        } else {
            relative(root, path)
        };
        if path == root && !side.single {
            return ControlFlow::Continue(());
        }
        let left_out = leave_out
            .as_deref()
            .is_some_and(|out| path.starts_with(out));
        if left_out {
        } else if matches!(entry, Known::Dir(_)) || rules.admit(path) {
            found.push((relative.into(), entry.clone()));
        } else {
            skipped += u64::from(matches!(entry, Known::File(_)));
        }
        ControlFlow::Continue(())
    })?;
    if !exists {
        return Err(AskError::Unreadable {
            path: root.to_owned(),
            source: io::Error::from(Errno::NOENT),
        });
    }
    let mut listed = ListedSide {
        side,
        skipped,
        ..ListedSide::default()
    };
    let mut numbers: HashMap<ContentId, u32> = HashMap::new();
    let mut known_files: HashMap<FileId, What> = HashMap::new();
    for (path, known) in found {
        let (what, inode) = match known {
            // The module `gaps` reports this path, so it is skipped here.
            Known::Gap(_) => continue,
            Known::Dir(_) => (What::Dir, (0, 0)),
            Known::Symlink(target) => (What::Link(target), (0, 0)),
            Known::Special(kind) => (What::Special(kind), (0, 0)),
            Known::File(file) => {
                let Some(row) = snapshot.file(file)? else {
                    continue;
                };
                if row.stat.size.0 < scope.min_size {
                    listed.skipped += 1;
                    continue;
                }
                let several = row.stat.nlink > 1;
                let what = match known_files.get(&file).filter(|_| several) {
                    Some(what) => what.clone(),
                    None => listed.file(snapshot, &path, &row.state, &mut numbers)?,
                };
                if several && what != What::Unread {
                    known_files.insert(file, what.clone());
                }
                (what, (0, u64::from(file.0)))
            }
        };
        listed.side.entries.push(Entry { path, what, inode });
    }
    Ok(listed)
}

impl ListedSide {
    /// Creates a side from these files. Each path is relative to the root.
    pub(crate) fn of_files<'p>(
        snapshot: &Snapshot,
        root: &Path,
        files: impl Iterator<Item = (&'p [u8], FileId, ContentId)>,
    ) -> Result<Self, AskError> {
        let mut listed = Self::default();
        root.clone_into(&mut listed.side.root);
        let mut numbers = HashMap::new();
        for (path, file, content) in files {
            let state = FileState::Settled(content);
            let what = listed.file(snapshot, path, &state, &mut numbers)?;
            listed.side.entries.push(Entry {
                path: path.into(),
                what,
                inode: (0, u64::from(file.0)),
            });
        }
        Ok(listed)
    }

    fn file(
        &mut self,
        snapshot: &Snapshot,
        path: &[u8],
        state: &FileState,
        numbers: &mut HashMap<ContentId, u32>,
    ) -> Result<What, AskError> {
        match state {
            FileState::Settled(id) | FileState::Unsettled(id) => {
                if let Some(&number) = numbers.get(id) {
                    return Ok(What::File(number));
                }
                let Some(row) = snapshot.content(*id)? else {
                    return Ok(What::Unread);
                };
                let number = self.contents.len() as u32;
                numbers.insert(*id, number);
                let content = Content {
                    digest: row.digest,
                    size: row.size,
                    kind: row.kind,
                };
                self.contents.push((*id, content));
                Ok(What::File(number))
            }
            FileState::Unreadable(errno) => {
                let source = io::Error::from_raw_os_error(*errno);
                let path = if self.side.single {
                    self.side.root.clone()
                } else {
                    self.side.root.join(OsStr::from_bytes(path))
                };
                self.errors
                    .push(SoftError::of_io(PathText::from(path.as_path()), &source));
                Ok(What::Unread)
            }
            FileState::Skipped(_) => Ok(What::Unread),
        }
    }
}

/// Returns the raw bytes of `path` relative to `root`.
fn relative<'a>(root: &Path, path: &'a Path) -> &'a [u8] {
    let (root, path) = (root.as_os_str().as_bytes(), path.as_os_str().as_bytes());
    let below = path.get(root.len()..).unwrap_or_default();
    below.strip_prefix(b"/").unwrap_or(below)
}
