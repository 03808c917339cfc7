//! Decides by which rules a root is scanned and raises alerts.
//!
//! A rule that `watch add` set for the root applies first. If `watch add` set none, the rule of the
//! configuration or the command line for this root applies. If neither names the root, the rule
//! that the configuration has for all roots applies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use resemble_core::ByteLen;
use resemble_proto::message::{AlertRules, RootRules};
use resemble_scan::ingest::RootOptions;

/// The rules of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// The rules of its scan.
    pub scan: RootRules,
    /// The rules of its alerts.
    pub alerts: AlertRules,
}

impl RuleSet {
    /// Returns these rules. If a rule is not set, the rule of `base` is returned. A rule of the
    /// scan that has its default value counts as not set.
    #[must_use]
    pub fn or(&self, base: &Self) -> Self {
        let (scan, alerts) = (&self.scan, self.alerts.clone());
        let exclude = if scan.exclude.is_empty() {
            &base.scan.exclude
        } else {
            &scan.exclude
        };
        let scan = RootRules {
            ignore: scan.ignore || base.scan.ignore,
            one_file_system: scan.one_file_system || base.scan.one_file_system,
            text: scan.text && base.scan.text,
            exclude: exclude.clone(),
            max_size: scan.max_size.or(base.scan.max_size),
        };
        let alerts = AlertRules {
            min: alerts.min.or(base.alerts.min),
            min_size: alerts.min_size.or(base.alerts.min_size),
            kinds: alerts.kinds.or_else(|| base.alerts.kinds.clone()),
        };
        Self {
            scan,
            alerts: alerts.spelt_short(),
        }
    }
}

/// The rules of all roots.
#[derive(Clone, Debug, Default)]
pub struct RuleBook {
    of_all: RuleSet,
    /// The rules of the roots that the configuration or the command line names.
    configured: BTreeMap<PathBuf, RuleSet>,
    /// The rules that `watch add` set.
    ordered: BTreeMap<PathBuf, RuleSet>,
}

impl RuleBook {
    /// Creates the book from the rules for all roots, the configured roots with their alert rules,
    /// and the orders of `watch add`.
    pub fn new<'a>(
        of_all: &RuleSet,
        configured: impl Iterator<Item = (&'a RootOptions, &'a AlertRules)>,
        ordered: impl IntoIterator<Item = (PathBuf, RuleSet)>,
    ) -> Self {
        let of_root = |(root, alerts): (&RootOptions, &AlertRules)| {
            let (scan, alerts) = (rules_of(root), alerts.clone());
            (root.path.clone(), RuleSet { scan, alerts })
        };
        Self {
            of_all: of_all.clone(),
            configured: configured.map(of_root).collect(),
            ordered: ordered.into_iter().collect(),
        }
    }

    /// Returns the rules of the root at this path.
    pub fn of(&self, root: &Path) -> RuleSet {
        let base = self.configured.get(root).unwrap_or(&self.of_all);
        match self.ordered.get(root) {
            Some(ordered) => ordered.or(base),
            None => base.clone(),
        }
    }

    /// Returns the root at this path with the rules of its scan.
    pub fn root(&self, path: &Path) -> RootOptions {
        root_with(path.to_path_buf(), self.of(path).scan)
    }

    /// Returns the rules that `watch add` set for this root.
    pub fn order(&self, root: &Path) -> Option<&RuleSet> {
        self.ordered.get(root)
    }

    /// Sets or removes the rules of `watch add` for this root.
    pub fn set_order(&mut self, root: &Path, order: Option<RuleSet>) {
        match order {
            Some(order) => self.ordered.insert(root.to_path_buf(), order),
            None => self.ordered.remove(root),
        };
    }

    /// Replaces the configured rules by those of `new`. The orders of `watch add` stay.
    pub fn reconfigure(&mut self, new: Self) {
        self.of_all = new.of_all;
        self.configured = new.configured;
    }
}

/// Returns the rules of a root in the form of the protocol.
pub fn rules_of(root: &RootOptions) -> RootRules {
    RootRules {
        ignore: root.ignore,
        one_file_system: root.one_file_system,
        text: root.text,
        exclude: root.exclude.clone(),
        max_size: root.max_size.map(|size| size.0),
    }
}

/// Returns a root with rules that are given in the form of the protocol.
pub fn root_with(path: PathBuf, rules: RootRules) -> RootOptions {
    RootOptions {
        path,
        ignore: rules.ignore,
        one_file_system: rules.one_file_system,
        text: rules.text,
        exclude: rules.exclude,
        max_size: rules.max_size.map(ByteLen),
    }
}

#[cfg(test)]
mod tests {
    use resemble_proto::number::Fraction;

    use super::*;

    fn rules(exclude: &str, max_size: Option<u64>, min: Option<u32>) -> RuleSet {
        RuleSet {
            scan: RootRules {
                exclude: exclude.split_whitespace().map(str::to_owned).collect(),
                max_size,
                ..RootRules::default()
            },
            alerts: AlertRules {
                min: min.map(Fraction::from_millionths),
                ..AlertRules::default()
            },
        }
    }

    #[test]
    fn an_order_sets_some_rules_and_the_configuration_the_others() {
        let root = RootOptions {
            text: true,
            exclude: vec!["*.bak".to_owned()],
            max_size: Some(ByteLen(9)),
            ..RootOptions::new("/r")
        };
        let of_all = rules("*.tmp", Some(5), Some(900_000));
        let of_root = rules("", None, Some(700_000)).alerts;
        let [named, other] = ["/r", "/s"].map(Path::new);
        let mut book = RuleBook::new(&of_all, [(&root, &of_root)].into_iter(), []);
        assert_eq!(book.of(named), rules("*.bak", Some(9), Some(700_000)));
        assert_eq!(book.of(other), of_all);
        for path in [named, other] {
            let before = book.of(path);
            book.set_order(path, Some(RuleSet::default()));
            assert_eq!(book.of(path), before, "the order sets nothing");
        }
        // This order sets the default share of alerts, so the share of the configuration does not
        // apply.
        let order = rules("*.iso", None, Some(800_000));
        book.set_order(named, Some(order.clone()));
        let ordered = rules("*.iso", Some(9), None);
        assert_eq!(book.of(named), ordered);
        assert_eq!(book.root(named).exclude, ["*.iso"]);
        // After a restart the order is read from the stored list of roots.
        let again = RuleBook::new(
            &of_all,
            [(&root, &of_root)].into_iter(),
            [(named.to_path_buf(), order)],
        );
        assert_eq!(again.of(named), ordered);
        book.reconfigure(RuleBook::default());
        assert_eq!(book.of(named), rules("*.iso", None, None));
        book.set_order(named, None);
        assert_eq!(book.of(named), RuleSet::default());
    }
}
