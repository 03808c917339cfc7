//! Decides which changes deserve an alert, by the rules of the root that contains the file.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::ByteLen;
use resemble_proto::message::{AlertRow, AlertRules};
use resemble_proto::number::Fraction;

/// The alert rules of all roots. The default rules apply to paths outside these roots.
#[derive(Clone, Debug, Default)]
pub struct Rules(Arc<BTreeMap<PathBuf, AlertRules>>);

impl Rules {
    /// Creates the rules from a map of each root's path to its rules.
    pub fn new(of_roots: BTreeMap<PathBuf, AlertRules>) -> Self {
        Self(Arc::new(of_roots))
    }

    fn of(&self, path: &Path) -> Option<&AlertRules> {
        // Roots are not nested. So only the last root that sorts before the path can contain the
        // path.
        let below = (Bound::Unbounded, Bound::Included(path));
        let (root, rules) = self.0.range::<Path, _>(below).next_back()?;
        path.starts_with(root).then_some(rules)
    }

    /// Returns the least share of the smaller file that deserves an alert.
    pub fn least_share(&self, path: &Path) -> Fraction {
        let rules = self.of(path);
        rules.map_or_else(
            || AlertRules::default().least_share(),
            AlertRules::least_share,
        )
    }

    /// Returns the least size of a changed file that deserves an alert.
    pub fn least_size(&self, path: &Path) -> ByteLen {
        let rules = self.of(path);
        ByteLen(rules.map_or(AlertRules::USUAL_SIZE, AlertRules::least_size))
    }

    /// Returns whether the rules of the alert's root accept the kind of the alert.
    pub fn accept(&self, row: &AlertRow) -> bool {
        let rules = self.of(row.a.as_path());
        let word = row.word();
        rules.is_none_or(|rules| word.is_none_or(|word| rules.accept(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_by_the_rules_of_its_root() {
        let rules = |share| AlertRules {
            min: Some(Fraction::from_millionths(share)),
            ..AlertRules::default()
        };
        let of_roots = [("/r/a", 500_000), ("/r/b", 900_000)];
        let of_roots = of_roots.map(|(root, share)| (PathBuf::from(root), rules(share)));
        let rules = Rules::new(of_roots.into());
        for (path, share) in [
            ("/r/a/x", 500_000),
            ("/r/a-x", 800_000),
            ("/r/b/x/y", 900_000),
            ("/s", 800_000),
            ("/", 800_000),
        ] {
            let share = Fraction::from_millionths(share);
            assert_eq!(rules.least_share(Path::new(path)), share, "{path}");
        }
    }
}
