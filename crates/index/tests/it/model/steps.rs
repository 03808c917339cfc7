//! Random steps for the index and the model. There are few names, so that steps often concern the
//! same name.

use super::*;

#[derive(Clone, Debug)]
pub(super) enum State {
    Settled(Content),
    Unsettled(Content),
    Unreadable,
    Skipped,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Known(u64),
    New(u64),
    /// The first content, given as edits of the second content.
    Grown(u64, u64),
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Dir(PathBuf),
    File(PathBuf, u64, i64, State),
    /// The file with this inode number grows at this time.
    Grow(u64, i64),
    Stat(u64, u64, i64),
    Link(PathBuf, u64),
    Symlink(PathBuf, u8),
    Special(PathBuf),
    Gap(PathBuf, i32),
    Unlisted(PathBuf, Option<i32>),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    /// The result of searching a content for parts. `None` means that it cannot be taken apart.
    /// Otherwise, the values are the parts, whether parts were skipped, and whether the search must
    /// be repeated.
    Look(u64, Option<(Vec<Option<Content>>, bool, bool)>),
}

#[derive(Clone, Debug)]
pub(super) enum After {
    Nothing,
    Finish,
    Merge,
    /// The extractor is replaced by another version.
    Forget,
    Reopen,
    CloseAndReopen,
}

pub(super) fn paths() -> impl Strategy<Value = PathBuf> {
    let name = prop::sample::select(vec!["a", "b", "a-b", "a.c", "a0", "\u{e9}"]);
    prop::collection::vec(name, 1..4).prop_map(|names| {
        let mut path = PathBuf::from("/");
        path.extend(names);
        path
    })
}

pub(super) fn contents() -> impl Strategy<Value = Content> {
    prop_oneof![
        3 => (0..CONTENTS).prop_map(Content::New),
        1 => (0..CONTENTS).prop_map(Content::Known),
        1 => (0..CONTENTS, 0..CONTENTS).prop_map(|(n, base)| Content::Grown(n, base)),
    ]
}

pub(super) fn steps() -> impl Strategy<Value = Step> {
    let state = prop_oneof![
        6 => contents().prop_map(State::Settled),
        1 => contents().prop_map(State::Unsettled),
        1 => Just(State::Unreadable),
        1 => Just(State::Skipped),
    ];
    let ino = 1u64..10;
    let parts = prop::collection::vec(prop::option::weighted(0.8, contents()), 0..4);
    let apart = (parts, any::<bool>(), prop::bool::weighted(0.2));
    prop_oneof![
        1 => paths().prop_map(Step::Dir),
        10 => (paths(), ino.clone(), 0i64..9, state)
            .prop_map(|(p, i, t, s)| Step::File(p, i, t, s)),
        6 => (ino.clone(), 0i64..9).prop_map(|(i, t)| Step::Grow(i, t)),
        1 => (ino.clone(), 1u64..14, 0i64..9).prop_map(|(i, j, t)| Step::Stat(i, j, t)),
        2 => (paths(), ino).prop_map(|(p, i)| Step::Link(p, i)),
        1 => (paths(), any::<u8>()).prop_map(|(p, t)| Step::Symlink(p, t)),
        1 => paths().prop_map(Step::Special),
        2 => (paths(), 0..5).prop_map(|(p, n)| Step::Gap(p, n)),
        1 => (paths(), prop::option::of(1..9)).prop_map(|(p, e)| Step::Unlisted(p, e)),
        3 => prop_oneof![9 => paths(), 1 => Just(PathBuf::from("/"))].prop_map(Step::Remove),
        4 => (paths(), paths()).prop_map(|(from, to)| Step::Rename(from, to)),
        6 => (0..CONTENTS, prop::option::weighted(0.8, apart)).prop_map(|(n, l)| Step::Look(n, l)),
    ]
}

pub(super) fn batches(afters: Vec<After>) -> impl Strategy<Value = Vec<(Vec<Step>, After)>> {
    let batch = (
        prop::collection::vec(steps(), 1..12),
        prop::sample::select(afters),
    );
    prop::collection::vec(batch, 1..14)
}

/// Makes the part with this index in a list.
pub(super) fn part_row(at: u32, content: Option<ContentRef>) -> NewPart {
    NewPart {
        role: [PartRole::Member, PartRole::Text, PartRole::Unpacked][at as usize % 3],
        parent: at.checked_sub(2),
        name: vec![0xff; at as usize],
        content,
    }
}
