"""The GitHub Action; its steps run in bash, as on the runner."""

import importlib.util
import json
import os
import re
import site
import subprocess
import sysconfig
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]
MODULES = ("click.py", "json.py", "logging.py", "pip.py", "skbench.py")
NASTY = "a b'\"$(touch run)`touch run`\n::error::x"


def substituted(text, values):
    """Text with the expressions of a runner replaced."""
    form = r"\$\{\{ (\S+)(?: \|\| '(\w+)')? \}\}"
    return re.sub(form, lambda found: values.get(found[1]) or found[2] or "", text)


def parsed_outputs(text):
    """Return the outputs that a runner reads from GITHUB_OUTPUT."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, end = line.split("<<")
        value = []
        while (line := next(lines)) != end:
            value.append(line)
        found[name] = "\n".join(value)
    return found


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """An environment with this skbench, as the previous step makes it."""
    folder = tmp_path_factory.mktemp("environment")
    builder = venv.EnvBuilder(symlinks=os.name != "nt")
    builder.create(folder)
    packages = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder)}))
    (packages / "ours.pth").write_text("\n".join([str(ROOT), *site.getsitepackages()]))
    return builder.ensure_directories(folder).env_exe


@pytest.fixture
def runner(tmp_path, monkeypatch, python):
    """Run a step with these inputs: exit code, outputs, summary, log.

    The checkout has modules that must not be run.
    """
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    for name in MODULES:
        Path(name).write_text("raise SystemExit('a module of the checkout')")

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
        before = set(Path.cwd().iterdir())
        values = {f"inputs.{name}": value for name, value in inputs.items()}
        own = {name: substituted(text, values) for name, text in step.get("env", {}).items()}
        temporary = tmp_path / "temp"
        temporary.mkdir(exist_ok=True)
        script = tmp_path / "step.sh"
        assert step["shell"] == "bash"
        script.write_text(substituted(step["run"], values))
        env = os.environ | {"SKBENCH_PYTHON": python, "PYTHONPATH": str(Path.cwd())} | own
        env |= {name: str(file) for name, file in files.items()}
        env |= {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(temporary)}
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script]
        done = subprocess.run(words, env=env, capture_output=True, text=True, encoding="utf-8")
        kept = inputs["save-baseline"]  # nothing else is written, and nothing of a name was run
        assert set(Path.cwd().iterdir()) - before <= {Path(kept).absolute()}
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


@pytest.fixture
def gate_script():
    """The script that the step runs, as a module."""
    spec = importlib.util.spec_from_file_location("gate_script", ROOT / ".github" / "gate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def annotations(done):
    """Level, verdict and text of each annotation."""
    form = r"^::(error|warning|notice) title=skbench gate (\S+?)::(.*)$"
    found = re.findall(form, done.stdout, flags=re.MULTILINE)
    return [(*about, text.replace("%0A", "\n").replace("%25", "%")) for *about, text in found]


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
    first, *others = outputs["comment"].splitlines()
    assert re.match(rf"### \S+ {verdict.upper()}: .*95% interval .* to .* 0\.02\.$", first)
    assert not any(line.startswith(("#", "::")) for line in others)
    document = json.loads(Path(outputs["json"]).read_text(encoding="utf-8"))
    assert document["verdict"] == verdict and len(document["topics"]) == 4
    assert document["pairs"][0]["n_items"] == 200
    ((*about, text),) = annotations(done)
    assert about == [level, verdict] and text in document["sentences"]
    assert text.startswith(f"{verdict.upper()}: ")


@pytest.mark.slow
def test_undecided_may_pass_and_missing_items_are_wrong(runner, tmp_path):
    old, new = results(tmp_path, "old.csv"), results(tmp_path, "new.csv", 67)
    done, outputs = runner(baseline=old, results=new, margin="2%", undecided="pass")
    assert (done.returncode, outputs["verdict"]) == (0, "undecided")
    ((level, _, text),) = annotations(done)
    assert level == "warning" and "UNDECIDED: m (new)" in text and "as pass" in text
    assert "as pass" in outputs["comment"]
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
                ({"results": "gone.csv"}, 1, "gone.csv"),
                ({"arguments": "--help"}, 2, "--help"),
                ({"save-baseline": "no/dir/b.csv"}, 1, "folder"),
                ({"save-baseline": "d.csv"}, 1, "folder"),
                ({"save-baseline": "../old.csv"}, 1, "read as NEW"),
                ({"baseline": "gone.csv", "no-baseline": "pass", "results": "x"}, 1, "file 'x'"),
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
    Path("d.csv").mkdir()
    given = {"baseline": path, "results": path, "margin": "2%"} | inputs
    done, outputs = runner(**given)
    assert done.returncode == code, done.stdout
    assert (outputs["verdict"], outputs["json"]) == ("error", "")
    ((level, verdict, text),) = annotations(done)
    assert (level, verdict) == ("error", "error") and words in text
    assert path.exists() and "skbench gate '" not in text  # no command


def test_without_a_baseline(runner, tmp_path):
    new = results(tmp_path, "new.csv")
    given = {"results": new, "margin": "2%", "baseline": "<img>@team"}
    done, outputs = runner(**given, save_baseline="stored.csv")
    assert r"\<img\>@&#8203;team" in outputs["comment"]
    assert (done.returncode, outputs["verdict"]) == (1, "no-baseline")
    assert "no-baseline: pass" in outputs["comment"] and not Path("stored.csv").exists()


@pytest.mark.slow
def test_a_first_run_is_read_and_held_to_the_floor(runner, tmp_path):
    new = results(tmp_path, "new.csv")
    given = {"results": new, "margin": "2%", "baseline": "stored.csv", "no_baseline": "pass"}
    done, outputs = runner(**given, arguments="--undecided fail")
    assert (done.returncode, outputs["verdict"]) == (0, "no-baseline")
    assert annotations(done)[0][0] == "warning" and "Nothing" in outputs["comment"]
    floor = {"by": "topic", "arguments": "--worst 0.99"}
    done, outputs = runner(**given, **floor, save_baseline="stored.csv")
    assert (done.returncode, outputs["verdict"]) == (3, "fail")
    assert "FAIL" in outputs["comment"] and not Path("stored.csv").exists()


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


def test_comments_are_cut_where_they_are_too_long(gate_script):
    text = gate_script.shortened("x" * 100_000)
    assert 60_000 < len(text) < 65_000 and not text.endswith("x")
    assert gate_script.shortened("x" * 60_000) == "x" * 60_000


def test_the_error_is_found_among_notes_and_commands(gate_script, monkeypatch):
    monkeypatch.setenv("SKBENCH_ARGUMENTS", "--by x")
    notes = "a note\nskbench: no column.\nskbench gate a.csv --item nr\nskbench gate a.csv --item i"
    assert gate_script.error_in(notes, 1) == "skbench: no column."
    assert gate_script.error_in("Usage: skbench\n\nError: No such option.\n", 2)[:6] == "Error:"
    killed = gate_script.error_in("comparing: 1 of 9\n", 137)
    assert "--by x" in killed and "137" in killed and "memory" in killed


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_a_killed_gate_is_an_error(gate_script, monkeypatch):
    run = subprocess.run
    words = ["/bin/sh", "-c", "kill -9 $$"]
    monkeypatch.setattr(gate_script.subprocess, "run", lambda _, **options: run(words, **options))
    assert gate_script.run("old.csv")[:2] == (137, None)


def test_no_input_is_pasted_into_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


@pytest.mark.slow
def test_install_step(runner, tmp_path):
    """Install in a new environment; pip builds in the folder itself, as on a runner."""
    path = results(tmp_path, "old.csv")
    done, _ = runner(INSTALL, baseline=path, results=path, margin="2%")
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "GITHUB_ENV").read_text().splitlines()
    python = line.removeprefix("SKBENCH_PYTHON=")
    assert Path(python).exists()
    words = [python, "-I", "-m", "skbench", "gate", "--help"]
    assert "--margin" in subprocess.run(words, capture_output=True, text=True).stdout
