//! A notification on the desktop: one method call on the session bus.
//!
//! The D-Bus specification is followed as far as one call and its answer need it: the address, the
//! EXTERNAL authentication, and messages in little-endian order. Every delivery has a connection of
//! its own, so a bus that was restarted is no special case.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

/// How long the bus and the notification service may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of a message that are read.
const MOST: usize = 1 << 20;

/// Where the session bus is: `address` (`DBUS_SESSION_BUS_ADDRESS`), else `bus` in the runtime
/// folder.
pub(super) fn connect(address: Option<&str>, runtime: Option<&Path>) -> io::Result<UnixStream> {
    let mut tried = io::Error::new(
        io::ErrorKind::NotFound,
        "there is no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR names one",
    );
    let usual = runtime.map(|runtime| SocketAddr::from_pathname(runtime.join("bus")));
    let addresses = match address {
        Some(address) => address.split(';').filter_map(unix_address).collect(),
        None => Vec::from_iter(usual),
    };
    for address in addresses {
        match address.and_then(|address| UnixStream::connect_addr(&address)) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => {
                tried = io::Error::new(error.kind(), format!("no session bus: {error}"));
            }
        }
    }
    Err(tried)
}

/// One address of a list, if it is of a Unix socket: `unix:path=/run/user/1000/bus,guid=…`.
fn unix_address(text: &str) -> Option<io::Result<SocketAddr>> {
    let pairs = text.strip_prefix("unix:")?.split(',');
    pairs
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(key, value)| {
            let value = unescaped(value);
            match key {
                "path" => {
                    let path = std::ffi::OsString::from_vec(value);
                    Some(SocketAddr::from_pathname(path))
                }
                "abstract" => Some(SocketAddr::from_abstract_name(value)),
                _ => None,
            }
        })
}

/// `%2f` in an address is a byte.
fn unescaped(value: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = digits.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    bytes
}

/// Shows a notification. `body` is markup: see [`escaped`].
pub(super) fn notify(bus: &mut UnixStream, title: &str, body: &str) -> io::Result<()> {
    authenticate(bus)?;
    let hello = Call {
        destination: "org.freedesktop.DBus",
        path: "/org/freedesktop/DBus",
        interface: "org.freedesktop.DBus",
        member: "Hello",
        signature: "",
    };
    bus.write_all(&hello.message(1, &[]))?;
    answer(bus, 1)?;
    let mut arguments = Wire::default();
    arguments.string("resemble");
    arguments.u32(0); // it replaces none
    arguments.string(""); // no icon
    arguments.string(title);
    arguments.string(body);
    arguments.u32(0); // no actions
    arguments.u32(0); // no hints
    arguments.align(8);
    arguments.u32(u32::MAX); // -1: it goes when the service wants
    let call = Call {
        destination: "org.freedesktop.Notifications",
        path: "/org/freedesktop/Notifications",
        interface: "org.freedesktop.Notifications",
        member: "Notify",
        signature: "susssasa{sv}i",
    };
    bus.write_all(&call.message(2, &arguments.0))?;
    answer(bus, 2)
}

/// Text as markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn authenticate(bus: &mut UnixStream) -> io::Result<()> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let digits: Vec<String> = uid.bytes().map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.concat();
    bus.write_all(format!("\0AUTH EXTERNAL {digits}\r\n").as_bytes())?;
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        bus.read_exact(&mut byte)?;
        line.push(byte[0]);
        if line.len() > 4096 {
            return Err(invalid("the bus does not end its line"));
        }
    }
    if !line.starts_with(b"OK ") {
        return Err(invalid("the bus does not let this user in"));
    }
    bus.write_all(b"BEGIN\r\n")
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

struct Call {
    destination: &'static str,
    path: &'static str,
    interface: &'static str,
    member: &'static str,
    signature: &'static str,
}

impl Call {
    fn message(&self, serial: u32, body: &[u8]) -> Vec<u8> {
        let mut fields = Wire::default();
        for (code, kind, value) in [
            (1, "o", self.path),
            (2, "s", self.interface),
            (3, "s", self.member),
            (6, "s", self.destination),
        ] {
            fields.align(8);
            fields.0.push(code);
            fields.signature(kind);
            fields.string(value);
        }
        if !self.signature.is_empty() {
            fields.align(8);
            fields.0.push(8);
            fields.signature("g");
            fields.signature(self.signature);
        }
        // Little-endian, a method call, no flags, version 1.
        let mut message = Wire(vec![b'l', 1, 0, 1]);
        message.u32(body.len() as u32);
        message.u32(serial);
        message.u32(fields.0.len() as u32);
        message.0.extend(&fields.0);
        message.align(8);
        message.0.extend(body);
        message.0
    }
}

/// Values as they are on the wire, each at its alignment. It begins at a multiple of eight.
#[derive(Default)]
struct Wire(Vec<u8>);

impl Wire {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    fn u32(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    fn string(&mut self, value: &str) {
        // No string on the bus holds a NUL.
        let value = value.replace('\0', "");
        self.u32(value.len() as u32);
        self.0.extend(value.bytes());
        self.0.push(0);
    }

    fn signature(&mut self, value: &str) {
        self.0.push(value.len() as u8);
        self.0.extend(value.bytes());
        self.0.push(0);
    }
}

/// Reads messages until the answer to a call; what an error says is the error.
fn answer(bus: &mut UnixStream, serial: u32) -> io::Result<()> {
    const RETURN: u8 = 2;
    const ERROR: u8 = 3;
    loop {
        let mut head = [0; 16];
        bus.read_exact(&mut head)?;
        let is_little = head[0] == b'l';
        let fields_length = number(&head[12..], is_little)?;
        let body_length = number(&head[4..], is_little)?;
        let padded = fields_length.next_multiple_of(8);
        if padded + body_length > MOST {
            return Err(invalid("the bus sent a message that is too large"));
        }
        let mut rest = vec![0; padded + body_length];
        bus.read_exact(&mut rest)?;
        let (fields, body) = rest.split_at(padded);
        let fields = Fields::read(&fields[..fields_length], is_little)?;
        if fields.reply_to != Some(serial) {
            continue;
        }
        return match head[1] {
            RETURN => Ok(()),
            ERROR => {
                let name = fields.error.unwrap_or_default();
                let text = text(body, is_little).unwrap_or_default();
                Err(io::Error::other(format!("{name}: {text}")))
            }
            _ => continue,
        };
    }
}

/// What is needed of the fields of a header.
#[derive(Default)]
struct Fields {
    reply_to: Option<u32>,
    error: Option<String>,
}

impl Fields {
    fn read(bytes: &[u8], is_little: bool) -> io::Result<Self> {
        let mut found = Self::default();
        let mut at = 0;
        let cut = || invalid("the bus sent half a header");
        while at < bytes.len() {
            at = at.next_multiple_of(8);
            // Code, length of the signature (1), signature, NUL.
            let &[code, 1, kind, 0] = bytes.get(at..at + 4).ok_or_else(cut)? else {
                return Ok(found);
            };
            at += 4;
            let value = bytes.get(at..).ok_or_else(cut)?;
            match kind {
                b'u' => {
                    let number = number(value, is_little)? as u32;
                    if code == 5 {
                        found.reply_to = Some(number);
                    }
                    at += 4;
                }
                b's' | b'o' => {
                    let text = text(value, is_little)?;
                    at += 4 + text.len() + 1;
                    if code == 4 {
                        found.error = Some(text);
                    }
                }
                b'g' => at += 2 + usize::from(*value.first().ok_or_else(cut)?),
                _ => return Ok(found),
            }
        }
        Ok(found)
    }
}

fn number(bytes: &[u8], is_little: bool) -> io::Result<usize> {
    let bytes = bytes
        .first_chunk()
        .ok_or_else(|| invalid("the bus sent half a number"))?;
    let number = if is_little {
        u32::from_le_bytes(*bytes)
    } else {
        u32::from_be_bytes(*bytes)
    };
    Ok(number as usize)
}

fn text(bytes: &[u8], is_little: bool) -> io::Result<String> {
    let length = number(bytes, is_little)?;
    let text = bytes.get(4..4 + length);
    let text = text.ok_or_else(|| invalid("the bus sent half a text"))?;
    Ok(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let path = |text| {
            let address = unix_address(text).unwrap().unwrap();
            address.as_pathname().map(Path::to_path_buf)
        };
        assert_eq!(path("unix:path=/run/bus,guid=1"), Some("/run/bus".into()));
        assert_eq!(path("unix:guid=1,path=/a%20b%zz"), Some("/a b%zz".into()));
        let hidden = unix_address("unix:abstract=/tmp/x").unwrap().unwrap();
        assert_eq!(hidden.as_abstract_name(), Some(&b"/tmp/x"[..]));
        assert!(unix_address("tcp:host=localhost").is_none());
    }

    #[test]
    fn a_name_is_no_markup() {
        assert_eq!(escaped("<b>&</b>"), "&lt;b&gt;&amp;&lt;/b&gt;");
    }

    #[test]
    fn half_a_message_is_an_error_and_no_panic() {
        // The answer to call 2, as a bus sends it: the fields reply_serial and sender.
        let mut fields = Wire::default();
        fields.0.push(5);
        fields.signature("u");
        fields.u32(2);
        fields.align(8);
        fields.0.push(7);
        fields.signature("s");
        fields.string(":1.5");
        let whole = fields.0;
        assert_eq!(Fields::read(&whole, true).unwrap().reply_to, Some(2));
        for end in 1..whole.len() {
            let _read = Fields::read(&whole[..end], true);
        }
    }
}
