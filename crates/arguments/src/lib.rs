//! The command line of `resemble`: all verbs and options. The doc comments are the help texts. The
//! manual pages, the completions and `docs/cli-reference.md` are generated from them.
//!
//! Parsing only checks what can be checked without looking at the system.
//!
//! * [`Cli`] is the whole command line, and [`Command`] has the verbs. The options of each verb are
//!   in a module of its own; options of several verbs are here, in `layer`, `output` and `report`.
//! * [`values`] and `plan` parse the values of options. [`local_time`] has the reader's time zone.
#![forbid(unsafe_code)]

mod advice;
mod catalogue;
mod check;
mod compare;
mod covered;
mod daemon;
mod digest;
mod dirs;
mod dump;
mod find;
mod groups;
mod headings;
mod help;
mod lab;
mod layer;
pub mod local_time;
mod mcp;
mod old_names;
mod output;
mod pairs;
mod plan;
mod report;
mod screen;
mod setup;
mod shell;
mod sweeps;
mod templates;
mod text;
mod trash;
pub mod values;
mod versions;
mod why;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use resemble_proto::message::{PairRelation, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use layer::with_values;
use old_names::renamed;

pub use advice::advised;
pub use catalogue::{
    AddArgs, CatalogueAction, CatalogueArgs, CatalogueFormat, JoinArgs, WriteArgs,
};
pub use check::{CheckArgs, CheckFormat};
pub use compare::CompareArgs;
pub use covered::CoveredArgs;
pub use daemon::{
    AckArgs, AlertsAction, AlertsArgs, DoctorArgs, NotifyArgs, OnArgs, StatusArgs, StatusFormat,
    SyncArgs, ViewAction, ViewArgs, WatchAction, WatchArgs,
};
pub use digest::DigestArgs;
pub use dirs::DirsArgs;
pub use dump::DumpArgs;
pub use find::{FindArgs, Measuring};
pub use groups::GroupsArgs;
pub use help::HelpArgs;
pub use lab::LabArgs;
pub use layer::{TextLayer, TextWanted};
pub use mcp::McpArgs;
pub use output::{DocumentFormat, DocumentOutput, RowFormat, RowOutput};
pub use pairs::PairsArgs;
pub use report::{ListAs, ListOutput, OutputError, ReportFormat, ReportOutput};
pub use screen::ScreenArgs;
pub use setup::SetupArgs;
pub use shell::ShellInitArgs;
pub use sweeps::{HistoryArgs, InSweeps, LostArgs};
pub use templates::{MarkArgs, TemplatesAction, TemplatesArgs};
pub use text::TextArgs;
pub use trash::TrashArgs;
pub use versions::VersionsArgs;
pub use why::WhyArgs;

/// The colours of help pages.
pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default());

/// The heading of options that few users need; `-h` omits them.
const EXPERT: &str = "Expert";

const EXIT_CODES: &str = "\
Exit codes:
  0  the asked-for state holds: something found, no difference, covered, live,
     in sync, done
  1  it does not: nothing found, differences, not covered, still scanning or
     degraded, out of time
  2  trouble: wrong usage, no daemon where one is needed, or some files could
     not be read (what was found is printed nevertheless). Below a directory in
     which something was only looked for (--in, --by) that is reported, no more";

const FIND_EXAMPLES: &str = "\
Examples:
  resemble find report.txt
      What resembles report.txt among everything the daemon watches.
  resemble find report.txt --in ~/Documents --min 70%
      The same among the files of one directory; needs no daemon.
  curl -s https://example.org/licence.txt | resemble find - --in .
      Where is that text, or most of it?
  resemble find secret.txt --holders --in /srv --min-shared 100
      Every file that holds a part of it, where, and whose it is: to purge a text.
  resemble find *.c --in ../old --format tsv | cut -f 1,2,7
      For another program: tab-separated, fractions instead of percents.
  resemble find report.txt --socket ssh://nas
      Which machine has it, or a version of it? The file stays here, and the figures are
      estimates: only a digest of it is sent to the daemon of nas.

The percentage is the larger of two: how much of FILE is in the other file, and how much of the
other file is in FILE. 100% is kept for files with equal bytes.

On a terminal versions of FILE come first (identical, same-text, near), then what holds FILE, then
what lies in it, with sizes and dates; \"newest\" marks a version that is younger than FILE and all
others. In a pipe, and with --format, the rows are in the order of their percentages.";

/// Find the files that share content with a file, how much, and where
///
/// Asks the daemon `resembled` if one runs and watches what is asked about; reads the named files
/// itself otherwise, and remembers what it read. Both give the same answers. No file that is looked
/// at is ever changed.
#[derive(Debug, Parser)]
#[command(name = "resemble", bin_name = "resemble", version)]
#[command(styles = STYLES, after_long_help = EXIT_CODES)]
#[command(max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// The options of all commands.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses the command line.
    pub fn of(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let root = Self::command();
        let args = with_values(renamed(args, &root));
        let parsed = root.try_get_matches_from(&args);
        // The list of verbs is built only for help and errors. Building it takes time that no
        // question should pay for, so a successful parse works without it.
        let parsed = parsed.or_else(|_| Self::listed(false).try_get_matches_from(&args))?;
        Self::from_arg_matches(&parsed)
    }

    /// Returns the command line whose help lists the verbs under headings. With `all` these are all
    /// verbs, otherwise only those that most people need.
    pub fn listed(all: bool) -> clap::Command {
        headings::listed(Self::command(), all)
    }
}

/// Options of all commands.
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// `--socket`.
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = EXPERT)]
    #[arg(
        help = "The daemon's socket [env: RESEMBLE_SOCKET], or ssh://[USER@]HOST[:PORT] for that \
                of another machine; with --socket, a daemon must answer there"
    )]
    #[arg(hide_short_help = true)]
    pub socket: Option<PathBuf>,
    /// `--state`.
    #[arg(
        help = "The state folder [env: RESEMBLE_STATE]: index, templates and catalogues; if either \
                is given, only the daemon that keeps its state there is asked"
    )]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = EXPERT)]
    #[arg(hide_short_help = true)]
    pub state: Option<PathBuf>,
    /// Do not ask the daemon; read the named files
    #[arg(long, global = true, conflicts_with = "socket")]
    #[arg(hide_short_help = true)]
    pub local: bool,
    /// Say nothing on standard error but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    #[arg(hide_short_help = true)]
    pub quiet: bool,
    /// Print more columns, and say who answered
    #[arg(short, long, global = true)]
    #[arg(hide_short_help = true)]
    pub verbose: bool,
    /// `--color`.
    #[arg(help = "Use colours; NO_COLOR in the environment switches `auto` off")]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_short_help = true)]
    pub color: ColorWhen,
    /// Do not show long output on a terminal through $PAGER
    #[arg(long, global = true, help_heading = EXPERT)]
    #[arg(hide_short_help = true)]
    pub no_pager: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the files similar to a file, or to what standard input holds
    #[command(after_long_help = FIND_EXAMPLES)]
    Find(FindArgs),
    /// List every pair of files with something in common
    #[command(after_long_help = pairs::EXAMPLES)]
    Pairs(PairsArgs),
    /// Compare two directories (or files) by content, whatever the names
    ///
    /// Every file of both is in one row: same, edited, moved, moved-edited, contained,
    /// contains, only-a or only-b. Ends like diff: 0 without any difference, 1 with some, 2 for
    /// trouble.
    #[command(after_long_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Find out whether a directory can go: is all of it elsewhere?
    ///
    /// Files are compared now, byte by byte. Copies inside DIR itself do not count; near copies
    /// are listed separately and are not safe. Ends with 0 only if everything is covered.
    #[command(after_long_help = covered::EXAMPLES)]
    Covered(CoveredArgs),
    /// Find similar directories, whatever the names and the layout
    #[command(after_long_help = dirs::EXAMPLES)]
    Dirs(DirsArgs),
    /// Find identical files and clusters of similar files
    #[command(after_long_help = groups::EXAMPLES)]
    Groups(Box<GroupsArgs>),
    /// Browse groups and comparisons on the screen, and mark what can go
    ///
    /// Groups and folders by the bytes that are there more than once, the files of a group side by
    /// side, marks by hand or by a rule. Writes a plan and changes nothing itself.
    #[command(after_long_help = screen::EXAMPLES)]
    Ui(Box<ScreenArgs>),
    /// Leave out text that many files have by design, such as forms
    #[command(after_long_help = templates::EXAMPLES)]
    Templates(TemplatesArgs),
    /// Show where two files agree and where they differ
    ///
    /// Ends with 0 if the files are similar, with 1 if they are not.
    #[command(after_long_help = why::EXAMPLES)]
    Why(WhyArgs),
    /// Show what the daemon watches, and whether it is up to date
    ///
    /// Ends with 0 when every root is live, with 1 while one is scanned or anything is degraded.
    ///
    /// --format openmetrics is for monitoring: the exit code says the same, and without a daemon
    /// `resemble_up 0` is printed.
    Status(StatusArgs),
    /// Look for what keeps the daemon from working well
    ///
    /// Says what to type. It looks at the daemon and its troubles, the limits of the kernel, the
    /// fences of the processes that read documents, the overlay, the places of state and socket,
    /// and the unit. Changes nothing. Ends with 0 when nothing is wrong, with 1 when something is.
    #[command(after_long_help = daemon::DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Wait until every change made so far is in the daemon's index
    ///
    /// Waits for every change that any process made before this command, in every root: also for
    /// the first scan, a rescan under way and files that are still being written.
    Sync(SyncArgs),
    /// Print the index, to be compared or chunk by chunk
    ///
    /// --canonical prints one line per path, sorted by bytes: path, type, size, digest of the
    /// content, the chunks as MD5:length, target of a link; separated by tabs. Equal states of one
    /// tree print the same. --chunks prints one line per chunk, for `sort`: length, MD5, number of
    /// the file; --files prints the number and the path of each file.
    #[command(after_long_help = dump::EXAMPLES)]
    Dump(DumpArgs),
    /// Write and keep catalogues: directories without their content
    #[command(after_long_help = catalogue::CATALOGUE_EXAMPLES)]
    Catalogue(CatalogueArgs),
    /// Find where the content of a vanished path is now
    ///
    /// The daemon remembers for 90 days what it saw go: renamed, moved or removed. Catalogues are
    /// sweeps: each knows the paths and contents of its day. What resembles the lost file, and what
    /// resembles that, in any of them or in a directory, is printed with its date, the latest
    /// first.
    #[command(after_long_help = sweeps::LOST_EXAMPLES)]
    Lost(LostArgs),
    /// Show how each version of a file resembles the one before
    ///
    /// One line per sweep, from dated catalogues and what is here now. With --summary: how
    /// everything changed from sweep to sweep.
    #[command(after_long_help = sweeps::HISTORY_EXAMPLES)]
    History(HistoryArgs),
    /// List the versions of a file by their dates, the newest marked
    ///
    /// Versions are all files that are linked with FILE by what they have in common, directly or
    /// through others. Each is listed with its date, its size and what it has in common with FILE.
    /// Dates are those of the files: a copy may have lost its own.
    #[command(after_long_help = versions::EXAMPLES)]
    Versions(VersionsArgs),
    /// Ask by a published method, or repeat the papers' experiments
    ///
    /// Runs the program `resemble-lab`; `resemble lab --help` is its manual. It reads the named
    /// files itself and asks no daemon.
    #[command(after_long_help = lab::EXAMPLES, disable_help_flag = true)]
    Lab(LabArgs),
    /// Add, remove or list the directories that the daemon watches
    #[command(after_long_help = daemon::WATCH_EXAMPLES)]
    Watch(WatchArgs),
    /// Mount or unmount the overlay, for `ls VIEW/FILE/.similar`
    View(ViewArgs),
    /// Show when a change made a file resemble another
    ///
    /// Pairs and groups that a person has seen are marked with `alerts ack`.
    Alerts(Box<AlertsArgs>),
    /// Watch folders from now on: three questions, and the rest is done
    ///
    /// Asks which folders to watch, whether to start at login and whether to notify you of new
    /// near-duplicates. Then it writes the configuration, starts the daemon and makes ~/Similar.
    #[command(after_long_help = setup::EXAMPLES)]
    Setup(SetupArgs),
    /// Print shell functions for `ls FILE/.similar`
    ///
    /// They lead from the real paths to the view. In ~/.bashrc: eval "$(resemble shell-init bash)".
    /// In ~/.zshrc: eval "$(resemble shell-init zsh)". In ~/.config/fish/config.fish: resemble
    /// shell-init fish | source. After that ls, cat, head, tail, less, cp, diff, xdg-open, cd and
    /// Tab follow FILE/.similar on the real paths. Nothing else of them changes.
    #[command(after_long_help = shell::EXAMPLES)]
    ShellInit(ShellInitArgs),
    /// Report alerts on the desktop, by mail or by a program
    ///
    /// It remembers how far it came, and goes on there when it is started again.
    #[command(after_long_help = daemon::NOTIFY_EXAMPLES)]
    Notify(NotifyArgs),
    #[allow(clippy::doc_markdown)] // help prints the name of a file as it is
    /// Join standard input and output with the daemon's socket
    ///
    /// For `--socket ssh://HOST` of another machine, which runs this here through ssh. A key in
    /// ~/.ssh/authorized_keys with restrict,command="resemble relay" reaches the daemon alone. It
    /// can send every request of the protocol.
    Relay,
    #[allow(clippy::doc_markdown)] // help prints the name of a file as it is
    /// Measure pairs of files, for groups --links
    ///
    /// The pairs are those that an SQL engine has found. Reads a list from standard input and
    /// writes numbers to standard output, both in bytes: docs/scale.md says how they lie.
    /// scale/resemble_scale.py --measure calls it where the files are.
    Measure,
    /// Find out whether a file is a near-copy of an existing file
    ///
    /// For hooks that check a file before it is written or committed. The file itself and its
    /// earlier version do not count as copies. Ends with 0 if there is no near-copy, with 1 if
    /// there is one.
    #[command(after_long_help = check::EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Answer agents and editors: a server of the Model Context Protocol
    ///
    /// On standard input and output. They ask what is similar, what two files share, which version
    /// is the newest. Nothing outside the roots is looked at or named, and nothing is changed.
    #[command(after_long_help = mcp::EXAMPLES)]
    Mcp(McpArgs),
    /// Print the text by which a file is compared
    ///
    /// It is what `find` and `why` cut words from: the text of a document, or the file's own. Ends
    /// with 0 if every FILE has one, with 1 if one is compared otherwise.
    #[command(after_long_help = text::EXAMPLES)]
    Text(TextArgs),
    /// Move files to the trash of their file system
    Trash(TrashArgs),
    /// Print the digest of the bytes of each file
    ///
    /// Plans of near copies check it. One line a file: the digest in hexadecimal, two blanks, the
    /// name as plans spell it. Up to 1 MiB it is the one of `b3sum`; of larger files it is made of
    /// the digests of their blocks.
    Digest(DigestArgs),
    /// Print a completion script for a shell
    ///
    /// For bash: resemble completions bash > ~/.local/share/bash-completion/completions/resemble
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them into a directory
    Man(ManArgs),
    /// List the commands, or explain one
    Help(HelpArgs),
}

impl Command {
    /// Returns whether the command may run when the daemon is on another machine. A command that
    /// asks no daemon always may.
    pub const fn asks_other_machines(&self) -> bool {
        match self {
            Self::Watch(watch) => matches!(watch.action, WatchAction::List { .. }),
            Self::Catalogue(catalogue) => matches!(catalogue.action, CatalogueAction::Join(_)),
            Self::Find(_)
            | Self::Status(_)
            | Self::Sync(_)
            | Self::Relay
            | Self::Measure
            | Self::Trash(_)
            | Self::Digest(_)
            | Self::Lab(_)
            | Self::Text(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Help(_) => true,
            _ => false,
        }
    }

    /// Returns the name of the verb if it is about the daemon. Such a verb refuses `--local`.
    pub const fn of_the_daemon(&self) -> Option<&'static str> {
        match self {
            Self::Status(_) => Some("status"),
            Self::Doctor(_) => Some("doctor"),
            Self::Sync(_) => Some("sync"),
            Self::Watch(_) => Some("watch"),
            Self::View(_) => Some("view"),
            Self::Alerts(_) => Some("alerts"),
            Self::Notify(_) => Some("notify"),
            _ => None,
        }
    }
}

/// Which files take part, and which rows are shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Selection")]
pub struct Selection {
    /// Only files that match GLOB as in .gitignore; repeatable
    #[arg(long, value_name = "GLOB", value_parser = values::glob())]
    #[arg(hide_short_help = true)]
    pub include: Vec<String>,
    /// No files that match GLOB as in .gitignore; repeatable
    #[arg(long, value_name = "GLOB", value_parser = values::glob())]
    pub exclude: Vec<String>,
    /// Only files of at least SIZE bytes: 4096, 10K (10 x 1024), 10KB (10 x 1000), 1.5M
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "0")]
    #[arg(hide_short_help = true)]
    pub min_size: u64,
    /// Only rows with this score or more: 70%, 70 or .7
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub min: Option<Fraction>,
    /// Only rows with at least BYTES in common; identical files and those with the same text need
    /// none [default: 256]
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    #[arg(hide_short_help = true)]
    pub min_shared: Option<u64>,
    /// Only the first N rows of each list, after sorting
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub top: Option<u64>,
}

/// Which rows are shown, by the relation of the two files.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub struct RelationFilter {
    /// Only rows of this relation; several are separated by commas
    #[arg(
        long,
        value_name = "RELATION",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub relation: Vec<PairRelation>,
}

impl Selection {
    /// Returns the scope of a question: the selected files at and below these paths.
    pub fn scope(&self, within: Vec<PathText>) -> Scope {
        Scope {
            within,
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            min_size: self.min_size,
        }
    }
}

/// The memory bound of an answer.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct MemoryBound {
    /// Use at most SIZE of memory (500M, 2G; K, M, G of 1024), and the disk where that is not
    /// enough
    #[arg(long, value_name = "SIZE", conflicts_with = "from", value_parser = values::size)]
    #[arg(hide_short_help = true, help_heading = EXPERT)]
    pub memory: Option<u64>,
}

/// Which process answers, and how files are read if the command answers itself.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = EXPERT)]
pub struct Answering {
    /// Average chunk size in bytes, for catalogues that were made with another size than the usual;
    /// a daemon answers only if its index has this size [default: 1015]
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    #[arg(hide_short_help = true)]
    pub chunk_size: Option<u64>,
    /// Neither read nor write the command's own cache
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub no_cache: bool,
    /// Let the command's own cache grow to SIZE at most: 500M (1024 x 1024 each), 4G
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "4G")]
    #[arg(hide_short_help = true)]
    pub cache_size: u64,
    /// True if documents and archives are looked into. The verbs set it from their [`TextLayer`].
    #[arg(skip)]
    pub text: bool,
    /// True if the answer must miss no file; the verbs set it. In that case, a daemon that excludes
    /// files is not asked. The system's daemon is not asked, either, because it does not have the
    /// caller's rights.
    #[arg(skip)]
    pub whole: bool,
}

/// `completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// `man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where to write resemble.1, resemble-find.1 …; if left out, resemble.1 is printed
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests;
