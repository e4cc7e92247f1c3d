"""The estimator of groups that commands use unless told otherwise."""

from skbench.groups import AveragedEstimator


def recommended(seed):
    """The estimator that commands take where none is named.

    Parameters
    ----------
    seed : int
        Its random state.

    Returns
    -------
    estimator
    """
    return AveragedEstimator(random_state=seed)
