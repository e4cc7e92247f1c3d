"""Processor time of public paths, as ratios to the bare work in them: no seconds.

The bounds leave room for a busy machine; ``benchmarks/shapes.py`` prints the ratios themselves.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import shapes

BOUNDS = {
    "default_estimator": {"50x20x0": 3, "100x10x0": 3},
    "empirical_bayes": {"fit, 2000": 1.7, "with unlike, 2000": 2.5},
    "comparisons": {"compare_models": 4, "leaderboard": 4, "clusters over items": 3},
    "grouped_ppi": {"summary_": 4},
    "engines": {"lazy polars": 4, "polars": 4, "Parquet": 4},
    "logs": {"lm-eval files": 4},
}


@pytest.mark.slow
@pytest.mark.parametrize("path", shapes.SMALL, ids=lambda path: path.__name__)
def test_ratios_of_processor_time(path):
    if path is shapes.engines:
        pytest.importorskip("polars")
        pytest.importorskip("duckdb")
    table = shapes.measured(path, shapes.SMALL[path])
    ratios = table["ratio"].where(table["bare"].notna(), table["to first"])
    for name, bound in BOUNDS[path.__name__].items():
        found = ratios[[shape.startswith(name) for shape in ratios.index]]
        assert len(found), f"no shape is called {name}"
        assert (found < bound).all(), f"{name} costs {found.max():.1f} x, at most {bound} x meant"
