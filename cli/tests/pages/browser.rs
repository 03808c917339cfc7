//! Runs a real browser without a window, through its debugging pipe.
//!
//! `chromium --remote-debugging-pipe` reads commands from descriptor 3. It writes answers and
//! events to descriptor 4. Each message is JSON that ends with NUL. A shell connects the pipes to
//! these descriptors. Tests use a page as a person does, by keys and by clicks at positions, and
//! not by calls of its functions.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The longest time to wait for an answer of the browser.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns whether a program is installed. If not, this prints a warning, or fails (see `main.rs`).
pub(crate) fn installed(program: &str) -> bool {
    let asked = std::env::var("RESEMBLE_REQUIRE_BROWSER").unwrap_or_default();
    let found = asked != "0"
        && Command::new("sh")
            .args(["-c", "command -v \"$0\"", program])
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    if !found {
        assert!(
            asked != "1",
            "RESEMBLE_REQUIRE_BROWSER=1 and there is no {program}"
        );
        let why = if asked == "0" {
            "RESEMBLE_REQUIRE_BROWSER=0".to_owned()
        } else {
            format!("there is no {program}")
        };
        // The text is not printed by `eprintln!`, because the test harness hides that output of
        // passing tests.
        let text = format!("\n*** SKIPPED, NOT TESTED: {why} ***\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    found
}

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    last: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser. Returns `None` if no browser is installed.
    pub(crate) fn start() -> Option<Self> {
        if !installed("chromium") {
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        // The browser's sandbox needs rights that a container does not have. The tests do without
        // the sandbox, because they make all pages themselves.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --no-first-run \
             --disable-dev-shm-usage --disable-background-networking --window-size=1300,900 \
             --remote-debugging-pipe --user-data-dir=\"$0\" about:blank \
             3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(profile.path())
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            commands,
            messages,
            session: None,
            last: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command of the debugging protocol and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&command).unwrap();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let mut message = self.messages.recv_timeout(PATIENCE).expect(method);
            if message["id"] == json!(self.last) {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub(crate) fn open(&mut self, page: &Path) {
        let url = format!("file://{}", page.display());
        let seen = self.events.len();
        self.call("Page.navigate", &json!({"url": url}));
        self.wait(seen, |event| event["method"] == "Page.loadEventFired");
    }

    /// Lets the page save files into a folder.
    pub(crate) fn save_into(&mut self, folder: &Path) {
        let params = json!({"behavior": "allow", "downloadPath": folder, "eventsEnabled": true});
        self.call("Browser.setDownloadBehavior", &params);
    }

    /// Clicks on an element that saves a file, and waits for the file.
    pub(crate) fn click_to_save(&mut self, element: &str) {
        let seen = self.events.len();
        self.click(element);
        self.wait(seen, |event| event["params"]["state"] == "completed");
    }

    /// Waits for an event that `is_it` accepts, among those after the first `seen` events.
    fn wait(&mut self, seen: usize, is_it: impl Fn(&Value) -> bool) {
        while !self.events[seen..].iter().any(&is_it) {
            let message = self.messages.recv_timeout(PATIENCE).expect("an event");
            self.events.push(message);
        }
    }

    /// Returns the value of a JavaScript expression. If the value is a promise, waits for its
    /// result.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].take()
    }

    /// Returns the value of a JavaScript expression that is a string.
    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
            .to_owned()
    }

    /// Waits until the page has drawn the latest changes.
    pub(crate) fn settle(&mut self) {
        self.eval(
            "new Promise((done) => \
             requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
        );
    }

    /// Clicks in the middle of the element that a JavaScript expression returns.
    #[track_caller]
    pub(crate) fn click(&mut self, element: &str) {
        let place = self.eval(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let (x, y) = (&place[0], &place[1]);
            let params = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", &params);
        }
        self.settle();
    }

    /// Presses a key, such as `Tab`, `Enter`, ` `, `ArrowDown` or `j`.
    pub(crate) fn key(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, None),
            "Enter" => (13, Some("\r")),
            " " => (32, Some(" ")),
            "End" => (35, None),
            "Home" => (36, None),
            "ArrowLeft" => (37, None),
            "ArrowUp" => (38, None),
            "ArrowRight" => (39, None),
            "ArrowDown" => (40, None),
            "Escape" => (27, None),
            "j" | "n" | "p" | "x" | "/" | "?" => (0, Some(key)),
            other => panic!("no code for {other}"),
        };
        let mut params = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if let Some(text) = text {
            params["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &params);
        let up = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", &up);
        self.settle();
    }

    /// Sets the width of the window.
    pub(crate) fn resize(&mut self, width: u32) {
        let params = json!({"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": true});
        self.call("Emulation.setDeviceMetricsOverride", &params);
        self.settle();
    }

    /// Types into the element that has the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
        self.settle();
    }

    /// Returns the errors in the page, and its requests for addresses other than its own.
    pub(crate) fn problems(&mut self) -> Vec<Value> {
        // The browser sends pending events before the answer to this command.
        self.eval("1");
        let bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded" | "Page.javascriptDialogOpening") => {
                true
            }
            Some("Network.requestWillBeSent") => {
                let (url, page) = (
                    &event["params"]["request"]["url"],
                    &event["params"]["documentURL"],
                );
                url != page || !url.as_str().is_some_and(|url| url.starts_with("file:"))
            }
            _ => false,
        };
        self.events.iter().filter(bad).cloned().collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser is asked to close before it is killed, because its child processes outlive a
        // kill.
        self.last += 1;
        let close = format!("{{\"id\":{},\"method\":\"Browser.close\"}}\0", self.last);
        let asked = self.commands.write_all(close.as_bytes());
        if asked.is_err() || std::thread::panicking() {
            self.child.kill().unwrap_or_default();
        }
        self.child.wait().map(drop).unwrap_or_default();
    }
}
