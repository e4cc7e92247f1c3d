"""Links from the boxes that scikit-learn draws of estimators to their pages."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from sklearn.base import BaseEstimator


class Documented(BaseEstimator):
    """Base of the public estimators, before all others."""

    _doc_link_module = "skbench"

    @property
    def _doc_link_template(self):
        pages = documentation()
        return pages and f"{pages}/latest/api/generated/skbench.{{estimator_name}}.html"


@cache
def documentation():
    """Where the documentation of the installed package is; "" where nothing says so."""
    try:
        urls = metadata("skbench").get_all("Project-URL", [])
    except PackageNotFoundError:  # on the path, not installed
        urls = []
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")
