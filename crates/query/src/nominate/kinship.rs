//! What tells kin from strangers among contents that are no text: how few others have what both
//! have.
//!
//! Two programs of one compiler share padding, tables of strings and the code of every start; two
//! builds of one program share what nobody else has. So a window that n contents have counts 1/n,
//! and *kinship* is what two contents have in common of that over what the one with less comes to,
//! as with texts (`Proof::kinship` of core). Samples suffice to tell. What is common to a family of
//! near-copies is no less evidence, though many have it: half of all windows are enough.

use resemble_core::similarity::{discount, lower_end};
use resemble_core::{ContentKind, Fingerprint};

use crate::nominate::block::{Common, PostingBlock};

/// Windows in common that nobody else has, or more of those that others have, and chunks.
const TOLD: f32 = 4.0;

/// Or so much of what is rare in the one with less.
const KIN: f64 = 0.07;

/// Or so much of all windows of the one with fewer, each discounted as text is, or of both.
const ALIKE: f64 = 0.5;

/// Fewer samples tell nothing: what nominated the pair is enough.
const FEW: u32 = 4;

/// A sampled window of a content.
#[derive(Clone, Copy, Debug)]
struct SampledWindow {
    fingerprint: Fingerprint,
    /// One over the contents that have it.
    rarity: f32,
    /// What it counts after the discount.
    weight: f32,
}

/// Windows, counted.
#[derive(Clone, Copy, Debug, Default)]
struct WindowSum {
    count: u32,
    rarity: f64,
    weight: f64,
}

impl WindowSum {
    fn add(&mut self, window: &SampledWindow) {
        self.count += 1;
        self.rarity += f64::from(window.rarity);
        self.weight += f64::from(window.weight);
    }
}

/// For each content of a block that is no text its sampled windows, ascending. Boilerplate is none
/// of them.
#[derive(Debug)]
pub(crate) struct Kinships<'a> {
    block: &'a PostingBlock,
    windows: Vec<Vec<SampledWindow>>,
}

impl<'a> Kinships<'a> {
    /// Of the contents of a block; what more than `limit` have is boilerplate.
    pub(crate) fn of(block: &'a PostingBlock, limit: u32) -> Self {
        let mut windows = vec![Vec::new(); block.kept.len()];
        for (key, contents) in block.lists_of_fingerprints() {
            let window = SampledWindow {
                fingerprint: Fingerprint(key),
                rarity: 1.0 / contents.len() as f32,
                weight: discount::weight(contents.len() as u32, limit) as f32,
            };
            for &place in contents {
                if block.kept[place as usize].kind != ContentKind::Text {
                    windows[place as usize].push(window);
                }
            }
        }
        Self { block, windows }
    }

    /// The windows of two contents, and those that both have.
    fn sums(&self, (a, b): (usize, usize)) -> (WindowSum, WindowSum, WindowSum) {
        let level = |place: usize| self.block.kept[place].signature.level;
        let level = level(a).max(level(b));
        let at_level = |place: usize| {
            let windows = self.windows[place].iter();
            windows.filter(move |window| window.fingerprint.level() >= level)
        };
        let (mut of_a, mut of_b, mut of_both) = <(WindowSum, WindowSum, WindowSum)>::default();
        at_level(b).for_each(|window| of_b.add(window));
        let mut in_b = at_level(b).map(|window| window.fingerprint).peekable();
        for window in at_level(a) {
            of_a.add(window);
            while in_b.next_if(|&other| other < window.fingerprint).is_some() {}
            if in_b.next_if_eq(&window.fingerprint).is_some() {
                of_both.add(window);
            }
        }
        (of_a, of_b, of_both)
    }

    /// Whether two contents have more in common than strangers.
    pub(crate) fn are_kin(&self, pair: (usize, usize), common: Common) -> bool {
        if common.told >= TOLD {
            return true;
        }
        let (a, b, both) = self.sums(pair);
        let all = a.count + b.count - both.count;
        a.count.min(b.count) < FEW
            || both.rarity >= KIN * a.rarity.min(b.rarity)
            || both.weight > 0.0 && both.weight >= ALIKE * a.weight.min(b.weight)
            || f64::from(both.count) >= ALIKE * f64::from(all)
    }

    /// The kinship of two contents, the lower end of its interval; `None`: no window of one of them
    /// was sampled.
    pub(crate) fn kinship(&self, pair: (usize, usize)) -> Option<f64> {
        let (a, b, both) = self.sums(pair);
        let of = a.rarity.min(b.rarity);
        (of > 0.0).then(|| lower_end(both.rarity, of))
    }
}
