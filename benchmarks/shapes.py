"""Cost of every public path on real rows over a grid of shapes, next to the bare work.

Each path has one table: processor seconds (median of three; clock seconds for parallel processes),
the unavoidable bare work, their ratio, peak memory above the starting level, the limit and the
fraction of it used, and the growth exponent since the previous shape. Run the script alone and with
one thread:

    OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 python benchmarks/shapes.py
    python benchmarks/shapes.py --only comparisons
    python benchmarks/shapes.py --small            # the shapes of tests/test_shapes.py

The answers are read from $SKBENCH_DATA or ../shared/data.
"""

import argparse
from importlib import import_module
from pkgutil import iter_modules

import costs


def paths(small=False):
    """Return all paths with their shapes."""
    found = {}
    for part in iter_modules(costs.__path__):
        module = import_module(f"costs.{part.name}")
        found |= module.SMALL if small else module.PATHS
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="part of the name of a path")
    parser.add_argument("--small", action="store_true", help="small shapes")
    arguments = parser.parse_args()
    for path, shapes in paths(arguments.small).items():
        if arguments.only in path.__name__:
            print(f"\n{path.__name__}: {path.__doc__}")
            table = costs.measured(path, shapes)
            print(table.to_string(float_format="%.3g", na_rep=""), flush=True)


if __name__ == "__main__":
    main()
