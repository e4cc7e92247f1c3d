"""`skbench leaderboard` on scores of whole data sets: mean rank scores and their rank sets."""

from skbench._checks import require_columns
from skbench.readers.loading import load_table
from skbench.report import tables
from skbench.report.formats import show_estimates
from skbench.report.table import Column, Table
from skbench.report.terminal import note
from skbench.tasks import MeanRankScore


def published_rows(file, model, score):
    """Rows of a leaderboard that prints means: model, dataset, task, language and score."""
    names = {model or "model": "model", score or "mean": "score"}
    labels = [model or "model", "dataset", "task", "language"]
    table, notes = load_table(file, lambda columns: [name for name in labels if name in columns])
    for text in notes:
        note(text)
    require_columns(table.columns, [*names, "dataset"], "FILE")
    return table.rename(columns=names)


def show_rank_scores(form, rows, half_width, n_runs, confidence_level):
    """Rank the models by scores, or by means of so many runs with half-widths, and print it."""
    if "task" not in rows:
        note("no task column: every data set taken as a task of its own")
        rows = rows.assign(task=rows["dataset"])
    if "language" not in rows:
        note("no language column: all data sets taken as of one language")
        rows = rows.assign(language="all")
    ranking = MeanRankScore()
    if half_width is None:
        ranking.fit(rows)
    else:
        require_columns(rows.columns, [half_width], "FILE")
        ranking.fit(rows, rows["score"], half_width=rows[half_width], n_runs=n_runs or 10)
    sets = ranking.rank_sets(confidence_level)
    names = {"low": "rank_low", "high": "rank_high", "best": "may_be_best", "score": "value"}
    frame = tables.labeled_rows(sets.rename(columns=names).rename_axis("model"))
    frame.insert(1, "rank", frame["value"].rank(method="min").astype(int))
    n_pairs = len(sets) * (len(sets) - 1) // 2
    undecided = int((sets["high"] - sets["low"]).sum()) // 2
    known = {
        "n_data_sets": len(ranking.datasets_),
        "n_pairs": n_pairs,
        "n_pairs_distinguished": n_pairs - undecided,
        "may_be_best": [str(name) for name in sets.index[sets["best"]]],
        "not_on_all_data_sets": list(ranking.labels_.difference(sets.index, sort=False)),
    }
    estimate = ranking.estimate(confidence_level)
    table = _table(frame, ranking.datasets_, estimate, known)
    show_estimates(form, table, estimate, "models", frame, **known)


def _table(frame, places, estimate, known):
    columns = [
        Column("model", frame["model"]),
        Column("rank", frame["rank"], "d"),
        Column("set", [tables.rank_range(row) for row in frame.itertuples()], align="right"),
        Column("score", frame["value"], ".2f"),
        Column("without\ngate", frame["distance"], ".2f"),
    ]
    head = [
        f"{len(frame)} models on {len(places)} data sets, tasks: {places['task'].nunique()}, "
        f"languages: {places['language'].nunique()}: {estimate.method}",
        "score: 1 is the best possible, low is good; without an interval of its own",
        f"ranks: {100 * estimate.confidence_level:g}%, all models at once: every model's rank is "
        "in its set",
    ]
    best, without = known["may_be_best"], known["not_on_all_data_sets"]
    n_pairs, n_apart = known["n_pairs"], known["n_pairs_distinguished"]
    notes = [f"The best: {best[0]}." if len(best) == 1 else f"{len(best)} models may be the best."]
    if n_pairs:
        notes.append(
            f"{n_apart} of {n_pairs} pairs of models ({n_apart / n_pairs:.0%}) "
            "are told apart; the order of the others may be noise."
        )
    if without:
        notes.append(
            f"{len(without)} models lack a data set and have no rank, such as {without[0]}."
        )
    return Table(columns, head, tables.method_and_promise(estimate), notes)
