//! Estimates, from the index, what the subject shares with each nominee. An estimate reads no file
//! and needs no other estimate, so two threads share the work.

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::Frame;
use resemble_core::similarity::proof::{are_text_and_data, unit_of};
use resemble_core::similarity::{self, Boilerplate, Prepared, Sketch};
use resemble_core::{ByteLen, ContentKind, Digest, Fingerprint, Measures, Relation, Score};
use resemble_index::ContentRow;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::{least_to_read, prepared_in};
use resemble_relate::judge::matched::{Match, relate};
use resemble_relate::nominate::block::Common;
use resemble_relate::nominate::boilerplate::KnownBoilerplate;
use resemble_relate::nominate::evidence::{Counts, StoredSketch};
use resemble_relate::nominate::kinship::SubjectKin;
use resemble_relate::nominate::quotations::Passage;
use resemble_relate::renditions::{Named, Occurrence, Place, Rendition, WholeDigest};

use super::drafts::{Draft, DraftSides};
use super::promise::ListingPromise;
use super::{Meeting, Search};
use crate::find::prover::SubjectSide;

/// A rendition of the subject, prepared for comparison with its nominees.
pub(super) struct PreparedRendition<'a> {
    pub(super) rendition: Rendition,
    pub(super) digest: &'a Digest,
    pub(super) sketch: Sketch<'a>,
    pub(super) own: Prepared,
    pub(super) kin: Option<SubjectKin<'a>>,
    pub(super) promise: Option<ListingPromise<'a>>,
    pub(super) counts: &'a Counts,
    pub(super) common: Either<'a>,
}

/// A nominee that shares enough with the subject to be compared.
pub(super) struct PlacedNominee {
    pub(super) row: ContentRow,
    /// True if both contents have the same bytes or the same words.
    pub(super) same: bool,
    pub(super) is_equal: bool,
    pub(super) common: Common,
    pub(super) passage: Option<Passage>,
    /// The places of the nominated content.
    pub(super) occurrences: Vec<(Occurrence, Meeting)>,
}

/// A result of comparing the subject with a nominee, for one place of the nominee.
pub(super) enum NomineeFound {
    /// A match of the wholes of both files, of one kind: 0 for texts, 1 for other parts.
    Wholes(Occurrence, usize, (Measures, WholeDigest)),
    /// A match of the text of a mail, or a match of a single file that is compared with a
    /// container.
    Text(Place, (Measures, ByteLen), Option<(Occurrence, ContentRow)>),
    /// A final match.
    Row(Place, Box<Match>),
    /// A match to be measured.
    Draft(Box<Draft>),
}

/// The boilerplate that the index knows, and the boilerplate that was found with the nominees.
pub(super) struct Either<'a>(pub(super) &'a KnownBoilerplate<'a>, pub(super) &'a Counts);

impl Boilerplate for Either<'_> {
    fn chunk(&self, key: u64) -> bool {
        Boilerplate::chunk(self.1, key) || self.0.chunk(key)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        !self.1.is_of_copies(fingerprint) && self.0.fingerprint(fingerprint)
    }
}

impl Search<'_> {
    /// Estimates the shared part of the subject and a nominee.
    pub(super) fn compare(
        &self,
        compared: &PreparedRendition<'_>,
        met: &PlacedNominee,
    ) -> Result<Vec<NomineeFound>, AskError> {
        let snapshot = self.snapshot;
        let PreparedRendition { digest, counts, .. } = *compared;
        let row = &met.row;
        let is_own = |found: &(Occurrence, Meeting)| found.0.rendition == Rendition::Own;
        let other = if met.is_equal {
            None
        } else {
            let signature = snapshot.signature(row.id)?;
            let in_contents = |found: &(Occurrence, Meeting)| found.1 == Meeting::Contents;
            if let Some(promise) = &compared.promise
                && !met.same
                && met.occurrences.iter().all(in_contents)
                && !promise.could_be_listed(compared.sketch.signature, met.common, row, &signature)
            {
                return Ok(Vec::new());
            }
            let mut other = StoredSketch::with_signature(snapshot, row, signature)?;
            if let Some(kin) = &compared.kin
                && row.kind != ContentKind::Text
                && met.occurrences.iter().all(is_own)
                && !counts.is_copy(row.id)
                && !kin.is_kin(&other.signature, met.common)?
            {
                return Ok(Vec::new());
            }
            if met.common.chunks > 0 {
                other.without_common_chunks(compared.common.0);
            }
            Some(other)
        };
        let common = &compared.common;
        let measures = match &other {
            None => Measures::identical(row.size),
            Some(other) => prepared_in(
                self.options.unit.into(),
                (&compared.own, digest.kind),
                (&Prepared::of(&other.sketch(), common), row.kind),
                common,
            ),
        };
        let pair = ContentPair {
            rendition: compared.rendition,
            digest,
            row,
            sketch: &compared.sketch,
            other: other.as_ref(),
            measures,
            counts,
            passage: met.passage,
        };
        Ok(self.pair(&pair, &met.occurrences))
    }

    /// Records the result for a pair.
    pub(super) fn take(&mut self, found: NomineeFound) {
        match found {
            NomineeFound::Wholes(occurrence, whole, found) => {
                let nominee = self.held.entry(occurrence.place).or_default();
                nominee.wholes[whole] = Some(found);
                nominee.number = occurrence.number;
            }
            NomineeFound::Text(place, text, alone) => {
                let nominee = self.held.entry(place).or_default();
                nominee.text = Some(text);
                nominee.alone = alone.or(nominee.alone);
            }
            NomineeFound::Row(place, found) => self.offer(place, *found),
            NomineeFound::Draft(draft) => self.drafts.push(*draft),
        }
    }

    /// Returns the results for a pair: at most one for each file or archive member that holds the
    /// nominee. A place where the pair cannot become a row has no result.
    fn pair(
        &self,
        pair: &ContentPair<'_>,
        occurrences: &[(Occurrence, Meeting)],
    ) -> Vec<NomineeFound> {
        let mut all = Vec::new();
        for (occurrence, meeting) in occurrences {
            if let Some(whole) = pair.rendition.which_whole() {
                let found = (pair.measures, WholeDigest::of(pair.row));
                all.push(NomineeFound::Wholes(*occurrence, whole, found));
                continue;
            }
            let is_equal = pair.other.is_none();
            if *meeting != Meeting::Contents {
                if is_equal || self.could_pass_by(pair) {
                    let text = if self.faces.holds_members() {
                        pair.sketch.size
                    } else {
                        pair.row.size
                    };
                    let alone = *meeting == Meeting::OurMembers;
                    all.push(NomineeFound::Text(
                        occurrence.place,
                        (pair.measures, text),
                        alone.then_some((*occurrence, *pair.row)),
                    ));
                }
                continue;
            }
            let Some(found) = self.estimated(pair, occurrence) else {
                continue;
            };
            let Some(other) = pair.other else {
                let found = Match {
                    is_estimate: false,
                    ..found
                };
                all.push(NomineeFound::Row(occurrence.place, Box::new(found)));
                continue;
            };
            let could_relate = self.could_pass(pair, &other.sketch(), &found.measures);
            if !could_relate && pair.passage.is_none() {
                continue;
            }
            // An estimate leaves out boilerplate, but the measures of a read pair include it. So
            // there are two rarities.
            let (rarity, rarity_of_all) = pair.counts.rarities(pair.sketch, &other.sketch());
            let is_equal = found.relation == Some(Relation::SameText);
            if self.are_rows_listed()
                && !is_equal
                && !pair.could_be_listed(&other.sketch(), &found.measures, rarity)
            {
                continue;
            }
            let subject = SubjectSide::of(pair.rendition, pair.digest);
            all.push(NomineeFound::Draft(Box::new(Draft {
                place: occurrence.place,
                compared: DraftSides::Contents(subject, *occurrence, *pair.row),
                estimate: Match { rarity, ..found },
                rarity_of_all,
                could_relate,
                passage: pair.passage,
                frame: Frame::default(),
            })));
        }
        all
    }

    /// Returns whether the true share of an estimated pair may be large enough for a row. The
    /// estimate and its interval leave boilerplate samples out. A text and data have samples of
    /// different kinds, which show nothing about their common part.
    fn could_pass(&self, pair: &ContentPair<'_>, b: &Sketch<'_>, estimate: &Measures) -> bool {
        if are_text_and_data(pair.digest.kind, pair.row.kind) {
            return true;
        }
        let least = least_to_read(self.options.min);
        let a = pair.sketch;
        let level = a.signature.level.max(b.signature.level);
        let could = |share: Option<Score>, of: &Sketch<'_>| {
            let samples = of.signature.at_level(level);
            let samples = samples
                .filter(|f| !Boilerplate::fingerprint(pair.counts, *f))
                .count();
            let interval = share.map(|share| similarity::interval(share, samples as u64));
            interval.is_none_or(|(_, most)| most.get() >= least)
        };
        self.options.exact || could(estimate.a_in_b, a) || could(estimate.b_in_a, b)
    }

    /// Does the same as [`Self::could_pass`], for the text of a mail.
    fn could_pass_by(&self, pair: &ContentPair<'_>) -> bool {
        let other = pair.other.map(StoredSketch::sketch);
        other.is_none_or(|other| self.could_pass(pair, &other, &pair.measures))
    }

    /// Returns the match of a pair at a place according to the index. Returns `None` if both
    /// contents are equal, but have too few words to count as the same text.
    fn estimated(&self, pair: &ContentPair<'_>, occurrence: &Occurrence) -> Option<Match> {
        let named = |named: Named| Named {
            words: named.words.filter(|_| self.options.text),
            ..named
        };
        let a = (pair.rendition, named(Named::of(pair.digest)));
        let b = (occurrence.rendition, named(Named::row(pair.row)));
        let sketch = pair.other.map(StoredSketch::sketch);
        let sizes = (
            pair.sketch.size,
            sketch.map_or(pair.sketch.size, |other| other.size),
        );
        let related = relate(a, b, sizes, pair.measures, self.min_shared)?;
        let (relation, layer, measures) = related;
        let unit = unit_of(pair.digest.kind, pair.row.kind, self.options.unit.into());
        Some(Match {
            unit,
            ..Match::new(relation, layer, measures, sizes)
        })
    }
}

/// A pair of contents.
struct ContentPair<'a> {
    rendition: Rendition,
    digest: &'a Digest,
    row: &'a ContentRow,
    sketch: &'a Sketch<'a>,
    /// The other content; `None` if it equals the subject's content.
    other: Option<&'a StoredSketch>,
    measures: Measures,
    counts: &'a Counts,
    /// A rare passage that both may have.
    passage: Option<Passage>,
}

impl ContentPair<'_> {
    /// Returns whether the pair may be listed after measuring. The share of the subject will be
    /// discounted by the rarity of the common samples, which is already known. `rarity` is that of
    /// the estimated part.
    fn could_be_listed(&self, b: &Sketch<'_>, estimate: &Measures, rarity: Option<Rarity>) -> bool {
        let Some(rarity) = rarity else {
            return true;
        };
        let a = self.sketch;
        let level = a.signature.level.max(b.signature.level);
        let is_common = |sample: &Fingerprint| Boilerplate::fingerprint(self.counts, *sample);
        let count = |of: &Sketch<'_>, common: bool| {
            let samples = of.signature.at_level(level);
            samples.filter(|sample| is_common(sample) == common).count() as u64
        };
        let most = |share: Option<Score>, samples: u64| {
            share.map_or(Score::ONE, |share| similarity::interval(share, samples).1)
        };
        let of_subject = most(estimate.a_in_b, count(a, false));
        if rarity.discounted(of_subject).get() >= Relation::PARTLY {
            return true;
        }
        // The share of the other content is not discounted. Boilerplate is known only among the
        // samples of the subject. So all known boilerplate samples of the other content are common
        // to both.
        let (common, rare) = (count(b, true), count(b, false));
        let all = common + rare;
        let in_common = Score::new(common as f64 / all.max(1) as f64);
        let of_other = most(Some(in_common), all).get() + most(estimate.b_in_a, rare).get();
        // The common words may be rarer than the samples suggest, if enough of the samples are
        // rare.
        let left = || self.counts.left(a.signature, b.signature);
        of_other >= Relation::MOSTLY || left() >= 1.0
    }
}
