//! Sections 5 and 4.2: other hashes, forms of words, a dictionary.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use resemble_methods::sorted5::{ChunkHashing, overlap_of_sorted};
use resemble_methods::vocabulary::{Dictionary, Language, Lemmas, words_of};
use resemble_methods::{Features, MethodParams, ParamError, Settings, Signer, select::select};

use super::super::{Clock, Random, Section, Table, Text, mean, percent};
use super::{Corpus, arrays, lists, params, seconds, settings};
use crate::arrays::pairs;
use crate::error::{LabError, MethodError};
use crate::method::sorted::real_chunks;

/// How many texts are edited.
const EDITED: usize = 100;

/// How many edits each of them gets.
const EDITS: usize = 50;

/// Words in at least this many texts count as known words.
const KNOWN: u32 = 3;

/// Compares MD5 with other hashes.
pub(super) fn hashes(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let mut table = Table::new(
        "hashes",
        &[
            "hash",
            "seconds",
            "MB/s",
            "hashing alone, ns a chunk",
            "distinct values",
            "expected",
        ],
    );
    let bits = corpus.papers_bits();
    // How many distinct values c random ones have: 2^n (1 - (1 - 2^-n)^c).
    let space = 2f64.powi(bits as i32);
    let expected = space * -(corpus.distinct as f64 * (-1.0 / space).ln_1p()).exp_m1();
    let mut fastest = f64::INFINITY;
    let mut rows = Vec::new();
    for hash in ChunkHashing::ALL {
        let params = params(bits, hash)?;
        let mut signer = Signer::new(&params);
        let mut seen = vec![false; 1 << bits];
        let mut spent = 0.0;
        for text in &corpus.collection.texts {
            let start = clock();
            signer.update(&text.bytes);
            let signature = signer.finish();
            spent += clock() - start;
            signature
                .keys()
                .into_iter()
                .for_each(|key| seen[key as usize] = true);
        }
        fastest = spent.min(fastest);
        rows.push((hash, spent, seen.into_iter().filter(|seen| *seen).count()));
    }
    for (hash, spent, values) in rows {
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
            values.to_string(),
            format!("{expected:.0}"),
        ]);
    }
    let text = format!(
        "Step 1 on one thread, {bits} bits; hashing alone is what is more than with the fastest. \
         Chunks are hashed {} at a time by MD5 and one by one by the others. As many distinct \
         values as expected: the upper bits are as good as random.",
        256
    );
    Ok(Section::new("Other hashes (section 5)", text).table(table))
}

/// The words of a text in their order.
type Words = Vec<Box<[u8]>>;

/// Changes the words of a text at a place.
type Edit<'a> = &'a dyn Fn(&mut Words, usize);

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

/// How many of these texts have each word.
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

/// How much sorting (section 2.2), stems and lemmas (section 5) help against words that change
/// their places and forms.
pub(super) fn forms(corpus: &Corpus<'_>) -> Result<Section, LabError> {
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
    let edited: Vec<Words> = chosen.iter().map(|text| words_of(&text.bytes)).collect();
    for (what, edit) in edits {
        let mut random = Random(2008);
        let mut shares: [Vec<f64>; 4] = Default::default();
        for words in edited.iter().filter(|words| words.len() > 100) {
            let mut changed = words.clone();
            for _ in 0..EDITS {
                edit(&mut changed, random.below(words.len() - 1));
            }
            let (one, other) = (joined(words), joined(&changed));
            let by = |params: &MethodParams| {
                let (a, b) = (real_chunks(params, &one), real_chunks(params, &other));
                overlap_of_sorted(&a, &b).a_in_b().value().unwrap_or(0.0)
            };
            let (a, b) = (unsorted(words), unsorted(&changed));
            shares[0].push(overlap_of_sorted(&a, &b).a_in_b().value().unwrap_or(0.0));
            for (shares, params) in shares[1..].iter_mut().zip([&plain, &stemmed, &with_lemmas]) {
                shares.push(by(params));
            }
        }
        let means = shares.iter().map(|shares| percent(mean(shares)));
        let row: Vec<String> = std::iter::once(what.to_owned()).chain(means).collect();
        table.row(row);
    }
    let text = format!(
        "How much of a text is in its edited version, on average of {} texts.\n\nThe lemmas are \
         no linguist's: words of letters that at least {KNOWN} of the other texts have and to \
         which Snowball's rules for English give one stem belong together, and the one that most \
         texts have is the lemma of all ({} words, {} lemmas). Another form that occurs is the \
         commonest other one of such words, in all texts. So the table does what stems do as far \
         as it goes; it knows no word that the other texts do not have, and no form that occurs \
         nowhere. A table made by hand would do better where rules fail (*went* is *go*; \
         *university* is not *universe*), and worse where its makers did not think of a word.",
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
         that are not in it are left out, and their neighbours become neighbours of each other."
    );
    Ok(Section::new("A dictionary as a set (section 4.2)", text).table(table))
}
