"""`skbench plan --past`: how many items of a benchmark to ask a new model, and which ones."""

import json
import os
from pathlib import Path

import click

from skbench.report.past import read_bank
from skbench.report.tables import plain_table
from skbench.report.terminal import in_one_line, print_prose, print_table, say, working

_LEVELS = ("model", "topic")


def check_usage(others, choose, output):
    """Refuse what has no meaning with earlier models, and a choice without a file."""
    for name in (name for name, value in others.items() if value is not None):
        raise click.UsageError(f"{name} has no meaning with --past or --bank.")
    if (choose is None) != (output is None):
        raise click.UsageError("--choose and --output go together.")


def plan_with_bank(paths, file, roles, half_width, choose, output, seed, level, as_json):
    """Print the numbers of items that are needed, and write those that were chosen.

    Parameters
    ----------
    paths, file
        Of --past and --bank.
    roles : dict
        What the user says of columns.
    half_width : float
        Of intervals, in score units.
    choose : int or None
        Number of items to choose, for the file `output`.
    output : str or None
    seed : int
    level : float
        Confidence level.
    as_json : bool
    """
    from skbench.bank import choose_items, items_needed

    with in_one_line():
        bank = read_bank(paths, file, roles=roles)
        with working("trying it on earlier models"):
            needed = {
                name: items_needed(
                    bank, half_width, name, confidence_level=level, random_state=seed
                )
                for name in _LEVELS
            }
        if choose is not None:
            _write(choose_items(bank, choose, random_state=seed), output)
        if as_json:
            click.echo(json.dumps(_document(bank, needed, half_width, level), indent=1))
        else:
            _print_report(bank, needed, half_width, level)


def _write(chosen, output):
    """The whole file or none: under another name first."""
    path = Path(output)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        chosen.to_csv(draft, index=False)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    say(f"{len(chosen)} items to ask: {output}")


def _document(bank, needed, half_width, level):
    return {
        "half_width": half_width,
        "confidence_level": level,
        "n_earlier_models": len(bank.models_),
        "n_bank_items": len(bank.items_),
        "n_topics": len(bank.topics_),
        "required_items": {name: needed[name].n_items for name in _LEVELS},
        "required_items_per_topic": {name: needed[name].n_per_topic for name in _LEVELS},
        "half_widths": [
            {"n_items": int(n), **{name: float(row[name]) for name in _LEVELS}}
            for n, row in needed["model"].half_widths.iterrows()
        ],
    }


def _print_report(bank, needed, half_width, level):
    n_topics = len(bank.topics_)
    topics = f" of {n_topics} topics" * (n_topics > 1)
    print_prose(
        f"{len(bank.models_)} earlier models on {len(bank.items_)} items{topics}. Some of them "
        "were taken out one by one and treated as new."
    )
    whole = needed["model"]
    per_topic = f", {whole.n_per_topic:.1f} per topic" * (n_topics > 1)
    print_prose(
        f"Items to ask a new model for a {100 * level:g} % interval of +-{half_width:g}, of its "
        f"score on all items: {whole.n_items}{per_topic}."
    )
    if n_topics > 1:
        each = needed["topic"]
        print_prose(
            f"For such an interval in each topic (the median one): {each.n_items}, "
            f"{each.n_per_topic:.1f} per topic."
        )
    print_prose("Half widths that were found:")
    rows = [
        [f"{n:.0f}", *(f"{row[name]:.4f}" for name in _LEVELS[: 1 + (n_topics > 1)])]
        for n, row in whole.half_widths.iterrows()
    ]
    headers = ["items", "all items", "a topic"][: 2 + (n_topics > 1)]
    print_table(plain_table(headers, rows, n_text=0))
