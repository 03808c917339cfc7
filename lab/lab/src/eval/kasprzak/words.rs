//! Measures the effect of other hashes (section 5) and of a dictionary (section 4.2).

use std::sync::Arc;

use resemble_methods::sorted5::ChunkHashing;
use resemble_methods::vocabulary::Dictionary;
use resemble_methods::{Features, Settings, Signer, select::select};

use super::super::{Clock, Section, Table};
use super::forms::{KNOWN, texts_with};
use super::{Corpus, arrays, lists, params, seconds, settings};
use crate::arrays::pairs;
use crate::error::LabError;
use crate::method::sorted::real_chunks;

/// The approximate number of distinct chunks in a bucket of the uniformity test.
const BUCKET: u64 = 256;

/// Counts chunks in 2^n buckets by the upper bits of their hashes. Returns the number of buckets,
/// and how much the counts differ from those of a random function. The difference is in standard
/// deviations of chi-square. For a good hash, the difference is between -4 and 4.
fn uniformity(chunks: &[u64]) -> (usize, f64) {
    let bits = (chunks.len() as u64 / BUCKET).max(2).ilog2();
    let mut counts = vec![0u32; 1 << bits];
    for chunk in chunks {
        counts[(chunk >> (64 - bits)) as usize] += 1;
    }
    let expected = chunks.len() as f64 / counts.len() as f64;
    let squares = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2));
    let chi = squares.sum::<f64>() / expected.max(1e-9);
    let freedom = counts.len() as f64 - 1.0;
    (counts.len(), (chi - freedom) / (2.0 * freedom).sqrt())
}

/// Compares MD5 with other hash functions.
pub(super) fn hashes(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let columns = [
        "hash",
        "seconds",
        "MB/s",
        "hashing alone, ns a chunk",
        "distinct chunks",
        "buckets",
        "chi-square, deviations",
    ];
    let mut table = Table::new("hashes", &columns);
    let bits = corpus.papers_bits();
    let mut fastest = f64::INFINITY;
    let mut rows = Vec::new();
    for hash in ChunkHashing::ALL {
        let params = params(bits, hash)?;
        let mut signer = Signer::new(&params);
        let mut spent = 0.0;
        let mut chunks = Vec::new();
        for text in &corpus.collection.texts {
            let start = clock();
            signer.update(&text.bytes);
            signer.finish();
            spent += clock() - start;
            chunks.extend(real_chunks(&params, &text.bytes));
        }
        chunks.sort_unstable();
        chunks.dedup();
        fastest = spent.min(fastest);
        rows.push((hash, spent, chunks.len(), uniformity(&chunks)));
    }
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (hash, spent, distinct, (buckets, deviations)) in rows {
        let list = if deviations.abs() <= 4.0 {
            &mut good
        } else {
            &mut bad
        };
        list.push(format!("{hash} ({deviations:+.1})"));
        table.row([
            hash.to_string(),
            seconds(spent),
            format!(
                "{:.1}",
                corpus.collection.bytes() as f64 / 1e6 / spent.max(1e-9)
            ),
            format!(
                "+{:.1}",
                (spent - fastest) * 1e9 / corpus.postings().max(1) as f64
            ),
            distinct.to_string(),
            buckets.to_string(),
            format!("{deviations:+.2}"),
        ]);
    }
    let list = |hashes: &[String]| match hashes {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    let text = format!(
        "Step 1 on one thread, {bits} bits; hashing alone is what is more than with the fastest. \
         MD5 hashes 256 chunks at a time, the others one by one. The distinct chunks are counted \
         in buckets by the upper bits of their hashes, and chi-square is compared with that of a \
         random function: within four standard deviations {}; outside {}. The paper: another hash \
         \"probably will not result in a meaningful improvement\".",
        list(&good),
        list(&bad)
    );
    Ok(Section::new("Other hashes (section 5)", text).table(table))
}

/// Measures the use of a dictionary (section 4.2): the set of words that several texts have.
pub(super) fn dictionary(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let texts_with = texts_with(&corpus.collection.texts);
    let all = texts_with.len();
    let mut known: Vec<&Box<[u8]>> = texts_with
        .iter()
        .filter(|(_, texts)| **texts >= KNOWN)
        .map(|(word, _)| word)
        .collect();
    known.sort_unstable();
    let dictionary = Arc::new(Dictionary::parse(
        &known
            .iter()
            .map(|word| &***word)
            .collect::<Vec<_>>()
            .join(&b'\n'),
    ));
    let mut table = Table::new(
        "dictionary",
        &[
            "words that count",
            "(chunk, document) pairs",
            "distinct chunks",
            "pairs above 1 %",
            "MB/s",
        ],
    );
    let with = settings(&Settings {
        bits: Some(corpus.bits()),
        dictionary: Some(Arc::clone(&dictionary)),
        ..Settings::default()
    })?;
    let mut counts = Vec::new();
    for (what, params) in [
        (
            format!("all {all}"),
            params(corpus.bits(), ChunkHashing::Md5)?,
        ),
        (format!("{} of the dictionary", dictionary.len()), with),
    ] {
        let start = clock();
        let texts = corpus.collection.texts.iter();
        let chunks: Vec<Vec<u64>> = texts
            .map(|text| real_chunks(&params, &text.bytes))
            .collect();
        let spent = clock() - start;
        let signatures: Vec<_> = chunks
            .iter()
            .map(|chunks| select(&params, &Features::of_values(chunks.iter().copied())))
            .collect();
        let (_, set) = arrays(corpus.scratch, "dictionary", corpus.bits(), &signatures, 1)?;
        let found = pairs(&set, &lists(&signatures), super::THRESHOLD)?;
        let postings: usize = chunks.iter().map(Vec::len).sum();
        counts.push(postings);
        let mut distinct: Vec<u64> = chunks.into_iter().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        table.row([
            what,
            postings.to_string(),
            distinct.len().to_string(),
            found.len().to_string(),
            format!(
                "{:.1}",
                corpus.collection.bytes() as f64 / 1e6 / spent.max(1e-9)
            ),
        ]);
    }
    let text = format!(
        "Words in at least {KNOWN} texts replace the paper's dictionary of 900,000 words. Words \
         that are not in it are left out, and their neighbours become neighbours of each other: \
         {} (chunk, document) pairs instead of {}.",
        counts[1], counts[0]
    );
    Ok(Section::new("A dictionary as a set (section 4.2)", text).table(table))
}

#[cfg(test)]
mod tests {
    use super::super::super::Random;
    use super::*;

    #[test]
    fn a_hash_with_a_constant_upper_bit_is_not_uniform() {
        let mut random = Random(1);
        let good: Vec<u64> = (0..1 << 16).map(|_| random.draw()).collect();
        let (buckets, deviations) = uniformity(&good);
        assert_eq!(buckets, 256);
        assert!(deviations.abs() < 4.0, "{deviations}");
        let half: Vec<u64> = good.iter().map(|hash| hash >> 1).collect();
        assert!(uniformity(&half).1 > 1000.0);
        // One chunk in thirty gets eight zero bits in front, so it moves to the first buckets.
        let skewed = good.iter().enumerate().map(|(at, &hash)| match at % 30 {
            0 => hash >> 8,
            _ => hash,
        });
        assert!(uniformity(&skewed.collect::<Vec<_>>()).1 > 4.0);
    }
}
