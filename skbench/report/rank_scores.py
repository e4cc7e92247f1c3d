"""`skbench leaderboard` on scores of whole data sets: mean rank scores and their rank sets."""

from skbench._checks import require_columns
from skbench.report import tables
from skbench.report.formats import print_form
from skbench.report.markup import Cells
from skbench.report.terminal import DataError, print_line, print_prose, print_table, say


def refuse_options(options):
    """Refuse what speaks of items, which leaderboards of data sets do not have.

    Parameters
    ----------
    options : dict
        Option -> whether it was given.
    """
    given = next((name for name, value in options.items() if value), None)
    if given:
        raise DataError(
            f"{given} speaks of items or topics, and FILE scores of whole data sets, ranked by "
            "the mean rank score. Leave it out."
        )


def published_rows(file, model, score):
    """Rows of a leaderboard that prints mean and half-width.

    Parameters
    ----------
    file : str
        A table with the columns dataset and task, and maybe language.
    model, score : str or None
        Columns of the models and of the means; "model" and "mean" by default.

    Returns
    -------
    DataFrame
        With the columns model, dataset, task, language and score.
    """
    from skbench.readers.loading import load_table

    names = {model or "model": "model", score or "mean": "score"}
    labels = [model or "model", "dataset", "task", "language"]
    table, notes = load_table(file, lambda columns: [name for name in labels if name in columns])
    for note in notes:
        say(note)
    require_columns(table.columns, [*names, "dataset", "task"], "FILE")
    rows = table.rename(columns=names)
    if "language" not in rows:
        say("no language column: all data sets taken as of one language")
        rows["language"] = "all"
    return rows


def print_rank_scores(rows, half_width, n_runs, confidence_level, form, escape_formulas):
    """Rank the models of a leaderboard of data sets, and print it.

    Parameters
    ----------
    rows : DataFrame
        Columns model, dataset, task, language and score.
    half_width : str or None
        Column of half-widths, where scores are means.
    n_runs : int
        Raw scores behind each mean.
    confidence_level : float
        Of the rank sets.
    form : {"text", "json", "csv", "markdown", "latex"}
    escape_formulas : bool
        Whether to keep spreadsheets from running cells of CSV.
    """
    from skbench.tasks import MeanRankScore

    ranking = MeanRankScore()
    if half_width is None:
        ranking.fit(rows)
    else:
        require_columns(rows.columns, [half_width], "FILE")
        ranking.fit(rows, rows["score"], half_width=rows[half_width], n_runs=n_runs)
    sets = ranking.rank_sets(confidence_level)
    estimate = ranking.estimate(confidence_level)
    table = tables.with_text_labels(
        sets.rename(columns={"low": "rank_low", "high": "rank_high", "best": "may_be_best"})
    )
    table.insert(1, "rank", table["score"].rank(method="min").astype(int))
    n_models, n_pairs = len(sets), len(sets) * (len(sets) - 1) // 2
    undecided = int((sets["high"] - sets["low"]).sum()) // 2
    without = [str(name) for name in ranking.labels_.difference(sets.index, sort=False)]
    head = {
        "data_sets": len(ranking.datasets_),
        "pairs": n_pairs,
        "pairs_told_apart": n_pairs - undecided,
        "may_be_best": [str(name) for name in sets.index[sets["best"]]],
        "not_on_all_data_sets": without,
    }
    cells = _cells(table)
    if form != "text":
        print_form(form, table, estimate, head, "models", cells, escape_formulas)
        return
    places = ranking.datasets_
    print_line(
        f"{n_models} models on {len(places)} data sets, tasks: {places['task'].nunique()}, "
        f"languages: {places['language'].nunique()}: {estimate.method}"
    )
    print_line("score: 1 is the best possible, low is good; without an interval of its own")
    level = f"{100 * confidence_level:g} %"
    print_line(f"ranks: {level}, all models at once: every model's rank is in its set")
    print_table(tables.plain_table(*cells))
    best = head["may_be_best"]
    print_prose(
        f"The best: {best[0]}." if len(best) == 1 else f"{len(best)} models may be the best."
    )
    if n_pairs:
        print_prose(
            f"{n_pairs - undecided} of {n_pairs} pairs of models ({1 - undecided / n_pairs:.0%}) "
            "are told apart; the order of the others may be noise."
        )
    if without:
        print_prose(
            f"{len(without)} models lack a data set and have no rank, such as {without[0]}."
        )


def _cells(table):
    shown = table.assign(
        rank=table["rank"].astype(str),
        set=[tables.rank_range(row) for row in table.itertuples()],
        score=table["score"].map("{:.2f}".format),
        distance=table["distance"].map("{:.2f}".format),
    )
    rows = shown[["model", "rank", "set", "score", "distance"]].to_numpy().tolist()
    return Cells(["model", "rank", "set", "score", "without\ngate"], rows, 1)
