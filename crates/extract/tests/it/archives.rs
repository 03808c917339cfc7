//! Tests archives, compressed files, and archives within archives.

use std::io::Write;

use crate::pieces::{
    Entry, applies, deflated, entry, gzip, limits, sample, stored, take, take_within, tar, zip,
    zip_times,
};
use resemble_extract::{Bound, Limits, Skipped};
use resemble_testutil::random::Random;

const TEXT: &[u8] = b"The compost heap is not for plastic flowers.\n";

pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::default();
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_files_hold_one_thing() {
    for (name, bytes) in [
        ("gz", gzip(TEXT)),
        ("bz2", bzip2(TEXT)),
        ("xz", xz(TEXT)),
        ("zst", zstd(TEXT)),
    ] {
        let pieces = take("a.x", &bytes).unwrap();
        assert_eq!(pieces.paths(), ["[]"], "{name}");
        assert_eq!(pieces.bytes_of("[]"), TEXT, "{name}");
        // Several consecutive streams are one content.
        let twice = [&bytes[..], &bytes].concat();
        let pieces = take("a.x", &twice).unwrap();
        assert_eq!(pieces.bytes_of("[]"), TEXT.repeat(2), "{name}");
    }
}

/// Returns the names, the bytes and the contents of compressed files. Each format has a short file
/// and a file of several blocks.
fn compressed() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let long = resemble_testutil::random::noise(5, 300_000);
    [TEXT, &long]
        .into_iter()
        .flat_map(|bytes| {
            [
                ("gz", gzip(bytes), bytes.to_vec()),
                ("bz2", bzip2(bytes), bytes.to_vec()),
                ("xz", xz(bytes), bytes.to_vec()),
                ("zst", zstd(bytes), bytes.to_vec()),
            ]
        })
        .collect()
}

#[test]
fn what_is_cut_off_counts_up_to_there_and_is_reported() {
    for (name, bytes, content) in compressed() {
        for missing in [1, 3, 5, 8, bytes.len() / 2, bytes.len() - 12] {
            let cut = &bytes[..bytes.len() - missing];
            let what = format!("{name} {} -{missing}", bytes.len());
            match take("a.x", cut) {
                Ok(pieces) => {
                    assert!(content.starts_with(pieces.bytes_of("[]")), "{what}");
                    assert_eq!(
                        pieces.skips(),
                        [": damaged: the last bytes are missing"],
                        "{what}"
                    );
                }
                // The file is cut so early that nothing was unpacked.
                Err(why) => {
                    assert!(missing > 3 || name != "gz", "{what}: {why}");
                    assert!(matches!(why, Skipped::Damaged(_)), "{what}: {why}");
                }
            }
        }
    }
    // The last eight bytes of a gzip are used only to check the content. If they are missing, no
    // content is lost.
    let bytes = gzip(TEXT);
    for missing in 1..=8 {
        let pieces = take("a.gz", &bytes[..bytes.len() - missing]).unwrap();
        assert_eq!(pieces.bytes_of("[]"), TEXT, "{missing}");
    }
    // If a `tar.gz` is truncated, the tar's members are read up to the cut.
    let long = resemble_testutil::random::noise(1, 9000);
    let bytes = gzip(&tar(&[(b"a", TEXT), (b"b", &long)]));
    let pieces = take("x.tgz", &bytes[..bytes.len() - 3000]).unwrap();
    assert_eq!(pieces.paths(), ["[]", "[]!a", "[]!b"]);
    let read = pieces.bytes_of("[]!b");
    assert!(
        read.len() > 5000 && long.starts_with(read),
        "{}",
        read.len()
    );
    let missing = ["", "b"].map(|path| format!("{path}: damaged: the last bytes are missing"));
    assert_eq!(pieces.skips(), missing);
}

#[test]
fn what_follows_the_last_stream_is_left_out() {
    for (name, bytes, content) in compressed() {
        let zeros = vec![0; 70_000];
        let padded = [&bytes[..], &zeros].concat();
        let pieces = take("a.x", &padded).unwrap();
        assert_eq!(pieces.bytes_of("[]"), content, "{name}");
        assert_eq!(pieces.skipped, [], "{name}");
        // A stream that follows padding belongs to the content.
        let twice = [&bytes[..], &[0; 8], &bytes].concat();
        let pieces = take("a.x", &twice).unwrap();
        assert_eq!(pieces.bytes_of("[]"), content.repeat(2), "{name}");
        assert_eq!(pieces.skipped, [], "{name}");
        // Bytes after the last stream are reported, even if they begin like a stream.
        let like = [&bytes[..10], &[0xff; 20]].concat();
        for more in [&b"junk"[..], b"\n", b"\0\0signature", &like] {
            let followed = [&bytes[..], more].concat();
            let pieces = take("a.x", &followed).unwrap();
            assert_eq!(pieces.bytes_of("[]"), content, "{name} {more:?}");
            assert_eq!(pieces.skipped.len(), 1, "{name} {more:?}");
        }
    }
    // Skippable frames between other frames are skipped.
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let frames = [skipped.clone(), zstd(TEXT), skipped, zstd(TEXT)].concat();
    assert_eq!(
        take("a.zst", &frames).unwrap().bytes_of("[]"),
        TEXT.repeat(2)
    );
}

#[test]
fn a_check_sum_that_is_wrong_is_damage() {
    let mut wrong = deflated("bad.txt", TEXT);
    wrong.crc ^= 1;
    let pieces = take("x", &zip(&[wrong, deflated("good.txt", TEXT)])).unwrap();
    assert_eq!(pieces.paths(), ["bad.txt", "good.txt"]);
    assert_eq!(pieces.bytes_of("bad.txt"), TEXT);
    assert_eq!(pieces.skipped.len(), 1);
    assert_eq!(pieces.skipped[0].0, b"bad.txt");
    assert!(matches!(pieces.skipped[0].1, Skipped::Damaged(_)));
}

#[test]
fn zips_have_their_members_in_the_order_of_the_directory() {
    let encrypted = Entry {
        flags: 1,
        ..deflated("secret.txt", TEXT)
    };
    let described = Entry {
        described: true,
        ..deflated("streamed.txt", TEXT)
    };
    let entries = [
        stored("dir/", b""),
        deflated("dir/b.txt", TEXT),
        stored("../../etc/a.txt", b"one"),
        stored("../../etc/a.txt", b"two"),
        described,
        encrypted,
        entry("bz", 12, TEXT, bzip2(TEXT)),
        entry("zs", 93, TEXT, zstd(TEXT)),
        entry("xz", 95, TEXT, xz(TEXT)),
        entry("odd", 97, TEXT, TEXT.to_vec()),
        stored("empty", b""),
    ];
    let pieces = take("x", &zip(&entries)).unwrap();
    assert_eq!(
        pieces.paths(),
        [
            "dir/b.txt",
            "../../etc/a.txt",
            "../../etc/a~2.txt",
            "streamed.txt",
            "bz",
            "zs",
            "xz",
            "empty"
        ]
    );
    let same = ["dir/b.txt", "streamed.txt", "bz", "zs", "xz"];
    for path in same {
        assert_eq!(pieces.bytes_of(path), TEXT, "{path}");
    }
    assert_eq!(pieces.all[2].bytes, b"two");
    assert_eq!(
        pieces.skips(),
        [
            "secret.txt: encrypted",
            "odd: unsupported: compressed by method 97"
        ]
    );
}

#[test]
fn zips_that_other_programs_wrote_are_read() {
    // Python and Info-ZIP wrote these archives. They use zip64, LZMA and bzip2. One was written to
    // a pipe.
    for name in ["zip64.zip", "lzma.zip", "bzip2.zip", "piped.zip"] {
        let pieces = take(name, &sample(name)).unwrap();
        assert_eq!(pieces.paths(), ["water.txt"], "{name}");
        assert_eq!(pieces.bytes_of("water.txt"), sample("water.txt"), "{name}");
    }
    let why = take("x", &sample("encrypted.zip")).unwrap_err();
    assert_eq!(why, Skipped::Encrypted);
}

#[test]
fn names_are_read_in_the_code_page_of_the_archive() {
    let named = |name: &[u8]| Entry {
        name: name.to_vec(),
        ..stored("", TEXT)
    };
    // Most programs write names in code page 437, as PKZIP does.
    let names = [
        &b"Gr\x81\xe1e/an alle.txt"[..],
        b"\x99l und B\x84ume.txt",
        b"plain.txt",
    ];
    let pieces = take("x", &zip(&names.map(named))).unwrap();
    let expected = ["Grüße/an alle.txt", "Öl und Bäume.txt", "plain.txt"];
    assert_eq!(pieces.paths(), expected);
    // Info-ZIP's extra field has a UTF-8 name. This name is used only if the field has the check
    // sum of the name in the entry.
    let mut sum = flate2::Crc::new();
    sum.update(names[0]);
    let mut extra = b"\x75\x70\x10\0\x01".to_vec();
    extra.extend(sum.sum().to_le_bytes());
    extra.extend("Łódź.txt".as_bytes());
    let with = Entry {
        extra: extra.clone(),
        ..named(names[0])
    };
    let without = Entry {
        extra,
        ..named(b"other.txt")
    };
    let pieces = take("x", &zip(&[with, without])).unwrap();
    assert_eq!(pieces.paths(), ["Łódź.txt", "other.txt"]);
    // This name in a tar is in Windows-1251.
    let name = b"\xc4\xee\xea\xf3\xec\xe5\xed\xf2\xfb/\xcf\xe8\xf1\xfc\xec\xee.txt";
    let pieces = take("x", &tar(&[(name, TEXT)])).unwrap();
    assert_eq!(pieces.paths(), ["Документы/Письмо.txt"]);
}

#[test]
fn zips_behind_programs_and_scripts_are_read() {
    let zip = zip(&[deflated("a.txt", TEXT), stored("b.txt", b"two")]);
    let script = b"#!/bin/sh\nexec unzip \"$0\"\nexit\n".to_vec();
    let long_script = [&script[..], &b"# a comment\n".repeat(900)].concat();
    let program = [&b"\x7fELF"[..], &[1; 12], &[2, 0], &vec![1; 50_000]].concat();
    let windows = [&b"MZ\x90\0"[..], &vec![2; 9000]].concat();
    for (what, stub) in [
        ("script", script),
        ("long script", long_script),
        ("program", program),
        ("program of Windows", windows),
        (
            "extension of a browser",
            b"Cr24\x03\0\0\0\x04\0\0\0sign".to_vec(),
        ),
        ("a.zip", b"mail that a zip is in\n".to_vec()),
    ] {
        for relative in [true, false] {
            let mut bytes = [&stub[..], &zip].concat();
            if !relative {
                shift(&mut bytes, stub.len());
            }
            // In a program, a signature may follow the zip.
            for end in [&b""[..], b"\0certificate"] {
                let bytes = [&bytes[..], end].concat();
                let pieces = take(what, &bytes).unwrap();
                assert_eq!(pieces.paths(), ["a.txt", "b.txt"], "{what} {relative}");
                assert_eq!(pieces.bytes_of("a.txt"), TEXT, "{what} {relative}");
                assert_eq!(pieces.skipped, [], "{what} {relative}");
            }
        }
        // Most programs contain no archive, even if the marks of a zip occur in them.
        let without = [&stub[..], b"PK\x03\x04 PK\x01\x02 PK\x05\x06", &[7; 90]].concat();
        let pieces = take(what, &without).unwrap();
        assert_eq!(
            (pieces.paths().len(), pieces.skipped.len()),
            (0, 0),
            "{what}"
        );
        for (bytes, expected) in [(&without, false), (&[&stub[..], &zip].concat(), true)] {
            assert_eq!(applies(what, bytes), expected, "{what}");
        }
    }
    // A program that is a member of an archive is also searched for a zip.
    let bytes = [&b"MZ\x90\0"[..], &vec![2; 9000], &zip].concat();
    let pieces = take(
        "x",
        &tar(&[
            (b"setup.exe", &bytes),
            (b"true", b"\x7fELF123456789012\x03\0"),
        ]),
    )
    .unwrap();
    assert_eq!(
        pieces.paths(),
        ["setup.exe", "setup.exe!a.txt", "setup.exe!b.txt", "true"]
    );
    assert_eq!(pieces.skipped, []);
}

/// Adds the length of the bytes before a zip to all offsets in the zip.
fn shift(bytes: &mut [u8], by: usize) {
    for at in 0..bytes.len() - 20 {
        let at = match &bytes[at..at + 4] {
            b"PK\x01\x02" => at + 42,
            b"PK\x05\x06" => at + 16,
            _ => continue,
        };
        let field: &mut [u8; 4] = (&mut bytes[at..at + 4]).try_into().unwrap();
        *field = (u32::from_le_bytes(*field) + by as u32).to_le_bytes();
    }
}

#[test]
fn what_is_not_supported_is_not_called_damaged() {
    let rar = b"Rar!\x1a\x07\x01\0 and more";
    let why = Skipped::Unsupported("rar".to_owned());
    assert_eq!(take("x.rar", rar).unwrap_err(), why);
    let pieces = take("x", &zip(&[stored("a.rar", rar), stored("b", TEXT)])).unwrap();
    assert_eq!(pieces.paths(), ["a.rar", "b"]);
    assert_eq!(pieces.skips(), ["a.rar: unsupported: rar"]);
    // A frame that needs a dictionary is unsupported.
    let frame = b"\x28\xb5\x2f\xfd\x21\x07\x04\x21\0\0text";
    let why = take("x.zst", frame).unwrap_err();
    assert!(matches!(why, Skipped::Unsupported(_)), "{why}");
}

#[test]
fn tars_have_their_regular_files() {
    let long = "d/".repeat(90) + "long.txt";
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(TEXT.len() as u64);
    builder.append_data(&mut header, &long, TEXT).unwrap();
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    builder
        .append_link(&mut link, "link", "/etc/passwd")
        .unwrap();
    let tar_bytes = builder.into_inner().unwrap();
    let pieces = take("x", &tar_bytes).unwrap();
    assert_eq!(pieces.paths(), [long]);
    // Names of members can be any bytes.
    let odd = tar(&[(b"\xff\xfe/../x", TEXT)]);
    assert_eq!(take("x", &odd).unwrap().all[0].part.name, b"\xff\xfe/../x");
}

/// Makes a member of an `ar` archive.
pub(crate) fn ar_member(name: &str, bytes: &[u8]) -> Vec<u8> {
    let size = bytes.len();
    let header = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n",
        0, 0, 0, "100644"
    );
    let end = if size % 2 == 1 { "\n" } else { "" };
    [header.as_bytes(), bytes, end.as_bytes()].concat()
}

#[test]
fn static_libraries_and_packages_are_archives() {
    let ar = [
        b"!<arch>\n".to_vec(),
        ar_member("debian-binary", b"2.0\n"),
        ar_member("//", b"a_very_long_name.txt/\n"),
        ar_member("/0", TEXT),
        ar_member("#1/7", b"bsd.txtBSD"),
        ar_member("data.tar.gz/", &gzip(&tar(&[(b"usr/x", TEXT)]))),
    ]
    .concat();
    let pieces = take("x", &ar).unwrap();
    assert_eq!(
        pieces.paths(),
        [
            "debian-binary",
            "a_very_long_name.txt",
            "bsd.txt",
            "data.tar.gz",
            "data.tar.gz![data.tar]",
            "data.tar.gz![data.tar]!usr/x"
        ]
    );
    assert_eq!(pieces.bytes_of("bsd.txt"), b"BSD");
    assert_eq!(pieces.bytes_of("a_very_long_name.txt"), TEXT);
}

/// Makes a mail that has one attachment.
fn mail(name: &str, bytes: &[u8]) -> Vec<u8> {
    let hex: String = bytes
        .iter()
        .map(|byte| format!("={byte:02X}"))
        .collect::<Vec<_>>()
        .chunks(20)
        .map(|line| line.concat() + "=\r\n")
        .collect();
    format!(
        "From: a@b\r\n\
         Message-ID: <1>\r\n\
         Subject: report\r\n\
         MIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=xx\r\n\
         \r\n\
         --xx\r\n\
         Content-Type: text/plain\r\n\
         \r\n\
         see there\r\n\
         --xx\r\n\
         Content-Type: application/zip\r\n\
         Content-Disposition: attachment; filename={name}\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\
         \r\n\
         {hex}\r\n\
         --xx--\r\n"
    )
    .into_bytes()
}

#[test]
fn a_document_in_a_zip_in_a_mail_in_a_tar_gz_is_found() {
    let report = zip(&[
        deflated("minutes.docx", &sample("minutes.docx")),
        stored("a.txt", TEXT),
    ]);
    let bundle = gzip(&tar(&[
        (b"box/mail.eml", &mail("report.zip", &report)),
        (b"a.txt", TEXT),
    ]));
    let pieces = take("bundle.tar.gz", &bundle).unwrap();
    assert_eq!(pieces.skipped, []);
    assert_eq!(
        pieces.paths(),
        [
            "[]",
            "[]!box/mail.eml",
            "[]!box/mail.eml!*",
            "[]!box/mail.eml!report.zip",
            "[]!box/mail.eml!report.zip!minutes.docx",
            "[]!box/mail.eml!report.zip!minutes.docx!*",
            "[]!box/mail.eml!report.zip!a.txt",
            "[]!a.txt"
        ]
    );
    let docx = "[]!box/mail.eml!report.zip!minutes.docx";
    assert_eq!(pieces.bytes_of("[]!box/mail.eml!report.zip"), report);
    assert_eq!(pieces.bytes_of(docx), sample("minutes.docx"));
    assert!(
        pieces
            .bytes_of(&format!("{docx}!*"))
            .starts_with(b"Minutes of the yearly")
    );
}

#[test]
fn depth_is_a_bound_and_what_lies_deeper_is_told() {
    let mut bytes = zip(&[stored("a.txt", TEXT)]);
    for _ in 0..50 {
        bytes = zip(&[stored("n.zip", &bytes), stored("b.txt", TEXT)]);
    }
    for depth in [1, 3] {
        let pieces = take_within(Limits { depth, ..limits() }, "x", &bytes).unwrap();
        let deepest = vec!["n.zip"; depth as usize].join("!");
        assert_eq!(pieces.paths().len(), 2 * depth as usize);
        assert_eq!(pieces.skips(), [format!("{deepest}: nested too deeply")]);
        assert!(pieces.paths().contains(&"b.txt".to_owned()));
    }
    assert_eq!(
        take_within(
            Limits {
                depth: 0,
                ..limits()
            },
            "x",
            &bytes
        )
        .unwrap_err(),
        Skipped::TooMuch(Bound::Depth)
    );
    // The two levels of a `tar.gz` count as one level of archives. The first two levels of a file
    // that is compressed three times count as one level, too. The third level counts as a second
    // level.
    let one = Limits {
        depth: 1,
        ..limits()
    };
    let tgz = gzip(&tar(&[(b"a", TEXT)]));
    assert_eq!(take_within(one, "x", &tgz).unwrap().paths(), ["[]", "[]!a"]);
    let thrice = gzip(&gzip(&gzip(TEXT)));
    let pieces = take_within(one, "x", &thrice).unwrap();
    assert_eq!(pieces.paths(), ["[]", "[]![]"]);
    assert_eq!(pieces.skips(), [": nested too deeply"]);
}

#[test]
fn a_damaged_member_costs_itself_alone() {
    let mut broken = sample("minutes.docx");
    let middle = broken.len() / 2;
    broken[middle - 600..middle + 600].fill(0x55);
    let pdf = b"%PDF-1.4 nothing of the sort".to_vec();
    let entries = [
        stored("1.docx", &broken),
        stored("2.pdf", &pdf),
        stored("3.odt", &sample("minutes.odt")),
    ];
    let pieces = take("x", &zip(&entries)).unwrap();
    assert_eq!(pieces.paths(), ["1.docx", "2.pdf", "3.odt", "3.odt!*"]);
    assert_eq!(pieces.skipped.len(), 2);
    assert!(
        pieces
            .skipped
            .iter()
            .all(|(_, why)| matches!(why, Skipped::Damaged(_)))
    );
}

#[test]
fn parts_and_bytes_of_a_file_are_bounded_and_what_came_before_stays() {
    let names: Vec<String> = (0..40).map(|at| format!("{at}")).collect();
    let files: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), TEXT)).collect();
    let tar = tar(&files);
    let few = Limits {
        parts: 10,
        ..limits()
    };
    let pieces = take_within(few, "x", &tar).unwrap();
    assert_eq!(pieces.paths().len(), 10);
    assert_eq!(pieces.skips(), [": holds too many files"]);
    let little = Limits {
        bytes: 5 * TEXT.len() as u64,
        ..limits()
    };
    let pieces = take_within(little, "x", &tar).unwrap();
    assert_eq!(pieces.paths().len(), 5);
    assert_eq!(pieces.skips(), [": holds too many bytes"]);
    let many = zip_times(&[stored("a", TEXT)], 30);
    assert_eq!(
        take_within(few, "x", &many).unwrap().skips(),
        [": holds too many files"]
    );
}

#[test]
fn any_cut_and_any_flipped_bit_is_survived() {
    let zip = zip(&[
        deflated("minutes.docx", &sample("minutes.docx")),
        stored("a.txt", TEXT),
    ]);
    let samples = [
        zip,
        gzip(&tar(&[(b"a", TEXT)])),
        sample("minutes.rtf"),
        sample("water-groff.pdf"),
    ];
    let mut random = Random::new(7);
    for bytes in &samples {
        for _ in 0..12 {
            let at = 16 + random.below(bytes.len() - 16);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << random.below(8);
            for bytes in [&bytes[..at], &flipped] {
                // Damaged bytes may give an error, but no reader may crash, run out of time or send
                // frames out of order.
                if let Err(why) = take("x", bytes) {
                    assert!(
                        matches!(
                            why,
                            Skipped::Damaged(_)
                                | Skipped::Encrypted
                                | Skipped::Unread { .. }
                                | Skipped::TooMuch(_)
                        ),
                        "{why}"
                    );
                }
            }
        }
    }
}
