//! Aligns the lines of two files in rows.
//!
//! 1. **A newline inside a step is an anchor**: the same newline is in both files, so the lines
//!    that end with it share a row. All lines up to the last newline of the step are equal and may
//!    be folded.
//! 2. **Between anchors** lie differing, moved and repeated lines. Some lines are equal by chance,
//!    but too short to count as shared: a brace, an empty line. These lines align the two sides by
//!    a longest common subsequence, as in `diff`. The other lines are paired from the top.
//! 3. **Folds are made before rows.** The lines of a folded stretch are counted, but not visited.
//!    So even a file of sixty million bytes takes only a pass of `memchr` and the making of the
//!    rows that are shown.
//!
//! Rows of bytes are made in the same way, from pieces of a stripe instead of lines.

use std::ops::Range;

use crate::why::cells::{hex, whole_characters};
use crate::why::decode;
use crate::why::layout::{Layout, Stripe};
use crate::why::lines::{Lines, count_lines};
use crate::why::view::{Fold, Folded, Line, Rest, Row, RowSide, Span, ViewOptions, grouped};

/// The maximum number of rows on either side of a gap that are aligned. The rows of longer gaps are
/// paired from the top.
const ALIGNED: usize = 400;

/// A fold omits more than this many rows.
const LEAST_FOLDED: usize = 3;

/// The maximum number of spans of one line.
const SPANS: usize = 64;

/// The maximum average number of bytes of text in a row. All rows together have at most `ROW` ×
/// [`ViewOptions::rows`] bytes.
const ROW: usize = 200;

/// One of the two files.
#[derive(Clone, Copy)]
struct File<'d> {
    bytes: &'d [u8],
    stripes: &'d [Stripe],
}

impl File<'_> {
    fn slice(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn stripe_at(&self, place: u64) -> Option<&Stripe> {
        let at = self.stripes.partition_point(|s| s.range.end <= place);
        self.stripes.get(at)
    }

    /// Returns the place after the last newline in `range`, or the start of `range` if it has no
    /// newline.
    fn line_start(&self, range: &Range<u64>) -> u64 {
        memchr::memrchr(b'\n', self.slice(range))
            .map_or(range.start, |at| range.start + at as u64 + 1)
    }

    /// Returns the place after the first newline in `range`, or the end of `range` if it has no
    /// newline.
    fn line_end(&self, range: &Range<u64>) -> u64 {
        memchr::memchr(b'\n', self.slice(range)).map_or(range.end, |at| range.start + at as u64 + 1)
    }
}

/// A line or a fold of one side.
#[derive(Clone, Debug)]
struct Item {
    range: Range<u64>,
    fold: Option<Fold>,
}

pub(super) struct Builder<'d> {
    a: File<'d>,
    b: File<'d>,
    layout: &'d Layout,
    /// Line numbers, if the files are text.
    lines: Option<(Lines<'d>, Lines<'d>)>,
    options: ViewOptions,
    rows: Vec<Row>,
    /// For each file, the position up to which it was shown or folded.
    done: (u64, u64),
    /// The number of bytes of text that may still be shown.
    left: usize,
    full: bool,
}

impl<'d> Builder<'d> {
    pub(super) fn new(
        a: &'d [u8],
        b: &'d [u8],
        layout: &'d Layout,
        options: ViewOptions,
        text: bool,
    ) -> Self {
        Self {
            a: File {
                bytes: a,
                stripes: &layout.a,
            },
            b: File {
                bytes: b,
                stripes: &layout.b,
            },
            layout,
            lines: text.then(|| (Lines::of(a), Lines::of(b))),
            left: options.rows.saturating_mul(ROW),
            options: ViewOptions {
                hex: options.hex.max(1),
                gap: options.gap.max(1),
                ..options
            },
            rows: Vec::new(),
            done: (0, 0),
            full: false,
        }
    }

    /// Returns both files side by side.
    pub(super) fn build(mut self) -> (Vec<Row>, Option<Rest>) {
        let layout = self.layout;
        for step in &layout.steps {
            if self.full {
                break;
            }
            if self.lines.is_some() {
                self.step_of_lines(step.a.clone(), step.b.clone());
            } else {
                self.gap(self.done.0..step.a.start, self.done.1..step.b.start);
                self.equal(step.a.clone(), step.b.clone());
            }
        }
        if !self.full {
            self.gap(self.done.0..self.a.len(), self.done.1..self.b.len());
        }
        self.ended()
    }

    /// Returns only the shared ranges: each line of a with its number in b.
    pub(super) fn matches(
        mut self,
        ranges: &[(Range<u64>, Range<u64>)],
    ) -> (Vec<Row>, Option<Rest>) {
        for (a, b) in ranges {
            if self.full {
                break;
            }
            self.done = (a.start, b.start);
            let context = self.options.context;
            self.equal_pieces(a.clone(), b.clone(), (context, context));
        }
        let left = ranges
            .iter()
            .map(|(a, _)| self.done.0.clamp(a.start, a.end)..a.end);
        let (lines, bytes) = left.fold((0, 0), |(lines, bytes), range| {
            let of_text = self
                .lines
                .as_ref()
                .map_or(0, |_| self.count(self.a, &range));
            (lines + of_text, bytes + (range.end - range.start))
        });
        let rest = self.full.then_some(Rest {
            lines_a: lines,
            lines_b: lines,
            bytes_a: bytes,
            bytes_b: bytes,
        });
        (self.rows, rest)
    }

    fn ended(self) -> (Vec<Row>, Option<Rest>) {
        let (a, b) = (self.done.0..self.a.len(), self.done.1..self.b.len());
        let count = |file: &File<'_>, range: &Range<u64>| match self.lines {
            Some(_) => count_lines(file.slice(range)),
            None => 0,
        };
        let rest = self.full.then(|| Rest {
            lines_a: count(&self.a, &a),
            lines_b: count(&self.b, &b),
            bytes_a: a.end - a.start,
            bytes_b: b.end - b.start,
        });
        (self.rows, rest)
    }

    fn step_of_lines(&mut self, a: Range<u64>, b: Range<u64>) {
        let in_step = self.a.slice(&a);
        let (Some(first), Some(last)) = (
            memchr::memchr(b'\n', in_step),
            memchr::memrchr(b'\n', in_step),
        ) else {
            return;
        };
        let (first, last) = (first as u64 + 1, last as u64 + 1);
        let line_a = self.a.line_start(&(self.done.0..a.start + first - 1));
        let line_b = self.b.line_start(&(self.done.1..b.start + first - 1));
        self.gap(self.done.0..line_a, self.done.1..line_b);
        let mut from = 0;
        if line_a < a.start || line_b < b.start {
            self.pair(&(line_a..a.start + first), &(line_b..b.start + first));
            from = first;
        }
        self.equal(
            a.start + from..a.start + last,
            b.start + from..b.start + last,
        );
    }

    /// Adds equal, aligned lines.
    fn equal(&mut self, a: Range<u64>, b: Range<u64>) {
        let at_end = a.end == self.a.len() && b.end == self.b.len();
        let lead = if self.rows.is_empty() {
            0
        } else {
            self.options.context
        };
        let trail = if at_end { 0 } else { self.options.context };
        self.equal_pieces(a, b, (lead, trail));
    }

    fn equal_pieces(&mut self, a: Range<u64>, b: Range<u64>, (lead, trail): (usize, usize)) {
        let pieces = self.folded(self.a, a.clone(), (lead, trail), Folded::Equal);
        for piece in pieces {
            let (from, to) = (piece.range.start - a.start, piece.range.end - a.start);
            let other = Item {
                range: b.start + from..b.start + to,
                fold: piece.fold,
            };
            self.push(Some(piece), Some(other), true);
        }
    }

    /// Returns a range of one file as units: lines, or rows of bytes. If the range is long enough,
    /// its middle is folded.
    fn folded(
        &self,
        file: File<'d>,
        range: Range<u64>,
        (lead, trail): (usize, usize),
        what: Folded,
    ) -> Vec<Item> {
        let mut items = Vec::new();
        let units = self.count(file, &range);
        if units <= (lead + trail + LEAST_FOLDED) as u64 {
            self.take(file, range, usize::MAX, &mut items);
            return items;
        }
        let from = self.take(file, range.clone(), lead, &mut items);
        let to = self.back(file, &(from..range.end), trail);
        items.push(Item {
            fold: Some(Fold {
                lines: if self.lines.is_some() {
                    units - (lead + trail) as u64
                } else {
                    0
                },
                bytes: to - from,
                what,
            }),
            range: from..to,
        });
        self.take(file, to..range.end, usize::MAX, &mut items);
        items
    }

    /// Counts the units of a range: lines (including a last one without newline), or rows of bytes.
    fn count(&self, file: File<'d>, range: &Range<u64>) -> u64 {
        if self.lines.is_none() {
            return (range.end - range.start).div_ceil(self.options.hex as u64);
        }
        let bytes = file.slice(range);
        count_lines(bytes) + u64::from(bytes.last().is_some_and(|&last| last != b'\n'))
    }

    /// Appends the first `most` units of a range to `items`, and returns the place where they end.
    fn take(&self, file: File<'d>, range: Range<u64>, most: usize, items: &mut Vec<Item>) -> u64 {
        let mut at = range.start;
        for _ in 0..most {
            if at >= range.end {
                break;
            }
            let end = match self.lines {
                Some(_) => file.line_end(&(at..range.end)),
                None => (at + self.options.hex as u64).min(range.end),
            };
            items.push(Item {
                range: at..end,
                fold: None,
            });
            at = end;
        }
        at
    }

    /// Returns the place where the last `most` units of a range begin.
    fn back(&self, file: File<'d>, range: &Range<u64>, most: usize) -> u64 {
        let mut at = range.end;
        for _ in 0..most {
            at = if self.lines.is_some() {
                let before_feed = at.saturating_sub(1).max(range.start);
                file.line_start(&(range.start..before_feed))
            } else {
                let hex = self.options.hex as u64;
                let rows = (at - range.start).div_ceil(hex);
                range.start + rows.saturating_sub(1) * hex
            };
        }
        at
    }

    /// Adds the lines between two anchors.
    fn gap(&mut self, a: Range<u64>, b: Range<u64>) {
        let left = self.items(self.a, a);
        let right = self.items(self.b, b);
        let mut left = left.into_iter();
        let mut right = right.into_iter();
        let matches = self.common(left.as_slice(), right.as_slice());
        let (mut at_left, mut at_right) = (0, 0);
        for (to_left, to_right) in matches {
            let (l, r) = (to_left - at_left, to_right - at_right);
            self.zip(left.by_ref().take(l), right.by_ref().take(r));
            let (one, other) = (left.next(), right.next());
            self.push(one, other, true);
            (at_left, at_right) = (to_left + 1, to_right + 1);
        }
        self.zip(left, right);
    }

    fn zip(&mut self, mut left: impl Iterator<Item = Item>, mut right: impl Iterator<Item = Item>) {
        loop {
            match (left.next(), right.next()) {
                (None, None) => break,
                (one, other) => self.push(one, other, false),
            }
        }
    }

    /// Returns the units of one side of a gap: at most [`ViewOptions::gap`], then a fold of the
    /// rest.
    fn items(&self, file: File<'d>, range: Range<u64>) -> Vec<Item> {
        let context = self.options.context;
        let mut items = Vec::new();
        let mut at = range.start;
        while at < range.end {
            if items.len() >= self.options.gap {
                items.push(Item {
                    fold: Some(Fold {
                        lines: self
                            .lines
                            .as_ref()
                            .map_or(0, |_| self.count(file, &(at..range.end))),
                        bytes: range.end - at,
                        what: Folded::Only,
                    }),
                    range: at..range.end,
                });
                break;
            }
            let Some(stripe) = file.stripe_at(at) else {
                break;
            };
            let end = stripe.range.end.min(range.end);
            let whole = match self.lines {
                // A piece that ends within the range is cut after its last whole line.
                Some(_) if end < range.end => file.line_start(&(at..end)),
                _ => end,
            };
            let folded = match (stripe.run, &self.lines) {
                (Some(run), _) if whole > at => {
                    Some(self.folded(file, at..whole, (context, context), Folded::Run(run)))
                }
                (None, None) => {
                    let most = self.options.gap - items.len();
                    at = self.take(file, at..end, most, &mut items);
                    continue;
                }
                _ => None,
            };
            match folded {
                Some(more) => {
                    items.extend(more);
                    at = whole;
                }
                None => at = self.take(file, at..range.end, 1, &mut items),
            }
        }
        items
    }

    /// Returns the longest common subsequence of the units of both sides.
    fn common(&self, left: &[Item], right: &[Item]) -> Vec<(usize, usize)> {
        let (l, r) = (left.len(), right.len());
        if l > ALIGNED || r > ALIGNED || self.lines.is_none() {
            return Vec::new();
        }
        let same = |i: usize, j: usize| {
            left[i].fold.is_none()
                && right[j].fold.is_none()
                && self.a.slice(&left[i].range) == self.b.slice(&right[j].range)
        };
        // For each (i, j), the length of the longest common subsequence of the units from i and
        // from j on.
        let mut best = vec![0u16; (l + 1) * (r + 1)];
        for i in (0..l).rev() {
            for j in (0..r).rev() {
                let skipped = best[(i + 1) * (r + 1) + j].max(best[i * (r + 1) + j + 1]);
                let taken = if same(i, j) {
                    best[(i + 1) * (r + 1) + j + 1] + 1
                } else {
                    0
                };
                best[i * (r + 1) + j] = skipped.max(taken);
            }
        }
        let mut pairs = Vec::new();
        let (mut i, mut j) = (0, 0);
        while i < l && j < r {
            let here = best[i * (r + 1) + j];
            if same(i, j) && here == best[(i + 1) * (r + 1) + j + 1] + 1 {
                pairs.push((i, j));
                (i, j) = (i + 1, j + 1);
            } else if best[(i + 1) * (r + 1) + j] == here {
                i += 1;
            } else {
                j += 1;
            }
        }
        pairs
    }

    fn pair(&mut self, a: &Range<u64>, b: &Range<u64>) {
        let equal = self.a.slice(a) == self.b.slice(b);
        let item = |range: &Range<u64>| {
            Some(Item {
                range: range.clone(),
                fold: None,
            })
        };
        self.push(item(a), item(b), equal);
    }

    /// Adds a row, unless the limit is reached.
    fn push(&mut self, left: Option<Item>, right: Option<Item>, equal: bool) {
        if self.full || self.rows.len() >= self.options.rows || self.left == 0 {
            self.full = true;
            return;
        }
        if let Some(item) = &left {
            self.done.0 = item.range.end;
        }
        if let Some(item) = &right {
            self.done.1 = item.range.end;
        }
        let lines = self.lines.as_ref();
        let row = Row {
            left: left.map(|item| self.side(self.a, lines.map(|lines| &lines.0), item)),
            right: right.map(|item| self.side(self.b, lines.map(|lines| &lines.1), item)),
            equal,
        };
        for side in [&row.left, &row.right] {
            if let Some(RowSide::Line(line)) = side {
                let shown: usize = line.spans.iter().map(|span| span.text.len()).sum();
                self.left = self.left.saturating_sub(shown);
            }
        }
        self.rows.push(row);
    }

    fn side(&self, file: File<'d>, lines: Option<&Lines<'_>>, item: Item) -> RowSide {
        if let Some(fold) = item.fold {
            return RowSide::Fold(fold);
        }
        RowSide::Line(match lines {
            Some(lines) => Line {
                number: lines.at(item.range.start),
                spans: self.spans(file, item.range),
            },
            None => Line {
                number: item.range.start,
                spans: vec![Span {
                    run: file.stripe_at(item.range.start).and_then(|s| s.run),
                    text: hex(file.slice(&item.range), self.options.hex),
                }],
            },
        })
    }

    /// Returns a line of text as spans, without its line end.
    fn spans(&self, file: File<'d>, line: Range<u64>) -> Vec<Span> {
        let mut end = line.end;
        let run_at = |place: u64| file.stripe_at(place).and_then(|stripe| stripe.run);
        if file.slice(&line).ends_with(b"\n") {
            end -= 1;
            // A carriage return that both files have is not shown.
            if end > line.start
                && file.bytes[end as usize - 1] == b'\r'
                && run_at(end - 1).is_some()
            {
                end -= 1;
            }
        }
        let range = line.start..end;
        let mut stripes: Vec<Stripe> = Layout::within(file.stripes, &range)
            .take(SPANS + 1)
            .collect();
        let cut = stripes.len() > SPANS;
        stripes.truncate(SPANS);
        whole_characters(file.bytes, &mut stripes, &range);
        let mut spans: Vec<Span> = Vec::with_capacity(stripes.len());
        for stripe in stripes.iter().filter(|stripe| !stripe.range.is_empty()) {
            let text = self.shortened(file.slice(&stripe.range));
            match spans.last_mut() {
                Some(last) if last.run == stripe.run => last.text.push_str(&text),
                _ => spans.push(Span {
                    run: stripe.run,
                    text,
                }),
            }
        }
        if cut {
            spans.push(Span {
                run: None,
                text: "…".to_owned(),
            });
        }
        if spans.is_empty() {
            spans.push(Span {
                run: run_at(line.start),
                text: String::new(),
            });
        }
        spans
    }

    /// Returns the text of a span. If it is long, its middle is left out.
    fn shortened(&self, bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut add = |bytes: &[u8]| decode::chars(bytes, |_, _, c| text.push(c));
        if bytes.len() <= self.options.line.max(16) {
            add(bytes);
            return text;
        }
        let half = self.options.line.max(16) / 2;
        let is_boundary = |at: &usize| bytes[*at] & 0xc0 != 0x80;
        let head = (half.saturating_sub(3)..=half)
            .rev()
            .find(is_boundary)
            .unwrap_or(half);
        let tail = bytes.len() - half;
        let tail = (tail..tail + 4).find(is_boundary).unwrap_or(tail);
        add(&bytes[..head]);
        text.push_str("… ");
        text.push_str(&grouped((tail - head) as u64));
        text.push_str(" bytes …");
        decode::chars(&bytes[tail..], |_, _, c| text.push(c));
        text
    }
}
