//! Compares a live index with a fresh scan of the tree.

use std::collections::BTreeMap;
use std::fmt;

/// The differences between the dump of a live index and the dump of a fresh scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Lines of the fresh scan whose path the live index does not have.
    pub lost: Vec<String>,
    /// Lines of the live index whose path has a different line in the fresh scan.
    pub stale: Vec<String>,
    /// Lines of the live index whose path the fresh scan does not have.
    pub ghosts: Vec<String>,
}

impl Differences {
    /// Compares two canonical dumps.
    pub fn between(live: &[u8], fresh: &[u8]) -> Self {
        let (live, fresh) = (by_path(live), by_path(fresh));
        let told = |lines: Vec<&&[u8]>| -> Vec<String> {
            let line = |line: &&[u8]| String::from_utf8_lossy(line).into_owned();
            lines.into_iter().map(line).collect()
        };
        let (here, gone): (Vec<_>, Vec<_>) =
            live.iter().partition(|(path, _)| fresh.contains_key(*path));
        let stale = here
            .into_iter()
            .filter(|(path, line)| fresh[*path] != **line);
        Self {
            lost: told(
                (fresh.iter())
                    .filter(|(path, _)| !live.contains_key(*path))
                    .map(|(_, line)| line)
                    .collect(),
            ),
            stale: told(stale.map(|(_, line)| line).collect()),
            ghosts: told(gone.into_iter().map(|(_, line)| line).collect()),
        }
    }

    /// Returns whether both dumps are equal.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.stale.is_empty() && self.ghosts.is_empty()
    }
}

fn by_path(dump: &[u8]) -> BTreeMap<&[u8], &[u8]> {
    let lines = dump
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    let path = |line: &&'_ [u8]| {
        line.iter()
            .position(|&byte| byte == b'\t')
            .unwrap_or(line.len())
    };
    lines.map(|line| (&line[..path(&line)], line)).collect()
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the live index differs from a fresh scan")?;
        let kinds = [
            ("lost", &self.lost),
            ("stale", &self.stale),
            ("ghosts", &self.ghosts),
        ];
        for (kind, lines) in kinds {
            write!(f, "\n{kind}: {}", lines.len())?;
            for line in lines.iter().take(10) {
                write!(f, "\n    {}", line.chars().take(160).collect::<String>())?;
            }
        }
        Ok(())
    }
}
