//! The command `find`.
//!
//! The signature of the subject is computed before the question is asked. So standard input, and a
//! file outside the scope, are compared like any other file.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::figure::Figure;
use crate::method::{self, SignedFile, Signing, features};
use crate::question::{MethodFind, MethodLimits, MethodQuestion, MethodRow, MethodScore};
use resemble_arguments::Global;
use resemble_cli::error::{CliError, CliResult};
use resemble_cli::lists;
use resemble_cli::names::{self, ShownNames};
use resemble_cli::ui::Ui;
use resemble_core::Params;
use resemble_methods::lines::NamedFeatures;
use resemble_methods::{Method, MethodParams};
use resemble_proto::message::{Answer, Header, SoftError};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::Head;
use resemble_relate::AskError;
use resemble_report::quote::quoted;

use super::args::{FindArgs, RowArgs};
use super::backend::{Backend, end, refused};
use super::chosen::{Parameters, chosen, figure_of, read_sets};
use super::rows::FoundFile;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &FindArgs) -> CliResult {
    let RowArgs {
        method: method_args,
        selection,
        output,
        cache,
    } = &args.rows;
    let files = &names::with_list(&args.files, args.files_from.as_deref(), output.null)?;
    let chosen = chosen(method_args)?;
    let limits = chosen.limits(selection)?;
    let contained = args.contained.map(figure_of);
    if contained.is_some() {
        method::check_score(&chosen.params, MethodScore::Containment).map_err(refused)?;
    }
    let (within, mut errors) = names::resolve(&args.within);
    let mut header = None;
    let mut found: Vec<FoundFile> = Vec::new();
    let mut params = Params::default();
    let mut backend = None;
    let mut take = |answer: Answer<MethodRow>, errors: &mut Vec<SoftError>| {
        let next = answer.header;
        header = Some(match header.take() {
            Some(sum) => Header::and(sum, next),
            None => next,
        });
        errors.extend(answer.errors);
        found.extend(answer.rows.into_iter().filter_map(|row| match row {
            MethodRow::Find(row) => Some(FoundFile(row)),
            _ => None,
        }));
    };
    if let Some(sets) = &args.features {
        let sets = read_sets(sets)?;
        let least = contained.unwrap_or_default();
        for name in files {
            let answer = among_sets(&chosen.params, &sets, name, least, limits);
            take(answer, &mut errors);
        }
    }
    if !within.is_empty() {
        let asked = backend.insert(Backend::open(ui, env, global, *cache, &within)?);
        params = *asked.params();
        let real = names::real_paths(&within);
        asked.refresh(ui, &real)?;
        for file in files {
            let (signed, real_file) = match sign(file, &chosen.params) {
                Ok(signed) => signed?,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            note_too_small(ui, file, &signed, chosen.method);
            let question = MethodQuestion::Find(MethodFind {
                signature: signed.signature,
                content: signed.content,
                name: PathText::from(file.as_path()),
                contained: contained.unwrap_or_default(),
                limits,
            });
            let request = chosen.request(selection.scope(real.clone()), question);
            let answer = asked.ask(ui, &request, real_file.as_deref())?;
            take(answer, &mut errors);
        }
    }
    let shown = ShownNames::of(&within);
    for row in &mut found {
        row.0.path = shown.path(&row.0.path);
    }
    let mut errors = names::tidy(errors, &shown);
    errors.dedup();
    let threshold = chosen.method.thresholds().find;
    let among = args
        .features
        .as_ref()
        .map_or(&*args.within, std::slice::from_ref);
    let parameters = Parameters {
        files: Some(names::as_given(files)),
        contained,
        ..Parameters::new(&chosen, threshold, selection, among, &params)
    };
    let header = header.unwrap_or(Header {
        fresh: true,
        ..Header::default()
    });
    ui.redirect(output.output.as_deref());
    let head = Head::new("find", parameters, header.clone());
    lists::print(
        ui,
        output,
        &head,
        "results",
        &found,
        &errors,
        files.len() > 1,
    )?;
    end(ui, backend, &header, &errors, selection.top)
}

/// Finds the sets that are similar to the set with this name.
fn among_sets(
    params: &MethodParams,
    sets: &[NamedFeatures],
    name: &Path,
    contained: Figure,
    limits: MethodLimits,
) -> Answer<MethodRow> {
    let name = PathText::from(name);
    let Some(rows) = features::find(params, sets, &name, contained, limits) else {
        let absent = SoftError::of_io(name, &io::ErrorKind::NotFound.into());
        return Answer::fresh(Vec::new(), vec![absent]);
    };
    let rows = rows.into_iter().map(MethodRow::Find);
    Answer::fresh(rows.collect(), Vec::new()).cut(limits.top)
}

fn note_too_small(ui: &mut Ui, file: &Path, signed: &SignedFile, method: Method) {
    if signed.signature.is_empty() {
        ui.note(&format!(
            "{}: too small to judge, {method} keeps nothing of it",
            quoted(file),
        ));
    }
}

/// Computes the signature of a file and finds its real path. The outer error means that this file
/// cannot be read. The question then continues with the other files. The inner error ends the
/// question.
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
        Err(AskError::Unreadable { source, .. }) => Err(failed(&source)),
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
