//! Passes the keys of the terminal to the [`Screen`], and draws the screen after each change.
//!
//! One thread reads keys, one compares files side by side, and one asks the question. Each new
//! template starts another thread that asks the question again. Each plan is written by a thread of
//! its own. All threads send messages into one channel. All pending messages are handled before the
//! screen is drawn. So on a slow connection the screen is drawn less often, but not later.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::crossterm::execute;
use resemble_proto::path::PathText;

use crate::collection::Collection;
use crate::draw::{self, Look};
use crate::model::{Effect, Key, News, PairFindings, PlanOrder, Screen};

/// Time between two updates of the question's progress.
const PACE: Duration = Duration::from_millis(250);

/// The number of rows by which the mouse wheel scrolls.
const WHEEL: isize = 3;

/// A message to the thread that draws.
enum Arrival<E> {
    Input(Event),
    Asked(Result<Collection, E>),
    Done(News),
}

/// The work that the screen orders. The thread that draws calls only [`Session::progress`]. Other
/// threads call the other methods.
pub trait Session: Send + Sync + 'static {
    /// The error of the question.
    type Error: Display + Send + 'static;

    /// Answers the question of the screen. If files are given, it first marks the text that they
    /// share as a template. Returns the answer, and the command that removes the mark.
    fn ask(&self, template: Option<&[PathText]>) -> Result<(Collection, String), Self::Error>;

    /// Compares two files. The error is a sentence for the screen.
    fn side_by_side(&self, a: &PathText, b: &PathText) -> Result<PairFindings, String>;

    /// Writes a plan into a new file, and returns a sentence that says what the plan will do. The
    /// error is a sentence, too.
    fn write_plan(&self, order: &PlanOrder) -> Result<String, String>;

    /// Returns a line about the progress of the question; `None` if no work is under way.
    fn progress(&self) -> Option<String>;
}

/// The reason why the screen ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError<E> {
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(io::Error),
    /// The question has no answer.
    #[error("{0}")]
    Question(E),
}

/// Shows a screen until the user leaves it. `session` computes its content. Returns whether there
/// was anything to show.
pub fn run<S: Session>(
    (title, doing): (String, &str),
    look: &Look,
    session: S,
) -> Result<bool, ScreenError<S::Error>> {
    let mut terminal = ratatui::try_init().map_err(ScreenError::Terminal)?;
    let shown = execute!(io::stdout(), EnableMouseCapture).map_err(ScreenError::Terminal);
    let shown = shown.and_then(|()| {
        let size = terminal.size().map_err(ScreenError::Terminal)?;
        let screen = Screen::new(title, doing, (size.width, size.height));
        show(&mut terminal, screen, look, session)
    });
    // If the terminal is gone, this call fails. The error does not matter.
    execute!(io::stdout(), DisableMouseCapture).unwrap_or_default();
    ratatui::restore();
    shown
}

fn show<S: Session>(
    terminal: &mut ratatui::DefaultTerminal,
    mut screen: Screen,
    look: &Look,
    session: S,
) -> Result<bool, ScreenError<S::Error>> {
    let (send, arrivals) = mpsc::channel();
    let (order, orders) = mpsc::channel();
    // When the screen ends, no more messages are read. Threads that are still running end with the
    // process.
    let session = Arc::new(session);
    let (first, asking) = (Arc::clone(&session), send.clone());
    thread::spawn(move || {
        let answer = first.ask(None).map(|(collection, _)| collection);
        asking.send(Arrival::Asked(answer)).unwrap_or_default();
    });
    let (comparing, doing) = (Arc::clone(&session), send.clone());
    thread::spawn(move || compare(&*comparing, &orders, &doing));
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
        terminal.draw(draw).map_err(ScreenError::Terminal)?;
        let first = match (arrivals.recv_timeout(PACE), &screen.collection) {
            (Ok(first), _) => Some(first),
            (Err(RecvTimeoutError::Timeout), None) => None,
            // There is an answer, so no progress has to be drawn. Nothing changes until the next
            // message.
            (Err(_), _) => arrivals.recv().ok(),
        };
        for arrival in first.into_iter().chain(arrivals.try_iter()) {
            match arrival {
                Arrival::Asked(answer) => {
                    let answer = answer.map_err(ScreenError::Question)?;
                    screen.hear(News::Answer(answer));
                }
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
                            let (session, writing) = (Arc::clone(&session), writing.clone());
                            thread::spawn(move || {
                                let news = News::Written(session.write_plan(&order));
                                writing.send(Arrival::Done(news)).unwrap_or_default();
                            });
                        }
                        Effect::MarkTemplate(files) => {
                            let (session, asking) = (Arc::clone(&session), writing.clone());
                            thread::spawn(move || {
                                let answer = session.ask(Some(&files));
                                let news = News::Reviewed(answer.map_err(|why| why.to_string()));
                                asking.send(Arrival::Done(news)).unwrap_or_default();
                            });
                        }
                    }
                }
            }
        }
        if let Some(line) = session.progress() {
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

/// Compares files side by side. If several pairs are waiting, only the last pair is compared.
fn compare<S: Session>(
    session: &S,
    orders: &Receiver<(PathText, PathText)>,
    done: &Sender<Arrival<S::Error>>,
) {
    while let Ok(first) = orders.recv() {
        let (a, b) = orders.try_iter().last().unwrap_or(first);
        let found = session.side_by_side(&a, &b);
        done.send(Arrival::Done(News::Evidence(a, b, found)))
            .unwrap_or_default();
    }
}
