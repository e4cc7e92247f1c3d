"""From fitted models to the mean scores over all items of a benchmark."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import plain, require_columns
from skbench.bank._rows import positions_and_topics
from skbench.stats.item_response.assisted import assisted_mean, combined, moments_within
from skbench.stats.item_response.unit_prediction import item_sums, sum_moments

_LEAST_ASSISTED = 10
_LEAST_IN_TOPIC = 2


class Moments(NamedTuple):
    """Posterior of mean scores, in score units."""

    labels: list  # an array per level
    mean: np.ndarray
    variance: np.ndarray
    least: np.ndarray
    largest: np.ndarray
    all_least: np.ndarray  # whether every score seen of the model was the least there is
    all_largest: np.ndarray


class Population(NamedTuple):
    """All items of a benchmark."""

    estimator: object
    counts: np.ndarray  # (n_items,), 1 for items of the bank that belong to it, else 0
    beyond: np.ndarray  # (n_topics,), number of items that the bank lacks
    topics: list

    def moments(self, levels):
        """`Moments` by model, by topic, or by both."""
        every = [self._of_model(name, levels) for name in self.estimator.models_]
        models = np.asarray(self.estimator.models_)
        topics = np.asarray(self.topics, dtype=object)[self.sizes() > 0]
        parts = [np.stack(part) for part in zip(*every, strict=True)]
        if levels == ["model"]:
            return Moments([models], *(part[:, 0] for part in parts))
        if levels == ["topic"]:
            mean, variance, least, largest, *alike = parts
            rho = _shared_noise(self.estimator)
            std = np.sqrt(variance)
            together = rho * std.mean(axis=0) ** 2 + (1 - rho) * (std**2).mean(axis=0) / len(std)
            ends = least.mean(axis=0), largest.mean(axis=0)
            alike = (part.all(axis=0) for part in alike)
            return Moments([topics], mean.mean(axis=0), together, *ends, *alike)
        labels = np.repeat(models, len(topics)), np.tile(topics, len(models))
        if levels == ["model", "topic"]:
            return Moments([*labels], *(part.ravel() for part in parts))
        order = np.arange(len(labels[0])).reshape(len(models), -1).T.ravel()
        labels = [labels[1][order], labels[0][order]]
        return Moments(labels, *(part.ravel()[order] for part in parts))

    def sizes(self):
        """Number of items by topic."""
        codes = self.estimator.bank.topic_codes_
        return np.bincount(codes, self.counts, len(self.topics)) + self.beyond

    def _of_model(self, name, levels):
        """Mean, variance and bounds by topic, or of the whole."""
        fitted, design = self.estimator._fits[name], self.estimator._design
        of_topic = partial(np.bincount, fitted.topic, minlength=len(self.topics))
        share = self._share(fitted)
        seen, total = of_topic(share), of_topic(share * fitted.y)
        member = np.eye(len(self.topics))[self.sizes() > 0]
        if levels == ["model"]:
            member = member.sum(axis=0, keepdims=True)
        sums = self._sums(fitted)
        mean, covariance = sum_moments(fitted.fit, sums, member)
        size, n_seen, total = (member @ of_all for of_all in (self.sizes(), seen, total))
        variance = np.diag(covariance) / size**2
        value = (total + mean) / size
        if levels == ["model"] and self._may_assist(name, fitted):
            other = self._assisted(fitted, sums, size)
            value, variance, _ = combined(value, variance, other.value, other.variance)
        low, high = self.estimator._bounds
        least, largest = (
            (total * design.scale + design.center * n_seen + (size - n_seen) * end) / size
            if np.isfinite(end)
            else np.full(len(size), end)
            for end in (low, high)
        )
        value = design.center + design.scale * value
        variance = design.scale**2 * variance
        scores = design.center + design.scale * fitted.y
        alike = (np.full(len(size), np.allclose(scores, end, 1e-9, 1e-9)) for end in (low, high))
        if fitted.noise is None:
            return np.clip(value, least, largest), variance, least, largest, *alike
        return *moments_within(value, variance, least, largest), least, largest, *alike

    def _share(self, fitted):
        """Whether each item asked belongs to the benchmark."""
        known = fitted.position >= 0
        return np.where(known, self.counts[fitted.position], self.beyond[fitted.topic] > 0)

    def _sums(self, fitted):
        """Expected scores of the items not asked, by topic."""
        design, codes = self.estimator._design, self.estimator.bank.topic_codes_
        left = self.counts.astype(float)
        known = fitted.position >= 0
        left[fitted.position[known]] = 0
        asked = np.bincount(fitted.topic[~known], minlength=len(self.topics))
        beyond = np.maximum(self.beyond - asked, 0)
        more = np.flatnonzero(beyond)
        X = np.concatenate([design.bank, design.topics[more]])
        attenuation = np.append(np.ones(len(codes)), np.full(len(more), design.attenuation))
        topic = np.append(codes, more)
        share = np.append(left, beyond[more])
        return item_sums(fitted.fit, X, topic, attenuation, share, fitted.noise)

    def _assisted(self, fitted, sums, size):
        """Assisted estimate of the whole."""
        share = self._share(fitted) > 0
        residual = (fitted.y - fitted.fit.held_out)[share]
        predicted = self.counts @ sums.expected[: len(self.counts)]
        predicted += self.beyond[self.beyond > 0] @ self._beyond_means(fitted)
        group = np.zeros(len(residual), dtype=int)
        weight = self._weights(fitted, share)
        return assisted_mean(residual, weight, group, predicted / size, size)

    def _weights(self, fitted, share):
        """Items of the benchmark that each item asked stands for, up to a factor."""
        weight, topic = fitted.weight[share], fitted.topic[share]
        n = np.bincount(topic, minlength=len(self.topics))
        stratified = n[self.sizes() > 0].min() >= _LEAST_IN_TOPIC
        if fitted.designed or not stratified:
            return weight
        return weight * (self.sizes() / np.maximum(n, 1))[topic]

    def _may_assist(self, name, fitted):
        """Whether the items asked are a random sample, large enough for a variance of residuals."""
        # With fewer answers of either kind that variance contradicts models that are right.
        y = fitted.y
        rarer = len(y) if fitted.noise is not None else min(y.sum(), len(y) - y.sum())
        return self.estimator.random_sample_[name] and rarer >= _LEAST_ASSISTED

    def _beyond_means(self, fitted):
        """Expected scores of items that the bank lacks, by topic that has some."""
        more = np.flatnonzero(self.beyond)
        design = self.estimator._design
        h = np.full(len(more), design.attenuation)
        sums = item_sums(fitted.fit, design.topics[more], more, h, h, fitted.noise)
        return sums.expected


def population_of(estimator, population):
    """The `Population` of sizes by topic, or of a table of items."""
    bank = estimator.bank
    topics, whole = [*bank.topics_, *estimator._new_topics], np.ones(len(bank.items_))
    if population is None:
        return Population(estimator, whole, np.zeros(len(topics)), topics)
    if isinstance(population, pd.DataFrame):
        return _from_items(estimator, population, topics)
    sizes = pd.Series(population, dtype=float)
    _refuse_unknown(sizes.index, topics)
    wrong = ~np.isfinite(sizes) | (sizes < 0) | (sizes != np.round(sizes))
    if wrong.any():
        name = sizes.index[int(np.argmax(wrong))]
        raise ValueError(
            f"population must be numbers of items, but topic {name!r} has {sizes[name]:g}."
        )
    sizes = sizes.reindex(topics, fill_value=0).to_numpy()
    in_bank = np.bincount(bank.topic_codes_, minlength=len(topics))
    beyond = sizes - in_bank
    short = [("the bank has", in_bank, beyond < 0)]
    for name, fitted in estimator._fits.items():
        asked = np.bincount(fitted.topic[fitted.position < 0], minlength=len(topics))
        short.append(
            (f"beyond the bank {name!r} was asked", asked, (0 < beyond) & (beyond < asked))
        )
    for what, n, bad in short:
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(
                f"population has {sizes[first]:g} items of topic {plain(topics[first])!r}, but "
                f"{what} {n[first]}. Pass a table of its items (topic and item) if it has fewer."
            )
    return Population(estimator, whole, beyond, topics)


def _refuse_unknown(names, topics):
    """Refuse topics that neither the bank nor the items asked have."""
    unknown = [name for name in names if name not in topics]
    if unknown:
        raise ValueError(f"population names topic {unknown[0]!r}, of which nothing is known.")


def _from_items(estimator, items, topics):
    """The `Population` of a table of items."""
    require_columns(items.columns, [estimator.item], "population")
    items = items.drop_duplicates([c for c in (estimator.topic, estimator.item) if c in items])
    position, code, new = positions_and_topics(
        estimator.bank, items, estimator.topic, estimator.item
    )
    _refuse_unknown(new, topics)
    code = pd.Index(topics).get_indexer([*estimator.bank.topics_, *new])[code]
    counts = np.zeros(len(estimator.bank.items_))
    counts[position[position >= 0]] = 1
    beyond = np.bincount(code[position < 0], minlength=len(topics)).astype(float)
    return Population(estimator, counts, beyond, topics)


def _shared_noise(estimator):
    """Correlation of what models answer on the same items beyond the prediction."""
    fits = list(estimator._fits.values())
    if len(fits) < 2:
        return 0.0
    rest = np.full((len(fits), len(estimator.bank.items_)), np.nan)
    for row, fitted in zip(rest, fits, strict=True):
        known = fitted.position >= 0
        residual = (fitted.y - fitted.fit.held_out)[known]
        row[fitted.position[known]] = residual / (np.sqrt(np.mean(residual**2)) or 1.0)
    n = np.isfinite(rest).sum(axis=0)
    pairs = (n * (n - 1)).sum()
    if pairs == 0:
        return 0.0
    together = np.nansum(rest, axis=0) ** 2 - np.nansum(rest**2, axis=0)
    return float(np.clip(together.sum() / pairs, 0, 1))
