//! Hashes one message after the other with the crate `md-5`.

use md5::{Digest, Md5};

use super::Md5Digest;

pub(super) fn md5_many(messages: &[&[u8]], out: &mut Vec<Md5Digest>) {
    out.extend(
        messages
            .iter()
            .map(|message| Md5Digest::from(Md5::digest(message))),
    );
}
