"""A report as one self-contained web page."""

import io
import re
import warnings
from pathlib import Path

import numpy as np

from skbench import __version__
from skbench.report import tables
from skbench.report.leaderboard import ranking_picture
from skbench.report.printing import verdict_in_words
from skbench.report.unlike import unlike_in_words

_TEMPLATES = Path(__file__).parent / "templates"


def write(path, findings, about, verdicts):
    """Write the page.

    Parameters
    ----------
    path : str or path-like
        Where to; an existing file is replaced.
    findings : Findings
        What to tell.
    about : dict
        read, notes, score, command.
    verdicts : list of Verdict
        Thresholds.

    Raises
    ------
    ImportError
        If Jinja2 or matplotlib is not installed.
    """
    text = rendered(findings, about, verdicts)
    Path(path).write_text(text, encoding="utf-8")


def rendered(findings, about, verdicts):
    """The page as text; arguments as for `write`."""
    try:
        from jinja2 import Environment, FileSystemLoader
    except ImportError as error:
        raise ImportError('--html needs Jinja2: pip install "skbench[cli]".') from error
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    decimals = tables.decimals_for(findings.groups["direct"])
    environment.filters["score"] = lambda value: tables.rounded(value, decimals)
    environment.filters["ranks"] = tables.rank_range
    environment.filters["sentence"] = lambda pair: verdict_in_words(pair, decimals)
    return environment.get_template("report.html").render(
        about=about,
        findings=findings,
        promise=tables.promise,
        groups=list(_placed(findings.groups).itertuples()),
        models=list(findings.models().itertuples()),
        pairs=list(findings.pairs().itertuples()),
        best=[str(name) for name in findings.board.rank_sets.best()],
        picture=_ranking_in_svg(findings.board, about["score"]),
        unlike=unlike_in_words(findings.groups),
        verdicts=verdicts,
        version=__version__,
    )


def _placed(groups):
    """Positions of intervals and points, in percent of the axis all rows share."""
    least = groups[["low", "direct", "estimate"]].min().min()
    most = groups[["high", "direct", "estimate"]].max().max()
    span = (most - least) or 1.0
    columns = {
        f"{name}_at": 100 * (groups[name] - least) / span
        for name in ("low", "high", "direct", "estimate")
    }
    known = np.isfinite(groups[["low", "high", "estimate"]]).all(axis=1)
    return groups.assign(**columns, drawn=known)


def _ranking_in_svg(board, score):
    """The forest plot of the models, as SVG whose text stays text."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('--html needs matplotlib: pip install "skbench[plot]".') from error
    # The hash salt makes the ids, and so the page, the same in every run.
    look = {"svg.fonttype": "none", "svg.hashsalt": "skbench"}
    with matplotlib.rc_context(look), warnings.catch_warnings():
        # The reader's browser has other fonts than matplotlib.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        buffer = io.StringIO()
        ranking_picture(board, score).savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
    return _inline(buffer.getvalue())


def _inline(svg):
    """The svg element alone, scaling with the page."""
    svg = svg[svg.index("<svg") :]
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r"<svg \1", svg, count=1)
