//! Mounts below the roots. What is mounted over a folder, or goes from it, makes no event: the
//! kernel's list is compared whenever the roots are looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use resemble_mounts::{Mount, mount_number};

/// What is mounted at a path: the last of several, which covers the others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Covering {
    id: u64,
    device: String,
    /// Given once and never again, where the kernel has such a number.
    number: Option<u64>,
}

/// Where something is mounted.
#[derive(Debug, Default)]
pub(super) struct Mounts(BTreeMap<PathBuf, Covering>);

impl Mounts {
    /// Reads the kernel's list; the places below the roots where there is something else than the
    /// last time.
    pub(super) fn changed(&mut self, roots: &[PathBuf]) -> Vec<PathBuf> {
        match resemble_mounts::read() {
            Ok(mounts) => self.compare(&mounts, roots, mount_number),
            Err(error) => {
                tracing::debug!(%error, "what is mounted is not known");
                Vec::new()
            }
        }
    }

    fn compare(
        &mut self,
        mounts: &[Mount],
        roots: &[PathBuf],
        number: impl Fn(&Mount) -> Option<u64>,
    ) -> Vec<PathBuf> {
        let is_below = |point: &Path| {
            (roots.iter()).any(|root| point.starts_with(root) && point != root.as_path())
        };
        let covering = mounts.iter().filter(|mount| is_below(&mount.point));
        let now: BTreeMap<PathBuf, Covering> = covering
            .map(|mount| {
                let covering = Covering {
                    id: mount.id,
                    device: mount.device.clone(),
                    number: number(mount),
                };
                (mount.point.clone(), covering)
            })
            .collect();
        let before = std::mem::replace(&mut self.0, now);
        let all = before.keys().chain(self.0.keys());
        let mut changed: Vec<PathBuf> = all
            .filter(|point| before.get(*point) != self.0.get(*point))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(id: u64, point: &str) -> Mount {
        Mount {
            id,
            device: "0:50".to_owned(),
            point: point.into(),
            fs_type: b"tmpfs".to_vec(),
        }
    }

    #[test]
    fn what_appears_goes_or_is_another_below_a_root_is_told() {
        let roots = [PathBuf::from("/r")];
        let mut mounts = Mounts::default();
        let mut told = |now: &[Mount], number: u64| {
            let changed = mounts.compare(now, &roots, |_| Some(number));
            let paths = changed.iter().map(|path| path.display().to_string());
            paths.collect::<Vec<_>>().join(" ")
        };
        let elsewhere = [mount(1, "/"), mount(2, "/r"), mount(3, "/rr/x")];
        assert_eq!(told(&elsewhere, 0), "");
        let two = [mount(2, "/r"), mount(5, "/r/a"), mount(6, "/r/b/c")];
        assert_eq!(told(&two, 0), "/r/a /r/b/c");
        assert_eq!(told(&two, 0), "");
        // Another one covers it.
        let covered = [&two[..], &[mount(7, "/r/a")]].concat();
        assert_eq!(told(&covered, 0), "/r/a");
        assert_eq!(told(&two[..2], 0), "/r/a /r/b/c");
        // Taken away, and another one mounted with the same id on the same device.
        assert_eq!(told(&two[..2], 1), "/r/a");
        assert_eq!(told(&[], 1), "/r/a");
    }
}
