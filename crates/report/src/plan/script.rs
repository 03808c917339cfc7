//! The script of a plan: POSIX sh, with the `stat`, `cp`, `ln` and `mv` of GNU coreutils.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use super::{Entry, Plan, Replacement};
use crate::human::{counted, human_size};

/// A name as an argument of `printf '%b'` within single quotes. Printable ASCII except `'` and `\`
/// stays as it is, and so do letters and digits of other scripts; any other byte becomes `\0ooo`.
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

/// What is done with a copy: first in words for the reader, then as the function `make` of the
/// script, which makes "$tmp" from "$keep" and "$copy".
fn action(kind: Replacement) -> (&'static str, &'static str) {
    match kind {
        Replacement::Symlink => (
            "a symbolic link to the file that stays",
            r#"# A symbolic link; it gets the times of what it replaces.
make() {
    tmp=$folder/.resemble-plan.$$.$number
    ln -s -T -- "$keep" "$tmp" || { tmp=; return 1; }
    touch -h -r "$copy" -- "$tmp"
}
"#,
        ),
        Replacement::Hardlink => (
            "a hard link of the file that stays; its time of last change becomes that one's",
            concat!(
                "# A hard link has one owner, one group and one mode: they must be the same \
                 already.\n",
                r#"make() {
    tmp=$folder/.resemble-plan.$$.$number
    [ "$(stat -c '%u %g %a' -- "$keep")""#,
                r#" = "$(stat -c '%u %g %a' -- "$copy")" ] || { tmp=; return 1; }
    ln -P -T -- "$keep" "$tmp" || { tmp=; return 1; }
}
"#,
            ),
        ),
        Replacement::Reflink => (
            "a file of its own that shares its blocks with the file that stays",
            r#"# A clone with owner, mode, times and attributes of what it replaces.
make() {
    tmp=$(mktemp -- "$folder/.resemble-plan.XXXXXXXXXX") || { tmp=; return 1; }
    cp -T --reflink=always -- "$keep" "$tmp" || return 1
    cp -T --attributes-only --preserve=all -- "$copy" "$tmp" || return 1
    [ "$(stat -c '%u %g %a %.9Y' -- "$copy")" = "$(stat -c '%u %g %a %.9Y' -- "$tmp")" ]
}
"#,
        ),
    }
}

const CHECKS: &str = concat!(
    r#"
LC_ALL=C
export LC_ALL
unset POSIXLY_CORRECT
set -u
act=no
case $#:${1-} in
0:) ;;
1:--do-it) act=yes ;;
*) printf 'usage: sh %s [--do-it]\n' "$0" >&2; exit 2 ;;
esac
case $(stat -c '%F %.9Y' -- / 2>/dev/null) in
'directory '*.?????????) ;;
*) printf 'this plan needs the stat of GNU coreutils\n' >&2; exit 2 ;;
esac
number=0 done=0 skipped=0 tmp=
trap '[ -z "$tmp" ] || rm -f -- "$tmp"' EXIT
trap 'exit 130' HUP INT TERM

# What a file is: type, device, inode, size, time of last change. Links are not followed.
identity() {
    stat -c '%F %d %i %s %.9Y' -- "$1" 2>/dev/null
}

skip() {
    skipped=$((skipped + 1))
    [ -z "$tmp" ] || rm -f -- "$tmp"
    tmp=
    printf 'skipped: %s: %s\n' "$spelled" "$1" >&2
}

unchanged() {
    if [ "$(identity "$keep")" != "regular file $keep_id" ]; then
        skip 'the file that stays is gone or has changed'
    elif [ "$(identity "$copy")" != "regular file $copy_id" ]; then
        skip 'it is gone or has changed'
    else
        return 0
    fi
    return 1
}

# step KEEP KEEP_ID COPY COPY_ID: names are spelled for printf.
step() {
    number=$((number + 1))
    spelled=$3 keep_id=$2 copy_id=$4
    keep=$(printf '%b.' "$1") keep=${keep%.}
    copy=$(printf '%b.' "$3") copy=${copy%.}
    folder=${copy%/*}
    unchanged || return 0
    cmp -s -- "$keep" "$copy" || { "#,
    r#"skip 'its bytes are not those of the file that stays'; return 0; }
    if [ "$act" = no ]; then
        done=$((done + 1))
        printf 'would replace %s by a KIND to %s\n' "$3" "$1"
        return 0
    fi
    make 2>/dev/null || { skip 'the KIND could not be made'; return 0; }
    # A last look: comparing may have taken long.
    unchanged || return 0
    mv -f -T -- "$tmp" "$copy" || { skip 'it could not be replaced'; return 0; }
    tmp=
    done=$((done + 1))
    printf 'replaced %s by a KIND to %s\n' "$3" "$1"
}

"#,
);

const END: &str = r#"
if [ "$act" = no ]; then
    printf '%s of %s steps can be done; nothing was changed: call with --do-it\n' "$done" "$number"
else
    printf '%s of %s steps done\n' "$done" "$number"
fi
[ "$skipped" -eq 0 ] || { printf '%s skipped\n' "$skipped" >&2; exit 1; }
"#;

/// Writes the whole script.
pub(super) fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let (meaning, make) = action(plan.kind);
    let (steps, bytes) = plan.gain();
    writeln!(out, "#!/bin/sh")?;
    writeln!(
        out,
        "# A plan of resemble {} for `{}`: {}, {} to be freed.",
        resemble_proto::VERSION,
        plan.about,
        counted(steps, "step"),
        human_size(bytes)
    )?;
    writeln!(out, "#\n# Each step replaces a copy by {meaning}.")?;
    out.write_all(
        b"# Read it; delete the steps that you do not want. Run without arguments it only says \
          what it\n\
          # would do; with --do-it it does it. Before each step both files are looked at again \
          (type,\n\
          # device, inode, size, time, bytes); what has changed is skipped. Ends with 0 if every \
          step\n\
          # was done or can be done, with 1 if some were skipped, with 2 on wrong usage.\n\
          # Names are spelled for printf: \\0ooo is a byte in octal.\n",
    )?;
    out.write_all(CHECKS.replace("KIND", kind_words(plan.kind)).as_bytes())?;
    out.write_all(make.as_bytes())?;
    out.write_all(b"\n")?;
    for entry in &plan.entries {
        match entry {
            Entry::Step { keep, replace } => writeln!(
                out,
                "step '{}' '{}' \\\n     '{}' '{}'",
                for_printf(keep.path.as_os_str().as_bytes()),
                keep.identity(),
                for_printf(replace.path.as_os_str().as_bytes()),
                replace.identity()
            )?,
            Entry::LeftOut { path, why } => writeln!(
                out,
                "# left out: {}: {}",
                for_printf(path.as_os_str().as_bytes()),
                crate::quote::harmless(why)
            )?,
        }
    }
    out.write_all(END.as_bytes())
}

const fn kind_words(kind: Replacement) -> &'static str {
    match kind {
        Replacement::Symlink => "symbolic link",
        Replacement::Hardlink => "hard link",
        Replacement::Reflink => "clone",
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
