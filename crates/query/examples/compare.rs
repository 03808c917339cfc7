//! Compares two trees, and prints the time.
//!
//!     cargo run --release -p resemble-query --example compare -- A B [CACHE]
//!
//! Prints the moved trees, then the rows: class, path of A, path of B, the larger containment, and
//! the number of further partners, tab-separated. The totals and the time are on standard error.
//! With CACHE, the index of the trees is kept in that file, and the next comparison uses it.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_proto::message::CompareRequest;
use resemble_proto::path::PathText;
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_scan::ingest::Unobserved;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let usage = "usage: compare A B [CACHE]";
    let mut tree = || -> Result<PathText, Box<dyn std::error::Error>> {
        let path = std::fs::canonicalize(args.next().ok_or(usage)?)?;
        Ok(PathText::from(path.as_path()))
    };
    let request = CompareRequest {
        a: tree()?,
        b: tree()?,
        ..CompareRequest::default()
    };
    let cache = args.next().map(PathBuf::from);
    let begin = Instant::now();
    let mut local = LocalIndex::open(LocalOptions {
        catalogues: None,
        part_reader: None,
        cache,
        cache_bytes: LocalOptions::CACHE_BYTES,
        params: Params::default(),
        own: Vec::new(),
    })?;
    let answer = local.compare(&request, &Templates::default(), &mut Unobserved)?;
    eprintln!("{:?}: {:#?}", begin.elapsed(), answer.body.summary);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let path = |path: &Option<PathText>| {
        let path = path.as_ref().map(|path| path.as_path().to_owned());
        path.as_deref()
            .unwrap_or(Path::new("-"))
            .display()
            .to_string()
    };
    for tree in &answer.body.trees {
        let (a, b) = (tree.a.as_path(), tree.b.as_path());
        writeln!(
            out,
            "tree\t{}\t{}\t{}",
            a.display(),
            b.display(),
            tree.a_in_b
        )?;
    }
    for row in &answer.body.entries {
        let (a, b) = (path(&row.a), path(&row.b));
        let score = row.a_in_b.max(row.b_in_a);
        let copy = if row.copy { "\tcopy" } else { "" };
        writeln!(
            out,
            "{}\t{a}\t{b}\t{score}\t{}{copy}",
            row.class.word(),
            row.others.len()
        )?;
    }
    local.close();
    Ok(())
}
