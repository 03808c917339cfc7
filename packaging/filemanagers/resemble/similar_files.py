"""Implements the entries "Similar files" and "Similar folders" of file managers.

An extension of a file manager asks `menu` for its entry, which reads no file and asks no program. A
click starts this file as a program of its own, so that slow work does not block the file manager:

    python3 similar_files.py OPENER URI

It asks `resemble` where the daemon's view shows similar files, and has OPENER (`nautilus`, `nemo`,
`caja`, `dolphin`) open that folder. If there is nothing to open, a window explains why. Names are
passed as bytes: as URIs between the programs, and as arguments without a shell.
"""

import base64
import html
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import urllib.parse

PROGRAM = os.path.realpath(__file__)
# The package and the tarball have this file in share/resemble, beside the folder bin.
INSTALLED = pathlib.Path(PROGRAM).parents[2] / "bin" / "resemble"
RESEMBLE = str(INSTALLED) if INSTALLED.exists() else "resemble"


def menu(new_item, opener, files):
    """Returns the entry for the selection, as a list: only one local file or folder has one."""
    if len(files) != 1 or files[0].get_uri_scheme() != "file":
        return []
    kind = files[0].get_file_type().value_nick
    if kind not in ("regular", "directory"):
        return []
    what = "files" if kind == "regular" else "folders"
    item = new_item(
        name="Resemble::similar",
        label=f"Similar {what}",
        tip=f"Show the {what} that share content with this one",
    )
    item.connect("activate", lambda *_: start(opener, files[0].get_uri()))
    return [item]


def start(opener, uri):
    """Starts this program; the file manager continues."""
    from gi.repository import GLib

    started = subprocess.Popen(["python3", PROGRAM, opener, uri], start_new_session=True)
    GLib.child_watch_add(GLib.PRIORITY_DEFAULT, started.pid, lambda *_: None)


def path_of(given):
    """Returns the path of a `file:` URI; a path stays as it is."""
    if not given.startswith("file:"):
        return given
    return os.fsdecode(urllib.parse.unquote_to_bytes(urllib.parse.urlsplit(given).path))


def shown(name):
    """Returns a name as a printable text."""
    return os.fsencode(name).decode(errors="replace")


def path_of_row(row):
    """Returns the path of a JSON row. A path that is not UTF-8 has its bytes in another field."""
    return os.fsdecode(base64.b64decode(row["path_b64"])) if "path_b64" in row else row["path"]


def ask(*args):
    """Runs `resemble`."""
    return subprocess.run([RESEMBLE, *args], stdin=subprocess.DEVNULL, capture_output=True)


class Nothing(Exception):
    """There is no folder to open: title and text of the window."""


def folder_of(path):
    """Returns the folder of the view with the files or folders similar to this one."""
    similar = os.path.join(path, ".similar")
    # Where the view shows the tree as it is, `.similar` of a folder has an entry for each of its
    # files, and `.dirs` has the similar folders.
    wishes = [os.path.join(similar, ".dirs"), similar] if os.path.isdir(path) else [similar]
    for wish in wishes:
        answer = ask("shell-init", "--view", wish)
        if answer.returncode == 2:
            raise no_answer(answer.stderr.decode(errors="replace").strip())
        folder = os.fsdecode(answer.stdout.removesuffix(b"\n"))
        if answer.returncode == 0 and os.path.isdir(folder):
            return folder
    mounts = json.loads(ask("status", "--format", "json").stdout)["mounts"]
    if any(path.startswith(mount["path"] + "/") for mount in mounts):
        # A path in the view itself: its original is found differently in each kind of view.
        above, name = os.path.split(path)
        places = [(path, ".similar", ".dirs"), (path, ".similar"), (above, ".similar", name)]
        for place in [*places, (above, ".similar")]:
            if os.path.isdir(os.path.join(*place)):
                return os.path.join(*place)
    raise not_shown(path, mounts)


def no_answer(said):
    """Returns why `resemble` did not answer."""
    if ask("status").returncode != 2:
        return Nothing("resemble has no answer", said)
    command = "resemble setup"
    return Nothing(
        "resemble is not running",
        f"{said}\n\nThis command has it started now and at every login:\n\n{command}",
    )


def listed(folder):
    """Returns the same folder under the name in the view's listings, if that differs."""
    number = os.stat(folder).st_ino
    with os.scandir(os.path.dirname(folder)) as entries:
        return next((entry.path for entry in entries if entry.inode() == number), folder)


def not_shown(path, mounts):
    """Returns why the view does not show a file."""
    if not mounts:
        return Nothing(
            "resemble shows no view of your files",
            "It watches them, but has no view to open: FUSE is missing (package fuse3), or it was "
            "started with --no-mount. This command has the view shown:\n\n"
            'resemble view on "$XDG_RUNTIME_DIR/resemble/view"',
        )
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    # A folder above a watched one is watched instead.
    roots = json.loads(ask("status", "--format", "json").stdout)["roots"]
    below = [root for root in map(path_of_row, roots) if root.startswith(folder.rstrip("/") + "/")]
    commands = [f"resemble watch remove {shown(shlex.quote(root))}" for root in below]
    commands.append(f"resemble watch add {shown(shlex.quote(folder))}")
    has = "This command has" if len(commands) == 1 else "These commands have"
    return Nothing(
        f"{shown(os.path.basename(path))} is not watched",
        f"{has} its folder watched:\n\n" + "\n".join(commands),
    )


def nothing_similar(path):
    """Returns the message in place of an empty folder."""
    text = "No watched file shares enough with it."
    if os.path.isdir(path):
        text = (
            "No watched folder shares enough with it, or it is too large for an answer at once. "
            f"This command takes its time:\n\nresemble dirs {shown(shlex.quote(path))}"
        )
    return Nothing(f"Nothing is similar to {shown(os.path.basename(path))}", text)


def tell(nothing, opener):
    """Explains in a window why no folder opens."""
    title, text = nothing.args
    if opener == "dolphin" and shutil.which("kdialog"):
        lines = html.escape(text).replace("\n", "<br>")
        rich = f"<qt><b>{html.escape(title)}</b><br><br>{lines}</qt>"
        os.execvp("kdialog", ["kdialog", "--title", "Similar files", "--sorry", rich])
    try:
        import gi

        gi.require_version("Gtk", "3.0")
        from gi.repository import Gtk
    except (ImportError, ValueError):
        sys.exit(f"{title}\n\n{text}")
    window = Gtk.MessageDialog(text=title, secondary_text=text, buttons=Gtk.ButtonsType.CLOSE)
    window.set_title("Similar files")
    window.run()


def main(opener, given):
    """Opens the folder of similar files, or explains why there is none."""
    # Similar files in the view are links, which lead to the next question.
    path = os.path.realpath(path_of(given))
    try:
        folder = folder_of(path)
        if not os.listdir(folder):
            raise nothing_similar(path)
    except Nothing as nothing:
        tell(nothing, opener)
    except FileNotFoundError:
        tell(Nothing("resemble is not installed", f"There is no program {RESEMBLE}."), opener)
    else:
        os.execvp(opener, [opener, pathlib.Path(listed(folder)).as_uri()])


if __name__ == "__main__":
    main(*sys.argv[1:])
