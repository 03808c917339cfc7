//! `groups`: identical sets and clusters of similar files; `groups --order`: similar files side by
//! side.
//!
//! The method is that of Forman, Eshghi & Chiocchetti 2005, section 2. It works on contents instead
//! of files, so copies add no work (their figure 7). It uses two kinds of evidence:
//!
//! ```text
//! files ─► join: table ─► common ────► solve ────────► drafts ─► links ─► stars ───► answer
//!                places   sort, count, pack, estimate  prove              chains ──► family, order
//!                         union-find   block by block
//! ```
//!
//! 1. A [`Table`] numbers the contents by digest. From here on these numbers decide every tie.
//! 2. [`common_pieces`] sorts all (piece, content) records, ignores pieces that too many contents
//!    have, and finds connected contents.
//! 3. `solve` drops unconnected contents, packs the others into problems that fit, and estimates
//!    pairs with something in common. A pair becomes a draft if the interval of its estimate allows
//!    a **link**. `drafts` reads the contents of these pairs and measures them, and `terms` decides
//!    which are links. Pairs that cannot be read, or are beyond the budget, keep their estimates
//!    and are marked.
//! 4. `resemble_core::cluster` cuts the network of links into groups without chains. `--family` and
//!    `order` follow the connected components.
//! 5. The contents include the renditions of files (`renditions`). A link of two renditions is a
//!    link of their files. If two files have several links, only the best one counts. Containers
//!    are measured by their members (`held`). If a single file resembles a member, the member's
//!    container is compared with that file.
//! 6. `within` adds the groups of members of one container.
//! 7. `answer` formats only the groups that are shown.
//!
//! Two members of a group may have no link, as in its worst pair. `meeting` measures such pairs,
//! too.
//!
//! Another program may give the pairs of step 3 (docs/scale.md). [`Accounts`] then check the pairs
//! against the counts of step 2, and `linked` decides which of them may be links.
//!
//! Sets of identical files need none of this. If only they are requested, `identical` makes them,
//! or `direct` if no index has the files.
//!
//! **Memory.** The path of each file, about 50 bytes per content, and the answer are always in
//! memory. Everything else obeys [`GroupsRequest::memory`]: sorting, problems and links go to
//! scratch files. The result is the same with and without a bound, and so is the code. Without a
//! bound, nothing is written.

use std::path::Path;

use resemble_core::cluster::stars;
use resemble_core::similarity::Unit;
use resemble_core::similarity::discount::FREE;
use resemble_core::{Relation, StopFlag};
use resemble_index::Snapshot;
use resemble_proto::message::{
    Answer, Degree, Groups, GroupsRequest, Header, Looked, OnlyGroups, OrderRow, PairRelation,
    SoftError, SoftErrorKind, Whole,
};
use resemble_proto::path::PathText;
use resemble_scan::parts::PartReader;

use resemble_relate::findings::FindingsCache;

mod answer;
pub(crate) mod direct;
mod family;
mod held;
mod identical;
mod links;
mod meeting;
pub(crate) mod near;
mod order;
mod partition;
mod problems;
mod solve;
mod terms;
mod within;

pub use answer::is_cluster_id;
pub use direct::names;
use held::JoinedLinks;
use links::{HalfLink, LinkSimilarity, Links};
use meeting::Shown;
use resemble_relate::AskError;
use resemble_relate::given::{ExternalError, ExternalPairs, reaches};
use resemble_relate::join::{Accounts, MeasuredPairs, PieceLimits, Table, common_pieces};
use resemble_relate::nominate::frames::Frames;
use resemble_relate::parallel::named;
use resemble_relate::prove::contents::ContentReader;
use resemble_relate::prove::cost::MOST_WORK;
use resemble_relate::prove::many::PairProver;
use resemble_relate::prove::read::OpenFolders;
use resemble_relate::renditions::owners::RenditionOwners;
use resemble_relate::scope::ScopedFiles;
use resemble_relate::sort::MemoryBudget;
use solve::{KnownDrafts, SolvedLinks, Solver};
use terms::LinkTerms;

/// The pairs that are known before the search.
#[derive(Clone, Copy, Debug)]
pub enum KnownPairs<'a> {
    /// No pair is known.
    None,
    /// The pairs that may be links. An earlier question stored them in this cache.
    Cached(&'a dyn FindingsCache),
    /// Only pairs that another program has found are checked: docs/scale.md.
    Given(&'a dyn ExternalPairs),
}

impl<'a> KnownPairs<'a> {
    const fn findings(self) -> Option<&'a dyn FindingsCache> {
        match self {
            Self::Cached(findings) => Some(findings),
            Self::None | Self::Given(_) => None,
        }
    }

    /// Opens the pairs that another program found, so that they can be checked. Returns `None` if
    /// no pairs were given.
    fn accounts(
        self,
        request: &GroupsRequest,
        files: (&'a Snapshot, &ScopedFiles, &'a Table),
        limit: u32,
        place: (MemoryBudget, &'a Path),
    ) -> Result<Option<Accounts<'a>>, AskError> {
        match self {
            Self::Given(given) if !reaches(request.min.score()) => {
                tracing::debug!(?given, "not made for so low a score");
                Err(AskError::Given(ExternalError::TooLittle))
            }
            Self::Given(given) => Accounts::of(given, files, limit, place).map(Some),
            Self::None | Self::Cached(_) => Ok(None),
        }
    }
}

/// The subject of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Everything,
    /// One content.
    Content(u32),
    /// A file that is not in the scope, or an empty file. Nothing is similar to it.
    Nothing,
}

/// The network of similar contents of a scope.
#[derive(Debug)]
struct Collection {
    scoped: ScopedFiles,
    looked: Looked,
    table: Table,
    counts: resemble_relate::nominate::evidence::Counts,
    links: Links,
    ignored: u64,
    notes: Vec<String>,
    about: About,
    errors: Vec<SoftError>,
    /// True if renditions of files take part.
    text: bool,
    unit: Unit,
    renditions: RenditionOwners,
    folders: OpenFolders,
    /// Measures that another program computed.
    measured: Option<MeasuredPairs>,
    room: MemoryBudget,
    stop: StopFlag,
}

impl Collection {
    fn of(
        (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
        request: &GroupsRequest,
        known: KnownPairs<'_>,
        dir: &Path,
    ) -> Result<Self, AskError> {
        let scoped = ScopedFiles::of(snapshot, &request.scope)?;
        let looked = scoped.looked(snapshot);
        let renditions = if request.text {
            RenditionOwners::of(snapshot, &scoped)?
        } else {
            RenditionOwners::default()
        };
        let table = Table::of(snapshot, &scoped, &renditions)?;
        let room = MemoryBudget::of(request.memory);
        let limit = match request.degree {
            Degree::Usual => snapshot.boilerplate_limit(),
            Degree::Half => table.file_contents() / 2,
            Degree::Over(limit) => limit,
        };
        let mut errors = scoped.errors.clone();
        let about = match &request.of {
            None => About::Everything,
            Some(path) => asked(snapshot, &scoped, &table, path, &mut errors)?,
        };
        let folders = OpenFolders::default();
        let reader = ContentReader {
            snapshot,
            scoped: &scoped,
            renditions: &renditions,
            folders: &folders,
            part_reader,
        };
        let files = (snapshot, &scoped, &table);
        let mut accounts = known.accounts(request, files, limit, (room, dir))?;
        let measured = accounts.as_ref().map(Accounts::measured).transpose()?;
        let terms = LinkTerms::of(request);
        let prover = PairProver::new(reader, room.part(3))
            .asked(terms.unit)
            .knowing(measured.as_ref());
        let of = (&table, &prover);
        let family = FREE;
        let limits = PieceLimits { limit, family };
        let common = common_pieces(of, limits, accounts.as_mut(), (room, dir))?;
        let given = accounts.map(Accounts::close).transpose()?;
        // The drafts of a question about one file, or with bounded memory, are not stored.
        let is_kept = about == About::Everything && room.0.is_none();
        let known = known
            .findings()
            .filter(|_| is_kept)
            .and_then(|cache| KnownDrafts::of(cache, (snapshot, &table, &common), terms));
        let holders = common.holders(&table);
        let frames = Frames::among(snapshot, &holders);
        let solver = Solver {
            snapshot,
            table: &table,
            counts: &common.counts,
            families: &common.families,
            weighs_by_counts: false,
            frames: (&frames, &common.samples),
            known,
            given: given.as_ref(),
            terms,
            prover: &prover,
            is_wanted: &|_, _| true,
            needed: None,
            work: MOST_WORK,
            room,
            dir,
        };
        let solved = match about {
            About::Nothing => SolvedLinks::default(),
            About::Content(place) => {
                solver.solve(&common.sets, Some(common.sets[place as usize]))?
            }
            About::Everything => solver.solve(&common.sets, None)?,
        };
        let (files, terms) = ((snapshot, &scoped), (solver.terms, &table));
        let mut joined = JoinedLinks::new(files, terms, &renditions, (part_reader, MOST_WORK));
        let is_asked = |link: &HalfLink| accepts(request, link);
        let mut join = |halves: &[HalfLink]| Ok(joined.join(halves)?.filter(is_asked));
        let contents = table.file_contents();
        let stop = snapshot.stop();
        let links = Links::of(solved.runs, (contents, stop), &mut join, room, dir)?;
        drop(joined);
        drop(prover);
        Ok(Self {
            counts: common.counts,
            ignored: common.ignored,
            notes: solved.notes,
            scoped,
            looked,
            table,
            links,
            about,
            errors,
            text: request.text,
            unit: request.unit.into(),
            renditions,
            folders,
            measured,
            room,
            stop: snapshot.stop().clone(),
        })
    }

    /// Returns the prover for pairs of the answer that are not links.
    fn prover<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        part_reader: Option<&'a dyn PartReader>,
    ) -> PairProver<'a> {
        let reader = ContentReader {
            snapshot,
            scoped: &self.scoped,
            renditions: &self.renditions,
            folders: &self.folders,
            part_reader,
        };
        PairProver::new(reader, self.room.part(3))
            .asked(self.unit)
            .knowing(self.measured.as_ref())
    }

    /// Returns whether a content is an archive, a mail or another container.
    fn holds_others(&self, place: u32) -> bool {
        let stand_ins = self.renditions.stand_ins(self.table.id(place));
        stand_ins.iter().any(|one| one.rendition.is_whole())
    }

    fn network(&self) -> LinkSimilarity<'_> {
        LinkSimilarity {
            links: &self.links,
            table: &self.table,
            stop: &self.stop,
            halves: Vec::new(),
        }
    }

    fn header(&self, total: u64) -> Header {
        Header {
            fresh: true,
            pending: 0,
            total,
            shown: total,
            looked: Some(self.looked),
            ..Header::default()
        }
    }
}

/// Returns whether a link has a requested relation.
fn accepts(request: &GroupsRequest, link: &HalfLink) -> bool {
    PairRelation::accept_either(&request.relation, link.relation())
}

/// Returns the content of the requested file. Adds a soft error if the file is not in scope.
fn asked(
    snapshot: &Snapshot,
    scoped: &ScopedFiles,
    table: &Table,
    path: &PathText,
    errors: &mut Vec<SoftError>,
) -> Result<About, AskError> {
    if !takes_part(snapshot, scoped, path, errors)? {
        return Ok(About::Nothing);
    }
    let place = table.place_of(snapshot, path.as_path())?;
    Ok(place.map_or(About::Nothing, About::Content))
}

/// Returns whether the requested file is in the scope. Adds a soft error if it is not.
fn takes_part(
    snapshot: &Snapshot,
    scoped: &ScopedFiles,
    path: &PathText,
    errors: &mut Vec<SoftError>,
) -> Result<bool, AskError> {
    let row = snapshot.file_at(path.as_path())?;
    let is_scoped = row.is_some_and(|row| scoped.files.iter().any(|file| file.file == row.id));
    if !is_scoped {
        errors.push(not_among(path));
        errors.sort();
    }
    Ok(is_scoped)
}

fn not_among(path: &PathText) -> SoftError {
    SoftError {
        path: path.clone(),
        kind: SoftErrorKind::NotFound,
        message: "is not among the files of this question".to_owned(),
    }
}

/// Returns the groups of a scope. `scratch` is a directory for data that does not fit into
/// [`GroupsRequest::memory`]; without a bound it is not touched. `part_reader` extracts documents
/// again, so that their common text is measured; without one it is estimated. With
/// [`KnownPairs::Given`] the answer is the same. The question fails if the given pairs are
/// incomplete.
pub fn groups_with_parts(
    snapshot: &Snapshot,
    request: &GroupsRequest,
    part_reader: Option<&dyn PartReader>,
    known: KnownPairs<'_>,
    scratch: &Path,
) -> Result<Whole<Groups>, AskError> {
    if request.only == OnlyGroups::Identical {
        return identical::answer(snapshot, request);
    }
    let collection = Collection::of((snapshot, part_reader), request, known, scratch)?;
    let prover = collection.prover(snapshot, part_reader);
    let shown = Shown {
        snapshot,
        collection: &collection,
        prover: &prover,
    };
    let mut body = match collection.about {
        About::Content(place) if request.family => family::family(&shown, place)?,
        _ => {
            let stars = stars(&mut collection.network())?;
            let clusters = || answer::clusters(&shown, &stars, request.top);
            named("grouping", clusters)?
        }
    };
    drop(prover);
    if request.text && !request.family {
        within::add((snapshot, part_reader), &collection, request, &mut body)?;
    }
    let has_sets = PairRelation::accept(&request.relation, Some(Relation::Identical));
    if request.only == OnlyGroups::All && has_sets {
        let is_wanted = |content| match collection.about {
            About::Everything => true,
            About::Content(place) => collection.table.id(place) == content,
            About::Nothing => false,
        };
        let wanted: (_, &dyn Fn(_) -> bool) = (request.top, &is_wanted);
        identical::add_scoped(snapshot, &collection.scoped, wanted, &mut body)?;
    }
    let total = body.summary.sets + body.summary.clusters;
    let mut header = collection.header(total);
    header.shown = (body.identical.len() + body.clusters.len()) as u64;
    Ok(Whole {
        header,
        body,
        errors: collection.errors,
    })
}

/// Returns all paths of a scope in an order that is good for a compressed archive: similar files
/// are side by side. The request's `of`, `family`, `only` and `top` are ignored. `part_reader` and
/// `known` are as in [`groups_with_parts`].
pub fn order_with_parts(
    snapshot: &Snapshot,
    request: &GroupsRequest,
    part_reader: Option<&dyn PartReader>,
    known: KnownPairs<'_>,
    scratch: &Path,
) -> Result<Answer<OrderRow>, AskError> {
    let request = GroupsRequest {
        of: None,
        ..request.clone()
    };
    let collection = Collection::of((snapshot, part_reader), &request, known, scratch)?;
    let rows = order::rows(&collection)?;
    let header = collection.header(rows.len() as u64);
    Ok(Answer {
        header,
        rows,
        errors: collection.errors,
    })
}
