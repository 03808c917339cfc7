//! Where what was at a path is now, by what the index saw go.

use resemble_index::{Departed, Entry, Snapshot};
use resemble_proto::message::{Answer, DepartedRequest, DepartedRow};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::renditions::{self, occurrences};

use crate::find;

/// What is known of each of the paths.
///
/// To somebody who does not see everything, a path of which nothing is left for him to see is one
/// that nothing is known of.
pub(crate) fn departed(
    snapshot: &Snapshot,
    request: &DepartedRequest,
) -> Result<Answer<DepartedRow>, AskError> {
    let mut rows = Vec::new();
    for path in &request.paths {
        let Some((gone, departed)) = snapshot.departed(path.as_path())? else {
            continue;
        };
        let places = places(snapshot, &departed)?;
        if places.is_empty() && snapshot.is_partial() {
            continue;
        }
        rows.push(DepartedRow {
            path: path.clone(),
            gone,
            renamed: matches!(departed, Departed::Renamed(_)),
            places,
        });
    }
    Ok(Answer::fresh(rows, Vec::new()))
}

/// Where it is now, by path.
fn places(snapshot: &Snapshot, departed: &Departed) -> Result<Vec<PathText>, AskError> {
    let digest = match departed {
        Departed::Renamed(to) => {
            let is_there = matches!(snapshot.entry(to)?, Some(Entry::File(_) | Entry::Dir(_)));
            return Ok(is_there.then(|| to.as_path().into()).into_iter().collect());
        }
        Departed::Vanished(digest) => digest,
    };
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
