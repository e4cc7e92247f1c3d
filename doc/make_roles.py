"""Write ``doc/roles.inc``, the table of usual column names."""

from pathlib import Path

from skbench.items.roles import (
    FAMILIES,
    HUMAN_WORDS,
    JUDGE_WORDS,
    METRICS,
    NAMES,
    WORDS_OF_FAMILIES,
)

OUT = Path(__file__).with_name("roles.inc")


def text():
    """Return the table and the names of metrics and families as reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 15 85", ""]
    for role, names in {"role": ["names, in order of preference"], **NAMES}.items():
        shown = ", ".join(names if role == "role" else (f"``{name}``" for name in names))
        lines += [f"   * - {role}", f"     - {shown}"]
    for role, words in {"human label": HUMAN_WORDS, "judge": JUDGE_WORDS}.items():
        shown = ", ".join(f"``{word}``" for word in words)
        also = ", or with a model before a verdict, as in ``gpt4_score``" * (role == "judge")
        lines += [f"   * - {role}", f"     - a name with one of the words {shown}{also}"]
    metrics, families, words = (
        ", ".join(f"``{name}``" for name in sorted(names))
        for names in (METRICS, FAMILIES, WORDS_OF_FAMILIES)
    )
    lines += ["", "If the table has exactly one column of a metric, this column is the score."]
    lines += [f"Metrics: {metrics}."]
    lines += ["", f"Families of models: {families}."]
    lines += ["", f"Families only if a version follows, as in ``Yi-6B``: {words}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    OUT.write_text(text())
