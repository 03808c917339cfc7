//! Which answer belongs to which request.
//!
//! A question is a request that is answered from files: whoever answers it, the daemon or the
//! process that asks, gives a [`Whole`](crate::message::Whole) of the same body. What the daemon
//! does besides (its state, its roots, its mounts) are orders and have methods of their own in
//! [`crate::client`]; a dump is larger than the memory it should take, and is handed on as it
//! comes.

use crate::documents::{SimilarDirs, SimilarFiles, SimilarPairs};
use crate::message::{
    CompareRequest, Comparison, Coverage, CoveredRequest, DirsRequest, FindRequest, Groups,
    GroupsRequest, HolderRow, HoldersRequest, MarkRequest, OrderRow, PairsRequest, Parts, Request,
    TemplateRow,
};

/// A request and what it is answered with.
pub trait Question {
    /// Totals and lists of the answer.
    type Body: Parts;

    /// The request on the wire.
    fn into_request(self) -> Request;
}

/// `groups --order`: all paths, similar files side by side. It asks with what `groups` asks.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderRequest(pub GroupsRequest);

macro_rules! questions {
    ($($request:ty => $word:ident, $body:ty;)*) => {$(
        impl Question for $request {
            type Body = $body;

            fn into_request(self) -> Request {
                Request::$word(self)
            }
        }
    )*};
}

questions! {
    FindRequest => Find, SimilarFiles;
    HoldersRequest => Holders, Vec<HolderRow>;
    PairsRequest => Pairs, SimilarPairs;
    CompareRequest => Compare, Comparison;
    CoveredRequest => Covered, Coverage;
    DirsRequest => Dirs, SimilarDirs;
    GroupsRequest => Groups, Groups;
    MarkRequest => TemplatesMark, Vec<TemplateRow>;
}

impl Question for OrderRequest {
    type Body = Vec<OrderRow>;

    fn into_request(self) -> Request {
        Request::Order(self.0)
    }
}
