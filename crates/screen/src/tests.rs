//! Presses keys, and checks what the screen shows after them.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use resemble_core::Params;
use resemble_core::similarity::{Templates, Unit};
use resemble_proto::documents::{CompareDocument, CompareParameters};
use resemble_proto::documents::{GroupsDocument, GroupsParameters};
use resemble_proto::message::{
    Cluster, ClusterKind, CompareClass, CompareRow, Comparison, Degree, Discount, Groups, Header,
    IdenticalSet, Layer, Link, Member, OnlyGroups, PairFigures,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::report::CommonParameters;
use resemble_query::why::{Comparison as Compared, ViewOptions};

use super::collection::Collection;
use super::draw::{Look, draw};
use super::model::{Effect, Key, News, PairFindings, Place, PlanOrder, Screen};
use resemble_report::plan::Treatment;

mod templates;

const DAY: i64 = 86_400;

fn set(size: u64, paths: &[&str]) -> IdenticalSet {
    IdenticalSet {
        size,
        paths: paths.iter().map(|path| (*path).into()).collect(),
        // The first file is the oldest.
        mtimes: (1..=paths.len() as i64).map(|day| day * DAY).collect(),
        ..IdenticalSet::default()
    }
}

fn versions(paths: &[&str], shared_bytes: u64) -> Cluster {
    let share = Fraction::from_millionths(900_000);
    let center = PathText::from(paths[0]);
    let members = paths.iter().zip(1..).map(|(path, day)| Member {
        path: (*path).into(),
        size: 1000 - day as u64,
        mtime: day * DAY,
        document_date: None,
        a_in_b: share,
        b_in_a: share,
        estimate: false,
        interval: None,
        newest: false,
        older_than_held: false,
        copies: 1,
        id: String::new(),
        holds_others: false,
        owner: None,
    });
    let links = paths.iter().skip(1).map(|path| Link {
        a: center.clone(),
        b: (*path).into(),
        a_in_b: share,
        b_in_a: share,
        shared_bytes,
        same_text: false,
        estimate: false,
        interval: None,
        layer: Layer::default(),
        discount: Discount::default(),
    });
    Cluster {
        id: "1".to_owned(),
        kind: ClusterKind::Versions,
        center: center.clone(),
        average: share,
        worst: share,
        estimate: false,
        bytes: 3000,
        component: "1".to_owned(),
        container: None,
        members: members.collect(),
        links: links.collect(),
    }
}

fn of_groups(identical: Vec<IdenticalSet>, clusters: Vec<Cluster>) -> Collection {
    let body = Groups {
        identical,
        clusters,
        ..Groups::default()
    };
    let parameters = GroupsParameters {
        roots: vec!["/h".into()],
        only: OnlyGroups::All,
        relation: Vec::new(),
        of: None,
        family: false,
        degree: Degree::Usual,
        common: CommonParameters::plain(&Params::default()),
    };
    let document = GroupsDocument::new(parameters, Header::default(), body, Vec::new());
    Collection::of_groups(&document, None)
}

fn house() -> Collection {
    of_groups(
        vec![
            set(
                5000,
                &["/h/music/a.flac", "/h/old/a.flac", "/h/music/live/a.flac"],
            ),
            set(100, &["/h/docs/b.txt", "/h/old/b.txt"]),
        ],
        vec![versions(
            &["/h/docs/v1.txt", "/h/docs/v2.txt", "/h/docs/v3.txt"],
            800,
        )],
    )
}

fn screen_of(collection: Collection, size: (u16, u16)) -> Screen {
    let mut screen = Screen::new("/h".to_owned(), "counting", size);
    screen.hear(News::Answer(collection));
    screen
}

fn screen() -> Screen {
    screen_of(house(), (80, 24))
}

/// Presses these keys. `>` is the Enter key, `<` goes back, and `v` and `^` are the arrow keys down
/// and up.
fn press(screen: &mut Screen, keys: &str) -> Effect {
    let mut effect = Effect::Nothing;
    for letter in keys.chars() {
        effect = screen.key(match letter {
            '>' => Key::Enter,
            '<' => Key::Escape,
            'v' => Key::Step(1),
            '^' => Key::Step(-1),
            letter => Key::Char(letter),
        });
    }
    effect
}

fn drawn(screen: &Screen, look: &Look) -> ratatui::buffer::Buffer {
    let (columns, rows) = screen.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(screen, look, frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn rows_in(screen: &Screen, look: &Look) -> Vec<String> {
    let buffer = drawn(screen, look);
    let width = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(width);
    let text = |row: &[ratatui::buffer::Cell]| -> String {
        row.iter().map(ratatui::buffer::Cell::symbol).collect()
    };
    rows.map(|row| text(row).trim_end().to_owned()).collect()
}

fn rows(screen: &Screen) -> Vec<String> {
    rows_in(screen, &Look::default())
}

fn row_with(screen: &Screen, text: &str) -> String {
    let rows = rows(screen);
    let found = rows.iter().find(|row| row.contains(text));
    found
        .unwrap_or_else(|| panic!("no {text} in {rows:#?}"))
        .clone()
}

#[test]
fn it_is_painted_while_the_question_is_asked() {
    let mut screen = Screen::new("/h".to_owned(), "counting", (80, 24));
    assert_eq!(rows(&screen)[3], "counting");
    screen.doing = "looking at the files: 12 of 40".to_owned();
    assert_eq!(rows(&screen)[3], "looking at the files: 12 of 40");
    assert_eq!(press(&mut screen, " anwpu>/f"), Effect::Nothing);
    assert_eq!(press(&mut screen, "q"), Effect::Quit);
}

#[test]
fn groups_stand_with_most_bytes_first() {
    let screen = screen();
    let rows = rows(&screen);
    assert_eq!(
        rows[..7],
        [
            "resemble ui  /h  3 groups, 11 KiB there more than once",
            "1 all  2 identical  3 versions",
            "    again  files  share  kind          name  1 of 3",
            "  9.8 KiB      3   100%  identical     /h/music/a.flac",
            "  1.6 KiB      3    90%  versions      /h/docs/v1.txt",
            "    100 B      2   100%  identical     /h/docs/b.txt",
            "",
        ]
    );
    assert!(
        rows[19].starts_with("── what the plan will do ──"),
        "{rows:#?}"
    );
    assert_eq!(rows.len(), 24);
}

#[test]
fn kinds_and_names_are_listed_by_keys() {
    let mut screen = screen();
    press(&mut screen, "3");
    assert_eq!(screen.len(), 1);
    row_with(&screen, "/h/docs/v1.txt");
    press(&mut screen, "1/OLD");
    assert_eq!(screen.len(), 2, "at once, and whatever the case");
    assert_eq!(rows(&screen)[23], "names with: OLD_");
    press(&mut screen, ">");
    assert_eq!(screen.len(), 2);
    press(&mut screen, "/<");
    assert_eq!(screen.len(), 3);
    // A click on a kind lists that kind, too.
    screen.key(Key::Click(8, 1));
    assert_eq!(screen.len(), 2);
    press(&mut screen, "9");
    assert_eq!(screen.len(), 2, "there is no ninth kind");
}

#[test]
fn one_copy_always_stays() {
    let mut screen = screen();
    press(&mut screen, ">  ");
    assert_eq!(screen.marks.files().count(), 2);
    press(&mut screen, " ");
    assert_eq!(screen.marks.files().count(), 2);
    assert!(
        screen.note.contains("one copy always stays"),
        "{}",
        screen.note
    );
    // The marks are still there after the group was left and opened again.
    press(&mut screen, "<>");
    assert!(row_with(&screen, "/h/music/a.flac").starts_with("goes"));
    assert!(!row_with(&screen, "/h/music/live/a.flac").starts_with("goes"));
    press(&mut screen, "^^u");
    assert_eq!(screen.marks.files().count(), 1);
}

#[test]
fn near_copies_have_no_marks() {
    let mut screen = screen();
    press(&mut screen, "v> ");
    assert!(screen.marks.is_empty());
    assert!(screen.note.contains("near copies"), "{}", screen.note);
    press(&mut screen, "an");
    assert!(screen.marks.is_empty());
}

fn marked_after(keys: &str) -> Vec<String> {
    let mut screen = screen();
    press(&mut screen, keys);
    let all = screen.collection.as_ref().unwrap();
    let names = screen
        .marks
        .files()
        .map(|file| all.files[file].path.lossy().into_owned());
    names.collect()
}

#[test]
fn a_rule_says_which_files_stay() {
    let music = ["/h/music/a.flac", "/h/old/a.flac", "/h/music/live/a.flac"];
    let text = ["/h/docs/b.txt", "/h/old/b.txt"];
    assert_eq!(marked_after("an"), [music[0], music[1], text[0]]);
    assert_eq!(marked_after("ao"), [music[1], music[2], text[1]]);
    assert_eq!(marked_after("as"), [music[0], music[2], text[0]]);
    // The rule can apply to one group alone.
    assert_eq!(marked_after(">an"), [music[0], music[1]]);
    // A second rule replaces the marks of the first.
    assert_eq!(marked_after("anao"), [music[1], music[2], text[1]]);
    assert_eq!(marked_after("2/docs>ao"), [text[1]]);
    assert!(marked_after("a<").is_empty());
}

#[test]
fn files_in_a_folder_stay() {
    let mut screen = screen();
    press(&mut screen, "f");
    row_with(&screen, "music/");
    // The prompt for a folder begins with the folder under the cursor.
    press(&mut screen, "ai");
    assert_eq!(rows(&screen)[23], "Files in this folder stay: /h/music_");
    press(&mut screen, ">");
    let all = screen.collection.as_ref().unwrap();
    let names: Vec<_> = screen
        .marks
        .files()
        .map(|file| all.files[file].path.lossy())
        .collect();
    // If a set has files in the folder, those files stay. If it has none there, all its files stay.
    assert_eq!(names, ["/h/old/a.flac"]);
}

#[test]
fn folders_have_the_bytes_that_are_there_more_than_once() {
    let mut screen = screen();
    press(&mut screen, "f");
    assert_eq!(
        rows(&screen)[1..6],
        [
            "files there more than once in /h",
            "    bytes      files  name  1 of 3",
            "  9.8 KiB          2  music/",
            "  5.0 KiB          2  old/",
            "    100 B          1  docs/",
        ]
    );
    press(&mut screen, "v>");
    assert_eq!(rows(&screen)[3], "  4.9 KiB             a.flac");
    press(&mut screen, " <");
    assert_eq!(screen.folder.to_str(), Some("/h"));
    assert_eq!(screen.cursor.at, 1, "the folder that was left is chosen");
    press(&mut screen, ">");
    assert!(
        rows(&screen)[3].ends_with("  go a.flac"),
        "{:#?}",
        rows(&screen)
    );
    // Enter on a file opens its group.
    press(&mut screen, ">");
    assert_eq!(screen.place, Place::Group(0));
    assert_eq!(screen.cursor.at, 1);
}

#[test]
fn the_pane_says_what_will_happen() {
    let mut screen = screen_of(house(), (200, 60));
    press(&mut screen, "an");
    row_with(
        &screen,
        "3 files go, 9.9 KiB freed; at least one file stays in each of 2 sets.",
    );
    assert_eq!(
        row_with(&screen, "go    4.9 KiB  /h/old"),
        "go    4.9 KiB  /h/old/a.flac"
    );
    press(&mut screen, "m");
    assert_eq!(screen.len(), 3);
    press(&mut screen, "u");
    assert_eq!(screen.len(), 2);
    row_with(&screen, "2 files go, 5.0 KiB freed");
}

/// A rule reports only the files that it marks and that had no mark before.
#[test]
fn a_rule_counts_only_what_it_marks() {
    let mut screen = screen_of(house(), (200, 60));
    press(&mut screen, "an");
    assert!(
        screen.note.starts_with("3 files of 2 sets marked"),
        "{}",
        screen.note
    );
    press(&mut screen, "mu");
    press(&mut screen, "gan");
    assert!(
        screen.note.starts_with("1 file of 1 set marked"),
        "{}",
        screen.note
    );
}

/// Holes in files take no space. A file with a date in the future is neither the newest nor the
/// oldest.
#[test]
fn marks_count_blocks_and_know_no_future() {
    let mut sparse = set(1 << 20, &["/h/a", "/h/b", "/h/c"]);
    sparse.allocated = vec![4096, 2048, 1024];
    sparse.mtimes[2] = 1 << 40;
    for (rule, freed) in [("an", "5.0 KiB"), ("ao", "3.0 KiB")] {
        let mut screen = screen_of(of_groups(vec![sparse.clone()], Vec::new()), (200, 60));
        press(&mut screen, rule);
        row_with(&screen, &format!("2 files go, {freed} freed"));
        press(&mut screen, ">");
        row_with(&screen, "/h/b  newest");
    }
}

#[test]
fn a_plan_has_each_marked_file_and_one_that_stays() {
    let mut screen = screen();
    assert_eq!(press(&mut screen, "w"), Effect::Nothing);
    assert!(screen.note.contains("nothing is marked"), "{}", screen.note);
    let order = PlanOrder {
        kind: Treatment::Hardlink,
        file: "plan.sh2".into(),
        pairs: vec![("/h/old/a.flac".into(), "/h/music/a.flac".into())],
    };
    assert_eq!(press(&mut screen, "> wh2>"), Effect::Write(order));
    // Until the plan is written, `q` asks for a second key before it ends the screen.
    assert_eq!(press(&mut screen, "q"), Effect::Nothing);
    assert_eq!(press(&mut screen, "n"), Effect::Nothing);
    screen.hear(News::Written(Err("the disk is full".to_owned())));
    assert_eq!(rows(&screen)[23], "the disk is full");
    assert_eq!(press(&mut screen, "qy"), Effect::Quit);
    screen.hear(News::Written(Ok("plan.sh: 1 step".to_owned())));
    assert_eq!(press(&mut screen, "q"), Effect::Quit);
    assert_eq!(
        press(&mut screen, " q"),
        Effect::Nothing,
        "there is another mark"
    );
}

#[test]
fn files_are_gone_through_against_the_newest_or_the_largest() {
    let paths = |effect: Effect| match effect {
        Effect::Compare(a, b) => (a.lossy().into_owned(), b.lossy().into_owned()),
        other => panic!("{other:?}"),
    };
    let pair = |a: &str, b: &str| (format!("/h/docs/{a}.txt"), format!("/h/docs/{b}.txt"));
    let mut screen = screen();
    assert_eq!(paths(press(&mut screen, "v>>")), pair("v3", "v1"));
    assert_eq!(paths(press(&mut screen, "n")), pair("v3", "v2"));
    press(&mut screen, "n");
    assert!(
        screen.note.contains("no further file"),
        "the newest is passed over"
    );
    assert_eq!(paths(press(&mut screen, "t")), pair("v1", "v2"));
    assert_eq!(paths(press(&mut screen, "n")), pair("v1", "v3"));
    press(&mut screen, "<");
    assert_eq!(
        screen.cursor.at, 2,
        "the file that was compared last is chosen"
    );
}

#[test]
fn two_files_stand_side_by_side() {
    let mut screen = screen();
    let Effect::Compare(a, b) = press(&mut screen, "v>>") else {
        panic!("nothing is compared");
    };
    row_with(&screen, "reading both files");
    let line = |n: usize| format!("this is line {n} of a text that two files have\n");
    let text: String = (0..20).map(line).collect();
    let other = text.replace("line 9 of", "verse 9 of");
    let compared = Compared::of_bytes(
        text.into_bytes(),
        other.into_bytes(),
        &Templates::default(),
        Unit::Words,
    );
    let findings = || PairFindings {
        summary: "relation: near".to_owned(),
        view: compared.view(&ViewOptions::default()),
    };
    // A result may arrive late, after another pair of files was chosen. It is not shown.
    screen.hear(News::Evidence(b.clone(), a.clone(), Ok(findings())));
    row_with(&screen, "reading both files");
    screen.hear(News::Evidence(a, b, Ok(findings())));
    let changed = row_with(&screen, "{+vers+}e");
    assert!(changed.contains("[-lin-]e"), "{changed}");
    assert_eq!(changed.chars().filter(|letter| *letter == '│').count(), 2);
    row_with(&screen, "relation: near");
    // Equal files are shown without reading them.
    press(&mut screen, "<<^>>");
    row_with(&screen, "All bytes are equal");
}

#[test]
fn a_comparison_is_looked_at() {
    let row = |class, a: Option<&str>, b: Option<&str>, shared: u64| CompareRow {
        class,
        a: a.map(PathText::from),
        b: b.map(PathText::from),
        a_in_b: Fraction::ONE,
        b_in_a: Fraction::ONE,
        shared_bytes: shared,
        told: PairFigures::default(),
        size_a: a.map(|_| 1000),
        size_b: b.map(|_| 1000),
        copy: false,
        others: Vec::new(),
        discount: Discount::default(),
    };
    let body = Comparison {
        entries: vec![
            row(CompareClass::Same, Some("x"), Some("x"), 1000),
            row(CompareClass::Edited, Some("y"), Some("y"), 600),
            row(CompareClass::OnlyB, None, Some("z"), 0),
        ],
        ..Comparison::default()
    };
    let parameters = CompareParameters {
        a: "/old".into(),
        b: "/new".into(),
        size_ratio: Fraction::ZERO,
        same_suffix: false,
        names: false,
        classes: Vec::new(),
        common: CommonParameters::plain(&Params::default()),
    };
    let document = CompareDocument::new(parameters, Header::default(), body, Vec::new());
    let all = Collection::of_compare(&document, None);
    let mut screen = screen_of(all, (80, 24));
    assert_eq!(rows(&screen)[1], "1 all  2 edited  3 only-b  4 same");
    assert_eq!(
        rows(&screen)[3],
        "   1000 B      1    99%  only-b        /new/z"
    );
    let effect = press(&mut screen, "v>>");
    assert_eq!(effect, Effect::Compare("/old/y".into(), "/new/y".into()));
    press(&mut screen, " <<4> ");
    assert!(
        screen.marks.is_empty(),
        "what is the same at two places is meant to be"
    );
    // In a comparison, the view of folders shows only files that have no identical file.
    press(&mut screen, "f");
    assert_eq!(rows(&screen)[1], "files not the same in /");
    row_with(&screen, "    2  new/");
}

#[test]
fn without_utf_8_and_colours_there_are_none() {
    let names = ["/h/漢字.txt", "/h/e\u{301}\u{200b}\u{1b}[2Jx"];
    let mut screen = screen_of(of_groups(vec![set(5000, &names)], Vec::new()), (80, 24));
    press(&mut screen, ">an");
    let look = Look {
        ascii: true,
        ..Look::default()
    };
    let buffer = drawn(&screen, &look);
    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
    let reset = |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
    assert!(buffer.content.iter().all(reset));
    let rows = rows_in(&screen, &look);
    assert!(
        rows[19].starts_with("-- what the plan will do --"),
        "{rows:#?}"
    );
    let colored = Look {
        color: true,
        ..Look::default()
    };
    assert!(!drawn(&screen, &colored).content.iter().all(reset));
}

#[test]
fn no_name_breaks_the_screen() {
    let long = format!("/h/{}/end", "long".repeat(1000));
    let wide = format!("/h/{}", "漢".repeat(200));
    let marks = format!("/h/a{}", "\u{301}".repeat(500));
    let bad = "/h/\u{1b}[2J\n\r\t\u{202e}x";
    let names = [&*long, &wide, &marks, bad];
    for size in [(80, 24), (200, 60), (250, 70), (40, 10), (20, 5), (1, 1)] {
        let mut screen = screen_of(of_groups(vec![set(9, &names)], Vec::new()), size);
        for keys in ["", "?", "?f", "/漢", "<g>", "an", "m", "<>"] {
            press(&mut screen, keys);
            for row in rows(&screen) {
                let shown = |letter: char| resemble_core::printable::is_printable(letter);
                assert!(row.chars().all(shown), "{row:?}");
            }
        }
    }
    let screen = screen_of(of_groups(vec![set(9, &names)], Vec::new()), (80, 24));
    assert!(
        rows(&screen)[3].ends_with("long/end"),
        "names differ at their end"
    );
}

#[test]
fn the_cursor_stays_in_sight() {
    let paths: Vec<String> = (0..2000).map(|n| format!("/h/{n:04}")).collect();
    let sets = paths.chunks(2).map(|pair| set(7, &[&pair[0], &pair[1]]));
    let mut screen = screen_of(of_groups(sets.collect(), Vec::new()), (80, 24));
    let in_sight = screen.regions().list_rows();
    for key in [
        Key::End,
        Key::Step(-3),
        Key::Page(-1),
        Key::Home,
        Key::Page(2),
        Key::Step(isize::MAX),
    ] {
        screen.key(key);
        let cursor = screen.cursor;
        assert!(
            cursor.at < 1000 && cursor.top <= cursor.at,
            "{key:?} {cursor:?}"
        );
        assert!(cursor.at < cursor.top + in_sight, "{key:?} {cursor:?}");
    }
    assert_eq!(screen.cursor.at, 999);
    screen.key(Key::Resize(80, 12));
    assert!(screen.cursor.at < screen.cursor.top + screen.regions().list_rows());
    // A click chooses an entry; the next click opens it.
    screen.key(Key::Click(5, 3));
    assert_eq!(screen.cursor.at, screen.cursor.top);
    assert_eq!(screen.place, Place::Groups);
    screen.key(Key::Click(5, 3));
    assert!(matches!(screen.place, Place::Group(_)));
}

#[test]
fn every_key_that_help_lists_does_something() {
    let mut screen = screen();
    press(&mut screen, "?");
    row_with(&screen, "write a plan of what is marked");
    press(&mut screen, "q");
    assert_eq!(screen.place, Place::Groups, "any key leads back");
    for key in "/fgmanptuTw ?q".chars() {
        let mut screen = self::screen();
        press(&mut screen, &key.to_string());
        assert!(!screen.note.contains("no key here"), "{key}");
    }
    press(&mut screen, "z");
    assert!(screen.note.contains("no key here"));
}
