//! Tests files whose end is missing or damaged. Everything before the damage must be read, and the
//! damage must be reported.

use std::io::Write;

use resemble_testutil::random::noise;

use crate::archives::{ar_member, bzip2, xz};
use crate::pieces::{
    Entry, Pieces, deflated, gzip, limits, sample, stored, take, take_within, tar, zip,
};
use resemble_extract::Limits;
use resemble_testutil::office::dated_docx;

const MISSING: &str = ": damaged: the last bytes are missing";

#[test]
fn of_a_truncated_stream_all_that_the_decoder_has_is_kept() {
    // Four of eight bits of each byte are random, so the bytes can be compressed.
    let content: Vec<u8> = noise(3, 400_000).iter().map(|b| b'a' + (b & 15)).collect();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
    xz.write_all(&content).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(&content[..], level);
    // A block of Zstandard is decoded as a whole. It has at most 128 KiB.
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

/// Checks that the expected bytes are read from a damaged stream, and that one fault is reported.
fn check_damaged(what: &str, bytes: &[u8], content: &[u8]) {
    let pieces = take("a.x", bytes).unwrap_or_else(|why| panic!("{what}: {why}"));
    assert!(pieces.bytes_of("[]") == content, "{what}");
    let skips = pieces.skips();
    assert!(
        skips.len() == 1 && skips[0].starts_with(": damaged: "),
        "{what}: {skips:?}"
    );
}

#[test]
fn a_stream_with_a_wrong_check_sum_is_kept() {
    let long: Vec<u8> = noise(4, 90_000).iter().map(|b| b'a' + (b & 15)).collect();
    for content in [DECODED, &long] {
        let flipped = |bytes: &[u8], at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1;
            bytes
        };
        let gz = gzip(content);
        let (sum, length) = (gz.len() - 8, gz.len() - 1);
        check_damaged("check sum of gz", &flipped(&gz, sum), content);
        check_damaged("length in gz", &flipped(&gz, length), content);
        // The check sum of the first block follows the mark of the file and the mark of the block.
        check_damaged("bz2", &flipped(&bzip2(content), 10), content);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(content, level);
        check_damaged("zst", &flipped(&zstd, zstd.len() - 1), content);
        // No stream is read after a damaged stream.
        let followed = [flipped(&gz, sum), gz.clone()].concat();
        check_damaged("followed gz", &followed, content);
        let second = [&gz[..], &flipped(&gz, sum)].concat();
        check_damaged("second gz", &second, &content.repeat(2));
    }
}

#[test]
fn a_stream_that_is_damaged_in_the_middle_is_kept_up_to_there() {
    let content = noise(5, 250_000);
    // This gzip has stored blocks. A block of a kind that does not exist follows them.
    for length in [40, 30_000, 60_000] {
        let mut gz = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
        for block in content[..2 * length].chunks(length) {
            gz.push(0);
            gz.extend((length as u16).to_le_bytes());
            gz.extend((!(length as u16)).to_le_bytes());
            gz.extend(block);
        }
        gz.extend(b"\x07and more");
        check_damaged("gz", &gz, &content[..2 * length]);
        let second = [gzip(DECODED), gz].concat();
        let both = [DECODED, &content[..2 * length]].concat();
        check_damaged("second gz", &second, &both);
        let skips = take("a.x", &second).unwrap().skips();
        assert_eq!(skips, [": damaged: corrupt deflate stream"]);
    }
    // Most of the damaged chunk is kept.
    let letters: Vec<u8> = content[..60_000].iter().map(|b| b'a' + (b & 15)).collect();
    let mut damaged = xz(&letters);
    let at = damaged.len() * 9 / 10;
    damaged[at] ^= 0x55;
    let pieces = take("a.xz", &damaged).unwrap();
    let kept = pieces.bytes_of("[]").len();
    assert!(kept > 50_000, "{kept}");
    assert!(letters[..50_000] == pieces.bytes_of("[]")[..50_000]);
    assert_eq!(pieces.skips().len(), 1);
    // A block of these bzip2 files has 100,000 bytes. The second block is damaged.
    let mut bz2 = bzip2(&content);
    let middle = bz2.len() / 2;
    bz2[middle] ^= 1;
    let pieces = take("a.bz2", &bz2).unwrap();
    assert!(pieces.bytes_of("[]").starts_with(&content[..99_000]));
    assert_eq!(pieces.skips(), [": damaged: bzip2: invalid data"]);
}

#[test]
fn of_the_last_member_of_a_truncated_archive_all_that_is_there_is_kept() {
    let long = noise(6, 100_000);
    let members: [(&[u8], &[u8]); 2] = [(b"a", DECODED), (b"b", &long)];
    let ar = [
        b"!<arch>\n".to_vec(),
        ar_member("a", DECODED),
        ar_member("b", &long),
    ];
    // A tar ends with two blocks without data. Its last member is filled up to the end of a block.
    for (name, bytes, behind) in [("tar", tar(&members), 1024 + 352), ("ar", ar.concat(), 0)] {
        for missing in [1, 40, 60_000, 90_000] {
            let pieces = take("x", &bytes[..bytes.len() - behind - missing]).unwrap();
            let what = format!("{name} -{missing}");
            assert_eq!(pieces.paths(), ["a", "b"], "{what}");
            let there = &long[..long.len() - missing];
            assert!(pieces.bytes_of("b") == there, "{what}");
            assert_eq!(pieces.skips(), [format!("b{MISSING}")], "{what}");
        }
        let pieces = take("x", &bytes[..bytes.len() - behind - long.len()]).unwrap();
        assert_eq!(pieces.paths(), ["a"], "{name}");
        assert_eq!(pieces.skips(), [format!("b{MISSING}")], "{name}");
    }
}

#[test]
fn a_truncated_member_is_taken_apart() {
    let content: Vec<u8> = noise(7, 60_000).iter().map(|b| b'a' + (b & 15)).collect();
    let inner = gzip(&tar(&[(b"b", &content)]));
    let outer = tar(&[(b"a.tgz", &inner)]);
    let pieces = take("x.tar", &outer[..512 + inner.len() / 2]).unwrap();
    assert_eq!(
        pieces.paths(),
        ["a.tgz", "a.tgz![a.tar]", "a.tgz![a.tar]!b"]
    );
    assert_eq!(pieces.bytes_of("a.tgz"), &inner[..inner.len() / 2]);
    let read = pieces.bytes_of("a.tgz![a.tar]!b");
    assert!(
        read.len() > 25_000 && content.starts_with(read),
        "{}",
        read.len()
    );
    let expected = ["a.tgz", "a.tgz!b"].map(|path| format!("{path}{MISSING}"));
    assert_eq!(pieces.skips(), expected);
}

/// Returns the offset behind the last entry of a zip, where its directory begins.
fn end_of_entries(zip: &[u8]) -> usize {
    let end = zip.len() - 22;
    let length: [u8; 4] = zip[end + 12..end + 16].try_into().unwrap();
    end - u32::from_le_bytes(length) as usize
}

/// Returns the expected reports about a truncated zip whose last entry is also truncated.
fn missing_in(last: &str) -> [String; 2] {
    [last, ""].map(|path| format!("{path}{MISSING}"))
}

#[test]
fn the_entries_of_a_truncated_zip_are_read_up_to_the_cut() {
    let long: Vec<u8> = noise(8, 90_000).iter().map(|b| b'a' + (b & 15)).collect();
    let described = |entry: Entry| Entry {
        described: true,
        ..entry
    };
    let entries = [
        deflated("a", DECODED),
        stored("d/", b""),
        described(stored("b", &long)),
        described(deflated("c", DECODED)),
        stored("PK", b"of PK\x03\x04PK\x07\x08PK\x05\x06"),
        deflated("é", &long),
    ];
    let bytes = zip(&entries);
    let end = end_of_entries(&bytes);
    // The end of the zip is missing, from the directory on.
    for cut in [end, end + 1, end + 60, bytes.len() - 20] {
        let pieces = take("x", &bytes[..cut]).unwrap();
        assert_eq!(pieces.paths(), ["a", "b", "c", "PK", "é"], "{cut}");
        for (path, content) in [("a", DECODED), ("b", &long), ("c", DECODED), ("é", &long)] {
            assert!(pieces.bytes_of(path) == content, "{path} {cut}");
        }
        assert_eq!(pieces.skips(), [MISSING], "{cut}");
    }
    // The last entry is truncated. Its sizes are stored before or after its data.
    for last in [
        deflated("z", &long),
        stored("z", &long),
        described(deflated("z", &long)),
        described(stored("z", &long)),
    ] {
        let what = format!("{} {}", last.method, last.described);
        let bytes = zip(&[deflated("a", DECODED), last.clone()]);
        let end = end_of_entries(&bytes) - if last.described { 16 } else { 0 };
        let pieces = take("x", &bytes[..end - last.data.len() / 2]).unwrap();
        assert_eq!(pieces.paths(), ["a", "z"], "{what}");
        let read = pieces.bytes_of("z");
        assert!(read.len() > 40_000 && long.starts_with(read), "{what}");
        assert_eq!(pieces.skips(), missing_in("z"), "{what}");
        // First, only the header of the last entry is left. Then only a part of the header is left.
        let pieces = take("x", &bytes[..end - last.data.len()]).unwrap();
        assert_eq!(pieces.paths(), ["a"], "{what}");
        assert_eq!(pieces.skips(), missing_in("z"), "{what}");
        let pieces = take("x", &bytes[..end - last.data.len() - 4]).unwrap();
        assert_eq!(pieces.paths(), ["a"], "{what}");
        assert_eq!(pieces.skips(), [MISSING], "{what}");
    }
}

#[test]
fn truncated_zips_that_other_programs_wrote_are_read() {
    for name in ["zip64.zip", "lzma.zip", "bzip2.zip", "piped.zip"] {
        let bytes = sample(name);
        let directory = memchr::memmem::rfind(&bytes, b"PK\x01\x02").unwrap();
        let pieces = take(name, &bytes[..directory]).unwrap();
        assert_eq!(pieces.paths(), ["water.txt"], "{name}");
        assert_eq!(pieces.bytes_of("water.txt"), sample("water.txt"), "{name}");
        assert_eq!(pieces.skips(), [MISSING], "{name}");
    }
}

#[test]
fn the_directory_of_an_inner_zip_is_not_that_of_a_truncated_one() {
    let inner = zip(&[stored("x", DECODED)]);
    let long = noise(9, 9000);
    for last in [stored("z", &long), stored("inner.zip", &inner)] {
        let bytes = zip(&[
            stored("a", DECODED),
            stored("one.zip", &inner),
            last.clone(),
        ]);
        let pieces = take("x", &bytes[..end_of_entries(&bytes) - 5]).unwrap();
        let name = String::from_utf8_lossy(&last.name);
        let mut expected = vec!["a", "one.zip", "one.zip!x", &name];
        if name == "inner.zip" {
            expected.push("inner.zip!x");
        }
        assert_eq!(pieces.paths(), expected);
        let skips = [format!("{name}{MISSING}"), MISSING.to_owned()];
        assert_eq!(pieces.skips(), skips);
    }
}

#[test]
fn of_a_truncated_document_the_text_before_the_cut_is_kept() {
    let words: Vec<String> = (0..9000).map(|number| format!("word{number}\n")).collect();
    let words = words.concat();
    let docx = dated_docx(&words, "2024-03-05T10:22:33Z");
    let whole = take("a.docx", &docx).unwrap();
    assert_eq!(whole.paths(), ["*"]);
    let cut = take("a.docx", &docx[..end_of_entries(&docx)]).unwrap();
    assert_eq!(cut.bytes_of("*"), whole.bytes_of("*"));
    assert_eq!(cut.skips(), [MISSING]);
    assert_eq!(cut.date, whole.date);
    // The part with the words is truncated.
    let body = memchr::memmem::find_iter(&docx, b"word/document.xml")
        .find(|&at| docx[at - 30..].starts_with(b"PK\x03\x04"))
        .unwrap();
    let size = u32::from_le_bytes(docx[body - 12..body - 8].try_into().unwrap());
    let cut = take("a.docx", &docx[..body + size as usize / 2]).unwrap();
    let text = cut.bytes_of("*").trim_ascii_end();
    assert!(text.len() > 30_000 && whole.bytes_of("*").starts_with(text));
    assert_eq!(cut.skips(), [MISSING]);
}

#[test]
fn limits_hold_for_truncated_zips() {
    let bytes = zip(&[("a", 9), ("b", 9), ("c", 9)].map(|(name, byte)| stored(name, &[byte; 9])));
    let few = Limits {
        parts: 2,
        ..limits()
    };
    let pieces = take_within(few, "x", &bytes[..end_of_entries(&bytes)]).unwrap();
    assert_eq!(pieces.paths(), ["a", "b"]);
    assert_eq!(pieces.skips(), [": holds too many files"]);
    let zeros = vec![0; 30 << 20];
    let described = Entry {
        described: true,
        ..deflated("bomb", &zeros)
    };
    let bytes = zip(&[described, stored("a", DECODED)]);
    let pieces = take("x", &bytes[..end_of_entries(&bytes)]).unwrap();
    assert_eq!(pieces.paths(), ["a"]);
    let skips = ["bomb: expands too much", MISSING];
    assert_eq!(pieces.skips(), skips);
}

/// The words that the parts of the mail have, in base64.
const WORDS: &str = "VGhlIGNvbXBvc3QgaGVhcCBpcyBub3QgZm9yIHBsYXN0aWMgZmxvd2Vycy4K";
const DECODED: &[u8] = b"The compost heap is not for plastic flowers.\n";

/// Takes apart a mail whose last part has these headers. The mail ends with `end` after this part.
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
