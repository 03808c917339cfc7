//! `resemble lost`: where the content of a vanished path is now.
//!
//! Broder et al. 1997, section 6: "lost and found". The cluster is collected from the lost file outwards: what
//! resembles it, what resembles that, and so on.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use resemble_proto::message::{Answer, Header, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::places::Env;
use resemble_proto::report::Head;
use resemble_report::human;
use resemble_report::quote::quoted;
use resemble_report::rows::LostRow;

use super::{Parameters, Sweeps, catalogue_of};
use crate::args::{Global, LostArgs};
use crate::commands::NOTHING;
use crate::error::{CliResult, Outcome};
use crate::lists;
use crate::names;
use crate::ui::Ui;

/// Versions whose relatives are looked for, at most: each is a question.
const MOST: usize = 200;

pub(in crate::commands) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &LostArgs,
) -> CliResult {
    let also = catalogue_of(&args.path);
    let mut sweeps = Sweeps::open(ui, env, global, &args.sweeps, also.as_ref())?;
    let progress = ui.progress("looking for it");
    let known = sweeps.known(&args.path)?;
    let mut found = Cluster::default();
    if let Some(known) = &known {
        found.collect(&mut sweeps, &known.real, args.sweeps.min)?;
    }
    drop(progress);
    let is_later = |row: &LostRow| {
        let date = known
            .as_ref()
            .and_then(|known| sweeps.all[known.sweep].date);
        date.is_some_and(|last| row.date.is_none_or(|date| date > last))
    };
    let holds = found.rows.first().is_some_and(is_later);
    let total = found.rows.len() as u64;
    if let Some(top) = args.top {
        found
            .rows
            .truncate(usize::try_from(top).unwrap_or(usize::MAX));
    }
    let answer = Answer::fresh(found.rows, std::mem::take(&mut sweeps.errors));
    let header = Header {
        total,
        ..answer.header
    };
    let errors = names::tidy(answer.errors, &sweeps.named);
    ui.redirect(args.output.output.as_deref());
    let parameters = Parameters::of(&args.path, &args.sweeps);
    let head = Head::new("lost", parameters, header);
    lists::print(
        ui,
        &args.output,
        &head,
        "places",
        &answer.rows,
        &errors,
        false,
    )?;
    match &known {
        None => ui.note(&format!("no sweep knows {}", quoted(&args.path))),
        Some(known) => {
            let date = sweeps.all[known.sweep].date;
            let date = date.map_or_else(|| "now".to_owned(), human::day);
            let shown = sweeps.shown(&known.real);
            ui.note(&format!(
                "last known as {} ({date})",
                quoted(shown.as_path())
            ));
            if total == 0 {
                ui.note(NOTHING);
            }
        }
    }
    if found.cut {
        ui.note(&format!(
            "only the relatives of {MOST} versions were looked for"
        ));
    }
    lists::note_limits(ui, &header, args.top, sweeps.backend.is_daemon());
    ui.soft_errors(&errors);
    ui.flush()?;
    sweeps.backend.close();
    Ok(Outcome::of(holds).with_errors(!errors.is_empty()))
}

/// What belongs together.
#[derive(Default)]
struct Cluster {
    /// The latest first.
    rows: Vec<LostRow>,
    /// Whether there may be more.
    cut: bool,
}

impl Cluster {
    /// Everything that is connected with the file at `real` by resemblances of at least `min`.
    fn collect(&mut self, sweeps: &mut Sweeps, real: &Path, min: Fraction) -> CliResult<()> {
        let everywhere = Scope {
            within: names::real_paths(&sweeps.named),
            ..Scope::default()
        };
        let mut rows: HashMap<PathBuf, LostRow> = HashMap::new();
        let mut waiting = VecDeque::from([real.to_owned()]);
        let mut asked = 0;
        while let Some(subject) = waiting.pop_front() {
            if asked == MOST {
                self.cut = true;
                break;
            }
            let is_first = asked == 0;
            asked += 1;
            let similar = sweeps.similar(&subject, everywhere.clone(), None)?;
            for row in similar.into_iter().flatten() {
                let place = row.path.as_path().to_owned();
                if row.resemblance < min || place == real || rows.contains_key(&place) {
                    continue;
                }
                let sweep = sweeps.all.iter().find(|sweep| sweep.has(&place));
                let new = LostRow {
                    date: sweep.and_then(|sweep| sweep.date),
                    path: sweeps.shown(&place),
                    relation: row.relation.filter(|_| is_first),
                    resemblance: if is_first {
                        row.resemblance
                    } else {
                        Fraction::NONE
                    },
                };
                // What is equal to the subject has no other relatives than that.
                if !row.is_identical() {
                    waiting.push_back(place.clone());
                }
                rows.insert(place, new);
            }
        }
        self.rows = rows.into_values().collect();
        // `NONE` is less than any share.
        self.rows.sort_by(|a, b| {
            let key = |row: &LostRow| (row.date.is_none(), row.date, row.resemblance);
            (Reverse(key(a)), &a.path).cmp(&(Reverse(key(b)), &b.path))
        });
        Ok(())
    }
}
