"""`skbench plan` uses the formulas with assumptions or with a pilot file."""

import re
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest
from commands import crossed
from writing import write

from skbench.comparison import compare_models, minimum_detectable_effect, required_items
from skbench.report.plan import plan

run = partial(commands.run, plan)
parsed = partial(commands.parsed, plan)


def plans(*arguments):
    return parsed(*arguments)["plans"]


@pytest.fixture(scope="module")
def pilot():
    """Two models, 80 items in passages of 4, three answers each."""
    rng = np.random.default_rng(0)
    ease = rng.beta(2, 2, 20)[np.arange(80) // 4]
    levels = {"model": ["ada", "bob"], "item": range(80), "run": range(3)}
    shift = {"ada": 0.9, "bob": 0.7}
    rows = crossed(lambda m, i, k: int(rng.random() < shift[m] * ease[i]), **levels)
    return rows.assign(passage=rows["item"] // 4)


@pytest.fixture(scope="module")
def file(pilot, tmp_path_factory):
    return write(tmp_path_factory.mktemp("pilot") / "pilot.csv", pilot)


def test_items_by_correlation():
    found = plans("--effect", 0.03, "--accuracy", 0.7)
    assert [p["correlation"] for p in found] == [0, 0.3, 0.5, 0.7, 0.9]
    for p in found:
        expected = required_items(0.03, omega2=2 * 0.21 * (1 - p["correlation"]), test="mcnemar")
        assert p["test"] == "mcnemar"
        assert p["required_items"] == expected
    lines = run("--effect", 0.03, "--accuracy", 0.7).stdout.splitlines()
    assert [line.split() for line in lines if line.strip().startswith("0.5")] == [
        ["0.5", f"{found[2]['required_items']}"]
    ]


def test_effect_of_so_many_items():
    (found,) = plans("--items", 500, "--std", 12, "--correlation", 0.4, "--power", 0.9)
    expected = minimum_detectable_effect(500, omega2=2 * 144 * 0.6, power=0.9)
    assert found["minimum_detectable_effect"] == pytest.approx(expected, rel=1e-12)
    text = run("--items", 500, "--std", 12, "--correlation", 0.4, "--power", 0.9).stdout
    assert f"{expected:.4g}." in text and "90%" in " ".join(text.split())


def test_differences_beyond_what_is_possible_are_none():
    found = [row["minimum_detectable_effect"] for row in plans("--items", 14, "--accuracy", 0.7)]
    assert found[0] is None and 0.4 < found[-1] < 0.7
    assert "0        none" in run("--items", 14, "--accuracy", 0.7).stdout
    # Five 0/1 scores never reach 5%, because 2 / 2^5 is more.
    wrong = run("--items", 5, "--accuracy", 0.7)
    assert wrong.exit_code == 1 and "--items 5" in wrong.stderr


def test_repeats_and_clusters():
    known = ["--effect", 0.05, "--accuracy", 0.6, "--correlation", 0.3]
    (found,) = plans(*known, "--noise", 0.1, "--repeats", 4, "--cluster-size", 5, "--icc", 0.2)
    noise = {"sigma2_a": 0.1, "sigma2_b": 0.1, "n_repeats": 4}
    clusters = {"design_effect": 1.8, "cluster_size": 5}
    expected = required_items(0.05, omega2=2 * 0.24 * 0.7 - 0.2, **noise, **clusters)
    assert found["required_items"] == expected
    assert expected < plans(*known, "--cluster-size", 5, "--icc", 0.2)[0]["required_items"]


def test_variances_from_a_file(file, pilot):
    roles = ["--item", "item", "--cluster", "item"]
    (found,) = plans(file, "--effect", 0.1, *roles)
    c = compare_models(pilot, "ada", "bob", cluster="item")
    noise = c.noise[0]
    expected = required_items(0.1, omega2=c.omega2[0], sigma2_a=noise, n_repeats=3)
    assert found["required_items"] == expected
    (more,) = plans(file, "bob", "ada", "--effect", 0.1, *roles, "--repeats", 30)
    expected = required_items(0.1, omega2=c.omega2[0], sigma2_a=noise, n_repeats=30)
    assert more["required_items"] == expected
    assert more["required_items"] < found["required_items"]


def test_single_answers_cannot_plan_repeats(pilot, written):
    path = written(pilot[pilot["run"] == 0].drop(columns="run"), "single.csv")
    result = run(path, "--effect", 0.1, "--cluster", "passage")
    assert "clusters" in result.stdout
    result = run(path, "--effect", 0.1, "--repeats", 5)
    assert result.exit_code == 1
    assert "--repeats" in result.stderr and "single.csv" in result.stderr


ERRORS = [
    (["--effect", 0.1, "--accuracy", 0.5, "--noise", 0.3], 1, "--noise 0.3 .*0.25"),
    (["--effect", 0.1, "--accuracy", 0.5, "--noise", 0.2, "--correlation", 0.9], 1,
     "--correlation 0.9 .*--noise 0.2"),
    (["--effect", 1.5, "--accuracy", 0.7], 1, "--effect 1.5 .*accuracy 0.7 .*0.7"),
    (["--effect", 0.1, "--accuracy", 0.5, "--cluster-size", 5, "--icc", -0.9], 1,
     "--icc -0.9 .*-0.25"),
    (["--accuracy", 0.5], 2, "--effect or --items"),
    (["--effect", 0.1], 2, "--accuracy or --std.* FILE"),
    (["--effect", 0.1, "--accuracy", 0.5, "--icc", 0.1], 2, "--cluster-size and --icc"),
    (["--effect", 0.1, "--accuracy", 0.5, "--repeats", 3], 2, "--repeats .*--noise"),
    (["x.csv", "--effect", 0.1, "--accuracy", 0.5], 2, "--accuracy .*FILE"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, code, words", ERRORS)
def test_errors(arguments, code, words):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert re.search(words, result.stderr)


def test_three_models_need_names(pilot, tmp_path):
    path = tmp_path / "three.csv"
    single = pilot[pilot["run"] == 0].drop(columns=["run", "passage"])
    pd.concat([single, single[single["model"] == "ada"].assign(model="cyd")]).to_csv(
        path, index=False
    )
    assert "3 models" in run(path, "--items", 100).stderr
    assert run(path, "ada", "bob", "--items", 100).exit_code == 0
    assert "'ada'" in run(path, "ada", "--items", 100).stderr
    (found,) = plans(path, "bob", "cyd", "--items", 100)
    assert found["minimum_detectable_effect"] > 0


def test_real_pilot(data_folder):
    path = data_folder / "livecodebench_execution.csv.gz"
    (found,) = plans(path, "GPT-4-0613", "Claude-2", "--effect", 5)
    items = pd.read_csv(path)
    c = compare_models(
        items, "GPT-4-0613", "Claude-2", item="sample_id", score="pass1", cluster="question_id"
    )
    expected = required_items(5, omega2=c.omega2[0], cluster_size=479 / 92)
    assert found["required_items"] == expected
