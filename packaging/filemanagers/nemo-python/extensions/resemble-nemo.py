"""Similar files in the context menu of Nemo."""

import os
import sys

from gi.repository import GObject, Nemo

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../resemble"))
import similar_files


class SimilarFiles(GObject.GObject, Nemo.MenuProvider):
    """The entry for one selected file or folder."""

    def get_file_items(self, _window, files):
        """Asked whenever the menu opens."""
        return similar_files.menu(Nemo.MenuItem, "nemo", files)
