"""Loads an extension as its file manager would, without one, and clicks on its entry.

    click.py EXTENSION HOST KIND URI

Prints the label of the entry. HOST is `Nautilus`, `Nemo` or `Caja`, KIND a word of Gio.FileType.
"""

import os
import runpy
import sys
import types


class Item:
    def __init__(self, name, label, tip):
        self.label = label

    def connect(self, signal, call):
        assert signal == "activate"
        self.click = lambda: call(self)


class File:
    def __init__(self, kind, uri):
        self.kind, self.uri = kind, uri

    def get_uri(self):
        return self.uri

    def get_uri_scheme(self):
        return self.uri.split(":")[0]

    def get_file_type(self):
        return types.SimpleNamespace(value_nick=self.kind)


extension, host, kind, uri = sys.argv[1:]
repository = types.ModuleType("gi.repository")
repository.GObject = types.SimpleNamespace(GObject=type("GObject", (), {}))
repository.GLib = types.SimpleNamespace(
    PRIORITY_DEFAULT=0, child_watch_add=lambda _priority, pid, _call: os.waitpid(pid, 0)
)
provider = type("MenuProvider", (), {})
setattr(repository, host, types.SimpleNamespace(MenuProvider=provider, MenuItem=Item))
sys.modules.update({"gi": types.ModuleType("gi"), "gi.repository": repository})

menu = runpy.run_path(extension)["SimilarFiles"]()
one = File(kind, uri)
assert menu.get_file_items("window", []) == []
assert menu.get_file_items("window", [one, one]) == []
# Nautilus leaves the window out from 43 on.
items = menu.get_file_items([one]) if host == "Nautilus" else menu.get_file_items("window", [one])
for item in items:
    print(item.label, flush=True)
    item.click()
