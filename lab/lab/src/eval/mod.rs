//! The experiments of the papers, which `resemble lab eval` runs on any folder of texts.
//!
//! ```text
//! folder ─► collection ─► experiment (texts in, figures out) ─► Page
//! Page ─► tables (CSV), plots (SVG), one page (Markdown)
//! ```
//!
//! Experiments neither read nor write files, with two exceptions. The experiment of Kasprzak et al.
//! writes to a temporary folder and measures its files. The experiment of Broder et al. streams its
//! texts. Random numbers have fixed seeds, so all figures of a report except times are the same on
//! every run and machine. Times are measured with a [`Clock`] argument.
//!
//! A figure that depends on chance is measured under several seeds (by default [`SEEDS`]) and
//! printed with its range. If a sentence draws a conclusion, the program makes the sentence from
//! the measured figures.

pub mod anchors;
pub mod broder;
pub mod cherkasova;
pub mod collection;
mod draws;
pub mod forman;
pub mod guide;
pub mod kasprzak;
pub mod made;
pub mod page;
pub mod partition;
pub mod plot;
pub mod short_texts;
pub mod sif;
pub mod sweeps;

pub use collection::{Collection, Text};
pub use page::{Page, Section};
pub use plot::{Curve, CurveStyle, Plot};
pub use resemble_report::page::Table;

use draws::{Draws, compared, renamed};

use resemble_methods::changes::Random;
use resemble_methods::{Judged, Method, MethodParams, MethodSignature, Settings, Signer, score};
use resemble_relate::parallel::in_parallel;

use crate::error::{LabError, MethodError};

/// The default number of seeds under which a figure that depends on chance is measured.
pub const SEEDS: u64 = 20;

/// A function that returns the seconds since a fixed moment.
pub type Clock<'a> = &'a (dyn Fn() -> f64 + Sync);

/// Functions that measure time and memory.
pub struct Meters<'a> {
    /// Returns the seconds since a fixed moment.
    pub wall: Clock<'a>,
    /// Returns the processor time, in seconds.
    pub cpu: Clock<'a>,
    /// Returns the maximum memory that was used, in bytes, or `None` if it is unknown.
    pub peak: &'a dyn Fn() -> Option<u64>,
}

impl std::fmt::Debug for Meters<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meters")
    }
}

/// Returns the parameters of a method with this window and this n.
fn windowed(method: Method, window: u32, n: u32) -> Result<MethodParams, LabError> {
    let settings = Settings {
        window: Some(window),
        n: Some(n),
        ..Settings::default()
    };
    Ok(MethodParams::new(method, &settings).map_err(MethodError::from)?)
}

/// Returns the parameters of a method with this rate.
fn rated(method: Method, rate: u32) -> Result<MethodParams, LabError> {
    let settings = Settings {
        rate: Some(rate),
        ..Settings::default()
    };
    Ok(MethodParams::new(method, &settings).map_err(MethodError::from)?)
}

/// Returns the signatures of texts, in the order of the texts.
fn sign_all<T: AsRef<[u8]> + Sync>(
    params: &MethodParams,
    texts: &[T],
) -> Result<Vec<MethodSignature>, LabError> {
    let start = || (Signer::new(params), Vec::new());
    let made = in_parallel(texts.len(), start, |at, (signer, made)| {
        signer.update(texts[at].as_ref());
        made.push((at, signer.finish()));
        Ok::<_, LabError>(())
    })?;
    let mut all: Vec<_> = made.into_iter().flat_map(|(_, made)| made).collect();
    all.sort_unstable_by_key(|&(at, _)| at);
    Ok(all.into_iter().map(|(_, signature)| signature).collect())
}

/// Returns the measure of the paper for two signatures. If a file is too small to judge, the result
/// is 0, so that a mean can be computed.
fn figure(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> f64 {
    match score(params, a, b).score {
        Judged::Value(value) => value,
        Judged::TooSmall => 0.0,
    }
}

fn mean(values: &[f64]) -> f64 {
    // An empty sum is -0.0. Adding 0.0 removes the sign, which would otherwise be printed.
    (0.0 + values.iter().sum::<f64>()) / values.len().max(1) as f64
}

fn mean_len(signatures: &[MethodSignature]) -> f64 {
    let lens: Vec<f64> = signatures.iter().map(|one| one.len() as f64).collect();
    mean(&lens)
}

fn percent(value: f64) -> String {
    format!("{:.1}", value * 100.0)
}

/// The maximum number of times that [`equal_rate`] corrects n.
const CORRECTIONS: usize = 8;

/// Finds the n with which the signatures of these texts have about `wanted` entries on average.
/// Returns n and the actual average.
fn equal_rate<T: AsRef<[u8]> + Sync>(
    method: Method,
    texts: &[T],
    wanted: f64,
    start: u32,
) -> Result<(u32, f64), LabError> {
    let (mut n, mut best) = (f64::from(start.max(1)), (start, f64::INFINITY));
    for _ in 0..CORRECTIONS {
        let rounded = n.round().max(1.0) as u32;
        let entries = mean_len(&sign_all(&windowed(method, 20, rounded)?, texts)?);
        if (entries - wanted).abs() < (best.1 - wanted).abs() {
            best = (rounded, entries);
        }
        n *= entries.max(1e-3) / wanted;
    }
    Ok(best)
}
