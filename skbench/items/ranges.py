"""The range of scores, where an evaluation program fixes it by their definition."""

from skbench._checks import plain
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
# Names that say what a column of a table is, whoever wrote it.
_SHARES_OF_TABLES = (
    "correct is_correct accuracy acc acc_norm exact_match em pass passed pass1 pass_1 f1".split()
)


def known_range(formats, score, largest=1.0):
    """Least and greatest score by the names of formats and score, None where not fixed."""
    names = [score] if isinstance(score, str) else score
    if formats == ["table"] and all(normal(name) in _SHARES_OF_TABLES for name in names):
        # People write shares of right answers in percent too; programs do not.
        return _PERCENT if largest > 1 else _SHARES
    found = {_RANGES.get(kind, {}).get(name) for kind in formats for name in names}
    return found.pop() if len(found) == 1 else None


def unlike_units(tops):
    """Whether some largest scores, by name, look like shares and others like percents, in words."""
    least = min((name for name, top in tops.items() if top > 0), key=tops.get, default=None)
    most = max(tops, key=tops.get)
    if least is None or not tops[least] <= 1 < 10 < tops[most]:
        return None
    return (
        f"Scores of {str(plain(least))!r} reach {tops[least]:g}, those of {str(plain(most))!r} "
        f"{tops[most]:g}: are they in the same unit? They are taken as they are."
    )
