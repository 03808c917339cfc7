//! The signature of a file.

use std::path::Path;

use resemble_core::hash::content::ContentHasher;
use resemble_core::{ByteLen, ContentDigest};
use resemble_methods::{MethodParams, MethodSignature, Signer};

use resemble_query::{AskError, anchor_of, unreadable};
use resemble_scan::read::bytes::{Bytes, Next};

/// What a method keeps of a file, and what it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedFile {
    /// The signature.
    pub signature: MethodSignature,
    /// The digest of the very bytes that it is the signature of.
    pub content: ContentDigest,
    /// How many bytes these are.
    pub size: ByteLen,
}

/// Makes signatures, one after the other.
#[derive(Debug)]
pub struct Signing {
    signer: Signer,
    hasher: ContentHasher,
    size: u64,
    bytes: Bytes,
}

impl Signing {
    /// At the start of a content.
    pub fn new(params: &MethodParams) -> Self {
        Self {
            signer: Signer::new(params),
            hasher: ContentHasher::new(),
            size: 0,
            bytes: Bytes::new(),
        }
    }

    /// Takes the next bytes of a content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.signer.update(bytes);
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
    }

    /// The end of the content; what comes next is another one.
    pub fn finish(&mut self) -> SignedFile {
        SignedFile {
            signature: self.signer.finish(),
            content: std::mem::take(&mut self.hasher).finish(),
            size: ByteLen(std::mem::take(&mut self.size)),
        }
    }

    /// Reads a file as carefully as an indexed one. Memory does not grow with it; holes cost
    /// nothing.
    pub fn file(&mut self, path: &Path) -> Result<SignedFile, AskError> {
        let anchor = anchor_of(path)?;
        let Self {
            signer,
            hasher,
            bytes,
            ..
        } = self;
        let read = bytes.of(&anchor, path, &mut |next| match next {
            Next::Bytes(bytes) => {
                signer.update(bytes);
                hasher.update(bytes);
            }
            Next::Zeros(count) => {
                signer.zeros(count);
                hasher.update_zeros(count);
            }
        });
        // Also after a failure: the next file begins at its start.
        self.size = *read.as_ref().unwrap_or(&0);
        let signed = self.finish();
        match read {
            Ok(_) => Ok(signed),
            Err(failure) => Err(unreadable(path, failure)),
        }
    }
}

/// The signature of one file.
pub fn sign_file(path: &Path, params: &MethodParams) -> Result<SignedFile, AskError> {
    Signing::new(params).file(path)
}
