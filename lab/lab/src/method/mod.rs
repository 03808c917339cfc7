//! Questions that a published method answers: `--method` in find, pairs, groups and dump.
//!
//! ```text
//! files of the scope ─► signatures ─┬─► find    the subject's signature against each
//!      (read once, then cached)     ├─► pairs   all with a common key, scored (sorted5: by arrays)
//!                                   ├─► phases  shingle, super-shingle: out of core ─► groups
//!                                   ├─► sets    sif's collated sets ─► groups
//!                                   └─► dump
//! sets of another program ─► features ─► signatures ─► find, pairs, groups
//! ```
//!
//! 1. **A signature is made of the bytes that a file has now**, with their digest in the same pass.
//!    It is cached ([`cache`]) only if the index has the same digest. So a cached signature is
//!    always right, and a file that changed a moment ago is compared as it is now.
//! 2. **The paper's figure decides.** It is neither rounded nor clamped, and a row needs the
//!    paper's threshold unless another one is asked for. A measure that the method does not have is
//!    `null`; whether it has one is checked before any file is read ([`Refused`]).
//! 3. **Signatures know no files.** All pairs ([`all_pairs`]) are found among signatures, whether
//!    of files or of sets that another program made ([`features`]).
//! 4. **Catalogues** carry no signatures, and none can be made of files that only a catalogue has.
//!    Such a question is refused. An export ([`exported`]) has signatures and needs no files.
//! 5. **Equal files need no method**: they are marked, and have a row even if the method keeps
//!    nothing of them.

pub mod all_pairs;
pub mod cache;
mod clustered;
pub mod clusters;
mod dump;
pub mod exported;
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

use cache::CachedSignatures;
pub use cache::SignatureCache;
use resemble_relate::scope::ScopedFiles;
pub use scores::{PairScores, RowThreshold};
pub use sign::{SignedFile, Signing, sign_file};

/// The maximum number of processes that may share the work of a question.
pub const MOST_SHARDS: u32 = 64;

/// Checks that the method has this score, before any file is read.
pub fn check_score(params: &MethodParams, score: MethodScore) -> Result<(), Refused> {
    match score {
        MethodScore::Paper => Ok(()),
        MethodScore::Containment => params.tells(Measure::Containment),
        MethodScore::Resemblance => params.tells(Measure::Resemblance),
    }
}

/// Checks that the method can make these out-of-core clusters, before any file is read.
pub fn check_clusters(params: &MethodParams, asked: &MethodClusters) -> Result<(), MethodError> {
    if !matches!(params.method(), Method::Shingle | Method::SuperShingle) {
        return Err(MethodError::Question(
            "only shingle and super-shingle make clusters in four phases",
        ));
    }
    if asked.contained.value().is_some() {
        params.tells(Measure::Containment)?;
    }
    Ok(())
}

/// Refuses files that only a catalogue has: there are no bytes to make signatures of.
fn refuse_catalogues(scope: &Scope) -> Result<(), MethodError> {
    let mut paths = scope.within.iter().map(PathText::as_path);
    let catalogue = paths.find_map(catalogued::shown);
    catalogue.map_or(Ok(()), |catalogue| {
        Err(MethodError::Catalogue { catalogue })
    })
}

/// Answers a question about the files of its scope, which names at least one path. `subject` is the
/// file that find asks about, if the index has it. Signatures are cached in `cache`.
pub fn answer(
    snapshot: &Snapshot,
    request: &MethodRequest,
    subject: Option<FileId>,
    cache: SignatureCache<'_>,
) -> Result<Answer<MethodRow>, LabError> {
    let params = &request.params;
    if let MethodQuestion::Find(asked) = &request.question
        && asked.contained.value().is_some()
    {
        check_score(params, MethodScore::Containment).map_err(MethodError::from)?;
    }
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
    let scoped = ScopedFiles::of(snapshot, &request.scope)?;
    let context = MethodContext {
        snapshot,
        scope: &request.scope,
        params,
        scoped: &scoped,
        cache,
        shards: request.shards.unwrap_or(1).clamp(1, MOST_SHARDS),
    };
    let mut answer = match &request.question {
        MethodQuestion::Find(find) => find::find(&context, find, subject)?,
        MethodQuestion::Pairs(pairs) => pairs::pairs(&context, pairs)?,
        MethodQuestion::Groups(limits) => sets::groups(&context, *limits)?,
        MethodQuestion::Clusters(clusters) => clustered::clusters(&context, clusters)?,
        MethodQuestion::Dump(form) => dump::dump(&context, *form)?,
    };
    answer.header.looked = Some(scoped.looked(snapshot));
    // No least length of a common run is sure to be found, because a sample may miss any run.
    if let Some(looked) = &mut answer.header.looked {
        looked.least_run = 0;
    }
    Ok(answer)
}

/// Everything that an answer depends on.
#[derive(Clone, Copy)]
struct MethodContext<'a> {
    snapshot: &'a Snapshot,
    scope: &'a Scope,
    params: &'a MethodParams,
    scoped: &'a ScopedFiles,
    cache: SignatureCache<'a>,
    /// The number of processes that share the work, for sorted5.
    shards: u32,
}

impl<'a> MethodContext<'a> {
    /// The cached signatures. Each question opens them once.
    fn cached(&self) -> CachedSignatures<'a> {
        CachedSignatures::new(self.snapshot, self.params.to_string(), self.cache)
    }

    /// The files of the scope that could not be read, and `further` errors, by path.
    fn errors(&self, further: Vec<SoftError>) -> Vec<SoftError> {
        let mut errors = self.scoped.errors.clone();
        errors.extend(further);
        errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        errors.dedup();
        errors
    }
}
