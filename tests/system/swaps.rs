//! Tests that files outside of the tree are never opened, even if names are exchanged between the
//! check of a file and its opening.
//!
//! `RESEMBLE_SWAPS=1000000` makes more exchanges (`just torture`).

use std::fs;

use resemble_testutil::prose::prose;
use resemble_testutil::{Sandbox, Swaps, asked_for, fuse_works};

/// The number of exchanges.
pub(crate) fn wanted() -> usize {
    asked_for("RESEMBLE_SWAPS").unwrap_or(5_000)
}

#[test]
fn nothing_outside_is_opened_while_names_change_places() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    let swaps = Swaps::new(&sandbox.path("tree"), &sandbox.path("outside"));
    sandbox.write("still.txt", prose(0, 3_000));
    let daemon = sandbox.mounted([""; 0]);
    let overlay = || swaps.look_through(&sandbox.mount(""));
    let ask = |question: &[&str]| {
        let ran = sandbox.resemble(question);
        assert!((0..=2).contains(&ran.code), "{question:?}: {ran:?}");
        assert!(!ran.text().contains(Swaps::SECRET), "{question:?}: {ran:?}");
    };
    let command = || {
        ask(&["pairs", "--local", "--no-cache", "tree"]);
        ask(&["dump", "--local", "--no-cache", "--files", "tree"]);
        ask(&["compare", "--local", "tree", "tree"]);
        ask(&["find", "tree/still.txt", "--in", "tree"]);
    };
    let (swapped, looks) = swaps.blow_while(wanted(), &[&overlay, &command]);
    daemon.assert_true();
    eprintln!("names changed places {swapped} times; overlay and commands looked {looks:?} times");
    assert_eq!(swaps.opened(), [""; 0], "nobody has any business there");
    // As a control, the test itself reads a file outside of the tree. The test must notice this.
    fs::read(sandbox.path("outside/place/file")).expect("a file");
    assert_eq!(swaps.opened().len(), 1);
}
