//! Recognition of markup in pages and in parts of them.

use super::*;

fn is_markup(text: &str) -> bool {
    Markup::at_beginning(text.as_bytes()) != Markup::None
}

#[test]
fn tags_that_can_be_nothing_else_are_marks() {
    let sure = |text: &str, before| sure_tag_length(text.as_bytes(), before);
    for (text, length) in [
        ("</p>", 4),
        ("</xs:element >", 14),
        ("<p>", 3),
        ("<BR>", 4),
        ("<a href=x>", 10),
        ("<a href=\"a>b\" id='c'>x", 21),
        ("<br/>", 5),
        ("<img alt src=x />", 17),
        ("<x:y\n a = 'b'>", 0),
        ("<td @click=\"f(1 < 2)\">", 22),
        ("<!DOCTYPE html>", 15),
    ] {
        let expected = (length > 0).then_some(length);
        assert_eq!(sure(text, Some(b' ')), expected, "{text}");
    }
    for text in [
        "<int>",
        "<String>",
        "<class T>",
        "<T>",
        "<b>",
        "<P>",
        "<K, V>",
        "<b && c>",
        "<n; i++) {}",
        "<me@example.org>",
        "<https://example.org/>",
        "<stdio.h>",
        "<file>",
        "<< EOF",
        "< b >",
        "<3",
        "<",
        "</",
        "<a href=\"x",
        "<-a>",
    ] {
        assert_eq!(sure(text, Some(b' ')), None, "{text}");
    }
    // A common name after a letter may be the type parameter of generic code.
    assert_eq!(sure("<tt>", Some(b'r')), None);
}

#[test]
fn sources_and_texts_are_no_markup() {
    for text in [
        "std::vector<int> a; std::map<std::string, std::vector<long>> b; if (a<b && c>d) f();",
        "List<String> names = new ArrayList<>(); Map<K, V> map; class Box<T extends A<T>> {}",
        "cat <<EOF\n$a\nEOF\ncat <<'END'\nb\nEND\nwhile read line; do :; done <file >out 2>&1",
        "From: Me <me@example.org>\nTo: You <you@example.org>\nCc: Them <them@example.org>\n",
        "usage: git add [<options>] [--] <pathspec>... <file> <b>, see <https://example.org/>",
        "#include <map>\n#include <string>\nchar *p = &a; int q = &b; f(&c);",
        "a < b and c > d",
        "",
    ] {
        assert!(!is_markup(text), "{text}");
        assert!(!is_markup(&text.repeat(300)), "{text}");
    }
    // A few tags do not make a long text markup.
    let comment = "/** Returns the <b>first</b> of them. */\n";
    let code = format!(
        "{comment}{}",
        "int first(int a, int b) { return a; }\n".repeat(60)
    );
    assert!(!is_markup(&code));
}

#[test]
fn a_part_of_markup_is_markup_wherever_it_begins() {
    let row = |n: usize| {
        format!(
            "<tr class=\"row {n}\"><td>Row {n} has some words of its own</td>\n<td><a \
             href=\"page-{n}.html?a=b&amp;c=d\">another page</a> &ndash; B&uuml;cher\
             </td></tr>\n"
        )
    };
    let rows: String = (0..40).map(row).collect();
    let script = "var a = 1; for (var i = 0; i < 9; i++) { a -= i; }\n".repeat(20);
    let page = format!(
        "<!DOCTYPE html><html><head><script src=\"x.js\"></script><script>{script}</script>\
         <style>{script}</style></head><body><table>{rows}</table></body></html>"
    );
    let words = |part: &str| {
        let words = crate::words::canonical(part.as_bytes());
        let words = String::from_utf8(words).expect("UTF-8");
        words
            .split_terminator(' ')
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let all = words(&page);
    assert_eq!(all.len(), 40 * 11);
    for at in 0..page.len() - 600 {
        let part = words(&page[at..]);
        assert!(is_markup(&page[at..]), "{}", &page[at..at + 60]);
        // One or two letters of the cut word may be read as text. The rest of a tag may also be
        // read, if it was not recognised.
        let common = part.iter().rev().zip(all.iter().rev());
        let common = common.take_while(|(a, b)| a == b).count();
        assert!(
            part.len() - common <= 2,
            "{:?} of {}",
            &part[..9],
            &page[at..at + 60]
        );
        assert!(part.len() <= all.len() + 2);
    }
    // Prose before a part of a drawing is not the rest of a tag.
    let path = "<path id=\"a\" style=\"fill:#fff\"\n d=\"M 1 2 Z\" />\n";
    let text = format!("some words of prose here\n{}", &path.repeat(9)[5..]);
    assert_eq!(words(&text)[..5], ["some", "words", "of", "prose", "here"]);
    // Prose of any length before a part that begins in a script is no script.
    let prose = "some words of prose, here and there.\n".repeat(40);
    let begin = page.find("var a").expect("a script");
    let text = format!("{prose}{}", &page[begin + 500..]);
    assert!(words(&text).starts_with(&words(&prose)));
    assert!(words(&text).ends_with(&all));
    // A part of a text may have entities and no tag.
    let entities = "M&uuml;ller f&uuml;hrt zw&ouml;lf S&auml;cke in die M&uuml;hle ".repeat(5);
    assert!(is_markup(&entities));
}

/// Unclosed constructs do not make the search quadratic.
#[test]
fn hostile_beginnings_are_looked_at_once() {
    for unit in [
        "<a b=\"",
        "<a b='",
        "<!--",
        "<?xml ",
        "<a ",
        "&aaaa",
        "<script>",
        "</script",
        "<a b=c",
        "<!--<a b=\"'",
        "<a \"",
        "<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        let text = format!("x{}", unit.repeat(HEAD / unit.len()));
        let started = std::time::Instant::now();
        let _ = is_markup(&text);
        assert!(started.elapsed().as_secs() < 5, "{unit}");
    }
}
