//! The regions of the screen, and the visible rows of a list.

use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

/// The rows of the screen that each part of it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Regions {
    pub(crate) title: u16,
    pub(crate) tabs: u16,
    pub(crate) heading: u16,
    pub(crate) list: Range<u16>,
    /// The rows of the pane that shows the effect of the plan, with the line above it.
    pub(crate) pane: Range<u16>,
    /// The row for prompts, notes and the list of keys.
    pub(crate) last: u16,
}

impl Regions {
    /// Returns the regions of a screen of this many columns and rows.
    pub(crate) fn of((_, rows): (u16, u16)) -> Self {
        let last = rows.saturating_sub(1);
        // On a tall screen the pane is larger, so it can name some of the files to be removed.
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

/// The selected row of a list, and the first visible row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListCursor {
    pub(crate) at: usize,
    pub(crate) top: usize,
}

impl ListCursor {
    /// Keeps the cursor within the list, and scrolls the list so that the cursor is visible.
    pub(crate) fn keep(&mut self, rows: usize, in_sight: usize) {
        self.at = self.at.min(rows.saturating_sub(1));
        let lowest = (self.at + 1).saturating_sub(in_sight);
        self.top = self.top.clamp(lowest, self.at.max(lowest));
        self.top = self.top.min(rows.saturating_sub(in_sight));
    }
}

/// Returns the index of the tab at a column. Two blanks separate the tabs.
pub(crate) fn tab_at(tabs: &[(String, bool)], column: u16) -> Option<usize> {
    let mut from = 0;
    tabs.iter().position(|(text, _)| {
        let to = from + text.width();
        let is_it = (from..to).contains(&usize::from(column));
        from = to + 2;
        is_it
    })
}
