//! Measures two contents by reading them, and judges the result.
//!
//! The measures depend only on the two contents, the marked templates and the requested unit. So
//! the same two contents have the same measures in all questions with the same unit.

use resemble_core::similarity::proof::{self, Provable};
use resemble_core::similarity::{self, Templates, Unit};
use resemble_core::{ByteLen, ContentKind, Measures, Relation, Score};
use resemble_proto::message::Layer;

use crate::judge::matched::{CommonPart, Match};

/// The result for two contents that were read and are not identical.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proven {
    /// The relation of the two contents, if they have one.
    pub relation: Option<Relation>,
    /// The measures of the pair.
    pub measures: Measures,
    /// The unit of the shares.
    pub unit: Unit,
    /// The sizes of the two contents without templates.
    pub sizes: (ByteLen, ByteLen),
    /// True if both contents are texts and have a [`PASSAGE`](proof::PASSAGE) in common.
    pub has_passage: bool,
    /// True if most of the common part is a few runs that are repeated. The contents then have no
    /// relation.
    pub is_repetition: bool,
}

impl Proven {
    /// Returns the form of the part that the two contents have in common.
    pub fn common(&self) -> CommonPart {
        match (self.has_passage, self.is_repetition) {
            (true, _) => CommonPart::Passage,
            (false, true) => CommonPart::Repetition,
            (false, false) => CommonPart::Runs,
        }
    }

    /// Returns the result as the match of two renditions in this layer.
    pub fn matched(&self, layer: Layer) -> Match {
        let layer = match self.relation {
            Some(Relation::SameText) => Layer::Text,
            _ => layer,
        };
        Match {
            is_estimate: false,
            unit: self.unit,
            common: self.common(),
            ..Match::new(self.relation, layer, self.measures, self.sizes)
        }
    }
}

/// Prepares a content of this kind for measuring. Templates are left out.
pub fn provable(templates: &Templates, kind: ContentKind, bytes: Vec<u8>) -> Provable {
    Provable::without(templates, kind, bytes)
}

/// Measures two contents that are not identical. They are measured in words if both are texts and
/// `asked` is not bytes.
pub fn prove(a: &Provable, b: &Provable, asked: Unit, min_shared: ByteLen) -> Proven {
    judged(a.measure(b, asked), (a.size(), b.size()), min_shared)
}

/// Judges the measures of two contents that have these sizes.
pub fn judged(proven: proof::Proven, sizes: (ByteLen, ByteLen), min_shared: ByteLen) -> Proven {
    let proof::Proven {
        measures,
        unit,
        is_same_text,
        has_passage,
        is_pattern,
    } = proven;
    let relation = if is_same_text {
        Some(Relation::SameText)
    } else if measures.shared_bytes < min_shared {
        None
    } else {
        similarity::relation(false, sizes.0, sizes.1, &measures, min_shared)
    };
    let is_repetition = relation.is_some_and(|relation| relation != Relation::SameText)
        && (is_pattern || is_one_phrase(unit, &measures, sizes));
    Proven {
        relation: relation.filter(|_| !is_repetition),
        measures,
        unit,
        sizes,
        has_passage,
        is_repetition,
    }
}

/// The maximum number of words that one distinct common shingle may cover. If it covers more, the
/// rest counts as repetition.
const FOR_A_SHINGLE: f64 = 3.0;

/// The maximum number of bytes that one distinct common window may cover. If it covers more, the
/// rest counts as repetition. In a common run of at least 68 bytes, there are fewer bytes than this
/// for each window.
const FOR_A_WINDOW: f64 = 16.0;

/// Returns whether the shared text is mostly a few runs that are repeated. Examples are the equal
/// beginnings of rows in dumps, the year in each line of a log, and padding.
///
/// If the covered words are more than three for each *distinct* common shingle, the rest is
/// repetition. (A shingle covers five words. Short runs that records share by chance may make up a
/// quarter of a text.) The number of distinct shingles of a text is assumed to be proportional to
/// its size. Bytes are treated in the same way.
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

/// Estimates the number of bytes of the *distinct* common shingles or windows, if each shingle
/// counts as one word and each window as one byte.
fn shared_once(measures: &Measures, sizes: (ByteLen, ByteLen)) -> f64 {
    let resemblance = measures.resemblance.map_or(0.0, Score::get);
    resemblance / (1.0 + resemblance) * (sizes.0 + sizes.1).0 as f64
}

/// Does the same as [`prove`], for two contents that are not compared with any other.
pub fn prove_once(
    templates: &Templates,
    (a, b): (Vec<u8>, Vec<u8>),
    asked: Unit,
    min_shared: ByteLen,
) -> Proven {
    // The kind is that of the whole file. Without its templates, the content might begin in the
    // middle of the file.
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

    /// Shared bytes are counted in the smaller file, because the larger file may repeat one shared
    /// line many times.
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

    /// A pair that shares only a repeated phrase has no relation. But this does not change its
    /// measures.
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
        // These two files repeat one line, and share little else. They have a relation only if the
        // line is long.
        let repeated = |line: &str| {
            let (many, few) = (line.repeat(300), line.repeat(100) + "\nThe end of it.");
            of(&many, &few).relation
        };
        assert_eq!(repeated(&(words(0, 60) + "\n")), Some(Relation::Near));
        for short in ["all work and no play makes Jack a dull boy\n", "ha "] {
            assert_eq!(repeated(short), None);
        }
    }

    /// A pattern that is repeated counts once. A short pattern is too little for a relation, even
    /// if the data are long.
    #[test]
    fn data_of_a_short_period_have_no_relation() {
        for (period, relation) in [
            (1, None),
            (2, None),
            (60, None),
            (200, None),
            (1000, Some(Relation::Near)),
        ] {
            let pattern = [&b"\0"[..], &noise(7, period - 1)].concat();
            let [a, b] = [40_000, 36_000].map(|size| pattern.repeat(size / period));
            let found = prove_once(
                &Templates::default(),
                (a, b[1..].to_vec()),
                Unit::Words,
                Relation::MIN_SHARED,
            );
            assert!(found.measures.containment() > Some(Score::new(0.99)));
            assert_eq!(
                (found.relation, found.is_repetition),
                (relation, relation.is_none()),
                "{period}"
            );
        }
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

    /// Returns a dump of a table that begins with the row with number `from`. Each statement names
    /// the columns as in `columns`.
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
        // The pair has no relation even if the list of columns is long.
        let columns = words(0, 40).replace(' ', ", ");
        let with_long_values = |from: usize| -> String {
            let row = |at: usize| format!("({columns}) {}\n", words(from + 200 * at, 200));
            (0..40).map(row).collect()
        };
        let found = of(&with_long_values(1000), &with_long_values(30_000));
        assert_eq!((found.relation, found.has_passage), (None, false));
    }

    /// All rows of both tables have the same beginning, which is not a quotation. But ten rows that
    /// were copied from one table to the other are a quotation.
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

    /// Padding with any period counts once. Related files have a relation in spite of the padding.
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
        // In the second file, every hundredth byte is changed. The files have a relation.
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
