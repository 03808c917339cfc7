//! `resemble find --holders`: every file that holds a part of one.
//!
//! Whoever answers names the candidates; this process reads them, with the rights of who asks, and keeps what the bytes
//! prove. So the daemon and `--local` give the same rows.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use resemble_engine::apart::TakeApart;
use resemble_engine::find::holders::{Sought, prove};
use resemble_proto::message::{Header, HolderRow, SoftError};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::{FindParameters, Head};

use crate::args::{FindArgs, Global, ListAs, Unit};
use crate::backend::{Backend, formats, subject_error};
use crate::commands::{NOTHING, common_parameters};
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::{self, Named};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &FindArgs,
    files: &[PathBuf],
    print_as: ListAs,
) -> CliResult {
    let output = check(args, files, print_as)?;
    let (within, mut errors) = names::resolve(&args.within);
    if within.is_empty() && !errors.is_empty() {
        ui.soft_errors(&errors);
        return Ok(Outcome::Incomplete);
    }
    let (files, mut failed) = names::resolve(files);
    errors.append(&mut failed);
    let answering = args.layer.answering(&args.answering);
    let mut backend = Backend::choose(ui, env, global, &answering, &within)?;
    let formats = formats(answering.text);
    let apart = formats.as_ref().map(|formats| formats as &dyn TakeApart);
    let real = names::real_paths(&within);
    // The files asked about as well: then other names of theirs are known to be theirs.
    let mut looked_at = real.clone();
    looked_at.extend(names::real_paths(&files));
    backend.refresh(ui, &looked_at)?;
    let scope = args.selection.scope(real);
    let mut header = Header {
        fresh: true,
        ..Header::default()
    };
    let mut found: Vec<HolderRow> = Vec::new();
    for file in &files {
        let sought = match Sought::read(&file.real, backend.params(), apart) {
            Ok(sought) => sought,
            Err(error) => {
                errors.push(subject_error(file, error));
                continue;
            }
        };
        let answer = backend.holders(&sought, &file.real, &scope, !args.quick)?;
        header.fresh &= answer.header.fresh;
        header.pending = header.pending.max(answer.header.pending);
        errors.extend(answer.errors);
        let progress = Mutex::new((ui.progress("reading the candidates"), 0));
        let (mut rows, unread) = prove(
            &sought,
            answer.body,
            args.selection.min_shared,
            apart,
            &|read| {
                if let Ok(mut progress) = progress.lock() {
                    let (shown, count) = &mut *progress;
                    *count += read as u64;
                    shown.update(*count, *count, 0);
                }
            },
        );
        drop(progress);
        errors.extend(unread);
        header.total += rows.len() as u64;
        rows.truncate(args.selection.top.map_or(usize::MAX, |top| top as usize));
        header.shown += rows.len() as u64;
        for row in &mut rows {
            row.file = PathText::from(file.shown.as_path());
        }
        found.extend(rows);
    }
    finish(&mut found, &within);
    let errors: Vec<SoftError> = names::tidy(errors, &within);
    print(ui, args, &files, &backend, header, &output, &found, &errors)?;
    lists::note_nothing(ui, &header, NOTHING);
    lists::note_limits(ui, &header, args.selection.top, backend.is_daemon());
    ui.soft_errors(&errors);
    ui.flush()?;
    backend.close();
    Ok(Outcome::of(header.total > 0).with_errors(!errors.is_empty()))
}

#[allow(clippy::too_many_arguments)] // what a document is made of
fn print(
    ui: &mut Ui,
    args: &FindArgs,
    files: &[Named],
    backend: &Backend,
    header: Header,
    output: &crate::args::RowOutput,
    found: &[HolderRow],
    errors: &[SoftError],
) -> CliResult<()> {
    let parameters = FindParameters {
        files: files
            .iter()
            .map(|file| PathText::from(file.shown.as_path()))
            .collect(),
        within: names::as_given(&args.within),
        unit: args.measuring.unit.into(),
        common: common_parameters(&args.selection, true, backend.params()),
    };
    ui.redirect(output.output.as_deref());
    let head = Head::new("find", parameters, header);
    lists::print(ui, output, &head, "holders", found, errors, files.len() > 1)
}

fn check(
    args: &FindArgs,
    files: &[PathBuf],
    print_as: ListAs,
) -> CliResult<crate::args::RowOutput> {
    let refuse = |text: &str| Err(CliError::Usage(text.to_owned()));
    if files.iter().any(|file| file == Path::new("-")) {
        return refuse("--holders needs files: standard input cannot be read again");
    }
    if args.measuring.unit != Unit::Bytes || args.selection.min.is_some() {
        return refuse(
            "--holders counts bytes: --unit and --min are for scores; --min-shared bounds the rows",
        );
    }
    match print_as {
        ListAs::Rows(output) => Ok(output),
        ListAs::Report(_) => refuse("--holders prints text, json, jsonl, csv and tsv"),
    }
}

/// Owners, and paths as the arguments lead to them.
fn finish(rows: &mut [HolderRow], within: &[Named]) {
    let names = users();
    for row in rows {
        let owner = std::fs::symlink_metadata(row.container.as_path()).ok();
        row.owner = owner.map(|meta| {
            let known = names.get(&meta.uid()).cloned();
            known.unwrap_or_else(|| meta.uid().to_string())
        });
        for path in [&mut row.path, &mut row.container, &mut row.root] {
            *path = names::shown_as(within, path);
        }
    }
}

/// The names of the users of this machine, as far as its own list has them.
fn users() -> HashMap<u32, String> {
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        Some((fields.nth(1)?.parse().ok()?, name.to_owned()))
    };
    let mut users = HashMap::new();
    for (uid, name) in list.lines().filter_map(user) {
        users.entry(uid).or_insert(name);
    }
    users
}
