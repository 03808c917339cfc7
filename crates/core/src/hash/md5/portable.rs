//! One message after the other, by the crate `md-5`.

use md5::{Digest, Md5};

use crate::ids::ChunkHash;

pub(super) fn md5_many(messages: &[&[u8]], out: &mut Vec<ChunkHash>) {
    out.extend(
        messages
            .iter()
            .map(|message| ChunkHash(Md5::digest(message).into())),
    );
}
