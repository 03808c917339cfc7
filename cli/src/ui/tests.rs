//! Tests output on a terminal, and output into a pipe.

use super::*;
use resemble_proto::message::SoftErrorKind;
use std::cell::RefCell;
use std::rc::Rc;

/// The output of a [`Ui`].
#[derive(Clone, Default)]
pub(crate) struct Written(Rc<RefCell<Vec<u8>>>);

impl Written {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a [`Ui`] on a terminal or in a pipe, with its output on both streams.
pub(crate) fn ui(terminal: bool) -> (Ui, Written, Written) {
    let (out, err) = (Written::default(), Written::default());
    let ui = Ui {
        out: Target::Stream(Box::new(out.clone())),
        err: Box::new(err.clone()),
        terminal,
        columns: None,
        err_columns: None,
        err_terminal: false,
        color: false,
        talk: Talk::Notes,
        may_page: false,
        after: String::new(),
        is_cut: false,
        board: None,
    };
    (ui, out, err)
}

#[test]
fn a_note_on_a_terminal_is_broken_between_words() {
    let (mut ui, _, err) = ui(true);
    let text = "a common run of 5,600 bytes would have been seen; `resemble sync` waits for it";
    ui.note(text);
    assert_eq!(err.text(), format!("resemble: {text}\n"));
    ui.err_columns = Some(60);
    ui.note(text);
    assert!(
        err.text()
            .ends_with("would have been seen;\n  `resemble sync` waits for it\n"),
        "{}",
        err.text()
    );
}

fn rows(ui: &Ui) -> Vec<Vec<Cell>> {
    let name = |bytes: &[u8]| ui.name(&PathText::from_bytes(bytes), Tint::Plain);
    vec![
        vec![
            Cell::right("100%", Tint::Good),
            Cell::left("identical", Tint::Good),
            name(b"a b"),
        ],
        vec![
            Cell::right("7%", Tint::Plain),
            Cell::left("near", Tint::Plain),
            name(b"x\x1b[2J\n\xff"),
        ],
    ]
}

#[test]
fn a_terminal_gets_columns_and_quoted_names() {
    let (mut ui, out, _) = ui(true);
    let rows = rows(&ui);
    ui.lines(&rows, b'\n').unwrap();
    assert_eq!(
        out.text(),
        "100%  identical  'a b'\n  7%  near       'x'$'\\033''[2J'$'\\n\\377'\n"
    );
}

#[test]
fn a_pipe_gets_bytes() {
    let (mut ui, out, _) = ui(false);
    let rows = rows(&ui);
    ui.lines(&rows, b'\0').unwrap();
    let expected = b"100%  identical  a b\x007%  near  x\x1b[2J\n\xff\x00";
    assert_eq!(*out.0.borrow(), expected);
}

#[test]
fn a_table_on_a_terminal_cannot_paint_the_screen() {
    let name = b"a\x1b[2J\t\xc2\x9b31m\xe2\x80\xae\xff\
        \xed\xa0\x80 \xe6\x97\xa5\r\xf0\x9f\n\xc3";
    let shown = "a\\u001b[2J\t\\u009b31m\\u202e\\xff\
        \\xed\\xa0\\x80 日\\u000d\\xf0\\x9f\n\\xc3";
    for (terminal, expected) in [(true, shown.as_bytes()), (false, name.as_slice())] {
        // The name is written in pieces of each length, so that some pieces end within a character.
        for piece in 1..=name.len() {
            let (mut ui, out, _) = ui(terminal);
            ui.write_data(|out| name.chunks(piece).try_for_each(|it| out.write_all(it)))
                .unwrap();
            assert_eq!(*out.0.borrow(), expected, "{piece}");
        }
    }
    // In JSON, the spelled-out form of a character means the same character.
    let (mut ui, out, _) = ui(true);
    let value = "\u{7f}\u{9b}\u{202e}\u{e0041}é";
    ui.write_data(|out| Ok(serde_json::to_writer(out, value)?))
        .unwrap();
    assert_eq!(out.text(), r#""\u007f\u009b\u202e\udb40\udc41é""#);
    assert_eq!(serde_json::from_str::<String>(&out.text()).unwrap(), value);
}

#[test]
fn colours_only_where_asked_for() {
    let (mut ui, out, _) = ui(true);
    ui.color = true;
    ui.lines(
        &[vec![
            Cell::left("x", Tint::Good),
            Cell::left("y", Tint::Plain),
        ]],
        b'\n',
    )
    .unwrap();
    assert_eq!(out.text(), "\u{1b}[32mx\u{1b}[0m  y\n");
}

#[test]
fn messages_cannot_paint_the_screen() {
    let (mut ui, _, err) = ui(false);
    ui.soft_errors(&[SoftError {
        path: PathText::from_bytes(*b"a\nb"),
        kind: SoftErrorKind::Unreadable,
        message: "no\x1b[2J".into(),
    }]);
    // A daemon may report any text as its version, and notes may quote it.
    ui.talk = Talk::Details;
    ui.note("version \x1b[2J");
    ui.detail("version \x1b]0;x\x07");
    assert_eq!(
        err.text(),
        "resemble: 'a'$'\\n''b': no\u{fffd}[2J\n\
         resemble: version \u{fffd}[2J\n\
         resemble: version \u{fffd}]0;x\u{fffd}\n"
    );
}

/// Only the first documents that could not be read in full are named, because a collection may have
/// thousands.
#[test]
fn of_unread_documents_the_first_are_named() {
    let (mut ui, _, err) = ui(false);
    let error = |kind, n: usize| SoftError {
        path: format!("/{n:02}").as_str().into(),
        kind,
        message: "why".into(),
    };
    let unread = (0..13).map(|n| error(SoftErrorKind::Unread, n));
    let left_out = (20..22).map(|n| error(SoftErrorKind::LeftOut, n));
    let mut errors: Vec<SoftError> = unread.chain(left_out).collect();
    errors.push(error(SoftErrorKind::Unreadable, 30));
    ui.soft_errors(&errors);
    let text = err.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 13, "{text}");
    assert_eq!(lines[9..11], ["resemble: /09: why", "resemble: /30: why"]);
    assert_eq!(
        lines[11],
        "resemble: 3 more documents could not be read in full; -v names all"
    );
    assert_eq!(
        lines[12],
        "resemble: of 2 documents something is left out on purpose; -v names all"
    );
    let (mut ui, _, err) = self::ui(false);
    ui.talk = Talk::Details;
    ui.soft_errors(&errors);
    assert_eq!(err.text().lines().count(), errors.len());
}

#[test]
fn quiet_is_quiet_but_errors_are_said() {
    let (mut ui, _, err) = ui(false);
    ui.talk = Talk::Errors;
    ui.note("note");
    ui.detail("detail");
    let code = ui.finish(Err(CliError::Usage("wrong".into())));
    assert_eq!(err.text(), "resemble: wrong\n");
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(2)));
}

#[test]
fn a_dash_as_the_output_file_is_standard_output() {
    let (mut ui, out, _) = ui(true);
    ui.redirect(Some(Path::new("-")));
    let name = ui.name(&"a b".into(), Tint::Plain);
    ui.lines(&[vec![name]], b'\n').unwrap();
    ui.finish(Ok(Outcome::Holds));
    assert_eq!(out.text(), "'a b'\n");
    assert!(!Path::new("-").exists());
}

#[test]
fn the_output_file_is_made_with_the_first_byte() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("out");
    let (mut ui, out, err) = ui(true);
    ui.redirect(Some(&path));
    assert!(!path.exists());
    let name = ui.name(&"a b".into(), Tint::Plain);
    ui.lines(&[vec![name]], b'\n').unwrap();
    ui.finish(Ok(Outcome::Holds));
    assert_eq!(std::fs::read(&path).unwrap(), b"a b\n");
    assert_eq!((out.text(), err.text()), (String::new(), String::new()));
    // A command that fails keeps the earlier file, and leaves no temporary file.
    let (mut ui, ..) = self::ui(true);
    ui.redirect(Some(&path));
    ui.lines(&[vec![Cell::left("half", Tint::Plain)]], b'\n')
        .unwrap();
    ui.finish(Err(CliError::Usage("wrong".into())));
    assert_eq!(std::fs::read(&path).unwrap(), b"a b\n");
    assert_eq!(temp.path().read_dir().unwrap().count(), 1);
}
