"""Modules loaded on first use, so that `--help` does not import numpy and pandas."""

from skbench._lazy import later

card_of = later("skbench.report.card")
headline = later("skbench.report.headline")
judging = later("skbench.report.judging")
labeled_rows = later("skbench.report.labeled_rows")
metrics_by_group = later("skbench.report.metrics_by_group")
pasts = later("skbench.report.past")
plan_bank = later("skbench.report.plan_bank")
rank_scores = later("skbench.report.rank_scores")
reading = later("skbench.report.reading")
tables = later("skbench.report.tables")
understanding = later("skbench.report.understanding")
