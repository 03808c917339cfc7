//! Where on the screen what is, and which rows of a list are in sight.

use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

/// The rows of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Regions {
    pub(crate) title: u16,
    pub(crate) tabs: u16,
    pub(crate) heading: u16,
    pub(crate) list: Range<u16>,
    /// The pane of what will happen, with the line above it.
    pub(crate) pane: Range<u16>,
    /// Prompts, notes and keys.
    pub(crate) last: u16,
}

impl Regions {
    /// The regions of a screen of this many columns and rows.
    pub(crate) fn of((_, rows): (u16, u16)) -> Self {
        let last = rows.saturating_sub(1);
        // A tall screen shows some of the files that go as well.
        let pane = (rows / 6).clamp(3, 10);
        let end = last.saturating_sub(pane).max(3);
        Self {
            title: 0,
            tabs: 1,
            heading: 2,
            list: 3..end,
            pane: end..last.max(end),
            last,
        }
    }

    pub(crate) fn list_rows(&self) -> usize {
        self.list.len()
    }
}

/// A row of a list, and the first one in sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListCursor {
    pub(crate) at: usize,
    pub(crate) top: usize,
}

impl ListCursor {
    /// Stays within the rows, of which some are in sight.
    pub(crate) fn keep(&mut self, rows: usize, in_sight: usize) {
        self.at = self.at.min(rows.saturating_sub(1));
        let lowest = (self.at + 1).saturating_sub(in_sight);
        self.top = self.top.clamp(lowest, self.at.max(lowest));
        self.top = self.top.min(rows.saturating_sub(in_sight));
    }
}

/// The tab in a column, where two blanks lie between the tabs.
pub(crate) fn tab_at(tabs: &[(String, bool)], column: u16) -> Option<usize> {
    let mut from = 0;
    tabs.iter().position(|(text, _)| {
        let to = from + text.width();
        let is_it = (from..to).contains(&usize::from(column));
        from = to + 2;
        is_it
    })
}
