//! Cherkasova et al. 2009, *Applying syntactic similarity algorithms for enterprise information
//! management*: sections 3 to 6 and 8, figures 1 to 8 and 11, table 1. Figures 9 and 10 and table
//! 2: [`super::short_texts`].
//!
//! [`resemble_methods::changes`] makes the corpus with known changes. The places of i changes are
//! among those of i + 1 changes, so each curve is about one text that is edited more and more.

use resemble_methods::changes::{Edit, Spread, edited};
use resemble_methods::{Method, MethodParams, MethodSignature, Signer, score};
use resemble_relate::parallel::in_parallel;

use super::{
    Clock, Collection, Page, Plot, Section, Table, Text, figure, mean, percent, rated, short_texts,
    sign_all, windowed,
};
use crate::error::LabError;

/// How many documents the research corpus has: 100 reports of 9 to 540 KB.
const DOCUMENTS: usize = 100;

/// The sizes of these documents, in bytes.
const SIZES: std::ops::RangeInclusive<usize> = 9_000..=540_000;

/// The numbers of changes that are looked at, besides the unchanged document.
const CHANGES: [usize; 18] = [
    1, 2, 3, 4, 5, 7, 10, 13, 16, 19, 22, 25, 28, 31, 35, 40, 45, 50,
];

/// The windows of figure 2, in bytes.
const WINDOWS: [u32; 7] = [5, 10, 20, 40, 60, 80, 100];

/// The seed of all random numbers.
const SEED: u64 = 2009;

/// Makes the page.
pub fn report(collection: &Collection, clock: Clock<'_>) -> Result<Page, LabError> {
    let documents = collection.of_sizes(SIZES, DOCUMENTS);
    let sizes: Vec<f64> = documents
        .iter()
        .map(|text| text.bytes.len() as f64)
        .collect();
    let mean_size = mean(&sizes);
    // The paper: about 50 KB on average, 100 entries, so n = 500.
    let rate = ((mean_size / 100.0).round() as u32).max(4);
    let mut sections = vec![figure_1(&sizes, rate)];
    sections.push(table_1(&documents)?);
    sections.push(figure_2(&documents)?);
    sections.push(figure_3(&documents)?);
    sections.push(figure_4(&documents)?);
    sections.push(figures_5_and_6(&documents)?);
    sections.push(figures_7_and_8(&documents, rate)?);
    sections.extend(short_texts::sections(collection)?);
    sections.push(figure_11(&documents, clock)?);
    sections.push(section_8(&documents, rate)?);
    Ok(Page {
        name: "cherkasova".to_owned(),
        title: "Four ways to sample a document (Cherkasova et al. 2009)".to_owned(),
        about: format!(
            "{}\n\nSimilarity is the paper's: of `Mod_n` and `BSW_n` common over all of both, of \
             `Min_n` and `Sketch_n` their estimates of it. Windows of 20 bytes where nothing else \
             is said. Everything is the same on every run but figure 11.",
            collection.describe()
        ),
        sections,
        files: Vec::new(),
    })
}

fn figure_1(sizes: &[f64], rate: u32) -> Section {
    let mut plot = Plot::new(
        "figure-01",
        "Figure 1: sizes of the documents",
        "document",
        "bytes",
    );
    plot.log_y = true;
    plot.curve("size", (0..).map(f64::from).zip(sizes.iter().copied()));
    let range = match sizes {
        [] => "none".to_owned(),
        [first, .., last] => format!("{first} to {last} bytes, {:.0} on average", mean(sizes)),
        [only] => format!("{only} bytes"),
    };
    let text = format!(
        "{} documents, {range}. The paper has 100 of 9 to 540 KB, about 50 KB on average. 100 \
         entries of an average document are one in {rate} windows (paper: 500).",
        sizes.len()
    );
    Section::new("Figure 1: the corpus", text).plot(plot)
}

/// Section 2, table 1: B is the first quarter of A.
fn table_1(documents: &[&Text]) -> Result<Section, LabError> {
    let columns = [
        "method",
        "resemblance %",
        "B in A %",
        "entries of A",
        "entries of B",
    ];
    let mut table = Table::new("table-1", &columns);
    let quarters: Vec<&[u8]> = documents
        .iter()
        .map(|text| &text.bytes[..text.bytes.len() / 4])
        .collect();
    for method in [Method::Mod, Method::Min, Method::Sketch, Method::BswMin] {
        let params = windowed(method, 20, 100)?;
        let (wholes, parts) = (sign_all(&params, documents)?, sign_all(&params, &quarters)?);
        let (mut figures, mut contained) = (Vec::new(), Vec::new());
        for (whole, part) in wholes.iter().zip(&parts) {
            figures.push(figure(&params, whole, part));
            let scores = score(&params, whole, part);
            contained.extend(scores.b_in_a.map(|judged| judged.value().unwrap_or(0.0)));
        }
        let len = |all: &[MethodSignature]| {
            mean(&all.iter().map(|one| one.len() as f64).collect::<Vec<_>>())
        };
        let contained = if contained.is_empty() {
            "refused".to_owned()
        } else {
            percent(mean(&contained))
        };
        table.row([
            format!("{method} 100"),
            percent(mean(&figures)),
            contained,
            format!("{:.0}", len(&wholes)),
            format!("{:.0}", len(&parts)),
        ]);
    }
    let text = "B is the first quarter of A; means over all documents. All of B is in A, and the \
        resemblance is 25 %, or more where texts repeat themselves. `Mod_n` and `BSW_n` know the \
        containment; for `Min_n` and `Sketch_n` it is refused, as the paper's table says \
        (\"Containment: no\").";
    Ok(Section::new("Table 1: what each method can measure", text).table(table))
}

/// For each method the similarity of each document after each number of changes:
/// `[method][change][document]`.
fn after_changes(
    documents: &[&Text],
    methods: &[MethodParams],
    edit: Edit,
    spread: Spread,
) -> Result<Vec<Vec<Vec<f64>>>, LabError> {
    let work = |at: usize, done: &mut Vec<(usize, Vec<Vec<f64>>)>| {
        let text = &documents[at].bytes;
        let mut signers: Vec<Signer> = methods.iter().map(Signer::new).collect();
        let mut sign = |text: &[u8]| -> Vec<MethodSignature> {
            signers
                .iter_mut()
                .map(|signer| {
                    signer.update(text);
                    signer.finish()
                })
                .collect()
        };
        let original = sign(text);
        let mut all = vec![Vec::new(); methods.len()];
        for times in CHANGES {
            let changed = sign(&edited(text, edit, spread, times, SEED + at as u64));
            for (place, params) in methods.iter().enumerate() {
                all[place].push(figure(params, &original[place], &changed[place]));
            }
        }
        done.push((at, all));
        Ok::<_, LabError>(())
    };
    let mut parts: Vec<_> = in_parallel(documents.len(), Vec::new, work)?
        .into_iter()
        .flatten()
        .collect();
    parts.sort_by_key(|&(at, _)| at);
    let mut all = vec![vec![Vec::new(); CHANGES.len()]; methods.len()];
    for (_, part) in parts {
        for (place, values) in part.into_iter().enumerate() {
            for (change, value) in values.into_iter().enumerate() {
                all[place][change].push(value);
            }
        }
    }
    Ok(all)
}

/// The means over the documents as a curve.
fn curve(of_method: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let start = std::iter::once((0.0, 100.0));
    let means = CHANGES.iter().zip(of_method);
    start
        .chain(means.map(|(&times, values)| (times as f64, mean(values) * 100.0)))
        .collect()
}

fn changes_plot(name: &str, title: &str) -> Plot {
    Plot::new(
        name,
        title,
        "changes in a document",
        "average similarity, %",
    )
}

fn figure_2(documents: &[&Text]) -> Result<Section, LabError> {
    let mut section = Section::new("Figure 2: the window", "");
    let mut table = Table::new(
        "figure-02-ends",
        &["window", "Mod_100 after 50 %", "BSW_400 after 50 %"],
    );
    let mut rows: Vec<Vec<String>> = WINDOWS
        .iter()
        .map(|window| vec![window.to_string()])
        .collect();
    for (letter, method, n) in [("a", Method::Mod, 100), ("b", Method::BswMin, 400)] {
        let methods: Vec<MethodParams> = WINDOWS
            .iter()
            .map(|&window| windowed(method, window, n))
            .collect::<Result<_, _>>()?;
        let all = after_changes(documents, &methods, Edit::Insert, Spread::Random)?;
        let title = format!(
            "Figure 2({letter}): {} with windows of 5 to 100 bytes",
            name(method, n)
        );
        let mut plot = changes_plot(&format!("figure-02{letter}"), &title);
        for ((window, values), row) in WINDOWS.iter().zip(&all).zip(&mut rows) {
            plot.curve(format!("{window} bytes"), curve(values));
            row.extend(values.last().map(|last| percent(mean(last))));
        }
        section = section.plot(plot);
    }
    table.rows = rows;
    section.text.push_str(
        "\"a \" inserted at random places. The smaller the window, the more \
        similar the edited document stays. Paper, `Mod_100` after 50 inserts: 97 % with 5 bytes, \
        66 % with 100.",
    );
    Ok(section.table(table))
}

fn name(method: Method, n: u32) -> String {
    let name = match method {
        Method::Mod => "Mod",
        Method::Min => "Min",
        Method::Sketch => "Sketch",
        Method::BswMin => "BSW",
        other => return format!("{other} {n}"),
    };
    format!("{name}_{n}")
}

/// The similarities above zero of all pairs, ascending, and how many pairs there are.
fn strangers(params: &MethodParams, documents: &[&Text]) -> Result<(Vec<f64>, usize), LabError> {
    let signatures = sign_all(params, documents)?;
    let mut above = Vec::new();
    let mut pairs = 0;
    for (at, a) in signatures.iter().enumerate() {
        for b in &signatures[at + 1..] {
            pairs += 1;
            let value = figure(params, a, b);
            if value > 0.0 {
                above.push(value);
            }
        }
    }
    above.sort_by(f64::total_cmp);
    Ok((above, pairs))
}

/// The cumulative distribution of the values.
fn cdf(values: &[f64]) -> Vec<(f64, f64)> {
    let count = values.len().max(1) as f64;
    // A few hundred points say as much as thousands.
    let every = values.len().div_ceil(300).max(1);
    (0..values.len())
        .filter(|at| at % every == 0 || at + 1 == values.len())
        .map(|at| (values[at] * 100.0, (at + 1) as f64 / count * 100.0))
        .collect()
}

fn cdf_plot(name: &str, title: &str) -> Plot {
    Plot::new(name, title, "similarity, %", "pairs above 0, %")
}

fn figure_3(documents: &[&Text]) -> Result<Section, LabError> {
    let mut section = Section::new("Figure 3: strangers and the window", "");
    let columns = [
        "method",
        "window",
        "pairs with overlap %",
        "mean of all pairs %",
        "pairs above 20 % %",
    ];
    let mut table = Table::new("figure-03-shares", &columns);
    for (letter, method, n) in [("a", Method::Mod, 100), ("b", Method::BswMin, 400)] {
        let title = format!(
            "Figure 3({letter}): overlap of different documents, {}",
            name(method, n)
        );
        let mut plot = cdf_plot(&format!("figure-03{letter}"), &title);
        for window in WINDOWS {
            let (above, pairs) = strangers(&windowed(method, window, n)?, documents)?;
            let pairs = pairs.max(1) as f64;
            plot.curve(format!("{window} bytes"), cdf(&above));
            let much = above.iter().filter(|&&value| value > 0.2).count() as f64;
            table.row([
                name(method, n),
                window.to_string(),
                percent(above.len() as f64 / pairs),
                format!("{:.3}", above.iter().sum::<f64>() / pairs * 100.0),
                percent(much / pairs),
            ]);
        }
        section = section.plot(plot);
    }
    section.text.push_str(
        "All pairs of documents, which are different. With 5 and 10 bytes \
        \"practically any pair of distinct documents does exhibit some overlap\" (paper); with 5 \
        bytes more than 5 % of the paper's pairs were above 20 %. A folder with related documents \
        has a tail that no window removes.",
    );
    Ok(section.table(table))
}

fn figure_4(documents: &[&Text]) -> Result<Section, LabError> {
    let mut plot = cdf_plot(
        "figure-04",
        "Figure 4: overlap of different documents, windows of 20 bytes",
    );
    let mut table = Table::new(
        "figure-04-shares",
        &["method", "pairs with overlap %", "of these below 4 % %"],
    );
    for method in [Method::Min, Method::Mod, Method::Sketch, Method::BswMin] {
        let (above, pairs) = strangers(&windowed(method, 20, 100)?, documents)?;
        let few = above.iter().filter(|&&value| value < 0.04).count();
        plot.curve(name(method, 100), cdf(&above));
        table.row([
            name(method, 100),
            percent(above.len() as f64 / pairs.max(1) as f64),
            percent(few as f64 / above.len().max(1) as f64),
        ]);
    }
    let text = "Paper: `Mod_100` finds many more slightly similar pairs than the others.";
    Ok(Section::new("Figure 4: strangers and the method", text)
        .plot(plot)
        .table(table))
}

fn figures_5_and_6(documents: &[&Text]) -> Result<Section, LabError> {
    let mut section = Section::new("Figures 5 and 6: how much is kept", "");
    let mut table = Table::new(
        "figure-06-spread",
        &[
            "method",
            "mean after 50 %",
            "deviation of a document %",
            "documents at 100 %",
        ],
    );
    for (letter, method, ns) in [
        ("a", Method::Sketch, [10, 50, 100]),
        ("b", Method::BswMin, [1000, 400, 100]),
    ] {
        let methods: Vec<MethodParams> = ns
            .iter()
            .map(|&n| windowed(method, 20, n))
            .collect::<Result<_, _>>()?;
        let all = after_changes(documents, &methods, Edit::Insert, Spread::Random)?;
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
        for (&n, values) in ns.iter().zip(&all) {
            means.curve(name(method, n), curve(values));
            let Some(last) = values.last() else { continue };
            // What is expected of a document of its size, about: the mean of its neighbours.
            let around = |at: usize| {
                let from = at.saturating_sub(5);
                mean(&last[from..(at + 6).min(last.len())])
            };
            let off: Vec<f64> = (0..last.len())
                .map(|at| (last[at] - around(at)).powi(2))
                .collect();
            let full = last.iter().filter(|&&value| value >= 1.0).count();
            table.row([
                name(method, n),
                percent(mean(last)),
                percent(mean(&off).sqrt()),
                full.to_string(),
            ]);
            if n != ns[1] {
                let points = (0..)
                    .map(f64::from)
                    .zip(last.iter().map(|value| value * 100.0));
                each.curve(name(method, n), points);
            }
        }
        section = section.plot(means).plot(each);
    }
    section.text.push_str(
        "On average the number of entries makes no difference; for a single \
        document it does. Paper: \"in many cases `Sketch_10` misses all differences … and reports \
        100 %\".",
    );
    Ok(section.table(table))
}

fn figures_7_and_8(documents: &[&Text], rate: u32) -> Result<Section, LabError> {
    let four = [
        (Method::Mod, rate),
        (Method::Min, 100),
        (Method::Sketch, 100),
        (Method::BswMin, rate),
    ];
    let methods: Vec<MethodParams> = four
        .iter()
        .map(|&(method, n)| windowed(method, 20, n))
        .collect::<Result<_, _>>()?;
    let mut section = Section::new("Figures 7 and 8: the four methods at equal size", "");
    let columns = ["changes", "spread", "Mod %", "Min %", "Sketch %", "BSW %"];
    let mut table = Table::new("figure-07-ends", &columns);
    let sizes: Vec<String> = methods
        .iter()
        .zip(&four)
        .map(|(params, &(method, n))| {
            let signatures = sign_all(params, documents)?;
            let lens: Vec<f64> = signatures.iter().map(|one| one.len() as f64).collect();
            Ok(format!("{} {:.0}", name(method, n), mean(&lens)))
        })
        .collect::<Result<_, LabError>>()?;
    for (letter, edit, spread, what) in [
        (
            "a",
            Edit::Insert,
            Spread::Random,
            "\"a \" inserted at random",
        ),
        ("b", Edit::Remove, Spread::Random, "words removed at random"),
        ("c", Edit::Insert, Spread::Even, "\"a \" inserted evenly"),
        ("d", Edit::Remove, Spread::Even, "words removed evenly"),
    ] {
        let all = after_changes(documents, &methods, edit, spread)?;
        let title = format!("Figure 7({letter}): {what}");
        let mut plot = changes_plot(&format!("figure-07{letter}"), &title);
        for (&(method, n), values) in four.iter().zip(&all) {
            plot.curve(name(method, n), curve(values));
        }
        section = section.plot(plot);
        for times in [10, 50] {
            let Some(at) = CHANGES.iter().position(|&change| change == times) else {
                continue;
            };
            let figures = all.iter().map(|values| percent(mean(&values[at])));
            let head = [
                format!("{times}, {what}"),
                format!("{spread:?}").to_lowercase(),
            ];
            table.row(head.into_iter().chain(figures));
            if letter == "b" {
                let which = if times == 10 { "a" } else { "b" };
                let mut each = Plot::new(
                    &format!("figure-08{which}"),
                    &format!("Figure 8({which}): each document, {times} words removed"),
                    "document, by size",
                    "similarity, %",
                )
                .points();
                for (&(method, n), values) in four.iter().zip(&all) {
                    let points = values[at].iter().map(|value| value * 100.0);
                    each.curve(name(method, n), (0..).map(f64::from).zip(points));
                }
                section = section.plot(each);
            }
        }
    }
    section.text = format!(
        "Entries of an average document: {}. Paper: up to ten changes all are alike; then \
         \"`Mod_n` and `Min_n` report on average a higher (more accurate) similarity metric than \
         `Sketch_n` and `BSW_n`\"; evenly spread changes cost more.",
        sizes.join(", ")
    );
    Ok(section.table(table))
}

fn figure_11(documents: &[&Text], clock: Clock<'_>) -> Result<Section, LabError> {
    let mut text: Vec<u8> = Vec::new();
    for document in documents.iter().cycle().take(1000) {
        text.extend_from_slice(&document.bytes);
        if text.len() >= 500_000 {
            break;
        }
    }
    text.truncate(500_000);
    let mut plot = Plot::new(
        "figure-11",
        "Figure 11: time for 500 KB",
        "window, bytes",
        "milliseconds",
    );
    let mut table = Table::new("figure-11-times", &["method", "window", "ms", "MB/s"]);
    plot.log_y = true;
    for (method, n) in [
        (Method::Mod, 100),
        (Method::Min, 100),
        (Method::BswMin, 100),
        (Method::Sketch, 10),
        (Method::Sketch, 100),
    ] {
        let mut points = Vec::new();
        for window in [10, 20, 40, 60, 80, 100] {
            let params = windowed(method, window, n)?;
            let mut signer = Signer::new(&params);
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = clock();
                signer.update(&text);
                signer.finish();
                best = best.min(clock() - start);
            }
            points.push((f64::from(window), best * 1e3));
            table.row([
                name(method, n),
                window.to_string(),
                format!("{:.2}", best * 1e3),
                format!("{:.0}", text.len() as f64 / 1e6 / best.max(1e-9)),
            ]);
        }
        plot.curve(name(method, n), points);
    }
    let text = "One thread, the best of three. Paper: `Sketch_n` costs n hash functions, the \
        others one, whatever the window. Here a window is hashed once and that hash goes through \
        the n functions, so `Sketch_n` does not depend on the window either.";
    Ok(Section::new("Figure 11: time", text)
        .plot(plot)
        .table(table))
}

/// "Traditional Basic Sliding Window algorithm might be a more promising approach for longer files
/// … and is worth future investigation."
fn section_8(documents: &[&Text], rate: u32) -> Result<Section, LabError> {
    let long: Vec<&Text> = documents.iter().rev().take(25).rev().copied().collect();
    let (bsw, bsw_n, mod_n) = (
        rated(Method::Bsw, rate)?,
        windowed(Method::BswMin, 20, rate)?,
        windowed(Method::Mod, 20, rate)?,
    );
    let all = after_changes(&long, &[bsw, bsw_n, mod_n], Edit::Insert, Spread::Random)?;
    let mut plot = changes_plot("section-08", "Section 8: whole chunks on long documents");
    let mut table = Table::new("section-08-ends", &["method", "after 10 %", "after 50 %"]);
    for (label, values) in ["BSW, whole chunks", "BSW_n", "Mod_n"]
        .into_iter()
        .zip(&all)
    {
        plot.curve(label, curve(values));
        let at = |times: usize| {
            let at = CHANGES.iter().position(|&change| change == times);
            at.map_or(String::new(), |at| percent(mean(&values[at])))
        };
        table.row([label.to_owned(), at(10), at(50)]);
    }
    let text = format!(
        "The {} longest documents ({:.0} bytes on average), one entry in {rate} bytes. The paper \
         expects that whole chunks do well on long files; it has no figure. The figure of whole \
         chunks is bytes in common over the smaller file, a lower bound of what is common: an \
         insert spoils its chunk, which is longer the longer chunks are on average at the place \
         of an insert (twice the mean).",
        long.len(),
        mean(
            &long
                .iter()
                .map(|text| text.bytes.len() as f64)
                .collect::<Vec<_>>()
        )
    );
    Ok(Section::new("Section 8: whole chunks", text)
        .plot(plot)
        .table(table))
}
