//! Reads the command line and the configuration file, and checks both before the daemon does
//! anything.
//!
//! Most long options are keys of the file, without the leading `--`. Each root is a table
//! `[[root]]` with rules of its own. If the file and the command line disagree, the command line
//! decides. Every mistake that can be found without an index is found here. A mistake ends the
//! program with one sentence and status 2. A file may look like this:
//!
//! ```toml
//! link = "~/Similar"
//! view = "folders"
//!
//! [[root]]
//! path = "~/Documents"
//!
//! [[root]]
//! path = "/srv/projects"
//! ignore = true
//! one-file-system = true
//! text = false
//! exclude = ["node_modules", "*.iso"]
//! max-size = "1G"
//! alert-min = "90%"
//! alert-kinds = ["identical", "near", "tree"]
//!
//! [[catalogue]]
//! path = "/srv/catalogues/*.cat"
//!
//! [limits]
//! time = 20
//! memory = 512
//!
//! [[converter]]
//! extensions = ["doc"]
//! command = ["antiword", "{}"]
//! ```
//!
//! A `[[catalogue]]` table names a folder whose catalogues are kept up to date. Its `path` is the
//! path of the folder, followed by a pattern for the names of the catalogues (docs/catalogues.md).
//! A `[[notify]]` table is a sink of alerts: docs/alerts.md.
//!
//! `[limits]` bounds the cost of one document or archive. `depth` limits how deep archives may be
//! nested. `ratio` limits the extracted bytes as a multiple of the stored bytes. `bytes` limits the
//! extracted bytes, and `parts` limits the number of parts. `bytes` and `memory` are in MiB, and
//! `time` is in seconds. A `[[converter]]` is for a format that is not supported otherwise. The
//! converter makes text of files whose names have one of its `extensions`.
//!
//! Relative paths of the command line start at the working directory. Relative paths in the file
//! start at the folder of the file. In the file, `~/` at the start of a path is the home folder. On
//! the command line the shell expands it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};
use resemble_core::Params;
use resemble_core::params::ChunkParams;
use resemble_fs::{Show, SimilarName, View};
use resemble_notify::{Filter, Pace};
use resemble_proto::message::{AlertRules, RootRules, reason};
use resemble_proto::number::size;
use resemble_proto::pattern::{self, BadPattern};
use resemble_proto::places::{self, Env, PlaceError};
use resemble_scan::ingest::RootOptions;
use resemble_scan::parts::{Converter, Limits};
use serde::Deserialize;

mod catalogues;
mod file;
mod notify;
mod roots;
mod system;
mod values;

use crate::alerts::sinks::{Journal, SinkConfig, SinkKind, journal};
use crate::root_rules::{RuleSet, root_with};
pub use catalogues::{CatalogueFolder, NoFolder};
use file::{FileConfig, FileConverter};
pub(crate) use roots::real;
pub use roots::{RootError, checked_root, not_nested};
pub use system::SystemConfig;
pub(crate) use system::{held_fast, numbers};

/// The default pause between two comparisons of the whole tree with the index.
const RECONCILE: Duration = Duration::from_secs(3600);
/// The default limit of boilerplate. If more contents than this have a chunk or a sample, it is
/// boilerplate.
const BOILERPLATE: u32 = 1000;

/// The command line.
#[derive(Clone, Debug, Default, Parser)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line
#[command(
    name = "resembled",
    version,
    about = "Watches folders, indexes their files by content, and answers what resembles what",
    after_help = "Runs in the foreground until SIGTERM or SIGINT. `resemble status` shows what it \
                  does."
)]
pub struct Args {
    /// Folders to watch, in addition to those of the configuration and of `resemble watch add`
    #[arg(value_name = "ROOT")]
    pub roots: Vec<PathBuf>,
    /// Make a symbolic link here that leads to the view of the watched folders
    #[arg(long, value_name = "PATH")]
    pub link: Option<PathBuf>,
    /// Mount the view here [default: resemble/view in the runtime folder]
    ///
    /// Not among your files: programs that walk through them (duplicate finders, backups) would
    /// meet every file a second time. What belongs there is a link: --link.
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,
    /// Mount no view
    #[arg(long, conflicts_with_all = ["mount", "link"])]
    pub no_mount: bool,
    /// How the overlay shows the tree [default: folders]
    #[arg(long, value_enum)]
    pub view: Option<ViewArg>,
    /// Whether listings of the overlay show `.similar` [default: as the view has it]
    #[arg(long, value_enum)]
    pub show: Option<ShowArg>,
    /// List `.similar` under this name, for file managers, which hide names that begin with a dot
    ///
    /// It can be opened as `.similar` in any case. What has one of the two names in the watched
    /// folders is not shown.
    #[arg(long, value_name = "NAME")]
    pub similar_name: Option<SimilarName>,
    /// Where index, alerts and the list of kept roots live
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// The socket to listen at
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Read options and roots from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Honour ignore files and skip `.git` in the roots of the command line
    #[arg(long)]
    pub ignore: bool,
    /// Do not enter other file systems below the roots of the command line
    #[arg(long)]
    pub one_file_system: bool,
    /// Extract texts and members of documents and archives in the roots of the command line
    /// [default: on]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub text: Option<TextArg>,
    /// Leave out names that match GLOB (as in .gitignore), with all below, in the roots of the
    /// command line; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub exclude: Vec<String>,
    /// Leave out files of more than SIZE bytes (4096, 10K of 1024 each, 10KB of 1000, 1.5G) in the
    /// roots of the command line
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_size: Option<u64>,
    /// Average size of chunks in bytes [default: 1015]
    #[arg(long, value_name = "N")]
    pub chunk_size: Option<u32>,
    /// A chunk or sample that more contents than this have is boilerplate [default: 1000]
    #[arg(long, value_name = "N")]
    pub boilerplate: Option<u32>,
    /// Answer all users of this machine, each from the files that they can open themselves
    ///
    /// Started by root, or by the units for it; see docs/system-mode.md. Places are then
    /// /var/lib/resemble, /run/resemble/socket and /run/resemble-view.
    #[arg(long, conflicts_with_all = ["link", "write_config"])]
    pub system: bool,
    /// The user that the system's daemon becomes: a name, or UID:GID [default: resembled]
    #[arg(long, value_name = "USER", requires = "system")]
    pub user: Option<String>,
    /// The group whose members give orders to the system's daemon [default: resemble]
    #[arg(long, value_name = "GROUP", requires = "system")]
    pub control_group: Option<String>,
    /// Write a configuration to start with, for these roots, and end: to --config, or to
    /// resemble/resembled.toml among your configuration files
    #[arg(long)]
    pub write_config: bool,
    /// Open the socket and mount the overlay only when the first scan is done
    #[arg(long)]
    pub wait: bool,
    /// Compare the whole tree with the index every SECS seconds; 0 for never [default: 3600]
    #[arg(long, value_name = "SECS")]
    pub reconcile: Option<u64>,
    /// Say more; twice for everything
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// Say only what is wrong
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// Checks and returns a pattern that the command line gives.
fn glob(text: &str) -> Result<String, BadPattern> {
    pattern::check(text).map(|()| text.to_owned())
}

/// The values of `--view`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViewArg {
    /// Each file is a folder with the file itself and `.similar/`.
    Folders,
    /// The tree as it is; each folder answers `.similar/NAME/`.
    Files,
}

/// The values of `--show`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShowArg {
    /// Listed wherever it exists.
    Always,
    /// Never listed, but it can be opened wherever it exists.
    Never,
}

/// The values of `--text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextArg {
    /// Documents are compared by their text, archives by what they hold.
    On,
    /// Every file is compared by its bytes alone.
    Off,
}

/// The settings of the daemon, from the command line, the file and the environment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The roots: first those of the file, then those of the command line, each in the given order.
    pub roots: Vec<RootOptions>,
    /// The alert rules of each root, in the order of `roots`.
    pub alert_rules: Vec<(PathBuf, AlertRules)>,
    /// The rules of roots that neither the configuration file nor the command line names.
    pub rules_of_all: RuleSet,
    /// The number of roots from the file. These are the first roots in `roots`. `watch remove` can
    /// remove such a root, too. Later starts then do not watch it, although the file names it.
    pub roots_of_file: usize,
    /// The mount point of the overlay; `None` for no overlay.
    pub mount: Option<PathBuf>,
    /// The symbolic link to make, which leads to the mount point.
    pub link: Option<PathBuf>,
    /// True if an overlay or a link was requested. The daemon then fails to start if it cannot make
    /// it.
    pub must_mount: bool,
    /// The home folder. A mount point in it disturbs programs that walk through the home folder.
    pub home: Option<PathBuf>,
    /// The view of the overlay.
    pub view: View,
    /// Decides whether listings show `.similar`.
    pub show: Show,
    /// The name under which listings show `.similar`.
    pub similar_name: SimilarName,
    /// The state folder.
    pub state: PathBuf,
    /// The cache folder of the command `resemble`. Like the state folder, it is never indexed,
    /// because the command writes to that folder if it runs without the daemon.
    pub cache: Option<PathBuf>,
    /// The path of the socket.
    pub socket: PathBuf,
    /// Parameters of chunks and samples.
    pub params: Params,
    /// See [`resemble_index::Options::boilerplate_limit`].
    pub boilerplate: u32,
    /// True if the socket is opened and the overlay mounted only after the first scan.
    pub wait: bool,
    /// The time between two comparisons of the whole tree with the index; `None` for never.
    pub reconcile: Option<Duration>,
    /// Folders whose catalogues are kept up to date.
    pub catalogues: Vec<CatalogueFolder>,
    /// Limits on the cost of one document or archive.
    pub limits: Limits,
    /// Commands that convert files of otherwise unsupported formats.
    pub converters: Vec<Converter>,
    /// Sinks of alerts.
    pub sinks: Vec<SinkConfig>,
    /// Settings of system mode; `None` for a daemon of one user.
    pub system: Option<SystemConfig>,
}

/// An error in the command line, the configuration file or the environment.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {}", .path.display(), reason(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file of `--write-config` cannot be written.
    #[error("cannot write the configuration {}: {}", .path.display(), reason(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is invalid.
    #[error("in the configuration {}, line {line}: {message}", .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line of the error, counted from 1.
        line: usize,
        /// The error, in one line.
        message: String,
    },
    /// The requested average size of chunks is not supported.
    #[error(
        "--chunk-size {size}: the average must be from {} to {} bytes",
        ChunkParams::LEAST_AVERAGE,
        ChunkParams::GREATEST_AVERAGE
    )]
    ChunkSize {
        /// The requested size.
        size: u32,
    },
    /// A converter has no extensions or no command.
    #[error("a [[converter]] of the configuration needs extensions and a command")]
    Converter,
    /// A folder of catalogues is invalid.
    #[error("in the configuration, the [[catalogue]] {}: {wrong}", .path.display())]
    Catalogue {
        /// The path as the configuration file has it.
        path: PathBuf,
        /// The error.
        wrong: NoFolder,
    },
    /// A sink of alerts is invalid.
    #[error("in the configuration, the [[notify]] `{sink}`: {wrong}")]
    Notify {
        /// Name of the sink.
        sink: String,
        /// The error, in one line.
        wrong: String,
    },
    /// There is no such user or group, or the user is root.
    #[error(
        "{0} is no user or group that the system's daemon could have; `systemd-sysusers` makes \
         them, or name others with --user and --control-group"
    )]
    NoUser(String),
    /// System mode does not support this option.
    #[error("{0} is for the daemon of one user: --system does not do it")]
    NotForAll(&'static str),
    /// The environment gives no place for a folder or the socket.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The working directory does not exist any more.
    #[error("cannot determine the working directory: {0}")]
    WorkingDirectory(io::Error),
    /// A root cannot be watched.
    #[error(transparent)]
    Root(#[from] RootError),
}

impl Config {
    /// Combines the command line, the file that it names and the environment.
    pub fn load(args: &Args, env: &Env) -> Result<Self, ConfigError> {
        let here = std::env::current_dir().map_err(ConfigError::WorkingDirectory)?;
        let (file, folder) = file_of(args, &here)?;
        let in_file = |path: &Path| in_folder(&folder, env.home.as_deref(), path);
        let rules_of_all = file.rules_of_all();
        let roots = roots_asked((args, &here), (&file, &in_file), &rules_of_all);
        let of_both = |line: &Option<PathBuf>, in_the_file: &Option<PathBuf>| {
            line.as_ref()
                .map(|path| here.join(path))
                .or_else(|| in_the_file.as_ref().map(|path| in_file(path)))
        };
        let system = args
            .system
            .then(|| SystemConfig::of(args.user.as_deref(), args.control_group.as_deref()));
        let system = system.transpose()?;
        let [for_state, for_socket, for_view] =
            system::places().map(|place| system.is_some().then_some(place));
        let state_given = of_both(&args.state, &file.state).or(for_state);
        let state = here.join(places::state_dir(env, state_given.as_deref())?);
        let socket_given = of_both(&args.socket, &file.socket).or(for_socket);
        let socket = places::socket_path(env, socket_given.as_deref(), Some(&state))?;
        let mut params = Params::default();
        if let Some(size) = args.chunk_size.or(file.chunk_size) {
            params.chunk = ChunkParams::scaled(size).ok_or(ConfigError::ChunkSize { size })?;
        }
        let reconcile = args
            .reconcile
            .or(file.reconcile)
            .map_or(RECONCILE, Duration::from_secs);
        let link = of_both(&args.link, &file.link);
        let mount = of_both(&args.mount, &file.mount);
        let must_mount = mount.is_some() || link.is_some();
        let mount = match mount {
            None if args.no_mount || (file.no_mount && !must_mount) => None,
            None if for_view.is_some() => for_view,
            None => view_place(env, must_mount)?,
            given => given,
        };
        let mut config = Self {
            roots: Vec::new(),
            alert_rules: Vec::new(),
            rules_of_all,
            roots_of_file: file.root.len(),
            link: link.filter(|_| mount.is_some()),
            must_mount: must_mount && mount.is_some(),
            mount,
            home: env.home.clone(),
            view: match args.view.or(file.view) {
                None | Some(ViewArg::Folders) => View::Folders,
                Some(ViewArg::Files) => View::Files,
            },
            show: match args.show.or(file.show) {
                None => Show::default(),
                Some(ShowArg::Always) => Show::Always,
                Some(ShowArg::Never) => Show::Never,
            },
            similar_name: (args.similar_name.clone())
                .or(file.similar_name.map(|name| name.0))
                .unwrap_or_default(),
            state,
            cache: places::cache_dir(env).ok(),
            socket: here.join(socket),
            params,
            boilerplate: args.boilerplate.or(file.boilerplate).unwrap_or(BOILERPLATE),
            wait: args.wait || file.wait.unwrap_or(false),
            reconcile: (!reconcile.is_zero()).then_some(reconcile),
            catalogues: file
                .catalogue
                .iter()
                .map(|table| catalogue_folder(&table.path, &in_file))
                .collect::<Result<_, _>>()?,
            limits: file.limits.limits(),
            converters: file
                .converter
                .iter()
                .map(FileConverter::converter)
                .collect::<Result<_, _>>()?,
            sinks: notify::sinks(&file.notify, &in_file)?,
            system: None,
        };
        config.add_roots(roots, system.is_some())?;
        match system {
            Some(system) => config.for_all(system),
            None => Ok(config),
        }
    }

    /// Checks the roots and adds them. Fails at the first root that cannot be watched.
    fn add_roots(
        &mut self,
        roots: Vec<(RootOptions, AlertRules)>,
        in_system: bool,
    ) -> Result<(), ConfigError> {
        for (root, rules) in roots {
            let root = checked_root(root, &self.state);
            let root = if in_system {
                root.map_err(system::perhaps_hidden)?
            } else {
                root?
            };
            let others = self.roots.iter().map(|other| other.path.as_path());
            not_nested(&root.path, others)?;
            self.alert_rules.push((root.path.clone(), rules));
            self.roots.push(root);
        }
        Ok(())
    }

    /// Returns whether the journal of systemd is among the sinks of alerts.
    pub fn has_journal(&self) -> bool {
        let is_journal = |sink: &SinkConfig| matches!(sink.kind, SinkKind::Journal(_));
        self.sinks.iter().any(is_journal)
    }

    /// Adds the journal of systemd as a sink of alerts, if the journal's socket exists. Call it
    /// only if the journal also gets the messages of this process.
    pub fn send_to_journal(&mut self) {
        if !self.has_journal() && Path::new(journal::SOCKET).exists() {
            self.sinks.push(SinkConfig {
                name: "journal".to_owned(),
                filter: Filter::default(),
                pace: Pace::All,
                kind: SinkKind::Journal(Journal::default()),
            });
        }
    }
}

/// Returns the settings of the file that the command line names, or no settings if it names no
/// file. Also returns the folder at which the relative paths of the file start.
fn file_of(args: &Args, here: &Path) -> Result<(FileConfig, PathBuf), ConfigError> {
    let Some(path) = &args.config else {
        return Ok((FileConfig::default(), here.to_path_buf()));
    };
    let path = here.join(path);
    let text = fs::read_to_string(&path).map_err(|source| ConfigError::Read {
        path: path.clone(),
        source,
    })?;
    let file = toml::from_str(&text).map_err(|error| not_parsed(&path, &text, &error))?;
    Ok((file, path.parent().unwrap_or(Path::new("/")).to_path_buf()))
}

/// Returns the roots of the file, then those of the command line. The options of the command line
/// apply only to the roots of the command line.
fn roots_asked(
    (args, here): (&Args, &Path),
    (file, in_file): (&FileConfig, &dyn Fn(&Path) -> PathBuf),
    of_all: &RuleSet,
) -> Vec<(RootOptions, AlertRules)> {
    let of_file = (file.root.iter()).map(|root| (in_file(&root.path), root.rules(of_all)));
    let of_line = args.roots.iter().map(|root| {
        let given = RuleSet {
            scan: RootRules {
                ignore: args.ignore,
                one_file_system: args.one_file_system,
                exclude: args.exclude.clone(),
                max_size: args.max_size,
                ..RootRules::default()
            },
            ..RuleSet::default()
        };
        let mut rules = given.or(of_all);
        if let Some(text) = args.text {
            rules.scan.text = text == TextArg::On;
        }
        (here.join(root), rules)
    });
    let with_options = |(path, rules): (PathBuf, RuleSet)| {
        let options = root_with(path, rules.scan);
        (options, rules.alerts)
    };
    of_file.chain(of_line).map(with_options).collect()
}

/// Returns the default mount point, which is in the runtime folder. Without a runtime folder,
/// returns a place in a folder for temporary files if `must_mount` is true, and `None` if not.
fn view_place(env: &Env, must_mount: bool) -> Result<Option<PathBuf>, ConfigError> {
    match places::view_dir(env) {
        None if must_mount => Ok(Some(places::temporary_view_dir(env)?)),
        place => Ok(place),
    }
}

fn catalogue_folder(
    path: &Path,
    in_file: &dyn Fn(&Path) -> PathBuf,
) -> Result<CatalogueFolder, ConfigError> {
    CatalogueFolder::of(&in_file(path)).map_err(|wrong| ConfigError::Catalogue {
        path: path.to_owned(),
        wrong,
    })
}

/// Returns the parser's error with its line in the file. The message may have several lines, which
/// are joined into one.
fn not_parsed(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or(text);
    let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
    ConfigError::Parse {
        path: path.to_path_buf(),
        line: 1 + before.matches('\n').count(),
        message: lines.join(", "),
    }
}

/// Resolves a path of the configuration file. `~` is the home folder. Relative paths start at
/// `folder`, the folder of the file.
fn in_folder(folder: &Path, home: Option<&Path>, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home.to_path_buf(),
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    }
}

#[cfg(test)]
mod tests;
