//! `find`: lists the files that are similar to a given file.
//!
//! 1. **Subject.** An indexed file is compared by its indexed digest if its `stat` is still the
//!    indexed one. A file that changed a moment ago is read now, so the answer is about its present
//!    bytes. For other files and standard input, the request has the digest.
//! 2. **Nomination** by posting lists (`evidence`).
//! 3. **A cheap bound.** A nominee is dropped if its common pieces cannot reach the threshold under
//!    any distribution of edits. Then its signature is not read. Thousands of files share a phrase,
//!    but few share most of a file.
//! 4. **Estimates** from both full signatures determine the order in which nominees are measured.
//! 5. **Proof** (`prover`): the measures are those of the contents themselves, read now. Pairs
//!    beyond the budget of the question keep their estimate.
//! 6. **A row** for each file that holds the content, if the relation or the threshold admits it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;

use resemble_core::date::DocumentDate;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{Interval, Sketch, Unit};
use resemble_core::{
    ByteLen, ChunkList, ContentId, ContentKind, Digest, FileId, Fingerprint, Measures, Params,
    Relation, Score, Signature,
};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{
    Answer, Differs, Discount, FileDates, FindOptions, FindRow, Layer, Looked, Newer, PairRelation,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

mod bound;
mod held;
pub mod holders;
mod prover;
mod read;
mod search;
mod subject;

pub use read::{ReadSubject, Stream, read_member, read_now, read_with_parts};
use subject::SentBytes;
pub use subject::Subject;

use search::{FoundRows, search_in};

use resemble_relate::AskError;
use resemble_relate::judge::listing;
/// The maximum number of entries of a `.similar` listing.
pub use resemble_relate::judge::listing::LISTED;
use resemble_relate::nominate::block::Common;
use resemble_relate::nominate::evidence::{self, FoundBy, NominationSettings, Nominee, Nominees};
use resemble_relate::nominate::kinship::SubjectWindows;
use resemble_relate::nominate::quotations::Passage;
use resemble_relate::scope::{self, ScopedFiles};

/// A similar file before it is a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    /// The first of the file's paths in order.
    pub path: PathBuf,
    /// The names that lead to the member inside the file; empty if the row is about the file
    /// itself.
    pub names: Vec<u8>,
    /// The path and the names as one path: `mail.eml!report.zip!a.txt`.
    pub shown: PathBuf,
    /// The content of the member; `None` if the row is about the file itself.
    pub member: Option<ContentId>,
    /// The relation; `None` if the pair shares too little for any relation.
    pub relation: Option<Relation>,
    /// The layer, such as bytes or text, on which both files were compared.
    pub layer: Layer,
    /// The unit of the measures.
    pub unit: Unit,
    /// True if the measures are estimates, false if they were measured on the contents.
    pub is_estimate: bool,
    /// The measures of the pair, in which the subject is `a`.
    pub measures: Measures,
    /// The score after the discount for common text. A listing of the overlay has none.
    pub discount: Discount,
    /// The rarity of the shared pieces; `None` if none of these pieces is in many contents.
    pub rarity: Option<Rarity>,
    /// The range that contains the true measures in 19 cases of 20, if these are estimates of two
    /// contents.
    pub interval: Option<Interval>,
    /// The date that the file states, if it is a document with a date.
    pub date: Option<DocumentDate>,
    /// The last change of the file, in seconds since 1970.
    pub changed: i64,
    /// The count of numbers that differ, if both texts are known to be equal except for numbers.
    pub numbers: Option<u64>,
}

impl Similar {
    /// Returns the measures at the lower end of the interval. They determine the rank of the row
    /// and the name of its relation.
    pub fn least(&self) -> Measures {
        let interval = self.interval;
        interval.map_or(self.measures, |interval| interval.least(&self.measures))
    }

    /// Returns the dates of the file; those of a member are unknown.
    fn dates(&self) -> FileDates {
        if self.names.is_empty() {
            FileDates::of(self.changed, self.date.map(|date| date.seconds))
        } else {
            FileDates::default()
        }
    }

    /// Returns the key by which the rows of an answer are sorted: score, measures, path. With equal
    /// measures, a file precedes the members of archives: these may be copies of it.
    fn place(&self) -> (Score, &Measures, (bool, &[u8])) {
        (
            self.least().containment().unwrap_or(Score::ZERO),
            &self.measures,
            (
                !self.names.is_empty(),
                self.shown.as_os_str().as_encoded_bytes(),
            ),
        )
    }

    /// Returns whether the overlay lists this file.
    pub fn is_listed(&self) -> bool {
        listing::is_listed(self.relation, &self.measures, self.rarity)
    }
}

/// Returns the files similar to `subject`, best first, as rows that name the subject `name`.
pub fn find(
    snapshot: &Snapshot,
    subject: &Subject,
    name: &PathText,
    options: &FindOptions,
) -> Result<Answer<FindRow>, AskError> {
    let (found, looked) = search(snapshot, subject, options, Wanted::Everything)?;
    let FoundRows {
        similar,
        further,
        errors,
    } = found;
    let rows = similar.into_iter().map(|similar| FindRow {
        owner: None,
        first_seen: None,
        file: name.clone(),
        age: Newer::of(subject.dates, similar.dates()),
        path: PathText::from(similar.shown),
        relation: similar.relation,
        unit: similar.unit.into(),
        layer: similar.layer,
        estimate: similar.is_estimate,
        a_in_b: Fraction::from(similar.measures.a_in_b),
        b_in_a: Fraction::from(similar.measures.b_in_a),
        resemblance: Fraction::from(similar.measures.resemblance),
        shared_bytes: similar.measures.shared_bytes.0,
        discount: similar.discount,
        interval: similar.interval.map(Into::into),
        differs: similar.numbers.map(|_| Differs::OnlyInNumbers),
        numbers: similar.numbers,
        document_date: similar.date.map(Into::into),
    });
    let mut answer = Answer::fresh(rows.collect(), errors).cut(options.top);
    // Further near-copies that were not compared are counted as rows with the relation `near`.
    if options.min.is_none() && PairRelation::accept(&options.relation, Some(Relation::Near)) {
        answer.header.total += further.entries(&[]) as u64;
    }
    // A question that names no files reports its scope only if the answer is empty.
    answer.header.looked = match looked {
        // The totals are reported only to callers who are allowed to see everything.
        None if answer.rows.is_empty() && !snapshot.is_partial() => {
            Some(scope::everything(snapshot)?)
        }
        looked => looked,
    };
    Ok(answer)
}

/// Returns the listing of the overlay: the best of the listed files, at most [`LISTED`], and the
/// number of all listed files. Copies of one content inside archives and mails count as one file,
/// and the best of them is listed. Files of catalogues are left out, because a link to them would
/// lead nowhere. If `text` is true, texts and members of archives are compared, too.
pub fn listing(
    snapshot: &Snapshot,
    subject: &Subject,
    text: bool,
) -> Result<(Vec<Similar>, usize), AskError> {
    let options = FindOptions {
        text,
        ..FindOptions::default()
    };
    let (found, _) = search(snapshot, subject, &options, Wanted::Listed)?;
    let mut similar = found.similar;
    let mut members = HashSet::new();
    similar
        .retain(|row| row.is_listed() && row.member.is_none_or(|content| members.insert(content)));
    let total = similar.len() + found.further.entries(&similar);
    similar.truncate(LISTED);
    Ok((similar, total))
}

/// The purpose of a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Rows with all their fields.
    Everything,
    /// Rows without discounts, and only as many as a listing of the overlay has. There are no rows
    /// for files that are only in catalogues.
    Listed,
}

/// The rows that were found, and the totals of the scope if the question names one.
type Searched = (FoundRows, Option<Looked>);

fn search(
    snapshot: &Snapshot,
    subject: &Subject,
    options: &FindOptions,
    wanted: Wanted,
) -> Result<Searched, AskError> {
    let is_named = !options.scope.within.is_empty();
    if !is_named || scope::is_everything(snapshot, &options.scope)? {
        let found = search_in(snapshot, subject, None, options, wanted)?;
        let looked = is_named.then(|| scope::everything(snapshot));
        return Ok((found, looked.transpose()?));
    }
    let mut scoped = ScopedFiles::of(snapshot, &options.scope)?;
    if options.text {
        scoped.know_parts(snapshot)?;
    }
    let looked = scoped.looked(snapshot);
    let mut found = search_in(snapshot, subject, Some(&scoped), options, wanted)?;
    found.errors.splice(0..0, scoped.errors);
    Ok((found, Some(looked)))
}

/// The pieces by which the subject is compared: its digest without templates.
struct Payload<'a> {
    size: ByteLen,
    chunks: Cow<'a, ChunkList>,
    signature: Cow<'a, Signature>,
    /// Samples beyond the signature, which only find nominees.
    besides: &'a [Fingerprint],
}

impl<'a> Payload<'a> {
    fn of(digest: &'a Digest, snapshot: &Snapshot) -> Self {
        let templates = snapshot.templates();
        let mut payload = Self {
            size: digest.size,
            chunks: Cow::Borrowed(&digest.chunks),
            signature: Cow::Borrowed(&digest.signature),
            besides: &digest.besides,
        };
        if !templates.is_empty() {
            let (chunks, signature) = (payload.chunks.to_mut(), payload.signature.to_mut());
            payload.size = templates.strip(digest.size, chunks, signature);
        }
        payload
    }

    /// Reduces the payload to the data that the index would store of a content of this kind.
    fn kept(self, kind: ContentKind, params: &Params) -> Self {
        if kind == ContentKind::Text {
            let kept = self.signature.thinned(&params.shingles);
            return Self {
                signature: Cow::Owned(kept),
                ..self
            };
        }
        self
    }

    /// Returns a copy that borrows nothing. It has no samples beyond the signature.
    fn into_owned(self) -> Payload<'static> {
        Payload {
            size: self.size,
            chunks: Cow::Owned(self.chunks.into_owned()),
            signature: Cow::Owned(self.signature.into_owned()),
            besides: &[],
        }
    }

    fn sketch(&self) -> Sketch<'_> {
        Sketch {
            size: self.size,
            chunks: &self.chunks,
            signature: &self.signature,
        }
    }
}

/// Returns the nominees, including the subject's own content: identical files need no evidence. If
/// `passages_at` is set, also returns contents that share only a short passage. Samples of this
/// level find the passage.
fn nominated(
    snapshot: &Snapshot,
    payload: &Payload<'_>,
    digest: &Digest,
    scoped: Option<&ScopedFiles>,
    passages_at: Option<u8>,
) -> Result<Nominees, ReadError> {
    let own = snapshot.content_by_digest(&digest.content)?;
    let windows = || SubjectWindows::of(own, snapshot.boilerplate_limit());
    let told = NominationSettings {
        passages_at,
        windows: (digest.kind != ContentKind::Text).then(windows),
    };
    let subject = FoundBy {
        sketch: payload.sketch(),
        besides: payload.besides,
    };
    let mut nominees = evidence::nominate(snapshot, subject, scoped, told)?;
    let all = &mut nominees.all;
    if let Some(own) = own
        && let Err(at) = all.binary_search_by_key(&own, |nominee| nominee.content)
    {
        all.insert(
            at,
            Nominee {
                content: own,
                common: Common::NONE,
                besides: 0,
                passage: Passage::default(),
            },
        );
    }
    Ok(nominees)
}

/// Returns the first path of each file in scope that has the content, and the time of its last
/// change in seconds since 1970.
pub(crate) fn holders(
    snapshot: &Snapshot,
    content: ContentId,
    scoped: Option<&ScopedFiles>,
    leave_out: Option<FileId>,
) -> Result<Vec<(PathBuf, i64)>, ReadError> {
    if let Some(scoped) = scoped {
        let holders = scoped
            .holders(content)
            .filter(|member| Some(member.file) != leave_out);
        return Ok(holders
            .map(|member| (member.path.to_path_buf(), member.mtime))
            .collect());
    }
    let mut paths = Vec::new();
    for file in snapshot.files_of(content)? {
        if Some(file) != leave_out {
            let changed = snapshot.file(file)?.map_or(0, |row| row.stat.mtime.secs);
            let first = snapshot.paths(file)?.into_iter().next();
            paths.extend(first.map(|path| (path, changed)));
        }
    }
    Ok(paths)
}

/// Returns the first file that [`holders`] returns.
fn first_holder(
    snapshot: &Snapshot,
    content: ContentId,
    scoped: Option<&ScopedFiles>,
    leave_out: Option<FileId>,
) -> Result<Option<PathBuf>, ReadError> {
    if scoped.is_some() {
        let holders = holders(snapshot, content, scoped, leave_out)?;
        return Ok(holders.into_iter().next().map(|(path, _)| path));
    }
    for file in snapshot.files_of(content)? {
        if Some(file) != leave_out
            && let Some(path) = snapshot.paths(file)?.into_iter().next()
        {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
