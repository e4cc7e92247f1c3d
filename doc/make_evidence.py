"""Write the tables of ``how_we_know.rst``: what is compared with what, and how it ends.

    python doc/make_evidence.py

The first table is read off the tests: those that use the numbers in ``tests/gold`` are
run while every ``assert_allclose`` notes how many numbers it compared and how far apart
they were, and every gold file that is opened is put down to the test or fixture that
opened it. The others are computed here: exact coverage of binomial intervals, and
coverage and error by simulation where the truth is known. Takes some minutes.
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
INPUTS = "vtab1k"  # what the published analyses start from, not what they found
N_TRIALS = 4000


class GoldRecorder:
    """A pytest plugin that keeps what tests compare with the gold files."""

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
        """Gold file -> tests, numbers compared, largest absolute difference."""
        found = defaultdict(lambda: [0, 0, 0.0])
        for test, closure in self.closures.items():
            if self.outcomes.get(test) != "passed":
                raise SystemExit(f"{test} did not pass: there is no evidence to write.")
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
        raise SystemExit(f"pytest ended with {code}: there is no evidence to write.")
    rows = recorder.rows()
    lines = (GOLD / "README.md").read_text().splitlines()
    entries = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    table = [("what", "source", "tests", "numbers", "largest difference")]
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
    """Whether a cell such as "table6.csv, 8, 9" names the file."""
    stem = re.sub(r"\d+\.csv$", "", file)
    numbers = re.findall(r"\d+", names)
    series = file != stem and stem in names and re.findall(r"\d+", file)[-1] in numbers
    return file in names or bool(series)


def binomial_table():
    """Exact coverage of 95 % intervals, averaged over true rates, and at its worst."""
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
    """Coverage of 95 % intervals of a mean whose items come in clusters of 1 to 9."""
    from scipy.stats import norm, t

    from skbench.stats.clusters.clustered import cluster_robust_variance

    rng = np.random.default_rng(0)
    table = [("clusters", "CR2 and its t", "CR1 and 1.96", "clusters ignored", "sampling error")]
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
        # Independent items: variance 2 / n, known here, and still far too small.
        alone = np.sqrt(2 / sizes.sum(axis=1))
        covered.append(np.mean(np.abs(r.mean) <= norm.ppf(0.975) * alone))
        table.append((n_clusters, *(f"{c:.3f}" for c in covered), f"{_error(0.95):.3f}"))
    return table


def estimator_table(n_repeats=25):
    """Error and coverage over groups whose truth is known: ten items per group."""
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
            "Numbers of other people, and ours. Differences are absolute.",
            gold_table(),
            "40 30 8 10 12",
        ),
        ("95 % intervals of a rate, exact coverage", binomial_table(), "24 10 22 22 22"),
        (
            f"95 % intervals of a mean with clusters, {N_TRIALS} simulated samples",
            cluster_table(),
            "16 21 21 21 21",
        ),
        (
            "95 % intervals of 90 groups of ten items, 25 simulated benchmarks",
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
