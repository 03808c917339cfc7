//! `resemble export`: a catalogue of directories, or tables made of one.
//!
//! The daemon and this process write the same bytes. They go into a new file next to the one that
//! was named, which is replaced only when the new one is complete, on the disk, and has been read
//! back. Tables are made of such a file, which then goes.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use resemble_catalogue::{self as catalogue, Catalogue, Details, Samples, Totals};
use resemble_proto::catalogued::{LABEL, is_label};
use resemble_proto::message::{CatalogueForm, DumpForm};
use resemble_proto::number::Fraction;
use resemble_proto::places::Env;
use resemble_report::human::counted;
use resemble_report::human::human_size;
use resemble_report::quote::quoted;
use resemble_tables::Written;

use crate::args::{ExportArgs, ExportFormat, Global};
use crate::error::{CliError, CliResult, Outcome};
use crate::question::Asked;
use crate::ui::Ui;

/// A catalogue of at most this size is small enough, however small its files are.
const SMALL: u64 = 1 << 20;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &ExportArgs) -> CliResult {
    let label = label(args)?;
    let within = within(args)?;
    let asked = Asked::within(&args.roots);
    if !asked.anything {
        ui.soft_errors(&asked.missing);
        return Ok(Outcome::Incomplete);
    }
    // The files are looked at before the new file exists: it must not be found by its own search.
    let answering = args.layer.answering(&args.answering);
    let mut backend = asked.open(ui, env, global, &answering)?;
    let form = DumpForm::Catalogue(CatalogueForm {
        label,
        created: args.created.unwrap_or_else(now),
        names: !args.no_names,
        text: !args.layer.no_text,
        within: within.unwrap_or(Fraction::from_millionths(30_000)),
        small: if within.is_some() { 0 } else { SMALL },
    });
    let mut file = match args.format {
        ExportFormat::Catalogue => NewFile::next_to(&args.output)?,
        ExportFormat::Parquet => NewFile::of_tables(&args.output)?,
    };
    let progress = ui.progress("writing the catalogue");
    let found = backend.dump(asked.scope(), form, &mut |piece| file.write(piece))?;
    drop(progress);
    let params = *backend.params();
    backend.close();
    let summary = match args.format {
        ExportFormat::Catalogue => {
            let (totals, details, bytes) = file.finish()?;
            summary(&args.output, &totals, &details, bytes)
        }
        ExportFormat::Parquet => {
            let progress = ui.progress("writing the tables");
            let salt = args.salt.unwrap_or_default();
            let written = resemble_tables::write(file.complete()?, &params, salt, &args.output)?;
            drop(progress);
            summary_of_tables(&args.output, &written)
        }
    };
    let errors = asked.errors(found);
    ui.soft_errors(&errors);
    ui.note(&summary);
    Ok(Outcome::Holds.with_errors(!errors.is_empty()))
}

/// How large it may be, if that is limited.
fn within(args: &ExportArgs) -> CliResult<Option<Fraction>> {
    match args.format {
        ExportFormat::Catalogue if args.salt.is_some() => Err(CliError::Usage(
            "--salt is for tables: add --format parquet, or leave it out".to_owned(),
        )),
        ExportFormat::Catalogue => Ok(args.within),
        ExportFormat::Parquet if args.within.is_some_and(|within| within != Fraction::ONE) => {
            Err(CliError::Usage(
                "tables have all samples, or those of two catalogues could not be compared: leave \
                 out --within"
                    .to_owned(),
            ))
        }
        ExportFormat::Parquet => Ok(Some(Fraction::ONE)),
    }
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

/// The label that was given, or one made from the name of the file.
fn label(args: &ExportArgs) -> CliResult<String> {
    if let Some(label) = &args.label {
        return if is_label(label) {
            Ok(label.clone())
        } else {
            Err(bad_label(label))
        };
    }
    let stem = match (args.format, &args.roots[..]) {
        (ExportFormat::Catalogue, _) => args.output.file_stem().map(OsStr::to_owned),
        (ExportFormat::Parquet, [root]) => {
            let root = fs::canonicalize(root).ok();
            root.and_then(|root| root.file_name().map(OsStr::to_owned))
        }
        (ExportFormat::Parquet, _) => None,
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

/// The error about a label that is not valid.
pub(super) fn bad_label(label: &str) -> CliError {
    CliError::Usage(format!(
        "the label {label:?} cannot be used: a label has up to {LABEL} bytes of letters, digits, \
         `.`, `_` and `-`, and begins with neither a dot nor a dash"
    ))
}

/// A sentence about what was written.
fn summary(path: &Path, totals: &Totals, details: &Details, bytes: u64) -> String {
    let Totals { files, unread, .. } = *totals;
    let mut text = format!(
        "{}: {} with {}, in {}",
        quoted(path),
        counted(files, "file"),
        human_size(totals.bytes),
        human_size(bytes)
    );
    if totals.bytes > 0 {
        let share = bytes as f64 / totals.bytes as f64 * 100.0;
        let _ = write!(text, " ({share:.1} %)");
    }
    if let Samples::AtMost(most) = details.samples {
        let _ = write!(text, "; samples of at most {most} fingerprints");
    }
    if unread > 0 {
        let _ = write!(text, "; {unread} of them are in it by name alone");
    }
    text
}

/// A sentence about the tables that were written.
fn summary_of_tables(folder: &Path, written: &Written) -> String {
    let Totals {
        files,
        bytes,
        unread,
        ..
    } = written.totals;
    let mut text = format!(
        "{}: {} with {}, in {} of {}",
        quoted(folder),
        counted(files, "file"),
        human_size(bytes),
        counted(written.tables, "table"),
        human_size(written.bytes)
    );
    if unread > 0 {
        let _ = write!(text, "; {unread} of them are in it by name alone");
    }
    text
}

/// A file that replaces another once it is complete. If it is never complete, it is removed.
struct NewFile {
    path: PathBuf,
    target: PathBuf,
    file: BufWriter<File>,
    is_complete: bool,
}

impl NewFile {
    fn next_to(target: &Path) -> CliResult<Self> {
        // What a link leads to is replaced, and never a device or a directory.
        let real = fs::canonicalize(target);
        let target = real.as_deref().unwrap_or(target);
        if fs::metadata(target).is_ok_and(|meta| !meta.is_file()) {
            let source = io::Error::other("it exists and is not a regular file");
            return Err(CliError::file("write", target)(source));
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}.new", std::process::id()));
        let path = target.with_file_name(name);
        let mut options = OpenOptions::new();
        // `create_new`: the file that is read back below is the one that this process wrote.
        let file = options.write(true).create_new(true).open(&path);
        let file = file.map_err(CliError::file("write", target))?;
        Ok(Self {
            path,
            target: target.to_owned(),
            file: BufWriter::new(file),
            is_complete: false,
        })
    }

    fn write(&mut self, piece: &[u8]) -> CliResult<()> {
        self.file
            .write_all(piece)
            .map_err(CliError::file("write", &self.target))
    }

    /// The catalogue that tables in `folder` are made of, and that goes afterwards.
    fn of_tables(folder: &Path) -> CliResult<Self> {
        fs::create_dir_all(folder).map_err(CliError::file("write", folder))?;
        Self::next_to(&folder.join("catalogue"))
    }

    /// The catalogue in the file, whole and on the disk.
    fn complete(&mut self) -> CliResult<Catalogue> {
        let done = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        done.map_err(CliError::file("write", &self.target))?;
        Ok(catalogue::open(&self.path)?)
    }

    /// Completes the file and puts it in its place. Returns what is in it, and its size.
    fn finish(mut self) -> CliResult<(Totals, Details, u64)> {
        let catalogue = self.complete()?;
        let bytes = self.file.get_ref().metadata().map(|meta| meta.len());
        let bytes = bytes.map_err(CliError::file("write", &self.target))?;
        let details = catalogue.head().details.clone();
        let totals = catalogue.totals()?;
        fs::rename(&self.path, &self.target).map_err(CliError::file("write", &self.target))?;
        self.is_complete = true;
        let folder = match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The new name goes to the disk, too. Where a folder cannot be synchronised, the system
        // will write it later.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().ok();
        }
        Ok((totals, details, bytes))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_complete {
            fs::remove_file(&self.path).ok();
        }
    }
}
