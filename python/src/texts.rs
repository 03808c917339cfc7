//! Gives access to texts of Python objects without copying them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};
use resemble_core::{ByteLen, ContentDigest, ContentKind, hash};

use crate::arrow::ArrowColumn;

/// A text of a Python object: a `str` or `bytes`.
#[derive(Debug)]
pub(crate) enum HeldText {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl HeldText {
    /// Reads a text of Python. `name` identifies it in errors.
    pub(crate) fn of(text: &Bound<'_, PyAny>, name: impl Fn() -> String) -> PyResult<Self> {
        if let Ok(text) = text.cast::<PyString>() {
            let lent = PyBackedStr::try_from(text.clone());
            return lent.map(Self::Str).map_err(|_| {
                let name = name();
                PyValueError::new_err(format!("{name} has half a surrogate pair, no character"))
            });
        }
        if let Ok(bytes) = text.cast::<PyBytes>() {
            return Ok(Self::Bytes(PyBackedBytes::from(bytes.clone())));
        }
        let (name, kind) = (name(), text.get_type().name()?);
        let sentence = format!("{name} is of type {kind}, not str or bytes");
        Err(PyTypeError::new_err(sentence))
    }

    /// Returns the bytes of the text.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Several texts: the objects of an iterable, or a column of Arrow.
#[derive(Debug)]
pub(crate) enum HeldTexts {
    Objects(Vec<HeldText>),
    Column(ArrowColumn),
}

impl HeldTexts {
    /// Takes the texts of a list or another iterable, of a `Series`, or of an Arrow array.
    pub(crate) fn of(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            let sentence = "texts are a list or another iterable of texts, and this is one text";
            return Err(PyTypeError::new_err(sentence));
        }
        if let Some(column) = ArrowColumn::of(texts)? {
            return Ok(Self::Column(column));
        }
        let mut held = Vec::with_capacity(texts.len().unwrap_or_default());
        for (at, text) in texts.try_iter()?.enumerate() {
            held.push(HeldText::of(&text?, || format!("text {at}"))?);
        }
        Ok(Self::Objects(held))
    }

    /// Returns the bytes of each text.
    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        match self {
            Self::Objects(texts) => texts.iter().map(HeldText::bytes).collect(),
            Self::Column(column) => column.slices(),
        }
    }
}

/// The digest, the kind and the size of a whole text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextName {
    pub(crate) digest: ContentDigest,
    pub(crate) kind: ContentKind,
    pub(crate) size: ByteLen,
}

impl TextName {
    /// Computes the three values from all bytes of a text.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self {
            digest: hash::content::digest(bytes),
            kind: ContentKind::of_whole(bytes),
            size: ByteLen(bytes.len() as u64),
        }
    }
}
