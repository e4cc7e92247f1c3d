import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference.ppi_sets import ends
from scipy.stats import beta, norm
from scipy.stats import t as student_t

from skbench.ppi.chain_rule import ChainRulePPI
from skbench.ppi.monte_carlo import MonteCarloPPI
from skbench.ppi.parameters import KProportion, Mean, Proportion

N_DRAWS = 40_000
# In units of a standard deviation over the root of the number of draws: four standard
# errors, and 2.7 of them for a 2.5 % quantile.
MEAN_ERROR, END_ERROR = 4, 4 * 2.7


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n, shown = 1200, 150
    truth = rng.random(n) < 0.7
    X = pd.DataFrame(
        {
            "score": np.clip(truth * 0.5 + rng.random(n) / 2, 0, 1),
            "verdict": np.where(
                rng.random(n) < 0.1, "u", np.where(truth ^ (rng.random(n) < 0.15), "y", "n")
            ),
        }
    )
    return X, np.where(np.arange(n) < shown, truth, np.nan)


def difference():
    return MonteCarloPPI(
        {
            "autorater": Mean("score", "unlabeled"),
            "rectifier": Mean(lambda t: t["y"] - t["score"]),
        },
        lambda autorater, rectifier: autorater + rectifier,
        N_DRAWS,
        0,
    )


def chain():
    right = {a: Proportion("y", given=lambda t, a=a: t["verdict"] == a) for a in "ynu"}
    verdicts = KProportion("verdict", list("ynu"), "unlabeled")
    return MonteCarloPPI(
        {"p": verdicts, **right},
        lambda p, y, n, u: p[:, 0] * y + p[:, 1] * n + p[:, 2] * u,
        N_DRAWS,
        0,
    )


def check_close(found, value, standard_error, interval):
    error = standard_error / np.sqrt(N_DRAWS)
    assert abs(found.estimate_ - value) < MEAN_ERROR * error
    assert_allclose(found.standard_error_, standard_error, rtol=0.02)  # 4 / sqrt(2 N_DRAWS)
    assert np.all(np.abs(np.subtract(ends(found), interval)) < END_ERROR * error)


def test_bootstrap_is_near_the_posterior(table):
    """Section 5.4.3: bootstrap intervals of means, proportions and K proportions."""
    X, y = table
    labeled = ~np.isnan(y)
    f, missed = X["score"][~labeled], (y - X["score"])[labeled]
    error = np.sqrt(f.var(ddof=0) / f.size + missed.var(ddof=0) / missed.size)
    value = f.mean() + missed.mean()
    few = {"integration": "bootstrap", "n_draws": 1000}
    found = difference().set_params(**few).fit(X, y)
    # Four standard errors of the means, ends (2.7 times) and standard deviations of 1000 draws.
    assert abs(found.estimate_ - value) < 4 * error / np.sqrt(1000)
    assert_allclose(found.standard_error_, error, rtol=4 / np.sqrt(2000))
    bounds = norm(value, error).ppf([0.025, 0.975])
    assert np.all(np.abs(np.subtract(ends(found), bounds)) < 4 * 2.7 * error / np.sqrt(1000))
    assert found.draws_.kind == "bootstrap"
    posterior, drawn = chain().fit(X, y), chain().set_params(**few).fit(X, y)
    apart = np.subtract(ends(drawn), ends(posterior)) / posterior.standard_error_
    assert np.abs(apart).max() < 0.4  # effect of the prior for three verdicts, one of them rare
    # The rows "all" keep the input order.
    everything = MonteCarloPPI({"m": Mean("score", "all")}, lambda m: m, random_state=0, **few)
    shuffled = np.random.default_rng(1).permutation(len(X))
    for order in (np.arange(len(X)), shuffled):
        m = everything.fit(X.iloc[order].reset_index(drop=True), y[order])
        assert_allclose(m.estimate_, X["score"].mean(), atol=4 * m.standard_error_ / np.sqrt(1000))


def test_difference_estimate_has_its_normal_interval(table):
    X, y = table
    found = difference().fit(X, y)
    labeled = ~np.isnan(y)
    f, rectifier = X["score"][~labeled], (y - X["score"])[labeled]
    value = f.mean() + rectifier.mean()
    standard_error = np.sqrt(f.var() / f.size + rectifier.var() / rectifier.size)
    check_close(found, value, standard_error, norm(value, standard_error).ppf([0.025, 0.975]))
    assert (found.n_labeled_, found.n_unlabeled_) == (150, 1050)


def test_equal_rows_have_no_interval():
    y = np.r_[np.ones(10), np.full(40, np.nan)]
    with pytest.warns(UserWarning, match=r"'r' .*\b10 rows"):
        model = MonteCarloPPI({"r": Mean("y")}, lambda r: r, random_state=0).fit(
            pd.DataFrame({"judge": np.ones(50)}), y
        )
    assert model.estimate_ == 1 and np.isnan([*ends(model), model.standard_error_]).all()


def test_few_labels_have_students_t(table):
    X, y = table
    y = np.where(np.arange(len(y)) < 12, y, np.nan)
    found = MonteCarloPPI({"m": Mean("score")}, lambda m: m, N_DRAWS, 0).fit(X, y)
    scores = X["score"][:12]
    posterior = student_t(11, scores.mean(), scores.std() / np.sqrt(12))
    check_close(found, scores.mean(), posterior.std(), posterior.ppf([0.025, 0.975]))


def test_chain_rule_in_five_lines(table):
    X, y = table
    exact = ChainRulePPI().fit(X["verdict"], y)
    check_close(chain().fit(X, y), exact.estimate_, exact.standard_error_, ends(exact))


def test_side_by_side_in_five_lines(table):
    X, _ = table
    rng = np.random.default_rng(3)
    human = np.where(
        rng.random(len(X)) < 0.8, X["verdict"].map({"y": "w", "n": "l", "u": "t"}), "t"
    )
    human = np.where(np.arange(len(X)) < 150, human, None)
    wins = {a: KProportion("y", list("wtl"), given=lambda t, a=a: t["verdict"] == a) for a in "ynu"}

    def won_minus_lost(p, **h):
        return sum(p[:, i] * (h[a][:, 0] - h[a][:, 2]) for i, a in enumerate("ynu"))

    parameters = {"p": KProportion("verdict", list("ynu"), "unlabeled"), **wins}
    found = MonteCarloPPI(parameters, won_minus_lost, N_DRAWS, 0).fit(X, human)
    exact = ChainRulePPI(verdicts="side by side").fit(X["verdict"], human)
    check_close(found, exact.estimate_, exact.standard_error_, ends(exact))


def test_several_quantities_at_once(table):
    X, y = table

    def of_both(p):
        return np.column_stack([p, p / (1 - p)])

    found = MonteCarloPPI({"p": Proportion("y")}, of_both, N_DRAWS, 0).fit(X, y)
    k, n = np.nansum(y), 150
    low, high = beta(k + 0.5, n - k + 0.5).ppf([0.025, 0.975])
    assert found.draws_.values.shape == (N_DRAWS, 2) and found.draws_.kind == "posterior"
    assert_allclose(ends(found)[0], [low, low / (1 - low)], rtol=0.01)
    assert_allclose(ends(found)[1], [high, high / (1 - high)], rtol=0.01)
    assert found.estimate_.shape == (2,) and len(found.estimate(0.8)) == 2
    assert found.estimate().guarantee == "posterior"


def test_arrays_have_columns_x0_x1(table):
    X, y = table
    found = MonteCarloPPI({"m": Mean("x1", "all")}, lambda m: m, 100, 0)
    scores = np.column_stack([np.zeros(len(y)), X["score"]])
    same = MonteCarloPPI({"m": Mean("score", "all")}, lambda m: m, 100, 0).fit(X, y)
    assert ends(found.fit(scores, y)) == ends(same)


def test_mean_of_three_rows_warns(table):
    X, y = table
    y = np.where(np.arange(len(y)) < 3, y, np.nan)
    with pytest.warns(UserWarning, match=r"'m' has 3 rows.*standard_error_"):
        MonteCarloPPI({"m": Mean("score")}, lambda m: m, 100, 0).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "statistic"),
    [
        ({"m": Mean("scores")}, None),
        ({"m": Mean("y", "all")}, None),
        ({"m": Mean("verdict")}, None),
        ({"m": Mean("score", "judged")}, None),
        ({"m": Mean("score", given=lambda t: t["score"] > 2)}, None),
        ({"m": Proportion("score")}, None),
        ({"m": KProportion("verdict", ["y", "n"])}, None),
        ({"m": KProportion("verdict", ["y", "n", "y"])}, None),
        ({"m": Proportion("y", given=lambda t: t["score"] > 2)}, None),
        ({"m": KProportion("verdict", ["y", "n", "u"], given=lambda t: t["score"] > 2)}, None),
        ({"m": Mean("score")}, lambda m: m.mean()),
        ({"m": Mean("score")}, lambda m: m / 0),
    ],
)
def test_invalid_parameters_raise(table, parameters, statistic):
    with np.errstate(divide="ignore"), pytest.raises(ValueError):
        MonteCarloPPI(parameters, statistic or (lambda m: m), 50, 0).fit(*table)


def test_a_column_is_not_named_as_the_labels(table):
    X, y = table
    with pytest.raises(ValueError):
        MonteCarloPPI({"m": Mean("score")}, np.copy).fit(X.rename(columns={"score": "y"}), y)
