//! sorted5: questions that the two arrays answer ([`crate::arrays`]).
//!
//! They hold every content that was asked about and that the index still has, whatever the scope of a question: a pair's figure
//! depends on no third file, so what is out of scope is passed over. A question merges what is not in them yet, and what the
//! index no longer has leaves in the same merge.
//!
//! 1. **A signature that is not that of the indexed content** (the file changed a moment ago) is in no arrays: it is compared by
//!    itself.
//! 2. **The arrays are never needed.** Without a folder for them, or if they cannot be written, signatures are compared as for
//!    every other method, and the answer is the same.
//! 3. **Whose keys.** Ids of contents are given out by one index; a record in it names it, and arrays made for another one are not
//!    looked at.

use std::collections::HashMap;

use resemble_core::ContentId;
use resemble_core::signature::score::Overlap;
use resemble_core::signature::sorted5::overlap_of_sorted;
use resemble_core::signature::{Features, Method, MethodParams, MethodSignature, Scheme};

use super::all_pairs::{Found, all_pairs};
use super::signed::Signed;
use super::{Asked, Bar, Told};
use crate::arrays::{Common, Folder, Lists, Set, Update, pairs_in_shards};
use crate::ask::{AskError, bytes_of};

/// The record that names an index.
const NAME: &str = "method.arrays";

/// So often parts are looked for that another question has just replaced.
const TRIES: usize = 3;

/// Documents that are in arrays.
pub(super) struct Held {
    folder: Folder,
    pub(super) set: Set,
    /// The number and the chunks of each by its key.
    pub(super) numbers: HashMap<u32, (u32, u32)>,
}

impl Held {
    fn of(folder: &Folder, set: Set) -> Result<Self, AskError> {
        let parts = set.parts()?;
        let documents = (0u32..).zip(parts.documents().iter());
        let numbers = documents
            .map(|(number, (key, chunks))| (key, (number, chunks)))
            .collect();
        drop(parts);
        Ok(Self {
            folder: folder.clone(),
            set,
            numbers,
        })
    }
}

/// Where the arrays for a question are; `None`: nowhere.
pub(super) fn folder(asked: &Asked<'_>) -> Result<Option<Folder>, AskError> {
    if asked.params.method() != Method::Sorted5 {
        return Ok(None);
    }
    let (folder, stays) = asked.keep.folder();
    if !stays {
        return Ok(None);
    }
    let name = if let Some(name) = asked.snapshot.record(NAME)? {
        String::from_utf8_lossy(&name).into_owned()
    } else {
        use std::hash::{BuildHasher, Hasher};
        let random = std::hash::RandomState::new().build_hasher().finish();
        let name = format!("{random:016x}");
        let record = Some(name.clone().into_bytes());
        asked.keep.keep(vec![(NAME.to_owned(), record)]);
        name
    };
    Ok(Some(Folder::new(
        &folder.join("arrays"),
        &asked.params.to_string(),
        &name,
    )))
}

/// What of these contents has to be signed before [`hold`]: those that the arrays have not.
pub(super) fn unknown(folder: &Folder, contents: &[ContentId]) -> Vec<ContentId> {
    let held = folder.open().and_then(|set| Held::of(folder, set).ok());
    let is_new = |content: &&ContentId| {
        held.as_ref()
            .is_none_or(|held| !held.numbers.contains_key(&content.0))
    };
    contents.iter().filter(is_new).copied().collect()
}

/// The arrays with what was signed; `None`: they cannot be had.
pub(super) fn hold(
    asked: &Asked<'_>,
    folder: &Folder,
    signed: &Signed,
) -> Result<Option<Held>, AskError> {
    let Scheme::Sorted5(own) = &asked.params.scheme else {
        return Ok(None);
    };
    let settled = || {
        let all = signed.contents.iter().zip(&signed.signatures);
        all.filter(|(row, _)| !signed.unsettled.contains(&row.id))
    };
    for _ in 0..TRIES {
        let held = match folder.open() {
            Some(set) => Some(Held::of(folder, set)?),
            None => None,
        };
        let is_new = |key: u32| {
            held.as_ref()
                .is_none_or(|held| !held.numbers.contains_key(&key))
        };
        let new: Vec<(u32, &MethodSignature)> = settled()
            .filter(|(row, _)| is_new(row.id.0))
            .map(|(row, signature)| (row.id.0, signature))
            .collect();
        let mut gone = std::collections::HashSet::new();
        for &key in held.iter().flat_map(|held| held.numbers.keys()) {
            if asked.snapshot.content(ContentId(key))?.is_none() {
                gone.insert(key);
            }
        }
        if new.is_empty()
            && gone.is_empty()
            && let Some(held) = held
        {
            return Ok(Some(held));
        }
        let update = Update {
            bits: own.bits as u8,
            new: &new,
            shards: asked.shards,
        };
        let merged = folder.update(&update, &|key| !gone.contains(&key));
        let held = match merged {
            Ok(set) => Held::of(folder, set)?,
            Err(error) => {
                tracing::warn!(%error, "sorted5 answers without its arrays");
                return Ok(None);
            }
        };
        // Another question may have found the old state damaged meanwhile and begun anew.
        if settled().all(|(row, _)| held.numbers.contains_key(&row.id.0)) {
            return Ok(Some(held));
        }
    }
    Ok(None)
}

/// The pairs that the bar lets through, by their places among the signatures.
pub(super) fn pairs(asked: &Asked<'_>, signed: &Signed, bar: &Bar) -> Result<Vec<Found>, AskError> {
    let without = || all_pairs(asked.params, &signed.signatures, bar);
    let Some(folder) = folder(asked)? else {
        return without();
    };
    let Some(held) = hold(asked, &folder, signed)? else {
        return without();
    };
    let mut numbered = Vec::new();
    let (mut places, mut loose) = (HashMap::new(), Vec::new());
    for (place, (row, signature)) in signed.contents.iter().zip(&signed.signatures).enumerate() {
        match held.numbers.get(&row.id.0) {
            Some(&(number, _)) if !signed.unsettled.contains(&row.id) => {
                numbered.push((number, signature));
                places.insert(number, place);
            }
            _ => loose.push(place),
        }
    }
    let lists = Lists::of(numbered);
    let least = bar.least_figure();
    let common = pairs_in_shards(&held.folder, &held.set, &lists, least, asked.shards)?;
    let mut found = Vec::new();
    for Common { a, b, common } in common {
        let (a, b) = (places[&a], places[&b]);
        let overlap = Overlap {
            common: u64::from(common),
            a: signed.signatures[a].occurrences(),
            b: signed.signatures[b].occurrences(),
        };
        let told = Told::of_overlap_both_ways(overlap);
        if bar.lets_through(&told) {
            found.push(Found { a, b, told });
        }
    }
    for (at, &one) in loose.iter().enumerate() {
        for other in 0..signed.signatures.len() {
            if other == one || loose[..at].contains(&other) {
                continue;
            }
            let (a, b) = (one.min(other), one.max(other));
            let (sa, sb) = (&signed.signatures[a], &signed.signatures[b]);
            let told = Told::both_ways(asked.params, sa, sb);
            if bar.lets_through(&told) {
                found.push(Found { a, b, told });
            }
        }
    }
    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Ok(found)
}

/// Pairs again, from the texts themselves: "compute the exact similarities only for document pairs which are preselected"
/// (section 4.2). A file that is too large to be in memory, or cannot be read now, keeps its estimate.
pub(super) fn exactly(
    asked: &Asked<'_>,
    signed: &Signed,
    found: Vec<Found>,
    bar: &Bar,
) -> Vec<Found> {
    let chunks = |place: usize| {
        let mut holders = asked.members.holders(signed.contents[place].id);
        holders.find_map(|member| {
            let small = member.size <= crate::ask::LARGEST_READ;
            let bytes = small.then(|| bytes_of(&member.path).ok())??;
            Some(real_chunks(asked.params, &bytes))
        })
    };
    let mut of_a: Option<(usize, Option<Vec<u64>>)> = None;
    let mut exact = Vec::new();
    for pair in found {
        let of_a = match &mut of_a {
            Some((place, chunks)) if *place == pair.a => &*chunks,
            _ => &of_a.insert((pair.a, chunks(pair.a))).1,
        };
        let told = match (of_a, chunks(pair.b)) {
            (Some(a), Some(b)) => Told::of_overlap_both_ways(overlap_of_sorted(a, &b)),
            _ => pair.told,
        };
        if bar.lets_through(&told) {
            exact.push(Found { told, ..pair });
        }
    }
    exact
}

/// The distinct chunks of a text, by 64 bits of their hash.
pub(crate) fn real_chunks(params: &MethodParams, bytes: &[u8]) -> Vec<u64> {
    let mut chunks: Vec<u64> = Features::of(params, bytes).values().collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}
