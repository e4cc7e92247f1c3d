"""The estimator of groups that commands use unless told otherwise."""

from skbench.groups import MixedModel


def recommended(seed, by=("model", "topic")):
    """The estimator that commands take where none is named.

    Parameters
    ----------
    seed : int
        Its random state.
    by : sequence of str, default=("model", "topic")
        Columns that define the groups. Without one called model there is one model; several
        others name a topic together, whatever they are called.

    Returns
    -------
    estimator
    """
    topics = [name for name in by if name != "model"]
    return MixedModel(
        model="model" if "model" in by else None,
        topic="topic" if topics == ["topic"] else None,
        random_state=seed,
    )
