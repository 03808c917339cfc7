//! `find --method`.
//!
//! The subject is signed here, whoever answers, so that standard input and a file outside of every index go the way of all
//! others; one that only a catalogue has is named by its place there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_core::Params;
use resemble_engine::method::{self, SignedFile, Signing};
use resemble_methods::{Method, MethodParams};
use resemble_proto::message::{
    Header, Inode, MethodBar, MethodFind, MethodFindRow, MethodQuestion, MethodRow, SoftError,
};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::Head;
use resemble_report::quote::quoted;

use super::{Parameters, as_rows, chosen, end, refuse};
use crate::args::{FindArgs, Global, ListAs};
use crate::backend::{Backend, inode_of};
use crate::error::{CliError, CliResult};
use crate::lists;
use crate::names::{self, Named};
use crate::ui::Ui;

pub(in crate::commands) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &FindArgs,
    print_as: ListAs,
    files: &[PathBuf],
) -> CliResult {
    let chosen = chosen(&args.method, args.form.canonical)?;
    let is_words = args.measuring.unit == crate::args::Unit::Words;
    let exact = args.measuring.exact;
    refuse(chosen.method, &[("--exact", exact), ("--unit", is_words)])?;
    let output = as_rows(print_as)?;
    let bar = chosen.bar(&args.selection)?;
    let (within, mut errors) = names::resolve(&args.within);
    let mut header = None;
    let mut found: Vec<MethodFindRow> = Vec::new();
    let mut params = Params::default();
    let mut backend = None;
    if args.within.is_empty() || !within.is_empty() {
        let answering = &args.answering;
        let recorded: Vec<Option<Named>> = files.iter().map(|file| recorded(file)).collect();
        let named: Vec<Named> = within
            .iter()
            .chain(recorded.iter().flatten())
            .cloned()
            .collect();
        let asked = backend.insert(Backend::choose(ui, env, global, answering, &named)?);
        params = *asked.params();
        let real = names::real_paths(&within);
        asked.refresh(ui, &names::real_paths(&named))?;
        for (file, recorded) in files.iter().zip(&recorded) {
            let (question, real_file) = match recorded {
                Some(one) => (of_recorded(one, bar), None),
                None => match sign(file, &chosen.params) {
                    Ok(signed) => {
                        let (signed, real_file) = signed?;
                        note_too_small(ui, file, &signed, chosen.method);
                        let inode = real_file.as_deref().and_then(inode_of);
                        (of_signed(file, &signed, inode, bar), real_file)
                    }
                    Err(error) => {
                        errors.push(error);
                        continue;
                    }
                },
            };
            let question = MethodQuestion::Find(question);
            let request = chosen.request(args.selection.scope(real.clone()), question);
            let answer = asked.method(ui, request, real_file.as_deref())?;
            let next = answer.header;
            header = Some(header.map_or(next, |sum: Header| sum.and(next)));
            errors.extend(answer.errors);
            found.extend(answer.rows.into_iter().filter_map(|row| match row {
                MethodRow::Find(row) => Some(row),
                _ => None,
            }));
        }
    }
    for row in &mut found {
        row.path = names::shown_as(&within, &row.path);
    }
    let mut errors = names::tidy(errors, &within);
    errors.dedup();
    let threshold = chosen.method.thresholds().find;
    let parameters = Parameters {
        files: Some(names::as_given(files)),
        ..Parameters::new(&chosen, threshold, &args.selection, &args.within, &params)
    };
    let header = header.unwrap_or(Header {
        fresh: true,
        ..Header::default()
    });
    ui.redirect(output.output.as_deref());
    let head = Head::new("find", parameters, header);
    lists::print(
        ui,
        &output,
        &head,
        "results",
        &found,
        &errors,
        files.len() > 1,
    )?;
    end(ui, backend, &header, &errors, args.selection.top)
}

/// The subject of a find if only a catalogue has it.
fn recorded(file: &Path) -> Option<Named> {
    if fs::canonicalize(file).is_ok() {
        return None;
    }
    names::required(file).ok().filter(Named::is_catalogued)
}

fn of_recorded(subject: &Named, bar: MethodBar) -> MethodFind {
    MethodFind {
        signature: String::new(),
        content: String::new(),
        recorded: Some(PathText::from(subject.real.as_path())),
        name: PathText::from(subject.shown.as_path()),
        inode: None,
        bar,
    }
}

fn of_signed(file: &Path, signed: &SignedFile, inode: Option<Inode>, bar: MethodBar) -> MethodFind {
    MethodFind {
        signature: BASE64.encode(signed.signature.encode()),
        content: signed.content.to_string(),
        recorded: None,
        name: PathText::from(file),
        inode,
        bar,
    }
}

fn note_too_small(ui: &mut Ui, file: &Path, signed: &SignedFile, method: Method) {
    if signed.signature.is_empty() {
        ui.note(&format!(
            "{}: too small to judge, {method} keeps nothing of it",
            quoted(file),
        ));
    }
}

/// The subject of a find, and where it is; the outer error is the file's own.
#[allow(clippy::type_complexity)]
fn sign(
    file: &Path,
    params: &MethodParams,
) -> Result<CliResult<(SignedFile, Option<PathBuf>)>, SoftError> {
    if file == Path::new("-") {
        return Ok(sign_stdin(params).map(|signed| (signed, None)));
    }
    let failed = |error: &io::Error| SoftError::of_io(PathText::from(file), error);
    let real = fs::canonicalize(file).map_err(|error| failed(&error))?;
    match method::sign_file(&real, params) {
        Ok(signed) => Ok(Ok((signed, Some(real)))),
        Err(resemble_engine::AskError::Unreadable { source, .. }) => Err(failed(&source)),
        Err(error) => Ok(Err(error.into())),
    }
}

fn sign_stdin(params: &MethodParams) -> CliResult<SignedFile> {
    let mut signing = Signing::new(params);
    let mut stdin = io::stdin().lock();
    let mut piece = vec![0; 1 << 18];
    loop {
        match stdin.read(&mut piece) {
            Ok(0) => return Ok(signing.finish()),
            Ok(count) => signing.update(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(CliError::File {
                    verb: "read",
                    path: PathBuf::from("-"),
                    source,
                });
            }
        }
    }
}
