"""Similar files in the context menu of Nautilus."""

import os
import sys

from gi.repository import GObject, Nautilus

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../resemble"))
import similar_files


class SimilarFiles(GObject.GObject, Nautilus.MenuProvider):
    """The entry for one selected file or folder."""

    def get_file_items(self, *args):
        """Version 3.0 of the interface names the window first, version 4.0 only the files."""
        return similar_files.menu(Nautilus.MenuItem, "nautilus", args[-1])
