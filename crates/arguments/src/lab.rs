//! The arguments of `lab`, which are passed to `resemble-lab`.

use std::ffi::OsString;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble lab find draft.txt --in archive --method sif
      What resembles a draft, as sif (Manber 1994) reports it.
  resemble lab groups ~/Documents --method shingle
      Clusters of any number of texts, out of core (Broder et al. 1997).
  resemble lab eval all ~/Documents -o papers
      What each paper measured, measured again on your own files.";

/// `lab`
#[derive(Debug, Args)]
pub struct LabArgs {
    /// A command of `resemble-lab` with its options
    #[arg(
        value_name = "ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub args: Vec<OsString>,
}
