//! The keys and tables of the configuration file, in the form in which they are written.

use std::path::PathBuf;
use std::time::Duration;

use resemble_core::ByteLen;
use resemble_proto::message::AlertRules;
use resemble_scan::parts::{Converter, Limits};
use serde::Deserialize;

use super::notify::FileNotify;
use super::values::{Name, Pattern, Share, Size, Word, words};
use super::{ConfigError, ShowArg, ViewArg};

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
    /// Returns the alert rules of a root. Rules that the root does not set are those for all roots.
    pub(super) fn alert_rules(&self, file: &FileConfig) -> AlertRules {
        let of_all = file.alert_rules();
        let kinds = self.alert_kinds.as_deref().map(words);
        AlertRules {
            min: self.alert_min.map(|share| share.0).or(of_all.min),
            min_size: self.alert_min_size.map(|size| size.0).or(of_all.min_size),
            kinds: kinds.or(of_all.kinds),
        }
        .spelt_short()
    }
}

impl FileConfig {
    /// Returns the alert rules for all roots, which apply if a root has none of its own.
    pub(super) fn alert_rules(&self) -> AlertRules {
        AlertRules {
            min: self.alert_min.map(|share| share.0),
            min_size: self.alert_min_size.map(|size| size.0),
            kinds: self.alert_kinds.as_deref().map(words),
        }
        .spelt_short()
    }
}

/// Returns the patterns and the maximum size that exclude files of a root. Each is the root's own
/// or, if it has none, the one for all roots.
pub(super) fn left_out<'a>(
    (exclude, max_size): (Option<&'a Vec<Pattern>>, Option<Size>),
    file: &'a FileConfig,
) -> (Vec<String>, Option<ByteLen>) {
    let patterns = exclude.or(file.exclude.as_ref()).into_iter().flatten();
    let exclude = patterns.map(|pattern| pattern.0.clone()).collect();
    let max_size = max_size.or(file.max_size);
    (exclude, max_size.map(|size| ByteLen(size.0)))
}
