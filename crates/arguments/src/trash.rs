//! The options of `trash`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `trash`
#[derive(Debug, Args)]
pub struct TrashArgs {
    /// The regular files to move
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Move nothing: print where the file of this device and inode is in the trash
    #[arg(long, value_name = "DEVICE INODE")]
    pub r#where: Option<String>,
}
