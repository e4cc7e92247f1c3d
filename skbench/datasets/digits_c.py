"""digits-C: a real robustness benchmark, small enough to be made on the spot."""

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
digits-C: how five classifiers stand up to damaged handwritten digits

Five scikit-learn classifiers are trained on one half of scikit-learn's digits
(8 x 8 gray images of ten digits, split stratified by digit) and tested on the
other half, {n_images} images, under ten corruptions at five severities each.
A topic is one corruption at one severity; the {n_topics} topics and {n_models} models make
{n_groups} groups. All models see the same damaged images.

Models: {models}.
Corruptions: {corruptions}.
"""


@checked
def load_digits_c(*, n_jobs: Jobs = None, random_state: RandomState = 0) -> ItemData:
    """Make digits-C: five real classifiers on digits under ten corruptions.

    Accuracies run from nearly 1 at severity 1 to near chance, 0.1, at severity
    5. Every answer to every image is known, so a method that looks at a few
    images per topic (`sample_items`) can be held against the accuracy on all.

    Parameters
    ----------
    n_jobs : int, default=None
        Topics made at the same time, as in joblib: None is 1 unless
        `joblib.parallel_config` says otherwise. Does not change the result.
    random_state : None, int, RandomState or Generator, default=0
        Decides the halves, the training and the damage.

    Returns
    -------
    ItemData
        With attributes

        - items : DataFrame, one row per (model, item), with columns `model`,
          `topic` ("blur-3"), `corruption`, `severity` (1 to 5), `item`
          ("blur-3/0412": the topic and the number of the image in scikit-learn's
          digits), `score` (1 right, 0 wrong) and `confidence` (the highest
          predicted probability, by models that only saw clean images: not
          calibrated on damaged ones).
        - truth : Series of accuracies on all images, indexed by (model, topic).
        - features : DataFrame indexed by topic, columns `corruption`, `severity`.
        - DESCR : str, a description.

    See Also
    --------
    sample_items : A few items per topic, the same for all models.
    make_items : Simulated items, for any number of models and topics.

    Notes
    -----
    Every topic draws from a generator of its own, spawned by the topic's place in
    the list, so the damage depends neither on `n_jobs` nor on the order of work.
    The same images come back in every topic: accuracies of topics are dependent
    where all images are looked at, and nearly independent in small samples,
    which `sample_items` draws separately for each topic.

    Another `random_state` means other training images too. Most accuracies then
    move by a few hundredths, some under strong dimming and low contrast by up to
    0.3: faint images all fall to one digit, and which one is decided in training.

    When not to use it: to judge a method for benchmarks of large language
    models. Fifty topics with two strong known features (corruption and severity)
    are kinder to regression than most leaderboards.

    The idea of fixed corruptions at five severities is from [1]_; corruptions,
    images and models are different ones.

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
    """Rows of a few random items per topic, the same items for all models.

    Parameters
    ----------
    items : pandas.DataFrame
        One row per (model, item).
    n_per_topic : int
        Items to draw from every topic, without replacement.
    topic : str, default="topic"
        Column of the topic.
    item : str, default="item"
        Column of the item's id, unique within its topic. Two models that
        answered the same item carry the same id.
    random_state : None, int, RandomState or Generator, default=None
        Decides the items.

    Returns
    -------
    pandas.DataFrame
        The rows of the drawn items, in the order of `items`, index kept. A
        model that did not answer a drawn item has one row less in that topic.

    Raises
    ------
    ValueError
        If there are no rows, a column is missing or has empty cells,
        `n_per_topic` is no whole number of at least 1, or a topic has fewer items.

    Notes
    -----
    The draw depends on the ids and on `random_state`, not on the order of rows.
    When not to use it: to imitate a benchmark whose topics differ in size; this
    draws equally many from each.

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
    # Categories sort as their values do.
    names = [keys[name].astype(object).to_numpy() for name in (topic, item)]
    pair = keys.groupby(names, sort=True).ngroup().to_numpy()
    # Codes are sorted by topic and id, so the draw is blind to the order of rows.
    _, first_row = np.unique(pair, return_index=True)
    topics = keys[topic].iloc[first_row].reset_index(drop=True)
    sizes = topics.groupby(topics, observed=True, sort=False).size()
    if sizes.min() < n_per_topic:
        raise ValueError(
            f"{topic} {sizes.idxmin()!r} has {sizes.min()} items, but {n_per_topic} per {topic} "
            "were asked for. Lower n_per_topic or drop small topics first."
        )
    place = pd.Series(as_generator(random_state).random(len(topics)))
    drawn = place.groupby(topics, observed=True, sort=False).rank(method="first") <= n_per_topic
    return items[drawn.to_numpy()[pair]]


def _legacy(seed):
    """A seed for scikit-learn, which takes no SeedSequence."""
    return int(seed.generate_state(1)[0])


def _halves(seed):
    """Training and test images, their digits, and the numbers of the test images."""
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
    """Five classifiers of different character, quick to train and to ask."""
    models = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "nearest neighbours": KNeighborsClassifier(n_neighbors=5),
        "random forest": RandomForestClassifier(n_estimators=100, random_state=seed),
        "support vector machine": CalibratedClassifierCV(SVC(), ensemble=False),
        # The usual 1e-9 leaves pixels that are always 0 with no variance at all.
        "naive Bayes": GaussianNB(var_smoothing=1e-2),
    }
    return {name: model.fit(_flat(images), digits) for name, model in models.items()}


def _answers(models, images, digits, corruption, severity, seed):
    """Scores and confidences of all models on one topic, each (n_models, n_images)."""
    damaged = _flat(corrupt(images, corruption, severity, np.random.default_rng(seed)))
    beliefs = np.stack([model.predict_proba(damaged) for model in models.values()])
    # The digits 0 to 9 are the classes in order, so the column is the answer.
    return (beliefs.argmax(axis=2) == digits).astype(int), beliefs.max(axis=2)


def _rows(models, topics, numbers, scores, confidences):
    """The long frame of items; `scores` has shape (n_topics, n_models, n_images)."""
    # Text columns are plain strings: categories would make later groupbys depend on `observed=`.
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
