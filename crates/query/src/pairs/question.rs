//! The terms of a question about pairs: which files are compared by which renditions, and which
//! rows are shown.

use resemble_core::{ByteLen, ContentId, ContentKind, Measures, Relation, Score, similarity};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{Layer, PairRelation, PairScore, PairsRequest};
use resemble_relate::AskError;
use resemble_relate::judge::estimate::{enough_shared, estimate_in};
use resemble_relate::judge::matched::{CommonPart, Match, of_part};
use resemble_relate::nominate::evidence::{Counts, StoredSketch};
use resemble_relate::nominate::members::shown_of_files;
use resemble_relate::prove::archives::Archives;
use resemble_relate::renditions::Rendition;
use resemble_relate::renditions::owners::RenditionOwners;
use resemble_relate::scope::{ScopedFile, ScopedFiles};
use resemble_scan::parts::PartReader;

use super::PairMatch;
use super::draft::{PairDraft, row};
use resemble_relate::copies::named_alike;
use resemble_relate::siblings::{SiblingPairs, SiblingTerms, Siblings};

/// All inputs on which the pairs of a question depend.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) scoped: &'a ScopedFiles,
    pub(super) renditions: &'a RenditionOwners,
    pub(super) request: &'a PairsRequest,
    pub(super) counts: &'a Counts,
}

impl<'a> Question<'a> {
    pub(super) fn min_shared(&self) -> ByteLen {
        self.request
            .min_shared
            .map_or(Relation::MIN_SHARED, ByteLen)
    }

    /// Returns the files that have a content as a rendition, and the kind of that rendition. Files
    /// are named by their own contents.
    pub(super) fn owners(
        &self,
        content: ContentId,
    ) -> impl Iterator<Item = (ContentId, Rendition)> {
        let own = self.scoped.has_file_of(content);
        let own = own.then_some((content, Rendition::Own)).into_iter();
        own.chain(self.renditions.owners(content).iter().copied())
    }

    /// Returns whether two files are compared by these renditions. `kind` and `other_kind` are the
    /// kinds of the two contents.
    pub(super) fn are_compared(
        &self,
        (one, kind): ((ContentId, Rendition), ContentKind),
        (other, other_kind): ((ContentId, Rendition), ContentKind),
    ) -> bool {
        if one.1.is_whole() || other.1.is_whole() {
            return one.1 == other.1;
        }
        if self.renditions.is_unopened(one.0) || self.renditions.is_unopened(other.0) {
            return false;
        }
        // A file may have further renditions. All of them decide by which rendition the file is
        // compared.
        let faces = |owner, kind| self.renditions.faces(owner, kind);
        let (ours, theirs) = (faces(one.0, kind), faces(other.0, other_kind));
        // A container is compared by its members. A member, or its text, only nominates the
        // container.
        let by_member = ours.named_by_member(one.1, theirs, other.1);
        by_member.unwrap_or_else(|| ours.meeting(theirs) == (one.1, other.1))
    }

    /// Returns whether two files may count as equal because one content is both of these
    /// renditions. If one rendition is a member, the files must be compared by it.
    pub(super) fn may_be_equal(
        &self,
        (one, other): ((ContentId, Rendition), (ContentId, Rendition)),
        kinds: (ContentKind, ContentKind),
    ) -> bool {
        if one.1 == Rendition::Member || other.1 == Rendition::Member {
            return self.are_compared((one, kinds.0), (other, kinds.1));
        }
        one.1.meets(other.1)
    }

    /// Returns the estimate for an archive and a single file that share a member. The estimate is
    /// used until both are measured. Returns `None` if neither rendition is a member.
    pub(super) fn of_member(
        &self,
        one: (ContentId, Rendition),
        other: (ContentId, Rendition),
        found: &Match,
    ) -> Option<Match> {
        let whole = |owner| -> ByteLen {
            let wholes = self.renditions.wholes(owner);
            wholes.iter().flatten().map(|whole| whole.size).sum()
        };
        let (sizes, measures) = match (one.1, other.1) {
            (_, Rendition::Member) => {
                let sizes = (found.sizes.0, whole(other.0));
                (sizes, of_part(found.measures, found.sizes.1, sizes))
            }
            (Rendition::Member, _) => {
                let sizes = (found.sizes.1, whole(one.0));
                let of_single = of_part(found.measures.swapped(), found.sizes.0, sizes);
                ((sizes.1, sizes.0), of_single.swapped())
            }
            _ => return None,
        };
        let relation = similarity::relation(false, sizes.0, sizes.1, &measures, self.min_shared());
        Some(Match {
            unit: found.unit,
            ..Match::new(relation, Layer::Text, measures, sizes)
        })
    }

    /// Returns whether there are two files that are compared by these two contents.
    pub(super) fn meet(&self, (a, b): (&StoredSketch, &StoredSketch)) -> bool {
        self.meetings((a, b)).next().is_some()
    }

    /// Returns the pairs of files that are compared by these two contents.
    pub(super) fn meetings(
        &self,
        (a, b): (&StoredSketch, &StoredSketch),
    ) -> impl Iterator<Item = ((ContentId, Rendition), (ContentId, Rendition))> {
        let kinds = (a.kind, b.kind);
        let (a, b) = (a.id, b.id);
        let pairs = self.owners(a).flat_map(move |one| {
            let others = self.owners(b);
            others.map(move |other| (one, other))
        });
        pairs.filter(move |&(one, other)| {
            one.0 != other.0 && self.are_compared((one, kinds.0), (other, kinds.1))
        })
    }

    /// Returns the estimate from the samples of two contents.
    pub(super) fn estimate(&self, (a, b): (&StoredSketch, &StoredSketch)) -> Measures {
        let asked = self.request.unit.into();
        let (one, other) = (a.sketch(), b.sketch());
        estimate_in(asked, (&one, a.kind), (&other, b.kind), self.counts)
    }

    /// Returns the score of a row; `None` if a file is too small to judge.
    pub(super) fn score(&self, matched: &Match) -> Option<Score> {
        self.score_by(&matched.measures, matched)
    }

    /// Returns the score by which rows are ranked. For an estimate it is the least possible score.
    pub(super) fn rank(&self, matched: &Match) -> Option<Score> {
        self.score_by(&matched.least(), matched)
    }

    pub(super) fn score_by(&self, measures: &Measures, matched: &Match) -> Option<Score> {
        let containment = measures.containment();
        match self.request.score {
            PairScore::Containment => containment,
            PairScore::Resemblance => measures.resemblance,
            PairScore::Discounted => containment.map(|raw| matched.rare.unwrap_or(raw)),
        }
    }

    /// Returns whether the answer shows a pair.
    pub(super) fn passes(&self, matched: &Match) -> bool {
        let equal = matches!(
            matched.relation,
            Some(Relation::Identical | Relation::SameText)
        );
        let min = self.request.min;
        // Texts that are too small to judge have no score. They are shown if no `min` is requested.
        let has_score = match self.score(matched) {
            Some(score) => min.accepts(score),
            None => matched.are_read_texts && min.is_none(),
        };
        let filter = &self.request.relation;
        let measures = (&matched.measures, matched.is_estimate);
        matched.common != CommonPart::Repetition
            && has_score
            && PairRelation::accept_either(filter, matched.relation)
            && (equal
                || (matched.are_read_texts && self.request.min_shared.is_none())
                || enough_shared(matched.sizes, measures, self.min_shared()))
    }

    /// Returns whether the file of a content is compared by its members.
    pub(super) fn holds_members(&self, owner: ContentId) -> bool {
        self.renditions.wholes(owner).iter().any(Option::is_some)
    }

    /// Measures archives and mails by their members. Returns the pairs that are shown.
    pub(super) fn by_members(
        &self,
        mut matched: Vec<PairMatch>,
        part_reader: Option<&dyn PartReader>,
    ) -> Result<Vec<PairMatch>, ReadError> {
        let files = (self.snapshot, self.scoped);
        let mut archives = part_reader.map(|reader| Archives::of(files, self.renditions, reader));
        let is_measured = |(owners, matched): &&mut PairMatch| {
            let holds = (self.holds_members(owners.0), self.holds_members(owners.1));
            // If two archives have equal members, it is known that they have the same text. So they
            // are not measured.
            let is_known = holds == (true, true) && matched.relation == Some(Relation::SameText);
            owners.0 != owners.1 && holds != (false, false) && !is_known
        };
        let mut measured: Vec<&mut PairMatch> = matched.iter_mut().filter(is_measured).collect();
        // In this order each archive is read once for all its partners.
        measured.sort_unstable_by_key(|met| met.0);
        for (owners, matched) in measured {
            self.snapshot.stop().go_on()?;
            let unit = self.request.unit.into();
            let least = self.min_shared();
            let found = match &mut archives {
                Some(archives) => archives.measure(*owners, unit, least)?,
                None => None,
            };
            if let Some(found) = found {
                *matched = found.matched(Layer::Text);
            } else if let Some(shown) = shown_of_files(self.snapshot, *owners, unit, least)? {
                *matched = shown;
            }
        }
        matched.retain(|(owners, matched)| {
            let holds = (self.holds_members(owners.0), self.holds_members(owners.1));
            // An estimate that is based on one common member shows nothing about the other members,
            // so it is dropped.
            let is_of_member = matched.is_estimate && matched.interval.is_none();
            self.passes(matched) && !(is_of_member && holds.0 != holds.1)
        });
        Ok(matched)
    }

    /// Adds a row for each pair of files. More than two identical files share a row, unless all
    /// rows are requested.
    pub(super) fn rows<'m>(
        &self,
        (a, b): (ContentId, ContentId),
        matched: &'m Match,
        rows: &mut Vec<PairDraft<'m>>,
    ) where
        'a: 'm,
    {
        let scores = (self.score(matched), self.rank(matched));
        let scoped: &'m ScopedFiles = self.scoped;
        if a != b {
            for one in scoped.holders(a) {
                let others = scoped.holders(b);
                rows.extend(others.map(|other| row((one, other), scores, matched)));
            }
            return;
        }
        let files: Vec<&'m ScopedFile> = scoped.holders(a).collect();
        if files.len() > 2 && !self.request.all {
            let Some((one, other)) = named_alike(&files) else {
                return;
            };
            let mut of_all = row((one, other), scores, matched);
            of_all.copies = Some(files.len() as u64);
            rows.push(of_all);
            return;
        }
        for (at, &one) in files.iter().enumerate() {
            let others = files[at + 1..].iter();
            rows.extend(others.map(|&other| row((one, other), scores, matched)));
        }
    }

    /// Returns, for each container, the pairs of its members that resemble each other. Returns
    /// nothing if containers are not opened.
    pub(super) fn siblings(
        &self,
        part_reader: Option<&'a dyn PartReader>,
    ) -> Result<Vec<SiblingPairs<'a>>, AskError> {
        let request = self.request;
        if !(request.text && request.archives) {
            return Ok(Vec::new());
        }
        let terms = SiblingTerms {
            unit: request.unit.into(),
            min_shared: self.min_shared(),
        };
        let files = (self.snapshot, self.scoped);
        let mut siblings = Siblings::of(files, self.renditions, part_reader, terms);
        let mut found = Vec::new();
        for holder in siblings.holders() {
            found.extend(siblings.within(holder)?);
        }
        if request.score == PairScore::Discounted {
            let pairs = found.iter_mut().flat_map(|container| &mut container.pairs);
            for found in pairs.map(|pair| &mut pair.found) {
                let raw = found.measures.containment();
                let rarity = found.rarity;
                found.rare = raw.map(|raw| rarity.map_or(raw, |rarity| rarity.discounted(raw)));
            }
        }
        Ok(found)
    }

    /// Adds the rows of the members of one container. Only pairs that a listing would show are
    /// added, because very many mails share a line with each other.
    pub(super) fn rows_within<'m>(
        &self,
        container: &'m SiblingPairs<'_>,
        rows: &mut Vec<PairDraft<'m>>,
    ) {
        let shown = |files: (&'m ScopedFile, &'m ScopedFile), matched: &'m Match| {
            let scores = (self.score(matched), self.rank(matched));
            let is_shown = self.passes(matched);
            is_shown.then(|| row(files, scores, matched))
        };
        for pair in container.pairs.iter().filter(|pair| pair.is_listed()) {
            let [a, b] = [pair.a, pair.b].map(|at| &container.members[at as usize].file);
            rows.extend(shown((a, b), &pair.found));
        }
        for member in &container.members {
            if let Some((first, equal)) = member.copies.first().zip(member.equal.as_ref())
                && let Some(mut of_all) = shown((&member.file, first), equal)
            {
                let count = member.copies.len() as u64 + 1;
                of_all.copies = (count > 2).then_some(count);
                rows.push(of_all);
            }
        }
    }
}
