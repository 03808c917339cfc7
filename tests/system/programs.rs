use std::ffi::OsStr;
use std::fs;

use resemble_testutil::Sandbox;
use resemble_testutil::mcp::McpSession;
use resemble_testutil::prose::paragraphs;
use serde_json::json;

/// The daemon watches two directories, but the server serves only one. No answer mentions the other
/// directory. A path in the other directory is refused in the same way as a path that does not
/// exist.
#[test]
fn a_server_of_one_root_says_nothing_of_another_that_the_daemon_watches() {
    let sandbox = Sandbox::new();
    let text = paragraphs(1, 40);
    sandbox.write("report.txt", &text);
    sandbox.write("copy.txt", &text);
    sandbox.write("old/report.txt", [&text[..], &paragraphs(2, 3)].concat());
    let out = sandbox.path("out");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("secret.txt"), &text).expect("a file");
    // All letters have the same head. The head would be boilerplate only if the letters of both
    // directories were counted.
    let head = paragraphs(50, 2);
    for n in 0..8 {
        let letter = |place: u64| [&head[..], &paragraphs(1000 * place + n, 6)].concat();
        sandbox.write(format!("letter-{n}.txt"), letter(1));
        for more in 2..30 {
            let name = format!("letter-{more}-{n}.txt");
            fs::write(out.join(name), letter(more)).expect("a file");
        }
    }
    let daemon = sandbox.daemon([&out]);
    daemon.sync();
    let session = || McpSession::of(sandbox.program("resemble").args(["mcp", "--root", "tree"]));
    let mut both = session();
    let ask_all = |session: &mut McpSession| {
        let calls = [
            ("find", json!({"path": "report.txt"})),
            ("find", json!({"path": "letter-1.txt"})),
            ("find", json!({"text": head})),
            ("groups_of", json!({"path": "report.txt"})),
            ("compare", json!({"a": "old", "b": "."})),
            ("covered", json!({"dir": "old", "by": ["."]})),
            ("alerts_since", json!({})),
        ];
        calls.map(|(tool, arguments)| session.call(tool, &arguments))
    };
    let answers = ask_all(&mut both);
    for answer in &answers {
        let text = answer.to_string();
        assert!(!text.contains("out/") && !text.contains("secret"), "{text}");
    }
    let status = both.call("status", &json!({}));
    assert_eq!(status["roots"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["roots"][0]["state"], "live", "{status}");
    for there in ["../out/secret.txt", "../out/nothing.txt"] {
        let said = both.refusal("find", &json!({"path": there}));
        let said = said.replace(there, "X");
        assert_eq!(
            said,
            "\"X\" is no file or directory below a root of this server"
        );
    }
    both.end();
    // Without the other directory, the answers have the same figures, counts and reasons.
    sandbox.resemble(
        ["watch", "remove"]
            .map(OsStr::new)
            .into_iter()
            .chain([out.as_os_str()]),
    );
    daemon.sync();
    let mut single = session();
    let alone = ask_all(&mut single);
    for (answer, alone) in answers.iter().zip(&alone).take(6) {
        assert_eq!(answer, alone);
    }
    single.end();
}
