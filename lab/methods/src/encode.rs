//! Encodes signatures as bytes for storage, and decodes them.
//!
//! ```text
//! form u8  0 set, 1 slots, 2 counted, 3 chunks, 4 sized, 5 super
//! set      numbers
//! slots    count varint, count × u64 LE
//! counted  level u8, numbers, counts
//! chunks   numbers (names), their lengths as varints, counts
//! sized    level u8, numbers divided by 2 to the level
//! super    length u8, numbers
//!
//! numbers  count varint; if there are any: b u8, the differences of the ascending numbers in Rice
//!          code, zeros up to a byte
//! counts   how many are above 1 varint; for each: distance from the last one varint, count - 2
//!          varint
//! ```
//!
//! A set of c random numbers of u bits takes about u - log2 c + 2 bits for each number. The set is
//! encoded in a Rice code with 2^b near the mean difference (Rice 1979; Golomb 1966). For sif and a
//! file of 300 KB, each fingerprint takes 11 bits. All fingerprints take half a percent of the
//! file's size. The paper needs 5 % and hopes for 2 %.
//!
//! A signature has exactly one encoding: [`MethodSignature::decode`] refuses bytes that
//! [`MethodSignature::encode`] does not write. The input can be any bytes. Decoding never reserves
//! more memory than the input can fill.

use thiserror::Error;

use crate::signature::{Form, MethodSignature};

/// The reason why bytes are not a valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes end in the middle of a signature.
    #[error("the signature is cut short; make it again")]
    Short,
    /// There are further bytes after the end of the signature.
    #[error("the signature has {0} bytes too many; make it again")]
    Long(usize),
    /// A number is impossible at its place.
    #[error("the signature is damaged ({0}); make it again")]
    Damaged(&'static str),
}

type Result<T> = std::result::Result<T, DecodeError>;

/// Appends a number in groups of seven bits, the lowest group first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A reader that consumes bytes from the front.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.0.split_first().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(first)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err(DecodeError::Damaged("a number with zeros in front"));
                }
                return Ok(value);
            }
        }
        Err(DecodeError::Damaged("a number of more than 64 bits"))
    }

    /// Reads the number of items that follow. Each item has at least `bits` bits. Fails if the rest
    /// of the input is too short for all items.
    pub(crate) fn count(&mut self, bits: u64) -> Result<usize> {
        let count = self.varint()?;
        if count > self.0.len() as u64 * 8 / bits {
            return Err(DecodeError::Short);
        }
        Ok(count as usize)
    }

    pub(crate) fn end(&self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            more => Err(DecodeError::Long(more)),
        }
    }
}

/// Appends ascending numbers in Rice code.
fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    put_varint(out, numbers.len() as u64);
    let Some(&last) = numbers.last() else {
        return;
    };
    let parameter = rice_parameter(last, numbers.len() as u64);
    out.push(parameter);
    let mut bits = BitWriter {
        out,
        byte: 0,
        filled: 0,
    };
    let mut before = 0;
    for &number in numbers {
        let gap = number - before;
        for _ in 0..gap >> parameter {
            bits.put(true);
        }
        bits.put(false);
        for bit in (0..parameter).rev() {
            bits.put(gap >> bit & 1 == 1);
        }
        before = number;
    }
    bits.end();
}

/// Returns the b for which 2^b is just below the mean difference. With this b, the quotients take
/// at most 2 · count bits.
const fn rice_parameter(last: u64, count: u64) -> u8 {
    let mean = last / count;
    if mean == 0 { 0 } else { mean.ilog2() as u8 }
}

fn numbers(from: &mut Reader<'_>) -> Result<Vec<u64>> {
    let count = from.count(1)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let parameter = from.byte()?;
    if parameter > 63 || count as u64 > from.0.len() as u64 * 8 / (u64::from(parameter) + 1) {
        return Err(DecodeError::Damaged("a set larger than its bytes"));
    }
    let mut bits = BitReader {
        bytes: from.0,
        at: 0,
    };
    let (mut numbers, mut before) = (Vec::with_capacity(count), 0u64);
    for _ in 0..count {
        let mut quotient = 0u64;
        while bits.next()? {
            quotient += 1;
        }
        let mut rest = 0u64;
        for _ in 0..parameter {
            rest = rest << 1 | u64::from(bits.next()?);
        }
        let number = quotient
            .checked_mul(1 << parameter)
            .and_then(|high| before.checked_add(high)?.checked_add(rest))
            .ok_or(DecodeError::Damaged("a fingerprint of more than 64 bits"))?;
        numbers.push(number);
        before = number;
    }
    if rice_parameter(before, count as u64) != parameter {
        return Err(DecodeError::Damaged("a set in another encoding"));
    }
    let used = bits.at.div_ceil(8);
    while bits.at < used * 8 {
        if bits.next()? {
            return Err(DecodeError::Damaged("bits behind a set"));
        }
    }
    from.take(used)?;
    Ok(numbers)
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    byte: u8,
    filled: u8,
}

impl BitWriter<'_> {
    #[inline]
    fn put(&mut self, bit: bool) {
        self.byte = self.byte << 1 | u8::from(bit);
        self.filled += 1;
        if self.filled == 8 {
            self.out.push(self.byte);
            (self.byte, self.filled) = (0, 0);
        }
    }

    fn end(mut self) {
        while self.filled > 0 {
            self.put(false);
        }
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    #[inline]
    fn next(&mut self) -> Result<bool> {
        let byte = self.bytes.get(self.at / 8).ok_or(DecodeError::Short)?;
        let bit = byte >> (7 - self.at % 8) & 1 == 1;
        self.at += 1;
        Ok(bit)
    }
}

fn put_counts(out: &mut Vec<u8>, counts: impl Iterator<Item = u64> + Clone) {
    put_varint(
        out,
        counts.clone().filter(|&count| count > 1).count() as u64,
    );
    let mut next = 0;
    for (place, count) in (0u64..).zip(counts) {
        if count > 1 {
            put_varint(out, place - next);
            put_varint(out, count - 2);
            next = place + 1;
        }
    }
}

fn counts(from: &mut Reader<'_>, of: usize) -> Result<Vec<u64>> {
    let mut counts = vec![1; of];
    let mut next = 0usize;
    for _ in 0..from.count(16)? {
        let place = usize::try_from(from.varint()?)
            .ok()
            .and_then(|skipped| next.checked_add(skipped))
            .filter(|&place| place < of)
            .ok_or(DecodeError::Damaged("a count of 0"))?;
        counts[place] = from
            .varint()?
            .checked_add(2)
            .ok_or(DecodeError::Damaged("a count of more than 64 bits"))?;
        next = place + 1;
    }
    Ok(counts)
}

fn distinct(numbers: Vec<u64>) -> Result<Vec<u64>> {
    if numbers.is_sorted_by(|a, b| a < b) {
        Ok(numbers)
    } else {
        Err(DecodeError::Damaged("a fingerprint twice"))
    }
}

impl MethodSignature {
    /// Encodes the signature.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.0 {
            Form::Set(values) => {
                out.push(0);
                put_numbers(&mut out, values);
            }
            Form::Slots(values) => {
                out.push(1);
                put_varint(&mut out, values.len() as u64);
                for value in values {
                    out.extend_from_slice(&value.to_le_bytes());
                }
            }
            Form::Counted {
                level,
                fingerprints,
            } => {
                out.extend_from_slice(&[2, *level]);
                let values: Vec<u64> = fingerprints.iter().map(|&(value, _)| value).collect();
                put_numbers(&mut out, &values);
                put_counts(&mut out, fingerprints.iter().map(|&(_, count)| count));
            }
            Form::Chunks(chunks) => {
                out.push(3);
                let names: Vec<u64> = chunks.iter().map(|&((name, _), _)| name).collect();
                put_numbers(&mut out, &names);
                for &((_, len), _) in chunks {
                    put_varint(&mut out, len);
                }
                put_counts(&mut out, chunks.iter().map(|&(_, count)| count));
            }
            Form::Sized { level, values } => {
                out.extend_from_slice(&[4, *level]);
                let values: Vec<u64> = values
                    .iter()
                    .map(|value| value.unbounded_shr((*level).into()))
                    .collect();
                put_numbers(&mut out, &values);
            }
            Form::Super { length, shingles } => {
                out.extend_from_slice(&[5, *length]);
                put_numbers(&mut out, shingles);
            }
        }
        out
    }

    /// Returns the number of bytes that [`Self::encode`] writes.
    pub fn encoded_len(&self) -> usize {
        self.encode().len()
    }

    /// Decodes a signature.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader(bytes);
        let form = match from.byte()? {
            0 => Form::Set(distinct(numbers(&mut from)?)?),
            1 => {
                let count = from.count(64)?;
                let slots = (0..count).map(|_| {
                    let bytes = from.take(8)?;
                    Ok(bytes.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b)))
                });
                Form::Slots(slots.collect::<Result<_>>()?)
            }
            2 => {
                let level = from.byte()?;
                if level > 32 {
                    return Err(DecodeError::Damaged("a level above 32"));
                }
                let values = distinct(numbers(&mut from)?)?;
                let counts = counts(&mut from, values.len())?;
                Form::Counted {
                    level,
                    fingerprints: values.into_iter().zip(counts).collect(),
                }
            }
            3 => {
                let names = numbers(&mut from)?;
                let lens: Vec<u64> = names.iter().map(|_| from.varint()).collect::<Result<_>>()?;
                let counts = counts(&mut from, names.len())?;
                let chunks: Vec<_> = names.into_iter().zip(lens).zip(counts).collect();
                if !chunks.is_sorted_by(|a, b| a.0 < b.0) {
                    return Err(DecodeError::Damaged("a chunk twice"));
                }
                Form::Chunks(chunks)
            }
            4 => {
                let level = from.byte()?;
                let values = distinct(numbers(&mut from)?)?;
                let most = values
                    .last()
                    .map_or(0, |last| u64::BITS - last.leading_zeros());
                if u32::from(level) + most > u64::BITS {
                    return Err(DecodeError::Damaged("a shingle of more than 64 bits"));
                }
                // If the level is 64, the set is empty.
                let values = values.iter().map(|value| value.unbounded_shl(level.into()));
                Form::Sized {
                    level,
                    values: values.collect(),
                }
            }
            5 => match from.byte()? {
                0 => return Err(DecodeError::Damaged("super shingles without shingles")),
                length => Form::Super {
                    length,
                    shingles: distinct(numbers(&mut from)?)?,
                },
            },
            _ => return Err(DecodeError::Damaged("an unknown form")),
        };
        from.end()?;
        Ok(Self(form))
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
