//! Tests that the daemon of system mode does not read files outside of the tree, even while names
//! are exchanged. The daemon has the right to read every file of the machine.

use std::fs;
use std::path::Path;

use resemble_testutil::Swaps;
use resemble_testutil::prose::prose;
use serde_json::json;

use super::{SHARES, Server, USERS, VIEW, as_user, ask_here, disks_of};
use crate::swaps::wanted;

#[test]
fn nothing_outside_is_opened_for_anybody() {
    const NAME: &str = "system_mode::swaps::nothing_outside_is_opened_for_anybody";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    // Every user can read the files outside, so their modes do not protect them.
    let swaps = Swaps::new(Path::new(SHARES), Path::new("/srv/outside"));
    let still = Path::new(SHARES).join("still.txt");
    fs::write(&still, prose(0, 3_000)).expect("a file");
    let server = Server::start(disks, &[]);
    let overlay = || as_user(USERS[0], || swaps.look_through(Path::new(VIEW)));
    let socket = || {
        as_user(USERS[1], || {
            let mut questions = vec![
                json!({"request": "pairs", "within": [SHARES], "all": true}),
                json!({"request": "groups"}),
                json!({"request": "find", "subject": {"file": still}}),
            ];
            questions.extend(swaps.paths().iter().map(|path| {
                json!({"request": "find", "subject": {"file": Path::new(SHARES).join(path)}})
            }));
            for question in questions {
                let answer = ask_here(&question);
                let told = answer.lines.join(" ");
                assert!(!told.contains("outside"), "{question}: {told}");
            }
        });
    };
    let (swapped, looks) = swaps.blow_while(wanted(), &[&overlay, &socket]);
    Server::sync();
    eprintln!("names changed places {swapped} times; overlay and socket looked {looks:?} times");
    assert_eq!(swaps.opened(), [""; 0], "nobody has any business there");
    drop(server);
}
