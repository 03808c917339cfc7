//! The keys and tables of the configuration file, in the form in which they are written.

use std::path::PathBuf;
use std::time::Duration;

use resemble_proto::message::{AlertRules, RootRules};
use resemble_scan::parts::{Converter, Limits};
use serde::Deserialize;

use super::notify::FileNotify;
use super::values::{Name, Pattern, Share, Size, Word, words};
use super::{ConfigError, ShowArg, ViewArg};
use crate::root_rules::RuleSet;

/// The configuration file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileConfig {
    pub(super) link: Option<PathBuf>,
    pub(super) mount: Option<PathBuf>,
    #[serde(default)]
    pub(super) no_mount: bool,
    pub(super) view: Option<ViewArg>,
    pub(super) show: Option<ShowArg>,
    pub(super) similar_name: Option<Name>,
    pub(super) state: Option<PathBuf>,
    pub(super) socket: Option<PathBuf>,
    pub(super) ignore: Option<bool>,
    pub(super) one_file_system: Option<bool>,
    pub(super) text: Option<bool>,
    pub(super) exclude: Option<Vec<Pattern>>,
    #[serde(alias = "max_size")]
    pub(super) max_size: Option<Size>,
    pub(super) alert_min: Option<Share>,
    pub(super) alert_min_size: Option<Size>,
    pub(super) alert_kinds: Option<Vec<Word>>,
    pub(super) chunk_size: Option<u32>,
    pub(super) boilerplate: Option<u32>,
    pub(super) wait: Option<bool>,
    pub(super) reconcile: Option<u64>,
    #[serde(default)]
    pub(super) root: Vec<FileRoot>,
    #[serde(default)]
    pub(super) catalogue: Vec<FileCatalogue>,
    #[serde(default)]
    pub(super) limits: FileLimits,
    #[serde(default)]
    pub(super) converter: Vec<FileConverter>,
    #[serde(default)]
    pub(super) notify: Vec<FileNotify>,
}

/// The `[limits]` table of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileLimits {
    depth: Option<u32>,
    ratio: Option<u64>,
    bytes: Option<u64>,
    parts: Option<u32>,
    time: Option<u64>,
    memory: Option<u64>,
}

impl FileLimits {
    pub(super) fn limits(&self) -> Limits {
        const MIB: u64 = 1 << 20;
        let usual = Limits::default();
        let mib = |given: Option<u64>, usual| given.map_or(usual, |mib| mib.saturating_mul(MIB));
        Limits {
            depth: self.depth.unwrap_or(usual.depth),
            ratio: self.ratio.unwrap_or(usual.ratio),
            bytes: mib(self.bytes, usual.bytes),
            parts: self.parts.unwrap_or(usual.parts),
            time: self.time.map_or(usual.time, Duration::from_secs),
            memory: mib(self.memory, usual.memory),
        }
    }
}

/// A `[[converter]]` table of the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileConverter {
    extensions: Vec<String>,
    command: Vec<String>,
}

impl FileConverter {
    pub(super) fn converter(&self) -> Result<Converter, ConfigError> {
        if self.command.is_empty() || self.extensions.is_empty() {
            return Err(ConfigError::Converter);
        }
        let ending = |given: &String| given.trim_start_matches('.').to_lowercase();
        Ok(Converter {
            extensions: self.extensions.iter().map(ending).collect(),
            command: self.command.clone(),
        })
    }
}

/// A `[[root]]` table of the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileRoot {
    pub(super) path: PathBuf,
    pub(super) ignore: Option<bool>,
    pub(super) one_file_system: Option<bool>,
    pub(super) text: Option<bool>,
    pub(super) exclude: Option<Vec<Pattern>>,
    #[serde(alias = "max_size")]
    pub(super) max_size: Option<Size>,
    pub(super) alert_min: Option<Share>,
    pub(super) alert_min_size: Option<Size>,
    pub(super) alert_kinds: Option<Vec<Word>>,
}

/// A `[[catalogue]]` table of the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileCatalogue {
    /// The path of a folder, followed by a pattern for file names.
    pub(super) path: PathBuf,
}

impl FileRoot {
    /// Returns the rules of a root. If the root does not set a rule, the rule for all roots
    /// applies.
    pub(super) fn rules(&self, of_all: &RuleSet) -> RuleSet {
        let own = RuleSet {
            scan: RootRules {
                exclude: patterns(self.exclude.as_ref()),
                max_size: self.max_size.map(|size| size.0),
                ..RootRules::default()
            },
            alerts: AlertRules {
                min: self.alert_min.map(|share| share.0),
                min_size: self.alert_min_size.map(|size| size.0),
                kinds: self.alert_kinds.as_deref().map(words),
            },
        };
        let mut rules = own.or(of_all);
        // A table can also set a rule back to its default value.
        rules.scan.ignore = self.ignore.unwrap_or(of_all.scan.ignore);
        rules.scan.one_file_system = self.one_file_system.unwrap_or(of_all.scan.one_file_system);
        rules.scan.text = self.text.unwrap_or(of_all.scan.text);
        if self.exclude.is_some() {
            rules.scan.exclude = own.scan.exclude;
        }
        rules
    }
}

impl FileConfig {
    /// Returns the rules for all roots. They apply where a root has no rule of its own.
    pub(super) fn rules_of_all(&self) -> RuleSet {
        let alerts = AlertRules {
            min: self.alert_min.map(|share| share.0),
            min_size: self.alert_min_size.map(|size| size.0),
            kinds: self.alert_kinds.as_deref().map(words),
        };
        RuleSet {
            scan: RootRules {
                ignore: self.ignore.unwrap_or(false),
                one_file_system: self.one_file_system.unwrap_or(false),
                text: self.text.unwrap_or(true),
                exclude: patterns(self.exclude.as_ref()),
                max_size: self.max_size.map(|size| size.0),
            },
            alerts: alerts.spelt_short(),
        }
    }
}

fn patterns(list: Option<&Vec<Pattern>>) -> Vec<String> {
    let list = list.into_iter().flatten();
    list.map(|pattern| pattern.0.clone()).collect()
}
