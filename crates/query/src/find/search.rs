//! The search itself: every rendition of the subject against whatever has something in common with
//! it.
//!
//! A place (a file, or a member in one) can be met by several pairs of renditions: a scan of a
//! letter by its bytes, the letter itself by its text. The best pair makes its row. What holds
//! members is compared by these ([`super::held`]).

use std::collections::HashMap;

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::proof::unit_of;
use resemble_core::similarity::{self, Boilerplate, Prepared, Sketch};
use resemble_core::{ByteLen, ContentKind, Digest, Fingerprint, Measures, Relation, Score, words};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::message::{FindOptions, SoftError};

use super::held::HeldNominee;
use super::prover::{Budget, Prover, SubjectSide};
use super::{NomineeBound, Payload, Similar, Subject, Wanted, nominated};
use crate::ask::AskError;
use crate::judge::estimate::prepared_in;
use crate::judge::matched::{Match, relate};
use crate::nominate::evidence::{Counts, Kept, KnownBoilerplate, Nominees};
use crate::nominate::kinship::SubjectKin;
use crate::nominate::quotations::Passage;
use crate::renditions::faces::Faces;
use crate::renditions::{
    Named, Occurrence, Place, Rendition, WholeDigest, lies_in, occurrences, same_words,
};
use crate::scope::ScopedFiles;

mod drafts;
mod members;
mod rows;

use self::drafts::{Draft, DraftSides};

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct FoundRows {
    /// The rows that pass, best first.
    pub(super) similar: Vec<Similar>,
    /// So many near-copies of the subject were not looked at.
    pub(super) further: usize,
    pub(super) errors: Vec<SoftError>,
}

/// So many near-copies of the subject are looked at for a listing, which has a hundred entries.
const COPIES_LISTED: usize = 192;

/// Among these files, or in the whole index.
pub(super) fn search_in(
    snapshot: &Snapshot,
    subject: &Subject,
    scoped: Option<&ScopedFiles>,
    options: &FindOptions,
    wanted: Wanted,
) -> Result<FoundRows, AskError> {
    // Empty files are counted, not grouped.
    if subject.digest.size == ByteLen::ZERO {
        return Ok(FoundRows::default());
    }
    let min_shared = options.min_shared.map_or(Relation::MIN_SHARED, ByteLen);
    let budget = match wanted {
        _ if options.exact => Budget::NONE,
        Wanted::Everything => Budget::QUESTION,
        Wanted::Scores | Wanted::Listed => Budget::LISTING,
    };
    let mut search = Search {
        snapshot,
        subject,
        scoped,
        options,
        wanted,
        min_shared,
        prover: Prover::of((snapshot, scoped), subject, options, min_shared, budget),
        own_place: own_place(snapshot, subject)?,
        faces: Faces::of(ContentKind::Empty, []),
        drafts: Vec::new(),
        rows: HashMap::new(),
        further: 0,
        compared: HashMap::new(),
        held: HashMap::new(),
    };
    let others = if options.text {
        subject.others(snapshot)?
    } else {
        Vec::new()
    };
    let kinds = others
        .iter()
        .map(|(rendition, digest)| (*rendition, digest.kind));
    search.faces = Faces::of(subject.digest.kind, kinds);
    search.rendition(Rendition::Own, &subject.digest)?;
    for (rendition, digest) in &others {
        search.rendition(*rendition, digest)?;
    }
    search.combine(&others)?;
    search.prove()?;
    search.finish()
}

/// Where the index has the subject: nothing in that place, or around it, is similar to it.
fn own_place(snapshot: &Snapshot, subject: &Subject) -> Result<Option<Place>, AskError> {
    if subject.member.is_some() {
        return Ok(subject.place);
    }
    let content = snapshot.content_by_digest(&subject.digest.content)?;
    Ok(content.map(Place::file))
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    subject: &'a Subject,
    scoped: Option<&'a ScopedFiles>,
    options: &'a FindOptions,
    wanted: Wanted,
    min_shared: ByteLen,
    prover: Prover<'a>,
    own_place: Option<Place>,
    /// What the subject is compared by.
    faces: Faces,
    /// What is to be measured on the contents.
    drafts: Vec<Draft>,
    rows: HashMap<Place, Match>,
    /// [`FoundRows::further`].
    further: usize,
    /// The renditions of the subject that were compared.
    compared: HashMap<Rendition, ComparedRendition>,
    /// What is compared by members, of the subject or of the place.
    held: HashMap<Place, HeldNominee>,
}

impl Search<'_> {
    /// Compares one rendition of the subject with all that it meets.
    fn rendition(&mut self, rendition: Rendition, digest: &Digest) -> Result<(), AskError> {
        let snapshot = self.snapshot;
        let known = KnownBoilerplate::new(snapshot, self.scoped);
        let dense = self.dense(rendition, digest)?;
        let payload = Payload::of(dense.as_ref().unwrap_or(digest), snapshot);
        let posted = payload.sketch();
        let bound = NomineeBound::new(&posted, self.options, snapshot.templates().fingerprints());
        let Nominees {
            all: mut nominees,
            counts,
            windows,
        } = nominated(
            snapshot,
            &posted,
            digest,
            self.scoped,
            self.quoted_at(digest),
        )?;
        let most = match self.wanted {
            Wanted::Everything => usize::MAX,
            Wanted::Scores | Wanted::Listed => COPIES_LISTED,
        };
        self.further = self.further.max(counts.cut_copies(&mut nominees, most));
        let kept = payload.kept(digest.kind, snapshot.params());
        let sketch = kept.sketch();
        let common = Either(&known, &counts);
        let own = Prepared::of(&sketch, &common);
        let kin = windows.map(|windows| {
            let is_boilerplate = |window| known.fingerprint(window);
            SubjectKin::of(
                (snapshot, self.scoped),
                sketch.signature,
                &windows,
                is_boilerplate,
            )
        });
        // Only what stands for a file by its own bytes is known by windows.
        let kin = kin.filter(|_| rendition == Rendition::Own);
        let is_own = |found: &(Occurrence, Meeting)| found.0.rendition == Rendition::Own;
        for nominee in nominees {
            let Some(row) = snapshot.content(nominee.content)? else {
                continue;
            };
            let equal = row.digest == digest.content;
            let same = equal || same_words(row.words, digest.words);
            // Of the two wholes one alone says little: what it comes to is decided with the other.
            let passage = Some(nominee.passage).filter(|passage| passage.is_rare());
            let could_pass = passage.is_some() || bound.could_pass(&nominee, &row);
            if !same && !rendition.is_whole() && !could_pass {
                continue;
            }
            let occurrences = self.occurrences(rendition, &row, equal)?;
            if occurrences.is_empty() {
                continue;
            }
            let other = if equal {
                None
            } else {
                let mut other = Kept::of(snapshot, &row)?;
                if let Some(kin) = &kin
                    && row.kind != ContentKind::Text
                    && occurrences.iter().all(is_own)
                    && !counts.is_copy(nominee.content)
                    && !kin.is_kin(&other.signature, nominee.common)?
                {
                    continue;
                }
                if nominee.common.chunks > 0 {
                    other.without_common_chunks(&known);
                }
                Some(other)
            };
            let measures = match &other {
                None => Measures::identical(row.size),
                Some(other) => prepared_in(
                    self.options.unit.into(),
                    (&own, digest.kind),
                    (&Prepared::of(&other.sketch(), &common), row.kind),
                    &common,
                ),
            };
            let pair = ContentPair {
                rendition,
                digest,
                row: &row,
                sketch: &sketch,
                other: other.as_ref(),
                measures,
                counts: &counts,
                passage,
            };
            self.pair(&pair, &occurrences);
        }
        let compared = ComparedRendition {
            kept: kept.into_owned(),
            kind: digest.kind,
            counts,
        };
        self.compared.insert(rendition, compared);
        Ok(known.failure()?)
    }

    /// The digest with all samples that have posting lists, if the index has kept fewer of them
    /// and the content can be read: of a document's text it has not.
    fn dense(&mut self, rendition: Rendition, digest: &Digest) -> Result<Option<Digest>, AskError> {
        if digest.kind != ContentKind::Text || rendition != Rendition::Own {
            return Ok(None);
        }
        let Some(id) = self.snapshot.content_by_digest(&digest.content)? else {
            return Ok(None);
        };
        let row = self.snapshot.content(id)?;
        let posted = row.map_or(0, |row| row.fingerprints as usize);
        if posted <= digest.signature.fingerprints.len() {
            return Ok(None);
        }
        let Some(bytes) = self.prover.subject_bytes(rendition, digest)? else {
            return Ok(None);
        };
        Ok(Some(Digest {
            signature: words::sample(bytes, &self.snapshot.params().posted),
            ..digest.clone()
        }))
    }

    /// Where a content stands that a rendition of the subject meets: not in the subject itself.
    fn occurrences(
        &self,
        rendition: Rendition,
        row: &ContentRow,
        is_equal: bool,
    ) -> Result<Vec<(Occurrence, Meeting)>, AskError> {
        let mut occurrences = occurrences(self.snapshot, row, self.options.text)?;
        occurrences.retain(|occurrence| rendition.meets(occurrence.rendition));
        let mut kept = Vec::with_capacity(occurrences.len());
        for occurrence in occurrences {
            let place = occurrence.place;
            let is_here = self
                .scoped
                .is_none_or(|scoped| scoped.has_file_of(place.content));
            if is_here
                && !self.is_of_subject(place)?
                && let Some(meeting) = self.meeting(rendition, &occurrence, row, is_equal)?
            {
                kept.push((occurrence, meeting));
            }
        }
        Ok(kept)
    }

    /// Whether a place is a part of the subject or of a copy of it, or the subject one of it.
    fn is_of_subject(&self, place: Place) -> Result<bool, AskError> {
        let Some(own) = self.own_place.filter(|own| own.content == place.content) else {
            return Ok(false);
        };
        // A copy of the subject is no part of it.
        if own.member.is_none() && place.member.is_none() {
            return Ok(false);
        }
        Ok(lies_in(self.snapshot, place, own)? || lies_in(self.snapshot, own, place)?)
    }

    fn pair(&mut self, pair: &ContentPair<'_>, occurrences: &[(Occurrence, Meeting)]) {
        for (occurrence, meeting) in occurrences {
            if let Some(whole) = pair.rendition.which_whole() {
                let nominee = self.held.entry(occurrence.place).or_default();
                nominee.wholes[whole] = Some((pair.measures, WholeDigest::of(pair.row)));
                nominee.number = occurrence.number;
                continue;
            }
            let is_equal = pair.other.is_none();
            if *meeting != Meeting::Contents {
                if is_equal || self.could_pass_by(pair) {
                    let nominee = self.held.entry(occurrence.place).or_default();
                    let text = if self.faces.holds_members() {
                        pair.sketch.size
                    } else {
                        pair.row.size
                    };
                    nominee.text = Some((pair.measures, text));
                    if *meeting == Meeting::OurMembers {
                        nominee.alone = Some((*occurrence, *pair.row));
                    }
                }
                continue;
            }
            let Some(found) = self.estimated(pair, occurrence) else {
                continue;
            };
            let Some(other) = pair.other else {
                self.offer(
                    occurrence.place,
                    Match {
                        is_estimate: false,
                        ..found
                    },
                );
                continue;
            };
            let could_relate = self.could_pass(pair, &other.sketch(), &found.measures);
            if !could_relate && pair.passage.is_none() {
                continue;
            }
            // An estimate leaves boilerplate out by itself; what is proven has it in.
            let rarity = pair.counts.rarity(pair.sketch, &other.sketch());
            let rarity_of_all = pair.counts.rarity_of_all(pair.sketch, &other.sketch());
            let is_equal = found.relation == Some(Relation::SameText);
            if self.wanted == Wanted::Listed
                && !is_equal
                && !pair.could_be_listed(&other.sketch(), &found.measures, rarity)
            {
                continue;
            }
            let subject = SubjectSide::of(pair.rendition, pair.digest);
            self.drafts.push(Draft {
                place: occurrence.place,
                compared: DraftSides::Contents(subject, *occurrence, *pair.row),
                estimate: Match { rarity, ..found },
                rarity_of_all,
                could_relate,
                passage: pair.passage,
            });
        }
    }

    /// Whether the true share of an estimated pair may be enough for a row. Samples that are
    /// boilerplate have no part in the estimate, and none in its interval.
    fn could_pass(&self, pair: &ContentPair<'_>, b: &Sketch<'_>, estimate: &Measures) -> bool {
        let least = self.options.min.score();
        let least = least.map_or(Relation::PARTLY, Score::get);
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

    /// [`Self::could_pass`], of the text of a mail.
    fn could_pass_by(&self, pair: &ContentPair<'_>) -> bool {
        let other = pair.other.map(Kept::sketch);
        other.is_none_or(|other| self.could_pass(pair, &other, &pair.measures))
    }

    /// By samples of which level passages are looked for that are next to nothing of both files:
    /// not for a listing, and not where the least share was asked for. What is template is known of
    /// the samples that are kept, and of no others.
    fn quoted_at(&self, digest: &Digest) -> Option<u8> {
        let is_asked = self.wanted == Wanted::Everything && self.options.min.is_none();
        let kept = || {
            digest
                .signature
                .thinned(&self.snapshot.params().shingles)
                .level
        };
        let is_all_known = self.snapshot.templates().is_empty();
        is_asked.then(|| if is_all_known { 0 } else { kept() })
    }

    /// How a pair meets at a place by what the index has; `None`: nothing can be said.
    fn estimated(&self, pair: &ContentPair<'_>, occurrence: &Occurrence) -> Option<Match> {
        let named = |named: Named| Named {
            words: named.words.filter(|_| self.options.text),
            ..named
        };
        let a = (pair.rendition, named(Named::of(pair.digest)));
        let b = (occurrence.rendition, named(Named::row(pair.row)));
        let sketch = pair.other.map(Kept::sketch);
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

/// What is boilerplate to the index, and what has turned out to be in the subject.
struct Either<'a>(&'a KnownBoilerplate<'a>, &'a Counts);

impl Boilerplate for Either<'_> {
    fn chunk(&self, key: u64) -> bool {
        Boilerplate::chunk(self.1, key) || self.0.chunk(key)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        !self.1.is_of_copies(fingerprint) && self.0.fingerprint(fingerprint)
    }
}

/// A rendition of the subject that was compared with all that it meets.
struct ComparedRendition {
    /// What the index keeps, or would keep, of it.
    kept: Payload<'static>,
    kind: ContentKind,
    /// How common its pieces are.
    counts: Counts,
}

/// How two places are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// By this pair of their contents.
    Contents,
    /// By all that they hold; the place holds members.
    Members,
    /// By all that they hold; the subject alone holds members.
    OurMembers,
}

/// A pair of contents.
struct ContentPair<'a> {
    rendition: Rendition,
    digest: &'a Digest,
    row: &'a ContentRow,
    sketch: &'a Sketch<'a>,
    /// `None`: it is the same content.
    other: Option<&'a Kept>,
    measures: Measures,
    counts: &'a Counts,
    /// A rare passage that both may have.
    passage: Option<Passage>,
}

impl ContentPair<'_> {
    /// Whether it may be listed when it is measured: the share of the subject will be discounted by
    /// how rare the samples in common are, and that is known before. `rarity`: of what the estimate
    /// is of.
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
        // The share of the other is not discounted. What is common to the index is known of samples
        // of the subject alone, so the subject has these.
        let (common, rare) = (count(b, true), count(b, false));
        let all = common + rare;
        let in_common = Score::new(common as f64 / all.max(1) as f64);
        let of_other = most(Some(in_common), all).get() + most(estimate.b_in_a, rare).get();
        // The words in common may be rarer than the samples, if enough of these are rare.
        let left = || self.counts.losses(a.signature, b.signature).1;
        of_other >= Relation::MOSTLY || left() >= 1.0
    }
}
