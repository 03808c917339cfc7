//! Runs `resemble lab eval`: the papers' experiments, on any folder.
//!
//! The folder is never changed. All files of a report are written to the folder of `-o`. Most
//! experiments hold up to `--max-bytes` bytes of texts in memory. The experiment of Broder et al.
//! streams all texts and uses temporary files next to its report.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Instant;

use crate::error::{LabError, MethodError};
use crate::eval::broder;
use crate::eval::kasprzak::InflectedTexts;
use crate::eval::page::{results_of, with_results};
use crate::eval::sweeps::Sweep;
use crate::eval::{self, Collection, Meters, Page};
use resemble_cli::commands::write_files;
use resemble_cli::error::{CliError, CliResult, Outcome};
use resemble_cli::names;
use resemble_cli::ui::Ui;
use resemble_methods::vocabulary::Lemmas;
use resemble_report::quote::quoted;

use super::args::{EvalArgs, Experiment};

/// The experiments that `all` runs, in the order of the index page. Each experiment is listed with
/// the name of its folder.
const ALL: [(&str, Experiment); 6] = [
    ("sif", Experiment::Sif),
    ("broder", Experiment::Broder),
    ("forman", Experiment::Forman),
    ("kasprzak", Experiment::Kasprzak),
    ("cherkasova", Experiment::Cherkasova),
    ("guide", Experiment::Guide),
];

pub(super) fn run(ui: &mut Ui, args: &EvalArgs) -> CliResult {
    let folder = names::required_dir(&args.folder)?.real;
    let mut texts = None;
    if args.experiment != Experiment::All {
        let report = report(ui, args, args.experiment, &folder, &args.output, &mut texts)?;
        let (count, page) = write_files(with_results(report), &args.output)?;
        let page = quoted(args.output.join(page));
        ui.note(&format!("{count} files; the page is {page}"));
        return Ok(Outcome::Holds);
    }
    let mut contents = format!(
        "# The papers on {}\n\nWhat each paper measured, made again on this folder. A folder for \
         each has its tables and plots as files, and its part of this page.\n\n",
        args.folder.display()
    );
    let (mut pages, mut results) = (String::new(), String::new());
    let mut files = 0;
    for (name, experiment) in ALL {
        let output = args.output.join(name);
        let report = report(ui, args, experiment, &folder, &output, &mut texts)?;
        let title = report.title.clone();
        results.push_str(&results_of(&report));
        let page = report.page(2, &format!("{name}/"));
        let (count, file) = write_files(with_results(report), &output)?;
        files += count;
        let _ = writeln!(contents, "* [{title}]({name}/{file})");
        let _ = write!(pages, "\n{page}");
    }
    let page = args.output.join("index.md");
    fs::write(&page, contents + &pages).map_err(CliError::file("write", &page))?;
    let tables = args.output.join("results.tsv");
    fs::write(&tables, results).map_err(CliError::file("write", &tables))?;
    ui.note(&format!(
        "{} files; the page is {}",
        files + 2,
        quoted(&page)
    ));
    Ok(Outcome::Holds)
}

/// Runs one experiment. `texts` keeps the texts in memory, so that they are read only once for all
/// experiments.
fn report(
    ui: &Ui,
    args: &EvalArgs,
    experiment: Experiment,
    folder: &Path,
    output: &Path,
    texts: &mut Option<Collection>,
) -> CliResult<Page> {
    let _progress = ui.progress("experimenting");
    let began = Instant::now();
    let clock = || began.elapsed().as_secs_f64();
    if experiment == Experiment::Broder {
        // This experiment streams its texts. So the texts in memory, which earlier experiments
        // used, are dropped first.
        *texts = None;
        return streamed(args, folder, output, &clock);
    }
    if experiment == Experiment::Inflected {
        return inflected(args, folder);
    }
    if experiment == Experiment::Sweeps {
        let sweeps = sweeps(folder, args.max_bytes)?;
        if sweeps.len() < 2 {
            return Err(CliError::Usage(format!(
                "{} has fewer than two folders with texts, so there are no sweeps to compare",
                quoted(&args.folder)
            )));
        }
        return Ok(eval::sweeps::report(&sweeps, args.seeds)?);
    }
    let collection = match texts {
        Some(collection) => collection,
        None => texts.insert(Collection::read(folder, args.max_bytes)?),
    };
    if collection.texts.is_empty() {
        return Err(no_text(args));
    }
    Ok(match experiment {
        Experiment::Sif => eval::sif::report(collection, &clock)?,
        Experiment::Forman => eval::forman::report(collection, args.seeds, &clock)?,
        Experiment::Cherkasova => eval::cherkasova::report(collection, args.seeds, &clock)?,
        Experiment::Kasprzak => eval::kasprzak::report(collection, args.seeds, &clock)?,
        Experiment::Guide => eval::guide::report(collection, args.seeds, &clock)?,
        Experiment::Anchors => eval::anchors::report(collection)?,
        Experiment::Broder | Experiment::Sweeps | Experiment::Inflected | Experiment::All => {
            Page::default()
        }
    })
}

/// Reads the texts and the lemma tables of a language, and runs the experiment on them.
fn inflected(args: &EvalArgs, folder: &Path) -> CliResult<Page> {
    let table = |name: &str| -> Result<Lemmas, CliError> {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(CliError::file("read", &path))?;
        Ok(Lemmas::parse(&bytes).map_err(|error| LabError::from(MethodError::from(error)))?)
    };
    let collection = Collection::read(&folder.join("texts"), args.max_bytes)?;
    if collection.texts.is_empty() {
        return Err(no_text(args));
    }
    let name = folder.file_name().unwrap_or_default();
    let texts = InflectedTexts {
        language: name.to_string_lossy().into_owned(),
        collection,
        lemmas: table("lemmas.tsv")?,
        forms: table("forms.tsv")?,
    };
    Ok(eval::kasprzak::of_inflected_texts(&texts, args.seeds)?)
}

/// Reads the texts of each subfolder, in the order of the folders' names. Subfolders without texts
/// are left out.
fn sweeps(folder: &Path, most_bytes: u64) -> Result<Vec<Sweep>, CliError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(CliError::file("read", folder))? {
        let entry = entry.map_err(CliError::file("read", folder))?;
        if entry
            .file_type()
            .map_err(CliError::file("read", folder))?
            .is_dir()
        {
            names.push(entry.file_name());
        }
    }
    names.sort_unstable();
    let mut sweeps = Vec::new();
    for name in names {
        let collection = Collection::read(&folder.join(&name), most_bytes)?;
        if !collection.texts.is_empty() {
            sweeps.push((name.to_string_lossy().into_owned(), collection));
        }
    }
    Ok(sweeps)
}

fn no_text(args: &EvalArgs) -> CliError {
    CliError::Usage(format!(
        "{} has no text, so there is nothing to experiment on",
        quoted(&args.folder)
    ))
}

/// Runs the experiment that works on disk, in a temporary folder inside the output folder.
fn streamed(
    args: &EvalArgs,
    folder: &Path,
    output: &Path,
    wall: &(dyn Fn() -> f64 + Sync),
) -> CliResult<Page> {
    let is_new = !output.exists();
    let work = output.join(".work");
    let mut private = fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    fs::create_dir_all(output).map_err(CliError::file("write", output))?;
    private
        .create(&work)
        .map_err(CliError::file("write", &work))?;
    let meters = Meters {
        wall,
        cpu: &processor_seconds,
        peak: &peak,
    };
    let report = broder::report(
        folder,
        &work,
        args.memory,
        args.max_bytes,
        args.seeds,
        &meters,
    );
    let gone = fs::remove_dir(&work).map_err(CliError::file("write", &work));
    if let Some(report) = report? {
        return gone.map(|()| report);
    }
    gone?;
    if is_new {
        fs::remove_dir(output).map_err(CliError::file("write", output))?;
    }
    Err(no_text(args))
}

/// Returns the processor time of this process in seconds, including its time in the kernel. Returns
/// 0 if the time is unknown.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces and parentheses.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / 100.0
}

/// Returns the maximum memory that this process has used so far, in bytes.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
