//! `resemble groups --files-from LIST`: a list of hits, a line a cluster.
//!
//! What `grep -l` finds is often one text in thirty versions. Here the first of them stands for all, in the order of the
//! list, so what was ranked stays ranked (Broder et al. 1997, section 6, fold search results so).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_core::cluster::UnionFind;
use resemble_proto::message::{Answer, Groups, Header};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::Head;
use resemble_report::quote::quoted;
use resemble_report::rows::FoldRow;

use super::{After, NOTHING};
use crate::args::{Global, GroupsArgs, RowFormat};
use crate::backend::{Backend, inode_of};
use crate::commands::groups;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::{self, Named};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &GroupsArgs,
    list: &Path,
) -> CliResult {
    let output = args.output.as_rows("--files-from")?;
    let files = names::read_list(list, args.output.null)?;
    let (listed, mut errors) = names::resolve(&files);
    if let Some(dir) = listed.iter().find(|one| one.is_dir()) {
        return Err(CliError::Usage(format!(
            "--files-from takes files: {} is a directory",
            quoted(&dir.shown)
        )));
    }
    let mut params = Params::default();
    let mut rows = Vec::new();
    let mut header = Header {
        fresh: true,
        ..Header::default()
    };
    let mut backend = None;
    if !listed.is_empty() {
        let answering = args.layer.answering(&args.answering);
        let chosen = backend.insert(Backend::choose(ui, env, global, &answering, &listed)?);
        params = *chosen.params();
        chosen.refresh(ui, &names::real_paths(&listed))?;
        let mut answer = chosen.ask(ui, groups::request(args, &listed, None))?;
        errors.append(&mut answer.errors);
        rows = folded(&listed, &answer.body);
        header = Header {
            total: rows.len() as u64,
            shown: rows.len() as u64,
            ..answer.header
        };
    }
    let errors = names::tidy(errors, &listed);
    let answer = Answer {
        header,
        rows,
        errors,
    };
    ui.redirect(output.output.as_deref());
    if output.null && output.format == RowFormat::Text {
        ui.write(|out| {
            answer.rows.iter().try_for_each(|row| {
                out.write_all(row.path.as_bytes())?;
                out.write_all(b"\0")
            })
        })?;
    } else {
        let head = Head::new("groups", groups::parameters(args, &params), header);
        lists::print(
            ui,
            &output,
            &head,
            "folded",
            &answer.rows,
            &answer.errors,
            false,
        )?;
    }
    let after = After {
        header: &header,
        errors: &answer.errors,
        top: None,
        none: NOTHING,
    };
    after.say(ui, backend)?;
    Ok(Outcome::of(!answer.rows.is_empty()).with_errors(!answer.errors.is_empty()))
}

/// The listed files, each cluster at the place of its first.
fn folded(listed: &[Named], groups: &Groups) -> Vec<FoldRow> {
    let mut numbers: HashMap<PathBuf, u32> = HashMap::new();
    let mut first: Vec<u32> = Vec::with_capacity(listed.len());
    let mut inodes = HashMap::new();
    for (number, one) in (0u32..).zip(listed) {
        // Answers name one of several hard links.
        let same = *numbers.entry(one.real.clone()).or_insert(number);
        let linked = inode_of(&one.real).map_or(same, |inode| *inodes.entry(inode).or_insert(same));
        first.push(linked);
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
