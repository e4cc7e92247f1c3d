"""A report as Markdown, for pull requests and job pages, and its tables in LaTeX."""

import os

from skbench.report import tables
from skbench.report.headline import headline
from skbench.report.markup import as_latex, as_markdown, markdown_text
from skbench.report.printing import group_cells, pair_sentences, ranking_cells, ranking_in_words
from skbench.report.terminal import say
from skbench.report.unlike import unlike_in_words


def as_markdown_report(findings, about, verdicts, rows):
    """The whole report in Markdown.

    Parameters
    ----------
    findings : Findings
        What to tell.
    about : dict
        read is told.
    verdicts : list of Verdict
        Thresholds.
    rows : int
        Most groups, and most pairs.

    Returns
    -------
    str
    """
    return "\n\n".join(
        [
            *_head(findings, about, verdicts),
            *_pairs(findings, rows),
            *_groups(findings, rows),
            *_beware(findings),
        ]
    )


def write_summary(path, findings, about, verdicts):
    """Add headline, thresholds, ranking and warnings to the page of a CI job.

    Parameters
    ----------
    path : str
        File of Markdown that the job shows; what is in it stays.
    findings, about, verdicts
        As in `as_markdown_report`.
    """
    text = "\n\n".join([*_head(findings, about, verdicts), *_beware(findings)])
    # Other steps of the job write to the same file: it is added to in one go, not replaced.
    with open(path, "ab", buffering=0) as file:
        file.write(f"{text}\n\n".encode())
        os.fsync(file.fileno())
    say(f"summary: {path}")


def as_latex_report(findings, rows):
    """Tables of the ranking and of the groups, for the package booktabs.

    Parameters
    ----------
    findings : Findings
        What to tell.
    rows : int
        Most groups.

    Returns
    -------
    str
    """
    board, e = findings.board.estimate, findings.estimate
    told = [as_latex(ranking_cells(findings), f"{board.method}: {tables.promise(board)}")]
    cells, left = group_cells(findings, rows)
    more = f" The first {rows} of {rows + left} groups." if left else ""
    told.append(as_latex(cells, f"{e.method}: {tables.promise(e)}.{more}"))
    return "\n\n".join(told)


def _head(findings, about, verdicts):
    yield "## What these results say"
    yield f"**{markdown_text(' '.join(headline(findings)))}**"
    yield f"{markdown_text(about['read'])}."
    if verdicts:
        yield _list(verdict.sentence for verdict in verdicts)
    odd = unlike_in_words(findings.groups)
    if odd:
        yield f"{markdown_text(odd[0])}\n\n{_list(line.strip() for line in odd[1:])}"
    yield f"### {'Ranking' if len(findings.board) > 1 else 'Score'}"
    yield as_markdown(ranking_cells(findings))
    yield from map(markdown_text, ranking_in_words(findings))


def _pairs(findings, rows):
    if len(findings.board) > 1:
        yield "### Pairs"
        yield _list(pair_sentences(findings, rows))


def _groups(findings, rows):
    cells, left = group_cells(findings, rows)
    e = findings.estimate
    yield f"### {'Topics and models' if findings.size['topics'] else 'Models'}"
    yield markdown_text(f"{e.method}: {tables.promise(e)}")
    yield as_markdown(cells)
    if left:
        yield f"{left} more groups: --rows {left + len(cells.rows)} or --html."


def _beware(findings):
    if findings.warnings:
        yield "### Beware"
        yield _list(findings.warnings)


def _list(sentences):
    return "\n".join(f"- {markdown_text(sentence)}" for sentence in sentences)
