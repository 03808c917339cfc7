//! Reads columns of strings through the C data interface of Arrow, without copying
//! (<https://arrow.apache.org/docs/format/CDataInterface.html>).
//!
//! Only this file has unsafe code. It handles three structures of that interface. Each structure is
//! moved out of a capsule or filled by a stream, then read, and released once. This code cannot
//! check that a producer keeps the rules of the interface.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut Self, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Self, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Self) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// A structure that its holder must release once. A released structure is all zeros.
trait Released: Sized {
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

macro_rules! released {
    ($($name:ident),*) => {
        $(impl Released for $name {
            fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }
        })*
    };
}

released!(ArrowSchema, ArrowArray, ArrowArrayStream);

/// A structure that a producer has made and that this module must release.
struct Owned<T: Released>(Box<T>);

impl<T: Released> Owned<T> {
    /// Makes an empty structure for a producer to fill.
    fn empty() -> Self {
        // SAFETY: all fields of the three structures are numbers, pointers and optional functions,
        // for which all zeros is a valid value.
        Self(Box::new(unsafe { std::mem::zeroed() }))
    }

    /// Moves the structure out of a capsule with this name.
    fn from_capsule(capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<Self> {
        let capsule = capsule.cast::<PyCapsule>()?;
        let place: NonNull<T> = capsule.pointer_checked(Some(name))?.cast();
        let mut taken = Self::empty();
        // SAFETY: a capsule of this name holds one such structure. The swap moves the structure out
        // and leaves zeros, which mean a released structure. So the capsule does not release the
        // structure again.
        unsafe { ptr::swap(place.as_ptr(), &raw mut *taken.0) };
        Ok(taken)
    }

    fn as_mut_ptr(&mut self) -> *mut T {
        &raw mut *self.0
    }

    fn is_released(&self) -> bool {
        self.0.release().is_none()
    }
}

impl<T: Released> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release() {
            // SAFETY: the structure is not released yet, and nothing else has access to it.
            unsafe { release(&raw mut *self.0) };
        }
    }
}

/// The width of the offsets in an array: 32 or 64 bits.
#[derive(Clone, Copy, Debug)]
enum OffsetWidth {
    Narrow,
    Wide,
}

impl OffsetWidth {
    /// Returns the offsets at which the texts of an array begin, and the end of the last text.
    ///
    /// # Safety
    ///
    /// `offsets` must be the buffer of offsets of `array`, and its offsets must have this width.
    unsafe fn offsets(self, offsets: *const c_void, array: &ArrowArray) -> Vec<usize> {
        let places = (array.offset as usize)..=(array.offset + array.length) as usize;
        // SAFETY: the caller guarantees that the buffer has the offsets of `array` in this width.
        let offset = |at: usize| unsafe {
            match self {
                Self::Narrow => *offsets.cast::<i32>().add(at) as usize,
                Self::Wide => *offsets.cast::<i64>().add(at) as usize,
            }
        };
        places.map(offset).collect()
    }
}

/// A column of strings or bytes. It consists of one or several arrays.
pub(crate) struct ArrowColumn {
    arrays: Vec<Owned<ArrowArray>>,
    width: OffsetWidth,
}

// SAFETY: arrays are never written to after they are made, and the interface lets any thread
// read and release them.
unsafe impl Send for ArrowColumn {}
// SAFETY: arrays are never written to, and `slices` only reads them.
unsafe impl Sync for ArrowColumn {}

impl std::fmt::Debug for ArrowColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ArrowColumn")
            .field(&self.arrays.len())
            .finish()
    }
}

impl ArrowColumn {
    /// Returns the column that an object exports. Returns `None` if the object exports no column or
    /// a column of another type. The caller must then convert each value to a text with Python.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let (schema, arrays) = if object.hasattr("__arrow_c_stream__")? {
            let capsule = object.call_method0("__arrow_c_stream__")?;
            let stream = Owned::from_capsule(&capsule, c"arrow_array_stream")?;
            received(stream)?
        } else if object.hasattr("__arrow_c_array__")? {
            let (schema, array) = object
                .call_method0("__arrow_c_array__")?
                .extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let schema = Owned::from_capsule(&schema, c"arrow_schema")?;
            let array = Owned::from_capsule(&array, c"arrow_array")?;
            (schema, vec![array])
        } else {
            return Ok(None);
        };
        // SAFETY: a schema that is not released has a format, which is a string that ends with
        // zero.
        let format = unsafe { CStr::from_ptr(schema.0.format) };
        let is_dictionary = !schema.0.dictionary.is_null();
        let width = match format.to_bytes() {
            _ if is_dictionary => return Ok(None),
            b"u" | b"z" => OffsetWidth::Narrow,
            b"U" | b"Z" => OffsetWidth::Wide,
            [b'+', ..] => {
                let sentence = "texts are one column of strings, and this is a table";
                return Err(PyTypeError::new_err(sentence));
            }
            _ => return Ok(None),
        };
        let column = Self { arrays, width };
        match column.first_null() {
            Some(at) => Err(PyTypeError::new_err(format!(
                "text {at} is null, not str or bytes"
            ))),
            None => Ok(Some(column)),
        }
    }

    /// Returns the bytes of each text.
    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        let all = self
            .arrays
            .iter()
            .map(|array| array.0.length as usize)
            .sum();
        let mut slices = Vec::with_capacity(all);
        for array in &self.arrays {
            let array = &*array.0;
            if array.length == 0 {
                continue;
            }
            // SAFETY: an array of this type has three buffers: validity, offsets, bytes.
            let buffers = unsafe { slice::from_raw_parts(array.buffers, 3) };
            // SAFETY: the second buffer has one offset more than there are texts. The offsets have
            // the width of the type.
            let ends = unsafe { self.width.offsets(buffers[1], array) };
            let bytes = buffers[2].cast::<u8>();
            for pair in ends.windows(2) {
                let (start, length) = (pair[0], pair[1].saturating_sub(pair[0]));
                if bytes.is_null() || length == 0 {
                    slices.push(&[][..]);
                    continue;
                }
                // SAFETY: the bytes between two offsets are in the buffer. The buffer lives as long
                // as the array, and the slice is borrowed for no longer.
                slices.push(unsafe { slice::from_raw_parts(bytes.add(start), length) });
            }
        }
        slices
    }

    /// Returns the index of the first text that is null.
    fn first_null(&self) -> Option<usize> {
        let mut before = 0;
        for array in &self.arrays {
            let array = &*array.0;
            let length = array.length as usize;
            if length > 0 && array.null_count != 0 {
                // SAFETY: an array of this type has three buffers.
                let validity = unsafe { *array.buffers }.cast::<u8>();
                let is_null = |at: usize| {
                    let bit = array.offset as usize + at;
                    // SAFETY: the bitmap has a bit for each text, including the texts before the
                    // offset of the array.
                    !validity.is_null() && unsafe { *validity.add(bit / 8) } >> (bit % 8) & 1 == 0
                };
                if let Some(at) = (0..length).find(|&at| is_null(at)) {
                    return Some(before + at);
                }
            }
            before += length;
        }
        None
    }
}

/// Returns the type of a stream and all its arrays.
fn received(
    mut stream: Owned<ArrowArrayStream>,
) -> PyResult<(Owned<ArrowSchema>, Vec<Owned<ArrowArray>>)> {
    let failed = || PyValueError::new_err("the stream of Arrow arrays ended with an error");
    let (Some(get_schema), Some(get_next)) = (stream.0.get_schema, stream.0.get_next) else {
        return Err(failed());
    };
    let mut schema = Owned::empty();
    // SAFETY: the stream is not released, and `schema` is an empty structure of this module.
    if unsafe { get_schema(stream.as_mut_ptr(), schema.as_mut_ptr()) } != 0 {
        return Err(failed());
    }
    let mut arrays = Vec::new();
    loop {
        let mut array = Owned::empty();
        // SAFETY: the stream is not released, and `array` is an empty structure of this module.
        if unsafe { get_next(stream.as_mut_ptr(), array.as_mut_ptr()) } != 0 {
            return Err(failed());
        }
        if array.is_released() {
            return Ok((schema, arrays));
        }
        arrays.push(array);
    }
}
