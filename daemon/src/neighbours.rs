//! Answers the questions of the overlay from the index.
//!
//! Every answer comes from a fresh snapshot of the last commit; none waits for a scan or touches
//! the overlay. When the index cannot be read, the answer is empty and the reason is in the journal
//! and in `status`, because a listing has no place for it.

use std::path::Path;
use std::sync::Arc;

use resemble_core::{Relation, Score};
use resemble_fs::{Listing, Neighbour, Neighbours};
use resemble_index::Snapshot;
use resemble_proto::catalogued;
use resemble_proto::message::{Answer, DirRow, FindOptions};
use resemble_proto::path::PathText;
use resemble_proto::report;
use resemble_query::AskError;
use resemble_query::dirs;
use resemble_query::find::{self, LISTED, Similar, Subject};
use resemble_query::why;

use crate::questions;
use crate::state::Shared;

/// The index as the overlay sees it.
#[derive(Debug)]
pub struct IndexNeighbours {
    shared: Arc<Shared>,
}

impl IndexNeighbours {
    /// Answers from this index.
    pub const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Runs a question; a failure is logged and answered with the default.
    fn ask<T: Default>(
        &self,
        path: &Path,
        question: impl FnOnce(&Snapshot) -> Result<T, AskError>,
    ) -> T {
        let answer = match self.shared.snapshot() {
            Ok(snapshot) => question(&snapshot).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        answer.unwrap_or_else(|error| {
            tracing::warn!(path = ?path, error, "the overlay has no answer");
            T::default()
        })
    }
}

fn neighbour(similar: Similar) -> Neighbour {
    Neighbour {
        a_in_b: similar.measures.a_in_b.unwrap_or(Score::ZERO),
        identical: similar.relation == Some(Relation::Identical),
        relation: similar.relation.map_or("", Relation::word),
        target: similar.path,
        member: similar.names,
    }
}

/// The other directory of a row, as a neighbour of the first.
fn neighbouring(row: &DirRow) -> Neighbour {
    Neighbour {
        target: row.b.as_path().to_owned(),
        member: Vec::new(),
        a_in_b: row.a_in_b.score().unwrap_or(Score::ZERO),
        identical: row.identical,
        relation: dirs::relation(row).word(),
    }
}

impl Neighbours for IndexNeighbours {
    fn similar(&self, file: &Path) -> Listing {
        self.ask(file, |snapshot| {
            let (similar, total) = questions::similar(snapshot, file, self.shared.part_reader())?;
            Ok(Listing {
                neighbours: similar.into_iter().map(neighbour).collect(),
                total,
            })
        })
    }

    fn similar_dirs(&self, dir: &Path) -> Listing {
        self.ask(dir, |snapshot| {
            let (mut rows, mut total) = dirs::listing(snapshot, dir)?;
            let before = rows.len();
            rows.retain(|row| !catalogued::is_catalogued(row.b.as_path()));
            total -= before - rows.len();
            Ok(Listing {
                neighbours: rows.iter().map(neighbouring).collect(),
                total,
            })
        })
    }

    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8> {
        self.ask(file, |snapshot| {
            let text = self
                .shared
                .root_of(file)
                .is_some_and(|root| root.options.text);
            let part_reader = self
                .shared
                .part_reader()
                .filter(|_| text)
                .map(|part_reader| &**part_reader);
            why::explain(snapshot, file, neighbour, &self.shared.params, part_reader)
                .map(String::into_bytes)
        })
    }

    fn report(&self, file: &Path) -> Vec<u8> {
        self.ask(file, |snapshot| {
            let name = PathText::from(file);
            let options = FindOptions {
                text: true,
                // No more rows than a listing has links, or `shown` would count files that the
                // listing leaves out.
                top: Some(LISTED as u64),
                ..FindOptions::default()
            };
            let mut answer = match Subject::indexed(snapshot, file, &self.shared.params)? {
                Some(subject) => {
                    let part_reader = self.shared.part_reader().cloned();
                    let subject = subject.with_part_reader(part_reader);
                    find::find(snapshot, &subject, &name, &options)?
                }
                None => Answer::fresh(Vec::new(), Vec::new()),
            };
            for row in &mut answer.rows {
                if let Some(shown) = catalogued::shown(row.path.as_path()) {
                    row.path = shown.into();
                }
            }
            answer.header.fresh = self.shared.fresh();
            answer.header.pending = self.shared.pending();
            Ok(report::find_json(&name, &answer, &self.shared.params))
        })
    }

    fn generation(&self) -> Option<u64> {
        Some(self.shared.clock())
    }
}
