//! Compares words that are joined in batches with words that are joined one by one, on every
//! platform.

use proptest::prelude::*;

use super::*;
use crate::letters::classify;

/// Returns the platforms that this processor has.
fn batches() -> Vec<WordBatch> {
    let mut batches = vec![WordBatch::portable()];
    #[cfg(target_arch = "x86_64")]
    batches.extend(WordBatch::vbmi());
    batches
}

/// Makes words of some letters, and separators.
fn text(most_letters: usize, words: usize) -> impl Strategy<Value = Vec<u8>> {
    let word = (1..=most_letters, 1usize..4, any::<u64>());
    prop::collection::vec(word, 0..words).prop_map(|words| {
        let mut bytes = Vec::new();
        for (letters, blanks, seed) in words {
            let letter = |at: usize| b"abzAZ019_ @["[(seed >> (at % 60)) as usize % 9];
            bytes.extend((0..letters).map(letter));
            let blank = |at: usize| b" @[`{/:\n\0\x7f"[(seed >> (3 * at)) as usize % 10];
            bytes.extend((0..blanks).map(blank));
        }
        bytes
    })
}

/// Joins words one by one, returns the samples, and updates the chain.
fn one_by_one(words: &[WordEnd], chain: &mut ShingleChain) -> Vec<u64> {
    let mut sampled = Vec::new();
    for word in words {
        chain.push(word.hash());
        let shingle = hash(chain.shingle);
        if chain.words >= SHINGLE as u64 && shingle < SAMPLED {
            sampled.push(shingle);
        }
    }
    sampled
}

/// Returns the words of an ASCII text, and their number of letters, of which a word has at most 16.
fn words_of(bytes: &[u8]) -> (Vec<WordEnd>, u64) {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let words = bytes.split(|byte| !is_letter(byte));
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    let letters = words.iter().map(|word| word.len().min(MOST_LETTERS) as u64);
    let letters = letters.sum();
    (words.into_iter().map(WordEnd::of).collect(), letters)
}

proptest! {
    #[test]
    fn words_are_joined_as_one_by_one(
        words in prop::collection::vec((any::<u64>(), any::<u64>()), 0..600),
        sizes in prop::collection::vec(0usize..200, 1..12),
    ) {
        let words: Vec<WordEnd> =
            words.into_iter().map(|(low, high)| WordEnd { low, high }).collect();
        for mut batch in batches() {
            let (mut at_once, mut expected) = (ShingleChain::default(), ShingleChain::default());
            let mut rest = &words[..];
            for &size in &sizes {
                let (now, later) = rest.split_at(size.min(rest.len()));
                for &word in now {
                    batch.push(word);
                }
                let chosen = batch.join(&mut at_once);
                prop_assert_eq!(chosen, &one_by_one(now, &mut expected)[..]);
                prop_assert_eq!(at_once, expected);
                rest = later;
            }
        }
    }

    #[test]
    fn words_of_a_block_are_those_of_its_letters(bytes in text(MOST_LETTERS, 30)) {
        let mut window = [b' '; WINDOW];
        let length = bytes.len().min(WINDOW);
        window[..length].copy_from_slice(&bytes[..length]);
        let mask = classify(window.first_chunk().unwrap()).words;
        // A word that continues after the block does not belong to the block.
        let mask = mask & u64::MAX >> mask.leading_ones().min(63);
        let end = BLOCK - mask.leading_zeros() as usize;
        let (mut chain, mut expected) = (ShingleChain::default(), ShingleChain::default());
        let mut batch = WordBatch::default();
        batch.push_runs(&window, mask);
        let (words, _) = words_of(&window[..end]);
        prop_assert_eq!(batch.join(&mut chain), &one_by_one(&words, &mut expected)[..]);
        prop_assert_eq!(chain, expected);
    }

    #[test]
    fn words_of_many_blocks_are_those_of_their_letters(
        long in prop::collection::vec(prop_oneof![text(70, 6), text(400, 6)], 0..8),
        short in text(MOST_LETTERS, 300),
        wide in prop::option::of(0usize..3000),
    ) {
        let mut bytes = long.concat();
        bytes.splice(bytes.len() / 2..bytes.len() / 2, short);
        if let Some(byte) = wide.and_then(|at| bytes.get_mut(at)) {
            *byte = 0xc3;
        }
        for mut batch in batches() {
            let (mut chain, mut expected) = (ShingleChain::default(), ShingleChain::default());
            let (mut at, mut letters) = (0, 0);
            loop {
                let (taken, of_these) = batch.push_blocks(&bytes[at..]);
                let (words, in_words) = words_of(&bytes[at..at + taken]);
                prop_assert_eq!(of_these, in_words);
                let is_over = !batch.is_full();
                let chosen = batch.join(&mut chain);
                prop_assert_eq!(chosen, &one_by_one(&words, &mut expected)[..]);
                prop_assert_eq!(chain, expected);
                (at, letters) = (at + taken, letters + of_these);
                if is_over {
                    break;
                }
            }
            // No word continues after the taken bytes. Bytes are left only before a block that is
            // all letters, or not ASCII.
            let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            prop_assert!(at == 0 || !is_letter(&bytes[at - 1]) || !is_letter(&bytes[at]));
            if letters > 0 && let Some(block) = bytes[at..].first_chunk::<BLOCK>() {
                prop_assert!(block.iter().all(is_letter) || !block.is_ascii());
            }
        }
    }
}

#[test]
fn runs_of_more_letters_are_long() {
    for length in 1..=40 {
        for from in 0..BLOCK - length {
            let run = ((1 << length) - 1) << from;
            let long = (length > MOST_LETTERS).then_some(from);
            assert_eq!(first_long_run(run), long, "{length} at {from}");
        }
    }
}
