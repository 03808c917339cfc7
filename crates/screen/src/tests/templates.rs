//! Tests that the text which a cluster shares can be marked as a template.

use super::*;

fn without_versions() -> Collection {
    of_groups(
        vec![
            set(100, &["/h/docs/b.txt", "/h/old/b.txt"]),
            set(5000, &["/h/music/a.flac", "/h/old/a.flac"]),
        ],
        Vec::new(),
    )
}

#[test]
fn a_cluster_is_marked_after_a_question() {
    let paths = ["/h/docs/v1.txt", "/h/docs/v2.txt", "/h/docs/v3.txt"];
    let files = paths.map(PathText::from).to_vec();
    for keys in ["vT", "v>T", "v>>T"] {
        let mut screen = screen();
        assert_eq!(press(&mut screen, keys), Effect::Nothing);
        row_with(&screen, "Is what these files share a template");
        let answered = press(&mut screen, "y");
        assert_eq!(answered, Effect::MarkTemplate(files.clone()), "{keys}");
    }
    let mut screen = screen();
    assert_eq!(press(&mut screen, "vTn"), Effect::Nothing);
    // Only the text of a cluster can be marked as a template. The text of a set of identical files
    // or of a folder cannot.
    for keys in ["T", ">T", "fT", "mT"] {
        let mut screen = self::screen();
        assert_eq!(press(&mut screen, &format!("{keys}y")), Effect::Nothing);
    }
}

/// A new template changes the groups of the answer, but the marked files keep their marks.
#[test]
fn marks_of_files_are_kept_beside_a_new_template() {
    let mut screen = screen();
    let names = |screen: &Screen| {
        let all = screen.collection.as_ref().unwrap();
        let names = screen
            .marks
            .files()
            .map(|file| all.files[file].path.clone());
        let mut names: Vec<PathText> = names.collect();
        names.sort();
        names
    };
    press(&mut screen, "an");
    let before = names(&screen);
    press(&mut screen, "v>");
    let answer = (without_versions(), "taken back by unmark".to_owned());
    screen.hear(News::Reviewed(Ok(answer)));
    assert_eq!(screen.place, Place::Groups);
    assert_eq!(screen.note, "taken back by unmark");
    assert_eq!(screen.shown.len(), 2);
    let kept = names(&screen);
    assert!(!kept.is_empty() && kept.iter().all(|path| before.contains(path)));
    assert_eq!(kept.len(), 2, "one of each set");
    screen.hear(News::Reviewed(Err("the disk is full".to_owned())));
    assert_eq!(screen.note, "no template: the disk is full");
    assert_eq!(names(&screen), kept);
}
