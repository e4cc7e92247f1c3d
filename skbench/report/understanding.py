"""What was understood of a file: models, topics, items, repeats, clusters, gaps, other columns."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

_MOST_MODELS = 8  # lines of the map
_MOST_CELLS = 40  # columns of the map
_MARKS = ((1 - 1e-9, "#"), (0.5, "+"), (1e-9, "-"), (0.0, "."))


@dataclass(frozen=True)
class Understanding:
    """What a file holds, in numbers and words.

    Counts are 0 where there is no column; `what` is "items" or "groups"; `blank` the share of
    answers that are not there; `gaps`, of each model that lacks some, the share answered by part.
    """

    n_models: int
    n_topics: int
    n_items: int
    n_answers: int
    n_repeats: int
    n_clusters: int
    what: str
    blank: float
    gaps: dict
    scores: str
    known_range: tuple | None
    human_columns: list
    judge_columns: list
    units: str | None

    def lines(self):
        """The same in lines of text, a small map of gaps among them."""
        counts = [(self.n_models, "model"), (self.n_topics, "topic"), (self.n_items, "item")]
        size = ", ".join(counted(n, noun) for n, noun in counts if n) or "no models or topics"
        answers = f"{counted(self.n_answers, 'answer')}; " if self.n_answers else ""
        yield f"understood: {size}; {answers}{self.scores}"
        if self.what == "groups":
            yield "rows are results of groups: which items were right is not known"
        if self.n_repeats > 1:
            yield f"repeats: up to {self.n_repeats} answers of a model to an item"
        if self.n_clusters:
            yield f"clusters: {self.n_clusters:,}"
        if self.gaps:
            few = " (# all, + half or more, - less, . none)"
            yield f"with gaps: {percent(self.blank)} of the answers are not there{few}"
            for name, shares in list(self.gaps.items())[:_MOST_MODELS]:
                yield f"{''.join(map(_mark, shares))} {name}"
            more = len(self.gaps) - _MOST_MODELS
            if more > 0:
                yield f"and {counted(more, 'more model')} with gaps"
        elif self.n_items and self.n_models > 1:
            yield "crossed: every model answered every item"
        if self.human_columns and self.judge_columns:
            human, judge = self.human_columns[0], self.judge_columns[0]
            yield (
                f"judge columns: {', '.join(self.judge_columns)} beside human labels in {human}: "
                f"skbench judge FILE --judge {judge} --human {human}"
            )

    def to_dict(self):
        """The same for JSON."""
        gaps = [{"model": name, "answered": shares} for name, shares in self.gaps.items()]
        return asdict(self) | {"gaps": gaps}


def counted(n, noun):
    """A number with its noun: "1 model", "2,000 models"."""
    return f"{n:{',' if n >= 10_000 else ''}} {noun}{'s' * (n != 1)}"


def percent(share):
    """A share for people; what is above 0 is not called 0%."""
    return "less than 0.1%" if 0 < share < 1e-3 else f"{100 * share:.3g}%"


def understood(rows):
    """What was understood of `ItemRows` that were read."""
    from skbench.items.roles import judge_columns

    items = rows.items
    topics = topic_columns(rows)
    n_topics = len(items[topics].drop_duplicates()) if topics else 0
    has_items = "item" in items
    blank, gaps = _gaps(rows, topics) if has_items else (0.0, {})
    repeats = int(items.groupby(_keys(items), sort=False).size().max()) if has_items else 1
    humans, judges = judge_columns([name for name in items if name != "score"])
    scores, known = _scores(rows)
    own_clusters = "cluster" in items and not (
        has_items and rows.columns.get("cluster") == rows.columns.get("item")
    )
    answers = len(items)
    if rows.groups is not None:
        answers = int(items["n"].sum()) if "n" in items else 0
    n = {name: int(items[name].nunique()) for name in ("model", "item", "cluster") if name in items}
    return Understanding(
        n_models=n.get("model", 0),
        n_topics=n_topics,
        n_items=n.get("item", 0),
        n_answers=answers,
        n_repeats=repeats,
        n_clusters=n["cluster"] if own_clusters else 0,
        what="items" if rows.groups is None else "groups",
        blank=blank,
        gaps=gaps,
        scores=scores,
        known_range=known,
        human_columns=humans,
        judge_columns=judges,
        units=units_in_doubt(items),
    )


def topic_columns(rows):
    """Columns of the items that make up the topic."""
    topics = rows.columns.get("topic", [])
    topics = [topics] if isinstance(topics, str) else list(topics)
    return ["topic"] if "topic" in rows.items and len(topics) == 1 else topics


def units_in_doubt(items):
    """A question, where some models or topics look to be scored in percent and others not."""
    from skbench.items.ranges import unlike_units

    named = [name for name in ("model", "topic") if name in items]
    tops = (items["score"].abs().groupby(items[name]).max().to_dict() for name in named)
    return next(filter(None, map(unlike_units, tops)), None)


def _keys(items):
    return [name for name in ("model", "item") if name in items]


def _scores(rows):
    """What scores there are, in words, and their range where it is known."""
    from skbench.report.reading import score_range

    score = rows.items["score"]
    if rows.groups is not None and "k" in rows.items:
        return f"{counted(len(score), 'group')}, right ones counted", (0.0, 1.0)
    if score.isin((0, 1)).all():
        return "right or wrong", (0.0, 1.0)
    known = score_range(rows)
    kind = "scores" if rows.groups is None else "means"
    span = f"{kind} from {score.min():.6g} to {score.max():.6g}"
    if known is None:
        return f"{span}, range not known", None
    return f"{span}, possible {known[0]:g} to {known[1]:g}", known


def _gaps(rows, topics):
    """Share of the answers that are not there, and where, model by model."""
    items = rows.items
    if "model" not in items or items["model"].nunique() < 2:
        n_blank = 0 if rows.blank is None else len(rows.blank)
        return n_blank / max(1, len(items) + n_blank), {}
    model, models = pd.factorize(items["model"])
    item, names = pd.factorize(items["item"])
    answered = np.zeros((len(models), len(names)), dtype=bool)
    answered[model, item] = True
    if answered.all():
        return 0.0, {}
    part = _parts(items, item, len(names), topics)
    sizes = np.bincount(part)
    shares = {
        str(models[m]): (np.bincount(part, answered[m], len(sizes)) / sizes).tolist()
        for m in np.argsort(answered.sum(axis=1), kind="stable")
        if not answered[m].all()
    }
    return float(1 - answered.mean()), shares


def _parts(items, item, n_items, topics):
    """A part of the map for each item: its topic, or where it stands in the file."""
    if topics:
        of_row = items.groupby(topics, sort=False).ngroup().to_numpy()
        of_item = np.zeros(n_items, dtype=int)
        of_item[item] = of_row
        if 1 < of_item.max() + 1 <= _MOST_CELLS:
            return np.unique(of_item, return_inverse=True)[1]
    n_parts = min(n_items, _MOST_CELLS)
    return np.arange(n_items) * n_parts // n_items


def _mark(share):
    return next(mark for least, mark in _MARKS if share >= least)
