"""`skbench demo`: figures, written files, and a verdict of either sign."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import binom

from skbench import MixedModel, make_items, read_items, summarize_items
from skbench._progress import steps
from skbench.containers import Estimate
from skbench.datasets import load_digits_c
from skbench.report import terminal
from skbench.report.demo import demo, error_removed, method_scores
from skbench.report.estimate import estimate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "out"


@pytest.fixture(scope="module")
def benchmark():
    """Filled with the benchmark that the demo made, so that it is made once."""
    return {}


def simulated():
    """As digits-C, but simulated: 5 models on 15 topics, and what topics are known by."""
    made = make_items(n_models=5, n_topics=15, n_items=60, random_state=0)
    topics = pd.Index(made.items["topic"].unique(), name="topic")
    known = {"corruption": [f"c{i // 5}" for i in range(15)], "severity": np.arange(15) % 5}
    features = pd.DataFrame(known, index=topics)
    items = made.items[["model", "topic", "item", "score"]].join(features, on="topic")
    return replace(made, items=items, features=features)


@pytest.fixture(scope="module", params=["simulated", pytest.param("real", marks=pytest.mark.slow)])
def result(request, folder, benchmark):
    """The demo on simulated models, or on digits-C, which takes ten seconds."""

    def load_and_keep(**options):
        real = request.param == "real"
        benchmark["data"] = load_digits_c(**options) if real else simulated()
        return benchmark["data"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbench.datasets.load_digits_c", load_and_keep)
        return CliRunner().invoke(demo, ["--output", str(folder)])


def test_error_removed_is_the_share():
    before = np.array([4.0, 6.0, 10.0])
    assert error_removed(before, before / 4, np.arange(3)) == (0.75, 0.0)
    removed, _ = error_removed(before, 2 * before, np.arange(3))
    assert removed == -1.0


def test_standard_error_of_the_share_is_that_of_a_jackknife_over_clusters():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(400), 5)
    shared = rng.exponential(size=400)[clusters]
    before = shared * rng.exponential(size=2000)
    after = 0.5 * before * rng.uniform(0.5, 1.5, size=2000)
    removed, standard_error = error_removed(before, after, clusters)
    left_out = np.array(
        [
            error_removed(before[clusters != c], after[clusters != c], clusters[clusters != c])[0]
            for c in range(400)
        ]
    )
    jackknife = np.sqrt(399 / 400 * np.sum((left_out - left_out.mean()) ** 2))
    # The two differ by terms of order 1/clusters.
    assert standard_error == pytest.approx(jackknife, rel=0.01)
    assert abs(removed - 0.5) < 4 * standard_error


def test_standard_error_accounts_for_dependent_topics():
    """Copying every group within its topic adds rows, not information."""
    rng = np.random.default_rng(1)
    before, after = rng.exponential(size=(2, 30))
    once = error_removed(before, after, np.arange(30))
    thrice = error_removed(*(np.repeat(x, 3) for x in (before, after, np.arange(30))))
    assert thrice == pytest.approx(once, rel=1e-12)


def test_method_scores_by_hand():
    labels = pd.Index(["a", "b"])
    direct = Estimate([0.5, 1.0], [0.4, 0.9], [0.6, 1.0], [0.1, 0.1], 0.95, labels, "direct")
    better = Estimate([0.6, 0.8], [0.2, 0.2], [0.8, 0.8], [0.1, 0.1], 0.95, labels, "EB")
    scores = method_scores({"direct": direct, "eb": better}, np.array([0.7, 0.8]))
    # Squared errors (.04 + .04) / 2 and (.01 + 0) / 2; decimals are rounded in binary.
    np.testing.assert_allclose(scores["mse"], [0.04, 0.005], rtol=1e-12)
    np.testing.assert_allclose(scores["ratio"], [1, 0.125], rtol=1e-12)
    assert scores["coverage"].tolist() == [0, 1]
    np.testing.assert_allclose(scores["width"], [0.15, 0.6], rtol=1e-12)


def test_demo_succeeds_and_prints_four_methods(result):
    assert result.exit_code == 0, result.stderr
    table = re.findall(
        r"^(\w[\w ()-]*?) +([\d.]+) +([\d.]+) +([\d.]+)% +([\d.]+)$", result.stdout, re.M
    )
    for row, name in zip(table, ("direct", "regression", "mixed", "item bank"), strict=True):
        assert name in row[0]
    assert table[0][2] == "1.00"


@pytest.mark.parametrize("result", [pytest.param("real", marks=pytest.mark.slow)], indirect=True)
def test_readme_shows_what_the_demo_prints(result):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```\n([^`]*?method .*?)^```", readme, re.M | re.S)
    assert " ".join(shown.split()) in " ".join(result.stdout.split())


def test_progress_of_long_work_is_shown_on_stderr(monkeypatch, capsys):
    for seconds, lines in ((0, ["making: topics, 0 of 2", "making: topics, 1 of 2"]), (60, [])):
        monkeypatch.setattr(terminal, "_PLAIN_SECONDS", seconds)
        with terminal.working("making"):
            list(steps("ab", "topics"))
        printed = capsys.readouterr()
        assert printed.err.splitlines()[:2] == lines
        assert printed.out == ""


def test_steps_of_one_long_fit_are_shown(monkeypatch, capsys):
    data = make_items(n_models=3, n_topics=5, n_items=6, random_state=0)
    g = summarize_items(data.items, ["model", "topic"])
    monkeypatch.setattr(terminal, "_PLAIN_SECONDS", 0)
    with terminal.working("estimating"):
        MixedModel().fit(**g.fit_args)
    printed = capsys.readouterr().err.splitlines()
    expected = [f"estimating: mixed model, step {n}" for n in range(1, len(printed) + 1)]
    assert len(printed) > 5 and printed == expected


def test_figures_are_those_of_the_package(result, folder, benchmark):
    """The printed ratio again, from the saved sample and the benchmark itself."""
    data = benchmark["data"]
    sample = pd.read_csv(folder / "digits_c_sample.csv")
    looked_at = data.items["item"].isin(sample["item"])
    truth = data.items[~looked_at].groupby(["model", "topic"])["score"].mean()
    g = summarize_items(sample, by=["model", "topic"], features=data.features)
    estimated = MixedModel(random_state=0).fit_predict(**g.fit_args)
    truth = truth.reindex(list(g.labels)).to_numpy()
    ratio = np.mean((estimated - truth) ** 2) / np.mean((g.z - truth) ** 2)
    row = re.search(r"^mixed model +[\d.]+ +([\d.]+)", result.stdout, re.M)
    assert f"{ratio:.2f}" == row.group(1)
    removed = re.search(r"(\d+)% lower", result.stdout).group(1)
    assert f"{100 * (1 - ratio):.0f}" == removed


def test_coverage_is_near_its_level(result, benchmark):
    """Five groups of each topic share images: at worst as good as one independent one."""
    n_topics = len(benchmark["data"].features)
    covered = float(re.search(r"^mixed model .* ([\d.]+)%", result.stdout, re.M).group(1)) / 100
    assert covered >= binom.ppf(0.0005, n_topics, 0.95) / n_topics


def test_files_are_written_and_the_next_command_works(result, folder):
    assert (folder / "shrinkage.png").read_bytes().startswith(b"\x89PNG")
    items = read_items(folder / "digits_c_sample.csv")
    assert items.groupby("topic")["item"].nunique().eq(10).all()
    command = re.search(r"^  skbench estimate (.*)$", result.stdout, re.M).group(1).split()
    again = CliRunner().invoke(estimate, command)
    assert again.exit_code == 0, again.stderr
    n = items["topic"].nunique()
    text = " ".join(again.stdout.split())
    assert text.startswith(f"{5 * n} groups (5 models x {n} topics) ")
    assert f" {50 * n} scores, 10 per group" in text
    assert "\n  skbench report FILE\n" in result.stdout


def test_usage_errors_exit_2():
    assert CliRunner().invoke(demo, ["--n", "0"]).exit_code == 2
