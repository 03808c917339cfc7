//! Reads one page: interprets the operators that place text, and reads the annotations.

use std::rc::Rc;

use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::{Page as Sheet, Resources};

use super::Faults;
use super::content::{Operators, decoded, in_unicode, text};
use super::font::{Font, Fonts, Glyph};
use super::lines::{Lines, Placed};

/// The maximum nesting of forms.
const DEEPEST: usize = 24;

/// The maximum number of forms that a page draws. A form is counted each time it is drawn.
const MOST_FORMS: u32 = 20_000;

/// The maximum nesting of saved states, and of marked content. Only damaged pages exceed it.
const MOST_SAVED: usize = 512;

#[derive(Clone, Default)]
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

pub(super) struct Page<'f, 'd> {
    fonts: &'f mut Fonts<'d>,
    lines: Lines,
    faults: Faults,
    state: State<'d>,
    /// The text that replaces the glyphs of each open marked content. The text is made empty when
    /// it has been written.
    marks: Vec<Option<Rc<str>>>,
    matrix: Affine,
    line_matrix: Affine,
    forms: u32,
    /// The forms that are being drawn. Each form is drawn by the form before it.
    within: Vec<ObjectIdentifier>,
    /// The number of bytes of text after which reading ends.
    most: u64,
    /// The number of bytes of content that may still be decoded.
    left: u64,
}

impl<'f, 'd> Page<'f, 'd> {
    /// Returns the text of a page, and its faults.
    pub(super) fn read(fonts: &'f mut Fonts<'d>, page: &Sheet<'d>, most: u64) -> (String, Faults) {
        let mut reader = Self {
            fonts,
            lines: Lines::default(),
            faults: Faults::default(),
            state: State {
                stretch: 1.0,
                ..State::default()
            },
            marks: Vec::new(),
            matrix: Affine::default(),
            line_matrix: Affine::default(),
            forms: 0,
            within: Vec::new(),
            most,
            left: most,
        };
        let fresh = reader.state.clone();
        let content = reader.content(page.raw());
        reader.run(&content, page.resources());
        reader.state = fresh;
        let pinned = page.raw().get::<Array<'d>>("Annots");
        for pinned in pinned.iter().flat_map(Array::iter::<Dict<'d>>) {
            reader.annotation(&pinned, page.resources());
        }
        (reader.lines.into_text(), reader.faults)
    }

    fn content(&mut self, page: &Dict<'d>) -> Vec<u8> {
        let mut streams = Vec::new();
        match page.get::<Object<'d>>("Contents") {
            Some(Object::Array(array)) => {
                streams.extend(array.iter::<Object<'d>>());
                // The iterator leaves out a stream whose object is missing. So the page is damaged
                // if the iterator returned fewer streams than the array has.
                self.faults.damaged |= streams.len() < array.raw_iter().count();
            }
            None => self.faults.damaged |= page.contains_key("Contents"),
            Some(stream) => streams.push(stream),
        }
        let mut content = Vec::new();
        for stream in &streams {
            match stream {
                Object::Stream(stream) => {
                    content.extend(decoded(stream, &mut self.left, &mut self.faults));
                    content.push(b'\n');
                }
                Object::Null(_) => {}
                _ => self.faults.damaged = true,
            }
        }
        content
    }

    fn run(&mut self, content: &[u8], resources: &Resources<'d>) {
        let mut operators = Operators::new(content);
        let mut operands = Vec::new();
        let mut saved = Vec::new();
        while let Some(operator) = operators.next(&mut operands) {
            let number = |from_last: usize| match operands.iter().rev().nth(from_last) {
                Some(Object::Number(number)) => number.as_f64(),
                _ => 0.0,
            };
            let matrix = || match operands.len() {
                // If operands are missing, the matrix has no effect.
                0..6 => Affine::IDENTITY,
                _ => Affine::new([5, 4, 3, 2, 1, 0].map(number)),
            };
            match operator {
                b"Tj" | b"TJ" => match operands.last() {
                    Some(Object::Array(array)) => self.show(&array.iter().collect::<Vec<_>>()),
                    // The array may lack its brackets. Then its elements are the operands.
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
                b"Tm" => self.begin_line(matrix()),
                b"BT" => self.begin_line(Affine::IDENTITY),
                b"Tf" => {
                    self.state.size = number(0);
                    if let Some(Object::Name(name)) = operands.iter().rev().nth(1) {
                        // If the font is missing, the codes are taken as letters.
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
                b"q" if saved.len() < MOST_SAVED => saved.push(self.state.clone()),
                b"Q" => self.state = saved.pop().unwrap_or_else(|| self.state.clone()),
                b"gs" => {
                    if let Some(Object::Name(name)) = operands.last()
                        && let Some(state) = resources.get_ext_g_state(name)
                        && let Some(font) = state.get::<Array<'d>>("Font")
                        && let [Object::Dict(font), Object::Number(size)] =
                            &font.iter().collect::<Vec<_>>()[..]
                    {
                        self.state.font = Some(self.fonts.of(font));
                        self.state.size = size.as_f64();
                    }
                }
                b"Do" => {
                    if let Some(Object::Name(name)) = operands.last()
                        && let Some(stream) = resources.get_x_object(name)
                    {
                        self.form(&stream, resources);
                    }
                }
                b"BMC" | b"BDC" if self.marks.len() < MOST_SAVED => {
                    let dict = match operands.last() {
                        Some(Object::Dict(dict)) => Some(dict.clone()),
                        Some(Object::Name(name)) if operator == b"BDC" => {
                            resources.properties.get(name)
                        }
                        _ => None,
                    };
                    let text = dict.and_then(|dict| text(&dict, "ActualText"));
                    self.marks.push(text.map(Rc::from));
                }
                b"EMC" => drop(self.marks.pop()),
                _ => {}
            }
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.begin_line(self.line_matrix * Affine::translate((x, y)));
    }

    fn begin_line(&mut self, matrix: Affine) {
        (self.matrix, self.line_matrix) = (matrix, matrix);
    }

    /// Shows the strings in `parts`, and moves the position by the offsets between the strings.
    fn show(&mut self, parts: &[Object<'_>]) {
        let font = self.state.font.clone();
        let font = font.unwrap_or_else(|| self.fonts.of(&Dict::empty()));
        let (axis, back) = if font.vertical {
            (Vec2::new(0.0, -1.0), 1.0)
        } else {
            (Vec2::new(self.state.stretch, 0.0), -1.0)
        };
        for part in parts {
            match part {
                Object::String(string) => self.show_string(string, &font, axis),
                Object::Number(number) => {
                    let by = back * number.as_f64() / 1000.0 * self.state.size;
                    self.matrix *= Affine::translate(by * axis);
                }
                _ => {}
            }
        }
    }

    fn show_string(&mut self, string: &[u8], font: &Font<'d>, axis: Vec2) {
        if self.lines.len() as u64 > self.most {
            self.faults.too_much = true;
            return;
        }
        let size = self.state.size;
        let mut at = 0;
        while at < string.len() {
            let (code, length) = font.code(&string[at..]);
            let glyph = font.glyph(code, length);
            let is_blank = length == 1 && code == 32;
            let word_space = if is_blank { self.state.word_space } else { 0.0 };
            let along = glyph.advance / 1000.0 * size;
            let matrix = self.state.place * self.matrix;
            let [a, b, c, d, ..] = matrix.as_coeffs();
            let (right, up) = (Vec2::new(a, b), Vec2::new(c, d));
            let line = right * axis.x + up * axis.y;
            let placed = Placed {
                at: matrix * Point::new(0.0, self.state.rise),
                along: line / line.hypot() * size.signum(),
                // The space after the glyph is not part of its advance, because [`Lines`] may find
                // that it is a blank.
                advance: (line * along).hypot(),
                size: up.hypot() * size.abs() * font.scale,
                within_string: at > 0,
            };
            self.put(&glyph, placed);
            let space = self.state.letter_space + word_space;
            self.matrix *= Affine::translate((along + space) * axis);
            at += length;
        }
    }

    fn put(&mut self, glyph: &Glyph, placed: Placed) {
        let letters = if let Some(text) = self.marks.iter_mut().flatten().next() {
            Some(std::mem::take(text))
        } else {
            self.faults.glyphs += 1;
            self.faults.unknown += u64::from(!glyph.is_known);
            glyph.letters.clone()
        };
        if let Some(letters) = letters {
            self.lines.put(&letters, placed);
        }
    }

    fn form(&mut self, stream: &Stream<'d>, outer: &Resources<'d>) {
        let dict = stream.dict();
        let subtype = dict.get::<Name<'_>>("Subtype");
        // A form may draw itself. It is then drawn only once.
        let id = stream.obj_id();
        if subtype.as_deref() == Some(b"Image") || self.within.contains(&id) {
            return;
        }
        self.forms += 1;
        if self.forms > MOST_FORMS || self.within.len() >= DEEPEST {
            self.faults.too_much = true;
            return;
        }
        let content = decoded(stream, &mut self.left, &mut self.faults);
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

    /// Reads the appearance of an annotation, and its text, which viewers show in a separate
    /// window. If the annotation is a form field or a free text, its text is read only if the
    /// appearance shows no text.
    fn annotation(&mut self, dict: &Dict<'d>, resources: &Resources<'d>) {
        const HIDDEN: u32 = 2;
        if self.lines.len() as u64 > self.most {
            self.faults.too_much = true;
            return;
        }
        let subtype: Option<Name<'_>> = dict.get("Subtype");
        let subtype = subtype.as_deref().unwrap_or_default();
        let flags: u32 = dict.get("F").unwrap_or(0);
        if matches!(subtype, b"Link" | b"Popup") || flags & HIDDEN > 0 {
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

/// Returns the form that shows an annotation in its current state.
fn looks<'d>(dict: &Dict<'d>) -> Option<Stream<'d>> {
    match dict.get::<Dict<'d>>("AP")?.get::<Object<'d>>("N")? {
        Object::Stream(form) => Some(form),
        Object::Dict(states) => states.get(dict.get::<Name<'d>>("AS")?),
        _ => None,
    }
}

/// Returns the value of a form field. A field may inherit its value from its parents.
fn value(field: &Dict<'_>) -> Option<String> {
    let mut field = field.clone();
    for _ in 0..DEEPEST {
        match field.get::<Object<'_>>("V") {
            Some(Object::Array(chosen)) => {
                let chosen = chosen.iter::<Object<'_>>();
                let chosen: Vec<_> = chosen.filter_map(|one| in_unicode(&one)).collect();
                return Some(chosen.join("\n"));
            }
            Some(value) => return in_unicode(&value),
            None => field = field.get("Parent")?,
        }
    }
    None
}
