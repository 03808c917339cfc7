//! Prints similar directories for people.

use std::io;

use resemble_proto::documents::DirsDocument;

use crate::human::{human_count, human_size};
use crate::lines::{Cell, TextWriter, Tint};
use crate::rows::score;

/// Prints the pairs of directories in the order of the document. A line has both containments, the
/// shared bytes, the numbers of files, and the names.
pub fn print(out: &mut TextWriter<'_>, document: &DirsDocument) -> io::Result<()> {
    let pairs = &document.body.pairs;
    let Some(biggest) = pairs.iter().map(|pair| pair.shared_bytes).max() else {
        return Ok(());
    };
    let total = document.header.total;
    let head = match total {
        1 => format!(
            "1 pair of similar directories, {} in both",
            human_size(biggest)
        ),
        _ => format!(
            "{} pairs of similar directories, the biggest with {} in both",
            human_count(total),
            human_size(biggest)
        ),
    };
    out.say(head, Tint::Heading)?;
    let style = out.style();
    let has_titles = style.terminal;
    // In a pipe there are no titles, because each line is a pair.
    let titles = has_titles.then(|| {
        let right =
            ["A in B", "B in A", "in both", "files"].map(|title| Cell::right(title, Tint::Faint));
        let left = ["A", "B"].map(|title| Cell::left(title, Tint::Faint));
        right.into_iter().chain(left).collect()
    });
    let pairs = pairs.iter().map(|pair| {
        let tint = Tint::of_pair(pair.identical);
        let identical = pair.identical && !pair.estimate;
        let share = |share| score(share, identical, pair.estimate, tint);
        vec![
            share(pair.a_in_b),
            share(pair.b_in_a),
            Cell::right(human_size(pair.shared_bytes), Tint::Plain),
            Cell::right(
                format!(
                    "{}/{}{}",
                    human_count(pair.files_a),
                    human_count(pair.files_b),
                    if has_titles { "" } else { " files" }
                ),
                Tint::Faint,
            ),
            style.name(&pair.a, Tint::Plain),
            style.name(&pair.b, Tint::Plain),
        ]
    });
    out.print(titles.into_iter().chain(pairs))
}
