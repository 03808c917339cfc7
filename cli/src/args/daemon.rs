//! What only a daemon does: `status`, `sync`, `watch`, `mount`, `unmount`, `alerts`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use resemble_proto::message::MountView;

use super::{DocumentOutput, RowOutput};
use crate::values;

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
    /// How the answer is printed, and where.
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
    /// What to do.
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
        /// Do not look into documents and archives: compare files by their bytes alone
        #[arg(long)]
        no_text: bool,
        /// Leave out names that match GLOB (as in .gitignore), with all below; may be repeated
        #[arg(long, value_name = "GLOB", value_parser = values::glob)]
        exclude: Vec<String>,
        /// Leave out files of more than SIZE bytes: 4096, 10K, 1.5G
        #[arg(long, value_name = "SIZE", value_parser = values::size)]
        max_size: Option<u64>,
    },
    /// Stop watching a directory and forget its content
    Remove {
        /// The directory
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// List what is watched
    List {
        /// How the rows are printed, and where.
        #[command(flatten)]
        output: RowOutput,
    },
}

/// `mount`
#[derive(Debug, Args)]
pub struct MountArgs {
    /// The mount point; it is created if it is not there, and removed at the end
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// How the tree is shown
    #[arg(long, value_name = "VIEW", default_value = "folders")]
    pub view: MountView,
}

/// `unmount`
#[derive(Debug, Args)]
pub struct UnmountArgs {
    /// The mount point; may be left out if there is only one
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `alerts`
#[derive(Debug, Args)]
pub struct AlertsArgs {
    /// Wait for new alerts and print them as they come
    #[arg(short, long)]
    pub follow: bool,
    /// How the rows are printed, and where.
    #[command(flatten)]
    pub output: RowOutput,
}
