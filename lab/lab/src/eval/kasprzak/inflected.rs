//! Repeats the experiment of section 5 with texts of an inflected language. The texts are compared
//! by their words, by stems, and by basic forms. The basic forms are from a supplied table,
//! `lemmas.tsv`.
//!
//! The edits take other forms of a word from a second table, `forms.tsv`. If both tables were the
//! same, lemmas would undo every edit by definition.

use std::collections::HashMap;
use std::sync::Arc;

use resemble_methods::vocabulary::{Language, Lemmas, words_of};
use resemble_methods::{Method, MethodParams};

use super::super::{Collection, Page, Section, Table, percent, sign_all};
use super::forms::{
    EDITS, Edit, KNOWN, Way, Words, after_edits, chosen, families, known, other_form, others_of,
    swap, ways,
};
use crate::error::LabError;
use crate::figure::Figure;
use crate::method::RowThreshold;
use crate::method::all_pairs::all_pairs;
use crate::question::{MethodLimits, MethodScore};

/// The thresholds of similarity at which pairs are counted, in percent.
const THRESHOLDS: [u32; 3] = [1, 10, 30];

/// The texts of a language, and two tables of its words.
#[derive(Clone, Debug)]
pub struct InflectedTexts {
    /// The name of the language.
    pub language: String,
    /// The texts.
    pub collection: Collection,
    /// The table of basic forms by which the texts are compared.
    pub lemmas: Lemmas,
    /// The table from which the edits take other forms of a word.
    pub forms: Lemmas,
}

/// Makes the page of this experiment.
pub fn report(of: &InflectedTexts, seeds: u64) -> Result<Page, LabError> {
    let stem: Option<Language> = of.language.parse().ok();
    let ways = ways(stem, Arc::new(of.lemmas.clone()))?;
    let known = known(&of.collection.texts);
    let with_basic = known.into_iter().filter_map(|word| {
        let basic = of.forms.of(&word)?.into();
        Some((word, basic))
    });
    let families = families(with_basic);
    let members = families.iter().map(Vec::len).sum();
    let others = others_of(families);
    Ok(Page {
        name: "inflected".to_owned(),
        title: format!("Lemmas of an inflected language: {}", of.language),
        about: of.collection.describe(),
        sections: vec![
            words(of, members, &others),
            edited(of, &ways, &others, seeds)?,
            found(of, &ways)?,
        ],
        files: Vec::new(),
    })
}

/// Returns the basic form of a word, or the word itself if it is not in the table.
fn basic<'a>(table: &'a Lemmas, word: &'a [u8]) -> &'a [u8] {
    table.of(word).unwrap_or(word)
}

/// Measures how many words of the texts are in the table of lemmas, and how many differ from their
/// basic form. Also measures how often this table agrees with the second table.
fn words(of: &InflectedTexts, members: usize, others: &HashMap<Box<[u8]>, Box<[u8]>>) -> Section {
    let (mut all, mut in_table, mut changed) = (0, 0, 0);
    for text in &of.collection.texts {
        for word in words_of(&text.bytes) {
            all += 1;
            in_table += usize::from(of.lemmas.of(&word).is_some());
            changed += usize::from(basic(&of.lemmas, &word) != &*word);
        }
    }
    let agree = others
        .iter()
        .filter(|(a, b)| basic(&of.lemmas, a) == basic(&of.lemmas, b))
        .count();
    let share = |part: usize, all: usize| percent(part as f64 / all.max(1) as f64);
    let mut table = Table::new("words", &["", "here"]);
    table.row(["words of all texts", &all.to_string()]);
    table.row(["in the table of lemmas %", &share(in_table, all)]);
    table.row(["replaced by another word %", &share(changed, all)]);
    table.row(["words with another form that occurs", &members.to_string()]);
    table.row(["with the lemma of that form %", &share(agree, others.len())]);
    let text = format!(
        "Another form that occurs is a word of at least {KNOWN} texts with the same basic form in \
         the second table, the commonest such word. The table of lemmas gives both the same lemma \
         in {} % of cases.",
        share(agree, others.len())
    );
    Section::new("The words of the texts", text).table(table)
}

/// Edits texts and measures how much of them is found by words, by stems and by lemmas.
fn edited(
    of: &InflectedTexts,
    ways: &[Way<'_>],
    others: &HashMap<Box<[u8]>, Box<[u8]>>,
    seeds: u64,
) -> Result<Section, LabError> {
    let other_form = |words: &mut Words, at: usize| other_form(others, words, at);
    let edits: [(&str, Edit<'_>); 3] = [
        ("two neighbours change places", &swap),
        ("a word takes another form that occurs", &other_form),
        ("both", &|words, at| {
            swap(words, at);
            other_form(words, at);
        }),
    ];
    let (edited, table, said) = after_edits(&chosen(&of.collection.texts), ways, &edits, seeds)?;
    let text = format!(
        "How much of a text is in its version after {EDITS} edits: means over {edited} texts and \
         ranges of {seeds} seeds.{said}"
    );
    Ok(Section::new("Words that change places and forms", text).table(table))
}

/// Counts the similar pairs of unedited texts that are found by words, by stems and by lemmas.
fn found(of: &InflectedTexts, ways: &[Way<'_>]) -> Result<Section, LabError> {
    let columns = THRESHOLDS.map(|least| format!("pairs from {least} % on"));
    let columns = ["words", &columns[0], &columns[1], &columns[2]];
    let mut table = Table::new("pairs", &columns);
    for (name, params) in ways {
        let mut row = vec![(*name).to_owned()];
        match params {
            Some(params) => row.extend(pairs(of, params)?.map(|count| count.to_string())),
            None => row.resize(columns.len(), "no rules".to_owned()),
        }
        table.row(row);
    }
    let text = "The pairs of the unedited texts that are similar in one direction at least.";
    Ok(Section::new("Pairs of texts", text).table(table))
}

/// Counts the pairs that reach each of the thresholds.
fn pairs(
    of: &InflectedTexts,
    params: &MethodParams,
) -> Result<[usize; THRESHOLDS.len()], LabError> {
    let signatures = sign_all(params, &of.collection.texts)?;
    let asked = MethodLimits {
        min: Figure::new(f64::from(THRESHOLDS[0]) / 100.0),
        ..MethodLimits::default()
    };
    let papers = Method::Sorted5.thresholds().pairs;
    let found = all_pairs(
        params,
        &signatures,
        &RowThreshold::new(papers, MethodScore::Paper, asked),
    )?;
    Ok(THRESHOLDS.map(|least| {
        let reach = |value: f64| value >= f64::from(least) / 100.0;
        let figures = found.iter().filter_map(|pair| pair.scores.figure.value());
        figures.filter(|&value| reach(value)).count()
    }))
}

#[cfg(test)]
mod tests {
    use resemble_testutil::prose::prose;

    use super::super::super::Text;
    use super::*;

    /// Returns a row of the report: the row about words in other forms. Its cells are the shares
    /// that are found by sorted chunks of words, of stems and of lemmas.
    fn found(lemmas: &str) -> [String; 3] {
        let texts = (1..=3).map(|seed| Text {
            name: seed.to_string(),
            bytes: prose(seed, 12_000),
        });
        let of = InflectedTexts {
            language: "czech".to_owned(),
            collection: Collection {
                texts: texts.collect(),
                ..Collection::default()
            },
            lemmas: Lemmas::parse(lemmas.as_bytes()).expect("a table"),
            forms: Lemmas::parse(
                b"ships\tharbour\nharbour\tharbour\ngrain\ttimber\ntimber\ttimber\n",
            )
            .expect("a table"),
        };
        let page = report(&of, 2).expect("no failure");
        let row = &page.sections[1].tables[0].rows[1];
        [2, 3, 4].map(|at| row[at].clone())
    }

    #[test]
    fn lemmas_undo_the_edits_that_both_tables_agree_on() {
        let [sorted, stems, none] = found("ledgers\tledger\n");
        assert_eq!(stems, "no rules");
        assert_eq!(sorted, none);
        let all = "ships\tharbour\nharbour\tharbour\ngrain\ttimber\ntimber\ttimber\n";
        assert_eq!(found(all)[2], "100.0");
        let [sorted, _, some] = found("ships\tharbour\n");
        let share = |cell: &str| -> f64 { cell.split(' ').next().unwrap().parse().unwrap() };
        assert!(share(&sorted) < share(&some), "{sorted} {some}");
        assert!(share(&some) < 100.0, "{some}");
    }
}
