"""The conclusion of a report and of a ranking, in a few sentences."""

from skbench._numbers import number, score_form
from skbench.report.tables import outlying_groups

_NAMED = 4  # names in a sentence
_MOST_NAMES = 12  # names in the list of models
_SURE, _PROBABLE = 0.9, 0.5  # probabilities of an "outlier" and of a "probable outlier"
_OUT_OF_REACH = 1e6  # items that no benchmark will add


def headline(findings):
    """The conclusion of a report, as a list of sentences."""
    several = len(findings.board) > 1
    return [
        *(f"Check first: {doubt.rstrip('.')}." for doubt in findings.doubts),
        *ranking_in_words(findings.board, findings.models),
        *outlying_in_headline(findings.groups),
        *(_items_and_pairs(findings) if several else []),
        *([] if findings.tradeoff is None else findings.tradeoff.sentences()[:1]),
    ]


def facts(findings, about):
    """Date, data, models and earlier models of a report, as pairs of a name and a text."""
    past, names = findings.worth, list(findings.models["model"])
    more = len(names) - _MOST_NAMES
    some = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return [
        ("Date", about["date"]),
        ("Data", about["read"]),
        ("Models", some),
        ("Earlier models", "none" if past is None else f"{past.n_models}"),
    ]


def listed(names):
    """Names joined by commas and "and"; of many names, the first ones.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    names = list(names)
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def ranking_in_words(board, models):
    """The best model, the models that it is significantly better than, and its rivals.

    `models` are `tables.model_rows` of the `Leaderboard`.
    """
    form, level = score_form(models["value"]), f"{100 * board.estimate.confidence_level:g}%"
    scores = {row.model: number(row.value, form) for row in models.itertuples()}
    first = models.iloc[0]
    leader, ends = first["model"], [number(first[end], form) for end in ("low", "high")]
    interval = f"{level} interval {ends[0]} to {ends[1]}"
    if len(models) == 1:
        return [f"{leader} has a mean score of {scores[leader]} ({interval})."]
    best = list(map(str, board.rank_sets.best()))
    rivals = [name for name in best if name != leader]
    equal = [name for name in rivals if scores[name] == scores[leader]]
    subject = "It"
    head = f"{leader} has the highest mean score, {scores[leader]} ({interval})."
    if equal:
        tied = listed([leader, *equal])
        head = f"{tied} have the highest mean score, {scores[leader]}, and may be the best."
        if len(equal) == len(models) - 1:
            return [head]
        subject, rivals = leader, [name for name in rivals if name not in equal]
    words = [head, *_against_others(board.comparison, leader, subject, list(scores), level)]
    if rivals:
        named = listed(f"{name} ({scores[name]})" for name in rivals)
        also = "also " if leader in best else ""
        than = "it" if len(rivals) == 1 else "them"
        why = f"because no model is significantly better than {than}"
        words.append(f"{named} may {also}be the best, {why}.")
    return words


def _against_others(comparison, leader, subject, names, level):
    """How many models the leader is significantly better than, and which are better than it."""
    verdicts = {}
    for (a, b, *_), verdict in zip(comparison.estimate.labels, comparison.verdict, strict=True):
        if str(a) == leader:
            verdicts[str(b)] = verdict
        elif str(b) == leader:
            verdicts[str(a)] = {"better": "worse", "worse": "better"}.get(verdict, verdict)
    n, n_better = len(verdicts), list(verdicts.values()).count("better")
    if n == 1:
        (other,) = verdicts
        word = {
            "better": f"{subject} is significantly better than {other} ({level} confidence).",
            "tied": f"The difference from {other} is not significant ({level} confidence).",
            "worse": f"But {other} is significantly better than {leader} on shared items.",
        }
        yield word.get(verdicts[other], f"Whether {leader} is better than {other} is unknown.")
        return
    among = f"(simultaneous {level} confidence)"
    if n_better == n:
        every = "both" if n == 2 else f"all {n}"
        yield f"{subject} is significantly better than {every} other models {among}."
    elif n_better:
        yield f"{subject} is significantly better than {n_better} of the {n} other models {among}."
    else:
        one = "either" if n == 2 else "any"
        yield f"{subject} is not significantly better than {one} of the {n} other models {among}."
    better = [name for name in names if verdicts.get(name) == "worse"]
    if better:
        verb = "is" if len(better) == 1 else "are"
        yield f"But {listed(better)} {verb} significantly better than {leader} on shared items."


def best_in_words(best, scores):
    """Which models may be the best, in a sentence; `scores` are texts by model, the best first."""
    if len(best) == 1:
        second = next((name for name in scores if name != best[0]), None)
        return (
            f"{best[0]} ({scores[best[0]]}) is the best of {len(scores)} models. "
            f"{second} ({scores[second]}) is second."
        )
    text = listed(f"{name} ({scores[name]})" for name in best)
    count = f"{len(best)} of {len(scores)} models may be the best"
    return f"{count}, because no model is significantly better than them: {text}."


def outlying_in_headline(groups):
    """Sentences on the groups that are probably outliers, the most probable first."""
    has_others = groups["model"].duplicated().any()  # another group of a model
    outlying = groups[groups["outlier_probability"] > _PROBABLE]
    if outlying.empty:
        is_estimated = groups["outlier_probability"].notna().any()
        if is_estimated and has_others and outlying_groups(groups).empty:
            yield "No group appears to be an outlier."
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
            items = "its items" if len(names) == 1 else "their items"
            yield f"{listed(names)} {verb}: check {items}."


def _items_and_pairs(findings):
    """The items needed to distinguish the models that may be best, and the significant pairs."""
    pairs, best = findings.pairs, [str(name) for name in findings.board.rank_sets.best()]
    if len(best) > 1:
        # Of each pair with the first of the best, the other model.
        others = pairs["model_a"].where(pairs["model_b"] == best[0], pairs["model_b"])
        with_it = (pairs[["model_a", "model_b"]] == best[0]).any(axis=1) & others.isin(best)
        needed = pairs["more_items"].set_axis(others)[with_it.to_numpy()].dropna()
        if len(needed):
            yield _needed(best[0], needed)
    apart = int(pairs["value"].isna().sum())
    if apart:
        yield f"{apart} of {len(pairs)} pairs cannot be compared, because they share no items."
    if len(pairs) > 1:
        clear = int(pairs["verdict"].isin(("better", "worse")).sum())
        yield f"{clear} of {len(pairs)} pairs of models differ significantly."


def _needed(leader, needed):
    """A sentence on the items that would distinguish the leader from its rivals."""
    within = needed[needed < _OUT_OF_REACH]
    if within.empty:
        return f"No realistic number of items would distinguish {leader} from its rivals."
    easiest, hardest = within.idxmin(), within.idxmax()
    text = f"About {within.min():,.0f} more items are needed to distinguish {leader} from {easiest}"
    if hardest != easiest:
        text += f" and about {within.max():,.0f} from {hardest}"
    text += " (80% power, if the observed difference is the true one)."
    if len(within) < len(needed):
        text += " No realistic number would distinguish it from the other rivals."
    return text
