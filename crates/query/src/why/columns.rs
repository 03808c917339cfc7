//! A comparison in two columns.

use std::ops::Range;

use crate::why::Comparison;
use crate::why::layout::Layout;
use crate::why::rows::Builder;
use crate::why::view::{View, ViewOptions};

pub(super) fn view(comparison: &Comparison, options: &ViewOptions) -> View {
    built(comparison, options, None)
}

pub(super) fn matches(comparison: &Comparison, options: &ViewOptions) -> View {
    let ranges = &comparison.shared.ranges;
    let ranges: Vec<_> = ranges
        .iter()
        .map(|range| (range.a.clone(), range.b.clone()))
        .collect();
    built(comparison, options, Some(&ranges))
}

/// Builds the view of everything, or only of the matches. If the bytes are not known, the view has
/// no rows.
fn built(
    comparison: &Comparison,
    options: &ViewOptions,
    matches: Option<&[(Range<u64>, Range<u64>)]>,
) -> View {
    let layout = Layout::of(&comparison.shared);
    let text = comparison.shared.text;
    let (rows, rest) = match comparison.bytes() {
        Some((a, b)) => {
            let builder = Builder::new(a, b, &layout, *options, text);
            match matches {
                Some(ranges) => builder.matches(ranges),
                None => builder.build(),
            }
        }
        None => (Vec::new(), None),
    };
    View {
        text,
        runs: layout.runs,
        rows,
        rest,
    }
}
