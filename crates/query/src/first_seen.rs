//! The first sightings of file contents.

use resemble_index::Snapshot;
use resemble_proto::message::{Answer, FirstSeen, FirstSeenRequest, FirstSeenRow};
use resemble_relate::AskError;

/// Returns the time and path of the first sighting of each file's content.
pub(crate) fn first_seen(
    snapshot: &Snapshot,
    request: &FirstSeenRequest,
) -> Result<Answer<FirstSeenRow>, AskError> {
    let mut rows = Vec::new();
    for path in &request.paths {
        let file = snapshot.file_at(path.as_path())?;
        let Some(content) = file.and_then(|row| row.state.content()) else {
            continue;
        };
        rows.extend(snapshot.first_seen(content)?.map(|first| FirstSeenRow {
            path: path.clone(),
            first_seen: FirstSeen {
                time: first.time,
                path: first.path.into(),
            },
        }));
    }
    Ok(Answer::fresh(rows, Vec::new()))
}
