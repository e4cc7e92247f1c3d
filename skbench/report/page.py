"""A report as one self-contained web page."""

from pathlib import Path

import numpy as np

from skbench import __version__
from skbench._files import write_whole
from skbench.containers import LISTED
from skbench.report import tables
from skbench.report.headline import headline
from skbench.report.printing import verdict_in_words
from skbench.report.terminal import visible
from skbench.report.unlike import unlike_in_words

SHADES = 9  # of the heat map; the template has their colors
MOST_GROUPS = 20_000  # on one page; a browser takes seconds for more
_SIGNS = {"better": "+", "worse": "−", "tied": "=", "unknown": "?"}
_TURNED = {"better": "worse", "worse": "better"}
_TEMPLATES = Path(__file__).parent / "templates"


def write(path, findings, about, verdicts):
    """Write the page, the whole of it or nothing.

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
        If Jinja2 is not installed.
    """
    write_whole(path, rendered(findings, about, verdicts))


def rendered(findings, about, verdicts):
    """The page as text; arguments as for `write`."""
    try:
        from jinja2 import Environment, FileSystemLoader
    except ImportError as error:
        raise ImportError('--html needs Jinja2: pip install "skbench[cli]".') from error
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # Pages may not hold control characters, whatever the names do.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    decimals = tables.decimals_for(findings.groups["direct"])
    environment.filters["score"] = lambda value: tables.rounded(value, decimals)
    environment.filters["short"] = lambda value: _short(value, decimals)
    environment.filters["ranks"] = tables.rank_range
    environment.filters["sentence"] = lambda pair: verdict_in_words(pair, decimals)
    models, groups = findings.models(), findings.groups.head(MOST_GROUPS)
    pairs = list(findings.pairs().itertuples())
    names = list(models["model"])
    topics = list(dict.fromkeys(groups["topic"])) if findings.size["topics"] else []
    ends = _ends(groups, ("low", "high", "direct", "estimate"))
    model_ends = _ends(models, ("low", "high", "estimate"))
    return environment.get_template("report.html").render(
        about=about,
        findings=findings,
        headline=headline(findings),
        promise=tables.promise,
        groups=list(_placed(groups, ends, ("low", "high", "direct", "estimate")).itertuples()),
        listed=LISTED,
        left_out=len(findings.groups) - len(groups),
        number_of={name: number for number, name in enumerate(names)},
        topics=topics,
        heat=_heat(groups, names, topics),
        heat_ends=_ends(groups, ("estimate",)),
        shades=range(SHADES),
        models=list(_placed(models, model_ends, ("low", "high", "estimate")).itertuples()),
        ticks=list(_ticks(*model_ends)),
        pairs=pairs,
        matrix=_matrix(names, pairs),
        unlike=unlike_in_words(findings.groups),
        verdicts=verdicts,
        version=__version__,
    )


def _short(value, decimals):
    """A score that fits a cell: one digit less, and no 0 before the point."""
    text = tables.rounded(value, max(0, decimals - 1))
    return text[1:] if text.startswith("0.") else text


def _ends(table, columns):
    """Least and greatest of the numbers that share an axis."""
    values = table[list(columns)].to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    return (values.min(), values.max()) if values.size else (0.0, 1.0)


def _placed(table, ends, columns):
    """With the positions of these columns, in percent of the axis that all rows share."""
    span = (ends[1] - ends[0]) or 1.0
    places = {f"{name}_at": 100 * (table[name] - ends[0]) / span for name in columns}
    known = np.isfinite(table[["low", "high", "estimate"]]).all(axis=1)
    return table.assign(**places, drawn=known)


def _ticks(low, high):
    """Round numbers on an axis, at most six, and where they stand in percent."""
    rough = (high - low) / 5 or 1.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(nice for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
    for number in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1):
        yield f"{number * step:.4g}", 100 * (number * step - low) / ((high - low) or 1.0)


def _heat(groups, models, topics):
    """For each topic the estimate, its shade, and whether it is odd; None where there is none."""
    if not topics:
        return []
    estimate = groups.pivot(index="topic", columns="model", values="estimate")
    odd = groups.pivot(index="topic", columns="model", values="unlike_peers") > LISTED
    estimate, odd = (x.reindex(index=topics, columns=models).to_numpy() for x in (estimate, odd))
    low, high = _ends(groups, ("estimate",))
    shade = np.floor(SHADES * (estimate - low) / ((high - low) or 1.0))
    shade = np.clip(np.nan_to_num(shade), 0, SHADES - 1).astype(int)
    return [
        [
            None if np.isnan(value) else (value, int(k), bool(is_odd))
            for value, k, is_odd in zip(*row, strict=True)
        ]
        for row in zip(estimate, shade, odd, strict=True)
    ]


def _matrix(models, pairs):
    """What the model of the row is against that of the column: a verdict and its sign."""
    cells = {}
    for pair in pairs:
        verdict = pair.verdict
        cells[pair.model_a, pair.model_b] = verdict, _SIGNS[verdict]
        turned = _TURNED.get(verdict, verdict)
        cells[pair.model_b, pair.model_a] = turned, _SIGNS[turned]
    return [[cells.get((row, column)) for column in models] for row in models]
