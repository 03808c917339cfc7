//! `resemble catalogue write`: writes a catalogue of directories, a delta to an older catalogue, or
//! tables.
//!
//! The daemon and this process write a catalogue with the same bytes. Deltas and tables are made
//! from a temporary catalogue.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use resemble_arguments::{CatalogueFormat, Global, WriteArgs};
use resemble_catalogue::delta::{self, Delta};
use resemble_catalogue::{self as catalogue, Details, Samples, Totals};
use resemble_core::Params;
use resemble_proto::catalogued::{LABEL, is_label};
use resemble_proto::clock;
use resemble_proto::message::{CatalogueForm, DumpForm};
use resemble_proto::number::Fraction;
use resemble_proto::places::Env;
use resemble_report::human::counted;
use resemble_report::human::human_size;
use resemble_report::quote::quoted;
use resemble_tables::Written;

use crate::commands::destination::Destination;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::new_file::NewFile;
use crate::question::QuestionPaths;
use crate::ui::Ui;

/// A catalogue up to this size keeps all its samples, even if its files are small.
const SMALL: u64 = 1 << 20;

/// The product of the command.
enum Product<'a> {
    Catalogue(Destination<'a>),
    /// A delta, with the path of the older catalogue.
    Delta(Destination<'a>, &'a Path),
    Tables(&'a Path),
}

impl<'a> Product<'a> {
    fn of(args: &'a WriteArgs) -> CliResult<Self> {
        Ok(match (args.format, &args.since) {
            (CatalogueFormat::Parquet, _) if args.output == Path::new("-") => {
                return Err(CliError::Usage(
                    "tables are a folder: `-o -` is for catalogues".to_owned(),
                ));
            }
            (CatalogueFormat::Parquet, Some(_)) => {
                return Err(CliError::Usage(
                    "--since is for catalogues: tables are written whole".to_owned(),
                ));
            }
            (CatalogueFormat::Parquet, None) => Self::Tables(&args.output),
            (CatalogueFormat::Catalogue, None) => Self::Catalogue(Destination::of(&args.output)?),
            (CatalogueFormat::Catalogue, Some(base)) => {
                Self::Delta(Destination::of(&args.output)?, base)
            }
        })
    }

    /// Creates the file for the catalogue. A delta or tables are made from that file later.
    fn begin(&self) -> CliResult<NewFile> {
        match self {
            Self::Catalogue(to) | Self::Delta(to, _) => to.begin(),
            Self::Tables(folder) => {
                fs::create_dir_all(folder).map_err(CliError::file("write", folder))?;
                NewFile::temporary_in(folder)
            }
        }
    }
}

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &WriteArgs) -> CliResult {
    let product = Product::of(args)?;
    let form = form(args)?;
    let asked = QuestionPaths::within(&args.roots);
    if !asked.anything {
        ui.soft_errors(&asked.missing);
        return Ok(Outcome::Incomplete);
    }
    // The files are scanned before the new file exists, so that the catalogue does not list itself.
    let answering = args.layer.answering(&args.answering);
    let mut backend = asked.open(ui, env, global, &answering)?;
    let mut file = product.begin()?;
    let progress = ui.progress("writing the catalogue");
    let form = DumpForm::Catalogue(form);
    let dumped = backend.dump(asked.scope(), form, &mut |piece| file.write(piece))?;
    drop(progress);
    let params = *backend.params();
    lists::note_limits(ui, &dumped.header, None, backend.is_daemon());
    backend.close(ui);
    let summary = finish(ui, args, (product, file), &params)?;
    let errors = asked.errors(dumped.errors);
    ui.soft_errors(&errors);
    ui.note(&summary);
    Ok(Outcome::Holds.with_errors(!errors.is_empty()))
}

/// Chooses the form of the catalogue.
fn form(args: &WriteArgs) -> CliResult<CatalogueForm> {
    let within = within(args)?;
    let usual = CatalogueForm {
        label: String::new(),
        created: args.created.unwrap_or_else(|| clock::now().cast_signed()),
        names: !args.no_names,
        text: args.layer.is_on(),
        within: within.unwrap_or(Fraction::from_millionths(30_000)),
        small: if within.is_some() { 0 } else { SMALL },
    };
    let Some(base) = &args.since else {
        let label = label(args)?;
        return Ok(CatalogueForm { label, ..usual });
    };
    let base = catalogue::open(base)?.head().details.clone();
    for (is_other, option) in [
        (args.no_names && base.names, "--no-names"),
        (!args.layer.is_on() && base.text, "--text=off"),
        (args.within.is_some(), "--within"),
    ] {
        if is_other {
            return Err(CliError::Usage(format!(
                "with --since the new catalogue is as the old one is: leave out {option}"
            )));
        }
    }
    Ok(CatalogueForm {
        label: match &args.label {
            Some(_) => label(args)?,
            None => base.label,
        },
        names: base.names,
        text: base.text,
        // All samples are kept here. Later, `delta::make` thins them just as the samples of the
        // base were thinned.
        within: Fraction::ONE,
        small: 0,
        ..usual
    })
}

/// Makes the product from the catalogue in `file` and puts it at its destination. Returns a
/// sentence about the product.
fn finish(
    ui: &mut Ui,
    args: &WriteArgs,
    (product, mut file): (Product<'_>, NewFile),
    params: &Params,
) -> CliResult<String> {
    let bytes = file.complete()?;
    let whole = catalogue::open(file.path())?;
    Ok(match product {
        Product::Catalogue(to) => {
            let details = whole.head().details.clone();
            let totals = whole.totals()?;
            to.put(ui, file)?;
            summary(to.name(), &totals, &details, bytes)
        }
        Product::Delta(to, base) => {
            let progress = ui.progress("comparing the catalogues");
            let mut made = to.begin()?;
            let totals = delta::make(base, whole, &mut |piece| made.take(piece))?;
            let bytes = made.complete()?;
            Delta::open(made.path())?;
            let of_base = fs::metadata(base)
                .map_err(CliError::file("read", base))?
                .len();
            drop(progress);
            to.put(ui, made)?;
            summary_of_delta(to.name(), &totals, bytes, (base, of_base))
        }
        Product::Tables(folder) => {
            let progress = ui.progress("writing the tables");
            let salt = args.salt.unwrap_or_default();
            let written = resemble_tables::write(whole, params, salt, folder)?;
            drop(progress);
            summary_of_tables(folder, &written)
        }
    })
}

/// Returns the limit of the catalogue's size, as a share of the size of the files, if one is set.
fn within(args: &WriteArgs) -> CliResult<Option<Fraction>> {
    match args.format {
        CatalogueFormat::Catalogue if args.salt.is_some() => Err(CliError::Usage(
            "--salt is for tables: add --format parquet, or leave it out".to_owned(),
        )),
        CatalogueFormat::Catalogue => Ok(args.within),
        CatalogueFormat::Parquet if args.within.is_some_and(|within| within != Fraction::ONE) => {
            Err(CliError::Usage(
                "tables have all samples, or those of two catalogues could not be compared: leave \
                 out --within"
                    .to_owned(),
            ))
        }
        CatalogueFormat::Parquet => Ok(Some(Fraction::ONE)),
    }
}

/// Returns the label that was given. If none was given, makes a label from the name of the file.
/// For tables and for standard output, makes the label from the name of the only root.
fn label(args: &WriteArgs) -> CliResult<String> {
    if let Some(label) = &args.label {
        return if is_label(label) {
            Ok(label.clone())
        } else {
            Err(bad_label(label))
        };
    }
    let stem = match (args.format, &args.roots[..]) {
        (CatalogueFormat::Catalogue, _) if args.output != Path::new("-") => {
            args.output.file_stem().map(OsStr::to_owned)
        }
        (_, [root]) => {
            let root = fs::canonicalize(root).ok();
            root.and_then(|root| root.file_name().map(OsStr::to_owned))
        }
        _ => None,
    };
    let stem = stem.unwrap_or_default();
    let stem = stem.to_string_lossy();
    let allowed = |c: char| {
        if c.is_alphanumeric() || matches!(c, '.' | '_') {
            c
        } else {
            '-'
        }
    };
    let label: String = stem.chars().map(allowed).collect();
    let mut label = label.trim_start_matches(['.', '-']);
    while label.len() > LABEL {
        let mut shorter = label.chars();
        shorter.next_back();
        label = shorter.as_str();
    }
    Ok(if label.is_empty() { "catalogue" } else { label }.to_owned())
}

/// Returns the error about a label that is not valid.
pub(super) fn bad_label(label: &str) -> CliError {
    CliError::Usage(format!(
        "the label {label:?} cannot be used: a label has up to {LABEL} bytes of letters, digits, \
         `.`, `_` and `-`, and begins with neither a dot nor a dash"
    ))
}

/// Returns a sentence about the written catalogue.
fn summary(path: &Path, totals: &Totals, details: &Details, bytes: u64) -> String {
    let mut place = human_size(bytes);
    if totals.bytes > 0 {
        let share = bytes as f64 / totals.bytes as f64 * 100.0;
        let _ = write!(place, " ({share:.1} %)");
    }
    if let Samples::AtMost(most) = details.samples {
        let _ = write!(place, "; samples of at most {most} fingerprints");
    }
    sentence(path, totals, &place)
}

/// Returns a sentence about a delta that was written.
fn summary_of_delta(
    path: &Path,
    totals: &Totals,
    bytes: u64,
    (base, of_base): (&Path, u64),
) -> String {
    let place = format!(
        "{}, {:.1} % of {}",
        human_size(bytes),
        bytes as f64 / of_base.max(1) as f64 * 100.0,
        quoted(base)
    );
    sentence(path, totals, &place)
}

/// Returns a sentence about the tables that were written.
fn summary_of_tables(folder: &Path, written: &Written) -> String {
    let tables = counted(written.tables, "table");
    let place = format!("{tables} of {}", human_size(written.bytes));
    sentence(folder, &written.totals, &place)
}

/// Describes a file or folder that was written: its contents and its size. Also says how many of
/// its files have only a name.
fn sentence(path: &Path, totals: &Totals, place: &str) -> String {
    let mut text = contents(path, totals, place);
    if totals.unread > 0 {
        let _ = write!(text, "; {} of them are in it by name alone", totals.unread);
    }
    text
}

/// Returns a text about the contents and the size of a file or folder that was written.
pub(super) fn contents(path: &Path, totals: &Totals, place: &str) -> String {
    format!(
        "{}: {} with {}, in {place}",
        quoted(path),
        counted(totals.files, "file"),
        human_size(totals.bytes)
    )
}
