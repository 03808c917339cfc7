//! What groups are made of: the files and, of sif, the collated sets, kept; of other methods the similar pairs.
//!
//! Whoever asks has the rest to do ([`super::clusters`]): a threshold or a rule costs no question. The sets are found
//! again under the ids of the contents of all files in the order of their paths. If anything of that changes they are
//! made anew, from signatures that are kept as well.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_core::hash::content::digest;
use resemble_core::{ContentId, ContentKind};
use resemble_methods::Method;
use resemble_methods::collate::{Collated, Collator};
use resemble_proto::message::{
    Answer, MethodBar, MethodCommonRow, MethodFileRow, MethodLinkRow, MethodRow, MethodScore,
    SoftError,
};
use resemble_proto::path::PathText;

use super::signed::Signed;
use super::{Asked, MethodError, pairs};
use crate::ask::AskError;
use crate::members::Member;

pub(super) fn groups(asked: &Asked<'_>, bar: MethodBar) -> Result<Answer<MethodRow>, AskError> {
    let mut kinds: HashMap<ContentId, ContentKind> = HashMap::new();
    for content in asked.members.contents() {
        if let Some(row) = asked.snapshot.content(content)? {
            kinds.insert(content, row.kind);
        }
    }
    let files: Vec<&Member> = asked
        .members
        .files
        .iter()
        .filter(|member| {
            let kind = kinds.get(&member.content);
            kind.is_some_and(|&kind| kind != ContentKind::Empty)
        })
        .collect();
    let mut rows: Vec<MethodRow> = files
        .iter()
        .map(|member| {
            MethodRow::File(MethodFileRow {
                path: PathText::from(member.path.as_path()),
                size: member.size.0,
                text: kinds.get(&member.content) == Some(&ContentKind::Text),
            })
        })
        .collect();
    let errors = match asked.params.method() {
        Method::Sif | Method::SifAnchors => {
            let (sets, errors) = collated(asked, &files)?;
            let text = BASE64.encode(sets);
            let pieces = text.as_bytes().chunks(MethodRow::PIECE);
            rows.extend(
                pieces.map(|piece| MethodRow::Sets(String::from_utf8_lossy(piece).into_owned())),
            );
            errors
        }
        _ => {
            let (pairs, errors) = pairs::rows(asked, MethodScore::Paper, bar, false)?;
            rows.extend(pairs.into_iter().map(MethodRow::Pair));
            errors
        }
    };
    Ok(Answer::fresh(rows, asked.errors(errors)))
}

/// The sets of these files as bytes, and the files that could not be read: these share nothing.
fn collated(asked: &Asked<'_>, files: &[&Member]) -> Result<(Vec<u8>, Vec<SoftError>), AskError> {
    let ids: Vec<u8> = files
        .iter()
        .flat_map(|member| member.content.0.to_le_bytes())
        .collect();
    let key = digest(&ids).0;
    let mut kept = asked.kept();
    // What is damaged is made again.
    if let Some(sets) = kept
        .recall_sets(&key)?
        .filter(|sets| Collated::decode(sets).is_ok())
    {
        return Ok((sets, Vec::new()));
    }
    let signed = Signed::of(asked, &mut kept)?;
    let of: HashMap<ContentId, usize> = (0..)
        .zip(&signed.contents)
        .map(|(at, row)| (row.id, at))
        .collect();
    let mut collator = Collator::default();
    for member in files {
        let signature = of.get(&member.content).map(|&at| &signed.signatures[at]);
        collator.add(
            signature
                .map(resemble_methods::MethodSignature::keys)
                .unwrap_or_default(),
        );
    }
    let sets = collator.finish().encode();
    if signed.settled {
        kept.store_sets(&key, &sets)?;
    }
    Ok((sets, signed.errors))
}

/// What the answer to a question for groups holds.
#[derive(Clone, Debug, Default)]
pub struct Grouping {
    /// The files, by path.
    pub files: Vec<MethodFileRow>,
    /// Of sif: which of them share fingerprints, by their places.
    pub sets: Option<Collated>,
    /// Of other methods: the similar ones.
    pub pairs: Vec<resemble_proto::message::MethodPairRow>,
    /// Of clusters out of core: files with one sketch, by their places.
    pub same: Vec<Vec<u32>>,
    /// Of clusters out of core: similar files, each for all of its sketch.
    pub links: Vec<MethodLinkRow>,
    /// Of clusters out of core: the commonest shingles of those that were ignored.
    pub common: Vec<MethodCommonRow>,
}

impl Grouping {
    /// Puts the rows together again.
    ///
    /// # Errors
    ///
    /// If the sets are no sets of these files.
    pub fn of_rows(rows: Vec<MethodRow>) -> Result<Self, MethodError> {
        let mut grouping = Self::default();
        let mut text = String::new();
        for row in rows {
            match row {
                MethodRow::File(file) => grouping.files.push(file),
                MethodRow::Pair(pair) => grouping.pairs.push(pair),
                MethodRow::Sets(piece) => text.push_str(&piece),
                MethodRow::Same(files) => grouping.same.push(files),
                MethodRow::Link(link) => grouping.links.push(link),
                MethodRow::Common(common) => grouping.common.push(common),
                MethodRow::Find(_) | MethodRow::Text(_) => {}
            }
        }
        if !text.is_empty() {
            let bytes = BASE64
                .decode(&text)
                .map_err(|_| MethodError::Question("the collated sets are not base64"))?;
            let sets = Collated::decode(&bytes)?;
            if sets.files() as usize != grouping.files.len() {
                return Err(MethodError::Question(
                    "the collated sets are of other files",
                ));
            }
            grouping.sets = Some(sets);
        }
        let links = grouping.links.iter().flat_map(|link| [link.a, link.b]);
        let mut places = links.chain(grouping.same.iter().flatten().copied());
        if places.any(|place| place as usize >= grouping.files.len()) {
            return Err(MethodError::Question("the links are of other files"));
        }
        Ok(grouping)
    }
}
