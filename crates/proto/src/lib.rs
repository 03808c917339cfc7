//! `resemble-proto`: the protocol between the daemon and the command line.
//!
//! Either the daemon answers a question over its socket, or the command itself answers it from its
//! own cache. Scripts must not be able to distinguish these two cases. So the *answers* are types
//! of this crate. The daemon and the command build the same types, and the same code prints them.
//! The modules:
//!
//! * [`number`] and [`path`]: two kinds of values that JSON lacks (a share with six decimals, and a
//!   name of any bytes);
//! * [`message`]: requests and answers as plain data;
//! * [`report`]: writes JSON documents, for `--format json` and for the overlay's `.report.json`;
//! * [`documents`]: the document of each report, which can also be read back;
//! * [`question`]: the type of the answer to each request;
//! * [`frame`]: lines with a hard limit for their length, and a decoder that accepts any bytes;
//! * [`client`]: the blocking client;
//! * [`remote`]: the connection to the daemon of another machine through ssh;
//! * [`catalogued`]: the paths of files that are only in a catalogue;
//! * [`pattern`]: the meaning of the globs in a request;
//! * [`places`]: the paths of the socket, the state and the cache, computed from a given
//!   environment;
//! * [`clock`]: the present time, and which dates count as past;
//! * [`seal`]: the digest at the end of a report.
//!
//! Only `client` connects to sockets, only `places` accesses the file system, and only `remote`
//! starts ssh. The crate reads no environment variable and prints nothing. `docs/protocol.md`
//! describes the protocol, with an example.
#![forbid(unsafe_code)]

pub mod catalogued;
pub mod client;
pub mod clock;
pub mod documents;
pub mod frame;
pub mod message;
pub mod number;
pub mod path;
pub mod pattern;
pub mod places;
pub mod question;
pub mod remote;
pub mod report;
#[cfg(feature = "schema")]
mod schema;
pub mod seal;

/// The number of the protocol. It is the field `resemble` of [`message::Hello`]. It increases only
/// if an old client would misread a new daemon. A new optional field does not increase it.
pub const PROTOCOL: u32 = 1;

/// The number of the layout of the JSON documents. It is the field `schema` of every document.
/// Additions do not change it.
pub const SCHEMA: u32 = 1;

/// The version of `resemble`. `--version` prints it, and every document has it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
