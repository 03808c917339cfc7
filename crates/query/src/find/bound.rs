//! Computes a cheap upper bound on the measures of a nominee. Thousands of files share a phrase
//! with a file, but few share most of it.

use resemble_core::sample::SamplesFrom;
use resemble_core::similarity::proof::are_text_and_data;
use resemble_core::{ByteLen, ContentKind};
use resemble_index::ContentRow;
use resemble_proto::message::FindOptions;
use resemble_relate::judge::estimate::least_to_read;
use resemble_relate::nominate::block::are_enough;
use resemble_relate::nominate::evidence::Nominee;

use super::Payload;

/// An upper bound on the measures of a nominee, by its common pieces.
pub(super) struct NomineeBound {
    kind: ContentKind,
    /// Distinct fingerprints of the subject. For data these are windows.
    samples: SamplesFrom,
    /// The number of samples of the subject that have posting lists.
    posted: u32,
    level: u8,
    size: ByteLen,
    /// Bytes of the subject's longest chunk.
    longest_chunk: f64,
    /// A pair is read only if its share of common windows is at least this.
    least: f64,
    /// The maximum number of fingerprints of one content that can belong to templates.
    template: u32,
}

/// A scattered edit changes only one byte, but it changes 64 windows. With a share p of common
/// windows, the containment is at most about p·(1 − ln p). That is below 6·p for every p ≥ 0.007.
/// The factor 8 allows for the error of small samples.
const MOST_PER_WINDOW: f64 = 8.0;

impl NomineeBound {
    pub(super) fn new(
        (payload, kind): (&Payload<'_>, ContentKind),
        options: &FindOptions,
        template: usize,
    ) -> Self {
        let sketch = payload.sketch();
        let samples = &sketch.signature.fingerprints;
        let besides = payload.besides.iter();
        let besides = besides.filter(|_| kind == ContentKind::Text);
        let least = if options.exact {
            0.0
        } else {
            least_to_read(options.min) / MOST_PER_WINDOW
        };
        let longest_chunk = sketch.chunks.0.iter().map(|run| run.len).max().unwrap_or(0);
        Self {
            kind,
            samples: SamplesFrom::of(samples.iter().chain(besides).copied()),
            posted: (samples.len() + payload.besides.len()) as u32,
            level: sketch.signature.level,
            size: sketch.size,
            longest_chunk: f64::from(longest_chunk),
            least,
            template: u32::try_from(template).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn could_pass(&self, nominee: &Nominee, row: &ContentRow) -> bool {
        let common = nominee.common;
        // A chunk may prove common bytes that the few samples do not show.
        let chunks = f64::from(common.chunks) * self.longest_chunk;
        let smaller = self.size.0.min(row.size.0).max(1) as f64;
        if common.chunks > 0 && (chunks / smaller >= self.least || self.template > 0) {
            return true;
        }
        let samples = common.fingerprints + nominee.besides_in(self.kind, row.kind);
        if samples == 0 {
            return common.chunks > 0 && self.least <= 0.0;
        }
        // The row of a content that is data counts samples of windows and of words together. So no
        // share can be computed from it.
        if row.kind == ContentKind::Data || are_text_and_data(self.kind, row.kind) {
            return are_enough(samples, f64::from(self.posted.min(row.fingerprints)));
        }
        let level = self.level.max(row.level);
        let a = self.samples.level(level);
        let fingerprints = row.fingerprints.saturating_sub(self.template);
        let b = f64::from(fingerprints) / 2f64.powi(i32::from(level - row.level));
        let fewer = a.min(b).max(1.0);
        are_enough(samples, fewer) && f64::from(samples) / fewer >= self.least
    }
}
