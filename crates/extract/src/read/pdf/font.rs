//! Reads fonts. A font defines which letters the codes in a string mean, and how wide the letters
//! are.
//!
//! The library hayro-font reads the fonts whose codes have one byte. Of composite fonts, only the
//! code maps are needed. Their font programs are large and are not read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use hayro_cmap::{BfString, CMap, CMapName, CidFamily, WritingMode, load_embedded};
use hayro_font::{CMapResolverFn, FontCache, FontData, FontGlyph, FontResolverFn, GlyphId};
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as Bytes};

/// The number of fonts that are kept in memory.
const MOST_FONTS: usize = 128;

/// The last code of a simple font. A table of widths that begins after it is damaged.
const LAST_CODE: u32 = 255;

/// An empty font program. It replaces the programs of fonts that are not in the file: the names of
/// these fonts determine their letters and widths.
const NO_FONT: &[u8] = &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The glyph that a code draws.
#[derive(Clone)]
pub(super) struct Glyph {
    /// The letters that the glyph shows, or `None` if the font does not define them.
    pub(super) letters: Option<Rc<str>>,
    /// True if `letters` are certain or likely.
    pub(super) is_known: bool,
    /// The width of the glyph in thousandths of the font size.
    pub(super) advance: f64,
}

pub(super) struct Font<'a> {
    kind: FontKind<'a>,
    glyphs: RefCell<HashMap<(u32, usize), Glyph>>,
    /// The height of the letters relative to the font size.
    pub(super) scale: f64,
    pub(super) vertical: bool,
}

enum FontKind<'a> {
    Unknown,
    Simple(hayro_font::Font<'a>),
    Composite(Box<Composite>),
}

struct Composite {
    encoding: CMap,
    to_unicode: Option<CMap>,
    /// True if the font has a code map to Unicode that has no letters. Then the codes themselves
    /// are taken as Unicode.
    is_unicode: bool,
    /// Maps the characters of a standard collection to Unicode.
    collection: Option<Rc<CMap>>,
    /// The width of each range of characters.
    widths: Vec<(RangeInclusive<u32>, f64)>,
    default: f64,
}

/// The fonts of a document that were read.
#[derive(Default)]
pub(super) struct Fonts<'a> {
    held: HashMap<*const u8, Rc<Font<'a>>>,
    collections: HashMap<CidFamily, Option<Rc<CMap>>>,
    cache: FontCache<'a>,
}

impl<'a> Fonts<'a> {
    /// Returns the font that a dictionary defines.
    pub(super) fn of(&mut self, dict: &Dict<'a>) -> Rc<Font<'a>> {
        let key = dict.data().as_ptr();
        if let Some(font) = self.held.get(&key) {
            return font.clone();
        }
        if self.held.len() >= MOST_FONTS {
            self.held.clear();
            self.cache = FontCache::default();
        }
        let font = Rc::new(self.load(dict));
        self.held.insert(key, font.clone());
        font
    }

    fn load(&mut self, dict: &Dict<'a>) -> Font<'a> {
        let subtype: Option<Name<'_>> = dict.get("Subtype");
        let subtype = subtype.as_deref().unwrap_or_default();
        let program: FontResolverFn = Arc::new(|_| Some((Arc::new(NO_FONT) as FontData, 0)));
        let maps: CMapResolverFn = Arc::new(load_embedded);
        let mut font = Font {
            kind: FontKind::Unknown,
            glyphs: RefCell::default(),
            scale: 1.0,
            vertical: false,
        };
        if subtype == b"Type0" || dict.contains_key("DescendantFonts") {
            let composite = self.composite(dict);
            let mode = composite.encoding.metadata().writing_mode;
            font.vertical = mode == Some(WritingMode::Vertical);
            font.kind = FontKind::Composite(Box::new(composite));
        } else if dict.get("FirstChar").unwrap_or(0) <= LAST_CODE
            && let Some(simple) = self.cache.font(dict, &program, &maps)
        {
            font.kind = FontKind::Simple(simple);
        }
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
        let to_unicode = dict.get::<Object<'_>>("ToUnicode");
        // If the map is only a name (`Identity-H`) or has no letters, the codes themselves are
        // Unicode.
        let (to_unicode, says) = match &to_unicode {
            Some(Object::Stream(stream)) => parsed(stream).unzip(),
            other => (None, Some(!matches!(other, Some(Object::Name(_))))),
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
            is_unicode: says == Some(false),
            widths: Vec::new(),
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

/// Parses a code map in the file. Returns the map, and whether it maps anything to letters.
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
    /// Returns the first code in `bytes`, and the number of its bytes.
    pub(super) fn code(&self, bytes: &[u8]) -> (u32, usize) {
        match &self.kind {
            FontKind::Composite(composite) => composite.code(bytes),
            _ => (bytes.first().map_or(0, |&byte| u32::from(byte)), 1),
        }
    }

    pub(super) fn glyph(&self, code: u32, length: usize) -> Glyph {
        let mut glyphs = self.glyphs.borrow_mut();
        let glyph = glyphs.entry((code, length)).or_insert_with(|| {
            let (letters, guess, advance) = match &self.kind {
                FontKind::Unknown => (None, char::from_u32(code), 500.0),
                FontKind::Simple(font) => {
                    let letters = match font.glyph(GlyphId::NOTDEF, code) {
                        FontGlyph::Outline(glyph) => glyph.as_unicode(),
                        FontGlyph::Type3(glyph) => glyph.as_unicode(),
                    };
                    (letters, char::from_u32(code), font.code_advance(code).x)
                }
                FontKind::Composite(composite) => composite.glyph(code, length),
            };
            let letters = letters.map(|letters| match letters {
                BfString::Char(character) => String::from(character),
                BfString::String(letters) => letters,
            });
            let is_letter =
                |letter: &char| !letter.is_control() && *letter != char::REPLACEMENT_CHARACTER;
            let known = letters.filter(|letters| letters.chars().any(|letter| is_letter(&letter)));
            let guess = guess.filter(is_letter);
            let is_likely = guess.is_some_and(|letter| letter.is_alphanumeric() || letter == ' ');
            Glyph {
                is_known: known.is_some() || is_likely,
                letters: known.or(guess.map(String::from)).map(Rc::from),
                advance: if self.vertical { 1000.0 } else { advance },
            }
        });
        glyph.clone()
    }

    /// Returns the height of the letters in a font of drawings (Type 3). Such a font defines its
    /// own units. The height is estimated as twice the width.
    fn height(&self) -> f64 {
        let widths = (0..=LAST_CODE).map(|code| self.glyph(code, 1).advance.abs());
        let widths: Vec<f64> = widths.filter(|width| *width > 0.0).collect();
        if widths.is_empty() {
            return 1.0;
        }
        2.0 * widths.iter().sum::<f64>() / widths.len() as f64 / 1000.0
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
        // The code map lacks this code, so the first byte decides whether the code has one byte or
        // two.
        match bytes {
            [first @ (0 | 0x80..), second, ..] => (u32::from(*first) << 8 | u32::from(*second), 2),
            _ => (bytes.first().map_or(0, |&byte| u32::from(byte)), 1),
        }
    }

    /// Returns the letters of a code, the guess that is used if the code has no letters, and the
    /// width.
    fn glyph(&self, code: u32, length: usize) -> (Option<BfString>, Option<char>, f64) {
        let cid = self.encoding.lookup_cid_code(code, length as u8);
        let cid = cid.unwrap_or(0);
        let map = self.to_unicode.as_ref();
        let letters = map.and_then(|map| map.lookup_bf_string(code));
        let letters = letters.or_else(|| self.collection.as_ref()?.lookup_bf_string(cid));
        let guess = char::from_u32(code).filter(|_| self.is_unicode);
        let width = self.widths.iter().find(|(of, _)| of.contains(&cid));
        (letters, guess, width.map_or(self.default, |width| width.1))
    }

    /// Reads an array of widths. It contains either a first code and an array of widths, or a first
    /// and a last code and the width that they share.
    fn take_widths(&mut self, widths: &Array<'_>) {
        let mut numbers = Vec::new();
        for object in widths.iter::<Object<'_>>() {
            match (object, &numbers[..]) {
                (Object::Array(list), &[.., first]) => {
                    let each = (first as u32..=u32::MAX).zip(list.iter::<f32>());
                    let each = each.map(|(code, width)| (code..=code, f64::from(width)));
                    self.widths.extend(each);
                    numbers.clear();
                }
                (Object::Number(width), &[first, last]) => {
                    let codes = first as u32..=last as u32;
                    self.widths.push((codes, width.as_f64()));
                    numbers.clear();
                }
                (Object::Number(number), _) => numbers.push(number.as_f64()),
                _ => {}
            }
        }
    }
}
