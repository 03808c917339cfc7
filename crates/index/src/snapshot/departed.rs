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
    /// renames since; `None`: that is not known.
    ///
    /// Somebody who does not see everything is told it only of a folder that he can list now: that
    /// a name was there is told by its folder alone. Whether he sees what became of it is for the
    /// caller to ask, of this view.
    pub fn departed(&self, path: &Path) -> Result<Option<(i64, Departed)>, ReadError> {
        self.note_outside();
        if let Some(eyes) = &self.eyes {
            let folder = path.parent().unwrap_or(path);
            let seen = self.glance(eyes, &[folder.to_owned()])?;
            if !matches!(seen[..], [Seen::Folder(_, Listable(true))]) {
                return Ok(None);
            }
        }
        let mut found: Option<(i64, Departed)> = None;
        let mut at = path.to_owned();
        let mut from = 0;
        for _ in 0..RENAMES {
            let Some((number, time, departed)) = self.last_departure(&at, from)? else {
                break;
            };
            let first = found.map_or(time, |(time, _)| time);
            found = Some((first, departed.clone()));
            match departed {
                Departed::Renamed(to) => (at, from) = (to, number + 1),
                Departed::Vanished(_) => break,
            }
        }
        Ok(found)
    }

    /// The last departure that took this path away, of those from this number on.
    fn last_departure(
        &self,
        path: &Path,
        from: u64,
    ) -> Result<Option<(u64, i64, Departed)>, ReadError> {
        self.ask(|inner| {
            for row in inner.departures.range(from..)?.rev() {
                let (number, row) = row?;
                let row = Departure::decode(row.value())?;
                if let Some(departed) = row.leads(path) {
                    return Ok(Some((number.value(), row.time, departed)));
                }
            }
            Ok(None)
        })
    }
}
