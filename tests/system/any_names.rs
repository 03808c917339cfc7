//! Tests names of any bytes. They must appear unchanged in the output of every verb. On a terminal,
//! they must be escaped.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_testutil::random::Random;
use resemble_testutil::{Ran, Sandbox, asked_for, fuse_works, is_installed};
use serde_json::Value;

type Names = BTreeSet<Vec<u8>>;

/// The pieces of names.
const PIECES: [&[u8]; 44] = [
    b"\x1b[31m",
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    b"\x1bc",
    b"\xc2\x9b31m",
    b"\xc2\x85",
    b"\n",
    b"\n\n",
    b"\r",
    b"\t",
    b"\x08\x08",
    b"\x7f",
    b"\x01",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xe2\x80\xae",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"e\xcc\x81",
    b"\xc3\xa9",
    b"-rf",
    b"--",
    b"%s%n",
    b"%b",
    b"\\0101",
    b"$(id)",
    b"`id`",
    b"$HOME",
    b"'",
    b"\"",
    b"\\",
    b" ",
    b"*",
    b"#",
    b"~",
    b",",
    b";",
    b"<b>",
    b"&amp;",
    b"=1+1",
    b"a",
    b"\xe6\x97\xa5",
];

/// Returns a random name: joined [`PIECES`], arbitrary bytes, or a name of the maximum length.
fn name(random: &mut Random) -> Vec<u8> {
    let mut name = Vec::new();
    match random.below(8) {
        0 => {
            for _ in 0..=random.below(20) {
                name.push(random.below(256) as u8);
            }
        }
        1 => {
            while name.len() < 255 {
                name.extend(PIECES[random.below(PIECES.len())]);
            }
        }
        _ => {
            for _ in 0..=random.below(5) {
                name.extend(PIECES[random.below(PIECES.len())]);
            }
        }
    }
    name.retain(|byte| !matches!(byte, b'/' | 0));
    name.truncate(255);
    if matches!(name.as_slice(), b"" | b"." | b"..") {
        name = b"plain".to_vec();
    }
    name
}

/// Makes a tree of `files` files in folders. Groups of four files have the same bytes. Returns the
/// names of the files, relative to the tree.
fn tree(sandbox: &Sandbox, files: usize) -> Names {
    let mut random = Random::new(7);
    let mut names = Names::new();
    let mut folder = Vec::new();
    while names.len() < files {
        if names.len().is_multiple_of(50) {
            // The name of each folder ends with a number, so no two folders have the same name.
            folder = name(&mut random);
            folder.truncate(240);
            folder.extend(format!(".{}", names.len()).as_bytes());
        }
        let path = [&folder, b"/".as_slice(), &name(&mut random)].concat();
        let text = format!("text {} ", names.len() / 4).repeat(60);
        if names.insert(path.clone()) {
            sandbox.write(OsStr::from_bytes(&path), text);
        }
    }
    names
}

/// Returns the control characters in an answer. A terminal would execute them.
fn obeyed(bytes: &[u8]) -> BTreeSet<String> {
    let chars = bytes.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    let controls = chars.filter(|c| c.is_control() && *c != '\n');
    controls.map(|c| format!("{c:?}")).collect()
}

fn below_tree(path: &[u8]) -> Option<Vec<u8>> {
    path.strip_prefix(b"tree/").map(<[u8]>::to_vec)
}

/// Returns the path that a JSON value states, as text or as base64.
fn path(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        value => BASE64
            .decode(value["b64"].as_str().expect("base64"))
            .expect("base64"),
    }
}

/// Returns the names of all files in an answer about identical files, relative to the tree.
fn grouped(answer: &Ran) -> Names {
    let answer = answer.json();
    let sets = answer["identical"].as_array().expect("sets").iter();
    let paths = sets.flat_map(|set| set["paths"].as_array().expect("paths"));
    paths.filter_map(|it| below_tree(&path(it))).collect()
}

/// Returns a name of the canonical dump without its escapes.
fn of_dump(line: &str) -> Vec<u8> {
    let mut pieces = line.split("\\x");
    let mut name = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        name.push(u8::from_str_radix(&piece[..2], 16).expect("two digits"));
        name.extend(piece[2..].bytes());
    }
    name
}

/// Returns the names that a shell reads if the output of a terminal is pasted into the shell.
fn read_by_shell(words: &str) -> Names {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    fs::write(&script, format!("printf '%s\\0' {words}")).expect("a script");
    let output = Command::new("bash").arg(&script).output().expect("bash");
    let names = output.stdout.split(|byte| *byte == 0);
    names.filter_map(below_tree).collect()
}

#[test]
fn names_of_any_bytes_come_out_as_they_are_and_never_raw() {
    if !fuse_works() || !is_installed("script") || !is_installed("bash") {
        return;
    }
    let files = asked_for("RESEMBLE_NAMES").unwrap_or(1_000);
    let sandbox = Sandbox::new();
    let names = tree(&sandbox, files);
    let daemon = sandbox.mounted([""; 0]);
    daemon.assert_true();

    // The dump of the index has all names.
    let dump = sandbox.resemble(["dump", "--canonical", "tree"]).success();
    let controls = obeyed(&dump.out).into_iter().filter(|c| c != "'\\t'");
    assert_eq!(controls.count(), 0, "the dump");
    let top = format!("{}/", sandbox.path("tree").display()).into_bytes();
    let dumped: Names = dump
        .text()
        .lines()
        .map(|line| of_dump(line.split('\t').next().unwrap_or_default()))
        .filter_map(|path| path.strip_prefix(top.as_slice()).map(<[u8]>::to_vec))
        .collect();
    let folder = |path: &Vec<u8>| path.split(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
    let mut all = names.clone();
    all.extend(names.iter().filter_map(folder));
    assert!(
        dumped == all,
        "the dump has {} of {}",
        dumped.len(),
        all.len()
    );

    // Formats for programs have all names.
    let groups = ["groups", "tree", "--only", "identical"];
    let asked = |more: &[&str]| sandbox.resemble(groups.iter().chain(more)).success();
    let json = asked(&["--format", "json"]);
    assert!(grouped(&json) == names, "JSON");
    assert!(
        json.out.iter().all(|byte| *byte == b'\n' || *byte >= b' '),
        "JSON"
    );
    let null = asked(&["--format", "fdupes", "-0"]);
    let listed: Names = null
        .out
        .split(|byte| *byte == 0)
        .filter_map(below_tree)
        .collect();
    assert!(listed == names, "-0");

    // On a terminal every format escapes names. `-q` is given, because the progress display would
    // be on the same terminal.
    let command = sandbox.program("resemble").get_program().to_owned();
    let command = command.to_str().expect("a plain name");
    for format in ["text", "json", "tsv", "csv", "fdupes", "html"] {
        let line = format!(
            "{command} -q groups tree --only identical --all --no-pager --color never \
             --format {format}"
        );
        let mut script = sandbox.foreign("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm");
        let shown = script.output().expect("script");
        assert!(shown.status.success(), "{shown:?}");
        let mut controls = obeyed(&shown.stdout);
        // `\r` and the tab are harmless: the terminal ends lines with `\r`, and a tab separates
        // columns.
        controls.remove("'\\r'");
        controls.remove("'\\t'");
        assert_eq!(controls, BTreeSet::new(), "{format}");
        if format == "text" {
            let text = String::from_utf8(shown.stdout).expect("text");
            let words = text.lines().filter_map(|line| line.strip_prefix(" 100%  "));
            let words: Vec<&str> = words
                .map(|line| &line[line.find("  ").expect("a date")..])
                .collect();
            assert!(read_by_shell(&words.join(" ")) == names, "a terminal");
        }
    }

    // The overlay has all names.
    let mut mirrored = Names::new();
    for folder in fs::read_dir(sandbox.mount(""))
        .expect("the overlay")
        .flatten()
    {
        for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let name = Path::new(&folder.file_name()).join(file.file_name());
            mirrored.insert(name.as_os_str().as_bytes().to_vec());
        }
    }
    assert!(mirrored == names, "the overlay has {}", mirrored.len());
    let log = sandbox.log();
    assert_eq!(obeyed(log.as_bytes()), BTreeSet::new(), "the log");
}
