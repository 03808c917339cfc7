//! Tests files whose end is missing: everything that is there is read, and the rest is reported.

use std::io::Write;

use resemble_testutil::random::noise;

use crate::pieces::take;

const MISSING: &str = ": damaged: the last bytes are missing";

#[test]
fn of_a_truncated_stream_all_that_the_decoder_has_is_kept() {
    // Four of eight bits of each byte are random, so the bytes can be compressed.
    let content: Vec<u8> = noise(3, 400_000).iter().map(|b| b'a' + (b & 15)).collect();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
    xz.write_all(&content).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(&content[..], level);
    // A block of Zstandard is decoded as a whole, and has at most 128 KiB.
    for (name, bytes, most_lost) in [
        ("xz", xz.finish().unwrap(), 10_000),
        ("zst", zstd, 128 << 10),
    ] {
        for missing in [50, bytes.len() / 4] {
            let cut = &bytes[..bytes.len() - missing];
            let pieces = take("a.x", cut).unwrap();
            let read = pieces.bytes_of("[]");
            assert!(content.starts_with(read), "{name} -{missing}");
            // The compressed bytes have about half of the length of the content.
            let there = content.len() * cut.len() / bytes.len();
            let least = there - most_lost;
            assert!(read.len() >= least, "{name} -{missing}: {}", read.len());
            assert_eq!(pieces.skips(), [MISSING], "{name} -{missing}");
        }
    }
}
