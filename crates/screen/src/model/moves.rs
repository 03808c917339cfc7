//! Moves between the places of the screen, and moves the cursor within a place.

use std::path::Path;

use resemble_proto::path::PathText;

use super::{Effect, Place, Screen};
use crate::collection::{Collection, FolderRow, has};
use crate::regions::{ListCursor, tab_at};

impl Screen {
    pub(super) fn filter_by(&mut self, text: &str) -> Effect {
        text.clone_into(&mut self.filter);
        self.list();
        Effect::Nothing
    }

    pub(super) fn pick_kind(&mut self, at: usize) {
        let Some(collection) = &self.collection else {
            return;
        };
        self.kind = match at.checked_sub(1) {
            None => None,
            Some(at) => match collection.kinds.get(at) {
                Some(kind) => Some(*kind),
                None => return,
            },
        };
        self.list();
    }

    /// Computes the listed groups and the rows of the folder again, with the present filter.
    pub(super) fn list(&mut self) {
        let Some(collection) = &self.collection else {
            return;
        };
        let text = self.filter.as_bytes();
        let wanted = |group: &usize| {
            let kind = collection.groups[*group].kind;
            self.kind.is_none_or(|wanted| wanted == kind)
                && collection
                    .members(*group)
                    .iter()
                    .any(|file| has(&file.path, text))
        };
        self.shown = (0..collection.groups.len()).filter(wanted).collect();
        self.rows = collection.folder(&self.folder, |file| has(&file.path, text));
        if matches!(self.place, Place::Groups | Place::Folders) {
            self.cursor = ListCursor::default();
        }
    }

    pub(super) fn enter(&mut self, place: Place) {
        if place == self.place {
            return;
        }
        if place == Place::Marked {
            self.marked = self.marks.files().collect();
        }
        // If this place is among those that `Escape` returns to, the cursor goes back to its old
        // position.
        let before = self.behind.iter().position(|(at, _)| *at == place);
        if let Some(at) = before {
            self.cursor = self.behind[at].1;
            self.behind.truncate(at);
        } else {
            self.behind.push((self.place, self.cursor));
            self.cursor = ListCursor::default();
        }
        self.place = place;
        self.keep_in_sight();
    }

    pub(super) fn back(&mut self) {
        if self.place == Place::Folders && self.up() {
            return;
        }
        if let Some((place, mut cursor)) = self.behind.pop() {
            // When a comparison of two files is left, the cursor of the group moves to the file
            // that was compared.
            if matches!(self.place, Place::Evidence(_)) {
                cursor.at = self.cursor.at;
            }
            (self.place, self.cursor) = (place, cursor);
            self.keep_in_sight();
        }
    }

    /// Goes to the folder above, but not above the folder in which all files lie. Returns whether
    /// it went there.
    pub(super) fn up(&mut self) -> bool {
        let top = self.collection.as_ref().map(Collection::top);
        let above = self.folder.parent().map(Path::to_owned);
        let Some(above) = above.filter(|_| top.is_some_and(|top| top != self.folder)) else {
            return false;
        };
        let from = PathText::from(std::mem::replace(&mut self.folder, above));
        self.list();
        let at = self.rows.iter().position(|row| row.path == from);
        self.cursor.at = at.unwrap_or_default();
        self.keep_in_sight();
        true
    }

    pub(super) fn open(&mut self) -> Effect {
        match self.place {
            Place::Groups => {
                if let Some(group) = self.shown.get(self.cursor.at).copied() {
                    self.enter(Place::Group(group));
                }
            }
            Place::Folders => match self.rows.get(self.cursor.at) {
                Some(FolderRow {
                    path, file: None, ..
                }) => {
                    self.folder = path.as_path().to_owned();
                    self.list();
                }
                Some(FolderRow {
                    file: Some(file), ..
                }) => self.enter_file(*file),
                None => {}
            },
            Place::Marked => {
                if let Some(file) = self.marked.get(self.cursor.at).copied() {
                    self.enter_file(file);
                }
            }
            Place::Group(group) => {
                let reference = self.reference(group);
                if self.members() < 2 {
                    "there is no other file to compare it with".clone_into(&mut self.note);
                    return Effect::Nothing;
                }
                // The reference file is not compared with itself, so another file is chosen.
                if self.cursor.at == reference {
                    self.cursor.at = usize::from(reference == 0);
                }
                let at = self.cursor;
                self.enter(Place::Evidence(group));
                self.cursor = ListCursor { at: at.at, top: 0 };
                return self.ask_evidence();
            }
            Place::Evidence(_) => {}
        }
        Effect::Nothing
    }

    pub(super) fn enter_file(&mut self, file: usize) {
        let Some(collection) = &self.collection else {
            return;
        };
        let group = collection.files[file].group;
        let first = collection.groups[group].files.start;
        self.enter(Place::Group(group));
        self.cursor.at = file - first;
        self.keep_in_sight();
    }

    pub(super) fn reference(&self, group: usize) -> usize {
        let collection = self.collection.as_ref();
        collection.map_or(0, |collection| collection.reference(group, self.by_size))
    }

    /// Returns the number of files in the current group; 0 outside a group.
    pub(super) fn members(&self) -> usize {
        match (self.place, &self.collection) {
            (Place::Group(group) | Place::Evidence(group), Some(collection)) => {
                collection.members(group).len()
            }
            _ => 0,
        }
    }

    pub(super) fn next_member(&mut self, by: isize) -> Effect {
        let (Place::Group(group) | Place::Evidence(group)) = self.place else {
            "n and p go through the files of a group: open one".clone_into(&mut self.note);
            return Effect::Nothing;
        };
        let count = self.members();
        let mut at = self.cursor.at.checked_add_signed(by);
        if matches!(self.place, Place::Evidence(_)) && at == Some(self.reference(group)) {
            at = at.and_then(|at| at.checked_add_signed(by));
        }
        match at.filter(|at| *at < count) {
            Some(at) => self.cursor.at = at,
            None => "there is no further file in this group".clone_into(&mut self.note),
        }
        if matches!(self.place, Place::Evidence(_)) {
            self.cursor.top = 0;
        } else {
            self.keep_in_sight();
        }
        self.ask_evidence()
    }

    /// Returns the two files that are shown side by side: the reference of the group and the file
    /// at the cursor.
    pub(crate) fn pair(&self) -> Option<(PathText, PathText)> {
        let (Place::Evidence(group), Some(collection)) = (self.place, &self.collection) else {
            return None;
        };
        let files = collection.members(group);
        let path = |at: usize| files.get(at).map(|file| file.path.clone());
        Some((path(self.reference(group))?, path(self.cursor.at)?))
    }

    /// Requests the comparison of the two files. No comparison is needed for files that are equal.
    pub(super) fn ask_evidence(&mut self) -> Effect {
        let (Place::Evidence(group), Some(collection)) = (self.place, &self.collection) else {
            return Effect::Nothing;
        };
        if self.cursor.at == self.reference(group) {
            self.cursor.at = usize::from(self.cursor.at == 0);
        }
        if collection.groups[group].kind.is_equal() {
            return Effect::Nothing;
        }
        self.pair()
            .map_or(Effect::Nothing, |(a, b)| Effect::Compare(a, b))
    }

    /// Returns the index of the file under the cursor.
    pub(super) fn file(&self) -> Option<usize> {
        let collection = self.collection.as_ref()?;
        match self.place {
            Place::Groups => None,
            Place::Folders => self.rows.get(self.cursor.at)?.file,
            Place::Marked => self.marked.get(self.cursor.at).copied(),
            Place::Group(group) | Place::Evidence(group) => {
                Some(collection.groups[group].files.start + self.cursor.at)
            }
        }
    }

    /// Returns the number of rows of the list.
    pub(crate) fn len(&self) -> usize {
        match self.place {
            Place::Groups => self.shown.len(),
            Place::Folders => self.rows.len(),
            Place::Group(_) => self.members(),
            Place::Marked => self.marked.len(),
            Place::Evidence(_) => match &self.evidence {
                Some((.., Ok(findings))) => findings.view.rows.len(),
                _ => 0,
            },
        }
    }

    /// Moves the cursor, or scrolls the text of two files.
    pub(super) fn go(&mut self, by: isize) {
        let last = self.len().saturating_sub(1);
        if matches!(self.place, Place::Evidence(_)) {
            self.cursor.top = self.cursor.top.saturating_add_signed(by).min(last);
            return;
        }
        self.cursor.at = self.cursor.at.saturating_add_signed(by);
        self.keep_in_sight();
    }

    pub(super) fn keep_in_sight(&mut self) {
        if matches!(self.place, Place::Evidence(_)) {
            return;
        }
        self.cursor.keep(self.len(), self.regions().list_rows());
    }

    pub(super) fn click(&mut self, column: u16, row: u16) -> Effect {
        let regions = self.regions();
        if row == regions.tabs {
            let tab = tab_at(&self.tabs(), column);
            if let Some(at) = tab.filter(|_| self.place == Place::Groups) {
                self.pick_kind(at);
            }
        } else if regions.list.contains(&row) && !matches!(self.place, Place::Evidence(_)) {
            let at = self.cursor.top + usize::from(row - regions.list.start);
            if at < self.len() {
                // A click on the selected row opens it.
                if at == self.cursor.at {
                    return self.open();
                }
                self.cursor.at = at;
            }
        }
        Effect::Nothing
    }
}
