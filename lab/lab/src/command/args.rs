//! Every option of `resemble-lab`. The doc comments are the help texts, from which the manual is
//! made.
//!
//! Parsing checks only what can be checked without looking at the system.

mod eval;
mod method;

use std::path::PathBuf;

use crate::question::MethodScore;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use resemble_arguments::values;
use resemble_arguments::{
    Answering, ColorWhen, CompletionsArgs, Global as CommandGlobal, RowOutput, STYLES, Selection,
};
use resemble_proto::message::Degree;
use resemble_proto::number::Fraction;

pub(crate) use eval::{EvalArgs, Experiment};
pub(crate) use method::{GroupRules, MethodArgs};

const EXIT_CODES: &str = "\
Exit codes:
  0  something was found, or the command did its work
  1  nothing was found
  2  trouble: wrong usage, a measure that the method does not have, or files that could
     not be read (what was found is printed nevertheless)

docs/methods.md says what each method keeps, which measures it has and which parameters.";

const FIND_EXAMPLES: &str = "\
Examples:
  resemble lab find draft.txt --in archive --method sif
      The files that are similar to a draft, by sif (Manber 1994).
  resemble lab find - --in docs --method shingle --format json < page.html
      The same for any text, with the interval of each estimate (Broder et al. 1997).";

const PAIRS_EXAMPLES: &str = "\
Examples:
  resemble lab pairs archive --method mod --words 10 --rate 25
      Pairs by a sample: one in 25 runs of ten words.
  resemble lab pairs theses --method sorted5 --bits 28 --shards 4 --exact
      Four processes make an inverted index; the pairs that it finds are then computed exactly
      (Kasprzak et al. 2008).
  resemble lab pairs --features sets.tsv --method sketch --n 200
      Pairs of sets of features that another program made.";

const GROUPS_EXAMPLES: &str = "\
Examples:
  resemble lab groups archive --method sif --min 25%
      Groups as the paper of sif prints them.
  resemble lab groups docs --method shingle --contained 90%
      Clusters of any number of texts, larger than memory; also texts that are in another one.
  resemble lab groups src --method sif --where 'a.suffix = b.suffix and b.size < 2 * a.size'
      Groups of files that a rule accepts.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  resemble lab export /media/disk --method shingle -o disk.sketches
  resemble lab find draft.txt --in disk.sketches --method shingle
      Which files of an unplugged disk resemble a draft (Broder et al. 1997: the sketches
      suffice).";

const DUMP_EXAMPLES: &str = "\
Examples:
  resemble lab dump --method min --window 40 archive
      The signature of each file, for another program.";

/// Ask by the published methods, exactly as their papers define them, and repeat the papers'
/// experiments
///
/// Files are read once: the signature that a method makes of a file is cached by the laboratory, so
/// a second question reads nothing. No daemon is asked. The files are never changed.
#[derive(Debug, Parser)]
#[command(name = "resemble-lab", bin_name = "resemble lab", version)]
#[command(styles = STYLES, after_help = EXIT_CODES)]
#[command(max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The options of all commands.
    #[command(flatten)]
    pub(crate) global: Global,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of all commands.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// `--state`.
    #[arg(help = "The daemon's state folder [env: RESEMBLE_STATE], which is never searched")]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state: Option<PathBuf>,
    /// Say nothing on standard error but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print further columns, and what the cache does
    #[arg(short, long, global = true)]
    verbose: bool,
    /// `--color`.
    #[arg(help = "Use colours; NO_COLOR in the environment switches `auto` off")]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorWhen,
    /// Do not show long output on a terminal through $PAGER
    #[arg(long, global = true)]
    no_pager: bool,
}

impl Global {
    /// Returns the same options for `resemble`, with the daemon disabled.
    pub(crate) fn of_command(&self) -> CommandGlobal {
        CommandGlobal {
            socket: None,
            state: self.state.clone(),
            local: true,
            quiet: self.quiet,
            verbose: self.verbose,
            color: self.color,
            no_pager: self.no_pager,
        }
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the files similar to a file, or to what standard input holds
    #[command(after_help = FIND_EXAMPLES)]
    Find(FindArgs),
    /// List every pair of files that the method finds similar
    #[command(after_help = PAIRS_EXAMPLES)]
    Pairs(PairsArgs),
    /// Find groups of files that the method finds similar
    #[command(after_help = GROUPS_EXAMPLES)]
    Groups(Box<GroupsArgs>),
    /// Print what the method keeps of each file
    #[command(after_help = DUMP_EXAMPLES)]
    Dump(DumpArgs),
    /// Write what the method keeps of each file into a file that is asked in place of the directory
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Repeat the papers' experiments on any folder of texts
    ///
    /// Writes a page (Markdown), tables (CSV) and plots (SVG) with figures to compare with those of
    /// the papers. Every run gives the same figures, except for times.
    #[command(after_help = eval::EXAMPLES)]
    Eval(EvalArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them into a directory
    Man(ManArgs),
}

/// The cache of signatures.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheArgs {
    /// Neither use nor keep the laboratory's cache
    #[arg(long)]
    no_cache: bool,
    /// Keep the laboratory's cache below SIZE
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "4G")]
    cache_size: u64,
}

impl CacheArgs {
    /// Returns the same options for `resemble`. No text is extracted, because methods read only
    /// bytes.
    pub(crate) const fn answering(self) -> Answering {
        Answering {
            chunk_size: None,
            no_cache: self.no_cache,
            cache_size: self.cache_size,
            text: false,
            whole: false,
        }
    }
}

/// The common options of `find` and `pairs`: a method whose answer is rows.
#[derive(Debug, Args)]
pub(crate) struct RowArgs {
    /// The method and its parameters.
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// The selection of files and rows.
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// The output options.
    #[command(flatten)]
    pub(crate) output: RowOutput,
    /// The choice of the cache.
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
}

/// `find`
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Files to find similar ones for; - is standard input; with --features, names of sets
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Look among the files of DIR; may be repeated
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(required_unless_present = "features")]
    pub(crate) within: Vec<PathBuf>,
    /// Look among the sets of features in FILE; a line is a name, a tab, features
    #[arg(long, value_name = "FILE", conflicts_with = "within")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) features: Option<PathBuf>,
    /// Find files also if SHARE of one is in the other
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) contained: Option<Fraction>,
    /// Read further FILE names from a file, one a line; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) files_from: Option<PathBuf>,
    /// The method, and the options of its rows.
    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

/// `pairs`
#[derive(Debug, Args)]
pub(crate) struct PairsArgs {
    /// Directories whose files are compared, each with each
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(required_unless_present_any = ["files_from", "features"])]
    pub(crate) dirs: Vec<PathBuf>,
    /// What sorts the pairs, and what --min bounds
    #[arg(long, value_name = "SCORE", default_value = "paper")]
    pub(crate) score: ScoreArg,
    /// Compare the sets of features in FILE instead of files; a line is a name, a tab, features
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dirs", "files_from"])]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) features: Option<PathBuf>,
    /// Read further names from a file, one a line; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) files_from: Option<PathBuf>,
    /// For sorted5: compute exact figures of the pairs from the arrays, the paper's second step
    #[arg(long)]
    pub(crate) exact: bool,
    /// The method, and the options of its rows.
    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

/// The score of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScoreArg {
    /// The score that the method's paper defines.
    Paper,
    /// The larger share of one file that is in the other.
    Containment,
    /// What both files have, divided by what either has.
    Resemblance,
}

impl From<ScoreArg> for MethodScore {
    fn from(score: ScoreArg) -> Self {
        match score {
            ScoreArg::Paper => Self::Paper,
            ScoreArg::Containment => Self::Containment,
            ScoreArg::Resemblance => Self::Resemblance,
        }
    }
}

/// `groups`
#[derive(Debug, Args)]
pub(crate) struct GroupsArgs {
    /// Where to look
    #[arg(value_name = "ROOT", value_hint = ValueHint::DirPath)]
    #[arg(required_unless_present = "features")]
    pub(crate) roots: Vec<PathBuf>,
    /// Group the sets of features in FILE instead of files; a line is a name, a tab, features
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["roots", "memory", "common", "contained", "work"])]
    pub(crate) features: Option<PathBuf>,
    /// Only the groups that have FILE; with --features, the set of this name
    #[arg(long, value_name = "FILE", conflicts_with = "interesting")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) of: Option<PathBuf>,
    /// For sif: ignore fingerprints that more than N files have, or with `half` more than half of
    /// all files
    #[arg(long, value_name = "N", value_parser = values::degree)]
    pub(crate) degree: Option<Degree>,
    /// For shingle and super-shingle: sort within SIZE of memory, and on disk if that is not enough
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) memory: Option<u64>,
    /// The method.
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// The rules for files of one group.
    #[command(flatten)]
    pub(crate) rules: GroupRules,
    /// The selection of files and groups.
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// The output options.
    #[command(flatten)]
    pub(crate) output: GroupsOutput,
    /// The choice of the cache.
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
}

/// The output options of groups.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct GroupsOutput {
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: GroupsFormat,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Formats of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupsFormat {
    /// For people, as in the paper of sif.
    Text,
    /// One object with parameters, groups and errors.
    Json,
    /// The same, with one object on each line: header, groups, errors.
    Jsonl,
}

/// `export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The directory whose files take part
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// The method.
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// Write into FILE
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Which cache is used.
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
}

/// `dump`
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Files, or directories whose files take part
    #[arg(value_name = "ROOT", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) roots: Vec<PathBuf>,
    /// The method.
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// For sif: print the list `All_Fingers` of the paper, after the files by number
    #[arg(long)]
    pub(crate) all_fingers: bool,
    /// Write into FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The choice of the cache.
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
}

/// `man`
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Where to write resemble-lab.1, resemble-lab-find.1 …; without, resemble-lab.1 is printed
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_finds_nothing_wrong() {
        Cli::command().debug_assert();
    }
}
