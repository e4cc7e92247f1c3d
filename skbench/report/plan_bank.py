"""`skbench plan --past`: how many items of a benchmark to ask a new model, and which ones."""

import click

from skbench._files import write_whole
from skbench.items.rows import CHANCE
from skbench.report.formats import quoted, show
from skbench.report.options import in_unit
from skbench.report.past import read_bank
from skbench.report.table import Column, Table
from skbench.report.terminal import in_one_line, note, working

_LEVELS = ("model", "topic")


def check_usage(others, choose, output, chances):
    """Refuse what has no meaning with earlier models, and a choice without a file."""
    for name in (name for name, value in others.items() if value is not None):
        raise click.UsageError(f"{name} has no meaning with --past or --bank.")
    if (choose is None) != (output is None):
        raise click.UsageError("--choose and --output go together.")
    if chances is not None and choose is None:
        raise click.UsageError("--chances needs --choose.")


def plan_with_bank(paths, file, roles, half_width, choose, chances, output, seed, level, form):
    """Print the numbers of items that are needed, and write those that were chosen."""
    from skbench.bank import choose_items, items_needed

    with in_one_line():
        bank = read_bank(paths, file, roles=roles)
        half_width = in_unit(half_width, (0.0, 1.0) if bank.binary_ else None, "--half-width")
        with working("trying it on earlier models"):
            how = {"confidence_level": level, "random_state": seed}
            needed = {name: items_needed(bank, half_width, name, **how) for name in _LEVELS}
        if choose is not None:
            chances = chances or "informative"
            chosen = choose_items(bank, choose, chances=chances, random_state=seed)
            write_whole(output, quoted(chosen))
            note(f"{len(chosen)} items to ask: {output}")
            if chances != "equal":
                note(f"keep the column {CHANCE} with the answers: --past and --bank use it")
        table = _table(bank, needed, half_width, level)
        show(form, table, _document(bank, needed, half_width))


def _document(bank, needed, half_width):
    """The plan for JSON."""
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
    """Half widths by the number of items, and how many are needed."""
    n_topics = len(bank.topics_)
    topics = f" of {n_topics} topics" * (n_topics > 1)
    whole, each = (needed[name] for name in _LEVELS)
    per_topic = f", {whole.n_per_topic:.1f} per topic" * (n_topics > 1)
    head = [
        f"{len(bank.models_)} earlier models on {len(bank.items_)} items{topics}. Some of them "
        "were taken out one by one and treated as new.",
        f"Items to ask a new model for a {100 * level:g}% interval of +-{half_width:g}, of its "
        f"score on all items: {whole.n_items}{per_topic}.",
    ]
    columns = [
        Column("items", whole.half_widths.index, ".0f"),
        Column("all items", whole.half_widths["model"], ".4f"),
    ]
    if n_topics > 1:
        head.append(
            f"For such an interval in each topic (the median one): {each.n_items}, "
            f"{each.n_per_topic:.1f} per topic."
        )
        columns.append(Column("a topic", whole.half_widths["topic"], ".4f"))
    return Table(columns, [*head, "Half widths that were found:"])
