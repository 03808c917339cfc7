//! Makes any number of synthetic texts for runs at scale, from the words of a collection.
//!
//! Each word is taken from a random place of the collection. So a word is as frequent in the texts
//! as in the collection. A text depends only on the collection, the seed and the text's number, so
//! no text has to be stored.

use resemble_core::words::WordTexts;

use super::{Collection, Random};

/// The number of pages in a family. They are versions of one page.
pub const FAMILY: u32 = 8;

/// The number of lines of a page, without the lines that all pages have. Each line has [`LINE`]
/// words.
const LINES: u64 = 60;
const LINE: usize = 12;

/// The number of words in a passage of a thesis.
const PASSAGE: usize = 65;

/// The number of new passages at the start of each thesis. Later theses can quote these passages.
const OWN: u64 = 4;

/// The number of theses in a department. The theses of a department draw from [`COMMON`] common
/// passages.
const DEPARTMENT: u32 = 1000;
const COMMON: usize = 40;

/// The source of synthetic texts.
#[derive(Clone, Debug)]
pub struct MadeTexts {
    seed: u64,
    /// The words of the collection, each followed by a space.
    text: Vec<u8>,
    /// The offset of each word in `text`, and at the end the length of `text`.
    starts: Vec<u32>,
}

/// Returns a pseudo-random number that depends on all numbers in `parts`.
fn number(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |all, &part| Random(all ^ part).draw())
}

impl MadeTexts {
    /// Creates a source of the words that consist only of the letters a to z. Returns `None` if the
    /// collection has no such word.
    pub fn new(collection: &Collection, seed: u64) -> Option<Self> {
        let (mut text, mut starts) = (Vec::new(), vec![0]);
        let mut words = WordTexts::default();
        let mut take = |word: &[u8]| {
            if word.iter().all(u8::is_ascii_lowercase) {
                text.extend_from_slice(word);
                text.push(b' ');
                starts.push(text.len() as u32);
            }
        };
        for one in &collection.texts {
            words.update(&one.bytes, &mut take);
            words.finish(&mut take);
        }
        let seed = number(&[seed]);
        (starts.len() > 1).then_some(Self { seed, text, starts })
    }

    /// Returns the number of words from which texts are drawn.
    const fn words(&self) -> usize {
        self.starts.len() - 1
    }

    fn put(&self, parts: [u64; 3], words: usize, out: &mut Vec<u8>) {
        let [a, b, c] = parts;
        let mut random = Random(number(&[self.seed, a, b, c]));
        for _ in 0..words {
            let at = random.below(self.words());
            let (from, to) = (self.starts[at] as usize, self.starts[at + 1] as usize);
            out.extend_from_slice(&self.text[from..to]);
        }
        out.push(b'\n');
    }

    /// Returns a page of 4 KB. Eight consecutive pages are a family of versions: each version
    /// replaces about a twentieth of the lines of the version before it. One in six versions has no
    /// change. The last five lines are the same on all pages.
    pub fn page(&self, page: u32) -> Vec<u8> {
        let (family, last) = (u64::from(page / FAMILY), u64::from(page % FAMILY));
        let draw = |version, line| Random(number(&[self.seed, family, version, line]));
        let is_copy = |version: u64| draw(version, LINES).below(6) == 0;
        let edited: Vec<u64> = (1..=last).filter(|&version| !is_copy(version)).collect();
        let mut text = Vec::new();
        for line in 0..LINES {
            let changes = edited.iter().rev();
            let changed = changes.copied().find(|&at| draw(at, line).below(20) == 0);
            self.put([family, changed.unwrap_or(0), line], LINE, &mut text);
        }
        for line in 0..5 {
            self.put([u64::MAX, 0, line], LINE, &mut text);
        }
        text
    }

    /// Returns a thesis of 4 to 127 passages, 37 on average. The first four passages are new. On
    /// average, 24 later passages consist of 17 new ones, 6 that are quoted from any earlier
    /// thesis, and a common passage of the department.
    pub fn thesis(&self, thesis: u32) -> Vec<u8> {
        let this = u64::from(thesis);
        let mut random = Random(number(&[self.seed, this]));
        let least = 4 << random.below(5);
        let passages = (least + random.below(least)) as u64;
        let mut text = Vec::new();
        for passage in 0..passages {
            let from = match random.below(24) {
                0 if passage >= OWN => {
                    let department = u64::from(thesis / DEPARTMENT);
                    [u64::MAX, department, random.below(COMMON) as u64]
                }
                1..=6 if passage >= OWN && thesis > 0 => {
                    let quoted = random.below(thesis as usize) as u64;
                    [quoted, 0, random.below(OWN as usize) as u64]
                }
                _ => [this, 0, passage],
            };
            self.put(from, PASSAGE, &mut text);
        }
        text
    }
}

#[cfg(test)]
impl MadeTexts {
    /// Creates a source of texts with 4,000 equally frequent words.
    pub(crate) fn of_letters(seed: u64) -> Self {
        let letter = |word: usize, place: u32| b'a' + (word / 26usize.pow(place) % 26) as u8;
        let word = |word: usize| [letter(word, 0), letter(word, 1), letter(word, 2), b' '];
        Self {
            seed,
            text: (0..4000).flat_map(word).collect(),
            starts: (0..=4000).map(|word| word * 4).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::*;

    #[test]
    fn words_are_those_of_the_collection_and_the_seed_decides() {
        let made = |seed| {
            let text = "Some words, 27 of them: some ARE letters; some (Résumé) are more.";
            let collection = Collection {
                texts: vec![Text {
                    name: "a".to_owned(),
                    bytes: text.as_bytes().to_vec(),
                }],
                ..Collection::default()
            };
            MadeTexts::new(&collection, seed).expect("words")
        };
        assert_eq!(
            made(1).text,
            b"some words of them some are letters some are more "
        );
        assert_eq!(made(1).page(9), made(1).page(9));
        assert_ne!(made(1).page(9), made(2).page(9));
        assert!(MadeTexts::new(&Collection::default(), 1).is_none());
    }

    #[test]
    fn versions_of_a_page_share_most_lines_and_other_pages_only_the_last_five() {
        let made = MadeTexts::of_letters(1);
        let common = |a: u32, b: u32| {
            let (a, b) = (made.page(a), made.page(b));
            let lines = |text: &[u8]| -> Vec<Vec<u8>> {
                text.split(|&byte| byte == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect()
            };
            let (a, b) = (lines(&a), lines(&b));
            assert_eq!((a.len(), b.len()), (66, 66));
            a.iter().zip(&b).filter(|(a, b)| a == b).count() - 1
        };
        let copies = (0..800).filter(|page| page % 8 != 7 && common(*page, page + 1) == 65);
        assert!((80..160).contains(&copies.count()));
        assert!((0..80).all(|page| page % 8 == 7 || common(page, page + 1) >= 50));
        assert_eq!(common(7, 8), 5);
    }

    #[test]
    fn theses_have_passages_of_others() {
        let made = MadeTexts::of_letters(1);
        let mut own = std::collections::HashSet::new();
        let (mut all, mut again) = (0, 0);
        for thesis in 0..500 {
            for passage in made.thesis(thesis).split(|&byte| byte == b'\n') {
                if !passage.is_empty() {
                    all += 1;
                    again += usize::from(!own.insert(passage.to_vec()));
                }
            }
        }
        assert!((15_000..22_000).contains(&all), "{all}");
        let share = again as f64 / f64::from(all);
        assert!((0.23..0.29).contains(&share), "{share}");
    }
}
