use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{PATIENCE, Sandbox, is_installed, skipped};

/// A bus of its own.
struct Bus {
    child: Child,
    address: String,
}

impl Bus {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.foreign("dbus-daemon");
        command.args(["--session", "--print-address", "--nofork", "--nopidfile"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a bus");
        let mut address = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out)
            .read_line(&mut address)
            .expect("an address");
        Self {
            child,
            address: address.trim().to_owned(),
        }
    }

    fn connect(&self) -> UnixStream {
        let first = self.address.split(',').next().expect("an address");
        let place = first.strip_prefix("unix:").expect("a socket");
        let address = match place.split_once('=').expect("a place") {
            ("path", path) => SocketAddr::from_pathname(path),
            (_, name) => SocketAddr::from_abstract_name(name),
        };
        UnixStream::connect_addr(&address.expect("an address")).expect("a bus")
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A message with a body, by its raw header fields.
fn message(kind: u8, serial: u32, fields: &[(u8, &str, &[u8])], body: &[u8]) -> Vec<u8> {
    let align = |bytes: &mut Vec<u8>, to: usize| bytes.resize(bytes.len().next_multiple_of(to), 0);
    let mut header = Vec::new();
    for (code, signature, value) in fields {
        align(&mut header, 8);
        header.extend([*code, 1, signature.as_bytes()[0], 0]);
        match *signature {
            "u" => header.extend(*value),
            "g" => {
                header.push(value.len() as u8);
                header.extend(*value);
                header.push(0);
            }
            _ => {
                header.extend((value.len() as u32).to_le_bytes());
                header.extend(*value);
                header.push(0);
            }
        }
    }
    let mut bytes = vec![b'l', kind, 0, 1];
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(serial.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    align(&mut bytes, 8);
    bytes.extend(body);
    bytes
}

fn number(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize
}

/// What is read of a message: its kind, its serial, its sender, its body.
fn read(bus: &mut UnixStream) -> Option<(u8, u32, String, Vec<u8>)> {
    let mut head = [0; 16];
    bus.read_exact(&mut head).ok()?;
    assert_eq!(head[0], b'l');
    let (length, fields) = (number(&head[4..]), number(&head[12..]));
    let mut rest = vec![0; fields.next_multiple_of(8) + length];
    bus.read_exact(&mut rest).ok()?;
    let (mut at, mut sender) = (0, String::new());
    while at < fields {
        at = usize::next_multiple_of(at, 8);
        let (code, kind) = (rest[at], rest[at + 2]);
        at += 4;
        let size = match kind {
            b'u' => 4,
            b'g' => 2 + usize::from(rest[at]),
            _ => 5 + number(&rest[at..]),
        };
        if code == 7 {
            sender = String::from_utf8(rest[at + 4..at + size - 1].to_vec()).expect("a name");
        }
        at += size;
    }
    let body = rest.split_off(fields.next_multiple_of(8));
    Some((head[1], number(&head[8..]) as u32, sender, body))
}

/// The strings of a call of `Notify`: program, icon, title, body.
fn strings(body: &[u8]) -> Vec<String> {
    let mut at = 0;
    let mut found = Vec::new();
    for place in 0..5 {
        at = usize::next_multiple_of(at, 4);
        if place == 1 {
            at += 4; // the number of the notification that it replaces
            continue;
        }
        let length = number(&body[at..]);
        let text = body[at + 4..at + 4 + length].to_vec();
        found.push(String::from_utf8(text).expect("UTF-8"));
        at += 4 + length + 1;
    }
    found
}

/// A service that takes notifications: title and body of each come out of the channel.
fn service(bus: &Bus) -> Receiver<(String, String)> {
    let mut bus = bus.connect();
    let uid = rustix::process::geteuid().as_raw().to_string();
    let digits: Vec<String> = uid.bytes().map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.concat();
    bus.write_all(format!("\0AUTH EXTERNAL {digits}\r\n").as_bytes())
        .expect("a bus");
    let mut line = [0; 37];
    bus.read_exact(&mut line).expect("OK and the id of the bus");
    assert!(line.starts_with(b"OK ") && line.ends_with(b"\r\n"));
    bus.write_all(b"BEGIN\r\n").expect("a bus");
    let call = |serial, member: &str, signature: &str, body: &[u8]| {
        let mut fields: Vec<(u8, &str, &[u8])> = vec![
            (1, "o", b"/org/freedesktop/DBus"),
            (2, "s", b"org.freedesktop.DBus"),
            (3, "s", member.as_bytes()),
            (6, "s", b"org.freedesktop.DBus"),
        ];
        if !signature.is_empty() {
            fields.push((8, "g", signature.as_bytes()));
        }
        message(1, serial, &fields, body)
    };
    bus.write_all(&call(1, "Hello", "", b"")).expect("a bus");
    let name = b"org.freedesktop.Notifications\0";
    let mut body = ((name.len() - 1) as u32).to_le_bytes().to_vec();
    body.extend(name);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(0u32.to_le_bytes());
    bus.write_all(&call(2, "RequestName", "su", &body))
        .expect("a bus");
    // The service is there when the second call is answered.
    let mut answers = 0;
    while answers < 2 {
        let (kind, ..) = read(&mut bus).expect("an answer");
        assert_ne!(kind, 3, "an error");
        answers += u32::from(kind == 2);
    }
    let (told, heard) = channel();
    std::thread::spawn(move || {
        let mut serial = 2;
        while let Some((kind, asked, sender, body)) = read(&mut bus) {
            if kind != 1 {
                continue;
            }
            serial += 1;
            let asked = asked.to_le_bytes();
            let fields: [(u8, &str, &[u8]); 3] = [
                (5, "u", &asked),
                (6, "s", sender.as_bytes()),
                (8, "g", b"u"),
            ];
            let answer = message(2, serial, &fields, &serial.to_le_bytes());
            if bus.write_all(&answer).is_err() {
                return;
            }
            let strings = strings(&body);
            assert_eq!(strings[0], "resemble");
            if told.send((strings[2].clone(), strings[3].clone())).is_err() {
                return;
            }
        }
    });
    heard
}

#[test]
fn alerts_are_shown_on_the_desktop_and_none_is_lost() {
    if !is_installed("dbus-daemon") {
        skipped("dbus-daemon is not installed");
        return;
    }
    let sandbox = Sandbox::new();
    let text = prose(1, 20_000);
    sandbox.write("original.txt", &text);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let bus = Bus::start(&sandbox);
    let heard = service(&bus);
    let notify = || {
        let mut command = sandbox.program("resemble");
        command
            .arg("notify")
            .env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
        command
    };
    // It takes its place in the log.
    let once = notify().arg("--once").status().expect("it runs");
    assert!(once.success());
    let mut running = notify().stderr(Stdio::null()).spawn().expect("it runs");
    sandbox.write("<b>&new\n.txt", edited(&text, 1, 3));
    daemon.sync();
    let (title, body) = heard.recv_timeout(PATIENCE).expect("a notification");
    assert!(
        title.ends_with(": a similar file (98%)") || title.contains("similar"),
        "{title}"
    );
    assert!(
        body.contains("&lt;b&gt;&amp;new") && !body.contains('\n'),
        "{body}"
    );
    // Neither is there when it happens.
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    sandbox.write("second.txt", edited(&text, 7, 3));
    daemon.sync();
    daemon.kill();
    let daemon = sandbox.daemon([""; 0]);
    let mut running = notify().stderr(Stdio::null()).spawn().expect("it runs");
    let (_, body) = heard.recv_timeout(PATIENCE).expect("a notification");
    assert!(body.contains("second.txt"), "{body}");
    // Over a restart of the daemon.
    assert_eq!(daemon.stop(), 0);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    sandbox.write("third.txt", edited(&text, 8, 3));
    daemon.sync();
    let (_, body) = heard.recv_timeout(PATIENCE).expect("a notification");
    assert!(body.contains("third.txt"), "{body}");
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    // Without a desktop it says so, and loses nothing.
    sandbox.write("fourth.txt", edited(&text, 9, 3));
    daemon.sync();
    let no_bus = [OsStr::new("unix:path=/no/such/bus")];
    let mut away = sandbox.program("resemble");
    away.args(["notify", "--once"])
        .env("DBUS_SESSION_BUS_ADDRESS", no_bus[0]);
    let away = away.output().expect("it runs");
    assert_eq!(away.status.code(), Some(1));
    let said = String::from_utf8_lossy(&away.stderr).into_owned();
    assert!(said.contains("no session bus"), "{said}");
    assert!(notify().arg("--once").status().expect("it runs").success());
    let (_, body) = heard.recv_timeout(PATIENCE).expect("a notification");
    assert!(body.contains("fourth.txt"), "{body}");
}
