//! Two texts that differ only in numbers.
//!
//! Examples are two invoices, the reports of two months, or two log lines. The words are the same;
//! the amounts, dates and ordinals differ. For such a pair, the fact that only numbers differ is
//! more useful than a score.
//!
//! A text is read as words and numbers in order. Separators and case are ignored. **A word** is a
//! run of letters. **A number** is a run of digits. Single signs between digits belong to the
//! number (`1,234.50`, `2026-11-21`, `12:30`, `3/4`). Letters next to digits are a word of their
//! own. So `17th`, `No. 17` and `INV2025` are each a number and a word, and `17th` and `18th`
//! differ in a number. Two texts differ only in numbers if they have the same words, and numbers at
//! the same places. At least one number must differ, and there must be at least five words.

/// The minimum number of words in a text that is compared.
const LEAST_WORDS: u64 = 5;

/// Signs that join digits to one number.
const JOINING: &[u8] = b".,:/-'_";

/// The differences of two texts that differ only in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnlyNumbers {
    /// Counts the numbers that differ.
    pub count: u64,
    /// The first differences. Each has the number in the first text and the number in the second
    /// text.
    pub first: Vec<(String, String)>,
}

/// Compares two texts (UTF-8). Returns the count of the differences, and the first `most`
/// differences. `None` if the texts are equal, differ in more than numbers, or have fewer than five
/// words.
pub fn only_numbers(a: &[u8], b: &[u8], most: usize) -> Option<OnlyNumbers> {
    let mut found = OnlyNumbers {
        count: 0,
        first: Vec::new(),
    };
    let (mut a, mut b) = (Tokens(a), Tokens(b));
    let mut words = 0;
    loop {
        match (a.next(), b.next()) {
            (None, None) => break,
            (Some(Token::Word(a)), Some(Token::Word(b))) if equal(a, b) => words += 1,
            (Some(Token::Number(a)), Some(Token::Number(b))) => {
                if a != b {
                    found.count += 1;
                    if found.first.len() < most {
                        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                        found.first.push((text(a), text(b)));
                    }
                }
            }
            _ => return None,
        }
    }
    (found.count > 0 && words >= LEAST_WORDS).then_some(found)
}

/// Returns whether two words are equal except for the case of their letters.
fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.eq_ignore_ascii_case(b) {
        return true;
    }
    if a.is_ascii() || b.is_ascii() {
        return false;
    }
    match (std::str::from_utf8(a), std::str::from_utf8(b)) {
        (Ok(a), Ok(b)) => a
            .chars()
            .flat_map(char::to_lowercase)
            .eq(b.chars().flat_map(char::to_lowercase)),
        _ => false,
    }
}

enum Token<'a> {
    Word(&'a [u8]),
    Number(&'a [u8]),
}

/// The part of a text that is not read yet.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while let Some(&first) = self.0.first() {
            if first.is_ascii_digit() {
                return Some(Token::Number(self.take(number(self.0))));
            }
            let length = word(self.0);
            if length > 0 {
                return Some(Token::Word(self.take(length)));
            }
            let skipped = character(self.0).map_or(1, |(_, length)| length);
            self.take(skipped);
        }
        None
    }
}

impl<'a> Tokens<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.clamp(1, self.0.len()));
        self.0 = rest;
        taken
    }
}

/// Returns the length in bytes of the number at the beginning.
fn number(text: &[u8]) -> usize {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let mut length = 0;
    while digit(length)
        || (text.get(length).is_some_and(|b| JOINING.contains(b)) && digit(length + 1))
    {
        length += 1;
    }
    length
}

/// Returns the length in bytes of the word at the beginning, 0 if there is no word.
fn word(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some(&byte) = text.get(length) {
        if byte.is_ascii() {
            if !byte.is_ascii_alphabetic() {
                break;
            }
            length += 1;
            continue;
        }
        match character(&text[length..]) {
            Some((character, bytes)) if character.is_alphabetic() => length += bytes,
            // A byte of another encoding counts as a letter.
            None => length += 1,
            Some(_) => break,
        }
    }
    length
}

/// Returns the character at the beginning and its length in bytes; `None` if it is not UTF-8.
fn character(text: &[u8]) -> Option<(char, usize)> {
    let head = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(head) => head,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
    };
    let character = valid.chars().next()?;
    Some((character, character.len_utf8()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(a: &str, b: &str) -> Option<Vec<(String, String)>> {
        let found = only_numbers(a.as_bytes(), b.as_bytes(), 10)?;
        assert_eq!(found.count as usize, found.first.len());
        Some(found.first)
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn invoices_differ_in_number_date_and_amount() {
        let a =
            "Invoice No. 17 of 2026-11-21: for our services we ask for 1,234.50 EUR until the 5th.";
        let b =
            "Invoice no. 18 of 2026-12-01: for our services\nwe ask for 990.00 EUR until the 12th.";
        assert_eq!(
            changed(a, b),
            Some(vec![
                pair("17", "18"),
                pair("2026-11-21", "2026-12-01"),
                pair("1,234.50", "990.00"),
                pair("5", "12"),
            ])
        );
    }

    #[test]
    fn other_words_missing_numbers_and_equal_texts_are_none_of_it() {
        let a = "For our services we ask for 17 EUR until tomorrow.";
        for b in [
            a,
            "For our services we ask for 18 USD until tomorrow.",
            "For our services we ask for EUR until tomorrow.",
            "For our services we ask for 17 18 EUR until tomorrow.",
            "For our services we ask for seventeen EUR until tomorrow.",
            "",
        ] {
            assert_eq!(changed(a, b), None, "{b}");
        }
        assert_eq!(changed("only 17 here", "only 18 here"), None);
    }

    #[test]
    fn letters_beyond_ascii_are_letters() {
        let a = "Größe ÄÖÜ 17 über Straße und Bäche — 中文";
        let b = "größe äöü 18 über straße und bäche 中文";
        assert_eq!(changed(a, b), Some(vec![pair("17", "18")]));
        assert_eq!(changed(a, &b.replace("bäche", "buche")), None);
    }

    #[test]
    fn many_are_counted_and_few_are_named() {
        let text = |n: u32| -> String {
            let lines = (0..100).map(|line| format!("line {line} of {n} has words\n"));
            lines.collect::<Vec<_>>().concat()
        };
        let found = only_numbers(text(1).as_bytes(), text(2).as_bytes(), 3).expect("only numbers");
        assert_eq!((found.count, found.first.len()), (100, 3));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(a: Vec<u8>, b: Vec<u8>) {
            let _any = only_numbers(&a, &b, 2);
            prop_assert_eq!(only_numbers(&a, &a, 2), None);
        }

        #[test]
        fn other_numbers_in_the_same_text_are_found(
            numbers in prop::collection::vec(any::<(u32, u32)>(), 1..20),
        ) {
            let text = |side: fn(&(u32, u32)) -> u32| -> String {
                let sentence = |pair| format!("some words of text {} and then; ", side(pair));
                numbers.iter().map(sentence).collect::<Vec<_>>().concat()
            };
            let differing: Vec<_> = numbers
                .iter()
                .filter(|pair| pair.0 != pair.1)
                .map(|pair| (pair.0.to_string(), pair.1.to_string()))
                .collect();
            let (a, b) = (text(|pair| pair.0), text(|pair| pair.1));
            let found = only_numbers(a.as_bytes(), b.as_bytes(), 100);
            prop_assert_eq!(found.map_or(Vec::new(), |found| found.first), differing);
        }
    }
}
