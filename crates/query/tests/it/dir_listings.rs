//! Tests that the listing of a directory in the overlay has the rows of `dirs`.

use std::fs;

use crate::dirs::{all, listed, shown};
use crate::scene::Scene;
use resemble_proto::message::DirRow;
use resemble_testutil::prose::{edited, prose};

/// A directory has several versions of a file. It resembles another directory that has one of these
/// versions. It also resembles each directory that has a hard link of a similar file.
#[test]
fn a_listing_counts_versions_in_the_directory_itself_and_all_hard_links() {
    let mut scene = Scene::new();
    let page = prose(1, 8000);
    let version = |n: u64| edited(&page, n, 6);
    for n in 0..5 {
        scene.write(&format!("work/report-{n}"), version(n));
    }
    scene.write("last/report", version(4));
    scene.write("first/report", version(0));
    let other = prose(2, 8000);
    scene.write("x/f", &other);
    fs::create_dir(scene.path("y")).expect("a folder");
    fs::hard_link(scene.path("x/f"), scene.path("y/f")).expect("a link");
    scene.write("z/g", edited(&other, 1, 6));
    scene.scan();
    let pairs = all(&scene);
    for dir in ["work", "last", "first", "x", "y", "z"] {
        let names = |rows: &[DirRow]| {
            let rows = shown(&scene, rows).into_iter();
            let with_first = rows.map(|(a, b, a_in_b, b_in_a)| {
                if a == dir {
                    (a, b, a_in_b, b_in_a)
                } else {
                    (b, a, b_in_a, a_in_b)
                }
            });
            let mut of_dir: Vec<_> = with_first.filter(|row| row.0 == dir).collect();
            of_dir.sort();
            of_dir
        };
        let expected = names(&pairs);
        assert_eq!(expected.len(), 2, "{dir}: {pairs:?}");
        assert_eq!(names(&listed(&scene, dir)), expected, "{dir}");
    }
}
