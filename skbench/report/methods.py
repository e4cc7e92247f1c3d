"""The estimator of groups that commands use unless told otherwise."""

from skbench.groups import AveragedEstimator


def recommended(seed, by=("model", "topic")):
    """The estimator that commands take where none is named.

    Parameters
    ----------
    seed : int
        Its random state.
    by : sequence of str, default=("model", "topic")
        Columns that define the groups. Without one called model there is one model.

    Returns
    -------
    estimator
    """
    roles = {role: role if role in by else None for role in ("model", "topic")}
    return AveragedEstimator(**roles, random_state=seed)
