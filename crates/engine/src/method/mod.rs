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
//! 1. **A signature is made of the bytes that are there**, with their digest in the same pass. Only if that is the
//!    digest that the index has is it kept ([`keep`]): so what is kept is always right, and a file that changed a
//!    moment ago is compared as it is now.
//! 2. **The paper's figure decides.** It is neither rounded nor clamped, and a row needs the paper's threshold
//!    unless another is asked for. What the method cannot tell is `null`; whether it can is asked before any file is
//!    read ([`Refused`]).
//! 3. **Signature code knows no files.** All pairs ([`all_pairs`]) are found among signatures; those of files and those of
//!    sets that another program made ([`features`]) go the same way.
//! 4. **Catalogues** carry signatures if they were exported with them, of one params id; of another nothing can be made where the
//!    bytes are not, so that is refused.
//! 5. **Equal files need no method**: they are marked, and have a row even where nothing was kept of them.

pub mod all_pairs;
mod clustered;
pub mod clusters;
mod dump;
pub mod features;
mod find;
pub mod keep;
mod pairs;
pub mod rules;
pub mod sets;
pub mod sign;
mod signed;
pub(crate) mod sorted;
mod told;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::FileId;
use resemble_index::Snapshot;
use resemble_methods::anchors::{AnchorError, Anchors};
use resemble_methods::encode::DecodeError;
use resemble_methods::shingle::Seed;
use resemble_methods::vocabulary::{Dictionary, LemmaError, Lemmas};
use resemble_methods::{Measure, Method, MethodParams, ParamError, Refused, Supplies};
use resemble_proto::catalogued;
use resemble_proto::message::{
    Answer, MethodClusters, MethodQuestion, MethodRequest, MethodRow, MethodScore, Scope, SoftError,
};

use crate::ask::AskError;
use crate::members::Members;

pub use keep::Keep;
use keep::Kept;
pub use sign::{SignedFile, Signing, sign_file};
pub use told::{Bar, Told};

/// Why a question for a method is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// Parameters that the method has not.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// Anchors that are none.
    #[error(transparent)]
    Anchors(#[from] AnchorError),
    /// Lemmas that are none.
    #[error(transparent)]
    Lemmas(#[from] LemmaError),
    /// The method cannot tell this.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A signature that is none.
    #[error("the signature of the asked file cannot be read: {0}")]
    Signature(#[from] DecodeError),
    /// A catalogue that carries signatures of other parameters, or none.
    #[error(
        "{} carries signatures of {carried}, and {asked} is asked for: its files are not here to be signed anew; \
         export it again with the method and its parameters",
        catalogue.display()
    )]
    OtherSignatures {
        /// As people write it.
        catalogue: PathBuf,
        /// Its params id.
        carried: String,
        /// That of the question.
        asked: String,
    },
    /// A catalogue whose signatures were chosen by another seed.
    #[error(
        "{} carries shingles chosen by another seed, which have nothing in common with those of this one; give the same --seed, \
         or export it again",
        catalogue.display()
    )]
    OtherSeed {
        /// As people write it.
        catalogue: PathBuf,
    },
    /// Something else that no command asks.
    #[error("{0}")]
    Question(&'static str),
}

/// The most processes that share the work of a question.
pub const MOST_SHARDS: u32 = 64;

/// The parameters of a request.
pub fn params_of(request: &MethodRequest) -> Result<MethodParams, MethodError> {
    let anchors = request.anchors.as_ref();
    let anchors = anchors
        .map(|text| Anchors::parse(text.as_bytes()).map(Arc::new))
        .transpose()?;
    let dictionary = request.dictionary.as_ref();
    let lemmas = request.lemmas.as_ref();
    let lemmas = lemmas.map(|text| Lemmas::parse(text.as_bytes()).map(Arc::new));
    let supplies = Supplies {
        anchors,
        dictionary: dictionary.map(|text| Arc::new(Dictionary::parse(text.as_bytes()))),
        lemmas: lemmas.transpose()?,
        seed: request.seed.as_deref().map(Seed::new).map(Arc::new),
    };
    Ok(MethodParams::parse_with(&request.params, &supplies)?)
}

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

/// Whether the catalogue of a path, if it is of one, carries signatures of these parameters: those of others have nothing in common with
/// them, and nothing is here to make new ones of.
fn check_catalogue(
    snapshot: &Snapshot,
    path: &Path,
    params: &MethodParams,
) -> Result<(), AskError> {
    let Some((_, root, _)) = catalogued::source_of(path) else {
        return Ok(());
    };
    let catalogue = catalogued::shown(&root).unwrap_or_default();
    let asked = params.to_string();
    let refused = match keep::carried(snapshot, &root)? {
        Some(carried) if carried == asked => return Ok(()),
        Some(carried) if Seed::alone_differs(&carried, &asked) => {
            MethodError::OtherSeed { catalogue }
        }
        carried => MethodError::OtherSignatures {
            catalogue,
            carried: carried.unwrap_or_else(|| "no method".to_owned()),
            asked,
        },
    };
    Err(refused.into())
}

/// The answer to a question about the files of its scope, which names at least one path. `subject`: the file that find
/// asks about, if the index has it. What is worth keeping goes to `keep`.
pub fn answer(
    snapshot: &Snapshot,
    request: &MethodRequest,
    subject: Option<FileId>,
    keep: &dyn Keep,
) -> Result<Answer<MethodRow>, AskError> {
    let params = params_of(request)?;
    if let MethodQuestion::Pairs(asked) = &request.question {
        check_score(&params, asked.score).map_err(MethodError::from)?;
        if asked.exact && params.method() != Method::Sorted5 {
            return Err(MethodError::Question(
                "only sorted5 computes the similarities of preselected pairs exactly",
            )
            .into());
        }
    }
    if let MethodQuestion::Clusters(asked) = &request.question {
        check_clusters(&params, asked)?;
    }
    for base in &request.scope.within {
        check_catalogue(snapshot, base.as_path(), &params)?;
    }
    let members = Members::of(snapshot, &request.scope)?;
    let asked = Asked {
        snapshot,
        scope: &request.scope,
        params: &params,
        members: &members,
        keep,
        shards: request.shards.unwrap_or(1).clamp(1, MOST_SHARDS),
    };
    let mut answer = match &request.question {
        MethodQuestion::Find(find) => find::find(&asked, find, subject)?,
        MethodQuestion::Pairs(pairs) => pairs::pairs(&asked, pairs)?,
        MethodQuestion::Groups(bar) => sets::groups(&asked, *bar)?,
        MethodQuestion::Clusters(clusters) => clustered::clusters(&asked, clusters)?,
        MethodQuestion::Dump => dump::dump(&asked)?,
        MethodQuestion::Sign => dump::sign(&asked)?,
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
    members: &'a Members,
    keep: &'a dyn Keep,
    /// Processes that share the work, of sorted5.
    shards: u32,
}

impl<'a> Asked<'a> {
    /// The signatures that are kept: one for a question.
    fn kept(&self) -> Kept<'a> {
        Kept::new(self.snapshot, self.params.to_string(), self.keep)
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
