"""Links from scikit-learn's HTML diagrams of estimators to the documentation."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from sklearn.base import BaseEstimator


class Documented(BaseEstimator):
    """First base class of the public estimators."""

    _doc_link_module = "skbench"

    @property
    def _doc_link_template(self):
        pages = documentation()
        return pages and f"{pages}/latest/api/generated/skbench.{{estimator_name}}.html"


@cache
def documentation():
    """Return the documentation URL of the installed package, or an empty string."""
    try:
        urls = metadata("skbench").get_all("Project-URL", [])
    except PackageNotFoundError:  # the package is on the path but not installed
        urls = []
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")
