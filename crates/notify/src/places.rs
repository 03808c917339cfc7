//! Stores the position of each sink in the log of alerts, in a file that outlives restarts.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The position of one sink in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The number of the last alert that the sink accepted or that its filter rejected.
    pub after: u64,
    /// The time of the sink's last delivery, in seconds since 1970.
    #[serde(default)]
    pub time: u64,
}

/// The places of all sinks, by name.
#[derive(Debug)]
pub struct Places {
    path: PathBuf,
    of_sinks: BTreeMap<String, Place>,
}

impl Places {
    /// Reads the file. An unreadable or invalid file counts as empty, so all sinks are new.
    pub fn open(path: &Path) -> Self {
        let text = fs::read(path).unwrap_or_default();
        Self {
            path: path.to_owned(),
            of_sinks: serde_json::from_slice(&text).unwrap_or_default(),
        }
    }

    /// Returns the place of a sink. `last` is the greatest number in the log. A new sink begins
    /// after `last`, so it gets no old alerts. A stored number greater than `last` means that the
    /// log was lost. All later alerts are then new, so the sink begins after `last` in this case,
    /// too.
    pub fn of(&self, name: &str, last: u64) -> Place {
        let place = self.of_sinks.get(name).copied();
        let place = place.unwrap_or(Place {
            after: last,
            time: 0,
        });
        Place {
            after: place.after.min(last),
            ..place
        }
    }

    /// Stores the places of some sinks, by the names of the sinks.
    pub fn set<'a>(
        &mut self,
        places: impl IntoIterator<Item = (&'a str, Place)>,
    ) -> io::Result<()> {
        for (name, place) in places {
            self.of_sinks.insert(name.to_owned(), place);
        }
        let fresh = self.path.with_extension("json.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(&serde_json::to_vec(&self.of_sinks)?)?;
        file.sync_data()?;
        fs::rename(&fresh, &self.path)?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_sink_begins_now_and_a_known_one_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sinks.json");
        let mut places = Places::open(&path);
        assert_eq!(places.of("mail", 7).after, 7);
        let place = Place { after: 5, time: 9 };
        places.set([("mail", place)]).unwrap();
        let places = Places::open(&path);
        assert_eq!(places.of("mail", 7), place);
        assert_eq!(places.of("file", 7).after, 7);
        assert_eq!(places.of("mail", 2).after, 2, "the log was lost");
        fs::write(&path, "{ half").unwrap();
        assert_eq!(Places::open(&path).of("mail", 7).after, 7);
    }
}
