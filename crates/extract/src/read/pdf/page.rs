//! One page: the operators that place text, and what is pinned on it.

use std::rc::Rc;

use hayro_font::kurbo::{Affine, Vec2};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::Resources;

use super::content::{Operators, decoded, in_unicode, text};
use super::font::{Font, Fonts};
use super::lines::{Lines, Placed};

/// Forms within forms.
const DEEPEST: usize = 24;

/// Forms of one page, each as often as it is drawn.
const MOST_FORMS: u32 = 20_000;

/// Saved states, and marks. Only damaged pages have more.
const MOST_SAVED: usize = 512;

/// What of a page could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) glyphs: u64,
    /// Glyphs of which nothing says which letters they are.
    pub(super) unknown: u64,
    /// Some of its content could not be had.
    pub(super) damaged: bool,
    /// Forms were left out, or text.
    pub(super) too_much: bool,
}

#[derive(Clone)]
struct State<'d> {
    place: Affine,
    font: Option<Rc<Font<'d>>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

/// What marked content stands for.
enum MarkedContent {
    Nothing,
    /// A text in the place of its glyphs.
    Text(Rc<str>),
    /// It was said with the first of them.
    Said,
}

pub(super) struct Page<'f, 'd> {
    fonts: &'f mut Fonts<'d>,
    pub(super) lines: Lines,
    pub(super) faults: Faults,
    state: State<'d>,
    saved: Vec<State<'d>>,
    marks: Vec<MarkedContent>,
    matrix: Affine,
    line_matrix: Affine,
    forms: u32,
    /// Bytes of their content.
    content: u64,
    /// Forms that are being drawn, each within the one before.
    within: Vec<ObjectIdentifier>,
    /// Bytes of text and of content.
    most: u64,
}

impl<'f, 'd> Page<'f, 'd> {
    pub(super) fn new(fonts: &'f mut Fonts<'d>, most: u64) -> Self {
        Self {
            fonts,
            lines: Lines::default(),
            faults: Faults::default(),
            state: State {
                place: Affine::IDENTITY,
                font: None,
                size: 1.0,
                letter_space: 0.0,
                word_space: 0.0,
                stretch: 1.0,
                leading: 0.0,
                rise: 0.0,
            },
            saved: Vec::new(),
            marks: Vec::new(),
            matrix: Affine::IDENTITY,
            line_matrix: Affine::IDENTITY,
            forms: 0,
            content: 0,
            within: Vec::new(),
            most,
        }
    }

    pub(super) fn read(&mut self, page: &Dict<'d>, resources: &Resources<'d>) {
        let mut content = Vec::new();
        let mut take = |object: Option<Object<'d>>| match object {
            Some(_) if content.len() as u64 > self.most => self.faults.too_much = true,
            Some(Object::Stream(stream)) => {
                let most = self.most.saturating_sub(content.len() as u64);
                content.extend(decoded(&stream, most, &mut self.faults));
                content.push(b'\n');
            }
            Some(Object::Null(_)) => {}
            _ => self.faults.damaged = true,
        };
        match page.get::<Object<'d>>("Contents") {
            Some(Object::Array(streams)) => {
                // An item that is not there is none of those that the array gives.
                let (all, mut found) = (streams.raw_iter().count(), 0);
                for stream in streams.iter::<Object<'d>>() {
                    found += 1;
                    take(Some(stream));
                }
                self.faults.damaged |= found < all;
            }
            None if !page.contains_key("Contents") => {}
            other => take(other),
        }
        self.run(&content, resources);
        drop(content);
        let pinned = page.get::<Array<'d>>("Annots");
        for pinned in pinned.iter().flat_map(Array::iter::<Dict<'d>>) {
            self.annotation(&pinned, resources);
        }
    }

    fn run(&mut self, content: &[u8], resources: &Resources<'d>) {
        let mut operators = Operators::new(content);
        let mut operands = Vec::new();
        let saved = self.saved.len();
        while let Some(operator) = operators.next(&mut operands) {
            let number = |from_last: usize| match operands.iter().rev().nth(from_last) {
                Some(Object::Number(number)) => number.as_f64(),
                _ => 0.0,
            };
            let matrix = || {
                let mut all = [5, 4, 3, 2, 1, 0].map(number);
                // Lacking operands make no other place.
                if operands.len() < 6 {
                    all = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
                }
                Affine::new(all)
            };
            match operator {
                b"Tj" => self.show(&operands),
                b"TJ" => match operands.last() {
                    Some(Object::Array(array)) => {
                        let parts: Vec<_> = array.iter::<Object<'_>>().collect();
                        self.show(&parts);
                    }
                    // One without its brackets.
                    _ => self.show(&operands),
                },
                b"'" | b"\"" => {
                    if operator == b"\"" && operands.len() >= 3 {
                        (self.state.word_space, self.state.letter_space) = (number(2), number(1));
                    }
                    self.next_line(0.0, -self.state.leading);
                    self.show(&operands[operands.len().saturating_sub(1)..]);
                }
                b"Td" => self.next_line(number(1), number(0)),
                b"TD" => {
                    self.state.leading = -number(0);
                    self.next_line(number(1), number(0));
                }
                b"T*" => self.next_line(0.0, -self.state.leading),
                b"Tm" => {
                    self.line_matrix = matrix();
                    self.matrix = self.line_matrix;
                }
                b"BT" => (self.matrix, self.line_matrix) = (Affine::IDENTITY, Affine::IDENTITY),
                b"Tf" => {
                    self.state.size = number(0);
                    if let Some(Object::Name(name)) = operands.iter().rev().nth(1) {
                        // Of one that is not there, the codes are letters.
                        let font = resources.get_font(name).unwrap_or_default();
                        self.state.font = Some(self.fonts.of(&font));
                    }
                }
                b"Tc" => self.state.letter_space = number(0),
                b"Tw" => self.state.word_space = number(0),
                b"Tz" => self.state.stretch = number(0) / 100.0,
                b"TL" => self.state.leading = number(0),
                b"Ts" => self.state.rise = number(0),
                b"cm" => self.state.place *= matrix(),
                b"q" if self.saved.len() < MOST_SAVED => self.saved.push(self.state.clone()),
                b"Q" if self.saved.len() > saved => {
                    self.state = self.saved.pop().unwrap_or_else(|| self.state.clone());
                }
                b"gs" => {
                    let Some(Object::Name(name)) = operands.last() else {
                        continue;
                    };
                    let states = resources.get_ext_g_state(name);
                    let font = states.and_then(|state| state.get::<Array<'d>>("Font"));
                    if let Some(font) = font {
                        let size = font.iter::<Object<'d>>().nth(1);
                        self.state.font = font
                            .iter::<Dict<'d>>()
                            .next()
                            .map(|font| self.fonts.of(&font));
                        self.state.size = size.and_then(Object::into_f32).map_or(1.0, f64::from);
                    }
                }
                b"Do" => {
                    if let Some(Object::Name(name)) = operands.last()
                        && let Some(stream) = resources.get_x_object(name)
                    {
                        self.form(&stream, resources);
                    }
                }
                b"BMC" if self.marks.len() < MOST_SAVED => self.marks.push(MarkedContent::Nothing),
                b"BDC" if self.marks.len() < MOST_SAVED => {
                    let mark = match operands.last() {
                        Some(Object::Dict(dict)) => text(dict, "ActualText"),
                        Some(Object::Name(name)) => {
                            let dict = resources.properties.get::<Dict<'d>>(name);
                            dict.and_then(|dict| text(&dict, "ActualText"))
                        }
                        _ => None,
                    };
                    self.marks.push(mark.map_or(MarkedContent::Nothing, |text| {
                        MarkedContent::Text(text.into())
                    }));
                }
                b"EMC" => drop(self.marks.pop()),
                _ => {}
            }
        }
        // Nothing of a form is left behind.
        if self.saved.len() > saved {
            self.saved.truncate(saved + 1);
            self.state = self.saved.pop().unwrap_or_else(|| self.state.clone());
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line_matrix *= Affine::translate((x, y));
        self.matrix = self.line_matrix;
    }

    /// Strings, and the way back between them.
    fn show(&mut self, parts: &[Object<'_>]) {
        let font = self.state.font.clone();
        let font = font.unwrap_or_else(|| self.fonts.of(&Dict::empty()));
        let (size, stretch) = (self.state.size, self.state.stretch);
        for part in parts {
            match part {
                Object::String(string) => self.show_string(string, &font),
                Object::Number(back) => {
                    let back = -back.as_f64() / 1000.0 * size;
                    self.matrix *= if font.vertical {
                        Affine::translate((0.0, back))
                    } else {
                        Affine::translate((back * stretch, 0.0))
                    };
                }
                _ => {}
            }
        }
    }

    fn show_string(&mut self, string: &[u8], font: &Font<'d>) {
        if self.lines.len() as u64 > self.most {
            self.faults.too_much = true;
            return;
        }
        let (size, stretch) = (self.state.size, self.state.stretch);
        let mut at = 0;
        while at < string.len() {
            let (code, length) = font.code(&string[at..]);
            let glyph = font.glyph(code, length);
            let word_space = if length == 1 && code == 32 {
                self.state.word_space
            } else {
                0.0
            };
            let space = self.state.letter_space + word_space;
            let along = glyph.advance / 1000.0 * size;
            // Of the space after a glyph it is seen whether it is a blank.
            let (drawn, step) = if font.vertical {
                (Vec2::new(0.0, along), Vec2::new(0.0, along - space))
            } else {
                let along = Vec2::new(along * stretch, 0.0);
                (along, along + Vec2::new(space * stretch, 0.0))
            };
            let matrix = self.state.place * self.matrix;
            let [a, b, c, d, ..] = matrix.as_coeffs();
            let (right, up) = (Vec2::new(a, b), Vec2::new(c, d));
            let line = if font.vertical {
                -up
            } else {
                right * (size * stretch).signum()
            };
            let drawn = right * drawn.x + up * drawn.y;
            let placed = Placed {
                at: matrix * Vec2::new(0.0, self.state.rise).to_point(),
                along: line / line.hypot(),
                advance: drawn.hypot(),
                size: up.hypot() * size.abs() * font.scale,
                begins_string: at == 0,
            };
            self.put(glyph.letters.as_ref(), glyph.guessed, placed);
            self.matrix *= Affine::translate(step);
            at += length;
        }
    }

    fn put(&mut self, letters: Option<&Rc<str>>, guessed: bool, placed: Placed) {
        let mark = self
            .marks
            .iter_mut()
            .find(|mark| !matches!(mark, MarkedContent::Nothing));
        if let Some(mark) = mark {
            match std::mem::replace(mark, MarkedContent::Said) {
                MarkedContent::Text(text) if !text.is_empty() => self.lines.put(&text, placed),
                _ => self.lines.widen(placed),
            }
            return;
        }
        self.faults.glyphs += 1;
        let is_sure = |letters: &Rc<str>| {
            !guessed
                || letters
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == ' ')
        };
        self.faults.unknown += u64::from(!letters.is_some_and(is_sure));
        if let Some(letters) = letters {
            self.lines.put(letters, placed);
        }
    }

    fn form(&mut self, stream: &Stream<'d>, outer: &Resources<'d>) {
        let dict = stream.dict();
        if dict
            .get::<Name<'_>>("Subtype")
            .is_some_and(|of| of.as_ref() == b"Image")
        {
            return;
        }
        // What draws itself is drawn once.
        let id = stream.obj_id();
        if self.within.contains(&id) {
            return;
        }
        self.forms += 1;
        if self.forms > MOST_FORMS || self.within.len() >= DEEPEST {
            self.faults.too_much = true;
            return;
        }
        let content = decoded(stream, self.most, &mut self.faults);
        self.content += content.len() as u64;
        if self.content > self.most {
            self.faults.too_much = true;
            return;
        }
        let resources = dict.get::<Dict<'d>>("Resources").map(Resources::new);
        let outside = (self.state.clone(), self.matrix, self.line_matrix);
        if let Some(matrix) = dict.get::<[f64; 6]>("Matrix") {
            self.state.place *= Affine::new(matrix);
        }
        let marks = self.marks.len();
        self.within.push(id);
        self.run(&content, resources.as_ref().unwrap_or(outer));
        self.within.pop();
        self.marks.truncate(marks);
        (self.state, self.matrix, self.line_matrix) = outside;
    }

    /// What is pinned on a page: what it looks like, or else what it says. A note says it in a
    /// window of its own.
    fn annotation(&mut self, dict: &Dict<'d>, resources: &Resources<'d>) {
        const HIDDEN: u32 = 2;
        if self.lines.len() as u64 > self.most {
            self.faults.too_much = true;
            return;
        }
        let subtype: Option<Name<'_>> = dict.get("Subtype");
        let subtype = subtype.as_deref().unwrap_or_default();
        if matches!(subtype, b"Link" | b"Popup")
            || dict.get::<u32>("F").is_some_and(|flags| flags & HIDDEN > 0)
        {
            return;
        }
        self.lines.begin_sheet();
        let before = self.lines.len();
        if let Some(looks) = looks(dict) {
            self.form(&looks, resources);
            self.lines.end_line();
        }
        let says = match subtype {
            b"Widget" => value(dict),
            _ => text(dict, "Contents"),
        };
        let instead = matches!(subtype, b"Widget" | b"FreeText");
        if let Some(says) = says.filter(|_| !instead || self.lines.len() == before) {
            self.lines.add(&says);
        }
    }
}

/// The form that draws an annotation, in the state that it is in.
fn looks<'d>(dict: &Dict<'d>) -> Option<Stream<'d>> {
    match dict.get::<Dict<'d>>("AP")?.get::<Object<'d>>("N")? {
        Object::Stream(form) => Some(form),
        Object::Dict(states) => states.get(dict.get::<Name<'d>>("AS")?),
        _ => None,
    }
}

/// The value of a field, which it may have from one of those that it is a part of.
fn value(field: &Dict<'_>) -> Option<String> {
    let mut field = field.clone();
    let (mut value, mut kind) = (None, None);
    for _ in 0..DEEPEST {
        kind = kind.or_else(|| field.get::<Name<'_>>("FT"));
        value = value.or_else(|| match field.get::<Object<'_>>("V") {
            Some(Object::Array(chosen)) => {
                let chosen = chosen
                    .iter::<Object<'_>>()
                    .filter_map(|one| in_unicode(&one));
                Some(chosen.collect::<Vec<_>>().join("\n"))
            }
            Some(_) => text(&field, "V"),
            None => None,
        });
        match field.get("Parent") {
            Some(parent) => field = parent,
            None => break,
        }
    }
    value.filter(|_| kind.is_none_or(|kind| matches!(&*kind, b"Tx" | b"Ch")))
}
