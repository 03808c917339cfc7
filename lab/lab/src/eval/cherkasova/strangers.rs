//! Figures 2 to 4: the effect of the window's size on edited documents and on pairs of different
//! documents.

use resemble_methods::changes::{Edit, Spread};
use resemble_methods::{Method, MethodParams};
use std::fmt::Write as _;

use super::{
    Draws, ENDS, Plot, ResearchCorpus, Section, Table, WINDOWS, after_changes, changes_plot,
    figure, name, windowed,
};
use crate::error::LabError;

/// The methods of figures 2 and 3, each with the letter of its part of these figures, and with its
/// n.
const TWO: [(&str, Method, u32); 2] = [("a", Method::Mod, 100), ("b", Method::BswMin, 400)];

pub(super) fn figure_2(corpus: &ResearchCorpus<'_>) -> Result<Section, LabError> {
    let mut section = Section::new("Figure 2: the window", "");
    let mut rows: Vec<Vec<String>> = WINDOWS
        .iter()
        .map(|window| vec![window.to_string()])
        .collect();
    let mut text = "\"a \" inserted at random places.".to_owned();
    for (letter, method, n) in TWO {
        let methods: Vec<MethodParams> = WINDOWS
            .iter()
            .map(|&window| windowed(method, window, n))
            .collect::<Result<_, _>>()?;
        let all = after_changes(corpus, &methods, Edit::Insert, Spread::Random, true)?;
        let title = format!(
            "Figure 2({letter}): {} with windows of 5 to 100 bytes",
            name(method, n)
        );
        let mut plot = changes_plot(&format!("figure-02{letter}"), &title);
        let last: Vec<Draws> = all.iter().map(|edited| edited.end(1)).collect();
        for ((window, edited), row) in WINDOWS.iter().zip(&all).zip(&mut rows) {
            plot.curve(format!("{window} bytes"), edited.curve());
            row.push(edited.end(1).to_string());
        }
        if method == Method::Mod {
            plot.paper("paper: 5, 100 bytes", [(50.0, 97.0), (50.0, 66.0)]);
        }
        section = section.plot(plot);
        let lower = last
            .windows(2)
            .filter(|pair| pair[1].minus(&pair[0]).above(0.0) == 0)
            .count();
        let _ = write!(
            text,
            " By `{}` {} % are left after {} inserts with windows of 5 bytes, {} % with 100; the \
             larger window has less under each seed in {lower} of {} steps.",
            name(method, n),
            last[0],
            ENDS[1],
            last[WINDOWS.len() - 1],
            WINDOWS.len() - 1
        );
    }
    text.push_str(" Paper, `Mod_100`: 97 % and 66 %.");
    section.text = text;
    let columns = ["window", "Mod_100 after 50 %", "BSW_400 after 50 %"];
    let mut table = Table::new("figure-02-ends", &columns);
    table.rows = rows;
    Ok(section.table(table))
}

/// The similarities of pairs of different documents, under all seeds.
#[derive(Default)]
struct StrangerDraws {
    /// The similarities above zero under the first seed, ascending.
    first: Vec<f64>,
    /// The share of pairs with a similarity above zero.
    overlapping: Draws,
    /// The mean similarity of all pairs.
    means: Draws,
    /// The share of pairs with a similarity above 20 %.
    much: Draws,
    /// The share of all pairs whose similarity is above zero and below 4 %.
    slight: Draws,
}

/// Compares all pairs of documents under each of `seeds` seeds.
fn strangers(
    params: &MethodParams,
    corpus: &ResearchCorpus<'_>,
    seeds: u64,
) -> Result<StrangerDraws, LabError> {
    let mut draws = StrangerDraws::default();
    for seed in 0..seeds {
        let signatures = corpus.signed(params, seed)?;
        let (mut above, mut pairs) = (Vec::new(), 0);
        for (at, a) in signatures.iter().enumerate() {
            for b in &signatures[at + 1..] {
                pairs += 1;
                let value = figure(params, a, b);
                if value > 0.0 {
                    above.push(value);
                }
            }
        }
        let pairs = f64::from(pairs.max(1));
        let count = |fits: &dyn Fn(f64) -> bool| {
            above.iter().filter(|&&value| fits(value)).count() as f64 / pairs
        };
        draws.overlapping.push(count(&|_| true));
        draws.much.push(count(&|value| value > 0.2));
        draws.slight.push(count(&|value| value < 0.04));
        draws.means.push(above.iter().sum::<f64>() / pairs);
        if seed == 0 {
            above.sort_by(f64::total_cmp);
            draws.first = above;
        }
    }
    Ok(draws)
}

/// Returns points of the cumulative distribution of these values, which ascend.
fn cdf(values: &[f64]) -> Vec<(f64, f64)> {
    let count = values.len().max(1) as f64;
    // A few hundred points show as much as thousands of them.
    let every = values.len().div_ceil(300).max(1);
    (0..values.len())
        .filter(|at| at % every == 0 || at + 1 == values.len())
        .map(|at| (values[at] * 100.0, (at + 1) as f64 / count * 100.0))
        .collect()
}

/// Creates an empty plot for distributions. Similarities range from hundredths of a percent to 100
/// %, so its x axis is logarithmic.
fn cdf_plot(name: &str, title: &str) -> Plot {
    Plot {
        log_x: true,
        ..Plot::new(name, title, "similarity, %", "pairs above 0, %")
    }
}

pub(super) fn figure_3(corpus: &ResearchCorpus<'_>) -> Result<Section, LabError> {
    let mut section = Section::new("Figure 3: strangers and the window", "");
    let columns = [
        "method",
        "window",
        "pairs with overlap %",
        "mean of all pairs %",
        "pairs above 20 % %",
    ];
    let mut table = Table::new("figure-03-shares", &columns);
    let mut text = "All pairs of documents.".to_owned();
    for (letter, method, n) in TWO {
        let title = format!(
            "Figure 3({letter}): overlap of different documents, {}",
            name(method, n)
        );
        let mut plot = cdf_plot(&format!("figure-03{letter}"), &title);
        let mut said = Vec::new();
        for window in WINDOWS {
            let params = windowed(method, window, n)?;
            let draws = strangers(&params, corpus, corpus.seeds)?;
            plot.curve(format!("{window} bytes"), cdf(&draws.first));
            if [5, 10, 20, 100].contains(&window) {
                said.push(format!(
                    "with {window} bytes {} % overlap and {} % are above 20 %",
                    draws.overlapping, draws.much
                ));
            }
            table.row([
                name(method, n),
                window.to_string(),
                draws.overlapping.to_string(),
                draws.means.percents(3),
                draws.much.to_string(),
            ]);
        }
        if method == Method::Mod {
            let ends = [(20.0, 95.0), (30.0, 100.0)];
            plot.paper("paper, 5 bytes: 95, all", ends);
        }
        section = section.plot(plot);
        let _ = write!(text, " `{}`: {}.", name(method, n), said.join("; "));
    }
    text.push_str(
        " Paper, `Mod_n`: with 5 and 10 bytes \"practically any pair of distinct documents does \
         exhibit some overlap\"; with 5 bytes more than 5 % of the pairs are above 20 %, some \
         nearly at 30 %.",
    );
    section.text = text;
    Ok(section.table(table))
}

pub(super) fn figure_4(corpus: &ResearchCorpus<'_>) -> Result<Section, LabError> {
    let mut plot = cdf_plot(
        "figure-04",
        "Figure 4: overlap of different documents, windows of 20 bytes",
    );
    let columns = [
        "method",
        "pairs with overlap %",
        "with overlap, below 4 %, of all pairs %",
        "mean of all pairs %",
    ];
    let mut table = Table::new("figure-04-shares", &columns);
    let mut slight = Vec::new();
    for (method, n) in [
        (Method::Min, 100),
        (Method::Mod, 100),
        (Method::Sketch, 100),
        (Method::BswMin, 100),
        // With n = 1 every window is kept. So the result is exact, and no seed changes it.
        (Method::Mod, 1),
    ] {
        let label = if n == 1 {
            "exact".to_owned()
        } else {
            name(method, n)
        };
        let seeds = if n == 1 { 1 } else { corpus.seeds };
        let draws = strangers(&windowed(method, 20, n)?, corpus, seeds)?;
        plot.curve(label.as_str(), cdf(&draws.first));
        table.row([
            label.clone(),
            draws.overlapping.to_string(),
            draws.slight.to_string(),
            draws.means.percents(3),
        ]);
        slight.push(format!("{} % by {label}", draws.slight));
    }
    plot.paper("paper: BSW, Mod", [(4.0, 10.0), (4.0, 28.0)]);
    let text = format!(
        "Pairs that are \"slightly similar\", below 4 %, of all pairs: {}. `exact` compares all \
         windows. Paper: 28 % by `Mod_100`, 10 % by `BSW_100`.",
        slight.join(", ")
    );
    Ok(Section::new("Figure 4: strangers and the method", text)
        .plot(plot)
        .table(table))
}
