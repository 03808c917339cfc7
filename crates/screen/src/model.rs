//! The state of the screen, and how keys change it. Nothing here reads a file or a terminal.
//!
//! 1. A key has the same meaning everywhere, or does nothing.
//! 2. Marks belong to files, so they stay when a folder or a group is left. At least one file of
//!    each set stays unmarked. Only files of identical sets can be marked.
//! 3. Slow work is an [`Effect`], which another thread carries out. [`Screen::hear`] takes its
//!    result.

mod marking;
mod moves;

use std::path::PathBuf;

use resemble_proto::path::PathText;
use resemble_query::why::View;

use crate::collection::{Collection, FolderRow, GroupKind, as_path};
use crate::marks::{FileMarks, KeepChoice};
use crate::regions::{ListCursor, Regions};
use resemble_report::plan::Treatment;

/// An input of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Escape,
    Erase,
    Left,
    /// Moves by this many rows or lines.
    Step(isize),
    /// Moves by this many screens.
    Page(isize),
    Home,
    End,
    Click(u16, u16),
    /// Control-C.
    Interrupt,
    Resize(u16, u16),
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    Quit,
    /// Show two files side by side.
    Compare(PathText, PathText),
    Write(PlanOrder),
    /// Mark the text that these files share as a template, and ask again.
    MarkTemplate(Vec<PathText>),
}

/// An order to write the script of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOrder {
    /// The treatment of the files that are removed.
    pub kind: Treatment,
    /// The file of the script.
    pub file: PathBuf,
    /// Pairs of files. The first file of each pair stays, and the second, which is identical, is
    /// removed.
    pub pairs: Vec<(PathText, PathText)>,
}

/// News for the screen: the answer to the question, or the result of an [`Effect`].
#[derive(Debug)]
pub(crate) enum News {
    Answer(Collection),
    /// Two files and their comparison.
    Evidence(PathText, PathText, Result<PairFindings, String>),
    /// The result of writing a plan.
    Written(Result<String, String>),
    /// The new answer after text was marked as a template, and the command that removes the mark.
    Reviewed(Result<(Collection, String), String>),
}

/// Two files side by side.
#[derive(Clone, Debug)]
pub struct PairFindings {
    /// The figures, in words.
    pub summary: String,
    /// The lines of both files.
    pub view: View,
}

/// The list that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Groups,
    Folders,
    Group(usize),
    Evidence(usize),
    Marked,
}

/// The request in the last line of the screen, for a key or for typed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    None,
    Filter(String),
    Rule,
    RuleFolder(String),
    Kind,
    File(Treatment, String),
    Template(usize),
    Quit,
    Help,
}

#[derive(Debug)]
pub(crate) struct Screen {
    /// The subject of the question, for the first line.
    pub(crate) title: String,
    /// The content of the screen; `None` until the question is answered.
    pub(crate) collection: Option<Collection>,
    /// The name of the current work, until the question is answered.
    pub(crate) doing: String,
    pub(crate) place: Place,
    /// The lists to which the Escape key returns, each with its cursor.
    behind: Vec<(Place, ListCursor)>,
    pub(crate) cursor: ListCursor,
    /// The indexes of the groups that the list shows.
    pub(crate) shown: Vec<usize>,
    /// The folder that the list of folders shows, and the rows of that list.
    pub(crate) folder: PathBuf,
    pub(crate) rows: Vec<FolderRow>,
    /// The files that were marked when the list of marked files was opened.
    pub(crate) marked: Vec<usize>,
    pub(crate) filter: String,
    pub(crate) kind: Option<GroupKind>,
    pub(crate) marks: FileMarks,
    /// True if the other members of a group are compared with its largest file instead of its
    /// newest.
    pub(crate) by_size: bool,
    pub(crate) evidence: Option<(PathText, PathText, Result<PairFindings, String>)>,
    pub(crate) prompt: Prompt,
    /// A sentence about the effect of the last key.
    pub(crate) note: String,
    pub(crate) size: (u16, u16),
}

impl Screen {
    /// Creates a screen without an answer yet.
    pub(crate) fn new(title: String, doing: &str, size: (u16, u16)) -> Self {
        Self {
            title,
            collection: None,
            doing: doing.to_owned(),
            place: Place::Groups,
            behind: Vec::new(),
            cursor: ListCursor::default(),
            shown: Vec::new(),
            folder: PathBuf::new(),
            rows: Vec::new(),
            marked: Vec::new(),
            filter: String::new(),
            kind: None,
            marks: FileMarks::default(),
            by_size: false,
            evidence: None,
            prompt: Prompt::None,
            note: String::new(),
            size,
        }
    }

    /// Takes the answer to the question, or the result of an [`Effect`].
    pub(crate) fn hear(&mut self, news: News) {
        match news {
            News::Answer(collection) => {
                self.folder = collection.top();
                self.collection = Some(collection);
                self.list();
            }
            News::Reviewed(Ok((collection, note))) => {
                let before = self.collection.take().unwrap_or_default();
                self.marks.carry_over(&before, &collection);
                (self.place, self.evidence) = (Place::Groups, None);
                self.behind.clear();
                self.hear(News::Answer(collection));
                self.note = note;
            }
            News::Reviewed(Err(why)) => self.note = format!("no template: {why}"),
            News::Evidence(a, b, found) => {
                if self
                    .pair()
                    .is_some_and(|pair| pair == (a.clone(), b.clone()))
                {
                    self.evidence = Some((a, b, found));
                }
            }
            News::Written(result) => {
                self.marks.is_saved |= result.is_ok();
                self.note = result.unwrap_or_else(|why| why);
            }
        }
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key) -> Effect {
        if let Key::Resize(columns, rows) = key {
            self.size = (columns, rows);
            self.keep_in_sight();
            return Effect::Nothing;
        }
        if key == Key::Interrupt {
            return Effect::Quit;
        }
        self.note.clear();
        match std::mem::replace(&mut self.prompt, Prompt::None) {
            Prompt::None => self.command(key),
            Prompt::Filter(text) => {
                // The list is filtered again after each typed character.
                let effect = self.typing(key, text, Prompt::Filter, Self::filter_by);
                match &self.prompt {
                    Prompt::Filter(text) => self.filter_by(&text.clone()),
                    _ if key == Key::Escape => self.filter_by(""),
                    _ => effect,
                }
            }
            Prompt::RuleFolder(text) => {
                self.typing(key, text, Prompt::RuleFolder, |screen, text| {
                    let folder = as_path(text).to_owned();
                    screen.mark_by(&KeepChoice::In(folder));
                    Effect::Nothing
                })
            }
            Prompt::File(kind, text) => {
                let asked = |text| Prompt::File(kind.clone(), text);
                self.typing(key, text, asked, |screen, text| {
                    screen.write(kind.clone(), text)
                })
            }
            Prompt::Rule => self.rule(key),
            Prompt::Kind => self.plan_kind(key),
            Prompt::Template(group) if key == Key::Char('y') => self.mark_template(group),
            Prompt::Quit if key == Key::Char('y') => Effect::Quit,
            Prompt::Help | Prompt::Template(_) | Prompt::Quit => Effect::Nothing,
        }
    }

    fn command(&mut self, key: Key) -> Effect {
        match key {
            Key::Char('q') if self.marks.is_empty() || self.marks.is_saved => return Effect::Quit,
            Key::Char('q') => self.prompt = Prompt::Quit,
            Key::Char('?') => self.prompt = Prompt::Help,
            _ if self.collection.is_none() => {}
            Key::Step(by) => self.go(by),
            Key::Char('j') => self.go(1),
            Key::Char('k') => self.go(-1),
            Key::Page(by) => {
                let page = self.regions().list_rows() as isize;
                self.go(by.saturating_mul(page));
            }
            Key::Home => self.go(isize::MIN),
            Key::End => self.go(isize::MAX),
            Key::Enter => return self.open(),
            Key::Escape | Key::Left | Key::Erase => self.back(),
            Key::Click(column, row) => return self.click(column, row),
            Key::Char('/') if matches!(self.place, Place::Groups | Place::Folders) => {
                self.prompt = Prompt::Filter(self.filter.clone());
            }
            Key::Char('/') => "the filter is for groups and folders".clone_into(&mut self.note),
            Key::Char(digit @ '1'..='9') => self.pick_kind(digit as usize - '1' as usize),
            Key::Char('f') => self.enter(Place::Folders),
            Key::Char('g') => self.enter(Place::Groups),
            Key::Char('m') => self.enter(Place::Marked),
            Key::Char(' ') => self.mark(),
            Key::Char('a') => self.ask_rule(),
            Key::Char('u') => self.unmark(),
            Key::Char('n') => return self.next_member(1),
            Key::Char('p') => return self.next_member(-1),
            Key::Char('t') => {
                self.by_size = !self.by_size;
                let than = if self.by_size { "largest" } else { "newest" };
                self.note = format!("files are compared with the {than} of their group");
                return self.ask_evidence();
            }
            Key::Char('T') => self.ask_template(),
            Key::Char('w') if self.marks.is_empty() => {
                "nothing is marked: a plan would be empty".clone_into(&mut self.note);
            }
            Key::Char('w') => self.prompt = Prompt::Kind,
            Key::Char(other) => self.note = format!("{other} is no key here; ? lists the keys"),
            Key::Interrupt | Key::Resize(..) => {}
        }
        Effect::Nothing
    }

    /// Handles a key while the user types text. `asked` makes the prompt for the changed text.
    /// `done` handles the text when Enter is pressed.
    fn typing(
        &mut self,
        key: Key,
        mut text: String,
        asked: impl FnOnce(String) -> Prompt,
        done: impl FnOnce(&mut Self, &str) -> Effect,
    ) -> Effect {
        match key {
            Key::Enter => return done(self, &text),
            Key::Escape => return Effect::Nothing,
            Key::Erase => drop(text.pop()),
            Key::Char(c) => text.push(c),
            _ => {}
        }
        self.prompt = asked(text);
        Effect::Nothing
    }

    pub(crate) fn regions(&self) -> Regions {
        Regions::of(self.size)
    }

    /// Returns the tabs. Each has a text: a key and a kind of groups. Its flag is true if the tab
    /// is selected.
    pub(crate) fn tabs(&self) -> Vec<(String, bool)> {
        let kinds = self
            .collection
            .iter()
            .flat_map(|collection| &collection.kinds);
        let all = [("1 all".to_owned(), self.kind.is_none())];
        let kinds = kinds.zip(2..).map(|(kind, key)| {
            let is_listed = self.kind == Some(*kind);
            (format!("{key} {}", kind.word()), is_listed)
        });
        all.into_iter().chain(kinds).collect()
    }
}
