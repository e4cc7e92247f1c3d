"""Write the tables of ``how_we_know.rst``, the comparisons of skbench with reference numbers.

    python doc/make_evidence.py

The first table comes from the tests that use the numbers in ``tests/gold``. During these
tests every ``assert_allclose`` records how many numbers it compares and their largest
difference. Every gold file is assigned to the test or fixture that opens it. This script
computes the other tables: exact coverage of binomial intervals, and simulated coverage
and error. It takes a few minutes.
"""

import re
import sys
from collections import defaultdict
from datetime import date
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
GOLD = ROOT / "tests" / "gold"
OUT = ROOT / "doc" / "evidence.inc"
INPUTS = "vtab1k"  # inputs of the published analyses, not results
N_TRIALS = 4000


class GoldRecorder:
    """A pytest plugin that records the comparisons of tests with the gold files."""

    def __init__(self):
        self.now = None
        self.files = defaultdict(set)
        self.numbers = defaultdict(list)
        self.closures = {}
        self.outcomes = {}
        self._assert_allclose = np.testing.assert_allclose
        np.testing.assert_allclose = self._compare
        sys.addaudithook(self._notice_open)

    def _compare(self, actual, desired, *arguments, **options):
        self._assert_allclose(actual, desired, *arguments, **options)
        actual, desired = (np.asarray(a, dtype=float) for a in (actual, desired))
        actual, desired = np.broadcast_arrays(actual, desired)
        known = np.isfinite(desired)
        self.numbers[self.now].append((known.sum(), np.abs(actual - desired)[known].max(initial=0)))

    def _notice_open(self, event, arguments):
        if event == "open" and isinstance(arguments[0], str) and "gold" in arguments[0]:
            path = Path(arguments[0])
            if path.parent == GOLD:
                self.files[self.now].add(path.name)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        before, self.now = self.now, (fixturedef.baseid, fixturedef.argname)
        try:
            return (yield)
        finally:
            self.now = before

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "gold_folder" in item.fixturenames]

    def pytest_runtest_call(self, item):
        self.now = item.nodeid
        module = item.nodeid.split("::")[0]
        fixtures = [(base, name) for name in item.fixturenames for base in ("tests", module)]
        self.closures[item.nodeid] = [item.nodeid, *fixtures]

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.outcomes[report.nodeid] = report.outcome

    def rows(self):
        """Map gold files to their tests, compared numbers and largest absolute difference."""
        found = defaultdict(lambda: [0, 0, 0.0])
        for test, closure in self.closures.items():
            if self.outcomes.get(test) != "passed":
                raise SystemExit(f"{test} did not pass. No evidence was written.")
            compared = [pair for key in closure for pair in self.numbers.get(key, [])]
            for name in set().union(*(self.files.get(key, set()) for key in closure)):
                row = found[name]
                row[0] += 1
                row[1] += int(sum(count for count, _ in compared))
                row[2] = max([row[2], *(difference for _, difference in compared)])
        return found


def gold_table():
    recorder = GoldRecorder()
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", "--no-header", str(ROOT / "tests")], plugins=[recorder]
    )
    if code:
        raise SystemExit(f"pytest exited with code {code}. No evidence was written.")
    rows = recorder.rows()
    lines = (GOLD / "README.md").read_text().splitlines()
    entries = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    table = [("compared numbers", "source", "tests", "numbers", "largest difference")]
    for names, what, source in (entry for entry in entries if len(entry) == 3):
        files = [name for name in GOLD.iterdir() if _is_named(name.name, names)]
        found = [rows[file.name] for file in files if file.name in rows]
        if found and not names.startswith(INPUTS):
            tests, numbers = (sum(row[i] for row in found) for i in (0, 1))
            largest = max(row[2] for row in found)
            shown = f"{largest:.1e}" if numbers else "equal"
            table.append((what, source, tests, numbers or "orders, sets", shown))
    return table


def _is_named(file, names):
    """Return whether a cell such as "table6.csv, 8, 9" names the file."""
    stem = re.sub(r"\d+\.csv$", "", file)
    numbers = re.findall(r"\d+", names)
    series = file != stem and stem in names and re.findall(r"\d+", file)[-1] in numbers
    return file in names or bool(series)


def binomial_table():
    """Compute the average and lowest exact coverage of 95% intervals over true proportions."""
    from scipy.stats import binom

    from skbench.stats.intervals import binomial

    table = [("interval", "n", "average coverage", "worst coverage", "mean width")]
    rates = np.linspace(0.02, 0.98, 385)
    names = ("wilson", "clopper_pearson", "jeffreys", "agresti_coull", "wald")
    intervals = [(name, getattr(binomial, f"{name}_interval", None)) for name in names]
    for name, interval in intervals:
        for n in (5, 10, 30) if interval else ():
            k = np.arange(n + 1)
            low, high = interval(k, np.full(n + 1, n))
            chance = binom.pmf(k, n, rates[:, None])
            covered = (chance * ((low <= rates[:, None]) & (rates[:, None] <= high))).sum(axis=1)
            width = (chance * (high - low)).sum(axis=1).mean()
            cells = (f"{covered.mean():.3f}", f"{covered.min():.3f}", f"{width:.3f}")
            table.append((name.replace("_", "-"), n, *cells))
    return table


def cluster_table():
    """Simulate the coverage of 95% intervals of a mean with clusters of 1 to 9 items."""
    from scipy.stats import norm, t

    from skbench.stats.clusters.clustered import cluster_robust_variance

    rng = np.random.default_rng(0)
    table = [("clusters", "CR2, t", "CR1, 1.96", "clusters ignored", "sampling error")]
    for n_clusters in (5, 10, 30):
        sizes = rng.integers(1, 10, (N_TRIALS, n_clusters))
        effects = rng.normal(size=(N_TRIALS, n_clusters))
        noise = rng.normal(size=(N_TRIALS, n_clusters)) * np.sqrt(sizes)
        sums = (sizes * effects + noise).ravel()
        codes = np.repeat(np.arange(N_TRIALS), n_clusters)
        covered = []
        for kind in ("cr2", "cr1"):
            r = cluster_robust_variance(sums, sizes.ravel(), codes, N_TRIALS, kind)
            critical = t.ppf(0.975, r.df) if kind == "cr2" else norm.ppf(0.975)
            covered.append(np.mean(np.abs(r.mean) <= critical * np.sqrt(r.variance)))
        # The known variance of independent items, 2 / n, is far too small for clustered items.
        unclustered = np.sqrt(2 / sizes.sum(axis=1))
        covered.append(np.mean(np.abs(r.mean) <= norm.ppf(0.975) * unclustered))
        table.append((n_clusters, *(f"{c:.3f}" for c in covered), f"{_error(0.95):.3f}"))
    return table


def estimator_table(n_repeats=25):
    """Simulate error and coverage over groups with ten items each."""
    from sklearn.linear_model import Ridge

    from skbench import (
        DirectEstimator,
        EmpiricalBayes,
        FayHerriot,
        JamesStein,
        make_items,
        summarize_items,
    )

    estimators = {
        "direct, Wilson": lambda seed: DirectEstimator(),
        "James-Stein": lambda seed: JamesStein(),
        "Fay-Herriot": lambda seed: FayHerriot(),
        "empirical Bayes, robust": lambda seed: EmpiricalBayes(Ridge(), random_state=seed),
        "empirical Bayes, parametric": lambda seed: EmpiricalBayes(
            Ridge(), interval="parametric", random_state=seed
        ),
    }
    results = defaultdict(list)
    for seed in range(n_repeats):
        data = make_items(n_models=3, n_topics=30, n_items=10, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"], features=data.features)
        truth = data.truth.loc[list(g.labels)].to_numpy()
        for name, make in estimators.items():
            e = make(seed).fit(**g.fit_args).estimate()
            covered = np.mean((e.low <= truth) & (truth <= e.high))
            results[name].append(
                (np.mean((e.value - truth) ** 2), covered, np.mean(e.high - e.low), e.guarantee)
            )
    table = [("estimator", "squared error x 1000", "coverage", "mean width", "guarantee")]
    for name, rows in results.items():
        error, covered, width = np.array([row[:3] for row in rows], dtype=float).T
        spread = covered.std(ddof=1) / np.sqrt(n_repeats)
        cells = (f"{1000 * error.mean():.1f}", f"{covered.mean():.3f} ± {spread:.3f}")
        table.append((name, *cells, f"{width.mean():.3f}", rows[0][-1]))
    return table


def _error(p):
    return np.sqrt(p * (1 - p) / N_TRIALS)


def list_table(title, table, widths):
    lines = [f".. list-table:: {title}", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in table:
        cells = [str(cell).replace("`", "``") for cell in row]
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(cells)]
    return "\n".join([*lines, ""])


def main():
    sys.path.insert(0, str(ROOT))
    import skbench

    tables = [
        (
            "skbench compared with published numbers and other software (absolute differences)",
            gold_table(),
            "40 30 8 10 12",
        ),
        ("95% intervals of a proportion, exact coverage", binomial_table(), "24 10 22 22 22"),
        (
            f"95% intervals of a mean of clustered items, {N_TRIALS} simulated samples",
            cluster_table(),
            "16 21 21 21 21",
        ),
        (
            "95% intervals of 90 groups of ten items, 25 simulated benchmarks",
            estimator_table(),
            "30 20 18 14 18",
        ),
    ]
    made = (
        f"Generated by ``doc/make_evidence.py`` on {date.today()}, skbench {skbench.__version__}."
    )
    OUT.write_text("\n".join([made, "", *(list_table(*table) for table in tables)]))


if __name__ == "__main__":
    main()
