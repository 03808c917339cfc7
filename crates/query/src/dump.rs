//! `dump --canonical`: writes the indexed state of a tree. Two indexes of one tree give the same
//! dump.
//!
//! There is one line for each path (each hard link has its own), in the order of the raw paths. Its
//! fields are separated by tabs: path, type, size, content digest, chunks, link target. Nothing
//! depends on ids, times, devices, inodes or the time of reading. So the dump of a live index can
//! be compared with that of a fresh scan, as the tests do.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use resemble_index::{Entry, FileState, ReadError, Snapshot, SpecialKind};
use resemble_proto::catalogued;
use resemble_proto::message::SoftError;
use resemble_relate::scope;

mod chunks;

pub(crate) use chunks::{chunks, files};

/// The maximum number of equal chunks in a row that are written one by one. A longer run is written
/// once, with the number of its chunks: `MD5:length*count`.
pub const LONGEST_RUN: u64 = 4096;

/// Calls `line` with the line of each entry at and below `roots`, without the line feed. Stops when
/// `line` returns `Break`. Nested roots are dumped once.
pub fn dump(
    snapshot: &Snapshot,
    roots: &[PathBuf],
    line: &mut dyn FnMut(String) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    each(snapshot, roots, &mut |path, entry| {
        Ok(match line_of(snapshot, path, entry)? {
            Some(text) => line(text),
            None => ControlFlow::Continue(()),
        })
    })
}

/// Returns the files at and below `roots` that could not be read, each by the first of its names.
pub(crate) fn unreadable(
    snapshot: &Snapshot,
    roots: &[PathBuf],
) -> Result<Vec<SoftError>, ReadError> {
    let (mut errors, mut known) = (Vec::new(), HashSet::new());
    if snapshot.totals()?.unreadable_files == 0 {
        return Ok(errors);
    }
    each(snapshot, roots, &mut |path, entry| {
        if let Entry::File(file) = entry
            && let Some(row) = snapshot.file(*file)?
            && let FileState::Unreadable(errno) = row.state
            && known.insert(*file)
        {
            errors.push(scope::unreadable(path.into(), errno));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(errors)
}

type Visit<'a> = dyn FnMut(&Path, &Entry) -> Result<ControlFlow<()>, ReadError> + 'a;

/// Visits everything at and below `roots`, each path once, in the order of raw bytes. Stops when
/// `visit` returns `Break`.
fn each(snapshot: &Snapshot, roots: &[PathBuf], visit: &mut Visit<'_>) -> Result<(), ReadError> {
    // Nested roots are removed in path order, where the entries below a root directly follow the
    // root. In the order of raw bytes, other roots may come between a root and its entries.
    let mut roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    roots.sort();
    roots.dedup_by(|next, kept| next.starts_with(kept));
    roots.sort_by_key(|root| raw(root));
    let mut waiting = VecDeque::from(roots);
    while let Some(root) = waiting.pop_front() {
        if below(snapshot, root, &mut waiting, visit)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn raw(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Visits a root and other roots that sort between its entries: `/a-b` comes after `/a` and before
/// `/a/c`.
fn below(
    snapshot: &Snapshot,
    root: &Path,
    waiting: &mut VecDeque<&Path>,
    visit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, ReadError> {
    let mut result = Ok(ControlFlow::Continue(()));
    let mut one = |path: &Path, entry: &Entry| {
        while waiting.front().is_some_and(|other| raw(other) < raw(path)) {
            if let Some(other) = waiting.pop_front()
                && below(snapshot, other, waiting, visit)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        visit(path, entry)
    };
    snapshot.walk(root, &mut |path, entry| {
        result = one(path, entry);
        result.as_ref().map_or(ControlFlow::Break(()), |flow| *flow)
    })?;
    result
}

/// Returns the line of an entry. `None`: its state is unknown, because it was not checked.
fn line_of(snapshot: &Snapshot, path: &Path, entry: &Entry) -> Result<Option<String>, ReadError> {
    let mut text = name_of(path);
    match entry {
        Entry::Gap(_) => return Ok(None),
        Entry::Dir(_) => text.push_str("\td\t\t\t\t"),
        Entry::Symlink(target) => {
            text.push_str("\tl\t\t\t\t");
            text.push_str(&escaped(target));
        }
        Entry::Special(kind) => {
            let letter = match kind {
                SpecialKind::Fifo => 'p',
                SpecialKind::Socket => 's',
                SpecialKind::Block => 'b',
                SpecialKind::Character => 'c',
                SpecialKind::Other => '?',
            };
            text.push('\t');
            text.push(letter);
            text.push_str("\t\t\t\t");
        }
        Entry::File(file) => {
            let Some(row) = snapshot.file(*file)? else {
                text.push_str("\tf\t\t!lost\t\t");
                return Ok(Some(text));
            };
            match row.state {
                FileState::Settled(content) | FileState::Unsettled(content) => {
                    let digest = snapshot.content(content)?;
                    // The size is that of the bytes that were read, whatever `stat` reported.
                    match digest {
                        Some(digest) => {
                            let _ = write!(text, "\tf\t{}\t{}\t", digest.size, digest.digest);
                        }
                        None => text.push_str("\tf\t\t!lost\t"),
                    }
                    push_chunks(snapshot, content, &mut text)?;
                    text.push('\t');
                }
                FileState::Unreadable(errno) => {
                    let _ = write!(text, "\tf\t\t!unreadable:{errno}\t\t");
                }
                FileState::Skipped(reason) => {
                    let _ = write!(text, "\tf\t\t!skipped:{reason}\t\t");
                }
            }
        }
    }
    Ok(Some(text))
}

fn push_chunks(
    snapshot: &Snapshot,
    content: resemble_core::ContentId,
    text: &mut String,
) -> Result<(), ReadError> {
    let mut first = true;
    for run in snapshot.chunks(content)?.0 {
        let (times, suffix) = match run.count {
            count if count > LONGEST_RUN => (1, format!("*{count}")),
            count => (count, String::new()),
        };
        for _ in 0..times {
            let blank = if first { "" } else { " " };
            let _ = write!(text, "{blank}{}:{}{suffix}", run.hash, run.len);
            first = false;
        }
    }
    Ok(())
}

/// Returns the printed form of a path. A path in a catalogue gets the form that users know.
pub fn name_of(path: &Path) -> String {
    match catalogued::shown(path) {
        Some(shown) => escaped(raw(&shown)),
        None => escaped(raw(path)),
    }
}

/// Returns the bytes as printable ASCII. Any other byte, and the backslash, is written as `\xNN`.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if (byte.is_ascii_graphic() || byte == b' ') && byte != b'\\' {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use resemble_core::Params;
    use resemble_index::{Change, Index};

    #[test]
    fn lines_are_in_the_order_of_raw_bytes_whatever_the_roots() {
        let index = Index::in_memory(&Params::default()).expect("an index");
        let link = |path: &str| Change::Symlink {
            path: path.into(),
            target: Vec::new(),
        };
        let paths = ["/a-b/x", "/a-c", "/a/b", "/a/b!", "/a/b/c", "/a0", "/b/x"];
        let links = paths.iter().filter(|path| **path != "/a/b");
        index
            .apply(links.map(|p| link(p)).collect())
            .expect("applied");
        let snapshot = index.snapshot().expect("a snapshot");
        let of = |roots: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            let mut lines = Vec::new();
            let mut line = |line: String| {
                lines.push(line.split('\t').next().unwrap_or_default().to_owned());
                ControlFlow::Continue(())
            };
            dump(&snapshot, &roots, &mut line).expect("dumped");
            lines
        };
        let expected = [
            "/a", "/a-b", "/a-b/x", "/a-c", "/a/b", "/a/b!", "/a/b/c", "/a0", "/b", "/b/x",
        ];
        let shuffled = ["/b", "/a/b", "/a0", "/a", "/a-c", "/a-b", "/a", "/none"];
        assert_eq!(of(&shuffled), expected);
        assert_eq!(of(&["/"])[1..], expected);
    }

    #[test]
    fn names_become_printable_ascii_and_stay_distinct() {
        assert_eq!(escaped(b"/a b/c.txt"), "/a b/c.txt");
        assert_eq!(escaped(b"\\x41"), "\\x5cx41");
        assert_eq!(escaped(b"\t\n\xff\x1b[m"), "\\x09\\x0a\\xff\\x1b[m");
        assert_eq!(escaped("é".as_bytes()), "\\xc3\\xa9");
    }
}
