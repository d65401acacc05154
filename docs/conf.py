"""Sphinx configuration: ``make docs``, or ``sphinx-build -W docs docs/_build/html``. The build needs no network."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import fusewise

HERE = Path(__file__).parent
EXAMPLES = HERE / "_build" / "examples"

#: Examples that take minutes: they are shown but not executed.
SLOW = ("plot_mri",)


def stage_examples(source: Path, target: Path) -> None:
    """Copy the examples as sphinx-gallery expects them: an underlined title, and no ``__doc__``, which it clears."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "GALLERY_HEADER.rst").write_text(
        "Gallery\n=======\n\nThe scripts in the ``examples`` folder, with the figures they draw.\n"
    )
    for script in sorted(source.glob("*.py")):
        text = script.read_text()
        title = re.match(r'"""(.+)', text)
        if title is None:
            raise ValueError(f"{script} has no docstring: add one, whose first line becomes its title in the gallery")
        line = title[1].rstrip('"').rstrip(".")
        text = text.replace(title[1], f"{line}\n{'=' * len(line)}", 1).replace("__doc__.splitlines()[0]", repr(line))
        (target / script.name).write_text(text)


stage_examples(HERE.parent / "examples", EXAMPLES)

project = "Fusewise"
author = "The Fusewise developers"
copyright = author
release = version = fusewise.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
suppress_warnings = ["config.cache"]  # the gallery's settings contain functions, which cannot be cached

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": rf"plot_(?!{'|'.join(name.removeprefix('plot_') for name in SLOW)})",
    "copyfile_regex": "",
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "Fusewise"
html_theme_options = {
    "navigation_with_keys": True,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
}
html_sidebars = {"gallery/**": []}
html_show_sourcelink = False
