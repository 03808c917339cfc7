//! Repeats figure 11, which shows times, and tests what section 8 proposes: whole chunks for long
//! documents.

use resemble_methods::changes::{Edit, Spread};
use resemble_methods::{Method, Signer};

use super::{
    Clock, Draws, Plot, ResearchCorpus, Section, Table, Text, after_changes, changes_plot,
    compared, draw, mean, name, rated, windowed,
};
use crate::error::LabError;

/// The number of runs in which each duration is measured.
const TIMED: usize = 5;

pub(super) fn figure_11(documents: &[&Text], clock: Clock<'_>) -> Result<Section, LabError> {
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
    plot.log_y = true;
    let columns = ["method", "window", "ms, best", "ms, all", "MB/s"];
    let mut table = Table::new("figure-11-times", &columns);
    let mut said = Vec::new();
    for (method, n) in [
        (Method::Mod, 100),
        (Method::Min, 100),
        (Method::BswMin, 100),
        (Method::Sketch, 10),
        (Method::Sketch, 100),
    ] {
        let mut points = Vec::new();
        let mut bests = Draws::default();
        for window in [10, 20, 40, 60, 80, 100] {
            let params = windowed(method, window, n)?;
            let mut signer = Signer::new(&params);
            let mut times = Draws::default();
            for _ in 0..TIMED {
                let start = clock();
                signer.update(&text);
                signer.finish();
                times.push((clock() - start) * 1e3);
            }
            let best = times.least();
            bests.push(best);
            points.push((f64::from(window), best));
            table.row([
                name(method, n),
                window.to_string(),
                format!("{best:.2}"),
                times.rounded(2),
                format!("{:.0}", text.len() as f64 / 1e3 / best.max(1e-6)),
            ]);
        }
        plot.curve(name(method, n), points);
        said.push(format!("{} {}", name(method, n), bests.rounded(1)));
    }
    let text = format!(
        "{} bytes on one thread; the best of {TIMED} times. Milliseconds over the windows: {}. \
         Here a window is hashed once, and that hash goes through the n functions of `Sketch_n`. \
         Paper: `Sketch_n` costs n hash functions of the whole window, and more with larger \
         windows.",
        text.len(),
        said.join(", ")
    );
    Ok(Section::new("Figure 11: time", text)
        .plot(plot)
        .table(table))
}

/// Compares the methods on the longest documents. The paper says: "Traditional Basic Sliding Window
/// algorithm might be a more promising approach for longer files … and is worth future
/// investigation."
pub(super) fn section_8(corpus: &ResearchCorpus<'_>, rate: u32) -> Result<Section, LabError> {
    let from = corpus.documents.len().saturating_sub(25);
    let long = ResearchCorpus {
        documents: &corpus.documents[from..],
        ..*corpus
    };
    let methods = [
        rated(Method::Bsw, rate)?,
        windowed(Method::BswMin, 20, rate)?,
        windowed(Method::Mod, 20, rate)?,
    ];
    let all = after_changes(&long, &methods, Edit::Insert, Spread::Random, true)?;
    let mut plot = changes_plot("section-08", "Section 8: whole chunks on long documents");
    let mut table = Table::new("section-08-ends", &["method", "after 10 %", "after 50 %"]);
    let labels = ["whole chunks", "BSW_n", "Mod_n"];
    for (label, edited) in labels.into_iter().zip(&all) {
        draw(&mut plot, label, edited);
        table.row([
            label.to_owned(),
            edited.end(0).to_string(),
            edited.end(1).to_string(),
        ]);
    }
    let sizes: Vec<f64> = long
        .documents
        .iter()
        .map(|text| text.bytes.len() as f64)
        .collect();
    let last: Vec<Draws> = all.iter().map(|edited| edited.end(1)).collect();
    let text = format!(
        "The {} longest documents ({:.0} bytes on average), one entry in {rate} bytes, 50 inserts: \
         {}; {}. The figure of whole chunks is bytes in common over the smaller file. The paper \
         expects whole chunks to be \"a more promising approach for longer files\" and has no \
         figure.",
        long.documents.len(),
        mean(&sizes),
        compared((labels[0], &last[0]), (labels[1], &last[1])),
        compared((labels[0], &last[0]), (labels[2], &last[2])),
    );
    Ok(Section::new("Section 8: whole chunks", text)
        .plot(plot)
        .table(table))
}
