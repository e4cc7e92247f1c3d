"""The range of scores, where an evaluation program fixes it by their definition."""

import numpy as np

from skbench._checks import check_within, names_of, plain
from skbench.items.roles import normal

_SHARES = (0.0, 1.0)
_PERCENT = (0.0, 100.0)
_RANGES = {
    "lm-eval": {
        **dict.fromkeys(("acc", "acc_norm", "acc_bytes", "exact_match", "em", "f1"), _SHARES),
        # Of TruthfulQA: sacrebleu's scores, and those of rouge times 100.
        **dict.fromkeys(("bleu_max", "rouge1_max", "rouge2_max", "rougeL_max"), _PERCENT),
    },
    "inspect": dict.fromkeys(("match", "includes", "pattern", "answer", "choice", "f1"), _SHARES),
    "helm": dict.fromkeys(
        (
            "exact_match quasi_exact_match prefix_exact_match quasi_prefix_exact_match f1_score "
            "rouge_1 rouge_2 rouge_l bleu_1 bleu_4"
        ).split(),
        _SHARES,
    ),
    "promptfoo": {"success": _SHARES},
}
_TOPS_OF_SCALES = (3, 4, 5, 6, 7, 10)
# Names that say what a column of a table is, whoever wrote it.
_SHARES_OF_TABLES = (
    "correct is_correct accuracy acc acc_norm exact_match em pass passed pass1 pass_1 f1".split()
)


def known_range(formats, score, largest=1.0):
    """Least and greatest score by the names of formats and score, None where not fixed."""
    names = names_of(score)
    if formats == ["table"] and all(normal(name) in _SHARES_OF_TABLES for name in names):
        # People write shares of right answers in percent too; programs do not.
        return _PERCENT if largest > 1 else _SHARES
    found = {_RANGES.get(kind, {}).get(name) for kind in formats for name in names}
    return found.pop() if len(found) == 1 else None


def bounds_of(*columns, given=None):
    """Least and greatest score there can be: as given, or by a scale that scores show; or None.

    Infinite ones that are given say that there are none.
    Scores of 0 and 1 alone, or all between them, lie from 0 to 1. Whole numbers, of which two or
    more are seen, are labels of a scale from 0 or 1 to the next usual top.
    """
    if given is not None:
        if np.all(np.isinf(given)):
            return None
        for scores in columns:
            check_within("scores lie", scores, given)
        return tuple(map(float, given))
    scores = np.concatenate([np.asarray(c, dtype=float).ravel() for c in columns])
    scores = scores[np.isfinite(scores)]
    if not scores.size or scores.min() < 0:
        return None
    least, most = scores.min(), scores.max()
    if most <= 1:
        return _SHARES
    tops = [top for top in _TOPS_OF_SCALES if top >= most]
    if least == most or not tops or np.any(scores % 1):  # a scale needs two labels
        return None
    return min(least, 1.0), float(tops[0])


def scale_in_words(bounds):
    """That scores look like labels of a scale, as a sentence; None for those from 0 to 1."""
    if bounds is None or bounds == _SHARES:
        return None
    return (
        f"Scores are whole numbers and taken for a scale from {bounds[0]:g} to {bounds[1]:g}: "
        "give the bounds if it is another."
    )


def different_units(tops):
    """Whether some largest scores, by name, look like shares and others like percents, in words."""
    least = min((name for name, top in tops.items() if top > 0), key=tops.get, default=None)
    most = max(tops, key=tops.get)
    if least is None or not tops[least] <= 1 < 10 < tops[most]:
        return None
    return (
        f"Scores of {str(plain(least))!r} reach {tops[least]:g}, those of {str(plain(most))!r} "
        f"{tops[most]:g}: are they in the same unit? They are taken as they are."
    )
