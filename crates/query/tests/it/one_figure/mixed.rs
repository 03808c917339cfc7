//! Makes a tree of files of all kinds. Most files have a related file.

use std::collections::BTreeMap;

use resemble_extract::Role;
use resemble_testutil::prose::{lines, sentences};
use resemble_testutil::random::{Random, noise};

use crate::scene::fake::{Record, fake, member, packed, part, text_of};

/// Returns words of a script whose first letter has the code point `first`. In a script without
/// blanks each word is a single letter.
fn script(first: u32, letters: usize, blanks: bool, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut word = || {
        let length = if blanks { 3 + random.below(6) } else { 1 };
        let letter = |random: &mut Random| {
            char::from_u32(first + random.below(letters) as u32).expect("a letter")
        };
        (0..length).map(|_| letter(&mut random)).collect::<String>()
    };
    (0..500).map(|_| word()).collect()
}

/// Returns a text in a script, and its revision: every 40th word differs, and further words are
/// appended.
fn revised(first: u32, letters: usize, blanks: bool, seed: u64) -> [String; 2] {
    let text = script(first, letters, blanks, seed);
    let others = script(first, letters, blanks, seed + 1000);
    let mut revision = text.clone();
    for at in (20..text.len()).step_by(40) {
        revision[at].clone_from(&others[at]);
    }
    revision.extend_from_slice(&others[..60]);
    let between = if blanks { " " } else { "" };
    [text.join(between), revision.join(between)]
}

/// Returns a document that a program writes. The program puts the same template into each document.
fn document(number: usize, text: &str) -> Vec<u8> {
    // The template is stored as the name of a skipped part before the text. All documents are
    // scrambled by the same key, so their bytes share the template.
    let template = noise(77, 6000);
    let name = [template, vec![number as u8]].concat();
    fake(60, &[Record::Skip(name), text_of(text)])
}

fn archive(key: u64, members: &[(&str, &[u8])]) -> Vec<u8> {
    let members = members.iter().map(|(name, bytes)| member(name, bytes));
    fake(key, &members.collect::<Vec<Record>>())
}

/// Returns a compressed tar with the same members as an archive, in reverse order.
fn tar(key: u64, members: &[(&str, &[u8])]) -> Vec<u8> {
    let all: Vec<u8> = members
        .iter()
        .flat_map(|(_, bytes)| bytes.to_vec())
        .collect();
    let parts = members.iter().rev();
    let parts = parts.map(|(name, bytes)| part(Role::Member, Some(0), name, bytes));
    let records: Vec<Record> = [packed("a.tar", all)].into_iter().chain(parts).collect();
    fake(key, &records)
}

fn mail(key: u64, text: &str, attachments: &[(&str, &[u8])]) -> Vec<u8> {
    let attachments = attachments.iter().map(|(name, bytes)| member(name, bytes));
    let records: Vec<Record> = [text_of(text)].into_iter().chain(attachments).collect();
    fake(key, &records)
}

/// Returns the files by name.
#[allow(clippy::too_many_lines)]
pub(crate) fn mixed() -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut add = |name: &str, bytes: &[u8]| {
        assert!(files.insert(name.to_owned(), bytes.to_vec()).is_none());
    };
    let scripts = [
        ("latin", 0x61, 26, true),
        ("greek", 0x3b1, 17, true),
        ("russian", 0x430, 32, true),
        ("hebrew", 0x5d0, 27, true),
        ("hindi", 0x915, 37, true),
        ("chinese", 0x4e00, 3000, false),
        ("thai", 0xe01, 40, false),
    ];
    for (seed, (name, first, letters, blanks)) in (1..).zip(scripts) {
        let [text, revision] = revised(first, letters, blanks, seed);
        add(&format!("{name}.txt"), text.as_bytes());
        add(&format!("{name} revised.txt"), revision.as_bytes());
    }
    // A text in another encoding.
    let german = revised(0xe0, 20, true, 30)
        .map(|text| -> Vec<u8> { text.chars().map(|letter| letter as u8).collect() });
    add("latin-1.txt", &german[0]);
    add("latin-1 revised.txt", &german[1]);
    // Source code, a table, a log, a page and a drawing.
    let source = sentences(40, 40)
        .replace(" end.", "();\n\tif (x) {")
        .into_bytes();
    let mut patched = source.clone();
    patched.splice(2000..2400, *b"/* nothing is left of it */");
    add("source.c", &source);
    add("patched.c", &patched);
    let table = |from: u32, to: u32| -> String {
        (from..to)
            .map(|n| format!("{n},{},{}\n", n * 7919 % 1009, n * n % 997))
            .collect::<Vec<_>>()
            .concat()
    };
    add("table.csv", table(0, 400).as_bytes());
    add("longer table.csv", table(0, 520).as_bytes());
    let log = lines(41, 80);
    add("a.log", log.as_bytes());
    add(
        "rotated.log",
        [&log[2000..], &lines(42, 30)].concat().as_bytes(),
    );
    let letter = sentences(43, 40);
    let page = |text: &str| {
        let text = text.replace(". ", ".</p>\n<p class=\"body\">");
        format!("<!DOCTYPE html><html><head></head><body><p>{text}</p></body></html>")
    };
    add("letter.txt", letter.as_bytes());
    add("letter.html", page(&letter).as_bytes());
    add(
        "letter edited.html",
        page(&letter.replacen("end. ", "fin. ", 4)).as_bytes(),
    );
    // One text with four encodings of its accented letters. One half of the text's page is also a
    // file. It begins within a tag.
    let accents = sentences(51, 60).replace('\n', " ");
    let written = |e: &str, o: &str| accents.replace('e', e).replace('o', o);
    add("accents.txt", written("é", "ộ").as_bytes());
    add(
        "accents apart.txt",
        written("e\u{301}", "o\u{302}\u{323}").as_bytes(),
    );
    add(
        "accents hidden.txt",
        written("\u{ad}é", "ộ\u{200b}").as_bytes(),
    );
    let entities = page(&accents.replace('e', "&eacute;").replace('o', "&#7897;"));
    add("accents.html", entities.as_bytes());
    let middle = entities[entities.len() / 2..].find("ass=").expect("a tag");
    add(
        "half of accents.html",
        &entities.as_bytes()[entities.len() / 2 + middle..],
    );
    let drawing = |seed: u64| -> String {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let points = (0..300).map(|_| format!("L {} {} ", random.below(999), random.below(999)));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"{}\"/></svg>",
            points.collect::<Vec<_>>().concat()
        )
    };
    let (one, other) = (drawing(44), drawing(45));
    add("drawing.svg", one.as_bytes());
    add("two drawings.svg", [one, other].concat().as_bytes());
    // Documents of one program, and files of other formats with the same texts.
    let more = sentences(46, 12);
    add("letter.docx", &document(1, &letter));
    add("letter.pdf", &document(2, &letter));
    add("report.docx", &document(3, &sentences(47, 40)));
    add(
        "edited report.docx",
        &document(4, &format!("{}{more}", sentences(47, 40))),
    );
    add("letter.txt.gz", &fake(5, &[packed("letter.txt", &letter)]));
    // Binaries.
    let image = [&b"\0"[..], &noise(48, 9000)].concat();
    add("image.bin", &image);
    add("cut image.bin", &image[2500..]);
    add("image.bin.gz", &fake(6, &[packed("image.bin", &image)]));
    // A binary that is packed twice. The inner layer stores the bytes of the binary unchanged.
    let once = [&b"\0head"[..], &image].concat();
    let image_twice = [
        packed("image.bin.gz", once),
        part(Role::Unpacked, Some(0), "image.bin", &image),
    ];
    add("image.bin.gz.gz", &fake(18, &image_twice));
    // Archives and mails.
    let report = sentences(47, 40);
    let folder: [(&str, &[u8]); 3] = [
        ("letter.txt", letter.as_bytes()),
        ("docs/report.txt", report.as_bytes()),
        ("image.bin", &image),
    ];
    let edited = letter.replacen("end.", "fin.", 6);
    let later: [(&str, &[u8]); 3] = [("letter.txt", edited.as_bytes()), folder[1], folder[2]];
    add("folder.zip", &archive(7, &folder));
    add("folder.tar.gz", &tar(8, &folder));
    add("later folder.zip", &archive(9, &later));
    add(
        "letters.zip",
        &archive(10, &[folder[0], ("second.txt", more.as_bytes())]),
    );
    add(
        "letters.tar.gz",
        &tar(11, &[folder[0], ("second.txt", more.as_bytes())]),
    );
    add(
        "strangers.zip",
        &archive(12, &[("x.txt", sentences(49, 40).as_bytes())]),
    );
    let nested = fake(
        13,
        &[
            member("folder.zip", archive(7, &folder)),
            part(Role::Member, Some(0), "letter.txt", &letter),
            part(Role::Member, Some(0), "docs/report.txt", &report),
            part(Role::Member, Some(0), "image.bin", &image),
            member("second.txt", &more),
        ],
    );
    add("nested.zip", &nested);
    let body = sentences(50, 20);
    add("mail.eml", &mail(14, &body, &[]));
    add("mail with letter.eml", &mail(15, &body, &[folder[0]]));
    add("mail with image.eml", &mail(16, &body, &[folder[2]]));
    add(
        "forwarded.eml",
        &mail(17, &format!("{more}{body}"), &[folder[0]]),
    );
    add("body.txt", body.as_bytes());
    // An edited member of an archive, and half of another member.
    add("edited letter.txt", edited.as_bytes());
    add("half of report.txt", &report.as_bytes()[report.len() / 2..]);
    // Encoded data that is wrapped at two widths, and dumps of a table that repeat a phrase.
    let encoded: String = {
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letter = |byte: u8| char::from(digits[usize::from(byte) % 64]);
        noise(52, 16_000).into_iter().map(letter).collect()
    };
    for width in [76, 64] {
        let lines = encoded.as_bytes().chunks(width);
        let lines: Vec<String> = lines
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        add(&format!("encoded {width}.txt"), lines.join("\n").as_bytes());
    }
    let dump = |seed: u64| -> String {
        let row = |at: u64| {
            let value = sentences(9000 + 100 * seed + at, 1).replace(' ', "', '");
            format!("INSERT INTO one (two, three, four, five) VALUES ('{value}');\n")
        };
        (0..60).map(row).collect()
    };
    add("dump.sql", dump(1).as_bytes());
    add("dump of another.sql", dump(2).as_bytes());
    // Records of one program that have a third of their rows in common.
    let records = |rows: &[u64]| -> String {
        let row = |&at: &u64| {
            let value = sentences(20_000 + at, 1);
            let words: Vec<&str> = value.split_whitespace().take(5).collect();
            let (name, tags) = (words[..2].join(" "), words[2..].join("\", \""));
            format!(
                "{{\"id\": {at}, \"name\": \"{name}\", \"active\": true, \"tags\": [\"{tags}\"]}}\n"
            )
        };
        rows.iter().map(row).collect()
    };
    let third: Vec<u64> = (0..240)
        .map(|at| if at % 3 == 0 { at } else { 1000 + at })
        .collect();
    add(
        "records.json",
        records(&(0..240).collect::<Vec<_>>()).as_bytes(),
    );
    add("third of records.json", records(&third).as_bytes());
    // Files of few bytes.
    add("few.txt", b"only a few words are in here");
    add("few more.txt", b"only a few words are in here as well");
    files
}
