//! Decides which alerts a sink gets.

use std::path::{Path, PathBuf};

use resemble_proto::message::{AlertKind, AlertRow, AlertWord};
use resemble_proto::number::Fraction;
use resemble_proto::pattern::Patterns;

/// Conditions that an alert must meet to be delivered. The default accepts all alerts.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Accepts only changes below one of these folders. If the list is empty, all changes are
    /// accepted.
    pub roots: Vec<PathBuf>,
    /// Accepts only alerts in which the greater of the two containments is at least this value. A
    /// copied tree has no containment, so it is always accepted.
    pub min: Option<Fraction>,
    /// Accepts only alerts of these kinds; `None` accepts all kinds.
    pub kinds: Option<Vec<AlertWord>>,
    /// Rejects an alert if these patterns exclude one of its two files. A pattern with a leading
    /// slash is an absolute path.
    pub patterns: Patterns,
}

impl Filter {
    /// Returns whether the filter accepts the alert. A summary is checked only against `roots`,
    /// because some of the alerts that it counts might meet the other conditions.
    pub fn accepts(&self, row: &AlertRow) -> bool {
        let (a, b) = (row.a.as_path(), row.b.as_path());
        let is_below = |root: &PathBuf| a.starts_with(root);
        if row.kind == AlertKind::Summary {
            let may_be_below = |root: &PathBuf| is_below(root) || root.starts_with(a);
            return self.roots.is_empty() || self.roots.iter().any(may_be_below);
        }
        let admits = |path: &Path| (self.patterns).admit(path.strip_prefix("/").unwrap_or(path));
        let share = row.a_in_b.max(row.b_in_a).score();
        let is_kind = |kinds: &Vec<AlertWord>| row.word().is_some_and(|word| kinds.contains(&word));
        (self.roots.is_empty() || self.roots.iter().any(is_below))
            && self.kinds.as_ref().is_none_or(is_kind)
            && self
                .min
                .is_none_or(|least| share.is_none_or(|share| least.accepts(share)))
            && admits(a)
            && admits(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::{row, tree};

    #[test]
    fn each_part_of_a_filter_counts() {
        let near = row("/r/new/a.txt", "/r/b.bak");
        let copy = tree("/r/copy", "/r/tree", 5);
        let all = Filter::default();
        assert!(all.accepts(&near) && all.accepts(&copy));
        let of_roots = |roots: &[&str]| Filter {
            roots: roots.iter().map(PathBuf::from).collect(),
            ..Filter::default()
        };
        assert!(of_roots(&["/x", "/r/new"]).accepts(&near));
        assert!(!of_roots(&["/r/ne"]).accepts(&near));
        let from = |share| Filter {
            min: Some(Fraction::from_millionths(share)),
            ..Filter::default()
        };
        assert!(from(920_000).accepts(&near) && !from(930_000).accepts(&near));
        assert!(from(930_000).accepts(&copy), "a tree has no share");
        let only = |kinds: &[AlertWord]| Filter {
            kinds: Some(kinds.to_vec()),
            ..Filter::default()
        };
        assert!(only(&[AlertWord::Near]).accepts(&near));
        assert!(!only(&[AlertWord::Near]).accepts(&copy));
        assert!(only(&[AlertWord::Tree]).accepts(&copy));
        let without = |glob: &str| Filter {
            patterns: Patterns::new(&[], &[glob.to_owned()]).unwrap(),
            ..Filter::default()
        };
        assert!(!without("*.bak").accepts(&near), "either file");
        assert!(!without("/r/new").accepts(&near) && without("/new").accepts(&near));
        let summary = AlertRow {
            kind: AlertKind::Summary,
            ..row("/r", "/r")
        };
        assert!(of_roots(&["/r/new"]).accepts(&summary) && !of_roots(&["/x"]).accepts(&summary));
    }
}
