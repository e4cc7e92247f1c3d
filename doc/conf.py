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
import site_links  # noqa: E402
import thumbnails  # noqa: E402

import skbench  # noqa: E402

project = "skbench"
author = "The skbench developers"
copyright = author
version = release = skbench.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
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

# Types in docstrings, and code of examples, link to other packages. Read the Docs takes their own
# lists of names. Elsewhere nothing is fetched: the names that are used here stand in inventories/,
# with the pages on which the packages' documentation has them ("name kind page").
_live = (None,) if site_links.PUBLISHED else ()
intersphinx_mapping = {
    name: (address, (*_live, f"inventories/{name}.inv"))
    for name, address in {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "pandas": "https://pandas.pydata.org/docs/",
        "sklearn": "https://scikit-learn.org/stable/",
        "matplotlib": "https://matplotlib.org/stable/",
    }.items()
}
intersphinx_timeout = 20
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but these
numpydoc_xref_aliases = {
    words: f":obj:`{words} <{name}>`"
    for name in [
        *(f"skbench.{name}" for name in skbench.__all__ if name[0].isupper()),
        "matplotlib.axes.Axes",
        "matplotlib.figure.Figure",
        "numpy.random.Generator",
        "numpy.random.RandomState",
        "pandas.DataFrame",
        "pandas.Index",
        "pandas.Series",
    ]
    for words in (name, name.rpartition(".")[2])
} | {
    "array-like": ":obj:`array-like <numpy.typing.ArrayLike>`",
    "bool": ":class:`python:bool`",
    "sequence": ":class:`sequence <collections.abc.Sequence>`",
    "iterable": ":class:`iterable <collections.abc.Iterable>`",
    "generator": ":class:`generator <collections.abc.Generator>`",
}
linkcode_resolve = site_links.source

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
html_baseurl = site_links.PAGES
html_static_path = ["_static"]
html_css_files = ["skbench.css"]
html_sidebars = {page: [] for page in ("index", "tutorial", "examples")}
html_show_sourcelink = False
html_context = {
    "default_mode": "auto",
    "edit_page_provider_name": "GitHub",
    "edit_page_url_template": site_links.REPOSITORY + "/edit/main/{{ edited_file_name }}",
}
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc", "sg_download_links", "edit-this-page"],
    "logo": {"text": "skbench"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    "navigation_with_keys": False,
    "use_edit_page_button": True,
    "github_url": site_links.REPOSITORY,
    "switcher": {"json_url": site_links.VERSIONS, "version_match": version},
    "check_switcher": False,  # written at the end of the build
    "show_version_warning_banner": True,
}

# The copy button leaves prompts and output out.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def without_foreign_references(app, what, name, obj, options, lines):
    """Keep only the words of references to scikit-learn's pages, in inherited docstrings."""
    lines[:] = [re.sub(r":ref:`(\w+) <accuracy_score>`", r"\1", line) for line in lines]


def setup(app):
    """Stop the build if an example has no text, saves no picture or leaves files behind."""
    app.connect("autodoc-process-docstring", without_foreign_references)
    app.connect("builder-inited", thumbnails.draw, priority=900)  # after the gallery
    app.connect("build-finished", gallery_checks.check)
    app.connect("build-finished", site_links.write_versions)
    app.connect("source-read", site_links.name_repository)
    app.connect("doctree-read", site_links.empty_index_anchors)
    app.connect("doctree-read", site_links.resolve_parameter)
    app.connect("missing-reference", site_links.resolve, priority=400)  # before other packages
    app.connect("html-page-context", site_links.edit, priority=100)  # before the theme
    app.connect("html-page-context", site_links.preview)
