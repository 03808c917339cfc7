//! `resemble-report`: documents in, bytes out.
//!
//! ```text
//!                 ┌─► text       for people: totals, then what weighs most, folded by folder
//! proto::Document ┼─► tables     one table a verb (csv, tsv), and the sets of fdupes
//!        ▲        ├─► html       one page: the documents as JSON, a program to show them, plain tables
//!      saved      ├─► xlsx       a workbook with outline groups
//!     (--from)    └─► plan       a script of what could be done
//! rows ──────────────► rows      answers that are lists: text, csv, tsv, jsonl
//! ```
//!
//! 1. **A report is a function of its [document](resemble_proto::documents::Document)**, the one that
//!    `--format json` prints. Nothing in it comes from anywhere else, except what is in
//!    [`document::Extras`]: folders and evidence that the verb asked for besides, and when and where
//!    it was made.
//! 2. **No file is opened here**, no environment read and no terminal asked. Where a printer needs to
//!    know what a file holds or is, it takes a function ([`evidence::Show`], [`plan::Look`]); who
//!    reads standard output is told by [`lines::TextStyle`].
//! 3. **Because the page carries the very JSON**, a page is a saved report too: `--from page.html`.
//! 4. **Names are hostile.** On a terminal they are quoted. In the page they are data that a program
//!    puts in as text nodes; in the plain tables they are escaped; in the workbook they are strings,
//!    never formulas; in a plan every byte that a shell could misread is escaped, and so is everywhere what
//!    a person would not see: controls, and characters that turn the line.
#![forbid(unsafe_code)]

pub mod document;
mod escaping;
pub mod evidence;
mod header;
pub mod html;
pub mod human;
pub mod lines;
pub mod plan;
pub mod quote;
pub mod rows;
pub mod saved;
pub mod table;
pub mod tables;
pub mod text;
mod worksheets;
pub mod xlsx;
