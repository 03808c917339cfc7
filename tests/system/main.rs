//! Tests the whole system, with real processes, real mounts and real faults. All tests are in one
//! binary, with a module for each topic.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)] // a test that is skipped says so

/// `lost` and `history`: answers from what the daemon itself has seen.
mod lost;
/// The main job: a tree is watched and indexed, and `ls FILE/.similar` is right after every change.
mod main_job;

/// Words that must not occur in comments and pages.
mod language;

/// The place where the view is mounted. At this place, the view does not disturb other programs.
mod view;

/// `resemble setup` starts a daemon that watches folders. `--undo` reverts this.
mod setup;

/// `ls FILE/.similar` at the real paths, with the functions for three shells.
mod shells;

/// The figures of `docs/facts.toml` in the code and on the pages.
mod facts;
/// "Similar files" in the menus of four file managers, tested without their windows.
mod file_managers;

/// Similar directories in the overlay, right after every change.
mod directories;

/// Changes by editors, version control and people.
mod changes;

/// Storms of changes: overflow of the event queue, and changes during the first scan.
mod storms;

/// Names of any bytes stay complete. On a terminal, they are escaped.
mod any_names;

/// Names that are exchanged while files are opened must not lead a program out of a tree.
mod swaps;

/// Storms of changes that `resemble_testutil::churn` makes. They are short here, and long in `just
/// torture`.
mod torture;

/// Changes that the time and size of a file do not show.
mod unseen;

/// Transient failures, such as a lack of descriptors, while files are read.
mod scarce;

/// Kills, restarts, a second daemon, and damaged state.
mod restarts;

/// Power cuts on a journaling file system.
mod power_cuts;

/// Bad input: one clear sentence, the right exit code, and no lost data.
mod bad_input;

/// The same question with a daemon and without has the same answer, byte for byte.
mod two_ways;

/// Every answer with rows of two files states which file is newer.
mod newer;

/// Unreadable entries, and entries that a rule of a root leaves out: every answer reports them.
mod gaps;

/// Paths that do not exist or have vanished: every answer reports them.
mod missing;

/// Catalogues: trees that are not connected can be written, added and queried.
mod catalogues;

/// Pairs with an archive in which one side is only in a catalogue. Every verb gives the same
/// estimate for such a pair.
mod catalogued_members;

/// A saved report of groups, printed with filters.
mod saved_groups;

/// Changes since an earlier catalogue was written.
mod deltas;

/// A folder of catalogues that the daemon follows.
mod fleet;

/// Questions to the daemon of another machine, through ssh.
mod remote;

/// Files that already share their blocks.
mod clones;

/// Programs that ask through the Model Context Protocol.
mod programs;

/// Every JSON answer is valid by its schema.
mod schemas;

/// Documents and archives: their texts and members, in every answer.
mod documents;

/// Documents wait for their turn to be read, and do not delay other files.
mod document_turns;

/// A marked template is not evidence in any answer, from the next question on. No file is read
/// again because of the mark.
mod templates;

/// Alerts about a change that makes a file resemble another file.
mod alerts;

/// Alerts reach every sink in spite of restarts, failures and floods.
mod told;

/// Alerts on the desktop, with a private bus and a notification service.
mod desktop;

/// The share of a day's alerts that are right.
mod alert_precision;

/// The daemon of an ordinary user, mounted by fusermount3.
mod unprivileged;

/// System mode: one index for many users. Each user sees the files that they can open, and gets no
/// further rights.
mod system_mode;

/// Dependencies point in one direction, and each foreign crate is named in one place.
mod layering;

/// The pages match the programs and the systemd units, and their links lead somewhere.
mod pages;

/// The demo of the README, as a new user types it.
mod readme;

/// Every file of tests is a module in the list above.
#[test]
fn every_test_file_is_in_the_list() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/system"));
}
