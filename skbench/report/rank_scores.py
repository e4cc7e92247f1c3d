"""`skbench leaderboard` for scores of whole data sets: mean rank scores and rank sets."""

from skbench._checks import require_columns
from skbench.readers.loading import load_table
from skbench.report import headline, tables
from skbench.report.formats import show_estimates
from skbench.report.table import Column, Table
from skbench.report.terminal import note
from skbench.tasks import MeanRankScore


def published_rows(file, model, score):
    """Rows of a published leaderboard of means: model, dataset, task, language and score."""
    names = {model or "model": "model", score or "mean": "score"}
    labels = [model or "model", "dataset", "task", "language"]
    table, notes = load_table(file, lambda columns: [name for name in labels if name in columns])
    for text in notes:
        note(text)
    require_columns(table.columns, [*names, "dataset"], "FILE")
    return table.rename(columns=names)


def show_rank_scores(form, rows, half_width, n_runs, confidence_level):
    """Print a ranking of the models by scores, or by means of runs with half-widths."""
    if "task" not in rows:
        note("no task column: every data set is a task of its own")
        rows = rows.assign(task=rows["dataset"])
    if "language" not in rows:
        note("no language column: all data sets have one language")
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
    best, without = known["may_be_best"], known["not_on_all_data_sets"]
    n_pairs, n_distinguished = known["n_pairs"], known["n_pairs_distinguished"]
    scores = {row.model: f"{row.value:.2f}" for row in frame.itertuples()}
    conclusion = [headline.best_in_words(best, scores)] if len(frame) > 1 else []
    if n_pairs:
        share = f"{n_distinguished} of {n_pairs} pairs of models ({n_distinguished / n_pairs:.0%})"
        conclusion.append(f"{share} differ significantly.")
    level = f"{100 * estimate.confidence_level:g}%"
    notes = [
        f"{len(frame)} models on {len(places)} data sets; tasks: {places['task'].nunique()}; "
        f"languages: {places['language'].nunique()}.",
        "Mean rank score: 1 is the best possible value, and lower is better. It has no interval.",
        f'Column "set": the possible ranks of each model (simultaneous {level} confidence).',
    ]
    if without:
        notes.append(
            f"{len(without)} models are not ranked, because they lack a data set, such as "
            f"{without[0]}."
        )
    promise = tables.method_and_promise(estimate)
    return Table(columns, promise=promise, notes=notes, conclusion=conclusion)
