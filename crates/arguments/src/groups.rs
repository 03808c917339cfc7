//! The options of `groups`.

use std::path::PathBuf;

use clap::{Args, ValueHint, value_parser};
use resemble_proto::message::{Degree, OnlyGroups};
use resemble_proto::number::Fraction;
use resemble_report::plan::{KeepRule, Treatment};

use super::{
    Answering, MemoryBound, RelationFilter, ReportFormat, ReportOutput, Selection, TextLayer,
};
use crate::{plan, values};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble groups ~/Documents
      How much is there more than once, where, and the groups that are worth a look.
  resemble groups ~/Documents --only identical
      Identical files alone, found in seconds.
  resemble groups --of thesis.tex --family ~/Documents
      All earlier and later versions of one file, step by step.
  resemble groups ~/Documents --format html -o groups.html
      The report as one page for a browser.
  resemble groups ~/Documents --format fdupes -0 | tr -s '\\0' | xargs -0r ls -l
      Identical files for another program.
  grep -rl invoice ~/Documents | resemble groups --files-from -
      The hits, one line for all versions of one text.
  resemble groups docs --order -0 | tar -c --null --verbatim-files-from -T - | zstd > docs.tar.zst
      A smaller archive: similar files stand side by side.
  resemble groups ~/Documents --plan reflink -o plan.sh
      A script for review: identical files share their blocks.
  resemble groups ~/Photos --plan trash --keep not-in:$HOME/Photos/phone --keep oldest -o plan.sh
      A script that moves copies to the trash; those outside of one folder stay.
  resemble groups ~/Documents --plan trash --superseded 95% --keep newest -o plan.sh
      The same for earlier versions too, each with what would be lost.
  resemble groups ~/Documents --review
      Which clusters are alike by a letterhead alone? Later runs are without them.
  resemble groups ~/Sync --conflicts
      What sync programs kept twice, and by how much it diverged.";

/// The help of `-0`.
const NULL: &str = "End rows (tsv, fdupes), lists of names and names read by --files-from with NUL";

/// `groups`
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // options of the command line
#[command(mut_arg("relation", |relation| {
    relation.conflicts_with_all(["files_from", "order", "plan", "from", "only", "conflicts"])
}))]
#[command(mut_arg("format", |format| format.value_parser(value_parser!(ReportFormat))))]
#[command(mut_arg("null", |null| null.help(NULL)))]
pub struct GroupsArgs {
    /// Where to look
    #[arg(value_name = "ROOT", default_value = ".", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with = "from")]
    pub roots: Vec<PathBuf>,
    /// Print one line per cluster of the files in LIST: the first of its files, in the order of
    /// LIST, which has one name per line, as `grep -l` prints them; - is standard input. With -0
    /// only the names, ended by NUL
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["roots", "of", "order", "plan", "from", "top"])]
    #[arg(hide_short_help = true)]
    pub files_from: Option<PathBuf>,
    /// On a terminal, list each file of every group
    ///
    /// Without it a terminal gets totals and the twenty groups that have most bytes more than once.
    #[arg(long)]
    pub all: bool,
    /// Only the set and the cluster of FILE
    #[arg(long, value_name = "FILE", conflicts_with = "from", value_hint = ValueHint::FilePath)]
    #[arg(hide_short_help = true)]
    pub of: Option<PathBuf>,
    /// Only groups of this kind
    ///
    /// Clusters of similar files, or sets of identical ones. Sets alone are found without comparing
    /// contents, so they are there sooner.
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["files_from", "order"])]
    pub only: Option<OnlyGroups>,
    /// With --of: follow chains to all earlier and later versions
    #[arg(long, requires = "of")]
    #[arg(hide_short_help = true)]
    pub family: bool,
    #[allow(clippy::doc_markdown)] // help prints the name of a program as it is
    /// Only the files that sync programs named after a conflict (Syncthing, git-annex, Dropbox,
    /// Nextcloud, ownCloud, OneDrive), each compared with its original
    #[arg(long)]
    #[arg(conflicts_with_all = [
        "files_from", "of", "family", "order", "only", "from", "links", "keep", "superseded", "top",
        "min", "min_shared", "degree", "memory",
    ])]
    #[arg(hide_short_help = true)]
    pub conflicts: bool,
    /// Go through the clusters one by one, and mark as a template what the members of one have in
    /// common where that is a frame alone: t and Enter; the clusters that follow are without it
    #[arg(long)]
    #[arg(conflicts_with_all = [
        "files_from", "of", "conflicts", "order", "only", "from", "links", "plan", "top", "format",
        "output", "null",
    ])]
    #[arg(hide_short_help = true)]
    pub review: bool,
    /// Print only the names of all files, similar files next to each other: for a smaller archive
    #[arg(long, conflicts_with_all = ["of", "plan", "from", "top"])]
    #[arg(hide_short_help = true)]
    pub order: bool,
    /// Print a shell script for identical copies: symlink, hardlink, reflink, trash, remove,
    /// move=DIR
    ///
    /// The script does nothing without --do-it. With --undo it reverses what can be reversed. Of
    /// marks that a page has saved (--from marks.json) it is about these files alone.
    #[arg(long, value_name = "HOW", conflicts_with_all = ["format", "null"])]
    #[arg(value_parser = plan::of_copies())]
    pub plan: Option<Treatment>,
    /// With --plan: which copy stays; several RULEs count in this order. They are newest, oldest,
    /// shortest, longest, in:DIR, not-in:DIR, name:GLOB, not-name:GLOB, most-links
    #[arg(long, value_name = "RULE", requires = "plan", value_parser = plan::keep_rule())]
    #[arg(hide_short_help = true)]
    pub keep: Vec<KeepRule>,
    /// With --plan trash or move: near copies go too, if at least SHARE of one lies in the file
    /// that stays, and that one holds it whole or is newer by the date that documents state
    #[arg(long, value_name = "SHARE", requires = "plan", value_parser = values::share)]
    #[arg(hide_short_help = true)]
    pub superseded: Option<Fraction>,
    /// The selection of files and rows.
    #[command(flatten)]
    pub selection: Selection,
    /// The relations of links, and the choice of sets.
    #[command(flatten)]
    pub filter: RelationFilter,
    /// The output options.
    #[command(flatten)]
    pub output: ReportOutput,
    /// Ignore chunks that more than N contents have, or with `half` more than half of the files
    #[arg(long, value_name = "N", conflicts_with = "from", value_parser = values::degree)]
    #[arg(hide_short_help = true, help_heading = super::EXPERT)]
    pub degree: Option<Degree>,
    /// The memory bound.
    #[command(flatten)]
    pub bound: MemoryBound,
    /// Compare the pairs that an SQL engine has found, in DIR, and no others
    ///
    /// DIR is what `resemble_scale.py` has made of the tables of just these files. The answer is
    /// the same, and no daemon is asked.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with_all = ["files_from", "order", "plan", "from"])]
    #[arg(hide_short_help = true, help_heading = super::EXPERT)]
    pub links: Option<PathBuf>,
    /// The option to look into documents and archives.
    #[command(flatten)]
    pub layer: TextLayer,
    /// The answering process and its cache.
    #[command(flatten)]
    pub answering: Answering,
}
