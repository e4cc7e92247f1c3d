"""Draws of the mean scores of fitted models over all items of a benchmark."""

import zlib
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from skbench.stats.intervals.worst_case import end_variances
from skbench.stats.item_response.assisted import assisted_mean, combined
from skbench.stats.item_response.unit_prediction import (
    drawn_answers,
    drawn_effects,
    drawn_expectations,
    drawn_sums,
    item_scores,
)

N_DRAWS = 2000
_ITEMS_AT_ONCE = 1024
_ONE_BY_ONE = 200  # items of a topic up to which single answers are drawn, not their sum
_LEAST_ASSISTED = 10
_LEAST_IN_TOPIC = 2


class Totals(NamedTuple):
    """Draws of mean scores in score units, without topics that have no item."""

    draws: np.ndarray  # (n_draws, n_models, n_topics)
    least: np.ndarray  # (n_models, n_topics), with all unobserved scores at the lower bound
    largest: np.ndarray
    size: np.ndarray  # (n_topics,), number of items
    topics: np.ndarray
    whole: np.ndarray  # (n_draws, n_models), over all items, with the model-assisted estimate

    def of(self, levels):
        """Draws, and smallest and largest possible scores, by model, topic or both."""
        if levels == ["model"]:
            share = self.size / self.size.sum()
            return self.whole, self.least @ share, self.largest @ share
        found = self.draws, self.least, self.largest
        if levels == ["topic"]:
            return tuple(part.mean(axis=-2) for part in found)
        if levels == ["topic", "model"]:
            return tuple(np.swapaxes(part, -1, -2) for part in found)
        return found


def totals_of(estimator, population, n_draws):
    """`Totals` of the new models of an estimator."""
    sampler = _Sampler(estimator, population, n_draws)
    there = sampler.size > 0
    size = sampler.size[there]
    share = size / size.sum()
    shape = n_draws, len(sampler.fits), len(size)
    draws, whole, ends = np.empty(shape), np.empty(shape[:2]), np.empty((2, *shape[1:]))
    for m, name in enumerate(estimator.models_):
        own, *ends[:, m] = (part[..., there] for part in sampler.of_model(m))
        whole[:, m] = sampler.with_assisted(m, name, own @ share, ends[:, m] @ share)
        draws[:, m] = own
    topics = np.asarray(population.topics, dtype=object)[there]
    return Totals(draws, *ends, size, topics, whole)


class _Sampler:
    """Draws of the scores of items that new models did not answer."""

    def __init__(self, estimator, population, n_draws):
        self.population, self.n_draws, self.design = population, n_draws, estimator._design
        self.bounds, self.random_sample = estimator._bounds, estimator.random_sample_
        self.codes, self.size = estimator.bank.topic_codes_, population.sizes()
        self.fits = list(estimator._fits.values())
        names = [zlib.crc32(str(name).encode()) for name in estimator.models_]
        # One random stream per model name, so that the order of the models does not matter.
        self.streams = [np.random.default_rng([estimator._seed, name]) for name in names]
        self.shared, together = shared_noise(self.fits, len(self.codes))
        q = self.design.bank.shape[1] + len(self.design.topics)
        own = np.stack([rng.standard_normal((n_draws, q), np.float32) for rng in self.streams])
        self.mixed = np.tensordot(np.linalg.cholesky(together).astype(np.float32), own, axes=1)
        self.seed = estimator._seed
        self.n_topics = len(population.topics)
        left = [self._of_topics(population.not_asked(f)[0]) for f in self.fits]
        # The same method for all models, because they share a part of their random numbers.
        fewest = np.min(np.where(np.array(left) > 0, left, np.inf), axis=0)
        self.many = np.isfinite(fewest) & (fewest > _ONE_BY_ONE)
        self.single = np.flatnonzero(~self.many[self.codes])

    def _of_topics(self, left):
        return np.bincount(self.codes, left, self.n_topics)

    def of_model(self, number):
        """Draws and bounds by topic."""
        fitted, design, rng = self.fits[number], self.design, self.streams[number]
        of_topic = partial(np.bincount, fitted.topic, minlength=self.n_topics)
        share = self.population.belongs(fitted).astype(float)
        n_seen, seen = of_topic(share), of_topic(share * fitted.y)
        left, beyond = self.population.not_asked(fitted)
        effects = drawn_effects(fitted.fit, self.mixed[number])
        drawn = self._of_bank(fitted, effects, left, rng)
        more = np.flatnonzero(beyond)
        if more.size:
            h = np.full(len(more), design.attenuation)
            rows = design.topics[more], more, h
            drawn[:, more] += self._beyond(fitted, effects, rows, beyond[more], rng)
        size, unseen = np.maximum(self.size, 1), self.size - n_seen
        left_out = np.where(unseen > 0, unseen, np.nan)
        units = design.scale * seen + design.center * n_seen
        least, largest = (
            (units + np.nan_to_num(left_out * end, nan=0.0, posinf=np.inf, neginf=-np.inf)) / size
            for end in self.bounds
        )
        draws = (design.scale * (seen + drawn) + design.center * self.size) / size
        if not fitted.is_answers:
            noise = np.sqrt(fitted.fit.noise * unseen) / size
            noise = self._normals(rng, self.shared) * design.scale * noise
            draws = np.clip(draws + noise, least, largest)
            failures = self._failures(fitted, draws.mean(axis=0), rng)
            draws = np.clip(draws + unseen / size * failures, least, largest)
        return draws, least, largest

    def _of_bank(self, fitted, effects, left, rng):
        """Draws of sums by topic over items of the bank."""
        X, codes = self.design.bank, self.codes
        if not fitted.is_answers:
            return drawn_expectations(effects, X[left], codes[left])
        drawn = self._one_by_one(effects, left, rng)
        if self.many.any():
            summed = left & self.many[codes]
            # The correlation of single answers, which are equal if both use the common number.
            normals = self._normals(rng, self.shared**2)
            drawn += drawn_sums(effects, X[summed], codes[summed], normals)
        return drawn

    def _one_by_one(self, effects, left, rng):
        """Draws of sums over answers that are drawn one by one."""
        common = np.random.default_rng([self.seed, 0])
        drawn = np.zeros((self.n_draws, self.n_topics))
        for start in range(0, len(self.single), _ITEMS_AT_ONCE):
            rows = self.single[start : start + _ITEMS_AT_ONCE]
            uniforms = self._uniforms(left[rows], common, rng)
            rows = rows[left[rows]]
            if not rows.size:
                continue
            topic = self.codes[rows]
            answers = drawn_answers(effects, self.design.bank[rows], topic, uniforms)
            there = np.unique(topic)
            drawn[:, there] += (np.equal.outer(there, topic).astype(np.float32) @ answers).T
        return drawn

    def _uniforms(self, left, common, rng):
        """Uniform numbers for unanswered items; models have a share of them in common."""
        own = rng.random((int(left.sum()), self.n_draws), np.float32)
        if self.shared == 0:
            return own
        of_all = common.random((len(left), self.n_draws), np.float32)[left]
        return np.where(rng.random(own.shape, np.float32) < self.shared, of_all, own)

    def _beyond(self, fitted, effects, rows, n, rng):
        """Draws of sums over items that are not in the bank."""
        coefficients, of_topics = effects
        X, topic, h = rows
        value = h * (coefficients @ X.T + of_topics[:, topic])
        if not fitted.is_answers:
            return n * value
        return rng.binomial(n, 1 / (1 + np.exp(-np.clip(value, -30, 30))))

    def _normals(self, rng, shared):
        """Normal numbers by topic, correlated between models."""
        own = rng.standard_normal((self.n_draws, self.n_topics))
        common = np.random.default_rng([self.seed, 1]).standard_normal(own.shape)
        return np.sqrt(1 - shared) * own + np.sqrt(shared) * common

    def _failures(self, fitted, mean, rng):
        """Draws of the effect on a score of rare failures that are not in the sample."""
        # The share of the variance of one additional worst case (stats.worst_case), on each side.
        n = max(len(fitted.y), 2)
        reach = np.sqrt(n / ((n + 1) ** 2 * (n - 1)))
        side = rng.standard_normal((self.n_draws, 1))
        away = [np.abs(end - mean) if np.isfinite(end) else 0.0 for end in self.bounds]
        return reach * np.where(side < 0, side * away[0], side * away[1])

    def with_assisted(self, number, name, drawn, ends):
        """Draws of the total, shifted and rescaled to include the model-assisted estimate."""
        fitted, mean, variance = self.fits[number], drawn.mean(), drawn.var()
        if not self._may_assist(name, fitted):
            return drawn
        other = self._assisted(fitted)
        value, wider, share = combined(mean, variance, other.value[0], other.variance[0])
        if not share > 0:
            return drawn
        moved = value + (drawn - mean) * np.sqrt(wider / variance)
        if fitted.is_answers:  # keep whole numbers of correct answers
            n = self.size.sum()
            moved = ends[0] + np.rint((moved - ends[0]) * n) / n
        return np.clip(moved, *ends)

    def _may_assist(self, name, fitted):
        """Whether the answered items are a random sample that is large enough."""
        # With fewer answers of either kind, the residual variance contradicts correct models.
        y = fitted.y
        rarer = min(y.sum(), len(y) - y.sum()) if fitted.is_answers else len(y)
        unseen = self.size.sum() > self.population.belongs(fitted).sum()
        return self.random_sample[name] and rarer >= _LEAST_ASSISTED and unseen

    def _assisted(self, fitted):
        """Model-assisted estimate of the total."""
        population, design = self.population, self.design
        inside = population.belongs(fitted)
        residual = (fitted.y - fitted.fit.held_out)[inside]
        ones = np.ones(len(self.codes))
        predicted = population.counts @ item_scores(fitted.fit, design.bank, self.codes, ones)
        more = np.flatnonzero(population.beyond)
        h = np.full(len(more), design.attenuation)
        of_more = item_scores(fitted.fit, design.topics[more], more, h)
        predicted += population.beyond[more] @ of_more
        group, size = np.zeros(len(residual), dtype=int), np.array([self.size.sum()])
        weight = self._weights(fitted, inside)
        found = assisted_mean(residual, weight, group, predicted / size, size)
        value = design.center + design.scale * found.value
        variance = design.scale**2 * found.variance
        if not fitted.is_answers:
            n, unseen = len(residual), 1 - len(residual) / size
            variance = unseen * np.maximum(
                *end_variances(value, variance / unseen, n, *self.bounds)
            )
        return found._replace(value=value, variance=variance)

    def _weights(self, fitted, inside):
        """Number of benchmark items that each answered item represents, up to a factor."""
        weight, topic = fitted.weight[inside], fitted.topic[inside]
        n = np.bincount(topic, minlength=self.n_topics)
        stratified = n[self.size > 0].min() >= _LEAST_IN_TOPIC
        if fitted.designed or not stratified:
            return weight
        return weight * (self.size / np.maximum(n, 1))[topic]


def shared_noise(fits, n_items):
    """Correlations between models: of answers given the prediction, and of estimation errors.

    Errors of two models are correlated if both answered the same items. To stabilize the estimate,
    one item on which the two disagree is added to the items of each pair.
    """
    rests, places = [], []
    for fitted in fits:
        known = fitted.position >= 0
        residual = (fitted.y - fitted.fit.held_out)[known]
        rests.append(residual / (np.sqrt(np.mean(residual**2)) or 1.0))
        places.append(fitted.position[known])
    at = np.concatenate(places), np.cumsum([0, *map(len, places)])
    rest = csr_matrix((np.concatenate(rests), *at), (len(fits), n_items))
    asked = csr_matrix((np.ones(len(at[0])), *at), rest.shape)
    n_both = (asked @ asked.T).toarray()
    pairs = np.triu(n_both > 0, 1)
    if not pairs.any():
        return 0.0, np.eye(len(fits))
    rho = np.clip(((rest @ rest.T).toarray() - 1)[pairs].sum() / (n_both + 1)[pairs].sum(), 0, 0.99)
    n_own = np.diag(n_both)
    together = rho * n_both / np.sqrt(np.maximum(np.outer(n_own, n_own), 1))
    np.fill_diagonal(together, 1.0)
    return float(rho), together
