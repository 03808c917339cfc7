//! The measures of two files by their bytes.

use resemble_core::similarity::{self, Templates, Unit};
use resemble_core::{ByteLen, ContentKind, Measures};

/// The measures of two files by the bytes of their payloads, and the sizes of these.
pub(crate) fn exact_payload(
    templates: &Templates,
    a: &[u8],
    b: &[u8],
    unit: Unit,
) -> (Measures, (ByteLen, ByteLen)) {
    let (left, right) = (templates.payload(a), templates.payload(b));
    // Of the whole: a payload may begin anywhere.
    let kinds = (ContentKind::of(a), ContentKind::of(b));
    let measures = match unit {
        Unit::Bytes => similarity::runs::exact(&left, &right, kinds),
        Unit::Words => similarity::runs::exact_words(&left, &right),
    };
    let size = |bytes: &[u8]| ByteLen(bytes.len() as u64);
    (measures, (size(&left), size(&right)))
}

/// The measures of two files by their bytes, both of at most [`super::read::LARGEST_READ`].
pub(crate) fn exact_measures(a: &[u8], b: &[u8]) -> Measures {
    similarity::runs::exact(a, b, (ContentKind::of(a), ContentKind::of(b)))
}
