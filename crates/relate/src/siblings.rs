//! Finds members of one container that resemble each other: form letters in a mailbox, two versions
//! of a document in an archive.
//!
//! Questions about all pairs compare a container by all its content. They never compare two members
//! of the same file. Similar members of one container are found here instead, one container at a
//! time:
//!
//! 1. **Members.** The direct members of a container are compared with each other, each by the
//!    content by which such a file is always compared. A mail with attachments is compared by all
//!    that it contains. The members of an inner archive are compared only with each other. Equal
//!    members count once.
//! 2. **Nomination.** The index data of the members' contents nominate pairs ([`PostingBlock`]). A
//!    container without nominated pairs is never opened.
//! 3. **Proof.** The container is taken apart once for all its pairs (`OpenedContainer`). A pair
//!    that cannot be read keeps its estimate, if each of its members is compared by one content.
//!
//! No pair is reported twice, even if it occurs in two containers, or if both members are also
//! files of the question.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::HeldSample;
use resemble_core::similarity::proof::unit_of;
use resemble_core::similarity::{Unit, too_small};
use resemble_core::{ByteLen, ContentId, ContentKind, Fingerprint, Measures, Relation, Signature};
use resemble_index::{ContentRow, ReadError, Snapshot};
use resemble_proto::message::Layer;
use resemble_proto::path::PathText;
use resemble_scan::parts::PartReader;

use crate::AskError;
use crate::copies;
use crate::judge::estimate;
use crate::judge::listing::is_listed;
use crate::judge::matched::{Match, all_words};
use crate::nominate::block::{Common, PostingBlock};
use crate::nominate::evidence::{Counts, StoredSketch};
use crate::nominate::families::{LARGE, are_near_copies};
use crate::nominate::frames::{Frames, MOST, SampleHolders, less_of};
use crate::nominate::kinship::{Kinships, WindowCounts};
use crate::parallel::{ordered, threads};
use crate::prove::cost::{MOST_WORK, TAKEN_APART};
use crate::renditions::owners::RenditionOwners;
use crate::renditions::{Place, is_same_text, layer, names, same_words, shown};
use crate::scope::{ScopedFile, ScopedFiles};

mod layout;
mod opened;

use layout::{MemberLayout, MemberSide, containers_in};
use opened::{OpenedContainer, ReadyMember};

/// If more members than this have the same content, only the first of them is compared with all the
/// others. Only this many of them are compared with members that have other contents.
const MOST_OF_ONE_CONTENT: usize = 48;

/// The options of a comparison of members.
#[derive(Clone, Copy, Debug)]
pub struct SiblingTerms {
    /// The unit in which figures are measured.
    pub unit: Unit,
    /// The minimum number of shared bytes of two related members.
    pub min_shared: ByteLen,
}

/// Searches the containers of a question, one at a time.
#[derive(Debug)]
pub struct Siblings<'a> {
    snapshot: &'a Snapshot,
    scoped: &'a ScopedFiles,
    renditions: &'a RenditionOwners,
    /// Takes containers apart. Without a part reader, all figures are estimates.
    part_reader: Option<&'a dyn PartReader>,
    terms: SiblingTerms,
    /// The number of bytes that may still be read.
    left: u64,
    /// The pairs of contents that already have a row.
    found: HashSet<(ContentId, ContentId)>,
}

/// The distinct members of a container, and the related pairs among them.
#[derive(Debug)]
pub struct SiblingPairs<'a> {
    /// The distinct members.
    pub members: Vec<Sibling>,
    /// The related pairs.
    pub pairs: Vec<SiblingPair>,
    opened: OpenedContainer<'a>,
    terms: SiblingTerms,
}

/// A member of a container.
#[derive(Debug)]
pub struct Sibling {
    /// The member as a file: the path that names it, and the time of the container.
    pub file: ScopedFile,
    /// The other members with the same bytes.
    pub copies: Vec<ScopedFile>,
    /// The match between the member and any of its copies.
    pub equal: Option<Match>,
    layout: MemberLayout,
    ready: ReadyMember,
}

/// Two related members, by their indexes in the container.
#[derive(Debug)]
pub struct SiblingPair {
    /// The index of one member.
    pub a: u32,
    /// The index of the other member.
    pub b: u32,
    /// What both members have in common.
    pub found: Match,
}

impl SiblingPair {
    /// Returns whether a listing of either member would show the other.
    pub fn is_listed(&self) -> bool {
        is_listed_by_either(&self.found)
    }
}

fn is_listed_by_either(found: &Match) -> bool {
    let (relation, swapped) = (found.relation, found.measures.swapped());
    is_listed(relation, &found.measures, found.rarity)
        || is_listed(relation.map(Relation::swapped), &swapped, found.rarity)
}

impl Sibling {
    /// Returns whether the member holds other files.
    pub const fn holds_others(&self) -> bool {
        matches!(self.layout.side, MemberSide::Held(_))
    }
}

impl SiblingPairs<'_> {
    /// Measures two members. Returns `None` if they cannot be read now.
    pub fn measure(&self, a: u32, b: u32) -> Option<Measures> {
        let side = |at: u32| {
            let member = &self.members[at as usize];
            (&member.layout, &member.ready)
        };
        let SiblingTerms { unit, min_shared } = self.terms;
        let proven = self.opened.measure((side(a), side(b)), unit, min_shared);
        proven.map(|proven| proven.measures)
    }
}

impl<'a> Siblings<'a> {
    /// Prepares the search for these files.
    pub fn of(
        (snapshot, scoped): (&'a Snapshot, &'a ScopedFiles),
        renditions: &'a RenditionOwners,
        part_reader: Option<&'a dyn PartReader>,
        terms: SiblingTerms,
    ) -> Self {
        Self {
            snapshot,
            scoped,
            renditions,
            part_reader,
            terms,
            left: MOST_WORK,
            found: HashSet::new(),
        }
    }

    /// Returns the contents of the files that hold members, sorted by the first path of each
    /// content.
    pub fn holders(&self) -> Vec<ContentId> {
        let mut holders: Vec<(&ScopedFile, ContentId)> = Vec::new();
        for content in self.scoped.contents() {
            let wholes = self.renditions.wholes(content);
            if wholes.iter().any(Option::is_some) {
                let first = self.scoped.holders(content).next();
                holders.extend(first.map(|first| (first, content)));
            }
        }
        holders.sort_unstable_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        holders.into_iter().map(|(_, content)| content).collect()
    }

    /// Returns the related members of each container in a file with this content. The file itself
    /// is one of the containers.
    pub fn within(&mut self, content: ContentId) -> Result<Vec<SiblingPairs<'a>>, AskError> {
        let mut found = Vec::new();
        let Some(file) = self.scoped.holders(content).next() else {
            return Ok(found);
        };
        for layouts in containers_in(self.snapshot, content)? {
            self.snapshot.stop().go_on()?;
            let members = self.members(file, layouts)?;
            let pairs = self.pairs(file, members)?;
            let has_copies = |one: &Sibling| !one.copies.is_empty();
            if !pairs.pairs.is_empty() || pairs.members.iter().any(has_copies) {
                found.push(pairs);
            }
        }
        Ok(found)
    }

    /// Returns the distinct members of one container.
    fn members(
        &mut self,
        file: &ScopedFile,
        layouts: Vec<MemberLayout>,
    ) -> Result<Vec<Sibling>, AskError> {
        let mut members: Vec<Sibling> = Vec::with_capacity(layouts.len());
        let mut places: HashMap<ContentId, usize> = HashMap::new();
        let mut paths: HashSet<PathText> = HashSet::new();
        for layout in layouts {
            let place = Place {
                content: file.content,
                member: Some(layout.number),
            };
            let member = ScopedFile {
                path: shown(&file.path, &names(self.snapshot, place)?).into(),
                content: layout.own.id,
                size: layout.own.size,
                ..file.clone()
            };
            // If several members have the same name, the name refers to the first of them. The
            // others are left out.
            if !paths.insert(member.path.clone()) {
                continue;
            }
            let own = layout.own.id;
            match places.get(&own) {
                Some(&at) if self.is_new(own, own) || !members[at].copies.is_empty() => {
                    self.found.insert((own, own));
                    let size = layout.own.size;
                    let measures = Measures::identical(size);
                    let identical = Some(Relation::Identical);
                    let equal = Match::new(identical, Layer::Bytes, measures, (size, size));
                    members[at].equal = Some(Match {
                        is_estimate: false,
                        unit: unit_of(layout.own.kind, layout.own.kind, self.terms.unit),
                        ..equal
                    });
                    members[at].copies.push(member);
                }
                Some(_) => {}
                None => {
                    places.insert(own, members.len());
                    members.push(Sibling {
                        file: member,
                        copies: Vec::new(),
                        equal: None,
                        layout,
                        ready: ReadyMember::default(),
                    });
                }
            }
        }
        Ok(members)
    }

    /// Returns whether no other row is about these two contents, as files of the question or as
    /// members.
    fn is_new(&self, a: ContentId, b: ContentId) -> bool {
        let are_files = self.scoped.has_file_of(a) && self.scoped.has_file_of(b);
        !are_files && !self.found.contains(&(a.min(b), a.max(b)))
    }

    fn pairs(
        &mut self,
        file: &ScopedFile,
        members: Vec<Sibling>,
    ) -> Result<SiblingPairs<'a>, AskError> {
        let cost = file.size.0.saturating_mul(TAKEN_APART);
        let part_reader = self.part_reader.filter(|_| cost <= self.left);
        let opened = OpenedContainer::new(self.snapshot, part_reader, file.path.to_path_buf());
        let mut siblings = SiblingPairs {
            members,
            pairs: Vec::new(),
            opened,
            terms: self.terms,
        };
        let nominated = NominatedMembers::of(self.snapshot, &siblings)?;
        let is_asked = |&(a, b): &(u32, u32)| {
            let [a, b] = [a, b].map(|at| siblings.members[at as usize].file.content);
            self.is_new(a, b)
        };
        let pairs: Vec<(u32, u32)> = nominated.pairs.iter().copied().filter(is_asked).collect();
        let holders = MemberSamples::of(&nominated.block);
        let frames = Frames::among(self.snapshot, &holders);
        let judge = |at: usize, (): &mut ()| {
            self.snapshot.stop().go_on()?;
            nominated.judged(&siblings, pairs[at], &frames)
        };
        let found = ordered(pairs.len(), || (), judge)?;
        if !pairs.is_empty() && part_reader.is_some() {
            self.left -= cost;
        }
        for (&(a, b), found) in pairs.iter().zip(found) {
            let Some(found) = found.filter(|found| found.relation.is_some()) else {
                continue;
            };
            let [one, other] = [a, b].map(|at| siblings.members[at as usize].file.content);
            self.found.insert((one.min(other), one.max(other)));
            siblings.pairs.push(SiblingPair { a, b, found });
        }
        Ok(siblings)
    }
}

/// The members of one container that may resemble each other.
struct NominatedMembers {
    /// The contents of the members, and how common their pieces are.
    block: PostingBlock,
    counts: Counts,
    /// The index of each content in the block.
    places: HashMap<ContentId, usize>,
    pairs: BTreeSet<(u32, u32)>,
}

impl NominatedMembers {
    fn of(snapshot: &Snapshot, siblings: &SiblingPairs<'_>) -> Result<Self, AskError> {
        let mut owners: BTreeMap<_, (ContentRow, Vec<u32>)> = BTreeMap::new();
        for (place, member) in (0u32..).zip(&siblings.members) {
            for leaf in member
                .layout
                .leaves
                .iter()
                .filter(|leaf| !too_small(leaf.size))
            {
                let (_, owners) = owners.entry(leaf.digest).or_insert((*leaf, Vec::new()));
                if owners.last() != Some(&place) {
                    owners.push(place);
                }
            }
        }
        let owners: Vec<(ContentRow, Vec<u32>)> = owners.into_values().collect();
        let kept = owners
            .iter()
            .map(|(row, _)| StoredSketch::of(snapshot, row));
        let mut kept = kept.collect::<Result<Vec<StoredSketch>, _>>()?;
        let (limit, stop) = (snapshot.boilerplate_limit(), snapshot.stop());
        let are_near = |a: u32, b: u32| {
            let [one, other] = [a, b].map(|at| owners[at as usize].1[0]);
            let measures = siblings.measure(one, other);
            Ok(measures.is_some_and(|measures| are_near_copies(&measures)))
        };
        let families = copies::families_by(&kept, stop, &are_near)?;
        let large = families.of_more_than(LARGE);
        copies::leave_to_leaders(&mut kept, &families, &large);
        let places = (0..)
            .zip(&kept)
            .map(|(at, content)| (content.id, at))
            .collect();
        let (block, counts) = PostingBlock::counting(kept, &families, limit, stop);
        let kinships = Kinships::of(&block, limit);
        let candidates = block.nominees(threads(), Vec::new, |found, a, b, common: Common| {
            let pair = (&block.kept[a], &block.kept[b]);
            let is_text = |content: &StoredSketch| content.kind == ContentKind::Text;
            let signatures = (&pair.0.signature, &pair.1.signature);
            let is_candidate = if is_text(pair.0) || is_text(pair.1) {
                common.is_candidate_of(signatures.0, signatures.1)
                    || same_words(pair.0.words, pair.1.words)
            } else {
                let windows = WindowCounts::of(signatures.0, signatures.1);
                let is_at_most =
                    |most| Ok::<_, AskError>(kinships.is_at_most((a, b), windows.level, most));
                windows.are_kin(common, is_at_most)?
            };
            if is_candidate {
                found.push((a, b));
            }
            Ok::<(), AskError>(())
        })?;
        let mut pairs = BTreeSet::new();
        let mut add = |a: u32, b: u32| {
            let [one, other] = [a, b].map(|at| &siblings.members[at as usize].layout);
            if a != b && one.meets(other) {
                pairs.insert((a.min(b), a.max(b)));
            }
        };
        let first = |owners: &[u32]| owners[..owners.len().min(MOST_OF_ONE_CONTENT)].to_vec();
        let candidates = candidates.into_iter().flatten();
        for (a, b) in candidates.chain(copies::held_together(&large)) {
            for one in first(&owners[a].1) {
                for other in first(&owners[b].1) {
                    add(one, other);
                }
            }
        }
        for (_, owners) in &owners {
            let with_all = if owners.len() > MOST_OF_ONE_CONTENT {
                1
            } else {
                owners.len()
            };
            for (at, &one) in owners[..with_all].iter().enumerate() {
                for &other in &owners[at + 1..] {
                    add(one, other);
                }
            }
        }
        Ok(Self {
            block,
            counts,
            places,
            pairs,
        })
    }

    /// Measures or estimates two members. Returns `None` if they share nothing that counts. Also
    /// returns `None` if one of them holds members and they cannot be measured.
    fn judged(
        &self,
        siblings: &SiblingPairs<'_>,
        (a, b): (u32, u32),
        frames: &Frames<'_>,
    ) -> Result<Option<Match>, AskError> {
        let SiblingTerms { unit, min_shared } = siblings.terms;
        let [one, other] = [a, b].map(|at| &siblings.members[at as usize]);
        let of_both = (&one.layout, &other.layout);
        let sides = (of_both.0.side, of_both.1.side);
        let (MemberSide::Alone(in_a, _), MemberSide::Alone(in_b, _)) = sides else {
            let pair = ((of_both.0, &one.ready), (of_both.1, &other.ready));
            let proven = siblings.opened.measure(pair, unit, min_shared);
            return Ok(proven.map(|proven| proven.matched(Layer::Text)));
        };
        let rows = (&of_both.0.leaves[0], &of_both.1.leaves[0]);
        let sizes = (rows.0.size, rows.1.size);
        if rows.0.id == rows.1.id {
            // The contents by which the members are compared are equal, but the members themselves
            // may differ.
            let measures = all_words(&Measures::identical(sizes.0));
            let same = Match::new(Some(Relation::SameText), layer(in_a, in_b), measures, sizes);
            let same = Match {
                is_estimate: false,
                unit: unit_of(rows.0.kind, rows.1.kind, unit),
                ..same
            };
            return Ok(is_same_text(in_a, in_b, sizes.0).then_some(same));
        }
        let kept = |row: &ContentRow| self.places.get(&row.id).map(|&at| &self.block.kept[at]);
        let (Some(kept_a), Some(kept_b)) = (kept(rows.0), kept(rows.1)) else {
            return Ok(None);
        };
        let pair = ((of_both.0, &one.ready), (of_both.1, &other.ready));
        let found = match siblings.opened.measure(pair, unit, min_shared) {
            Some(proven) => proven.matched(layer(in_a, in_b)),
            None => estimated((kept_a, kept_b), siblings.terms, layer(in_a, in_b)),
        };
        let common = self
            .counts
            .rarity_of_all(&kept_a.sketch(), &kept_b.sketch());
        let found = with_rarity(found, common);
        if !is_listed_by_either(&found) {
            return Ok(Some(found));
        }
        let frame = frames.of_both(kept_a, kept_b)?;
        let framed = frame.rarity(&kept_a.signature, &kept_b.signature);
        let is_frame_alone = framed.is_some_and(|framed| framed.weight <= 0.0);
        let found = with_rarity(found, less_of(common, framed));
        Ok((!is_frame_alone || found.relation == Some(Relation::SameText)).then_some(found))
    }
}

/// Estimates the match of two contents from their samples.
fn estimated((a, b): (&StoredSketch, &StoredSketch), terms: SiblingTerms, layer: Layer) -> Match {
    let (one, other) = (a.sketch(), b.sketch());
    let pair = ((&one, a.kind, a.words), (&other, b.kind, b.words));
    estimate::estimated(terms.unit, pair, layer, terms.min_shared)
}

fn with_rarity(found: Match, rarity: Option<Rarity>) -> Match {
    let layer = match found.relation {
        Some(Relation::SameText) => Layer::Text,
        _ => found.layer,
    };
    Match {
        layer,
        rarity,
        ..found
    }
}

/// For each sample, the contents of members that have it. Samples of too many contents are left
/// out.
struct MemberSamples {
    holders: HashMap<Fingerprint, Vec<ContentId>>,
    levels: HashMap<ContentId, u8>,
}

impl MemberSamples {
    fn of(block: &PostingBlock) -> Self {
        let mut samples: HashMap<Fingerprint, Vec<ContentId>> = HashMap::new();
        for content in &block.kept {
            for &sample in &content.signature.fingerprints {
                samples.entry(sample).or_default().push(content.id);
            }
        }
        samples.retain(|_, holders| holders.len() <= MOST);
        let levels = block
            .kept
            .iter()
            .map(|content| (content.id, content.signature.level));
        Self {
            holders: samples,
            levels: levels.collect(),
        }
    }
}

impl SampleHolders for MemberSamples {
    fn level(&self, content: ContentId) -> u8 {
        self.levels.get(&content).copied().unwrap_or_default()
    }

    fn held(&self, samples: &Signature) -> Result<Vec<HeldSample>, ReadError> {
        let held = samples.fingerprints.iter().filter_map(|&sample| {
            let holders = self.holders.get(&sample)?.clone();
            Some(HeldSample { sample, holders })
        });
        Ok(held.collect())
    }
}
