//! The verbs about a daemon: `status`, `doctor`, `sync`, `watch`, `view`, `alerts`, `notify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use resemble_proto::message::{AlertRules, MountView};
use resemble_proto::number::Fraction;

use super::{DocumentOutput, RelationFilter, RowOutput, TextLayer};
use crate::values::{self, AlertKinds, Since};

pub(super) const WATCH_EXAMPLES: &str = "\
Examples:
  resemble watch add ~/Documents
  resemble watch add ~/src --ignore
      Without what .gitignore files name, and without .git.
  resemble watch add /srv --exclude node_modules --exclude '*.iso' --max-size 1G
  resemble watch list";

/// `status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// How to print the answer
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Output"
    )]
    pub format: StatusFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// Formats of `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    /// For people.
    #[default]
    Text,
    /// One object.
    Json,
    /// For Prometheus, and the textfile collector of its node exporter.
    Openmetrics,
}

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  resemble doctor
      What is not as it should be, and what to type.
  resemble doctor -v
      Everything that was looked at.
  resemble doctor --format json | jq '.checks[] | select(.state == \"wrong\")'";

/// `doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The output options.
    #[command(flatten)]
    pub output: DocumentOutput,
}

/// `sync`
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Give up after TIME: 30, 500ms, 2m (exit code 1)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub timeout: Option<Duration>,
}

/// `watch`
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The action.
    #[command(subcommand)]
    pub action: WatchAction,
}

/// The actions of `watch`.
#[derive(Debug, Subcommand)]
pub enum WatchAction {
    /// Watch a directory from now on, and after every restart
    Add {
        /// The directory
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Honour .gitignore and .ignore files, and skip .git
        #[arg(long)]
        ignore: bool,
        /// Do not enter other file systems below DIR
        #[arg(long)]
        one_file_system: bool,
        /// The option to look into documents and archives.
        #[command(flatten)]
        layer: TextLayer,
        /// Leave out names that match GLOB (as in .gitignore), with all below; may be repeated
        #[arg(long, value_name = "GLOB", value_parser = values::glob())]
        exclude: Vec<String>,
        /// Leave out files of more than SIZE bytes: 4096, 10K (10 x 1024), 10KB (10 x 1000), 1.5G
        #[arg(long, value_name = "SIZE", value_parser = values::size)]
        max_size: Option<u64>,
        /// The rules for its alerts.
        #[command(flatten)]
        alerts: AlertArgs,
    },
    /// Stop watching a directory and forget its content
    Remove {
        /// The directory
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// List what is watched
    List {
        /// The output options.
        #[command(flatten)]
        output: RowOutput,
    },
}

/// The rules for alerts in a root.
#[derive(Debug, Args)]
#[allow(clippy::struct_field_names)] // the names of the options
pub struct AlertArgs {
    /// Alerts only if so much of the smaller file is in the other [default: 80%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub alert_min: Option<Fraction>,
    /// Alerts only about files of at least SIZE bytes [default: 1K, which is 1024]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub alert_min_size: Option<u64>,
    /// Only these alerts: identical, same-text, near, contains, contained, shares, tree; or none
    #[arg(long, value_name = "KINDS", value_parser = values::alert_kinds)]
    pub alert_kinds: Option<AlertKinds>,
}

impl AlertArgs {
    /// Converts these options to the alert rules of the protocol.
    pub fn rules(&self) -> AlertRules {
        AlertRules {
            min: self.alert_min,
            min_size: self.alert_min_size,
            kinds: self.alert_kinds.as_ref().map(|kinds| kinds.0.clone()),
        }
    }
}

/// `view`
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// The action.
    #[command(subcommand)]
    pub action: ViewAction,
}

/// The actions of `view`.
#[derive(Debug, Subcommand)]
pub enum ViewAction {
    /// Mount the overlay: `ls MOUNT/FILE/.similar` in any shell
    On(OnArgs),
    /// Take the overlay away
    Off {
        /// The mount point; may be left out if there is only one
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// `view on`
#[derive(Debug, Args)]
pub struct OnArgs {
    /// The mount point; it is created if it is not there, and removed at the end. If left out, the
    /// view and the link of the configuration are brought back
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// How the tree is shown [default: as configured, else folders]
    #[arg(long, value_name = "VIEW")]
    pub view: Option<MountView>,
}

/// `alerts`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AlertsArgs {
    /// The action, if alerts are not to be listed.
    #[command(subcommand)]
    pub action: Option<AlertsAction>,
    /// Wait for new alerts and print them as they come; go on when the daemon restarts
    #[arg(short, long)]
    pub follow: bool,
    /// Only alerts since WHEN: 2h, 1d, 2026-11-23, 2026-11-23T18:30:00Z, or after the alert with
    /// this number; with --follow they are printed first
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    pub since: Option<Since>,
    /// The relations of rows. A copied tree has none.
    #[command(flatten)]
    pub filter: RelationFilter,
    /// A page for each day instead: how many, where, the largest
    #[arg(long, conflicts_with = "follow")]
    pub digest: bool,
    /// The output options.
    #[command(flatten)]
    pub output: RowOutput,
}

/// The actions of `alerts`.
#[derive(Debug, Subcommand)]
pub enum AlertsAction {
    /// Mark files as seen: no more alerts about them
    ///
    /// It goes by their contents, so it survives renames and restarts; if one of the contents
    /// changes, what they have in common is news again.
    #[command(after_long_help = ACK_EXAMPLES)]
    Ack(AckArgs),
}

const ACK_EXAMPLES: &str = "\
Examples:
  resemble alerts ack offer-new.txt offer.txt
      No more alerts about these two.
  resemble alerts ack offer-new.txt
      Nor about it and any file that it resembles now.
  resemble alerts ack --group offer.txt
      Nor about any two of the files that resemble it.
  resemble alerts ack --undo offer-new.txt";

/// `alerts ack`
#[derive(Debug, Args)]
pub struct AckArgs {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "list")]
    pub file: Option<PathBuf>,
    /// The other one; without it, each that FILE resembles
    #[arg(value_name = "OTHER", value_hint = ValueHint::FilePath, conflicts_with = "group")]
    pub other: Option<PathBuf>,
    /// Mark FILE and all that it resembles as one group: no alerts about any two of them
    #[arg(long, conflicts_with = "undo")]
    pub group: bool,
    /// List what is marked
    #[arg(long, conflicts_with_all = ["file", "group", "undo"])]
    pub list: bool,
    /// Take the marks about FILE (and OTHER) away
    #[arg(long)]
    pub undo: bool,
    /// The output options.
    #[command(flatten)]
    pub output: RowOutput,
}

pub(super) const NOTIFY_EXAMPLES: &str = "\
Examples:
  resemble notify
      Notifications on the desktop, until it is ended.
  resemble notify --mail ann@example.org --min 90%
  resemble notify --command my-script --command --fast
  systemctl --user enable --now resemble-notify
      At every login.";

/// `notify`
#[derive(Debug, Args)]
pub struct NotifyArgs {
    /// Run PROGRAM for each alert, with the JSON object on its standard input; further --command
    /// are its arguments
    #[arg(
        long,
        value_name = "PROGRAM",
        allow_hyphen_values = true,
        conflicts_with = "mail"
    )]
    pub command: Vec<String>,
    /// Send mail to ADDRESS, at most every ten minutes
    #[arg(long, value_name = "ADDRESS")]
    pub mail: Vec<String>,
    /// The program that sends mail
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/sbin/sendmail")]
    pub sendmail: PathBuf,
    /// Only changes below DIR; may be repeated
    #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub roots: Vec<PathBuf>,
    /// Only alerts with at least this share
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub min: Option<Fraction>,
    /// Only these alerts: identical, same-text, near, contains, contained, shares, tree
    #[arg(long, value_name = "KINDS", value_parser = values::alert_kinds)]
    pub kinds: Option<AlertKinds>,
    /// Not if one of the two files matches GLOB (as in .gitignore); may be repeated
    #[arg(long, value_name = "GLOB", value_parser = values::glob())]
    pub exclude: Vec<String>,
    /// At most N a minute one by one; then one summary stands for the rest
    #[arg(long, value_name = "N", default_value = "10")]
    pub rate: u32,
    /// Report what is in the log and was not reported yet, then end
    #[arg(long)]
    pub once: bool,
}
