"""Fogliato, Patil, Akpinar and Monfort (2024): MMLU-Pro, BIG-Bench-Hard, COMPAS, student data.

Each repetition draws few items of every topic without replacement, the same items for all
models; the truth is the mean over all items (section 4.2, C.1).
"""

import runpy
import warnings

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from xgboost import XGBRegressor

from reproduced import ROOT, Row, Table, data_folder, figure
from skbench import (
    CoverageDisplay,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    RiskDisplay,
    SamplingDisplay,
    StructuredRegression,
    SyntheticRegression,
)
from skbench.assessment import Candidate, summarize_studies
from skbench.groups._group_lasso import largest_penalty, lasso_path, shrunk_to_zero
from skbench.groups._regressors import precision_weights

DESIGNS = (10, 20, 50, "proportional")
REGRESSORS = {"xgboost": None, "ridge": Ridge()}  # None is XGBoost, tuned
DT, SR, EB, OURS = "direct", "synthetic regression", "EB, paper's settings", "EB, default"
LASSO = "structured regression"
_SHARES = np.geomspace(1, 1e-3, 12)


def tuned_trees(n_trees, depths):
    """XGBoost, its own settings but for two that 2-fold cross-validation chooses."""
    return GridSearchCV(
        XGBRegressor(n_jobs=1),
        {"n_estimators": n_trees, "max_depth": depths},
        cv=KFold(2, shuffle=True, random_state=0),
        scoring="neg_mean_squared_error",
    )


def as_published(regressor=None, task="topic"):
    """The paper's settings, with its own trees unless another regressor is given."""
    published = EmpiricalBayes.as_published(task, random_state=None)
    if regressor is not None:
        published.set_params(regressor=regressor)
    return Candidate(published, variance="plug-in")


class PenaltyByItems(StructuredRegression):
    """The penalty of least error on held-out items of every group."""

    def _fit(self, X, groups):
        self.alphas = [_SHARES[int(np.argmin(self._on_items(X)))]]
        super()._fit(X, groups)

    def _on_items(self, X):
        """Errors against the half of every group's items that were not fitted, twice."""
        rng = np.random.default_rng(0)
        n = self.n_.astype(int)
        k, half = np.rint(self.z_ * n).astype(int), n // 2
        errors = np.zeros(len(_SHARES))
        for _ in range(2):
            first = rng.hypergeometric(k, n - k, half)
            p = (first + 1) / (half + 2)
            z, other = first / half, (k - first) / (n - half)
            for i, (predicted, threshold) in enumerate(_path(X, z, p * (1 - p) / half, X)):
                estimate = predicted + shrunk_to_zero(z - predicted, threshold)
                errors[i] += np.sum((estimate - other) ** 2)
        return errors


def _path(X, z, sigma2, X_new):
    """Predictions of new groups, and thresholds of the fitted ones, at every penalty."""
    design = StructuredRegression([1.0]).fit(X, z, sigma2).regressor_[:-1]
    fitted, new, weight = design.transform(X), design.transform(X_new), precision_weights(sigma2)
    penalties = largest_penalty(fitted, z, weight) * _SHARES
    for penalty, (intercept, coef) in lasso_path(fitted, z, weight, penalties):
        yield intercept + new @ coef, penalty / weight


def estimators(regressor, published, task):
    """What is compared; `published` is the regressor inside the paper's empirical Bayes."""
    return {
        DT: DirectEstimator(),
        SR: SyntheticRegression(regressor),
        EB: as_published(published, task),
        OURS: EmpiricalBayes(regressor),
        LASSO: StructuredRegression(),
        "James-Stein": JamesStein(),
        "Fay-Herriot": FayHerriot(),
    }


def mmlu_pro():
    """Ten models on 46 subjects; features are mean embeddings of the drawn questions."""
    wide = pd.read_csv(data_folder() / "mmlu_pro_dev.csv.gz")
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :].tolist()
    embedding = [name for name in wide.columns if name.startswith("lsa")]
    others = wide.columns.difference(models).tolist()
    return {
        "items": wide.melt(others, models, "model", "score"),
        "by": ["model", "src"],
        "item": "question_id",
        "features": [*embedding, "question_chars", "n_options"],
    }


def big_bench_hard():
    """One model prompted in two ways, as two models, on 27 tasks; no features."""
    items = pd.read_csv(data_folder() / "bbh_codex.csv.gz")
    return {
        "items": items.rename(columns={"mode": "model"}),
        "by": ["model", "task"],
        "score": "correct",
    }


DATA = {"MMLU-Pro": mmlu_pro, "BIG-Bench-Hard": big_bench_hard}


def add_arguments(parser):
    """Options of ``reproduce.py f24``."""
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--regressor", choices=REGRESSORS, default="xgboost")
    parser.add_argument(
        "--trees", type=int, nargs="+", help="grid of the published EB; the paper prints none"
    )
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--folder", help="keeps finished repetitions; one per setting")
    parser.add_argument("--pictures", help="folder for figures 2, 3, 4 and 6")
    parser.add_argument("--penalties", action="store_true", help="only: how to choose lambda")
    parser.add_argument("--skip-people", action="store_true", help="without figure 7")


def tables(arguments):
    """All tables and figures of the paper."""
    if arguments.penalties:
        return [_penalties(arguments)]
    regressor = REGRESSORS[arguments.regressor]
    published = regressor  # None: trees tuned as published
    if arguments.trees:
        published = tuned_trees(arguments.trees, arguments.depths)
    studies = {
        f"{name}, {design}": _studied(
            name, design, estimators(regressor, published, data()["by"][1]), arguments
        )
        for name, data in DATA.items()
        for design in DESIGNS
    }
    summary = summarize_studies(studies)
    if arguments.pictures:
        _save_pictures(studies, summary, ROOT / arguments.pictures)
    people = [] if arguments.skip_people else [_people()]
    return [
        _table_1(studies),
        _table_2(summary),
        _table_3(summary),
        _figure_2(summary, studies),
        _figure_3(studies),
        _figure_4(summary),
        _figure_6(studies),
        *people,
        _not_had(),
    ]


def _studied(name, design, on_trial, arguments):
    folder = arguments.folder and ROOT / arguments.folder / f"{name}-{design}"
    study = RepeatedSamplingStudy(on_trial, design, arguments.repetitions, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # topics that are too small; they are kept in the study
        return study.run(**DATA[name](), memory=folder or None)


def _ratio(summary, study, estimator):
    row = summary.loc[(study, estimator)]
    return figure(row["mse_ratio"], 2, row["standard_error"])


def _over_data(summary, design, estimator, how):
    values = [summary.loc[(f"{name}, {design}", estimator), "mse_ratio"] for name in DATA]
    return how(values)


def _table_1(studies):
    rows = []
    study = studies["BIG-Bench-Hard, proportional"]
    results = study.results_.assign(
        error=lambda table: (table["estimate"] - table["truth"]) ** 2
    ).groupby(["estimator", "repetition"])["error"]
    means = results.mean().unstack("repetition") * 1e3
    for name, paper in ((DT, "1.0"), (SR, "19.5"), (EB, "1.6")):
        value, error = means.loc[name].mean(), means.loc[name].sem()
        rows.append(
            Row(
                f"BIG-bench, exact match: {name}",
                paper,
                figure(value, 1, error),
                "BIG-Bench-Hard stands in: 27 tasks, 10 items or little more of each, one model",
            )
        )
    for name in ("SQuAD 2.0, F1", "TriviaQA, exact match"):
        rows.append(Row(name, "three rows", "-", "answers of the four models are not public"))
    return Table("Table 1: mean squared error x 1000", rows)


def _table_2(summary):
    paper = {10: (".90", ".81"), 20: ("1.03", ".84"), 50: ("1.52", ".86")}
    why = "two data sets here, far apart (figure 2); some ten in the paper"
    return Table(
        "Table 2: error relative to direct, equal sizes, median over data sets",
        [
            Row(
                f"{n} items, {'SR' if name == SR else 'EB'}",
                paper[n][i],
                figure(_over_data(summary, n, name, np.median)),
                why,
            )
            for n in paper
            for i, name in enumerate((SR, EB))
        ],
    )


def _table_3(summary):
    rows = []
    paper = {"proportional": (".62 (.14)", ".68 (.34)"), 20: (".64 (.15)", ".73 (.47)")}
    for design, printed in paper.items():
        for name, text in zip((EB, LASSO), printed, strict=True):
            for data in DATA:
                rows.append(
                    Row(
                        f"{design}, {name}: {data}",
                        text,
                        _ratio(summary, f"{data}, {design}", name),
                        "one data set, standard error in brackets; paper: mean and sd of its sets",
                    )
                )
    return Table("Table 3: error relative to direct", rows)


SHORT = {
    SR: "SR",
    EB: "EB",
    OURS: "default",
    LASSO: "lasso",
    "James-Stein": "JS",
    "Fay-Herriot": "FH",
}


def _joined(names, text):
    return "; ".join(f"{SHORT.get(name, name)} {text(name)}" for name in names)


def _figure_2(summary, studies):
    rows = []
    for study, fitted in studies.items():
        here = _joined(SHORT, lambda name, study=study: _ratio(summary, study, name))
        why = f"{fitted.n_repeats} repetitions, {len(fitted.truth_)} groups"
        rows.append(Row(study, "EB lowest of three", here, why))
    return Table("Figure 2: error relative to direct (standard error)", rows)


def _figure_3(studies):
    rows = []
    for data in DATA:
        by_size = studies[f"{data}, proportional"].summary(by="n")["mse_ratio"]
        for size in by_size.index.unique("n"):
            few = str(size).startswith("up to")
            paper = "SR below DT, EB below both" if few else "SR above DT, EB near DT"
            here = _joined(
                (SR, EB, OURS, LASSO),
                lambda name, size=size, by_size=by_size: figure(by_size.loc[size, name]),
            )
            rows.append(Row(f"{data}, {size}".replace(" items", "") + " items", paper, here))
    return Table("Figure 3: error relative to direct by size of group, proportional design", rows)


def _figure_4(summary):
    rows = []
    for study in summary.index.get_level_values("study").unique():
        if study in ("mean", "median"):
            continue

        def text(name, study=study):
            row = summary.loc[(study, name)]
            return f"{figure(row['coverage'])} at {figure(row['width_ratio'])}"

        rows.append(
            Row(
                study,
                "DT .95 at 1; EB .90 or more at .8",
                _joined((DT, EB, OURS, LASSO), text),
                "EB: plug-in variance is 0 at 0 and 1, random splits hide noise that models share",
            )
        )
    return Table("Figure 4: coverage of 95% intervals, width relative to direct", rows)


def _figure_6(studies):
    results = studies["MMLU-Pro, 10"].results_
    rows = []
    for name in (DT, SR, OURS):
        groups = results[results["estimator"] == name].groupby(["model", "src"])
        sd = groups["estimate"].std().mean()
        bias = (groups["estimate"].mean() - groups["truth"].mean()).abs().mean()
        here = f"sd {figure(sd, 3)}, bias {figure(bias, 3)}"
        rows.append(
            Row(f"{name}, mean over groups", "picture", here, "MMLU-Pro, ten items, for captions")
        )
    return Table("Figure 6: estimates of one group over samples", rows)


def _people():
    """Figure 7, by the example that trains a classifier on half of the people."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import matplotlib

        matplotlib.use("Agg")
        found = runpy.run_path(str(ROOT / "examples" / "plot_study_tabular.py"))["table"]
    rows = []
    for study in found.index.get_level_values("study").unique():
        for name in (SR, "empirical Bayes"):
            row = found.loc[(study, name)]
            paper = "SR below EB below 1" if "COMPAS" in study or "student" in study else ""
            here = figure(row["mse_ratio"], 2, row["standard_error"])
            rows.append(Row(f"{study}: {name}", paper, here, "Ridge inside, 20 repetitions"))
    rows.append(Row("ACS, student Portuguese", "dots", "-", "not among the data named above"))
    return Table("Figure 7: tables of people, error relative to direct", rows)


def _not_had():
    return Table(
        "Not to be had",
        [
            Row("Figure 1 (HellaSwag, Gemma)", "picture", "-", "answers are not public; figure 6"),
            Row(
                "Figure 5 (CLIP)", "dots", "-", "no predictions are public; digits-C in the studies"
            ),
            Row("C.3 (captions)", "-70%, -80%", "-", "CLAIR scores are not public"),
            Row(
                "4.3, features left out",
                "model, confidence",
                "-",
                "no confidences in public results; leave_out_covariates does it",
            ),
        ],
    )


def _penalties(arguments):
    """Structured regression with its penalty chosen in three ways."""
    on_trial = {
        DT: DirectEstimator(),
        "least estimated risk (default)": StructuredRegression(),
        "cross-validation over groups (as published)": StructuredRegression.as_published(),
        "splitting the items of each group": PenaltyByItems(),
    }
    rows = []
    for data in DATA:
        for design in (20, "proportional"):  # of the paper's table 3
            # Thousands of small lassos: checks of what is known to be right take half the time.
            with config_context(assume_finite=True, skip_parameter_validation=True):
                summary = _studied(data, design, on_trial, arguments).summary()
            for name in list(on_trial)[1:]:
                row = summary.loc[name]
                rows.append(
                    Row(
                        f"{data}, {design}: {name}",
                        {"proportional": ".68", 20: ".73"}.get(design, ""),
                        figure(row["mse_ratio"], 2, row["standard_error"]),
                        f"{arguments.repetitions} repetitions",
                    )
                )
    return Table("Structured regression by how lambda is chosen, error relative to direct", rows)


def _save_pictures(studies, summary, folder):
    folder.mkdir(parents=True, exist_ok=True)
    by_size = pd.concat(
        study.summary(by="n").rename(
            lambda size, name=name: f"{name.split(',')[0]}, {size}", level="n"
        )
        for name, study in studies.items()
        if name.endswith("proportional")
    )
    first = next(iter(studies.values()))
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
