"""Links to the pages, the source and other versions, derived from setup.cfg.

Every version has its own folder below the documentation address: ``latest/`` for the main
branch, ``v1.2.3/`` for release 1.2.3. On Read the Docs, environment variables contain the
address and the commit of the build.
"""

import configparser
import importlib
import inspect
import json
import os
import re
from html import escape
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.addnodes import pending_xref

import skbench

ROOT = Path(__file__).parents[1]
_setup = configparser.ConfigParser(interpolation=None)
_setup.read(ROOT / "setup.cfg")
REPOSITORY = _setup["metadata"]["url"]
_addresses = dict(
    line.split(" = ") for line in _setup["metadata"]["project_urls"].strip().splitlines()
)
PUBLISHED = "READTHEDOCS_CANONICAL_URL" in os.environ
PAGES = os.environ.get("READTHEDOCS_CANONICAL_URL", _addresses["Documentation"] + "/latest/")
COMMIT = os.environ.get("READTHEDOCS_GIT_COMMIT_HASH", "main")
# Published pages of every version load the list of versions from the latest pages.
VERSIONS = "_static/switcher.json"
if PUBLISHED:
    VERSIONS = urljoin(PAGES, f"../latest/{VERSIONS}")

_RELEASES = re.compile(r"^## (\d\S*+)(?! \(unreleased)", re.MULTILINE)
_END = re.compile(r"(?<=[.?!])(?<!et al\.)\s+")


def versions(current):
    """Return the entries of the version switcher: the releases and the current version."""
    releases = _RELEASES.findall((ROOT / "CHANGELOG.md").read_text())
    found = [
        {
            "version": release,
            "url": urljoin(PAGES, f"../v{release}/"),
            "preferred": release == releases[0],
        }
        for release in releases
    ]
    if current not in releases:
        latest = {"name": f"{current} (latest)", "version": current}
        found.insert(0, latest | {"url": urljoin(PAGES, "../latest/")})
    return found


def write_versions(app, exception):
    if not exception and app.builder.name == "html":
        path = Path(app.outdir, "_static", "switcher.json")
        path.write_text(json.dumps(versions(app.config.version)))


def source(domain, info):
    """Return the address of the source lines of an object, for sphinx.ext.linkcode."""
    try:
        found = importlib.import_module(info["module"])
        for name in info["fullname"].split("."):
            found = getattr(found, name)
        found = inspect.unwrap(getattr(found, "fget", found))
        path = Path(inspect.getsourcefile(found)).resolve().relative_to(ROOT.resolve())
        lines, start = inspect.getsourcelines(found)
    except (AttributeError, TypeError, ValueError, OSError):  # not Python, or from another package
        return None
    return f"{REPOSITORY}/blob/{COMMIT}/{path.as_posix()}#L{start}-L{start + len(lines) - 1}"


def name_repository(app, docname, source):
    """Replace ``|repository|`` by owner and name, also in code blocks."""
    source[0] = source[0].replace("|repository|", "/".join(REPOSITORY.split("/")[-2:]))


def edit(app, pagename, templatename, context, doctree):
    """Link the edit button to the source file of a page, or remove the button."""
    path = f"doc/{pagename}.rst"
    if pagename == "gallery/index":
        path = "examples/GALLERY_HEADER.rst"
    elif pagename.startswith("gallery/"):
        path = f"examples/{Path(pagename).name}.py"
    if not (ROOT / path).exists() or pagename.startswith("api/generated/"):
        context["page_source_suffix"] = ""
    context["edited_file_name"] = path


def preview(app, pagename, templatename, context, doctree):
    """Add the first sentence and a picture as metadata for link previews and search engines."""
    if doctree is None:
        return
    texts = [
        " ".join(paragraph.astext().split())
        for paragraph in doctree.findall(nodes.paragraph)
        if paragraph.parent.tagname in ("section", "desc_content")
    ]
    sentences = [sentence for text in texts[:2] for sentence in _END.split(text)] + ["", ""]
    # A question needs its answer, but formulas do not render in previews.
    is_question = sentences[0].endswith("?") and "\\" not in sentences[1]
    tags = {
        "description": " ".join(sentences[: 2 if is_question else 1]),
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": next(doctree.findall(nodes.section)).next_node(nodes.title).astext(),
        "og:url": PAGES + app.builder.get_target_uri(pagename),
        "og:image": PAGES + "_static/card.png",
        "twitter:card": "summary_large_image",
    }
    tags["og:description"] = tags["description"]
    for name, text in tags.items():
        kind = "property" if name.startswith("og:") else "name"
        context["metatags"] += f'<meta {kind}="{name}" content="{escape(text)}">\n'


def empty_index_anchors(app, doctree):
    """Empty the anchors of index entries above a title, so that searches find the page."""
    for node in doctree.children:
        if node.tagname == "index":
            node["entries"] = [(*entry[:2], "", *entry[3:]) for entry in node["entries"]]


def resolve_parameter(app, doctree):
    """Resolve names such as `groups` or `plot` to the parameter or method, not the subpackage."""
    for node in doctree.findall(pending_xref):
        if node["reftype"] == "obj" and (ROOT / "skbench" / node["reftarget"]).is_dir():
            node["reftarget"] = f"{node.get('py:class')}.{node['reftarget']}"


def resolve(app, env, node, contnode):
    """Resolve public names in docstrings of subpackages."""
    name = node["reftarget"]
    if node["refdomain"] == "py" and node["reftype"] == "obj" and name in skbench.__all__:
        python, name = env.domains.python_domain, f"skbench.{name}"
        return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contnode)
