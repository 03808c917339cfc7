//! Passes the keys of the terminal to the [`Screen`], and draws the screen after each change.
//!
//! One thread reads keys. One asks the question, and each new template starts another one that asks
//! it again. One compares files side by side, and one writes a plan. All of them send messages into
//! one channel. All pending messages are handled before the screen is drawn. So on a slow
//! connection the screen is drawn less often, but not later.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::crossterm::execute;
use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_proto::message::reason;
use resemble_proto::path::PathText;
use resemble_query::why::{self, ViewOptions};
use resemble_report::quote::quoted;
use resemble_scan::parts::{PartReader, RecentParts};

use super::collection::Collection;
use super::draw::{self, Look};
use super::model::{Effect, Key, News, PairFindings, PlanOrder, Screen};
use crate::backend::formats;
use crate::error::{CliError, CliResult};
use crate::new_file::NewFile;
use crate::plans;
use crate::ui::ProgressBoard;

/// Time between two updates of the question's progress.
const PACE: Duration = Duration::from_millis(250);

/// The number of rows by which the mouse wheel scrolls.
const WHEEL: isize = 3;

/// A message to the thread that draws.
enum Arrival {
    Input(Event),
    Asked(CliResult<Collection>),
    Done(News),
}

/// Answers the question of the screen. If files are given, it first marks the text that they share
/// as a template. Returns the answer, and the command that removes the mark.
pub(crate) trait Ask:
    Fn(Option<Vec<PathText>>) -> CliResult<(Collection, String)> + Send + Sync + 'static
{
}

impl<F> Ask for F where
    F: Fn(Option<Vec<PathText>>) -> CliResult<(Collection, String)> + Send + Sync + 'static
{
}

/// Shows a screen until the user leaves it. `ask` computes its content and reports the progress on
/// `board`. Returns whether there was anything to show.
pub(crate) fn run(
    (title, doing): (String, &str),
    look: &Look,
    board: &ProgressBoard,
    ask: impl Ask,
) -> CliResult<bool> {
    let mut terminal = ratatui::try_init().map_err(CliError::Output)?;
    let shown = execute!(std::io::stdout(), EnableMouseCapture).map_err(CliError::Output);
    let shown = shown.and_then(|()| {
        let size = terminal.size().map_err(CliError::Output)?;
        let screen = Screen::new(title, doing, (size.width, size.height));
        show(&mut terminal, screen, look, board, ask)
    });
    // If the terminal is gone, this call fails. The error does not matter.
    execute!(std::io::stdout(), DisableMouseCapture).unwrap_or_default();
    ratatui::restore();
    shown
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    mut screen: Screen,
    look: &Look,
    board: &ProgressBoard,
    ask: impl Ask,
) -> CliResult<bool> {
    let (send, arrivals) = mpsc::channel();
    let (order, orders) = mpsc::channel();
    // When the screen ends, no more messages are read. Threads that are still running end with the
    // process.
    let ask = Arc::new(ask);
    let (first, asking) = (Arc::clone(&ask), send.clone());
    thread::spawn(move || {
        let answer = first(None).map(|(collection, _)| collection);
        asking.send(Arrival::Asked(answer)).unwrap_or_default();
    });
    let doing = send.clone();
    thread::spawn(move || compare(&orders, &doing));
    let writing = send.clone();
    thread::spawn(move || {
        while let Ok(input) = event::read() {
            if send.send(Arrival::Input(input)).is_err() {
                return;
            }
        }
    });
    loop {
        let draw = |frame: &mut ratatui::Frame<'_>| draw::draw(&screen, look, frame);
        terminal.draw(draw).map_err(CliError::Output)?;
        let first = match (arrivals.recv_timeout(PACE), &screen.collection) {
            (Ok(first), _) => Some(first),
            (Err(RecvTimeoutError::Timeout), None) => None,
            // There is an answer, so no progress has to be drawn. Nothing changes until the next
            // message.
            (Err(_), _) => arrivals.recv().ok(),
        };
        for arrival in first.into_iter().chain(arrivals.try_iter()) {
            match arrival {
                Arrival::Asked(answer) => screen.hear(News::Answer(answer?)),
                Arrival::Done(news) => screen.hear(news),
                Arrival::Input(input) => {
                    let Some(key) = key_of(&input) else {
                        continue;
                    };
                    match screen.key(key) {
                        Effect::Nothing => {}
                        Effect::Quit => {
                            let groups = screen.collection.as_ref().map(|all| &all.groups);
                            return Ok(groups.is_none_or(|groups| !groups.is_empty()));
                        }
                        // The thread that compares files ends only when `order` is dropped, so it
                        // receives this message.
                        Effect::Compare(a, b) => order.send((a, b)).unwrap_or_default(),
                        Effect::Write(order) => {
                            let writing = writing.clone();
                            thread::spawn(move || {
                                let written = write_plan(&order).map_err(|why| why.to_string());
                                let news = News::Written(written);
                                writing.send(Arrival::Done(news)).unwrap_or_default();
                            });
                        }
                        Effect::MarkTemplate(files) => {
                            let (ask, asking) = (Arc::clone(&ask), writing.clone());
                            thread::spawn(move || {
                                let answer = ask(Some(files)).map_err(|why| why.to_string());
                                let news = News::Reviewed(answer);
                                asking.send(Arrival::Done(news)).unwrap_or_default();
                            });
                        }
                    }
                }
            }
        }
        if let Some(line) = board.line() {
            screen.doing = line;
        }
    }
}

fn key_of(event: &Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_keyboard(*key),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Key::Click(mouse.column, mouse.row)),
            MouseEventKind::ScrollDown => Some(Key::Step(WHEEL)),
            MouseEventKind::ScrollUp => Some(Key::Step(-WHEEL)),
            _ => None,
        },
        Event::Resize(columns, rows) => Some(Key::Resize(*columns, *rows)),
        _ => None,
    }
}

fn of_keyboard(key: KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Key::Interrupt);
    }
    Some(match key.code {
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Enter | KeyCode::Right => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Erase,
        KeyCode::Left => Key::Left,
        KeyCode::Down => Key::Step(1),
        KeyCode::Up => Key::Step(-1),
        KeyCode::PageDown => Key::Page(1),
        KeyCode::PageUp => Key::Page(-1),
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

/// Compares files side by side. If several pairs are waiting, only the last one is compared.
fn compare(orders: &Receiver<(PathText, PathText)>, done: &Sender<Arrival>) {
    let reader = formats(true).map(|formats| RecentParts::new(Arc::new(formats)));
    let reader = reader.as_ref().map(|formats| formats as &dyn PartReader);
    while let Ok(first) = orders.recv() {
        let (a, b) = orders.try_iter().last().unwrap_or(first);
        let found = findings(&a, &b, reader);
        done.send(Arrival::Done(News::Evidence(a, b, found)))
            .unwrap_or_default();
    }
}

/// Returns the lines that `resemble why` shows for two files.
fn findings(
    a: &PathText,
    b: &PathText,
    reader: Option<&dyn PartReader>,
) -> Result<PairFindings, String> {
    let terms = (&Params::default(), &Templates::default());
    let real = |path: &PathText| std::path::absolute(path.as_path());
    let compared = match (real(a), real(b)) {
        (Ok(a), Ok(b)) => why::compare_with_parts(&a, &b, terms, reader),
        (Err(error), _) | (_, Err(error)) => return Err(reason(&error)),
    };
    let compared = compared.map_err(|error| reason(&std::io::Error::other(error)))?;
    let summary = compared.shared.summary();
    let is_shown = |name: &str| matches!(name, "relation" | "a in b" | "b in a");
    let figures = summary.iter().filter(|(name, _)| is_shown(name));
    let figures = figures.map(|(name, value)| format!("{name}: {value}"));
    Ok(PairFindings {
        summary: figures.collect::<Vec<_>>().join("; "),
        view: compared.view(&ViewOptions::default()),
    })
}

/// Writes a plan into a new file, and returns a sentence that says what the plan will do.
fn write_plan(order: &PlanOrder) -> CliResult<String> {
    let path = &order.file;
    if Path::symlink_metadata(path).is_ok() {
        return Err(CliError::Usage(format!(
            "{} is there already; nothing is overwritten: take another name",
            quoted(path)
        )));
    }
    let plan = plans::of_screen(&order.pairs, order.kind.clone());
    let mut file = NewFile::next_to(path)?;
    plan.write(file.writer())
        .map_err(CliError::file("write", path))?;
    file.complete()?;
    file.keep()?;
    Ok(format!(
        "{}: {}; read it, then run it with sh",
        quoted(path),
        plan.summary()
    ))
}
