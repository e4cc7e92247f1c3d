"""Statistics for model evaluation: estimates, intervals and comparisons from few items.

Rows of items are summarized by group, estimators turn summaries into estimates with
intervals, and displays plot them. All public names can be imported from this module. They
are listed in ``__init__.pyi`` and loaded on first use, so ``import skbench`` is fast.

PYTEST_DONT_REWRITE: pytest loads a plugin of this package and would otherwise warn if the
package is already imported.
"""

from skbench._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
