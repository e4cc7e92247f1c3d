"""Sphinx configuration: ``python -m sphinx -W --keep-going -b html doc build/html``."""

import re
import sys
import warnings
from pathlib import Path

import matplotlib

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "doc")]
matplotlib.use("agg")
# Examples show what is warned of, not where this copy of the package lies.
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"

import gallery_checks  # noqa: E402
import thumbnails  # noqa: E402

import skbench  # noqa: E402

project = "skbench"
author = "The skbench developers"
copyright = author
version = release = skbench.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
# Names in single backticks link to what they name, if this documentation has it.
default_role = "py:obj"
rst_prolog = ".. currentmodule:: skbench"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Pictures are drawn while the pages are built; none is stored. Those of the examples are taken
# from the gallery, which runs each example once.
plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False

# The gallery runs every script of the examples folder and keeps what it prints and draws.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("skbench",),
    "reference_url": {"skbench": None},
    "backreferences_dir": "gallery/backreferences",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "reset_argv": "gallery_checks.arguments",
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"skbench {release}"
html_static_path = ["_static"]
html_css_files = ["skbench.css"]
html_sidebars = {
    page: []
    for page in ("index", "examples", "how_we_know", "papers", "comparison", "contributing")
}
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "navigation_with_keys": False,
}


def without_foreign_references(app, what, name, obj, options, lines):
    """Keep only the words of references to scikit-learn's pages, in inherited docstrings."""
    lines[:] = [re.sub(r":ref:`(\w+) <accuracy_score>`", r"\1", line) for line in lines]


def setup(app):
    """Examples that say nothing, save no picture or leave files behind stop the build."""
    app.connect("autodoc-process-docstring", without_foreign_references)
    app.connect("builder-inited", thumbnails.draw, priority=900)  # after the gallery
    app.connect("build-finished", gallery_checks.check)
