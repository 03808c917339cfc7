//! Judges how well a single-byte encoding fits the bytes of a text.
//!
//! The non-ASCII characters of words reveal a wrong encoding. A wrong encoding produces signs and
//! capitals within words. It also produces neighbouring letters of different scripts, and letters
//! that are rare in every language. Each non-ASCII character gets points for its neighbours and its
//! frequency, mostly from -4 to 1. The sum of the points is the evidence for an encoding.

use super::{Charset, CodePage};
use encoding_rs::{MACINTOSH, WINDOWS_1258, X_MAC_CYRILLIC};

/// The maximum number of bytes that are judged. The first of them is near the first non-ASCII byte.
const JUDGED: usize = 16 << 10;

/// The evidence by which another encoding must exceed the guessed encoding in order to replace it.
/// It is counted per character that the two encodings decode differently. If few characters differ,
/// more is required per character.
const MARGIN: f64 = 0.2;

/// The minimum evidence per non-ASCII character for replacing the guessed encoding.
const LEAST: f64 = 0.4;

/// Returns the encoding with the most evidence. It is the guessed encoding, or an encoding that the
/// guesser (chardetng) does not know.
pub(super) fn best(guessed: Charset, bytes: &[u8]) -> Charset {
    let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    // Starts two bytes earlier, because characters are judged by their neighbours.
    let judged = &bytes[start.saturating_sub(2)..];
    let judged = &judged[..judged.len().min(JUDGED)];
    let others = CodePage::all()
        .map(Charset::Paged)
        .chain([MACINTOSH, X_MAC_CYRILLIC, WINDOWS_1258].map(Charset::Listed));
    let mut best = None::<(Charset, Vec<char>, f64)>;
    for other in others.filter(|other| *other != guessed) {
        let text: Vec<char> = other.decode(judged).chars().collect();
        let found = evidence(&text);
        if best.as_ref().is_none_or(|(.., most)| found > *most) {
            best = Some((other, text, found));
        }
    }
    let of_guessed: Vec<char> = guessed.decode(judged).chars().collect();
    let Some((other, text, found)) = best else {
        return guessed;
    };
    let beyond = text
        .iter()
        .filter(|character| !character.is_ascii())
        .count();
    // Texts of different lengths cannot be compared character by character. Then every non-ASCII
    // character counts as different.
    let differing = if text.len() == of_guessed.len() {
        text.iter()
            .zip(&of_guessed)
            .filter(|(one, other)| one != other)
            .count()
    } else {
        text.iter()
            .filter(|character| !character.is_ascii())
            .count()
    };
    let advantage = found - evidence(&of_guessed);
    let differing = differing.max(1) as f64;
    let is_better = advantage > differing * MARGIN + 0.8 * differing.sqrt();
    if is_better && found >= LEAST * beyond as f64 {
        other
    } else {
        guessed
    }
}

/// Sums the evidence of all non-ASCII characters in a text.
fn evidence(text: &[char]) -> f64 {
    let at = |at: Option<usize>| at.and_then(|at| text.get(at)).copied().unwrap_or(' ');
    let beyond = text
        .iter()
        .enumerate()
        .filter(|(_, character)| !character.is_ascii());
    beyond
        .map(|(here, &character)| judged(at(here.checked_sub(1)), character, at(Some(here + 1))))
        .sum()
}

/// The scripts of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Latin,
    Cyrillic,
    Other,
}

fn script(character: char) -> Option<Script> {
    if !character.is_alphabetic() {
        return None;
    }
    Some(match character {
        '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        _ => Script::Other,
    })
}

/// Judges a non-ASCII character by the characters before and after it.
fn judged(before: char, character: char, after: char) -> f64 {
    let beside = [before, after];
    let letters = beside.iter().filter(|c| c.is_alphabetic()).count();
    match character {
        '\u{80}'..='\u{9f}' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}' => -4.0,
        // Combining marks are expected only after Vietnamese vowels.
        '\u{300}'..='\u{36f}' => {
            if "aăâeêioôơuưyAĂÂEÊIOÔƠUƯY".contains(before) {
                1.0
            } else {
                -2.0
            }
        }
        '’' | '\u{a0}' | '\u{ad}' | '·' => 0.3,
        'ª' | 'º' | '´' | '¨' | '¸' | '¯' | 'ƒ' | 'µ' | '¢' | '¥' | '¤' | '¬' | '¦' | '¶' => {
            -0.3 - letters as f64
        }
        '…' if !after.is_alphabetic() => 0.9,
        '•' => 0.3 - letters as f64,
        '«' | '»' | '‹' | '›' | '“' | '”' | '„' | '‚' | '‘' | '–' | '—' | '…' | '°' | '§' | '©'
        | '®' | '™' | '€' | '£' | '¿' | '¡' | '№' => match letters {
            2 => -1.5,
            _ => 0.4,
        },
        // Box-drawing characters usually have no letters beside them.
        '\u{2500}'..='\u{259f}' => match letters {
            0 => 0.3,
            _ => -1.0,
        },
        _ => match script(character) {
            Some(script) => letter(before, (character, script), after),
            None => -0.4 - letters as f64,
        },
    }
}

/// Judges a letter by the characters before and after it.
fn letter(before: char, (letter, of): (char, Script), after: char) -> f64 {
    let mut sum = commonness(letter);
    let differs = |c: char| script(c).is_some_and(|script| script != of);
    // Only texts of East Asia mix scripts within words, and their letters have no case. So a letter
    // with case gets fewer points here.
    let mixed = if letter.is_lowercase() || letter.is_uppercase() {
        2.0
    } else {
        0.5
    };
    sum -= mixed * [before, after].iter().filter(|c| differs(**c)).count() as f64;
    if letter.is_uppercase() && before.is_lowercase() {
        sum -= 1.5;
    }
    if letter.is_lowercase() && after.is_uppercase() {
        sum -= 1.5;
    }
    // A letter without neighbours is a word by itself. Few letters are words.
    if !before.is_alphabetic() && !after.is_alphabetic() {
        sum -= if "àèéóòíоиваяускійуÀÈÉÓОИВАЯУСКІ".contains(letter) {
            0.2
        } else {
            1.0
        };
    }
    // A small letter rarely follows a digit directly.
    if letter.is_lowercase() && before.is_ascii_digit() {
        sum -= 0.5;
    }
    sum
}

/// Judges how common a letter is in the languages that have it.
fn commonness(letter: char) -> f64 {
    let small = letter.to_lowercase().next().unwrap_or(letter);
    let common = match small {
        'о' | 'е' | 'а' | 'и' | 'н' | 'т' | 'с' => 1.2,
        'é' | 'è' | 'à' | 'ê' | 'ç' | 'ä' | 'ö' | 'ü' | 'ß' | 'á' | 'í' | 'ó' | 'ú' | 'ñ' | 'ã'
        | 'å' | 'ø' | 'â' | 'î' | 'ô' | 'р' | 'в' | 'л' | 'к' | 'м' | 'д' | 'п' | 'у' | 'і'
        | 'ј' => 1.0,
        'ą' | 'ć' | 'ę' | 'ł' | 'ń' | 'ś' | 'ż' | 'č' | 'ě' | 'ř' | 'š' | 'ž' | 'ő' | 'ű' | 'ă'
        | 'ş' | 'ţ' | 'ğ' | 'ı' | 'ā' | 'ē' | 'ī' | 'ū' | 'ė' | 'ų' | 'į' | 'ơ' | 'ư' => {
            0.9
        }
        'ë' | 'ï' | 'ý' | 'ð' | 'þ' => 0.8,
        'ů' | 'đ' | 'ź' | 'ď' | 'ň' | 'ť' | 'ľ' | 'ģ' | 'ķ' | 'ļ' | 'ņ' => 0.6,
        'ч' | 'й' | 'х' | 'ж' | 'ш' | 'ю' | 'ц' => 0.4,
        'ÿ' => 0.2,
        'щ' | 'э' | 'ф' | 'ъ' | 'ё' | 'є' | 'ї' | 'ў' | 'љ' | 'њ' | 'ћ' | 'ђ' => 0.1,
        'ĺ' | 'ŕ' => 0.0,
        'ѓ' | 'ќ' | 'ѕ' | 'џ' | 'ґ' => -0.3,
        _ => 0.7,
    };
    // Capitals are rarer than small letters.
    if letter == small {
        common
    } else {
        common - 0.3
    }
}
