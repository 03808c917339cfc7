//! `resemble groups --files-from LIST`: prints one line per cluster of a list of hits.
//!
//! The hits of `grep -l` are often one text in thirty versions. Here the first version in the list
//! represents all versions. The list keeps its order, so a ranking stays a ranking. (Broder et al.
//! 1997, section 6, fold search results in the same way.)

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, Global, GroupsArgs, RowFormat, RowOutput};
use resemble_core::Params;
use resemble_core::cluster::UnionFind;
use resemble_proto::documents::{Document, GroupsParameters};
use resemble_proto::list_body;
use resemble_proto::message::{Groups, Header, SoftError, Whole};
use resemble_proto::path::PathText;
use resemble_proto::pattern::Patterns;
use resemble_proto::places::Env;
use resemble_report::document::Extras;
use resemble_report::rows::FoldRow;
use rustix::io::Errno;

use super::groups::{parameters, request};
use crate::backend::{Backend, inode_of};
use crate::error::CliResult;
use crate::lists;
use crate::names::{self, Named};
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &GroupsArgs,
    list: &Path,
) -> CliResult {
    let output = args.output.as_rows("--files-from")?;
    let mut asked = QuestionPaths::among(&names::read_list(list, args.output.null)?);
    let (folders, mut files): (Vec<Named>, _) = asked.named.into_iter().partition(Named::is_dir);
    let is_folder = io::Error::from(Errno::ISDIR);
    let error = |dir: Named| SoftError::of_io(dir.shown.as_path().into(), &is_folder);
    asked.missing.extend(folders.into_iter().map(error));
    // The answer does not have the files that the filters leave out, so these files are removed
    // from the list here.
    let (filter, mut seen) = (&args.selection, HashSet::new());
    let patterns = Patterns::new(&filter.include, &filter.exclude)?;
    files.retain(|one| {
        let name = one.real.file_name().unwrap_or_default();
        let size = || one.real.metadata().map_or(0, |meta| meta.len());
        patterns.admit(Path::new(name))
            && (filter.min_size == 0 || size() >= filter.min_size)
            && seen.insert(one.real.clone())
    });
    (asked.about, asked.anything) = (files.len(), !files.is_empty());
    asked.named = files;
    question::run(ui, env, global, &asked, Folding { args, output })
}

struct Folding<'a> {
    args: &'a GroupsArgs,
    output: RowOutput,
}

list_body! {
    /// The listed files, one row per cluster.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(super) struct Folded {
        folded: Vec<FoldRow>,
    } of "groups", GroupsParameters
}

impl Verb for Folding<'_> {
    type Body = Folded;

    fn answering(&self) -> Answering {
        self.args.layer.answering(&self.args.answering)
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Folded>> {
        let answer = backend.ask(ui, "grouping", request(self.args, asked, None))?;
        let mut folded = answer.map(|groups| Folded {
            folded: folded(&asked.named, &groups),
        });
        let rows = folded.body.folded.len() as u64;
        folded.header = Header {
            total: rows,
            shown: rows,
            ..folded.header
        };
        Ok(folded)
    }

    /// Changes nothing, because the rows already have the names of the list.
    fn show(&self, _: &mut Folded, _: &QuestionPaths) {}

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> GroupsParameters {
        parameters(self.args, params)
    }

    fn output(&self) -> Option<&Path> {
        self.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<Folded>, _: &Extras<'_>) -> CliResult<()> {
        if !self.output.null || self.output.format != RowFormat::Text {
            return lists::print_document(ui, &self.output, document, false);
        }
        ui.write_data(|out| {
            document.body.folded.iter().try_for_each(|row| {
                out.write_all(row.path.as_bytes())?;
                out.write_all(b"\0")
            })
        })
    }
}

/// Returns the listed files, with one row for each cluster. The rows are in the order of the first
/// files of their clusters.
fn folded(listed: &[Named], groups: &Groups) -> Vec<FoldRow> {
    let mut numbers: HashMap<PathBuf, u32> = HashMap::new();
    let mut first: Vec<u32> = Vec::with_capacity(listed.len());
    let mut inodes = HashMap::new();
    for (number, one) in (0u32..).zip(listed) {
        numbers.insert(one.real.clone(), number);
        // An answer names only one of several hard links. So files with the same inode get the same
        // number here, and are in one cluster.
        let inode = inode_of(&one.real);
        first.push(inode.map_or(number, |inode| *inodes.entry(inode).or_insert(number)));
    }
    let mut clusters = UnionFind::new(listed.len() as u32);
    for (number, &same) in (0u32..).zip(&first) {
        clusters.union(same, number);
    }
    let mut join = |paths: &mut dyn Iterator<Item = &PathText>| {
        let mut known = paths.filter_map(|path| numbers.get(path.as_path()).copied());
        if let Some(one) = known.next() {
            for other in known {
                clusters.union(one, other);
            }
        }
    };
    for set in &groups.identical {
        join(&mut set.paths.iter());
    }
    for cluster in &groups.clusters {
        join(&mut cluster.members.iter().map(|member| &member.path));
    }
    let mut rows: Vec<FoldRow> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    for (number, one) in clusters.into_least().into_iter().zip(listed) {
        let shown = PathText::from(one.shown.as_path());
        if let Some(&place) = places.get(&number) {
            rows[place].others.push(shown);
        } else {
            places.insert(number, rows.len());
            rows.push(FoldRow {
                path: shown,
                others: Vec::new(),
            });
        }
    }
    rows
}
