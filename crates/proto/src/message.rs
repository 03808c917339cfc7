//! Requests and answers as plain data.
//!
//! A conversation consists of lines of JSON:
//!
//! ```text
//! server   {"resemble":1,"version":"0.1.0","params":{…},"pid":4711}   Hello, at once
//! client   {"request":"find",…}                                       Request
//! server   {"progress":{…}}                                           Reply::Progress, if wanted
//!          {"header":{…}}                                             Reply::Header, exactly one
//!          {"row":{…}} …                                              Reply::Row, any number
//!          {"error":{…}} …                                            Reply::Error: soft ones
//!          {"end":{"rows":2,"errors":0}}                              Reply::End
//! or       {"failed":{"kind":"not-watched","message":"…"}}            Reply::Failed, at any point
//! ```
//!
//! Then the server closes the connection. The reasons for this form:
//!
//! 1. **One question for each connection.** A Unix socket costs only microseconds. No answer can be
//!    mistaken for that of another question, and closing the connection cancels the question.
//! 2. **The end is a line.** If a stream stops without this line, it was cut off. The client then
//!    reports that instead of a partial answer.
//! 3. **Soft errors follow the rows.** An unreadable file does not make the answer invalid, and the
//!    client still learns that the answer is incomplete.
//! 4. **Requests name files by absolute paths without symbolic links.** Only the command line
//!    resolves its arguments. It prints names as they were typed.
//! 5. **Unknown fields are ignored, absent ones have defaults**, so both sides can get new fields.

mod answer;
mod compare;
mod covered;
mod departed;
mod digest;
mod dirs;
mod figures;
mod first_seen;
mod groups;
mod holders;
mod parts;
mod relation;
mod request;
mod scope;
mod status;
mod templates;
mod trouble;
mod why;

pub use answer::{
    Answer, CoverRow, DumpRow, End, FindRow, Header, Hello, LeftOut, LeftOutWord, Looked, PairRow,
    Reply, StepProgress,
};
pub use compare::{
    ClassCounts, CompareClass, CompareOptions, ComparePart, CompareRequest, CompareRow,
    CompareSummary, Comparison, OtherRow, OtherSummary, Partner, TreeRow,
};
pub use covered::{CoverPair, Coverage, CoveredPart, CoveredRequest, MissingRow, NearRow};
pub use departed::{DepartedRequest, DepartedRow};
pub use digest::{BadDigest, BadParams, WireDigest, WireKind, WireParams};
pub use dirs::{DirRow, DirsRequest};
pub use figures::{
    DatedBy, Discount, EstimateInterval, FileDates, Layer, MeasureUnit, Newer, PairFigures,
    PairSide, StatedDate, relation_word, times_of,
};
pub use first_seen::{FirstSeen, FirstSeenRequest, FirstSeenRow};
pub use groups::{
    Cluster, ClusterContainer, ClusterKind, Degree, Groups, GroupsPart, GroupsRequest,
    GroupsSummary, IdenticalSet, Link, Member, OnlyGroups, OrderRow,
};
pub use holders::{HolderRow, HoldersRequest, Proof};
pub use parts::{Parts, Whole};
pub use relation::PairRelation;
pub use request::{
    Asked, CatalogueForm, DumpForm, FindOptions, FindRequest, PairOrder, PairScore, PairsRequest,
    Request, StandsAs, Subject, WireBytes, WireRendition,
};
pub use scope::{Inode, Scope};
pub use status::{
    AckRow, AlertKind, AlertRow, AlertRules, AlertWord, Degraded, IndexStatus, MountRow,
    MountStatus, MountView, ProcessStatus, RootRules, RootState, RootStatus, SeenRoot, SinkStatus,
    StatusAnswer, Unopened, WaitStatus, WatchOrigin, WatchRow, WatchStatus,
};
pub use templates::{MarkRequest, TemplateRow};
pub use trouble::{Failure, FailureKind, SoftError, SoftErrorKind, reason};
pub use why::{
    ChangedNumber, Differs, Explanation, WhyMember, WhyParameters, WhyRange, WhyStretch, WhyTotals,
};
