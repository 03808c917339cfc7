//! The options of `eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use resemble_cli::values;

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble lab eval sif ~/src -o sif
      Manber's experiment of 1994 on your own files; the page is sif/sif.md.
  resemble lab eval broder ~/Documents -o broder
      Four phases on every text of the folder, however many; time and disk by phase.
  resemble lab eval all ~/Documents -o papers
      All papers; papers/index.md is the page to hold beside them.
  resemble lab eval guide ~/Documents -o guide
      Which window and which rate fit these texts.
  resemble lab eval anchors ~/Documents -o picked
  resemble lab groups ~/Documents --method sif-anchors --anchors picked/anchors.txt";

/// `eval`
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Which experiment
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: Experiment,
    /// The texts to make it on, all that lie below
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Where the page, the tables and the plots go; made if it is not there
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    /// Take texts until there are SIZE bytes; which ones depends on their names alone
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "64M")]
    pub(crate) max_bytes: u64,
    /// Broder: sort within SIZE of memory, in the folder of -o where that is not enough
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "512M")]
    pub(crate) memory: u64,
}

/// The experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// Manber 1994, section 5.
    Sif,
    /// Broder, Glassman, Manasse & Zweig 1997, "Status": all texts, on disk.
    Broder,
    /// Forman, Eshghi & Chiocchetti 2005, section 3.
    Forman,
    /// Cherkasova et al. 2009, figures 1 to 11, tables 1 and 2.
    Cherkasova,
    /// Kasprzak, Brandejs, Křipač & Šmerk 2008, sections 2.3 and 4.2 to 5.
    Kasprzak,
    /// Which window and which rate to take.
    Guide,
    /// Anchors for sif-anchors.
    Anchors,
    /// All of them, and a page that leads to each.
    All,
}
