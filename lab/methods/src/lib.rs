//! `resemble-methods`: the published methods, each as its paper defines it. A method is selected by
//! its name.
//!
//! The crate is pure, like `resemble-core`: its input is bytes or features, and its output is
//! values. All methods have the same steps:
//!
//! ```text
//! bytes ─► (canonical code)
//!       ─► FeatureExtractor ─► features: windows, shingles, chunks, anchors
//!       ─► Selector ─► MethodSignature: the features that the method keeps
//!       ─► score: the paper's figure and the measures that the method has
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`method`], [`scheme`], [`params_id`] | names, measures, thresholds; parameters, params ids |
//! | [`feature`], [`judged`], [`signature`] | features, figures and signatures, of all methods |
//! | [`features`] | computes features from bytes in pieces of any size; chunks have lengths |
//! | [`select`] | makes a signature of features from any source, in bounded memory |
//! | [`mod@score`] | computes the paper's figure from two signatures |
//! | [`encode`] | encodes a signature as bytes for storage |
//! | [`lines`] | reads sets of features that another program wrote |
//! | [`rabin`], [`shingles`] | the fingerprints of windows of bytes and of runs of words |
//! | [`mod_n`], [`min_n`], [`sketch_n`], [`bsw_n`] | Cherkasova et al. 2009, section 2 |
//! | [`shingle`], [`rabin40`], [`super_shingle`] | Broder, Glassman, Manasse & Zweig 1997 |
//! | [`sif`], [`anchors`], [`all_fingers`], [`collate`], [`interesting`] | Manber 1994 |
//! | [`chunked`] | Forman, Eshghi & Chiocchetti 2005 |
//! | [`sorted5`], [`vocabulary`] | Kasprzak, Brandejs, Křipač & Šmerk 2008 |
//! | [`canonical`], [`formatting`] | make identifiers equal, remove formatting of documents |
//! | [`arrays`] | the inverted index of Kasprzak et al.: two arrays |
//! | [`changes`], [`guide`] | make a known number of edits, recommend a window and a rate |
//!
//! The selector and the scores use only features, not bytes. So every method can compare the
//! features of other programs. `docs/methods.md` describes the methods for users.

#![forbid(unsafe_code)]

pub mod all_fingers;
pub mod anchors;
pub mod arrays;
pub mod bsw_n;
pub mod canonical;
pub mod changes;
pub mod chunked;
pub mod collate;
pub mod encode;
pub mod feature;
pub mod features;
pub mod formatting;
pub mod guide;
pub mod interesting;
pub mod judged;
pub mod lines;
pub mod method;
pub mod min_n;
pub mod mod_n;
pub mod params_id;
pub mod rabin;
pub mod rabin40;
pub mod scheme;
pub mod score;
pub mod select;
pub mod shingle;
pub mod shingles;
pub mod sif;
pub mod signature;
pub mod sketch_n;
pub mod sorted5;
pub mod super_shingle;
pub mod vocabulary;

mod tally;
#[cfg(test)]
mod testing;

pub use feature::{Feature, Features};
pub use features::FeatureExtractor;
pub use judged::{Judged, Overlap};
pub use method::{Choice, Measure, Method, Refused, Threshold, Thresholds};
pub use scheme::{Grain, MethodParams, ParamError, Scheme, Settings, Supplies};
pub use score::{Scores, score};
pub use select::{Selector, Signer, sign};
pub use signature::MethodSignature;
