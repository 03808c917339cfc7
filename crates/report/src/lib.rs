//! `resemble-report`: writes the documents of answers as text, tables, pages, workbooks and plans.
//!
//! ```text
//!                 ┌─► text     for people: totals, then what weighs most, folded by folder
//! proto::Document ┼─► tables   one table for each verb (csv, tsv), and the sets of fdupes
//!        ▲        ├─► html     one page: the documents as JSON, a program to show them, tables
//!      saved      ├─► xlsx     a workbook with outline groups
//!     (--from)    └─► plan     a script of what could be done
//!   rows of an ─────► rows     answers that are lists: text, csv, tsv, jsonl
//!     answer
//! comparisons ─► sweeps ─► page  what changed from sweep to sweep, with tables and plots
//! ```
//!
//! 1. **A report is a function of its document** ([`resemble_proto::documents::Document`]), which
//!    `--format json` prints. The only other inputs are the time at which the report is made, and
//!    [`document::Extras`]. Among the extras are folders and evidence that the verb requested, and
//!    the directory from which relative names start.
//! 2. **No file is opened here.** The environment is not read, and no terminal is asked. A printer
//!    that needs the content or the type of a file receives a function that returns it
//!    ([`evidence::Show`], [`plan::Look`]). A printer of text gets the properties of its output in
//!    a [`lines::TextStyle`].
//! 3. **The columns of a row are written once** ([`columns!`]). Tables, lists, worksheets and the
//!    plain tables of the page are all made from these columns.
//! 4. **The page contains the same JSON**, so a page is a saved report, too: `--from page.html`.
//! 5. **Names are hostile.** On a terminal they are quoted. In the page, a script inserts them as
//!    text nodes, and the plain tables have them escaped. In the workbook they are strings, never
//!    formulas. In a plan, every byte that a shell could misread is escaped. Invisible characters
//!    (controls, changes of text direction) are escaped on the terminal, in the page, in the
//!    workbook and in the plan.
//!
//! Workbooks need the feature `xlsx` of this crate, which only the command enables. The crate that
//! writes workbooks is large, and the daemon makes none.
#![forbid(unsafe_code)]

pub mod document;
mod escaping;
pub mod evidence;
mod header;
pub mod html;
pub mod human;
pub mod lines;
pub mod near_copies;
pub mod page;
pub mod plan;
pub mod quote;
pub mod rows;
pub mod saved;
mod schema;
pub mod sweeps;
pub mod table;
pub mod tables;
pub mod text;
mod worksheets;
pub mod wrap;
#[cfg(feature = "xlsx")]
pub mod xlsx;

pub use header::left_out_in_words;
