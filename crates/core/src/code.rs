//! Samples executables by their machine code.
//!
//! Two builds of one program have the same instructions at other addresses. Every call, jump or
//! reference states a distance in four bytes. If a function grows, every distance across this
//! function changes. Most windows of 64 bytes have several such distances, so hardly any window
//! stays the same.
//!
//! # Method
//!
//! Before windows are sampled, the distances in code are set to zero. For x86 these are the 32-bit
//! operands of `call`, `jmp`, the conditional jumps, and references relative to the instruction
//! pointer. For ARM64 they are the operands of `b`, `bl` and `adrp`. The filters of xz make
//! distances absolute instead, so that two calls of one function become equal. That helps a
//! compressor within one file. But absolute addresses change from build to build, just as distances
//! do. This filter affects only the samples. Chunks, shared bytes and all exact figures are about
//! the original bytes.
//!
//! # Choices
//!
//! 1. **Where**: in the executable segments that the program header of an ELF file names. The
//!    header is at the beginning, so a stream delivers it before the code. Data between segments is
//!    sampled unchanged.
//! 2. **No disassembler.** In x86 code, a small distance after an opcode is set to zero; its
//!    uppermost byte is 0 or 255. In ARM64 code, each aligned word is decoded. Some of the changed
//!    bytes are not distances. But the decision depends only on a few bytes, so equal code is
//!    changed equally everywhere. That is all that sampling needs.

use std::ops::Range;

use crate::hash::rolling::Scanner;
use crate::ids::Fingerprint;
use crate::params::Params;

/// The number of bytes at the beginning of a file that are searched for the places of its code.
const HEAD: usize = 4096;

/// The first bytes of an ELF file.
const MAGIC: &[u8; 4] = b"\x7fELF";

/// The maximum number of program headers that are examined.
const MOST_SEGMENTS: usize = 64;

/// The number of bytes from a position on that decide whether a distance begins there.
const AHEAD: usize = 8;

/// Samples the windows of executables.
#[derive(Clone, Debug)]
pub(crate) struct CodeSampler {
    scanner: Scanner,
    head: Vec<u8>,
    state: CodeState,
}

#[derive(Clone, Debug)]
enum CodeState {
    /// The beginning is not complete yet.
    Beginning,
    /// Not an executable whose code can be filtered.
    Other,
    Code(CallFilter),
}

/// Sets distances to zero.
#[derive(Clone, Debug)]
struct CallFilter {
    machine: Machine,
    /// The ranges of the file that are code, ascending.
    code: Vec<Range<u64>>,
    /// The position in the file of the first byte in `held`.
    at: u64,
    /// Bytes that are not passed on yet, because later bytes decide whether they become zero.
    held: Vec<u8>,
    /// The number of bytes at the start of `held` that belong to a distance and become zero.
    zero: usize,
    /// The byte of the file before the first byte in `held`.
    before: u8,
    out: Vec<u8>,
}

/// The processor that the code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    X86,
    Arm64,
}

impl CodeSampler {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            scanner: params.scanner(),
            head: Vec::new(),
            state: CodeState::Beginning,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.scanner.reset();
        self.head.clear();
        self.state = CodeState::Beginning;
    }

    /// Returns whether the content is known to be an executable whose code is filtered. If so, the
    /// samples of the content are those that this sampler finds.
    pub(crate) const fn is_code(&self) -> bool {
        matches!(self.state, CodeState::Code(_))
    }

    /// Returns whether the content is known to have no code that can be filtered.
    pub(crate) const fn is_none(&self) -> bool {
        matches!(self.state, CodeState::Other)
    }

    /// Takes the next bytes; `sample` receives the fingerprints of the windows that are complete
    /// now.
    pub(crate) fn update(&mut self, bytes: &[u8], sample: &mut impl FnMut(Fingerprint)) {
        if matches!(self.state, CodeState::Other) {
            return;
        }
        let mut bytes = bytes;
        if matches!(self.state, CodeState::Beginning) {
            // The magic number is checked before anything is copied. Most files fail here.
            let rest = MAGIC.get(self.head.len()..).unwrap_or_default();
            if !bytes.iter().zip(rest).all(|(byte, magic)| byte == magic) {
                self.state = CodeState::Other;
                return;
            }
            let more = bytes.len().min(HEAD - self.head.len());
            self.head.extend_from_slice(&bytes[..more]);
            bytes = &bytes[more..];
            if self.head.len() < HEAD {
                return;
            }
            self.begin(sample);
        }
        self.take(bytes, sample);
    }

    /// Takes `count` zeros.
    pub(crate) fn update_zeros(&mut self, count: u64, sample: &mut impl FnMut(Fingerprint)) {
        if matches!(self.state, CodeState::Other) {
            return;
        }
        // Zeros decode to no instruction. After `HEAD + AHEAD` zeros the buffer holds only zeros,
        // so the rest can be skipped.
        let few = count.min(HEAD as u64 + AHEAD as u64);
        self.update(&vec![0; few as usize], sample);
        if let CodeState::Code(filter) = &mut self.state {
            let rest = count - few;
            if rest > 0 {
                filter.at += rest;
                self.scanner.skip_zeros(rest);
            }
        }
    }

    /// Ends the content.
    pub(crate) fn finish(&mut self, sample: &mut impl FnMut(Fingerprint)) {
        if matches!(self.state, CodeState::Beginning) {
            self.begin(sample);
        }
        if let CodeState::Code(filter) = &mut self.state {
            filter.end();
            scan(&mut self.scanner, &mut filter.out, sample);
        }
    }

    /// Decides from the complete beginning whether the content is code. If so, filters the
    /// beginning.
    fn begin(&mut self, sample: &mut impl FnMut(Fingerprint)) {
        let head = std::mem::take(&mut self.head);
        self.state = segments(&head).map_or(CodeState::Other, |(machine, code)| {
            CodeState::Code(CallFilter {
                machine,
                code,
                at: 0,
                held: Vec::new(),
                zero: 0,
                before: 0,
                out: Vec::new(),
            })
        });
        self.take(&head, sample);
        self.head = head;
    }

    fn take(&mut self, bytes: &[u8], sample: &mut impl FnMut(Fingerprint)) {
        if let CodeState::Code(filter) = &mut self.state {
            // The bytes are filtered in pieces, so that memory does not grow with the input.
            for piece in bytes.chunks(1 << 16) {
                filter.update(piece);
                scan(&mut self.scanner, &mut filter.out, sample);
            }
        }
    }
}

fn scan(scanner: &mut Scanner, bytes: &mut Vec<u8>, sample: &mut impl FnMut(Fingerprint)) {
    scanner.scan(bytes, &mut |hit| {
        if let Some(fingerprint) = hit.sample {
            sample(fingerprint);
        }
    });
    bytes.clear();
}

impl CallFilter {
    fn update(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        let ready = self.held.len().saturating_sub(AHEAD);
        self.pass(ready);
    }

    fn end(&mut self) {
        let all = self.held.len();
        self.held.resize(all + AHEAD, 0);
        self.pass(all);
        self.held.clear();
    }

    /// Passes on the first `count` bytes of `held`. At least `AHEAD` more bytes must follow them in
    /// `held`.
    fn pass(&mut self, count: usize) {
        for at in 0..count {
            let byte = self.held[at];
            let before = std::mem::replace(&mut self.before, byte);
            if self.zero > 0 {
                self.zero -= 1;
                self.out.push(0);
                continue;
            }
            let position = self.at + at as u64;
            let behind = &self.held[at..at + AHEAD];
            match self.machine {
                _ if !self.is_code(position) => self.out.push(byte),
                Machine::X86 => {
                    self.out.push(byte);
                    self.zero = x86(before, behind);
                }
                Machine::Arm64 => {
                    let word = u32::from_le_bytes([behind[0], behind[1], behind[2], behind[3]]);
                    match arm64(word).filter(|_| position.is_multiple_of(4)) {
                        Some(kept) => {
                            self.out.push(kept);
                            self.zero = 3;
                        }
                        None => self.out.push(byte),
                    }
                }
            }
        }
        self.held.drain(..count);
        self.at += count as u64;
    }

    fn is_code(&self, position: u64) -> bool {
        let behind = self.code.partition_point(|range| range.end <= position);
        self.code
            .get(behind)
            .is_some_and(|range| range.start <= position)
    }
}

/// Returns the number of bytes after the first one that belong to a distance: 4, or 0 if there is
/// no distance.
///
/// The byte before a distance is an opcode, the second byte of an opcode, or a ModR/M byte with mod
/// = 0 and r/m = 5. Such a byte means: relative to the instruction pointer.
fn x86(before: u8, bytes: &[u8]) -> usize {
    let relative = |byte: u8| byte & 0xc7 == 0x05;
    let call = matches!(bytes[0], 0xe8 | 0xe9);
    let conditional = before == 0x0f && bytes[0] & 0xf0 == 0x80;
    let small = matches!(bytes[4], 0x00 | 0xff) && bytes[1..4] != [0; 3];
    if small && (call || conditional || relative(bytes[0])) {
        4
    } else {
        0
    }
}

/// Returns the byte that replaces the first byte of an instruction with a distance. The other three
/// bytes become zero. Returns `None` if the instruction has no distance.
const fn arm64(word: u32) -> Option<u8> {
    let uppermost = (word >> 24) as u8;
    match word >> 26 {
        // b, bl
        0b00_0101 | 0b10_0101 => Some(uppermost & 0xfc),
        // adrp
        _ if word & 0x9f00_0000 == 0x9000_0000 => Some(uppermost & 0x9f),
        _ => None,
    }
}

/// Reads the beginning of an ELF file. Returns its processor and the ranges of its code. `None` if
/// the file is not a little-endian ELF file, if the processor is not known, or if there is no code.
fn segments(head: &[u8]) -> Option<(Machine, Vec<Range<u64>>)> {
    const LITTLE: u8 = 1;
    const WIDE: u8 = 2;
    const LOAD: u64 = 1;
    const EXECUTE: u64 = 1;
    if head.len() < 64 || head[..4] != *MAGIC || head[5] != LITTLE {
        return None;
    }
    let number = |at: usize, bytes: usize| {
        let field = head.get(at..at + bytes)?;
        Some(
            field
                .iter()
                .rev()
                .fold(0, |n, &byte| n << 8 | u64::from(byte)),
        )
    };
    let machine = match number(18, 2)? {
        3 | 62 => Machine::X86,
        183 => Machine::Arm64,
        _ => return None,
    };
    // The offset of the table of program headers, and the size and number of its entries. Each
    // entry has flags, an offset, and a size in the file.
    let wide = head[4] == WIDE;
    let (table, entry, count) = if wide {
        (number(32, 8)?, number(54, 2)?, number(56, 2)?)
    } else {
        (number(28, 4)?, number(42, 2)?, number(44, 2)?)
    };
    let table = usize::try_from(table).ok().filter(|&at| at < HEAD)?;
    let mut code = Vec::new();
    for number_of in 0..(count as usize).min(MOST_SEGMENTS) {
        let at = table + number_of * entry as usize;
        let fields = if wide {
            [number(at + 4, 4), number(at + 8, 8), number(at + 32, 8)]
        } else {
            [number(at + 24, 4), number(at + 4, 4), number(at + 16, 4)]
        };
        let (Some(kind), [Some(flags), Some(offset), Some(size)]) = (number(at, 4), fields) else {
            break;
        };
        if kind == LOAD && flags & EXECUTE != 0 {
            code.push(offset..offset.saturating_add(size));
        }
    }
    code.sort_by_key(|range| range.start);
    (!code.is_empty()).then_some((machine, code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use resemble_testutil::random::Random;

    use super::*;

    /// Returns an ELF file whose bytes from 4096 on are `code`.
    fn program(machine: u8, code: &[u8]) -> Vec<u8> {
        let mut file = vec![0; HEAD];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[18] = machine;
        file[32] = 64; // the table
        file[54] = 56; // size of an entry
        file[56] = 1;
        file[64] = 1; // loaded
        file[68] = 5; // read and executed
        file[72..80].copy_from_slice(&4096u64.to_le_bytes());
        file[96..104].copy_from_slice(&(code.len() as u64).to_le_bytes());
        file.extend_from_slice(code);
        file
    }

    fn samples(pieces: &[&[u8]]) -> Vec<Fingerprint> {
        let mut sampler = CodeSampler::new(&Params::default());
        let mut all = Vec::new();
        for piece in pieces {
            sampler.update(piece, &mut |sample| all.push(sample));
        }
        sampler.finish(&mut |sample| all.push(sample));
        all
    }

    /// Makes instructions with a call in every nine bytes. `moved` is added to the addresses of all
    /// functions, as in another build.
    fn build(moved: u32) -> Vec<u8> {
        let mut random = Random::new(1);
        let mut code = Vec::new();
        for _ in 0..3000 {
            let state = random.draw();
            code.extend(
                (state >> 32).to_le_bytes()[..4]
                    .iter()
                    .map(|byte| byte & 0x77),
            );
            code.push(0xe8);
            code.extend(((state >> 48) as u32 * 16 + moved).to_le_bytes());
        }
        code
    }

    #[test]
    fn moved_functions_make_no_difference() {
        let (a, b) = (program(62, &build(0)), program(62, &build(0x340)));
        let (of_a, of_b) = (samples(&[&a]), samples(&[&b]));
        assert!(of_a.len() > 500, "{}", of_a.len());
        let shared = of_a.iter().filter(|sample| of_b.contains(sample)).count();
        assert!(shared * 10 > of_a.len() * 9, "{shared} of {}", of_a.len());
        // Without the filter, only the windows of the header are in both builds.
        let params = Params::default();
        let plain = |file: &[u8]| {
            let mut all = Vec::new();
            scan(&mut params.scanner(), &mut file.to_vec(), &mut |sample| {
                all.push(sample);
            });
            all
        };
        let (of_a, of_b) = (plain(&a), plain(&b));
        let shared = of_a.iter().filter(|sample| of_b.contains(sample)).count();
        assert!(shared * 20 < of_a.len(), "{shared} of {}", of_a.len());
    }

    #[test]
    fn what_is_no_program_has_no_samples_here() {
        assert!(samples(&[&[7; 9000]]).is_empty());
        assert!(samples(&[b"\x7fEL"]).is_empty());
        // A file cut short, a file for an unknown machine, and a file whose table is beyond its
        // end.
        let file = program(62, &build(0));
        assert!(samples(&[&file[..60]]).is_empty());
        assert!(samples(&[&program(8, &build(0))]).is_empty());
        let mut wild = file.clone();
        wild[32..40].fill(0xff);
        assert!(samples(&[&wild]).is_empty());
    }

    #[test]
    fn distances_of_both_machines() {
        assert_eq!(x86(0, &[0xe8, 1, 2, 3, 0, 9, 9, 9]), 4);
        assert_eq!(x86(0x0f, &[0x84, 1, 2, 3, 0xff, 9, 9, 9]), 4);
        assert_eq!(x86(0, &[0x84, 1, 2, 3, 0xff, 9, 9, 9]), 0);
        assert_eq!(x86(0x8b, &[0x05, 1, 2, 3, 0, 9, 9, 9]), 4);
        assert_eq!(x86(0, &[0xe8, 1, 2, 3, 4, 9, 9, 9]), 0);
        assert_eq!(arm64(0x9412_3456), Some(0x94));
        assert_eq!(arm64(0xb000_0041), Some(0x90));
        assert_eq!(arm64(0xd65f_03c0), None);
    }

    proptest! {
        #[test]
        fn pieces_and_holes_make_no_difference(
            cuts in prop::collection::vec(0usize..20_000, 0..6),
            hole in 0usize..9000,
            at in 0usize..27_000,
            machine in prop::sample::select(vec![62u8, 183]),
        ) {
            let mut code = build(0);
            code.splice(at..at, vec![0; hole]);
            let file = program(machine, &code);
            let whole = samples(&[&file]);
            let mut cuts: Vec<usize> = cuts.into_iter().chain([0, file.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &file[cut[0]..cut[1]]).collect();
            prop_assert_eq!(&samples(&pieces), &whole);
            let mut sampler = CodeSampler::new(&Params::default());
            let mut all = Vec::new();
            let from = HEAD + at;
            sampler.update(&file[..from], &mut |sample| all.push(sample));
            sampler.update_zeros(hole as u64, &mut |sample| all.push(sample));
            sampler.update(&file[from + hole..], &mut |sample| all.push(sample));
            sampler.finish(&mut |sample| all.push(sample));
            prop_assert_eq!(&all, &whole);
        }
    }
}
