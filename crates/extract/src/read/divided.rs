//! Joins words that are divided at line ends.
//!
//! A page is compared by words with the document from which it was made. So a word that is divided
//! at the end of a line must be joined. But a hyphen at the end of a line may belong to the word
//! (`thirty-four`). So words are joined only if the document seems to divide words. That is the
//! case if at least three lines, and more than one line in fifty, seem to end within a word.

use crate::read::Take;

/// Passes the text to `to`, with divided words joined.
pub(super) fn joined(text: &str, mut to: impl FnMut(&str) -> Take) -> Take {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (mut all, mut divided) = (0usize, 0usize);
    let mut before = lines.next().unwrap_or_default();
    for line in lines {
        all += 1;
        divided += usize::from(is_divided(before, line));
        before = line;
    }
    let joins = divided >= 3 && divided * 50 > all;
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    while let Some(line) = lines.next() {
        let joined = joins && lines.peek().is_some_and(|next| is_divided(line, next));
        let line = if joined {
            line.trim_end().trim_end_matches(is_hyphen)
        } else {
            line
        };
        to(line)?;
        if !joined {
            to("\n")?;
        }
    }
    Ok(())
}

fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{2010}' | '\u{ad}')
}

/// Returns whether a word may continue from the end of `line` to the beginning of `next`.
fn is_divided(line: &str, next: &str) -> bool {
    let mut end = line.trim_end().chars().rev();
    end.next().is_some_and(is_hyphen)
        && end.next().is_some_and(char::is_alphabetic)
        && next.trim_start().starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {

    fn all(text: &str) -> String {
        let mut words = String::new();
        super::joined(text, |piece| {
            words.push_str(piece);
            Ok(())
        })
        .unwrap();
        words
    }

    #[test]
    fn divided_words_are_put_together_where_words_are_divided() {
        let divided = "one exam-\nple of a di-\nvided text with thirty-\nfour lines";
        assert_eq!(
            all(divided),
            "one example of a divided text with thirtyfour lines\n"
        );
        let once = "one of thirty-\nfour lines\nin a text";
        assert_eq!(all(once), format!("{once}\n"));
        assert_eq!(all("A-\nB-\nC-\nD"), "A-\nB-\nC-\nD\n");
    }
}
