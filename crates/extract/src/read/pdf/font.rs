//! Fonts: which letters a code of a string stands for, and how wide they are.
//!
//! Fonts of one byte a code are read by hayro-font. Of composite ones nothing is needed but maps of
//! codes, so that their programs, which are large, are not read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hayro_cmap::{BfString, CMap, CMapName, CidFamily, WritingMode, load_embedded};
use hayro_font::{CMapResolverFn, FontCache, FontData, FontGlyph, FontResolverFn, GlyphId};
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as Bytes};

/// More fonts are not held.
const MOST_FONTS: usize = 128;

/// A table of widths that begins later is damage.
const LAST_CODE: u32 = 255;

/// Stands for the fonts that are not in the file: letters and widths of theirs are known by name.
/// (A font without tables.)
const NO_FONT: &[u8] = &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// What a code stands for.
#[derive(Clone)]
pub(super) struct Glyph {
    /// Its letters; `None`: nothing says which.
    pub(super) letters: Option<Rc<str>>,
    /// The code was taken for the letter.
    pub(super) guessed: bool,
    /// In thousandths of the size.
    pub(super) advance: f64,
}

pub(super) struct Font<'a> {
    kind: FontKind<'a>,
    glyphs: RefCell<HashMap<(u32, usize), Glyph>>,
    /// The height of its letters for each unit of the size.
    pub(super) scale: f64,
    pub(super) vertical: bool,
}

enum FontKind<'a> {
    Simple(Option<hayro_font::Font<'a>>),
    Composite(Box<Composite>),
}

struct Composite {
    encoding: CMap,
    to_unicode: Option<CMap>,
    /// The map to Unicode says nothing: the codes are Unicode.
    is_unicode: bool,
    /// From the characters of a known collection to Unicode.
    collection: Option<Rc<CMap>>,
    lists: HashMap<u32, f64>,
    ranges: Vec<(u32, u32, f64)>,
    default: f64,
}

/// The fonts of a document.
pub(super) struct Fonts<'a> {
    held: HashMap<*const u8, Rc<Font<'a>>>,
    collections: HashMap<CidFamily, Option<Rc<CMap>>>,
    cache: FontCache<'a>,
    program: FontResolverFn,
    map: CMapResolverFn,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        let program: FontData = Arc::new(NO_FONT);
        Self {
            held: HashMap::new(),
            collections: HashMap::new(),
            cache: FontCache::new(),
            program: Arc::new(move |_| Some((program.clone(), 0))),
            map: Arc::new(load_embedded),
        }
    }

    /// The font of a dictionary.
    pub(super) fn of(&mut self, dict: &Dict<'a>) -> Rc<Font<'a>> {
        let key = dict.data().as_ptr();
        if let Some(font) = self.held.get(&key) {
            return font.clone();
        }
        if self.held.len() >= MOST_FONTS {
            self.held.clear();
            self.cache = FontCache::new();
        }
        let font = Rc::new(self.load(dict));
        self.held.insert(key, font.clone());
        font
    }

    fn load(&mut self, dict: &Dict<'a>) -> Font<'a> {
        let subtype: Option<Name<'_>> = dict.get("Subtype");
        let subtype = subtype.as_deref().unwrap_or_default();
        let (kind, vertical) = if subtype == b"Type0" || dict.contains_key("DescendantFonts") {
            let composite = self.composite(dict);
            let mode = composite.encoding.metadata().writing_mode;
            let vertical = mode == Some(WritingMode::Vertical);
            (FontKind::Composite(Box::new(composite)), vertical)
        } else {
            let first: u32 = dict.get("FirstChar").unwrap_or(0);
            let font = (first <= LAST_CODE)
                .then(|| self.cache.font(dict, &self.program, &self.map))
                .flatten();
            (FontKind::Simple(font), false)
        };
        let mut font = Font {
            kind,
            glyphs: RefCell::default(),
            scale: 1.0,
            vertical,
        };
        if subtype == b"Type3" {
            font.scale = font.height();
        }
        font
    }

    fn composite(&mut self, dict: &Dict<'a>) -> Composite {
        let encoding = match dict.get::<Object<'_>>("Encoding") {
            Some(Object::Name(name)) => match CMapName::from_bytes(&name) {
                CMapName::IdentityV => Some(CMap::identity_v()),
                name => load_embedded(name).and_then(|map| CMap::parse(map, load_embedded)),
            },
            Some(Object::Stream(stream)) => parsed(&stream).map(|(map, _)| map),
            _ => None,
        };
        let encoding = encoding.unwrap_or_else(CMap::identity_h);
        let (to_unicode, is_unicode) = match dict.get::<Object<'_>>("ToUnicode") {
            Some(Object::Stream(stream)) => match parsed(&stream) {
                Some((map, says)) => (Some(map), !says),
                None => (None, false),
            },
            // That of codes to themselves.
            Some(Object::Name(_)) => (None, true),
            _ => (None, false),
        };
        let descendants = dict.get::<Array<'_>>("DescendantFonts");
        let descendant = descendants.and_then(|array| array.iter::<Dict<'_>>().next());
        let descendant = descendant.unwrap_or_default();
        let family = match &encoding.metadata().character_collection {
            Some(of) if of.family != CidFamily::AdobeIdentity => Some(of.family.clone()),
            _ => family(&descendant),
        };
        let mut composite = Composite {
            collection: family.and_then(|family| self.collection(family)),
            encoding,
            to_unicode,
            is_unicode,
            lists: HashMap::new(),
            ranges: Vec::new(),
            default: descendant.get::<f32>("DW").map_or(1000.0, f64::from),
        };
        if let Some(widths) = descendant.get::<Array<'_>>("W") {
            composite.take_widths(&widths);
        }
        composite
    }

    fn collection(&mut self, family: CidFamily) -> Option<Rc<CMap>> {
        let name = family.ucs2_cmap()?;
        let load = || CMap::parse(load_embedded(name)?, load_embedded).map(Rc::new);
        self.collections.entry(family).or_insert_with(load).clone()
    }
}

/// A map in the file, and whether it maps anything to letters.
fn parsed(stream: &Stream<'_>) -> Option<(CMap, bool)> {
    let bytes = stream.decoded_data().ok()?;
    let says = memchr::memmem::find(&bytes, b"beginbf").is_some();
    Some((CMap::parse(&bytes, load_embedded)?, says))
}

fn family(descendant: &Dict<'_>) -> Option<CidFamily> {
    let info: Dict<'_> = descendant.get("CIDSystemInfo")?;
    let registry: Bytes<'_> = info.get("Registry")?;
    let ordering: Bytes<'_> = info.get("Ordering")?;
    Some(CidFamily::from_registry_ordering(&registry, &ordering))
}

impl Font<'_> {
    /// The next code of a string, and the bytes that it has.
    pub(super) fn code(&self, bytes: &[u8]) -> (u32, usize) {
        match &self.kind {
            FontKind::Simple(_) => (bytes.first().map_or(0, |&byte| u32::from(byte)), 1),
            FontKind::Composite(composite) => composite.code(bytes),
        }
    }

    pub(super) fn glyph(&self, code: u32, length: usize) -> Glyph {
        let mut glyphs = self.glyphs.borrow_mut();
        let glyph = glyphs.entry((code, length)).or_insert_with(|| {
            let (letters, guess, advance) = match &self.kind {
                FontKind::Simple(font) => {
                    let (letters, advance) = font.as_ref().map_or((None, 500.0), |font| {
                        let letters = match font.glyph(GlyphId::NOTDEF, code) {
                            FontGlyph::Outline(glyph) => glyph.as_unicode(),
                            FontGlyph::Type3(glyph) => glyph.as_unicode(),
                        };
                        (letters, font.code_advance(code).x)
                    });
                    (letters, char::from_u32(code), advance)
                }
                FontKind::Composite(composite) => {
                    let cid = composite.cid(code, length);
                    let letters = composite.letters(code, cid);
                    let guess = composite.is_unicode.then(|| char::from_u32(code));
                    (letters, guess.flatten(), composite.advance(cid))
                }
            };
            let letters = letters.map(|letters| match letters {
                BfString::Char(character) => String::from(character),
                BfString::String(letters) => letters,
            });
            let is_letter =
                |letter: char| !letter.is_control() && letter != char::REPLACEMENT_CHARACTER;
            let known = letters.filter(|letters| letters.chars().any(is_letter));
            let guessed = known.is_none();
            let guess = || guess.filter(|letter| is_letter(*letter)).map(String::from);
            Glyph {
                letters: known.or_else(guess).map(Rc::from),
                guessed,
                advance: if self.vertical { -1000.0 } else { advance },
            }
        });
        glyph.clone()
    }

    /// Letters of fonts that are drawings have a size of their own: about twice as much as they are
    /// wide.
    fn height(&self) -> f64 {
        let widths = (0..=LAST_CODE).map(|code| self.glyph(code, 1).advance.abs());
        let (mut sum, mut count) = (0.0, 0.0);
        for width in widths.filter(|width| *width > 0.0) {
            sum += width;
            count += 1.0;
        }
        if count == 0.0 {
            1.0
        } else {
            2.0 * sum / count / 1000.0
        }
    }
}

impl Composite {
    fn code(&self, bytes: &[u8]) -> (u32, usize) {
        let mut code = 0;
        for (at, &byte) in bytes.iter().take(4).enumerate() {
            code = code << 8 | u32::from(byte);
            if self.encoding.lookup_cid_code(code, at as u8 + 1).is_some() {
                return (code, at + 1);
            }
        }
        // A code that the map does not have.
        match bytes {
            [first @ (0 | 0x80..), second, ..] => (u32::from(*first) << 8 | u32::from(*second), 2),
            _ => (bytes.first().map_or(0, |&byte| u32::from(byte)), 1),
        }
    }

    fn cid(&self, code: u32, length: usize) -> u32 {
        self.encoding
            .lookup_cid_code(code, length as u8)
            .unwrap_or(0)
    }

    fn letters(&self, code: u32, cid: u32) -> Option<BfString> {
        let map = self.to_unicode.as_ref();
        map.and_then(|map| map.lookup_bf_string(code))
            .or_else(|| self.collection.as_ref()?.lookup_bf_string(cid))
    }

    fn advance(&self, cid: u32) -> f64 {
        let range = |(first, last, _): &&(u32, u32, f64)| (*first..=*last).contains(&cid);
        let listed = self.lists.get(&cid).copied();
        listed
            .or_else(|| self.ranges.iter().find(range).map(|range| range.2))
            .unwrap_or(self.default)
    }

    /// A first code and the widths from there on in an array, or a first and a last code and the
    /// width of all.
    fn take_widths(&mut self, widths: &Array<'_>) {
        let mut numbers = Vec::new();
        for object in widths.iter::<Object<'_>>() {
            match (object, &numbers[..]) {
                (Object::Array(list), &[.., first]) => {
                    let codes = first as u32..=u32::MAX;
                    let each = codes.zip(list.iter::<f32>());
                    self.lists
                        .extend(each.map(|(code, width)| (code, f64::from(width))));
                    numbers.clear();
                }
                (Object::Number(width), &[first, last]) => {
                    self.ranges
                        .push((first as u32, last as u32, width.as_f64()));
                    numbers.clear();
                }
                (Object::Number(number), _) => numbers.push(number.as_f64()),
                _ => {}
            }
        }
    }
}
