"""The GitHub Action: its steps are run in bash, as the runner runs them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]
NASTY = "a b'\"$(touch run)`touch run`\n::error::x"


def substituted(text, values):
    """Text with the expressions of a runner replaced."""
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)


def parsed_outputs(text):
    """What a runner reads from GITHUB_OUTPUT."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, end = line.split("<<")
        value = []
        while (line := next(lines)) != end:
            value.append(line)
        found[name] = "\n".join(value)
    return found


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """Run a step in an empty checkout with these inputs: exit code, outputs, summary, log."""
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")

    def run(step=GATE, **given):
        known = ACTION["inputs"]
        given = {name.replace("_", "-"): str(value) for name, value in given.items()}
        assert set(given) <= set(known)
        assert {name for name, about in known.items() if about.get("required")} <= set(given)
        inputs = {name: given.get(name, about.get("default", "")) for name, about in known.items()}
        files = {
            name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")
        }
        for file in files.values():
            file.write_text("")
        values = {f"inputs.{name}": value for name, value in inputs.items()}
        own = {name: substituted(text, values) for name, text in step.get("env", {}).items()}
        temporary = tmp_path / "temp"
        temporary.mkdir(exist_ok=True)
        script = tmp_path / "step.sh"
        assert step["shell"] == "bash"
        script.write_text(substituted(step["run"], values))
        env = os.environ | {"SKBENCH_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)} | own
        env |= {name: str(file) for name, file in files.items()}
        env |= {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(temporary)}
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script]
        done = subprocess.run(words, env=env, capture_output=True, text=True, encoding="utf-8")
        output, summary, _ = (file.read_text(encoding="utf-8") for file in files.values())
        outputs = parsed_outputs(output) if step is GATE else {}
        values = {f"steps.gate.outputs.{name}": value for name, value in outputs.items()}
        if step is GATE:
            outputs = {
                name: substituted(about["value"], values)
                for name, about in ACTION["outputs"].items()
            }
            assert str(done.returncode) == outputs["exit-code"], done.stderr
            assert (
                Path(outputs["comment-file"]).read_text(encoding="utf-8").strip()
                == outputs["comment"].strip()
            )
            assert summary.strip() == outputs["comment"].strip()
        return done, outputs

    return run


def results(folder, name, lost=0, model="m"):
    """Results of 200 items in the checkout."""
    right = np.random.default_rng(0).random(200) < 0.8
    item = np.arange(200)
    score = right & ((item % lost > 0) if lost else True)
    frame = pd.DataFrame({"model": model, "topic": item % 4, "item": item, "score": score * 1.0})
    path = folder / name
    frame.to_csv(path, index=False)
    return path


CASES = {
    "pass": (0, {}, 0, "notice"),
    "fail": (3, {}, 3, "error"),
    "undecided": (67, {}, 4, "warning"),
}


@pytest.mark.parametrize(
    "verdict",
    ["fail", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pass", "undecided"))],
)
def test_verdicts(runner, tmp_path, verdict):
    lost, options, code, level = CASES[verdict]
    old = results(tmp_path, "old one.csv", model=NASTY)
    new = results(tmp_path, f"new '$(touch run)\" {verdict}.csv", lost, model=NASTY)
    done, outputs = runner(baseline=old, results=new, margin="2%", by="topic", **options)
    assert (done.returncode, outputs["verdict"]) == (code, verdict), done.stdout
    assert outputs["comment"].startswith("### ") and verdict in outputs["comment"]
    document = json.loads(Path(outputs["json"]).read_text(encoding="utf-8"))
    assert document["verdict"] == verdict and len(document["topics"]) == 4
    assert document["pairs"][0]["n_items"] == 200
    (annotation,) = re.findall(r"^::(error|warning|notice) ", done.stdout, flags=re.MULTILINE)
    assert annotation == level
    assert list(Path.cwd().iterdir()) == []  # nothing of a name was run


@pytest.mark.slow
def test_undecided_may_pass_and_missing_items_are_wrong(runner, tmp_path):
    old, new = results(tmp_path, "old.csv"), results(tmp_path, "new.csv", 67)
    done, outputs = runner(baseline=old, results=new, margin="2%", undecided="pass")
    assert (done.returncode, outputs["verdict"]) == (0, "undecided")
    pd.read_csv(new).iloc[:120].to_csv(new, index=False)
    done, outputs = runner(
        baseline=old, results=new, margin="2%", missing="wrong", arguments="--bounds 0 1"
    )
    assert (done.returncode, outputs["verdict"]) == (3, "fail")


@pytest.mark.parametrize(
    ("inputs", "code", "words"),
    [
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ({"results": "gone.csv"}, None, "gone.csv"),
                ({"by": "subject"}, 1, "subject"),
                ({"margin": "0"}, 2, "margin"),
                ({"margin": NASTY}, 2, "margin"),
                ({"undecided": NASTY}, 2, "undecided"),
            )
        ),
        ({"arguments": "--past 'x"}, 2, "quotation"),
        ({"no-baseline": "maybe"}, 2, "no-baseline"),
    ],
)
def test_errors(runner, tmp_path, inputs, code, words):
    path = results(tmp_path, "old.csv")
    given = {"baseline": path, "results": path, "margin": "2%"} | inputs
    done, outputs = runner(**given)
    assert done.returncode in ((1, 2) if code is None else (code,)), done.stdout
    assert (outputs["verdict"], outputs["json"]) == ("error", "")
    assert words in outputs["comment"]
    assert re.search(r"^::error title=skbench gate::.*" + words, done.stdout, flags=re.MULTILINE)
    assert list(Path.cwd().iterdir()) == []


def test_without_a_baseline(runner, tmp_path):
    new = results(tmp_path, "new.csv")
    given = {"results": new, "margin": "2%", "baseline": "stored.csv"}
    done, outputs = runner(**given, save_baseline="stored.csv")
    assert (done.returncode, outputs["verdict"]) == (1, "no-baseline")
    assert "no-baseline: pass" in outputs["comment"] and not Path("stored.csv").exists()
    done, outputs = runner(**given, no_baseline="pass")
    assert (done.returncode, outputs["verdict"]) == (0, "no-baseline")
    assert "Set save-baseline" in outputs["comment"]


@pytest.mark.slow
def test_a_stored_baseline_moves_on_with_each_pass(runner, tmp_path):
    given = {"margin": "10%", "by": "topic", "candidate": "m", "no_baseline": "pass"}
    given |= {"baseline": "stored.csv", "save_baseline": "stored.csv", "worst": "5%"}
    wide = pd.concat(
        [pd.read_csv(results(tmp_path, "a.csv")), pd.read_csv(results(tmp_path, "b.csv", 2, "n"))]
    )
    wide.to_csv(tmp_path / "both.csv", index=False)
    done, outputs = runner(**given, results=tmp_path / "both.csv")
    assert (done.returncode, outputs["verdict"]) == (0, "no-baseline"), done.stdout
    first = Path("stored.csv").read_text()
    done, outputs = runner(**given, results=results(tmp_path, "next.csv", 67))
    assert (done.returncode, outputs["verdict"]) == (0, "pass"), done.stdout
    assert Path("stored.csv").read_text() != first
    moved = Path("stored.csv").read_text()
    done, outputs = runner(**given, results=results(tmp_path, "worse.csv", 2))
    assert (done.returncode, outputs["verdict"]) == (3, "fail")
    assert Path("stored.csv").read_text() == moved


def test_no_input_is_pasted_into_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


@pytest.mark.slow
def test_install_step(runner, tmp_path):
    """In an environment of its own; pip builds in the folder itself, as on a runner."""
    path = results(tmp_path, "old.csv")
    done, _ = runner(INSTALL, baseline=path, results=path, margin="2%")
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "GITHUB_ENV").read_text().splitlines()
    python = line.removeprefix("SKBENCH_PYTHON=")
    assert Path(python).exists()
    words = [python, "-m", "skbench", "gate", "--help"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert "Pass, fail" in subprocess.run(words, env=env, capture_output=True, text=True).stdout
