//! Tests files whose end is missing: everything that is there is read, and the rest is reported.

use std::io::Write;

use resemble_testutil::random::noise;

use crate::pieces::{Pieces, take};

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

/// The words that the parts of the mail have, in base64.
const WORDS: &str = "VGhlIGNvbXBvc3QgaGVhcCBpcyBub3QgZm9yIHBsYXN0aWMgZmxvd2Vycy4K";
const DECODED: &[u8] = b"The compost heap is not for plastic flowers.\n";

/// Takes a mail apart whose last part has these headers, and which ends with `end` after it.
fn mail(headers: &str, end: &str) -> Pieces {
    let mail = format!(
        "From: a@b\nSubject: offer\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=\"out\"\n\n\
         --out\nContent-Type: multipart/alternative; boundary=\"in\"\n\n\
         --in\nContent-Type: text/plain\n\nhello\n\
         --in\n{headers}Content-Transfer-Encoding: base64\n\n{WORDS}\n{end}"
    );
    take("x.eml", mail.as_bytes()).unwrap()
}

#[test]
fn the_last_part_of_a_truncated_mail_is_decoded() {
    let file = "Content-Type: application/octet-stream\n\
                Content-Disposition: attachment; filename=offer.bin\n";
    let whole = mail(file, "--in--\n--out--\n");
    assert_eq!(whole.paths(), ["*", "offer.bin"]);
    assert_eq!(whole.skips(), [""; 0]);
    for end in ["", "-", "--", "--i", "--in", "--in-", "--in--", "--in--\n"] {
        let pieces = mail(file, end);
        assert_eq!(pieces.paths(), ["*", "offer.bin"], "{end}");
        assert_eq!(pieces.bytes_of("offer.bin"), DECODED, "{end}");
        assert_eq!(pieces.skips(), [MISSING], "{end}");
    }
    let plain = mail("Content-Type: text/plain; charset=utf-8\n", "");
    assert_eq!(plain.paths(), ["*"]);
    let text = String::from_utf8_lossy(plain.bytes_of("*"));
    assert!(
        text.contains("hello") && text.contains("compost heap"),
        "{text}"
    );
    assert_eq!(plain.skips(), [MISSING]);
}

#[test]
fn a_truncated_mail_in_a_mailbox_is_reported_under_its_name() {
    let mbox = "From a@b Thu Jan  1 10:00:00 2026\nSubject: one\n\nwords\n\n\
                From a@b Thu Jan  1 11:00:00 2026\nSubject: two\nMIME-Version: 1.0\n\
                Content-Type: multipart/mixed; boundary=xx\n\n\
                --xx\nContent-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n\
                caf=C3=A9 and more=C";
    let pieces = take("x.mbox", mbox.as_bytes()).unwrap();
    assert_eq!(pieces.paths(), ["1 one", "1 one!*", "2 two", "2 two!*"]);
    let text = String::from_utf8_lossy(pieces.bytes_of("2 two!*"));
    assert!(text.contains("caf\u{e9} and more"), "{text}");
    assert_eq!(
        pieces.skips(),
        ["2 two: damaged: the last bytes are missing"]
    );
}
