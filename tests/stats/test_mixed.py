import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.linear_mixed_dense import DenseMixedModel
from scipy.special import expit
from scipy.stats import norm

from skbench.stats.mixed import _crossed as mixed
from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed import _gaussian as gaussian
from skbench.stats.mixed._design import design_of
from skbench.stats.mixed._intervals import skewed_interval
from skbench.stats.mixed._layout import layout
from skbench.stats.mixed._moments import Moments, mixture_moments
from skbench.stats.mixed._precision import Factored, Full, _inverses, inverse, precision_of
from skbench.stats.mixed._sites import tilted_moments
from skbench.stats.mixed._structure import Kinds, Noise, factor_of
from skbench.stats.mixed.covariances import feature_basis, feature_factors, item_correlation

PRIOR_STD = np.array([1.0, 0.5])


@pytest.fixture
def crossed():
    """28 topics x 4 models less a few cells, correlated errors of unequal size."""
    rng = np.random.default_rng(0)
    topic, model = np.divmod(rng.permutation(112)[:100], 4)
    correlation = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    correlation[0, 1] = correlation[1, 0] = 0.6
    sigma2 = rng.uniform(0.05, 0.4, 100)
    noise = np.where(topic[:, None] == topic, correlation[np.ix_(model, model)], 0)
    noise = noise * np.sqrt(np.outer(sigma2, sigma2))
    eta = np.array([0.0, 0.5, 1.0, -0.5])[model] + rng.normal(0, 0.8, 28)[topic]
    z = eta + rng.normal(0, 0.4, 100) + np.linalg.cholesky(noise) @ rng.normal(size=100)
    return z, sigma2, model, topic, correlation, noise


def dense_twin(z, noise, model, topic, more=()):
    scale = np.std(z)
    kernels = [np.equal.outer(topic, topic).astype(float), np.eye(len(z)), *more]
    X = np.equal.outer(model, np.arange(model.max() + 1)).astype(float)
    twin = DenseMixedModel((z - z.mean()) / scale, noise / scale**2, X, np.array(kernels), 1e-8)
    return twin, scale


@pytest.mark.usefixtures("at_the_maximum")
def test_gaussian_twin_against_explicit_matrices(crossed):
    z, sigma2, model, topic, correlation, noise = crossed
    fit = mixed.crossed_normal(z, sigma2, model, topic, correlation, unlike_share=0)
    twin, scale = dense_twin(z, noise, model, topic)
    variances = twin.best_variances(PRIOR_STD, [0.5, 0.1])
    # Fisher steps stop where the likelihood gains less than 1e-4.
    assert_allclose([fit.topic_variance, fit.interaction_variance], scale**2 * variances, rtol=0.01)
    mean, variance = twin.posterior(
        np.array([fit.topic_variance, fit.interaction_variance]) / scale**2
    )
    assert_allclose(fit.score, z.mean() + scale * mean, rtol=1e-6)
    assert_allclose(fit.score_variance, scale**2 * variance, rtol=1e-6)


@pytest.fixture
def factors(crossed):
    """A covariate with one coefficient, and one with a coefficient per model."""
    model, topic = crossed[2:4]
    x = np.random.default_rng(1).normal(size=(28, 3))[topic]
    return [x[:, :2], x[:, 2:] * np.equal.outer(model, np.arange(4))]


@pytest.mark.usefixtures("at_the_maximum")
def test_random_coefficients_against_explicit_matrices(crossed, factors):
    z, sigma2, model, topic, correlation, noise = crossed
    fit = mixed.crossed_normal(z, sigma2, model, topic, correlation, factors, unlike_share=0)
    twin, scale = dense_twin(z, noise, model, topic, [F @ F.T for F in factors])
    found = np.array([fit.topic_variance, fit.interaction_variance, *fit.factor_variances])
    best = scale**2 * twin.best_variances([1, 0.5, 1, 1], [0.5, 0.1, 0.1, 0.1])
    # Fisher steps stop where the likelihood gains less than 1e-4.
    assert_allclose(found, best, rtol=0.02, atol=1e-4)
    variances = found / scale**2
    mean, variance = twin.posterior(variances)
    assert_allclose(fit.score, z.mean() + scale * mean, rtol=1e-6)
    assert_allclose(fit.score_variance, scale**2 * variance, rtol=1e-6)
    # The same groups in a new topic: coefficients are all that is known of them.
    cross = np.tensordot(variances[2:], twin.kernels[2:], 1)[:5]
    own = variances[0] + variances[1] + np.diag(cross)
    mean, variance = twin.posterior(variances, cross, own, twin.X[:5])
    design = np.concatenate([twin.X, *factors], axis=1)[:5]
    ours = np.sum((design @ fit.coefficient_covariance) * design, axis=1) + found[:2].sum()
    assert_allclose(design @ fit.coefficients, z.mean() + scale * mean, rtol=1e-6)
    assert_allclose(ours, scale**2 * variance, rtol=1e-6)


def test_slopes_are_those_of_the_restricted_likelihood(crossed, factors):
    z, sigma2, model, topic, correlation, noise = crossed
    twin, scale = dense_twin(z, noise, model, topic, [F @ F.T for F in factors])
    arranged = mixed._arranged(model, topic, correlation, factors, 1e-8)
    where = arranged.where
    likelihood = fitting.Gaussian(
        where.blocks(twin.z), where.blocks(scale**2 / sigma2), arranged.correlation
    )
    problem = (*likelihood.start, likelihood.start_noise)
    variances, step = np.array([0.4, 0.2, 0.3, 0.1]), 1e-5
    slopes, differences, exact = gaussian.posterior(*problem, variances, arranged.structure), [], []
    for j in range(4):
        up, down = (variances * np.exp(s * step * np.eye(4)[j]) for s in (1, -1))
        for values, function in (
            (exact, twin.restricted_log_likelihood),
            (
                differences,
                lambda v: gaussian.log_evidence(*problem, v, arranged.structure),
            ),
        ):
            values.append((function(up) - function(down)) / (2 * step))
    # Central differences of sums of size 100 keep six digits.
    assert_allclose(slopes.gradient, exact, rtol=1e-4)
    assert_allclose(differences, exact, rtol=1e-4)


def test_topics_are_the_same_as_blocks_and_as_coefficients(crossed):
    z, _, model, topic, _, _ = crossed
    n = np.full(100, 12.0)
    k = np.round(12 * expit(z))
    indicators = np.equal.outer(topic, np.arange(28)).astype(float)
    found = []
    for topics, factors, prior_std in (
        (topic, (), [1.0, 0.5]),
        (np.arange(100), [indicators], [0.5, 1.0]),
    ):
        arranged = mixed._arranged(model, topics, None, factors, 0.16)
        where = arranged.where
        likelihood = fitting.Binomial(where.blocks(k), where.blocks(n))
        fit = fitting.fit_blocks(
            likelihood, arranged.structure, np.array(prior_std), arranged.start
        )
        found.append([where.rows(fit.posterior.mean), where.rows(fit.posterior.variance)])
    assert_allclose(found[1], found[0], rtol=0, atol=1e-3)


def test_right_and_wrong_are_symmetric(crossed):
    z, _, model, topic, correlation, _ = crossed
    k = np.round(9 * expit(z))
    right = mixed.crossed_logit(k, np.full(100, 9.0), model, topic, correlation)
    wrong = mixed.crossed_logit(9 - k, np.full(100, 9.0), model, topic, correlation)
    assert_allclose(right.score, 1 - wrong.score, rtol=0, atol=1e-6)
    assert_allclose(right.skewness, -wrong.skewness, rtol=0, atol=1e-4)


def test_many_items_give_the_direct_estimates(crossed):
    z, _, model, topic, _, _ = crossed
    n = np.full(100, 1e7)
    k = np.round(n * expit(z))
    assert_allclose(mixed.crossed_logit(k, n, model, topic).score, k / n, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_exact_values_are_kept(scale):
    rng = np.random.default_rng(24)
    topic, model = np.divmod(rng.permutation(28)[:20], 2)
    z = scale * (rng.normal(size=20) + rng.normal(size=14)[topic])
    _, topic = np.unique(topic, return_inverse=True)
    for factors in ((), [rng.normal(size=(topic.max() + 1, 3))[topic]]):
        fit = mixed.crossed_normal(z, np.zeros(20), model, topic, None, factors)
        # What is exact counts as known to 1e-10 of the variance of z.
        assert_allclose(fit.score, z, rtol=0, atol=1e-7 * scale)


@pytest.mark.slow
def test_counts_of_the_model_are_covered():
    hits = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        topic, model = np.divmod(np.arange(160), 4)
        eta = rng.normal(0.3, 0.6, 4)[model] + rng.normal(0, 0.8, 40)[topic]
        p = expit(eta + rng.normal(0, 0.4, 160))
        fit = mixed.crossed_logit(rng.binomial(8, p), np.full(160, 8), model, topic)
        low, high = skewed_interval(fit.mean, fit.variance, fit.skewness, 0.9)
        hits.append(np.mean((expit(low) <= p) & (p <= expit(high))))
    # Groups of one set share what is learned: the spread over sets sets the band.
    error = np.std(hits, ddof=1) / np.sqrt(len(hits))
    assert abs(np.mean(hits) - 0.9) < norm.ppf(0.9995) * error + 0.005


def test_correlated_errors_are_told_from_topics():
    kept = {"with": [], "without": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = expit(rng.normal(0, 0.6, 5) + rng.normal(0, 0.7, (40, 1)) + rng.normal(0, 0.3, (40, 5)))
        luck = np.sqrt(0.5) * rng.normal(size=(40, 10, 1))
        answers = luck + np.sqrt(0.5) * rng.normal(size=(40, 10, 5)) < norm.ppf(p)[:, None]
        R = item_correlation(answers.reshape(400, 5).astype(float), np.repeat(np.arange(40), 10))
        topic, model = np.divmod(np.arange(200), 5)
        for name, given in (("with", R), ("without", None)):
            k = answers.sum(axis=1).ravel()
            fit = mixed.crossed_logit(k, np.full(200, 10), model, topic, given)
            kept[name].append(np.mean((fit.score - p.ravel()) ** 2 / fit.score_variance))
    # 1 where errors are as large as claimed; forgetting the items that models share
    # takes the luck of a topic's items for the topic.
    assert abs(np.mean(kept["with"]) - 1) < 0.2
    assert np.mean(kept["without"]) > 1.7


@pytest.mark.parametrize(("k", "n"), [(0, 3), (3, 3), (40, 100), (0, 1000), (1.5, 2.5)])
@pytest.mark.parametrize(("mean", "variance"), [(0, 1), (3, 4), (-6, 0.3)])
def test_tilted_moments_against_a_fine_grid(k, n, mean, variance):
    x = np.linspace(-25, 25, 200_001)
    log_density = k * x - n * np.logaddexp(0, x) + norm(mean, np.sqrt(variance)).logpdf(x)
    weight = np.exp(log_density - log_density.max())
    exact_mean = np.sum(weight * x) / weight.sum()
    exact_variance = np.sum(weight * (x - exact_mean) ** 2) / weight.sum()
    log_mass = np.log(weight.sum() * (x[1] - x[0])) + log_density.max()
    found = tilted_moments(*(np.array([float(v)]) for v in (k, n, mean, variance)))
    # 24 Hermite points leave 1e-4 where the likelihood bends over a wide prior.
    assert_allclose(np.ravel(found), [exact_mean, exact_variance, log_mass], rtol=1e-3, atol=1e-4)


def test_layouts():
    topic, model = np.divmod(np.arange(6), 2)
    full = layout(model, topic)
    assert full.aligned
    assert full.design(np.empty((6, 0))).is_identity
    nested = layout(np.array([0, 1, 2, 0]), np.array([0, 1, 2, 3]))
    assert nested.slot_model.tolist() == [[0], [1], [2], [0]]
    repeated = layout(np.array([1, 1, 0]), np.array([0, 0, 0]))
    assert repeated.slot_model.tolist() == [[0, 1, 1]]
    assert_allclose(repeated.rows(repeated.blocks([5.0, 6.0, 7.0])), [5, 6, 7])


@pytest.mark.parametrize("own_per_topic, rest", [(True, 0), (False, 0), (False, 3), (None, 3)])
def test_products_of_designs_against_tables(own_per_topic, rest):
    rng = np.random.default_rng(0)
    filled = rng.random((7, 4)) < 0.8
    filled[:, 0] = True
    parts = [rng.normal(size=(7, 4, rest))]
    if own_per_topic is not None:
        parts.append(np.broadcast_to(rng.normal(size=(7, 1, 3)), (7, 4, 3)))
        feature = rng.normal(size=(7, 1 if own_per_topic else 4, 2))
        parts.append((np.eye(4)[:, :, None] * feature[:, :, None]).reshape(7, 4, 8))
    columns = np.concatenate(parts, axis=2) * filled[:, :, None]
    indicators = np.broadcast_to(np.eye(4), (7, 4, 4))
    design = design_of(indicators, columns, filled)
    kinds = design.own.shape[2], design.shared.shape[1], design.rest.shape[2]
    assert kinds == ((1, 0, 3) if own_per_topic is None else (3, 3, rest))
    table = np.concatenate([indicators, columns], axis=2)[:, :, design.order]
    K, both = table.shape[2], filled[:, :, None] & filled[:, None, :]
    root, effects = rng.normal(size=(7, 4, 4)), rng.normal(size=K)
    P, C = root @ np.swapaxes(root, 1, 2) * both, effects[:, None] * effects + np.eye(K)
    rows = table.reshape(-1, K)
    assert_allclose(
        design.information(Full(None, P, None), Kinds()),
        rows.T @ (P @ table).reshape(-1, K),
        atol=1e-12,
    )
    covariance = table @ C @ np.swapaxes(table, 1, 2)
    known = design.covariance(C)
    assert_allclose(known.dense() * both, covariance * both, atol=1e-12)
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    assert_allclose(known.diagonal()[filled], diagonal[filled], atol=1e-12)
    tables = rng.normal(size=(2, 7, 4, 3)) * filled[:, :, None]
    acted = known._replace(matrix=np.stack([C, 2 * C])).times(tables)
    assert_allclose(acted[1][filled], (2 * covariance @ tables[1])[filled], atol=1e-12)
    assert_allclose(design.times(effects)[filled], (table @ effects)[filled], atol=1e-12)
    values = rng.normal(size=(2, 7, 4)) * filled
    assert_allclose(design.collected(values), values.reshape(2, -1) @ rows, atol=1e-12)


@pytest.mark.parametrize("correlated", [True, False])
def test_blocks_of_a_kind_are_computed_once(correlated):
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(80), 4)
    arranged = mixed._arranged(
        model, topic, 0.7 * np.eye(4) + 0.3 if correlated else None, (), 1e-8
    )
    precision = np.repeat(rng.uniform(2, 20, 4), 5)[:, None] * np.ones(4)
    precision[3, 2] = 0.0
    likelihood = fitting.Gaussian(rng.normal(size=(20, 4)), precision, arranged.correlation)
    (W, b), noise = likelihood.start, likelihood.start_noise
    grouped = fitting.with_kinds(likelihood, arranged.structure)
    assert len(grouped.kinds.first) == 5
    found = []
    for structure in (arranged.structure, grouped):
        fit = gaussian.posterior(W, b, noise, np.array([0.5, 0.2]), structure)
        fit = gaussian.with_latent(structure, fit)
        risk = gaussian.unbiased_risk(W, b, noise, fit, structure)
        found.append([risk, *fit._replace(precision=None, slope=fit.slope if correlated else None)])
    for each, once in zip(*found, strict=True):
        assert each is once is None or np.allclose(each, once, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_families", [None, 1, 2])
@pytest.mark.parametrize("with_factor", [False, True])
def test_few_columns_are_the_whole_matrices(n_families, with_factor):
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(120), 20)
    W, values = rng.uniform(1e-5, 5, (6, 20)), rng.normal(size=(6, 20))
    W[2, 3] = 0.0
    matrix = noise = None
    if n_families:
        alike = np.kron(np.eye(n_families), np.ones((20 // n_families,) * 2))
        matrix = 0.6 * np.eye(20) + 0.4 * alike
        shared = fitting.split_correlation(matrix[None])[0]
        noise = Noise(rng.uniform(0.3, 1, (6, 20)), shared, factor_of(shared))
        assert noise.factor.shape[2] == n_families
    factors = [rng.normal(size=(120, 2))] if with_factor else ()
    structure = mixed._arranged(model, topic, matrix, factors, 0.16).structure
    structure = structure._replace(known=np.where(rng.random((6, 20)) < 0.1, 100.0, 0.0))
    known = structure.design.covariance(np.eye(structure.design.order.size) + 0.1)
    variances = np.array([0.5, 0.2, 0.3])[: 2 + with_factor]
    law = gaussian._law(W, noise, variances, structure)
    few, whole = precision_of(law), Full(law, *_inverses(law))
    assert isinstance(few, Factored)
    for part in ("dense", "diagonal", "sums"):
        assert_allclose(getattr(few, part)(), getattr(whole, part)(), atol=1e-12)
    assert_allclose(few.log_determinant, whole.log_determinant, rtol=1e-12)
    assert_allclose(few.added(Kinds()), whole.added(Kinds()), atol=1e-12)
    design = structure.design
    assert_allclose(few.information(design), whole.information(design), atol=1e-12)
    assert_allclose(few.times(Kinds(), values), whole.times(Kinds(), values), atol=1e-12)
    for part in ("noisy_variances", "latent_variances"):
        assert_allclose(getattr(few, part)(known), getattr(whole, part)(known), rtol=1e-9)


def test_steps_to_the_fixed_point_are_few_and_end_there(monkeypatch):
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(600), 30)
    eta = rng.normal(size=20)[topic] + 0.4 * rng.normal(size=600)
    k = rng.binomial(10, expit(eta)).astype(float)
    arranged = mixed._arranged(model, topic, 0.5 * np.eye(30) + 0.5, (), 0.16)
    likelihood = fitting.Binomial(
        *map(arranged.where.blocks, (k, np.full(600, 10.0))), arranged.correlation
    )
    problem = likelihood, arranged.structure, arranged.prior_std, arranged.start
    calls, posterior = [], gaussian.posterior
    monkeypatch.setattr(
        gaussian, "posterior", lambda *a, **kw: calls.append(1) or posterior(*a, **kw)
    )
    fit = fitting.fit_blocks(*problem)
    assert len(calls) <= 18  # 35 where each step starts from the last alone
    monkeypatch.setattr(fitting, "_TOLERANCE", 1e-10)
    # A third of the tolerance of the steps, on the scale of log odds.
    assert_allclose(fit.posterior.mean, fitting.fit_blocks(*problem).posterior.mean, atol=1e-5)


def test_inverses_by_halves():
    root = np.random.default_rng(0).normal(size=(2, 50, 70))
    matrices = root @ np.swapaxes(root, 1, 2)
    found, log_determinant = inverse(matrices)
    assert_allclose(found @ matrices, np.broadcast_to(np.eye(50), (2, 50, 50)), atol=1e-10)
    assert_allclose(log_determinant, np.linalg.slogdet(matrices)[1], rtol=1e-12)


def test_factors_against_kernels():
    rng = np.random.default_rng(0)
    model, X = np.arange(60) % 3, rng.normal(size=(20, 4)).repeat(3, axis=0) * [1, 5, 0.1, 0]
    x = X[:, :3] / X[:, :3].std(axis=0)
    distance = np.sum((x[:, None] - x) ** 2, axis=2)
    linear = (x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T / 3
    expected = [
        np.exp(-distance / np.median(distance[distance > 1e-9])),
        linear,
        np.where(np.equal.outer(model, model), linear, 0),
    ]
    basis = feature_basis(X)
    factors = feature_factors(basis, X, model, 3)
    for F, kernel in zip(factors, expected, strict=True):
        assert_allclose(F @ F.T, kernel, atol=1e-6)
    # Of groups elsewhere the smooth factor knows what the fitted ones tell.
    new = rng.normal(size=(5, 4))
    cross = feature_factors(basis, new, model[:5], 3)[0] @ factors[0].T
    gap = (new[:, None, :3] / X[:, :3].std(axis=0) - x) ** 2
    bandwidth = np.median(distance[distance > 1e-9])
    assert_allclose(cross, np.exp(-gap.sum(axis=2) / bandwidth), atol=1e-5)


def test_factors_of_many_groups_are_few_and_near():
    rng = np.random.default_rng(0)
    X, model = rng.normal(size=(2000, 2)), np.arange(2000) % 40
    smooth, linear, within = feature_factors(feature_basis(X), X, model, 40)
    assert (smooth.shape[1], linear.shape[1], within.shape[1]) == (50, 2, 80)
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    distance = np.sum((x[:100, None] - x[:100]) ** 2, axis=2)
    # The median squared distance of two normal features, less than 4 as a mean: 4 log 2.
    kernel = np.exp(-distance / (4 * np.log(2)))
    assert np.abs(smooth[:100] @ smooth[:100].T - kernel).max() < 0.1


def test_missing_features_are_average():
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    filled = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    basis = feature_basis(X)
    linear, expected = (
        feature_factors(basis, table, np.zeros(3, dtype=int), 1)[1] for table in (X, filled)
    )
    assert_allclose(linear, expected, atol=1e-12)


def test_item_correlation_against_corrcoef():
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(3), 400)
    scores = rng.normal(size=(1200, 1)) + rng.normal(size=(1200, 3)) * [0.5, 1.0, 2.0]
    scores = scores + topic[:, None]
    centered = scores - np.array([scores[topic == t].mean(axis=0) for t in range(3)])[topic]
    # Chance explains little of the scatter of 1200 items, so little is drawn to the mean.
    raw = np.corrcoef(centered.T)
    assert_allclose(item_correlation(scores, topic), raw, rtol=0, atol=0.01)


def test_item_correlation_is_drawn_to_its_mean_as_far_as_chance_explains():
    """One topic of complete scores: Schafer and Strimmer's weight, written out."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(60, 1)) + rng.normal(size=(60, 4)) * [0.3, 1.0, 3.0, 3.0]
    raw = np.corrcoef(scores.T)
    pairs = raw[np.triu_indices(4, 1)]
    weight = np.sum((1 - pairs**2) ** 2 / 60) / np.sum((pairs - pairs.mean()) ** 2)
    assert 0.05 < weight < 0.5
    expected = (1 - weight) * raw + weight * pairs.mean()
    np.fill_diagonal(expected, 1)
    assert_allclose(item_correlation(scores, np.zeros(60, dtype=int)), expected)


def test_pairs_of_models_without_items_in_common_get_the_mean():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(200, 1)) + rng.normal(size=(200, 3))
    scores[2:100, 0] = np.nan
    scores[100:, 1] = np.nan
    found = item_correlation(scores, np.zeros(200, dtype=int))
    assert_allclose(found[0, 1], (found[0, 2] + found[1, 2]) / 2, atol=0.02)


def test_item_correlation_is_one_where_pairs_contradict_each_other():
    """Each pair answered items of its own: 1 and 2 alike, 2 and 3 alike, 1 and 3 opposed."""
    rng = np.random.default_rng(4)
    scores = np.full((300, 3), np.nan)
    for part, (first, second, sign) in enumerate([(0, 1, 1), (1, 2, 1), (0, 2, -1)]):
        rows = slice(100 * part, 100 * (part + 1))
        scores[rows, first] = rng.normal(size=100)
        scores[rows, second] = sign * scores[rows, first]
    matrix = item_correlation(scores, np.repeat([0, 1, 2], 100))
    assert_allclose(np.diag(matrix), 1)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    assert_allclose(matrix[[0, 1, 0], [1, 2, 2]], [0.5, 0.5, -0.5])


def test_item_correlation_of_few_items_is_usable():
    scores = np.random.default_rng(0).integers(0, 2, size=(12, 40)).astype(float)
    scores[:, 0] = 1.0
    scores[:6, 1] = np.nan
    matrix = item_correlation(scores, np.repeat([0, 1], 6))
    assert_allclose(np.diag(matrix), 1, rtol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    # Raw correlations of twelve items reach .9 by chance.
    assert np.abs(matrix - np.eye(40)).max() < 0.4


def test_risk_and_information_by_explicit_matrices():
    rng = np.random.default_rng(5)
    W, y, variances = rng.uniform(0.5, 3, (5, 3)), rng.normal(size=(5, 3)), np.array([0.7, 0.4])
    kernels = np.stack([np.ones((3, 3)), np.eye(3)])
    topic, model = np.divmod(np.arange(15), 3)
    structure = mixed._arranged(model, topic, None, (), 0.01).structure
    fit = gaussian.posterior(W, W * y, None, variances, structure)

    K = [np.kron(np.eye(5), kernel) for kernel in kernels]
    inverse = np.linalg.inv(variances[0] * K[0] + variances[1] * K[1] + np.diag(1 / W.ravel()))
    X = np.tile(np.eye(3), (5, 1))
    covariance = np.linalg.inv(X.T @ inverse @ X + 0.01 * np.eye(3))
    P = inverse - inverse @ X @ covariance @ X.T @ inverse
    residual = P @ y.ravel()
    noise = 1 / W.ravel()
    risk = (noise * residual) ** 2 + noise - 2 * noise**2 * np.diag(P)
    assert_allclose(gaussian.unbiased_risk(W, W * y, None, fit, structure).ravel(), risk)
    pulled = [kernel @ residual for kernel in K]
    information = [
        [v * u * (f @ P @ g) / 2 for u, g in zip(variances, pulled, strict=True)]
        for v, f in zip(variances, pulled, strict=True)
    ]
    assert_allclose(fit.information, information)


@pytest.mark.parametrize("common", [0.3, 0.95, 1.0])
def test_correlations_leave_every_model_an_error_of_its_own(common):
    shared, own = fitting.split_correlation(np.full((3, 3), common) + (1 - common) * np.eye(3))
    assert_allclose(own, max(1 - common, 0.1))
    assert_allclose(np.diag(shared) + own, 1)
    assert_allclose(np.linalg.eigvalsh(shared).min(), 0, atol=1e-12)


def test_moments_of_a_mixture_from_raw_moments():
    weights, mean = np.array([0.3, 0.7]), np.array([1.0, 3.0])
    variance, third = np.array([0.5, 2.0]), np.array([0.1, -0.4])
    columns = np.array([mean, variance, third, mean, variance])
    parts = [Moments(*column) for column in columns.T[:, :, None]]
    first = weights @ mean
    second = weights @ (variance + mean**2)
    cube = weights @ (third + 3 * mean * variance + mean**3)
    found = mixture_moments(parts, weights)
    central = second - first**2, cube - 3 * first * second + 2 * first**3
    assert_allclose(np.ravel(found), [first, *central, first, central[0]])


def test_skewed_interval_against_a_gamma_law():
    from scipy.stats import gamma

    law = gamma(100)
    low, high = skewed_interval(law.mean(), law.var(), law.stats("s"), 0.95)
    # Cornish-Fisher to the third moment is off by terms of 1 / 100 standard deviations.
    assert_allclose([low, high], law.ppf([0.025, 0.975]), atol=0.02 * law.std())


def test_risk_estimate_is_unbiased():
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(400), 4)
    arranged = mixed._arranged(model, topic, 0.7 * np.eye(4) + 0.3, (), 1e-8)
    variances, sigma2 = np.array([0.5, 0.1]), np.full((100, 4), 0.2)
    root = np.linalg.cholesky(0.2 * (0.7 * np.eye(4) + 0.3))
    errors, risks = [], []
    for _ in range(200):
        # Twice the interaction that the model is told: unbiased whatever the model.
        eta = np.sqrt(0.5) * rng.normal(size=(100, 1)) + np.sqrt(0.2) * rng.normal(size=(100, 4))
        z = eta + rng.normal(size=(100, 4)) @ root.T
        likelihood = fitting.Gaussian(z, 1 / sigma2, arranged.correlation)
        problem = (*likelihood.start, likelihood.start_noise)
        found = gaussian.posterior(*problem, variances, arranged.structure)
        risks.append(gaussian.unbiased_risk(*problem, found, arranged.structure).mean())
        errors.append(np.mean((found.mean - eta) ** 2))
    found = gaussian.with_latent(arranged.structure, found)
    gap = np.array(risks) - errors
    assert abs(gap.mean()) < 3.3 * gap.std(ddof=1) / np.sqrt(len(gap))
    assert np.mean(errors) > 1.1 * found.variance.mean()


def coverage_of_the_model_itself(n_sets=40):
    """Coverage in each of some sets of 40 topics with small effects and five items."""
    topic, model = np.divmod(np.arange(120), 3)
    hits = []
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        eta = 0.3 * model + 0.25 * rng.normal(size=40)[topic] + 0.2 * rng.normal(size=120)
        k = rng.binomial(5, expit(eta))
        fit = mixed.crossed_logit(k, np.full(120, 5), model, topic)
        low, high = skewed_interval(fit.mean, fit.variance, fit.skewness)
        hits.append(np.mean((low <= eta) & (eta <= high)))
    return np.mean(hits), np.std(hits, ddof=1) / np.sqrt(n_sets)


def test_uncertain_variances_are_integrated_over():
    # Groups of a topic are dependent: the spread over sets is the yardstick.
    coverage, error = coverage_of_the_model_itself()
    assert coverage > 0.95 - 3 * error


@pytest.mark.usefixtures("at_the_maximum")
def test_variances_at_their_maximum_cover_too_little():
    coverage, error = coverage_of_the_model_itself()
    assert coverage < 0.95 - 2 * error


@pytest.mark.parametrize("shape", ["shared items", "own items", "one model", "gaps", "exact"])
def test_several_fits_together_are_those_alone(shape):
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(120), 1 if shape == "one model" else 6)
    correlation = 0.6 * np.eye(6) + 0.4 if shape == "shared items" else None
    if shape == "gaps":
        # No common correlation: whole matrices, of topics of different models.
        correlation = np.corrcoef(rng.normal(size=(6, 12)))
        kept = rng.random(120) < 0.7
        topic, model = topic[kept], model[kept]
    eta = rng.normal(size=topic.max() + 1)[topic]
    sigma2 = rng.choice([0.3, 0.5], size=topic.max() + 1)[topic]
    several = eta + rng.normal(0, [[0.2], [0.7], [1.5]], (3, len(topic)))
    several += rng.normal(size=several.shape) * np.sqrt(sigma2)
    several[1, 7] -= 9  # unlike its peers, in one of the fits alone
    if shape == "exact":
        several[2] *= 1e-3
        sigma2 = np.where(topic % 2, 5e-7, sigma2)  # exact but for rounding in the first two
    data = sigma2, model, topic, correlation
    # The last digit of an all but exact score moves all estimates by 2e-9, alone too.
    exact_to = {"rtol": 1e-7, "atol": 2e-8} if shape == "exact" else {"rtol": 1e-9, "atol": 1e-11}
    found = mixed.crossed_normal_each(several, *data)
    for z, fit in zip(several, found, strict=True):
        apart = mixed.crossed_normal(z, *data)
        for name in fit._fields:
            assert_allclose(getattr(fit, name), getattr(apart, name), err_msg=name, **exact_to)
    assert shape == "exact" or found[1].unlike_peers[7] > 0.9 > found[0].unlike_peers[7]
