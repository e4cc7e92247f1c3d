"""The estimator of groups that commands use unless told otherwise."""

from skbench.groups import EmpiricalBayes


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
    return EmpiricalBayes(random_state=seed)
