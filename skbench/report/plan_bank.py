"""`skbench plan --past`: the number and choice of items for a new model."""

import click

from skbench._files import write_whole
from skbench._notes import SUMMARY
from skbench.items.rows import CHANCE
from skbench.report.formats import quoted, show
from skbench.report.options import in_unit
from skbench.report.past import read_bank
from skbench.report.table import Column, Table
from skbench.report.terminal import command_with, in_one_line, note, working

_LEVELS = ("model", "topic")


def check_usage(others, choose, output, chances):
    """Raise a usage error for options that cannot be used together."""
    for name in (name for name, value in others.items() if value is not None):
        raise click.UsageError(f"{name} cannot be used with --past or --bank.")
    if (choose is None) != (output is None):
        raise click.UsageError("--choose and --output must be used together.")
    if chances is not None and choose is None:
        raise click.UsageError("--chances requires --choose.")


def plan_with_bank(paths, file, roles, half_width, choose, chances, output, seed, level, form):
    """Print the numbers of items needed, and write the selected items."""
    from skbench.bank import choose_items, items_needed

    with in_one_line():
        bank = read_bank(paths, file, roles=roles)
        half_width = in_unit(half_width, (0.0, 1.0) if bank.binary_ else None, "--half-width")
        with working("testing on earlier models"):
            how = {"confidence_level": level, "random_state": seed}
            needed = {name: items_needed(bank, half_width, name, **how) for name in _LEVELS}
        if choose is not None:
            chances = chances or "informative"
            chosen = choose_items(bank, choose, chances=chances, random_state=seed)
            write_whole(output, quoted(chosen))
            note(f"{len(chosen)} selected items: {output}", SUMMARY)
            if chances != "equal":
                note(f"keep the column {CHANCE} with the answers; --past and --bank use it")
        table = _table(bank, needed, half_width, level)
        if choose is None:
            n_items = needed["model"].n_items
            command = command_with(choose=n_items, output="items.csv")
            table = table._replace(next_commands=[command])
        show(form, table, _document(bank, needed, half_width))


def _document(bank, needed, half_width):
    """Return the plan as a document for JSON."""
    found = needed["model"].half_widths
    return {
        "half_width": half_width,
        "n_earlier_models": len(bank.models_),
        "n_bank_items": len(bank.items_),
        "n_topics": len(bank.topics_),
        "plans": [
            {
                "interval_of": name,
                "required_items": needed[name].n_items,
                "required_items_per_topic": needed[name].n_per_topic,
            }
            for name in _LEVELS
        ],
        "half_widths": [
            {"interval_of": name, "n_items": int(n), "half_width": row[name]}
            for n, row in found.iterrows()
            for name in _LEVELS
        ],
    }


def _table(bank, needed, half_width, level):
    """Return half-widths by the number of items, below the required numbers."""
    n_topics = len(bank.topics_)
    topics = f" of {n_topics} topics" * (n_topics > 1)
    whole, each = (needed[name] for name in _LEVELS)
    per_topic = f" ({whole.n_per_topic:.1f} per topic)" * (n_topics > 1)
    conclusion = [
        f"A new model needs {whole.n_items} items{per_topic}. The {100 * level:g}% interval of its "
        f"mean score on all items then has half-width {half_width:g}."
    ]
    columns = [
        Column("items", whole.half_widths.index, ".0f"),
        Column("half-width,\nall items", whole.half_widths["model"], ".4f"),
    ]
    if n_topics > 1:
        conclusion.append(
            f"It needs {each.n_items} items ({each.n_per_topic:.1f} per topic) for the same "
            "half-width on the median topic."
        )
        columns.append(Column("half-width,\nmedian topic", whole.half_widths["topic"], ".4f"))
    conclusion.append(
        f"These numbers are from {len(bank.models_)} earlier models on {len(bank.items_)} "
        f"items{topics}. Some of these models were treated as new, one at a time."
    )
    return Table(columns, conclusion=conclusion)
