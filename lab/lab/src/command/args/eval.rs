//! The options of `eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::eval;
use resemble_arguments::values;

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble lab eval sif ~/src -o sif
      Manber's experiment of 1994 on your own files; the page is sif/sif.md.
  resemble lab eval broder ~/Documents -o broder
      The four phases on all texts of the folder, with time and disk by phase.
  resemble lab eval all ~/Documents -o papers
      All papers; papers/index.md is the page to compare with them.
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
    /// The folder whose texts are used, with all folders below it
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// The folder for the page, the tables and the plots; it is made if need be
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    /// Take texts until there are SIZE bytes, in an order that depends only on their names
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "64M")]
    pub(crate) max_bytes: u64,
    /// Repeat each measurement that depends on chance with N seeds, and print mean and range
    #[arg(long, value_name = "N", default_value_t = eval::SEEDS,
        value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// For broder: sort within SIZE of memory, and in the folder of -o if that is not enough
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
    /// Which window and which rate fit the texts.
    Guide,
    /// Anchors for sif-anchors, picked from the texts.
    Anchors,
    /// How clusters change from sweep to sweep; each folder in FOLDER is a sweep.
    Sweeps,
    /// Lemmas in the language that FOLDER is named after; it has texts, lemmas.tsv and forms.tsv.
    Inflected,
    /// All papers and the guide, with a page that links to each.
    All,
}
