//! Answers questions by a published method: the option `--method` of `find`, `pairs`, `groups` and
//! `dump`.
//!
//! ```text
//! files of the scope ─► signatures ─┬─► find    the subject's signature against each
//!      (read once, then cached)     ├─► pairs   all with a common key, scored (sorted5: by arrays)
//!                                   ├─► phases  shingle, super-shingle: out of core ─► groups
//!                                   ├─► sets    sif's collated sets ─► groups
//!                                   └─► dump
//! sets of another program ─► features ─► signatures ─► find, pairs, groups
//! ```
//! 1. **A signature is computed from the bytes that a file has now**, in one pass with their
//!    digest. The signature is cached ([`cache`]) only if the index has the same digest. So a
//!    cached signature is always that of the content in the index. A file that has just changed is
//!    compared in its new state, unless a signature of its old content is cached.
//! 2. **The paper's figure decides whether a pair has a row.** It is neither rounded nor clamped.
//!    It must reach the paper's threshold unless the user sets another one. A measure that the
//!    method does not have is `null`. If the user requests such a measure, the question is refused
//!    before any file is read ([`Refused`]).
//! 3. **Signatures do not know files.** All pairs ([`all_pairs`]) are found among signatures. The
//!    signatures are made from files, or from sets of another program ([`features`]).
//! 4. **Catalogues** have no signatures and no bytes from which to compute them. So a question
//!    about files that only a catalogue has is refused. An export ([`exported`]) has signatures and
//!    needs no files.
//! 5. **Equal files need no method.** They are marked as identical, and have a row even if the
//!    method keeps nothing of them.

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

/// Checks that the method can make the clusters that are requested, before any file is read.
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

/// Refuses a question about files that only a catalogue has, because there are no bytes to compute
/// signatures from.
fn refuse_catalogues(scope: &Scope) -> Result<(), MethodError> {
    let mut paths = scope.within.iter().map(PathText::as_path);
    let catalogue = paths.find_map(catalogued::shown);
    catalogue.map_or(Ok(()), |catalogue| {
        Err(MethodError::Catalogue { catalogue })
    })
}

/// Answers a question about the files of its scope, which must name at least one path. `subject` is
/// the file that `find` is about, if the index has it. Signatures are cached in `cache`.
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
    // The header names the least length of a common run that is found with certainty. A method has
    // no such length, because its sample may miss any run.
    if let Some(looked) = &mut answer.header.looked {
        looked.least_run = 0;
    }
    Ok(answer)
}

/// The inputs of an answer.
#[derive(Clone, Copy)]
struct MethodContext<'a> {
    snapshot: &'a Snapshot,
    scope: &'a Scope,
    params: &'a MethodParams,
    scoped: &'a ScopedFiles,
    cache: SignatureCache<'a>,
    /// The number of processes that share the work. Only sorted5 uses it.
    shards: u32,
}

impl<'a> MethodContext<'a> {
    /// Opens the cached signatures of the question's params id.
    fn cached(&self) -> CachedSignatures<'a> {
        CachedSignatures::new(self.snapshot, self.params.to_string(), self.cache)
    }

    /// Returns the files of the scope that could not be read, together with `further` errors,
    /// ordered by path.
    fn errors(&self, further: Vec<SoftError>) -> Vec<SoftError> {
        let mut errors = self.scoped.errors.clone();
        errors.extend(further);
        errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        errors.dedup();
        errors
    }
}
