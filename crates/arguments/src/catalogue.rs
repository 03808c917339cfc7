//! The options of `catalogue`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use resemble_proto::number::Fraction;

use super::{Answering, RowOutput, TextLayer};
use crate::values;

const WRITE_EXAMPLES: &str = "\
Examples:
  resemble catalogue write /media/disk -o disk.cat
      Then the disk can go into its drawer.
  resemble find report.txt --in disk.cat
      Is it, or most of it, on that disk?
  resemble compare disk.cat ~/Documents
      What is on one side only, what was moved, what was edited.
  resemble catalogue write ~/src --no-names -o src.cat
      For people who may know the contents, but not the names.
  resemble catalogue write ~/src --since src.cat -o src.delta
      What is new since then: `resemble catalogue join` makes the new catalogue of both.
  resemble catalogue write ~/src -o - | ssh server 'cat > src.cat'
      To another machine, and to no file here.
  resemble catalogue write ~/src --format parquet -o tables
      For SQL: each table is a folder of Parquet files.";

pub(super) const CATALOGUE_EXAMPLES: &str = "\
Examples:
  resemble catalogue write /media/disk -o disk.cat
      Then the disk can go into its drawer.
  resemble find report.txt --in disk.cat
      Is it, or most of it, on that disk?
  resemble catalogue add disk.cat
      From now on `resemble find` looks in it, too.
  resemble catalogue drop disk
      It is forgotten; disk.cat stays.";

const JOIN_EXAMPLES: &str = "\
Examples:
  resemble catalogue write ~/Documents -o monday.cat
  resemble catalogue write ~/Documents --since monday.cat -o tuesday.delta
  resemble catalogue join monday.cat tuesday.delta -o tuesday.cat
      The same file as `resemble catalogue write ~/Documents` would have written.
  resemble catalogue join monday.cat *.delta -o monday.cat
      Each delta continues the one before; the old catalogue is replaced.";

const ADD_EXAMPLES: &str = "\
Examples:
  resemble catalogue add disk.cat laptop.cat
  resemble catalogue add laptop.delta
      What has changed since the catalogue of the laptop that is kept.
  resemble find report.txt
      Among the files that the daemon watches and those in the catalogues.
  resemble groups ~/Documents disk: laptop:
  resemble catalogue drop disk";

/// The product of `catalogue write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CatalogueFormat {
    /// One file, for other questions of this program
    Catalogue,
    /// A folder of Parquet tables, for DuckDB, pandas, Spark and their like
    Parquet,
}

/// `catalogue write`
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// What to catalogue; if left out, all that the daemon watches
    #[arg(value_name = "ROOT", value_hint = ValueHint::AnyPath)]
    pub roots: Vec<PathBuf>,
    /// The catalogue to write; one that is there is replaced once the new one is complete. `-` is
    /// standard output. Of tables the folder
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// What to write: a catalogue, or tables for SQL and for clusters
    #[arg(long, value_name = "FORMAT", default_value = "catalogue")]
    pub format: CatalogueFormat,
    /// Write only what is new or gone since this catalogue was written, for `resemble catalogue
    /// join`; label, names and samples are those of CATALOGUE
    #[arg(long, value_name = "CATALOGUE", value_hint = ValueHint::FilePath)]
    pub since: Option<PathBuf>,
    /// Write no names, dates, directories or links: files are numbered in the order of their
    /// digests
    #[arg(long)]
    pub no_names: bool,
    /// Its name for people: letters, digits, `.`, `_`, `-` [default: the name of FILE up to its
    /// last dot; of tables the name of ROOT]
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Its date, in seconds since 1970 [default: now]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub created: Option<i64>,
    /// How large it may be, as a share of the files: samples are thinned until it is small enough
    /// [default: 3%, for a catalogue over 1 MiB]
    ///
    /// A coarser sample says less about texts that were edited everywhere; common chunks are found
    /// anyway. 100% keeps samples as they are.
    #[arg(long, value_name = "PERCENT", value_parser = values::share)]
    #[arg(hide_short_help = true)]
    pub within: Option<Fraction>,
    /// Of tables: give contents other names, by this number. Use the same for all tables that are
    /// asked together
    #[arg(long, value_name = "NUMBER")]
    #[arg(hide_short_help = true)]
    pub salt: Option<u64>,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}

/// `catalogue add`
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Catalogues that `catalogue write` wrote, or what has changed since one that is kept
    /// (`--since`)
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Use NAME instead of the label in FILE; for one FILE only
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
}

/// `catalogue`
#[derive(Debug, Args)]
pub struct CatalogueArgs {
    /// The action.
    #[command(subcommand)]
    pub action: CatalogueAction,
}

/// The actions of `catalogue`.
#[derive(Debug, Subcommand)]
pub enum CatalogueAction {
    /// Write a catalogue: what the index knows of directories, without their content
    ///
    /// For a disk that will be unplugged, or for another machine. Name the file wherever a
    /// directory is expected, and its files take part: `resemble compare disk.cat ~/Documents`.
    #[command(after_long_help = WRITE_EXAMPLES)]
    Write(Box<WriteArgs>),
    /// Keep catalogues: their files take part in what the daemon answers
    ///
    /// Without a daemon they are kept, too, and named by their labels: `--in disk:`.
    #[command(after_long_help = ADD_EXAMPLES)]
    Add(AddArgs),
    /// Make the new catalogue of an old one and what has changed since
    #[command(after_long_help = JOIN_EXAMPLES)]
    Join(JoinArgs),
    /// List the catalogues that are kept
    List {
        /// The output options.
        #[command(flatten)]
        output: RowOutput,
    },
    /// Forget a catalogue that is kept
    Drop {
        /// Its label, as `catalogue list` prints it
        #[arg(value_name = "LABEL")]
        label: String,
    },
}

/// `catalogue join`
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// The catalogue that `--since` named
    #[arg(value_name = "CATALOGUE", value_hint = ValueHint::FilePath)]
    pub base: PathBuf,
    /// What `catalogue write --since` wrote; of several each continues the one before
    #[arg(value_name = "DELTA", required = true, value_hint = ValueHint::FilePath)]
    pub deltas: Vec<PathBuf>,
    /// The catalogue to write, which may be CATALOGUE; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
}
