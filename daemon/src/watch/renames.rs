//! Updates values that are recorded by path when a name above these paths is renamed.
//!
//! If two names are exchanged, two renames are reported, one in each direction. If a name is
//! renamed and then renamed back, the reports are the same. So after the second rename the values
//! are kept at both names. The values only say which paths to check, and an additional check does
//! no harm.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use super::Rename;

/// The first half of an exchange is searched for among this many earlier renames. Renames by other
/// threads may be between the two halves.
const MOST: usize = 16;

/// The last renames, which may be of several batches.
#[derive(Debug, Default)]
pub(crate) struct LastRenames(VecDeque<Rename>);

impl LastRenames {
    /// Adds a rename. Returns whether it is the reverse of one of the last renames.
    pub(crate) fn add(&mut self, rename: &Rename) -> bool {
        let Rename { from, to } = rename;
        let is_back = (self.0.iter()).any(|last| last.from == *to && last.to == *from);
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(rename.clone());
        is_back
    }
}

/// Exchanges the values that are recorded for paths below the two names. If `is_back` is true, each
/// of these values is afterwards recorded below both names. `merge` combines two values for one
/// path.
pub(crate) fn swap_below<T: Copy>(
    map: &mut BTreeMap<PathBuf, T>,
    Rename { from, to }: &Rename,
    is_back: bool,
    merge: impl Fn(&mut T, T),
) {
    let (below_from, below_to) = (take_below(map, from), take_below(map, to));
    let mut put = |path: PathBuf, value: T| match map.get_mut(&path) {
        Some(there) => merge(there, value),
        None => drop(map.insert(path, value)),
    };
    for (values, here, there) in [(below_from, from, to), (below_to, to, from)] {
        for (path, value) in values {
            let rest = path.strip_prefix(here).map(Path::to_path_buf);
            match rest {
                Ok(rest) if !rest.as_os_str().is_empty() => {
                    if is_back {
                        put(path, value);
                    }
                    put(there.join(rest), value);
                }
                _ => put(path, value),
            }
        }
    }
}

/// Removes the path and all paths below it from the map, and returns them with their values.
pub(crate) fn take_below<T>(map: &mut BTreeMap<PathBuf, T>, path: &Path) -> Vec<(PathBuf, T)> {
    let names: Vec<PathBuf> = map
        .range::<Path, _>((std::ops::Bound::Included(path), std::ops::Bound::Unbounded))
        .map(|(name, _)| name)
        .take_while(|name| name.starts_with(path))
        .cloned()
        .collect();
    names
        .into_iter()
        .filter_map(|name| map.remove_entry(&name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(from: &str, to: &str) -> Rename {
        Rename {
            from: from.into(),
            to: to.into(),
        }
    }

    fn swapped(renames: &[(&str, &str)]) -> String {
        let mut last = LastRenames::default();
        let mut map: BTreeMap<PathBuf, bool> = ["/r/a/x", "/r/a", "/r/b/y", "/r/ab"]
            .map(|path| (path.into(), true))
            .into();
        for (from, to) in renames {
            let rename = rename(from, to);
            let is_back = last.add(&rename);
            swap_below(&mut map, &rename, is_back, |one, other| *one |= other);
        }
        let paths = map.into_keys().map(|path| path.display().to_string());
        paths.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_below_a_name_follows_it() {
        assert_eq!(swapped(&[("/r/a", "/r/c")]), "/r/a /r/ab /r/b/y /r/c/x");
        let deeper = [("/r/a", "/r/b/a"), ("/r/b", "/r/d")];
        assert_eq!(swapped(&deeper), "/r/a /r/ab /r/d/a/x /r/d/y");
    }

    #[test]
    fn after_an_exchange_it_is_at_both_ends() {
        let exchange = [("/r/a", "/r/b"), ("/r/z", "/r/y"), ("/r/b", "/r/a")];
        assert_eq!(swapped(&exchange), "/r/a /r/a/x /r/a/y /r/ab /r/b/x /r/b/y");
    }
}
