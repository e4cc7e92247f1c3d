"""A report in a few sentences: what is in doubt, who may be best, what would settle the rest."""

from skbench._numbers import number, score_form
from skbench.report.tables import outlying_groups
from skbench.report.understanding import counted

_NAMED = 4  # names that a sentence holds
_MOST_NAMES = 12  # that a list above the report holds
_SURE, _PROBABLE = 0.9, 0.5  # probabilities that a sentence states, or calls probable
_OUT_OF_REACH = 1e6  # items that nobody will add


def headline(findings):
    """What a report says, in a few sentences."""
    doubts = [f"Check first: {doubt.rstrip('.')}." for doubt in findings.doubts]
    models = list(findings.models.itertuples())
    form = score_form(findings.board.estimate.value)
    if len(models) == 1:
        (one,) = models
        value, low, high = (number(x, form) for x in (one.value, one.low, one.high))
        return [
            *doubts,
            f"{one.model} scores {value} ({low} to {high}).",
            *outlying_in_headline(findings.groups),
        ]
    best = [str(name) for name in findings.board.rank_sets.best()]
    scores = {row.model: number(row.value, form) for row in models}
    return [
        *doubts,
        best_in_words(best, scores),
        *outlying_in_headline(findings.groups),
        *_settled(findings, best),
        *([] if findings.tradeoff is None else findings.tradeoff.sentences()[:1]),
    ]


def facts(findings, about):
    """Date, data, models and past of a report, as pairs of a word and a text."""
    past, names = findings.worth, list(findings.models["model"])
    more = len(names) - _MOST_NAMES
    some = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return [
        ("Date", about["date"]),
        ("Data", about["read"]),
        ("Models", some),
        ("Past", "none" if past is None else counted(past.n_models, "earlier model")),
    ]


def listed(names):
    """Names as a sentence has them, the last after "and"; of many, the first ones.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    names = list(names)
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def best_in_words(best, scores):
    """Who may be the best, in a sentence; `scores` are texts by model, the best first."""
    if len(best) == 1:
        second = next((name for name in scores if name != best[0]), None)
        return (
            f"{best[0]} is the best of {len(scores)} models, with {scores[best[0]]}; "
            f"the next is {second} with {scores[second]}."
        )
    told = listed(f"{name} ({scores[name]})" for name in best)
    others = "no model is" if len(best) == len(scores) else "the others are clearly"
    if len(best) <= _NAMED:
        return f"{told} may be the best of {len(scores)} models; {others} beaten."
    count = f"{len(best)} of {len(scores)} models"
    return f"{count} may be the best: {told}; {others} beaten."


def outlying_in_headline(groups):
    """Groups that are unlike their peers, as sure as that is; less probable ones are not said."""
    has_peers = groups["model"].duplicated().any()  # another group of a model
    outlying = groups[groups["outlier_probability"] > _PROBABLE]
    if outlying.empty:
        is_estimated = groups["outlier_probability"].notna().any()
        if is_estimated and has_peers and outlying_groups(groups).empty:
            yield "No group is an outlier."
        return
    outlying = outlying.sort_values("outlier_probability", ascending=False, kind="stable")
    sure = outlying["outlier_probability"] >= _SURE
    for rows, word in ((outlying[sure], ""), (outlying[~sure], "probably ")):
        names = [
            " on ".join(str(part) for part in (row.model, row.topic) if part is not None)
            for row in rows.itertuples()
        ]
        if names:
            verb = f"is {word}an outlier" if len(names) == 1 else f"are {word}outliers"
            yield f"{listed(names)} {verb}: look at the items."


def _settled(findings, best):
    """How many more items would tell the first of the best from the others."""
    pairs = findings.pairs
    if len(best) > 1:
        # Of each pair with the first of the best, the model that is not it.
        others = pairs["model_a"].where(pairs["model_b"] == best[0], pairs["model_b"])
        with_it = (pairs[["model_a", "model_b"]] == best[0]).any(axis=1) & others.isin(best)
        needed = pairs["more_items"].set_axis(others)[with_it.to_numpy()].dropna()
        if len(needed):
            yield _needed(best[0], needed)
    apart = int(pairs["value"].isna().sum())
    if apart:
        yield f"{apart} of {len(pairs)} pairs cannot be compared: they share no items."
    tied = int((pairs["verdict"] == "tied").sum())
    if len(pairs) > 1:
        yield f"{tied} of {len(pairs)} pairs of models are tied."
    elif tied:
        yield "The two models are tied."


def _needed(leader, needed):
    within = needed[needed < _OUT_OF_REACH]
    if within.empty:
        return f"No number of items that is within reach would tell {leader} from the others."
    easiest, hardest = within.idxmin(), within.idxmax()
    told = f"About {within.min():,.0f} more items would tell {leader} from {easiest}"
    if hardest != easiest:
        told += f", {within.max():,.0f} from {hardest}"
    if len(within) < len(needed):
        told += "; for the others no number within reach would do"
    return f"{told}, if the true differences are those observed."
