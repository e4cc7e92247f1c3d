"""Where the pages, the source and earlier versions are: everything from setup.cfg.

The pages are served below the documentation address, one folder for each version:
``latest/`` of the main branch, ``v1.2.3/`` of release 1.2.3. Read the Docs names its own address
and the commit it builds.
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
# Published pages of every version ask the newest ones which versions there are.
VERSIONS = "_static/switcher.json"
if PUBLISHED:
    VERSIONS = urljoin(PAGES, f"../latest/{VERSIONS}")

_RELEASES = re.compile(r"^## (\d\S*+)(?! \(unreleased)", re.MULTILINE)
_END = re.compile(r"(?<=[.?!])(?<!et al\.)\s+")


def versions(current):
    """What the switcher offers: the releases of the changelog, and what is in work."""
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
    """The lines of an object in the repository, for sphinx.ext.linkcode."""
    try:
        found = importlib.import_module(info["module"])
        for name in info["fullname"].split("."):
            found = getattr(found, name)
        found = inspect.unwrap(getattr(found, "fget", found))
        path = Path(inspect.getsourcefile(found)).resolve().relative_to(ROOT.resolve())
        lines, start = inspect.getsourcelines(found)
    except (AttributeError, TypeError, ValueError, OSError):  # not Python, or not ours
        return None
    return f"{REPOSITORY}/blob/{COMMIT}/{path.as_posix()}#L{start}-L{start + len(lines) - 1}"


def name_repository(app, docname, source):
    """``|repository|`` in a page, also in its code, is the owner and the name."""
    source[0] = source[0].replace("|repository|", "/".join(REPOSITORY.split("/")[-2:]))


def edit(app, pagename, templatename, context, doctree):
    """The edit button of a page leads to the file the page is made of; else there is none."""
    path = f"doc/{pagename}.rst"
    if pagename == "gallery/index":
        path = "examples/GALLERY_HEADER.rst"
    elif pagename.startswith("gallery/"):
        path = f"examples/{Path(pagename).name}.py"
    if not (ROOT / path).exists() or pagename.startswith("api/generated/"):
        context["page_source_suffix"] = ""
    context["edited_file_name"] = path


def preview(app, pagename, templatename, context, doctree):
    """What previews of links and search engines show: the first sentence, and one picture."""
    if doctree is None:
        return
    texts = [
        " ".join(paragraph.astext().split())
        for paragraph in doctree.findall(nodes.paragraph)
        if paragraph.parent.tagname in ("section", "desc_content")
    ]
    sentences = [sentence for text in texts[:2] for sentence in _END.split(text)] + ["", ""]
    asks = sentences[0].endswith("?") and "\\" not in sentences[1]  # formulas are not for previews
    tags = {
        "description": " ".join(sentences[: 2 if asks else 1]),
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


def lead_to_the_page(app, doctree):
    """Searches for index entries above a title find the page: an empty anchor has no summary."""
    for node in doctree.children:
        if node.tagname == "index":
            node["entries"] = [(*entry[:2], "", *entry[3:]) for entry in node["entries"]]


def not_the_room(app, doctree):
    """`groups` in a docstring is a parameter, and `plot` the method, not the room of that name."""
    for node in doctree.findall(pending_xref):
        if node["reftype"] == "obj" and (ROOT / "skbench" / node["reftarget"]).is_dir():
            node["reftarget"] = f"{node.get('py:class')}.{node['reftarget']}"


def resolve(app, env, node, contnode):
    """Public names in docstrings of the rooms, which look for them in their own room only."""
    name = node["reftarget"]
    if node["refdomain"] == "py" and node["reftype"] == "obj" and name in skbench.__all__:
        python, name = env.domains.python_domain, f"skbench.{name}"
        return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contnode)
