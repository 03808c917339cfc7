//! Sections 5 and 4.2: other hashes, forms of words, a dictionary.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use resemble_methods::sorted5::{ChunkHashing, overlap_of_sorted};
use resemble_methods::vocabulary::{Dictionary, Language, Lemmas, words_of};
use resemble_methods::{Features, MethodParams, ParamError, Settings, Signer, select::select};
use resemble_relate::parallel::in_parallel;

use super::super::{Clock, Draws, Random, Section, Table, Text, compared, mean};
use super::{Corpus, arrays, lists, params, seconds, settings};
use crate::arrays::pairs;
use crate::error::{LabError, MethodError};
use crate::method::sorted::real_chunks;

/// The number of texts that are edited.
const EDITED: usize = 100;

/// The number of edits of each text.
const EDITS: usize = 50;

/// The first seed of the edits.
const SEED: u64 = 2008;

/// Words in at least this many texts count as known words.
const KNOWN: u32 = 3;

/// About how many distinct chunks a bucket has in the test of uniformity.
const BUCKET: u64 = 256;

/// The deviation of the counts of chunks in 2^n buckets, by their upper bits, from those of a
/// random function. The unit is a standard deviation of chi-square. A good hash is between -4 and
/// 4.
fn uniformity(chunks: &[u64]) -> (usize, f64) {
    let bits = (chunks.len() as u64 / BUCKET).max(2).ilog2();
    let mut counts = vec![0u32; 1 << bits];
    for chunk in chunks {
        counts[(chunk >> (64 - bits)) as usize] += 1;
    }
    let expected = chunks.len() as f64 / counts.len() as f64;
    let squares = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2));
    let chi = squares.sum::<f64>() / expected.max(1e-9);
    let freedom = counts.len() as f64 - 1.0;
    (counts.len(), (chi - freedom) / (2.0 * freedom).sqrt())
}

/// Compares MD5 with other hashes.
pub(super) fn hashes(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let columns = [
        "hash",
        "seconds",
        "MB/s",
        "hashing alone, ns a chunk",
        "distinct chunks",
        "buckets",
        "chi-square, deviations",
    ];
    let mut table = Table::new("hashes", &columns);
    let bits = corpus.papers_bits();
    let mut fastest = f64::INFINITY;
    let mut rows = Vec::new();
    for hash in ChunkHashing::ALL {
        let params = params(bits, hash)?;
        let mut signer = Signer::new(&params);
        let mut spent = 0.0;
        let mut chunks = Vec::new();
        for text in &corpus.collection.texts {
            let start = clock();
            signer.update(&text.bytes);
            signer.finish();
            spent += clock() - start;
            chunks.extend(real_chunks(&params, &text.bytes));
        }
        chunks.sort_unstable();
        chunks.dedup();
        fastest = spent.min(fastest);
        rows.push((hash, spent, chunks.len(), uniformity(&chunks)));
    }
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (hash, spent, distinct, (buckets, deviations)) in rows {
        let list = if deviations.abs() <= 4.0 {
            &mut good
        } else {
            &mut bad
        };
        list.push(format!("{hash} ({deviations:+.1})"));
        table.row([
            hash.to_string(),
            seconds(spent),
            format!(
                "{:.1}",
                corpus.collection.bytes() as f64 / 1e6 / spent.max(1e-9)
            ),
            format!(
                "+{:.1}",
                (spent - fastest) * 1e9 / corpus.postings().max(1) as f64
            ),
            distinct.to_string(),
            buckets.to_string(),
            format!("{deviations:+.2}"),
        ]);
    }
    let list = |hashes: &[String]| match hashes {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    let text = format!(
        "Step 1 on one thread, {bits} bits; hashing alone is what is more than with the fastest. \
         MD5 hashes 256 chunks at a time, the others one by one. The distinct chunks are counted \
         in buckets by the upper bits of their hashes, and chi-square is compared with that of a \
         random function: within four standard deviations {}; outside {}. The paper: another hash \
         \"probably will not result in a meaningful improvement\".",
        list(&good),
        list(&bad)
    );
    Ok(Section::new("Other hashes (section 5)", text).table(table))
}

/// The words of a text in their order.
type Words = Vec<Box<[u8]>>;

/// Changes the words of a text at a place.
type Edit<'a> = &'a (dyn Fn(&mut Words, usize) + Sync);

/// Makes a text of words.
fn joined(words: &[Box<[u8]>]) -> Vec<u8> {
    words.join(&b' ')
}

/// The distinct runs of five words, in their order in the text.
fn unsorted(words: &[Box<[u8]>]) -> Vec<Vec<u8>> {
    let mut runs: Vec<Vec<u8>> = words.windows(5).map(|run| run.join(&b' ')).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// Counts the texts that have each word.
fn texts_with<'a>(texts: impl IntoIterator<Item = &'a Text>) -> HashMap<Box<[u8]>, u32> {
    let mut texts_with: HashMap<Box<[u8]>, u32> = HashMap::new();
    for text in texts {
        let mut words = words_of(&text.bytes);
        words.sort_unstable();
        words.dedup();
        for word in words {
            *texts_with.entry(word).or_default() += 1;
        }
    }
    texts_with
}

/// Families of known words with the same stem. In each family the word that most texts have comes
/// first.
fn families<'a>(
    language: Language,
    texts: impl IntoIterator<Item = &'a Text>,
) -> Vec<Vec<Box<[u8]>>> {
    let is_word = |word: &[u8]| word.iter().all(u8::is_ascii_alphabetic);
    let mut known: Vec<(u32, Box<[u8]>)> = texts_with(texts)
        .into_iter()
        .filter(|(word, texts)| *texts >= KNOWN && is_word(word))
        .map(|(word, texts)| (texts, word))
        .collect();
    known.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let stems = language.stems(known.iter().map(|(_, word)| &**word));
    let mut families: BTreeMap<Box<[u8]>, Vec<Box<[u8]>>> = BTreeMap::new();
    for ((_, word), stem) in known.into_iter().zip(stems) {
        families.entry(stem).or_default().push(word);
    }
    let several = families.into_values().filter(|family| family.len() > 1);
    several.collect()
}

/// The words of a text, and its chunks: as they stand, then sorted by each of three params.
struct EditedWords {
    words: Words,
    unsorted: Vec<Vec<u8>>,
    sorted: [Vec<u64>; 3],
}

impl EditedWords {
    fn new(words: Words, params: [&MethodParams; 3]) -> Self {
        let text = joined(&words);
        Self {
            unsorted: unsorted(&words),
            sorted: params.map(|params| real_chunks(params, &text)),
            words,
        }
    }

    /// The share of the text that is in its edited version, by each of the four.
    fn found(&self, edit: Edit<'_>, params: [&MethodParams; 3], random: &mut Random) -> [f64; 4] {
        let mut changed = self.words.clone();
        for _ in 0..EDITS {
            edit(&mut changed, random.below(self.words.len() - 1));
        }
        let text = joined(&changed);
        let overlap = overlap_of_sorted(&self.unsorted, &unsorted(&changed));
        let mut found = [overlap.a_in_b().value().unwrap_or(0.0); 4];
        for (found, (own, params)) in found[1..].iter_mut().zip(self.sorted.iter().zip(params)) {
            let overlap = overlap_of_sorted(own, &real_chunks(params, &text));
            *found = overlap.a_in_b().value().unwrap_or(0.0);
        }
        found
    }
}

/// Measures the effect of sorting (section 2.2), stems and lemmas (section 5) on words that change
/// their places and forms.
pub(super) fn forms(corpus: &Corpus<'_>, seeds: u64) -> Result<Section, LabError> {
    let english: Language = "english"
        .parse()
        .map_err(|error| MethodError::from(ParamError::from(error)))?;
    let is_edited = |text: &&Text| (10_000..200_000).contains(&text.bytes.len());
    let texts = &corpus.collection.texts;
    let chosen: Vec<&Text> = texts.iter().filter(is_edited).take(EDITED).collect();
    let others = texts
        .iter()
        .filter(|text| !chosen.iter().any(|chosen| std::ptr::eq(*chosen, *text)));
    let table_of = families(english, others);
    let lines = table_of.iter().flat_map(|family| {
        let lemma = &family[0];
        family
            .iter()
            .map(move |word| [&**word, b"\t", lemma, b"\n"].concat())
    });
    let lines: Vec<u8> = lines.flatten().collect();
    let lemmas = Arc::new(Lemmas::parse(&lines).map_err(MethodError::from)?);
    let mut others_of: HashMap<Box<[u8]>, Box<[u8]>> = HashMap::new();
    for family in families(english, texts) {
        let (first, second) = (family[0].clone(), family[1].clone());
        others_of.extend(family.into_iter().map(|word| (word, first.clone())));
        others_of.insert(first, second);
    }

    let plain = params(24, ChunkHashing::Md5)?;
    let stemmed = settings(&Settings {
        stem: Some(english),
        ..Settings::default()
    })?;
    let with_lemmas = settings(&Settings {
        lemmas: Some(lemmas),
        ..Settings::default()
    })?;
    let mut table = Table::new(
        "forms",
        &[
            "50 edits of a text",
            "as they stand %",
            "sorted %",
            "sorted, stems %",
            "sorted, lemmas %",
        ],
    );
    let swap = |words: &mut Words, at: usize| words.swap(at, at + 1);
    let inflect = |words: &mut Words, at: usize| words[at] = inflected(&words[at]);
    let other_form = |words: &mut Words, at: usize| {
        // Changes the next word that has another form.
        let mut behind = words[at..].iter_mut();
        let found = behind.find_map(|word| Some((others_of.get(word)?, word)));
        if let Some((other, word)) = found {
            word.clone_from(other);
        }
    };
    let edits: [(&str, Edit<'_>); 5] = [
        ("two neighbours change places", &swap),
        ("a word gets or loses an s", &inflect),
        ("both", &|words, at| {
            swap(words, at);
            inflect(words, at);
        }),
        ("a word takes another form that occurs", &other_form),
        ("both", &|words, at| {
            swap(words, at);
            other_form(words, at);
        }),
    ];
    let sorted = [&plain, &stemmed, &with_lemmas];
    let words = chosen.iter().map(|text| words_of(&text.bytes));
    let edited: Vec<EditedWords> = words
        .filter(|words| words.len() > 100)
        .map(|words| EditedWords::new(words, sorted))
        .collect();
    let mut said = String::new();
    for (what, edit) in edits {
        let mut shares: [Draws; 4] = Default::default();
        for seed in 0..seeds {
            let made = in_parallel(edited.len(), Vec::new, |at, made| {
                let mut random = Random(SEED + seed + 1000 * at as u64);
                made.push((at, edited[at].found(edit, sorted, &mut random)));
                Ok::<_, LabError>(())
            })?;
            let mut made: Vec<(usize, [f64; 4])> = made.into_iter().flatten().collect();
            made.sort_unstable_by_key(|&(at, _)| at);
            for (place, shares) in shares.iter_mut().enumerate() {
                let values: Vec<f64> = made.iter().map(|(_, found)| found[place]).collect();
                shares.push(mean(&values));
            }
        }
        let means = shares.iter().map(Draws::to_string);
        let row: Vec<String> = std::iter::once(what.to_owned()).chain(means).collect();
        table.row(row);
        let [unsorted, sorted, stems, lemmas] = &shares;
        let _ = write!(
            said,
            "\n* {what}: {}; {}; {}.",
            compared(("sorted", sorted), ("unsorted", unsorted)),
            compared(("stems", stems), ("sorted", sorted)),
            compared(("lemmas", lemmas), ("stems", stems))
        );
    }
    let text = format!(
        "How much of a text is in its version after {EDITS} edits: means over {} texts and ranges \
         of {seeds} seeds.{said}\n\nThe lemmas are no linguist's. Words of letters that at least \
         {KNOWN} of the other texts have and that have one stem by Snowball's rules for English \
         belong together, and the one that most texts have is the lemma of all ({} words, {} \
         lemmas). Another form that occurs is the commonest other one of such words, in all \
         texts.",
        edited.len(),
        table_of.iter().map(Vec::len).sum::<usize>(),
        table_of.len(),
    );
    Ok(Section::new("Words that change places and forms (sections 2.2, 5)", text).table(table))
}

/// The word with an s added at its end, or with that s removed.
fn inflected(word: &[u8]) -> Box<[u8]> {
    match word.strip_suffix(b"s") {
        Some(rest) if !rest.is_empty() => rest.into(),
        _ => [word, b"s"].concat().into(),
    }
}

/// A dictionary as a set (section 4.2), of the words that several texts have.
pub(super) fn dictionary(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let texts_with = texts_with(&corpus.collection.texts);
    let all = texts_with.len();
    let mut known: Vec<&Box<[u8]>> = texts_with
        .iter()
        .filter(|(_, texts)| **texts >= KNOWN)
        .map(|(word, _)| word)
        .collect();
    known.sort_unstable();
    let dictionary = Arc::new(Dictionary::parse(
        &known
            .iter()
            .map(|word| &***word)
            .collect::<Vec<_>>()
            .join(&b'\n'),
    ));
    let mut table = Table::new(
        "dictionary",
        &[
            "words that count",
            "(chunk, document) pairs",
            "distinct chunks",
            "pairs above 1 %",
            "MB/s",
        ],
    );
    let with = settings(&Settings {
        bits: Some(corpus.bits()),
        dictionary: Some(Arc::clone(&dictionary)),
        ..Settings::default()
    })?;
    let mut counts = Vec::new();
    for (what, params) in [
        (
            format!("all {all}"),
            params(corpus.bits(), ChunkHashing::Md5)?,
        ),
        (format!("{} of the dictionary", dictionary.len()), with),
    ] {
        let start = clock();
        let texts = corpus.collection.texts.iter();
        let chunks: Vec<Vec<u64>> = texts
            .map(|text| real_chunks(&params, &text.bytes))
            .collect();
        let spent = clock() - start;
        let signatures: Vec<_> = chunks
            .iter()
            .map(|chunks| select(&params, &Features::of_values(chunks.iter().copied())))
            .collect();
        let (_, set) = arrays(corpus.scratch, "dictionary", corpus.bits(), &signatures, 1)?;
        let found = pairs(&set, &lists(&signatures), super::THRESHOLD)?;
        let postings: usize = chunks.iter().map(Vec::len).sum();
        counts.push(postings);
        let mut distinct: Vec<u64> = chunks.into_iter().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        table.row([
            what,
            postings.to_string(),
            distinct.len().to_string(),
            found.len().to_string(),
            format!(
                "{:.1}",
                corpus.collection.bytes() as f64 / 1e6 / spent.max(1e-9)
            ),
        ]);
    }
    let text = format!(
        "Words in at least {KNOWN} texts replace the paper's dictionary of 900,000 words. Words \
         that are not in it are left out, and their neighbours become neighbours of each other: \
         {} (chunk, document) pairs instead of {}.",
        counts[1], counts[0]
    );
    Ok(Section::new("A dictionary as a set (section 4.2)", text).table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_with_a_constant_upper_bit_is_not_uniform() {
        let mut random = Random(1);
        let good: Vec<u64> = (0..1 << 16).map(|_| random.draw()).collect();
        let (buckets, deviations) = uniformity(&good);
        assert_eq!(buckets, 256);
        assert!(deviations.abs() < 4.0, "{deviations}");
        let half: Vec<u64> = good.iter().map(|hash| hash >> 1).collect();
        assert!(uniformity(&half).1 > 1000.0);
        // One chunk in thirty moves to the first bucket.
        let skewed = good.iter().enumerate().map(|(at, &hash)| match at % 30 {
            0 => hash >> 8,
            _ => hash,
        });
        assert!(uniformity(&skewed.collect::<Vec<_>>()).1 > 4.0);
    }
}
