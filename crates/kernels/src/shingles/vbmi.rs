//! Words with AVX-512: eight at a time are found, hashed and joined.
//!
//! 1. *Letters*: a mask of a block marks the letters, and so shows where words begin and end. With
//!    the same mask, the numbers of the block's bytes are compressed to the places of the letters.
//!    One permutation moves the letters of eight words to their lanes.
//! 2. *Shingles*: let `s_n` be the last n words, joined. `s_2n` combines `s_n` with the `s_n` of n
//!    words earlier, which is multiplied first. The five words of a shingle are a word and the four
//!    before it.
//! 3. *All words*: each lane joins every eighth word, and the lanes are joined at the end.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_and_si512,
    _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask, _mm512_cmplt_epu8_mask,
    _mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_maskz_compress_epi8,
    _mm512_maskz_compress_epi64, _mm512_maskz_permutexvar_epi8, _mm512_movepi8_mask,
    _mm512_mullo_epi64, _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_rol_epi64,
    _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_sub_epi8, _mm512_xor_si512,
};

use super::waiting::{AHEAD, Chosen, LongWords, ROOM, WordBuffer};
use super::{
    MIXED, MOST_LETTERS, MOST_WORDS, OF_ALL, OF_LETTERS, OF_SHINGLE, OF_WORD, SAMPLED, SHINGLE,
    SMALL, ShingleChain, WordEnd, long_runs, power,
};
use crate::letters::BLOCK;

/// The number of words in a vector.
const LANES: usize = 8;

/// The multipliers [`OF_ALL`], raised to the power of [`LANES`] words.
const OF_EIGHT: [u64; 2] = [
    power(OF_ALL[0], LANES as u64),
    power(OF_ALL[1], LANES as u64),
];

/// The kernels. A value proves that the processor has their instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vbmi(());

impl Vbmi {
    /// Returns the kernels, or `None` if the processor does not have their instructions.
    pub(super) fn detect() -> Option<Self> {
        let is_available = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        is_available.then_some(Self(()))
    }

    /// Takes the words of the blocks at the start of `bytes`. Returns the number of bytes that were
    /// taken, and the number of letters in them. At most 16 letters of each word are counted. Stops
    /// when the batch is full. Also stops before a block that has non-ASCII characters, has only
    /// letters, or is incomplete.
    #[inline]
    pub(super) fn push_blocks(self, buffer: &mut WordBuffer, bytes: &[u8]) -> (usize, u64) {
        let Self(()) = self;
        // SAFETY: `self` is made only where the processor has the features ([`Self::detect`]).
        unsafe { push_blocks_vbmi(buffer, bytes) }
    }

    /// Joins eight words at a time while at least eight are left, and returns the number of joined
    /// words. There must be at least [`SHINGLE`] words before the first of these words.
    pub(super) fn join(
        self,
        low: &[u64],
        high: &[u64],
        chain: &mut ShingleChain,
        chosen: &mut Chosen,
    ) -> usize {
        let Self(()) = self;
        // SAFETY: `self` is made only where the processor has the features ([`Self::detect`]).
        unsafe { join_avx512(low, high, chain, chosen) }
    }
}

/// Aligns numbers from which vectors are loaded. A load across two cache lines takes twice as long.
#[repr(align(64))]
struct AlignedTable<T>(T);

/// The numbers of the bytes of a block.
static NUMBERS: AlignedTable<[u8; BLOCK]> = AlignedTable({
    let mut numbers = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        numbers[at] = at as u8;
        at += 1;
    }
    numbers
});

/// The number of each word, written eight times, because a lane has eight bytes. Each row has eight
/// words.
static LANE: AlignedTable<[[u8; BLOCK]; MOST_WORDS / LANES]> = AlignedTable({
    let mut lanes = [[0; BLOCK]; MOST_WORDS / LANES];
    let mut at = 0;
    while at < BLOCK * lanes.len() {
        lanes[at / BLOCK][at % BLOCK] = (at / 8) as u8;
        at += 1;
    }
    lanes
});

/// The places of letters in the next blocks of a text: a bit for each byte.
struct LettersAhead {
    /// The mask of each block, and zeros after them.
    masks: [u64; AHEAD + 1],
    /// The number of blocks.
    count: usize,
}

impl LettersAhead {
    /// Fills the masks with the next blocks of `bytes`, up to the first block that is not ASCII.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn fill(&mut self, bytes: &[u8]) {
        let mut count = self.count;
        for (mask, block) in self.masks[count..AHEAD].iter_mut().zip(bytes.as_chunks().0) {
            let letters = load::<BLOCK, u8>(block);
            if _mm512_movepi8_mask(letters) != 0 {
                break;
            }
            *mask = among_letters(letters);
            count += 1;
        }
        self.masks[count] = 0;
        self.count = count;
    }

    /// Returns the number of letters of a word that begins at this byte and is longer than a block;
    /// `None` if its end is not known.
    fn run_from(&self, at: usize) -> Option<usize> {
        let mut end = at + BLOCK;
        while end + BLOCK <= BLOCK * self.count {
            let letters = self.from(end);
            end += letters.trailing_ones() as usize;
            if letters != u64::MAX {
                return Some(end - at);
            }
        }
        None
    }

    /// Returns a bit for each letter in the 64 bytes from this byte on.
    #[inline]
    fn from(&self, at: usize) -> u64 {
        let (number, behind) = (at / BLOCK, at % BLOCK);
        self.masks[number] >> behind | self.masks[number + 1] << 1 << (BLOCK - 1 - behind)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi1,lzcnt,popcnt")]
fn push_blocks_vbmi(buffer: &mut WordBuffer, bytes: &[u8]) -> (usize, u64) {
    let mut ahead = LettersAhead {
        masks: [0; AHEAD + 1],
        count: 0,
    };
    // The start of the blocks ahead, and how many of their bytes were taken.
    let (mut from, mut taken) = (0, 0);
    let mut all_letters = 0;
    // Long words are processed at the end, because a branch on them would be mispredicted. Each
    // noted block has at least one word, so there is room for all noted blocks.
    let mut count = 0;
    while !buffer.is_full() {
        ahead.fill(&bytes[from + BLOCK * ahead.count..]);
        let before = taken;
        while taken + BLOCK <= BLOCK * ahead.count {
            let at = from + taken;
            let words = ahead.from(taken);
            if words == u64::MAX {
                let Some(length) = ahead.run_from(taken) else {
                    break;
                };
                buffer.push(WordEnd::of(&bytes[at..at + length]));
                all_letters += MOST_LETTERS as u64;
                taken += length;
                continue;
            }
            let open = words.leading_ones() as usize;
            let words = words & u64::MAX >> open;
            all_letters += u64::from(words.count_ones());
            buffer.long[count % ROOM] = LongWords {
                at,
                first: buffer.count,
                words,
            };
            count += usize::from(long_runs(words) != 0);
            if let Some(block) = bytes[at..].first_chunk() {
                push_runs(buffer, block, words);
            }
            taken += BLOCK - open;
        }
        // A long word, or a block, may end beyond the blocks that are loaded.
        if taken == before || taken + BLOCK <= BLOCK * ahead.count {
            if taken == 0 {
                break;
            }
            (from, taken, ahead.count) = (from + taken, 0, 0);
            continue;
        }
        // The next byte to take is in the last block, or after it.
        let done = (taken / BLOCK).min(ahead.count);
        ahead.count -= done;
        ahead.masks[0] = ahead.masks[done];
        (from, taken) = (from + BLOCK * done, taken - BLOCK * done);
    }
    for number in 0..count {
        let long = buffer.long[number];
        if let Some(block) = bytes[long.at..].first_chunk() {
            all_letters -= long.push_again(buffer, block);
        }
    }
    (from + taken, all_letters)
}

/// Returns a bit for each byte that is an ASCII letter, or may be non-ASCII.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn among_letters(letters: __m512i) -> u64 {
    let broadcast = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let among = |bytes: __m512i, first: u8, last: u8| {
        let from_first = _mm512_sub_epi8(bytes, broadcast(first));
        _mm512_cmple_epu8_mask(from_first, broadcast(last - first))
    };
    among(in_one_case(letters), b'a', b'z')
        | among(letters, b'0', b'9')
        | _mm512_cmpeq_epi8_mask(letters, broadcast(b'_'))
}

/// Converts capitals to small letters, as in [`small`].
#[inline]
#[target_feature(enable = "avx512f")]
fn in_one_case(letters: __m512i) -> __m512i {
    let halved = _mm512_srli_epi64::<1>(letters);
    let small = _mm512_and_si512(halved, _mm512_set1_epi64(SMALL.cast_signed()));
    _mm512_or_si512(letters, small)
}

impl LongWords {
    /// Replaces the first letters of each long word by the whole word. Returns the number of
    /// letters beyond the first 16 letters of each word.
    #[inline]
    fn push_again(self, buffer: &mut WordBuffer, block: &[u8; BLOCK]) -> u64 {
        let begins = self.words & !(self.words << 1);
        let (mut long, mut beyond) = (begins & long_runs(self.words), 0);
        while long != 0 {
            let from = long.trailing_zeros() as usize;
            let number = self.first + (begins & ((1 << from) - 1)).count_ones() as usize;
            let length = (self.words >> from).trailing_ones() as usize;
            // The batch already has the first letters of the word.
            let before = buffer.get(number).hash();
            let word = WordEnd::of_long(before, &block[from..from + length]);
            buffer.set(number, word);
            beyond += (length - MOST_LETTERS) as u64;
            long &= long - 1;
        }
        beyond
    }
}

/// Adds the words of a block: the runs of set bits in `words`. Only the first 16 letters of each
/// word are added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn push_runs(buffer: &mut WordBuffer, block: &[u8; BLOCK], words: u64) {
    let letters = in_one_case(load(block));
    let numbers = load(&NUMBERS.0);
    let first_half = _mm512_and_si512(numbers, _mm512_set1_epi8(7));
    let second_half = _mm512_add_epi8(first_half, _mm512_set1_epi8(8));
    let begins = words & !(words << 1);
    let count = begins.count_ones() as usize;
    let begin = _mm512_maskz_compress_epi8(begins, numbers);
    let end = _mm512_maskz_compress_epi8(words << 1 & !words, numbers);
    let length = _mm512_sub_epi8(end, begin);
    let WordBuffer {
        low,
        high,
        count: before,
        ..
    } = buffer;
    let room = |words| <[u64]>::first_chunk_mut::<MOST_WORDS>(words);
    let (Some(low), Some(high)) = (room(&mut low[*before..]), room(&mut high[*before..])) else {
        return;
    };
    let mut put = |number: usize| {
        let lane = load(&LANE.0[number]);
        let from = _mm512_permutexvar_epi8(lane, begin);
        let length = _mm512_permutexvar_epi8(lane, length);
        let half = |at: __m512i| {
            let is_letter = _mm512_cmplt_epu8_mask(at, length);
            _mm512_maskz_permutexvar_epi8(is_letter, _mm512_add_epi8(from, at), letters)
        };
        store(&mut low[LANES * number..], half(first_half));
        store(&mut high[LANES * number..], half(second_half));
    };
    // Nearly all blocks have up to sixteen words. Two vectors are always written, because a branch
    // on more than eight words would be mispredicted.
    put(0);
    put(1);
    if count > 2 * LANES {
        put(2);
        put(3);
    }
    *before += count;
}

#[target_feature(enable = "avx512f,avx512dq")]
fn join_avx512(low: &[u64], high: &[u64], chain: &mut ShingleChain, chosen: &mut Chosen) -> usize {
    let broadcast = |n: u64| _mm512_set1_epi64(n.cast_signed());
    let times = |vector: __m512i, n: u64| _mm512_mullo_epi64(vector, broadcast(n));
    // Joins a run of consecutive words with the equally long run before it.
    let join = |after: __m512i, before: __m512i, factor: u64| {
        _mm512_add_epi64(after, times(before, factor))
    };
    let one = |words: __m512i, before: __m512i| {
        let before = _mm512_alignr_epi64::<7>(words, before);
        join(words, before, OF_WORD)
    };
    let two = |twos: __m512i, before: __m512i| {
        let before = _mm512_alignr_epi64::<6>(twos, before);
        join(twos, before, const { power(OF_WORD, 2) })
    };

    let mut last = [0; LANES];
    last[LANES - SHINGLE..].copy_from_slice(&chain.last);
    let mut words = load(&last);
    let mut twos = one(words, _mm512_setzero_si512());
    let mut fours = two(twos, _mm512_setzero_si512());
    let mut shingles = _mm512_setzero_si512();
    // All words before the batch are joined already. Their sum is in the lane of the last word
    // before the batch.
    let mut all = chain.all.map(|all| {
        let mut lanes = [0; LANES];
        lanes[LANES - 1] = all;
        load(&lanes)
    });
    let (lows, _) = low.as_chunks::<LANES>();
    let (highs, _) = high.as_chunks::<LANES>();
    for (low, high) in lows.iter().zip(highs) {
        let x = times(
            _mm512_xor_si512(load(low), broadcast(MIXED[0])),
            OF_LETTERS[0],
        );
        let y = times(
            _mm512_xor_si512(load(high), broadcast(MIXED[1])),
            OF_LETTERS[1],
        );
        let x = _mm512_xor_si512(x, _mm512_srli_epi64::<32>(x));
        let y = _mm512_rol_epi64::<17>(_mm512_xor_si512(y, _mm512_srli_epi64::<29>(y)));
        let z = times(_mm512_xor_si512(x, y), OF_WORD);
        let new = _mm512_xor_si512(z, _mm512_srli_epi64::<31>(z));

        let new_twos = one(new, words);
        let new_fours = two(new_twos, twos);
        shingles = join(new, _mm512_alignr_epi64::<7>(new_fours, fours), OF_WORD);
        (words, twos, fours) = (new, new_twos, new_fours);
        for (all, factor) in all.iter_mut().zip(OF_EIGHT) {
            *all = join(new, *all, factor);
        }

        let mixed = _mm512_xor_si512(shingles, _mm512_srli_epi64::<32>(shingles));
        let hashes = times(mixed, OF_SHINGLE);
        let sampled = _mm512_cmplt_epu64_mask(hashes, broadcast(SAMPLED));
        let hashes = _mm512_maskz_compress_epi64(sampled, hashes);
        store(&mut chosen.hashes[chosen.count..], hashes);
        chosen.count += sampled.count_ones() as usize;
    }
    if lows.is_empty() {
        return 0;
    }
    chain.words += (LANES * lows.len()) as u64;
    chain.last.copy_from_slice(&lanes(words)[LANES - SHINGLE..]);
    chain.shingle = lanes(shingles)[LANES - 1];
    for ((all, vector), of_all) in chain.all.iter_mut().zip(all).zip(OF_ALL) {
        *all = lanes(vector)
            .iter()
            .fold(0, |all, &lane| all.wrapping_mul(of_all).wrapping_add(lane));
    }
    LANES * lows.len()
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<const N: usize, T>(array: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == size_of::<__m512i>()) };
    // SAFETY: the array has the size of a vector; the load needs no alignment.
    unsafe { _mm512_loadu_si512(array.as_ptr().cast()) }
}

/// Writes a vector to the first numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(out: &mut [u64], vector: __m512i) {
    let out = &mut out[..LANES];
    // SAFETY: there is room for a vector; the store needs no alignment.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), vector) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(vector: __m512i) -> [u64; LANES] {
    let mut lanes = [0; LANES];
    store(&mut lanes, vector);
    lanes
}
