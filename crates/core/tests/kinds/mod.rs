//! Makes contents and changed copies of them, by kind of change. Estimates are checked on these
//! pairs.

#![allow(clippy::format_push_string)]

use resemble_testutil::random::{Random, noise};

/// Makes a pair of contents of about this many bytes from random numbers.
pub(crate) type Make = fn(usize, &mut Random) -> (Vec<u8>, Vec<u8>);

/// The kinds of change by name, each with the greatest allowed mean absolute error of containments.
pub(crate) const KINDS: [(&str, Make, f64); 31] = [
    (
        "prose, an edit in 1000",
        |len, r| pair(text, |a, r| scattered(a, 1000, r), len, r),
        0.03,
    ),
    (
        "prose, an edit in 300",
        |len, r| pair(text, |a, r| scattered(a, 300, r), len, r),
        0.05,
    ),
    (
        "prose, an edit in 100",
        |len, r| pair(text, |a, r| scattered(a, 100, r), len, r),
        0.12,
    ),
    (
        "prose, an edit in 40",
        |len, r| pair(text, |a, r| scattered(a, 40, r), len, r),
        0.26,
    ),
    (
        "prose, words put in",
        |len, r| pair(text, inserted, len, r),
        0.20,
    ),
    (
        "prose, a block of 20 %",
        |len, r| pair(text, |a, r| block(a, 20, text, r), len, r),
        0.13,
    ),
    (
        "prose, a block of 50 %",
        |len, r| pair(text, |a, r| block(a, 50, text, r), len, r),
        0.15,
    ),
    (
        "prose, blocks",
        |len, r| pair(text, |a, r| blocks(a, text, r), len, r),
        0.13,
    ),
    (
        "prose, a block and edits",
        |len, r| {
            pair(
                text,
                |a, r| scattered(&block(a, 20, text, r), 1000, r),
                len,
                r,
            )
        },
        0.13,
    ),
    (
        "prose, a fragment of 10 %",
        |len, r| pair(text, |a, r| fragment(a, 10, text, r), len, r),
        0.12,
    ),
    (
        "prose, a fragment of 70 %",
        |len, r| pair(text, |a, r| fragment(a, 70, text, r), len, r),
        0.14,
    ),
    (
        "prose, appended",
        |len, r| pair(text, |a, r| [a, &text(r, len / 3)].concat(), len, r),
        0.06,
    ),
    (
        "prose, reordered",
        |len, r| pair(text, |a, r| reordered(a, 400, r), len, r),
        0.04,
    ),
    (
        "code, another class",
        |len, r| (code(r, len), code(r, len)),
        1.00,
    ),
    (
        "code, fields changed",
        |len, r| {
            let fields = Random::new(r.draw());
            (class(len, 8, fields.clone(), r), class(len, 8, fields, r))
        },
        0.12,
    ),
    (
        "code, edits",
        |len, r| pair(code, |a, r| scattered(a, 300, r), len, r),
        0.10,
    ),
    (
        "code, a block",
        |len, r| pair(code, |a, r| block(a, 40, code, r), len, r),
        0.49,
    ),
    (
        "changelogs, strangers",
        |len, r| (changelog(len, r), changelog(len, r)),
        0.34,
    ),
    (
        "changelogs, a later one",
        |len, r| {
            pair(
                |r, len| changelog(len, r),
                |a, r| [&changelog(len / 3, r), a].concat(),
                len,
                r,
            )
        },
        0.06,
    ),
    (
        "changelogs, edits",
        |len, r| {
            pair(
                |r, len| changelog(len, r),
                |a, r| scattered(a, 300, r),
                len,
                r,
            )
        },
        0.05,
    ),
    (
        "records, strangers",
        |len, r| (records(r, len), records(r, len)),
        0.72,
    ),
    (
        "records, half of them",
        |len, r| pair(records, |a, r| block(a, 50, records, r), len, r),
        0.35,
    ),
    (
        "records, edits",
        |len, r| pair(records, |a, r| scattered(a, 300, r), len, r),
        0.04,
    ),
    (
        "data, a byte in 1000",
        |len, r| pair(bytes, |a, r| replaced(a, 1000, r), len, r),
        0.03,
    ),
    (
        "data, a byte in 200",
        |len, r| pair(bytes, |a, r| replaced(a, 200, r), len, r),
        0.13,
    ),
    (
        "data, a byte in 70",
        |len, r| pair(bytes, |a, r| replaced(a, 70, r), len, r),
        0.35,
    ),
    (
        "data, a block of 50 %",
        |len, r| pair(bytes, |a, r| block(a, 50, bytes, r), len, r),
        0.12,
    ),
    (
        "data, blocks",
        |len, r| pair(bytes, |a, r| blocks(a, bytes, r), len, r),
        0.11,
    ),
    (
        "data, reordered",
        |len, r| pair(bytes, |a, r| reordered(a, 1000, r), len, r),
        0.04,
    ),
    (
        "drawings, edits",
        |len, r| pair(drawing, |a, r| scattered(a, 300, r), len, r),
        0.08,
    ),
    (
        "drawings, a block",
        |len, r| pair(drawing, |a, r| block(a, 40, drawing, r), len, r),
        0.13,
    ),
];

fn pair(
    make: impl Fn(&mut Random, usize) -> Vec<u8>,
    edit: impl Fn(&[u8], &mut Random) -> Vec<u8>,
    len: usize,
    random: &mut Random,
) -> (Vec<u8>, Vec<u8>) {
    let a = make(random, len);
    let b = edit(&a, random);
    (a, b)
}

/// Makes lines of words from a vocabulary with few frequent words.
pub(crate) fn text(random: &mut Random, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while out.len() < len {
        out.extend(word(random).into_bytes());
        out.push(if random.below(12) == 0 { b'\n' } else { b' ' });
    }
    out.truncate(len);
    out
}

fn word(random: &mut Random) -> String {
    let rank = random.below(60) * random.below(60);
    let mut letters = Random::new(rank as u64);
    let count = 1 + letters.below(10);
    (0..count)
        .map(|_| char::from(b'a' + letters.below(26) as u8))
        .collect()
}

fn sentence(random: &mut Random, words: usize) -> String {
    let words: Vec<String> = (0..words).map(|_| word(random)).collect();
    words.join(" ")
}

fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    noise(random.draw(), len)
}

fn code(random: &mut Random, len: usize) -> Vec<u8> {
    class(len, 0, Random::new(random.draw()), random)
}

/// Makes a class of accessors as a code generator writes it. Most phrases occur once for every
/// field. The names of the fields are drawn from `fields`. If `share` is not 0, one field in
/// `share` is drawn from `random` instead.
fn class(len: usize, share: usize, mut fields: Random, random: &mut Random) -> Vec<u8> {
    let entity = word(&mut fields);
    let mut out = format!("package org.example.{entity};\n\npublic class {entity} {{\n");
    while out.len() < len {
        let own = share > 0 && fields.below(share) == 0;
        let from = if own { &mut *random } else { &mut fields };
        let (name, kind) = (word(from), ["String", "int", "List<Long>"][from.below(3)]);
        out += &format!(
            "    /**\n     * Returns the value of the {name} property of this object.\n     \
             *\n     * @return the value, or null if it is not set\n     */\n    public {kind} \
             get_{name}() {{\n        return this.{name};\n    }}\n\n    public Builder \
             set_{name}({kind} value) {{\n        Objects.requireNonNull(value);\n        \
             this.{name} = value;\n        return this;\n    }}\n\n"
        );
    }
    (out + "}\n").into_bytes()
}

/// Makes a changelog: entries about one package by several maintainers.
fn changelog(len: usize, random: &mut Random) -> Vec<u8> {
    const USUAL: [&str; 6] = [
        "New upstream release.",
        "Update Standards-Version to 4.6.2, no changes needed.",
        "Team upload.",
        "Set Rules-Requires-Root to no and bump the level of debhelper.",
        "Non-maintainer upload by the security team of the distribution.",
        "Trim trailing white space, and use a secure address for the source format.",
    ];
    let package = word(random);
    let maintainers: Vec<String> = (0..3).map(|_| sentence(random, 2)).collect();
    let mut out = String::new();
    while out.len() < len {
        let version = (random.below(9), random.below(20), random.below(9));
        out += &format!(
            "{package} ({}.{}-{}) unstable; ",
            version.0, version.1, version.2
        );
        out += "urgency=medium\n\n";
        for _ in 0..=random.below(4) {
            if random.below(2) == 0 {
                out += &format!("  * {}\n", USUAL[random.below(6)]);
            } else {
                let (words, bug) = (4 + random.below(12), 100_000 + random.below(900_000));
                out += &format!("  * {}. (Closes: #{bug})\n", sentence(random, words));
            }
        }
        let by = &maintainers[random.below(3)];
        let (day, hour) = (1 + random.below(28), random.below(24));
        out += &format!("\n -- {by} <maintainer@example.org>  Mon, {day:02} Jan 2023 ");
        out += &format!(
            "{hour:02}:{:02}:{:02} +0000\n\n",
            random.below(60),
            random.below(60)
        );
    }
    out.into_bytes()
}

/// Makes lines of a log: a few messages with numbers.
fn records(random: &mut Random, len: usize) -> Vec<u8> {
    const MESSAGES: [&str; 4] = [
        "accepted a connection from the address of a client at port",
        "the request was answered with status ok after so many milliseconds:",
        "closed the connection of the session because nothing came for seconds:",
        "could not resolve the name of the host and try again after",
    ];
    let mut out = String::new();
    while out.len() < len {
        let (minute, second) = (random.below(60), random.below(60));
        let (process, number) = (random.below(400), random.below(5000));
        out += &format!(
            "Jan 12 07:{minute:02}:{second:02} server daemon[{process}]: {} {number}\n",
            MESSAGES[random.below(4)],
        );
    }
    out.into_bytes()
}

/// Makes a drawing: data with few words.
pub(crate) fn drawing(random: &mut Random, len: usize) -> Vec<u8> {
    let mut out = b"<svg>\n".to_vec();
    while out.len() < len {
        let mut number = || format!("{}.{}", random.below(1000), random.below(1000));
        let points: Vec<String> = (0..8).map(|_| number() + "," + &number()).collect();
        out.extend(format!("<path d=\"M {}\"/>\n", points.join(" ")).into_bytes());
    }
    out
}

/// Edits the data at random places, about once in `every` bytes. An edit has one to eight bytes.
pub(crate) fn scattered(data: &[u8], every: usize, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    let mut from = 0;
    loop {
        let to = from + random.below(2 * every);
        if to >= data.len() {
            out.extend_from_slice(&data[from..]);
            return out;
        }
        out.extend_from_slice(&data[from..to]);
        let len = 1 + random.below(8);
        let (gone, new) = [(0, len), (len, 0), (len, len)][random.below(3)];
        out.extend(text(random, new));
        from = (to + gone).min(data.len());
    }
}

fn replaced(data: &[u8], every: usize, random: &mut Random) -> Vec<u8> {
    let mut out = data.to_vec();
    let mut at = random.below(2 * every);
    while at < out.len() {
        out[at] ^= 1 + random.below(255) as u8;
        at += 1 + random.below(2 * every);
    }
    out
}

/// Inserts a word after about every tenth word.
fn inserted(data: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    let mut next = random.below(20);
    for &byte in data {
        out.push(byte);
        if byte == b' ' {
            if next == 0 {
                out.extend(word(random).into_bytes());
                out.push(b' ');
                next = random.below(20);
            } else {
                next -= 1;
            }
        }
    }
    out
}

pub(crate) fn block(
    data: &[u8],
    percent: usize,
    make: impl Fn(&mut Random, usize) -> Vec<u8>,
    random: &mut Random,
) -> Vec<u8> {
    let len = data.len() * percent / 100;
    let at = random.below(data.len() - len);
    [&data[..at], &make(random, len), &data[at + len..]].concat()
}

/// Replaces several blocks, each about a twentieth of the data.
fn blocks(
    data: &[u8],
    make: impl Fn(&mut Random, usize) -> Vec<u8>,
    random: &mut Random,
) -> Vec<u8> {
    let count = 2 + random.below(6);
    (0..count).fold(data.to_vec(), |data, _| {
        let percent = 2 + random.below(7);
        block(&data, percent, &make, random)
    })
}

pub(crate) fn fragment(
    data: &[u8],
    percent: usize,
    make: impl Fn(&mut Random, usize) -> Vec<u8>,
    random: &mut Random,
) -> Vec<u8> {
    let len = data.len() * percent / 100;
    let at = random.below(data.len() - len);
    let head = random.below(data.len() - len);
    let tail = data.len() - len - head;
    [
        &make(random, head),
        &data[at..at + len],
        &make(random, tail),
    ]
    .concat()
}

/// Reorders pieces of up to `most` bytes.
fn reordered(data: &[u8], most: usize, random: &mut Random) -> Vec<u8> {
    let (mut pieces, mut rest) = (Vec::new(), data);
    while !rest.is_empty() {
        let (piece, other) = rest.split_at(rest.len().min(most / 2 + random.below(most / 2)));
        pieces.push(piece);
        rest = other;
    }
    for i in (1..pieces.len()).rev() {
        pieces.swap(i, random.below(i + 1));
    }
    pieces.concat()
}
