"""Fogliato, Patil, Akpinar and Monfort (2024): MMLU-Pro, BIG-Bench-Hard, COMPAS, student data.

`f24_study` has the estimators, the designs and the data, `f24_appendix` figures 5 to 7. Data:
mmlu_pro_dev.csv.gz, bbh_codex.csv.gz, compas_two_years.csv.gz, student_mat.csv.gz.
"""

import numpy as np

from reproduced import (
    NOT_PRINTED,
    ROOT,
    Row,
    Table,
    figure,
    from_one,
    quoted,
)
from reproduced.f24_appendix import (
    balance,
    captions,
    clustered,
    images,
    not_had,
    people,
    save_pictures,
)
from reproduced.f24_study import (
    DATA,
    DESIGNS,
    DT,
    EB,
    EB_LASSO,
    IN_TABLE_3,
    LASSO,
    LASSO_BY_ITEMS,
    LASSO_PUBLISHED,
    LEFT_OUT,
    OURS,
    SR,
    each_model_alone,
    lasso_inside,
    left_out_by_split_items,
    study_of,
)
from skbench.assessment import summarize_studies
from skbench.stats.intervals import binomial

SHORT = {
    SR: "SR",
    EB: "EB",
    OURS: "default",
    LASSO: "lasso",
    "James-Stein": "JS",
    "Fay-Herriot": "FH",
}
QUARTERS = 4


def add_arguments(parser):
    """Add the options of ``reproduce.py f24``."""
    parser.add_argument("--repetitions", type=from_one, default=10)
    parser.add_argument("--jobs", type=from_one, default=2, help="repetitions at the same time")
    parser.add_argument("--folder", help="keeps finished repetitions")


def tables(arguments):
    """Yield every table and figure of the paper as soon as its studies are done."""
    studies = {
        f"{name}, {design}": study_of(name, design, arguments)
        for name in DATA
        for design in DESIGNS
    }
    summary = summarize_studies(studies)
    yield _design(studies, arguments)
    yield _table_1(studies["BIG-Bench-Hard, proportional"])
    yield _table_2(summary)
    yield _table_3(summary, arguments)
    yield _figure_2(summary, studies)
    yield _figure_3(studies)
    yield _figure_4(summary, studies)
    yield balance(arguments)
    yield captions(studies["MMLU-Pro, 10"])
    for name in DATA:
        yield _by_model(name, studies[f"{name}, proportional"], arguments)
    yield _left_out(summary, arguments)
    yield clustered(arguments)
    yield images(arguments)
    yield people(arguments)
    yield not_had()
    if arguments.doc:
        save_pictures(studies, summary, [DT, *SHORT], ROOT / "doc" / "user_guide" / "figures")


def _design(studies, arguments):
    groups = sorted(len(study.truth_) for study in studies.values())
    wilson, wald = (
        np.ptp(interval(5, 50)) / 2
        for interval in (binomial.wilson_interval, binomial.wald_interval)
    )
    return Table(
        "Sections 4.1, 4.2 and C.1.1: size of the study",
        [
            Row(
                "LLM-topic pairs",
                quoted(
                    "F24",
                    "Section 4.1",
                    "number of groups",
                    "least",
                    "most",
                    form="{} to more than {}",
                ),
                f"{groups[0]} to {groups[-1]}",
                "2 data sets in 4 designs without the smallest topics; section 4.1 names 14 data "
                "sets",
                difference="",
            ),
            Row(
                "repetitions",
                quoted("F24", "Section 4.2", "repetitions", "number"),
                f"{arguments.repetitions}",
                "parentheses contain standard errors over repetitions",
            ),
            Row(
                "half-width of DT's interval, accuracy 0.1, n = 50",
                quoted("F24", "Section C.1.1", "DT interval, n = 50", "half-width"),
                figure(wilson, 3),
                f"Wilson, as in section 3 of the paper; Wald gives {figure(wald, 3)}",
            ),
        ],
    )


def _cell(summary, study, estimator):
    row = summary.loc[(study, estimator)]
    return figure(row["mse_ratio"], 2, row["standard_error"])


def _table_1(study):
    results = study.results_.assign(
        error=lambda table: (table["estimate"] - table["truth"]) ** 2
    ).groupby(["estimator", "repetition"])["error"]
    means = results.mean().unstack("repetition") * 1e3
    big_bench = "BIG-bench (exact match)"
    rows = [
        Row(
            f"{big_bench}: {column}",
            quoted("F24", "Table 1", big_bench, column),
            figure(means.loc[name].mean(), 1, means.loc[name].sem()),
            "BIG-Bench-Hard instead: 27 tasks with 10 or slightly more items each, one model",
        )
        for name, column in ((DT, "DT"), (SR, "SR"), (EB, "EB"))
    ]
    for name, why in (
        (
            "SQuAD2.0 (F1 score)",
            "answers are not in the data folder. The scale cannot be 0 to 1, because means of "
            "ten scores have a variance of at most 0.25 / 10, or 25.0 on the scale of this table",
        ),
        ("Trivia QA (exact match)", "answers of the four models are not in the data folder"),
    ):
        printed = quoted("F24", "Table 1", name, "DT", "SR", "EB", form="DT {}, SR {}, EB {}")
        rows.append(Row(name, printed, "-", why))
    return Table("Table 1: mean squared error x 1000", rows)


def _table_2(summary):
    rows = []
    for n in (10, 20, 50):
        for name, column in ((SR, "MSE SR / DT"), (EB, "MSE EB / DT")):
            ratios = [summary.loc[(f"{data}, {n}", name), "mse_ratio"] for data in DATA]
            each = ", ".join(f"{_cell(summary, f'{data}, {n}', name)} on {data}" for data in DATA)
            rows.append(
                Row(
                    f"n = {n}, {column}",
                    quoted("F24", "Table 2", f"n = {n}", column),
                    figure(np.median(ratios)),
                    f"median of two data sets, {each}; the paper uses twelve",
                )
            )
    return Table("Table 2: error relative to direct, equal sizes, median over data sets", rows)


def _table_3(summary, arguments):
    rows = []
    inside = summarize_studies(
        {
            f"{name}, {design}": lasso_inside(name, design, arguments)
            for design in IN_TABLE_3
            for name in DATA
        }
    )
    places = {"proportional": "n = 10 in the smallest group, proportional", 20: "n = 20, equal"}
    for design, place in places.items():
        for name in (EB, OURS, EB_LASSO, LASSO_PUBLISHED, LASSO, LASSO_BY_ITEMS):
            column = "EB" if name in (EB, OURS, EB_LASSO) else "Str. Reg."
            printed = quoted("F24", "Table 3", place, column, f"{column} sd", form="{} ({})")
            rows += [
                Row(
                    f"{design}, {name}: {data}",
                    printed,
                    _cell(inside if name == EB_LASSO else summary, f"{data}, {design}", name),
                    WHY_TABLE_3[name],
                )
                for data in DATA
            ]
    return Table(
        "Table 3: error relative to direct (here one data set and its standard error; in the "
        "paper the mean and standard deviation over data sets)",
        rows,
    )


WHY_TABLE_3 = {
    EB: "one random split; models share items",
    OURS: "folds by topic, eight splits",
    EB_LASSO: "features standardized, penalty by cross-validation over groups. A.1 calls it about "
    "as good as structured regression; the regression of EB in Table 3 is not named",
    LASSO_PUBLISHED: "penalty by cross-validation over groups, so held-out groups have no "
    "intercept; the paper does not specify the folds",
    LASSO: "penalty with the smallest estimated risk",
    LASSO_BY_ITEMS: "penalty by splitting the items of each group",
}


def _joined(names, text):
    return "; ".join(f"{SHORT.get(name, name)} {text(name)}" for name in names)


def _figure_2(summary, studies):
    rows = []
    for study, fitted in studies.items():
        here = _joined(SHORT, lambda name, study=study: _cell(summary, study, name))
        rows.append(
            Row(
                study,
                NOT_PRINTED,
                here,
                f"figure without numbers; {len(fitted.truth_)} groups here",
            )
        )
    ahead = _joined(
        SHORT, lambda name: sum(summary.loc[(study, name), "mse_ratio"] < 1 for study in studies)
    )
    rows.append(
        Row(
            f"less error than DT, of {len(studies)} settings",
            NOT_PRINTED,
            ahead,
            "text: EB on all data sets, SR on most but not on BIG-bench",
        )
    )
    for name in DATA:
        mse = summary.loc[f"{name}, proportional"]["mse"]
        for which in (EB, OURS):
            lower = [f"{1 - mse[which] / mse[other]:.0%}" for other in (SR, DT)]
            rows.append(
                Row(
                    f"{which}, lower than SR and DT by: {name}, proportional",
                    quoted(
                        "F24", "Section 4.3", "MSE of EB lower on average", "than SR", "than DT"
                    ),
                    ", ".join(lower),
                    "one data set; the paper averages over its data sets",
                )
            )
    return Table(
        "Figure 2: error relative to direct. In the figure, EB has the lowest error of DT, SR "
        "and EB in most settings",
        rows,
    )


def _figure_3(studies):
    rows = []
    for data in DATA:
        by_size = studies[f"{data}, proportional"].summary(by="n")["mse_ratio"]
        for size in by_size.index.unique("n"):
            here = _joined(
                (SR, EB, OURS, LASSO),
                lambda name, size=size, by_size=by_size: figure(by_size.loc[size, name]),
            )
            rows.append(
                Row(
                    f"{data}, {size}".replace(" items", "") + " items",
                    NOT_PRINTED,
                    here,
                    "figure without numbers",
                )
            )
    return Table(
        "Figure 3: error relative to direct by size of group, proportional design. In the "
        "figure, SR is below DT up to 15 items and often above DT in larger groups; EB is below "
        "or near both",
        rows,
    )


def _figure_4(summary, studies):
    rows = []
    columns = "coverage DT", "coverage EB", "EB narrower by"
    form = "DT {}; EB mostly at least {}, narrower by {}"
    printed = quoted("F24", "Section 4.3", "intervals", *columns, form=form)
    *levels, narrower = (
        float(quoted("F24", "Section 4.3", "intervals", column).rstrip("%")) for column in columns
    )
    levels = dict(zip((DT, EB), levels, strict=True))
    for name, study in studies.items():
        at = summary.loc[name]
        covers = {who: f"{at.loc[who, 'coverage']:.0%}" for who in (DT, EB, OURS, LASSO)}
        widths = at["width_ratio"] - 1
        here = f"DT {covers[DT]}; EB {covers[EB]}, narrower by {-widths[EB]:.0%}"
        beyond = {who: 100 * at.loc[who, "coverage"] - level for who, level in levels.items()}
        short = "reached" if beyond[EB] >= 0 else f"{beyond[EB]:+.0f}"
        apart = f"DT {beyond[DT]:+.0f}; EB {short}, {-100 * widths[EB] - narrower:+.0f}"
        rows.append(Row(name, printed, here, _by_quarter(study, EB), apart))
        here = "; ".join(f"{who} {covers[who]}, width {widths[who]:+.0%}" for who in (OURS, LASSO))
        rows.append(Row(f"{name}: defaults", NOT_PRINTED, here, _by_quarter(study, OURS)))
    return Table("Figure 4: coverage of 95% intervals, and width relative to direct", rows)


def _by_quarter(study, estimator):
    """Return the smallest and largest coverage over quarters of the repetitions."""
    own = study.results_[study.results_["estimator"] == estimator]
    hit = (own["low"] <= own["truth"]) & (own["truth"] <= own["high"])
    shares = hit.groupby(own["repetition"] * QUARTERS // study.n_repeats).mean()
    none = (own["high"] == own["low"]).mean()
    return (
        f"{estimator}: {shares.min():.0%} to {shares.max():.0%} in quarters of the repetitions; "
        f"{none:.0%} of intervals have zero width"
    )


def _by_model(name, study, arguments):
    together, alone = study.summary(by="model"), each_model_alone(name, arguments)
    rows = []
    for model, own in alone.items():
        here = _joined((SR, EB), lambda which, model=model: _cell(together, model, which))
        row = own.summary().loc[EB]
        by_itself = figure(row["mse_ratio"], 2, row["standard_error"])
        rows.append(
            Row(model, NOT_PRINTED, f"{here}; EB alone {by_itself}", "figure without numbers")
        )
    ratios = [own.summary().loc[EB, "mse_ratio"] for own in alone.values()]
    means = [together.xs(which, level="estimator")["mse_ratio"].mean() for which in (SR, EB)]
    rows.append(
        Row(
            "mean over LLMs",
            NOT_PRINTED,
            f"SR {figure(means[0])}; EB {figure(means[1])}; EB alone {figure(np.mean(ratios))}",
            "according to the text, EB alone is only slightly worse",
        )
    )
    spread = _spread(study)
    rows.append(
        Row(
            "standard deviation over the topics of an LLM",
            NOT_PRINTED,
            f"truth {figure(spread['truth'])}; SR {figure(spread[SR])}; EB {figure(spread[EB])}",
            "text: SR hardly differs between the tasks of an LLM",
        )
    )
    return Table(
        f"Figure 2 and section 4.3 by LLM: {name}, proportional, error relative to direct ("
        "alone: fitted to the results of one LLM)",
        rows,
    )


def _spread(study):
    """Return the standard deviation of estimates and true values over the topics of a model."""
    results = study.results_
    keys = ["estimator", "repetition", "model"]
    spread = results.groupby(keys, observed=True)[["estimate", "truth"]].std()
    by = spread.groupby("estimator", observed=True).mean()
    return {"truth": by["truth"].iloc[0], **by["estimate"]}


def _left_out(summary, arguments):
    at, worth = summary.loc["MMLU-Pro, proportional"], left_out_by_split_items(arguments)
    rows = [Row("all features", NOT_PRINTED, _cell(summary, "MMLU-Pro, proportional", SR))]
    for name in LEFT_OUT["MMLU-Pro"]:
        without = f"{SR} without {name}"
        more = at.loc[without, "mse"] / at.loc[SR, "mse"] - 1
        here = f"{_cell(summary, 'MMLU-Pro, proportional', without)}, {more:+.0%}"
        if f"without {name}" in worth.index:
            here += f"; all items, split {worth[f'without {name}']:+.0%}"
        rows.append(Row(f"without {name}", NOT_PRINTED, here, SAID.get(name, "")))
    rows.append(
        Row(
            "without confidence scores",
            NOT_PRINTED,
            "-",
            "the data folder has no confidences of LLMs; image classifiers are below",
        )
    )
    return Table(
        "Section 4.3, SR without groups of features: MMLU-Pro, proportional, error relative to "
        "direct, and increase of the SR error",
        rows,
    )


SAID = {
    "models": "text: together with confidence scores the largest increase",
    "embedding": "text: no strong effect. Item splits: leave_out_covariates on all results",
    "subjects": "text: no strong effect; trees tuned without strata",
}
