//! Recommends a window and a rate for a folder, by the reasoning of Cherkasova et al. 2009 and by
//! figures of the folder.
//!
//! [`resemble_methods::guide`] has the formulas. This module measures their input: the sizes of the
//! texts, and the overlap of unrelated texts with each window. The overlap is measured by `Mod_n`
//! with a small n.

use resemble_methods::guide::{FEW, Strangers, TOLERATED, WANTED, advise, resemblance_after};
use resemble_methods::{Method, MethodSignature, Signer};

use super::{
    Clock, Collection, Draws, Page, Plot, Random, Section, Table, Text, figure, mean, percent,
    sign_all, windowed,
};
use crate::error::LabError;

/// The number of texts among which unrelated pairs are drawn.
const TEXTS: usize = 400;

/// The number of pairs that are drawn for each seed.
const PAIRS: usize = 4000;

/// The windows that are compared, in bytes.
const WINDOWS: [u32; 8] = [5, 10, 15, 20, 30, 40, 60, 100];

/// Draws pairs of different texts.
fn drawn(seed: u64, texts: usize) -> Vec<(usize, usize)> {
    let mut random = Random(seed);
    let pairs = (0..PAIRS).filter(|_| texts > 1).map(|_| {
        let a = random.below(texts);
        let b = random.below(texts - 1);
        (a, if b >= a { b + 1 } else { b })
    });
    pairs.collect()
}

/// Makes the page of this experiment.
pub fn report(collection: &Collection, seeds: u64, clock: Clock<'_>) -> Result<Page, LabError> {
    let texts: Vec<&Text> = collection
        .texts
        .iter()
        .filter(|text| text.bytes.len() >= 500)
        .take(TEXTS)
        .collect();
    let columns = [
        "window",
        "mean of strangers %",
        "pairs with overlap %",
        "MB/s",
    ];
    let mut table = Table::new("strangers", &columns);
    let mut plot = Plot::new(
        "strangers",
        "Overlap of unrelated texts",
        "window, bytes",
        "mean resemblance, %",
    );
    (plot.log_x, plot.log_y) = (true, true);
    // Pairs that are similar even with a large window are related. Only the other pairs show the
    // effect of the window.
    let params = windowed(Method::Mod, 100, 4)?;
    let related = sign_all(&params, &texts)?;
    let strange: Vec<Vec<(usize, usize)>> = (1..=seeds)
        .map(|seed| {
            let mut pairs = drawn(seed, texts.len());
            pairs.retain(|&(a, b)| figure(&params, &related[a], &related[b]) < 0.01);
            pairs
        })
        .collect();
    let mut means: Vec<(u32, Draws)> = Vec::new();
    for window in WINDOWS {
        let params = windowed(Method::Mod, window, 4)?;
        let start = clock();
        let mut signer = Signer::new(&params);
        let mut bytes = 0;
        let signatures: Vec<MethodSignature> = texts
            .iter()
            .map(|text| {
                bytes += text.bytes.len();
                signer.update(&text.bytes);
                signer.finish()
            })
            .collect();
        let seconds = clock() - start;
        let (mut resemblance, mut overlapping) = (Draws::default(), Draws::default());
        for pairs in strange.iter().filter(|pairs| !pairs.is_empty()) {
            let values: Vec<f64> = pairs
                .iter()
                .map(|&(a, b)| figure(&params, &signatures[a], &signatures[b]))
                .collect();
            let above = values.iter().filter(|&&value| value > 0.0).count();
            resemblance.push(mean(&values));
            overlapping.push(above as f64 / values.len() as f64);
        }
        table.row([
            window.to_string(),
            resemblance.percents(3),
            overlapping.to_string(),
            format!("{:.0}", bytes as f64 / 1e6 / seconds.max(1e-9)),
        ]);
        if resemblance != Draws::default() {
            means.push((window, resemblance));
        }
    }
    let percents =
        |draws: &Draws| [draws.mean(), draws.least(), draws.greatest()].map(|x| x * 100.0);
    let points = means
        .iter()
        .map(|(window, draws)| (f64::from(*window), percents(draws)));
    plot.curve("strangers", points.clone().map(|(x, [mean, ..])| (x, mean)));
    plot.ranges("range", points.map(|(x, [_, low, high])| (x, low, high)));
    let strangers_by = |value: &dyn Fn(&Draws) -> f64| -> Vec<Strangers> {
        let of = |(window, draws): &(u32, Draws)| Strangers {
            window: *window,
            resemblance: value(draws),
        };
        means.iter().map(of).collect()
    };
    let strangers = strangers_by(&Draws::mean);
    let mut sizes: Vec<u64> = collection
        .texts
        .iter()
        .map(|text| text.bytes.len() as u64)
        .collect();
    sizes.sort_unstable();
    let at = |share: f64| {
        sizes
            .get(((sizes.len() as f64 * share) as usize).min(sizes.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0)
    };
    let mut quantiles = Table::new("sizes", &["share of files", "bytes at most"]);
    for share in [0.05, 0.25, 0.5, 0.75, 0.95, 1.0] {
        quantiles.row([format!("{} %", share * 100.0), at(share).to_string()]);
    }
    let window_by = |value: &dyn Fn(&Draws) -> f64| {
        let advice = advise(&sizes, &strangers_by(value));
        advice.map_or_else(|| "none".to_owned(), |advice| advice.window.to_string())
    };
    let mut sections = Vec::new();
    if let Some(advice) = advise(&sizes, &strangers) {
        let mut after = Table::new(
            "after-changes",
            &["window", "a median text after 10 inserts %", "after 50 %"],
        );
        for window in WINDOWS {
            after.row([
                window.to_string(),
                percent(resemblance_after(at(0.5), window, 10)),
                percent(resemblance_after(at(0.5), window, 50)),
            ]);
        }
        let text = format!(
            "**`--method mod --window {} --rate {}`**: the least window at which strangers have \
             at most {} % in common on average, and the rate that gives the median text some \
             {WANTED} entries (here {:.0}). An estimate of 70 % is then 70 ± {} % (one standard \
             deviation). The seed with the least overlap advises {}, that with the most \
             {}.\n\n**What short files lose:** {} of {} texts ({} %) are below {} bytes and will \
             have fewer than {FEW} entries. `--method min --window {} --n {WANTED}` keeps as many \
             of a short file as of a long one, and refuses containment.",
            advice.window,
            advice.rate,
            TOLERATED * 100.0,
            advice.entries,
            percent(advice.deviation),
            window_by(&Draws::least),
            window_by(&Draws::greatest),
            advice.too_short,
            sizes.len(),
            percent(advice.too_short as f64 / sizes.len().max(1) as f64),
            advice.least_size,
            advice.window,
        );
        sections.push(Section::new("Recommended", text).table(after));
    } else {
        sections.push(Section::new(
            "Recommended",
            "The folder has too few texts to measure.",
        ));
    }
    let text = format!(
        "{} of {PAIRS} random pairs of {} texts are below 1 % with windows of 100 bytes and count \
         as strangers; means and ranges of {seeds} draws of pairs. MB/s on one thread.",
        strange
            .iter()
            .map(|pairs| pairs.len() as f64)
            .collect::<Draws>()
            .rounded(0),
        texts.len()
    );
    sections.push(Section::new("Strangers", text).plot(plot).table(table));
    sections.push(Section::new("Sizes", format!("{} texts.", sizes.len())).table(quantiles));
    Ok(Page {
        name: "guide".to_owned(),
        title: "Which window, which rate".to_owned(),
        about: format!(
            "{}\n\nThe reasoning is that of Cherkasova et al. 2009, sections 4 to 8.",
            collection.describe()
        ),
        sections,
        files: Vec::new(),
    })
}
