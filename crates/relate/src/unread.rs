//! Reports the parts of a document that could not be read.
//!
//! The skipped parts of a file are stored with its content. So they are stored only once for all
//! copies.
//!
//! 1. A part that should have been read is an error: the answer may lack matches.
//! 2. A part that is left out on purpose (hidden text) is reported as well, but not as an error.
//! 3. At most `REASONS` reasons are named for one document. The other parts are only counted.

use std::io;
use std::path::Path;

use resemble_index::SkippedPart;
use resemble_proto::message::{SoftError, SoftErrorKind};
use resemble_scan::parts::PartReader;
use rustix::io::Errno;

use crate::AskError;
use crate::prove::extracted::{OpenedFile, way};
use crate::prove::read::LARGEST_READ;
use crate::renditions::INTO;

/// The maximum number of reasons that are named for one document.
const REASONS: usize = 3;

/// The maximum number of bytes of a member's name in a reason.
const NAME: usize = 400;

/// Returns the error for a document with skipped parts; `None` if no part was skipped.
pub fn error(path: &Path, mut skipped: Vec<SkippedPart>) -> Option<SoftError> {
    let is_error = skipped.iter().any(|part| !part.is_on_purpose());
    skipped.sort_by_key(|part| (part.is_more().is_some(), part.is_on_purpose()));
    let further: u64 = skipped.iter().filter_map(SkippedPart::is_more).sum();
    skipped.retain(|part| part.is_more().is_none());
    let reasons = skipped.iter().take(REASONS).map(|part| {
        if part.path.is_empty() {
            return part.reason.clone();
        }
        let name = &part.path[..part.path.len().min(NAME)];
        format!("{}: {}", String::from_utf8_lossy(name), part.reason)
    });
    let mut reasons: Vec<String> = reasons.collect();
    let further = further + skipped.len().saturating_sub(REASONS) as u64;
    if further > 0 {
        reasons.push(format!("and {further} more"));
    }
    (!reasons.is_empty()).then(|| SoftError {
        path: path.into(),
        kind: if is_error {
            SoftErrorKind::Unread
        } else {
            SoftErrorKind::LeftOut
        },
        message: reasons.join("; "),
    })
}

/// Takes the file at a path apart and returns the error for the parts that could not be read. If
/// the path leads to a member, only the member's parts count. `name` is the path in the message.
pub fn of_path(path: &Path, name: &Path, part_reader: &dyn PartReader) -> Option<SoftError> {
    let (file, member) = way(path);
    let skipped = OpenedFile::of(file).ok()?.skipped(part_reader).ok()?;
    let skipped = match member {
        Some(member) => of_member(skipped, member),
        None => skipped,
    };
    error(name, skipped)
}

/// Returns the skipped parts that lie within a member.
pub fn of_member(mut skipped: Vec<SkippedPart>, member: &[u8]) -> Vec<SkippedPart> {
    skipped.retain(|part| is_within(&part.path, member));
    skipped
}

fn is_within(part: &[u8], member: &[u8]) -> bool {
    let rest = part.strip_prefix(member);
    rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == INTO))
}

/// Returns the error for a path to a member that was not found. Takes the file apart again, to
/// report the reason if the member was skipped, or is too large to be read whole.
pub fn no_member(path: &Path, part_reader: &dyn PartReader) -> AskError {
    let (file, member) = way(path);
    let member = member.unwrap_or_default();
    let found = OpenedFile::of(file).and_then(|file| file.skipped_or_large(member, part_reader));
    let (skipped, is_too_large) = found.unwrap_or_default();
    if is_too_large {
        let most = LARGEST_READ.0 >> 20;
        let source = io::Error::other(format!("members larger than {most} MiB are not read whole"));
        let path = path.to_owned();
        return AskError::Unreadable { path, source };
    }
    without_member(path, &skipped)
}

/// Does the same as [`no_member`]. `skipped` are the skipped parts of the file.
pub fn without_member(path: &Path, skipped: &[SkippedPart]) -> AskError {
    let member = way(path).1.unwrap_or_default();
    let mut faults = skipped
        .iter()
        .filter(|part| part.is_more().is_none() && !part.is_on_purpose());
    let holder = |part: &&SkippedPart| part.path.is_empty() || is_within(member, &part.path);
    let source = match faults.find(holder) {
        Some(part) if part.path == member => io::Error::other(part.reason.clone()),
        Some(part) => io::Error::other(format!(
            "the file that holds it cannot be read: {}",
            part.reason
        )),
        None => Errno::NOENT.into(),
    };
    AskError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str, reason: &str) -> SkippedPart {
        SkippedPart {
            path: path.as_bytes().to_vec(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn a_document_has_one_error_with_its_first_reasons() {
        let say = |skipped: &[SkippedPart]| error(Path::new("/d"), skipped.to_vec());
        assert_eq!(say(&[]), None);
        let hidden = part("", "left out on purpose: 2 hidden texts");
        let only_hidden = say(std::slice::from_ref(&hidden)).expect("said");
        assert_eq!(only_hidden.kind, SoftErrorKind::LeftOut);
        let pages = (3..8).map(|n| part("", &format!("page {n} could not be read: why")));
        let mut all = vec![hidden];
        all.extend(pages);
        all.push(part("a/b.pdf", "damaged: no end"));
        all.push(SkippedPart::and_more(40));
        let said = say(&all).expect("said");
        assert_eq!(said.kind, SoftErrorKind::Unread);
        assert_eq!(
            said.message,
            "page 3 could not be read: why; page 4 could not be read: why; \
             page 5 could not be read: why; and 44 more"
        );
        let member = say(&[part("a/b.pdf", "damaged: no end")]).expect("said");
        assert_eq!(member.message, "a/b.pdf: damaged: no end");
    }
}
