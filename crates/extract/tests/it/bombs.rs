//! Tests malicious files. Reading such a file must end soon and within the limits, and the reason
//! must be reported.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::pieces::{deflated, gzip, limits, page, pdf, stored, take, take_within, zip, zip_times};
use resemble_extract::{Bound, Limits, Skipped};

const RATIO: Skipped = Skipped::TooMuch(Bound::Ratio);

/// Runs `work` and checks that it takes only a few seconds.
fn soon<T>(work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    result
}

fn zeros(megabytes: usize) -> Vec<u8> {
    vec![0; megabytes << 20]
}

/// Makes a Zstandard frame of run-length blocks. Each block takes four bytes and decodes to 128 KiB
/// of zeros.
fn zstd_bomb(blocks: u32) -> Vec<u8> {
    // The header states that there is no check sum and no size, and that the window is 1 MiB.
    let mut bomb = b"\x28\xb5\x2f\xfd\x00\x50".to_vec();
    for block in 0..blocks {
        let header = u32::from(block + 1 == blocks) | 1 << 1 | (128 << 10) << 3;
        bomb.extend_from_slice(&header.to_le_bytes()[..3]);
        bomb.push(0);
    }
    bomb
}

#[test]
fn streams_that_expand_too_much_are_skipped() {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bzip2.write_all(&zeros(64)).unwrap();
    for (name, bomb) in [
        ("gz", gzip(&zeros(64))),
        ("bz2", bzip2.finish().unwrap()),
        ("zst", zstd_bomb(30_000)),
        ("gz in gz", gzip(&gzip(&zeros(64)))),
    ] {
        match soon(|| take("a.x", &bomb)) {
            Err(why) => assert_eq!(why, RATIO, "{name}"),
            Ok(pieces) => assert_eq!(pieces.skipped, [(Vec::new(), RATIO)], "{name}"),
        }
    }
}

#[test]
fn a_bomb_among_others_costs_itself_alone() {
    let entries = [
        deflated("a.txt", b"one"),
        deflated("bomb", &zeros(8)),
        deflated("b.txt", b"two"),
    ];
    let pieces = soon(|| take("x", &zip(&entries))).unwrap();
    assert_eq!(pieces.paths(), ["a.txt", "b.txt"]);
    assert_eq!(pieces.skips(), ["bomb: expands too much"]);
}

#[test]
fn zips_of_zips_of_zips_end_within_the_bounds() {
    // This is the structure of 42.zip: four levels of archives. Each archive contains sixteen equal
    // archives.
    let mut bomb = zip(&[deflated("0.dll", &zeros(20))]);
    for _ in 0..4 {
        let entries: Vec<_> = (0..16)
            .map(|at| deflated(&format!("lib {at}.zip"), &bomb))
            .collect();
        bomb = zip(&entries);
    }
    for depth in [4, 10] {
        let result = soon(|| take_within(Limits { depth, ..limits() }, "42.zip", &bomb));
        match result {
            Err(why) => assert_eq!(why, RATIO),
            Ok(pieces) => {
                let bytes: usize = pieces.all.iter().map(|piece| piece.bytes.len()).sum();
                assert!(bytes < 256 << 20 && !pieces.skipped.is_empty(), "{bytes}");
            }
        }
    }
}

#[test]
fn entries_that_lie_over_one_another_are_bounded_together() {
    // The ratio of a single member is allowed. But the directory lists the same member five
    // thousand times.
    let text: Vec<u8> = (0u32..150_000)
        .flat_map(|at| format!("{} ", at % 977).into_bytes())
        .collect();
    let overlapping = zip_times(&[deflated("a.txt", &text)], 5000);
    assert_eq!(soon(|| take("x", &overlapping)).unwrap_err(), RATIO);
}

#[test]
fn entities_are_not_expanded() {
    let mut laughs = String::new();
    for at in 1..10 {
        let ten = format!("&l{};", at - 1).repeat(10);
        laughs.extend(["<!ENTITY l", &at.to_string(), " \"", &ten, "\">"]);
    }
    let document = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY l0 \"lol\">{laughs}]>\
         <w:document xmlns:w=\"w\"><w:p><w:t>before &l9; after</w:t></w:p></w:document>"
    );
    let relations = "<Relationships>\
                     <Relationship Id=\"r\" Type=\"http://x/officeDocument\" Target=\"d.xml\"/>\
                     </Relationships>";
    let docx = zip(&[
        stored("[Content_Types].xml", b"<Types/>"),
        stored("_rels/.rels", relations.as_bytes()),
        stored("d.xml", document.as_bytes()),
    ]);
    let pieces = soon(|| take("x.docx", &docx)).unwrap();
    let text = String::from_utf8_lossy(pieces.bytes_of("*"));
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>(),
        ["before", "after"]
    );
}

#[test]
fn a_document_that_expands_too_much_is_skipped() {
    let body = [
        "<office:p>".to_owned(),
        "<text:p>word word word word word</text:p>".repeat(1_000_000),
    ]
    .concat();
    let odt = zip(&[
        stored("mimetype", b"application/vnd.oasis.opendocument.text"),
        deflated("content.xml", body.as_bytes()),
    ]);
    // The limit is low, because some compressors achieve only a ratio of a hundred.
    let strict = Limits {
        ratio: 40,
        ..limits()
    };
    assert_eq!(
        soon(|| take_within(strict, "x.odt", &odt)).err(),
        Some(RATIO)
    );
    // Every cell refers to the same long text, so a small XML file makes much text.
    let relations = "<Relationships>\
                     <Relationship Id=\"r\" Type=\"x/officeDocument\" Target=\"w.xml\"/>\
                     </Relationships>";
    let of_book = "<Relationships>\
                   <Relationship Id=\"s\" Type=\"x/sharedStrings\" Target=\"s.xml\"/>\
                   <Relationship Id=\"t\" Type=\"x/worksheet\" Target=\"t.xml\"/>\
                   </Relationships>";
    let cells = "<c t=\"s\"><v>0</v></c>".repeat(30_000);
    let xlsx = zip(&[
        stored("[Content_Types].xml", b"<Types/>"),
        stored("_rels/.rels", relations.as_bytes()),
        stored(
            "w.xml",
            b"<workbook><sheets><sheet r:id=\"t\"/></sheets></workbook>",
        ),
        stored("_rels/w.xml.rels", of_book.as_bytes()),
        stored(
            "s.xml",
            format!("<sst><si><t>{}</t></si></sst>", "x".repeat(30_000)).as_bytes(),
        ),
        deflated(
            "t.xml",
            format!("<worksheet>{cells}</worksheet>").as_bytes(),
        ),
    ]);
    assert_eq!(soon(|| take("x.xlsx", &xlsx)).err(), Some(RATIO));
}

#[test]
fn markup_nested_without_end_is_survived() {
    let deep = format!("<office:body><text:p>deep {}", "<a>".repeat(1_000_000));
    let odt = zip(&[
        stored("mimetype", b"application/vnd.oasis.opendocument.text"),
        stored("content.xml", deep.as_bytes()),
    ]);
    assert_eq!(
        soon(|| take("x.odt", &odt)).unwrap().bytes_of("*"),
        b"deep "
    );
    let rtf = format!("{{\\rtf1 deep {}", "{\\b ".repeat(1_000_000));
    assert!(
        soon(|| take("x.rtf", rtf.as_bytes()))
            .unwrap()
            .bytes_of("*")
            .starts_with(b"deep ")
    );
}

#[test]
fn pages_that_contain_themselves_are_survived() {
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 600 800]\
                /Resources<</XObject<</X 6 0 R>>>>/Length 19>>\n\
                stream\nq /X Do /X Do Q    \nendstream";
    let itself = page(
        "BT /F1 12 Tf (x) Tj ET /X Do",
        "/XObject<</X 6 0 R>>",
        &[form.to_owned()],
    );
    let cyclic_tree = pdf(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2/Parent 2 0 R>>".to_owned(),
    ]);
    let to_itself = pdf(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "2 0 R".to_owned(),
    ]);
    let arrays = page(&"[".repeat(200_000), "", &[]);
    let dictionaries = pdf(&[format!("<</A {}", "<</A ".repeat(50_000))]);
    for (name, bomb) in [
        ("form", itself),
        ("tree", cyclic_tree),
        ("reference", to_itself),
        ("arrays", arrays),
        ("dictionaries", dictionaries),
    ] {
        let alone = soon(|| take("x.pdf", &bomb));
        // If the file is read alone, a crash of its reader is allowed. In an archive, only this
        // member is allowed to be lost.
        let entries = [
            stored("a.txt", b"one"),
            stored("x.pdf", &bomb),
            stored("b.txt", b"two"),
        ];
        let among = soon(|| take("x.zip", &zip(&entries))).unwrap();
        let paths: Vec<_> = among
            .paths()
            .into_iter()
            .filter(|path| !path.ends_with('*'))
            .collect();
        assert_eq!(paths, ["a.txt", "x.pdf", "b.txt"], "{name}");
        assert_eq!(
            among.skipped.is_empty(),
            alone.is_ok(),
            "{name}: {alone:?} {:?}",
            among.skipped
        );
    }
}

#[test]
fn memory_is_bounded() {
    let tight = Limits {
        memory: 192 << 20,
        ratio: 100_000,
        ..limits()
    };
    // The content stream takes more memory than is allowed.
    let stream = |bytes: Vec<u8>| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap()
    };
    let data = stream(vec![b' '; 400 << 20]);
    let content: Vec<u8> = [
        format!("<</Filter/FlateDecode/Length {}>>\nstream\n", data.len()).into_bytes(),
        data,
        b"\nendstream".to_vec(),
    ]
    .concat();
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (at, object) in [
        &b"<</Type/Catalog/Pages 2 0 R>>"[..],
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        &content,
    ]
    .iter()
    .enumerate()
    {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n", at + 1).bytes());
        file.extend(*object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    file.extend(b"xref\n0 5\n0000000000 65535 f \n");
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    file.extend(format!("trailer\n<</Size 5/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n").bytes());
    let why = soon(|| take_within(tight, "x.pdf", &file)).unwrap_err();
    let said = "page 1 could not be read: it exceeds the drawing limit";
    assert_eq!(why.to_string(), said);
    // If the file is in an archive, the other members are still read.
    let entries = [stored("x.pdf", &file), stored("b.txt", b"two")];
    let pieces = soon(|| take_within(tight, "x", &zip(&entries))).unwrap();
    assert_eq!(pieces.paths(), ["x.pdf", "b.txt"]);
    assert_eq!(pieces.skips(), [format!("x.pdf: {said}")]);
    // A member that does not fit in memory is passed on, but not taken apart.
    let nested = zip(&[
        stored("big.zip", &zip(&[stored("a", &vec![7; 60 << 20])])),
        stored("b.txt", b"two"),
    ]);
    let pieces = soon(|| take_within(tight, "x", &nested)).unwrap();
    assert_eq!(pieces.paths(), ["big.zip", "b.txt"]);
    assert_eq!(pieces.skips(), ["big.zip: needed too much memory"]);
    // A member that is read in one pass is not kept in memory, so its size does not matter.
    let tgz = gzip(&crate::pieces::tar(&[(b"a", &vec![7; 100 << 20])]));
    let pieces = soon(|| take_within(tight, "x", &tgz)).unwrap();
    assert_eq!(pieces.paths(), ["[]", "[]!a"]);
}
