//! The measures of two contents by what is in them.
//!
//! They are a function of the two contents alone (and of what the user marked as template): the
//! same two have the same figures, unit and relation in every question.

use resemble_core::similarity::proof::{self, Provable};
use resemble_core::similarity::{self, Templates, Unit};
use resemble_core::{ByteLen, ContentKind, Measures, Relation, Score};

/// What two contents that are not identical turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proven {
    /// How the two are related, if they are.
    pub relation: Option<Relation>,
    /// Their figures.
    pub measures: Measures,
    /// What the measures are shares of.
    pub unit: Unit,
    /// The sizes of both without their templates.
    pub sizes: (ByteLen, ByteLen),
    /// They are two texts with a [`PASSAGE`](proof::PASSAGE) in common.
    pub has_passage: bool,
}

/// A content of this kind ready to be measured against others, without what is template.
pub fn provable(templates: &Templates, kind: ContentKind, bytes: Vec<u8>) -> Provable {
    Provable::without(templates, kind, bytes)
}

/// Measures two contents that are not identical: in words if both are texts, unless bytes are asked
/// for.
pub fn prove(a: &Provable, b: &Provable, asked: Unit, min_shared: ByteLen) -> Proven {
    judged(a.measure(b, asked), (a.size(), b.size()), min_shared)
}

/// What these measures of contents of these sizes are.
pub fn judged(proven: proof::Proven, sizes: (ByteLen, ByteLen), min_shared: ByteLen) -> Proven {
    let proof::Proven {
        measures,
        unit,
        is_same_text,
        has_passage,
    } = proven;
    let relation = if is_same_text {
        Some(Relation::SameText)
    } else if measures.shared_bytes < min_shared {
        None
    } else {
        similarity::relation(false, sizes.0, sizes.1, &measures, min_shared)
    };
    let is_one_phrase = relation.is_some_and(|relation| relation != Relation::SameText)
        && is_one_phrase(unit, &measures, sizes);
    Proven {
        relation: relation.filter(|_| !is_one_phrase),
        measures,
        unit,
        sizes,
        has_passage,
    }
}

/// So many words are covered for each shingle in common, if they are not repeated.
const FOR_A_SHINGLE: f64 = 3.0;

/// So many bytes are covered for each window in common, if they are not repeated: those of runs of
/// 68 bytes and more.
const FOR_A_WINDOW: f64 = 16.0;

/// Whether most of what two contents share is the same few runs again and again: each row of a dump
/// begins as in every other dump of the kind, each line of a log with a year, and programs are
/// padded with one byte.
///
/// What is covered beyond three words for each *distinct* shingle in common is repeated; how many
/// of these each text has is taken to go by the sizes. A shingle lies over five words, but short
/// runs alone that come to a quarter of a text are accidents of records. So it is with bytes.
fn is_one_phrase(unit: Unit, measures: &Measures, sizes: (ByteLen, ByteLen)) -> bool {
    let of_both = shared_once(measures, sizes);
    let for_one = match unit {
        Unit::Words => FOR_A_SHINGLE,
        Unit::Bytes => FOR_A_WINDOW,
    };
    let once = |share: Option<Score>, size: ByteLen| {
        let most = for_one * of_both / size.0.max(1) as f64;
        share.map_or(0.0, Score::get).min(most)
    };
    once(measures.a_in_b, sizes.0).max(once(measures.b_in_a, sizes.1)) < Relation::PARTLY
}

/// Bytes that the *distinct* shingles in common come to, each counted for one word.
fn shared_once(measures: &Measures, sizes: (ByteLen, ByteLen)) -> f64 {
    let resemblance = measures.resemblance.map_or(0.0, Score::get);
    resemblance / (1.0 + resemblance) * (sizes.0 + sizes.1).0 as f64
}

/// [`prove`] of two contents that are compared with no other.
pub fn prove_once(
    templates: &Templates,
    (a, b): (Vec<u8>, Vec<u8>),
    asked: Unit,
    min_shared: ByteLen,
) -> Proven {
    // Of the whole: what templates leave may begin anywhere.
    let ready = |bytes: Vec<u8>| provable(templates, ContentKind::of_whole(&bytes), bytes);
    prove(&ready(a), &ready(b), asked, min_shared)
}

#[cfg(test)]
mod tests {
    use resemble_testutil::prose::words;
    use resemble_testutil::random::noise;

    use super::*;

    fn of(a: &str, b: &str) -> Proven {
        let files = (a.as_bytes().to_vec(), b.as_bytes().to_vec());
        prove_once(
            &Templates::default(),
            files,
            Unit::Words,
            Relation::MIN_SHARED,
        )
    }

    #[test]
    fn layout_is_no_difference() {
        let text = words(0, 200);
        let wrapped = text.to_uppercase().replace(' ', "\n");
        let found = of(&text, &wrapped);
        assert_eq!(
            (found.relation, found.unit),
            (Some(Relation::SameText), Unit::Words)
        );
        let half = format!("{}{}", wrapped, words(9000, 200));
        assert_eq!(of(&text, &half).relation, Some(Relation::Contained));
        assert_eq!(of(&half, &text).relation, Some(Relation::Contains));
    }

    #[test]
    fn few_words_and_strangers_have_no_relation() {
        let few = words(0, 10);
        assert_eq!(of(&few, &few.to_uppercase()).relation, None);
        assert_eq!(of(&words(0, 200), &words(900, 200)).relation, None);
    }

    /// What a small file has in common with a large one is judged by the small one's bytes: those
    /// of the large one may be the same line a hundred times.
    #[test]
    fn few_shared_bytes_make_no_relation() {
        let line = "one two three four five six seven eight. ";
        let small = format!("{line}{}", words(0, 40));
        let large = format!("{}{}", line.repeat(300), words(900, 3000));
        for found in [of(&small, &large), of(&large, &small)] {
            assert!(found.measures.containment() > Some(Score::new(Relation::PARTLY)));
            assert!(found.measures.shared_bytes < Relation::MIN_SHARED);
            assert_eq!(found.relation, None);
        }
    }

    /// The figures stay what they are by the definition.
    #[test]
    fn a_phrase_that_is_repeated_makes_no_relation() {
        let dump = |from: usize| -> String {
            let values = (0..200).map(|at| words(from + 9 * at, 9).replace(' ', "', '"));
            let row =
                |values| format!("INSERT INTO one (two, three, four, five) VALUES ('{values}');");
            values.map(row).collect()
        };
        let found = of(&dump(0), &dump(9000));
        assert!(found.measures.containment() > Some(Score::new(Relation::PARTLY)));
        assert_eq!(found.relation, None, "{found:?}");
        let (all, half) = (dump(0), dump(0)[..9000].to_owned());
        assert_eq!(of(&all, &half).relation, Some(Relation::Contains));
        // What two files repeat and little else is no phrase of theirs.
        let line = "all work and no play makes Jack a dull boy\n";
        let (many, few) = (line.repeat(300), line.repeat(100) + "\nThe end of it.");
        assert_eq!(of(&many, &few).relation, Some(Relation::Near));
    }

    #[test]
    fn a_passage_of_a_large_text_is_no_phrase() {
        let (large, passage) = (words(0, 90_000), words(500, 60));
        assert_eq!(of(&passage, &large).relation, Some(Relation::Contained));
        let edited = |from: usize| -> String {
            let parts = (0..80).map(|at| format!("{} {}", words(8 * at, 7), words(from + at, 1)));
            parts.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of(&edited(2000), &edited(3000)).relation,
            Some(Relation::Near)
        );
    }

    /// A dump of a table whose statements name its columns in this order, from the row of a number.
    fn dump(columns: &str, from: usize, rows: usize) -> String {
        let create = "CREATE TABLE people (id int, name text, street text, city text, day date, \
                      amount numeric, state text, mail text);\n";
        let row = |at: usize| {
            let values = words(10 * (from + at), 10).replace(' ', "', '");
            format!("INSERT INTO people ({columns}) VALUES ('{values}');\n")
        };
        let rows: String = (0..rows).map(row).collect();
        format!("{create}{rows}")
    }

    #[test]
    fn how_records_begin_is_no_quotation() {
        let found = of(
            &dump("id, name, street, city, day, amount, state, mail", 0, 400),
            &dump("city, day, amount, state, mail, id, name", 4000, 400),
        );
        assert!(found.measures.containment() > Some(Score::new(0.05)));
        assert_eq!((found.relation, found.has_passage), (None, false));
        // However long it is.
        let columns = words(0, 40).replace(' ', ", ");
        let with_long_values = |from: usize| -> String {
            let row = |at: usize| format!("({columns}) {}\n", words(from + 200 * at, 200));
            (0..40).map(row).collect()
        };
        let found = of(&with_long_values(1000), &with_long_values(30_000));
        assert_eq!((found.relation, found.has_passage), (None, false));
    }

    /// Though each row begins as all others do.
    #[test]
    fn rows_of_another_table_are_a_quotation() {
        let columns = "id, name, street, city, day, amount, state, mail";
        let source = dump(columns, 0, 400);
        let rows: Vec<&str> = source.lines().collect();
        let quoting = dump(columns, 4000, 400) + &rows[200..210].join("\n");
        let found = of(&source, &quoting);
        assert_eq!((found.relation, found.has_passage), (None, true));
    }

    #[test]
    fn what_one_of_two_texts_says_once_is_a_quotation() {
        let quoted = words(500, 40);
        let row = |at: usize| format!("{} {quoted} ", words(2000 + 400 * at, 400));
        let repeating: String = (0..40).map(row).collect();
        let once = format!("{} {quoted} {}", words(40_000, 900), words(50_000, 900));
        for found in [of(&repeating, &once), of(&once, &repeating)] {
            assert_eq!((found.relation, found.has_passage), (None, true));
        }
    }

    /// Whatever it is padded with; what two files are besides has its relation.
    #[test]
    fn padding_alone_makes_no_relation() {
        let prove = |a: Vec<u8>, b: Vec<u8>| {
            let (none, least) = (Templates::default(), Relation::MIN_SHARED);
            prove_once(&none, (a, b), Unit::Words, least)
        };
        for period in [1, 2, 3, 4, 8] {
            let padding: Vec<u8> = noise(7, period).repeat(40_000 / period);
            let padded = |seed, own| [&b"\0"[..], &noise(seed, own), &padding].concat();
            let found = prove(padded(1, 1000), padded(2, 1000));
            assert!(found.measures.containment() > Some(Score::new(0.9)));
            assert_eq!(found.relation, None, "{period}: {found:?}");
            let (one, mut other) = (padded(3, 30_000), padded(3, 30_000));
            other[15_000..16_000].fill(1);
            assert_eq!(prove(one, other).relation, Some(Relation::Near), "{period}");
        }
        // Every hundredth byte of it is another one.
        let one = noise(4, 30_000);
        let mut other = one.clone();
        other.iter_mut().step_by(100).for_each(|byte| *byte ^= 1);
        assert_eq!(prove(one, other).relation, Some(Relation::Near));
    }

    #[test]
    fn what_is_no_text_is_measured_in_bytes() {
        let nul = format!("{}\0", words(0, 200));
        let found = of(&nul, &words(0, 200));
        assert_eq!(found.unit, Unit::Bytes);
        assert_eq!(found.relation, Some(Relation::Near));
    }
}
