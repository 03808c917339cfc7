//! Selects words by a dictionary, and replaces them by their lemmas or stems.
//!
//! Kasprzak et al. 2008 store a chunk as the numbers of its words in a dictionary of 900,000 words
//! (section 3.1). Later they only check "whether the word is present in the dictionary or not"
//! (section 4.2), and ignore words without a number. **A word that is not in the dictionary is left
//! out**, so the words before and after it become neighbours.
//!
//! A hash does not show that an inflected word is a form of another word. In Czech, words that
//! change places also change their endings (section 5, future work). There are two remedies. The
//! first is a table of basic forms ([`Lemmas`]). The second is a Snowball stemmer ([`Language`];
//! Porter 2001), which needs no table but does not exist for Czech.
//!
//! A word is first looked up in the dictionary without a change, because a dictionary may list
//! words in all their forms. Then it is replaced by its lemma, or by its stem if it has no lemma.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rust_stemmers::{Algorithm, Stemmer};
use thiserror::Error;

use resemble_core::words::WordTexts;

/// The words that are used, and their forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// The dictionary. Words that are not in the dictionary are left out. Without a dictionary, all
    /// words are used.
    pub dictionary: Option<Arc<Dictionary>>,
    /// The basic forms of words.
    pub lemmas: Option<Arc<Lemmas>>,
    /// The language whose stemmer is used.
    pub stem: Option<Language>,
}

/// A set of words.
#[derive(Clone, PartialEq, Eq)]
pub struct Dictionary {
    words: HashSet<Box<[u8]>>,
    id: String,
}

/// A table of the basic forms of words.
#[derive(Clone, PartialEq, Eq)]
pub struct Lemmas {
    of: HashMap<Box<[u8]>, Box<[u8]>>,
    id: String,
}

/// The error for a line that does not consist of a word and its lemma.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "line {line} of the lemmas is not: a word, a tab, its basic form (one word each); mend it or \
     begin it with #"
)]
pub struct LemmaError {
    /// The number of the line, counted from 1.
    pub line: u64,
}

/// The error for a language that has no stemmer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there are no stems for {name:?}; there are {}; for others give a table of basic \
    forms", Language::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownLanguage {
    /// The unknown name.
    pub name: String,
}

/// A language that has a Snowball stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(Algorithm);

/// The languages with their names.
const LANGUAGES: [(&str, Algorithm); 18] = [
    ("arabic", Algorithm::Arabic),
    ("danish", Algorithm::Danish),
    ("dutch", Algorithm::Dutch),
    ("english", Algorithm::English),
    ("finnish", Algorithm::Finnish),
    ("french", Algorithm::French),
    ("german", Algorithm::German),
    ("greek", Algorithm::Greek),
    ("hungarian", Algorithm::Hungarian),
    ("italian", Algorithm::Italian),
    ("norwegian", Algorithm::Norwegian),
    ("portuguese", Algorithm::Portuguese),
    ("romanian", Algorithm::Romanian),
    ("russian", Algorithm::Russian),
    ("spanish", Algorithm::Spanish),
    ("swedish", Algorithm::Swedish),
    ("tamil", Algorithm::Tamil),
    ("turkish", Algorithm::Turkish),
];

impl Language {
    /// Returns the names of all languages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LANGUAGES.into_iter().map(|(name, _)| name)
    }

    /// Returns the name of the language.
    pub fn name(self) -> &'static str {
        let found = LANGUAGES.iter().find(|(_, algorithm)| *algorithm == self.0);
        found.map_or("english", |(name, _)| name)
    }

    /// Returns the stems of these words, which must be in lower case.
    pub fn stems<'a>(self, words: impl IntoIterator<Item = &'a [u8]>) -> Vec<Box<[u8]>> {
        let forms = Forms::new(&Vocabulary {
            stem: Some(self),
            ..Vocabulary::default()
        });
        let mut form = Vec::new();
        let stem = |word: &'a [u8]| {
            forms.of(word, &mut form);
            Box::from(&*form)
        };
        words.into_iter().map(stem).collect()
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(name: &str) -> Result<Self, UnknownLanguage> {
        let found = LANGUAGES.iter().find(|(known, _)| *known == name);
        found
            .map(|&(_, algorithm)| Self(algorithm))
            .ok_or_else(|| UnknownLanguage { name: name.into() })
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the words of a text in order, in lower case.
pub fn words_of(text: &[u8]) -> Vec<Box<[u8]>> {
    let (mut texts, mut all) = (WordTexts::default(), Vec::new());
    let mut sink = |word: &[u8]| all.push(Box::from(word));
    texts.update(text, &mut sink);
    texts.finish(&mut sink);
    all
}

/// Returns the name of a list of words, which is a hash of its content.
fn id_of(canonical: &[u8]) -> String {
    blake3::hash(canonical).to_hex()[..16].to_owned()
}

impl Dictionary {
    /// Reads a dictionary: all words of a file. The file usually has one word on each line.
    pub fn parse(text: &[u8]) -> Self {
        let words: HashSet<Box<[u8]>> = words_of(text).into_iter().collect();
        let mut dictionary = Self {
            words,
            id: String::new(),
        };
        dictionary.id = id_of(dictionary.to_text().as_bytes());
        dictionary
    }

    /// Returns whether the dictionary has this word.
    pub fn has(&self, word: &[u8]) -> bool {
        self.words.contains(word)
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the name of the dictionary, which is a hash of its words.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the sorted words as a file that [`Self::parse`] reads.
    pub fn to_text(&self) -> String {
        let words: BTreeSet<&[u8]> = self.words.iter().map(|word| &**word).collect();
        let mut text = String::new();
        for word in words {
            text.push_str(&String::from_utf8_lossy(word));
            text.push('\n');
        }
        text
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({}, {} words)", self.id, self.words.len())
    }
}

impl Lemmas {
    /// Reads lines that consist of a word, a tab and its basic form. Empty lines and lines that
    /// begin with `#` are skipped. If several lines have the same word, the first line is used.
    pub fn parse(text: &[u8]) -> Result<Self, LemmaError> {
        let mut of = HashMap::new();
        for (line, bytes) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            if bytes.is_empty() || bytes == b"\r" || bytes.starts_with(b"#") {
                continue;
            }
            let tab = bytes.iter().position(|&byte| byte == b'\t');
            let tab = tab.ok_or(LemmaError { line })?;
            let one = |side: &[u8]| {
                let mut words = words_of(side);
                let word = words.pop();
                word.filter(|_| words.is_empty()).ok_or(LemmaError { line })
            };
            let (word, lemma) = (one(&bytes[..tab])?, one(&bytes[tab + 1..])?);
            of.entry(word).or_insert(lemma);
        }
        let mut lemmas = Self {
            of,
            id: String::new(),
        };
        lemmas.id = id_of(lemmas.to_text().as_bytes());
        Ok(lemmas)
    }

    /// Returns the basic form of a word, if the table has the word.
    pub fn of(&self, word: &[u8]) -> Option<&[u8]> {
        self.of.get(word).map(|lemma| &**lemma)
    }

    /// Returns the name of the table, which is a hash of its content.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the sorted table as a file that [`Self::parse`] reads.
    pub fn to_text(&self) -> String {
        let lines: BTreeMap<&[u8], &[u8]> = self.of.iter().map(|(a, b)| (&**a, &**b)).collect();
        let mut text = String::new();
        for (word, lemma) in lines {
            text.push_str(&String::from_utf8_lossy(word));
            text.push('\t');
            text.push_str(&String::from_utf8_lossy(lemma));
            text.push('\n');
        }
        text
    }
}

impl fmt::Debug for Lemmas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lemmas({}, {} words)", self.id, self.of.len())
    }
}

/// Finds the form in which a word is used.
pub(crate) struct Forms {
    vocabulary: Vocabulary,
    stemmer: Option<Stemmer>,
}

impl Forms {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        Self {
            vocabulary: vocabulary.clone(),
            stemmer: vocabulary.stem.map(|stem| Stemmer::create(stem.0)),
        }
    }

    /// Writes the form of a word into `form`. Returns `false` if the word is left out.
    #[inline]
    pub(crate) fn of(&self, word: &[u8], form: &mut Vec<u8>) -> bool {
        form.clear();
        let Vocabulary {
            dictionary, lemmas, ..
        } = &self.vocabulary;
        if dictionary.as_ref().is_some_and(|known| !known.has(word)) {
            return false;
        }
        if let Some(lemma) = lemmas.as_ref().and_then(|lemmas| lemmas.of(word)) {
            form.extend_from_slice(lemma);
            return true;
        }
        match (&self.stemmer, std::str::from_utf8(word)) {
            (Some(stemmer), Ok(text)) => form.extend_from_slice(stemmer.stem(text).as_bytes()),
            _ => form.extend_from_slice(word),
        }
        true
    }
}

impl fmt::Debug for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vocabulary.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(vocabulary: &Vocabulary, word: &str) -> Option<String> {
        let (forms, mut form) = (Forms::new(vocabulary), Vec::new());
        let counts = forms.of(word.as_bytes(), &mut form);
        counts.then(|| String::from_utf8(form).expect("UTF-8"))
    }

    #[test]
    fn a_dictionary_is_the_set_of_its_words() {
        let one = Dictionary::parse(b"zebra\nApple\nnapping\n");
        assert!(one.has(b"apple") && !one.has(b"Apple") && !one.has(b"app"));
        assert_eq!(one.to_text(), "apple\nnapping\nzebra\n");
        let other = Dictionary::parse(b"apple  napping apple, zebra");
        assert_eq!((one.id(), one.len()), (other.id(), 3));
        assert_ne!(one.id(), Dictionary::parse(b"zebra").id());
        assert!(Dictionary::parse(b" ").is_empty());
    }

    #[test]
    fn the_dictionary_is_asked_first_then_the_lemma_then_the_stem() {
        let mut vocabulary = Vocabulary {
            lemmas: Some(Arc::new(
                Lemmas::parse(b"# verbs\nwent\tgo\nwent\twend\r\n\nsongs\tsong").expect("right"),
            )),
            ..Vocabulary::default()
        };
        assert_eq!(form(&vocabulary, "went").as_deref(), Some("go"));
        assert_eq!(form(&vocabulary, "singing").as_deref(), Some("singing"));
        vocabulary.stem = Some("english".parse().expect("a language"));
        assert_eq!(form(&vocabulary, "singing").as_deref(), Some("sing"));
        assert_eq!(form(&vocabulary, "went").as_deref(), Some("go"));
        vocabulary.dictionary = Some(Arc::new(Dictionary::parse(b"went go")));
        assert_eq!(form(&vocabulary, "singing"), None);
        assert_eq!(form(&vocabulary, "went").as_deref(), Some("go"));
    }

    #[test]
    fn faults_are_told() {
        for (text, line) in [("a\tb\nc", 2), ("a b\tc", 1), ("a\t", 1), ("\tb", 1)] {
            assert_eq!(Lemmas::parse(text.as_bytes()), Err(LemmaError { line }));
        }
        let unknown = "czech".parse::<Language>().expect_err("none");
        assert!(unknown.to_string().contains("english"), "{unknown}");
        let english: Language = "english".parse().expect("a language");
        assert_eq!(
            english.stems([&b"stones"[..], b"lifted", b"\xff"]),
            [&b"stone"[..], b"lift", b"\xff"].map(Box::from)
        );
        for name in Language::names() {
            assert_eq!(name.parse::<Language>().expect("known").name(), name);
        }
    }
}
