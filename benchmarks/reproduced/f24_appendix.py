"""Figures 5 to 7 of `f24`, sections 4.1 and C.1, plots, and results without data."""

import contextlib
import os
import runpy

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from reproduced import NOT_PRINTED, ROOT, Row, Table, data_folder, figure, quoted
from reproduced.f24_study import (
    DATA,
    DT,
    EB,
    LASSO,
    OURS,
    SR,
    on_trial,
    studied,
    weights_of_direct,
    without_features,
    without_topics,
)
from skbench import (
    CoverageDisplay,
    CrossFitKFold,
    RiskDisplay,
    SamplingDisplay,
    load_digits_c,
)


def balance(arguments):
    """Return the mean weights of DT and SR in EB, announced in C.1 but not printed."""
    settings = [(data, n) for data in DATA for n in (10, 20, 50)]
    weights = Parallel(n_jobs=arguments.jobs)(
        delayed(weights_of_direct)(*setting, seed) for setting in settings for seed in range(2)
    )
    rows = [
        Row(
            f"{data}, n = {n}",
            NOT_PRINTED,
            "as published {}, default {}".format(*map(figure, means)),
            "two draws. Random splits hide the noise that models share, so A is too small"
            if data == "MMLU-Pro"
            else "two draws",
        )
        for (data, n), means in zip(
            settings, np.reshape(weights, (len(settings), 2, 2)).mean(axis=1), strict=True
        )
    ]
    return Table(
        "Section C.1: balance of DT and SR in EB, as the mean weight of DT over groups. The "
        "paper announces but does not print it. According to section 4.3, EB is near DT in large "
        "groups",
        rows,
    )


def clustered(arguments):
    """Reproduce section 4.1 for data sets without topics; k-means defines the topics."""
    study, clusters = without_topics(arguments)
    table = study.summary()
    ratios, errors = table["mse_ratio"], table["standard_error"]
    rows = [
        Row("LLM-topic pairs", NOT_PRINTED, f"{len(study.truth_)}", f"{clusters!r}"),
        *(
            Row(which, NOT_PRINTED, figure(ratios[which], 2, errors[which]))
            for which in (SR, EB, OURS, LASSO)
        ),
    ]
    return Table(
        "Section 4.1, data sets without topics (ANLI, ARC, MathQA, Swag): MMLU-Pro with topics "
        "from ``cluster_items``, proportional, error relative to direct. Text, on ANLI: SR has "
        "less error than DT, and EB mostly less than SR",
        rows,
    )


def captions(study):
    """Reproduce Figure 6 with language models."""
    rows = []
    for name in (DT, SR, EB, OURS):
        own = study.results_[study.results_["estimator"] == name]
        groups = own.groupby(["model", "src"])
        sd = groups["estimate"].std().mean()
        bias = (groups["estimate"].mean() - groups["truth"].mean()).abs().mean()
        here = f"sd {figure(sd, 3)}, bias {figure(bias, 3)}"
        rows.append(
            Row(
                f"{name}, mean over groups",
                NOT_PRINTED,
                here,
                "figure without numbers, of captions",
            )
        )
    return Table("Figure 6: estimates of one group over samples, here MMLU-Pro, ten items", rows)


def images(arguments):
    """Reproduce Figure 5 with other images; the classifiers report confidences."""
    without = {"confidence": ["confidence"], "models": ["model"]}
    data = {"items": load_digits_c().items, "features": ["confidence", "severity"]}
    estimators = on_trial("topic", None, {}) | without_features("topic", without)
    study = studied("digits-C", data, estimators, 20, arguments)
    table = study.summary()
    ratios, errors = table["mse_ratio"], table["standard_error"]
    drawn = quoted("F24", "Section C.2", "images", "items of each group")
    rows = [Row("images of each group", drawn, f"{study.n_items}")]
    rows += [
        Row(which, NOT_PRINTED, figure(ratios[which], 2, errors[which]), why)
        for which, why in (
            (SR, "C.2: better than DT on some data sets, far worse on others"),
            (EB, "C.2: similar to DT and always better than SR"),
            (OURS, "folds by topic"),
        )
    ]
    for name in without:
        which = f"{SR} without {name}"
        more = table.loc[which, "mse"] / table.loc[SR, "mse"] - 1
        here = f"{figure(ratios[which], 2, errors[which])}, {more:+.0%}"
        rows.append(Row(which, NOT_PRINTED, here, "text: the largest increase, for LLMs"))
    return Table(
        "Figure 5 (CLIP) and section 4.3: digits-C instead, five classifiers, 20 images per "
        "group, error relative to direct and increase of the SR error",
        rows,
    )


def people(arguments):
    """Reproduce Figure 7; the example trains a classifier on half of the people."""
    studies = _studies_of_people(arguments)
    rows, best, ahead, sizes = [], 0, dict.fromkeys((SR, EB, OURS), 0), {}
    for (name, score), study in studies.items():
        table = study.summary()
        sizes[name] = len(study.truth_)
        best += table.loc[EB, "mse"] <= min(table.loc[SR, "mse"], table.loc[DT, "mse"])
        ratios, errors = table["mse_ratio"], table["standard_error"]
        for which in ahead:
            ahead[which] += ratios[which] < 1
        here = "; ".join(
            f"{short} {figure(ratios[which], 2, errors[which])}"
            for which, short in ((SR, "SR"), (EB, "EB"), (OURS, "default"))
        )
        rows.append(Row(f"{name}, {score}", NOT_PRINTED, here, "figure without numbers"))
    printed = quoted(
        "F24", "Figure 7", "prediction tasks", "EB as precise or more", "of", form="{} of {}"
    )
    rows.append(
        Row(
            "EB at least as precise as DT and SR",
            printed,
            f"{best} of {len(studies)}",
            "2 tasks by 3 scores; the paper also has SR ahead on these two tasks",
        )
    )
    printed = quoted("F24", "Section C.4", "classifiers", "folds", "trained on")
    rows.append(Row("classifier: folds, share trained on", printed, "3, 50%"))
    rows.append(
        Row(
            f"less error than DT, of {len(studies)}",
            NOT_PRINTED,
            "SR {}; EB {}; default {}".format(*ahead.values()),
            "text: SR and EB on both tasks",
        )
    )
    for name, attributes in (("COMPAS", "race, sex and age"), ("student", "sex and age")):
        fewer = quoted("F24", "Figure 7", "COMPAS, Student Math", "fewer groups than")
        why = f"groups by {attributes}"
        rows.append(Row(f"{name}, groups: fewer than", fewer, f"{sizes[name]}", why, difference=""))
    rows.append(
        Row("five ACS tasks, student Portuguese", NOT_PRINTED, "-", "not in the data folder")
    )
    return Table(
        "Figure 7: tables of people, error relative to direct. In the figure, SR is below EB, "
        "and EB is below 1 on COMPAS and student math",
        rows,
    )


def _studies_of_people(arguments):
    """Return the studies by table and score."""
    os.environ["SKBENCH_DATA"] = str(data_folder())
    import matplotlib

    matplotlib.use("Agg")
    with contextlib.redirect_stdout(None):
        example = runpy.run_path(str(ROOT / "examples" / "plot_study_tabular.py"))
    studies = {}
    for name, file, share in (
        ("COMPAS", "compas_two_years", "proportional"),
        ("student", "student_mat", 0.4),
    ):
        table = example[name.lower()](data_folder() / f"{file}.csv.gz")
        items, by = example["scored_people"](*table)
        for score in ("accuracy", "brier", "cross_entropy"):
            data = {"items": items, "by": by, "score": score, "features": ["confidence"]}
            trial = f"{name.lower()}-{score}"
            studies[name, score] = studied(trial, data, _of_people(), share, arguments)
    return studies


def _of_people():
    """Return the estimators for one classifier and one task, tuned without strata."""
    estimators = on_trial("task", None, {})
    for name in (SR, EB):
        estimators[name].estimator.set_params(regressor__cv=CrossFitKFold(2, 1))
    return {name: estimators[name] for name in (DT, SR, EB, OURS)}


def not_had():
    """Return the rows without data in the data folder."""
    return Table(
        "Not in the data folder",
        [
            Row(
                "Figure 1 (HellaSwag, Gemma)",
                NOT_PRINTED,
                "-",
                "needs the answers of this model; Figure 6 above is similar",
            ),
            Row(
                "Figure 5 (CLIP)",
                NOT_PRINTED,
                "-",
                "needs the predictions; other images are above",
            ),
            Row(
                "C.3 (captions): MSE of SR and EB below DT's",
                quoted("F24", "Section C.3", "MSE lower than DT", "SR", "EB"),
                "-",
                "needs the CLAIR scores of the captions",
            ),
        ],
    )


def save_pictures(studies, summary, names, folder):
    """Draw Figures 2, 3, 4 and 6 for the given estimators."""
    folder.mkdir(parents=True, exist_ok=True)
    by_size = pd.concat(
        study.summary(by="n").rename(
            lambda size, name=name: f"{name.split(',')[0]}, {size}", level="n"
        )
        for name, study in studies.items()
        if name.endswith("proportional")
    )
    first = next(iter(studies.values()))
    summary, by_size = (
        table[table.index.isin(names, level="estimator")] for table in (summary, by_size)
    )
    pictures = {
        "risk": RiskDisplay.from_summary(summary).plot(),
        "risk_by_size": RiskDisplay.from_summary(by_size).plot(),
        "coverage": CoverageDisplay.from_summary(summary).plot(),
        "samples": SamplingDisplay.from_results(first.results_, estimators=[DT, SR, OURS]).plot(
            xlabel="accuracy"
        ),
    }
    for name, display in pictures.items():
        display.figure_.savefig(folder / f"{name}.png", dpi=90)
