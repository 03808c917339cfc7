//! What went from a path.

use std::path::Path;

use resemble_callers::{Listable, Seen};

use super::Snapshot;
use crate::departures::{Departed, Departure};
use crate::error::ReadError;

/// A path is followed through so many renames.
const RENAMES: usize = 32;

impl Snapshot {
    /// When a path went, in seconds since 1970, and where what was there went last, through all
    /// renames since: by the last departure, and by the last one of the name itself if a directory
    /// above it went later, which may have been without it. Empty: nothing is known.
    ///
    /// Somebody who does not see everything is told it only of a folder that he can list now: that
    /// a name was there is told by its folder alone. Whether he sees what became of it is for the
    /// caller to ask, of this view.
    pub fn departed(&self, path: &Path) -> Result<Vec<(i64, Departed)>, ReadError> {
        self.note_outside();
        if let Some(eyes) = &self.eyes {
            let folder = path.parent().unwrap_or(path);
            let seen = self.glance(eyes, &[folder.to_owned()])?;
            if !matches!(seen[..], [Seen::Folder(_, Listable(true))]) {
                return Ok(Vec::new());
            }
        }
        let mut found = Vec::new();
        for take in [Take::Last, Take::LastOfName] {
            if let Some(first) = self.departure(path, take)?
                && found.last().is_none_or(|(number, _)| *number != first.0)
            {
                let number = first.0;
                found.push((number, self.followed(first)?));
            }
        }
        Ok(found.into_iter().map(|(_, departed)| departed).collect())
    }

    /// Where what went by this departure went since.
    fn followed(
        &self,
        (mut number, time, mut departed): (u64, i64, Departed),
    ) -> Result<(i64, Departed), ReadError> {
        let content = departed.content;
        for _ in 0..RENAMES {
            let Some(to) = &departed.to else {
                break;
            };
            let next = self.departure(&to.path, Take::FirstFrom(number + 1))?;
            let Some((later, _, next)) = next else {
                break;
            };
            let file = to.file;
            (number, departed) = (later, next);
            // A directory that took the file along has no number of it.
            if let Some(to) = departed.to.as_mut().filter(|_| content.is_some()) {
                to.file = file;
            }
        }
        let content = content.or(departed.content);
        Ok((
            time,
            Departed {
                content,
                ..departed
            },
        ))
    }

    /// A departure that took this path away, and its number.
    fn departure(
        &self,
        path: &Path,
        take: Take,
    ) -> Result<Option<(u64, i64, Departed)>, ReadError> {
        self.ask(|inner| {
            let from = match take {
                Take::Last | Take::LastOfName => 0,
                Take::FirstFrom(number) => number,
            };
            let mut last = None;
            for row in inner.departures.range(from..)? {
                let (number, row) = row?;
                let row = Departure::decode(row.value())?;
                let is_meant = !matches!(take, Take::LastOfName) || row.path == path;
                if let Some(departed) = row.leads(path).filter(|_| is_meant) {
                    last = Some((number.value(), row.time, departed));
                    if matches!(take, Take::FirstFrom(_)) {
                        break;
                    }
                }
            }
            Ok(last)
        })
    }
}

/// Which of several departures.
#[derive(Clone, Copy)]
enum Take {
    Last,
    LastOfName,
    FirstFrom(u64),
}
