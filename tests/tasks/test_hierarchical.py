"""HierarchicalBetaBinomial and ConfusionPosterior: printed tables, exact laws, bad input."""

import functools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.vtab import CATEGORIES, COLUMNS, printed_table, vtab_rows
from scipy import stats
from scipy.special import digamma
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from walks import one_in

from skbench.stats.resampling.dirichlet_multinomial import gibbs, log_uniform_prior
from skbench.tasks import (
    ConfusionPosterior,
    HierarchicalBetaBinomial,
    aggregate,
    hierarchical,
    rank_models,
    rank_probabilities,
)


@pytest.fixture(scope="module")
def rows(gold_folder):
    return vtab_rows(gold_folder)


def fitted(rows, **parameters):
    return HierarchicalBetaBinomial(random_state=0, **parameters).fit(
        rows, rows["k"] / rows["n"], n=rows["n"]
    )


@pytest.fixture(scope="module")
def accuracies(rows):
    """Under the prior of the paper, as the printed and recomputed numbers are."""
    bayes = fitted(rows, prior="exponential")
    assert bayes.draws_ is bayes.draws_  # kept from here on
    return bayes


@pytest.fixture(scope="module")
def predictive(rows):
    bayes = fitted(rows, kind="predictive", prior="exponential", n_draws=20_000)
    assert bayes.draws_ is bayes.draws_
    return bayes


@pytest.fixture(scope="module")
def reference(gold_folder):
    return json.loads((gold_folder / "longjohn_hierarchical.json").read_text())


@pytest.fixture(scope="module")
def study(gold_folder):
    return json.loads((gold_folder / "longjohn_simulation_study.json").read_text())


def by_column(estimator):
    """Estimates in percentage points: natural, specialized, structured, overall."""
    weights = [{name: float(name == category) for name in CATEGORIES} for category in CATEGORIES]
    return {
        name: 100 * estimator.estimate(w, 0.834).to_frame()[["value", "low", "high"]].astype(float)
        for name, w in zip([*CATEGORIES, "overall"], [*weights, None], strict=True)
    }


def table(z, n, models=("ada", "bob"), tasks=("law", "art", "sum")):
    """Arguments of fit, one row per model and task."""
    X = pd.DataFrame([(m, t) for m in models for t in tasks], columns=["model", "task"])
    return {"X": X, "y": np.asarray(z, dtype=float), "n": n}


SMALL = table([0.7, 0.6, 0.8, 0.5, 0.4, 0.3], 10)


# Printed tables and recomputed numbers


@pytest.mark.slow
@pytest.mark.parametrize("column", [*CATEGORIES, "overall"])
def test_table_7(predictive, column):
    printed = printed_table(7, column)
    ours = by_column(predictive)[column].loc[printed.index]
    # Printed to .1 from simulations of its own.
    np.testing.assert_allclose(ours, printed, atol=0.1)


@pytest.mark.slow
def test_table_7_under_the_default_prior(rows):
    ours = by_column(fitted(rows, kind="predictive", n_draws=5000))
    for column in (*CATEGORIES, "overall"):
        printed = printed_table(7, column)
        np.testing.assert_allclose(ours[column].loc[printed.index], printed, atol=0.1)


@pytest.mark.slow
def test_table_7_as_published(rows):
    """From the paper's own sampler."""
    bayes = HierarchicalBetaBinomial.as_published(random_state=0)
    bayes.fit(rows, rows["k"] / rows["n"], n=rows["n"])
    printed = printed_table(7, "overall")
    ours = by_column(bayes)["overall"].loc[printed.index]
    np.testing.assert_allclose(ours, printed, atol=0.1)


@pytest.mark.parametrize("scheme", one_in(len(COLUMNS), COLUMNS))
def test_table_11(predictive, scheme):
    printed = printed_table(11, scheme)
    drawn = rank_models(predictive, scheme, random_state=0)
    ours = drawn.interval(0.95).to_frame().loc[printed.index, printed.columns].astype(float)
    # Printed to .1; its own simulation moves ends by .2 at most.
    np.testing.assert_allclose(ours["value"], printed["value"], atol=0.1)
    np.testing.assert_allclose(ours, printed, atol=0.2)


@pytest.mark.parametrize("kind", ["theta", "predictive"])
def test_against_the_recomputation(accuracies, predictive, reference, kind):
    ours = by_column(accuracies if kind == "theta" else predictive)
    low, high = np.array(reference[f"{kind}_ci834"])
    mean = np.array(reference["theta_mean"])
    for j, column in enumerate(ours):
        found = ours[column].loc[reference["models"]]
        # Standard deviations are up to .52 points; ends of 5,000 and 20,000 draws then
        # differ by less than .05, and the mean of the other set by .01.
        np.testing.assert_allclose(found["value"], mean[:, j], atol=0.01)
        np.testing.assert_allclose(found["low"], low[:, j], atol=0.05)
        np.testing.assert_allclose(found["high"], high[:, j], atol=0.05)


def test_evidence_and_prior_counts(accuracies, reference):
    expected = pd.DataFrame(reference["a_b_log_evidence"], index=reference["models"])
    evidence = pd.Series(accuracies.log_evidence_, accuracies.models_).loc[expected.index]
    np.testing.assert_allclose(evidence, expected[2], atol=1e-4)  # given to 4 digits
    drawn = accuracies.models_[accuracies._axes[0]]
    points = dict(zip(drawn, accuracies._posterior._points, strict=True))
    counts = np.array([[w @ a, w @ b] for a, b, w in (points[m] for m in expected.index)])
    # From 20,000 draws of quantities with coefficients of variation of a third.
    np.testing.assert_allclose(counts, expected[[0, 1]], rtol=0.01)
    # Geometric means are smaller by half the square of that, roughly.
    ratio = accuracies.prior_counts_.loc[expected.index] / counts
    assert ratio.min(axis=None) > 0.9 and ratio.max(axis=None) < 0.98


def test_posterior_rank_probabilities(accuracies, gold_folder):
    path = gold_folder / "longjohn_rankprob_unweighted.csv"
    names = path.read_text().splitlines()[0].removeprefix("# rows=").split(";")
    expected = pd.DataFrame(np.loadtxt(path, delimiter=",", comments="#"), index=names)
    ours = rank_probabilities(rank_models(accuracies)).loc[names]
    # Made from a bootstrap; the two differ by the few prior counts and by simulation.
    np.testing.assert_allclose(ours, expected, atol=0.03)


def normal_pairs(sd, swapped=False):
    pairs = [(2000, 2000), (2100, 1900)]
    pairs = pairs[::-1] if swapped else pairs
    frozen = [tuple(stats.norm(mean, sd) for mean in pair) for pair in pairs]
    return dict(zip("AB", frozen, strict=True))


STUDY = {
    "bhm_normal_prior_sd10_ci95": normal_pairs(10),
    "bhm_prior_var10_ci95": normal_pairs(10**0.5),
    "bhm_fixed_hyper_ci95": normal_pairs(1e-3),
    "bhm_exp_prior_ci95": "exponential",
    "bhm_priors_swapped_ci95": normal_pairs(10, swapped=True),
}


def study_fit(study, prior, n_draws=40_000):
    n = np.array(study["N"])
    data = table(np.r_[study["A"] / n, study["B"] / n], np.r_[n, n], models="AB")
    bayes = HierarchicalBetaBinomial(prior=prior, n_draws=n_draws, random_state=0)
    return bayes.fit(**data)


@pytest.mark.parametrize("prior", STUDY)
def test_simulation_study(study, prior):
    bayes = study_fit(study, STUDY[prior])
    a, b = aggregate(bayes).values.T
    ends = np.quantile(a - b, [0.025, 0.975])
    # The standard error of an end is 2.7 / sqrt(40,000) of the sd of .0047.
    np.testing.assert_allclose(ends, study[prior], atol=3e-4)
    if prior == "bhm_normal_prior_sd10_ci95":
        counts = [*study["posterior_mean_ab"]["A"], *study["posterior_mean_ab"]["B"]]
        np.testing.assert_allclose(bayes.prior_counts_.to_numpy().ravel(), counts, atol=0.05)
        mean = bayes.posterior_mean_.mean(axis=1)
        assert mean[0] - mean[1] == pytest.approx(study["bhm_mean"], abs=5e-5)


def test_priors_come_with_their_sensitivity(study):
    bayes = study_fit(study, STUDY["bhm_normal_prior_sd10_ci95"], n_draws=4000)
    priors = {"swapped": STUDY["bhm_priors_swapped_ci95"], "flat": "uniform"}
    report = bayes.prior_sensitivity(priors)
    assert list(report.index.unique("prior")) == ["as fitted", "swapped", "flat"]
    value = report["value"].unstack("model")
    # The conclusion turns with the prior.
    assert value.loc["as fitted", "A"] < value.loc["as fitted", "B"]
    assert value.loc["swapped", "A"] > value.loc["swapped", "B"]
    fitted_rows = report.loc["as fitted"]
    np.testing.assert_array_equal(fitted_rows["value"], bayes.estimate().value)
    np.testing.assert_array_equal(fitted_rows["log_evidence"], bayes.log_evidence_)
    assert np.all(fitted_rows["shift"] == 0)
    moved = report.loc["swapped"]
    expected = (moved["value"] - fitted_rows["value"]) / bayes.estimate().standard_error
    np.testing.assert_allclose(moved["shift"], expected)
    with pytest.raises(ValueError):
        bayes.prior_sensitivity({"as fitted": "uniform"})
    assert "own prior" in bayes.estimate().method
    assert "prior" not in study_fit(study, "uniform", 100).estimate().method
    assert "exponential prior" in study_fit(study, "exponential", 100).estimate().method


def test_default_sensitivity_report():
    report = HierarchicalBetaBinomial(n_draws=200, random_state=0).fit(**SMALL).prior_sensitivity()
    names = ["as fitted", "uniform", "exponential", "exponential, mean 1"]
    assert list(report.index.unique("prior")) == names
    assert report.notna().all(axis=None)
    same = report.loc["uniform"]
    np.testing.assert_allclose(same["value"], report.loc["as fitted"]["value"])


# Gibbs


def check_gibbs(exact, chains):
    """Posterior means of the sampler within its own Monte Carlo error of the exact ones."""
    drawn = chains.draws_.values
    ess = chains.diagnostics_["ess_mean"].to_numpy()
    mean = drawn.mean(axis=(0, 2))
    error = drawn.mean(axis=2).std(axis=0) / np.sqrt(ess)
    assert np.all(np.abs(mean - exact.posterior_mean_.mean(axis=1)) < 4.5 * error)
    # Given (a, b) means are exact, so what simulation leaves is far below the posterior sd.
    sd = drawn.std(axis=0)
    assert np.all(np.abs(chains.posterior_mean_ - exact.posterior_mean_) < 0.05 * sd)
    assert chains.diagnostics_.filter(like="r_hat").max(axis=None) < 1.01
    for count in "ab":
        low = 4.5 / np.sqrt(chains.diagnostics_[f"ess_{count}"])
        # The standard deviations of the log counts are below one.
        ratio = chains.prior_counts_[count] / exact.prior_counts_[count]
        assert np.all(np.abs(np.log(ratio)) < low)


@pytest.mark.slow
def test_gibbs_agrees_with_the_quadrature(rows):
    """A prior for each model, whose chains take seconds."""
    some = rows[rows["model"].isin(["VAE", "Rotation"])]
    own = (stats.gamma(2, scale=2), stats.expon(scale=3))
    prior = {"VAE": "uniform", "Rotation": own}
    exact = fitted(some, prior=prior)
    chains = fitted(some, prior=prior, solver="gibbs", n_draws=3000)
    check_gibbs(exact, chains)
    assert chains.draws_.values.shape == (3000, 2, 19)
    assert np.all(np.isnan(chains.log_evidence_))
    np.testing.assert_allclose(
        chains.estimate(confidence_level=0.834).low,
        exact.estimate(confidence_level=0.834).low,
        atol=1.2e-4,  # ends of 3,000 draws of sd .0014 or less
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parameter", "predictive"])
def test_gibbs_on_all_models(rows, reference, kind):
    """The sampler of the paper, all models, against quadrature and recomputation: a minute."""
    chains = fitted(rows, solver="gibbs", kind=kind, prior="exponential", n_draws=20_000)
    if kind == "parameter":
        check_gibbs(fitted(rows, prior="exponential"), chains)
    name = "theta_ci834" if kind == "parameter" else "predictive_ci834"
    low, high = np.array(reference[name])
    ours = by_column(chains)
    for j, column in enumerate(ours):
        found = ours[column].loc[reference["models"]]
        np.testing.assert_allclose(found["low"], low[:, j], atol=0.04)
        np.testing.assert_allclose(found["high"], high[:, j], atol=0.04)


LARGE = table([0.9, 0.8, 0.3, 0.6, 0.5, 0.7, 0.2, 0.4], 1000, ["ada"], "abcdefgh")


def test_chains_that_do_not_converge_are_refused(monkeypatch):
    """Ten items per task under the published prior; 500 warm-up steps are not enough either."""
    monkeypatch.setattr("skbench.tasks._count_posteriors._N_WARMUP", 50)
    expected = (
        r"2 of 2 models .*'\w+'.* 4, R-hat [\d.]+.*"
        r"solver='quadrature'"
    )
    with pytest.raises(ValueError, match=expected):
        HierarchicalBetaBinomial.as_published(n_draws=200).fit(**SMALL)


AT_THE_EDGE = stats.beta(0.5, 0.5, loc=1, scale=1e9)  # a peak at either end


@pytest.mark.parametrize(
    "prior", ["exponential", (AT_THE_EDGE, AT_THE_EDGE)], ids=["chains", "grid"]
)
def test_a_refused_posterior_is_not_kept(prior, monkeypatch):
    monkeypatch.setattr("skbench.tasks._count_posteriors._N_WARMUP", 5)
    solver = "gibbs" if prior == "exponential" else "quadrature"
    bayes = HierarchicalBetaBinomial(solver, prior=prior, n_draws=1, random_state=0)
    with pytest.raises(ValueError, match="'bob'"):
        bayes.fit(**table([0.5], 10, ["bob"], ["law"]))
    with pytest.raises(NotFittedError):
        bayes.estimate()
    assert vars(bayes) == bayes.get_params()


def test_chains_that_are_slow_are_reported():
    chains = HierarchicalBetaBinomial(solver="gibbs", n_draws=400, random_state=0)
    with pytest.warns(UserWarning, match="1 of 1 models .*'ada'.*R-hat"):
        chains.fit(**LARGE)
    assert 100 <= chains.diagnostics_.filter(like="ess").min(axis=None) < 400
    # Other priors by quadrature, because the chains may not converge under them.
    report = chains.prior_sensitivity()
    assert report.loc["exponential", "log_evidence"].notna().all()


# Sampling


def test_posterior_intervals_without_width_are_intervals():
    """Half the new test sets of three items are all right: known, where a bootstrap knows none."""
    known = table([1.0, 1.0], 50, models=["ada"], tasks=["law", "art"]) | {"n": [50, 3]}
    bayes = HierarchicalBetaBinomial(kind="predictive", n_draws=400, random_state=0).fit(**known)
    found = bayes.estimate(confidence_level=0.5)
    assert found.low == found.high == 1 and found.standard_error > 0


OWN = (stats.expon(scale=5), stats.expon(scale=10))


def draw_counts(prior, n_models, rng):
    """Prior counts of models, from the prior that is passed to the model."""
    if prior == "uniform":
        mean, correlation = rng.random((2, n_models, 1))
        size = 1 / correlation - 1
        return size * mean, size * (1 - mean)
    return [p.rvs(size=(n_models, 1), random_state=rng) for p in prior]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[5, 10, 20, 30, 40, 60], [3, 4, 5, 5, 8, 10], [100, 2000]])
@pytest.mark.parametrize("prior", ["uniform", OWN], ids=["uniform", "own"])
@pytest.mark.parametrize("kind", ["parameter", "predictive"])
def test_intervals_cover_on_data_from_the_model(kind, prior, sizes):
    """Nominal coverage of single accuracies and of means, small test sets too."""
    # One mean per model is one independent trial; accuracies of a model share its (a, b).
    n_models, n_tasks, level = 700, len(sizes), 0.9
    rng = np.random.default_rng(0)
    a, b = draw_counts(prior, n_models, rng)
    n = np.tile(sizes, (n_models, 1))
    truth = rng.beta(np.repeat(a, n_tasks, 1), b)
    k = rng.binomial(n, truth)
    data = table((k / n).ravel(), n.ravel(), models=range(n_models), tasks=range(n_tasks))
    bayes = HierarchicalBetaBinomial(prior=prior, kind=kind, n_draws=2000, random_state=0)
    bayes.fit(**data)
    if kind == "predictive":
        truth = rng.binomial(n, truth) / n
    low, high = stats.binom.ppf([0.0005, 0.9995], n_models, level) / n_models
    mean = bayes.estimate(confidence_level=level)
    means = np.mean((mean.low <= truth.mean(axis=1)) & (truth.mean(axis=1) <= mean.high))
    one_each = np.arange(n_models), rng.integers(n_tasks, size=n_models)
    ends = np.quantile(bayes.draws_.values, [0.05, 0.95], axis=0)
    left, right = ends[:, *one_each]
    single = truth[one_each]
    singles = np.mean((left <= single) & (single <= right))
    name = prior if prior == "uniform" else "own"
    print(f"{kind}, {name} prior, sizes {sizes}: means {means:.3f}, single tasks {singles:.3f}")
    assert means >= low and singles >= low
    # Scores are discrete, and so are accuracies that are 0 or 1 to the last digit, as many are
    # under the uniform prior: with ends that count as outside, intervals hold at most their level.
    assert np.mean((mean.low < truth.mean(axis=1)) & (truth.mean(axis=1) < mean.high)) <= high
    assert np.mean((left < single) & (single < right)) <= high


def thinned_error(rows, n_items, prior, n_seeds):
    """Root mean square errors, in points, on test sets of `n_items`: direct and posterior mean."""
    truth = rows["k"] / rows["n"]
    squares = []
    for seed in range(n_seeds):
        z = np.random.default_rng(seed).binomial(n_items, truth) / n_items
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the exponential prior misleads
            bayes = HierarchicalBetaBinomial(prior=prior).fit(rows, z, n=n_items)
        mean = pd.DataFrame(bayes.posterior_mean_, bayes.models_, bayes.tasks_.get_level_values(-1))
        ours = mean.stack().loc[pd.MultiIndex.from_frame(rows[["model", "task"]])].to_numpy()
        squares.append([(z - truth) ** 2, (ours - truth) ** 2])
    return 100 * np.sqrt(np.mean(squares, axis=(0, 2)))


@pytest.mark.slow
def test_errors_on_thinned_test_sets(rows):
    """The figures of the docstring, from five thinnings of 304 accuracies: a minute."""
    for n_items, gain in [(5, 0.85), (10, 0.95), (25, 0.98), (100, 1)]:
        found = {p: thinned_error(rows, n_items, p, 5) for p in ("uniform", "exponential")}
        (direct, uniform), (_, exponential) = found.values()
        print(
            f"{n_items} items: k / n {direct:.1f}, uniform prior {uniform:.1f}, "
            f"exponential prior {exponential:.1f} points"
        )
        assert uniform < gain * direct
        assert (exponential > direct) == (n_items < 100)


def test_the_exponential_prior_warns_on_small_test_sets():
    for prior in ["exponential", {"ada": "uniform", "bob": "exponential"}]:
        with pytest.warns(UserWarning, match="uniform"):
            HierarchicalBetaBinomial(prior=prior, n_draws=10).fit(**SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HierarchicalBetaBinomial(prior="exponential", n_draws=10).fit(**(SMALL | {"n": 30}))
        HierarchicalBetaBinomial(n_draws=10).fit(**SMALL).prior_sensitivity()


def test_uniform_prior_of_one_task_is_closed_form():
    # Given the mean m, n answers are one draw from Beta(m s, (1 - m) s), whose mean is m
    # whatever s: so the first item is right with probability 1/2, and of two items the second
    # is as the first with probability rho + (1 - rho) E[m^2 + (1 - m)^2] = 1/2 + 1/2 * 2/3.
    data = table([1.0], 2, models=["ada"], tasks=["law"])
    with pytest.warns(UserWarning, match="'law'"):
        bayes = HierarchicalBetaBinomial(n_draws=10).fit(**data)
    assert np.exp(bayes.log_evidence_[0]) == pytest.approx(5 / 12, abs=1e-6)


def test_tasks_that_differ_by_noise_alone_are_pooled():
    rng = np.random.default_rng(1)
    n = np.full(40, 10)
    k = rng.binomial(n, 0.7)
    data = table(k / n, n, models=["ada"], tasks=range(40))
    bayes = HierarchicalBetaBinomial(n_draws=100, random_state=0).fit(**data)
    assert np.abs(bayes.posterior_mean_ - 0.7).mean() < 0.3 * np.abs(k / n - 0.7).mean()


def test_draws_average_to_the_exact_means():
    bayes = HierarchicalBetaBinomial(n_draws=20_000, random_state=0).fit(**SMALL)
    drawn = bayes.draws_.values
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - bayes.posterior_mean_) < 4.5 * error)
    assert bayes.draws_.kind == "posterior"
    assert bayes.estimate().guarantee == "posterior"


# Contract


@pytest.mark.parametrize("kind", ["parameter", pytest.param("predictive", marks=pytest.mark.slow)])
def test_draws_of_means_are_those_of_sums(kind, monkeypatch):
    """Quantiles of two categories and their covariance, without the draws of single tasks."""
    n = 20 + np.arange(160) % 21
    tasks = pd.MultiIndex.from_arrays([["art"] * 80 + ["law"] * 80, range(160)])
    X = tasks.to_frame(index=False, name=["category", "task"]).assign(model="ada")
    k = np.random.default_rng(0).binomial(n, np.repeat([0.9, 0.6], 80))
    bayes = HierarchicalBetaBinomial(kind=kind, n_draws=20_000, random_state=0).fit(X, k / n, n=n)
    sums = aggregate(bayes, by="category").values[:, 0]
    monkeypatch.setattr(hierarchical, "MOST_STORED", 0)
    means = aggregate(bayes, by="category").values[:, 0]
    assert not np.isin(means, sums).any()
    shift = means.mean(axis=0) - sums.mean(axis=0)
    levels = [0.025, 0.2, 0.5, 0.8, 0.975]
    off = (np.quantile(means, levels, axis=0) - np.quantile(sums, levels, axis=0)) / sums.std(0)
    print(off, shift / sums.std(0))
    # Standard errors of these differences are .027, .014, .013, .014 and .027.
    assert np.abs(off).max() < 0.08
    np.testing.assert_allclose(np.corrcoef(means.T), np.corrcoef(sums.T), atol=0.03)


def test_means_of_few_tasks_are_sums_of_draws(monkeypatch):
    bayes = HierarchicalBetaBinomial(n_draws=100, random_state=0).fit(**SMALL)
    expected = aggregate(bayes).values
    monkeypatch.setattr(hierarchical, "MOST_STORED", 0)
    np.testing.assert_array_equal(aggregate(bayes).values, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_seed_reproduces_chains():
    chains = HierarchicalBetaBinomial(solver="gibbs", n_draws=400, random_state=0)
    first, again = (clone(chains).fit(**LARGE) for _ in range(2))
    np.testing.assert_array_equal(first.draws_.values, again.draws_.values)
    np.testing.assert_allclose(again.estimate().low, aggregate(again).interval().low)


def test_settings_as_published():
    bayes = HierarchicalBetaBinomial.as_published()
    assert (bayes.solver, bayes.prior, bayes.kind) == ("gibbs", "exponential", "predictive")
    other = HierarchicalBetaBinomial(n_draws=50, random_state=1).fit(**SMALL)
    same = HierarchicalBetaBinomial(n_draws=50, random_state=0).fit(**SMALL)
    assert not np.array_equal(other.draws_.values, same.draws_.values)


def test_blocks_of_models_change_nothing():
    """Twenty models are integrated in two blocks; each alone has the same posterior."""
    rng = np.random.default_rng(0)
    k = rng.binomial(20, 0.6, size=60) / 20
    whole = HierarchicalBetaBinomial(n_draws=50, random_state=0).fit(**table(k, 20, range(20)))
    for at in (0, 15, 16, 19):
        alone = table(k[3 * at : 3 * at + 3], 20, models=[at])
        one = HierarchicalBetaBinomial(n_draws=50, random_state=0).fit(**alone)
        np.testing.assert_allclose(one.posterior_mean_[0], whole.posterior_mean_[at], atol=1e-6)


# Edges and bad input


def test_accuracies_of_zero_and_one():
    data = table([0, 0, 0, 1, 1, 1], [1, 10, 100] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bayes = HierarchicalBetaBinomial(n_draws=500, random_state=0).fit(**data)
    assert np.all((bayes.posterior_mean_ > 0) & (bayes.posterior_mean_ < 1))
    np.testing.assert_allclose(bayes.posterior_mean_[0], 1 - bayes.posterior_mean_[1], atol=1e-8)
    estimate = bayes.estimate()
    assert np.all(estimate.low < estimate.high)


def test_one_task_warns_and_keeps_the_prior():
    data = table([0.5], 10, models=["ada"], tasks=["law"])
    prior = (stats.gamma(3), stats.gamma(2))
    with pytest.warns(UserWarning, match="'law'"):
        bayes = HierarchicalBetaBinomial(prior=prior, n_draws=100, random_state=0).fit(**data)
    # Little is learnt of the size a + b, a priori a gamma variable of shape 5.
    ((a, b, weight),) = bayes._posterior._points
    assert weight @ np.log(a + b) == pytest.approx(digamma(5), abs=0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"n": None},
        {"y": np.array([0.7, 0.6, 0.85, 0.5, 0.4, 0.3])},
        {"y": np.array([0.7, 0.6, 1.2, 0.5, 0.4, 0.3])},
        {"X": SMALL["X"].iloc[:5], "y": SMALL["y"][:5]},
        {"X": SMALL["X"].iloc[[*range(6), 0]], "y": SMALL["y"][[*range(6), 0]]},
    ],
)
def test_refused_data(change):
    with pytest.raises(ValueError):
        HierarchicalBetaBinomial().fit(**(SMALL | change))


@pytest.mark.parametrize(
    "parameters",
    [
        {"prior": stats.expon()},
        {"prior": {"ada": "uniform", "bob": None}},
        {"prior": (stats.poisson(3), stats.expon())},
        {"prior": (stats.uniform(-2, 1), stats.expon())},
        {"prior": {"ada": (stats.expon(), stats.expon())}},
        {"prior": dict.fromkeys(["ada", "bob", "eve"], (stats.expon(), stats.expon()))},
    ],
)
def test_refused_parameters(parameters):
    with pytest.raises(ValueError):
        HierarchicalBetaBinomial(**parameters).fit(**SMALL)


# Confusion matrices

MATRICES = pd.DataFrame(
    {
        "model": ["ada", "ada", "bob", "bob"],
        "task": ["fraud", "spam"] * 2,
        "tp": [3, 40, 4, 30],
        "fp": [1, 10, 6, 5],
        "fn": [2, 5, 1, 15],
        "tn": [94, 45, 89, 50],
    }
)


def test_f1_intervals_are_exact():
    posterior = ConfusionPosterior(n_draws=40_000, random_state=0).fit(MATRICES)
    e = posterior.draws_.interval(0.9)
    ends = stats.beta(MATRICES["tp"] + 0.5, MATRICES["fp"] + MATRICES["fn"] + 1).ppf(
        np.array([[0.05], [0.95]])
    )
    # F1 = 2 P / (1 + P) with a beta P; ends of 40,000 draws are within .02 of the sd of .03 to .2.
    np.testing.assert_allclose([e.low, e.high], 2 * ends / (1 + ends), atol=0.006)
    np.testing.assert_allclose(posterior.value_[0], [6 / 9, 80 / 95])


@pytest.mark.parametrize("metric", ["precision", "f1", "matthews"])
def test_proportions_too_small_for_a_float_have_ratios(metric):
    X = MATRICES.assign(tp=0, fp=0, fn=5, tn=95)
    posterior = ConfusionPosterior(metric, prior=1e-3, n_draws=2000, random_state=0).fit(X)
    assert np.isfinite(posterior.draws_.values).all()


@pytest.mark.slow
def test_learned_concentrations_pool_tasks():
    """Three seconds of chains."""
    n_tasks = 12
    rng = np.random.default_rng(0)
    counts = rng.multinomial(20, [0.4, 0.1, 0.1, 0.4], size=n_tasks)
    X = pd.DataFrame(counts, columns=["tp", "fp", "fn", "tn"]).assign(model="ada")
    X["task"] = range(n_tasks)
    apart = ConfusionPosterior("recall", n_draws=2000, random_state=0).fit(X)
    prior = stats.expon(scale=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 2,000 draws are short of R-hat 1.01
        pooled = ConfusionPosterior("recall", prior, n_draws=2000, random_state=0).fit(X)
    off = [np.abs(p.draws_.values.mean(axis=0) - 0.8).mean() for p in (apart, pooled)]
    assert off[1] < 0.6 * off[0]
    assert pooled.estimate().labels.tolist() == ["ada"]


@pytest.mark.parametrize(
    "X, parameters",
    [
        (MATRICES.drop(columns="fn"), {}),
        (MATRICES.assign(tp=[1.5, 1, 1, 1]), {}),
        (MATRICES.assign(tp=[-1, 1, 1, 1]), {}),
        (MATRICES, {"prior": 0}),
        (MATRICES.iloc[:3], {}),
    ],
)
def test_refused_matrices(X, parameters):
    with pytest.raises(ValueError):
        ConfusionPosterior(**parameters).fit(X)


@pytest.mark.slow
def test_two_categories_are_the_beta_binomial():
    """Gibbs under the uniform prior of any number of categories, against quadrature."""
    k, n = np.array([[7.0, 3.0, 18.0, 5.0]]), np.array([[10.0, 10.0, 25.0, 8.0]])
    counts = np.stack([k, n - k], axis=-1)
    rng = np.random.default_rng(0)
    prior = functools.partial(log_uniform_prior, n_categories=2)
    chains = gibbs(counts, prior, np.full((4, 1, 2), 2.0), 2000, 300, rng)
    found = np.exp(chains.log_proportions[..., 0]).mean(axis=(0, 1))[0]
    data = table((k / n)[0], n[0].astype(int), models=["ada"], tasks=list("abcd"))
    exact = HierarchicalBetaBinomial(random_state=0).fit(**data).posterior_mean_[0]
    # 8,000 draws, correlated some ten times: a standard deviation of .12 over the root of 800.
    np.testing.assert_allclose(found, exact, atol=0.018)


@pytest.mark.slow
def test_uniform_prior_pools_small_matrices():
    """Twelve alike tasks of 20 items: closer to the truth than with a prior for each alone."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([40, 6, 10, 60], 12)
    rows = pd.DataFrame([rng.multinomial(20, p) for p in truth], columns=["tp", "fp", "fn", "tn"])
    X = rows.assign(model="ada", task=range(12))
    f1 = 2 * truth[:, 0] / (2 * truth[:, 0] + truth[:, 1] + truth[:, 2])
    pooled, alone = (
        ConfusionPosterior("f1", prior, n_draws=2000, random_state=0).fit(X)
        for prior in ("uniform", 0.5)
    )
    errors = [np.mean((p.draws_.values.mean(axis=0)[0] - f1) ** 2) for p in (pooled, alone)]
    assert errors[0] < 0.6 * errors[1]
    assert alone.concentrations_.to_numpy().tolist() == [[0.5] * 4]
    assert pooled.concentrations_.sum(axis=1).item() > 20
    with pytest.raises(ValueError):
        ConfusionPosterior(prior="exponential").fit(X)
