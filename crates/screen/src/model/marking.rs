//! Marks files by hand and by rule, and requests the plan that is made of the marks.

use resemble_report::human::{counted, human_size};
use resemble_report::quote::quoted;

use super::{Effect, Key, Place, PlanOrder, Prompt, Screen};
use crate::collection::{GroupKind, as_path, has};
use crate::marks::{KeepChoice, ONLY_EQUAL};
use resemble_report::plan::Treatment;

impl Screen {
    pub(super) fn mark(&mut self) {
        let Some(collection) = &self.collection else {
            return;
        };
        self.note = match self.file() {
            None => "a file is marked in its group or its folder; a marks by a rule".to_owned(),
            Some(file) => match self.marks.mark(collection, file) {
                Ok(()) => String::new(),
                Err(why) => why.to_owned(),
            },
        };
        let is_list = matches!(self.place, Place::Folders | Place::Group(_));
        if self.note.is_empty() && is_list {
            self.go(1);
        }
    }

    /// Returns the groups to which a rule for marks or the key `u` applies.
    pub(super) fn scope(&self) -> Vec<usize> {
        let Some(collection) = &self.collection else {
            return Vec::new();
        };
        match self.place {
            Place::Groups => self.shown.clone(),
            Place::Group(group) | Place::Evidence(group) => vec![group],
            Place::Folders => {
                let text = self.filter.as_bytes();
                let below = collection
                    .below(&self.folder)
                    .map(|file| &collection.files[file]);
                let mut groups: Vec<usize> = below
                    .filter(|file| has(&file.path, text))
                    .map(|file| file.group)
                    .collect();
                groups.sort_unstable();
                groups.dedup();
                groups
            }
            Place::Marked => {
                let mut groups: Vec<usize> = self
                    .marked
                    .iter()
                    .map(|file| collection.files[*file].group)
                    .collect();
                groups.dedup();
                groups
            }
        }
    }

    pub(super) fn unmark(&mut self) {
        let Some(collection) = &self.collection else {
            return;
        };
        let files: Vec<usize> = match (self.file(), self.place) {
            (Some(file), _) => vec![file],
            (None, Place::Groups) => {
                let group = self.shown.get(self.cursor.at);
                group.map_or_else(Vec::new, |at| {
                    collection.groups[*at].files.clone().collect()
                })
            }
            (None, _) => match self.rows.get(self.cursor.at) {
                Some(row) => collection.below(row.path.as_path()).collect(),
                None => Vec::new(),
            },
        };
        let count = files
            .into_iter()
            .filter(|file| self.marks.unmark(*file))
            .count();
        self.note = match count {
            0 => "nothing is marked here".to_owned(),
            _ => format!("{} stays again", counted(count as u64, "file")),
        };
        if self.place == Place::Marked {
            self.marked = self.marks.files().collect();
            self.keep_in_sight();
        }
    }

    pub(super) fn ask_rule(&mut self) {
        let collection = self.collection.as_ref();
        let is_set = |group: &usize| {
            collection.is_some_and(|all| all.groups[*group].kind == GroupKind::Identical)
        };
        if self.scope().iter().any(is_set) {
            self.prompt = Prompt::Rule;
        } else {
            ONLY_EQUAL.clone_into(&mut self.note);
        }
    }

    pub(super) fn rule(&mut self, key: Key) -> Effect {
        let choice = match key {
            Key::Char('n') => KeepChoice::Newest,
            Key::Char('o') => KeepChoice::Oldest,
            Key::Char('s') => KeepChoice::Shortest,
            Key::Char('i') => {
                let row = self
                    .rows
                    .get(self.cursor.at)
                    .filter(|row| row.file.is_none());
                let row = row.filter(|_| self.place == Place::Folders);
                let folder = row.map_or(&*self.folder, |row| row.path.as_path());
                let text = folder.to_str().unwrap_or_default().to_owned();
                self.prompt = Prompt::RuleFolder(text);
                return Effect::Nothing;
            }
            _ => return Effect::Nothing,
        };
        self.mark_by(&choice);
        Effect::Nothing
    }

    pub(super) fn mark_by(&mut self, choice: &KeepChoice) {
        let scope = self.scope();
        let Some(collection) = &self.collection else {
            return;
        };
        let (sets, files) = self.marks.mark_by(collection, &scope, choice);
        let (sets, files) = (counted(sets, "set"), counted(files, "file"));
        self.note = format!("{files} of {sets} marked; u unmarks, m lists them");
    }

    pub(super) fn plan_kind(&mut self, key: Key) -> Effect {
        let kind = match key {
            Key::Char('s') => Treatment::Symlink,
            Key::Char('h') => Treatment::Hardlink,
            Key::Char('r') => Treatment::Reflink,
            Key::Char('t') => Treatment::Trash,
            _ => return Effect::Nothing,
        };
        self.prompt = Prompt::File(kind, "plan.sh".to_owned());
        Effect::Nothing
    }

    /// Asks the user whether to mark the text that a cluster shares as a template.
    pub(super) fn ask_template(&mut self) {
        let group = match self.place {
            Place::Groups => self.shown.get(self.cursor.at).copied(),
            Place::Group(group) | Place::Evidence(group) => Some(group),
            Place::Folders | Place::Marked => None,
        };
        let all = self.collection.as_ref();
        let is_cluster = |group: &usize| {
            all.is_some_and(|all| matches!(all.groups[*group].kind, GroupKind::Cluster(_)))
        };
        match group.filter(is_cluster) {
            Some(group) => self.prompt = Prompt::Template(group),
            None => "a template is what the files of a cluster share: choose one"
                .clone_into(&mut self.note),
        }
    }

    pub(super) fn mark_template(&mut self, group: usize) -> Effect {
        let Some(all) = &self.collection else {
            return Effect::Nothing;
        };
        "asking again without the template".clone_into(&mut self.note);
        let files = all.members(group).iter();
        Effect::MarkTemplate(files.map(|file| file.path.clone()).collect())
    }

    pub(super) fn write(&mut self, kind: Treatment, file: &str) -> Effect {
        let Some(collection) = self.collection.as_ref().filter(|_| !file.is_empty()) else {
            return Effect::Nothing;
        };
        self.note = format!("writing {}", quoted(as_path(file)));
        Effect::Write(PlanOrder {
            kind,
            file: as_path(file).to_owned(),
            pairs: self.marks.pairs(collection),
        })
    }

    /// Describes in two sentences the effect of the plan: the files and bytes that it removes, and
    /// what is lost.
    pub(crate) fn outlook(&self) -> [String; 2] {
        let Some(collection) = self.collection.as_ref().filter(|_| !self.marks.is_empty()) else {
            return [
                "Nothing is marked, so a plan would do nothing.".to_owned(),
                "space marks a file to go, a marks by a rule, w writes the plan.".to_owned(),
            ];
        };
        let tally = self.marks.tally(collection);
        let verb = if tally.files == 1 { "goes" } else { "go" };
        let each = if tally.sets == 1 { "" } else { "each of " };
        [
            format!(
                "{} {verb}, {} freed; at least one file stays in {each}{}.",
                counted(tally.files, "file"),
                human_size(tally.bytes),
                counted(tally.sets, "set"),
            ),
            "No content is lost: what goes has an equal that stays. w writes the plan.".to_owned(),
        ]
    }
}
