//! Which window and which rate to take for a folder: the reasoning of Cherkasova et al. 2009, with
//! figures of the folder.
//!
//! The formulas are in [`resemble_methods::guide`]. Their input comes from here: the sizes of the
//! texts, and how much unrelated texts of the folder overlap with each window, by `Mod_n` with a
//! small n.

use resemble_methods::guide::{FEW, Strangers, TOLERATED, WANTED, advise, resemblance_after};
use resemble_methods::{Method, MethodSignature, Signer};

use super::{
    Clock, Collection, Page, Plot, Random, Section, Table, Text, figure, mean, percent, sign_all,
    windowed,
};
use crate::error::LabError;

/// Among how many texts unrelated pairs are looked for.
const TEXTS: usize = 400;

/// How many pairs of them are looked at.
const PAIRS: usize = 4000;

/// The windows that are compared, in bytes.
const WINDOWS: [u32; 8] = [5, 10, 15, 20, 30, 40, 60, 100];

/// Makes the page.
pub fn report(collection: &Collection, clock: Clock<'_>) -> Result<Page, LabError> {
    let texts: Vec<&Text> = collection
        .texts
        .iter()
        .filter(|text| text.bytes.len() >= 500)
        .take(TEXTS)
        .collect();
    let mut random = Random(1);
    let pairs: Vec<(usize, usize)> = (0..PAIRS)
        .filter(|_| texts.len() > 1)
        .map(|_| {
            let a = random.below(texts.len());
            let b = random.below(texts.len() - 1);
            (a, if b >= a { b + 1 } else { b })
        })
        .collect();
    let mut strangers = Vec::new();
    let mut table = Table::new(
        "strangers",
        &[
            "window",
            "mean of strangers %",
            "pairs with overlap %",
            "MB/s",
        ],
    );
    let mut plot = Plot::new(
        "strangers",
        "Overlap of unrelated texts",
        "window, bytes",
        "mean resemblance, %",
    );
    plot.log_y = true;
    // Pairs that are similar with a large window are related and say nothing about windows.
    let related = sign_all(&windowed(Method::Mod, 100, 4)?, &texts)?;
    let params = windowed(Method::Mod, 100, 4)?;
    let strange: Vec<(usize, usize)> = pairs
        .iter()
        .copied()
        .filter(|&(a, b)| figure(&params, &related[a], &related[b]) < 0.01)
        .collect();
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
        let values: Vec<f64> = strange
            .iter()
            .map(|&(a, b)| figure(&params, &signatures[a], &signatures[b]))
            .collect();
        let resemblance = mean(&values);
        let above = values.iter().filter(|&&value| value > 0.0).count();
        table.row([
            window.to_string(),
            format!("{:.3}", resemblance * 100.0),
            percent(above as f64 / values.len().max(1) as f64),
            format!("{:.0}", bytes as f64 / 1e6 / seconds.max(1e-9)),
        ]);
        if !values.is_empty() {
            strangers.push(Strangers {
                window,
                resemblance,
            });
        }
    }
    plot.curve(
        "strangers",
        strangers
            .iter()
            .map(|one| (f64::from(one.window), one.resemblance.max(1e-6) * 100.0)),
    );
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
             deviation).\n\n**What short files lose:** {} of {} texts ({} %) are below {} bytes \
             and will have fewer than {FEW} entries, too few to tell anything. For these take \
             `--method min --window {} --n {WANTED}`, which keeps as many of a short file as of a \
             long one, and cannot tell that one file lies in another; or a smaller rate, which \
             costs more for every file.",
            advice.window,
            advice.rate,
            TOLERATED * 100.0,
            advice.entries,
            percent(advice.deviation),
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
        "{} of {} random pairs of {} texts have nothing to do with each other (below 1 % with \
         windows of 100 bytes).",
        strange.len(),
        pairs.len(),
        texts.len()
    );
    sections.push(Section::new("Strangers", text).plot(plot).table(table));
    sections.push(Section::new("Sizes", "").table(quantiles));
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
