//! Searches for similar files: compares every rendition of the subject with its nominees.
//!
//! Several pairs of renditions can lead to one place (a file, or a member of a file). For example,
//! two documents may be similar by their bytes and by their texts. The row shows the best pair. A
//! subject or place that holds members is compared by these members ([`super::held`]).

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use resemble_core::similarity::{Boilerplate, NoBoilerplate, Prepared};
use resemble_core::{
    ByteLen, ChunkList, ContentId, ContentKind, Digest, FileId, Relation, Signature, words,
};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::{FindOptions, SoftError};
use resemble_relate::AskError;
use resemble_relate::judge::matched::Match;
use resemble_relate::nominate::boilerplate::KnownBoilerplate;
use resemble_relate::nominate::evidence::{Counts, Nominee, Nominees};
use resemble_relate::nominate::kinship::SubjectKin;
use resemble_relate::nominate::members::HeldMembers;
use resemble_relate::parallel::{ordered_on, threads};
use resemble_relate::prove::members::AloneSide;
use resemble_relate::renditions::faces::Faces;
use resemble_relate::renditions::{
    Occurrence, Place, Rendition, is_packed_again, lies_in, occurrences, same_words,
};
use resemble_relate::scope::ScopedFiles;

use super::bound::NomineeBound;
use super::held::HeldNominee;
use super::prover::{Budget, Prover, THREADS};
use super::{Payload, Similar, Subject, Wanted, nominated};

mod drafts;
mod estimates;
mod further;
mod members;
mod promise;
mod rows;

use self::drafts::Draft;
use self::estimates::{Either, PlacedNominee, PreparedRendition};
pub(super) use self::further::FurtherCopies;
use self::promise::ListingPromise;

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct FoundRows {
    /// The rows of the answer, best first.
    pub(super) similar: Vec<Similar>,
    /// Near-copies of the subject that were not compared.
    pub(super) further: FurtherCopies,
    pub(super) errors: Vec<SoftError>,
}

/// The number of near-copies of the subject that are compared for a listing, which has a hundred
/// entries.
const COPIES_LISTED: usize = 192;

/// The number of nominees whose data is in memory at a time.
const AT_ONCE: usize = 1 << 13;

/// If there are fewer pairs than this, one thread estimates them. It needs a millisecond or two.
const WORTH_A_THREAD: usize = 48;

/// Searches the files of `scoped`. If `scoped` is `None`, searches the whole index.
pub(super) fn search_in(
    snapshot: &Snapshot,
    subject: &Subject,
    scoped: Option<&ScopedFiles>,
    options: &FindOptions,
    wanted: Wanted,
) -> Result<FoundRows, AskError> {
    // No file is similar to an empty one.
    if subject.digest.size == ByteLen::ZERO {
        return Ok(FoundRows::default());
    }
    let min_shared = options.min_shared.map_or(Relation::MIN_SHARED, ByteLen);
    let budget = match wanted {
        _ if options.exact => Budget::NONE,
        Wanted::Everything => Budget::QUESTION,
        Wanted::Listed => Budget::LISTING,
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
        own_content: own_content(snapshot, subject)?,
        faces: Faces::of(ContentKind::Empty, []),
        wholes: [0; 2],
        drafts: Vec::new(),
        rows: HashMap::new(),
        further: FurtherCopies::default(),
        compared: HashMap::new(),
        held: HashMap::new(),
        members: HeldMembers::default(),
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
    for (rendition, digest) in &others {
        if let Some(at) = rendition.which_whole() {
            search.wholes[at] = digest.size.0;
        }
    }
    search.rendition(Rendition::Own, &subject.digest)?;
    for (rendition, digest) in &others {
        search.rendition(*rendition, digest)?;
    }
    search.combine(&others)?;
    search.prove()?;
    search.finish()
}

/// Returns the place of the subject in the index. No row is about a part of the subject, or about a
/// place that contains the subject.
fn own_place(snapshot: &Snapshot, subject: &Subject) -> Result<Option<Place>, AskError> {
    if subject.member.is_some() {
        return Ok(subject.place);
    }
    let content = snapshot.content_by_digest(&subject.digest.content)?;
    Ok(content.map(Place::file))
}

/// Returns the indexed content of the subject's file, if no other file has it. No row is made for
/// this content, even if the subject resembles it. (The subject may be a newer state of the file,
/// or a piece of it.)
fn own_content(snapshot: &Snapshot, subject: &Subject) -> Result<Option<ContentId>, AskError> {
    let Some(file) = subject.file else {
        return Ok(None);
    };
    let row = snapshot.file(file)?;
    let Some(content) = row.and_then(|row| row.state.content()) else {
        return Ok(None);
    };
    let row = snapshot.content(content)?;
    Ok(row.filter(|row| row.files == 1).map(|row| row.id))
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
    /// The content that occurs only in the subject's file.
    own_content: Option<ContentId>,
    /// The renditions of the subject.
    faces: Faces,
    /// The sizes of the subject's two wholes in bytes; 0 for a whole that the subject does not
    /// have.
    wholes: [u64; 2],
    /// Pairs that are to be measured by reading their contents.
    drafts: Vec<Draft>,
    rows: HashMap<Place, Match>,
    /// The near-copies that are not compared: see [`FoundRows::further`].
    further: FurtherCopies,
    /// The renditions of the subject that were compared.
    compared: HashMap<Rendition, ComparedRendition>,
    /// The evidence for each place that is compared by members. Either the place or the subject
    /// holds members.
    held: HashMap<Place, HeldNominee>,
    /// The members of the subject, which nominate other files.
    members: HeldMembers,
}

impl Search<'_> {
    /// Compares one rendition of the subject with all its nominees.
    fn rendition(&mut self, rendition: Rendition, digest: &Digest) -> Result<(), AskError> {
        let snapshot = self.snapshot;
        let known = KnownBoilerplate::new(snapshot, self.scoped);
        let dense = self.dense(rendition, digest)?;
        let payload = Payload::of(dense.as_ref().unwrap_or(digest), snapshot);
        let posted = payload.sketch();
        let subject = (&payload, digest.kind);
        let bound = NomineeBound::new(subject, self.options, snapshot.templates().fingerprints());
        let Nominees {
            all: mut nominees,
            counts,
            windows,
        } = nominated(
            snapshot,
            &payload,
            digest,
            self.scoped,
            self.quoted_at(digest),
        )?;
        let most = match self.wanted {
            Wanted::Everything => usize::MAX,
            Wanted::Listed => COPIES_LISTED,
        };
        self.leave_out_unplaced(rendition, &counts, &mut nominees)?;
        for copy in counts.cut_copies(&mut nominees, most) {
            self.note_further(rendition, copy)?;
        }
        let promise = self.promise(digest, posted.signature, &counts);
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
        let compared = PreparedRendition {
            rendition,
            digest,
            sketch,
            own,
            // Kinship is judged by windows. Only files that are compared by their own bytes have
            // windows.
            kin: kin.filter(|_| rendition == Rendition::Own),
            promise,
            counts: &counts,
            common,
        };
        for nominees in nominees.chunks(AT_ONCE) {
            let met = self.met(&compared, &bound, nominees)?;
            let threads = if met.len() < WORTH_A_THREAD {
                1
            } else {
                THREADS.min(threads())
            };
            let this = &*self;
            let look = |at: usize, (): &mut ()| this.compare(&compared, &met[at]);
            for found in ordered_on(threads, met.len(), || (), look)?
                .into_iter()
                .flatten()
            {
                self.take(found);
            }
        }
        drop(compared);
        let compared = ComparedRendition {
            kept: kept.into_owned(),
            kind: digest.kind,
            nominees: nominees.len(),
            counts,
            with_boilerplate: OnceLock::new(),
        };
        self.compared.insert(rendition, compared);
        Ok(known.failure()?)
    }

    /// Returns whether the options select the same rows as a listing of the overlay.
    fn are_rows_listed(&self) -> bool {
        let options = self.options;
        !options.all && !options.exact && options.min.is_none()
    }

    /// Returns a check that rejects nominees that cannot be in a listing of the overlay. It exists
    /// only for texts, and only while no template is marked.
    fn promise<'a>(
        &self,
        digest: &Digest,
        posted: &Signature,
        counts: &'a Counts,
    ) -> Option<ListingPromise<'a>> {
        let is_asked = self.are_rows_listed()
            && digest.kind == ContentKind::Text
            && self.snapshot.templates().is_empty();
        let known = is_asked.then(|| ListingPromise::of(digest, posted, counts));
        known.flatten()
    }

    /// Returns the nominees to compare, with the places of their contents. A nominee without such a
    /// place is left out. A nominee that does not pass the bound is left out, too, unless it is the
    /// same as the subject or shares a rare passage with it. The bound does not apply to a whole of
    /// an archive.
    fn met(
        &self,
        compared: &PreparedRendition<'_>,
        bound: &NomineeBound,
        nominees: &[Nominee],
    ) -> Result<Vec<PlacedNominee>, AskError> {
        let (rendition, digest) = (compared.rendition, compared.digest);
        let mut met = Vec::new();
        for nominee in nominees {
            let Some(row) = self.snapshot.content(nominee.content)? else {
                continue;
            };
            let is_equal = row.digest == digest.content;
            let same = is_equal || same_words(row.words, digest.words);
            // A whole of an archive always passes here. The two wholes of the archive are judged
            // together later.
            let is_in_words = [digest.kind, row.kind].contains(&ContentKind::Text);
            let passage = nominee.passage;
            let passage = (is_in_words && passage.is_rare()).then_some(passage);
            let could_pass = passage.is_some() || bound.could_pass(nominee, &row);
            if !same && !rendition.is_whole() && !could_pass {
                continue;
            }
            let occurrences = self.occurrences(rendition, &row, is_equal)?;
            if !occurrences.is_empty() {
                met.push(PlacedNominee {
                    row,
                    same,
                    is_equal,
                    common: nominee.common,
                    passage,
                    occurrences,
                });
            }
        }
        Ok(met)
    }

    /// Returns a digest of the subject with all samples that have posting lists, if `digest` lacks
    /// some of them. To compute it, the content must be read. The text of a document cannot be read
    /// here.
    fn dense(&mut self, rendition: Rendition, digest: &Digest) -> Result<Option<Digest>, AskError> {
        if !digest.kind.has_lines() || rendition != Rendition::Own {
            return Ok(None);
        }
        let Some(id) = self.snapshot.content_by_digest(&digest.content)? else {
            return Ok(None);
        };
        let row = self.snapshot.content(id)?;
        let posted = row.map_or(0, |row| row.fingerprints as usize);
        if posted <= digest.posted().count() {
            return Ok(None);
        }
        let Some(bytes) = self.prover.subject_bytes(rendition, digest)? else {
            return Ok(None);
        };
        let (signature, besides) = words::sample(bytes, &self.snapshot.params().posted);
        Ok(Some(Digest {
            signature: signature.unwrap_or_else(|| digest.signature.clone()),
            besides,
            ..digest.clone()
        }))
    }

    /// Returns the places of a content outside the subject, and how the subject is compared with
    /// each.
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
                && self.own_content != Some(place.content)
                && !self.is_of_subject(place)?
                && !is_packed_again(self.snapshot, &occurrence)?
                && self.has_shown_file(place.content)?
                && let Some(meeting) = self.meeting(rendition, &occurrence, row, is_equal)?
            {
                kept.push((occurrence, meeting));
            }
        }
        Ok(kept)
    }

    /// Leaves out near-copies that no row can be about. [`COPIES_LISTED`] then limits the number of
    /// the others.
    fn leave_out_unplaced(
        &self,
        rendition: Rendition,
        counts: &Counts,
        nominees: &mut Vec<Nominee>,
    ) -> Result<(), AskError> {
        if self.wanted == Wanted::Everything {
            return Ok(());
        }
        let mut unplaced = HashSet::new();
        for content in nominees.iter().map(|nominee| nominee.content) {
            if counts.is_copy(content)
                && let Some(row) = self.snapshot.content(content)?
                && self.occurrences(rendition, &row, false)?.is_empty()
            {
                unplaced.insert(content);
            }
        }
        nominees.retain(|nominee| !unplaced.contains(&nominee.content));
        Ok(())
    }

    /// Returns whether the answer can have a row about a file with this content.
    fn has_shown_file(&self, content: ContentId) -> Result<bool, AskError> {
        if self.wanted == Wanted::Everything {
            return Ok(true);
        }
        for file in self.snapshot.files_of(content)? {
            if self.is_shown(file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the answer can have a row about this file.
    fn is_shown(&self, file: FileId) -> Result<bool, AskError> {
        if self.wanted == Wanted::Everything {
            return Ok(true);
        }
        let paths = self.snapshot.paths(file)?;
        Ok(paths.iter().any(|path| !is_catalogued(path)))
    }

    /// Returns whether a place contains the subject, or is a part of the subject or of a copy of
    /// it.
    fn is_of_subject(&self, place: Place) -> Result<bool, AskError> {
        let Some(own) = self.own_place.filter(|own| own.content == place.content) else {
            return Ok(false);
        };
        // A copy of the subject is not a part of the subject.
        if own.member.is_none() && place.member.is_none() {
            return Ok(false);
        }
        Ok(lies_in(self.snapshot, place, own)? || lies_in(self.snapshot, own, place)?)
    }

    /// Returns the level of the samples by which short passages are searched. Passages are searched
    /// only if all rows are requested without a minimum share. If the shingles of a template are
    /// not known, only the stored samples are used.
    fn quoted_at(&self, digest: &Digest) -> Option<u8> {
        let is_asked = self.options.all && self.options.min.is_none();
        let kept = || {
            digest
                .signature
                .thinned(&self.snapshot.params().shingles)
                .level
        };
        let is_all_known = self.snapshot.templates().are_all_in_words();
        is_asked.then(|| if is_all_known { 0 } else { kept() })
    }
}

/// A rendition of the subject that was compared with all its nominees.
struct ComparedRendition {
    /// The part of the digest that the index stores, or would store.
    kept: Payload<'static>,
    kind: ContentKind,
    /// The number of contents that have something in common with the rendition.
    nominees: usize,
    /// The frequencies of the rendition's pieces.
    counts: Counts,
    /// The result of [`Self::with_boilerplate`], which is computed once.
    with_boilerplate: OnceLock<Prepared>,
}

impl ComparedRendition {
    /// Returns the digest of this rendition, which is the single content that is compared with
    /// members. The digest has no chunks.
    fn sampled(&self, single: &AloneSide) -> Digest {
        Digest {
            content: single.digest,
            size: self.kept.size,
            kind: self.kind,
            chunks: ChunkList::default(),
            signature: self.kept.signature.clone().into_owned(),
            besides: Vec::new(),
            words: None,
        }
    }

    /// Returns the subject, prepared for comparison with unread contents: boilerplate is included.
    fn with_boilerplate(&self) -> &Prepared {
        let prepared = || Prepared::of(&self.kept.sketch(), &NoBoilerplate);
        self.with_boilerplate.get_or_init(prepared)
    }
}

/// The way in which the subject is compared with a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// The subject and the place are compared by this pair of contents.
    Contents,
    /// The subject and the place are compared by all their contents, because the place holds
    /// members.
    Members,
    /// The subject and the place are compared by all their contents. Only the subject holds
    /// members.
    OurMembers,
}
