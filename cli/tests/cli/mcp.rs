//! `mcp` gives a client what it asks for, but nothing outside its root.

use std::io::{BufRead, Write};

use resemble_testutil::Environment;
use resemble_testutil::mcp::McpSession;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::random::Random;
use serde_json::json;

use crate::environment;

/// Makes the root `in` with two versions of a text, a copy and an unrelated text. The folder `out`,
/// which is not in the root, has another copy.
fn scene() -> Environment {
    let env = environment();
    let text = paragraphs(1, 40);
    env.write("in/report.txt", &text);
    env.write("in/copy.txt", &text);
    env.write("in/old/report.txt", [&text[..], &paragraphs(2, 3)].concat());
    env.write("in/other.txt", paragraphs(7, 40));
    env.write("out/secret.txt", &text);
    env
}

/// Starts an MCP server for the root `in`. The server asks no daemon.
fn session(env: &Environment) -> McpSession {
    McpSession::of(&mut env.command(["mcp", "--root", "in", "--local"]))
}

#[test]
fn every_tool_answers_about_its_roots() {
    let env = scene();
    let mut session = session(&env);
    let tools = session.ask("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    assert_eq!(tools.len(), 7);
    for tool in &tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    let found = session.call("find", &json!({"path": "report.txt"}));
    let rows = found["results"].as_array().unwrap();
    assert_eq!((found["results_total"].as_u64(), rows.len()), (Some(2), 2));
    assert!(
        rows[0]["path"].as_str().unwrap().ends_with("/in/copy.txt"),
        "{found}"
    );
    // The figures of the server equal those of the command line.
    let said = env.run(["find", "in/report.txt", "--in", "in", "--format", "json"]);
    for (row, said) in rows.iter().zip(said.json()["results"].as_array().unwrap()) {
        for figure in ["a_in_b", "b_in_a", "shared_bytes", "relation"] {
            assert_eq!(row[figure], said[figure], "{figure}");
        }
    }
    let by_text = session.call("find", &json!({"text": paragraphs(7, 40), "max_rows": 1}));
    assert!(
        by_text["results"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with("other.txt")
    );
    let why = session.call("why", &json!({"a": "report.txt", "b": "old/report.txt"}));
    assert!(!why["ranges"].as_array().unwrap().is_empty(), "{why}");
    let said = env.run([
        "why",
        "in/report.txt",
        "in/old/report.txt",
        "--format",
        "json",
    ]);
    for figure in ["a_in_b", "b_in_a", "resemblance", "shared_bytes", "unit"] {
        assert_eq!(why[figure], said.json()[figure], "{figure}");
    }
    let compared = session.call("compare", &json!({"a": "old", "b": "."}));
    assert!(
        compared["summary"]["edited"].as_u64().unwrap() > 0,
        "{compared}"
    );
    let covered = session.call("covered", &json!({"dir": "old", "by": ["."]}));
    assert_eq!(covered["covered"], false, "{covered}");
    let groups = session.call("groups_of", &json!({"path": "report.txt"}));
    assert_eq!(groups["identical"][0]["paths"].as_array().unwrap().len(), 2);
    assert_eq!(session.call("status", &json!({})), json!({"daemon": false}));
    let uri = format!("resemble://{}/similar", env.path("in/report.txt").display());
    let resource = session.ask("resources/read", &json!({"uri": uri}));
    let text = resource["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("copy.txt"), "{resource}");
    session.end();
}

#[test]
fn bad_arguments_get_one_sentence() {
    let env = scene();
    let mut session = session(&env);
    for (tool, arguments) in [
        ("find", json!({})),
        ("find", json!({"path": "report.txt", "text": "x"})),
        ("find", json!({"path": "report.txt", "min": 2})),
        ("find", json!({"path": "report.txt", "max_rows": 0})),
        ("find", json!({"path": "report.txt", "exact": true})),
        ("find", json!({"path": 7})),
        ("why", json!({"a": "report.txt"})),
        ("covered", json!({"dir": "old", "by": []})),
        ("status", json!({"path": "report.txt"})),
    ] {
        let said = session.refusal(tool, &arguments);
        assert!(
            !said.is_empty() && !said.contains('\n'),
            "{tool} {arguments}: {said}"
        );
    }
    let unknown = session.ask("tools/call", &json!({"name": "remove", "arguments": {}}));
    assert!(unknown["error"].is_object(), "{unknown}");
    session.end();
}

#[test]
fn a_long_question_is_cancelled_and_the_next_one_answered() {
    let env = scene();
    for n in 0..400 {
        env.write(format!("in/many/{n}.txt"), paragraphs(n, 200));
    }
    let mut session = session(&env);
    let params = json!({"name": "groups_of", "arguments": {"path": "report.txt"}});
    session.send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}));
    session.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 77}}),
    );
    let found = session.call("find", &json!({"path": "report.txt", "in": ["copy.txt"]}));
    assert_eq!(found["results_total"], 1, "{found}");
    session.end();
}

/// Whatever the server reads, it neither ends nor hangs. `RESEMBLE_MCP_MESSAGES` sets the number of
/// messages.
#[test]
fn mutated_messages_do_no_harm() {
    let env = scene();
    let count = std::env::var("RESEMBLE_MCP_MESSAGES").ok();
    let count: u64 = count.map_or(2000, |count| count.parse().unwrap());
    let session = session(&env);
    let sound = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "why", "arguments": {"a": "../out/secret.txt", "b": "report.txt"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read",
            "params": {"uri": "resemble://..%2fout%2fsecret.txt/similar"}}),
        json!({"jsonrpc": "2.0", "id": "x", "method": "ping"}),
    ];
    let mut random = Random::new(3);
    // A thread reads the answers while messages are written. Otherwise, as soon as the pipes are
    // full, both sides would wait for each other.
    let McpSession {
        mut server,
        mut input,
        output,
        ..
    } = session;
    let reader = std::thread::spawn(move || {
        let mut seen_end = false;
        for line in output.lines() {
            let line = line.unwrap();
            assert!(!line.contains("secret.txt\",\"relation"), "{line}");
            seen_end |= line.contains("\"id\":\"the end\"");
        }
        seen_end
    });
    for at in 0..count {
        let mut line = sound[at as usize % sound.len()].to_string().into_bytes();
        for _ in 0..random.below(4) {
            let place = random.below(line.len());
            match random.below(3) {
                0 => line[place] = random.below(256) as u8,
                1 => drop(line.remove(place)),
                _ => line.insert(place, b"{}[]\",:0\\"[random.below(9)]),
            }
        }
        line.retain(|byte| *byte != b'\n');
        line.push(b'\n');
        input.write_all(&line).unwrap();
    }
    let end = json!({"jsonrpc": "2.0", "id": "the end", "method": "ping"});
    writeln!(input, "{end}").unwrap();
    drop(input);
    assert!(reader.join().unwrap(), "the last message has no answer");
    assert!(server.wait().unwrap().success());
}
