//! A client of `resemble mcp`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running server and the client's ends of its pipes.
#[derive(Debug)]
pub struct McpSession {
    /// The process of the server.
    pub server: Child,
    /// The standard input of the server.
    pub input: ChildStdin,
    /// The standard output of the server.
    pub output: BufReader<ChildStdout>,
    next: u64,
}

impl McpSession {
    /// Starts a server and performs the handshake.
    ///
    /// # Panics
    ///
    /// If the server does not complete the handshake.
    pub fn of(command: &mut Command) -> Self {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a server of the protocol");
        let input = server.stdin.take().expect("a server of the protocol");
        let output = BufReader::new(server.stdout.take().expect("a server of the protocol"));
        let mut session = Self {
            server,
            input,
            output,
            next: 0,
        };
        let hello = session.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "resemble", "{hello}");
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("a server of the protocol");
    }

    /// Returns the next message of the server.
    fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("a server of the protocol");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Sends a request and returns its answer. Notifications before the answer are ignored.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let heard = self.heard();
            if heard["id"] == id {
                return heard;
            }
        }
    }

    /// Calls a tool and returns its structured answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must refuse, and returns the reason that it gives.
    pub fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        result["content"][0]["text"]
            .as_str()
            .expect("a server of the protocol")
            .to_owned()
    }

    /// Ends the server by closing its input, as clients do.
    pub fn end(self) {
        let Self {
            mut server, input, ..
        } = self;
        drop(input);
        assert!(server.wait().expect("a server of the protocol").success());
    }
}
