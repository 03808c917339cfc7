//! Names the incomplete documents in the scope of a question ([`resemble_relate::unread`]).
//!
//! 1. Questions about bytes (`covered`, `dump`, `--no-text`, identical files) name no documents.
//!    Nor does a comparison of two trees with the same contents.
//! 2. Few contents have skipped parts, so each of these is checked against the scope. If the scope
//!    is the whole index, only the first `DOCUMENTS` contents are looked up.
//! 3. At most `DOCUMENTS` documents are named in one answer. The others are only counted.

use std::path::{Path, PathBuf};

use resemble_core::ContentId;
use resemble_index::{PartRole, ReadError, Snapshot};
use resemble_proto::message::{
    DumpForm, FindRequest, OnlyGroups, Request, Scope, SoftError, SoftErrorKind, Subject,
};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::renditions::locate;
use resemble_relate::scope::Rules;
use resemble_relate::unread::error;

/// The maximum number of documents that are named in one answer.
const DOCUMENTS: usize = 1000;

/// Returns the documents of a request's scope that could not be read in full. A comparison names
/// its incomplete documents itself, because it also works without an index.
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

/// Returns the incomplete documents of the scope. If the subject is incomplete, returns it, too.
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

/// Returns the errors of the incomplete documents in a scope, by path. Documents whose contents do
/// not pass `is_read` are left out.
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
        // The scope is the whole index, so only the first documents are looked up; `status` counts
        // all.
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
