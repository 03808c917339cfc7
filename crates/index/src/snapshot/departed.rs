//! Queries of the log of departures, which has the names that were removed or renamed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use resemble_callers::{Listable, Seen};
use resemble_core::FileId;

use super::Snapshot;
use crate::departures::{Departed, Departure};
use crate::error::ReadError;
use crate::store::ReadableTable;

/// The maximum number of renames that are followed for a path.
const RENAMES: usize = 32;

/// All departures in the log, in order. They are read once for all paths of a question.
#[derive(Debug)]
pub struct DepartureLog {
    rows: Vec<Departure>,
    /// For each name, the indices of its departures in `rows`, ascending.
    of_name: HashMap<PathBuf, Vec<usize>>,
}

impl Snapshot {
    /// Returns all departures in the log.
    pub fn departures(&self) -> Result<DepartureLog, ReadError> {
        self.note_outside();
        let rows = self.ask(|inner| {
            let rows = inner.departures.iter()?;
            rows.map(|row| Ok(Departure::decode(row?.1.value())?))
                .collect()
        });
        let rows: Vec<Departure> = rows?;
        let mut of_name = HashMap::<PathBuf, Vec<usize>>::new();
        for (number, row) in rows.iter().enumerate() {
            of_name.entry(row.path.clone()).or_default().push(number);
        }
        Ok(DepartureLog { rows, of_name })
    }

    /// Returns whether the caller is allowed to see the departure of this path. In a restricted
    /// snapshot, the caller must be able to list the folder of the path now. The new names of
    /// renames are not checked here.
    pub fn shows_departure(&self, path: &Path) -> Result<bool, ReadError> {
        let Some(eyes) = &self.eyes else {
            return Ok(true);
        };
        let folder = path.parent().unwrap_or(path);
        let seen = self.glance(eyes, &[folder.to_owned()])?;
        Ok(matches!(seen[..], [Seen::Folder(_, Listable(true))]))
    }
}

impl DepartureLog {
    /// Returns up to two departures of a path, each with its time in seconds since 1970. If the
    /// departure is a rename, later renames are followed to the last name. The first result is the
    /// latest departure that removed the path. This can be the departure of a directory above,
    /// although the name was perhaps no longer in that directory. Then the second result is the
    /// latest departure of the name itself. The result is empty if nothing is known.
    pub fn of(&self, path: &Path) -> Vec<(i64, Departed)> {
        let last = self.leading(path, 0).map(|(_, last)| last).max();
        let of_name = self.of_name.get(path).and_then(|all| all.last().copied());
        let earlier = of_name.filter(|number| Some(*number) != last);
        let found = last.into_iter().chain(earlier);
        found
            .filter_map(|number| self.followed(number, path))
            .collect()
    }

    /// Returns whether a rename in the log gave this file its path.
    pub fn is_renamed_to(&self, path: &Path, file: FileId) -> bool {
        let renamed = self.rows.iter().filter_map(|row| row.departed.to.as_ref());
        let mut renamed = renamed.filter(|to| to.file == file);
        renamed.any(|to| to.path == path)
    }

    /// Checks the name itself, and each directory above it. For each of these, returns the first
    /// and the last departure that removed the path. Departures are given by their indices in
    /// `rows`. Departures before index `from` are ignored.
    fn leading(&self, path: &Path, from: usize) -> impl Iterator<Item = (usize, usize)> {
        let leads = |number: &usize| self.rows[*number].leads(path).is_some();
        path.ancestors().filter_map(move |name| {
            let all = self.of_name.get(name)?;
            let all = &all[all.partition_point(|&number| number < from)..];
            let first = all.iter().copied().find(leads)?;
            Some((first, all.iter().copied().rfind(leads)?))
        })
    }

    /// Follows the departure of a path through later renames. Returns the time of the given
    /// departure, and the last departure that was found.
    fn followed(&self, mut number: usize, path: &Path) -> Option<(i64, Departed)> {
        let time = self.rows[number].time;
        let mut departed = self.rows[number].leads(path)?;
        let content = departed.content;
        for _ in 0..RENAMES {
            let Some(to) = &departed.to else {
                break;
            };
            let later = self.leading(&to.path, number + 1).map(|(first, _)| first);
            let Some(later) = later.min() else {
                break;
            };
            let next = self.rows[later].leads(&to.path)?;
            let file = to.file;
            (number, departed) = (later, next);
            // The departure of a directory does not name the file. So the file's id is kept.
            if let Some(to) = departed.to.as_mut().filter(|_| content.is_some()) {
                to.file = file;
            }
        }
        let content = content.or(departed.content);
        Some((
            time,
            Departed {
                content,
                ..departed
            },
        ))
    }
}
