"""The range of scores: fixed by a metric's definition, or inferred from the scores."""

import numpy as np

from skbench._checks import check_within, names_of, plain
from skbench.items.roles import normal

_SHARES = (0.0, 1.0)
_PERCENT = (0.0, 100.0)
_RANGES = {
    "lm-eval": {
        **dict.fromkeys(("acc", "acc_norm", "acc_bytes", "exact_match", "em", "f1"), _SHARES),
        # TruthfulQA: scores of sacrebleu, and those of rouge times 100.
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
# Column names of tables whose scores are always shares.
_SHARES_OF_TABLES = (
    "correct is_correct accuracy acc acc_norm exact_match em pass passed pass1 pass_1 f1".split()
)


def known_range(formats, score, largest=1.0):
    """Return the lowest and highest score by the names of format and score, or None."""
    names = names_of(score)
    if formats == ["table"] and all(normal(name) in _SHARES_OF_TABLES for name in names):
        # Tables written by hand may have percentages.
        return _PERCENT if largest > 1 else _SHARES
    found = {_RANGES.get(kind, {}).get(name) for kind in formats for name in names}
    return found.pop() if len(found) == 1 else None


def bounds_of(*columns, given=None):
    """Return the lowest and highest possible score, or None if unknown.

    `given` bounds are returned, or None if they are infinite. Otherwise, scores from 0 to 1 have
    bounds 0 and 1. Different whole numbers from 0 to 10 are assumed to be ratings. The lower bound
    of ratings is 1, or 0 if a score is 0. Their upper bound is the smallest of `_TOPS_OF_SCALES`
    that is not below the highest score.
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
    if least == most or not tops or np.any(scores % 1):  # a scale needs two different scores
        return None
    return min(least, 1.0), float(tops[0])


def scale_in_words(bounds):
    """Return a sentence on an inferred rating scale, None for scores from 0 to 1."""
    if bounds is None or bounds == _SHARES:
        return None
    return (
        f"The scores are whole numbers, so a rating scale from {bounds[0]:g} to {bounds[1]:g} is "
        "assumed. If the scale is different, pass its bounds."
    )


def different_units(tops):
    """Return a question if some maxima, by name, look like shares and others like percentages."""
    least = min((name for name, top in tops.items() if top > 0), key=tops.get, default=None)
    most = max(tops, key=tops.get)
    if least is None or not tops[least] <= 1 < 10 < tops[most]:
        return None
    return (
        f"Scores of {str(plain(least))!r} reach {tops[least]:g}, but those of "
        f"{str(plain(most))!r} reach {tops[most]:g}. Check that all have the same unit. They are "
        "not converted."
    )
