"""Scores of models that are in unlike units."""

from skbench._checks import plain


def unlike_units(tops):
    """Whether some scores look like shares and others like percents, in words; None if not.

    Parameters
    ----------
    tops : dict of str to float
        Largest absolute score of each model, or topic.
    """
    least = min((name for name, top in tops.items() if top > 0), key=tops.get, default=None)
    most = max(tops, key=tops.get)
    if least is None or not tops[least] <= 1 < 10 < tops[most]:
        return None
    return (
        f"Scores of {str(plain(least))!r} reach {tops[least]:g}, those of {str(plain(most))!r} "
        f"{tops[most]:g}: are they in the same unit? They are taken as they are."
    )
