//! `resemble-proto`: the protocol of the daemon and the command line.
//!
//! A question may be answered by the daemon over its socket or by the command itself from its own
//! cache. Scripts must not be able to distinguish the two. So the *answers* are types of this
//! crate. The daemon and the command build the same types, and only one piece of code prints them.
//! The modules:
//!
//! * [`number`] and [`path`]: the two values that JSON lacks, a share with six decimals and a name
//!   of any bytes;
//! * [`message`]: requests and answers as plain data;
//! * [`report`]: the writing of JSON documents, for `--format json` and for the overlay's
//!   `.report.json`;
//! * [`documents`]: the document of each report, which can be read back, too;
//! * [`question`]: the mapping of requests to answers;
//! * [`frame`]: lines with a hard size limit and a total decoder;
//! * [`client`]: the blocking client;
//! * [`remote`]: the daemon of another machine, through ssh;
//! * [`catalogued`]: the paths of files that only a catalogue has;
//! * [`pattern`]: the meaning of the globs of a request;
//! * [`places`]: the places of socket, state and cache, from an explicit environment;
//! * [`clock`]: the present time, and which dates count.
//!
//! The crate opens files and sockets in `client` and `places` only, and starts ssh in `remote`. It
//! reads no environment variable and prints nothing. `docs/protocol.md` describes the protocol
//! itself, with an example.
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

/// The number of the protocol, the `resemble` field of [`message::Hello`]. It increases only when
/// an old client would misread a new daemon. New optional fields do not count.
pub const PROTOCOL: u32 = 1;

/// The number of the JSON documents' layout, the `schema` field of every document. Additive
/// changes keep it.
pub const SCHEMA: u32 = 1;

/// The version of resemble, printed by `--version` and in every document.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
