//! Selects the best result of each place, and the rows of the answer.

use std::collections::HashSet;

use resemble_core::{ByteLen, Relation, rank};
use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::{FindOptions, PairRelation};
use resemble_relate::AskError;
use resemble_relate::judge::estimate::enough_shared;
use resemble_relate::judge::listing::{is_listed, is_quotation};
use resemble_relate::judge::matched::{CommonPart, Match};
use resemble_relate::renditions::{Place, names, shown};

use super::{FoundRows, Search};
use crate::find::{Similar, Wanted, holders};

impl Search<'_> {
    /// Keeps a result for a place, unless the place already has a better one.
    pub(super) fn offer(&mut self, place: Place, found: Match) {
        match self.rows.get_mut(&place) {
            Some(best) if !found.is_better_than(best) => {}
            Some(best) => *best = found,
            None => {
                self.rows.insert(place, found);
            }
        }
    }

    /// Keeps one row for an archive and its members: the one with the higher share. If the shares
    /// are equal, the row of the member is kept. Rows of identical files are kept in any case.
    fn say_once(&mut self) -> Result<(), AskError> {
        let mut said: HashSet<Place> = HashSet::new();
        for (&place, found) in &self.rows {
            let mut at = place.member;
            while let Some(number) = at {
                let part = self.snapshot.part(place.content, number)?;
                at = part.and_then(|part| part.parent);
                let around = Place {
                    member: at,
                    ..place
                };
                let Some(of_archive) = self.rows.get(&around) else {
                    continue;
                };
                let (less, of_less) = if of_archive.is_better_than(found) {
                    (place, found)
                } else {
                    (around, of_archive)
                };
                if of_less.relation != Some(Relation::Identical) {
                    said.insert(less);
                }
            }
        }
        self.rows.retain(|place, _| !said.contains(place));
        Ok(())
    }

    /// Returns the rows of the answer, best first.
    pub(super) fn finish(mut self) -> Result<FoundRows, AskError> {
        let further = self.further_besides_rows();
        self.say_once()?;
        let min_shared = self.min_shared;
        let mut similar = Vec::new();
        for (place, found) in self.rows {
            if !passes((self.options, min_shared), &found) {
                continue;
            }
            let leave_out = self.subject.file;
            let names = names(self.snapshot, place)?;
            let member = match place.member {
                Some(number) => self.snapshot.part(place.content, number)?,
                None => None,
            };
            let member = member.and_then(|part| part.content);
            let date = match place.member {
                Some(_) => None,
                None => self
                    .snapshot
                    .content(place.content)?
                    .and_then(|row| row.date)
                    .filter(|_| self.options.text),
            };
            let mut files = holders(self.snapshot, place.content, self.scoped, leave_out)?;
            if self.wanted == Wanted::Listed {
                files.retain(|(path, _)| !is_catalogued(path));
            }
            similar.extend(files.into_iter().map(|(path, changed)| Similar {
                shown: shown(&path, &names),
                path,
                names: names.clone(),
                member,
                relation: found.relation,
                layer: found.layer,
                unit: found.unit,
                is_estimate: found.is_estimate,
                measures: found.measures,
                discount: found.discount.clone(),
                rarity: found.rarity,
                interval: found.interval.as_deref().copied(),
                numbers: found.numbers,
                date,
                changed,
            }));
        }
        similar.sort_by(|a, b| rank::compare(a.place(), b.place()));
        // An archive may have several members with the same name. Only the best row for each name
        // is kept.
        let mut seen = HashSet::new();
        similar.retain(|row| row.names.is_empty() || seen.insert(row.shown.clone()));
        Ok(FoundRows {
            similar,
            further,
            errors: self.prover.errors,
        })
    }
}

/// Returns whether a result is a row of the answer. `min_shared` is the least number of common
/// bytes.
fn passes((options, min_shared): (&FindOptions, ByteLen), found: &Match) -> bool {
    if found.common == CommonPart::Repetition
        || !PairRelation::accept(&options.relation, found.relation)
    {
        return false;
    }
    let min = options.min;
    let is_listed = options.all || is_listed(found.relation, &found.measures, found.rarity);
    if min.is_none() {
        let is_quotation = || options.all && is_quotation(found, options.min_shared.map(ByteLen));
        return found.relation.is_some() && is_listed || is_quotation();
    }
    if found.relation.is_some() && !is_listed {
        return false;
    }
    let is_equal = matches!(
        found.relation,
        Some(Relation::Identical | Relation::SameText)
    );
    let score = found.measures.containment();
    let measures = (&found.measures, found.is_estimate);
    score.is_some_and(|score| min.accepts(score))
        && (is_equal || enough_shared(found.sizes, measures, min_shared))
}
