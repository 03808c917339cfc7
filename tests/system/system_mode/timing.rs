//! Tests that the time of a refusal does not reveal whether a forbidden file exists.

use std::cmp::Ordering;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use resemble_testutil::prose::prose;
use serde_json::json;

use super::{Answer, SHARES, Server, USERS, as_user, ask_here, disks_of, shared_files};

/// The number of times that each of the two questions of a round is asked.
const ASKED: usize = 400;
/// The maximum difference between the result of a round and one half. One round in 500 exceeds the
/// bound by chance, because the standard error is 0.02.
const BOUND: f64 = 0.062;
/// The maximum number of rounds. A failed round is repeated, because other work on the machine may
/// have disturbed it.
const ROUNDS: usize = 4;

/// Returns the probability that a random duration in `first` is longer than a random duration in
/// `second`. The probability is one half if the durations reveal nothing.
fn area_under_curve(first: &[Duration], second: &[Duration]) -> f64 {
    let pairs = first
        .iter()
        .flat_map(|one| second.iter().map(move |other| (one, other)));
    let wins = pairs.map(|(one, other)| match one.cmp(other) {
        Ordering::Less => 0.0,
        Ordering::Equal => 0.5,
        Ordering::Greater => 1.0,
    });
    wins.sum::<f64>() / (first.len() * second.len()) as f64
}

/// Asks about two files alternately. Calls `check` with each answer, and returns the
/// [`area_under_curve`] of the durations.
fn told_by_time(one: &Path, other: &Path, check: impl Fn(&Answer)) -> f64 {
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..2 * ASKED {
        // The order is 0, 1, 1, 0, 0, 1, …, so a question does not always follow the other
        // question.
        let which = (number + number / 2) % 2;
        let file = [one, other][which];
        let question = json!({"request": "find", "subject": {"file": file}});
        let began = Instant::now();
        let answer = ask_here(&question);
        times[which].push(began.elapsed());
        check(&answer);
    }
    area_under_curve(&times[0], &times[1])
}

#[test]
fn the_time_of_a_no_does_not_tell_what_there_is() {
    const NAME: &str = "system_mode::timing::the_time_of_a_no_does_not_tell_what_there_is";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let text = shared_files();
    let shares = Path::new(SHARES);
    // The user is not allowed to enter the folder `closed`. In this folder, `sole.txt` resembles no
    // other file, and `copy.txt` equals files of several users. `twin.txt` equals a file that the
    // user can open.
    fs::create_dir(shares.join("closed")).expect("a folder");
    fs::write(shares.join("closed/sole.txt"), prose(78, 9_000)).expect("a file");
    fs::write(shares.join("closed/copy.txt"), text).expect("a file");
    fs::set_permissions(shares.join("closed"), fs::Permissions::from_mode(0o700)).expect("chmod");
    for (name, seed) in [("closed/twin.txt", 80), ("twin.txt", 80), ("lone.txt", 81)] {
        fs::write(shares.join(name), prose(seed, 9_000)).expect("a file");
    }
    let _server = Server::start(disks, &["--no-mount"]);
    let pairs = [
        ("closed/sole.txt", "closed/none.txt"),
        ("closed/copy.txt", "closed/nope.txt"),
        ("twin.txt", "lone.txt"),
    ];
    as_user(USERS[0], || {
        for (there, not) in pairs {
            let mut areas = Vec::new();
            for _ in 0..ROUNDS {
                let area = told_by_time(&shares.join(there), &shares.join(not), |answer| {
                    assert!(answer.rows.is_empty(), "{answer:?}");
                });
                areas.push(area);
                if (area - 0.5).abs() < BOUND {
                    break;
                }
            }
            eprintln!("{there}, {not}: {areas:.3?}");
            let last = areas.last().expect("a round");
            assert!((last - 0.5).abs() < BOUND, "{there}, {not}: {areas:.3?}");
        }
        // As a control, a file that the user can read is compared with a missing file. Here, the
        // durations must differ.
        let area = told_by_time(&shares.join("all.txt"), &shares.join("not.txt"), |_| ());
        assert!((area - 0.5).abs() > 2.0 * BOUND, "{area:.3}");
    });
}
