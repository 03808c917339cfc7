//! Reports the parts of documents that could not be read.
//!
//! The skipped parts of a file are stored with its content, so copies cost nothing. An answer names
//! each incomplete document of its scope, with the reasons:
//!
//! 1. A part that should have been read is an error: the answer may lack matches.
//! 2. A part that is left out on purpose (hidden text) is named in the same list, but is no error.
//! 3. Questions about bytes (`covered`, `dump`, `--no-text`, identical files) report neither. Nor
//!    does a comparison of two trees with the same contents.
//! 4. Few contents have skipped parts, so all of them are checked against a scope. If the scope is
//!    everything, only the first `DOCUMENTS` are looked up.
//! 5. The list is bounded: `REASONS` for a document, `DOCUMENTS` for an answer, then a count of the
//!    rest.

use std::io;
use std::path::{Path, PathBuf};

use resemble_core::ContentId;
use resemble_index::{PartRole, ReadError, SkippedPart, Snapshot};
use resemble_proto::message::{
    DumpForm, FindRequest, OnlyGroups, Request, Scope, SoftError, SoftErrorKind, Subject,
};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::prove::extracted::{OpenedFile, way};
use resemble_relate::prove::read::LARGEST_READ;
use resemble_relate::renditions::{INTO, locate};
use resemble_relate::scope::Rules;
use resemble_scan::parts::PartReader;
use rustix::io::Errno;

/// The maximum number of reasons that are named for one document.
const REASONS: usize = 3;

/// The maximum number of bytes of a member's name in a reason.
const NAME: usize = 400;

/// The maximum number of documents that are named in one answer.
const DOCUMENTS: usize = 1000;

/// Returns the documents of a request's scope that could not be read in full. A comparison names
/// its own, because it also works without an index.
pub fn of_request(snapshot: &Snapshot, request: &Request) -> Result<Vec<SoftError>, AskError> {
    match request {
        Request::Find(find) if find.options.text => of_find(snapshot, find),
        Request::Pairs(pairs) if pairs.text => within(snapshot, &pairs.scope, |content| {
            Ok(pairs.archives || !holds_members(snapshot, content)?)
        }),
        Request::Dirs(dirs) => within(snapshot, &dirs.scope, |_| Ok(true)),
        Request::Groups(groups) | Request::Order(groups)
            if groups.text && groups.only != OnlyGroups::Identical =>
        {
            within(snapshot, &groups.scope, |_| Ok(true))
        }
        Request::DumpAs {
            roots,
            form: DumpForm::Catalogue(form),
        } if form.text => {
            let scope = Scope {
                within: roots.clone(),
                ..Scope::default()
            };
            within(snapshot, &scope, |_| Ok(true))
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns the incomplete documents of the scope, and the subject if it is incomplete, too.
fn of_find(snapshot: &Snapshot, find: &FindRequest) -> Result<Vec<SoftError>, AskError> {
    let scope = &find.options.scope;
    // Documents of the whole index are reported only to callers who may see everything.
    let is_everything = scope.within.is_empty();
    let mut errors = if is_everything && snapshot.is_partial() {
        Vec::new()
    } else {
        within(snapshot, scope, |_| Ok(true))?
    };
    let path = match &find.subject {
        Subject::File(path) => Some(path),
        Subject::Content { path, .. } => path.as_ref(),
    };
    if let Some(path) = path
        && let Some(found) = locate(snapshot, path.as_path())?
        && let Some(content) = found.row.state.content()
    {
        errors.extend(error(&found.path, snapshot.skipped_parts(content)?));
        errors.sort();
        errors.dedup();
    }
    Ok(errors)
}

/// Returns the errors of the incomplete documents in a scope whose contents pass `is_read`, by
/// path.
fn within(
    snapshot: &Snapshot,
    scope: &Scope,
    is_read: impl Fn(ContentId) -> Result<bool, ReadError>,
) -> Result<Vec<SoftError>, AskError> {
    let bases = scope.within.iter().map(PathText::as_path);
    let bases = bases.map(|base| Ok((base, Rules::new(base, scope)?)));
    let bases = bases.collect::<Result<Vec<_>, AskError>>()?;
    let is_within = |path: &PathBuf| {
        let mut bases = bases.iter();
        scope.within.is_empty()
            || bases.any(|(base, rules)| path.starts_with(base) && rules.admit(path))
    };
    let mut found: Vec<(PathBuf, ContentId)> = Vec::new();
    let mut contents = snapshot.contents_with_skipped()?;
    let mut more = 0;
    if scope.within.is_empty() {
        // The scope is everything, so only the first documents are looked up; `status` counts all.
        more = contents.len().saturating_sub(DOCUMENTS);
        contents.truncate(DOCUMENTS);
    }
    for content in contents {
        snapshot.stop().go_on()?;
        if !is_read(content)? {
            continue;
        }
        for file in snapshot.files_of(content)? {
            let row = snapshot.file(file)?;
            if row.is_none_or(|row| row.stat.size.0 < scope.min_size) {
                continue;
            }
            let paths = snapshot.paths(file)?.into_iter();
            found.extend(paths.filter(is_within).min().map(|path| (path, content)));
        }
    }
    found.sort_unstable();
    more += found.len().saturating_sub(DOCUMENTS);
    found.truncate(DOCUMENTS);
    let mut errors = Vec::with_capacity(found.len());
    for (path, content) in &found {
        errors.extend(error(path, snapshot.skipped_parts(*content)?));
    }
    if more > 0 {
        let of = scope
            .within
            .first()
            .map_or(Path::new("/"), PathText::as_path);
        errors.push(SoftError {
            path: of.into(),
            kind: SoftErrorKind::Unread,
            message: format!("{more} more documents could not be read in full"),
        });
    }
    Ok(errors)
}

fn holds_members(snapshot: &Snapshot, content: ContentId) -> Result<bool, ReadError> {
    let parts = snapshot.parts(content)?;
    Ok(parts.iter().any(|part| part.role == PartRole::Member))
}

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

/// Takes the file at a path apart and returns the parts of it that could not be read. If the path
/// leads to a member, only the member's parts are returned. `name` is the path in the message.
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
pub(crate) fn of_member(mut skipped: Vec<SkippedPart>, member: &[u8]) -> Vec<SkippedPart> {
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
pub(crate) fn without_member(path: &Path, skipped: &[SkippedPart]) -> AskError {
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
