//! `resemble find`: the files similar to some file, or to what standard input holds.
//!
//! Each FILE is a question of its own; the answers stand one after the other in the order of the
//! arguments, and `--top` cuts each. A FILE that cannot be read is a soft error: the others are
//! answered.

use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_proto::documents::{FindDocument, SimilarFiles};
use resemble_proto::message::{FindRequest, FindRow, Header, Scope, SoftError};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::{FindParameters, Head};
use resemble_report::document::Report;

use crate::args::{FindArgs, Global, ListAs};
use crate::backend::{Backend, Sought, digest_stdin};
use crate::commands::{NOTHING, common_parameters, holders, print_list};
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::{self, Named};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &FindArgs) -> CliResult {
    let print_as = args.output.checked()?;
    let files = all_files(args)?;
    if args.holders {
        return holders::run(ui, env, global, args, &files, print_as);
    }
    let (within, mut errors) = names::resolve(&args.within);
    let mut found = Found::default();
    let mut params = Params::default();
    // With every directory of --in missing, the question has no files: not those of the daemon.
    let mut backend = None;
    if args.within.is_empty() || !within.is_empty() {
        let chosen = Backend::choose(
            ui,
            env,
            global,
            &args.layer.answering(&args.answering),
            &within,
        )?;
        params = *chosen.params();
        errors.extend(found.ask(ui, args, &files, &within, backend.insert(chosen))?);
    }
    for row in &mut found.rows {
        row.path = names::shown_as(&within, &row.path);
    }
    let errors = names::tidy(errors, &within);

    ui.redirect(args.output.output.as_deref());
    let text = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|path| PathText::from(path.as_path()))
            .collect()
    };
    let parameters = FindParameters {
        files: text(&files),
        within: text(&args.within),
        unit: args.measuring.unit.into(),
        common: common_parameters(&args.selection, args.measuring.exact, &params),
    };
    let header = found.header.unwrap_or(Header {
        fresh: true,
        ..Header::default()
    });
    let said = header;
    let by_daemon = backend.as_ref().is_some_and(Backend::is_daemon);
    let is_everywhere = by_daemon && args.selection.scope(text(&args.within)) == Scope::default();
    let header = Header {
        // How much the whole index holds is no part of an answer: it is said to people alone.
        looked: said.looked.filter(|_| !is_everywhere),
        ..said
    };
    match print_as {
        ListAs::Rows(output) => {
            let head = Head::new("find", parameters, header);
            let (rows, grouped) = (&found.rows, files.len() > 1);
            lists::print(ui, &output, &head, "results", rows, &errors, grouped)?;
        }
        ListAs::Report(format) => {
            let results = std::mem::take(&mut found.rows);
            let body = SimilarFiles { results };
            let document = FindDocument::new(parameters, header, body, errors.clone());
            print_list(ui, format, Report::Find(&document))?;
        }
    }
    lists::note_nothing(ui, &said, NOTHING);
    lists::note_limits(ui, &header, args.selection.top, by_daemon);
    ui.soft_errors(&errors);
    ui.flush()?;
    if let Some(backend) = backend {
        backend.close();
    }
    Ok(Outcome::of(header.total > 0).with_errors(!errors.is_empty()))
}

/// The rows of all subjects.
#[derive(Default)]
struct Found {
    header: Option<Header>,
    rows: Vec<FindRow>,
}

impl Found {
    /// Asks for each file; what could not be looked at is returned.
    fn ask(
        &mut self,
        ui: &mut Ui,
        args: &FindArgs,
        files: &[PathBuf],
        within: &[Named],
        backend: &mut Backend,
    ) -> CliResult<Vec<SoftError>> {
        let mut errors = Vec::new();
        let mut subjects = Vec::with_capacity(files.len());
        for file in files {
            match sought(file, args, backend) {
                Ok(subject) => subjects.push((PathText::from(file.as_path()), subject?)),
                Err(error) => errors.push(error),
            }
        }
        let real = names::real_paths(within);
        let mut looked_at = real.clone();
        looked_at.extend(subjects.iter().filter_map(|(_, subject)| subject.file()));
        backend.refresh(ui, &looked_at)?;
        let selection = &args.selection;
        let request = |subject| FindRequest {
            subject,
            scope: selection.scope(real.clone()),
            min: selection.min.unwrap_or_default(),
            min_shared: selection.min_shared,
            top: selection.top,
            exact: args.measuring.exact,
            unit: args.measuring.unit.into(),
            text: !args.layer.no_text,
        };
        let _progress = ui.progress("comparing");
        for (name, subject) in &subjects {
            match backend.find(subject, name, request(subject.subject(name)))? {
                Ok(answer) => {
                    self.add(answer.header);
                    self.rows.extend(answer.body.results);
                    errors.extend(answer.errors);
                }
                Err(error) => errors.push(error),
            }
        }
        Ok(errors)
    }

    fn add(&mut self, next: Header) {
        self.header = Some(self.header.map_or(next, |sum| sum.and(next)));
    }
}

fn all_files(args: &FindArgs) -> CliResult<Vec<PathBuf>> {
    let files = names::with_list(&args.files, args.files_from.as_deref(), args.output.null)?;
    if args.measuring.exact && files.iter().any(|file| file == Path::new("-")) {
        return Err(CliError::Usage(
            "--exact needs files: standard input cannot be read again".to_owned(),
        ));
    }
    Ok(files)
}

/// What a FILE argument means; the outer error is the file's own.
fn sought(file: &Path, args: &FindArgs, backend: &Backend) -> Result<CliResult<Sought>, SoftError> {
    if file == Path::new("-") {
        let text = !args.layer.no_text;
        return Ok(digest_stdin(backend.params(), text).map(|read| Sought::Stdin(Box::new(read))));
    }
    let failed = |error| SoftError::of_io(PathText::from(file), &error);
    let real = match std::fs::canonicalize(file) {
        Ok(real) => real,
        Err(error) => {
            if let Ok(named) = names::required(file)
                && named.is_catalogued()
            {
                return Ok(Ok(Sought::File(named)));
            }
            let member = names::member_of(file).filter(|_| !args.layer.no_text);
            return member
                .map(|member| Ok(Sought::Member(member)))
                .ok_or_else(|| failed(error));
        }
    };
    let meta = std::fs::metadata(&real).map_err(failed)?;
    if !meta.is_file() {
        let what = if meta.is_dir() {
            "is a directory"
        } else {
            "is not a regular file"
        };
        return Err(failed(std::io::Error::other(what)));
    }
    Ok(Ok(Sought::File(Named {
        shown: file.to_owned(),
        real,
    })))
}
