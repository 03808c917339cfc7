//! Questions that a published method answers: `--method` in find, pairs, groups and dump.
//!
//! ```text
//! files of the scope ─► signatures ─┬─► find    the subject's signature against each
//!   (read once, then kept)          ├─► pairs   whatever has a key in common, scored (sorted5: by its arrays)
//!                                   ├─► phases  shingle, super-shingle: out of core, kept ─► groups
//!                                   ├─► sets    sif's collated sets, kept ─► groups (rules of the asker)
//!                                   └─► dump
//! sets of another program ─► features ─► signatures ─► pairs
//! ```
//!
//! 1. **A signature is made of the bytes that are there**, with their digest in the same pass. Only
//!    if that is the digest that the index has is it kept ([`cache`]): so what is kept is always
//!    right, and a file that changed a moment ago is compared as it is now.
//! 2. **The paper's figure decides.** It is neither rounded nor clamped, and a row needs the
//!    paper's threshold unless another is asked for. What the method cannot tell is `null`; whether
//!    it can is asked before any file is read ([`Refused`]).
//! 3. **Signature code knows no files.** All pairs ([`all_pairs`]) are found among signatures;
//!    those of files and those of sets that another program made ([`features`]) go the same way.
//! 4. **Catalogues** carry no signatures, and of what only they have none can be made: that is
//!    refused.
//! 5. **Equal files need no method**: they are marked, and have a row even where nothing was kept
//!    of them.

pub mod all_pairs;
pub mod cache;
mod clustered;
pub mod clusters;
mod dump;
pub mod features;
mod find;
mod pairs;
pub mod rules;
mod scores;
pub mod sets;
pub mod sign;
mod signed;
pub(crate) mod sorted;

use crate::question::{MethodClusters, MethodQuestion, MethodRequest, MethodRow, MethodScore};
use resemble_core::FileId;
use resemble_index::Snapshot;
use resemble_methods::{Measure, Method, MethodParams, Refused};
use resemble_proto::catalogued;
use resemble_proto::message::{Answer, Scope, SoftError};
use resemble_proto::path::PathText;

use crate::error::{LabError, MethodError};
use resemble_query::scope::ScopedFiles;

use cache::CachedSignatures;
pub use cache::SignatureCache;
pub use scores::{PairScores, RowThreshold};
pub use sign::{SignedFile, Signing, sign_file};

/// The most processes that share the work of a question.
pub const MOST_SHARDS: u32 = 64;

/// Whether the method can tell what is to sort: asked before any file is read.
pub fn check_score(params: &MethodParams, score: MethodScore) -> Result<(), Refused> {
    match score {
        MethodScore::Paper => Ok(()),
        MethodScore::Containment => params.tells(Measure::Containment),
        MethodScore::Resemblance => params.tells(Measure::Resemblance),
    }
}

/// Whether clusters can be made out of core, by this policy: asked before any file is read.
pub fn check_clusters(params: &MethodParams, asked: &MethodClusters) -> Result<(), MethodError> {
    if !matches!(params.method(), Method::Shingle | Method::SuperShingle) {
        return Err(MethodError::Question(
            "clusters in four phases are of shingle and super-shingle",
        ));
    }
    if asked.contained.value().is_some() {
        params.tells(Measure::Containment)?;
    }
    Ok(())
}

/// Nothing is here to make signatures of where only a catalogue has the files.
fn refuse_catalogues(scope: &Scope) -> Result<(), MethodError> {
    let mut paths = scope.within.iter().map(PathText::as_path);
    let catalogue = paths.find_map(catalogued::shown);
    catalogue.map_or(Ok(()), |catalogue| {
        Err(MethodError::Catalogue { catalogue })
    })
}

/// The answer to a question about the files of its scope, which names at least one path. `subject`:
/// the file that find asks about, if the index has it. What is worth keeping goes to `cache`.
pub fn answer(
    snapshot: &Snapshot,
    request: &MethodRequest,
    subject: Option<FileId>,
    cache: SignatureCache<'_>,
) -> Result<Answer<MethodRow>, LabError> {
    let params = &request.params;
    if let MethodQuestion::Pairs(asked) = &request.question {
        check_score(params, asked.score).map_err(MethodError::from)?;
        if asked.exact && params.method() != Method::Sorted5 {
            return Err(MethodError::Question(
                "only sorted5 computes the similarities of preselected pairs exactly",
            )
            .into());
        }
    }
    if let MethodQuestion::Clusters(asked) = &request.question {
        check_clusters(params, asked)?;
    }
    refuse_catalogues(&request.scope)?;
    let members = ScopedFiles::of(snapshot, &request.scope)?;
    let asked = Asked {
        snapshot,
        scope: &request.scope,
        params,
        members: &members,
        cache,
        shards: request.shards.unwrap_or(1).clamp(1, MOST_SHARDS),
    };
    let mut answer = match &request.question {
        MethodQuestion::Find(find) => find::find(&asked, find, subject)?,
        MethodQuestion::Pairs(pairs) => pairs::pairs(&asked, pairs)?,
        MethodQuestion::Groups(limits) => sets::groups(&asked, *limits)?,
        MethodQuestion::Clusters(clusters) => clustered::clusters(&asked, clusters)?,
        MethodQuestion::Dump => dump::dump(&asked)?,
    };
    answer.header.looked = Some(members.looked(snapshot));
    // No run of any length is certain to be seen by a sample.
    if let Some(looked) = &mut answer.header.looked {
        looked.least_run = 0;
    }
    Ok(answer)
}

/// All that the answers depend on.
#[derive(Clone, Copy)]
struct Asked<'a> {
    snapshot: &'a Snapshot,
    scope: &'a Scope,
    params: &'a MethodParams,
    members: &'a ScopedFiles,
    cache: SignatureCache<'a>,
    /// Processes that share the work, of sorted5.
    shards: u32,
}

impl<'a> Asked<'a> {
    /// The signatures that are cached: one for a question.
    fn cached(&self) -> CachedSignatures<'a> {
        CachedSignatures::new(self.snapshot, self.params.to_string(), self.cache)
    }

    /// What could not be looked at, in order.
    fn errors(&self, further: Vec<SoftError>) -> Vec<SoftError> {
        let mut errors = self.members.errors.clone();
        errors.extend(further);
        errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        errors.dedup();
        errors
    }
}
