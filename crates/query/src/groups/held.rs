//! Joins and measures the links of containers, which are archives and mails.
//!
//! Links of a container are nominated by samples of its entire content, or by the text of a mail.
//! The figures are measured on the members ([`Archives`]), one pair at a time. The links of one
//! file are adjacent, so the contents of that file are reused for the next pair. Pairs beyond the
//! read budget keep their estimates.

use std::collections::HashMap;

use resemble_core::similarity::Unit;
use resemble_index::Snapshot;
use resemble_relate::AskError;
use resemble_relate::nominate::members::shown_of_files;
use resemble_relate::prove::archives::Archives;
use resemble_relate::prove::cost::TAKEN_APART;
use resemble_relate::renditions::owners::RenditionOwners;
use resemble_relate::scope::ScopedFiles;
use resemble_scan::parts::PartReader;

use super::links::{By, HalfLink};
use super::terms::{LinkTerms, PairFound};
use resemble_relate::join::Table;

/// Joins several links of one pair of files into one.
pub(super) struct JoinedLinks<'a> {
    snapshot: &'a Snapshot,
    terms: LinkTerms,
    table: &'a Table,
    archives: Option<Archives<'a, (&'a Snapshot, &'a ScopedFiles)>>,
    /// The number of bytes that may still be read.
    left: u64,
    /// The link of each measured pair of files, by its two ends. [`Self::join`] is called twice for
    /// a pair. The second call takes the link of the first call from here, so both calls return the
    /// same link.
    measured: HashMap<(u32, u32), Option<HalfLink>>,
}

impl<'a> JoinedLinks<'a> {
    pub(super) fn new(
        (snapshot, scoped): (&'a Snapshot, &'a ScopedFiles),
        (terms, table): (LinkTerms, &'a Table),
        renditions: &'a RenditionOwners,
        (part_reader, work): (Option<&'a dyn PartReader>, u64),
    ) -> Self {
        let files = (snapshot, scoped);
        Self {
            snapshot,
            terms,
            table,
            archives: part_reader.map(|reader| Archives::of(files, renditions, reader)),
            left: work,
            measured: HashMap::new(),
        }
    }

    /// Joins the links between renditions of two files into one link of the two files. In all of
    /// these links, `from` is the lesser end. Every pair of files is joined twice, once for each
    /// end.
    pub(super) fn join(&mut self, halves: &[HalfLink]) -> Result<Option<HalfLink>, AskError> {
        let Some(first) = halves.first() else {
            return Ok(None);
        };
        let ends = (first.from, first.to);
        let holds = |place| self.table.wholes(place).iter().any(Option::is_some);
        let hold = (holds(ends.0), holds(ends.1));
        if hold == (false, false) {
            return Ok(best(halves));
        }
        if let Some(measured) = self.measured.remove(&ends) {
            return Ok(measured);
        }
        let link = self.by_members(ends, halves)?;
        self.measured.insert(ends, link);
        Ok(link)
    }

    fn by_members(
        &mut self,
        ends: (u32, u32),
        halves: &[HalfLink],
    ) -> Result<Option<HalfLink>, AskError> {
        self.snapshot.stop().go_on()?;
        let of_wholes = self.terms.of_wholes(halves, self.table);
        // A link that is not an estimate is one of equal contents, so nothing needs to be read.
        if of_wholes.is_some_and(|link| !link.is_estimate()) {
            return Ok(of_wholes);
        }
        let owners = (self.table.id(ends.0), self.table.id(ends.1));
        let least = self.terms.min_shared;
        let bytes = self.table.size(ends.0) + self.table.size(ends.1);
        let cost = bytes.saturating_mul(TAKEN_APART);
        let proven = match &mut self.archives {
            Some(archives) if cost <= self.left => {
                self.left -= cost;
                archives.measure(owners, Unit::Words, least)?
            }
            _ => None,
        };
        let Some(proven) = proven else {
            let Some(shown) = shown_of_files(self.snapshot, owners, Unit::Words, least)? else {
                return Ok(of_wholes);
            };
            let found = PairFound {
                sizes: shown.sizes,
                measures: shown.measures,
                relation: shown.relation,
                is_estimate: true,
                rarity: None,
                of_both: None,
            };
            return Ok(self.link(ends, &found));
        };
        let found = PairFound {
            sizes: proven.sizes,
            measures: proven.measures,
            relation: proven.relation,
            is_estimate: false,
            rarity: None,
            of_both: None,
        };
        Ok(self.link(ends, &found))
    }

    fn link(&self, ends: (u32, u32), found: &PairFound) -> Option<HalfLink> {
        let link = self.terms.link_of(ends, found)?;
        Some(link.with_match(By::Text))
    }
}

/// Returns the best of these links. Links between wholes are left out.
fn best(halves: &[HalfLink]) -> Option<HalfLink> {
    let links = halves
        .iter()
        .filter(|half| matches!(half.matched_by(), By::Bytes | By::Text));
    links.copied().max_by(|x, y| x.worth().cmp(&y.worth()))
}
