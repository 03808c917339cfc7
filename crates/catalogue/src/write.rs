//! Writes trees of the index as a catalogue.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use resemble_core::params::SamplingParams;
use resemble_core::{ContentId, Digest, FileId};
use resemble_index::{Entry, FileState, Look, ReadError, Snapshot};
use resemble_proto::catalogued;

use super::format::{CatalogueRecord, EntryKind, PackedContent, Part};
use super::read::CATALOGUE;
use super::records::RecordStream;
use super::thin::Thinning;
use super::{Details, Head, Samples, Totals};

/// Writes a catalogue of everything at and below `roots`. Passes its bytes to `sink`, until `sink`
/// returns `Break`. Returns the totals of the catalogue.
///
/// A single folder becomes the root of the catalogue. A single file, and each of several roots,
/// gets the last name of its path. If one of several roots is itself a catalogue, it gets its label
/// or the last name of its file. If two roots have the same name, the later root gets a number:
/// `docs`, `docs~2`. A root that the index does not have adds nothing.
pub fn write(
    snapshot: &Snapshot,
    roots: &[PathBuf],
    details: &Details,
    sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Totals, ReadError> {
    let samples = match details.samples {
        Samples::Within { part, small } => {
            // A first pass computes the size that the catalogue would have with each maximum number
            // of samples.
            let mut measure = Thinning::default();
            let mut seen = 0;
            let all = Details {
                samples: Samples::All,
                ..details.clone()
            };
            let mut count = |piece: &[u8]| {
                seen += piece.len() as u64;
                ControlFlow::Continue(())
            };
            let totals = written(snapshot, roots, &all, Some(&mut measure), &mut count)?;
            if seen <= small {
                Samples::All
            } else {
                measure.fitting(seen, totals.bytes, part)
            }
        }
        samples => samples,
    };
    let details = Details {
        samples,
        ..details.clone()
    };
    written(snapshot, roots, &details, None, sink)
}

fn written(
    snapshot: &Snapshot,
    roots: &[PathBuf],
    details: &Details,
    thinning: Option<&mut Thinning>,
    sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Totals, ReadError> {
    let mut writer = Writer {
        snapshot,
        details,
        thinning,
        stream: RecordStream::new(&CATALOGUE, sink),
        contents: HashMap::new(),
        looked: HashSet::new(),
        files: HashMap::new(),
        written: Totals::default(),
    };
    writer.stream.record(&CatalogueRecord::Head(Head {
        params: snapshot.params().to_string(),
        details: details.clone(),
    }));
    if details.names {
        for (root, name) in named(roots) {
            writer.tree(&root, &name)?;
        }
    } else {
        writer.numbered(roots)?;
    }
    Ok(writer.finish())
}

/// Returns each distinct root, with its name in the catalogue. The name of a single root is empty.
fn named(roots: &[PathBuf]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut seen = HashSet::new();
    let roots: Vec<&PathBuf> = roots.iter().filter(|root| seen.insert(*root)).collect();
    if let [root] = roots[..] {
        return vec![(root.clone(), Vec::new())];
    }
    let mut taken: HashSet<Vec<u8>> = HashSet::new();
    let name_of = |root: &Path| match catalogued::source_of(root) {
        Some((catalogued::Source::Label(label), ..)) => label.into_bytes(),
        Some((catalogued::Source::File(file), ..)) => last_name(&file),
        None => last_name(root),
    };
    let mut all = Vec::with_capacity(roots.len());
    for root in roots {
        let own = name_of(root);
        let mut name = own.clone();
        let mut count = 1;
        // A numbered name may already be in use, because a root may itself be called `docs~2`.
        while !taken.insert(name.clone()) {
            count += 1;
            name = [&own, format!("~{count}").as_bytes()].concat();
        }
        all.push((root.clone(), name));
    }
    all
}

fn last_name(path: &Path) -> Vec<u8> {
    let name = path
        .file_name()
        .map(|name| name.as_encoded_bytes().to_vec());
    name.unwrap_or_else(|| b"root".to_vec())
}

struct Writer<'a> {
    snapshot: &'a Snapshot,
    details: &'a Details,
    thinning: Option<&'a mut Thinning>,
    stream: RecordStream<'a>,
    /// The number of each content that is written.
    contents: HashMap<ContentId, u32>,
    looked: HashSet<ContentId>,
    files: HashMap<FileId, u32>,
    written: Totals,
}

impl Writer<'_> {
    fn finish(mut self) -> Totals {
        self.stream.record(&CatalogueRecord::End(self.written));
        self.stream.finish();
        self.written
    }

    /// Writes everything at and below a root. The paths in the catalogue begin with `name`.
    fn tree(&mut self, root: &Path, name: &[u8]) -> Result<(), ReadError> {
        let snapshot = self.snapshot;
        let mut failed = Ok(());
        snapshot.walk(root, &mut |path, entry| {
            let below = path.strip_prefix(root).unwrap_or(Path::new(""));
            let below = below.as_os_str().as_encoded_bytes();
            let mut within = name.to_vec();
            if within.is_empty() && below.is_empty() && !matches!(entry, Entry::Dir(_)) {
                within = last_name(root);
            }
            if !within.is_empty() && !below.is_empty() {
                within.push(b'/');
            }
            within.extend_from_slice(below);
            failed = self.entry(within, entry);
            if failed.is_err() || self.stream.is_broken() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        failed
    }

    fn entry(&mut self, path: Vec<u8>, entry: &Entry) -> Result<(), ReadError> {
        let what = match entry {
            Entry::Gap(_) => return Ok(()),
            Entry::Dir(_) => EntryKind::Dir,
            Entry::Symlink(target) => EntryKind::Symlink(target.clone()),
            Entry::Special(kind) => EntryKind::Special(*kind),
            Entry::File(id) => {
                let Some(row) = self.snapshot.file(*id)? else {
                    return Ok(());
                };
                let size = row.stat.size.0;
                let state = match row.state {
                    FileState::Settled(content) | FileState::Unsettled(content) => {
                        Ok(self.looked_content(content)?)
                    }
                    other => Err(other),
                };
                let next = self.files.len() as u32;
                let file = *self.files.entry(*id).or_insert(next);
                if file == next {
                    self.written.files += 1;
                    self.written.bytes += size;
                    self.written.unread += u64::from(state.is_err());
                }
                match state {
                    Ok(content) => EntryKind::File {
                        file,
                        mtime: row.stat.mtime.secs,
                        content,
                    },
                    Err(FileState::Unreadable(errno)) => {
                        EntryKind::Unreadable { file, size, errno }
                    }
                    Err(FileState::Skipped(reason)) => EntryKind::Skipped { file, size, reason },
                    // This is unreachable, because files with a content are handled above.
                    Err(FileState::Settled(_) | FileState::Unsettled(_)) => return Ok(()),
                }
            }
        };
        self.stream.record(&CatalogueRecord::Entry { path, what });
        Ok(())
    }

    /// Returns the number of a content in the catalogue. Writes the content if it was not written
    /// before.
    fn content(&mut self, id: ContentId) -> Result<u32, ReadError> {
        if let Some(number) = self.contents.get(&id) {
            return Ok(*number);
        }
        let row = self.snapshot.content(id)?;
        let digest = match row {
            Some(row) => Digest {
                content: row.digest,
                size: row.size,
                kind: row.kind,
                chunks: self.snapshot.chunks(id)?,
                signature: match (self.snapshot.signature(id)?, self.details.samples) {
                    (signature, Samples::AtMost(most)) => {
                        signature.thinned(&SamplingParams::at(0, most))
                    }
                    (signature, _) => signature,
                },
                besides: Vec::new(),
                words: row.words,
            },
            // This does not occur: a snapshot has every content that its rows refer to.
            None => return Ok(u32::MAX),
        };
        if let Some(thinning) = &mut self.thinning {
            thinning.see(&digest);
        }
        let number = self.contents.len() as u32;
        self.stream
            .record(&CatalogueRecord::Content(PackedContent::pack(&digest)));
        self.contents.insert(id, number);
        self.written.contents += 1;
        Ok(number)
    }

    /// Returns the number of a file's content. Writes the content unless it was written before.
    /// Also writes its parts if the options include them.
    fn looked_content(&mut self, id: ContentId) -> Result<u32, ReadError> {
        let number = self.content(id)?;
        if !self.details.text || !self.looked.insert(id) {
            return Ok(number);
        }
        let Some(row) = self.snapshot.content(id)? else {
            return Ok(number);
        };
        let apart = match row.look {
            Look::Unseen => return Ok(number),
            Look::Plain => None,
            Look::Apart => {
                let mut parts = Vec::new();
                for (at, part) in self.snapshot.parts(id)?.into_iter().enumerate() {
                    let content = part.content.map(|content| self.content(content));
                    parts.push(Part {
                        role: part.role,
                        parent: part.parent,
                        content: content.transpose()?,
                        name: if self.details.names || part.name.is_empty() {
                            part.name
                        } else {
                            (at + 1).to_string().into_bytes()
                        },
                    });
                }
                let skipped = if self.details.names {
                    self.snapshot.skipped_parts(id)?
                } else {
                    Vec::new()
                };
                let date = row.date.filter(|_| self.details.names);
                Some((parts, skipped, date))
            }
        };
        self.stream.record(&CatalogueRecord::Look {
            content: number,
            apart,
        });
        Ok(number)
    }

    /// Writes all files that have a content, without their names. They are sorted by their digests,
    /// so that their order reveals nothing about their paths. The other files are only counted.
    fn numbered(&mut self, roots: &[PathBuf]) -> Result<(), ReadError> {
        let snapshot = self.snapshot;
        let mut seen: HashSet<FileId> = HashSet::new();
        for root in roots {
            snapshot.walk(root, &mut |_, entry| {
                if let Entry::File(file) = entry {
                    seen.insert(*file);
                }
                ControlFlow::Continue(())
            })?;
        }
        let mut files = Vec::with_capacity(seen.len());
        for file in seen {
            let content = snapshot.file(file)?.and_then(|row| row.state.content());
            let row = content
                .map(|content| snapshot.content(content))
                .transpose()?;
            match row.flatten() {
                Some(row) => files.push((row.digest, row.id, row.size)),
                None => self.written.unread += 1,
            }
        }
        files.sort_unstable_by_key(|(digest, ..)| *digest);
        let width = files.len().to_string().len();
        let tree = CatalogueRecord::Entry {
            path: Vec::new(),
            what: EntryKind::Dir,
        };
        self.stream.record(&tree);
        for (at, (_, content, size)) in files.into_iter().enumerate() {
            if self.stream.is_broken() {
                break;
            }
            let content = self.looked_content(content)?;
            self.written.files += 1;
            self.written.bytes += size.0;
            self.stream.record(&CatalogueRecord::Entry {
                path: format!("{:0width$}", at + 1).into_bytes(),
                what: EntryKind::File {
                    file: at as u32,
                    mtime: 0,
                    content,
                },
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_root_has_a_name_of_its_own() {
        let roots = ["/a/docs", "/b/docs", "/c/docs~2", "/d/docs"].map(PathBuf::from);
        let names: HashSet<Vec<u8>> = named(&roots).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), roots.len(), "{names:?}");
    }
}
