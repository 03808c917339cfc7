//! Tests the names of members. A path must identify one member, and must never be the path of the
//! container.

use crate::pieces::{Pieces, deflated, gzip, stored, take, tar, zip};

/// Returns the path and the bytes of every member.
fn members(pieces: &Pieces) -> Vec<(String, &[u8])> {
    let paths = pieces.paths().into_iter();
    paths
        .map(|path| {
            let bytes = pieces.bytes_of(&path);
            (path, bytes)
        })
        .collect()
}

fn named<'a>(expected: &[(&str, &'a [u8])]) -> Vec<(String, &'a [u8])> {
    let owned = |&(name, bytes): &(&str, &'a [u8])| (name.to_owned(), bytes);
    expected.iter().map(owned).collect()
}

#[test]
fn several_members_of_one_name_have_a_path_each() {
    // `tar -r` and `tar -u` append a changed file under its old name.
    let bytes = tar(&[
        (b"d.x/a.txt", b"one"),
        (b"d.x/a~2.txt", b"other"),
        (b"d.x/a.txt", b"two"),
        (b"d.x/a.txt", b"three"),
        (b"d.x/.rc", b"one"),
        (b"d.x/.rc", b"two"),
    ]);
    let expected = [
        ("d.x/a.txt", &b"one"[..]),
        ("d.x/a~2.txt", b"other"),
        ("d.x/a~3.txt", b"two"),
        ("d.x/a~4.txt", b"three"),
        ("d.x/.rc", b"one"),
        ("d.x/.rc~2", b"two"),
    ];
    assert_eq!(members(&take("x", &bytes).unwrap()), named(&expected));
    // Members of two containers can have the same name.
    let inner = zip(&[stored("a", b"one"), stored("a", b"two")]);
    let pieces = take(
        "x",
        &zip(&[stored("1.zip", &inner), stored("2.zip", &inner)]),
    )
    .unwrap();
    let expected = [
        "1.zip",
        "1.zip!a",
        "1.zip!a~2",
        "2.zip",
        "2.zip!a",
        "2.zip!a~2",
    ];
    assert_eq!(pieces.paths(), expected);
    // The ending of the name stays, because only the ending shows that this is a mail.
    let mail = b"X-Odd: 1\nSubject: two\n\nwords\n";
    let pieces = take("x", &zip(&[stored("a.eml", mail), deflated("a.eml", mail)])).unwrap();
    let expected = ["a.eml", "a.eml!*", "a~2.eml", "a~2.eml!*"];
    assert_eq!(pieces.paths(), expected);
}

#[test]
fn a_member_without_a_name_gets_one() {
    let bytes = zip(&[
        stored("", b"one"),
        stored("b", b"other"),
        stored("", b"two"),
    ]);
    let expected = [
        ("unnamed", &b"one"[..]),
        ("b", b"other"),
        ("unnamed~2", b"two"),
    ];
    assert_eq!(members(&take("x", &bytes).unwrap()), named(&expected));
    let mut encrypted = stored("", b"one");
    encrypted.flags = 1;
    let pieces = take("x", &zip(&[encrypted, stored("b", b"other")])).unwrap();
    assert_eq!(pieces.skips(), ["unnamed: encrypted"]);
    let pieces = take("x.tgz", &gzip(&tar(&[(b"a", b"one"), (b"", b"two")]))).unwrap();
    assert_eq!(pieces.paths(), ["[]", "[]!a", "[]!unnamed"]);
}

#[test]
fn attachments_of_one_name_have_a_path_each() {
    let part = |bytes: &str| {
        format!(
            "--xx\nContent-Type: image/png\n\
             Content-Disposition: attachment; filename=logo.png\n\n{bytes}\n"
        )
    };
    let mail = format!(
        "From: a@b\nSubject: two\nContent-Type: multipart/mixed; boundary=xx\n\n{}{}--xx--\n",
        part("one"),
        part("two")
    );
    let pieces = take("x.eml", mail.as_bytes()).unwrap();
    assert_eq!(pieces.paths(), ["*", "logo.png", "logo~2.png"]);
    assert_eq!(pieces.bytes_of("logo~2.png"), b"two");
}
