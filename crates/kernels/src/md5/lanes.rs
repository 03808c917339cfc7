//! Distributes messages to lanes.
//!
//! A message consists of a *body* and a *tail*. The body is the message's whole blocks, read in
//! place. The tail is the last bytes of the message and the padding of RFC 1321, sections 3.1 and
//! 3.2. It has one or two blocks. First all bodies are hashed, then all tails:
//!
//! 1. *Bodies* have any length. All lanes advance by the same number of blocks: the number that the
//!    lane with the fewest blocks has left. Then each finished lane takes the next body. Longer
//!    bodies are hashed first, so bodies in progress together have nearly equal lengths and end
//!    together. This saves stops. When the queue is empty, only short bodies are left.
//! 2. *Tails* have only two lengths, and need no scheduling. Only tails are copied.

use smallvec::{SmallVec, smallvec};

use super::Md5Digest;
use super::constants::{BLOCK, INITIAL};

/// The words A, B, C, D of all lanes.
pub(super) type LaneState<const LANES: usize> = [[u32; LANES]; 4];

/// All bodies of at least this many blocks are one length class.
const LONG: usize = 255;

/// Appends the MD5 of each message to `out`, in order.
///
/// `compress` advances each lane by the given number of blocks of the lane's input. The input has
/// at least this many blocks.
pub(super) fn md5_many<const LANES: usize>(
    messages: &[&[u8]],
    out: &mut Vec<Md5Digest>,
    compress: impl Fn(&mut LaneState<LANES>, &[&[u8]; LANES], usize),
) {
    let first = out.len();
    out.resize(first + messages.len(), to_hash(INITIAL));
    // The state of each message. At first it is the initial words, then the words after the
    // message's body, and at last the digest.
    let hashes = &mut out[first..];
    bodies(messages, hashes, &compress);
    tails(messages, hashes, &compress);
}

fn bodies<const LANES: usize>(
    messages: &[&[u8]],
    hashes: &mut [Md5Digest],
    compress: &impl Fn(&mut LaneState<LANES>, &[&[u8]; LANES], usize),
) {
    let order = longest_first(messages);
    let mut queue = order.iter().map(|&message| message as usize);
    let mut state: LaneState<LANES> = [[0; LANES]; 4];
    // The number of the message in each lane. For each lane, `inputs` has the whole blocks of the
    // message that are left, at least one.
    let mut works_for = [None; LANES];
    let mut inputs: [&[u8]; LANES] = [&[]; LANES];
    loop {
        let mut idle = false;
        for lane in 0..LANES {
            if !inputs[lane].is_empty() {
                continue;
            }
            if let Some(message) = works_for[lane] {
                hashes[message] = to_hash(words(&state, lane));
            }
            works_for[lane] = queue.next();
            if let Some(message) = works_for[lane] {
                inputs[lane] = body(messages[message]);
                set_words(&mut state, lane, INITIAL);
            } else {
                idle = true;
            }
        }
        if idle {
            // Idle lanes repeat the input of a busy lane. The result of an idle lane is ignored.
            let Some(busy) = works_for.iter().position(Option::is_some) else {
                return;
            };
            let input = inputs[busy];
            for lane in (0..LANES).filter(|&lane| works_for[lane].is_none()) {
                inputs[lane] = input;
            }
        }
        let bytes = inputs
            .iter()
            .fold(usize::MAX, |least, input| least.min(input.len()));
        compress(&mut state, &inputs, bytes / BLOCK);
        for input in &mut inputs {
            *input = &input[bytes..];
        }
    }
}

fn tails<const LANES: usize>(
    messages: &[&[u8]],
    hashes: &mut [Md5Digest],
    compress: &impl Fn(&mut LaneState<LANES>, &[&[u8]; LANES], usize),
) {
    let mut tails = [Tail::EMPTY; LANES];
    let mut state: LaneState<LANES> = [[0; LANES]; 4];
    for blocks in [1, 2] {
        let mut of_these = (0..messages.len()).filter(|&m| tail_blocks(messages[m]) == blocks);
        let mut all = true;
        while all {
            let mut works_for = [None; LANES];
            for lane in 0..LANES {
                works_for[lane] = of_these.next();
                let Some(message) = works_for[lane] else {
                    all = false;
                    break;
                };
                set_words(&mut state, lane, from_hash(hashes[message]));
                tails[lane].write(messages[message], blocks);
            }
            if works_for[0].is_none() {
                break;
            }
            compress(
                &mut state,
                &std::array::from_fn(|lane| tails[lane].blocks(blocks)),
                blocks,
            );
            for (lane, message) in works_for.into_iter().enumerate() {
                if let Some(message) = message {
                    hashes[message] = to_hash(words(&state, lane));
                }
            }
        }
    }
}

/// The last bytes of a message, then a 1 bit, zeros, and the length in bits. The block in front has
/// earlier bytes of the message. So if a message has 64 bytes or more, exactly 64 are copied.
#[derive(Clone, Copy)]
struct Tail([u8; 3 * BLOCK]);

impl Tail {
    const EMPTY: Self = Self([0; 3 * BLOCK]);

    fn write(&mut self, message: &[u8], blocks: usize) {
        let last = &message[message.len() / BLOCK * BLOCK..];
        self.0[BLOCK..].fill(0);
        match message.last_chunk::<BLOCK>() {
            Some(bytes) => self.0[last.len()..last.len() + BLOCK].copy_from_slice(bytes),
            None => self.0[BLOCK..BLOCK + last.len()].copy_from_slice(last),
        }
        self.0[BLOCK + last.len()] = 0x80;
        let bits = (message.len() as u64) << 3;
        let end = BLOCK + blocks * BLOCK;
        self.0[end - 8..end].copy_from_slice(&bits.to_le_bytes());
    }

    fn blocks(&self, blocks: usize) -> &[u8] {
        &self.0[BLOCK..][..blocks * BLOCK]
    }
}

/// The maximum number of messages that are sorted without an allocation. Threads that allocate
/// would wait for each other.
const FEW: usize = 256;

/// Returns the messages that have a body. Messages with the longest bodies come first.
fn longest_first(messages: &[&[u8]]) -> SmallVec<[u32; FEW]> {
    let class = |message: &&[u8]| (message.len() / BLOCK).min(LONG);
    // The start of each length class. Classes of longer bodies come first.
    let mut starts = [0; LONG + 1];
    for message in messages {
        starts[class(message)] += 1;
    }
    let mut total = 0;
    for start in starts[1..].iter_mut().rev() {
        total += std::mem::replace(start, total);
    }
    let mut order = smallvec![0; total];
    for (index, message) in (0..).zip(messages) {
        let class = class(message);
        if class > 0 {
            order[starts[class]] = index;
            starts[class] += 1;
        }
    }
    order
}

fn body(message: &[u8]) -> &[u8] {
    &message[..message.len() / BLOCK * BLOCK]
}

/// Counts the blocks of a tail. The padding has at least one bit, and the length takes eight bytes.
fn tail_blocks(message: &[u8]) -> usize {
    if message.len() % BLOCK < BLOCK - 8 {
        1
    } else {
        2
    }
}

fn words<const LANES: usize>(state: &LaneState<LANES>, lane: usize) -> [u32; 4] {
    [
        state[0][lane],
        state[1][lane],
        state[2][lane],
        state[3][lane],
    ]
}

fn set_words<const LANES: usize>(state: &mut LaneState<LANES>, lane: usize, words: [u32; 4]) {
    for (of_lanes, word) in state.iter_mut().zip(words) {
        of_lanes[lane] = word;
    }
}

fn to_hash(words: [u32; 4]) -> Md5Digest {
    let mut bytes = [0; 16];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

fn from_hash(hash: Md5Digest) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, &bytes) in words.iter_mut().zip(hash.as_chunks().0) {
        *word = u32::from_le_bytes(bytes);
    }
    words
}
