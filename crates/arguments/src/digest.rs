//! The options of `digest`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `digest`
#[derive(Debug, Args)]
pub struct DigestArgs {
    /// What to digest
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
}
