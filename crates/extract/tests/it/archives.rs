//! Archives, compressed files, and everything in one another.

use std::io::Write;

use crate::pieces::{
    Entry, deflated, entry, gzip, limits, sample, stored, take, take_within, tar, zip, zip_times,
};
use resemble_extract::{Bound, Limits, Skipped};
use resemble_testutil::random::Random;

const TEXT: &[u8] = b"The compost heap is not for plastic flowers.\n";

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
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
        // One stream after another is one content.
        let twice = [&bytes[..], &bytes].concat();
        let pieces = take("a.x", &twice).unwrap();
        assert_eq!(pieces.bytes_of("[]"), TEXT.repeat(2), "{name}");
        // What is cut off is damaged.
        let cut = &bytes[..bytes.len() - 5];
        let why = take("a.x", cut).unwrap_err();
        assert!(matches!(why, Skipped::Damaged(_)), "{name}: {why}");
    }
}

#[test]
fn what_follows_the_last_stream_is_left_out() {
    let padded = [gzip(TEXT), vec![0; 1000]].concat();
    assert_eq!(take("a.gz", &padded).unwrap().bytes_of("[]"), TEXT);
    // A frame to be skipped, between two that are not.
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let frames = [skipped.clone(), zstd(TEXT), skipped, zstd(TEXT)].concat();
    assert_eq!(
        take("a.zst", &frames).unwrap().bytes_of("[]"),
        TEXT.repeat(2)
    );
}

#[test]
fn a_check_sum_that_is_wrong_is_damage() {
    let mut bytes = gzip(TEXT);
    let at = bytes.len() - 8;
    bytes[at] ^= 1;
    assert!(matches!(take("a.gz", &bytes), Err(Skipped::Damaged(_))));
    let mut wrong = deflated("bad.txt", TEXT);
    wrong.crc ^= 1;
    let pieces = take("x", &zip(&[wrong, deflated("good.txt", TEXT)])).unwrap();
    assert_eq!(pieces.paths(), ["good.txt"]);
    assert_eq!(pieces.skipped.len(), 1);
    assert_eq!(pieces.skipped[0].0, b"bad.txt");
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
            "../../etc/a.txt",
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
            "odd: damaged: compressed by an unknown method, 97"
        ]
    );
}

#[test]
fn zips_that_other_programs_wrote_are_read() {
    // Made by Python and by Info-ZIP: more than 65,535 entries' worth of fields, LZMA, bzip2,
    // written to a pipe.
    for name in ["zip64.zip", "lzma.zip", "bzip2.zip", "piped.zip"] {
        let pieces = take(name, &sample(name)).unwrap();
        assert_eq!(pieces.paths(), ["water.txt"], "{name}");
        assert_eq!(pieces.bytes_of("water.txt"), sample("water.txt"), "{name}");
    }
    let why = take("x", &sample("encrypted.zip")).unwrap_err();
    assert_eq!(why, Skipped::Encrypted);
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
    let mut tar_bytes = builder.into_inner().unwrap();
    let pieces = take("x", &tar_bytes).unwrap();
    assert_eq!(pieces.paths(), [long]);
    // Names are any bytes.
    let odd = tar(&[(b"\xff\xfe/../x", TEXT)]);
    assert_eq!(take("x", &odd).unwrap().all[0].part.name, b"\xff\xfe/../x");
    // What is cut off is kept up to there.
    tar_bytes = tar(&[(b"a", TEXT), (b"b", &[b'x'; 2000])]);
    let pieces = take("x", &tar_bytes[..2200]).unwrap();
    assert_eq!(pieces.paths(), ["a"]);
    assert!(!pieces.skipped.is_empty());
}

#[test]
fn static_libraries_and_packages_are_archives() {
    let member = |name: &str, bytes: &[u8]| {
        let mut all = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            "100644",
            bytes.len()
        )
        .into_bytes();
        all.extend(bytes);
        if bytes.len() % 2 == 1 {
            all.push(b'\n');
        }
        all
    };
    let ar = [
        b"!<arch>\n".to_vec(),
        member("debian-binary", b"2.0\n"),
        member("//", b"a_very_long_name.txt/\n"),
        member("/0", TEXT),
        member("#1/7", b"bsd.txtBSD"),
        member("data.tar.gz/", &gzip(&tar(&[(b"usr/x", TEXT)]))),
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

/// A mail with one attachment.
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
    // A tar.gz is one archive; what is compressed twice counts.
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
                // Whatever it says, it says it in time and in order, and it is not a crash.
                if let Err(why) = take("x", bytes) {
                    assert!(
                        matches!(
                            why,
                            Skipped::Damaged(_) | Skipped::Encrypted | Skipped::TooMuch(_)
                        ),
                        "{why}"
                    );
                }
            }
        }
    }
}
