"""Honest estimates of model performance from few items per topic.

Rows become summaries, summaries become estimates, estimates become pictures.
Every public name can be imported from here; it is loaded when first used, so
that ``import skbench`` stays cheap. The names stand in ``__init__.pyi``, which
type checkers read too.

PYTEST_DONT_REWRITE: pytest loads a plugin of this package, and would warn where it is not the
first to import the package.
"""

from skbench._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
