//! Figures 7 and 8: the four methods with signatures of equal size.

use resemble_methods::changes::{Edit, Spread};
use resemble_methods::{Method, MethodParams};

use super::{
    Draws, ENDS, Plot, ResearchCorpus, Section, Table, after_changes, changes_plot, compared, draw,
    equal_rate, mean_len, name, sign_all, windowed,
};
use crate::error::LabError;

/// The mean number of entries in a signature of each method.
const ENTRIES: f64 = 100.0;

/// The edits that figure 7 shows. Each entry has the letter of a part of the figure, an edit, the
/// distribution of the edit's places, and a description.
const EDITS: [(&str, Edit, Spread, &str); 4] = [
    (
        "a",
        Edit::Insert,
        Spread::Random,
        "\"a \" inserted at random",
    ),
    ("b", Edit::Remove, Spread::Random, "words removed at random"),
    ("c", Edit::Insert, Spread::Even, "\"a \" inserted evenly"),
    ("d", Edit::Remove, Spread::Even, "words removed evenly"),
];

pub(super) fn figures_7_and_8(corpus: &ResearchCorpus<'_>, rate: u32) -> Result<Section, LabError> {
    let mut four = Vec::new();
    let mut sizes = Vec::new();
    for method in [Method::Mod, Method::Min, Method::Sketch, Method::BswMin] {
        let (n, entries) = match method {
            Method::Mod | Method::BswMin => equal_rate(method, corpus.documents, ENTRIES, rate)?,
            _ => {
                let params = windowed(method, 20, ENTRIES as u32)?;
                (
                    ENTRIES as u32,
                    mean_len(&sign_all(&params, corpus.documents)?),
                )
            }
        };
        four.push((method, n));
        sizes.push(format!("`{}` {entries:.1}", name(method, n)));
    }
    let methods: Vec<MethodParams> = four
        .iter()
        .map(|&(method, n)| windowed(method, 20, n))
        .collect::<Result<_, _>>()?;
    let mut section = Section::new("Figures 7 and 8: the four methods at about equal size", "");
    let columns = ["changes", "Mod %", "Min %", "Sketch %", "BSW %", "exact %"];
    let mut table = Table::new("figure-07-ends", &columns);
    let mut text = format!(
        "Entries of an average document: {}. `exact` compares all windows.",
        sizes.join(", ")
    );
    for (letter, edit, spread, what) in EDITS {
        let all = after_changes(corpus, &methods, edit, spread, true)?;
        let exact = [windowed(Method::Mod, 20, 1)?];
        let exact = after_changes(corpus, &exact, edit, spread, false)?;
        let title = format!("Figure 7({letter}): {what}");
        let mut plot = changes_plot(&format!("figure-07{letter}"), &title);
        for (&(method, n), edited) in four.iter().zip(&all) {
            draw(&mut plot, &name(method, n), edited);
        }
        let points = [0, 1].map(|end| (ENDS[end] as f64, exact[0].end(end).mean() * 100.0));
        plot.curve("exact", points);
        section = section.plot(plot);
        for (end, times) in ENDS.into_iter().enumerate() {
            let figures = all.iter().chain(&exact).map(|edited| edited.end(end));
            let figures = figures.map(|draws| draws.to_string());
            let head = std::iter::once(format!("{times}, {what}"));
            table.row(head.chain(figures));
            if letter == "b" {
                let which = if end == 0 { "a" } else { "b" };
                let mut each = Plot::new(
                    &format!("figure-08{which}"),
                    &format!("Figure 8({which}): each document, {times} words removed"),
                    "document, by size",
                    "similarity, %",
                )
                .points();
                for (&(method, n), edited) in four.iter().zip(&all) {
                    let numbered = (1..).map(f64::from).zip(edited.first(end));
                    each.curve(
                        name(method, n),
                        numbered.map(|(x, value)| (x, value * 100.0)),
                    );
                }
                section = section.plot(each);
            }
        }
        let exact = exact[0].end(1);
        let means: Vec<(String, Draws)> = four
            .iter()
            .zip(&all)
            .map(|(&(method, n), edited)| (name(method, n), edited.end(1)))
            .collect();
        text.push_str(&said(what, &means, &exact));
    }
    text.push_str(
        "\n\nPaper: up to ten changes all are alike; then \"`Mod_n` and `Min_n` report on average \
         a higher (more accurate) similarity metric than algorithms `Sketch_n` and `BSW_n`\"; \
         evenly spread changes cost more.",
    );
    section.text = text;
    Ok(section.table(table))
}

/// Describes the figures for the largest number of changes, [`ENDS`]`[1]`.
fn said(what: &str, means: &[(String, Draws)], exact: &Draws) -> String {
    let [r#mod, min, sketch, bsw] = means else {
        return String::new();
    };
    let off = means
        .iter()
        .map(|(label, draws)| format!("{label} {}", draws.minus(exact).percents(2)));
    let pair = |a: &(String, Draws), b: &(String, Draws)| compared((&a.0, &a.1), (&b.0, &b.1));
    format!(
        "\n* {} {what}: off the exact mean, in points: {}. {}; {}; {}.",
        ENDS[1],
        off.collect::<Vec<_>>().join(", "),
        pair(r#mod, bsw),
        pair(min, sketch),
        pair(sketch, bsw),
    )
}
