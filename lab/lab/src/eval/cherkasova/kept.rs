//! Figures 5 and 6: how much similarity remains, on average and for each document, when methods
//! keep different numbers of entries.

use resemble_methods::changes::{Edit, Spread};
use resemble_methods::{Method, MethodParams};
use std::fmt::Write as _;

use super::{
    Draws, Plot, ResearchCorpus, Section, Table, after_changes, changes_plot, compared, draw, mean,
    name, windowed,
};
use crate::error::LabError;

/// Returns how much the value of one document differs from the values of documents of about the
/// same size. `values` is in the order of the documents' sizes. Each value is compared with the
/// mean of eleven values, from the fifth before it to the fifth after it. The result is the root
/// mean square of the differences.
fn deviation(values: &[f64]) -> f64 {
    let around = |at: usize| {
        let from = at.saturating_sub(5);
        mean(&values[from..(at + 6).min(values.len())])
    };
    let off: Vec<f64> = (0..values.len())
        .map(|at| (values[at] - around(at)).powi(2))
        .collect();
    mean(&off).sqrt()
}

pub(super) fn figures_5_and_6(corpus: &ResearchCorpus<'_>) -> Result<Section, LabError> {
    let mut section = Section::new("Figures 5 and 6: how much is kept", "");
    let columns = [
        "method",
        "mean after 50 %",
        "deviation of a document, points",
        "documents at 100 %",
    ];
    let mut table = Table::new("figure-06-spread", &columns);
    let mut text = "\"a \" inserted at 50 random places.".to_owned();
    for (letter, method, ns) in [
        ("a", Method::Sketch, [10, 50, 100]),
        ("b", Method::BswMin, [1000, 400, 100]),
    ] {
        let methods: Vec<MethodParams> = ns
            .iter()
            .map(|&n| windowed(method, 20, n))
            .collect::<Result<_, _>>()?;
        let all = after_changes(corpus, &methods, Edit::Insert, Spread::Random, true)?;
        let mut means = changes_plot(
            &format!("figure-05{letter}"),
            &format!("Figure 5({letter}): average similarity"),
        );
        let mut each = Plot::new(
            &format!("figure-06{letter}"),
            &format!("Figure 6({letter}): each document after 50 inserts"),
            "document, by size",
            "similarity, %",
        )
        .points();
        let mut figures = Vec::new();
        for (&n, edited) in ns.iter().zip(&all) {
            let label = name(method, n);
            draw(&mut means, &label, edited);
            let last = &edited.ends[1];
            let off: Draws = last.iter().map(|values| deviation(values)).collect();
            let full: Draws = last
                .iter()
                .map(|values| values.iter().filter(|&&value| value >= 1.0).count() as f64)
                .collect();
            table.row([
                label.clone(),
                edited.end(1).to_string(),
                off.to_string(),
                full.rounded(0),
            ]);
            if n != ns[1] {
                let numbered = (1..).map(f64::from).zip(edited.first(1));
                each.curve(label.clone(), numbered.map(|(x, value)| (x, value * 100.0)));
            }
            figures.push((label, edited.end(1), off, full));
        }
        section = section.plot(means).plot(each);
        let [first, _, last] = &figures[..] else {
            continue;
        };
        let _ = write!(
            text,
            "\n* {}. A document is off its neighbours by {} points with `{}`, {} with \
             `{}`; {} and {} of {} documents are at 100 %.",
            compared((&first.0, &first.1), (&last.0, &last.1)),
            first.2,
            first.0,
            last.2,
            last.0,
            first.3.rounded(0),
            last.3.rounded(0),
            corpus.documents.len()
        );
    }
    text.push_str(
        "\n\nPaper: on average \"this difference does not seem to have much impact\"; \"in many \
         cases `Sketch_10` misses all differences … and reports 100% similarity values\".",
    );
    section.text = text;
    Ok(section.table(table))
}
