//! Reads the `[[notify]]` tables of the configuration file, each of which is a sink of alerts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use resemble_notify::{Filter, Input, Mail, Pace, Program};
use resemble_proto::number::duration;
use resemble_proto::pattern::Patterns;
use serde::{Deserialize, Deserializer, de};

use super::ConfigError;
use super::values::{NumberOrWords, Pattern, Share, Word, words};
use crate::alerts::sinks::{FileSink, Journal, SinkConfig, SinkKind};

/// The default limit of runs per minute for a command that runs once for each alert.
const RATE: u32 = 30;
/// The default minimum pause between two mails.
const MAIL_EVERY: Duration = Duration::from_secs(600);
/// Default time limit of a command.
const LIMIT: Duration = Duration::from_secs(30);

/// A `[[notify]]` table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileNotify {
    sink: String,
    name: Option<String>,
    #[serde(default)]
    roots: Vec<PathBuf>,
    min: Option<Share>,
    kinds: Option<Vec<Word>>,
    #[serde(default)]
    exclude: Vec<Pattern>,
    path: Option<PathBuf>,
    command: Option<Vec<String>>,
    input: Option<FileInput>,
    to: Option<Addresses>,
    from: Option<String>,
    sendmail: Option<PathBuf>,
    timeout: Option<Time>,
    rate: Option<u32>,
    every: Option<Time>,
    digest: Option<FileDigest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FileInput {
    Json,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FileDigest {
    Daily,
}

/// One mail address, or a list of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Addresses {
    One(String),
    Many(Vec<String>),
}

/// A duration: text such as `"10m"`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match NumberOrWords::deserialize(from)? {
            NumberOrWords::Number(seconds) => Ok(Self(Duration::from_secs(seconds))),
            NumberOrWords::Words(words) => duration(&words).map(Self).map_err(de::Error::custom),
        }
    }
}

/// Returns the sinks that the tables describe. `in_file` resolves relative paths.
pub(super) fn sinks(
    tables: &[FileNotify],
    in_file: &dyn Fn(&Path) -> PathBuf,
) -> Result<Vec<SinkConfig>, ConfigError> {
    let mut names = BTreeSet::new();
    let mut sinks = Vec::new();
    for table in tables {
        let sink = table.sink(in_file).map_err(|wrong| ConfigError::Notify {
            sink: table.name().to_owned(),
            wrong,
        })?;
        if !names.insert(sink.name.clone()) {
            let wrong = "there are two of this name: give each a `name` of its own".to_owned();
            let sink = sink.name;
            return Err(ConfigError::Notify { sink, wrong });
        }
        sinks.push(sink);
    }
    Ok(sinks)
}

impl FileNotify {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.sink)
    }

    fn sink(&self, in_file: &dyn Fn(&Path) -> PathBuf) -> Result<SinkConfig, String> {
        self.check_keys()?;
        if self.name().is_empty() || self.name().chars().any(char::is_control) {
            return Err("its name is empty or has control characters".to_owned());
        }
        let exclude: Vec<String> = self.exclude.iter().map(|glob| glob.0.clone()).collect();
        let filter = Filter {
            roots: self.roots.iter().map(|root| real(in_file(root))).collect(),
            min: self.min.map(|share| share.0),
            kinds: self.kinds.as_deref().map(words),
            patterns: Patterns::new(&[], &exclude).map_err(|error| error.to_string())?,
        };
        Ok(SinkConfig {
            name: self.name().to_owned(),
            filter,
            pace: self.pace(),
            kind: self.kind(in_file)?,
        })
    }

    /// Refuses a key that has no meaning for this kind of sink.
    fn check_keys(&self) -> Result<(), String> {
        let given: [(&str, bool, &[&str]); 10] = [
            ("path", self.path.is_some(), &["journal", "file"]),
            ("command", self.command.is_some(), &["command"]),
            ("input", self.input.is_some(), &["command"]),
            ("to", self.to.is_some(), &["mail"]),
            ("from", self.from.is_some(), &["mail"]),
            ("sendmail", self.sendmail.is_some(), &["mail"]),
            ("timeout", self.timeout.is_some(), &["command", "mail"]),
            ("rate", self.rate.is_some(), &["command"]),
            ("every", self.every.is_some(), &["command", "mail"]),
            ("digest", self.digest.is_some(), &["command", "mail"]),
        ];
        for (key, is_given, of) in given {
            if is_given && !of.contains(&self.sink.as_str()) {
                return Err(format!("`{key}` is a key of {} only", of.join(" and ")));
            }
        }
        let paces = [
            self.rate.is_some(),
            self.every.is_some(),
            self.digest.is_some(),
        ];
        if paces.iter().filter(|is_given| **is_given).count() > 1 {
            return Err("only one of `rate`, `every` and `digest` makes sense".to_owned());
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        if self.digest.is_some() {
            return Pace::Daily;
        }
        if let Some(every) = self.every {
            return Pace::Gathered(every.0);
        }
        match self.sink.as_str() {
            "command" => match self.rate.unwrap_or(RATE) {
                0 => Pace::Each(u32::MAX),
                rate => Pace::Each(rate),
            },
            "mail" => Pace::Gathered(MAIL_EVERY),
            _ => Pace::All,
        }
    }

    fn kind(&self, in_file: &dyn Fn(&Path) -> PathBuf) -> Result<SinkKind, String> {
        let limit = self.timeout.map_or(LIMIT, |time| time.0);
        match self.sink.as_str() {
            "journal" => Ok(SinkKind::Journal(match &self.path {
                Some(path) => Journal {
                    socket: in_file(path),
                },
                None => Journal::default(),
            })),
            "file" => {
                let path = self.path.as_ref().ok_or("it needs a `path`")?;
                let path = in_file(path);
                Ok(SinkKind::File(FileSink { path }))
            }
            "command" => {
                let command = self.command.clone().unwrap_or_default();
                if command.first().is_none_or(String::is_empty) {
                    let wrong = "it needs a `command`: a list of the program and its arguments";
                    return Err(wrong.to_owned());
                }
                if command.iter().any(|word| word.contains('\0')) {
                    return Err("no argument can hold a NUL".to_owned());
                }
                Ok(SinkKind::Command(Program {
                    command,
                    input: match self.input {
                        None | Some(FileInput::Json) => Input::Json,
                        Some(FileInput::Text) => Input::Text,
                    },
                    limit,
                }))
            }
            "mail" => {
                let to = match self.to.clone().ok_or("it needs an address in `to`")? {
                    Addresses::One(address) => vec![address],
                    Addresses::Many(addresses) => addresses,
                };
                let mut all = to.iter().chain(&self.from);
                if let Some(bad) = all.find(|address| !Mail::is_address(address)) {
                    return Err(format!("{bad:?} is no address"));
                }
                if to.is_empty() {
                    return Err("it needs an address in `to`".to_owned());
                }
                let usual = || PathBuf::from("/usr/sbin/sendmail");
                Ok(SinkKind::Mail(Mail {
                    program: self.sendmail.as_deref().map_or_else(usual, in_file),
                    to,
                    from: self.from.clone(),
                    limit,
                }))
            }
            "desktop" => Err(
                "the daemon has no desktop: `resemble notify`, or the user unit \
                 resemble-notify.service, shows alerts there"
                    .to_owned(),
            ),
            other => Err(format!(
                "`{other}` is no sink: journal, file, command or mail"
            )),
        }
    }
}

/// Resolves symbolic links if the path exists. The paths in alerts have no links. So a filter root
/// whose path has links would match no alert.
fn real(path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or(path)
}
