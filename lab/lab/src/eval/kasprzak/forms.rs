//! Section 5: the effect of stems and lemmas on texts in which words change places and forms.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use resemble_methods::sorted5::{ChunkHashing, overlap_of_sorted};
use resemble_methods::vocabulary::{Language, Lemmas, words_of};
use resemble_methods::{MethodParams, ParamError, Settings};
use resemble_relate::parallel::in_parallel;

use super::super::{Draws, Random, Section, Table, Text, compared, mean};
use super::{Corpus, params, settings};
use crate::error::{LabError, MethodError};
use crate::method::sorted::real_chunks;

/// The maximum number of texts that are edited.
const EDITED: usize = 100;

/// The number of edits of each text.
pub(super) const EDITS: usize = 50;

/// The first seed of the edits.
const SEED: u64 = 2008;

/// A word is known if at least this number of texts have it.
pub(super) const KNOWN: u32 = 3;

/// The words of a text in the order of the text.
pub(super) type Words = Vec<Box<[u8]>>;

/// A function that changes the words of a text at the given index.
pub(super) type Edit<'a> = &'a (dyn Fn(&mut Words, usize) + Sync);

/// Makes a text of words, with a space between neighbours.
fn joined(words: &[Box<[u8]>]) -> Vec<u8> {
    words.join(&b' ')
}

/// Returns the distinct runs of five words, in ascending order. The words within a run keep their
/// order, unlike the words of a sorted chunk.
fn unsorted(words: &[Box<[u8]>]) -> Vec<Vec<u8>> {
    let mut runs: Vec<Vec<u8>> = words.windows(5).map(|run| run.join(&b' ')).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// Counts the texts that have each word.
pub(super) fn texts_with<'a>(texts: impl IntoIterator<Item = &'a Text>) -> HashMap<Box<[u8]>, u32> {
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

/// Returns the words that at least [`KNOWN`] texts have. The most frequent word is first.
pub(super) fn known<'a>(texts: impl IntoIterator<Item = &'a Text>) -> Vec<Box<[u8]>> {
    let mut known: Vec<(u32, Box<[u8]>)> = texts_with(texts)
        .into_iter()
        .filter(|(_, texts)| *texts >= KNOWN)
        .map(|(word, texts)| (texts, word))
        .collect();
    known.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    known.into_iter().map(|(_, word)| word).collect()
}

/// Groups words into families. Each word is passed with a property, such as its stem. Words with
/// the same property are one family. Families of a single word are dropped. Within a family, words
/// keep their order.
pub(super) fn families(
    words: impl IntoIterator<Item = (Box<[u8]>, Box<[u8]>)>,
) -> Vec<Vec<Box<[u8]>>> {
    let mut families: BTreeMap<Box<[u8]>, Vec<Box<[u8]>>> = BTreeMap::new();
    for (word, common) in words {
        families.entry(common).or_default().push(word);
    }
    let several = families.into_values().filter(|family| family.len() > 1);
    several.collect()
}

/// Returns families of known words. The words of a family have the same stem.
fn stem_families<'a>(
    language: Language,
    texts: impl IntoIterator<Item = &'a Text>,
) -> Vec<Vec<Box<[u8]>>> {
    let mut known = known(texts);
    known.retain(|word| word.iter().all(u8::is_ascii_alphabetic));
    let stems = language.stems(known.iter().map(|word| &**word));
    families(known.into_iter().zip(stems))
}

/// Returns, for each word of a family, the most frequent other word of that family.
pub(super) fn others_of(families: Vec<Vec<Box<[u8]>>>) -> HashMap<Box<[u8]>, Box<[u8]>> {
    let mut others = HashMap::new();
    for family in families {
        let (first, second) = (family[0].clone(), family[1].clone());
        others.extend(family.into_iter().map(|word| (word, first.clone())));
        others.insert(first, second);
    }
    others
}

/// A way to make sorted chunks: its name and its parameters. The parameters are `None` if the
/// language does not support the way.
pub(super) type Way<'a> = (&'a str, Option<MethodParams>);

/// The words of a text, its runs of unsorted words, and its sorted chunks by each way.
struct EditedWords {
    words: Words,
    unsorted: Vec<Vec<u8>>,
    sorted: Vec<Vec<u64>>,
}

impl EditedWords {
    fn new(words: Words, ways: &[Way<'_>]) -> Self {
        let text = joined(&words);
        let params = ways.iter().filter_map(|(_, params)| params.as_ref());
        Self {
            unsorted: unsorted(&words),
            sorted: params.map(|params| real_chunks(params, &text)).collect(),
            words,
        }
    }

    /// Edits a copy of the text, and returns the shares of the text that are still found in the
    /// copy. The first share counts unsorted runs. Each further share counts the sorted chunks of
    /// one way. Ways that the language does not support have no share.
    fn found(&self, edit: Edit<'_>, ways: &[Way<'_>], random: &mut Random) -> Vec<f64> {
        let mut changed = self.words.clone();
        for _ in 0..EDITS {
            edit(&mut changed, random.below(self.words.len() - 1));
        }
        let text = joined(&changed);
        let overlap = overlap_of_sorted(&self.unsorted, &unsorted(&changed));
        let mut found = vec![overlap.a_in_b().value().unwrap_or(0.0)];
        let params = ways.iter().filter_map(|(_, params)| params.as_ref());
        for (own, params) in self.sorted.iter().zip(params) {
            let overlap = overlap_of_sorted(own, &real_chunks(params, &text));
            found.push(overlap.a_in_b().value().unwrap_or(0.0));
        }
        found
    }
}

/// Returns the first texts whose size suits the edits.
pub(super) fn chosen(texts: &[Text]) -> Vec<&Text> {
    let is_edited = |text: &&Text| (10_000..200_000).contains(&text.bytes.len());
    texts.iter().filter(is_edited).take(EDITED).collect()
}

/// Swaps the word at index `at` with the next word.
pub(super) fn swap(words: &mut Words, at: usize) {
    words.swap(at, at + 1);
}

/// Replaces a word by another form of it. The word is the first one from index `at` on that has
/// another form.
pub(super) fn other_form(others: &HashMap<Box<[u8]>, Box<[u8]>>, words: &mut Words, at: usize) {
    let mut behind = words[at..].iter_mut();
    let found = behind.find_map(|word| Some((others.get(word)?, word)));
    if let Some((other, word)) = found {
        word.clone_from(other);
    }
}

/// Edits the texts and measures how much of them is found in the edited versions. Returns the
/// number of texts, a table with a row for each edit, and a sentence about the table.
pub(super) fn after_edits(
    chosen: &[&Text],
    ways: &[Way<'_>],
    edits: &[(&str, Edit<'_>)],
    seeds: u64,
) -> Result<(usize, Table, String), LabError> {
    let columns = ways.iter().map(|&(name, _)| match name {
        "sorted" => "sorted %".to_owned(),
        name => format!("sorted, {name} %"),
    });
    let columns: Vec<String> = ["50 edits of a text", "as they stand %"]
        .map(str::to_owned)
        .into_iter()
        .chain(columns)
        .collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("forms", &columns);
    let words = chosen.iter().map(|text| words_of(&text.bytes));
    let edited: Vec<EditedWords> = words
        .filter(|words| words.len() > 100)
        .map(|words| EditedWords::new(words, ways))
        .collect();
    let has_way = ways.iter().filter(|(_, params)| params.is_some());
    let names: Vec<&str> = std::iter::once("unsorted")
        .chain(has_way.map(|&(name, _)| name))
        .collect();
    let mut said = String::new();
    for &(what, edit) in edits {
        let mut shares = vec![Draws::default(); names.len()];
        for seed in 0..seeds {
            let made = in_parallel(edited.len(), Vec::new, |at, made| {
                let mut random = Random(SEED + seed + 1000 * at as u64);
                made.push((at, edited[at].found(edit, ways, &mut random)));
                Ok::<_, LabError>(())
            })?;
            let mut made: Vec<(usize, Vec<f64>)> = made.into_iter().flatten().collect();
            made.sort_unstable_by_key(|&(at, _)| at);
            for (place, shares) in shares.iter_mut().enumerate() {
                let values: Vec<f64> = made.iter().map(|(_, found)| found[place]).collect();
                shares.push(mean(&values));
            }
        }
        let mut means = shares.iter().map(Draws::to_string);
        let mut row = vec![what.to_owned()];
        row.extend(means.next());
        row.extend(ways.iter().map(|(_, params)| {
            let mean = params.as_ref().and_then(|_| means.next());
            mean.unwrap_or_else(|| "no rules".to_owned())
        }));
        table.row(row);
        let named: Vec<(&str, &Draws)> = names.iter().copied().zip(&shares).collect();
        let compared = named.windows(2).map(|pair| compared(pair[1], pair[0]));
        let _ = write!(
            said,
            "\n* {what}: {}.",
            compared.collect::<Vec<_>>().join("; ")
        );
    }
    Ok((edited.len(), table, said))
}

/// Measures how sorting (section 2.2), stems and lemmas (section 5) help if words change their
/// places and forms.
pub(super) fn forms(corpus: &Corpus<'_>, seeds: u64) -> Result<Section, LabError> {
    let english: Language = "english"
        .parse()
        .map_err(|error| MethodError::from(ParamError::from(error)))?;
    let texts = &corpus.collection.texts;
    let chosen = chosen(texts);
    let others = texts
        .iter()
        .filter(|text| !chosen.iter().any(|chosen| std::ptr::eq(*chosen, *text)));
    let table_of = stem_families(english, others);
    let lines = table_of.iter().flat_map(|family| {
        let lemma = &family[0];
        family
            .iter()
            .map(move |word| [&**word, b"\t", lemma, b"\n"].concat())
    });
    let lines: Vec<u8> = lines.flatten().collect();
    let lemmas = Arc::new(Lemmas::parse(&lines).map_err(MethodError::from)?);
    let others = others_of(stem_families(english, texts));
    let ways = ways(Some(english), lemmas)?;
    let other_form = |words: &mut Words, at: usize| other_form(&others, words, at);
    let inflect = |words: &mut Words, at: usize| words[at] = inflected(&words[at]);
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
    let (edited, table, said) = after_edits(&chosen, &ways, &edits, seeds)?;
    let text = format!(
        "How much of a text is in its version after {EDITS} edits: means over {edited} texts and \
         ranges of {seeds} seeds.{said}\n\nThe lemmas are no linguist's. Words of letters that at \
         least {KNOWN} of the other texts have and that have one stem by Snowball's rules for \
         English belong together, and the one that most texts have is the lemma of all ({} words, \
         {} lemmas). Another form that occurs is the commonest other one of such words, in all \
         texts.",
        table_of.iter().map(Vec::len).sum::<usize>(),
        table_of.len(),
    );
    Ok(Section::new("Words that change places and forms (sections 2.2, 5)", text).table(table))
}

/// Returns the ways to make sorted chunks: of the words themselves, of their stems, and of their
/// lemmas.
pub(super) fn ways(
    stem: Option<Language>,
    lemmas: Arc<Lemmas>,
) -> Result<[Way<'static>; 3], LabError> {
    let stems = stem.map(|language| {
        settings(&Settings {
            stem: Some(language),
            ..Settings::default()
        })
    });
    let lemmas = settings(&Settings {
        lemmas: Some(lemmas),
        ..Settings::default()
    })?;
    Ok([
        ("sorted", Some(params(24, ChunkHashing::Md5)?)),
        ("stems", stems.transpose()?),
        ("lemmas", Some(lemmas)),
    ])
}

/// Adds an `s` to the end of a word, or removes it if the word ends in one.
fn inflected(word: &[u8]) -> Box<[u8]> {
    match word.strip_suffix(b"s") {
        Some(rest) if !rest.is_empty() => rest.into(),
        _ => [word, b"s"].concat().into(),
    }
}
