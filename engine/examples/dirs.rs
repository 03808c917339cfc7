use resemble_core::Params;
use resemble_engine::{dirs, ingest::Unobserved, local::*};
use resemble_proto::message::*;
use std::path::PathBuf;
fn main() {
    if std::env::var_os("LIST").is_some() { return list(); }
    let mut args = std::env::args().skip(1);
    let cache = PathBuf::from(args.next().unwrap());
    let of = args.next().filter(|a| a != "-");
    let roots: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let t = std::time::Instant::now();
    let mut local = LocalIndex::open(LocalOptions { cache: Some(cache), cache_bytes: u64::MAX, params: Params::default() }).unwrap();
    if std::env::var_os("REFRESH").is_some() {
        local.refresh(&roots, &mut Unobserved).unwrap();
        eprintln!("refreshed {:?}", t.elapsed());
    }
    let snapshot = local.snapshot().unwrap();
    let t = std::time::Instant::now();
    let request = DirsRequest { scope: Scope { within: roots.iter().map(|r| r.as_path().into()).collect(), ..Scope::default() }, of: of.map(|o| std::path::Path::new(&o).into()), ..DirsRequest::default() };
    let answer = dirs::dirs(&snapshot, &request).unwrap();
    eprintln!("dirs {:?} {:?}", t.elapsed(), answer.header);
    for row in answer.rows.iter().take(60) {
        println!("{:>11} {} {} {} {} {}/{} {}", row.shared_bytes, row.a_in_b, row.b_in_a, row.a.as_path().display(), row.b.as_path().display(), row.files_a, row.files_b, row.identical);
    }
}

fn list() {
    let mut args = std::env::args().skip(1);
    let cache = PathBuf::from(args.next().unwrap());
    let mut local = LocalIndex::open(LocalOptions { cache: Some(cache), cache_bytes: u64::MAX, params: Params::default() }).unwrap();
    let snapshot = local.snapshot().unwrap();
    for dir in args {
        let t = std::time::Instant::now();
        let (rows, total) = dirs::listing(&snapshot, std::path::Path::new(&dir)).unwrap();
        println!("{dir}: {:?} {total}", t.elapsed());
        for row in rows.iter().take(8) {
            println!("   {:>11} {} {} {} {}/{} {}", row.shared_bytes, row.a_in_b, row.b_in_a, row.b.as_path().display(), row.files_a, row.files_b, row.identical);
        }
    }
    let _ = &mut local;
}
