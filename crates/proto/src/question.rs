//! Maps each request to the type of its answer.
//!
//! A question is a request that is answered from files. The daemon and the command answer it with a
//! [`Whole`](crate::message::Whole) that has the same body and the same rows. All other requests
//! are about the daemon itself: its state, roots, alerts, templates and mounts. They have methods
//! of their own in [`crate::client`]. A dump may be larger than the memory, so its pieces are
//! passed on as they arrive.

use serde::Serialize;

use crate::documents::{SimilarDirs, SimilarFiles, SimilarPairs};
use crate::message::{
    CompareRequest, Comparison, Coverage, CoveredRequest, DepartedRequest, DepartedRow,
    DirsRequest, FindRequest, FirstSeenRequest, FirstSeenRow, Groups, GroupsRequest, HolderRow,
    HoldersRequest, MarkRequest, OrderRow, PairsRequest, Parts, Request, TemplateRow,
};

/// A request that is a question, with the type of its answer.
pub trait Question: Sized {
    /// The totals and the lists of the answer.
    type Body: Parts;

    /// Returns the request as it is sent.
    fn into_request(self) -> Request;

    /// Returns `row` as a row of the answer to this question. Returns `None` if it is a row of
    /// another answer.
    fn part(row: AnyRow) -> Option<<Self::Body as Parts>::Part>;
}

/// The request of `groups --order`, which lists all paths so that similar files are adjacent. It
/// has the parameters of `groups`.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderRequest(pub GroupsRequest);

impl From<OrderRequest> for GroupsRequest {
    fn from(request: OrderRequest) -> Self {
        request.0
    }
}

macro_rules! questions {
    ($($request:ty => $word:ident, $body:ty;)*) => {
        /// A row of the answer to any question, as it is sent.
        #[derive(Clone, Debug, Serialize)]
        #[serde(untagged)]
        pub enum AnyRow {
            $(#[doc = concat!("A row of the answer to a [`", stringify!($request), "`].")]
            $word(<$body as Parts>::Part),)*
        }

        impl Request {
            /// Returns whether the request is answered from files. Such a request may take a long
            /// time.
            pub const fn is_question(&self) -> bool {
                matches!(self, $(Self::$word(_) |)* Self::Dump { .. } | Self::DumpAs { .. })
            }
        }

        $(impl Question for $request {
            type Body = $body;

            fn into_request(self) -> Request {
                Request::$word(self.into())
            }

            fn part(row: AnyRow) -> Option<<$body as Parts>::Part> {
                match row {
                    AnyRow::$word(part) => Some(part),
                    _ => None,
                }
            }
        })*
    };
}

questions! {
    FindRequest => Find, SimilarFiles;
    HoldersRequest => Holders, Vec<HolderRow>;
    DepartedRequest => Departed, Vec<DepartedRow>;
    FirstSeenRequest => FirstSeen, Vec<FirstSeenRow>;
    PairsRequest => Pairs, SimilarPairs;
    CompareRequest => Compare, Comparison;
    CoveredRequest => Covered, Coverage;
    DirsRequest => Dirs, SimilarDirs;
    GroupsRequest => Groups, Groups;
    OrderRequest => Order, Vec<OrderRow>;
    MarkRequest => TemplatesMark, Vec<TemplateRow>;
}
