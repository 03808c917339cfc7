//! Finds the present places of files that were removed from a path. It uses the removals that the
//! index recorded.

use std::path::PathBuf;

use resemble_core::ContentDigest;
use resemble_index::{Departed, DepartureLog, Entry, Snapshot};
use resemble_proto::message::{Answer, DepartedRequest, DepartedRow};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::renditions::{self, occurrences};

use crate::find;

/// Returns a row for each path whose removal is known, with the places where its file is now.
///
/// A caller who does not see everything learns about a path only if they can see a remaining copy.
pub(crate) fn departed(
    snapshot: &Snapshot,
    request: &DepartedRequest,
) -> Result<Answer<DepartedRow>, AskError> {
    let log = snapshot.departures()?;
    let mut rows = Vec::new();
    for path in &request.paths {
        if !snapshot.shows_departure(path.as_path())? {
            continue;
        }
        let mut known: Option<DepartedRow> = None;
        for (gone, departed) in log.of(path.as_path()) {
            if known.as_ref().is_some_and(|row| !row.places.is_empty()) {
                break;
            }
            let renamed = renamed(snapshot, &log, &departed)?;
            let content = departed.content.as_ref();
            let equal = content.map_or(Ok(Vec::new()), |digest| places(snapshot, digest))?;
            let (places, copies) = match &renamed {
                Some(to) => (vec![to.as_path().into()], equal),
                None => (equal, Vec::new()),
            };
            known = Some(DepartedRow {
                path: path.clone(),
                gone,
                renamed: renamed.is_some(),
                places,
                copies,
            });
        }
        rows.extend(known.filter(|row| !row.places.is_empty() || !snapshot.is_partial()));
    }
    Ok(Answer::fresh(rows, Vec::new()))
}

/// Returns the present path of a renamed entry, if it is known. A file whose bytes are unchanged is
/// left out, because [`places`] finds it. Many programs save a file by renaming a new one to its
/// name. So another file at the new path is also taken as the renamed file, unless the log shows
/// that this other file was renamed to the path.
fn renamed(
    snapshot: &Snapshot,
    log: &DepartureLog,
    departed: &Departed,
) -> Result<Option<PathBuf>, AskError> {
    let Some(to) = &departed.to else {
        return Ok(None);
    };
    let is_it = match (snapshot.entry(&to.path)?, &departed.content) {
        (Some(Entry::Dir(_)), None) => true,
        (Some(Entry::File(file)), None) => file < to.file,
        (Some(Entry::File(file)), Some(digest)) => {
            let row = snapshot.file(file)?;
            let content = row.and_then(|row| row.state.content());
            let content = content.map(|content| snapshot.content(content));
            let content = content.transpose()?.flatten();
            (file == to.file || !log.is_renamed_to(&to.path, file))
                && content.is_none_or(|content| content.digest != *digest)
        }
        _ => false,
    };
    Ok(is_it.then(|| to.path.clone()))
}

/// Returns the paths of the files and members that have this digest now, in order.
fn places(snapshot: &Snapshot, digest: &ContentDigest) -> Result<Vec<PathText>, AskError> {
    let row = match snapshot.content_by_digest(digest)? {
        Some(content) => snapshot.content(content)?,
        None => None,
    };
    let mut places = Vec::new();
    for occurrence in row.map_or(Ok(Vec::new()), |row| occurrences(snapshot, &row, true))? {
        let place = occurrence.place;
        let names = renditions::names(snapshot, place)?;
        for (path, _) in find::holders(snapshot, place.content, None, None)? {
            places.push(PathText::from(renditions::shown(&path, &names)));
        }
    }
    places.sort();
    places.dedup();
    Ok(places)
}
