//! Recommends a window and a rate by formulas, which follow the reasoning of Cherkasova et al.
//! 2009, sections 4 to 8.
//!
//! * **Window.** With a small window, near-duplicates stay similar (figure 2), but unrelated files
//!   become similar, too (figure 3: with 5 and 10 bytes "practically any pair of distinct documents
//!   does exhibit some overlap"). So the best window is the smallest window with which unrelated
//!   files share almost nothing. The paper takes 20 bytes.
//! * **Rate.** A signature of some hundred entries distinguishes 70 % from 80 %, but a signature of
//!   ten entries does not (figure 6). With a fixed number of entries, every file costs the same.
//!   With a fixed rate, short files get too few entries: with n = 100, files of a kilobyte had "7
//!   times fewer" (section 5).
//!
//! The caller measures a collection, and passes the sizes of its files and the overlap of unrelated
//! pairs with each window. This module reads no files.

/// Returns the expected resemblance after `inserts` small inserts at random places in a file of
/// `size` bytes, with windows of `window` bytes.
///
/// An insert changes the `window - 1` windows that reach across its place, and adds about as many
/// new windows. The probability that a window survives i inserts is s = (1 - (w-1)/S)^i. The
/// resemblance is then s / (2 - s).
pub fn resemblance_after(size: u64, window: u32, inserts: u32) -> f64 {
    let spoiled = f64::from(window.saturating_sub(1)) / size.max(1) as f64;
    let survives = (1.0 - spoiled.min(1.0)).powi(inserts.min(i32::MAX as u32) as i32);
    survives / (2.0 - survives)
}

/// Returns the standard deviation of a resemblance that is estimated from a union of `entries`
/// entries.
pub fn deviation(resemblance: f64, entries: f64) -> f64 {
    (resemblance * (1.0 - resemblance) / entries.max(1.0)).sqrt()
}

/// The overlap of unrelated pairs, measured with windows of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strangers {
    /// The size of a window in bytes.
    pub window: u32,
    /// The mean resemblance of unrelated pairs.
    pub resemblance: f64,
}

/// The recommendation for a collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// The recommended size of a window in bytes.
    pub window: u32,
    /// The n of `Mod_n` and `BSW_n`.
    pub rate: u32,
    /// The number of entries in the signature of the median file.
    pub entries: f64,
    /// The standard deviation of an estimate for the median file, at a resemblance of 70 %.
    pub deviation: f64,
    /// The number of files with fewer than [`FEW`] entries, which are too few for an estimate.
    pub too_short: u64,
    /// The size in bytes below which a file has too few entries.
    pub least_size: u64,
}

/// The maximum mean resemblance of unrelated files.
pub const TOLERATED: f64 = 0.005;

/// The desired number of entries of a signature. The paper says "n = 100" in sections 4.3 and 5.
pub const WANTED: u64 = 100;

/// The number of entries below which an estimate is only noise. According to section 4.2 of the
/// paper, with `Sketch_10` many edited files were reported as 100 % similar.
pub const FEW: u64 = 10;

/// Applies the paper's reasoning to a collection. `sizes` are the sizes of its files in bytes, and
/// `strangers` is the overlap of unrelated files for each measured window. Returns `None` if
/// nothing was measured.
///
/// Recommends the smallest window with which the resemblance of unrelated files is at most
/// [`TOLERATED`]. If no window reaches that, recommends the window with the smallest overlap. With
/// the recommended rate, the median file has about [`WANTED`] entries. But the rate is at least 4
/// and at most 1000, the highest rate in the paper.
pub fn advise(sizes: &[u64], strangers: &[Strangers]) -> Option<Advice> {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let median = *sorted.get(sorted.len() / 2)?;
    let mut by_window = strangers.to_vec();
    by_window.sort_by_key(|strangers| strangers.window);
    let least = |a: &&Strangers, b: &&Strangers| a.resemblance.total_cmp(&b.resemblance);
    let window = by_window
        .iter()
        .find(|strangers| strangers.resemblance <= TOLERATED)
        .or_else(|| by_window.iter().min_by(least))?
        .window;
    let rate = (median / WANTED).clamp(4, 1000) as u32;
    let entries = median.saturating_sub(u64::from(window)) as f64 / f64::from(rate);
    let least_size = FEW * u64::from(rate) + u64::from(window);
    Some(Advice {
        window,
        rate,
        entries,
        deviation: deviation(0.7, entries),
        too_short: sorted.partition_point(|&size| size < least_size) as u64,
        least_size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_inserts_cost_what_figure_2_shows() {
        // The paper's documents have 9 to 540 KB, 50 KB on average. The figure has 97 % for windows
        // of 5 bytes and 66 % for windows of 100 bytes.
        let sizes = [
            9_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000, 60_000, 100_000, 150_000,
        ];
        let mean = |window| {
            let all = sizes
                .iter()
                .map(|&size| resemblance_after(size, window, 50));
            all.sum::<f64>() / sizes.len() as f64
        };
        assert!((0.96..0.99).contains(&mean(5)), "{}", mean(5));
        assert!((0.60..0.78).contains(&mean(100)), "{}", mean(100));
    }

    #[test]
    fn the_papers_collections_get_the_papers_parameters() {
        let strangers =
            [(5, 0.08), (10, 0.012), (20, 0.002), (40, 0.0004)].map(|(window, resemblance)| {
                Strangers {
                    window,
                    resemblance,
                }
            });
        let reports = advise(&[50_000; 100], &strangers).expect("measured");
        assert_eq!((reports.window, reports.rate), (20, 500));
        assert!((reports.deviation - 0.0459).abs() < 0.001);
        let short = advise(&[900, 1000, 1200, 1500, 4000], &strangers).expect("measured");
        assert_eq!((short.rate, short.too_short), (12, 0));
        assert_eq!(advise(&[], &strangers), None);
        assert_eq!(advise(&[1], &[]), None);
    }
}
