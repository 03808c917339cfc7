//! Prints the groups of a directory, with the time and memory used.
//!
//! ```text
//! cargo run --release -p resemble-query --example groups -- DIR… [--cache FILE] [--memory BYTES]
//!     [--top N] [--of FILE] [--family] [--min MILLIONTHS] [--order] [--scratch DIR]
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use resemble_core::Params;
use resemble_proto::message::{GroupsRequest, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::groups::{KnownPairs, groups_with_parts, order_with_parts};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_scan::ingest::Unobserved;

fn main() -> Result<(), Box<dyn Error>> {
    let mut request = GroupsRequest::default();
    let mut dirs: Vec<PathBuf> = Vec::new();
    let mut cache = None;
    let mut scratch = std::env::temp_dir();
    let mut ordered = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--cache" => cache = Some(PathBuf::from(value()?)),
            "--memory" => request.memory = Some(value()?.parse()?),
            "--top" => request.top = Some(value()?.parse()?),
            "--min" => request.min = Fraction::from_millionths(value()?.parse()?),
            "--of" => request.of = Some(PathText::from(std::fs::canonicalize(value()?)?)),
            "--scratch" => scratch = PathBuf::from(value()?),
            "--family" => request.family = true,
            "--order" => ordered = true,
            _ => dirs.push(std::fs::canonicalize(&arg)?),
        }
    }
    request.scope = Scope {
        within: dirs
            .iter()
            .map(|dir| PathText::from(dir.as_path()))
            .collect(),
        ..Scope::default()
    };
    let begun = Instant::now();
    let mut local = LocalIndex::open(LocalOptions {
        catalogues: None,
        part_reader: None,
        cache,
        cache_bytes: u64::MAX,
        params: Params::default(),
        own: Vec::new(),
    })?;
    local.refresh(&dirs, &mut Unobserved)?;
    let snapshot = local.snapshot()?;
    let totals = snapshot.totals()?;
    eprintln!(
        "looked at in {:.1} s, peak {} MB; index {} MB, {} files, {} contents",
        begun.elapsed().as_secs_f64(),
        peak(),
        totals.index_bytes >> 20,
        totals.files,
        totals.contents
    );
    // Resets the recorded peak of memory, so that the following work has a peak of its own.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let begun = Instant::now();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if ordered {
        for row in order_with_parts(&snapshot, &request, None, KnownPairs::None, &scratch)?.rows {
            out.write_all(row.path.as_bytes())?;
            out.write_all(b"\n")?;
        }
    } else {
        let answer = groups_with_parts(&snapshot, &request, None, KnownPairs::None, &scratch)?;
        writeln!(out, "{:#?}", answer.body.summary)?;
        for cluster in &answer.body.clusters {
            writeln!(
                out,
                "{} {} {} bytes, {} files, {} links, average {}, worst {}, component {}",
                cluster.id,
                cluster.kind.word(),
                cluster.bytes,
                cluster.members.len(),
                cluster.links.len(),
                cluster.average,
                cluster.worst,
                cluster.component
            )?;
            for member in cluster.members.iter().take(12) {
                let newest = if member.newest { " newest" } else { "" };
                let (a_in_b, path) = (member.a_in_b, member.path.lossy());
                writeln!(out, "    {a_in_b} {} {path}{newest}", member.b_in_a)?;
            }
        }
    }
    out.flush()?;
    eprintln!(
        "answered in {:.1} s, peak {} MB",
        begun.elapsed().as_secs_f64(),
        peak()
    );
    Ok(())
}

/// Returns the largest resident memory, in megabytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) >> 10
}
