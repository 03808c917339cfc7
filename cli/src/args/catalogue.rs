//! `export`, `import` and `catalogue`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use resemble_proto::number::Fraction;

use super::{Answering, TextLayer};
use crate::values;

pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  resemble export /media/disk -o disk.cat
      Then the disk can go into its drawer.
  resemble find report.txt --in disk.cat
      Is it, or most of it, on that disk?
  resemble compare disk.cat ~/Documents
      What is on one side only, what was moved, what was edited.
  resemble export ~/src --no-names -o src.cat
      For somebody who may know the contents, but not the names.
  resemble export ~/src --since src.cat -o src.delta
      What is new since then: `resemble catalogue join` makes the new catalogue of both.
  resemble export ~/src -o - | ssh server 'cat > src.cat'
      To another machine, and to no file here.
  resemble export ~/src --format parquet -o tables
      For SQL: each table is a folder of Parquet files.";

pub(super) const CATALOGUE_EXAMPLES: &str = "\
Examples:
  resemble export ~/Documents -o monday.cat
  resemble export ~/Documents --since monday.cat -o tuesday.delta
  resemble catalogue join monday.cat tuesday.delta -o tuesday.cat
      The same file as `resemble export ~/Documents` would have written.
  resemble catalogue join monday.cat *.delta -o monday.cat
      Each delta continues the one before; the old catalogue is replaced.";

pub(super) const IMPORT_EXAMPLES: &str = "\
Examples:
  resemble import disk.cat laptop.cat
  resemble import laptop.delta
      What has changed since the catalogue of the laptop that is kept.
  resemble find report.txt
      Among the files that the daemon watches and those in the catalogues.
  resemble groups ~/Documents disk: laptop:
  resemble watch remove disk:";

/// What `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One file, for other questions of this program
    Catalogue,
    /// A folder of Parquet tables, for DuckDB, pandas, Spark and their like
    Parquet,
}

/// `export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// What to catalogue; if left out, all that the daemon watches
    #[arg(value_name = "ROOT", value_hint = ValueHint::AnyPath)]
    pub roots: Vec<PathBuf>,
    /// The catalogue to write; one that is there is replaced once the new one is complete. `-` is
    /// standard output. Of tables the folder
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// What to write: a catalogue, or tables for SQL and for clusters
    #[arg(long, value_name = "FORMAT", default_value = "catalogue")]
    pub format: ExportFormat,
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
    /// A coarser sample tells less about texts that were edited everywhere; common chunks are found
    /// all the same. 100% keeps samples as they are.
    #[arg(long, value_name = "PERCENT", value_parser = values::share)]
    #[arg(hide_short_help = true)]
    pub within: Option<Fraction>,
    /// Of tables: give contents other names, by this number. Use the same for all tables that are
    /// asked together
    #[arg(long, value_name = "NUMBER")]
    #[arg(hide_short_help = true)]
    pub salt: Option<u64>,
    /// Whether documents and archives are looked into.
    #[command(flatten)]
    pub layer: TextLayer,
    /// Who answers, and with which cache.
    #[command(flatten)]
    pub answering: Answering,
}

/// `import`
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Catalogues that `export` wrote, or what has changed since one that is kept (`export
    /// --since`)
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Use NAME instead of the label in FILE; for one FILE only
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
}

/// `catalogue`
#[derive(Debug, Args)]
pub struct CatalogueArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: CatalogueAction,
}

/// The actions of `catalogue`.
#[derive(Debug, Subcommand)]
pub enum CatalogueAction {
    /// Make the new catalogue of an old one and what has changed since
    Join(JoinArgs),
}

/// `catalogue join`
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// The catalogue that `--since` named
    #[arg(value_name = "CATALOGUE", value_hint = ValueHint::FilePath)]
    pub base: PathBuf,
    /// What `export --since` wrote; of several each continues the one before
    #[arg(value_name = "DELTA", required = true, value_hint = ValueHint::FilePath)]
    pub deltas: Vec<PathBuf>,
    /// The catalogue to write, which may be CATALOGUE; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
}
