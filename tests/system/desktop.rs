use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{PATIENCE, Sandbox, is_installed};
use zbus::blocking::Connection;
use zbus::blocking::connection::Builder;
use zbus::zvariant::OwnedValue;

/// A program that is killed when the test ends.
struct Running(Child);

impl Running {
    /// Starts the command. Returns the program and the lines that it prints.
    fn start(command: &mut Command) -> (Self, Lines<BufReader<ChildStdout>>) {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let out = child.stdout.take().expect("a pipe");
        (Self(child), BufReader::new(out).lines())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A private message bus.
struct Bus {
    _daemon: Running,
    address: String,
}

impl Bus {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.foreign("dbus-daemon");
        command.args(["--session", "--print-address", "--nofork", "--nopidfile"]);
        let (daemon, mut lines) = Running::start(&mut command);
        Self {
            _daemon: daemon,
            address: lines.next().expect("an address").expect("a line"),
        }
    }
}

/// A notification service that sends the title and the body of each notification into the channel.
struct Service(Sender<(String, String)>);

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Service {
    #[expect(clippy::too_many_arguments, reason = "the specification has eight")]
    fn notify(
        &self,
        program: &str,
        replaces: u32,
        icon: &str,
        title: String,
        body: String,
        actions: Vec<String>,
        hints: HashMap<String, OwnedValue>,
        timeout: i32,
    ) -> u32 {
        assert_eq!((program, replaces, icon, timeout), ("resemble", 0, "", -1));
        assert_eq!((actions, hints), (Vec::new(), HashMap::new()));
        self.0.send((title, body)).expect("somebody waits");
        1
    }
}

/// Starts the service on a bus. Returns the receiver of the notifications.
fn service(bus: &Bus) -> zbus::Result<(Connection, Receiver<(String, String)>)> {
    let (told, heard) = channel();
    let connection = Builder::address(bus.address.as_str())?
        .name("org.freedesktop.Notifications")?
        .serve_at("/org/freedesktop/Notifications", Service(told))?
        .build()?;
    Ok((connection, heard))
}

/// Waits for the notification about a file. Other notifications may arrive before it, even twice.
/// If the program is killed before it records its position, it sends the last notifications again.
fn hear(heard: &Receiver<(String, String)>, name: &str) -> (String, String) {
    loop {
        let (title, body) = heard.recv_timeout(PATIENCE).expect("a notification");
        if body.contains(name) {
            return (title, body);
        }
    }
}

#[test]
fn alerts_are_shown_on_the_desktop_and_none_is_lost() {
    if !is_installed("dbus-daemon") {
        return;
    }
    let sandbox = Sandbox::new();
    let text = prose(1, 20_000);
    sandbox.write("original.txt", &text);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let bus = Bus::start(&sandbox);
    let (_service, heard) = service(&bus).expect("a service");
    let notify = || {
        let mut command = sandbox.program("resemble");
        command
            .arg("notify")
            .env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
        command
    };
    let start = || Running(notify().stderr(Stdio::null()).spawn().expect("it runs"));
    // The first run only stores the program's present position in the log of alerts.
    let once = notify().arg("--once").status().expect("it runs");
    assert!(once.success());
    let running = start();
    sandbox.write("<b>&new\n.txt", edited(&text, 1, 3));
    daemon.sync();
    let (title, body) = hear(&heard, "new");
    assert!(title.ends_with(": a similar file (99%)"), "{title}");
    assert!(
        body.contains("&lt;b&gt;&amp;new") && !body.contains('\n'),
        "{body}"
    );
    // The next alert is raised while the program is not running. Then the daemon is killed, too.
    drop(running);
    sandbox.write("second.txt", edited(&text, 7, 3));
    daemon.sync();
    daemon.kill();
    let daemon = sandbox.daemon([""; 0]);
    let running = start();
    hear(&heard, "second.txt");
    // The daemon is restarted while the program keeps running.
    assert_eq!(daemon.stop(), 0);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    sandbox.write("third.txt", edited(&text, 8, 3));
    daemon.sync();
    hear(&heard, "third.txt");
    drop(running);
    // If there is no desktop, the program reports that, and the alert is not lost.
    sandbox.write("fourth.txt", edited(&text, 9, 3));
    daemon.sync();
    let mut away = sandbox.program("resemble");
    away.args(["notify", "--once"])
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/no/such/bus");
    let away = away.output().expect("it runs");
    assert_eq!(away.status.code(), Some(1));
    let said = String::from_utf8_lossy(&away.stderr).into_owned();
    assert!(said.contains("no session bus"), "{said}");
    assert!(notify().arg("--once").status().expect("it runs").success());
    hear(&heard, "fourth.txt");
}

/// Dunst is a notification daemon that prints the notifications that it shows.
#[test]
fn a_notification_daemon_shows_an_alert() {
    if !["dbus-daemon", "Xvfb", "dunst"]
        .into_iter()
        .all(is_installed)
    {
        return;
    }
    let sandbox = Sandbox::new();
    let text = prose(1, 20_000);
    sandbox.write("original.txt", &text);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let bus = Bus::start(&sandbox);
    let mut screen = sandbox.foreign("Xvfb");
    screen.args(["-displayfd", "1", "-screen", "0", "800x400x24"]);
    let (_screen, mut lines) = Running::start(screen.stderr(Stdio::null()));
    let display = lines.next().expect("a display").expect("a line");
    let mut dunst = sandbox.foreign("dunst");
    dunst
        .arg("-print")
        .env("DISPLAY", format!(":{display}"))
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
    let (_dunst, shown) = Running::start(dunst.stderr(Stdio::null()));
    let notify = || {
        let mut command = sandbox.program("resemble");
        command
            .args(["notify", "--once"])
            .env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
        command.status().expect("it runs").success()
    };
    assert!(notify(), "it takes its place in the log");
    sandbox.write("<b>&new.txt", edited(&text, 1, 3));
    daemon.sync();
    // Dunst can be reached on the bus only when it is ready. Until then `notify` fails, and the
    // alert stays in the log.
    let began = Instant::now();
    while !notify() {
        assert!(began.elapsed() < PATIENCE, "no notification");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut shown = shown.map(|line| line.expect("a line").trim().to_owned());
    let title = shown.find(|line| line.starts_with("summary:"));
    let body = shown.find(|line| line.starts_with("body:"));
    assert_eq!(
        title.as_deref(),
        Some("summary: '\u{27}<b>&new.txt\u{27}: a similar file (99%)'")
    );
    let body = body.unwrap_or_default();
    assert!(body.contains("&lt;b&gt;&amp;new.txt"), "{body}");
}
