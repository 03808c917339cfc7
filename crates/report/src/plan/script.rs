//! Writes the script of a plan, for a POSIX shell and GNU coreutils.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::superseded::NearProof;
use super::{Entry, Plan, PlanStep, Treatment};
use crate::quote::harmless;

/// Escapes a name for `printf '%b'`, as an argument within single quotes. Printable ASCII is
/// unchanged, except `'` and `\`. Letters and digits of other scripts are unchanged, too. Any other
/// byte becomes `\0ooo`.
pub(super) fn for_printf(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if (c.is_ascii() && (' '..='~').contains(&c) && c != '\'' && c != '\\')
                || (!c.is_ascii() && c.is_alphanumeric())
            {
                text.push(c);
            } else {
                push_octal(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        push_octal(&mut text, chunk.invalid());
    }
    text
}

fn push_octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push_str("\\0");
        for shift in [6, 3, 0] {
            text.push(char::from(b'0' + (byte >> shift & 7)));
        }
    }
}

/// Describes for the reader what each step of this kind does. Also returns whether `--undo`
/// reverses it.
fn meaning(kind: &Treatment) -> (String, bool) {
    let dir = |dir: &Path| for_printf(dir.as_os_str().as_bytes());
    match kind {
        Treatment::Symlink => (
            "replaces a copy by a symbolic link to the file that stays".to_owned(),
            true,
        ),
        Treatment::Hardlink => (
            "replaces a copy by a hard link of the file that stays; its times become that one's"
                .to_owned(),
            false,
        ),
        Treatment::Reflink => (
            "replaces a copy by a file of its own that shares its blocks with the file that stays"
                .to_owned(),
            false,
        ),
        Treatment::Trash => ("moves a copy to the trash".to_owned(), true),
        Treatment::Remove => ("removes a copy".to_owned(), false),
        Treatment::Move(to) => (format!("moves a copy into {}", dir(to)), true),
        Treatment::Copy(to) => (format!("copies a missing file into {}", dir(to)), true),
        Treatment::Rename => (
            "renames a file or a folder as it was renamed on the other side".to_owned(),
            true,
        ),
    }
}

/// The shell functions of every plan. Steps call `step`, `supersede`, `copy`, `rename` and
/// `vacate`.
const RUNTIME: &str = concat!(
    include_str!("runtime.sh"),
    include_str!("settle.sh"),
    include_str!("undo.sh")
);

/// Writes the whole script.
pub(super) fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let (meaning, can_undo) = meaning(&plan.kind);
    writeln!(out, "#!/bin/sh")?;
    writeln!(
        out,
        "# A plan of resemble {} for `{}`: {}.",
        resemble_proto::VERSION,
        plan.about,
        plan.summary()
    )?;
    writeln!(out, "#\n# Each step {meaning}.")?;
    if plan.is_away() {
        out.write_all(
            b"# Files that only a catalogue knows begin with @: run it with --at DIR, the\n\
              # directory of which the catalogue was made. Their size and bytes are checked.\n",
        )?;
    }
    if !plan.rules.is_empty() {
        let rules = plan.rules.iter().map(|rule| harmless(rule.text()));
        let rules = rules.collect::<Vec<_>>().join(", then ");
        writeln!(out, "# Which file of a set stays: {rules}.")?;
    }
    if plan.near() > 0 {
        out.write_all(
            b"# Steps of near copies lose what they say: the file that stays has other bytes, so\n\
              # the digests of both are checked, by `resemble digest`.\n",
        )?;
    }
    out.write_all(
        b"# Read it; delete the steps that you do not want: they are at the end. Run without\n\
          # arguments it only says what it would do; with --do-it it does it. Before each step\n\
          # the files are looked at again (type, device, inode, size, time of last change,\n\
          # bytes); what has changed is skipped. Each step is noted in a log beside this file,\n\
          # so that a second run does the rest. ",
    )?;
    out.write_all(if can_undo {
        b"With --undo it reverses what the log says.\n"
    } else {
        b"These steps cannot be undone.\n"
    })?;
    out.write_all(
        b"# Ends with 0 if every step was done or can be done, with 1 if some were skipped,\n\
          # with 2 on trouble. Names are spelled for printf: \\0ooo is a byte in octal.\n\n",
    )?;
    let away = if plan.is_away() { "yes" } else { "" };
    let digest = if plan.near() > 0 { "yes" } else { "" };
    let kind = plan.kind.word();
    writeln!(out, "kind={kind} wants_at={away} wants_digest={digest}")?;
    out.write_all(RUNTIME.as_bytes())?;
    out.write_all(b"\n# The steps.\n")?;
    for entry in &plan.entries {
        match entry {
            Entry::ToDo(step) => write_step(step, out)?,
            Entry::Remark(text) => writeln!(out, "# {}", harmless(text))?,
            Entry::LeftOut { path, why } => writeln!(
                out,
                "# left out: {}: {}",
                for_printf(path.as_os_str().as_bytes()),
                harmless(why)
            )?,
        }
    }
    out.write_all(b"\nfinish\n")
}

fn write_step(step: &PlanStep, out: &mut dyn Write) -> io::Result<()> {
    let quoted = |path: &Path| format!("'{}'", for_printf(path.as_os_str().as_bytes()));
    let optional = |path: Option<&PathBuf>| path.map_or("''".to_owned(), |path| quoted(path));
    match step {
        PlanStep::Treat {
            keep,
            copy,
            target,
            twin,
            near,
        } => {
            write!(
                out,
                "{} {} '{}' \\\n     {} '{}'",
                near.as_ref().map_or("step", |_| "supersede"),
                quoted(&keep.path),
                keep.identity(),
                quoted(&copy.path),
                copy.identity()
            )?;
            if let Some(near) = near {
                let NearProof { digests, loss } = &**near;
                let (loss, [keep, copy]) = (for_printf(loss.as_bytes()), digests);
                write!(out, " \\\n     {keep} {copy} \\\n     '{loss}'")?;
            }
            if target.is_some() || twin.is_some() {
                write!(out, " \\\n     {}", optional(target.as_ref()))?;
            }
            if let Some(twin) = twin {
                write!(out, " {}", quoted(twin))?;
            }
            writeln!(out)
        }
        PlanStep::Copy { from, to } => writeln!(
            out,
            "copy {} '{}' \\\n     {}",
            quoted(&from.path),
            from.identity(),
            quoted(to)
        ),
        PlanStep::Rename(renaming) => {
            write!(
                out,
                "rename {} '{}' \\\n       {}",
                quoted(&renaming.from),
                renaming.identity,
                quoted(&renaming.to)
            )?;
            match (&renaming.home, &renaming.later) {
                (Some(home), _) => writeln!(out, " {}", quoted(home)),
                (None, Some(later)) => writeln!(out, " '' {}", quoted(later)),
                (None, None) => writeln!(out),
            }
        }
        PlanStep::Vacate(folder) => writeln!(out, "vacate {}", quoted(folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_printable() {
        assert_eq!(for_printf(b"a b.txt"), "a b.txt");
        assert_eq!(for_printf("gr\u{f6}\u{df}e".as_bytes()), "gr\u{f6}\u{df}e");
        assert_eq!(for_printf(b"a'b\\c\n\xff"), "a\\0047b\\0134c\\0012\\0377");
        assert_eq!(for_printf("\u{202e}".as_bytes()), "\\0342\\0200\\0256");
    }
}
