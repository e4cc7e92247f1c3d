"""Item rows and what they are: the roles of columns, checks of rows, tables of scores.

Every room that takes rows of items asks here, so that a missing score, an answer that is there
twice or a column without a name means the same to all of them.
"""

from skbench.items.ranges import bounds_of, known_range, scale_in_words, unlike_units
from skbench.items.roles import find_roles, judge_columns, labels_alike
from skbench.items.rows import (
    as_frame,
    checked_scores,
    collected,
    group_labels,
    in_memory,
    opened,
    refuse_unhashable,
)
from skbench.items.tables import ScoreTable, score_table
from skbench.items.totals import check_totals

__all__ = [
    "ScoreTable",
    "as_frame",
    "bounds_of",
    "check_totals",
    "checked_scores",
    "collected",
    "find_roles",
    "group_labels",
    "in_memory",
    "judge_columns",
    "known_range",
    "labels_alike",
    "opened",
    "refuse_unhashable",
    "scale_in_words",
    "score_table",
    "unlike_units",
]
