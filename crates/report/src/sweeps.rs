//! Summarizes how files change from sweep to sweep: `resemble history --summary`.
//!
//! Broder et al. 1997 (section 6) propose to use clusters in this way. The summary shows how often
//! documents change, how much, how they move, and how long they live. Each sweep is compared with
//! the next sweep. A file is followed through edits and moves, so its life continues under its new
//! name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use resemble_proto::message::{CompareClass, CompareRow, Comparison};
use resemble_proto::path::PathText;

use crate::page::{Page, Plot, Section, Table};

/// The number of seconds in a day.
const DAY: f64 = 86_400.0;

/// A sweep, as a summary names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepName {
    /// The name of the sweep, as the user gave it.
    pub name: String,
    /// Seconds since 1970.
    pub date: i64,
    /// The date in a form that people read.
    pub shown: String,
}

/// The life of a file from sweep to sweep.
#[derive(Clone, Debug, Default)]
struct Life {
    /// The index of the first sweep that has the file.
    born: usize,
    edits: u32,
    moves: u32,
}

/// The counts of the changes between two sweeps.
#[derive(Clone, Debug, Default)]
struct Step {
    files: u64,
    bytes: u64,
    same: u64,
    edited: u64,
    moved: u64,
    moved_edited: u64,
    created: u64,
    died: u64,
    bytes_new: u64,
}

/// The title of a column, and the function that returns its count from a step.
type StepColumn = (&'static str, fn(&Step) -> u64);

/// The columns of the table of steps.
const STEP_COLUMNS: [StepColumn; 9] = [
    ("files", |step| step.files),
    ("bytes", |step| step.bytes),
    ("same", |step| step.same),
    ("edited", |step| step.edited),
    ("moved", |step| step.moved),
    ("moved-edited", |step| step.moved_edited),
    ("created", |step| step.created),
    ("died", |step| step.died),
    ("new bytes", |step| step.bytes_new),
];

/// The kind of a move: within a folder, within a root, or between roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Folder,
    Root,
    Roots,
}

/// Collects comparisons, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    sweeps: Vec<SweepName>,
    /// The lives of the files that exist in the last sweep, by path.
    alive: HashMap<PathBuf, Life>,
    steps: Vec<Step>,
    /// The lives of removed files, each with the index of the last sweep that has the file.
    died: Vec<(Life, usize)>,
    /// Counts the edits by the share of the old version that is in the new version. There is one
    /// count for each tenth, and one for 100 %.
    kept: [u64; 11],
    moves: BTreeMap<Move, u64>,
    first: (u64, u64),
}

impl Summary {
    /// Creates a summary of these sweeps, which are sorted by date.
    pub fn new(sweeps: Vec<SweepName>) -> Self {
        Self {
            sweeps,
            ..Self::default()
        }
    }

    /// Adds the comparison of the last sweep so far with the next sweep. The comparison must have
    /// all its rows.
    pub fn take(&mut self, comparison: &Comparison) {
        let at = self.steps.len();
        let summary = &comparison.summary;
        if at == 0 {
            self.first = (summary.files_a, summary.bytes_a);
        }
        let mut step = Step {
            files: summary.files_b,
            bytes: summary.bytes_b,
            bytes_new: summary.bytes_b.saturating_sub(summary.bytes_b_in_a),
            ..Step::default()
        };
        let mut next: HashMap<PathBuf, Life> = HashMap::with_capacity(summary.files_b as usize);
        let mut living: HashSet<PathBuf> = HashSet::new();
        let mut gone: BTreeSet<PathBuf> = BTreeSet::new();
        let mut ends = Vec::new();
        // The rows of surviving files are handled first. So a copy of a surviving file counts as a
        // new file.
        let (copies, rows): (Vec<_>, Vec<_>) = comparison.entries.iter().partition(|row| row.copy);
        for row in &rows {
            let (a, b) = sides(row);
            let goes_on = matches!(
                row.class,
                CompareClass::Same
                    | CompareClass::Edited
                    | CompareClass::Moved
                    | CompareClass::MovedEdited
            );
            if let (true, Some(a), Some(b)) = (goes_on, &a, &b) {
                let mut life = self.alive.remove(a).unwrap_or_default();
                let edited = matches!(row.class, CompareClass::Edited | CompareClass::MovedEdited);
                if edited {
                    life.edits += 1;
                    let kept = row.a_in_b.millionths().unwrap_or(0);
                    self.kept[(kept / 100_000).min(10) as usize] += 1;
                }
                if a != b {
                    life.moves += 1;
                    *self.moves.entry(way(a, b)).or_default() += 1;
                }
                match row.class {
                    CompareClass::Same => step.same += 1,
                    CompareClass::Edited => step.edited += 1,
                    CompareClass::Moved => step.moved += 1,
                    _ => step.moved_edited += 1,
                }
                next.insert(b.clone(), life);
                living.insert(a.clone());
                continue;
            }
            ends.push((a, b));
        }
        let copied = copies.into_iter().map(sides);
        // A path may occur in several rows, but counts once. For example, a file that was split or
        // merged has several rows. A copy of a surviving file has a row of its own, too.
        for (a, b) in ends.into_iter().chain(copied) {
            gone.extend(a.filter(|a| !living.contains(a)));
            if let Some(b) = b {
                next.entry(b).or_insert_with(|| Life {
                    born: at + 1,
                    ..Life::default()
                });
            }
        }
        step.created = next.values().filter(|life| life.born == at + 1).count() as u64;
        for path in gone {
            let life = self.alive.remove(&path).unwrap_or_default();
            self.died.push((life, at));
            step.died += 1;
        }
        self.alive = next;
        self.steps.push(step);
    }

    fn days(&self, from: usize, to: usize) -> f64 {
        let date = |at: usize| self.sweeps.get(at).map_or(0, |sweep| sweep.date);
        (date(to) - date(from)) as f64 / DAY
    }

    /// Returns the summary as a report.
    pub fn report(&self) -> Page {
        let about = format!(
            "{} sweeps, {:.1} days from the first to the last. A file is followed through edits \
             and moves. A file that came and went between two sweeps is not known.",
            self.sweeps.len(),
            self.days(0, self.sweeps.len().saturating_sub(1))
        );
        Page {
            name: "history".to_owned(),
            title: "How files change".to_owned(),
            about,
            sections: vec![
                self.steps_section(),
                self.often(),
                self.much(),
                self.ways(),
                self.lifetimes(),
            ],
            files: Vec::new(),
        }
    }

    fn steps_section(&self) -> Section {
        let counts = STEP_COLUMNS.iter().map(|(name, _)| *name);
        let columns: Vec<_> = ["sweep", "date", "days"]
            .into_iter()
            .chain(counts)
            .collect();
        let mut table = Table::new("sweeps", &columns);
        for (at, sweep) in self.sweeps.iter().enumerate() {
            let mut values = vec![sweep.name.clone(), sweep.shown.clone()];
            if let Some(step) = at.checked_sub(1).and_then(|at| self.steps.get(at)) {
                values.push(format!("{:.1}", self.days(0, at)));
                values.extend(STEP_COLUMNS.map(|(_, count)| count(step).to_string()));
            } else {
                let (files, bytes) = self.first;
                values.extend([0, files, bytes].map(|figure| figure.to_string()));
                values.resize(columns.len(), String::new());
            }
            table.row(values);
        }
        let mut plot = Plot::new("sweeps", "From sweep to sweep", "day", "files");
        let curves: [StepColumn; 4] = [
            ("edited", |step| step.edited + step.moved_edited),
            ("moved", |step| step.moved + step.moved_edited),
            ("created", |step| step.created),
            ("died", |step| step.died),
        ];
        for (label, count) in curves {
            let steps = (1..self.sweeps.len()).zip(&self.steps);
            plot.curve(
                label,
                steps.map(|(at, step)| (self.days(0, at), count(step) as f64)),
            );
        }
        let text = "Each row says what became of the files of the sweep before. A file that now \
                    lies in another counts as died, and one that was part of another as created; \
                    a copy counts as created, too.";
        Section::new("From sweep to sweep", text)
            .table(table)
            .plot(plot)
    }

    fn often(&self) -> Section {
        let mut counts: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let died = self.died.iter().map(|(life, _)| life);
        for life in self.alive.values().chain(died) {
            counts.entry(life.edits).or_default().0 += 1;
            counts.entry(life.moves).or_default().1 += 1;
        }
        let mut table = Table::new("often", &["times", "files edited", "files moved"]);
        for (times, (edited, moved)) in &counts {
            table.row([u64::from(*times), *edited, *moved]);
        }
        let mut plot = Plot::new("often", "How often files change", "times", "files");
        plot.log_y = true;
        let edited = counts.iter().filter(|(_, (edited, _))| *edited > 0);
        plot.curve(
            "edited",
            edited.map(|(&times, &(edited, _))| (f64::from(times), edited as f64)),
        );
        Section::new(
            "How often",
            "In how many of the steps a file was edited, and moved.",
        )
        .table(table)
        .plot(plot)
    }

    fn much(&self) -> Section {
        let mut table = Table::new("much", &["of the old version in the new %", "edits"]);
        for (tenth, count) in self.kept.iter().enumerate() {
            let label = if tenth == 10 {
                "100".to_owned()
            } else {
                format!("{} to {}", tenth * 10, tenth * 10 + 10)
            };
            table.row([label, count.to_string()]);
        }
        let mut plot = Plot::new("much", "How much of a file stays", "%", "edits");
        let points = self.kept.iter().enumerate();
        plot.curve(
            "edits",
            points.map(|(tenth, &count)| (tenth as f64 * 10.0, count as f64)),
        );
        Section::new(
            "How much",
            "How much of an edited file is in its next version.",
        )
        .table(table)
        .plot(plot)
    }

    fn ways(&self) -> Section {
        let mut table = Table::new("moves", &["move", "files"]);
        for (way, label) in [
            (Move::Folder, "within a folder (another name)"),
            (Move::Root, "within a root"),
            (Move::Roots, "between roots"),
        ] {
            let count = self.moves.get(&way).copied().unwrap_or(0);
            table.row([label.to_owned(), count.to_string()]);
        }
        Section::new(
            "Moves",
            "A root is a folder at the top of the catalogue; the files beside these folders count \
             as one root, too.",
        )
        .table(table)
    }

    fn lifetimes(&self) -> Section {
        let mut table = Table::new(
            "lifetimes",
            &["last seen after days", "files", "at least so old"],
        );
        let mut days: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (life, last) in &self.died {
            let entry = days.entry(self.days(life.born, *last).max(0.0).round() as u64);
            let counts = entry.or_default();
            counts.0 += 1;
            counts.1 += u64::from(life.born == 0);
        }
        for (days, (files, at_least)) in &days {
            table.row([*days, *files, *at_least]);
        }
        let created: u64 = self.steps.iter().map(|step| step.created).sum();
        let lived = |life: &&Life| life.born > 0;
        let text = format!(
            "{} files died, {} of which were there in the first sweep already: these are at \
             least as old as the table says. Of {created} files that were created, {} are alive.",
            self.died.len(),
            self.died.iter().filter(|(life, _)| life.born == 0).count(),
            self.alive.values().filter(lived).count(),
        );
        let mut plot = Plot::new("lifetimes", "Lifetimes of those that died", "days", "files");
        plot.curve(
            "died",
            days.iter()
                .map(|(&days, counts)| (days as f64, counts.0 as f64)),
        );
        Section::new("Lifetimes", text).table(table).plot(plot)
    }
}

/// Returns the path of a row in the earlier sweep and its path in the later sweep. A path is `None`
/// if the row has no file in that sweep.
fn sides(row: &CompareRow) -> (Option<PathBuf>, Option<PathBuf>) {
    let owned = |path: &Option<PathText>| path.as_ref().map(|path| path.as_path().to_owned());
    (owned(&row.a), owned(&row.b))
}

fn way(a: &Path, b: &Path) -> Move {
    let root = |path: &Path| {
        let mut parts = path.components();
        let first = parts.next().map(|part| part.as_os_str().to_owned());
        parts.next().and(first)
    };
    if a.parent() == b.parent() {
        Move::Folder
    } else if root(a) == root(b) {
        Move::Root
    } else {
        Move::Roots
    }
}

#[cfg(test)]
mod tests {
    use resemble_proto::number::Fraction;

    use super::*;

    fn row(class: CompareClass, a: &str, b: &str, kept: u32) -> CompareRow {
        let path = |text: &str| (!text.is_empty()).then(|| text.into());
        CompareRow {
            class,
            a: path(a),
            b: path(b),
            a_in_b: Fraction::from_millionths(kept),
            b_in_a: Fraction::from_millionths(kept),
            shared_bytes: 0,
            told: resemble_proto::message::PairFigures::default(),
            size_a: None,
            size_b: None,
            copy: false,
            others: Vec::new(),
            discount: resemble_proto::message::Discount::default(),
        }
    }

    fn comparison(rows: Vec<CompareRow>) -> Comparison {
        Comparison {
            entries: rows,
            ..Comparison::default()
        }
    }

    fn sweeps(days: &[i64]) -> Vec<SweepName> {
        let sweep = |day: &i64| SweepName {
            name: day.to_string(),
            date: day * 86_400,
            shown: format!("day {day}"),
        };
        days.iter().map(sweep).collect()
    }

    fn csv(report: &Page, name: &str) -> String {
        let tables = report.sections.iter().flat_map(|section| &section.tables);
        let table = tables.into_iter().find(|table| table.name == name);
        table.expect("a table").to_csv()
    }

    /// A file that is moved or edited stays the same file. A copy of it is another file. The age of
    /// a removed file is counted from the first sweep that has it.
    #[test]
    fn lives_go_on_under_other_names() {
        use CompareClass::{Contained, Edited, Moved, MovedEdited, OnlyA, OnlyB, Same};
        let mut summary = Summary::new(sweeps(&[0, 10, 30, 35]));
        summary.take(&comparison(vec![
            row(Same, "r/a", "r/a", 1_000_000),
            row(Edited, "r/b", "r/b", 950_000),
            row(OnlyB, "", "r/new", 0),
            row(OnlyA, "r/old", "", 0),
        ]));
        let mut copy = row(Moved, "r/a", "r/a copy", 1_000_000);
        copy.copy = true;
        summary.take(&comparison(vec![
            row(Same, "r/a", "r/a", 1_000_000),
            copy,
            row(MovedEdited, "r/b", "s/b", 420_000),
            row(Moved, "r/new", "r/sub/new", 1_000_000),
        ]));
        summary.take(&comparison(vec![
            row(Same, "r/a", "r/a", 1_000_000),
            row(Moved, "r/a copy", "r/a 2", 1_000_000),
            row(Edited, "s/b", "s/b", 1_000_000),
            row(Contained, "r/sub/new", "r/a", 1_000_000),
        ]));
        let report = summary.report();
        let lines = |name| {
            csv(&report, name)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines("sweeps")[2..],
            [
                "10,day 10,10.0,0,0,1,1,0,0,1,1,0",
                "30,day 30,30.0,0,0,1,0,1,1,1,0,0",
                "35,day 35,35.0,0,0,1,1,1,0,0,1,0",
            ]
        );
        // Four files were never edited: `a`, its copy, `old` and `new`. The file `b` was edited
        // three times. Two files never moved: `a` and `old`.
        assert_eq!(lines("often")[1..], ["0,4,2", "1,0,3", "3,1,0"]);
        assert_eq!(
            lines("moves")[1..],
            [
                "within a folder (another name),1",
                "within a root,1",
                "between roots,1"
            ]
        );
        // `old` was last seen on day 0. `new` was seen from day 10 to day 30.
        assert_eq!(lines("lifetimes")[1..], ["0,1,1", "20,1,0"]);
        let much = lines("much");
        assert_eq!(
            (&much[5][..], &much[10][..], &much[11][..]),
            ("40 to 50,1", "90 to 100,1", "100,1")
        );
    }
}
