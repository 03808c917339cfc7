//! Draws the screen, which depends only on its state and on the terminal.
//!
//! Every name is quoted as on any terminal, and text that is wider than its column is shortened. At
//! the end, unwanted colours are removed, and characters that the terminal cannot show are
//! replaced.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_report::human::{counted, human_count, human_size};
use resemble_report::lines::TextStyle;
use resemble_report::quote::{harmless, quoted_bytes};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::collection::{Collection, FolderRow, GroupFile};
use crate::columns::{Paper, RowLine, SideLine, color_of};
use crate::model::{PairFindings, Place, Prompt, Screen};
use crate::regions::Regions;

/// The properties of the terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// True if colours are used.
    pub color: bool,
    /// True if the terminal shows only ASCII letters.
    pub ascii: bool,
    /// The style of times.
    pub style: TextStyle,
}

/// The minimum size of a screen in columns and rows. On a smaller screen nothing is shown.
const LEAST: (u16, u16) = (40, 10);

const FAINT: Style = Style::new().fg(Color::DarkGray);
const GOES: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const HEADING: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const NOTED: Style = Style::new().fg(Color::Yellow);

const HELP: [&str; 17] = [
    "arrows, j k       go up and down          PgUp PgDn Home End   go further",
    "Enter             open what is chosen     Backspace, Esc, left   go back",
    "g                 groups                  f   folders",
    "/                 list only names with a text",
    "1 2 3 ...         list only groups of a kind",
    "n p               next or previous file of the group",
    "t                 compare with the largest file, or with the newest again",
    "space             mark a file to go",
    "a                 mark by a rule: which files stay",
    "u                 unmark",
    "m                 list what is marked",
    "w                 write a plan of what is marked",
    "T                 make what the files of a cluster share a template",
    "q                 quit",
    "mouse             click chooses, a second click opens, the wheel scrolls",
    "",
    "No file is changed here. The plan is a script: read it, then run it with sh.",
];

pub(crate) fn draw(screen: &Screen, look: &Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    let canvas = &mut Canvas { buffer, area, look };
    if (area.width, area.height) < LEAST || area.height < LEAST.1 {
        canvas.line(0, "the terminal is too small");
    } else {
        paint(screen, &Regions::of((area.width, area.height)), canvas);
    }
    if look.ascii || !look.color {
        plain(buffer, look);
    }
}

/// Replaces characters that the terminal cannot show, and removes unwanted colours.
fn plain(buffer: &mut Buffer, look: &Look) {
    for cell in &mut buffer.content {
        if look.ascii && !cell.symbol().is_ascii() {
            let letter = match cell.symbol() {
                "│" => "|",
                "─" => "-",
                "…" => "~",
                _ => "?",
            };
            cell.set_symbol(letter);
        }
        if !look.color {
            (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
        }
    }
}

struct Canvas<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    look: &'a Look,
}

impl Canvas<'_> {
    fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    fn line<'l>(&mut self, row: u16, line: impl Into<Line<'l>>) {
        if row < self.area.height {
            self.buffer.set_line(0, row, &line.into(), self.area.width);
        }
    }

    /// Draws a row of a list. The chosen row has inverted colours over its whole width.
    fn row(&mut self, row: u16, line: Line<'_>, is_chosen: bool) {
        self.line(row, line);
        if is_chosen {
            self.buffer
                .set_style(Rect::new(0, row, self.area.width, 1), CHOSEN);
        }
    }

    /// Draws a horizontal line across the screen, with a heading in it.
    fn rule(&mut self, row: u16, heading: &str) {
        let rest = self.width().saturating_sub(heading.width() + 4);
        let line = format!("── {heading} {}", "─".repeat(rest));
        self.line(row, Line::styled(line, FAINT));
    }
}

fn paint(screen: &Screen, regions: &Regions, canvas: &mut Canvas<'_>) {
    canvas.line(regions.title, title(screen));
    canvas.line(regions.last, last_line(screen, canvas.width()));
    if screen.prompt == Prompt::Help {
        for (row, text) in (regions.tabs + 1..regions.last).zip(HELP) {
            canvas.line(row, text);
        }
        return;
    }
    pane(screen, regions, canvas);
    let Some(all) = &screen.collection else {
        canvas.line(regions.list.start, harmless(&screen.doing));
        canvas.line(regions.list.start + 1, Line::styled("q ends it", FAINT));
        return;
    };
    match screen.place {
        Place::Groups => groups(screen, all, regions, canvas),
        Place::Folders => folders(screen, all, regions, canvas),
        Place::Group(_) | Place::Marked => files(screen, all, regions, canvas),
        Place::Evidence(group) => evidence(screen, all, group, regions, canvas),
    }
}

fn title(screen: &Screen) -> Line<'static> {
    let mut spans = vec![
        Span::styled("resemble ui  ", HEADING),
        Span::raw(screen.title.clone()),
    ];
    if let Some(all) = &screen.collection {
        let groups = all.groups.len() as u64;
        let bytes = all.groups.iter().map(|group| group.bytes).sum();
        let (what, bytes) = (
            if all.is_comparison { "row" } else { "group" },
            human_size(bytes),
        );
        let text = if all.is_comparison {
            format!("  {}, {bytes} differ", counted(groups, what))
        } else {
            format!("  {}, {bytes} there more than once", counted(groups, what))
        };
        spans.push(Span::raw(text));
        if all.unread > 0 {
            let text = format!("  {} not read", counted(all.unread as u64, "file"));
            spans.push(Span::styled(text, NOTED));
        }
    }
    spans.into()
}

fn last_line(screen: &Screen, width: usize) -> Line<'static> {
    let ask = |text: String| Line::styled(text, HEADING);
    // If the input is too long, its end is shown.
    let typed = |label: &str, text: &str| {
        let room = width.saturating_sub(label.width() + 2);
        ask(format!("{label} {}_", fitted(&harmless(text), room)))
    };
    match &screen.prompt {
        Prompt::None if !screen.note.is_empty() => {
            Line::styled(fitted(&harmless(&screen.note), width), NOTED)
        }
        Prompt::None => {
            let keys = match screen.place {
                _ if screen.collection.is_none() => "q quit  ? keys",
                Place::Groups => {
                    "? keys  Enter open  / filter  f folders  a rule  m marked  w write  q quit"
                }
                Place::Folders => {
                    "? keys  Enter open  space mark  / filter  g groups  a rule  w write  q quit"
                }
                Place::Group(_) => {
                    "? keys  Enter compare  space mark  a rule  u unmark  w write  Esc back  q quit"
                }
                Place::Marked => "? keys  Enter open  u unmark  w write  Esc back  q quit",
                Place::Evidence(_) => {
                    "? keys  n p next file  t newest, largest  space mark  Esc back  q quit"
                }
            };
            Line::styled(keys, FAINT)
        }
        Prompt::Filter(text) => typed("names with:", text),
        Prompt::Rule => {
            let sets = "Which files stay? ";
            ask(format!(
                "{sets}n newest  o oldest  s shortest path  i in a folder  Esc none"
            ))
        }
        Prompt::RuleFolder(text) => typed("Files in this folder stay:", text),
        Prompt::Kind => {
            ask("t trash  or a link: s symlink  h hardlink  r reflink  Esc nothing".into())
        }
        Prompt::File(_, text) => typed("Write the plan into:", text),
        Prompt::Template(_) => {
            ask("Is what these files share a template, and no evidence from now on? y n".into())
        }
        Prompt::Quit => ask("Files are marked and no plan of them is written. Quit? y n".into()),
        Prompt::Help => Line::styled("any key: back", FAINT),
    }
}

/// Draws the pane that shows the effect of the plan.
fn pane(screen: &Screen, regions: &Regions, canvas: &mut Canvas<'_>) {
    canvas.rule(regions.pane.start, "what the plan will do");
    let rows = regions.pane.start + 1..regions.pane.end;
    let mut lines: Vec<Line<'_>> = screen.outlook().map(Line::from).into();
    if let Some(all) = &screen.collection {
        let width = canvas.width();
        let goes = screen.marks.files().map(|file| {
            let file = &all.files[file];
            let name = fitted(
                &quoted_bytes(file.path.as_bytes()),
                width.saturating_sub(17),
            );
            let size = size_of(file);
            Line::from(vec![
                Span::styled("go  ", GOES),
                Span::raw(format!("{size:>9}  {name}")),
            ])
        });
        lines.extend(goes.take(rows.len().saturating_sub(2)));
    }
    for (row, line) in rows.zip(lines) {
        canvas.line(row, line);
    }
}

/// Returns the rows of the screen that show a list, each with the index of the entry that it shows.
fn in_sight(screen: &Screen, regions: &Regions) -> impl Iterator<Item = (u16, usize)> {
    regions.list.clone().zip(screen.cursor.top..screen.len())
}

fn groups(screen: &Screen, all: &Collection, regions: &Regions, canvas: &mut Canvas<'_>) {
    let mut tabs = Vec::new();
    for (text, is_listed) in screen.tabs() {
        tabs.push(Span::styled(
            text,
            if is_listed { CHOSEN } else { Style::new() },
        ));
        tabs.push(Span::raw("  "));
    }
    if !screen.filter.is_empty() {
        let text = format!("/{}", harmless(&screen.filter));
        tabs.push(Span::styled(text, NOTED));
    }
    canvas.line(regions.tabs, tabs);
    let bytes = if all.is_comparison { "differ" } else { "again" };
    let place = place(screen);
    let heading = format!("{bytes:>9}  files  share  kind          name  {place}");
    canvas.line(regions.heading, Line::styled(heading, FAINT));
    if screen.shown.is_empty() {
        let nothing = if all.groups.is_empty() {
            "nothing is there more than once"
        } else {
            "no such group"
        };
        canvas.line(regions.list.start, nothing);
    }
    for (row, at) in in_sight(screen, regions) {
        let at_group = screen.shown[at];
        let group = &all.groups[at_group];
        let members = all.members(at_group);
        let first = members
            .first()
            .map(|file| quoted_bytes(file.path.as_bytes()));
        let marks = match screen.marks.of_group(all, at_group) {
            0 => String::new(),
            count => format!("{count} go "),
        };
        let head = format!(
            "{:>9}  {:>5}  {:>5}  {:<12}  ",
            human_size(group.bytes),
            human_count(members.len() as u64),
            percent(group.share, group.kind.is_equal()),
            group.kind.word(),
        );
        let room = canvas.width().saturating_sub(head.width() + marks.width());
        let name = fitted(&first.unwrap_or_default(), room);
        let spans = vec![Span::raw(head), Span::styled(marks, GOES), Span::raw(name)];
        canvas.row(row, spans.into(), at == screen.cursor.at);
    }
}

/// Returns the position of the cursor in the list, in words.
fn place(screen: &Screen) -> String {
    let (at, len) = (screen.cursor.at as u64 + 1, screen.len() as u64);
    format!("{} of {}", human_count(at.min(len)), human_count(len))
}

fn folders(screen: &Screen, all: &Collection, regions: &Regions, canvas: &mut Canvas<'_>) {
    let what = if all.is_comparison {
        "not the same"
    } else {
        "there more than once"
    };
    let here = quoted_bytes(screen.folder.as_os_str().as_encoded_bytes());
    let text = match &*screen.filter {
        "" => format!("files {what} in "),
        filter => format!("files {what} with {} in ", harmless(filter)),
    };
    let room = canvas.width().saturating_sub(text.width());
    canvas.line(regions.tabs, format!("{text}{}", fitted(&here, room)));
    let heading = format!("{:>9}  {:>9}  name  {}", "bytes", "files", place(screen));
    canvas.line(regions.heading, Line::styled(heading, FAINT));
    for (row, at) in in_sight(screen, regions) {
        let FolderRow {
            path,
            file,
            files,
            bytes,
        } = &screen.rows[at];
        let below = path
            .as_bytes()
            .get(screen.folder.as_os_str().len()..)
            .unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        let goes = file.is_some_and(|file| screen.marks.has(file));
        let end = if file.is_none() { "/" } else { "" };
        let count = if file.is_none() {
            human_count(*files)
        } else {
            String::new()
        };
        let head = format!("{:>9}  {count:>9}  ", human_size(*bytes));
        let mark = if goes { "go " } else { "" };
        let room = canvas
            .width()
            .saturating_sub(head.width() + mark.width() + 1);
        let name = format!("{}{end}", fitted(&quoted_bytes(below), room));
        let spans = vec![Span::raw(head), Span::styled(mark, GOES), Span::raw(name)];
        canvas.row(row, spans.into(), at == screen.cursor.at);
    }
}

/// Draws the list of the files of a group, or of all marked files.
fn files(screen: &Screen, all: &Collection, regions: &Regions, canvas: &mut Canvas<'_>) {
    let count = counted(screen.len() as u64, "file");
    let (text, first, reference) = if let Place::Group(at) = screen.place {
        let group = &all.groups[at];
        let reference = all.reference(at, screen.by_size);
        let reference = Some(reference).filter(|_| !all.is_comparison);
        let text = format!("{}, {count}", group.kind.word());
        (text, Some(group.files.start), reference)
    } else {
        (format!("{count} marked"), None, None)
    };
    canvas.line(regions.tabs, text);
    let other = if all.is_comparison {
        "of other"
    } else {
        "of center"
    };
    let (head, place) = ("      date             size  of file", place(screen));
    let heading = format!("{head}  {other:>9}  name  {place}");
    canvas.line(regions.heading, Line::styled(heading, FAINT));
    let than = if screen.by_size {
        "  largest"
    } else {
        "  newest"
    };
    for (row, at) in in_sight(screen, regions) {
        let file = first.map_or_else(|| screen.marked[at], |first| first + at);
        let tag = if reference == Some(at) { than } else { "" };
        let line = file_line(all, &all.files[file], screen.marks.has(file), tag, canvas);
        canvas.row(row, line, at == screen.cursor.at);
    }
}

fn file_line(
    all: &Collection,
    file: &GroupFile,
    goes: bool,
    tag: &str,
    canvas: &Canvas<'_>,
) -> Line<'static> {
    let is_equal = all.groups[file.group].kind.is_equal();
    let head = format!(
        "{:<10}  {:>9}  {:>7}  {:>9}  ",
        file.mtime
            .map_or_else(|| "-".to_owned(), |time| canvas.look.style.day(time)),
        size_of(file),
        percent(file.shares.0, is_equal),
        percent(file.shares.1, is_equal),
    );
    let room = canvas
        .width()
        .saturating_sub(6 + head.width() + tag.width());
    let name = fitted(&quoted_bytes(file.path.as_bytes()), room);
    let mark = Span::styled(if goes { "goes  " } else { "      " }, GOES);
    vec![
        mark,
        Span::raw(head),
        Span::raw(name),
        Span::styled(tag.to_owned(), FAINT),
    ]
    .into()
}

fn evidence(
    screen: &Screen,
    all: &Collection,
    group: usize,
    regions: &Regions,
    canvas: &mut Canvas<'_>,
) {
    let Some((a, b)) = screen.pair() else {
        return;
    };
    let half = canvas.width() / 2;
    let of_it = format!(
        " ({} of {})",
        screen.cursor.at + 1,
        all.members(group).len()
    );
    let name = |path: &PathText, room: usize| fitted(&quoted_bytes(path.as_bytes()), room);
    let left = name(&a, half.saturating_sub(2));
    let goes = screen
        .marks
        .has(all.groups[group].files.start + screen.cursor.at);
    let mark = if goes { "goes " } else { "" };
    let room = half.saturating_sub(of_it.width() + mark.width());
    let blanks = " ".repeat(half.saturating_sub(left.width()));
    let right = Span::styled(format!("{}{of_it}", name(&b, room)), HEADING);
    let names = vec![
        Span::styled(format!("{left}{blanks}"), HEADING),
        Span::styled(mark, GOES),
        right,
    ];
    canvas.line(regions.tabs, names);
    let said = match &screen.evidence {
        _ if all.groups[group].kind.is_equal() => Err("All bytes are equal: nothing differs."),
        Some((of_a, of_b, found)) if (of_a, of_b) == (&a, &b) => {
            found.as_ref().map_err(String::as_str)
        }
        _ => Err("reading both files"),
    };
    match said {
        Err(text) => canvas.line(regions.list.start, harmless(text)),
        Ok(findings) => {
            let summary = Line::styled(harmless(&findings.summary), FAINT);
            canvas.line(regions.heading, summary);
            side_by_side(findings, screen.cursor.top, regions, canvas);
        }
    }
}

fn side_by_side(findings: &PairFindings, top: usize, regions: &Regions, canvas: &mut Canvas<'_>) {
    let view = &findings.view;
    let paper = Paper::of(view, canvas.look.color);
    let width = paper.text_width(canvas.width());
    let gutter = paper.gutter();
    let blank = || vec![Span::raw(" ".repeat(gutter + width))];
    let rows = view.rows.get(top..).unwrap_or_default();
    let lines = rows.iter().flat_map(|row| paper.lines(row, width));
    let lines = lines.map(|line| match line {
        RowLine::Across(text) => Line::styled(format!("{}{text}", " ".repeat(gutter)), FAINT),
        RowLine::Sides(left, sign, right) => {
            let mut spans = left.map_or_else(blank, |side| spans(&paper, side));
            spans.push(Span::raw(format!(" {sign} ")));
            spans.extend(right.into_iter().flat_map(|side| self::spans(&paper, side)));
            spans.into()
        }
    });
    let rest = view
        .rest
        .iter()
        .map(|rest| Line::styled(rest.to_string(), FAINT));
    for (row, line) in regions.list.clone().zip(lines.chain(rest)) {
        canvas.line(row, line);
    }
}

fn spans(paper: &Paper, side: SideLine) -> Vec<Span<'static>> {
    let colored = |run: Option<u32>| match run {
        Some(run) => Style::new().fg(Color::Indexed(color_of(run))),
        None => Style::new(),
    };
    let mut spans = vec![
        Span::styled(format!("{} ", side.number), FAINT),
        Span::styled(
            paper.run_number(side.run),
            colored(side.run).add_modifier(Modifier::BOLD),
        ),
        Span::raw("│"),
    ];
    spans.extend(side.pieces.into_iter().map(|piece| {
        let style = if side.is_fold {
            FAINT
        } else {
            colored(piece.run)
        };
        Span::styled(piece.text, style)
    }));
    spans.push(Span::raw(" ".repeat(side.padding)));
    spans
}

fn size_of(file: &GroupFile) -> String {
    file.size.map_or_else(|| "-".to_owned(), human_size)
}

fn percent(share: Fraction, is_equal: bool) -> String {
    share
        .percent(is_equal)
        .map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"))
}

/// Shortens a text to this many columns. The beginning is left out, because names often differ only
/// at their end.
fn fitted(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let letters = text.char_indices().rev().take_while(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used <= columns
    });
    let from = letters.last().map_or(text.len(), |(at, _)| at);
    format!("…{}", &text[from..])
}
