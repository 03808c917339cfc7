//! `resemble history`: how each version of a file resembles the one before.

use std::path::{Path, PathBuf};

use resemble_proto::message::{Answer, FindRow};
use resemble_proto::number::Fraction;
use resemble_proto::places::Env;
use resemble_proto::report::Head;
use resemble_report::quote::quoted;
use resemble_report::rows::{Became, VersionRow};

use super::{Known, Parameters, Sweeps, catalogue_of, summary};
use crate::args::{Global, HistoryArgs};
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names;
use crate::ui::Ui;

pub(in crate::commands) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &HistoryArgs,
) -> CliResult {
    let Some(file) = &args.file else {
        return summary::run(ui, env, global, args);
    };
    let also = catalogue_of(file).or_else(|| names::required(file).ok());
    let mut sweeps = Sweeps::open(ui, env, global, &args.sweeps, also.as_ref())?;
    let progress = ui.progress("following it");
    let Some(known) = sweeps.known(file)? else {
        return Err(CliError::Usage(format!(
            "no sweep knows {}; name those that do with --in",
            quoted(file)
        )));
    };
    let places = places(&mut sweeps, &known, args.sweeps.min)?;
    let versions = versions(&mut sweeps, &places)?;
    drop(progress);
    let changed = versions.iter().any(|row| {
        let unchanged = matches!(row.became, Became::First | Became::Same);
        !unchanged
    });
    let answer = Answer::fresh(versions, std::mem::take(&mut sweeps.errors));
    let errors = names::tidy(answer.errors, &sweeps.named);
    ui.redirect(args.output.output.as_deref());
    let parameters = Parameters::of(file, &args.sweeps);
    let head = Head::new("history", parameters, answer.header);
    lists::print(
        ui,
        &args.output,
        &head,
        "versions",
        &answer.rows,
        &errors,
        false,
    )?;
    if !changed {
        ui.note("it did not change");
    }
    ui.soft_errors(&errors);
    ui.flush()?;
    sweeps.backend.close();
    Ok(Outcome::Holds.with_errors(!errors.is_empty()))
}

/// Where each sweep has the file: at its own path, or what resembles the version beside most.
fn places(sweeps: &mut Sweeps, known: &Known, min: Fraction) -> CliResult<Vec<Option<PathBuf>>> {
    let count = sweeps.all.len();
    let mut places = vec![None; count];
    for (sweep, place) in places.iter_mut().enumerate() {
        *place = match &known.below {
            _ if sweep == known.sweep => Some(known.real.clone()),
            Some(below) => sweeps.place(sweep, below)?,
            None => None,
        };
    }
    // From the known one outwards: what has no file at the path has the next of kin of the version beside.
    let forward = (known.sweep + 1..count).map(|sweep| (sweep, sweep - 1));
    let backward = (0..known.sweep).rev().map(|sweep| (sweep, sweep + 1));
    for (sweep, beside) in forward.chain(backward) {
        if places[sweep].is_none()
            && let Some(version) = nearest(&places, beside, sweep < known.sweep)
        {
            let scope = sweeps.all[sweep].scope();
            let similar = sweeps.similar(&version, scope, None)?;
            let best = similar.into_iter().flatten();
            let best = best
                .filter(|row| row.resemblance >= min)
                .max_by(|a, b| (a.resemblance, &b.path).cmp(&(b.resemblance, &a.path)));
            places[sweep] = best.map(|row| row.path.as_path().to_owned());
        }
    }
    Ok(places)
}

/// The version of the sweep `at` or the first after it (before it) that has one.
fn nearest(places: &[Option<PathBuf>], at: usize, later: bool) -> Option<PathBuf> {
    if later {
        places[at..].iter().flatten().next().cloned()
    } else {
        places[..=at].iter().rev().flatten().next().cloned()
    }
}

/// Each version beside the one before.
fn versions(sweeps: &mut Sweeps, places: &[Option<PathBuf>]) -> CliResult<Vec<VersionRow>> {
    let mut rows = Vec::new();
    let mut before: Option<(usize, PathBuf)> = None;
    for (sweep, place) in places.iter().enumerate() {
        let date = sweeps.all[sweep].date;
        let Some(place) = place else {
            if before.is_some() {
                rows.push(VersionRow {
                    date,
                    became: Became::Gone,
                    path: None,
                    a_in_b: Fraction::NONE,
                    b_in_a: Fraction::NONE,
                    resemblance: Fraction::NONE,
                    shared_bytes: 0,
                });
            }
            continue;
        };
        let row = match &before {
            None => None,
            Some((last, version)) => {
                let scope = sweeps.all[*last].scope();
                let rows = sweeps.similar(place, scope, None)?;
                let is_it = |row: &FindRow| row.path.as_path() == version;
                rows.into_iter().flatten().find(is_it)
            }
        };
        let identical = row.as_ref().is_some_and(FindRow::is_identical);
        let moved = before
            .as_ref()
            .is_some_and(|(_, version)| !same_name(version, place));
        let figure = |of: fn(&FindRow) -> Fraction| match (&before, &row) {
            (None, _) => Fraction::NONE,
            (Some(_), row) => row.as_ref().map_or(Fraction::ZERO, of),
        };
        rows.push(VersionRow {
            date,
            became: match (before.is_some(), identical, moved) {
                (false, ..) => Became::First,
                (_, true, false) => Became::Same,
                (_, true, true) => Became::Moved,
                (_, false, false) => Became::Edited,
                (_, false, true) => Became::MovedEdited,
            },
            path: Some(sweeps.shown(place)),
            a_in_b: figure(|row| row.a_in_b),
            b_in_a: figure(|row| row.b_in_a),
            resemblance: figure(|row| row.resemblance),
            shared_bytes: row.as_ref().map_or(0, |row| row.shared_bytes),
        });
        before = Some((sweep, place.clone()));
    }
    Ok(rows)
}

/// Whether two places are one path of two sweeps: what a catalogue calls the file is the end of the other.
fn same_name(a: &Path, b: &Path) -> bool {
    let below = |path: &Path| -> PathBuf {
        use resemble_proto::catalogued::source_of;
        source_of(path).map_or_else(|| path.to_owned(), |(_, _, below)| below.to_owned())
    };
    let (a, b) = (below(a), below(b));
    a == b || (a.is_absolute() && a.ends_with(&b)) || (b.is_absolute() && b.ends_with(&a))
}
