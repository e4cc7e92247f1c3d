"""digits-C: a real robustness benchmark, small enough to compute on demand."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skbench._checks import of_one_type, require_columns
from skbench._jobs import results
from skbench._progress import steps
from skbench._random import as_generator
from skbench._types import Count, Jobs, RandomState, checked
from skbench.datasets._data import ItemData
from skbench.datasets.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from skbench.items.rows import as_frame, refuse_missing

_DESCRIPTION = """\
digits-C: accuracy of five classifiers on corrupted handwritten digits

Five scikit-learn classifiers are trained on one half of scikit-learn's digits
(8 x 8 gray images of ten digits, split by digit). They are tested on the other
half, {n_images} images, under ten corruptions at five severities each. A topic is
one corruption at one severity. The {n_topics} topics and {n_models} models make {n_groups} groups.
All models are tested on the same corrupted images.

Models: {models}.
Corruptions: {corruptions}.
"""


@checked
def load_digits_c(*, n_jobs: Jobs = None, random_state: RandomState = 0) -> ItemData:
    """Compute digits-C: predictions of five classifiers on corrupted handwritten digits.

    There are ten corruptions with five severities each. Each of these 50 combinations is a topic.
    Accuracies range from nearly 1 at severity 1 to about 0.1 (guessing) at severity 5. The data
    contain the score of each classifier on every image. Estimates from a few images per topic
    (`sample_items`) can therefore be compared with the accuracy on all images.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of topics computed in parallel, as in joblib. None means 1 unless
        `joblib.parallel_config` is used. The result does not depend on it.
    random_state : None, int, RandomState or Generator, default=0
        Seed of the split, the training and the corruptions.

    Returns
    -------
    ItemData
        With attributes

        - items : DataFrame, one row per model and item, with columns `model`,
          `topic` (such as "blur-3"), `corruption`, `severity` (1 to 5), `item`
          (such as "blur-3/0412", with the number of the image in scikit-learn's
          digits), `score` (1 if correct, else 0) and `confidence` (the highest
          predicted probability, which is not calibrated on corrupted images).
        - truth : Series of accuracies on all images, indexed by model and topic.
        - features : DataFrame indexed by topic, columns `corruption`, `severity`.
        - DESCR : str, description of the data.

    See Also
    --------
    sample_items : Sample items per topic, the same for all models.
    make_items : Simulate items for any number of models and topics.

    Notes
    -----
    All topics use the same images, so the accuracies of a model on the full topics are correlated.
    `sample_items` draws the images of each topic separately. Accuracies in small samples are
    therefore nearly independent.

    `random_state` also changes the training images. Most accuracies then change by a few
    hundredths. With strong dimming or low contrast, some change by up to 0.3. The reason is that
    a model predicts the same digit for all faint images, and this digit depends on the training
    images.

    When not to use it: as evidence about benchmarks of large language models. Corruption and
    severity predict the scores of the 50 topics well. Regression therefore works better here than
    on most leaderboards.

    The design with fixed corruptions at five severities follows [1]_. The corruptions, images and
    models are different.

    References
    ----------
    .. [1] Hendrycks and Dietterich (2019). Benchmarking Neural Network
       Robustness to Common Corruptions and Perturbations.

    Examples
    --------
    >>> from skbench.datasets import load_digits_c
    >>> data = load_digits_c()  # doctest: +SKIP
    >>> data.items["topic"].nunique(), len(data.truth)  # doctest: +SKIP
    (50, 250)
    >>> bool(data.truth["nearest neighbours", "blur-1"] > 0.9)  # doctest: +SKIP
    True
    """
    entropy = as_generator(random_state).integers(2**63)
    split_seed, fit_seed, *topic_seeds = np.random.SeedSequence(entropy).spawn(
        2 + len(CORRUPTIONS) * len(SEVERITIES)
    )
    train, test, train_digits, digits, numbers = _halves(_legacy(split_seed))
    models = _fitted_models(train, train_digits, _legacy(fit_seed))
    topics = [(corruption, severity) for corruption in CORRUPTIONS for severity in SEVERITIES]

    calls = (
        (models, test, digits, *topic, seed)
        for topic, seed in zip(topics, topic_seeds, strict=True)
    )
    work = results(_answers, calls, len(topics), n_jobs)
    answers = zip(*steps(work, "topics", len(topics)), strict=True)
    scores, confidences = (np.stack(part) for part in answers)
    items = _rows(list(models), topics, numbers, scores, confidences)
    return ItemData(
        items=items,
        truth=items.groupby(["model", "topic"], sort=False)["score"].mean().rename("truth"),
        features=_topic_features(topics),
        DESCR=_DESCRIPTION.format(
            n_images=len(test),
            n_topics=len(topics),
            n_models=len(models),
            n_groups=len(topics) * len(models),
            models=", ".join(models),
            corruptions=", ".join(CORRUPTIONS),
        ),
    )


@checked
def sample_items(
    items: pd.DataFrame,
    n_per_topic: Count,
    *,
    topic: str = "topic",
    item: str = "item",
    random_state: RandomState = None,
) -> pd.DataFrame:
    """Sample a few items per topic, the same items for all models.

    Parameters
    ----------
    items : pandas.DataFrame
        One row per model and item.
    n_per_topic : int
        Number of items to draw from every topic, without replacement.
    topic : str, default="topic"
        The topic column.
    item : str, default="item"
        The column of item ids, unique within a topic. An item has the same id for all models.
    random_state : None, int, RandomState or Generator, default=None
        Seed of the sample.

    Returns
    -------
    pandas.DataFrame
        The rows of the sampled items, with the order and index of `items`. A model that did not
        answer a sampled item has one row less in that topic.

    Raises
    ------
    ValueError
        If there are no rows, if a column or a value is missing, if `n_per_topic` is not an
        integer of at least 1, or if a topic has fewer items.

    Notes
    -----
    The sample depends on the ids and on `random_state`, but not on the order of rows.

    When not to use it: to imitate a benchmark with topics of different sizes, because the sample
    has the same number of items in each topic.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench.datasets import sample_items
    >>> items = pd.DataFrame({"topic": "law", "model": ["a", "a", "b", "b"],
    ...                       "item": [1, 2, 1, 2], "score": [1, 0, 1, 1]})
    >>> sample_items(items, 1, random_state=0)["model"].tolist()
    ['a', 'b']
    """
    items = as_frame(items, in_memory=True).to_pandas()
    require_columns(items.columns, [topic, item])
    refuse_missing(items[[topic, item]])
    keys = items[[topic, item]].apply(of_one_type)
    # Categories would sort by their codes, not by their values.
    names = [keys[name].astype(object).to_numpy() for name in (topic, item)]
    pair = keys.groupby(names, sort=True).ngroup().to_numpy()
    # Codes are sorted by topic and id, so the sample does not depend on the order of rows.
    _, first_row = np.unique(pair, return_index=True)
    topics = keys[topic].iloc[first_row].reset_index(drop=True)
    sizes = topics.groupby(topics, observed=True, sort=False).size()
    if sizes.min() < n_per_topic:
        raise ValueError(
            f"{topic} {sizes.idxmin()!r} has {sizes.min()} items, fewer than "
            f"n_per_topic={n_per_topic}. Lower n_per_topic, or drop small topics first."
        )
    place = pd.Series(as_generator(random_state).random(len(topics)))
    drawn = place.groupby(topics, observed=True, sort=False).rank(method="first") <= n_per_topic
    return items[drawn.to_numpy()[pair]]


def _legacy(seed):
    """Return a seed for scikit-learn, which does not accept a SeedSequence."""
    return int(seed.generate_state(1)[0])


def _halves(seed):
    """Return training and test images, their digits, and the numbers of the test images."""
    data = load_digits()
    images = data.images / 16
    train, test, train_digits, digits, _, numbers = train_test_split(
        images,
        data.target,
        np.arange(len(images)),
        test_size=0.5,
        stratify=data.target,
        random_state=seed,
    )
    order = np.argsort(numbers)
    return train, test[order], train_digits, digits[order], numbers[order]


def _fitted_models(images, digits, seed):
    """Train five different fast classifiers."""
    models = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "nearest neighbours": KNeighborsClassifier(n_neighbors=5),
        "random forest": RandomForestClassifier(n_estimators=100, random_state=seed),
        "support vector machine": CalibratedClassifierCV(SVC(), ensemble=False),
        # With the default 1e-9, pixels that are always 0 would have almost no variance.
        "naive Bayes": GaussianNB(var_smoothing=1e-2),
    }
    return {name: model.fit(_flat(images), digits) for name, model in models.items()}


def _answers(models, images, digits, corruption, severity, seed):
    """Return scores and confidences of all models on one topic, each (n_models, n_images)."""
    corrupted = _flat(corrupt(images, corruption, severity, np.random.default_rng(seed)))
    probabilities = np.stack([model.predict_proba(corrupted) for model in models.values()])
    # The classes are the digits 0 to 9 in order, so the column number is the digit.
    return (probabilities.argmax(axis=2) == digits).astype(int), probabilities.max(axis=2)


def _rows(models, topics, numbers, scores, confidences):
    """Return the long frame of items. `scores` has shape (n_topics, n_models, n_images)."""
    # With categories, later groupbys would depend on `observed=`, so text columns are strings.
    n_topics, n_models, n_images = scores.shape
    names = [_name(*topic) for topic in topics]
    ids = [f"{name}/{number:04d}" for name in names for number in numbers]

    def per_topic(values):
        return np.tile(np.repeat(values, n_images), n_models)

    return pd.DataFrame(
        {
            "model": np.repeat(np.array(models, object), n_topics * n_images),
            "topic": per_topic(np.array(names, object)),
            "corruption": per_topic(np.array([corruption for corruption, _ in topics], object)),
            "severity": per_topic([severity for _, severity in topics]),
            "item": np.tile(np.array(ids, object), n_models),
            "score": scores.swapaxes(0, 1).ravel(),
            "confidence": confidences.swapaxes(0, 1).ravel(),
        }
    )


def _topic_features(topics):
    frame = pd.DataFrame(topics, columns=["corruption", "severity"])
    return frame.set_index(pd.Index([_name(*topic) for topic in topics], name="topic"))


def _name(corruption, severity):
    return f"{corruption}-{severity}"


def _flat(images):
    return images.reshape(len(images), -1)
