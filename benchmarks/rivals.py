"""Other packages on the same files: errors, coverage, verdicts and seconds.

    python benchmarks/rivals.py make FOLDER            # samples of digits-C, and their true values
    ENVIRONMENT/bin/python benchmarks/rivals.py STUDY NAME FOLDER
    python benchmarks/rivals.py table FOLDER

Each package runs in its own environment, with the package and pandas. STUDY is

topics: ten images for each of fifty topics, answered by five classifiers; the other images give the
    true values. Groups are models by topics; models are means over topics. A verdict on a pair of
    models is wrong if the true difference has the other sign. NAME is skbench,
    skbench_with_features (corruption and severity), numpyro, numpyro_with_features,
    numpyro_of_counts (without an effect of each image), inspect_ai, evalstats, truescore, evalint,
    posthocs_conover (on images), posthocs_nemenyi (on topics), rliable or autorank.
votes: votes of random pairs of models with known ratings, in Elo points. NAME is skbench or
    arena_rank, whose environment also needs scikit-learn.
metrics: metrics by sex and race for 200 people of COMPAS (compas_two_years.csv.gz in $SKBENCH_DATA
    or ../shared/data); all people give the true values. NAME is skbench, skbench_direct or
    fairlearn.
judge: the mean of 300 answers, 30 of them with human labels, with an autorater of accuracy 0.9 or
    at most 0.5; 400 files each for accuracies of 0.7, 0.95 and 0.99. NAME is skbench, truescore,
    glide
    (glide-py; Python 3.12) or ppi_python.

If a package returns no number for a file, for example with identical labels, the file counts as not
covered and enters no other column. Seconds are processor seconds of all threads: `import` in a new
process, `first` for the first file of a kind (including compilation), and `seconds` for each
further file. `band` is two standard errors of the coverage over files.
"""

import subprocess
import sys
import time
import warnings
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

N_FILES, N_IMAGES, N_TYPES = 20, 10, 10
N_JUDGED, N_ANSWERS, N_LABELED = 400, 300, 30
ACCURACIES, RIGHT = (0.7, 0.95, 0.99), (0.9, 0.5)
VOTES = (
    (20, 500, 40),
    (39, 2_000, 40),
    (39, 35_000, 20),
    (200, 1_000_000, 2),
)  # models, votes, files
MEASURES, N_PEOPLE, N_BOOT = ("accuracy", "fpr", "f1"), 200, 100
IMPORTS = {
    "skbench": "from skbench import BradleyTerry, MixedModel, group_metrics, leaderboard",
    "numpyro": "import numpyro, numpyro.infer",
    "inspect": "import inspect_ai.scorer",
    "evalstats": "import evalstats",
    "truescore": "import truescore",
    "evalint": "import evalint",
    "posthocs": "import scikit_posthocs",
    "rliable": "from rliable import library",
    "autorank": "import autorank",
    "arena": "import arena_rank.models.bradley_terry",
    "fairlearn": "import fairlearn.metrics",
}


def make(folder):
    from skbench import load_digits_c, sample_items

    folder.mkdir(parents=True, exist_ok=True)
    data = load_digits_c()
    items = data.items
    data.features.to_csv(folder / "features")
    for number in range(N_FILES):
        sample = sample_items(items, N_IMAGES, random_state=number)
        truth = items.drop(index=sample.index).groupby(["model", "topic"])["score"].mean()
        sample[["model", "topic", "item", "score"]].to_csv(folder / f"{number}.csv", index=False)
        truth.to_csv(folder / f"{number}.truth")


def separately(items, by, interval):
    """Return an interval for each group from its own scores."""
    found = {}
    for name, scores in items.groupby(by)["score"]:
        found[name] = [float(scores.mean()), *map(float, interval(scores.to_numpy()))]
    return found


def wide(items):
    return items.pivot(index=["topic", "item"], columns="model", values="score")


def by_signs(names, difference, clear):
    """Return the better model of every decided pair."""
    pairs = combinations(names, 2)
    return {
        pair: pair[0] if d > 0 else pair[1]
        for pair, d, is_clear in zip(pairs, difference, clear, strict=True)
        if is_clear
    }


def topics_skbench_with_features(items):
    features = pd.read_csv(Path(sys.argv[-1]) / "features", index_col=0)
    return topics_skbench(items, features)


def topics_skbench(items, features=None):
    from skbench import MixedModel, leaderboard, summarize_items

    g = summarize_items(items, by=["model", "topic"], features=features)
    e = MixedModel().fit(**g.fit_args).estimate()
    items = items.assign(item=items["topic"] + " " + items["item"].astype(str))
    board = leaderboard(items, topics="topic")  # the true values are for these topics
    groups, models = (
        {
            name: [float(x) for x in row]
            for name, *row in zip(e.labels, e.value, e.low, e.high, strict=True)
        }
        for e in (e, board.estimate)
    )
    pairs, verdicts = board.comparison.estimate, board.comparison.verdict
    decided = {
        tuple(pair): pair[0] if verdict == "better" else pair[1]
        for pair, verdict in zip(pairs.labels, verdicts, strict=True)
        if verdict in ("better", "worse")
    }
    return groups, models, decided


def topics_inspect_ai(items):
    from inspect_ai.scorer import SampleScore, Score, ci

    def interval(scores):
        output = ci()([SampleScore(score=Score(value=float(x))) for x in scores])
        return output["lower"], output["upper"]

    return (
        separately(items, ["model", "topic"], interval),
        separately(items, "model", interval),
        None,
    )


def topics_evalstats(items):
    import evalstats

    rng = np.random.default_rng(0)

    def interval(scores):
        output = evalstats.mean_ci(scores, rng=rng)
        return output.ci_low, output.ci_high

    table = wide(items)
    scores, names = table.to_numpy(dtype=float).T, list(table)
    output = evalstats.all_pairwise(scores, names, rng=rng)
    decided = {}
    for a, b in combinations(names, 2):
        pair = output.get(a, b)
        if pair.ci_low > 0 or pair.ci_high < 0:
            decided[a, b] = a if pair.ci_low > 0 else b
    return (
        separately(items, ["model", "topic"], interval),
        separately(items, "model", interval),
        decided,
    )


def topics_truescore(items):
    from truescore import holm, mcnemar, wilson_interval

    def interval(scores):
        output = wilson_interval(int(scores.sum()), len(scores))
        return output.low, output.high

    table = wide(items)
    output = [mcnemar(table[a].to_numpy(), table[b].to_numpy()) for a, b in combinations(table, 2)]
    difference = [table[a].mean() - table[b].mean() for a, b in combinations(table, 2)]
    clear = holm([x.p_value for x in output]) < 0.05
    decided = by_signs(table, difference, clear)
    return (
        separately(items, ["model", "topic"], interval),
        separately(items, "model", interval),
        decided,
    )


def topics_rliable(items):
    from rliable import library

    def matrix(part):
        return np.stack([x.to_numpy(float) for _, x in part.groupby("topic")["score"]], axis=1)

    scores = {name: matrix(part) for name, part in items.groupby("model")}
    np.random.seed(0)  # noqa: NPY002, rliable uses the global generator
    value, ends = library.get_interval_estimates(scores, lambda x: np.array([x.mean()]), reps=2000)
    models = {
        name: [float(value[name][0]), float(ends[name][0, 0]), float(ends[name][1, 0])]
        for name in scores
    }
    return None, models, None


def topics_autorank(items):
    from autorank import autorank

    means = items.pivot_table(index="topic", columns="model", values="score")
    result = autorank(means)
    table = result.rankdf["meanrank"]
    names = list(means)
    gap = [table[b] - table[a] for a, b in combinations(names, 2)]
    clear = np.abs(gap) > result.cd if result.pvalue < 0.05 else np.zeros(len(gap), dtype=bool)
    return None, None, by_signs(names, gap, clear)


@cache
def sampler(image, features):
    """Run NUTS with the defaults of numpyro; files of equal shape share the compiled code."""
    import numpyro
    import numpyro.distributions as dist
    from jax.nn import sigmoid
    from numpyro.infer import MCMC, NUTS

    nodes, weights = np.polynomial.hermite_e.hermegauss(15)

    def effects(name, *size):
        sd = numpyro.sample(f"sd of {name}", dist.HalfNormal(1.0))
        return sd * numpyro.sample(name, dist.Normal(0, 1).expand(size).to_event()), sd

    def model(score, corruption, severity):
        """Return scores of models by topics by images."""
        n_models, n_topics, n_images = score.shape
        logit = numpyro.sample("mean", dist.Normal(0, 1.5)) + effects("model", n_models, 1)[0]
        logit += effects("topic", n_topics)[0] + effects("model on topic", n_models, n_topics)[0]
        if features:
            logit += effects("corruption", N_TYPES)[0][corruption]
            logit += effects("model on corruption", n_models, N_TYPES)[0][:, corruption]
            logit += numpyro.sample("slope", dist.Normal(0, 1)) * severity
        own, sd = effects("image", n_topics, n_images) if image else (0.0, 0.0)
        mean = sigmoid(logit[..., None] + sd * nodes) @ (weights / weights.sum())
        numpyro.deterministic("accuracy", mean)
        numpyro.sample("score", dist.Bernoulli(logits=logit[..., None] + own).to_event(), obs=score)

    options = {"num_warmup": 1000, "num_samples": 1000, "progress_bar": False}
    return MCMC(NUTS(model), jit_model_args=True, **options)


def topics_numpyro(items, image=True, features=False):
    import jax

    table = items.sort_values(["model", "topic", "item"])
    models, topics = table["model"].unique(), table["topic"].unique()
    known = pd.read_csv(Path(sys.argv[-1]) / "features", index_col=0).loc[topics]
    corruption, severity = pd.factorize(known["corruption"])[0], known["severity"].to_numpy() - 3.0
    chain = sampler(image, features)
    score = table["score"].to_numpy().reshape(len(models), len(topics), -1)
    chain.run(jax.random.key(0), score, corruption, severity)
    draws = np.asarray(chain.get_samples()["accuracy"])

    def summed(names, draws):
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        return dict(zip(names, zip(draws.mean(axis=0), low, high, strict=True), strict=True))

    means, pairs = draws.mean(axis=2), list(combinations(range(len(models)), 2))
    apart = summed(pairs, np.stack([means[:, a] - means[:, b] for a, b in pairs], axis=1))
    value, low, high = np.array(list(apart.values())).T
    groups = summed(pd.MultiIndex.from_product([models, topics]), draws.reshape(len(draws), -1))
    return groups, summed(models, means), by_signs(models, value, (low > 0) | (high < 0))


def topics_numpyro_of_counts(items):
    return topics_numpyro(items, image=False)


def topics_numpyro_with_features(items):
    return topics_numpyro(items, features=True)


def topics_evalint(items):
    """Return pairs that differ by at least the smallest significant difference."""
    from evalint import audit_matrix, load_text

    table = items[["item", "model", "score"]].set_axis(["item_id", "system", "score"], axis=1)
    audit = audit_matrix(load_text(table.to_csv(index=False))[0])
    means = dict(audit.matrix.ranking())
    names = sorted(means)
    gap = np.array([means[a] - means[b] for a, b in combinations(names, 2)])
    return None, None, by_signs(names, gap, np.abs(gap) >= audit.summary.standard_error)


def by_posthocs(table, test):
    """Return the p-values of the test if the Friedman test is significant."""
    from scipy.stats import friedmanchisquare

    names, pairs = list(table), list(combinations(table, 2))
    p = test(table) if friedmanchisquare(*table.to_numpy().T).pvalue < 0.05 else None
    clear = [p is not None and p.loc[a, b] < 0.05 for a, b in pairs]
    gap = [table[a].mean() - table[b].mean() for a, b in pairs]
    return None, None, by_signs(names, gap, clear)


def topics_posthocs_nemenyi(items):
    from scikit_posthocs import posthoc_nemenyi_friedman

    means = items.pivot_table(index="topic", columns="model", values="score")
    return by_posthocs(means, posthoc_nemenyi_friedman)


def topics_posthocs_conover(items):
    from scikit_posthocs import posthoc_conover_friedman

    return by_posthocs(wide(items), lambda x: posthoc_conover_friedman(x, p_adjust="holm"))


def ends(labels, *columns):
    return dict(zip(labels, np.stack(columns, axis=1).tolist(), strict=True))


def votes_skbench(votes):
    from skbench import BradleyTerry

    board = BradleyTerry().fit(votes, votes["winner"]).leaderboard(scale="elo")
    e, better = board.estimate, board.rank_sets.better
    found = ends(e.labels, e.value - 1000, e.low - 1000, e.high - 1000)
    return found, {(e.labels[a], e.labels[b]): e.labels[a] for a, b in np.argwhere(better)}


def votes_arena_rank(votes):
    """Return the better model of every pair with intervals that do not overlap."""
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    data = PairDataset.from_pandas(votes)
    output = BradleyTerry(len(data.competitors)).compute_ratings_and_cis(data)
    names = output["competitors"]
    value, low, high = (
        np.asarray(output[x]) - 1000 for x in ("ratings", "rating_lower", "rating_upper")
    )
    better = np.argwhere(low[:, None] > high)
    return ends(names, value, low, high), {(names[a], names[b]): names[a] for a, b in better}


def metrics_skbench(people, borrow=True):
    from metrics import ours, summary

    from skbench import DirectEstimator, MixedModel

    estimator = MixedModel(model=None, topic=None) if borrow else DirectEstimator()
    tables = [ours(summary(people, m), estimator) for m in MEASURES]
    return *(ends(t.index, *t.to_numpy().T) for t in tables), None


def metrics_skbench_direct(people):
    return metrics_skbench(people, borrow=False)


def metrics_fairlearn(people):
    from fairlearn.metrics import MetricFrame
    from metrics import BY, ENDS, METRICS, columns

    y_true, y_pred = columns(people, "accuracy")
    bootstrap = {"n_boot": N_BOOT, "ci_quantiles": ENDS, "random_state": 0}
    frame = MetricFrame(
        metrics={m: METRICS[m] for m in MEASURES},
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=people[BY],
        **bootstrap,
    )
    value, (low, high) = frame.by_group, frame.by_group_ci
    return *(ends(value.index, value[m], low[m], high[m]) for m in MEASURES), None


def of_topics(folder):
    """Return items, and true values by kind."""
    for number in range(N_FILES):
        truth = pd.read_csv(folder / f"{number}.truth").set_index(["model", "topic"])["score"]
        means = truth.groupby("model").mean()
        yield pd.read_csv(folder / f"{number}.csv"), {"groups": truth, "models": means}


def of_votes(folder):
    from votes import ELO, make_votes

    for n_models, n_votes, n_files in VOTES:
        for seed in range(n_files):
            votes, rating, *_ = make_votes(n_models, n_votes, np.random.default_rng(seed))
            yield votes, {f"{n_models} models, {n_votes:,} votes": ELO * (rating - rating.mean())}


def of_metrics(folder):
    from metrics import LEAST_TRUE, summary
    from reproduced import data_folder

    people = pd.read_csv(data_folder() / "compas_two_years.csv.gz")
    people["predicted"] = (people["decile_score"] >= 5).astype(int)
    whole = {m: summary(people, m) for m in MEASURES}
    for seed in range(N_FILES):
        part, truth = people.sample(N_PEOPLE, random_state=seed), {}
        for m, g in whole.items():
            known = summary(part, m).to_frame()["z"].dropna().index
            true = pd.Series(g.z, pd.MultiIndex.from_tuples(g.labels))
            truth[m] = true[(g.n >= LEAST_TRUE) & true.index.isin(known)]
        yield part, truth


def scored(found, decided, truth):
    """Return the results of one package for the groups or models of one file."""
    row = {"cells": len(truth)}
    if found is not None:
        value, low, high = np.array([found[label] for label in truth.index], dtype=float).T
        row["error"] = float(np.nanmean((value - truth) ** 2))
        row["covered"] = float(np.mean((low <= truth) & (truth <= high)))
        row["width"] = float(np.nanmean(high - low))
    if decided is not None:
        wrong = [p for p, best in decided.items() if truth[best] < truth[list(p)].max()]
        row |= {"decided": len(decided), "wrong": len(wrong)}
    return row


def study(what, name, folder):
    warnings.simplefilter("ignore")
    method, files = globals()[f"{what}_{name}"], globals()[f"of_{what}"]
    statement, rows = IMPORTS[name.split("_")[0]], []
    clock = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    output = subprocess.check_output([sys.executable, "-c", clock], text=True)
    imported = float(output.split()[-1])
    exec(statement, {})
    for data, truth in files(folder):
        started = time.process_time()
        output = method(data)
        taken = time.process_time() - started
        *found, decided = output
        for (kind, true), own in zip(truth.items(), found, strict=True):
            verdicts = decided if kind == list(truth)[-1] else None
            if own is not None or verdicts is not None:
                rows.append({"kind": kind, "taken": taken} | scored(own, verdicts, true))
    table = []
    for kind, own in pd.DataFrame(rows).groupby("kind", sort=False):
        row = own.mean(numeric_only=True).to_dict() | {"cells": own["cells"].sum()}
        if "covered" in own:
            row["band"] = 2 * own["covered"].sem()
        seconds = {"first": own["taken"].iloc[0], "seconds": own["taken"].iloc[1:].mean()}
        table.append({"kind": kind, "name": name} | row | {"import": imported} | seconds)
    table = pd.DataFrame(table).drop(columns="taken")
    table.to_json(folder / f"{name}.{what}", orient="records")
    print(table.round(4).to_string())


def judged(accuracy, right, seed):
    """Return human labels, nan beyond the first ones, and verdicts of an autorater."""
    rng = np.random.default_rng(seed)
    human = (rng.random(N_ANSWERS) < accuracy).astype(float)
    judge = np.where(rng.random(N_ANSWERS) < right, human, 1 - human)
    human[N_LABELED:] = np.nan
    return human, judge


def judge_skbench(human, judge):
    from skbench.ppi import PPIMean

    e = PPIMean().fit(judge[:, None], human).estimate()
    return e.value[0], e.low[0], e.high[0]


def judge_truescore(human, judge):
    from truescore import ppi_estimate

    output = ppi_estimate(judge, human[:N_LABELED], np.arange(N_LABELED))
    return output.point, output.low, output.high


def judge_glide(human, judge):
    from glide.estimators import PPIMeanEstimator

    output = PPIMeanEstimator().estimate(human, judge)
    return (
        output.mean,
        output.confidence_interval.lower_bound,
        output.confidence_interval.upper_bound,
    )


def judge_ppi_python(human, judge):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    parts = human[:N_LABELED], judge[:N_LABELED], judge[N_LABELED:]
    low, high = ppi_mean_ci(*parts, alpha=0.05)
    return ppi_mean_pointestimate(*parts)[0], low[0], high[0]


def judge(name, folder):
    warnings.simplefilter("ignore")
    method, rows = globals()[f"judge_{name}"], []
    for right in RIGHT:
        for accuracy in ACCURACIES:
            found = []
            for seed in range(N_JUDGED):
                try:
                    found.append(method(*judged(accuracy, right, seed)))
                except ValueError:
                    found.append((np.nan, np.nan, np.nan))
            value, low, high = np.array(found, dtype=float).T
            rows.append(
                {
                    "right": right,
                    "accuracy": accuracy,
                    "refused": float(np.mean(np.isnan(low))),
                    "error": float(np.nanmean((value - accuracy) ** 2)),
                    "covered": float(np.mean((low <= accuracy) & (accuracy <= high))),
                    "width": float(np.nanmean(high - low)),
                    "no width": float(np.mean(high <= low)),
                }
            )
    pd.DataFrame(rows).assign(name=name).to_json(folder / f"{name}.judged", orient="records")


def table(folder):
    for what, scale in (("topics", 1000), ("votes", 1), ("metrics", 1000)):
        found = [pd.read_json(path) for path in sorted(folder.glob(f"*.{what}"))]
        if found:
            frame = pd.concat(found)
            frame["error"] *= scale
            print(f"\n{what}\n{frame.sort_values('kind', kind='stable').to_string(na_rep='')}")
    judged = [pd.read_json(path) for path in sorted(folder.glob("*.judged"))]
    if judged:
        frame = pd.concat(judged).sort_values(["right", "accuracy"], ascending=[False, True])
        frame["error"] *= 1000
        print(frame.set_index(["right", "accuracy", "name"]).to_string(float_format="%.3f"))


if __name__ == "__main__":
    what, *names = sys.argv[1:]
    call = {"make": make, "judge": judge, "table": table}.get(what) or partial(study, what)
    call(*names[:-1], Path(names[-1]))
